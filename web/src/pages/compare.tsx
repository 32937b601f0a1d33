// Two or more runs: the verdict first, then what must be known before believing it, each difference with its interval, and the flips.
import { useEffect, useState } from "preact/hooks";
import { call, useAnswer, type Asked } from "../api";
import { useKeys } from "../keys";
import { count, plural } from "../numbers";
import { ChangeGlyph, Change, ChangeShape, scales } from "../parts/change";
import { ChooseRuns, ComparedRuns } from "../parts/compared-runs";
import { compareCsv, comparePage, comparisonOf, parameters, swapped, type Comparison } from "../parts/comparison";
import type { Column } from "../parts/column";
import { Deleted } from "../parts/deleted";
import { Differences, surestFirst } from "../parts/differences";
import { FilterBar } from "../parts/filter";
import { Flips } from "../parts/flips";
import { Forest } from "../parts/forest";
import { KeyCap } from "../parts/key";
import { WithCode } from "../parts/line";
import { Menu } from "../parts/menu";
import { Answered, Page } from "../parts/page";
import { oneLine, Plain } from "../parts/plain";
import { Reading, useReading } from "../parts/reading";
import { SimpleTable } from "../parts/simple-table";
import { go, withQuery } from "../router";
import type { PageProps } from "../routes";
import { TEXTS } from "../texts";
import type { CompareAnswer, ComparedPair, DifferenceRow } from "../wire";
import "./compare.css";

const FEW_SLICES = 8;

export default function Compare({ place }: PageProps) {
  const asking = comparisonOf(place.query);
  const isEnough = asking.runs.length > 1;
  const asked = useAnswer<CompareAnswer>(isEnough ? call("/compare", parameters(asking)) : null);
  const { answer } = asked;
  useReading(asked);
  useIds(asked, asking);
  const isBadFilter = asked.error?.problem.code === "bad_filter";
  const canSwap = isEnough && !!answer;
  useKeys(TEXTS.compare.title, [
    { keys: "s", does: TEXTS.compare.swapKey, when: canSwap, run: () => go(comparePage(swapped(asking)), { replace: true }) },
    ...asking.runs.slice(1).map((run, at) => ({
      keys: String(at + 1),
      does: TEXTS.compare.pairKey(answer?.runs[at + 1]?.name ?? run),
      when: asking.runs.length > 2,
      run: () => go(comparePage({ ...asking, of: at + 1 }), { replace: true }),
    })),
  ]);
  if (!isEnough)
    return (
      <Page title={TEXTS.compare.title} crumbs={[{ text: TEXTS.runs.title, href: "/runs" }]}>
        <ChooseRuns asking={asking} />
      </Page>
    );
  return (
    <Page
      title={titleOf(answer)}
      crumbs={[{ text: TEXTS.runs.title, href: "/runs" }]}
      actions={
        answer && (
          <>
            <a class="button" href={comparePage(swapped(asking))} title={TEXTS.compare.swapKey}>
              {TEXTS.compare.swap} <KeyCap name="s" />
            </a>
            <Options asking={asking} answer={answer} />
          </>
        )
      }
    >
      <Answered asked={isBadFilter ? { ...asked, error: undefined } : asked} lines={12}>
        {(found) => (
          <div class={asked.isCurrent ? undefined : "stale"}>
            <Deleted runs={found.runs.map((each) => each.run.id)} />
            <ComparedRuns runs={found.runs} asking={asking} />
            {found.reading ? <Reading reading={found.reading} again={asked.again} /> : <Found answer={found} asking={asking} asked={asked} />}
          </div>
        )}
      </Answered>
    </Page>
  );
}

function titleOf(answer: CompareAnswer | undefined): string {
  const [first, second, ...more] = answer?.runs ?? [];
  if (!first || !second) return TEXTS.compare.title;
  const baseline = oneLine(first.name, 60);
  return more.length ? TEXTS.compare.several(plural(more.length + 1, "run"), baseline) : TEXTS.compare.against(oneLine(second.name, 60), baseline);
}

/** An address with names of runs, or with `latest`, becomes one with their ids, which stay what they are. */
function useIds({ answer, isCurrent }: Asked<CompareAnswer>, asking: Comparison): void {
  useEffect(() => {
    if (!answer || !isCurrent) return;
    const runs = answer.runs.map((each) => each.run.id);
    if (runs.join() !== asking.runs.join()) go(comparePage({ ...asking, runs }), { replace: true });
  }, [answer, isCurrent]);
}

function Found({ answer, asking, asked }: { answer: CompareAnswer; asking: Comparison; asked: Asked<CompareAnswer> }) {
  const pair = answer.pairs[answer.of - 1];
  if (!pair) return null;
  const names: [string, string] = [answer.runs[0]!.name, answer.runs[pair.candidate]!.name];
  const isMany = answer.pairs.length > 1;
  const rows = [...(pair.rate ? [pair.rate] : []), ...surestFirst(pair.evaluators)];
  const toFlips = (q: string) => `${comparePage({ ...asking, q })}#flips`;
  return (
    <>
      {isMany && <Pairs answer={answer} asking={asking} />}
      <Verdict pair={pair} toFlips={toFlips} />
      <Warnings pair={pair} />
      {isMany && <AllPairs answer={answer} />}
      {rows.length > 0 && (
        <section class="section">
          <h2>{TEXTS.compare.evaluators}</h2>
          <Differences
            label={TEXTS.compare.evaluators}
            title={TEXTS.compare.columns.name}
            rows={rows}
            names={names}
            csv={compareCsv("differences", asking)}
            flips={(row, way) => toFlips(flipFilter(row, way))}
          />
          {pair.labels.length > 0 && (
            <dl class="facts compare-labels">
              {pair.labels.map(([name, text]) => (
                <>
                  <dt>
                    <Plain text={oneLine(name, 60)} />
                  </dt>
                  <dd>{text}</dd>
                </>
              ))}
            </dl>
          )}
          <details>
            <summary>{TEXTS.compare.asChart}</summary>
            <Forest title={`${TEXTS.compare.chart}: ${titleOf(answer)}`} rows={rows} />
          </details>
        </section>
      )}
      <div class="compare-further">
        {pair.slices.length > 0 && <Slices rows={surestFirst(pair.slices)} names={names} csv={compareCsv("differences", asking)} />}
        {pair.measures.length > 0 && (
          <section class="section">
            <h2>{TEXTS.compare.measures}</h2>
            <Differences label={TEXTS.compare.measures} title={TEXTS.compare.columns.measure} rows={surestFirst(pair.measures)} names={names} note={pair.measures_note} csv={compareCsv("differences", asking)} />
          </section>
        )}
      </div>
      <FlipSection answer={answer} pair={pair} asking={asking} asked={asked} names={names} />
      <p class="quiet compare-footnote">
        {[...pair.facts].join(" · ")}. {pair.footnote}
      </p>
    </>
  );
}

function flipFilter(row: DifferenceRow, way: "worse" | "better"): string {
  const name = /^[^\s:<>=~"()]+$/.test(row.name) ? row.name : `"${row.name.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  return `eval.${name}:${way === "worse" ? "failed" : "passed"} flip:any`;
}

// ---------------------------------------------------------------------- the verdict

function Verdict({ pair, toFlips }: { pair: ComparedPair; toFlips: (q: string) => string }) {
  const [first = "", ...rest] = pair.lead;
  const advice = rest.pop() ?? "";
  const ways = [
    ["broken", "worse", "flip:worse"],
    ["fixed", "better", "flip:better"],
    ["moved", "unclear", "flip:moved"],
  ] as const;
  return (
    <section class={`verdict verdict-${pair.outcome}`} aria-label={TEXTS.compare.verdict}>
      <p class="verdict-what">
        <ChangeShape change={pair.outcome} size={18} /> {first}
      </p>
      {rest.map((line) => (
        <p key={line}>
          <Plain text={line} />
        </p>
      ))}
      {advice && (
        <p class="verdict-advice">
          <Plain text={advice} />
        </p>
      )}
      <ul class="verdict-flips" aria-label={TEXTS.compare.flipWays}>
        {ways.map(
          ([way, change, q]) =>
            (pair.flips[way] ?? 0) > 0 && (
              <li key={way}>
                <a class="button" href={toFlips(q)} title={TEXTS.compare.waysAbout[way]}>
                  <Change change={change} word={flipsSaid(pair, way)} />
                </a>
              </li>
            ),
        )}
      </ul>
    </section>
  );
}

/** `3 broken`; of those that moved also which way. */
function flipsSaid(pair: ComparedPair, way: "broken" | "fixed" | "moved"): string {
  const cases = count(pair.flips[way] ?? 0);
  return way === "moved" ? TEXTS.compare.movedToFail(cases, count(pair.moved_to_fail)) : `${cases} ${TEXTS.compare.ways[way]}`;
}

/** What has to be known before any of it is believed: changed cases and evaluators, and what could not be paired. */
function Warnings({ pair }: { pair: ComparedPair }) {
  const unpaired = pair.unpaired.filter(([, cases]) => cases > 0);
  if (!pair.warnings.length && !pair.differing_total && !unpaired.length) return null;
  return (
    <section class="alerts compare-warnings" aria-label={TEXTS.compare.warnings}>
      <h2>{TEXTS.compare.warnings}</h2>
      <ul>
        {pair.warnings.map((warning) => (
          <li key={warning}>
            <WithCode text={warning} />
          </li>
        ))}
      </ul>
      {pair.differing_total > 0 && (
        <details>
          <summary>{TEXTS.compare.differing(plural(pair.differing_total, "case"))}</summary>
          <ul class="case-names">
            {pair.differing.map(([name, what], at) => (
              <li key={at}>
                <Plain text={oneLine(name, 120)} /> <span class="quiet">{what}</span>
              </li>
            ))}
            {pair.differing_total > pair.differing.length && <li class="quiet">{TEXTS.compare.andMore(count(pair.differing_total - pair.differing.length))}</li>}
          </ul>
        </details>
      )}
      {unpaired.map(([label, cases, names]) => (
        <details key={label}>
          <summary>{TEXTS.compare.unpaired(plural(cases, "case"), oneLine(label, 60))}</summary>
          <ul class="case-names">
            {names.map((name) => (
              <li key={name}>
                <Plain text={oneLine(name, 120)} />
              </li>
            ))}
            {cases > names.length && <li class="quiet">{TEXTS.compare.andMore(count(cases - names.length))}</li>}
          </ul>
        </details>
      ))}
    </section>
  );
}

// ---------------------------------------------------------------------- several runs

function Pairs({ answer, asking }: { answer: CompareAnswer; asking: Comparison }) {
  return (
    <nav class="views compare-pairs" aria-label={TEXTS.compare.pairs}>
      {answer.pairs.map((pair) => (
        <a key={pair.candidate} href={comparePage({ ...asking, of: pair.candidate })} aria-current={pair.candidate === answer.of ? "true" : undefined}>
          <KeyCap name={String(pair.candidate)} /> <ChangeShape change={pair.outcome} /> {answer.runs[pair.candidate]!.label} {oneLine(answer.runs[pair.candidate]!.name, 40)}
          <span class="said">: {TEXTS.compare.outcomes[pair.outcome]}</span>
        </a>
      ))}
    </nav>
  );
}

interface Across {
  name: string;
  rows: (DifferenceRow | undefined)[];
}

/** One row for each evaluator, one column for each run: on one scale. */
function AllPairs({ answer }: { answer: CompareAnswer }) {
  const of = answer.pairs.map((pair) => [...(pair.rate ? [pair.rate] : []), ...pair.evaluators]);
  const names = [...new Set(of.flat().map((row) => row.name))];
  const extent = scales(of.flat());
  const rows: Across[] = names.map((name) => ({ name, rows: of.map((all) => all.find((row) => row.name === name)) }));
  const columns: Column<Across>[] = [
    { name: "name", title: TEXTS.compare.columns.name, plain: (row) => row.name, cell: (row) => <span class="clip" title={row.name}><Plain text={oneLine(row.name, 60)} /></span> },
    { name: "baseline", title: `A ${oneLine(answer.runs[0]!.name, 20)}`, end: true, plain: (row) => row.rows.find(Boolean)?.values[0], cell: (row) => row.rows.find(Boolean)?.values[0] },
    ...answer.pairs.map(
      (pair, at): Column<Across> => ({
        name: String(pair.candidate),
        title: `${answer.runs[pair.candidate]!.label} ${oneLine(answer.runs[pair.candidate]!.name, 20)}`,
        fills: at === answer.pairs.length - 1,
        plain: (row) => `${row.rows[at]?.text ?? ""} ${row.rows[at]?.ends ?? ""}`,
        cell: (row) => {
          const found = row.rows[at];
          return (
            found && (
              <span class="across" title={found.sentence}>
                <ChangeGlyph row={found} extent={extent(found)} />
                <ChangeShape change={found.mark} />
                <span class="said">{found.sentence}</span>
              </span>
            )
          );
        },
      }),
    ),
  ];
  return (
    <section class="section">
      <h2>{TEXTS.compare.all}</h2>
      <SimpleTable label={TEXTS.compare.all} columns={columns} rows={rows} id={(row) => row.name} />
    </section>
  );
}

// ---------------------------------------------------------------------- slices and flips

function Slices({ rows, names, csv }: { rows: DifferenceRow[]; names: [string, string]; csv: string }) {
  const [all, setAll] = useState(rows.length <= FEW_SLICES + 2);
  return (
    <section class="section">
      <h2>{TEXTS.compare.slices}</h2>
      <Differences
        label={TEXTS.compare.slices}
        title={TEXTS.compare.columns.tag}
        rows={all ? rows : rows.slice(0, FEW_SLICES)}
        names={names}
        csv={csv}
        tools={
          !all && (
            <button type="button" onClick={() => setAll(true)}>
              {TEXTS.compare.moreSlices(count(rows.length))}
            </button>
          )
        }
      />
    </section>
  );
}

interface FlipSectionProps {
  answer: CompareAnswer;
  pair: ComparedPair;
  asking: Comparison;
  asked: Asked<CompareAnswer>;
  names: [string, string];
}

function FlipSection({ answer, pair, asking, asked, names }: FlipSectionProps) {
  const all = Object.values(pair.flips).reduce((sum, each) => sum + each, 0);
  const error = asked.error?.problem.code === "bad_filter" ? asked.error.problem : undefined;
  const filter = (q: string) => go(withQuery({ q }), { replace: true });
  useAnchor("flips");
  const ways = [
    ["", TEXTS.compare.allFlips(count(all)), all],
    ["flip:worse", `${count(pair.flips["broken"] ?? 0)} ${TEXTS.compare.ways.broken}`, pair.flips["broken"] ?? 0],
    ["flip:better", `${count(pair.flips["fixed"] ?? 0)} ${TEXTS.compare.ways.fixed}`, pair.flips["fixed"] ?? 0],
    ["flip:moved", `${count(pair.flips["moved"] ?? 0)} ${TEXTS.compare.ways.moved}`, pair.flips["moved"] ?? 0],
  ] as const;
  return (
    <section class="section" id="flips" aria-label={TEXTS.compare.flips}>
      <div class="section-head">
        <h2>{TEXTS.compare.flips}</h2>
        <span class="quiet">{TEXTS.compare.flipsAbout}</span>
      </div>
      {all === 0 ? (
        <p class="quiet">{TEXTS.compare.noFlips}</p>
      ) : (
        <>
          <FilterBar of="cases" run={answer.runs[answer.of]!.run.id} value={asking.q} onChange={filter} error={error} placeholder={TEXTS.compare.placeholder} />
          <div class="flip-ways">
            <span class="switch" role="group" aria-label={TEXTS.compare.flipWays}>
              {ways.map(([q, text, cases]) => (
                <button key={q} type="button" aria-pressed={asking.q === q} disabled={cases === 0} onClick={() => filter(q)}>
                  {text}
                </button>
              ))}
            </span>
            {asking.q && <span role="status">{TEXTS.compare.found(count(answer.flips_total))}</span>}
          </div>
          {pair.flip_notes.map((note) => (
            <p key={note} class="quiet flip-note">
              {note}
            </p>
          ))}
          {answer.flips_total === 0 ? <p class="empty">{TEXTS.compare.noneFound}</p> : <Flips answer={answer} asking={asking} names={names} csv={compareCsv("flips", asking)} />}
        </>
      )}
    </section>
  );
}

/** The part that the address names comes into sight, when it does. */
function useAnchor(id: string): void {
  const { hash, search } = location;
  useEffect(() => {
    if (hash === `#${id}`) document.getElementById(id)?.scrollIntoView();
  }, [hash, search]);
}

// ---------------------------------------------------------------------- how it is compared

function Options({ asking, answer }: { asking: Comparison; answer: CompareAnswer }) {
  const change = (changes: Partial<Comparison>) => go(comparePage({ ...asking, ...changes }), { replace: true });
  const texts = TEXTS.compare;
  const names = [...new Set([...answer.pairs.flatMap((pair) => [...pair.evaluators, ...pair.measures]).filter((row) => row.kind === "score" || row.kind === "metric").map((row) => row.name), ...asking.lower])];
  const toggle = (name: string) => change({ lower: asking.lower.includes(name) ? asking.lower.filter((each) => each !== name) : [...asking.lower, name] });
  return (
    <Menu button={texts.options} class="compare-options">
      {() => (
        <>
          <label>
            {texts.pairBy}{" "}
            <select value={asking.pairBy ?? "content"} onChange={(event) => change({ pairBy: event.currentTarget.value })}>
              <option value="content">{texts.pairByContent}</option>
              <option value="name">{texts.pairByName}</option>
            </select>
          </label>
          <label class="menu-item" title={texts.theseCasesAbout}>
            <input type="checkbox" checked={asking.theseCases} onChange={() => change({ theseCases: !asking.theseCases })} /> {texts.theseCases}
          </label>
          {names.length > 0 && (
            <fieldset>
              <legend>{texts.lower}</legend>
              {names.map((name) => (
                <label key={name} class="menu-item">
                  <input type="checkbox" checked={asking.lower.includes(name)} disabled={name.includes(",")} onChange={() => toggle(name)} /> {oneLine(name, 60)}
                </label>
              ))}
            </fieldset>
          )}
        </>
      )}
    </Menu>
  );
}
