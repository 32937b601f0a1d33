// A rate, a mean or a difference with its interval: drawn, written and spoken.
import { count, difference as differenceText, meanTexts, number, percent } from "../numbers";
import SHAPES from "../../../src/calipers/views/html/page/shapes.json";
import { TEXTS } from "../texts";
import type { Estimate, Interval } from "../wire";

const WIDTH = 96;
/** How an interval is drawn; the HTML report draws it the same. Below `few` cases the dot is hollow. */
const { height: HEIGHT, edge: EDGE, bar: BAR, tick: TICK, dot: DOT, fewDot: FEW_DOT, few: FEW } = SHAPES.glyph;

interface EstimateOptions {
  estimate: Estimate;
  isRate: boolean;
  /** Smallest and largest value of a score, if they are known; a rate goes from 0 to 1. */
  range?: [number, number] | null;
  /** The threshold of a gate. */
  threshold?: number | null;
}

/** `81.4 %, 95 % interval 78.9 % to 83.7 %, n = 1,000`. */
export function spokenEstimate(estimate: Estimate, isRate: boolean): string {
  const [value, low, high] = texts(estimate, isRate);
  const { interval } = estimate;
  const sure = interval ? TEXTS.numbers.confidence(`${number(100 * interval.confidence)} %`, low, high) : TEXTS.numbers.noInterval;
  return `${value}, ${sure}, ${TEXTS.numbers.units(count(estimate.n_units))}`;
}

function texts(estimate: Estimate, isRate: boolean): [string, string, string] {
  const { value, interval } = estimate;
  if (isRate) return [percent(value), interval ? percent(interval.low) : "", interval ? percent(interval.high) : ""];
  return interval ? meanTexts(value, interval) : [number(value), "", ""];
}

/** The interval on its track. */
export function EstimateGlyph({ estimate, isRate, range = null, threshold = null }: EstimateOptions) {
  const [from, to] = isRate ? [0, 1] : (range ?? [NaN, NaN]);
  const { value, interval } = estimate;
  if (!(to > from)) return null;
  const x = (at: number) => EDGE + ((Math.min(Math.max(at, from), to) - from) / (to - from)) * (WIDTH - 2 * EDGE);
  const few = estimate.n_units < FEW;
  return (
    <svg class="glyph" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true" focusable="false">
      <line class="glyph-track" x1={EDGE} x2={WIDTH - EDGE} y1={HEIGHT / 2} y2={HEIGHT / 2} />
      <path class="glyph-ends" d={`M${EDGE} ${(HEIGHT - TICK) / 2}v${TICK}M${WIDTH - EDGE} ${(HEIGHT - TICK) / 2}v${TICK}`} />
      {interval && (
        <rect class="glyph-bar" x={x(interval.low)} y={(HEIGHT - BAR) / 2} width={Math.max(x(interval.high) - x(interval.low), 1)} height={BAR} rx={1} />
      )}
      {threshold !== null && <line class="glyph-threshold" x1={x(threshold)} x2={x(threshold)} y1={0} y2={HEIGHT} />}
      <circle class={few ? "glyph-dot glyph-dot-few" : "glyph-dot"} cx={x(value)} cy={HEIGHT / 2} r={few ? FEW_DOT : DOT} />
    </svg>
  );
}

/** Both ends of the interval as the command line prints them: `[47.3, 69.4]`. */
function ends(estimate: Estimate, isRate: boolean): string {
  const { value, interval } = estimate;
  if (!interval) return "";
  const [low, high] = isRate ? [interval.low, interval.high].map((end) => percent(end, false)) : meanTexts(value, interval).slice(1);
  return `[${low}, ${high}]`;
}

/** The glyph and beside it the number; a reader hears the whole. */
export function EstimateView({ estimate, isRate, range = null, threshold = null, glyph = true }: EstimateOptions & { glyph?: boolean }) {
  const spoken = spokenEstimate(estimate, isRate);
  return (
    <span class="estimate" title={spoken}>
      <span class="said">{spoken}</span>
      {glyph && <EstimateGlyph estimate={estimate} isRate={isRate} range={range} threshold={threshold} />}
      <span class="estimate-value" aria-hidden="true">
        {texts(estimate, isRate)[0]}
      </span>
      <span class="estimate-ends" aria-hidden="true">
        {ends(estimate, isRate)}
      </span>
    </span>
  );
}

interface DifferenceOptions {
  difference: number;
  interval: Interval | null;
  /** What the ends of the track stand for: one for a whole column. */
  extent: number;
  /** Whether larger is better; `null`: neither. */
  upIsGood?: boolean | null;
  /** Whether it is no luck, where more is known than that the interval does not hold 0. */
  isSure?: boolean;
}

/** A difference and its interval, with zero in the middle. Grey while the interval holds 0, however large the difference. */
export function DifferenceGlyph({ difference, interval, extent, upIsGood = true, isSure = true }: DifferenceOptions) {
  const middle = WIDTH / 2;
  const x = (at: number) => middle + (Math.min(Math.max(at / (extent || 1), -1), 1) * (WIDTH - 2 * EDGE)) / 2;
  const unclear = !isSure || !interval || (interval.low <= 0 && interval.high >= 0);
  const tone = unclear || upIsGood === null ? "unclear" : difference > 0 === upIsGood ? "better" : "worse";
  return (
    <svg class={`glyph glyph-${tone}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true" focusable="false">
      <line class="glyph-track" x1={EDGE} x2={WIDTH - EDGE} y1={HEIGHT / 2} y2={HEIGHT / 2} />
      <line class="glyph-zero" x1={middle} x2={middle} y1={1} y2={HEIGHT - 1} />
      {interval && (
        <rect class="glyph-bar" x={x(interval.low)} y={(HEIGHT - BAR) / 2} width={Math.max(x(interval.high) - x(interval.low), 1)} height={BAR} rx={1} />
      )}
      {unclear ? (
        <path class="glyph-dot" d={`M${x(difference)} ${HEIGHT / 2 - 3.4}l3.4 3.4-3.4 3.4-3.4-3.4z`} />
      ) : difference > 0 ? (
        <path class="glyph-dot" d={`M${x(difference)} ${HEIGHT / 2 - 3.6}l3.6 6.4h-7.2z`} />
      ) : (
        <path class="glyph-dot" d={`M${x(difference)} ${HEIGHT / 2 + 3.6}l3.6-6.4h-7.2z`} />
      )}
    </svg>
  );
}

/** One scale for a column of differences: the farthest end of any interval. */
export function extentOf(rows: { difference: number | null; interval: Interval | null }[]): number {
  const ends = rows.flatMap((row) => [row.difference ?? 0, row.interval?.low ?? 0, row.interval?.high ?? 0]);
  return Math.max(...ends.map(Math.abs), 0) || 1;
}

/** A difference of rates in points, or of numbers: `+2.4`, `−0.031`. */
export function differenceOf(difference: number, interval: Interval | null, isRate: boolean): string {
  if (isRate) return differenceText(100 * difference, 1);
  const [text] = interval ? meanTexts(difference, interval) : [number(difference)];
  return difference > 0 && text ? `+${text}` : (text ?? "");
}
