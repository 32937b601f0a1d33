// What changed from one text to another: by words where they are short, else by lines, with words within lines that changed.
export interface Run {
  kind: "same" | "gone" | "new";
  text: string;
}

export interface LineRow {
  kind: "same" | "gone" | "new";
  /** Numbers of the line in each text, from 1. */
  before: number | null;
  after: number | null;
  parts: Run[];
}

export interface Difference {
  kind: "words" | "lines";
  runs: Run[];
  lines: LineRow[];
  /** Characters that were left out of each text. */
  leftOut: [number, number];
  isSame: boolean;
}

const MOST = 200_000;
const MOST_FOR_WORDS = 20_000;
/** Edits within which the shortest difference is searched at once. */
const MOST_EDITS = 600;

export function difference(before: string, after: string): Difference {
  const [one, other] = [before.slice(0, MOST), after.slice(0, MOST)];
  const base = { leftOut: [before.length - one.length, after.length - other.length] as [number, number], isSame: before === after };
  const isShort = Math.max(one.length, other.length) <= MOST_FOR_WORDS;
  const isOneLine = !one.includes("\n") && !other.includes("\n");
  if (isShort && (isOneLine || one.length + other.length < 2000)) return { ...base, kind: "words", runs: words(one, other), lines: [] };
  return { ...base, kind: "lines", runs: [], lines: lines(one, other, isShort) };
}

export function words(before: string, after: string): Run[] {
  return cleaned(compared(tokens(before), tokens(after)));
}

function tokens(text: string): string[] {
  return text.match(/[\p{L}\p{N}\p{M}_]+|\s+|[^\p{L}\p{N}\p{M}_\s]/gu) ?? [];
}

/** A space, or a word or two between long changes, belongs to the change: else nothing could be read as a whole. */
function cleaned(runs: Run[]): Run[] {
  const found: Run[] = [];
  const changed = (at: number, step: number) => {
    let length = 0;
    for (let next = at + step; runs[next] && runs[next]!.kind !== "same"; next += step) length += runs[next]!.text.length;
    return length;
  };
  runs.forEach((run, at) => {
    const length = run.text.trim().length;
    const isBridge = run.kind === "same" && !run.text.includes("\n") && length <= 12 && Math.min(changed(at, -1), changed(at, 1)) > length * 2;
    if (isBridge) add(add(found, { kind: "gone", text: run.text }), { kind: "new", text: run.text });
    else add(found, run);
  });
  return ordered(found);
}

function add(runs: Run[], run: Run): Run[] {
  const last = runs[runs.length - 1];
  if (last?.kind === run.kind) last.text += run.text;
  else if (run.text) runs.push({ ...run });
  return runs;
}

/** Within a change, all that is gone stands before all that is new. */
function ordered(runs: Run[]): Run[] {
  const found: Run[] = [];
  let gone = "";
  let fresh = "";
  const flush = () => {
    if (gone) found.push({ kind: "gone", text: gone });
    if (fresh) found.push({ kind: "new", text: fresh });
    gone = fresh = "";
  };
  for (const run of runs) {
    if (run.kind === "gone") gone += run.text;
    else if (run.kind === "new") fresh += run.text;
    else {
      flush();
      found.push(run);
    }
  }
  flush();
  return found;
}

function lines(before: string, after: string, withWords: boolean): LineRow[] {
  const rows: LineRow[] = [];
  let [first, second] = [1, 1];
  let gone: string[] = [];
  let fresh: string[] = [];
  const flush = () => {
    const pairs = gone.map((line, index) => (withWords || line.length < 2000 ? pair(line, fresh[index]) : null));
    gone.forEach((line, at) => rows.push({ kind: "gone", before: first++, after: null, parts: pairs[at]?.[0] ?? [{ kind: "gone", text: line }] }));
    fresh.forEach((line, at) => rows.push({ kind: "new", before: null, after: second++, parts: pairs[at]?.[1] ?? [{ kind: "new", text: line }] }));
    gone = [];
    fresh = [];
  };
  for (const run of compared(before.split("\n"), after.split("\n"), "\n")) {
    const listed = run.text.split("\n");
    if (run.kind === "gone") gone.push(...listed);
    else if (run.kind === "new") fresh.push(...listed);
    else {
      flush();
      for (const line of listed) rows.push({ kind: "same", before: first++, after: second++, parts: [{ kind: "same", text: line }] });
    }
  }
  flush();
  return rows;
}

/** A line that was changed: what of it is gone, and what is new; `null` if the two have little in common. */
function pair(before: string, after: string | undefined): [Run[], Run[]] | null {
  if (after === undefined || before.length + after.length > 4000) return null;
  const runs = words(before, after);
  const same = runs.reduce((sum, run) => sum + (run.kind === "same" ? run.text.trim().length : 0), 0);
  if (same * 3 < Math.max(before.length, after.length)) return null;
  return [runs.filter((run) => run.kind !== "new"), runs.filter((run) => run.kind !== "gone")];
}

/** Two lists of texts: what is the same, gone and new, joined by `between`. Myers' O(ND), in stretches. */
function compared(before: readonly string[], after: readonly string[], between = ""): Run[] {
  const ids = new Map<string, number>();
  const number = (text: string) => {
    let id = ids.get(text);
    if (id === undefined) ids.set(text, (id = ids.size));
    return id;
  };
  const [one, other] = [Int32Array.from(before, number), Int32Array.from(after, number)];
  const isGone = new Uint8Array(one.length);
  const isNew = new Uint8Array(other.length);
  mark(one, other, isGone, isNew);
  const found: { kind: Run["kind"]; texts: string[] }[] = [];
  const put = (kind: Run["kind"], text: string) => {
    const last = found[found.length - 1];
    if (last?.kind === kind) last.texts.push(text);
    else found.push({ kind, texts: [text] });
  };
  for (let [at, to] = [0, 0]; at < one.length || to < other.length; ) {
    if (at < one.length && isGone[at]) put("gone", before[at++]!);
    else if (to < other.length && isNew[to]) put("new", after[to++]!);
    else {
      put("same", before[at++]!);
      to++;
    }
  }
  return found.map(({ kind, texts }) => ({ kind, text: texts.join(between) }));
}

/** Which are gone and which are new: the fewest, or, where that would take too long, the fewest of stretch after stretch. */
function mark(one: Int32Array, other: Int32Array, isGone: Uint8Array, isNew: Uint8Array): void {
  let [right, bottom] = [one.length, other.length];
  let [left, top] = [0, 0];
  while (left < right && top < bottom && one[left] === other[top]) left++, top++;
  while (left < right && top < bottom && one[right - 1] === other[bottom - 1]) right--, bottom--;
  while (left < right && top < bottom) [left, top] = stretch(one, other, left, right, top, bottom, isGone, isNew);
  isGone.fill(1, left, right);
  isNew.fill(1, top, bottom);
}

const NOWHERE = -1e9;

/** Goes from a corner with as few edits as it takes, as far as `MOST_EDITS` reach, marks the way and says where it ended. */
function stretch(
  one: Int32Array,
  other: Int32Array,
  left: number,
  right: number,
  top: number,
  bottom: number,
  isGone: Uint8Array,
  isNew: Uint8Array,
): [number, number] {
  const [width, height] = [right - left, bottom - top];
  const layers: Int32Array[] = [];
  let best = 0;
  for (let edits = 0; edits <= MOST_EDITS; edits++) {
    const layer = new Int32Array(2 * edits + 1).fill(NOWHERE);
    const above = layers[edits - 1];
    best = 0;
    for (let line = -edits; line <= edits; line += 2) {
      let x = edits === 0 ? 0 : from(above!, edits - 1, line, width, height).x;
      if (x < 0) continue;
      while (x < width && x - line < height && one[left + x] === other[top + x - line]) x++;
      layer[line + edits] = x;
      if (2 * x - line > 2 * (layer[best + edits] ?? NOWHERE) - best || layer[best + edits]! < 0) best = line;
    }
    layers.push(layer);
    if (layer[best + edits] === width && layer[best + edits]! - best === height) break;
  }
  const last = layers.length - 1;
  const [endX, endY] = [layers[last]![best + last]!, layers[last]![best + last]! - best];
  for (let edits = last, line = best; edits > 0; edits--) {
    const step = from(layers[edits - 1]!, edits - 1, line, width, height);
    if (step.isGone) isGone[left + step.x - 1] = 1;
    else isNew[top + step.x - line - 1] = 1;
    line += step.isGone ? -1 : 1;
  }
  return [left + endX, top + endY];
}

/** How far a diagonal is reached with one more edit, and by which. */
function from(layer: Int32Array, edits: number, line: number, width: number, height: number): { x: number; isGone: boolean } {
  const across = line - 1 >= -edits && line - 1 <= edits ? layer[line - 1 + edits]! + 1 : NOWHERE;
  const down = line + 1 <= edits && line + 1 >= -edits ? layer[line + 1 + edits]! : NOWHERE;
  const right = across >= 0 && across <= width ? across : NOWHERE;
  const below = down >= 0 && down - line <= height ? down : NOWHERE;
  return right > below ? { x: right, isGone: true } : { x: below, isGone: false };
}
