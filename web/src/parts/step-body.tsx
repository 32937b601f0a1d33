// What a step was given and gave, and why it failed.
import { Refused } from "../api";
import { count, dollars, seconds } from "../numbers";
import { TEXTS } from "../texts";
import { type Bodies, useBody } from "./bodies";
import { MarkShape } from "./mark";
import { Plain } from "./plain";
import { Player } from "./sound";
import type { Steps } from "./steps";
import { Value } from "./value";

const FIRST = { characters: 6000, lines: 80 };

/** The beginning of a step: kind, name, time, tokens and cost. */
export function StepHead({ steps, at }: { steps: Steps; at: number }) {
  const facts: string[] = [];
  if (steps.start[at] !== null) facts.push(TEXTS.trace.startedAt(seconds(steps.start[at]!)));
  if (steps.took[at] !== null) facts.push(TEXTS.trace.took(seconds(steps.took[at]!)));
  if (steps.tokensIn[at] !== null || steps.tokensOut[at] !== null)
    facts.push(TEXTS.trace.tokensOf(amount(steps.tokensIn[at]!), amount(steps.tokensOut[at]!)));
  if (steps.cost[at] !== null) facts.push(dollars(steps.cost[at]!));
  return (
    <>
      <h3 class="step-name">
        {steps.failed[at] && <MarkShape mark="error" named />}
        <span class={`kind kind-${steps.kind[at]!}`}>{TEXTS.trace.kinds[steps.kind[at]!]}</span>{" "}
        <Plain text={steps.label[at]!} />
      </h3>
      <p class="quiet step-facts">
        {TEXTS.trace.number(count(steps.id[at]! + 1), count(steps.total))}
        {facts.map((fact) => ` · ${fact}`)}
      </p>
    </>
  );
}

function amount(value: number | null): string {
  return value === null ? "–" : count(value);
}

export function StepBodyView({ bodies, id, error = "" }: { bodies: Bodies; id: number; error?: string | undefined }) {
  const body = useBody(bodies, id);
  if (body instanceof Refused)
    return (
      <p class="problem" role="alert">
        {body.message}{" "}
        <button type="button" class="link" onClick={() => bodies.again(id)}>
          {TEXTS.trouble.again}
        </button>
      </p>
    );
  const why = body?.error || error;
  const parts = body ? ([["content", body.content], ["arguments", body.arguments], ["output", body.output], ["details", body.details]] as const) : [];
  const given = parts.filter(([, value]) => value.kind !== "missing");
  return (
    <div class="step-body">
      {why && (
        <p class="step-error">
          <Plain text={why} />
        </p>
      )}
      {!body && <p class="quiet step-waiting">{TEXTS.app.loading}</p>}
      {body?.sounds.map((sound) => <Player key={sound.href} sound={sound} />)}
      {given.map(([name, value]) => (
        <Value key={name} name={TEXTS.trace.parts[name]} value={value} first={FIRST} />
      ))}
      {body && given.length === 0 && !why && body.sounds.length === 0 && <p class="quiet">{TEXTS.trace.nothing}</p>}
    </div>
  );
}
