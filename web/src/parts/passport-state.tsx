// Whether a judge has a passport, in a word with its shape.
import { TEXTS } from "../texts";
import type { JudgeCard } from "../wire";
import { Mark, type MarkName } from "./mark";
import { Ago } from "./time";

const WORDS = TEXTS.judges;

export type PassportKind = keyof typeof WORDS.states;

export function passportKind({ standing }: JudgeCard): PassportKind {
  if (!standing) return "notNeeded";
  if (standing.passport) return "own";
  if (standing.unknown !== null) return "unknown";
  return standing.other ? "other" : "none";
}

const MARKS: Record<Exclude<PassportKind, "notNeeded">, MarkName> = { own: "pass", other: "partial", unknown: "skip", none: "skip" };

export function PassportState({ card }: { card: JudgeCard }) {
  const kind = passportKind(card);
  if (kind === "notNeeded") return <span class="quiet">{WORDS.states[kind]}</span>;
  return (
    <span class="passport-state">
      <Mark mark={MARKS[kind]} word={WORDS.states[kind]} />
      {card.standing?.passport && (
        <span class="quiet">
          <Ago at={card.standing.passport.at} />
        </span>
      )}
    </span>
  );
}
