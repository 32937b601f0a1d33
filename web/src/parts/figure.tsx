// A drawing with what belongs to it: a title, its numbers as a table behind a button, and the drawing as a file.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { TEXTS } from "../texts";
import { fileName, save } from "./column";
import { Icon } from "./icon";
import { visible } from "./plain";
import "./chart.css";

interface FigureOptions {
  title: string;
  description?: ComponentChildren;
  note?: ComponentChildren;
  /** The numbers behind the drawing. */
  table?: ComponentChildren;
  children: ComponentChildren;
  level?: 2 | 3;
}

export function Figure({ title, description, note, table, children, level = 3 }: FigureOptions) {
  const drawing = useRef<HTMLDivElement>(null);
  const [isTable, setIsTable] = useState(false);
  const Title = `h${level}` as "h2" | "h3";
  const download = () => {
    const svg = drawing.current?.querySelector<SVGSVGElement>("svg");
    if (svg) save(fileName(title, "svg"), "image/svg+xml", svgFile(svg, title));
  };
  return (
    <figure class="figure">
      <figcaption class="section-head">
        <Title>{title}</Title>
        <span class="grow" />
        {table && (
          <button type="button" class="quiet-button" aria-pressed={isTable} title={TEXTS.charts.tableTitle} onClick={() => setIsTable(!isTable)}>
            <Icon name="table" /> {TEXTS.charts.table}
          </button>
        )}
        <button type="button" class="quiet-button" title={TEXTS.charts.svgTitle} onClick={download}>
          <Icon name="download" /> {TEXTS.charts.svg}
        </button>
      </figcaption>
      {description && <p class="quiet figure-about">{description}</p>}
      <div ref={drawing}>{children}</div>
      {note && <p class="quiet">{note}</p>}
      {isTable && table}
    </figure>
  );
}

const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline"] as const;

/** A drawing of the page as a file of its own: what the style sheet says stands in each element. */
export function svgFile(drawn: SVGSVGElement, title: string): string {
  const copy = drawn.cloneNode(true) as SVGSVGElement;
  const shown = [drawn, ...drawn.querySelectorAll("*")];
  const copied = [copy, ...copy.querySelectorAll("*")];
  shown.forEach((element, place) => {
    const target = copied[place];
    if (!target) return;
    const style = getComputedStyle(element);
    for (const name of KEPT) {
      const value = style.getPropertyValue(name);
      if (value) target.setAttribute(name, value);
    }
    for (const name of ["class", "style", "tabindex", "role", "aria-label", "aria-hidden", "focusable", "data-place"]) target.removeAttribute(name);
  });
  for (const each of copy.querySelectorAll("a")) each.replaceWith(...each.childNodes);
  for (const each of copy.querySelectorAll(".chart-only-here, title")) each.remove();
  const { width, height } = drawn.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(Math.round(width)));
  copy.setAttribute("height", String(Math.round(height)));
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  const name = document.createElementNS("http://www.w3.org/2000/svg", "title");
  name.textContent = visible(title);
  copy.prepend(name, ground);
  return new XMLSerializer().serializeToString(copy);
}
