// A table of any length: only the rows that can be seen are in the page, and three pages of them in memory.
//
// A row is found by its place: the server answers `at` and `limit`. Rows have one height; from about half a million on the browser cannot
// make an element that tall, so what is scrolled is shorter than the table, and a jump with the scroll bar is translated.
// Readers of screens get a grid with the number of its rows, or, with the switch "plain pages", a plain table of a hundred rows.
import type { ComponentChildren, JSX } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { read, Refused } from "../api";
import { useKeys } from "../keys";
import { count } from "../numbers";
import { go } from "../router";
import { TEXTS } from "../texts";
import { sortedWay, type Column } from "./column";
import { useIsNarrow, useIsPlain } from "./display";
import { Trouble } from "./page";
import { CsvLink, Head, SimpleTable } from "./simple-table";
import "./table.css";
import "./virtual-table.css";

export interface Rows<Row> {
  rows: Row[];
  total: number;
  at: number;
}

export interface VirtualTableOptions<Row, Answer extends Rows<Row>> {
  label: string;
  columns: Column<Row>[];
  /** The address of a window of rows. Another list (filter, order, state of the run) has other addresses. */
  href: (at: number, limit: number) => string;
  id: (row: Row) => string;
  /** The page of a row. */
  link: (row: Row) => string;
  sort: string;
  onSort: (sort: string) => void;
  csv: string;
  /** What stands instead of all columns where there is little room: two lines. */
  narrow: (row: Row) => ComponentChildren;
  /** Each answer as it comes: for totals and for what else it says. */
  onAnswer?: (answer: Answer) => void;
  onTrouble?: (error: Refused | undefined) => void;
  /** The row that is looked at beside the table. */
  peeked?: string | null;
  onPeek?: (row: Row | null, at: number) => void;
  /** Whether a row counts as a failure: where `f` goes. */
  isFailure?: (row: Row) => boolean;
  /** The place of the next failure after (or, with -1, before) a row, where the rows at hand have none. */
  findFailure?: (row: Row, way: 1 | -1) => Promise<number | null>;
  /** What is said instead of an empty table. */
  empty: ComponentChildren;
  note?: ComponentChildren;
  tools?: ComponentChildren;
}

const PAGE = 100;
const PAGES_KEPT = 3;
const ROW = 28;
const ROW_NARROW = 52;
const MORE = 8;
const USUAL_WIDTH = 96;
/** Between columns: the style sheet has the same. */
const GAP = 10;
/** Taller than this, an element is cut by some browsers. */
const TALLEST = 16_000_000;
const SETTLE = 40;

/** How what is scrolled is translated into places of rows. */
class Scale {
  readonly height: number;
  private readonly pageHeight: number;
  private readonly jump: number;
  private readonly pages: number;
  offset = 0;

  constructor(
    readonly whole: number,
    readonly view: number,
  ) {
    this.height = Math.min(whole, TALLEST);
    this.pageHeight = this.height / 100;
    this.pages = Math.ceil(whole / this.pageHeight);
    this.jump = this.pages > 1 ? (whole - this.height) / (this.pages - 1) : 0;
  }

  private turnTo(page: number): void {
    this.offset = Math.round(Math.min(page, this.pages - 1) * this.jump);
  }

  /** After scrolling from one place to another: what the top is now, and where the scroll bar has to be put for it. */
  scrolled(from: number, to: number): { top: number; bar: number } {
    if (this.height === this.whole) return { top: to, bar: to };
    if (Math.abs(to - from) < this.view) {
      const top = to + this.offset;
      this.turnTo(Math.floor(top / this.pageHeight));
      return { top, bar: top - this.offset };
    }
    const page = Math.min(this.pages - 1, Math.floor(to * ((this.whole - this.view) / (this.height - this.view)) * (1 / this.pageHeight)));
    this.turnTo(page);
    return { top: to + this.offset, bar: to };
  }

  /** Where the scroll bar has to be so that something is at the top. */
  barOf(top: number): number {
    this.turnTo(Math.floor(top / this.pageHeight));
    return top - this.offset;
  }
}

interface Loaded<Row> {
  list: string;
  total: number;
  pages: Map<number, Row[]>;
}

/** The pages of a list around the rows that are seen. Until the first page of a new list is there, the old list stays. */
function useWindow<Row, Answer extends Rows<Row>>(options: VirtualTableOptions<Row, Answer>, first: number, last: number) {
  const { href } = options;
  const list = href(0, PAGE);
  const newest = useRef(options);
  newest.current = options;
  const [loaded, setLoaded] = useState<Loaded<Row>>({ list: "", total: 0, pages: new Map() });
  const isCurrent = loaded.list === list;
  // Another list is asked for from its top, or from where it was left.
  const start = isCurrent ? first : (places.get(list)?.place ?? 0);
  const end = isCurrent ? Math.min(last, loaded.total) : start + 1;
  const firstPage = Math.floor(Math.max(start, 0) / PAGE);
  const lastPage = Math.max(firstPage, Math.floor(Math.max(end - 1, 0) / PAGE));
  const [times, setTimes] = useState(0);
  useEffect(() => {
    const wanted: number[] = [];
    for (let page = firstPage; page <= lastPage; page++) if (!isCurrent || !loaded.pages.has(page)) wanted.push(page);
    if (!wanted.length) return undefined;
    const control = new AbortController();
    const load = (page: number) =>
      read<Answer>(newest.current.href(page * PAGE, PAGE), control.signal).then(
        (answer) => {
          if (control.signal.aborted) return;
          newest.current.onTrouble?.(undefined);
          newest.current.onAnswer?.(answer);
          setLoaded((before) => {
            const pages = new Map(before.list === list ? before.pages : []);
            pages.set(page, answer.rows);
            const far = [...pages.keys()].sort((a, b) => Math.abs(b - page) - Math.abs(a - page));
            while (pages.size > Math.max(PAGES_KEPT, lastPage - firstPage + 2)) pages.delete(far.shift() as number);
            return { list, total: answer.total, pages };
          });
        },
        (error: unknown) => {
          if (control.signal.aborted) return;
          newest.current.onTrouble?.(error instanceof Refused ? error : new Refused({ code: "page", message: String(error), at: null }, 0));
        },
      );
    // The pages passed by while the scroll bar is dragged are not asked for.
    const timer = setTimeout(() => wanted.forEach((page) => void load(page)), isCurrent && loaded.pages.size ? SETTLE : 0);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [list, firstPage, lastPage, isCurrent, loaded.pages, times]);
  const rowAt = (place: number) => loaded.pages.get(Math.floor(place / PAGE))?.[place % PAGE];
  return { rowAt, total: loaded.total, isCurrent, isEmpty: isCurrent && loaded.total === 0, wasLoaded: loaded.list !== "", again: () => setTimes((count) => count + 1) };
}

export function VirtualTable<Row, Answer extends Rows<Row> = Rows<Row>>(options: VirtualTableOptions<Row, Answer>) {
  const [isPlain, setIsPlain] = useIsPlain();
  const tools = (
    <>
      {options.tools}
      <label class="check" title={TEXTS.tables.plainTitle}>
        <input type="checkbox" checked={isPlain} onChange={(event) => setIsPlain(event.currentTarget.checked)} /> {TEXTS.tables.plain}
      </label>
      <CsvLink href={options.csv} />
    </>
  );
  return isPlain ? <PlainPages {...options} tools={tools} /> : <Grid {...options} tools={tools} />;
}

function Grid<Row, Answer extends Rows<Row>>(options: VirtualTableOptions<Row, Answer>) {
  const { label, columns, id, link, sort, onSort, narrow, peeked = null, onPeek, isFailure, findFailure, empty, note, tools } = options;
  const isNarrow = useIsNarrow();
  const rowHeight = isNarrow ? ROW_NARROW : ROW;
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState(600);
  const [top, setTop] = useState(0);
  const barBefore = useRef(0);
  const [place, setPlace] = useState(0);
  /** The place whose row gets the focus as soon as it is there. */
  const wantsFocus = useRef<number | null>(null);
  const peekFollows = useRef(false);
  const first = Math.max(Math.floor(top / rowHeight) - MORE, 0);
  const last = Math.ceil((top + view) / rowHeight) + MORE;
  const rows = useWindow(options, first, last);
  const { total } = rows;
  const scale = useMemo(() => new Scale(total * rowHeight, view), [total, rowHeight, view]);
  const list = options.href(0, PAGE);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const measure = () => setView(Math.max(element.clientHeight - ROW, ROW));
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);

  // Another list starts at its top; the same list after coming back, where it was left.
  const listBefore = useRef("");
  useLayoutEffect(() => {
    if (!rows.isCurrent || listBefore.current === list) return;
    const isFirst = listBefore.current === "";
    listBefore.current = list;
    const kept = isFirst ? keptPlace(list) : null;
    const at = kept === null ? 0 : Math.min(kept.place, Math.max(total - 1, 0));
    setPlace(at);
    showTop(kept === null ? 0 : kept.top);
    if (kept?.focus) wantsFocus.current = at;
  }, [rows.isCurrent, list]);

  const showTop = useCallback(
    (wanted: number) => {
      const element = scroller.current;
      if (!element) return;
      const reachable = Math.min(Math.max(wanted, 0), Math.max(scale.whole - view, 0));
      const bar = scale.barOf(reachable);
      barBefore.current = bar;
      element.scrollTop = bar;
      setTop(reachable);
    },
    [scale, view],
  );

  const scrolled = () => {
    const element = scroller.current;
    if (!element || element.scrollTop === barBefore.current) return;
    const next = scale.scrolled(barBefore.current, element.scrollTop);
    barBefore.current = next.bar;
    if (next.bar !== element.scrollTop) element.scrollTop = next.bar;
    setTop(next.top);
  };

  const moveTo = (wanted: number, focus = true) => {
    if (!total) return;
    const next = Math.min(Math.max(wanted, 0), total - 1);
    setPlace(next);
    wantsFocus.current = focus ? next : null;
    const above = next * rowHeight;
    if (above < top) showTop(above);
    else if (above + rowHeight > top + view) showTop(above + rowHeight - view);
    peekFollows.current = peeked !== null;
  };

  // The focus follows the place once its row is there.
  useLayoutEffect(() => {
    if (wantsFocus.current !== place) return;
    const row = scroller.current?.querySelector<HTMLElement>(`[data-place="${place}"]`);
    if (row && row.dataset["row"] !== undefined) {
      wantsFocus.current = null;
      row.focus({ preventScroll: true });
    }
  });

  // While a row is looked at beside the table, what comes into its place is shown there.
  const placed = rows.rowAt(place);
  const placedId = placed === undefined ? null : id(placed);
  useEffect(() => {
    if (!peekFollows.current || placed === undefined) return;
    peekFollows.current = false;
    if (peeked !== placedId) onPeek?.(placed, place);
  }, [placedId, place]);

  const nextFailure = async (way: 1 | -1) => {
    for (let at = place + way; at >= 0 && at < total; at += way) {
      const row = rows.rowAt(at);
      if (row === undefined) {
        const found = await findFailure?.(placed as Row, way);
        if (found !== null && found !== undefined) moveTo(found);
        return;
      }
      if (isFailure?.(row)) return moveTo(at);
    }
  };

  const open = () => placed && (keepPlace(list, place, top), go(link(placed)));
  const pageRows = Math.max(Math.floor(view / rowHeight) - 1, 1);
  useKeys(TEXTS.keys.table, [
    { keys: ["j", "ArrowDown"], does: TEXTS.tables.down, run: () => moveTo(hasFocus(scroller.current) || place > 0 || peeked !== null ? place + 1 : 0) },
    { keys: ["k", "ArrowUp"], does: TEXTS.tables.up, run: () => moveTo(place - 1) },
    { keys: "Enter", does: TEXTS.tables.enter, run: open },
    { keys: "o", does: TEXTS.tables.peek, when: onPeek !== undefined, run: () => onPeek?.(peeked === null ? (placed ?? null) : null, place) },
    { keys: "f", does: TEXTS.tables.nextFailure, when: isFailure !== undefined, run: () => void nextFailure(1) },
    { keys: "F", does: TEXTS.tables.previousFailure, when: isFailure !== undefined, run: () => void nextFailure(-1) },
  ]);

  const pressed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const target = event.target as HTMLElement;
    if (!target.matches("[role=row]")) return;
    const steps: Record<string, number> = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: total - 1, PageDown: place + pageRows, PageUp: place - pageRows };
    const wanted = steps[event.key];
    if (wanted !== undefined) {
      event.preventDefault();
      moveTo(wanted);
    } else if (event.key === "Enter") {
      event.preventDefault();
      open();
    }
  };

  const shown: number[] = [];
  for (let at = first; at < Math.min(last, total); at++) shown.push(at);
  // The row with the focus stays in the page when it is scrolled away, or the focus would be lost.
  if (total && !shown.includes(place) && hasFocus(scroller.current)) shown.push(place);
  const widths = columns.map((column) => column.width ?? ([USUAL_WIDTH, 1] as [number, number]));
  const tracks = widths.map(([least, grows]) => (grows ? `minmax(${least}px, ${grows}fr)` : `${least}px`)).join(" ");
  const least = `${widths.reduce((sum, [width]) => sum + width + GAP, -GAP)}px`;
  const across: JSX.CSSProperties = isNarrow ? {} : { gridTemplateColumns: tracks, minWidth: least };
  const from = Math.min(Math.floor(top / rowHeight) + 1, total);
  const to = Math.min(Math.floor((top + view) / rowHeight), total);

  return (
    <div class="table-block table-fill">
      <div
        ref={scroller}
        class={`grid${isNarrow ? " grid-narrow" : ""}${rows.isCurrent ? "" : " grid-old"}`}
        role="grid"
        aria-label={label}
        aria-rowcount={total + 1}
        aria-colcount={isNarrow ? 1 : columns.length}
        aria-busy={!rows.isCurrent}
        tabIndex={total ? -1 : 0}
        onScroll={scrolled}
        onKeyDown={pressed}
      >
        <div class="grid-head" role="row" aria-rowindex={1} style={across}>
          {columns.map((column) => (
            <div key={column.name} role="columnheader" class={column.end ? "end" : undefined} title={column.about} aria-sort={column.sort ? sortedWay(sort, column) : undefined}>
              <Head column={column} sort={sort} onSort={onSort} />
            </div>
          ))}
        </div>
        <div class="grid-space" role="rowgroup" style={{ height: `${scale.height}px`, minWidth: isNarrow ? "0" : least }}>
          {shown.map((at) => {
            const row = rows.rowAt(at);
            const style: JSX.CSSProperties = { transform: `translateY(${at * rowHeight - scale.offset}px)`, height: `${rowHeight}px`, ...across };
            if (row === undefined) {
              return (
                <div key={`at ${at}`} class="grid-row grid-row-empty" role="row" aria-rowindex={at + 2} data-place={at} style={style} tabIndex={-1}>
                  <div role="gridcell">
                    <span class="waiting-line" />
                  </div>
                </div>
              );
            }
            const isHere = at === place;
            return (
              <div
                key={`at ${at}`}
                class={`grid-row${isHere ? " grid-row-here" : ""}${peeked === id(row) ? " grid-row-peeked" : ""}`}
                role="row"
                aria-rowindex={at + 2}
                aria-selected={peeked === null ? undefined : peeked === id(row)}
                data-place={at}
                data-row={id(row)}
                style={style}
                tabIndex={isHere ? 0 : -1}
                onFocus={() => setPlace(at)}
                onClick={(event) => {
                  setPlace(at);
                  const link = (event.target as Element).closest("a");
                  if (link && event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
                    if (peeked !== null && onPeek && link.classList.contains("row-link")) {
                      event.preventDefault();
                      onPeek(row, at);
                    } else keepPlace(list, at, top);
                  } else if (!link && isNarrow && !event.defaultPrevented) {
                    keepPlace(list, at, top);
                    go(options.link(row));
                  }
                }}
              >
                {isNarrow ? (
                  <div role="gridcell" class="grid-two-lines">
                    {narrow(row)}
                  </div>
                ) : (
                  columns.map((column, index) => (
                    <div key={column.name} role={index === 0 ? "rowheader" : "gridcell"} class={column.end ? "end" : undefined}>
                      {column.cell(row) ?? <span class="missing">{TEXTS.app.missing}</span>}
                    </div>
                  ))
                )}
              </div>
            );
          })}
        </div>
        {rows.isEmpty && <div class="grid-nothing">{empty}</div>}
      </div>
      <div class="table-foot">
        <span class="quiet" aria-hidden="true">
          {total > 0 && TEXTS.tables.rows(count(from), count(to), count(total))}
        </span>
        {note}
        <span class="grow" />
        {tools}
      </div>
    </div>
  );
}

function hasFocus(element: Element | null): boolean {
  return element !== null && element.contains(document.activeElement);
}

/** Where a list was left, so that coming back finds it as it was. Only as long as the page lives. */
const places = new Map<string, { place: number; top: number; focus: boolean }>();

function keepPlace(list: string, place: number, top: number): void {
  places.set(list, { place, top, focus: true });
}

function keptPlace(list: string) {
  const kept = places.get(list) ?? null;
  places.delete(list);
  return kept;
}

// ---------------------------------------------------------------------- plain pages

function PlainPages<Row, Answer extends Rows<Row>>(options: VirtualTableOptions<Row, Answer>) {
  const { label, columns, href, id, sort, onSort, empty, tools, note, onAnswer, onTrouble } = options;
  const list = href(0, PAGE);
  const [page, setPage] = useState(0);
  const [answer, setAnswer] = useState<Answer>();
  const [error, setError] = useState<Refused>();
  const top = useRef<HTMLDivElement>(null);
  useEffect(() => setPage(0), [list]);
  const address = href(page * PAGE, PAGE);
  useEffect(() => {
    const control = new AbortController();
    read<Answer>(address, control.signal).then(
      (found) => {
        if (control.signal.aborted) return;
        setAnswer(found);
        setError(undefined);
        onTrouble?.(undefined);
        onAnswer?.(found);
      },
      (reason: unknown) => {
        if (control.signal.aborted || !(reason instanceof Refused)) return;
        if (onTrouble) onTrouble(reason);
        else setError(reason);
      },
    );
    return () => control.abort();
  }, [address]);
  if (error) return <Trouble error={error} />;
  if (!answer) return null;
  if (!answer.total) return <div class="grid-nothing">{empty}</div>;
  const turn = (to: number) => {
    setPage(to);
    top.current?.focus();
  };
  const from = page * PAGE;
  const to = Math.min(from + PAGE, answer.total);
  return (
    <div class="table-plain" ref={top} tabIndex={-1} role="group" aria-label={`${label}: ${TEXTS.tables.rows(count(from + 1), count(to), count(answer.total))}`}>
      <SimpleTable
        label={label}
        columns={columns}
        rows={answer.rows}
        id={id}
        sort={sort}
        onSort={onSort}
        csv={null}
        note={note}
        tools={
          <>
            <button type="button" disabled={page === 0} onClick={() => turn(page - 1)}>
              {TEXTS.tables.previous}
            </button>
            <span class="quiet">{TEXTS.tables.rows(count(from + 1), count(to), count(answer.total))}</span>
            <button type="button" disabled={to >= answer.total} onClick={() => turn(page + 1)}>
              {TEXTS.tables.next}
            </button>
            {tools}
          </>
        }
      />
    </div>
  );
}

