// Lines, steps, points and whiskers over two axes. One drawing, in SVG, is both what is seen and what is saved.
//
// The pointer, or the arrow keys when the drawing has the focus, read off the numbers at a place.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { number, percent } from "../numbers";
import { go } from "../router";
import "./chart.css";

export interface PlotLine {
  name: string;
  x: number[];
  y: (number | null)[];
  low?: (number | null)[];
  high?: (number | null)[];
  stepped?: boolean;
  /** Whether each point is drawn; always where it has a whisker. */
  dots?: boolean;
  /** Places at which the line is broken: between this point and the one before. */
  breaks?: Set<number>;
  /** Whether the line stands for chance or an ideal: drawn faintly. */
  faint?: boolean;
}

interface PlotOptions {
  label: string;
  lines: PlotLine[];
  xLabel?: string;
  yLabel?: string;
  /** The y axis as percent. */
  isRate?: boolean;
  /** The x axis as percent. */
  isXRate?: boolean;
  xRange?: [number, number];
  yRange?: [number, number];
  /** A name for a place on the x axis, where places are no numbers. */
  xName?: (x: number) => string;
  /** What is read off at a place; default: the numbers of all lines. */
  read?: (x: number) => string;
  /** Where a point leads. */
  link?: (line: number, point: number) => string | null;
  /** Upright lines with a word: where something changed. */
  marks?: { x: number; text: string }[];
  height?: number;
}

const RIGHT = 22;
const TOP = 12;
/** Below the axis: room for its numbers, and for its name where it has one. */
const BOTTOM = { named: 40, bare: 24 };
const COLOURS = 6;
/** About the width of a letter. */
const LETTER = 6.2;
const FEW_LETTERS = 8;
/** More points than so many to a pixel are drawn as the smallest and largest of them. */
const DENSE = 2;

export function Plot(options: PlotOptions) {
  const { label, lines, xLabel = "", yLabel = "", isRate = false, isXRate = false, xName, link, marks = [], height = 240 } = options;
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  const [at, setAt] = useState<number | null>(null);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const measure = () => setWidth(Math.max(element.clientWidth, 240));
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const places = useMemo(() => [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b), [lines]);
  useEffect(() => setAt(null), [places]);
  const [x0, x1] = options.xRange ?? spread(places);
  const [y0, y1] = options.yRange ?? (isRate ? [0, 1] : rangeOf(lines));
  const left = yLabel ? 60 : 46;
  const right = width - RIGHT;
  const bottom = height - (xLabel ? BOTTOM.named : BOTTOM.bare);
  const px = (x: number) => left + ((x - x0) / (x1 - x0 || 1)) * (right - left);
  const py = (y: number) => bottom - ((Math.min(Math.max(y, y0), y1) - y0) / (y1 - y0 || 1)) * (bottom - TOP);
  const yTicks = ticks(y0, y1, Math.max(Math.floor((bottom - TOP) / 42), 2));
  const xTicks = xName ? thinned(places, Math.max(Math.floor((right - left) / 84), 1)) : ticks(x0, x1, Math.max(Math.floor((right - left) / 84), 2));
  const axisText = (value: number, asPercent: boolean) => (asPercent ? `${number(Number((100 * value).toPrecision(6)))} %` : number(Number(value.toPrecision(10))));
  const readAt = (x: number) => (options.read ? options.read(x) : readOff(lines, x, xName ? xName(x) : `${xLabel || "x"} ${axisText(x, isXRate)}`, isRate));

  const nearest = (clientX: number) => {
    const box = frame.current?.getBoundingClientRect();
    if (!box || !places.length) return;
    const wanted = x0 + ((clientX - box.left - left) / (right - left)) * (x1 - x0);
    setAt(places.reduce((best, place, index) => (Math.abs(place - wanted) < Math.abs((places[best] ?? 0) - wanted) ? index : best), 0));
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const steps: Record<string, number> = { ArrowLeft: (at ?? places.length) - 1, ArrowRight: (at ?? -1) + 1, Home: 0, End: places.length - 1 };
    const wanted = steps[event.key];
    if (wanted !== undefined) {
      event.preventDefault();
      setAt(Math.min(Math.max(wanted, 0), places.length - 1));
    } else if (event.key === "Enter" && at !== null && link) {
      const x = places[at];
      const href = lines.map((line, index) => [index, line.x.indexOf(x as number)] as const).flatMap(([line, point]) => (point < 0 ? [] : [link(line, point)]))[0];
      if (href) {
        event.preventDefault();
        go(href);
      }
    }
  };
  const shownAt = at === null ? undefined : places[at];
  return (
    <div class="plot">
      <div ref={frame} class="plot-frame" onPointerMove={(event) => nearest(event.clientX)} onPointerLeave={() => setAt(null)}>
        <div class="plot-slider" tabIndex={0} role="slider" aria-label={label} aria-valuemin={0} aria-valuemax={Math.max(places.length - 1, 0)} aria-valuenow={at ?? 0} aria-valuetext={shownAt === undefined ? label : readAt(shownAt)} onKeyDown={pressed} onBlur={() => setAt(null)} />
        <svg class="chart" viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true" focusable="false">
          {yTicks.map((tick) => (
            <g key={tick}>
              <line class="chart-grid" x1={left} x2={right} y1={py(tick)} y2={py(tick)} />
              <text class="chart-text" x={left - 6} y={py(tick) + 3.5} text-anchor="end">
                {axisText(tick, isRate)}
              </text>
            </g>
          ))}
          <line class="chart-axis" x1={left} x2={right} y1={bottom} y2={bottom} />
          {xTicks.map((tick) => (
            <g key={tick}>
              <line class="chart-axis" x1={px(tick)} x2={px(tick)} y1={bottom} y2={bottom + 4} />
              <text class="chart-text" x={px(tick)} y={bottom + 16} text-anchor="middle">
                {xName ? xName(tick) : axisText(tick, isXRate)}
              </text>
            </g>
          ))}
          {xLabel && (
            <text class="chart-text" x={(left + right) / 2} y={height - 6} text-anchor="middle">
              {xLabel}
            </text>
          )}
          {yLabel && (
            <text class="chart-text" x={10} y={(TOP + bottom) / 2} text-anchor="middle" transform={`rotate(-90 10 ${(TOP + bottom) / 2})`}>
              {yLabel}
            </text>
          )}
          {marks.map((mark, index) => (
            <g key={mark.x}>
              <title>{mark.text}</title>
              <line class="chart-break" x1={px(mark.x)} x2={px(mark.x)} y1={TOP} y2={bottom} />
              <text class="chart-break-text" x={px(mark.x) + 4} y={TOP + 8}>
                {fitting(mark.text, px(marks[index + 1]?.x ?? x1) - px(mark.x) - 8)}
              </text>
            </g>
          ))}
          {shownAt !== undefined && <line class="chart-cursor chart-only-here" x1={px(shownAt)} x2={px(shownAt)} y1={TOP} y2={bottom} />}
          {lines.map((line, index) => {
            const colour = line.faint ? "chart-faint" : `chart-colour-${index % COLOURS}`;
            const hasDots = line.dots ?? line.x.length <= 60;
            return (
              <g key={line.name} class={colour}>
                <path class="chart-line" d={pathOf(line, px, py, right - left)} />
                {hasWhiskers(line) &&
                  line.x.map((x, point) => {
                    const low = line.low?.[point] ?? null;
                    const high = line.high?.[point] ?? null;
                    return low === null || high === null ? null : <path key={point} class="chart-whisker" d={`M${px(x)} ${py(low)}V${py(high)}M${px(x) - 3} ${py(low)}h6M${px(x) - 3} ${py(high)}h6`} />;
                  })}
                {hasDots &&
                  !line.faint &&
                  line.x.map((x, point) => {
                    const y = line.y[point] ?? null;
                    if (y === null) return null;
                    const dot = <Dot kind={index % COLOURS} x={px(x)} y={py(y)} large={x === shownAt} />;
                    const href = link?.(index, point);
                    return href ? (
                      <a key={point} href={href} tabindex={-1} aria-label={readAt(x)}>
                        <circle class="chart-target" cx={px(x)} cy={py(y)} r={12} />
                        {dot}
                      </a>
                    ) : (
                      <g key={point}>{dot}</g>
                    );
                  })}
              </g>
            );
          })}
        </svg>
      </div>
      {lines.length > 1 && (
        <ul class="chart-names">
          {lines.map((line, index) => (
            <li key={line.name} class={line.faint ? "chart-faint" : `chart-colour-${index % COLOURS}`}>
              <svg width="18" height="10" viewBox="0 0 18 10" aria-hidden="true" focusable="false">
                <path class="chart-line" d="M0 5h18" />
                {!line.faint && <Dot kind={index % COLOURS} x={9} y={5} large={false} />}
              </svg>
              {line.name}
            </li>
          ))}
        </ul>
      )}
      <p class="plot-said quiet" aria-hidden="true">
        {shownAt === undefined ? " " : readAt(shownAt)}
      </p>
    </div>
  );
}

/** As much of a text as there is room for; nothing where that would say nothing. */
function fitting(text: string, room: number): string {
  const most = Math.floor(room / LETTER);
  return text.length <= most ? text : most < FEW_LETTERS ? "" : `${text.slice(0, most - 1).trimEnd()}…`;
}

/** Lines differ in the shape of their dots as well as in colour. */
function Dot({ kind, x, y, large }: { kind: number; x: number; y: number; large: boolean }) {
  const r = large ? 4.5 : 3.2;
  if (kind % 3 === 1) return <rect class="chart-dot" x={x - r} y={y - r} width={2 * r} height={2 * r} />;
  if (kind % 3 === 2) return <path class="chart-dot" d={`M${x} ${y - r * 1.2}L${x + r * 1.2} ${y}L${x} ${y + r * 1.2}L${x - r * 1.2} ${y}z`} />;
  return <circle class="chart-dot" cx={x} cy={y} r={r} />;
}

function hasWhiskers(line: PlotLine): boolean {
  return (line.low?.some((each) => each !== null) ?? false) && line.x.length <= 200;
}

function pathOf(line: PlotLine, px: (x: number) => number, py: (y: number) => number, room: number): string {
  const points: [number, number, boolean][] = [];
  let broken = true;
  line.x.forEach((x, index) => {
    const y = line.y[index] ?? null;
    if (line.breaks?.has(index)) broken = true;
    if (y === null) broken = true;
    else {
      points.push([px(x), py(y), broken]);
      broken = false;
    }
  });
  const kept = points.length > DENSE * room ? thinnedPoints(points) : points;
  return kept
    .map(([x, y, starts], index) => {
      if (starts) return `M${x.toFixed(1)} ${y.toFixed(1)}`;
      const before = kept[index - 1];
      return line.stepped && before ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `L${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join("");
}

/** Of all points that fall on one pixel, the first, the highest, the lowest and the last. */
function thinnedPoints(points: [number, number, boolean][]): [number, number, boolean][] {
  const byPixel = new Map<number, [number, number, boolean][]>();
  for (const point of points) {
    const pixel = Math.round(point[0]);
    const there = byPixel.get(pixel);
    if (there) there.push(point);
    else byPixel.set(pixel, [point]);
  }
  return [...byPixel.values()].flatMap((some) => {
    const ends = new Set([0, some.length - 1]);
    ends.add(some.reduce((best, each, index) => (each[1] < (some[best]?.[1] ?? 0) ? index : best), 0));
    ends.add(some.reduce((best, each, index) => (each[1] > (some[best]?.[1] ?? 0) ? index : best), 0));
    return [...ends].sort((a, b) => a - b).map((index) => some[index] as [number, number, boolean]);
  });
}

function readOff(lines: PlotLine[], x: number, where: string, isRate: boolean): string {
  const text = (value: number) => (isRate ? percent(value) : number(value));
  const parts = lines.flatMap((line) => {
    const index = line.x.indexOf(x);
    const y = line.y[index] ?? null;
    if (index < 0 || y === null) return [];
    const low = line.low?.[index] ?? null;
    const high = line.high?.[index] ?? null;
    return [`${lines.length > 1 ? `${line.name} ` : ""}${text(y)}${low !== null && high !== null ? ` [${text(low)}, ${text(high)}]` : ""}`];
  });
  return `${where}: ${parts.join(" · ")}`;
}

function spread(values: number[]): [number, number] {
  const low = values[0] ?? 0;
  const high = values[values.length - 1] ?? 1;
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

/** Room for all lines and their whiskers; a number that is never negative starts at 0 if that is near. */
function rangeOf(lines: PlotLine[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const line of lines)
    for (const values of [line.y, line.low ?? [], line.high ?? []])
      for (const value of values)
        if (value !== null) {
          low = Math.min(low, value);
          high = Math.max(high, value);
        }
  if (low > high) return [0, 1];
  if (low >= 0 && high <= 1) return [0, 1];
  if (low > 0 && low < 0.5 * high) low = 0;
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [low === 0 ? 0 : low - room, high + room];
}

/** Round numbers between two ends, about as many as are wanted. */
export function ticks(low: number, high: number, wanted: number): number[] {
  const rough = (high - low) / Math.max(wanted, 1);
  if (!(rough > 0) || !Number.isFinite(rough)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((each) => each * power >= rough) ?? 10);
  const found: number[] = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index++) found.push(Number((index * step).toPrecision(12)));
  return found;
}

function thinned(places: number[], most: number): number[] {
  const step = Math.ceil(places.length / most);
  return places.filter((_, index) => (places.length - 1 - index) % step === 0);
}
