// A tree of turns, as a rollout grows it: each with its outcome, opened and closed with the arrow keys.
import { useMemo, useRef, useState } from "preact/hooks";
import { TEXTS } from "../texts";
import type { TreeTurn } from "../wire";
import { Plain, oneLine } from "./plain";
import { Prose } from "./prose";

const AT_ONCE = 400;

/** The place after the last turn below each turn. */
function endsOf(turns: TreeTurn[]): number[] {
  const ends = turns.map(() => turns.length);
  const open: number[] = [];
  turns.forEach((turn, at) => {
    while (open.length && turns[open[open.length - 1]!]!.depth >= turn.depth) ends[open.pop()!] = at;
    open.push(at);
  });
  return ends;
}

export function TreeView({ turns, name }: { turns: TreeTurn[]; name: string }) {
  const ends = useMemo(() => endsOf(turns), [turns]);
  const [folded, setFolded] = useState<ReadonlySet<number>>(new Set());
  const [active, setActive] = useState(0);
  const [read, setRead] = useState<number | null>(null);
  const [most, setMost] = useState(AT_ONCE);
  const box = useRef<HTMLDivElement>(null);
  const shown: number[] = [];
  for (let at = 0; at < turns.length && shown.length < most; at = folded.has(at) ? ends[at]! : at + 1) shown.push(at);
  const fold = (at: number) => {
    const after = new Set(folded);
    if (!after.delete(at)) after.add(at);
    setFolded(after);
  };
  const to = (at: number | undefined) => {
    if (at === undefined) return;
    setActive(at);
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-turn="${at}"]`)?.focus());
  };
  const press = (event: KeyboardEvent) => {
    const place = shown.indexOf(active);
    const hasMore = ends[active]! > active + 1;
    const moves: Record<string, () => void> = {
      ArrowDown: () => to(shown[place + 1]),
      ArrowUp: () => to(shown[place - 1]),
      ArrowRight: () => (hasMore && folded.has(active) ? fold(active) : to(hasMore ? active + 1 : undefined)),
      ArrowLeft: () => (hasMore && !folded.has(active) ? fold(active) : to(shown.slice(0, place).reverse().find((at) => turns[at]!.depth < turns[active]!.depth))),
      Home: () => to(shown[0]),
      End: () => to(shown[shown.length - 1]),
      Enter: () => setRead(read === active ? null : active),
    };
    const move = moves[event.key];
    if (!move || event.altKey || event.ctrlKey || event.metaKey || (event.target as Element).closest("button")) return;
    event.preventDefault();
    move();
  };
  return (
    <div class="tree" role="tree" aria-label={name} ref={box} onKeyDown={press}>
      {shown.map((at) => {
        const turn = turns[at]!;
        const hasMore = ends[at]! > at + 1;
        return (
          <div
            key={at}
            class={`tree-turn tone-of-${turn.tone}`}
            role="treeitem"
            data-turn={at}
            aria-level={turn.depth + 1}
            aria-expanded={hasMore ? !folded.has(at) : undefined}
            tabIndex={at === active ? 0 : -1}
            style={{ paddingLeft: `${Math.min(turn.depth, 16) * 18}px` }}
            onFocus={() => setActive(at)}
            onClick={(event) => !(event.target as Element).closest("button") && getSelection()?.isCollapsed && setRead(read === at ? null : at)}
          >
            <span class="tree-line">
              {hasMore ? (
                <button type="button" tabIndex={-1} class="twist" aria-label={folded.has(at) ? TEXTS.trace.unfold : TEXTS.trace.fold} onClick={() => fold(at)}>
                  {folded.has(at) ? "▸" : "▾"}
                </button>
              ) : (
                <span class="twist" />
              )}
              <Tone tone={turn.tone} />
              <span class="tree-label">
                <Plain text={turn.label} />
              </span>
              <span class="tree-outcome">
                <Plain text={turn.outcome} />
              </span>
              {read !== at && <span class="tree-text">{oneLine(turn.text, 160)}</span>}
              {folded.has(at) && <span class="badge">{ends[at]! - at - 1}</span>}
            </span>
            {read === at && (
              <div class="tree-said">
                <Prose text={turn.text} />
                {turn.answer && (
                  <div class="tree-answer">
                    <Prose text={turn.answer} />
                  </div>
                )}
              </div>
            )}
          </div>
        );
      })}
      {shown.length >= most && (
        <button type="button" class="more" onClick={() => setMost(most + AT_ONCE * 5)}>
          {TEXTS.value.showMore}
        </button>
      )}
    </div>
  );
}

/** What came of a turn, as a shape. */
function Tone({ tone }: { tone: TreeTurn["tone"] }) {
  return (
    <span class={`tone-shape tone-shape-${tone}`} aria-hidden="true">
      {tone === "good" ? "✓" : tone === "bad" ? "✗" : "·"}
    </span>
  );
}
