// A case of a run: why it came out as it did, then what went in and came out, then what happened on the way.
import { lazy, Suspense } from "preact/compat";
import { useCallback, useEffect, useMemo } from "preact/hooks";
import { call, read, useAnswer } from "../api";
import { useProgress } from "../events";
import { useKeys } from "../keys";
import { count, seconds } from "../numbers";
import { attemptJson } from "../parts/attempt-json";
import { Deleted } from "../parts/deleted";
import { HistoryStrip, HistoryTable } from "../parts/history";
import { Judgements, Traceback, worstFirst } from "../parts/judgements";
import { KeyCap } from "../parts/key";
import { Mark, markOf, MarkShape, spokenMarks } from "../parts/mark";
import { Answered, Page, Waiting } from "../parts/page";
import { Plain, oneLine } from "../parts/plain";
import { HearingView, Player } from "../parts/sound";
import { TalkView } from "../parts/talk";
import { Ago } from "../parts/time";
import { TreeView } from "../parts/tree";
import { Value } from "../parts/value";
import { address, go, here, withQuery } from "../router";
import type { PageProps } from "../routes";
import { TEXTS } from "../texts";
import type { AttemptView, CaseAnswer, CellJudgement, HistoryAnswer } from "../wire";
import "./case.css";

/** Most pages of cases need it, and none waits for it. */
const loading = import("../parts/trace");
const Trace = lazy(() => loading);

type View = "talk" | "waterfall" | "io" | "json";
const VIEWS: View[] = ["talk", "waterfall", "io", "json"];

const SHORT = { characters: 1200, lines: 14 };
const FULL = { characters: 20_000, lines: 200 };
/** Attempts that one answer has. */
const BLOCK = 200;
/** Attempts up to which each is named in words. */
const FEW_ATTEMPTS = 12;

/** Metrics that stand among the facts as costs and tokens. */
const SAID = new Set(["cost", "judge_cost", "input_tokens", "output_tokens"]);

export default function Case({ place, run, id }: PageProps<"run" | "id">) {
  const { query } = place;
  const filter = { q: query.get("q"), sort: query.get("sort") };
  const block = Math.floor((repOf(query) - 1) / BLOCK);
  const href = call(`/runs/${encodeURIComponent(run)}/cases/${encodeURIComponent(id)}`, { ...filter, rep: block > 0 ? block * BLOCK + 1 : null });
  const asked = useAnswer<CaseAnswer>(href);
  const { answer } = asked;
  useFreshness(answer, asked.again);
  useNeighbours(answer, asked.isCurrent, filter);
  const crumbs = [
    { text: TEXTS.app.runs, href: "/runs" },
    { text: answer ? oneLine(answer.run.name, 60) : run, href: address(["runs", run]) },
    { text: TEXTS.cases.title, href: address(["runs", run, "cases"], filter) },
  ];
  const title = answer ? oneLine(answer.name, 160) : TEXTS.case.title;
  return (
    <Page title={title} crumbs={crumbs} about={answer && <About answer={answer} q={filter.q} />} actions={answer && <Neighbours answer={answer} filter={filter} />}>
      {answer && <Deleted runs={[answer.run.id]} />}
      <Answered asked={asked}>{(found) => <Attempts key={`${found.run.id} ${found.id}`} answer={found} query={query} />}</Answered>
    </Page>
  );
}

/** While the run goes on, its attempts at this case may become more. */
function useFreshness(answer: CaseAnswer | undefined, again: () => void): void {
  const progress = useProgress(answer?.run.state === "running" ? answer.run.id : null);
  useEffect(() => {
    if (progress) again();
  }, [progress?.revision]);
}

type Filter = { q: string | null; sort: string | null };

function useNeighbours(answer: CaseAnswer | undefined, isCurrent: boolean, filter: Filter): void {
  const to = (id: string | null | undefined) => answer && id && go(address(["runs", answer.run.id, "cases", id], { ...filter, view: here().query.get("view") }));
  useKeys(TEXTS.case.title, [
    { keys: "j", does: TEXTS.case.next, when: !!answer?.next && isCurrent, run: () => to(answer?.next) },
    { keys: "k", does: TEXTS.case.previous, when: !!answer?.previous && isCurrent, run: () => to(answer?.previous) },
    { keys: "f", does: TEXTS.case.nextFailure, when: !!answer?.next_failure && isCurrent, run: () => to(answer?.next_failure) },
    { keys: "F", does: TEXTS.case.previousFailure, when: !!answer?.previous_failure && isCurrent, run: () => to(answer?.previous_failure) },
  ]);
  const next = isCurrent ? answer?.next : null;
  useEffect(() => {
    if (!answer || !next) return undefined;
    const href = call(`/runs/${encodeURIComponent(answer.run.id)}/cases/${encodeURIComponent(next)}`, filter);
    const wait = setTimeout(() => void read(href).catch(() => undefined), 400);
    return () => clearTimeout(wait);
  }, [next]);
}

function About({ answer, q }: { answer: CaseAnswer; q: string | null }) {
  const { at, of, tags, cluster } = answer;
  return (
    <span class="case-about">
      {at !== null && of !== null && <span>{q ? TEXTS.case.placeIn(count(at + 1), count(of), oneLine(q, 60)) : TEXTS.case.place(count(at + 1), count(of))}</span>}
      {at === null && q && <span>{TEXTS.case.notIn(oneLine(q, 60))}</span>}
      {tags.map((tag) => (
        <span key={tag} class="badge">
          {oneLine(tag, 40)}
        </span>
      ))}
      {cluster !== null && <span>{TEXTS.case.cluster(oneLine(cluster, 40))}</span>}
    </span>
  );
}

function Neighbours({ answer, filter }: { answer: CaseAnswer; filter: Filter }) {
  const to = (id: string) => address(["runs", answer.run.id, "cases", id], { ...filter, view: here().query.get("view") });
  const ways = [
    [answer.previous, TEXTS.case.previousShort, TEXTS.case.previous, "k"],
    [answer.next, TEXTS.case.nextShort, TEXTS.case.next, "j"],
    [answer.next_failure, TEXTS.case.nextFailureShort, TEXTS.case.nextFailure, "f"],
  ] as const;
  return (
    <nav class="case-ways" aria-label={TEXTS.case.ways}>
      {ways.map(([id, text, name, key]) =>
        id ? (
          <a key={key} class="button" href={to(id)} title={name}>
            {text} <KeyCap name={key} />
          </a>
        ) : (
          <span key={key} class="button off" aria-disabled="true">
            {text}
          </span>
        ),
      )}
    </nav>
  );
}

/** The attempt that the address names, from 1; 1 where it names none. */
function repOf(query: URLSearchParams): number {
  const wanted = Number(query.get("rep"));
  return Number.isInteger(wanted) && wanted > 0 ? wanted : 1;
}

/** The attempt that is looked at, from 0: the one of the address, else the first that did not pass. */
function chosen(marks: string, query: URLSearchParams): number {
  if (query.get("rep") !== null) return Math.min(repOf(query), marks.length) - 1;
  return Math.max(0, marks.search(/[^pu]/));
}

function Attempts({ answer, query }: { answer: CaseAnswer; query: URLSearchParams }) {
  const { attempts, first, marks } = answer;
  const index = chosen(marks, query);
  const attempt = attempts[index - first];
  const to = (next: number) => go(withQuery({ rep: String(next + 1), at: null }), { replace: true });
  useKeys(TEXTS.case.title, [{ keys: "r", does: TEXTS.case.nextRepeat, when: marks.length > 1, run: () => to((index + 1) % marks.length) }]);
  const isElsewhere = !attempt && attempts.length > 0;
  useEffect(() => {
    if (isElsewhere && query.get("rep") === null) to(index);
  }, [isElsewhere, index]);
  if (!attempt && !isElsewhere) return <p class="empty">{TEXTS.case.noAttempts}</p>;
  return (
    <>
      {marks.length > 1 && <Repeats answer={answer} index={index} />}
      {attempt ? <AttemptPage key={attempt.position} answer={answer} attempt={attempt} query={query} /> : <Waiting />}
    </>
  );
}

/** The attempts at a case: all of them in words, of many those near the one that is looked at by their numbers. */
function Repeats({ answer, index }: { answer: CaseAnswer; index: number }) {
  const { attempts, marks } = answer;
  const isFew = marks.length <= FEW_ATTEMPTS;
  const start = Math.floor(index / BLOCK) * BLOCK;
  const blocks = Array.from({ length: Math.ceil(marks.length / BLOCK) }, (_, place) => place * BLOCK);
  return (
    <>
      {!isFew && (
        <nav class="repeat-blocks quiet" aria-label={TEXTS.case.blocks}>
          <span>{TEXTS.case.attemptsSaid(spokenMarks(marks))}</span>
          {blocks.length > 1 &&
            blocks.map((from) => {
              const to = Math.min(from + BLOCK, marks.length);
              return (
                <a key={from} href={withQuery({ rep: String(from + 1), at: null })} aria-current={from === start ? "true" : undefined} title={spokenMarks(marks.slice(from, to))}>
                  {TEXTS.case.block(count(from + 1), count(to))}
                </a>
              );
            })}
        </nav>
      )}
      <nav class={isFew ? "repeats" : "repeats many"} aria-label={TEXTS.case.attempts}>
        {[...marks.slice(start, start + BLOCK)].map((letter, place) => {
          const at = start + place;
          return (
            <a key={at} class="repeat" href={withQuery({ rep: String(at + 1), at: null })} aria-current={at === index ? "true" : undefined} aria-label={isFew ? undefined : `${TEXTS.case.attempt(at + 1)}: ${TEXTS.marks[markOf(letter)]}`}>
              <MarkShape mark={attempts[at - answer.first]?.mark ?? markOf(letter)} named={isFew} /> {isFew ? TEXTS.case.attempt(at + 1) : at + 1}
            </a>
          );
        })}
        <KeyCap name="r" />
      </nav>
    </>
  );
}

function viewOf(attempt: AttemptView, wanted: string | null): View {
  const there = viewsOf(attempt);
  if (there.includes(wanted as View)) return wanted as View;
  if (attempt.talk || attempt.tree.length) return "talk";
  return attempt.trace ? "waterfall" : "io";
}

function viewsOf(attempt: AttemptView): View[] {
  return VIEWS.filter((view) => (view === "talk" ? attempt.talk || attempt.tree.length || attempt.trace : view === "waterfall" ? attempt.trace : true));
}

interface AttemptProps {
  answer: CaseAnswer;
  attempt: AttemptView;
  query: URLSearchParams;
}

function AttemptPage({ answer, attempt, query }: AttemptProps) {
  const view = viewOf(attempt, query.get("view"));
  const views = viewsOf(attempt);
  const at = /^e(\d+)$/.exec(query.get("at") ?? "")?.[1];
  const change = useCallback((changes: Record<string, string | null>) => go(withQuery(changes), { replace: true }), []);
  const canDiff = answer.expected.kind !== "missing" && attempt.output.kind !== "missing";
  const isDiff = canDiff && query.get("diff") === "1";
  const turnDiff = (wanted: boolean) => change({ diff: wanted ? "1" : null });
  useKeys(TEXTS.case.title, [
    ...VIEWS.map((each, index) => ({ keys: String(index + 1), does: TEXTS.case.viewKeys[each], when: views.includes(each), run: () => change({ view: each }) })),
    { keys: "d", does: TEXTS.case.diff, when: canDiff, run: () => turnDiff(!isDiff) },
  ]);
  return (
    <>
      <Why attempt={attempt} />
      <Facts answer={answer} attempt={attempt} />
      {(view === "talk" || view === "waterfall") && <InOut answer={answer} attempt={attempt} isFull={false} isDiff={isDiff} onDiff={turnDiff} />}
      <Views views={views} view={view} />
      <div class="case-view">
        <Suspense fallback={<Waiting />}>
          {view === "io" && <InOut answer={answer} attempt={attempt} isFull isDiff={isDiff} onDiff={turnDiff} />}
          {view === "json" && <JsonView answer={answer} attempt={attempt} />}
          {view === "talk" && <TalkOf answer={answer} attempt={attempt} at={at} change={change} />}
          {view === "waterfall" && attempt.trace && <TraceOf answer={answer} attempt={attempt} look="waterfall" at={at} change={change} />}
        </Suspense>
      </div>
      <Further answer={answer} attempt={attempt} />
      <HistoryPart answer={answer} />
    </>
  );
}

/** The reason first: the task's own error, else what the worst evaluator said; then all of them. */
function Why({ attempt }: { attempt: AttemptView }) {
  const listed = worstFirst(attempt.judgements);
  const worst = listed.find((each) => each.mark === attempt.mark) ?? listed[0];
  const isBad = attempt.mark !== "pass" && attempt.mark !== "skip";
  const rest = isBad && attempt.error === null ? listed.filter((each) => each !== worst) : listed;
  return (
    <section class="why" aria-label={TEXTS.case.why}>
      <div class={`why-head mark-line-${attempt.mark}`}>
        <Mark mark={attempt.mark} />
        {attempt.error !== null ? (
          <div class="why-text">
            <strong class="prose">
              {attempt.error_type && !attempt.error.startsWith(attempt.error_type) && <Plain text={`${attempt.error_type}: `} />}
              <Plain text={attempt.error} />
            </strong>
            {attempt.traceback && <Traceback text={attempt.traceback} />}
          </div>
        ) : isBad && worst ? (
          <Worst judgement={worst} />
        ) : (
          listed.length === 0 && <span class="quiet">{TEXTS.case.noJudgements}</span>
        )}
      </div>
      {(rest.length > 0 || attempt.not_run.length > 0) && <Judgements judgements={rest} notRun={attempt.not_run} />}
    </section>
  );
}

function Worst({ judgement }: { judgement: CellJudgement }) {
  const { name, text, reason, traceback, details, mark } = judgement;
  return (
    <div class="why-text">
      <span class="why-name">
        <strong>
          <Plain text={name} />
        </strong>
        {text && text !== TEXTS.marks[mark ?? "skip"] && (
          <span class="quiet">
            {" "}
            <Plain text={text} />
          </span>
        )}
        {judgement.is_judge && <span class="badge">{TEXTS.case.judge}</span>}
      </span>
      {reason ? (
        <div class="prose" dir="auto">
          <Plain text={reason} />
        </div>
      ) : (
        <span class="quiet"> {TEXTS.case.noReason}</span>
      )}
      {traceback && <Traceback text={traceback} />}
      {details && details.kind !== "missing" && (
        <details>
          <summary>{TEXTS.case.details}</summary>
          <Value name={TEXTS.case.detailsOf(name)} value={details} isBare />
        </details>
      )}
    </div>
  );
}

function Facts({ answer, attempt }: { answer: CaseAnswer; attempt: AttemptView }) {
  const facts: [string, string][] = [];
  if (attempt.seconds !== null) facts.push([TEXTS.case.time, seconds(attempt.seconds)]);
  if (attempt.cost) facts.push([TEXTS.case.cost, attempt.judging ? TEXTS.case.withJudging(attempt.cost.text, attempt.judging) : attempt.cost.text]);
  if (attempt.tokens_in !== null || attempt.tokens_out !== null)
    facts.push([TEXTS.case.tokens, TEXTS.case.inOut(amount(attempt.tokens_in), amount(attempt.tokens_out))]);
  if (attempt.tries > 1) facts.push([TEXTS.case.tries, count(attempt.tries)]);
  for (const [name, text] of attempt.metrics) if (!SAID.has(name)) facts.push([oneLine(name, 40), oneLine(text, 60)]);
  return (
    <dl class="case-facts">
      {facts.slice(0, 12).map(([name, text], index) => (
        <div key={index}>
          <dt>{name}</dt>
          <dd class="number">{text}</dd>
        </div>
      ))}
      <div>
        <dt>{TEXTS.case.run}</dt>
        <dd>
          <Ago at={answer.run.started_at} />
        </dd>
      </div>
    </dl>
  );
}

function amount(value: number | null): string {
  return value === null ? "–" : count(value);
}

function InOut({ answer, attempt, isFull, isDiff, onDiff }: { answer: CaseAnswer; attempt: AttemptView; isFull: boolean; isDiff: boolean; onDiff: (wanted: boolean) => void }) {
  const first = isFull ? FULL : SHORT;
  const hasExpected = answer.expected.kind !== "missing" || answer.expected_calls.kind !== "missing";
  const isTalk = attempt.talk !== null;
  return (
    <section class={`in-out${hasExpected ? " three" : ""}${isFull ? " full" : ""}`} aria-label={TEXTS.case.views.io}>
      <div class="in-out-cell">
        <Value name={TEXTS.case.input} value={answer.input} first={first} />
      </div>
      {!(isTalk && !isFull) && (
        <div class="in-out-cell">
          <Value name={TEXTS.case.output} value={attempt.output} against={answer.expected} againstName={TEXTS.case.expected} isDiff={isDiff} onDiff={onDiff} first={first}>
            {answer.expected.kind !== "missing" && <KeyCap name="d" />}
          </Value>
        </div>
      )}
      {hasExpected && (
        <div class="in-out-cell">
          {answer.expected.kind !== "missing" && <Value name={TEXTS.case.expected} value={answer.expected} first={first} />}
          {answer.expected_calls.kind !== "missing" && <Value name={TEXTS.case.expectedCalls} value={answer.expected_calls} first={first} />}
        </div>
      )}
      {(attempt.sounds.length > 0 || attempt.hearing) && (
        <div class="in-out-cell wide">
          {attempt.sounds.map((sound) => (
            <Player key={sound.href} sound={sound} />
          ))}
          {attempt.hearing && <HearingView hearing={attempt.hearing} />}
        </div>
      )}
    </section>
  );
}

function Views({ views, view }: { views: View[]; view: View }) {
  return (
    <nav class="views" aria-label={TEXTS.case.viewsLabel}>
      {VIEWS.map((each, index) =>
        views.includes(each) ? (
          <a key={each} href={withQuery({ view: each })} aria-current={each === view ? "true" : undefined}>
            <KeyCap name={String(index + 1)} /> {TEXTS.case.views[each]}
          </a>
        ) : null,
      )}
      {(view === "waterfall" || view === "talk") && views.includes("waterfall") && (
        <span class="quiet views-hint">
          <KeyCap name="[" /> <KeyCap name="]" /> {TEXTS.trace.hint}
        </span>
      )}
    </nav>
  );
}

interface TraceOfProps {
  answer: CaseAnswer;
  attempt: AttemptView;
  at: string | undefined;
  change: (changes: Record<string, string | null>) => void;
}

function TraceOf({ answer, attempt, look, at, change }: TraceOfProps & { look: "talk" | "waterfall" }) {
  const onAt = useCallback((id: number) => change({ at: `e${id}` }), [change]);
  if (!attempt.trace) return null;
  return <Trace run={answer.run.id} position={attempt.position} summary={attempt.trace} look={look} at={at ? Number(at) : null} onAt={onAt} />;
}

function TalkOf({ answer, attempt, at, change }: TraceOfProps) {
  if (!attempt.talk && !attempt.tree.length) return <TraceOf answer={answer} attempt={attempt} look="talk" at={at} change={change} />;
  return (
    <>
      {attempt.tree.length > 0 && (
        <>
          <h2>{TEXTS.case.tree}</h2>
          <TreeView turns={attempt.tree} name={TEXTS.case.tree} />
        </>
      )}
      {attempt.talk && <TalkView talk={attempt.talk} />}
    </>
  );
}

function JsonView({ answer, attempt }: { answer: CaseAnswer; attempt: AttemptView }) {
  const text = useMemo(() => attemptJson(answer, attempt), [answer, attempt]);
  return <Value name={TEXTS.case.asJson} value={{ kind: "json", text, length: text.length, href: null, talk: null }} />;
}

/** What is seldom looked at. */
function Further({ answer, attempt }: { answer: CaseAnswer; attempt: AttemptView }) {
  return (
    <section class="further" aria-label={TEXTS.case.further}>
      {attempt.labels.length > 0 && (
        <details open>
          <summary>
            {TEXTS.case.labels} <span class="quiet">{attempt.labels.length}</span>
          </summary>
          <ul class="labels">
            {attempt.labels.map((label, index) => (
              <li key={index}>
                <strong>
                  <Plain text={label.value} />
                </strong>{" "}
                <span class="quiet">
                  <Plain text={label.question} /> · <Plain text={label.person} />
                  {label.at && (
                    <>
                      {" "}
                      · <Ago at={label.at} />
                    </>
                  )}
                </span>
                {label.note && (
                  <div class="prose">
                    <Plain text={label.note} />
                  </div>
                )}
              </li>
            ))}
          </ul>
        </details>
      )}
      {answer.metadata.kind !== "missing" && (
        <details>
          <summary>{TEXTS.case.metadata}</summary>
          <Value name={TEXTS.case.metadata} value={answer.metadata} isBare />
        </details>
      )}
      {attempt.metrics.length > 0 && (
        <details>
          <summary>
            {TEXTS.case.metrics} <span class="quiet">{attempt.metrics.length}</span>
          </summary>
          <dl class="facts">
            {attempt.metrics.map(([name, text]) => (
              <>
                <dt>
                  <Plain text={name} />
                </dt>
                <dd>
                  <Plain text={text} />
                </dd>
              </>
            ))}
          </dl>
        </details>
      )}
      {attempt.attributes.length > 0 && (
        <details>
          <summary>
            {TEXTS.case.attributes} <span class="quiet">{attempt.attributes.length}</span>
          </summary>
          {attempt.attributes.map(([name, value]) => (
            <Value key={name} name={oneLine(name, 80)} value={value} first={SHORT} />
          ))}
        </details>
      )}
      {attempt.trace_id && (
        <p class="quiet">
          {TEXTS.case.traceId} <code>{oneLine(attempt.trace_id, 80)}</code>
        </p>
      )}
    </section>
  );
}

function HistoryPart({ answer }: { answer: CaseAnswer }) {
  const dataset = answer.run.dataset;
  const asked = useAnswer<HistoryAnswer>(call(`/cases/${encodeURIComponent(answer.id)}/history`, { dataset }));
  const history = asked.answer;
  if (!history || history.points.length < 2) return null;
  return (
    <section class="section" aria-label={TEXTS.history.title}>
      <div class="section-head">
        <h2>{TEXTS.history.title}</h2>
        <span class="quiet">{history.summary}</span>
        <a href={address(["cases", answer.id], { dataset })}>{TEXTS.history.all}</a>
      </div>
      <HistoryStrip history={history} run={answer.run.id} />
      <details>
        <summary>{TEXTS.history.list}</summary>
        <HistoryTable history={{ ...history, points: history.points.slice(0, 20) }} run={answer.run.id} />
      </details>
    </section>
  );
}
