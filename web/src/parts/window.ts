// Which rows of a long list are to be drawn: those that can be seen, and a few more.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";

/** Browsers stop at about 17 million pixels: a longer list is scrolled on a smaller scale. */
const TALLEST = 16_000_000;
const SPARE = 10;

export interface RowWindow {
  box: RefObject<HTMLDivElement>;
  first: number;
  last: number;
  /** Of everything, in pixels, and where the drawn rows begin. */
  height: number;
  top: number;
  /** Scrolls so that a row can be seen; `centred` in the middle. */
  reveal: (row: number, centred?: boolean) => void;
}

export function useRowWindow(count: number, rowHeight: number): RowWindow {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const full = count * rowHeight;
  const height = Math.min(full, TALLEST);
  const scale = full > height ? (full - view.height) / Math.max(1, height - view.height) : 1;
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    let frame = 0;
    const update = () => {
      frame = 0;
      setView((before) => {
        const after = { top: element.scrollTop, height: element.clientHeight };
        return before.top === after.top && before.height === after.height ? before : after;
      });
    };
    const later = () => (frame ||= requestAnimationFrame(update));
    update();
    element.addEventListener("scroll", later, { passive: true });
    const sizes = new ResizeObserver(later);
    sizes.observe(element);
    return () => {
      element.removeEventListener("scroll", later);
      sizes.disconnect();
      cancelAnimationFrame(frame);
    };
  }, []);
  const shown = view.top * scale;
  const first = Math.max(0, Math.min(Math.floor(shown / rowHeight) - SPARE, count - 1));
  const last = Math.min(count, Math.ceil((shown + view.height) / rowHeight) + SPARE);
  const reveal = (row: number, centred = false) => {
    const element = box.current;
    if (!element || row < 0) return;
    const top = row * rowHeight;
    const now = element.scrollTop * scale;
    const isSeen = top >= now && top + rowHeight <= now + element.clientHeight;
    if (isSeen) return;
    const wanted = centred || Math.abs(top - now) > element.clientHeight * 1.5 ? top - (element.clientHeight - rowHeight) / 2 : top < now ? top : top + rowHeight - element.clientHeight;
    element.scrollTop = wanted / scale;
  };
  return { box, first, last, height, top: view.top + first * rowHeight - shown, reveal };
}
