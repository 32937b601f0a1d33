// A whole trace at a glance: each step a stroke at its time and its place in the list. A press goes there; a drag sideways looks closer.
import { useEffect, useRef, useState } from "preact/hooks";
import { TEXTS } from "../texts";
import { usePainting } from "../theme";
import type { Steps } from "./steps";

const HEIGHT = 48;
const MOST_STROKES = 60_000;

export interface Span {
  from: number;
  to: number;
}

interface MinimapProps {
  steps: Steps;
  /** The part of the time that the rows show. */
  span: Span;
  /** Places of the first and the last row that can be seen. */
  seen: [number, number];
  selected: number;
  onPlace: (place: number) => void;
  onSpan: (span: Span | null) => void;
}

export function Minimap({ steps, span, seen, selected, onPlace, onSpan }: MinimapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const painting = usePainting();
  useEffect(() => {
    const element = canvas.current;
    if (!element) return undefined;
    const sizes = new ResizeObserver(() => setWidth(element.clientWidth));
    sizes.observe(element);
    return () => sizes.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current && width) draw(canvas.current, steps, width);
  }, [steps, width, painting]);

  const share = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    return {
      x: Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)),
      y: Math.min(0.999999, Math.max(0, (event.clientY - box.top) / box.height)),
    };
  };
  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    canvas.current?.setPointerCapture(event.pointerId);
    const { x } = share(event);
    setDrag({ from: x, to: x });
  };
  const move = (event: PointerEvent) => drag && setDrag({ from: drag.from, to: share(event).x });
  const up = (event: PointerEvent) => {
    if (!drag) return;
    setDrag(null);
    const [from, to] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
    if ((to - from) * width > 6 && steps.hasTimes) onSpan({ from: from * steps.extent, to: to * steps.extent });
    else onPlace(Math.floor(share(event).y * steps.length));
  };
  const all = Math.max(1, steps.length);
  const extent = steps.extent || 1;
  return (
    <div class="minimap" aria-hidden="true" title={TEXTS.trace.minimap}>
      <canvas ref={canvas} height={HEIGHT} onPointerDown={down} onPointerMove={move} onPointerUp={up} onPointerCancel={() => setDrag(null)} />
      <div class="minimap-seen" style={{ top: `${(seen[0] / all) * 100}%`, height: `${Math.max(3, ((seen[1] - seen[0]) / all) * 100)}%` }} />
      {selected >= 0 && <div class="minimap-selected" style={{ top: `${(selected / all) * 100}%` }} />}
      {(span.from > 0 || span.to < steps.extent) && (
        <>
          <div class="minimap-veil" style={{ left: "0", width: `${(span.from / extent) * 100}%` }} />
          <div class="minimap-veil" style={{ left: `${(span.to / extent) * 100}%`, right: "0" }} />
        </>
      )}
      {drag && <div class="minimap-drag" style={{ left: `${Math.min(drag.from, drag.to) * 100}%`, width: `${Math.abs(drag.to - drag.from) * 100}%` }} />}
    </div>
  );
}

function draw(canvas: HTMLCanvasElement, steps: Steps, width: number): void {
  const ratio = Math.min(2, devicePixelRatio || 1);
  canvas.width = width * ratio;
  canvas.height = HEIGHT * ratio;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const colours = { user: colour("--text"), agent: colour("--quiet"), model: colour("--accent"), tool: colour("--pass"), span: colour("--line-strong") };
  const thick = Math.max(1, HEIGHT / Math.max(1, steps.length));
  const stride = Math.ceil(steps.length / MOST_STROKES);
  const left = (at: number) => (steps.hasTimes ? ((steps.start[at] ?? 0) / steps.extent) * width : (at / steps.length) * width);
  for (let at = 0; at < steps.length; at += stride) {
    if (steps.hasTimes && steps.start[at] === null) continue;
    const long = steps.hasTimes ? ((steps.took[at] ?? 0) / steps.extent) * width : width / steps.length;
    context.fillStyle = colours[steps.kind[at]!];
    context.globalAlpha = steps.children[at] ? 0.35 : 0.85;
    context.fillRect(left(at), (at / steps.length) * (HEIGHT - thick), Math.max(1, long), Math.max(0.6, thick * 0.8));
  }
  context.globalAlpha = 1;
  context.fillStyle = colour("--error");
  for (let at = 0; at < steps.length; at++) {
    if (!steps.failed[at]) continue;
    const [x, y] = [left(at), (at / steps.length) * (HEIGHT - thick) + thick / 2];
    context.beginPath();
    context.moveTo(x, y - 3.5);
    context.lineTo(x + 4, y + 3);
    context.lineTo(x - 4, y + 3);
    context.fill();
  }
}
