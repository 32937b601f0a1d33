// The steps of a trace as columns, put together from the answers that have come so far. Ids count the steps in the order in which they are
// read, so a jump in them is a place where steps are missing, and how many.
import type { TraceAnswer } from "../wire";

export type StepKind = TraceAnswer["kind"][number];
export const KINDS: StepKind[] = ["user", "agent", "model", "tool", "span"];

/** A line of a drawn trace: a step, or a place where steps are missing. */
export type Line = { at: number; gap: 0 } | { at: number; gap: number };

export class Steps {
  /** By place: the columns of the answers, in the order of ids. */
  readonly id: number[] = [];
  readonly parent: number[] = [];
  readonly depth: number[] = [];
  readonly kind: StepKind[] = [];
  readonly label: string[] = [];
  readonly start: (number | null)[] = [];
  readonly took: (number | null)[] = [];
  readonly failed: boolean[] = [];
  readonly tokensIn: (number | null)[] = [];
  readonly tokensOut: (number | null)[] = [];
  readonly cost: (number | null)[] = [];
  readonly children: number[] = [];
  readonly error: Map<number, string> = new Map();
  /** The place after the last step below a step. */
  readonly after: Int32Array;
  /** The latest end of a step and of all below it, in seconds. */
  readonly extent: number;
  readonly total: number;
  readonly failures: number;
  readonly counts: Record<StepKind, number> = { user: 0, agent: 0, model: 0, tool: 0, span: 0 };

  constructor(answers: readonly TraceAnswer[]) {
    this.total = answers[0]?.total ?? 0;
    const places: [TraceAnswer, number][] = [];
    const seen = new Set<number>();
    for (const answer of answers)
      for (let at = 0; at < answer.id.length; at++) {
        if (seen.has(answer.id[at]!)) continue;
        seen.add(answer.id[at]!);
        places.push([answer, at]);
      }
    if (answers.length > 1) places.sort(([one, at], [other, to]) => one.id[at]! - other.id[to]!);
    for (const [answer, at] of places) this.add(answer, at);
    this.after = this.ends();
    this.extent = this.reach(answers[0]?.extent ?? null);
    this.failures = this.failed.reduce((sum, each) => sum + (each ? 1 : 0), 0);
  }

  private add(answer: TraceAnswer, at: number): void {
    const id = answer.id[at]!;
    this.id.push(id);
    this.parent.push(answer.parent[at]!);
    this.depth.push(answer.depth[at]!);
    this.kind.push(answer.kind[at]!);
    this.label.push(answer.label[at]!);
    this.start.push(answer.start[at] ?? null);
    this.took.push(answer.took[at] ?? null);
    this.failed.push(answer.failed[at]!);
    this.tokensIn.push(answer.tokens_in[at] ?? null);
    this.tokensOut.push(answer.tokens_out[at] ?? null);
    this.cost.push(answer.cost[at] ?? null);
    this.children.push(answer.children[at]!);
    this.counts[answer.kind[at]!]++;
    const error = answer.error[id];
    if (error !== undefined) this.error.set(id, error);
  }

  private ends(): Int32Array {
    const after = new Int32Array(this.id.length);
    const open: number[] = [];
    for (let at = 0; at < this.id.length; at++) {
      while (open.length && this.depth[open[open.length - 1]!]! >= this.depth[at]!) after[open.pop()!] = at;
      open.push(at);
    }
    for (const at of open) after[at] = this.id.length;
    return after;
  }

  private reach(known: number | null): number {
    let last = known ?? 0;
    for (let at = 0; at < this.id.length; at++) last = Math.max(last, (this.start[at] ?? 0) + (this.start[at] === null ? 0 : (this.took[at] ?? 0)));
    return last;
  }

  get length(): number {
    return this.id.length;
  }

  get hasTimes(): boolean {
    return this.extent > 0;
  }

  /** Where a step stands, by its id; -1: it is not there yet. */
  find(id: number): number {
    let [low, high] = [0, this.id.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.id[middle]! < id) low = middle + 1;
      else high = middle;
    }
    return this.id[low] === id ? low : -1;
  }

  /** The places of the steps above a step, the nearest first. */
  above(at: number): number[] {
    const found: number[] = [];
    for (let parent = this.parent[at] ?? -1; parent >= 0; ) {
      const place = this.find(parent);
      if (place < 0) break;
      found.push(place);
      parent = this.parent[place]!;
    }
    return found;
  }

  /** Steps that are missing before a place; at the end, those after the last. */
  gapBefore(at: number): number {
    const before = at > 0 ? this.id[at - 1]! : -1;
    return (at < this.id.length ? this.id[at]! : this.total) - before - 1;
  }
}

export interface Choice {
  /** Places whose steps below are folded away. */
  folded: ReadonlySet<number>;
  /** Kinds that are shown; `null`: all. */
  kinds: ReadonlySet<StepKind> | null;
  onlyFailed: boolean;
}

/** The lines of a trace that are to be seen. With a choice of kinds, what stands above a chosen step is kept. */
export function linesOf(steps: Steps, { folded, kinds, onlyFailed }: Choice): Line[] {
  const wanted = kinds || onlyFailed ? chosen(steps, kinds, onlyFailed) : null;
  const lines: Line[] = [];
  for (let at = 0; at < steps.length; ) {
    const gap = steps.gapBefore(at);
    if (gap > 0 && !wanted) lines.push({ at, gap });
    const isFolded = folded.has(steps.id[at]!);
    if (!wanted || wanted[at]) lines.push({ at, gap: 0 });
    at = isFolded ? steps.after[at]! : at + 1;
  }
  const last = steps.gapBefore(steps.length);
  if (last > 0 && !wanted) lines.push({ at: steps.length, gap: last });
  return lines;
}

function chosen(steps: Steps, kinds: ReadonlySet<StepKind> | null, onlyFailed: boolean): Uint8Array {
  const wanted = new Uint8Array(steps.length);
  for (let at = 0; at < steps.length; at++) {
    if ((kinds && !kinds.has(steps.kind[at]!)) || (onlyFailed && !steps.failed[at])) continue;
    wanted[at] = 1;
    for (const above of steps.above(at)) {
      if (wanted[above]) break;
      wanted[above] = 1;
    }
  }
  return wanted;
}
