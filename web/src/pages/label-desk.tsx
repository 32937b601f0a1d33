// The desk: one attempt, one decision, and the next one. What is decided is shown at once and sent behind; what could not be sent stays, and is
// said, until the server has it.
import { lazy, Suspense } from "preact/compat";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Refused, call, read } from "../api";
import { type Key, keyShortcut, useKeys } from "../keys";
import { count, fixed, plural } from "../numbers";
import { drop, outbox, send, sendAgain, sendAll, useOutbox, useSent, withdraw, type Sending } from "../outbox";
import { KeyCap } from "../parts/key";
import { Page, Trouble, Waiting } from "../parts/page";
import { setPerson, usePerson } from "../parts/person";
import { WithCode } from "../parts/line";
import { Plain, oneLine } from "../parts/plain";
import { TalkView } from "../parts/talk";
import { Value } from "../parts/value";
import { Player } from "../parts/sound";
import { address } from "../router";
import { useSession } from "../shell";
import { TEXTS } from "../texts";
import type { LabelItem, LabelItemAnswer, LabelPlan, LabelProgress, LabelQuestion } from "../wire";

const WORDS = TEXTS.label;
const Trace = lazy(() => import("../parts/trace"));

/** What was decided in this window, so that it can be shown again at once. */
interface Decision {
  item: LabelItem;
  choice: number | null;
  note: string;
  sending: string;
}

interface DeskProps {
  run: string;
  question: string;
  query: URLSearchParams;
}

export function LabelDesk({ run, question, query }: DeskProps) {
  const person = usePerson();
  const crumbs = [{ text: WORDS.title, href: "/label" }];
  if (person === undefined || !person) {
    return (
      <Page title={oneLine(question, 160)} crumbs={crumbs}>
        {person === undefined ? <Waiting /> : <WhoAreYou />}
      </Page>
    );
  }
  return <Desk key={person} run={run} question={question} query={query} person={person} />;
}

function WhoAreYou() {
  return (
    <form
      class="label-start"
      onSubmit={(event) => {
        event.preventDefault();
        setPerson(String(new FormData(event.currentTarget).get("person") ?? ""));
      }}
    >
      <label class="field">
        <span>{WORDS.whoAreYou}</span>
        <input type="text" name="person" required maxLength={200} autocomplete="name" />
        <span class="quiet">{WORDS.whoHint}</span>
      </label>
      <button type="submit" class="main-button">
        {WORDS.begin}
      </button>
    </form>
  );
}

/** The seed of a draw is of this person in this browser, so that the draw is the same after the page was closed; a link does not hand it on. */
function seedOf(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function keepSeed(key: string, plan: LabelPlan): void {
  if (plan.count === null) return;
  try {
    localStorage.setItem(key, `${plan.seed},${plan.count}`);
  } catch {
    // then each visit draws anew
  }
}

function useDesk(run: string, question: string, query: URLSearchParams, person: string) {
  const drawn = query.get("count");
  const seedKey = `calipers:draw:${[run, question, person, drawn, query.get("judge")].map((each) => encodeURIComponent(each ?? "")).join("/")}`;
  const href = useMemo(() => {
    const [seed, left] = drawn ? (seedOf(seedKey)?.split(",") ?? []) : [];
    const named = Object.fromEntries(["scale", "choices", "hide_expected", "show_metadata", "judge", "width"].map((name) => [name, query.get(name)]));
    return call("/label/next", { run, question, person, ...named, count: left ?? drawn, seed: seed ?? query.get("seed") });
  }, [seedKey, query.toString()]);
  const [answer, setAnswer] = useState<LabelItemAnswer>();
  const [queue, setQueue] = useState<LabelItem[]>([]);
  const [past, setPast] = useState<Decision[]>([]);
  const [refused, setRefused] = useState<Refused>();
  const [said, setSaid] = useState("");
  const state = useRef({ queue, past });
  state.current = { queue, past };
  const box = useOutbox();

  const isOurs = useCallback(({ body: { plan } }: Sending) => plan.question === question && plan.person === person, [question, person]);
  const take = useCallback((found: LabelItemAnswer) => {
    setAnswer(found);
    setRefused(undefined);
    keepSeed(seedKey, found.plan);
    const pending = outbox().waiting.filter((each) => isOurs(each) && each.body.plan.run === found.plan.run);
    const decided = new Set(pending.filter((each) => each.method === "PUT").map((each) => each.body.position));
    const items = [found.item, ...found.ahead].filter((item): item is LabelItem => item !== null && !decided.has(item.position));
    setQueue((before) => {
      const now = before[0];
      const same = now && items.find((item) => item.position === now.position);
      // What someone reads stays before their eyes: in its newest state, or as it is while more is on its way.
      const first = same ?? (pending.length ? now : undefined);
      return first ? [first, ...items.filter((item) => item.position !== first.position)] : items;
    });
  }, []);
  const ask = useCallback(() => {
    read<LabelItemAnswer>(href).then(
      take,
      (error: unknown) => setRefused(error instanceof Refused ? error : new Refused({ code: "page", message: String(error), at: null }, 0)),
    );
  }, [href]);
  useEffect(ask, [ask]);

  const isHere = (each: Sending) => isOurs(each) && answer !== undefined && each.body.plan.run === answer.plan.run;
  const waiting = box.waiting.filter(isHere);
  const stuck = box.stuck.filter(isHere);
  useSent(useCallback((sending: Sending, found: LabelItemAnswer) => isOurs(sending) && take(found), [isOurs, take]));

  const decide = (choice: number | null, note: string) => {
    const item = state.current.queue[0];
    if (!item || !answer) return;
    const word = choice === null ? WORDS.skipped(oneLine(item.case, 60)) : WORDS.decided(answer.question.choices[choice] ?? "", oneLine(item.case, 60));
    const sending = send("PUT", { plan: answer.plan, position: item.position, choice, note, etag: item.etag }, word);
    setPast((before) => [...before.slice(-50), { item, choice, note, sending }]);
    setQueue((before) => before.slice(1));
    const next = state.current.queue[1];
    setSaid(`${word}. ${next ? WORDS.nextIs(oneLine(next.case, 60), WORDS.place(count(next.number), count(answer.progress.of))) : ""}`);
  };
  const undo = () => {
    const last = state.current.past[state.current.past.length - 1];
    if (!answer) return;
    if (last) {
      setPast((before) => before.slice(0, -1));
      const { choices } = answer.question;
      const own = last.choice === null ? null : { question, person, value: choices[last.choice] ?? "", note: last.note, at: "" };
      setQueue((before) => [{ ...last.item, own }, ...before.filter((item) => item.position !== last.item.position)]);
      setSaid(WORDS.tookBack(oneLine(last.item.case, 60)));
      if (box.stuck.some((each) => each.id === last.sending)) drop(last.sending);
      else if (!withdraw(last.sending)) send("DELETE", { plan: answer.plan, position: last.item.position, skipped: false }, WORDS.tookBack(oneLine(last.item.case, 60)));
      return;
    }
    if (answer.last === null) return;
    setQueue([]);
    send("DELETE", { plan: answer.plan, position: answer.last, skipped: false }, WORDS.undo);
  };
  const unskip = () => {
    if (!answer) return;
    setQueue([]);
    setPast([]);
    send("DELETE", { plan: answer.plan, position: null, skipped: true }, WORDS.unskip);
  };
  const canUndo = past.length > 0 || (answer !== undefined && answer.last !== null && waiting.length === 0);
  return { answer, item: queue[0], refused, ask, decide, undo, unskip, canUndo, waiting, stuck, said, problem: box.problem };
}

function Desk({ run, question, query, person }: DeskProps & { person: string }) {
  const desk = useDesk(run, question, query, person);
  const { answer, item } = desk;
  const [isChanging, setChanging] = useState(false);
  const session = useSession();
  const crumbs = [{ text: WORDS.title, href: "/label" }];
  const name = answer?.question.run_name;
  return (
    <Page
      title={oneLine(question, 160)}
      crumbs={crumbs}
      about={
        <span class="label-about">
          {answer && name && <a href={address(["runs", answer.plan.run])}>{oneLine(name, 60)}</a>}
          <span>
            {WORDS.as} <b>{oneLine(person, 40)}</b>{" "}
            <button type="button" class="link" aria-expanded={isChanging} onClick={() => setChanging(!isChanging)}>
              {WORDS.change}
            </button>
          </span>
        </span>
      }
    >
      {isChanging && <WhoAreYou />}
      <div class="said" role="status" aria-live="polite">
        {desk.said}
      </div>
      {desk.refused && <Trouble error={desk.refused} again={desk.ask} />}
      {answer && <ProgressView progress={answer.progress} pending={desk.waiting.filter((each) => each.method === "PUT").length} />}
      {!answer && !desk.refused && <Waiting />}
      {answer && item && <Attempt key={item.position} item={item} run={answer.plan.run} />}
      {answer && !item && (desk.waiting.length || answer.item ? <p class="label-end quiet">{WORDS.fetching}</p> : <End desk={desk} answer={answer} />)}
      {answer && (
        <Bar
          key={item?.position ?? "end"}
          question={answer.question}
          item={item}
          desk={desk}
          readOnly={session?.read_only ?? false}
        />
      )}
    </Page>
  );
}

type DeskState = ReturnType<typeof useDesk>;

function ProgressView({ progress, pending }: { progress: LabelProgress; pending: number }) {
  const done = Math.min(progress.done + pending, progress.of);
  const points = (width: number) => fixed(50 * width, 1);
  return (
    <div class="label-progress">
      <progress max={progress.of || 1} value={done} aria-label={WORDS.place(count(done), count(progress.of))} />
      <span class="number">{WORDS.place(count(done), count(progress.of))}</span>
      {progress.skipped > 0 && <span class="quiet">{WORDS.skippedSome(count(progress.skipped))}</span>}
      {progress.wanted_width !== null && (
        <span class="quiet">
          {progress.width === null ? (
            `${WORDS.notKnown} ${progress.why}`
          ) : (
            <>
              {WORDS.known(points(progress.width))} ({WORDS.wanted(points(progress.wanted_width))}
              {progress.width <= progress.wanted_width ? `: ${WORDS.reached}` : progress.about_left !== null ? `: ${progress.about_left > progress.of - done ? WORDS.notEnough : WORDS.left(plural(progress.about_left, "label"))}` : ""})
            </>
          )}
        </span>
      )}
    </div>
  );
}

const FIRST = { characters: 4000, lines: 60 };

/** What was asked and what came of it. */
function Attempt({ item, run }: { item: LabelItem; run: string }) {
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState<number | null>(null);
  const top = useRef<HTMLElement>(null);
  useEffect(() => {
    if (top.current && top.current.getBoundingClientRect().top < 0) top.current.scrollIntoView();
  }, []);
  return (
    <article class="label-attempt" ref={top} aria-label={item.case}>
      <p class="label-name">
        <Plain text={oneLine(item.case, 160)} />
        {item.repeats > 1 && <span class="quiet"> {WORDS.attempt(count(item.repeat), count(item.repeats))}</span>}
      </p>
      {item.own && <p class="quiet">{WORDS.before(item.own.value)}</p>}
      <Value name={WORDS.input} value={item.input} first={FIRST} />
      {item.metadata && item.metadata.kind !== "missing" && <Value name={WORDS.metadata} value={item.metadata} />}
      {item.expected && item.expected.kind !== "missing" && <Value name={WORDS.expected} value={item.expected} first={FIRST} />}
      {item.expected_calls && <Value name={WORDS.expectedCalls} value={item.expected_calls} />}
      {item.error !== null && (
        <div class="trouble">
          <p class="trouble-head">{WORDS.error}</p>
          <p>
            <Plain text={item.error} />
          </p>
        </div>
      )}
      {item.talk ? <TalkView talk={item.talk} /> : item.error === null && <Value name={WORDS.output} value={item.output} first={FIRST} />}
      {item.sounds.map((sound) => (
        <Player key={sound.href} sound={sound} />
      ))}
      {item.trace && (
        <section aria-label={WORDS.trace}>
          {isOpen ? (
            <Suspense fallback={<Waiting />}>
              <Trace run={run} position={item.position} summary={item.trace} look="talk" at={at} onAt={setAt} />
            </Suspense>
          ) : (
            <button type="button" onClick={() => setOpen(true)}>
              {WORDS.showTrace(plural(item.trace.steps, "step"))}
            </button>
          )}
        </section>
      )}
    </article>
  );
}

/** The keys of an answer: those of the terminal, its place, and what people know from elsewhere. */
function keysOf(question: LabelQuestion, place: number): string[] {
  const own = question.keys[place] ?? "";
  const more = question.kind === "yes or no" ? [String(place + 1), place === 0 ? "p" : "x"] : [];
  return [own, ...more];
}

interface BarProps {
  question: LabelQuestion;
  item: LabelItem | undefined;
  desk: DeskState;
  readOnly: boolean;
}

function Bar({ question, item, desk, readOnly }: BarProps) {
  const [note, setNote] = useState(item?.own?.note ?? "");
  const [isNoting, setIsNoting] = useState(false);
  const noting = useRef(false);
  const setNoting = (wanted: boolean) => {
    noting.current = wanted;
    setIsNoting(wanted);
  };
  // Letters that are typed as soon as a note is asked for are no decisions.
  const decide = (choice: number | null) => noting.current || desk.decide(choice, choice === null ? "" : note);
  const can = item !== undefined && !readOnly;
  const noteKeys = ["c", ...(question.keys.includes("n") ? [] : ["n"])];
  const answers: Key[] = question.choices.map((word, place) => ({
    keys: keysOf(question, place),
    does: WORDS.answerAbout(word),
    when: can,
    run: () => decide(place),
  }));
  useKeys(WORDS.title, [
    ...answers,
    { keys: "s", does: WORDS.skipAbout, when: can, run: () => decide(null) },
    { keys: noteKeys, does: WORDS.noteAbout, when: can, run: () => setNoting(true) },
    { keys: ["u", "Backspace"], does: WORDS.undoAbout, when: desk.canUndo && !readOnly, run: () => noting.current || desk.undo() },
  ]);
  return (
    <footer class="label-bar">
      <Stuck desk={desk} />
      <div class="label-head">
        {item && (
          <p class="label-asked">
            <Plain text={oneLine(question.question, 200)} />
          </p>
        )}
        <Saving desk={desk} />
      </div>
      {readOnly && <p class="quiet"><WithCode text={WORDS.readOnly} /></p>}
      {isNoting ? (
        <NoteInput note={note} onDone={(text) => (setNote(text), setNoting(false))} />
      ) : (
        note && (
          <p class="label-note">
            {WORDS.note}: <Plain text={note} />
          </p>
        )
      )}
      {item && (
        <div class={question.choices.length > 5 ? "label-answers many" : "label-answers"} role="group" aria-label={`${WORDS.answer}: ${question.question}`}>
          {question.choices.map((word, place) => (
            <button
              key={word}
              type="button"
              class={item.own?.value === word ? "label-answer before" : "label-answer"}
              disabled={!can}
              aria-keyshortcuts={keysOf(question, place).map(keyShortcut).filter(Boolean).join(" ") || undefined}
              onClick={() => decide(place)}
            >
              <span class="label-word">
                <Plain text={oneLine(word, 40)} />
              </span>
              <KeyCap name={question.keys[place] ?? ""} />
            </button>
          ))}
        </div>
      )}
      <div class="label-ways">
        <button type="button" disabled={!desk.canUndo || readOnly} title={WORDS.undoAbout} aria-keyshortcuts={keyShortcut("u")} onClick={desk.undo}>
          {WORDS.undo} <KeyCap name="u" />
        </button>
        {item && (
          <>
            <button type="button" disabled={!can} title={WORDS.noteAbout} aria-keyshortcuts={keyShortcut("c")} onClick={() => setNoting(!isNoting)}>
              {WORDS.note} <KeyCap name="c" />
            </button>
            <button type="button" disabled={!can} title={WORDS.skipAbout} aria-keyshortcuts={keyShortcut("s")} onClick={() => decide(null)}>
              {WORDS.skip} <KeyCap name="s" />
            </button>
          </>
        )}
      </div>
    </footer>
  );
}

function NoteInput({ note, onDone }: { note: string; onDone: (note: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const isDone = useRef(false);
  // Before the next key: it is meant for the note.
  useLayoutEffect(() => input.current?.focus(), []);
  const end = (text: string) => {
    if (isDone.current) return;
    isDone.current = true;
    onDone(text);
  };
  return (
    <input
      ref={input}
      type="text"
      class="label-note-input"
      defaultValue={note} // what is being written stays when the desk is drawn again
      maxLength={2000}
      aria-label={WORDS.noteLabel}
      placeholder={WORDS.notePlaceholder}
      onKeyDown={(event) => {
        if (event.key === "Enter") end(event.currentTarget.value.trim());
        else if (event.key === "Escape") end(note);
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
      onBlur={(event) => end(event.currentTarget.value.trim())}
    />
  );
}

/** What the server did not take, and what to do about it. */
function Stuck({ desk }: { desk: DeskState }) {
  return (
    <>
      {desk.stuck.map((each) => (
        <div key={each.id} class="trouble" role="alert">
          <p>
            <b>
              <Plain text={WORDS.stuck(each.said)} />
            </b>{" "}
            <WithCode text={each.message} />
          </p>
          <p class="trouble-ways">
            <button type="button" onClick={() => drop(each.id)}>
              {each.code === "conflict" ? WORDS.keep : WORDS.drop}
            </button>
            <button type="button" onClick={() => sendAgain(each.id)}>
              {each.code === "conflict" ? WORDS.over : WORDS.again}
            </button>
          </p>
        </div>
      ))}
    </>
  );
}

/** Whether all is saved. */
function Saving({ desk }: { desk: DeskState }) {
  const { waiting, problem, stuck } = desk;
  if (waiting.length > 0 && problem) {
    return (
      <p class="label-waiting" role="alert">
        {WORDS.waiting(plural(waiting.length, "answer"))} <Plain text={problem} />{" "}
        <button type="button" class="link" onClick={sendAll}>
          {WORDS.sendNow}
        </button>
      </p>
    );
  }
  if (stuck.length > 0 && waiting.length === 0) return null;
  return <p class="quiet label-saved">{waiting.length ? WORDS.saving(plural(waiting.length, "answer")) : WORDS.saved}</p>;
}

function End({ desk, answer }: { desk: DeskState; answer: LabelItemAnswer }) {
  const { progress, plan } = answer;
  return (
    <div class="label-end">
      <p>
        <b>{WORDS.end}</b> {WORDS.endSaid(plural(progress.done, "attempt"))}
      </p>
      {progress.skipped > 0 && (
        <p>
          {WORDS.endSkipped(plural(progress.skipped, "attempt"))}{" "}
          <button type="button" onClick={desk.unskip}>
            {WORDS.unskip}
          </button>
        </p>
      )}
      <p class="label-links">
        <a href={address(["runs", plan.run])}>{WORDS.look}</a>
        <a href="/judges">{WORDS.lookJudges}</a>
        <a href="/label">{WORDS.otherQuestions}</a>
      </p>
    </div>
  );
}
