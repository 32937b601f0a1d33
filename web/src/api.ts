// Asking the server: one function for reading, one for writing, and a hook that keeps an answer up to date.
import { useEffect, useState } from "preact/hooks";
import type { Problem, SessionAnswer } from "./wire";

const ROOT = "/api/v1";

/** What the server refused, with its reason; or that it cannot be reached (`code` is `offline`). */
export class Refused extends Error {
  readonly problem: Problem;

  constructor(
    problem: Pick<Problem, "code" | "message" | "at"> & Partial<Problem>,
    readonly status: number,
  ) {
    super(problem.message);
    this.problem = { etag: null, ...problem };
  }
}

export type Query = Record<string, string | number | boolean | null | undefined>;

export function call(path: string, query: Query = {}): string {
  const kept = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  return `${ROOT}${path}${text ? `?${text}` : ""}`;
}

/** The first answer of a page travels with it, so that nothing has to be asked before something is seen. */
const inlined = new Map<string, unknown>();
const first = document.getElementById("first");
if (first?.textContent) for (const [href, answer] of Object.entries(JSON.parse(first.textContent))) inlined.set(ordered(href), answer);

/** An address with its query in one order, so that the same question has one address. */
function ordered(href: string): string {
  const [path = "", query = ""] = href.split("?");
  const parts = new URLSearchParams(query);
  parts.sort();
  const text = parts.toString();
  return text ? `${path}?${text}` : path;
}

/** Answers by address, with the tag that says which state they are of. */
const known = new Map<string, { tag: string | null; answer: unknown }>();
const MOST_KNOWN = 200;

export async function read<T>(address: string, signal?: AbortSignal): Promise<T> {
  const href = ordered(address);
  if (inlined.has(href)) {
    const answer = inlined.get(href) as T;
    inlined.delete(href);
    return answer;
  }
  const earlier = known.get(href);
  const headers: Record<string, string> = earlier?.tag ? { "If-None-Match": earlier.tag } : {};
  const response = await asked(href, { headers, signal: signal ?? null });
  if (response.status === 304 && earlier) return earlier.answer as T;
  const answer = (await response.json()) as T;
  known.delete(href);
  known.set(href, { tag: response.headers.get("ETag"), answer });
  if (known.size > MOST_KNOWN) known.delete(known.keys().next().value as string);
  return answer;
}

/** The text of something that is too long for an answer. */
export async function whole(href: string): Promise<string> {
  if (!href.startsWith(`${ROOT}/`)) throw new Refused({ code: "page", message: `${href} is no address of this server`, at: null }, 0);
  return (await asked(href, {})).text();
}

let session: Promise<SessionAnswer> | undefined;

export function theSession(): Promise<SessionAnswer> {
  session ??= read<SessionAnswer>(call("/session"));
  session.catch(() => (session = undefined));
  return session;
}

/** Ask for the session again: that of a server that was started anew is another one. */
export function forgetSession(): void {
  session = undefined;
}

export async function write<T>(method: "PUT" | "POST" | "DELETE", path: string, body: unknown, query: Query = {}): Promise<T> {
  const { csrf } = await theSession();
  const headers = { "Content-Type": "application/json", "X-Calipers-CSRF": csrf };
  const response = await asked(call(path, query), { method, headers, body: JSON.stringify(body) });
  return (await response.json()) as T;
}

// ---------------------------------------------------------------------- whether the server can be reached

const CONNECTION = "calipers:connection";
const RETRY = 2000;
let isUp = true;
let retry: ReturnType<typeof setTimeout> | undefined;

function connection(up: boolean): void {
  if (!up && retry === undefined) retry = setTimeout(tryAgain, RETRY);
  if (up === isUp) return;
  isUp = up;
  dispatchEvent(new Event(CONNECTION));
}

/** While the server cannot be reached, ask it now and then; all that was refused for that reason is asked again when it can. */
function tryAgain(): void {
  retry = undefined;
  fetch(call("/session"), { credentials: "same-origin", cache: "no-store" }).then(
    () => connection(true),
    () => connection(false),
  );
}

export function useConnection(): boolean {
  const [up, setUp] = useState(isUp);
  useEffect(() => {
    const update = () => setUp(isUp);
    addEventListener(CONNECTION, update);
    return () => removeEventListener(CONNECTION, update);
  }, []);
  return up;
}

async function asked(href: string, options: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(href, { ...options, credentials: "same-origin", cache: "no-store" });
    connection(true);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    connection(false);
    throw new Refused({ code: "offline", message: "the server cannot be reached: is `calipers view` still running?", at: null }, 0);
  }
  if (response.ok || response.status === 304) return response;
  let problem: ConstructorParameters<typeof Refused>[0] = { code: "store", message: `the server answered ${response.status}`, at: null };
  try {
    problem = ((await response.json()) as { error: Problem }).error ?? problem;
  } catch {
    // what is no JSON has no more to say
  }
  throw new Refused(problem, response.status);
}

export interface Asked<T> {
  /** The newest answer; while another address is asked, still the one before, so that the page does not flicker. */
  answer: T | undefined;
  /** Whether `answer` belongs to the address that is asked for now. */
  isCurrent: boolean;
  error: Refused | undefined;
  again: () => void;
}

/** The answer of an address; `null` asks nothing. It is asked again when the address changes, by `again()`, and while the server is busy. */
export function useAnswer<T>(href: string | null): Asked<T> {
  const [state, setState] = useState<{ href: string | null; answer: T | undefined; error: Refused | undefined }>({
    href: null,
    answer: undefined,
    error: undefined,
  });
  const [times, setTimes] = useState(0);
  const isUpNow = useConnection();
  const wasOffline = state.error?.problem.code === "offline";
  useEffect(() => {
    if (isUpNow && wasOffline) setTimes((count) => count + 1);
  }, [isUpNow]);
  const isBusy = state.href === href && state.error?.problem.code === "busy";
  useEffect(() => {
    if (!isBusy) return undefined;
    const timer = setTimeout(() => setTimes((count) => count + 1), RETRY);
    return () => clearTimeout(timer);
  }, [isBusy, times]);
  useEffect(() => {
    if (href === null) return undefined;
    const control = new AbortController();
    read<T>(href, control.signal).then(
      (answer) => !control.signal.aborted && setState({ href, answer, error: undefined }),
      (error: unknown) => {
        if (control.signal.aborted) return;
        const refused = error instanceof Refused ? error : new Refused({ code: "page", message: String(error), at: null }, 0);
        setState((before) => ({ href, answer: before.answer, error: refused }));
      },
    );
    return () => control.abort();
  }, [href, times]);
  return {
    answer: state.answer,
    isCurrent: state.href === href,
    error: state.href === href ? state.error : undefined,
    again: () => setTimes((count) => count + 1),
  };
}
