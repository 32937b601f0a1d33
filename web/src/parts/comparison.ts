// Which runs are compared, and how: all of it stands in the address, and every call and link of a comparison is made of it.
import { call } from "../api";
import { address } from "../router";

export const MOST_RUNS = 6;
const LETTERS = "abcdef";

export interface Comparison {
  /** The first is what the others are measured against. */
  runs: string[];
  /** The place of the run that is looked at, from 1. */
  of: number;
  q: string;
  pairBy: string | null;
  theseCases: boolean;
  /** Scores and metrics of which less is good. */
  lower: string[];
}

export function comparisonOf(query: URLSearchParams): Comparison {
  const runs = [...LETTERS].map((letter) => query.get(letter)?.trim() ?? "").filter((run, place, all) => run && all.indexOf(run) === place);
  const of = Number(query.get("of") ?? 1);
  return {
    runs,
    of: Number.isInteger(of) && of > 0 && of < runs.length ? of : 1,
    q: query.get("q") ?? "",
    pairBy: query.get("pair_by"),
    theseCases: query.get("these_cases") === "true",
    lower: (query.get("lower") ?? "").split(",").filter(Boolean),
  };
}

/** The parameters by which the server knows a comparison, and the page, too. */
export function parameters({ runs, of, q, pairBy, theseCases, lower }: Comparison): Record<string, string | null> {
  return {
    ...Object.fromEntries(runs.slice(0, MOST_RUNS).map((run, place) => [LETTERS[place]!, run])),
    of: of > 1 ? String(of) : null,
    q: q || null,
    pair_by: pairBy === "name" ? pairBy : null,
    these_cases: theseCases ? "true" : null,
    lower: lower.join(",") || null,
  };
}

export function comparePage(asking: Comparison): string {
  return address(["compare"], parameters(asking));
}

export function comparedCasePage(asking: Comparison, id: string, more: Record<string, string | null> = {}): string {
  return address(["compare", id], { ...parameters(asking), ...more });
}

/** Where the server gives a table of a comparison as CSV. */
export function compareCsv(table: "differences" | "flips", asking: Comparison): string {
  const { of, q, ...rest } = parameters(asking);
  return call("/export.csv", { ...rest, of: table, candidate: of, q: table === "flips" ? q : null });
}

/** Without one run; the run that is looked at stays so, if it is not that one. */
export function withoutRun(asking: Comparison, place: number): Comparison {
  const of = place < asking.of ? asking.of - 1 : asking.of;
  return { ...asking, runs: asking.runs.filter((_, at) => at !== place), of: Math.max(1, Math.min(of, asking.runs.length - 2)) };
}

/** The run that is looked at becomes the first, and the first takes its place. */
export function swapped(asking: Comparison): Comparison {
  const runs = [...asking.runs];
  [runs[0], runs[asking.of]] = [runs[asking.of]!, runs[0]!];
  return { ...asking, runs };
}
