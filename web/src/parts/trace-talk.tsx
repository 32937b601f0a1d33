// A trace as a conversation: what was said, and between it what was asked of models and tools. Steps are drawn stretch by stretch when they
// come near the window, and what they hold is asked for then.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Refused } from "../api";
import { count, dollars, seconds } from "../numbers";
import { TEXTS } from "../texts";
import { type Bodies, useBody } from "./bodies";
import { MarkShape } from "./mark";
import { Plain, oneLine } from "./plain";
import { StepBodyView } from "./step-body";
import type { Line, Steps } from "./steps";
import { Value } from "./value";

const STRETCH = 40;
const FIRST = { characters: 2400, lines: 30 };
const FIRST_OUTPUT = { characters: 600, lines: 8 };
const ABOUT = { user: 70, agent: 90, model: 28, tool: 62, span: 28 };

interface TraceTalkProps {
  steps: Steps;
  lines: Line[];
  bodies: Bodies;
  found: ReadonlySet<number>;
  selected: number | null;
  isLoading: number | null;
  onSelect: (id: number) => void;
  onLoad: (line: Line) => void;
}

export function TraceTalk(props: TraceTalkProps) {
  const { lines, steps, selected } = props;
  const box = useRef<HTMLDivElement>(null);
  const stretches: Line[][] = [];
  for (let at = 0; at < lines.length; at += STRETCH) stretches.push(lines.slice(at, at + STRETCH));
  const row = selected === null ? -1 : lines.findIndex((line) => !line.gap && steps.id[line.at] === selected);
  const chosen = row < 0 ? -1 : Math.floor(row / STRETCH);
  useReveal(box, selected, chosen);
  return (
    <div class="trace-talk" ref={box} role="feed" aria-label={TEXTS.trace.talk}>
      {stretches.map((stretch, index) => (
        <Stretch key={`${index} ${stretch[0]?.at}`} {...props} stretch={stretch} index={index} isWanted={index === chosen} />
      ))}
    </div>
  );
}

/** Scrolls to the chosen step: first to where it must be, then, once it is drawn, to where it is. */
function useReveal(box: { current: HTMLDivElement | null }, selected: number | null, chosen: number): void {
  const first = useRef(true);
  useEffect(() => {
    if (selected === null || chosen < 0) return undefined;
    const isFirst = first.current;
    first.current = false;
    let tries = 0;
    const look = () => {
      const step = box.current?.querySelector(`[data-step="${selected}"]`);
      if (step && !isFirst) step.scrollIntoView({ block: "nearest" });
      else if (!step && !isFirst) box.current?.querySelector(`[data-stretch="${chosen}"]`)?.scrollIntoView({ block: "nearest" });
      if (!step && tries++ < 10) timer = requestAnimationFrame(look);
    };
    let timer = requestAnimationFrame(look);
    return () => cancelAnimationFrame(timer);
  }, [selected, chosen]);
}

function Stretch({ stretch, index, isWanted, ...props }: TraceTalkProps & { stretch: Line[]; index: number; isWanted: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(index === 0 || isWanted);
  const [height, setHeight] = useState<number | null>(null);
  useEffect(() => {
    if (isWanted) setNear(true);
  }, [isWanted]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const watch = new IntersectionObserver(
      ([entry]) => {
        if (!entry) return;
        if (!entry.isIntersecting && element.dataset["drawn"]) setHeight(entry.boundingClientRect.height);
        setNear(entry.isIntersecting || element.contains(document.activeElement));
      },
      { rootMargin: "1200px 0px" },
    );
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const about = height ?? stretch.reduce((sum, line) => sum + (line.gap ? 40 : ABOUT[props.steps.kind[line.at]!]), 0);
  return (
    <div ref={box} data-stretch={index} data-drawn={isNear ? "1" : undefined} style={isNear ? { height: "" } : { height: `${about}px` }}>
      {isNear &&
        stretch.map((line) =>
          line.gap ? (
            <p key={`gap ${line.at}`} class="trace-gap">
              {TEXTS.trace.notLoaded(count(line.gap))}{" "}
              <button type="button" class="link" disabled={props.isLoading === line.at} onClick={() => props.onLoad(line)}>
                {props.isLoading === line.at ? TEXTS.trace.loading : TEXTS.trace.load}
              </button>
            </p>
          ) : (
            <TalkStep key={props.steps.id[line.at]} at={line.at} {...props} />
          ),
        )}
    </div>
  );
}

function TalkStep({ steps, bodies, at, found, selected, onSelect }: TraceTalkProps & { at: number }) {
  const id = steps.id[at]!;
  const kind = steps.kind[at]!;
  const isSelected = selected === id;
  const isMessage = kind === "user" || kind === "agent";
  const name = `${TEXTS.trace.kinds[kind]}${isMessage ? "" : ` ${oneLine(steps.label[at]!, 60)}`}${steps.failed[at] ? `, ${TEXTS.trace.failed}` : ""}`;
  return (
    <article
      class={`said-step kind-${kind}${isSelected ? " selected" : ""}${found.has(id) ? " found" : ""}${steps.failed[at] ? " failed" : ""}`}
      data-step={id}
      aria-label={name}
      aria-posinset={id + 1}
      aria-setsize={steps.total}
      onClick={(event) => !(event.target as Element).closest("button, a, input, summary, [role=tree]") && getSelection()?.isCollapsed && onSelect(id)}
    >
      <Who steps={steps} at={at} />
      {isMessage ? <Message steps={steps} bodies={bodies} at={at} /> : <Call steps={steps} bodies={bodies} at={at} isSelected={isSelected} />}
    </article>
  );
}

function Who({ steps, at }: { steps: Steps; at: number }) {
  const facts: string[] = [];
  if (steps.took[at] !== null && steps.kind[at] !== "user") facts.push(seconds(steps.took[at]!));
  if (steps.tokensIn[at] !== null || steps.tokensOut[at] !== null) facts.push(`${steps.tokensIn[at] === null ? "–" : count(steps.tokensIn[at]!)} → ${steps.tokensOut[at] === null ? "–" : count(steps.tokensOut[at]!)}`);
  if (steps.cost[at] !== null) facts.push(dollars(steps.cost[at]!));
  return (
    <div class="said-who">
      <span class="kind">{TEXTS.trace.kinds[steps.kind[at]!]}</span>
      {steps.failed[at] && <MarkShape mark="error" named />}
      {facts.length > 0 && <span class="said-facts">{facts.join(" · ")}</span>}
    </div>
  );
}

function Message({ steps, bodies, at }: { steps: Steps; bodies: Bodies; at: number }) {
  const body = useBody(bodies, steps.id[at]!);
  if (!body || body instanceof Refused)
    return (
      <div class="said-what prose">
        <Plain text={steps.label[at]!} />
        {body && <span class="problem"> {body.message}</span>}
      </div>
    );
  return (
    <div class="said-what">
      {body.content.kind === "missing" ? <Plain text={steps.label[at]!} /> : <Value name={TEXTS.trace.parts.content} value={body.content} first={FIRST} isBare />}
    </div>
  );
}

/** A call of a tool or a model: a line, and on demand what it was given and gave. */
function Call({ steps, bodies, at, isSelected }: { steps: Steps; bodies: Bodies; at: number; isSelected: boolean }) {
  const id = steps.id[at]!;
  const isTool = steps.kind[at] === "tool";
  const [isOpen, setOpen] = useState(isSelected);
  useEffect(() => {
    if (isSelected) setOpen(true);
  }, [isSelected]);
  const body = useBody(bodies, id);
  const known = body && !(body instanceof Refused) ? body : null;
  const error = known?.error || steps.error.get(id);
  return (
    <div class="said-what">
      <button type="button" class="said-call" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class="twist" aria-hidden="true">
          {isOpen ? "▾" : "▸"}
        </span>
        <span class="mono said-name">{oneLine(steps.label[at]!, 80)}</span>
        {isTool && known && known.arguments.kind !== "missing" && <span class="mono quiet said-arguments">{oneLine(known.arguments.text, 160)}</span>}
      </button>
      {isOpen ? (
        <StepBodyView bodies={bodies} id={id} error={steps.error.get(id)} />
      ) : (
        <>
          {error && (
            <p class="step-error">
              <Plain text={error.slice(0, 600)} />
            </p>
          )}
          {known && known.output.kind !== "missing" && (
            <div class={isTool ? "said-output" : "said-output prose"}>
              <Plain text={oneLine(known.output.text, FIRST_OUTPUT.characters)} />
            </div>
          )}
        </>
      )}
    </div>
  );
}
