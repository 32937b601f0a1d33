// Runs that are marked for comparing, the oldest first, since the others are measured against it: ids begin with a time. Marks stay marked for as long as the tab lives.
import { useEffect, useState } from "preact/hooks";

const KEPT = "calipers:marked";
const CHANGED = "calipers:marked";
const MOST = 6;

export function markedRuns(): string[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(kept) ? kept.filter((each): each is string => typeof each === "string") : [];
  } catch {
    return [];
  }
}

export function setMarked(runs: string[]): void {
  sessionStorage.setItem(KEPT, JSON.stringify(runs.slice(-MOST).sort()));
  dispatchEvent(new Event(CHANGED));
}

export function useMarked(): { marked: string[]; toggle: (run: string) => void } {
  const [marked, setState] = useState(markedRuns);
  useEffect(() => {
    const update = () => setState(markedRuns());
    addEventListener(CHANGED, update);
    return () => removeEventListener(CHANGED, update);
  }, []);
  const toggle = (run: string) => setMarked(marked.includes(run) ? marked.filter((each) => each !== run) : [...marked, run]);
  return { marked, toggle };
}

/** The address that compares some runs: the first is what the others are measured against. */
export function compareAddress(runs: string[]): string {
  return `/compare?${new URLSearchParams(runs.map((run, place): [string, string] => [String.fromCharCode(97 + place), run]))}`;
}
