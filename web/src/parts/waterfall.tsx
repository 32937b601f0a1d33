// A trace as a waterfall: one row a step, a bar for its time, its tokens and its cost. Only rows that can be seen are on the page.
import { memo } from "preact/compat";
import { useEffect, useImperativeHandle, useMemo, useRef } from "preact/hooks";
import type { RefObject } from "preact";
import { count, dollars, seconds } from "../numbers";
import { TEXTS } from "../texts";
import { MarkShape } from "./mark";
import { Minimap, type Span } from "./minimap";
import { oneLine } from "./plain";
import type { Line, Steps } from "./steps";
import { useRowWindow } from "./window";

export const ROW = 26;
const MOST_INDENT = 10;

export interface WaterfallHandle {
  reveal: (place: number, centred?: boolean) => void;
}

interface WaterfallProps {
  steps: Steps;
  lines: Line[];
  folded: ReadonlySet<number>;
  found: ReadonlySet<number>;
  /** The id of the step that is open. */
  selected: number | null;
  span: Span;
  isLoading: number | null;
  onSelect: (id: number) => void;
  onFold: (id: number) => void;
  onLoad: (line: Line) => void;
  onSpan: (span: Span | null) => void;
  handle: RefObject<WaterfallHandle>;
}

export function Waterfall({ steps, lines, folded, found, selected, span, isLoading, onSelect, onFold, onLoad, onSpan, handle }: WaterfallProps) {
  const rows = useRowWindow(lines.length, ROW);
  const rowOf = useMemo(() => rowsByPlace(lines, steps.length), [lines, steps]);
  const place = selected === null ? -1 : steps.find(selected);
  const current = place < 0 ? -1 : (rowOf[place] ?? -1);
  const prefix = useRef(`w${Math.random().toString(36).slice(2, 8)}`).current;
  useImperativeHandle(handle, () => ({ reveal: (at: number, centred = true) => rows.reveal(rowOf[at] ?? -1, centred) }), [rowOf, rows.height]);
  useEffect(() => rows.reveal(current), [current]);

  const press = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const line = lines[current];
    const id = line && steps.id[line.at]!;
    const page = Math.max(1, rows.last - rows.first - 22);
    const to = (row: number) => {
      const step = row < current ? -1 : 1;
      let next = Math.min(lines.length - 1, Math.max(0, row));
      while (lines[next] && lines[next]!.gap && next > 0 && next < lines.length - 1) next += step;
      if (lines[next] && !lines[next]!.gap) onSelect(steps.id[lines[next]!.at]!);
    };
    const moves: Record<string, () => void> = {
      ArrowDown: () => to(current + 1),
      ArrowUp: () => to(current - 1),
      PageDown: () => to(current + page),
      PageUp: () => to(current - page),
      Home: () => to(0),
      End: () => to(lines.length - 1),
      ArrowLeft: () => {
        if (id === undefined || !line) return;
        if (steps.children[line.at] && !folded.has(id)) onFold(id);
        else if (steps.parent[line.at]! >= 0) onSelect(steps.parent[line.at]!);
      },
      ArrowRight: () => {
        if (id === undefined || !line || !steps.children[line.at]) return;
        if (folded.has(id)) onFold(id);
        else to(current + 1);
      },
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  };

  const top = lines[Math.min(lines.length - 1, rows.first + 10)]?.at ?? 0;
  const bottom = lines[Math.max(0, rows.last - 10)]?.at ?? steps.length;
  return (
    <div class="waterfall">
      {steps.length > 20 && (
        <Minimap
          steps={steps}
          span={span}
          seen={[rows.first === 0 ? 0 : top, rows.last === lines.length ? steps.length : bottom]}
          selected={place}
          onPlace={(at) => onSelect(steps.id[nearest(rowOf, at)]!)}
          onSpan={onSpan}
        />
      )}
      <div class="waterfall-head" aria-hidden="true">
        <span>{TEXTS.trace.step}</span>
        <Scale span={span} hasTimes={steps.hasTimes} />
        <span class="end">{TEXTS.trace.tokens}</span>
        <span class="end">{TEXTS.trace.cost}</span>
        <span class="end">{TEXTS.trace.time}</span>
      </div>
      <div
        class="waterfall-rows"
        ref={rows.box}
        role="treegrid"
        aria-label={TEXTS.trace.steps}
        aria-rowcount={lines.length}
        aria-activedescendant={current >= rows.first && current < rows.last ? `${prefix}-${selected}` : undefined}
        tabIndex={0}
        onKeyDown={press}
      >
        <div class="waterfall-all" style={{ height: `${rows.height}px` }} role="presentation">
          <div class="waterfall-shown" style={{ transform: `translateY(${rows.top}px)` }} role="presentation">
            {lines.slice(rows.first, rows.last).map((line, index) =>
              line.gap ? (
                <GapRow key={`gap ${line.at}`} line={line} row={rows.first + index} isLoading={isLoading === line.at} onLoad={onLoad} />
              ) : (
                <StepRow
                  key={steps.id[line.at]}
                  steps={steps}
                  at={line.at}
                  row={rows.first + index}
                  prefix={prefix}
                  isFolded={folded.has(steps.id[line.at]!)}
                  isFound={found.has(steps.id[line.at]!)}
                  isSelected={steps.id[line.at] === selected}
                  from={span.from}
                  to={span.to}
                  onSelect={onSelect}
                  onFold={onFold}
                />
              ),
            )}
          </div>
        </div>
      </div>
    </div>
  );
}

function rowsByPlace(lines: Line[], length: number): Int32Array {
  const rows = new Int32Array(length).fill(-1);
  lines.forEach((line, row) => line.gap || (rows[line.at] = row));
  return rows;
}

/** The nearest place with a row. */
function nearest(rowOf: Int32Array, at: number): number {
  for (let step = 0; step < rowOf.length; step++) {
    if (at - step >= 0 && rowOf[at - step]! >= 0) return at - step;
    if (at + step < rowOf.length && rowOf[at + step]! >= 0) return at + step;
  }
  return Math.max(0, at);
}

function Scale({ span, hasTimes }: { span: Span; hasTimes: boolean }) {
  if (!hasTimes) return <span class="waterfall-scale" />;
  const long = span.to - span.from;
  return (
    <span class="waterfall-scale">
      {[0, 0.25, 0.5, 0.75].map((share) => (
        <span key={share} style={{ left: `${share * 100}%` }}>
          {share === 0 && span.from === 0 ? "0" : seconds(span.from + share * long)}
        </span>
      ))}
    </span>
  );
}

interface StepRowProps {
  steps: Steps;
  at: number;
  row: number;
  prefix: string;
  isFolded: boolean;
  isFound: boolean;
  isSelected: boolean;
  from: number;
  to: number;
  onSelect: (id: number) => void;
  onFold: (id: number) => void;
}

const StepRow = memo(function StepRow({ steps, at, row, prefix, isFolded, isFound, isSelected, from, to, onSelect, onFold }: StepRowProps) {
  const id = steps.id[at]!;
  const kind = steps.kind[at]!;
  const [tokensIn, tokensOut] = [steps.tokensIn[at]!, steps.tokensOut[at]!];
  const hasChildren = steps.children[at]! > 0;
  return (
    <div
      id={`${prefix}-${id}`}
      class={`waterfall-row kind-${kind}${isSelected ? " selected" : ""}${isFound ? " found" : ""}${steps.failed[at] ? " failed" : ""}`}
      role="row"
      aria-level={steps.depth[at]! + 1}
      aria-rowindex={row + 1}
      aria-expanded={hasChildren ? !isFolded : undefined}
      aria-selected={isSelected}
      onClick={() => onSelect(id)}
    >
      <span role="gridcell" class="waterfall-name" style={{ paddingLeft: `${Math.min(steps.depth[at]!, MOST_INDENT) * 14}px` }}>
        {hasChildren ? (
          <button
            type="button"
            tabIndex={-1}
            class="twist"
            aria-label={isFolded ? TEXTS.trace.unfold : TEXTS.trace.fold}
            onClick={(event) => (event.stopPropagation(), onFold(id))}
          >
            {isFolded ? "▸" : "▾"}
          </button>
        ) : (
          <span class="twist" />
        )}
        <span class="kind">{TEXTS.trace.kinds[kind]}</span>
        {steps.failed[at] && <MarkShape mark="error" named />}
        <span class="waterfall-label">{oneLine(steps.label[at]!, 120)}</span>
        {isFolded && <span class="badge">{count(steps.children[at]!)}</span>}
      </span>
      <span role="gridcell" class="waterfall-track">
        <Bar start={steps.start[at]!} took={steps.took[at]!} from={from} to={to} />
      </span>
      <span role="gridcell" class="end waterfall-tokens">
        {tokensIn === null && tokensOut === null ? "" : `${tokensIn === null ? "–" : count(tokensIn)} → ${tokensOut === null ? "–" : count(tokensOut)}`}
      </span>
      <span role="gridcell" class="end waterfall-cost">
        {steps.cost[at] === null ? "" : dollars(steps.cost[at]!)}
      </span>
      <span role="gridcell" class="end waterfall-time">
        {steps.took[at] === null ? "" : seconds(steps.took[at]!)}
      </span>
    </div>
  );
});

function Bar({ start, took, from, to }: { start: number | null; took: number | null; from: number; to: number }) {
  if (start === null || to <= from) return null;
  const left = ((start - from) / (to - from)) * 100;
  const width = ((took ?? 0) / (to - from)) * 100;
  if (left > 100 || left + width < 0) return <span class={left > 100 ? "bar-off right" : "bar-off"} />;
  const shownLeft = Math.max(0, Math.min(left, 99.7));
  return <span class={took === null ? "bar moment" : "bar"} style={{ left: `${shownLeft}%`, width: took === null ? "" : `${Math.min(100, left + width) - shownLeft}%` }} />;
}

function GapRow({ line, row, isLoading, onLoad }: { line: Line; row: number; isLoading: boolean; onLoad: (line: Line) => void }) {
  return (
    <div class="waterfall-row waterfall-gap" role="row" aria-rowindex={row + 1}>
      <span role="gridcell">
        {TEXTS.trace.notLoaded(count(line.gap))}{" "}
        <button type="button" class="link" disabled={isLoading} onClick={() => onLoad(line)}>
          {isLoading ? TEXTS.trace.loading : line.gap > LOADED_AT_ONCE ? TEXTS.trace.loadSome(count(LOADED_AT_ONCE)) : TEXTS.trace.load}
        </button>
      </span>
    </div>
  );
}

export const LOADED_AT_ONCE = 20_000;
