// Where we are: a path, and a query that holds all state of the page, so that every view has an address to share.
import { useEffect, useState } from "preact/hooks";

export interface Place {
  path: string;
  query: URLSearchParams;
}

const CHANGED = "calipers:place";

export function here(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

/** The row that had the focus when a page was left, by its path. */
const leftAt = new Map<string, string>();
let isReturning = false;

/** The row to which the focus returns, on the way back to a page. */
export function rowToReturnTo(path: string): string | undefined {
  const row = isReturning ? leftAt.get(path) : undefined;
  isReturning = false;
  return row;
}

/**
 * Go to an address of this viewer. `replace` leaves no step to go back to: for what is typed, sorted or opened within a page. `back` says that
 * the page was left before, so that the focus returns to where it was.
 */
export function go(href: string, options: { replace?: boolean; back?: boolean } = {}): void {
  const row = document.activeElement?.closest<HTMLElement>("[data-row]")?.dataset["row"];
  if (row !== undefined) leftAt.set(location.pathname, row);
  isReturning = options.back ?? false;
  if (options.replace) history.replaceState(history.state, "", href);
  else history.pushState(null, "", href);
  dispatchEvent(new Event(CHANGED));
}

/** The address of this page with some values of its query changed; `null` takes one out. */
export function withQuery(changes: Record<string, string | null>, from: Place = here()): string {
  const query = new URLSearchParams(from.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return from.path + (text ? `?${text}` : "");
}

/** An address made of a path, whose parts are escaped, and a query. */
export function address(parts: string[], query: Record<string, string | null | undefined> = {}): string {
  const path = "/" + parts.map(encodeURIComponent).join("/");
  const kept = Object.entries(query).filter((each): each is [string, string] => !!each[1]);
  return path + (kept.length ? `?${new URLSearchParams(kept)}` : "");
}

export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const update = () => setPlace(here());
    const step = () => {
      isReturning = true;
      update();
    };
    addEventListener(CHANGED, update);
    addEventListener("popstate", step);
    return () => {
      removeEventListener(CHANGED, update);
      removeEventListener("popstate", step);
    };
  }, []);
  return place;
}

/** Links are real links; a plain click on one of ours stays in the page. */
export function followLinks(): void {
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.("a");
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (link.pathname.startsWith("/api/") || link.dataset["plain"] !== undefined) return;
    if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
  });
}
