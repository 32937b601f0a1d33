// What came of something: a shape and a word, so that no one has to tell colours apart.
import { TEXTS } from "../texts";
import type { CaseRow } from "../wire";

export type MarkName = CaseRow["mark"];

const LETTERS: Record<string, MarkName> = { p: "pass", a: "partial", f: "fail", e: "error", u: "skip" };

/** The mark that a letter of `CaseRow.marks` stands for. */
export function markOf(letter: string): MarkName {
  return LETTERS[letter] ?? "skip";
}

function shape(mark: MarkName) {
  switch (mark) {
    case "pass":
      return <path d="M2 6.5l2.8 2.8L10 3.2" fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" />;
    case "partial":
      return (
        <>
          <circle cx="6" cy="6" r="4.3" fill="none" stroke="currentColor" stroke-width="1.3" />
          <path d="M6 1.7a4.3 4.3 0 010 8.6z" fill="currentColor" />
        </>
      );
    case "fail":
      return (
        <>
          <rect x="0.8" y="0.8" width="10.4" height="10.4" rx="1.5" fill="currentColor" />
          <path class="mark-inside" d="M3.6 3.6l4.8 4.8M8.4 3.6L3.6 8.4" fill="none" stroke-width="1.5" stroke-linecap="round" />
        </>
      );
    case "error":
      return (
        <>
          <path d="M6 0.8L11.6 11H0.4z" fill="currentColor" stroke="currentColor" stroke-width="0.8" stroke-linejoin="round" />
          <path class="mark-inside" d="M6 4.2v3.2M6 9.2v.2" fill="none" stroke-width="1.4" stroke-linecap="round" />
        </>
      );
    case "skip":
      return <rect x="2" y="4.8" width="8" height="2.4" rx="1.2" fill="none" stroke="currentColor" stroke-width="1" />;
  }
}

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
      {shape(mark)}
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
