// JSON as a tree: opened where someone looks, walked with the arrow keys, searched.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { TEXTS } from "../texts";
import { CopyButton } from "./copy";
import { DEEPEST, decoded, type JsonPart, membersOf, partAt, pathText } from "./json-text";
import { count } from "../numbers";
import { Plain } from "./plain";
import { Prose } from "./prose";

const AT_ONCE = 1000;
const OPEN_AT_FIRST = 60;
/** A string of at most this length stands open. */
const SHORT = 300;
const MOST_HITS = 1000;

interface Row {
  part: JsonPart;
  depth: number;
  keys: (string | number)[];
  /** Its place among its siblings, and how many these are. */
  at: number;
  of: number;
  /** Of a row that offers more members: how many are left. */
  more: number;
}

type Pages = Map<number, number>;

/** The rows that are open, and a look at each member once. */
class Reading {
  private readonly known = new Map<number, JsonPart[]>();
  readonly top: JsonPart;

  constructor(readonly text: string) {
    this.top = partAt(text, 0);
  }

  members(part: JsonPart, pages: number): JsonPart[] {
    let known = this.known.get(part.start);
    if (!known) this.known.set(part.start, (known = membersOf(this.text, part, AT_ONCE * pages).parts));
    else if (known.length < Math.min(part.size, AT_ONCE * pages)) {
      const last = known[known.length - 1]!;
      const comma = this.text.indexOf(",", last.end);
      if (comma >= 0) known.push(...membersOf(this.text, part, AT_ONCE * pages - known.length, comma + 1, known.length).parts);
    }
    return known;
  }

  rows(open: ReadonlySet<number>, pages: Pages): Row[] {
    const rows: Row[] = [];
    const walk = (part: JsonPart, depth: number, keys: (string | number)[], at: number, of: number) => {
      rows.push({ part, depth, keys, at, of, more: 0 });
      if (!isBranch(part) || !open.has(part.start) || depth >= DEEPEST) return;
      const members = this.members(part, pages.get(part.start) ?? 1);
      const size = Math.max(part.size, members.length);
      members.forEach((member, index) => walk(member, depth + 1, [...keys, member.key!], index + 1, size));
      if (members.length < part.size && members.length % AT_ONCE === 0)
        rows.push({ part, depth: depth + 1, keys, at: size, of: size, more: part.size - members.length });
    };
    walk(this.top, 0, [], 1, 1);
    return rows;
  }

  /** What is open before anyone touched it: level by level, as long as it fits. */
  first(): Set<number> {
    const open = new Set<number>();
    let level = [this.top];
    let rows = 1;
    for (let depth = 0; depth < 6 && level.length; depth++) {
      const next: JsonPart[] = [];
      for (const part of level) {
        if (!isBranch(part) || (rows + part.size > OPEN_AT_FIRST && depth > 0)) continue;
        open.add(part.start);
        rows += Math.min(part.size, AT_ONCE);
        next.push(...this.members(part, 1));
      }
      level = next;
    }
    return open;
  }

  /** The parts on the way to a place of the text, and how many pages of members each needs to show it. */
  way(place: number): { open: number[]; pages: [number, number][]; part: JsonPart } {
    const open: number[] = [];
    const pages: [number, number][] = [];
    let part = this.top;
    for (let depth = 0; depth < DEEPEST && isBranch(part); depth++) {
      let page = 1;
      let within: JsonPart | undefined;
      while (!(within = this.members(part, page).find((each) => place < each.end)) && this.members(part, page).length >= AT_ONCE * page) page++;
      if (!within) break;
      open.push(part.start);
      pages.push([part.start, page]);
      part = within;
    }
    return { open, pages, part };
  }
}

function isBranch(part: JsonPart): boolean {
  return (part.kind === "object" || part.kind === "array") && part.size > 0;
}

function hitsOf(text: string, wanted: string): number[] {
  const found: number[] = [];
  if (!wanted) return found;
  const inner = JSON.stringify(wanted).slice(1, -1);
  for (const match of text.matchAll(new RegExp(inner.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gi"))) {
    found.push(match.index);
    if (found.length >= MOST_HITS) break;
  }
  return found;
}

export function JsonTree({ text, name }: { text: string; name: string }) {
  const reading = useMemo(() => new Reading(text), [text]);
  const [open, setOpen] = useState<ReadonlySet<number>>(() => reading.first());
  const [pages, setPages] = useState<Pages>(new Map());
  const [long, setLong] = useState<ReadonlySet<number>>(new Set());
  const [active, setActive] = useState(reading.top.start);
  const [wanted, setWanted] = useState("");
  const [hit, setHit] = useState(-1);
  const tree = useRef<HTMLDivElement>(null);
  const shouldFocus = useRef(false);
  useEffect(() => {
    setOpen(reading.first());
    setPages(new Map());
    setActive(reading.top.start);
  }, [reading]);
  const rows = useMemo(() => reading.rows(open, pages), [reading, open, pages]);
  const hits = useMemo(() => hitsOf(text, wanted), [text, wanted]);
  const current = Math.max(0, rows.findIndex((row) => row.part.start === active && !row.more));
  useEffect(() => {
    if (!shouldFocus.current) return;
    shouldFocus.current = false;
    const row = tree.current?.querySelector<HTMLElement>('[tabindex="0"]');
    if (document.activeElement?.tagName !== "INPUT") row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  });

  const choose = (row: Row | undefined) => {
    if (!row) return;
    shouldFocus.current = true;
    setActive(row.part.start);
  };
  const toggle = (row: Row, wish?: boolean) => {
    if (row.more) return setPages((before) => new Map(before).set(row.part.start, (before.get(row.part.start) ?? 1) + 1));
    const change = (before: ReadonlySet<number>) => {
      const after = new Set(before);
      if (wish ?? !after.has(row.part.start)) after.add(row.part.start);
      else after.delete(row.part.start);
      return after;
    };
    return isBranch(row.part) ? setOpen(change) : setLong(change);
  };
  const seek = (next: number) => {
    if (!hits.length) return;
    const index = (next + hits.length) % hits.length;
    const { open: way, pages: needed, part } = reading.way(hits[index]!);
    setHit(index);
    setOpen((before) => new Set([...before, ...way]));
    setPages((before) => new Map([...before, ...needed.filter(([start, page]) => page > (before.get(start) ?? 1))]));
    shouldFocus.current = true;
    setActive(part.start);
  };
  const press = (event: KeyboardEvent) => {
    const row = rows[current];
    if (!row || event.altKey || event.ctrlKey || event.metaKey || (event.target as Element).closest("button, input, a")) return;
    const isOpen = isBranch(row.part) ? open.has(row.part.start) : long.has(row.part.start);
    const steps: Record<string, () => void> = {
      ArrowDown: () => choose(rows.slice(current + 1).find((each) => !each.more)),
      ArrowUp: () => choose(rows.slice(0, current).reverse().find((each) => !each.more)),
      ArrowRight: () => (isOpen && isBranch(row.part) ? choose(rows[current + 1]) : toggle(row, true)),
      ArrowLeft: () =>
        isOpen ? toggle(row, false) : choose(rows.slice(0, current).reverse().find((each) => each.depth < row.depth && !each.more)),
      Home: () => choose(rows[0]),
      End: () => choose(rows[rows.length - 1]),
      Enter: () => toggle(row),
      " ": () => toggle(row),
    };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    step();
  };

  const shown = rows[current];
  return (
    <div class="json">
      <div class="json-bar" hidden={rows.length < 9 && text.length < 2000}>
        <input
          type="search"
          value={wanted}
          placeholder={TEXTS.value.search}
          aria-label={TEXTS.value.searchIn(name)}
          onInput={(event) => (setWanted(event.currentTarget.value), setHit(-1))}
          onKeyDown={(event) => event.key === "Enter" && (event.preventDefault(), seek(event.shiftKey ? hit - 1 : hit + 1))}
        />
        <span role="status" class="quiet">
          {wanted && TEXTS.value.hits(hit + 1, hits.length, hits.length >= MOST_HITS)}
        </span>
        {shown && shown.keys.length > 0 && (
          <span class="json-path">
            <code>
              <Plain text={pathText(shown.keys.slice(-6)).slice(shown.keys.length > 6 ? 1 : 0)} />
            </code>
            <CopyButton name={TEXTS.value.copyPath} text={() => pathText(shown.keys)} />
            <CopyButton name={TEXTS.value.copyPart} text={() => text.slice(shown.part.start, shown.part.end)} />
          </span>
        )}
      </div>
      <div class="json-rows" role="tree" aria-label={name} ref={tree} onKeyDown={press}>
        {rows.map((row, index) => (
          <RowView
            key={row.more ? `more ${row.part.start}` : row.part.start}
            row={row}
            text={text}
            isActive={index === current}
            isOpen={isBranch(row.part) ? open.has(row.part.start) : long.has(row.part.start)}
            isHit={hit >= 0 && row.part.start <= (hits[hit] ?? -1) && (hits[hit] ?? 0) < row.part.end && !isBranch(row.part)}
            toggle={() => toggle(row)}
            choose={() => setActive(row.part.start)}
          />
        ))}
      </div>
    </div>
  );
}

interface RowProps {
  row: Row;
  text: string;
  isActive: boolean;
  isOpen: boolean;
  isHit: boolean;
  toggle: () => void;
  choose: () => void;
}

function RowView({ row, text, isActive, isOpen, isHit, toggle, choose }: RowProps) {
  const { part } = row;
  if (row.more)
    return (
      <div class="json-row" role="none">
        <Indent depth={row.depth} />
        <button type="button" class="link" onClick={toggle}>
          {TEXTS.value.moreMembers(Math.min(row.more, AT_ONCE), row.more)}
        </button>
      </div>
    );
  const opens = isBranch(part) || (part.kind === "string" && part.end - part.start > SHORT);
  const isTooDeep = isBranch(part) && row.depth >= DEEPEST;
  return (
    <div
      class={`json-row${isActive ? " active" : ""}${isHit ? " hit" : ""}`}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-posinset={row.at}
      aria-setsize={row.of}
      aria-selected={isActive}
      aria-expanded={opens && !isTooDeep ? isOpen : undefined}
      tabIndex={isActive ? 0 : -1}
      onFocus={choose}
      onClick={(event) => {
        if ((event.target as Element).closest("button") || !getSelection()?.isCollapsed) return;
        choose();
        if (isBranch(part) && !isTooDeep) toggle();
      }}
    >
      <Indent depth={row.depth} />
      <span class="json-twist" aria-hidden="true">
        {isBranch(part) && !isTooDeep ? (isOpen ? "▾" : "▸") : ""}
      </span>
      {part.key !== null && (
        <span class="json-key">
          {typeof part.key === "number" ? part.key : <Plain text={short(part.key, 200)} />}
          <span class="quiet">: </span>
        </span>
      )}
      <Leaf part={part} text={text} isOpen={isOpen} isTooDeep={isTooDeep} toggle={toggle} />
    </div>
  );
}

function Leaf({ part, text, isOpen, isTooDeep, toggle }: { part: JsonPart; text: string; isOpen: boolean; isTooDeep: boolean; toggle: () => void }) {
  let shown: ComponentChildren;
  if (part.kind === "object" || part.kind === "array") {
    const [left, right] = part.kind === "object" ? ["{", "}"] : ["[", "]"];
    const size = part.kind === "object" ? TEXTS.value.keys(part.size) : TEXTS.value.items(part.size);
    shown = (
      <span class="quiet">
        {part.size === 0 ? left + right : isOpen && !isTooDeep ? `${left} ${size}` : `${left}…${right} ${size}`}
        {isTooDeep && ` · ${TEXTS.value.tooDeep(DEEPEST)}`}
      </span>
    );
  } else if (part.kind === "string") {
    const said = decoded(text.slice(part.start, isOpen ? part.end : Math.min(part.end, part.start + SHORT * 3)));
    const isLong = part.end - part.start > SHORT;
    shown = isOpen ? (
      <span class="json-long">
        <Prose text={said} />
        <button type="button" class="link" onClick={toggle}>
          {TEXTS.value.less}
        </button>
      </span>
    ) : (
      <span class="json-string">
        <span class="quiet">"</span>
        <Plain text={isLong ? short(said, SHORT) : said} chips />
        <span class="quiet">"</span>
        {isLong && (
          <button type="button" class="link" onClick={toggle}>
            {TEXTS.value.all(count(part.end - part.start - 2))}
          </button>
        )}
      </span>
    );
  } else shown = <span class={`json-${part.kind}`}>{part.kind === "cut" ? "" : <Plain text={text.slice(part.start, Math.min(part.end, part.start + 400))} />}</span>;
  return (
    <>
      {shown}
      {part.isCut && <span class="quiet"> {TEXTS.value.cutHere}</span>}
    </>
  );
}

/** The beginning of a text. */
function short(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

function Indent({ depth }: { depth: number }) {
  return <span class="json-indent" style={{ width: `${Math.min(depth, 24) * 14}px` }} aria-hidden="true" />;
}
