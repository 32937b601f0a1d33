// A trace: its skeleton first, what steps hold when it is looked at; searched on the server, filtered by kind, walked by keys.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Refused, call, read, useAnswer } from "../api";
import { useKeys } from "../keys";
import { count } from "../numbers";
import { TEXTS } from "../texts";
import type { FoundStepsAnswer, TraceAnswer, TraceSummary } from "../wire";
import { Bodies } from "./bodies";
import { MarkShape } from "./mark";
import type { Span } from "./minimap";
import { Answered } from "./page";
import { StepBodyView, StepHead } from "./step-body";
import { KINDS, type Line, type StepKind, Steps, linesOf } from "./steps";
import { TraceTalk } from "./trace-talk";
import { LOADED_AT_ONCE, Waterfall, type WaterfallHandle } from "./waterfall";
import "./trace.css";

interface TraceProps {
  run: string;
  position: number;
  summary: TraceSummary;
  look: "talk" | "waterfall";
  /** The id of the step that is open, from the address. */
  at: number | null;
  onAt: (id: number) => void;
}

export default function Trace(props: TraceProps) {
  const root = `/runs/${encodeURIComponent(props.run)}/attempts/${props.position}`;
  const asked = useAnswer<TraceAnswer>(call(`${root}/trace`));
  if (asked.answer && !asked.isCurrent) return null;
  return <Answered asked={asked}>{(answer) => <Loaded key={root} root={root} answer={answer} {...props} />}</Answered>;
}

/** Which steps have come, and how more of them do. */
function useSteps(root: string, answer: TraceAnswer) {
  const [more, setMore] = useState<TraceAnswer[]>([]);
  const [isLoading, setLoading] = useState<number | null>(null);
  const [problem, setProblem] = useState("");
  const steps = useMemo(() => new Steps([answer, ...more]), [answer, more]);
  const loadAfter = async (id: number, limit: number, place: number) => {
    setLoading(place);
    try {
      const part = await read<TraceAnswer>(call(`${root}/trace`, { after: id, limit: Math.min(limit, LOADED_AT_ONCE) }));
      setMore((before) => [...before, part]);
      setProblem("");
    } catch (error) {
      setProblem(error instanceof Refused ? error.message : String(error));
    }
    setLoading(null);
  };
  const load = (line: Line) => loadAfter(line.at > 0 ? steps.id[line.at - 1]! : -1, line.gap, line.at);
  return { steps, load, loadAfter, isLoading, problem };
}

function Loaded({ root, answer, summary, look, at, onAt }: TraceProps & { root: string; answer: TraceAnswer }) {
  const { steps, load, loadAfter, isLoading, problem } = useSteps(root, answer);
  const bodies = useMemo(() => new Bodies(root), [root]);
  const [chosen, setSelected] = useState<number | null>(at ?? summary.failed_step);
  const selected = chosen ?? (look === "waterfall" ? (steps.id[0] ?? null) : null);
  const [folded, setFolded] = useState<ReadonlySet<number>>(new Set());
  const [kinds, setKinds] = useState<ReadonlySet<StepKind> | null>(null);
  const [onlyFailed, setOnlyFailed] = useState(false);
  const [span, setSpan] = useState<Span | null>(null);
  const handle = useRef<WaterfallHandle>(null);
  const lines = useMemo(() => linesOf(steps, { folded, kinds, onlyFailed }), [steps, folded, kinds, onlyFailed]);

  const timer = useRef(0);
  const select = useCallback(
    (id: number) => {
      setSelected(id);
      clearTimeout(timer.current);
      timer.current = window.setTimeout(() => onAt(id), 200);
    },
    [onAt],
  );
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    if (at !== null) setSelected(at);
  }, [at]);
  const fold = useCallback((id: number) => setFolded((before) => turned(before, id)), []);
  /** Opens what hides a step, loads it if it is not there, and goes to it. */
  const goTo = async (id: number) => {
    const place = steps.find(id);
    if (place < 0) await loadAfter(id - 1, 200, -2);
    else setFolded((before) => without(before, steps.above(place).map((each) => steps.id[each]!)));
    if (place >= 0 && !lines.some((line) => !line.gap && line.at === place)) {
      setKinds(null);
      setOnlyFailed(false);
    }
    select(id);
  };
  const search = useSearch(root, (id) => void goTo(id), selected);
  useEffect(() => {
    if (at !== null && steps.find(at) < 0 && at < steps.total) void loadAfter(at - 1, 200, -2);
  }, [at]);
  useEffect(() => {
    const place = selected === null ? -1 : steps.find(selected);
    if (place >= 0) handle.current?.reveal(place);
  }, [steps, look]);
  useTraceKeys({ steps, lines, selected, select, goTo: (id) => void goTo(id), folded, fold, setFolded });

  const shownSpan = span ?? { from: 0, to: steps.extent };
  const place = selected === null ? -1 : steps.find(selected);
  const common = { steps, lines, found: search.ids, selected, isLoading, onSelect: select, onLoad: (line: Line) => void load(line) };
  return (
    <div class={`trace look-${look}`}>
      <div class="trace-bar">
        {search.view}
        <Kinds steps={steps} kinds={kinds} setKinds={setKinds} onlyFailed={onlyFailed} setOnlyFailed={setOnlyFailed} />
        {look === "waterfall" && steps.depth.some((depth) => depth > 0) && (
          <button type="button" onClick={() => setFolded(folded.size ? new Set() : allFolded(steps))}>
            {folded.size ? TEXTS.trace.unfoldAll : TEXTS.trace.foldAll}
          </button>
        )}
        {span && (
          <button type="button" onClick={() => setSpan(null)}>
            {TEXTS.trace.wholeTime}
          </button>
        )}
        <span class="quiet trace-facts">
          {answer.facts.join(" · ")}
          {steps.length < steps.total && ` · ${TEXTS.trace.loaded(count(steps.length), count(steps.total))}`}
        </span>
      </div>
      {answer.notes.map((note) => (
        <p key={note} class="quiet">
          {note}
        </p>
      ))}
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {lines.length === 0 ? (
        // The notes say that no step was recorded.
        steps.total > 0 && <p class="quiet">{TEXTS.trace.noneOfKind}</p>
      ) : look === "talk" ? (
        <TraceTalk {...common} bodies={bodies} />
      ) : (
        <div class="trace-panes">
          <Waterfall {...common} folded={folded} span={shownSpan} onFold={fold} onSpan={setSpan} handle={handle} />
          <section class="trace-detail" aria-label={TEXTS.trace.detail} tabIndex={0}>
            {place >= 0 ? (
              <>
                <StepHead steps={steps} at={place} />
                <StepBodyView key={selected!} bodies={bodies} id={selected!} error={steps.error.get(selected!)} />
              </>
            ) : (
              <p class="quiet">{TEXTS.trace.choose}</p>
            )}
          </section>
        </div>
      )}
    </div>
  );
}

function turned(before: ReadonlySet<number>, id: number): ReadonlySet<number> {
  const after = new Set(before);
  if (!after.delete(id)) after.add(id);
  return after;
}

function without(before: ReadonlySet<number>, ids: number[]): ReadonlySet<number> {
  return ids.some((id) => before.has(id)) ? new Set([...before].filter((id) => !ids.includes(id))) : before;
}

function allFolded(steps: Steps): ReadonlySet<number> {
  const found = new Set<number>();
  for (let at = 0; at < steps.length; at++) if (steps.children[at]! > 0) found.add(steps.id[at]!);
  return found;
}

interface KindsProps {
  steps: Steps;
  kinds: ReadonlySet<StepKind> | null;
  setKinds: (kinds: ReadonlySet<StepKind> | null) => void;
  onlyFailed: boolean;
  setOnlyFailed: (only: boolean) => void;
}

function Kinds({ steps, kinds, setKinds, onlyFailed, setOnlyFailed }: KindsProps) {
  const there = KINDS.filter((kind) => steps.counts[kind] > 0);
  const turn = (kind: StepKind) => {
    const after = turnedKind(kinds ?? new Set<StepKind>(), kind);
    setKinds(after.size === 0 || after.size === there.length ? null : after);
  };
  return (
    <span class="trace-kinds" role="group" aria-label={TEXTS.trace.filter}>
      {there.length > 1 &&
        there.map((kind) => (
          <button key={kind} type="button" class={`kind-button kind-${kind}`} aria-pressed={kinds?.has(kind) ?? false} onClick={() => turn(kind)}>
            <span class="kind">{TEXTS.trace.kinds[kind]}</span> <span class="quiet number">{count(steps.counts[kind])}</span>
          </button>
        ))}
      {steps.failures > 0 && (
        <button type="button" aria-pressed={onlyFailed} onClick={() => setOnlyFailed(!onlyFailed)}>
          <MarkShape mark="error" /> {TEXTS.trace.onlyFailed} <span class="quiet number">{count(steps.failures)}</span>
        </button>
      )}
    </span>
  );
}

function turnedKind(before: ReadonlySet<StepKind>, kind: StepKind): ReadonlySet<StepKind> {
  const after = new Set(before);
  if (!after.delete(kind)) after.add(kind);
  return after;
}

/** The search in a trace: the server finds, and Enter goes from one step to the next. */
function useSearch(root: string, goTo: (id: number) => void, selected: number | null) {
  const [text, setText] = useState("");
  const [answer, setAnswer] = useState<FoundStepsAnswer | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    if (text.trim().length < 2) return setAnswer(null);
    const control = new AbortController();
    const wait = setTimeout(
      () =>
        void read<FoundStepsAnswer>(call(`${root}/find`, { text: text.trim() }), control.signal).then(
          (found) => (setAnswer(found), setProblem("")),
          (error: unknown) => !control.signal.aborted && setProblem(error instanceof Refused ? error.message : String(error)),
        ),
      250,
    );
    return () => (clearTimeout(wait), control.abort());
  }, [root, text]);
  const ids = useMemo(() => new Set(answer?.ids ?? []), [answer]);
  const index = answer && selected !== null ? answer.ids.indexOf(selected) : -1;
  const step = (by: number) => {
    const listed = answer?.ids ?? [];
    if (!listed.length) return;
    if (index >= 0) return goTo(listed[(index + by + listed.length) % listed.length]!);
    const next = listed.findIndex((id) => id > (selected ?? -1));
    goTo(by > 0 ? listed[Math.max(0, next)]! : listed[((next < 0 ? listed.length : next) - 1 + listed.length) % listed.length]!);
  };
  const view = (
    <span class="trace-search">
      <input
        type="search"
        value={text}
        placeholder={TEXTS.trace.search}
        aria-label={TEXTS.trace.searchLabel}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Enter" && (event.preventDefault(), step(event.shiftKey ? -1 : 1))}
      />
      <span role="status" class="quiet">
        {problem || (answer && TEXTS.trace.found(index + 1, answer.ids.length, answer.left_out > 0 || answer.timed_out))}
      </span>
    </span>
  );
  return { ids, view };
}

interface TraceKeys {
  steps: Steps;
  lines: Line[];
  selected: number | null;
  select: (id: number) => void;
  goTo: (id: number) => void;
  folded: ReadonlySet<number>;
  fold: (id: number) => void;
  setFolded: (folded: ReadonlySet<number>) => void;
}

function useTraceKeys({ steps, lines, selected, select, goTo, folded, fold }: TraceKeys): void {
  const step = (by: number) => {
    const listed = lines.filter((line) => !line.gap);
    const now = selected === null ? -1 : listed.findIndex((line) => steps.id[line.at] === selected);
    const next = now < 0 ? 0 : Math.min(listed.length - 1, Math.max(0, now + by));
    if (listed[next]) select(steps.id[listed[next]!.at]!);
  };
  const failed = (by: number) => {
    const ids = steps.id.filter((_, at) => steps.failed[at]);
    const now = selected ?? -1;
    const next = by > 0 ? (ids.find((id) => id > now) ?? ids[0]) : (ids.filter((id) => id < now).pop() ?? ids[ids.length - 1]);
    if (next !== undefined) goTo(next);
  };
  const turn = (wish: boolean) => {
    const place = selected === null ? -1 : steps.find(selected);
    if (place < 0 || selected === null) return;
    const isOpen = steps.children[place]! > 0 && !folded.has(selected);
    if (wish) return void (folded.has(selected) && fold(selected));
    if (isOpen) return fold(selected);
    const parent = steps.parent[place]!;
    if (parent >= 0 && !folded.has(parent)) fold(parent), select(parent);
  };
  useKeys(TEXTS.trace.title, [
    { keys: "]", does: TEXTS.trace.next, run: () => step(1) },
    { keys: "[", does: TEXTS.trace.previous, run: () => step(-1) },
    { keys: "{", does: TEXTS.trace.fold, run: () => turn(false) },
    { keys: "}", does: TEXTS.trace.unfold, run: () => turn(true) },
    { keys: "e", does: TEXTS.trace.nextFailed, when: steps.failures > 0, run: () => failed(1) },
    { keys: "E", does: TEXTS.trace.previousFailed, when: steps.failures > 0, run: () => failed(-1) },
  ]);
}
