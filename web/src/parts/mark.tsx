// What came of something: a shape and a word, so that no one has to tell colours apart. The HTML report draws the same shapes.
import { h } from "preact";
import SHAPES from "../../../src/calipers/views/html/page/shapes.json";
import { TEXTS } from "../texts";
import type { CaseRow } from "../wire";

export type MarkName = CaseRow["mark"];

const LETTERS: Record<string, MarkName> = { p: "pass", a: "partial", f: "fail", e: "error", u: "skip" };

/** The mark that a letter of `CaseRow.marks` stands for. */
export function markOf(letter: string): MarkName {
  return LETTERS[letter] ?? "skip";
}

/** The elements of a mark: each a name and its attributes. */
const MARKS = SHAPES.marks as unknown as Record<MarkName, [string, Record<string, string>][]>;

/** The shape alone; `named` where no word stands beside it. */
export function MarkShape({ mark, named = false }: { mark: MarkName; named?: boolean }) {
  return (
    <svg
      class={`mark mark-${mark}`}
      viewBox="0 0 12 12"
      width="12"
      height="12"
      focusable="false"
      {...(named ? { role: "img", "aria-label": TEXTS.marks[mark] } : { "aria-hidden": "true" })}
    >
      {named && <title>{TEXTS.marks[mark]}</title>}
      {MARKS[mark].map(([name, attributes], place) => h(name, { key: place, ...attributes }))}
    </svg>
  );
}

/** Shape and word. */
export function Mark({ mark, word = TEXTS.marks[mark] }: { mark: MarkName; word?: string }) {
  return (
    <span class="mark-word">
      <MarkShape mark={mark} /> {word}
    </span>
  );
}

const MOST_SHAPES = 10;

/** In words what a row of marks says: `2 failed, 1 passed`. */
export function spokenMarks(marks: string): string {
  const counts = new Map<MarkName, number>();
  for (const letter of marks) counts.set(markOf(letter), (counts.get(markOf(letter)) ?? 0) + 1);
  if (marks.length === 1) return TEXTS.marks[markOf(marks)];
  const order: MarkName[] = ["error", "fail", "partial", "pass", "skip"];
  return order
    .filter((mark) => counts.has(mark))
    .map((mark) => `${counts.get(mark)} ${TEXTS.marks[mark]}`)
    .join(", ");
}

/** The attempts at a case, in order: up to ten shapes, beyond that how many passed. */
export function Marks({ marks, word = false }: { marks: string; word?: boolean }) {
  if (marks.length === 1 && word) return <Mark mark={markOf(marks)} />;
  const passed = [...marks].filter((letter) => letter === "p").length;
  const worst = (["error", "fail", "partial", "skip", "pass"] as const).find((mark) => [...marks].some((letter) => markOf(letter) === mark));
  return (
    <span class="marks" role="img" aria-label={spokenMarks(marks)} title={spokenMarks(marks)}>
      {marks.length <= MOST_SHAPES ? (
        [...marks].map((letter, index) => <MarkShape key={index} mark={markOf(letter)} />)
      ) : (
        <>
          <MarkShape mark={worst ?? "skip"} />
          <span class="marks-count">
            {passed}/{marks.length}
          </span>
        </>
      )}
    </span>
  );
}
