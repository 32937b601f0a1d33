// Walking the rows of a list by keys: `j`, `k` and the arrows go from row to row, `Enter` opens the one that was reached.
import { useRef, useState } from "preact/hooks";
import { useKeys } from "../keys";
import { TEXTS } from "../texts";

/** The row that was reached, by its id, and how to say that another one was. A row has `data-row`, and in it a link of the class `row-link`. */
export function useRows(ids: string[], open: (id: string) => void): [string | null, (id: string) => void] {
  const [here, setHere] = useState<string | null>(null);
  const newest = useRef(ids);
  newest.current = ids;
  const step = (way: number) => {
    const at = here === null ? -1 : newest.current.indexOf(here);
    const next = newest.current[at < 0 ? 0 : Math.min(Math.max(at + way, 0), newest.current.length - 1)];
    if (next === undefined) return;
    setHere(next);
    const link = document.querySelector<HTMLElement>(`[data-row="${CSS.escape(next)}"] .row-link`);
    link?.focus({ preventScroll: true });
    (link?.closest("li") ?? link)?.scrollIntoView({ block: "nearest" });
  };
  const isThere = ids.length > 0;
  useKeys(TEXTS.keys.table, [
    { keys: ["j", "ArrowDown"], does: TEXTS.tables.down, when: isThere, run: () => step(1) },
    { keys: ["k", "ArrowUp"], does: TEXTS.tables.up, when: isThere, run: () => step(-1) },
    { keys: "Enter", does: TEXTS.tables.enter, when: isThere, run: () => here !== null && open(here) },
  ]);
  return [here, setHere];
}
