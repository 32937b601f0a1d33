// The trend of a dataset over its runs: the pass rate or a mean, each with its interval, and where one cannot be compared with the one before.
import { call, useAnswer } from "../api";
import { useCounted } from "../counted";
import { useRunsChanged } from "../events";
import type { Column } from "../parts/column";
import { EstimateView, spokenEstimate } from "../parts/estimate";
import { Figure } from "../parts/figure";
import { Answered, Page } from "../parts/page";
import { oneLine, Plain } from "../parts/plain";
import { Plot, type PlotLine } from "../parts/plot";
import { Commit } from "../parts/run-facts";
import { SimpleTable } from "../parts/simple-table";
import { Ago } from "../parts/time";
import { address, go, withQuery } from "../router";
import type { PageProps } from "../routes";
import { TEXTS } from "../texts";
import type { TrendAnswer, TrendPoint } from "../wire";

/** Characters of the name of a run below the chart. */
const SHORT_NAME = 12;

export default function Dataset({ place, dataset }: PageProps<"dataset">) {
  const evaluator = place.query.get("evaluator") ?? "";
  const asked = useAnswer<TrendAnswer>(call("/trend", { dataset, evaluator }));
  useRunsChanged(asked.again);
  useCounted(asked.answer?.points.some((point) => point.estimate === null && point.state !== "running") ?? false, asked);
  return (
    <Page
      title={TEXTS.dataset.title(oneLine(dataset))}
      crumbs={[{ text: TEXTS.runs.title, href: "/runs" }]}
      actions={
        <a class="button" href={`/runs?${new URLSearchParams({ q: `dataset:"${dataset.replaceAll('"', '\\"')}"` })}`}>
          {TEXTS.dataset.runs}
        </a>
      }
    >
      <Answered asked={asked}>{(answer) => <Trend answer={answer} evaluator={evaluator} />}</Answered>
    </Page>
  );
}

function Trend({ answer, evaluator }: { answer: TrendAnswer; evaluator: string }) {
  const { points, is_rate: isRate } = answer;
  const measured = points.filter((point) => point.estimate !== null);
  const areCommits = new Set(points.map(nameOf)).size > points.length / 2;
  const what = answer.evaluator ? oneLine(answer.evaluator) : TEXTS.dataset.rate;
  return (
    <>
      {answer.evaluators.length > 0 && (
        <label class="picker">
          {TEXTS.dataset.show}{" "}
          <select value={evaluator} onChange={(event) => go(withQuery({ evaluator: event.currentTarget.value || null }), { replace: true })}>
            <option value="">{TEXTS.dataset.rate}</option>
            {answer.evaluators.map((name) => (
              <option key={name} value={name}>
                {oneLine(name)}
              </option>
            ))}
          </select>
        </label>
      )}
      {measured.length === 0 ? (
        <p class="empty">{points.length ? TEXTS.dataset.notMeasured : TEXTS.dataset.none}</p>
      ) : (
        <Figure level={2} title={TEXTS.dataset.trendOf(what)} description={TEXTS.dataset.about}>
          <Plot
            label={TEXTS.dataset.said(what, measured.length, said(measured[measured.length - 1], isRate))}
            lines={[lineOf(points)]}
            isRate={isRate}
            xName={(x) => (areCommits ? nameOf(points[x]) : oneLine(points[x]?.name ?? "", SHORT_NAME))}
            read={(x) => readOff(points[x], isRate)}
            link={(_, point) => (points[point] ? address(["runs", points[point].run]) : null)}
            marks={points.flatMap((point, x) => (point.break_before.length ? [{ x: x - 0.5, text: point.break_before.join(", ") }] : []))}
            xRange={[-0.5, Math.max(points.length - 0.5, 0.5)]}
            height={300}
          />
        </Figure>
      )}
      {points.length > 0 && (
        <section class="section">
          <SimpleTable label={TEXTS.dataset.table(what)} columns={columnsOf(isRate)} rows={[...points].reverse()} id={(point) => point.run} csv={call("/export.csv", { of: "trend", dataset: answer.dataset, evaluator })} />
        </section>
      )}
    </>
  );
}

function lineOf(points: TrendPoint[]): PlotLine {
  return {
    name: "",
    x: points.map((_, x) => x),
    y: points.map((point) => point.estimate?.value ?? null),
    low: points.map((point) => point.estimate?.interval?.low ?? null),
    high: points.map((point) => point.estimate?.interval?.high ?? null),
    breaks: new Set(points.flatMap((point, x) => (point.break_before.length ? [x] : []))),
    dots: true,
  };
}

function nameOf(point: TrendPoint | undefined): string {
  return point?.commit ? point.commit.slice(0, 7) + (point.dirty ? "+" : "") : (point?.started_at.slice(5, 10) ?? "");
}

function said(point: TrendPoint | undefined, isRate: boolean): string {
  return point?.estimate ? spokenEstimate(point.estimate, isRate) : TEXTS.dataset.notMeasuredHere;
}

function readOff(point: TrendPoint | undefined, isRate: boolean): string {
  return point ? `${oneLine(point.name, 60)} (${nameOf(point)}): ${said(point, isRate)}` : "";
}

function columnsOf(isRate: boolean): Column<TrendPoint>[] {
  const texts = TEXTS.runs.columns;
  return [
    {
      name: "name",
      title: texts.name,
      plain: (point) => point.name,
      cell: (point) => (
        <a href={address(["runs", point.run])}>
          <Plain text={oneLine(point.name, 80)} />
        </a>
      ),
    },
    { name: "value", title: TEXTS.dataset.value, cell: (point) => point.estimate && <EstimateView estimate={point.estimate} isRate={isRate} />, plain: (point) => point.estimate?.value },
    { name: "cases", title: texts.cases, end: true, cell: (point) => point.estimate?.n_units ?? null, plain: (point) => point.estimate?.n_units },
    { name: "cost", optional: true, title: texts.cost, end: true, cell: (point) => point.cost?.text ?? null, plain: (point) => point.cost?.dollars },
    { name: "commit", optional: true, title: texts.commit, cell: (point) => <Commit row={point} />, plain: (point) => point.commit },
    { name: "version", optional: true, title: TEXTS.dataset.version, cell: (point) => point.task_version && <span class="mono">{point.task_version.slice(0, 10)}</span>, plain: (point) => point.task_version },
    { name: "break", optional: true, title: TEXTS.dataset.changed, cell: (point) => (point.break_before.length ? <span class="tone-warn in-words">{point.break_before.join(", ")}</span> : null), plain: (point) => point.break_before.join(", ") },
    { name: "started", title: texts.started, end: true, cell: (point) => <Ago at={point.started_at} />, plain: (point) => point.started_at },
  ];
}
