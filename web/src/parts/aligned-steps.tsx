// Two traces step by step: what is the same folds away, the first step at which they part is open, with the values that differ by their path.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, useAnswer } from "../api";
import { useKeys } from "../keys";
import { count, plural } from "../numbers";
import { address } from "../router";
import { TEXTS } from "../texts";
import type { AlignedStep, AlignedTracesAnswer, AlignedValue } from "../wire";
import { Bodies } from "./bodies";
import type { Side } from "./chosen-attempts";
import { csvOf, fileName, save } from "./column";
import { Diff, InlineDiff } from "./diff";
import { KeyCap } from "./key";
import { Answered } from "./page";
import { Plain, oneLine } from "./plain";
import { CsvLink } from "./simple-table";
import { StepBodyView } from "./step-body";

const WORDS = TEXTS.comparedCase;
/** Equal steps that are shown before and after each that differs. */
const AROUND = 2;
const AT_ONCE = 200;
/** Characters up to which two values stand on one line. */
const ON_A_LINE = 200;
const CLOSED = "none";

interface TracesProps {
  sides: [Side, Side];
  /** The place of the step that is open, from 0; `none`: no step is. */
  at: string | null;
  change: (changes: Record<string, string | null>) => void;
}

export function AlignedTraces({ sides, at, change }: TracesProps) {
  const [one, two] = sides;
  const hasAny = one.attempt?.has_trace || two.attempt?.has_trace;
  const href = one.attempt && two.attempt && hasAny ? call("/traces", { a: one.run, b: two.run, at_a: one.attempt.position, at_b: two.attempt.position }) : null;
  const asked = useAnswer<AlignedTracesAnswer>(href);
  if (href === null) return null;
  return (
    <section class="section" aria-label={WORDS.trace}>
      <div class="section-head">
        <h2>{WORDS.trace}</h2>
      </div>
      <Answered asked={asked} lines={4}>
        {(answer) => (
          <div class={asked.isCurrent ? undefined : "stale"}>
            <Parting answer={answer} sides={sides} />
            {answer.steps.length > 0 && <Steps key={href} answer={answer} sides={sides} at={at} change={change} />}
          </div>
        )}
      </Answered>
    </section>
  );
}

/** Where they part, in words, and what each adds up to. */
function Parting({ answer, sides }: { answer: AlignedTracesAnswer; sides: [Side, Side] }) {
  const [first, ...rest] = answer.lines;
  return (
    <div class="parting">
      {first && (
        <p class={answer.first === null ? "quiet" : "parting-first"}>
          <Plain text={first} />
        </p>
      )}
      {rest.map((line, index) => (
        <p key={index} class="quiet">
          <Plain text={line} />
        </p>
      ))}
      <ul class="parting-facts">
        {sides.map(
          (side, index) =>
            (answer.facts[index]?.length ?? 0) > 0 && (
              <li key={side.letter}>
                <b class="letter">{side.letter}</b> <span class="quiet">{answer.facts[index]!.join(" · ")}</span>
              </li>
            ),
        )}
      </ul>
    </div>
  );
}

// ---------------------------------------------------------------------- the steps

interface Stretch {
  /** The place of the first step. */
  from: number;
  steps: AlignedStep[];
  /** Whether these are the same, and too many to be shown. */
  isFolded: boolean;
}

/** Equal steps fold away, but for a few around each that differs. */
function stretches(steps: AlignedStep[], begin: number, open: ReadonlySet<number>): Stretch[] {
  const near = new Uint8Array(steps.length);
  steps.forEach((step, place) => !step.same && near.fill(1, Math.max(0, place - AROUND), place + AROUND + 1));
  const found: Stretch[] = [];
  for (let start = 0, end = 0; start < steps.length; start = end) {
    while (end < steps.length && near[end] === near[start]) end++;
    const isFolded = !near[start] && end - start > 2 && !open.has(begin + start);
    found.push({ from: begin + start, steps: steps.slice(start, end), isFolded });
  }
  return found;
}

interface StepsProps {
  answer: AlignedTracesAnswer;
  sides: [Side, Side];
  at: string | null;
  change: (changes: Record<string, string | null>) => void;
}

function Steps({ answer, sides, at, change }: StepsProps) {
  const { steps, begin, first, total } = answer;
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  const [most, setMost] = useState(AT_ONCE);
  const list = useRef<HTMLOListElement>(null);
  const bodies = useMemo(() => sides.map((side) => new Bodies(`/runs/${encodeURIComponent(side.run)}/attempts/${side.attempt!.position}`)), []);
  const differing = useMemo(() => steps.flatMap((step, place) => (step.same ? [] : [begin + place])), [steps]);
  const chosen = at === CLOSED ? null : at !== null && /^\d+$/.test(at) ? Number(at) : first;
  const toggle = (place: number) => change({ at: place === chosen ? CLOSED : place === first ? null : String(place) });
  const step = (way: 1 | -1) => {
    const from = chosen ?? (way > 0 ? -1 : Infinity);
    const next = way > 0 ? differing.find((place) => place > from) : differing.findLast((place) => place < from);
    if (next === undefined) return;
    setMost((before) => Math.max(before, next - begin + AT_ONCE));
    change({ at: next === first ? null : String(next) });
    wanted.current = next;
  };
  const wanted = useRef<number | null>(null);
  useEffect(() => {
    if (wanted.current === null) return;
    const row = list.current?.querySelector<HTMLElement>(`[data-place="${wanted.current}"] > button`);
    wanted.current = null;
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  useKeys(WORDS.trace, [
    { keys: "]", does: WORDS.nextStep, when: differing.length > 0, run: () => step(1) },
    { keys: "[", does: WORDS.previousStep, when: differing.length > 0, run: () => step(-1) },
  ]);
  let left = most;
  return (
    <>
      {begin > 0 && <p class="quiet aligned-note">{WORDS.stepsBefore(plural(begin, "step"))}</p>}
      <div class="aligned-head" aria-hidden="true">
        {sides.map((side) => (
          <span key={side.letter}>
            <b class="letter">{side.letter}</b> <Plain text={side.name} />
          </span>
        ))}
      </div>
      <ol class="aligned" ref={list} aria-label={WORDS.steps}>
        {stretches(steps, begin, unfolded).map((stretch) => {
          if (left <= 0) return null;
          if (stretch.isFolded) {
            left -= 1;
            return (
              <li key={stretch.from}>
                <button type="button" class="aligned-fold" onClick={() => setUnfolded(new Set([...unfolded, stretch.from]))}>
                  {WORDS.sameSteps(plural(stretch.steps.length, "step"))}
                </button>
              </li>
            );
          }
          const shown = stretch.steps.slice(0, left);
          left -= shown.length;
          return shown.map((each, index) => {
            const place = stretch.from + index;
            return <StepRow key={place} step={each} place={place} sides={sides} bodies={bodies} isFirst={place === first} isOpen={place === chosen} toggle={toggle} />;
          });
        })}
      </ol>
      {begin + steps.length < total && left > 0 && <p class="quiet aligned-note">{WORDS.stepsAfter(plural(total - begin - steps.length, "step"))}</p>}
      <div class="table-foot">
        {differing.length > 1 && (
          <span class="quiet flip-keys">
            <KeyCap name="[" /> <KeyCap name="]" /> {WORDS.stepKeys}
          </span>
        )}
        <span class="grow" />
        {left <= 0 && (
          <button type="button" onClick={() => setMost(most + AT_ONCE * 5)}>
            {WORDS.moreSteps(plural(steps.length, "step"))}
          </button>
        )}
        <CsvLink make={() => save(fileName(`${sides[0].found.name} ${WORDS.csv}`, "csv"), "text/csv", stepsFile(answer, sides))} />
      </div>
    </>
  );
}

/** The steps as a table: a line for each, and for each value that differs. */
function stepsFile({ steps }: AlignedTracesAnswer, sides: [Side, Side]): string {
  const [one, two] = sides.map((side) => `${side.letter} ${side.name}`) as [string, string];
  return csvOf(
    [`${WORDS.number} ${one}`, `${WORDS.number} ${two}`, WORDS.kind, WORDS.path, one, two],
    steps.flatMap((step) => {
      const head = [step.numbers[0], step.numbers[1], TEXTS.trace.kinds[step.kind]];
      return [[...head, step.same ? WORDS.same : WORDS.differs, step.shown[0], step.shown[1]], ...step.values.map((value) => [...head, value.path, value.sides[0]?.text, value.sides[1]?.text])];
    }),
  );
}

interface RowProps {
  step: AlignedStep;
  place: number;
  sides: [Side, Side];
  bodies: Bodies[];
  isFirst: boolean;
  isOpen: boolean;
  toggle: (place: number) => void;
}

function StepRow({ step, place, sides, bodies, isFirst, isOpen, toggle }: RowProps) {
  const missing = step.numbers.findIndex((number) => number === null);
  const said = step.same ? WORDS.same : missing < 0 ? WORDS.differs : WORDS.onlyIn(sides[1 - missing]!.name);
  const name = step.same ? "aligned-step" : isFirst ? "aligned-step differs parts" : "aligned-step differs";
  return (
    <li data-place={place} class={name}>
      <button type="button" class="aligned-row" aria-expanded={isOpen} onClick={() => toggle(place)}>
        <span class="aligned-sign" aria-hidden="true">
          {step.same ? "=" : missing === 0 ? "+" : missing === 1 ? "−" : "≠"}
        </span>
        <span class="said">
          {said}
          {isFirst && `, ${WORDS.parts}`}:{" "}
        </span>
        {sides.map((side, at) => (
          <StepCell key={side.letter} step={step} at={at} letter={side.letter} />
        ))}
        {isFirst && (
          <span class="badge aligned-parts" aria-hidden="true">
            {WORDS.parts}
          </span>
        )}
      </button>
      {isOpen && <OpenStep step={step} sides={sides} bodies={bodies} />}
    </li>
  );
}

function StepCell({ step, at, letter }: { step: AlignedStep; at: number; letter: string }) {
  const number = step.numbers[at];
  if (number === null || number === undefined)
    return (
      <span class="aligned-cell aligned-missing">
        <b class="letter aligned-letter">{letter}</b> {WORDS.missing}
      </span>
    );
  return (
    <span class="aligned-cell">
      <b class="letter aligned-letter">{letter}</b>
      <span class="number aligned-number">{count(number)}</span>
      <span class={`kind kind-${step.kind}`}>{TEXTS.trace.kinds[step.kind]}</span>
      <span class="aligned-text">
        <Plain text={oneLine(step.shown[at] ?? "", 160)} />
      </span>
    </span>
  );
}

/** The values of a step that differ by their path, then both steps as a whole. */
function OpenStep({ step, sides, bodies }: { step: AlignedStep; sides: [Side, Side]; bodies: Bodies[] }) {
  const isPair = step.ids.every((id) => id !== null);
  const [isWhole, setWhole] = useState(!isPair || step.values.length === 0);
  return (
    <div class="aligned-open">
      {step.values.length > 0 && (
        <dl class="aligned-values" aria-label={WORDS.values}>
          {step.values.map((value) => (
            <div key={value.path}>
              <dt class="mono">
                <Plain text={value.path} />
              </dt>
              <dd>
                <ValuePair value={value} sides={sides} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {step.values_left_out > 0 && <p class="quiet">{WORDS.valuesLeftOut(plural(step.values_left_out, "value"))}</p>}
      {!isWhole && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          {WORDS.whole}
        </button>
      )}
      {isWhole && (
        <div class="two-sides">
          {sides.map((side, at) => {
            const id = step.ids[at];
            return (
              <div key={side.letter} class="aligned-body">
                {id === null || id === undefined ? (
                  <p class="quiet">
                    <b class="letter">{side.letter}</b> {WORDS.missing}
                  </p>
                ) : (
                  <>
                    <p>
                      <b class="letter">{side.letter}</b> {WORDS.stepOf(step.numbers[at]!, side.name)}{" "}
                      <a href={address(["runs", side.run, "cases", side.found.id], { rep: String(side.attempt!.number), view: "waterfall", at: `e${id}` })}>{WORDS.inTrace}</a>
                    </p>
                    <StepBodyView bodies={bodies[at]!} id={id} />
                  </>
                )}
              </div>
            );
          })}
        </div>
      )}
    </div>
  );
}

function ValuePair({ value, sides }: { value: AlignedValue; sides: [Side, Side] }) {
  const [one, two] = value.sides;
  if (!one || !two) return null;
  const names = { beforeName: `${sides[0].letter} ${sides[0].name}`, afterName: `${sides[1].letter} ${sides[1].name}` };
  const isLong = Math.max(one.text.length, two.text.length) > ON_A_LINE || one.text.includes("\n") || two.text.includes("\n");
  const cut = value.sides.some((side) => side.text.length < side.length && side.kind !== "missing");
  return (
    <>
      {isLong ? <Diff before={one.text} after={two.text} {...names} mono={one.kind === "json" || two.kind === "json"} /> : <InlineDiff before={shortOf(one)} after={shortOf(two)} {...names} />}
      {cut && <p class="quiet">{WORDS.bothTooLong(count(Math.max(one.text.length, two.text.length)), count(Math.max(one.length, two.length)))}</p>}
    </>
  );
}

/** A value on one line; nothing where there is none. */
function shortOf(value: AlignedValue["sides"][number]): string {
  return value.kind === "missing" ? "" : value.text === "" ? TEXTS.value.empty : value.text;
}
