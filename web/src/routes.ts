// Which address shows which page. Each page is a chunk of its own, loaded when it is first gone to.
import { lazy } from "preact/compat";
import type { ComponentType } from "preact";
import type { Place } from "./router";

/** What a page is given: where we are, and the parts of the path by name. */
export type PageProps<Names extends string = never> = { place: Place } & Record<Names, string>;

interface Route {
  pattern: string[];
  page: ComponentType<{ place: Place }>;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Loaded = Promise<{ default: ComponentType<any> }>;

function route(pattern: string, load: () => Loaded): Route {
  return { pattern: pattern.split("/").filter(Boolean), page: lazy(load) as Route["page"] };
}

const ROUTES: Route[] = [
  route("/", () => import("./pages/runs")),
  route("/runs", () => import("./pages/runs")),
  route("/datasets/:dataset", () => import("./pages/dataset")),
  route("/runs/:run", () => import("./pages/run")),
  route("/runs/:run/cases", () => import("./pages/cases")),
  route("/runs/:run/cases/:id", () => import("./pages/case")),
  route("/cases/:id", () => import("./pages/history")),
  route("/compare", () => import("./pages/compare")),
  route("/compare/:id", () => import("./pages/compared-case")),
  route("/label", () => import("./pages/label")),
  route("/judges", () => import("./pages/judges")),
  route("/judges/:id", () => import("./pages/judges")),
];

export interface Found {
  page: Route["page"];
  /** The same for all addresses of one page. */
  pattern: string;
  parts: Record<string, string>;
}

export function findPage(path: string): Found | undefined {
  const parts = path.split("/").filter(Boolean);
  for (const { pattern, page } of ROUTES) {
    if (pattern.length !== parts.length) continue;
    const named: Record<string, string> = {};
    const meets = pattern.every((wanted, index) => {
      const part = parts[index] ?? "";
      if (!wanted.startsWith(":")) return wanted === part;
      try {
        named[wanted.slice(1)] = decodeURIComponent(part);
        return true;
      } catch {
        return false;
      }
    });
    if (meets) return { page, pattern: pattern.join("/"), parts: named };
  }
  return undefined;
}
