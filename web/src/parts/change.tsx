// What became of something from one run to another: a shape and a word, and the glyph of its size.
import { TEXTS } from "../texts";
import type { ComparedPair, DifferenceRow, FlipRow } from "../wire";
import { DifferenceGlyph } from "./estimate";

export type ChangeName = DifferenceRow["mark"] | ComparedPair["outcome"];

function shape(change: ChangeName) {
  switch (change) {
    case "better":
      return <path d="M6 1.2L11.4 10.6H.6z" fill="currentColor" />;
    case "worse":
      return <path d="M6 10.8L11.4 1.4H.6z" fill="currentColor" />;
    case "higher":
      return <path d="M6 10.5v-9M2.5 5L6 1.5 9.5 5" fill="none" stroke="currentColor" stroke-width="1.5" />;
    case "lower":
      return <path d="M6 1.5v9M2.5 7L6 10.5 9.5 7" fill="none" stroke="currentColor" stroke-width="1.5" />;
    case "same":
    case "identical":
      return <path d="M1.5 4.2h9M1.5 7.8h9" fill="none" stroke="currentColor" stroke-width="1.5" />;
    case "unclear":
    case "incomparable":
    case "nothing":
      return <path d="M6 .9L11.1 6 6 11.1.9 6z" fill="currentColor" />;
  }
}

export function ChangeShape({ change, size = 12 }: { change: ChangeName; size?: number }) {
  return (
    <svg class={`mark change-${change}`} viewBox="0 0 12 12" width={size} height={size} aria-hidden="true" focusable="false">
      {shape(change)}
    </svg>
  );
}

export function Change({ change, word }: { change: ChangeName; word: string }) {
  return (
    <span class="mark-word">
      <ChangeShape change={change} /> {word}
    </span>
  );
}

const WAYS: Record<FlipRow["way"], ChangeName> = { broken: "worse", fixed: "better", moved: "unclear" };

export function Way({ way }: { way: FlipRow["way"] }) {
  return <Change change={WAYS[way]} word={TEXTS.compare.ways[way]} />;
}

/** Signs as they are printed. */
export function printed(text: string): string {
  return text.replaceAll("-", "−");
}

/** Differences of one unit share a scale; scores that may have any range have one each. */
export function scales(rows: DifferenceRow[]): (row: DifferenceRow) => number {
  const farthest = (some: DifferenceRow[]) => Math.max(...some.flatMap((row) => [row.difference, row.interval?.low ?? 0, row.interval?.high ?? 0]).map(Math.abs), 0) || 1;
  const shared = { points: farthest(rows.filter((row) => row.scale === "points")), relative: farthest(rows.filter((row) => row.scale === "relative")) };
  return (row) => (row.scale === "number" ? farthest([row]) : shared[row.scale]);
}

export function ChangeGlyph({ row, extent }: { row: DifferenceRow; extent: number }) {
  const isSure = row.mark === "better" || row.mark === "worse" || row.mark === "higher" || row.mark === "lower";
  return (
    <span class="estimate">
      <DifferenceGlyph difference={row.difference} interval={row.interval} extent={extent} upIsGood={row.better === null ? null : row.better === "higher"} isSure={isSure} />
      <span class="change-number" title={printed(row.ends)}>
        {printed(row.text)}
      </span>
    </span>
  );
}
