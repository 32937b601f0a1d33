// A run as a whole: how good and how sure, what failed and alike, which slices differ, and what else the report says.
import { useEffect } from "preact/hooks";
import { call, useAnswer } from "../api";
import { useCounted } from "../counted";
import { useProgress } from "../events";
import { useKeys } from "../keys";
import { count, percent, plural, seconds } from "../numbers";
import { ChartView } from "../parts/chart";
import type { Column } from "../parts/column";
import { Deleted } from "../parts/deleted";
import { useIsNarrow } from "../parts/display";
import { DrawnTableView } from "../parts/drawn-table";
import { DifferenceGlyph, EstimateGlyph, EstimateView, differenceOf, extentOf, spokenEstimate } from "../parts/estimate";
import { KeyCap } from "../parts/key";
import { Line } from "../parts/line";
import { MarkShape } from "../parts/mark";
import { compareAddress, useMarked } from "../parts/marked";
import { Answered, Page, Trouble, Waiting } from "../parts/page";
import { oneLine, Plain } from "../parts/plain";
import { Commit, GateView, ProgressBar, RunStateView, withProgress } from "../parts/run-facts";
import { SimpleTable } from "../parts/simple-table";
import { Ago } from "../parts/time";
import { address, go, withQuery, type Place } from "../router";
import type { PageProps } from "../routes";
import { useSession } from "../shell";
import { TEXTS } from "../texts";
import type { FailureGroup, GroupsAnswer, Headline, Progress, RunAnswer, RunRow, RunsAnswer, Slice, SlicesAnswer } from "../wire";
import "./run.css";

const REFRESH = 4000;
const READING = 1000;
/** Runs among which the last whole one is looked for. */
const SOME_BEFORE = 10;
/** The share of the cases that it has at least, else it is another kind of run. */
const LIKE_ENOUGH = 0.5;
/** Evaluators that are shown at first, so that what went wrong is not far below. */
const FEW_EVALUATORS = 15;

export default function Run({ place, run }: PageProps<"run">) {
  const asked = useAnswer<RunAnswer>(call(`/runs/${encodeURIComponent(run)}`));
  const { answer } = asked;
  const inFlight = answer?.run.state === "running" || answer?.index.state === "reading";
  const progress = useProgress(inFlight && answer ? answer.run.id : null);
  useRefresh(progress, answer, asked.again);
  const row = answer && withProgress(answer.run, progress);
  const { marked, toggle } = useMarked();
  const before = useRunBefore(answer?.run);
  const id = answer?.run.id ?? run;
  const cases = (q?: string) => address(["runs", id, "cases"], { q });
  useKeys(TEXTS.run.title, [
    { keys: "Enter", does: TEXTS.run.casesKey, run: () => go(cases()) },
    { keys: "x", does: TEXTS.tables.mark, run: () => toggle(id) },
    { keys: "c", does: TEXTS.runs.compareKey, run: () => go(compareAddress(marked)) },
  ]);
  return (
    <Page
      title={row ? oneLine(row.name) : TEXTS.run.title}
      crumbs={[{ text: TEXTS.runs.title, href: "/runs" }]}
      about={row && <About row={row} />}
      actions={
        row && (
          <>
            <button type="button" aria-pressed={marked.includes(id)} onClick={() => toggle(id)}>
              {marked.includes(id) ? TEXTS.run.marked : TEXTS.run.mark} <KeyCap name="x" />
            </button>
            {marked.length >= 2 && (
              <a class="button" href={compareAddress(marked)}>
                {TEXTS.run.compareMarked(count(marked.length))} <KeyCap name="c" />
              </a>
            )}
            {before && marked.length < 2 && (
              <a class="button" href={compareAddress([before.id, id])} title={TEXTS.run.compareBeforeAbout}>
                {before.name === row.name ? TEXTS.run.compareWithBefore : TEXTS.run.compareBefore(oneLine(before.name, 24))}
              </a>
            )}
            <a class="button main-button" href={cases()}>
              {row.cases === null || row.state === "running" ? TEXTS.run.cases : TEXTS.run.allCases(plural(row.cases, "case"))} <KeyCap name="g c" />
            </a>
          </>
        )
      }
    >
      {answer && <Deleted runs={[id]} />}
      <Answered asked={asked} lines={12}>
        {(said) => row && <Report answer={said} row={row} progress={progress} place={place} cases={cases} />}
      </Answered>
    </Page>
  );
}

/** The last whole run of the same dataset before this one: what a reader wants to compare it with. */
function useRunBefore(row: RunRow | undefined): RunRow | undefined {
  const q = row?.dataset && row.started_at ? `dataset:"${row.dataset.replace(/["\\]/g, "\\$&")}" time<"${row.started_at}" state:finished` : null;
  const { answer } = useAnswer<RunsAnswer>(q === null ? null : call("/runs", { q, limit: SOME_BEFORE }));
  return answer?.rows.find((each) => !each.incomplete && !each.damaged && row && sizeOf(each) >= LIKE_ENOUGH * sizeOf(row));
}

/** How many cases a run has; of one that was not counted yet, by its attempts. */
function sizeOf(row: RunRow): number {
  return row.cases ?? row.attempts / row.repeat;
}

/** Ask again as a run goes on, but never more often than every few seconds. */
function useRefresh(progress: Progress | undefined, answer: RunAnswer | undefined, again: () => void): void {
  const revision = progress?.revision;
  const isNews = revision !== undefined && answer !== undefined && revision !== answer.revision;
  const hasEnded = progress !== undefined && progress.state !== "running" && answer?.run.state === "running";
  useEffect(() => {
    if (!isNews) return undefined;
    const timer = setTimeout(again, hasEnded ? 0 : REFRESH);
    return () => clearTimeout(timer);
  }, [isNews, hasEnded, answer]);
  // A run that was read to its end is no other run: its revision does not tell.
  const isReading = answer?.index.state === "reading";
  const isRead = progress?.index?.state === "ready";
  useEffect(() => {
    if (!isReading) return undefined;
    const timer = setTimeout(again, isRead ? 0 : READING);
    return () => clearTimeout(timer);
  }, [isReading, isRead, answer]);
}

function About({ row }: { row: RunRow }) {
  const isRunning = row.state === "running";
  return (
    <span class="facts-line">
      {!isRunning && <RunStateView row={row} />}
      {row.dataset && <a href={address(["datasets", row.dataset])}>{oneLine(row.dataset, 60)}</a>}
      <span>
        <Ago at={row.started_at} />
      </span>
      {row.seconds !== null && <span>{(isRunning ? TEXTS.run.takes : TEXTS.run.took)(seconds(row.seconds))}</span>}
      {row.task && (
        <span>
          <Plain text={oneLine(row.task, 60)} />
          {row.task_version && <span class="mono"> {row.task_version.slice(0, 10)}</span>}
        </span>
      )}
      {row.commit && <Commit row={row} />}
      {row.cost && <span title={TEXTS.run.costAbout}>{row.cost.text}</span>}
      {row.gate && !isRunning && (
        <span>
          {TEXTS.runs.columns.gate} <GateView gate={row.gate} />
        </span>
      )}
    </span>
  );
}

interface ReportOptions {
  answer: RunAnswer;
  row: RunRow;
  progress: Progress | undefined;
  place: Place;
  cases: (q?: string) => string;
}

function Report({ answer, row, progress, place, cases }: ReportOptions) {
  const isEmpty = row.attempts === 0 && row.state !== "running";
  return (
    <div class="run-page">
      <div class="run-main">
        {row.state === "running" && <InFlight row={row} isAlone={answer.headline === null} />}
        {isEmpty && <p class="empty">{TEXTS.run.noAttempts}</p>}
        {answer.headline ? (
          <HeadlineView headline={answer.headline} cases={cases} hasFaults={answer.faults} />
        ) : (
          answer.no_headline && (
            <p class="headline-none">
              <Line parts={answer.no_headline} />
            </p>
          )
        )}
        {answer.alerts.length > 0 && (
          <ul class="alerts" aria-label={TEXTS.run.alerts}>
            {answer.alerts.map((line, index) => (
              <li key={index}>
                <Line parts={line} />
              </li>
            ))}
          </ul>
        )}
        {answer.evaluators.rows.length > 0 && (
          <section class="section">
            <h2>{TEXTS.run.evaluators}</h2>
            <DrawnTableView label={TEXTS.run.evaluators} table={answer.evaluators} most={FEW_EVALUATORS} />
          </section>
        )}
        {answer.index.state === "reading" && <Reading read={progress?.index?.read ?? answer.index.read} of={answer.index.of} />}
        {!isEmpty && <Groups run={answer.run.id} revision={answer.revision} place={place} cases={cases} />}
        {answer.slices.length > 0 && <Slices run={answer.run.id} revision={answer.revision} fields={answer.slices} evaluators={row.evaluators} place={place} cases={cases} />}
        {answer.charts.length > 0 && (
          <section class="section charts" aria-label={TEXTS.run.charts}>
            {answer.charts.map((chart, index) => (
              <ChartView key={index} chart={chart} level={2} />
            ))}
          </section>
        )}
      </div>
      <aside class="run-side" aria-label={TEXTS.run.about}>
        {answer.measures.map(([head, lines]) => (
          <section key={head}>
            <h2>{head}</h2>
            <ul>
              {lines.map((line, index) => (
                <li key={index}>
                  <Line parts={line} />
                </li>
              ))}
            </ul>
          </section>
        ))}
        {answer.facts.length > 0 && (
          <section>
            <h2>{TEXTS.run.facts}</h2>
            <ul>
              {answer.facts.map((fact) => (
                <li key={fact}>
                  <Plain text={fact} />
                </li>
              ))}
            </ul>
          </section>
        )}
        {answer.notes.length > 0 && (
          <section>
            <h2>{TEXTS.run.notes}</h2>
            <ul class="run-notes">
              {answer.notes.map((line, index) => (
                <li key={index}>
                  <Line parts={line} />
                </li>
              ))}
            </ul>
          </section>
        )}
      </aside>
    </div>
  );
}

/** How far a run in flight has come, whether its gate is decided and, where no headline says it, how good it is so far: of two rates a moment apart no one knows which holds. */
function InFlight({ row, isAlone }: { row: RunRow; isAlone: boolean }) {
  return (
    <section class="in-flight" aria-label={TEXTS.run.inFlight}>
      <ProgressBar attempts={row.attempts} total={row.total} />
      <span>{row.total === null ? TEXTS.runs.attempts(count(row.attempts)) : TEXTS.runs.progress(count(row.attempts), count(row.total))}</span>
      {row.failures > 0 && <span>{TEXTS.run.unfinished(plural(row.failures, "attempt"))}</span>}
      {isAlone && row.rate && (
        <span>
          {TEXTS.run.soFar} <EstimateView estimate={row.rate} isRate={true} />
        </span>
      )}
      {row.gate && (
        <span>
          {TEXTS.runs.columns.gate} <GateView gate={row.gate} />
        </span>
      )}
    </section>
  );
}

function Reading({ read, of }: { read: number; of: number }) {
  return (
    <p class="quiet" role="status">
      {TEXTS.run.reading(count(read), count(of))}
    </p>
  );
}

function HeadlineView({ headline, cases, hasFaults }: { headline: Headline; cases: (q?: string) => string; hasFaults: boolean }) {
  const { estimate, tone } = headline;
  return (
    <section class="headline" aria-label={TEXTS.run.headline}>
      <p class={`headline-what headline-${tone}`}>
        <MarkShape mark={tone === "good" ? "pass" : tone === "mixed" ? "partial" : "fail"} /> {headline.what}
      </p>
      <p class="headline-number" title={spokenEstimate(estimate, true)}>
        <EstimateGlyph estimate={estimate} isRate={true} /> <span class="number">{headline.text}</span> <span class="quiet">{headline.how}</span>
      </p>
      {headline.readings.length > 0 && (
        <dl class="readings">
          {headline.readings.map(([name, value, meaning]) => (
            <div key={name} title={meaning}>
              <dt>{name}</dt>
              <dd class="number">{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {tone !== "good" && (
        <p>
          <a href={cases(`status:(failed OR errored)${hasFaults ? ' tag:"fault=none"' : ""}`)}>{TEXTS.run.notPassed}</a>
        </p>
      )}
    </section>
  );
}

// ---------------------------------------------------------------------- failures

const FEW_GROUPS = 6;

/** Failures that say the same; beside them, as an offer, outputs that mean nearly the same. */
function Groups({ run, revision, place, cases }: { run: string; revision: string; place: Place; cases: (q?: string) => string }) {
  const offersMeaning = useSession()?.has_embeddings ?? false;
  const byMeaning = place.query.get("groups") === "meaning" && offersMeaning;
  const asked = useAnswer<GroupsAnswer>(call(`/runs/${encodeURIComponent(run)}/groups`, { by: byMeaning ? "meaning" : null }));
  const { answer } = asked;
  const worst = answer?.groups[0];
  useKeys(TEXTS.run.title, [{ keys: "f", does: TEXTS.run.worst, when: worst !== undefined, run: () => worst && go(exampleOf(run, worst)) }]);
  useEffect(() => asked.again(), [revision]);
  useCounted(answer?.is_ready === false, asked);
  const isSame = asked.isCurrent && answer?.by === (byMeaning ? "meaning" : "said");
  if (!asked.error && isSame && answer.is_ready && !answer.groups.length && !answer.ungrouped && !byMeaning) return null;
  const by = (wanted: string | null) => go(withQuery({ groups: wanted }), { replace: true });
  return (
    <section class="section">
      <div class="section-head">
        <h2>{TEXTS.run.groups}</h2>
        {offersMeaning && (
          <span class="switch" role="group" aria-label={TEXTS.run.groupsBy}>
            <button type="button" aria-pressed={!byMeaning} onClick={() => by(null)}>
              {TEXTS.run.bySaid}
            </button>
            <button type="button" aria-pressed={byMeaning} onClick={() => by("meaning")}>
              {TEXTS.run.byMeaning}
            </button>
          </span>
        )}
        <span class="quiet">{byMeaning ? TEXTS.run.meaningAbout : TEXTS.run.groupsAbout}</span>
        {worst && (
          <a href={exampleOf(run, worst)} title={TEXTS.run.worst}>
            {TEXTS.run.worstShort} <KeyCap name="f" />
          </a>
        )}
      </div>
      {asked.error ? <Trouble error={asked.error} again={asked.again} /> : !isSame || !answer.is_ready ? <Waiting lines={4} /> : <GroupTable key={answer.by} run={run} answer={answer} cases={cases} />}
    </section>
  );
}

function GroupTable({ run, answer, cases }: { run: string; answer: GroupsAnswer; cases: (q?: string) => string }) {
  const byMeaning = answer.by === "meaning";
  const all = groupColumns(run, cases, byMeaning);
  const columns = useIsNarrow() ? narrowColumns(all) : all;
  if (!answer.groups.length) return <p class="quiet">{byMeaning ? TEXTS.run.noneSimilar : groupsNote(answer)}</p>;
  return (
    <SimpleTable
      label={TEXTS.run.groups}
      columns={columns}
      rows={answer.groups}
      id={(group) => group.id}
      {...(byMeaning ? {} : { csv: call("/export.csv", { of: "groups", run }) })}
      most={FEW_GROUPS}
      note={groupsNote(answer)}
    />
  );
}

function groupsNote(answer: GroupsAnswer): string {
  const parts: string[] = [];
  if (answer.looked_at !== null && answer.of !== null && answer.looked_at < answer.of) parts.push(TEXTS.run.lookedAt(count(answer.looked_at), count(answer.of)));
  if (answer.left_out) parts.push(TEXTS.run.groupsLeftOut(count(answer.left_out)));
  if (answer.ungrouped) parts.push((answer.by === "meaning" ? TEXTS.run.likeNoOther : TEXTS.run.ungrouped)(plural(answer.ungrouped, "case")));
  return parts.join(" · ");
}

/** The address of the case that stands for a group. */
function exampleOf(run: string, group: FailureGroup): string {
  return address(["runs", run, "cases", group.example], { q: group.filter });
}

function groupColumns(run: string, cases: (q?: string) => string, byMeaning: boolean): Column<FailureGroup>[] {
  const texts = TEXTS.run.groupColumns;
  const columns: Column<FailureGroup>[] = [
    {
      name: "said",
      fills: true,
      shrinks: true,
      title: byMeaning ? texts.output : texts.said,
      plain: (group) => group.said,
      cell: (group) => (
        <span class="group-said">
          <MarkShape mark={group.mark} named />
          <a class="group-text" href={group.filter ? cases(group.filter) : exampleOf(run, group)} title={oneLine(group.said, 400)}>
            {group.said ? <Plain text={oneLine(group.said, 200)} /> : <span class="quiet">{TEXTS.run.saidNothing}</span>}
          </a>
        </span>
      ),
    },
    { name: "evaluator", title: texts.evaluator, cell: (group) => (group.evaluator === null ? <span class="quiet">{TEXTS.run.task}</span> : <Plain text={oneLine(group.evaluator, 40)} />), plain: (group) => group.evaluator },
    { name: "cases", title: texts.cases, end: true, cell: (group) => count(group.cases), plain: (group) => group.cases },
    {
      name: "share",
      title: texts.share,
      about: texts.shareAbout,
      end: true,
      plain: (group) => group.share,
      cell: (group) => (
        <span class="share">
          <span class="share-track" aria-hidden="true">
            <span class="share-bar" style={{ width: `${100 * group.share}%` }} />
          </span>
          <span class="share-text">{percent(group.share)}</span>
        </span>
      ),
    },
    {
      name: "concentrated",
      optional: true,
      title: texts.concentrated,
      about: texts.concentratedAbout,
      plain: (group) => group.concentrated.map((slice) => slice.filter).join(" "),
      cell: (group) =>
        group.concentrated.length ? (
          <span class="chips">
            {group.concentrated.map((slice) => (
              <a key={slice.filter} class="badge" href={cases(`${group.filter} ${slice.filter}`)}>
                {oneLine(slice.filter, 32)}
              </a>
            ))}
          </span>
        ) : null,
    },
    {
      name: "example",
      title: texts.example,
      plain: (group) => group.example_name,
      cell: (group) => (
        <a class="clip" href={exampleOf(run, group)}>
          <Plain text={oneLine(group.example_name, 60)} />
        </a>
      ),
    },
  ];
  return byMeaning ? columns.filter((column) => column.name !== "evaluator") : columns;
}

/** Where there is little room: what was said in full, and below it what the other columns have. */
function narrowColumns(columns: Column<FailureGroup>[]): Column<FailureGroup>[] {
  const [said, ...others] = columns as [Column<FailureGroup>, ...Column<FailureGroup>[]];
  return [
    {
      ...said,
      shrinks: false,
      cell: (group) => (
        <div class="group-narrow">
          {said.cell(group)}
          <div class="group-about">
            {others.map((column) => {
              const content = column.cell(group);
              return content === null ? null : (
                <span key={column.name}>
                  {content}
                  {column.name === "cases" && ` ${group.cases === 1 ? TEXTS.run.groupCase : TEXTS.run.groupCases}`}
                </span>
              );
            })}
          </div>
        </div>
      ),
    },
  ];
}

// ---------------------------------------------------------------------- slices

interface SlicesOptions {
  run: string;
  revision: string;
  fields: string[];
  evaluators: string[];
  place: Place;
  cases: (q?: string) => string;
}

function Slices({ run, revision, fields, evaluators, place, cases }: SlicesOptions) {
  const by = place.query.get("by") ?? fields.find((field) => !field.startsWith("label.")) ?? fields[0] ?? "";
  const evaluator = place.query.get("evaluator") ?? "";
  const asked = useAnswer<SlicesAnswer>(call(`/runs/${encodeURIComponent(run)}/slices`, { by, evaluator }));
  useEffect(() => asked.again(), [revision]);
  const { answer } = asked;
  return (
    <section class="section">
      <div class="section-head">
        <h2>{TEXTS.run.slices}</h2>
        <label class="picker">
          {TEXTS.run.by}{" "}
          <select value={by} onChange={(event) => go(withQuery({ by: event.currentTarget.value }), { replace: true })}>
            {(fields.includes(by) ? fields : [by, ...fields]).map((field) => (
              <option key={field} value={field}>
                {oneLine(field, 60)}
              </option>
            ))}
          </select>
        </label>
        <label class="picker">
          {TEXTS.run.of}{" "}
          <select value={evaluator} onChange={(event) => go(withQuery({ evaluator: event.currentTarget.value || null }), { replace: true })}>
            <option value="">{TEXTS.dataset.rate}</option>
            {evaluators.map((name) => (
              <option key={name} value={name}>
                {oneLine(name, 60)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {asked.error && <Trouble error={asked.error} again={asked.again} />}
      {!answer && !asked.error && <Waiting lines={4} />}
      {answer && !asked.error && (
        <SimpleTable
          label={TEXTS.run.slicesBy(oneLine(by, 60))}
          columns={sliceColumns(answer, cases)}
          rows={answer.slices}
          csv={call("/export.csv", { of: "slices", run, by, evaluator })}
          id={(slice) => (slice.is_missing ? "(none)" : `=${slice.value}`)}
          note={slicesNote(answer)}
        />
      )}
    </section>
  );
}

function slicesNote(answer: SlicesAnswer): string {
  const parts = answer.looked_at ? [TEXTS.run.correction(answer.correction, plural(answer.looked_at, "slice"))] : [];
  if (answer.left_out) parts.push(TEXTS.run.slicesLeftOut(plural(answer.left_out, "value")));
  if (answer.timed_out) parts.push(TEXTS.filter.timedOut);
  return parts.join(" · ");
}

function sliceColumns(answer: SlicesAnswer, cases: (q?: string) => string): Column<Slice>[] {
  const texts = TEXTS.run.sliceColumns;
  const { is_rate: isRate } = answer;
  const extent = extentOf(answer.slices.map((slice) => ({ difference: slice.difference, interval: slice.difference_interval })));
  return [
    {
      name: "value",
      title: texts.value,
      plain: (slice) => slice.value,
      cell: (slice) => (
        <a class="clip" href={cases(slice.filter)}>
          {slice.is_missing ? <i>{TEXTS.run.noValue}</i> : <Plain text={oneLine(slice.value, 60)} />}
        </a>
      ),
    },
    { name: "cases", title: texts.cases, end: true, cell: (slice) => count(slice.cases), plain: (slice) => slice.cases },
    { name: "estimate", title: isRate ? texts.rate : texts.mean, cell: (slice) => slice.estimate && <EstimateView estimate={slice.estimate} isRate={isRate} range={rangeOf(answer)} />, plain: (slice) => slice.estimate?.value },
    {
      name: "difference",
      fills: true,
      title: texts.difference,
      about: texts.differenceAbout,
      plain: (slice) => slice.difference,
      cell: (slice) =>
        slice.difference === null ? null : (
          <span class="estimate" title={differenceSaid(slice, isRate)}>
            <span class="said">{differenceSaid(slice, isRate)}</span>
            <DifferenceGlyph difference={slice.difference} interval={slice.difference_interval} extent={extent} upIsGood={isRate ? true : null} isSure={slice.differs} />
            <span class="estimate-value" aria-hidden="true">
              {differenceOf(slice.difference, slice.difference_interval, isRate)}
            </span>
          </span>
        ),
    },
    {
      name: "p",
      title: texts.p,
      about: texts.pAbout,
      plain: (slice) => slice.adjusted_p,
      cell: (slice) =>
        slice.adjusted_p === null ? null : (
          <span class={`chance ${slice.differs ? "tone-strong" : "quiet"}`}>
            {slice.differs ? texts.differs : texts.unclear} <span class="number quiet">{chance(slice.adjusted_p)}</span>
          </span>
        ),
    },
  ];
}

function rangeOf(answer: SlicesAnswer): [number, number] | null {
  if (answer.is_rate) return [0, 1];
  const ends = answer.slices.flatMap((slice) => (slice.estimate ? [slice.estimate.value, slice.estimate.interval?.low ?? slice.estimate.value, slice.estimate.interval?.high ?? slice.estimate.value] : []));
  if (!ends.length) return null;
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  return low >= 0 && high <= 1 ? [0, 1] : [Math.min(low, 0), Math.max(high, 0)];
}

function differenceSaid(slice: Slice, isRate: boolean): string {
  const unit = isRate ? TEXTS.run.points : "";
  const value = differenceOf(slice.difference ?? 0, slice.difference_interval, isRate);
  const interval = slice.difference_interval;
  if (!interval) return value + unit;
  const low = differenceOf(interval.low, interval, isRate);
  const high = differenceOf(interval.high, interval, isRate);
  return `${value}${unit}, ${TEXTS.numbers.confidence(percent(interval.confidence).replace(".0", ""), low, high)}`;
}

function chance(p: number): string {
  return p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(p < 0.1 ? 3 : 2)}`;
}
