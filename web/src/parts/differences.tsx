// Columns of two runs as rows: both values, the difference on one scale, and what is known of it in words.
import type { ComponentChildren } from "preact";
import { count, percent } from "../numbers";
import { TEXTS } from "../texts";
import type { DifferenceRow } from "../wire";
import { Change, ChangeGlyph, ChangeShape, printed, scales } from "./change";
import type { Column } from "./column";
import { useIsNarrow } from "./display";
import { oneLine, Plain } from "./plain";
import { CsvLink, SimpleTable } from "./simple-table";

interface DifferencesProps {
  label: string;
  /** The title of the first column. */
  title: string;
  rows: DifferenceRow[];
  /** What both runs are called. */
  names: [string, string];
  csv?: string | null;
  note?: ComponentChildren;
  tools?: ComponentChildren;
  /** Where the flips of an evaluator are. */
  flips?: (row: DifferenceRow, way: "worse" | "better") => string;
}

const ORDER: Record<DifferenceRow["mark"], number> = { worse: 0, better: 1, lower: 2, higher: 2, unclear: 3, same: 4, identical: 5 };

/** What is certain first, the bad before the good. */
export function surestFirst(rows: DifferenceRow[]): DifferenceRow[] {
  return [...rows].sort((one, other) => ORDER[one.mark] - ORDER[other.mark]);
}

export function Differences({ label, title, rows, names, csv, note, tools, flips }: DifferencesProps) {
  const isNarrow = useIsNarrow();
  const extent = scales(rows);
  const texts = TEXTS.compare.columns;
  const notes = (
    <>
      {scaleNote(rows, extent)}
      {note && <> {note}</>}
    </>
  );
  if (isNarrow)
    return (
      <>
        <ul class="narrow-rows" aria-label={label}>
          {rows.map((row) => (
            <li key={row.name} class="narrow-change">
              <div class="two-lines">
                <ChangeShape change={row.mark} />
                <strong class="grow">
                  <Plain text={oneLine(row.name, 80)} />
                </strong>
                <span class="number">
                  {printed(row.values[0] ?? "")} → {printed(row.values[1] ?? "")}
                </span>
              </div>
              <ChangeGlyph row={row} extent={extent(row)} />
              <What row={row} />
              {flips && <FlipLinks row={row} flips={flips} />}
            </li>
          ))}
        </ul>
        <div class="table-foot">
          <span class="quiet">{notes}</span>
          <span class="grow" />
          {tools}
          {csv && <CsvLink href={csv} />}
        </div>
      </>
    );
  const columns: Column<DifferenceRow>[] = [
    {
      name: "name",
      title,
      plain: (row) => row.name,
      cell: (row) => (
        <span class={flips && row.kind === "pass rate" ? "clip tone-strong" : "clip"} title={row.name}>
          <Plain text={oneLine(row.name, 80)} />
        </span>
      ),
    },
    { name: "baseline", title: oneLine(names[0], 20), about: names[0], end: true, plain: (row) => row.values[0], cell: (row) => printed(row.values[0] ?? "") },
    { name: "candidate", title: oneLine(names[1], 20), about: names[1], end: true, plain: (row) => row.values[1], cell: (row) => printed(row.values[1] ?? "") },
    { name: "difference", title: texts.difference, about: texts.differenceAbout, plain: (row) => `${row.text} ${row.ends}`, cell: (row) => <ChangeGlyph row={row} extent={extent(row)} /> },
    { name: "what", title: texts.what, fills: true, plain: (row) => row.sentence, cell: (row) => <What row={row} /> },
    ...(flips && rows.some((row) => row.broken + row.fixed > 0)
      ? [{ name: "flips", title: texts.flips, about: texts.flipsAbout, plain: (row: DifferenceRow) => `${row.broken} broken, ${row.fixed} fixed`, cell: (row: DifferenceRow) => <FlipLinks row={row} flips={flips} /> }]
      : []),
    {
      name: "p",
      title: texts.p,
      about: texts.pAbout,
      optional: true,
      plain: (row) => row.p,
      cell: (row) =>
        row.p && (
          <span class="quiet change-p" title={row.p}>
            {row.p.split(" (")[0]}
            {row.adjusted && <span class="change-adjusted">{TEXTS.compare.adjusted(row.adjusted)}</span>}
          </span>
        ),
    },
  ];
  return <SimpleTable label={label} columns={columns} rows={rows} id={(row) => `${row.kind} ${row.name}`} note={notes} tools={tools} {...(csv === undefined ? {} : { csv })} />;
}

/** A word with its shape, and the sentence; under it, why the two columns may not mean the same. */
function What({ row }: { row: DifferenceRow }) {
  return (
    <div class="change-what">
      <Change change={row.mark} word={row.sentence} />
      {row.notes.map((note) => (
        <p key={note} class="tone-warn">
          <Plain text={note} />
        </p>
      ))}
    </div>
  );
}

function FlipLinks({ row, flips }: { row: DifferenceRow; flips: (row: DifferenceRow, way: "worse" | "better") => string }) {
  if (row.kind !== "assertion" || row.broken + row.fixed === 0) return null;
  return (
    <span class="flip-links">
      {row.broken > 0 && (
        <a href={flips(row, "worse")} title={TEXTS.compare.toFailAbout}>
          <Change change="worse" word={TEXTS.compare.toFail(count(row.broken))} />
        </a>
      )}
      {row.fixed > 0 && (
        <a href={flips(row, "better")} title={TEXTS.compare.toPassAbout}>
          <Change change="better" word={TEXTS.compare.toPass(count(row.fixed))} />
        </a>
      )}
    </span>
  );
}

/** What the ends of the tracks stand for. */
function scaleNote(rows: DifferenceRow[], extent: (row: DifferenceRow) => number): string {
  const points = rows.find((row) => row.scale === "points");
  const relative = rows.find((row) => row.scale === "relative");
  const texts = TEXTS.compare;
  const parts: string[] = [];
  if (points) parts.push(texts.scale(percent(extent(points), false)));
  if (relative) parts.push(texts.relativeScale(percent(extent(relative))));
  if (rows.some((row) => row.scale === "number")) parts.push(texts.ownScale);
  return parts.join(" ");
}
