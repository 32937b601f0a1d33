// The differences of two runs as a drawing: a line for each column, zero in the middle, and the band in which a difference is not worth seeing.
import { fixed, percent } from "../numbers";
import { TEXTS } from "../texts";
import type { DifferenceRow } from "../wire";
import { printed } from "./change";
import { Figure } from "./figure";

const ROW = 26;
const NAMES = 170;
const TRACK = 340;
const NUMBERS = 150;
const HEAD = 8;
const FOOT = 34;

/** Only what is counted in points: other units would need an axis of their own. */
export function Forest({ title, rows }: { title: string; rows: DifferenceRow[] }) {
  const shown = rows.filter((row) => row.scale === "points");
  if (!shown.length) return null;
  const extent = Math.max(...shown.flatMap((row) => [row.difference, row.interval?.low ?? 0, row.interval?.high ?? 0, row.smallest]).map(Math.abs)) * 1.05 || 1;
  const middle = NAMES + TRACK / 2;
  const x = (at: number) => middle + (at / extent) * (TRACK / 2);
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].find((each) => extent / each <= 4) ?? 1;
  const ticks = Array.from({ length: 2 * Math.floor(extent / step) + 1 }, (_, at) => (at - Math.floor(extent / step)) * step);
  const bottom = HEAD + ROW * shown.length;
  const width = NAMES + TRACK + NUMBERS;
  const smallest = shown[0]!.smallest;
  const said = shown.map((row) => row.spoken).join("; ");
  return (
    <Figure title={title}>
      <div class="chart-scroll" tabIndex={0} role="img" aria-label={TEXTS.compare.chartSaid(said)}>
        <svg class="chart" viewBox={`0 0 ${width} ${bottom + FOOT}`} width={width} height={bottom + FOOT} aria-hidden="true" focusable="false">
          {smallest > 0 && <rect class="forest-band" x={x(-smallest)} y={HEAD} width={x(smallest) - x(-smallest)} height={bottom - HEAD} />}
          {ticks.map((tick) => (
            <g key={tick}>
              <line class={Math.abs(tick) < step / 2 ? "chart-axis" : "chart-grid"} x1={x(tick)} x2={x(tick)} y1={HEAD} y2={bottom} />
              <text class="chart-text" x={x(tick)} y={bottom + 14} text-anchor="middle">
                {tick > step / 2 ? "+" : ""}
                {fixed(100 * tick, 0)}
              </text>
            </g>
          ))}
          <text class="chart-text" x={middle} y={bottom + 29} text-anchor="middle">
            {TEXTS.compare.points}
          </text>
          {shown.map((row, place) => {
            const y = HEAD + ROW * place + ROW / 2;
            const tone = row.mark === "better" || row.mark === "worse" ? row.mark : "unclear";
            return (
              <g key={row.name} class={`glyph-${tone}`}>
                <text class="chart-text chart-strong" x={NAMES - 12} y={y + 4} text-anchor="end">
                  {row.name.length > 26 ? `${row.name.slice(0, 25)}…` : row.name}
                </text>
                {row.interval && <rect class="glyph-bar" x={x(row.interval.low)} y={y - 4} width={Math.max(x(row.interval.high) - x(row.interval.low), 1)} height={8} rx={1.5} />}
                <path class="glyph-dot" d={dot(row, x(row.difference), y)} />
                <text class="chart-text chart-strong" x={NAMES + TRACK + 12} y={y + 4}>
                  {printed(row.text)}
                  <tspan class="chart-quiet" dx={6}>
                    {printed(row.ends)}
                  </tspan>
                </text>
              </g>
            );
          })}
        </svg>
      </div>
      {smallest > 0 && <p class="quiet">{TEXTS.compare.band(percent(smallest, false).replace(/\.0$/, ""))}</p>}
    </Figure>
  );
}

function dot(row: DifferenceRow, x: number, y: number): string {
  if (row.mark === "better") return `M${x} ${y - 5}l5 8.6h-10z`;
  if (row.mark === "worse") return `M${x} ${y + 5}l5-8.6h-10z`;
  return `M${x} ${y - 4.5}l4.5 4.5-4.5 4.5-4.5-4.5z`;
}
