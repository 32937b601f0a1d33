// The list of runs: which run, how good and how sure, whether a gate decided, and what is running.
import { useEffect, useMemo, useState } from "preact/hooks";
import { call, read, Refused, useAnswer } from "../api";
import { useCounted } from "../counted";
import { useAllProgress, useRunsChanged } from "../events";
import { useKeys } from "../keys";
import { count, dollars, plural, seconds } from "../numbers";
import type { Column } from "../parts/column";
import { useIsNarrow } from "../parts/display";
import { EstimateView } from "../parts/estimate";
import { FilterBar } from "../parts/filter";
import { KeyCap } from "../parts/key";
import { compareAddress, useMarked } from "../parts/marked";
import { Page, Trouble, Waiting } from "../parts/page";
import { oneLine } from "../parts/plain";
import { useRows } from "../parts/rows";
import { Commit, GateView, RunStateView, withProgress } from "../parts/run-facts";
import { CsvLink, SimpleTable } from "../parts/simple-table";
import { Ago } from "../parts/time";
import { address, go, withQuery } from "../router";
import type { PageProps } from "../routes";
import { TEXTS } from "../texts";
import type { Progress, RunRow, RunsAnswer } from "../wire";
import "./runs.css";

const PAGE = 100;

export default function Runs({ place }: PageProps) {
  const q = place.query.get("q") ?? "";
  const sort = place.query.get("sort") ?? "";
  const asked = useAnswer<RunsAnswer>(call("/runs", { q, sort }));
  const { rows, total, next, loadMore } = useMoreRows(asked.answer, q, sort);
  const [progress, setProgress] = useState<ReadonlyMap<string, Progress>>(new Map());
  const [fresh, setFresh] = useState(0);
  const { marked, toggle } = useMarked();
  const isNarrow = useIsNarrow();
  useAllProgress((heard) => setProgress((before) => new Map(before).set(heard.run, heard)));
  useRunsChanged(({ began, ended, gone }) => {
    // What began or went away is announced while someone reads further down; nothing moves under their eyes.
    if (scrollY > 200 && began.length + gone.length > 0) setFresh((before) => before + began.length + gone.length);
    else if (began.length + ended.length + gone.length > 0) asked.again();
    else asked.again();
  });
  useCounted(asked.answer?.rows.some((row) => row.cases === null && row.damaged === null && row.state !== "running") ?? false, asked);
  const shown = useMemo(() => rows.map((row) => withProgress(row, progress.get(row.id))), [rows, progress]);
  const byId = new Map(shown.map((row) => [row.id, row]));
  const [here, move] = useRowKeys(shown, toggle);
  useKeys(TEXTS.runs.title, [
    { keys: "c", does: TEXTS.runs.compareKey, run: () => go(compareAddress(marked)) },
  ]);
  const change = (changes: Record<string, string | null>) => go(withQuery(changes), { replace: true });
  const columns = useColumns(marked, toggle, here, move);
  const filterProblem = asked.error?.problem.code === "bad_filter" ? asked.error.problem : undefined;
  const csv = call("/export.csv", { of: "runs", q, sort });
  const isEmptyStore = asked.answer !== undefined && asked.answer.total === 0 && !q;
  return (
    <Page
      title={TEXTS.runs.title}
      about={asked.answer && !isEmptyStore && TEXTS.runs.counted(plural(total, "run"), plural(asked.answer.datasets.length, "dataset"))}
      actions={!isEmptyStore && <Marked marked={marked} byId={byId} toggle={toggle} />}
    >
      {isEmptyStore ? (
        <Nothing />
      ) : (
        <>
          <FilterBar of="runs" value={q} onChange={(text) => change({ q: text })} error={filterProblem} placeholder={TEXTS.runs.placeholder} />
          {asked.answer && asked.answer.datasets.length > 0 && <Datasets names={asked.answer.datasets} />}
          {asked.error && !filterProblem && <Trouble error={asked.error} again={asked.again} />}
          {fresh > 0 && (
            <button
              type="button"
              class="fresh"
              onClick={() => {
                setFresh(0);
                asked.again();
                scrollTo(0, 0);
              }}
            >
              {TEXTS.runs.fresh(plural(fresh, "change"))}
            </button>
          )}
          {!asked.answer && !asked.error && <Waiting lines={10} />}
          {asked.answer && shown.length === 0 && <p class="empty">{TEXTS.runs.noneFound}</p>}
          {shown.length > 0 && (
            <div class={asked.isCurrent ? "runs" : "runs stale"}>
              {isNarrow ? (
                <NarrowList rows={shown} marked={marked} toggle={toggle} />
              ) : (
                <SimpleTable
                  label={TEXTS.runs.title}
                  columns={columns}
                  rows={shown}
                  id={(row) => row.id}
                  sort={sort}
                  onSort={(text) => change({ sort: text })}
                  csv={csv}
                  rowClass={(row) => (row.id === here ? "row-here" : undefined)}
                  tools={
                    next && (
                      <button type="button" onClick={loadMore}>
                        {TEXTS.tables.more}
                      </button>
                    )
                  }
                />
              )}
              {isNarrow && (
                <div class="table-foot">
                  {next && (
                    <button type="button" onClick={loadMore}>
                      {TEXTS.tables.more}
                    </button>
                  )}
                  <span class="grow" />
                  <CsvLink href={csv} />
                </div>
              )}
            </div>
          )}
        </>
      )}
    </Page>
  );
}

/** The first rows, and those that were asked for after them. */
function useMoreRows(answer: RunsAnswer | undefined, q: string, sort: string) {
  const [more, setMore] = useState<RunRow[]>([]);
  const [next, setNext] = useState<string | null>(null);
  useEffect(() => {
    setMore([]);
    setNext(answer?.next ?? null);
  }, [answer]);
  const loadMore = () => {
    read<RunsAnswer>(call("/runs", { q, sort, after: next, limit: PAGE })).then(
      (found) => {
        setMore((before) => [...before, ...found.rows]);
        setNext(found.next);
      },
      (error: unknown) => {
        if (!(error instanceof Refused)) throw error;
      },
    );
  };
  const rows = useMemo(() => {
    const first = answer?.rows ?? [];
    const ids = new Set(first.map((row) => row.id));
    return [...first, ...more.filter((row) => !ids.has(row.id))];
  }, [answer, more]);
  return { rows, total: answer?.total ?? 0, next, loadMore };
}

/** `j`, `k`, `Enter` and `x` over the rows of the list. */
function useRowKeys(rows: RunRow[], toggle: (run: string) => void): [string | null, (run: string) => void] {
  const [here, setHere] = useRows(
    rows.map((row) => row.id),
    (run) => go(address(["runs", run])),
  );
  useKeys(TEXTS.keys.table, [{ keys: "x", does: TEXTS.tables.mark, when: rows.length > 0, run: () => here && toggle(here) }]);
  return [here, setHere];
}

function useColumns(marked: string[], toggle: (run: string) => void, here: string | null, move: (run: string) => void): Column<RunRow>[] {
  const texts = TEXTS.runs.columns;
  return [
    {
      name: "name",
      title: texts.name,
      fills: true,
      sort: "name",
      plain: (row) => row.name,
      cell: (row) => (
        <span class="run-name">
          <MarkBox row={row} marked={marked} toggle={toggle} />
          <a class="row-link" href={address(["runs", row.id])} aria-current={row.id === here ? "true" : undefined} onFocus={() => move(row.id)}>
            {row.name}
          </a>
          <RunStateView row={row} />
          {row.damaged && (
            <span class="badge badge-caution" title={row.damaged}>
              {TEXTS.runs.damaged}
            </span>
          )}
        </span>
      ),
    },
    { name: "rate", title: texts.rate, about: texts.rateAbout, sort: "rate", largestFirst: true, cell: (row) => <Rate row={row} /> },
    { name: "gate", title: texts.gate, optional: true, plain: (row) => row.gate?.outcome, cell: (row) => row.gate && <GateView gate={row.gate} /> },
    { name: "started", title: texts.started, sort: "started_at", largestFirst: true, cell: (row) => <span class="one-line"><Ago at={row.started_at} /></span> },
    { name: "dataset", title: texts.dataset, sort: "dataset", optional: true, plain: (row) => row.dataset, cell: (row) => row.dataset && <DatasetLink name={row.dataset} /> },
    { name: "cases", title: texts.cases, sort: "cases", largestFirst: true, end: true, cell: (row) => (row.cases === null ? null : <CasesCount row={row} />) },
    { name: "failures", title: texts.failures, about: texts.failuresAbout, sort: "failures", largestFirst: true, end: true, cell: (row) => (row.failures ? <span>{count(row.failures)}</span> : <span class="quiet">0</span>) },
    { name: "cost", title: texts.cost, sort: "cost", largestFirst: true, end: true, optional: true, plain: (row) => row.cost?.dollars, cell: (row) => row.cost && <span title={row.cost.text}>{row.cost.at_least ? "≥ " : ""}{dollars(row.cost.dollars)}</span> },
    { name: "seconds", title: texts.time, about: texts.timeAbout, sort: "seconds", largestFirst: true, end: true, cell: (row) => (row.seconds === null ? null : seconds(row.seconds)) },
    { name: "task", title: texts.task, sort: "task", cell: (row) => <TaskName row={row} /> },
    { name: "commit", title: texts.commit, sort: "commit", optional: true, plain: (row) => row.commit, cell: (row) => <Commit row={row} /> },
  ];
}

/** The share that passed; of a run that was not counted yet, that it will be. */
function Rate({ row }: { row: RunRow }) {
  if (row.rate) return <EstimateView estimate={row.rate} isRate={true} />;
  const isCounted = row.cases !== null || row.state === "running" || row.damaged !== null;
  return isCounted ? (
    <span class="missing">{TEXTS.app.missing}</span>
  ) : (
    <span class="quiet" title={TEXTS.runs.countingAbout}>
      {TEXTS.runs.counting}
    </span>
  );
}

/** How many cases there are; of a run that is not complete, also how far it came. */
function CasesCount({ row }: { row: RunRow }) {
  const said = [row.repeat > 1 && TEXTS.runs.repeated(count(row.repeat)), row.total !== null && row.attempts < row.total && TEXTS.runs.progress(count(row.attempts), count(row.total))];
  if (row.repeat === 1 && row.total !== null && row.attempts < row.total && row.state !== "running")
    return (
      <span title={TEXTS.runs.progress(count(row.attempts), count(row.total))}>
        {count(row.attempts)}
        <span class="quiet"> / {count(row.total)}</span>
      </span>
    );
  return (
    <span title={said.filter(Boolean).join(", ") || undefined}>
      {count(row.cases ?? 0)}
      {row.repeat > 1 && <span class="quiet"> × {row.repeat}</span>}
    </span>
  );
}

function DatasetLink({ name }: { name: string }) {
  return (
    <a class="clip" href={address(["datasets", name])} title={oneLine(name, 400)}>
      {oneLine(name, 60)}
    </a>
  );
}

function TaskName({ row }: { row: RunRow }) {
  if (!row.task && !row.task_version) return <span class="missing">{TEXTS.app.missing}</span>;
  return (
    <span class="clip" title={[row.task, row.task_version].filter(Boolean).join(" ")}>
      {row.task} {row.task_version && <span class="quiet mono">{row.task_version.slice(0, 7)}</span>}
    </span>
  );
}

function MarkBox({ row, marked, toggle }: { row: RunRow; marked: string[]; toggle: (run: string) => void }) {
  return (
    <label class="mark-box" title={`${TEXTS.tables.mark} (x)`}>
      <input type="checkbox" checked={marked.includes(row.id)} aria-label={TEXTS.runs.mark(row.name)} onChange={() => toggle(row.id)} />
    </label>
  );
}

/** The runs that are marked, and the way to compare them. */
function Marked({ marked, byId, toggle }: { marked: string[]; byId: Map<string, RunRow>; toggle: (run: string) => void }) {
  if (!marked.length)
    return (
      <span class="quiet">
        {TEXTS.runs.markHint} <KeyCap name="x" />
      </span>
    );
  return (
    <>
      <ul class="filter-terms marked-runs" aria-label={TEXTS.runs.marked}>
        {marked.map((run, place) => (
          <li key={run} class="filter-term">
            <span>
              <b>{String.fromCharCode(65 + place)}</b> {byId.get(run)?.name ?? run}
            </span>
            <button type="button" aria-label={TEXTS.runs.unmark(byId.get(run)?.name ?? run)} onClick={() => toggle(run)}>
              ×
            </button>
          </li>
        ))}
      </ul>
      {marked.length > 1 ? (
        <a class="button main-button" href={compareAddress(marked)}>
          {TEXTS.runs.compare} <KeyCap name="c" />
        </a>
      ) : (
        <span class="quiet">{TEXTS.runs.markOneMore}</span>
      )}
    </>
  );
}

const FEW_DATASETS = 12;

/** The datasets, those with the most runs first. */
function Datasets({ names }: { names: string[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? names : names.slice(0, FEW_DATASETS);
  return (
    <p class="datasets">
      <span class="quiet">{TEXTS.runs.trends}</span>{" "}
      {shown.map((name) => (
        <a key={name} class="clip" href={address(["datasets", name])} title={oneLine(name, 400)}>
          {oneLine(name, 60)}
        </a>
      ))}
      {shown.length < names.length && (
        <button type="button" class="quiet-button" onClick={() => setAll(true)}>
          {TEXTS.runs.allDatasets(count(names.length))}
        </button>
      )}
    </p>
  );
}

function NarrowList({ rows, marked, toggle }: { rows: RunRow[]; marked: string[]; toggle: (run: string) => void }) {
  return (
    <ul class="narrow-rows">
      {rows.map((row) => (
        <li key={row.id} data-row={row.id}>
          <div class="two-lines">
            <MarkBox row={row} marked={marked} toggle={toggle} />
            <a class="row-link grow" href={address(["runs", row.id])}>
              {row.name}
            </a>
            <RunStateView row={row} />
            <span class="quiet">
              <Ago at={row.started_at} />
            </span>
          </div>
          <div class="two-lines narrow-second">
            <Rate row={row} />
            <span class="grow" />
            {row.gate && <GateView gate={row.gate} />}
            <span class="number">{row.cost ? `${row.cost.at_least ? "≥ " : ""}${dollars(row.cost.dollars)}` : ""}</span>
          </div>
        </li>
      ))}
    </ul>
  );
}

/** The store has no run yet: the commands that make one. */
function Nothing() {
  return (
    <div class="empty">
      <h2>{TEXTS.runs.emptyTitle}</h2>
      <p>{TEXTS.runs.emptyWay}</p>
      <pre>{TEXTS.runs.emptyCommand}</pre>
      <p class="quiet">{TEXTS.runs.emptyImport}</p>
      <pre>{TEXTS.runs.emptyImportCommand}</pre>
    </div>
  );
}

