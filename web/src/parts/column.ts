// What all tables share: columns, sorting, and saving as CSV.
import type { ComponentChildren } from "preact";

export interface Column<Row> {
  /** Of the column, in the address and in the list of columns. */
  name: string;
  title: string;
  /** A longer title, when the pointer rests on it. */
  about?: string;
  /** Of a virtual table: the least width in pixels and, if it takes of the room that is left, in what proportion. */
  width?: [least: number, grows?: number];
  /** Numbers stand at the end of their cell. */
  end?: boolean;
  /** What `sort` is called on the server; none: it cannot be sorted by it. */
  sort?: string;
  /** Whether the first press on the head puts the largest first. */
  largestFirst?: boolean;
  cell: (row: Row) => ComponentChildren;
  /** Of a plain table: whether it takes the room that is left. */
  fills?: boolean;
  /** Of a plain table: whether long texts in it are cut where the others need the room. */
  shrinks?: boolean;
  /** Left out where no row has anything in it, as `plain` says. */
  optional?: boolean;
  /** What a CSV file has in this column, where the table is saved by the page itself. */
  plain?: (row: Row) => string | number | null | undefined;
}

/** What `sort` becomes by a press on a head: up, down, and then as it was at first. */
export function nextSort(sort: string, column: { sort?: string; largestFirst?: boolean }): string {
  const name = column.sort ?? "";
  const [one, two] = column.largestFirst ? [`-${name}`, name] : [name, `-${name}`];
  return sort === one ? two : sort === two ? "" : one;
}

export function sortedWay(sort: string, column: { sort?: string }): "ascending" | "descending" | "none" {
  return !column.sort || (sort !== column.sort && sort !== `-${column.sort}`) ? "none" : sort.startsWith("-") ? "descending" : "ascending";
}

/** What a spreadsheet may compute: as in `calipers.views.csv_file`. */
const FORMULA = /^(?:[\s\ufeff\u200b]*[=+\-@＝＋－＠]|\t)/;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** A table as CSV. What a spreadsheet would take for a formula is quoted by an apostrophe; control characters are escaped. */
export function csvOf(head: string[], rows: (string | number | null | undefined)[][]): string {
  const cell = (value: string | number | null | undefined) => {
    if (value === null || value === undefined) return "";
    let text = String(value);
    if (typeof value === "string" && FORMULA.test(text) && !NUMBER.test(text)) text = `'${text}`;
    text = text.replace(CONTROLS, (each) => `\\x${each.charCodeAt(0).toString(16).padStart(2, "0")}`);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Save what the page has made. */
export function save(name: string, type: string, text: string): void {
  const href = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = href;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

/** A name for a file, of words. */
export function fileName(words: string, suffix: string): string {
  return `${words.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 80) || "calipers"}.${suffix}`;
}
