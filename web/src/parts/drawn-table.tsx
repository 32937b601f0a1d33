// A table as the report says it, with its intervals drawn.
import type { Cell, DrawnTable } from "../wire";
import type { Column } from "./column";
import { EstimateGlyph } from "./estimate";
import { SimpleTable } from "./simple-table";

interface Options {
  label: string;
  table: DrawnTable;
  csv?: string | null;
}

export function DrawnTableView({ label, table, csv }: Options) {
  const columns: Column<Cell[]>[] = table.columns.map((column, place) => ({
    name: String(place),
    title: column.title,
    end: column.kind === "count",
    fills: column.kind === "result",
    cell: (row) => <CellView cell={row[place]} kind={column.kind} />,
    plain: (row) => row[place]?.text,
  }));
  return <SimpleTable label={label} columns={columns} rows={table.rows} id={(_, index) => String(index)} note={table.note} {...(csv === undefined ? {} : { csv })} />;
}

function CellView({ cell, kind }: { cell: Cell | undefined; kind: string }) {
  if (!cell || cell.text === "") return null;
  if (!cell.estimate) return <span class={`tone-${cell.tone}`}>{cell.text}</span>;
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
