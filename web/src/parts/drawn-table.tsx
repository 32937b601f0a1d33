// A table as the report says it, with its intervals drawn.
import type { Cell, DrawnTable } from "../wire";
import type { Column } from "./column";
import { useIsNarrow } from "./display";
import { EstimateGlyph } from "./estimate";
import { oneLine } from "./plain";
import { SimpleTable } from "./simple-table";

/** Characters up to which a cell stays on one line. */
const SHORT = 40;
/** Characters from which on the name of a row is cut, so that the numbers stay in sight. */
const LONG_NAME = 40;

interface Options {
  label: string;
  table: DrawnTable;
  csv?: string | null;
  most?: number;
}

export function DrawnTableView({ label, table, csv, most }: Options) {
  const columns: Column<Cell[]>[] = table.columns.map((column, place) => ({
    name: String(place),
    title: column.title,
    end: column.kind === "count",
    fills: column.kind === "result",
    cell: (row) => <CellView cell={row[place]} kind={column.kind} isName={place === 0} />,
    plain: (row) => row[place]?.text,
  }));
  // Where there is little room, what was measured stands beside its name, and the rest is a way to the right.
  const isNarrow = useIsNarrow();
  const results = columns.filter((column) => column.fills);
  if (isNarrow) columns.splice(0, columns.length, ...columns.slice(0, 1), ...results, ...columns.slice(1).filter((column) => !column.fills));
  return <SimpleTable label={label} columns={columns} rows={table.rows} id={(_, index) => String(index)} note={table.note} {...(csv === undefined ? {} : { csv })} {...(most === undefined ? {} : { most })} />;
}

function CellView({ cell, kind, isName }: { cell: Cell | undefined; kind: string; isName: boolean }) {
  if (!cell || cell.text === "") return null;
  if (isName && cell.text.length > LONG_NAME) {
    return (
      <span class={`clip long-name tone-${cell.tone}`} title={oneLine(cell.text, 400)}>
        {cell.text}
      </span>
    );
  }
  if (!cell.estimate) return <span class={`tone-${cell.tone}${cell.text.length <= SHORT ? " one-line" : ""}`}>{cell.text}</span>;
  return (
    <span class="estimate" title={cell.spoken || undefined}>
      {cell.spoken && <span class="said">{cell.spoken}</span>}
      {kind === "result" && <EstimateGlyph estimate={cell.estimate} isRate={cell.is_rate} range={cell.range} />}
      <span class={`tone-${cell.tone}`} aria-hidden={cell.spoken ? "true" : undefined}>
        {cell.text}
      </span>
    </span>
  );
}
