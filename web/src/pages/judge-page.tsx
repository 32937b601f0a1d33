// One judge: its passport, how it stands beside people, and the cases on which they disagree.
import { useEffect } from "preact/hooks";
import { call, useAnswer } from "../api";
import { useKeys } from "../keys";
import { count, minus, plural } from "../numbers";
import { ChartView } from "../parts/chart";
import type { Column } from "../parts/column";
import { useIsNarrow } from "../parts/display";
import { DifferenceGlyph, EstimateGlyph, EstimateView } from "../parts/estimate";
import { KeyCap } from "../parts/key";
import { MarkShape } from "../parts/mark";
import { Answered, Page } from "../parts/page";
import { PassportState, passportKind } from "../parts/passport-state";
import { oneLine, Plain } from "../parts/plain";
import { labelPage } from "../parts/question";
import { useRows } from "../parts/rows";
import { CsvLink, saveTable, SimpleTable } from "../parts/simple-table";
import { Ago } from "../parts/time";
import { address, go, withQuery } from "../router";
import { TEXTS } from "../texts";
import type { Disagreement, JudgeCard, JudgesAnswer, JudgeTrait, LabelsAnswer } from "../wire";

const WORDS = TEXTS.judges;
/** How far a difference of shares can go on its track. */
const EXTENT = 1;

export function JudgePage({ id, query }: { id: string; query: URLSearchParams }) {
  const question = query.get("question");
  const asked = useAnswer<JudgesAnswer>(call("/judges", { judge: id, question }));
  const { answer } = asked;
  const card = answer?.judges[0];
  const names = answer?.names ?? [];
  const at = names.findIndex(([each]) => each === id);
  const [previous, next] = [at > 0 ? names[at - 1]?.[0] : undefined, at >= 0 ? names[at + 1]?.[0] : undefined];
  const to = (judge: string | undefined) => judge && go(address(["judges", judge]));
  useKeys(WORDS.title, [
    { keys: "J", does: WORDS.next, when: !!next, run: () => to(next) },
    { keys: "K", does: WORDS.previous, when: !!previous, run: () => to(previous) },
  ]);
  return (
    <Page
      title={card ? oneLine(card.name, 160) : WORDS.judge}
      crumbs={[{ text: WORDS.title, href: "/judges" }]}
      about={card && <About card={card} />}
      actions={
        names.length > 1 && (
          <nav class="case-ways" aria-label={WORDS.ways}>
            <Way id={previous} text={WORDS.previous} name="K" />
            <Way id={next} text={WORDS.next} name="J" />
          </nav>
        )
      }
    >
      <Answered asked={asked}>
        {() =>
          card && (
            <div key={card.id} class={asked.isCurrent ? undefined : "stale"}>
              <div class="judge-sides">
                <Beside card={card} />
                <PassportPart card={card} />
              </div>
              <Disagreements card={card} cell={query.get("said")} />
            </div>
          )
        }
      </Answered>
    </Page>
  );
}

function Way({ id, text, name }: { id: string | undefined; text: string; name: string }) {
  return id === undefined ? (
    <span class="button off" aria-disabled="true">
      {text}
    </span>
  ) : (
    <a class="button" href={address(["judges", id])}>
      {text} <KeyCap name={name} />
    </a>
  );
}

function About({ card }: { card: JudgeCard }) {
  const { model, runs, runs_total: total, standing } = card;
  const shown = runs.slice(0, 3);
  return (
    <span class="case-about">
      {standing === null && (
        <span class="badge" title={WORDS.noJudgeAbout}>
          {WORDS.noJudge}
        </span>
      )}
      {model && <Plain text={WORDS.asks(oneLine(model, 80))} />}
      <span>{WORDS.judgedIn}</span>
      {shown.map(([id, name]) => (
        <a key={id} class="small-link" href={address(["runs", id])}>
          <Plain text={oneLine(name, 40)} />
        </a>
      ))}
      {total > shown.length && <span>{WORDS.moreRuns(count(total - shown.length))}</span>}
    </span>
  );
}

// ---------------------------------------------------------------------- beside people

function Beside({ card }: { card: JudgeCard }) {
  const { question, questions, confusion, agreement, kappa, notes } = card;
  const run = card.runs[0];
  return (
    <section aria-label={WORDS.beside}>
      <div class="section-head">
        <h2>{WORDS.beside}</h2>
      </div>
      {questions.length > 0 && (questions.length > 1 || question === null) && (
        <p class="judge-question">
          <label>
            {WORDS.question}{" "}
            <select value={question ?? ""} onChange={(event) => go(withQuery({ question: event.currentTarget.value || null, said: null }), { replace: true })}>
              {question === null && <option value="">{WORDS.choose}</option>}
              {questions.map((each) => (
                <option key={each} value={each}>
                  {oneLine(each, 80)}
                </option>
              ))}
            </select>
          </label>
        </p>
      )}
      {agreement && (
        <dl class="judge-numbers">
          <div>
            <dt>{WORDS.agreementOf}</dt>
            <dd>
              <EstimateView estimate={agreement} isRate />
            </dd>
          </div>
          {kappa && (
            <div>
              <dt>{WORDS.kappaOf}</dt>
              <dd>
                <EstimateView estimate={kappa} isRate={false} range={[-1, 1]} />
              </dd>
            </div>
          )}
          <div>
            <dt>{WORDS.columns.labels}</dt>
            <dd class="number">{count(card.labels)}</dd>
          </div>
        </dl>
      )}
      {question === null && run && (
        <>
          <p>{WORDS.noQuestion}</p>
          <pre class="command">{WORDS.askCommand(quoted(card.name), quoted(run[1]))}</pre>
          <p>
            <a href={address(["label"], { run: run[0], question: card.name })}>{WORDS.askHere}</a>
          </p>
        </>
      )}
      {confusion && <ChartView chart={confusion} />}
      {notes.map((note) => (
        <p key={note} class="quiet judge-note">
          {note}
        </p>
      ))}
    </section>
  );
}

/** A word of a command, as a shell reads it. */
function quoted(word: string): string {
  return /^[\w./:-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

// ---------------------------------------------------------------------- the passport

function PassportPart({ card }: { card: JudgeCard }) {
  const kind = passportKind(card);
  const { standing } = card;
  const passport = standing?.passport ?? standing?.other;
  return (
    <section aria-label={WORDS.passport}>
      <div class="section-head">
        <h2>{WORDS.passport}</h2>
        {kind !== "notNeeded" && <PassportState card={card} />}
      </div>
      {kind === "notNeeded" && <p class="quiet">{WORDS.notAJudge}</p>}
      {kind === "unknown" && (
        <p>
          {WORDS.unknownJudge} <Plain text={oneLine(standing?.unknown ?? "", 400)} />
        </p>
      )}
      {kind === "other" && (
        <div class="alerts">
          <p class="tone-caution">{WORDS.otherJudge}</p>
          <ul>
            {standing!.changes.map((change) => (
              <li key={change}>
                <Plain text={oneLine(change, 400)} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {passport && (
        <p class="quiet judge-note">
          {WORDS.measured} {passport.at.slice(0, 10)} (<Ago at={passport.at} />) {WORDS.onLabels(plural(passport.labels, "label"), passport.repeats === 1 ? WORDS.once : WORDS.times(count(passport.repeats)))}
          {passport.unjudged > 0 && ` ${WORDS.unjudged(plural(passport.unjudged, "more labelled attempt"))}`}
        </p>
      )}
      {card.traits.length > 0 && <Traits traits={card.traits} name={card.name} />}
      {(kind === "none" || kind === "other") && (
        <>
          <p class="judge-note">{kind === "none" ? WORDS.noPassport : WORDS.checkAgain}</p>
          <pre class="command">{WORDS.checkCommand(quoted(card.runs[0]?.[1] ?? "latest"))}</pre>
          <p class="quiet">{WORDS.checkAbout}</p>
        </>
      )}
    </section>
  );
}

function Traits({ traits, name }: { traits: JudgeTrait[]; name: string }) {
  const measured = traits.filter((trait) => trait.value !== null);
  const missing = traits.filter((trait) => trait.value === null);
  return (
    <>
      {measured.length > 0 && <Measured traits={measured} label={`${WORDS.passport} ${oneLine(name, 60)}`} />}
      {missing.length > 0 && (
        <details>
          <summary>
            {WORDS.notMeasured} <span class="quiet">{missing.length}</span>
          </summary>
          <dl class="judge-missing">
            {missing.map((trait) => (
              <div key={trait.name}>
                <dt>{trait.what}</dt>
                <dd class="quiet">{trait.why}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </>
  );
}

function Measured({ traits, label }: { traits: JudgeTrait[]; label: string }) {
  const isNarrow = useIsNarrow();
  const columns: Column<JudgeTrait>[] = [
    { name: "what", title: WORDS.trait, plain: (trait) => trait.what, cell: (trait) => <span class="trait-what">{trait.what}</span> },
    { name: "glyph", title: "", cell: (trait) => <TraitGlyph trait={trait} /> },
    { name: "value", title: WORDS.value, end: true, plain: (trait) => trait.text, cell: (trait) => minus(trait.text) },
    { name: "interval", title: WORDS.interval, fills: true, plain: (trait) => trait.ends, cell: (trait) => <span class="quiet trait-ends">{minus(trait.ends)}</span> },
    { name: "n", title: WORDS.n, about: WORDS.nAbout, end: true, plain: (trait) => trait.n, cell: (trait) => count(trait.n) },
  ];
  if (!isNarrow) return <SimpleTable label={label} columns={columns} rows={traits} id={(trait) => trait.name} note={WORDS.ideal} />;
  return (
    <>
      <ul class="narrow-rows" aria-label={label}>
        {traits.map((trait) => (
          <li key={trait.name}>
            <div class="two-lines">
              <span class="grow">{trait.what}</span>
              <span class="quiet number">{TEXTS.numbers.units(count(trait.n))}</span>
            </div>
            <div class="two-lines">
              <TraitGlyph trait={trait} />
              <span class="number trait-value">{minus(trait.text)}</span>
              <span class="quiet trait-ends">{minus(trait.ends)}</span>
            </div>
          </li>
        ))}
      </ul>
      <div class="table-foot">
        <span class="quiet">{WORDS.ideal}</span>
        <span class="grow" />
        <CsvLink make={() => saveTable(label, columns, traits)} />
      </div>
    </>
  );
}

/** The number on its track, with a line where a judge stands that is always right. */
function TraitGlyph({ trait }: { trait: JudgeTrait }) {
  const { value, interval, kind, n, ideal } = trait;
  if (value === null) return null;
  if (kind === "difference") return <DifferenceGlyph difference={value} interval={interval} extent={EXTENT} upIsGood={null} />;
  if (trait.name === "cost") return null;
  return <EstimateGlyph estimate={{ value, interval, n_units: n, n_observations: n, n_clusters: null }} isRate={kind === "rate"} range={[-1, 1]} threshold={ideal} />;
}

// ---------------------------------------------------------------------- where they disagree

/** What people and the judge said, as part of an address. */
function cellOf({ cell }: Disagreement): string {
  return cell.join(" ");
}

function Disagreements({ card, cell }: { card: JudgeCard; cell: string | null }) {
  const all = card.disagreements;
  const cells = [...new Map(all.map((each) => [cellOf(each), each.cell]))];
  const isChosen = cells.some(([each]) => each === cell);
  const shown = isChosen ? all.filter((each) => cellOf(each) === cell) : all;
  const asked = useAnswer<LabelsAnswer>(all.length ? call("/label") : null);
  const desks = new Map(asked.answer?.questions.filter((each) => each.question === card.question).map((each) => [each.run, labelPage(each)]));
  const href = (each: Disagreement) => address(["runs", each.run, "cases", each.case], { rep: each.repeat > 1 ? String(each.repeat) : null });
  const id = (each: Disagreement) => `${each.run} ${each.case}`;
  const [here, setHere] = useRows(shown.map(id), (row) => {
    const found = shown.find((each) => id(each) === row);
    if (found) go(href(found));
  });
  useHash();
  if (card.labels === 0) return null;
  const choose = (wanted: string | null) => go(withQuery({ said: wanted }), { replace: true });
  return (
    <section class="section" id="disagreements" aria-label={WORDS.disagreements}>
      <div class="section-head">
        <h2>{WORDS.disagreements}</h2>
        {cells.length > 1 && (
          <span class="switch" role="group" aria-label={WORDS.cells}>
            <button type="button" aria-pressed={!isChosen} onClick={() => choose(null)}>
              {WORDS.allCells(count(all.length))}
            </button>
            {cells.map(([name, [people, judge]]) => (
              <button key={name} type="button" aria-pressed={name === cell} onClick={() => choose(name)}>
                {WORDS.cellCount(count(all.filter((each) => cellOf(each) === name).length), WORDS.cell(oneLine(people, 20), oneLine(judge, 20)))}
              </button>
            ))}
          </span>
        )}
      </div>
      {all.length === 0 ? (
        <p class="quiet">{WORDS.agree}</p>
      ) : (
        <>
          <ol class="flips" aria-label={WORDS.disagreements}>
            {shown.map((each) => (
              <li key={id(each)} data-row={id(each)} class={id(each) === here ? "flip row-here" : "flip"}>
                <DisagreementView each={each} href={href(each)} desk={desks.get(each.run)} onFocus={() => setHere(id(each))} />
              </li>
            ))}
          </ol>
          <div class="table-foot">
            <span class="quiet flip-keys">
              <KeyCap name="j" /> <KeyCap name="k" /> {TEXTS.tables.down}, {TEXTS.tables.up} · <KeyCap name="Enter" /> {TEXTS.tables.enter}
            </span>
            {card.disagreements_total > all.length && <span class="quiet">{WORDS.listed(count(all.length), count(card.disagreements_total))}</span>}
            <span class="grow" />
            <CsvLink href={call("/export.csv", { of: "disagreements", judge: card.id, question: card.question })} />
          </div>
        </>
      )}
    </section>
  );
}

/** The part that the address names comes into sight. */
function useHash(): void {
  const { hash } = location;
  useEffect(() => {
    if (hash) document.getElementById(hash.slice(1))?.scrollIntoView();
  }, [hash]);
}

const SHAPES: Record<string, "pass" | "fail"> = { pass: "pass", fail: "fail" };

function DisagreementView({ each, href, desk, onFocus }: { each: Disagreement; href: string; desk: string | undefined; onFocus: () => void }) {
  const [people, judge] = each.cell;
  return (
    <>
      <div class="flip-head">
        <a class="row-link" href={href} onFocus={onFocus}>
          <Plain text={oneLine(each.name, 120)} />
        </a>
        <a class="small-link quiet" href={address(["runs", each.run])}>
          <Plain text={WORDS.inRun(oneLine(each.run_name, 60))} />
        </a>
        {each.repeat > 1 && <span class="quiet">{WORDS.attempt(count(each.repeat))}</span>}
        <span class="grow" />
        {desk && (
          <a class="small-link quiet" href={desk} aria-label={WORDS.toLabelOf(each.run_name)}>
            {WORDS.toLabel}
          </a>
        )}
      </div>
      <dl class="flip-body">
        <div>
          <dt>{WORDS.peopleSaid}</dt>
          <dd>
            {SHAPES[people] && <MarkShape mark={SHAPES[people]} />} <Plain text={oneLine(each.people_said, 200)} />
            {each.note && (
              <span class="mind-reason">
                <Plain text={oneLine(each.note, 400)} />
              </span>
            )}
          </dd>
        </div>
        <div>
          <dt>{WORDS.judgeSaid}</dt>
          <dd>
            {SHAPES[judge] && <MarkShape mark={SHAPES[judge]} />} <Plain text={oneLine(each.judge_said, 200)} />
            <span class={each.reason ? "mind-reason" : "mind-reason quiet"}>{each.reason ? <Plain text={oneLine(each.reason, 600)} /> : WORDS.noReason}</span>
          </dd>
        </div>
      </dl>
    </>
  );
}
