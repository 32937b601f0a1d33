// A table of up to some hundred rows: a real <table>, whose first column stays in sight.
import "./table.css";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count } from "../numbers";
import { TEXTS } from "../texts";
import { csvOf, fileName, nextSort, save, sortedWay, type Column } from "./column";
import { Icon } from "./icon";

/** Rows for which a button would not be worth it. */
const SOME_MORE = 3;

interface SimpleTableOptions<Row> {
  /** What the table is of: for readers, and for the name of the file. */
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  id: (row: Row, index: number) => string;
  sort?: string;
  onSort?: (sort: string) => void;
  /** Where the server gives it as CSV; else the page makes it of what each column calls plain. `null`: there is none. */
  csv?: string | null;
  rowClass?: (row: Row) => string | undefined;
  /** Rows that are shown until all are asked for, where there are some more; the file has all. */
  most?: number;
  /** Under the table. */
  note?: ComponentChildren;
  /** Beside the link to the CSV file. */
  tools?: ComponentChildren;
}

export function SimpleTable<Row>(options: SimpleTableOptions<Row>) {
  const { label, rows, id, sort = "", onSort, csv, rowClass, most = Infinity, note, tools } = options;
  const [all, setAll] = useState(false);
  const isCut = !all && rows.length > most + SOME_MORE;
  const columns = options.columns.filter((column) => !column.optional || rows.some((row) => !isNothing(column.plain?.(row))));
  return (
    <div class="table-block">
      <div class="table-scroll" tabIndex={0} role="group" aria-label={label}>
        <table class="simple-table">
          <caption class="said">{label}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.name} scope="col" class={[column.end && "end", column.fills && "fills"].filter(Boolean).join(" ") || undefined} aria-sort={onSort && column.sort ? sortedWay(sort, column) : undefined} title={column.about}>
                  <Head column={column} sort={sort} onSort={onSort} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {(isCut ? rows.slice(0, most) : rows).map((row, index) => (
              <tr key={id(row, index)} data-row={id(row, index)} class={rowClass?.(row)}>
                {columns.map((column, place) => {
                  const content = column.cell(row);
                  const kind = [column.end && "end", column.shrinks && "shrinks"].filter(Boolean).join(" ") || undefined;
                  return place === 0 ? (
                    <th key={column.name} scope="row" class={kind}>
                      {content}
                    </th>
                  ) : (
                    <td key={column.name} class={kind}>
                      {content ?? <Missing />}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="table-foot">
        {note && <div class="quiet">{note}</div>}
        <span class="grow" />
        {isCut && (
          <button type="button" onClick={() => setAll(true)}>
            {TEXTS.tables.all(count(rows.length))}
          </button>
        )}
        {tools}
        {csv !== null && <CsvLink href={csv} make={() => saveTable(label, columns, rows)} />}
      </div>
    </div>
  );
}

function isNothing(value: string | number | null | undefined): boolean {
  return value === null || value === undefined || value === "";
}

/** Save what each column calls plain as a CSV file. */
export function saveTable<Row>(label: string, columns: Column<Row>[], rows: Row[]): void {
  const saved = columns.filter((column) => column.plain);
  const text = csvOf(
    saved.map((column) => column.title),
    rows.map((row) => saved.map((column) => column.plain?.(row))),
  );
  save(fileName(label, "csv"), "text/csv", text);
}

/** What stands where nothing is known. */
export function Missing() {
  return <span class="missing">{TEXTS.app.missing}</span>;
}

/** The head of a column: a button if it can be sorted by. */
export function Head<Row>({ column, sort, onSort }: { column: Column<Row>; sort: string; onSort: ((sort: string) => void) | undefined }) {
  if (!onSort || !column.sort) return <>{column.title}</>;
  const way = sortedWay(sort, column);
  return (
    <button type="button" class="head-button" title={TEXTS.tables.sortBy(column.about ?? column.title)} onClick={() => onSort(nextSort(sort, column))}>
      {column.title}
      {way !== "none" && (
        <span class="sort-arrow">
          <Icon name={way === "ascending" ? "up" : "down"} />
        </span>
      )}
    </button>
  );
}

export function CsvLink({ href, make }: { href?: string | null | undefined; make?: () => void }) {
  const inside = (
    <>
      <Icon name="download" /> {TEXTS.tables.csv}
    </>
  );
  if (href) {
    return (
      <a class="quiet-button" href={href} download title={TEXTS.tables.csvTitle}>
        {inside}
      </a>
    );
  }
  return (
    <button type="button" class="quiet-button" title={TEXTS.tables.csvTitle} onClick={make}>
      {inside}
    </button>
  );
}
