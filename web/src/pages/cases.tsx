// The cases of a run: a table of any length with a filter, facets beside it, and a case to look at without leaving it.
import { lazy, Suspense } from "preact/compat";
import { useEffect, useState } from "preact/hooks";
import { call, read, useAnswer, type Refused } from "../api";
import { useProgress } from "../events";
import { useKeys } from "../keys";
import { count, dollars, fixed, number, percent, plural, seconds } from "../numbers";
import type { Column } from "../parts/column";
import { Deleted } from "../parts/deleted";
import { useIsNarrow } from "../parts/display";
import { FilterBar, Facets } from "../parts/filter";
import { Icon } from "../parts/icon";
import { jsonInWords } from "../parts/json-text";
import { KeyCap } from "../parts/key";
import { Menu } from "../parts/menu";
import { Marks, MarkShape } from "../parts/mark";
import { Page, Trouble } from "../parts/page";
import { oneLine, Plain } from "../parts/plain";
import { VirtualTable } from "../parts/virtual-table";
import { address, go, withQuery } from "../router";
import type { PageProps } from "../routes";
import { TEXTS } from "../texts";
import type { CaseAnswer, CaseColumn, CaseRow, CasesAnswer, IndexState, RunAnswer } from "../wire";
import "./cases.css";

const Peek = lazy(() => import("../parts/peek"));

const FACETS = "calipers:facets";
const USUAL_VALUES = 4;
/** Pixels below which facets give way to the case beside the table. */
const ROOM_FOR_ALL = 1500;
const REFRESH = 5000;

export default function Cases({ place, run }: PageProps<"run">) {
  const { query } = place;
  const q = query.get("q") ?? "";
  const sort = query.get("sort") ?? "";
  const peeked = query.get("open");
  const { answer: whole } = useAnswer<RunAnswer>(call(`/runs/${encodeURIComponent(run)}`));
  const id = whole?.run.id ?? run;
  const path = `/runs/${encodeURIComponent(id)}/cases`;
  const [answer, setAnswer] = useState<CasesAnswer>();
  const [trouble, setTrouble] = useState<Refused>();
  const isNarrow = useIsNarrow();
  const [hasFacets, setHasFacets] = useState(localStorage.getItem(FACETS) !== "no");
  const [era, setEra] = useState(0);
  const index = useIndex(whole, answer, () => setEra((before) => before + 1));
  const change = (changes: Record<string, string | null>) => go(withQuery(changes), { replace: true });
  const link = (row: CaseRow) => address(["runs", id, "cases", row.id], { q, sort });
  const columns = allColumns(answer?.columns ?? [], answer?.rows ?? [], link);
  const shown = chosenColumns(columns, query.get("cols"));
  const filterProblem = trouble?.problem.code === "bad_filter" ? trouble.problem : undefined;
  const showFacets = (wanted: boolean) => {
    localStorage.setItem(FACETS, wanted ? "yes" : "no");
    setHasFacets(wanted);
  };
  const filter = (text: string) => change({ q: text, open: null });
  const findFailure = async (row: CaseRow, way: 1 | -1) => {
    const found = await read<CaseAnswer>(call(`${path}/${encodeURIComponent(row.id)}`, { q, sort })).catch(() => null);
    const next = way === 1 ? found?.next_failure : found?.previous_failure;
    if (!next) return null;
    const around = await read<CasesAnswer>(call(path, { q, sort, around: next, limit: 1 })).catch(() => null);
    return around?.rows.find((each) => each.id === next)?.at ?? null;
  };
  useKeys(TEXTS.cases.title, [
    { keys: "Escape", does: TEXTS.cases.closePeek, when: peeked !== null, run: () => change({ open: null }) },
    { keys: "b", does: TEXTS.cases.facetsKey, when: !isNarrow, run: () => showFacets(!hasFacets) },
  ]);
  return (
    <Page
      fill
      title={TEXTS.cases.title}
      crumbs={[
        { text: TEXTS.runs.title, href: "/runs" },
        { text: whole ? oneLine(whole.run.name, 60) : run, href: address(["runs", id]) },
      ]}
      about={answer && <Counted answer={answer} index={index} q={q} />}
      actions={
        <>
          {!isNarrow && (
            <button type="button" aria-pressed={hasFacets} onClick={() => showFacets(!hasFacets)}>
              <Icon name="filter" /> {TEXTS.cases.facets} <KeyCap name="b" />
            </button>
          )}
          <ColumnChoice columns={columns} shown={shown} change={(cols) => change({ cols })} />
        </>
      }
    >
      <FilterBar of="cases" run={id} value={q} onChange={filter} error={filterProblem} placeholder={TEXTS.cases.placeholder} />
      {whole && !trouble && <Deleted runs={[id]} />}
      {trouble && !filterProblem && <Trouble error={trouble} again={() => setEra((before) => before + 1)} />}
      <div class="cases">
        {hasFacets && !isNarrow && !(peeked && innerWidth < ROOM_FOR_ALL) && whole && <Facets run={id} q={q} onChange={filter} fields={facetFields(whole, answer)} />}
        <VirtualTable<CaseRow, CasesAnswer>
          key={era}
          label={TEXTS.cases.table}
          columns={shown}
          href={(at, limit) => call(path, { q, sort, at, limit })}
          id={(row) => row.id}
          link={link}
          sort={sort}
          onSort={(text) => change({ sort: text })}
          csv={call("/export.csv", { of: "cases", run: id, q, sort })}
          narrow={(row) => <NarrowRow row={row} link={link(row)} />}
          onAnswer={setAnswer}
          onTrouble={setTrouble}
          peeked={peeked}
          {...(isNarrow ? {} : { onPeek: (row: CaseRow | null) => change({ open: row ? row.id : null }) })}
          isFailure={(row) => row.mark === "fail" || row.mark === "error"}
          findFailure={findFailure}
          empty={q ? <NoneFound clear={() => filter("")} /> : <p class="empty">{TEXTS.cases.none}</p>}
        />
        {peeked && !isNarrow && <Suspense fallback={null}><Peek href={call(`${path}/${encodeURIComponent(peeked)}`, { q, sort })} page={address(["runs", id, "cases", peeked], { q, sort })} close={() => change({ open: null })} /></Suspense>}
      </div>
    </Page>
  );
}

/** How far the run has been read; where it is being read or goes on, the list is asked for again now and then. */
function useIndex(whole: RunAnswer | undefined, answer: CasesAnswer | undefined, again: () => void): IndexState | undefined {
  const index = answer?.index ?? whole?.index;
  const isMoving = index !== undefined && index.state !== "ready";
  const progress = useProgress(isMoving && whole ? whole.run.id : null);
  const newest = progress?.index ?? index;
  const isReading = newest?.state === "reading";
  const seen = answer?.index.read ?? 0;
  const isReadyNow = index?.state === "reading" && newest?.state !== "reading";
  useEffect(() => {
    if (isReadyNow) again();
  }, [isReadyNow]);
  useEffect(() => {
    if (!isReading || progress) return undefined;
    const timer = setTimeout(again, REFRESH);
    return () => clearTimeout(timer);
  }, [isReading, seen]);
  return newest;
}

function Counted({ answer, index, q }: { answer: CasesAnswer; index: IndexState | undefined; q: string }) {
  const found = answer.searched < 1 ? TEXTS.cases.atLeast(count(answer.total)) : count(answer.total);
  return (
    <span role="status">
      {q ? TEXTS.cases.found(found, plural(answer.all, "case")) : plural(answer.all, "case")}
      {answer.searched < 1 && <span class="tone-warn"> · {TEXTS.cases.searched(percent(answer.searched))}</span>}
      {index?.state === "reading" && ` · ${TEXTS.run.reading(count(index.read), count(index.of))}`}
      {index?.state === "live" && index.of > answer.index.of && ` · ${TEXTS.cases.fresh(plural(index.of - answer.index.of, "new attempt"))}`}
    </span>
  );
}

function NoneFound({ clear }: { clear: () => void }) {
  return (
    <div class="empty">
      <p>{TEXTS.cases.noneFound}</p>
      <p>
        <button type="button" onClick={clear}>
          {TEXTS.filter.clear}
        </button>
      </p>
    </div>
  );
}

/** The fields beside the table: what came of a case, its tags and fields, each evaluator's say. */
function facetFields(whole: RunAnswer, answer: CasesAnswer | undefined): [string, string][] {
  const asserted = (answer?.columns ?? []).filter((column) => column.kind === "assertion").map((column) => `eval.${keyText(column.name)}`);
  const fields = ["status", ...whole.slices, ...asserted];
  const unique = [...new Set(fields)];
  const titles = unique.map(titleOf);
  return unique.map((field, place): [string, string] => [field, titles.filter((title) => title === titles[place]).length > 1 ? oneLine(field, 40) : (titles[place] ?? field)]);
}

/** A name as it stands after the dot of a field. */
function keyText(name: string): string {
  return /^[^\s:<>=~"()]+$/.test(name) ? name : `"${name.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

function titleOf(field: string): string {
  const key = field.replace(/^(meta|label|eval)\./, "");
  return oneLine(/^".*"$/s.test(key) ? key.slice(1, -1).replace(/\\(.)/gs, "$1") : key, 40);
}

// ---------------------------------------------------------------------- columns

interface CaseTableColumn extends Column<CaseRow> {
  usual: boolean;
}

function allColumns(results: CaseColumn[], rows: CaseRow[], link: (row: CaseRow) => string): CaseTableColumn[] {
  const texts = TEXTS.cases.columns;
  const long = (name: "why" | "input" | "output" | "expected", width: [number, number], usual: boolean): CaseTableColumn => ({
    name,
    title: texts[name],
    width,
    usual,
    cell: (row) => (row[name] ? <Text text={row[name]} line={oneLine(name === "why" ? row[name] : jsonInWords(row[name]), 200)} /> : null),
  });
  return [
    {
      name: "name",
      title: texts.name,
      width: [160, 0.8],
      sort: "name",
      usual: true,
      cell: (row) => (
        <span class="case-name">
          <MarkShape mark={row.mark} named />
          <a class="row-link" href={link(row)} tabIndex={-1}>
            <Plain text={oneLine(row.name, 120)} />
          </a>
          {row.labelled > 0 && (
            <span class="badge" title={TEXTS.cases.labelled(plural(row.labelled, "label"))}>
              {count(row.labelled)}
            </span>
          )}
        </span>
      ),
    },
    { name: "marks", title: texts.marks, about: texts.marksAbout, width: [marksWidth(rows)], sort: "mark", usual: true, cell: (row) => <Marks marks={row.marks} /> },
    long("why", [210, 2.2], true),
    long("input", [140, 1.2], true),
    long("output", [140, 1.2], true),
    long("expected", [110, 1], false),
    ...results.map((result, index): CaseTableColumn => {
      const decimals = decimalsOf(rows.map((row) => row.values[index] ?? null));
      return {
        name: `value.${result.name}`,
        title: oneLine(result.name, 24),
        about: result.name,
        width: result.kind === "label" ? [76, 0.3] : [Math.min(Math.max(result.name.length * 6.5, 48), 76)],
        end: result.kind !== "label",
        sort: `value.${result.name}`,
        largestFirst: false,
        usual: index < USUAL_VALUES,
        cell: (row) => <ResultCell value={row.values[index] ?? null} kind={result.kind} decimals={decimals} />,
      };
    }),
    { name: "seconds", title: texts.seconds, about: texts.secondsAbout, width: [62], sort: "seconds", largestFirst: true, end: true, usual: true, cell: (row) => (row.seconds === null ? null : seconds(row.seconds)) },
    { name: "cost", title: texts.cost, width: [62], sort: "cost", largestFirst: true, end: true, usual: rows.some((row) => row.cost !== null), cell: (row) => (row.cost === null ? null : dollars(row.cost)) },
    { name: "tokens", title: texts.tokens, width: [62], sort: "tokens", largestFirst: true, end: true, usual: false, cell: (row) => (row.tokens === null ? null : count(row.tokens)) },
    { name: "tags", title: texts.tags, width: [90, 0.6], usual: false, cell: (row) => (row.tags.length ? <Text text={row.tags.join(", ")} /> : null) },
  ];
}

function Text({ text, line = oneLine(text, 200) }: { text: string; line?: string }) {
  return <span title={line.length > 30 ? oneLine(text, 400) : undefined}>{line}</span>;
}

function marksWidth(rows: CaseRow[]): number {
  const longest = Math.max(...rows.map((row) => row.marks.length), 1);
  return Math.max(longest <= 10 ? 14 * longest + 4 : 64, 62);
}

/** Numbers of a column have the same decimals: as many as they need, at most three. */
function decimalsOf(values: (number | string | null)[]): number {
  const numbers = values.filter((value) => typeof value === "number");
  for (let decimals = 0; decimals < 3; decimals++) if (numbers.every((value) => Math.abs(value - Number(value.toFixed(decimals))) < 1e-9)) return decimals;
  return 3;
}

function ResultCell({ value, kind, decimals }: { value: number | string | null; kind: CaseColumn["kind"]; decimals: number }) {
  if (value === null) return <span class="missing">{TEXTS.app.missing}</span>;
  if (typeof value === "string") return <Text text={value} />;
  if (kind === "assertion") return value === 1 ? <MarkShape mark="pass" named /> : value === 0 ? <MarkShape mark="fail" named /> : <span>{percent(value)}</span>;
  return <span>{Math.abs(value) >= 1e6 ? number(value) : fixed(value, decimals)}</span>;
}

/** The columns that are shown: those of the address, else the usual ones. The name is always there. */
function chosenColumns(columns: CaseTableColumn[], cols: string | null): CaseTableColumn[] {
  const wanted = cols === null ? null : new Set(cols.split(","));
  return columns.filter((column) => column.name === "name" || (wanted ? wanted.has(encodeURIComponent(column.name)) : column.usual));
}

function ColumnChoice({ columns, shown, change }: { columns: CaseTableColumn[]; shown: CaseTableColumn[]; change: (cols: string | null) => void }) {
  const names = new Set(shown.map((column) => column.name));
  const toggle = (name: string) => {
    const wanted = columns.filter((column) => (column.name === name ? !names.has(name) : names.has(column.name))).map((column) => encodeURIComponent(column.name));
    change(wanted.filter((each) => each !== "name").join(",") || "name");
  };
  return (
    <Menu
      button={
        <>
          <Icon name="columns" /> {TEXTS.cases.columnsTitle}
        </>
      }
    >
      {() => (
        <>
          <fieldset>
            <legend class="said">{TEXTS.cases.columnsTitle}</legend>
            {columns.slice(1).map((column) => (
              <label key={column.name} class="menu-item">
                <input type="checkbox" checked={names.has(column.name)} onChange={() => toggle(column.name)} /> {column.title}
              </label>
            ))}
          </fieldset>
          <button type="button" class="quiet-button" onClick={() => change(null)}>
            {TEXTS.cases.usualColumns}
          </button>
        </>
      )}
    </Menu>
  );
}

function NarrowRow({ row, link }: { row: CaseRow; link: string }) {
  return (
    <>
      <div class="two-lines">
        <MarkShape mark={row.mark} named />
        <a class="row-link grow" href={link} tabIndex={-1}>
          <Plain text={oneLine(row.name, 80)} />
        </a>
        {row.marks.length > 1 && <Marks marks={row.marks} />}
      </div>
      <div class="two-lines quiet narrow-case">
        <span class="grow">{oneLine(row.why || row.output || row.input, 120)}</span>
        {row.seconds !== null && <span class="number">{seconds(row.seconds)}</span>}
      </div>
    </>
  );
}
