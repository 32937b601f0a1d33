// The attempts at a case in the compared runs, paired by their number, and which pair is looked at.
import { useState } from "preact/hooks";
import { useKeys } from "../keys";
import { count, seconds } from "../numbers";
import { withQuery } from "../router";
import { TEXTS } from "../texts";
import type { CaseInRun, ComparedAttempt, ComparedCaseAnswer } from "../wire";
import type { Column } from "./column";
import { useIsNarrow } from "./display";
import { KeyCap } from "./key";
import { Mark } from "./mark";
import { oneLine, Plain } from "./plain";
import { SimpleTable } from "./simple-table";

const WORDS = TEXTS.comparedCase;
/** Pairs that are listed at first. */
const FEW = 5;

/** One of the two runs that are looked at. */
export interface Side {
  letter: string;
  name: string;
  /** The id of the run. */
  run: string;
  found: CaseInRun;
  /** The attempt that is shown; `null` where the run lacks the case. */
  attempt: ComparedAttempt | null;
}

interface ChosenProps {
  answer: ComparedCaseAnswer;
  sides: [Side, Side];
  change: (changes: Record<string, string | null>) => void;
}

/** The parameters that say which pair of attempts is looked at. */
function pairOf(answer: ComparedCaseAnswer, at: number): Record<string, string | null> {
  const number = (place: number) => (answer.cases[place]!.attempts.length > at ? String(at + 1) : null);
  return { ra: number(0), rb: number(answer.of), at: null };
}

export function ChosenAttempts({ answer, sides, change }: ChosenProps) {
  const most = Math.max(...answer.cases.map((each) => each.attempts.length));
  const [here, there] = sides.map((side) => (side.attempt?.number ?? 0) - 1) as [number, number];
  useKeys(WORDS.title, [{ keys: "r", does: WORDS.nextAttempts, when: most > 1, run: () => change(pairOf(answer, (here + 1) % most)) }]);
  const isNarrow = useIsNarrow();
  const [isOpen, setOpen] = useState(false);
  if (most < 2) return null;
  const isAll = isOpen || most <= FEW + 2 || Math.max(here, there) >= FEW;
  const rows = Array.from({ length: isAll ? most : FEW }, (_, at) => at);
  const more = !isAll && (
    <button type="button" class="quiet-button" onClick={() => setOpen(true)}>
      {WORDS.allAttempts(count(most))}
    </button>
  );
  const columns: Column<number>[] = [
    { name: "number", title: WORDS.attempt, plain: (at) => at + 1, cell: (at) => <PairLink answer={answer} at={at} isHere={at === here && at === there} /> },
    ...answer.runs.map(
      ({ label, name }, place): Column<number> => ({
        name: label,
        title: `${label} ${oneLine(name, 30)}`,
        about: name,
        fills: place === answer.runs.length - 1,
        plain: (at) => {
          const attempt = answer.cases[place]!.attempts[at];
          return attempt && `${TEXTS.marks[attempt.mark]}: ${attempt.gave || attempt.why}`;
        },
        cell: (at) => {
          const attempt = answer.cases[place]!.attempts[at];
          const isShown = (place === 0 && at === here) || (place === answer.of && at === there);
          if (!attempt) return <span class="quiet">{WORDS.noAttempt}</span>;
          const parameter = place === 0 ? "ra" : place === answer.of ? "rb" : null;
          const inside = <AttemptCell attempt={attempt} />;
          if (!parameter) return <span class="attempt-cell">{inside}</span>;
          return (
            <a class={isShown ? "attempt-cell attempt-here" : "attempt-cell"} href={withQuery({ [parameter]: String(at + 1), at: null })} aria-current={isShown ? "true" : undefined} aria-label={`${WORDS.attemptOf(at + 1, name)}: ${TEXTS.marks[attempt.mark]}`}>
              {inside}
            </a>
          );
        },
      }),
    ),
  ];
  const leftOut = Math.max(...answer.cases.map((each) => each.attempts_left_out));
  const note = leftOut > 0 ? WORDS.moreAttempts(count(leftOut)) : undefined;
  return (
    <section class="section attempts" style={{ "--runs": answer.runs.length }}>
      <div class="section-head">
        <h2>{WORDS.attempts}</h2> <KeyCap name="r" />
        <span class="quiet">{WORDS.attemptsAbout}</span>
      </div>
      {isNarrow ? (
        <ol class="attempt-rows" aria-label={WORDS.attempts}>
          {rows.map((at) => (
            <li key={at}>
              <PairLink answer={answer} at={at} isHere={at === here && at === there} />
              <div>
                {columns.slice(1).map((column) => (
                  <div key={column.name} class="attempt-side">
                    <b class="letter">{column.name}</b>
                    {column.cell(at)}
                  </div>
                ))}
              </div>
            </li>
          ))}
          {note && <li class="quiet">{note}</li>}
          {more && <li>{more}</li>}
        </ol>
      ) : (
        <SimpleTable label={WORDS.attempts} columns={columns} rows={rows} id={(at) => String(at)} rowClass={(at) => (at === here && at === there ? "row-here" : undefined)} note={note} tools={more} />
      )}
    </section>
  );
}

function PairLink({ answer, at, isHere }: { answer: ComparedCaseAnswer; at: number; isHere: boolean }) {
  return (
    <a class="attempt-number" href={withQuery(pairOf(answer, at))} aria-current={isHere ? "true" : undefined} aria-label={WORDS.attemptPair(at + 1)}>
      {count(at + 1)}
    </a>
  );
}

function AttemptCell({ attempt }: { attempt: CaseInRun["attempts"][number] }) {
  return (
    <>
      <Mark mark={attempt.mark} />
      <span class="attempt-gave">
        <Plain text={attempt.gave || attempt.why} />
      </span>
      {attempt.seconds !== null && <span class="quiet number">{seconds(attempt.seconds)}</span>}
    </>
  );
}
