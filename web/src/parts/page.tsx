// The frame of every page: its title, the way back, what it says while it waits, and what when the server refuses.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Asked, Refused } from "../api";
import { go, here, rowToReturnTo } from "../router";
import { useKeys } from "../keys";
import { TEXTS } from "../texts";
import { WithCode } from "./line";
import { visible } from "./plain";

export interface Crumb {
  text: string;
  href: string;
}

/** The path that was shown before; "" at first, when the browser itself has put the focus. */
let shown = "";

/** Frames in which a row is waited for. */
const PATIENCE = 180;

/** Give the focus to a row as soon as it is there, unless it has gone elsewhere from the heading. */
function focusRow(row: string | undefined, heading: HTMLElement | null): (() => void) | undefined {
  if (row === undefined) return undefined;
  let frame = 0;
  const look = (left: number) => {
    const active = document.activeElement;
    const found = document.querySelector<HTMLElement>(`#content [data-row="${CSS.escape(row)}"]`);
    if (active !== heading && active !== document.body) return;
    if (found) (found.hasAttribute("tabindex") ? found : found.querySelector<HTMLElement>("a[href]"))?.focus();
    else if (left > 0) frame = requestAnimationFrame(() => look(left - 1));
  };
  look(PATIENCE);
  return () => cancelAnimationFrame(frame);
}

interface PageOptions {
  title: string;
  /** What stands above this page, the topmost first. `Esc` goes to the last. */
  crumbs?: Crumb[];
  /** Beside the title. */
  actions?: ComponentChildren;
  /** Under the title, in quiet words. */
  about?: ComponentChildren;
  /** Whether the page fills the window and its parts scroll, instead of the page. */
  fill?: boolean;
  children: ComponentChildren;
}

export function Page({ title, crumbs = [], actions, about, fill = false, children }: PageOptions) {
  const heading = useRef<HTMLHeadingElement>(null);
  const path = here().path;
  useLayoutEffect(() => void (document.title = `${visible(title)} – ${TEXTS.app.name}`), [title]);
  useLayoutEffect(() => {
    const before = shown;
    shown = path;
    if (!before || before === path) return undefined;
    heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
    return focusRow(rowToReturnTo(path), heading.current);
  }, [path]);
  const above = crumbs[crumbs.length - 1];
  useKeys(TEXTS.keys.everywhere, [{ keys: "Escape", does: TEXTS.keys.back, when: above !== undefined, run: () => above && go(above.href, { back: true }) }]);
  return (
    <main id="content" class={fill ? "page page-fill" : "page"}>
      <header class="page-head">
        <div class="page-names">
          {crumbs.length > 0 && (
            <nav class="crumbs" aria-label={TEXTS.app.where}>
              <ol>
                {crumbs.map((crumb) => (
                  <li key={crumb.href}>
                    <a href={crumb.href}>{crumb.text}</a>
                  </li>
                ))}
              </ol>
            </nav>
          )}
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {about && <div class="page-about">{about}</div>}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </main>
  );
}

/** What is shown while an answer is awaited: nothing for 150 ms, then lines that say that something comes. */
export function Waiting({ lines = 6 }: { lines?: number }) {
  return (
    <div class="waiting" role="status" aria-label={TEXTS.app.loading}>
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} class="waiting-line" aria-hidden="true" />
      ))}
    </div>
  );
}

const HEADS: Record<string, string> = TEXTS.trouble;

/** What the server refused, why, and a way on. */
export function Trouble({ error, again }: { error: Refused; again?: () => void }) {
  const { code, message } = error.problem;
  const isOffline = code === "offline";
  const isMissing = code === "not_found" || code === "gone";
  return (
    <div class="trouble" role="alert">
      <p class="trouble-head">{HEADS[code] ?? TEXTS.trouble.other}</p>
      <p>
        <WithCode text={isOffline ? TEXTS.trouble.offlineWay : message} />
      </p>
      <p class="trouble-ways">
        {!isMissing && again && (
          <button type="button" onClick={again}>
            {TEXTS.trouble.again}
          </button>
        )}
        {isMissing && <a href="/runs">{TEXTS.app.toRuns}</a>}
      </p>
    </div>
  );
}

/** An answer with what comes before it and instead of it. An answer that is there stays when a later one is refused. */
export function Answered<T>({ asked, lines, children }: { asked: Asked<T>; lines?: number; children: (answer: T) => ComponentChildren }) {
  return (
    <>
      {asked.error && <Trouble error={asked.error} again={asked.again} />}
      {asked.answer !== undefined ? children(asked.answer) : !asked.error && <Waiting {...(lines ? { lines } : {})} />}
    </>
  );
}
