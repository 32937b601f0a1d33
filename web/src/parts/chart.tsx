// What a report evaluator found: a number, a table, a matrix, lines, a tree or facts, drawn.
import type { Chart, TreeTurn } from "../wire";
import { count, percent } from "../numbers";
import { TEXTS } from "../texts";
import { DrawnTableView } from "./drawn-table";
import { Figure } from "./figure";
import { Plot, type PlotLine } from "./plot";
import "./chart.css";

export function ChartView({ chart, level = 3 }: { chart: Chart; level?: 2 | 3 }) {
  const { kind, title, description, note, table } = chart;
  const Title = `h${level}` as "h2" | "h3";
  const numbers = table && <DrawnTableView label={title} table={table} />;
  const facts = chart.facts.length > 0 && (
    <ul class="chart-facts">
      {chart.facts.map((fact) => (
        <li key={fact}>{fact}</li>
      ))}
    </ul>
  );
  if (kind === "scalar" || kind === "facts" || kind === "table") {
    return (
      <section class="figure">
        <div class="section-head">
          <Title>{title}</Title>
        </div>
        {description && <p class="quiet figure-about">{description}</p>}
        {facts}
        {numbers}
        {note && <p class="quiet">{note}</p>}
      </section>
    );
  }
  return (
    <Figure title={title} description={description} note={note} table={numbers} level={level}>
      {facts}
      {kind === "matrix" && <Matrix title={title} labels={chart.labels} matrix={chart.matrix} xLabel={chart.x_label} yLabel={chart.y_label} unanswered={chart.unanswered} />}
      {kind === "lines" && (
        <Plot
          label={[title, chart.description].filter(Boolean).join(": ")}
          lines={linesOf(chart)}
          xLabel={chart.x_label}
          yLabel={chart.y_label}
          isRate={chart.is_rate}
          isXRate={chart.x_is_rate}
          {...(chart.x_is_rate ? { xRange: [0, 1] as [number, number] } : {})}
        />
      )}
      {kind === "tree" && <Tree nodes={chart.nodes} title={title} />}
    </Figure>
  );
}

function linesOf(chart: Chart): PlotLine[] {
  const lines: PlotLine[] = chart.lines.map((line) => ({ ...line, dots: line.x.length <= 40 }));
  return chart.diagonal ? [...lines, { name: TEXTS.charts.diagonal, x: [0, 1], y: [0, 1], faint: true }] : lines;
}

const CELL = 46;
const ROW_HEIGHT = 32;

/** A confusion matrix: how often what was expected (rows) became what was found (columns). Ink says how often, within its row. */
export function Matrix({ title, labels, matrix, xLabel, yLabel, unanswered = [] }: { title: string; labels: string[]; matrix: number[][]; xLabel: string; yLabel: string; unanswered?: number[] }) {
  const heads = unanswered.length ? [...labels, TEXTS.charts.none] : labels;
  const head = Math.min(Math.max(...labels.map((label) => label.length), yLabel.length, 6) * 6.4 + 12, 124);
  const width = head + CELL * heads.length + 56;
  const longest = Math.min(Math.max(...heads.map((label) => label.length)), 14);
  const top = longest > 6 ? 28 + longest * 4.4 : 44;
  const height = top + ROW_HEIGHT * labels.length + 4;
  const short = (label: string, most: number) => (label.length > most ? `${label.slice(0, most - 1)}…` : label);
  return (
    <div class="chart-scroll" tabIndex={0} role="img" aria-label={`${title}: ${matrixSaid(labels, matrix)}`}>
      <svg class="chart" viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true" focusable="false">
        <text class="chart-text" x={head} y={12}>
          {xLabel}
        </text>
        <text class="chart-text" x={head - 8} y={top - 8} text-anchor="end">
          {yLabel}
        </text>
        {heads.map((label, column) => {
          const x = head + CELL * column + CELL / 2;
          return longest > 6 ? (
            <text key={column} class="chart-text" transform={`translate(${x - 4} ${top - 8}) rotate(-40)`}>
              {short(label, 14)}
            </text>
          ) : (
            <text key={column} class="chart-text" x={x} y={top - 8} text-anchor="middle">
              {label}
            </text>
          );
        })}
        {matrix.map((counts, place) => {
          const row = unanswered.length ? [...counts, unanswered[place] ?? 0] : counts;
          const sum = row.reduce((a, b) => a + b, 0);
          const y = top + ROW_HEIGHT * place;
          return (
            <g key={place}>
              <text class="chart-text chart-strong" x={head - 8} y={y + ROW_HEIGHT / 2 + 4} text-anchor="end">
                {short(labels[place] ?? "", 17)}
              </text>
              {row.map((cell, column) => (
                <g key={column}>
                  <rect class={place === column ? "matrix-same" : "matrix-other"} x={head + CELL * column + 1} y={y + 1} width={CELL - 2} height={ROW_HEIGHT - 2} rx={3} fill-opacity={sum ? (0.85 * cell) / sum : 0} />
                  <rect class="matrix-edge" x={head + CELL * column + 1} y={y + 1} width={CELL - 2} height={ROW_HEIGHT - 2} rx={3} />
                  <text class={sum && cell / sum > 0.6 ? "chart-text matrix-inside" : cell ? "chart-text chart-strong" : "chart-text"} x={head + CELL * column + CELL / 2} y={y + ROW_HEIGHT / 2 + 4} text-anchor="middle">
                    {cell ? count(cell) : "·"}
                  </text>
                </g>
              ))}
              <text class="chart-text" x={head + CELL * heads.length + 8} y={y + ROW_HEIGHT / 2 + 4}>
                {sum ? percent((row[place] ?? 0) / sum) : TEXTS.app.missing}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function matrixSaid(labels: string[], matrix: number[][]): string {
  return matrix
    .map((row, place) => `${labels[place]}: ${row.flatMap((cell, column) => (cell ? [`${cell} ${labels[column]}`] : [])).join(", ")}`)
    .join("; ");
}

const INDENT = 22;
const TURN = 24;

/** A tree of turns, each on its own line under the one it answers. */
export function Tree({ nodes, title }: { nodes: TreeTurn[]; title: string }) {
  const width = 640;
  const height = nodes.length * TURN + 8;
  const lastAt: number[] = [];
  return (
    <div class="chart-scroll">
      <ol class="said">
        {nodes.map((node, index) => (
          <li key={index}>{`${node.depth + 1}: ${node.label} ${node.outcome} ${node.text}`}</li>
        ))}
      </ol>
      <svg class="chart" viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true" focusable="false" data-title={title}>
        {nodes.map((node, index) => {
          const x = 10 + node.depth * INDENT;
          const y = 4 + index * TURN + TURN / 2;
          const parent = node.depth > 0 ? lastAt[node.depth - 1] : undefined;
          lastAt[node.depth] = y;
          return (
            <g key={index} class={`tree-${node.tone}`}>
              {parent !== undefined && <path class="tree-branch" d={`M${x - INDENT} ${parent + 6}V${y}H${x - 6}`} />}
              <TreeMark tone={node.tone} x={x} y={y} />
              <text class="chart-text chart-strong" x={x + 12} y={y + 4}>
                {node.label}
                <tspan class="chart-quiet" dx={6}>
                  {node.outcome}
                </tspan>
                <tspan class="chart-plain" dx={6}>
                  {node.text.length > 90 ? `${node.text.slice(0, 89)}…` : node.text}
                </tspan>
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function TreeMark({ tone, x, y }: { tone: TreeTurn["tone"]; x: number; y: number }) {
  if (tone === "bad") return <rect class="tree-mark" x={x - 5} y={y - 5} width={10} height={10} rx={1.5} />;
  if (tone === "good") return <circle class="tree-mark" cx={x} cy={y} r={4.5} />;
  return <circle class="tree-mark tree-mark-open" cx={x} cy={y} r={4.5} />;
}
