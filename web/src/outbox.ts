// Decisions that are on their way to the server. They are kept in the browser until the server has them, one after the other, so that none is
// lost when the connection is, when the server starts anew, or when the page is closed; several windows share them.
import { useEffect, useState } from "preact/hooks";
import { Refused, forgetSession, write } from "./api";
import type { LabelItemAnswer, LabelUndo, LabelWrite } from "./wire";

/** A decision, or taking one back. */
export interface Sending {
  id: string;
  method: "PUT" | "DELETE";
  body: LabelWrite | LabelUndo;
  /** What was decided, in words: `no to case 3`. */
  said: string;
}

/** A decision that the server did not take as it was. */
export interface Stuck extends Sending {
  code: string;
  message: string;
  /** Of a conflict: what to send to write over what is there. */
  etag: string | null;
}

export interface Outbox {
  waiting: Sending[];
  stuck: Stuck[];
  /** Why nothing can be sent now; "" while it can. */
  problem: string;
  isSending: boolean;
}

type Heard = (sent: Sending, answer: LabelItemAnswer) => void;

const KEPT = "calipers:outbox";
const CHANGED = "calipers:outbox";
/** What goes away by itself: the server cannot be reached, or has no time. */
const PASSING = new Set(["offline", "busy", "too_slow", "forbidden"]);
const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 15_000;

let problem = "";
let isSending = false;
let pause = FIRST_PAUSE;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<Heard>();
/** Where the browser lets a page keep nothing: gone with the page, which says so before it is closed. */
let inMemory: { waiting: Sending[]; stuck: Stuck[] } | undefined;

function kept(): { waiting: Sending[]; stuck: Stuck[] } {
  if (inMemory) return inMemory;
  try {
    const found = JSON.parse(localStorage.getItem(KEPT) ?? "{}") as Partial<Outbox>;
    return { waiting: found.waiting ?? [], stuck: found.stuck ?? [] };
  } catch {
    return { waiting: [], stuck: [] };
  }
}

function keep(change: (box: { waiting: Sending[]; stuck: Stuck[] }) => void): void {
  const box = kept();
  change(box);
  try {
    localStorage.setItem(KEPT, JSON.stringify(box));
  } catch {
    inMemory = box;
  }
  dispatchEvent(new Event(CHANGED));
}

export function outbox(): Outbox {
  return { ...kept(), problem, isSending };
}

/** What waits and what is stuck, for as long as a component is shown. */
export function useOutbox(): Outbox {
  const [box, setBox] = useState(outbox);
  useEffect(() => {
    const update = () => setBox(outbox());
    const elsewhere = (event: StorageEvent) => event.key === KEPT && update();
    update();
    addEventListener(CHANGED, update);
    addEventListener("storage", elsewhere);
    return () => {
      removeEventListener(CHANGED, update);
      removeEventListener("storage", elsewhere);
    };
  }, []);
  return box;
}

/** Hear what the server answers to what this window sends. */
export function useSent(heard: Heard): void {
  useEffect(() => {
    listeners.add(heard);
    return () => void listeners.delete(heard);
  }, [heard]);
}

let number = 0;

export function send(method: "PUT" | "DELETE", body: LabelWrite | LabelUndo, said: string): string {
  const id = `${Date.now().toString(36)}-${(number++).toString(36)}-${Math.random().toString(36).slice(2, 8)}`;
  keep((box) => box.waiting.push({ id, method, body, said }));
  sendAll();
  return id;
}

/** Take something back that was not sent yet; false if it is under way or was sent. */
export function withdraw(id: string): boolean {
  const box = kept();
  const at = box.waiting.findIndex((each) => each.id === id);
  if (at < 0 || (at === 0 && isSending)) return false;
  keep(({ waiting }) => void waiting.splice(waiting.findIndex((each) => each.id === id), 1));
  return true;
}

/** Send what is stuck again; over what is there, if it was a conflict. */
export function sendAgain(id: string): void {
  keep((box) => {
    const at = box.stuck.findIndex((each) => each.id === id);
    const [stuck] = at < 0 ? [] : box.stuck.splice(at, 1);
    if (!stuck) return;
    const { code: _code, message: _message, etag, ...sending } = stuck;
    const body = etag !== null && "etag" in sending.body ? { ...sending.body, etag } : sending.body;
    box.waiting.push({ ...sending, body });
  });
  sendAll();
}

export function drop(id: string): void {
  keep((box) => (box.stuck = box.stuck.filter((each) => each.id !== id)));
}

/** Send all that waits, now. */
export function sendAll(): void {
  clearTimeout(timer);
  timer = undefined;
  if (isSending || !kept().waiting.length) return;
  isSending = true;
  dispatchEvent(new Event(CHANGED));
  const locks = navigator.locks as LockManager | undefined;
  const work = locks ? locks.request("calipers:outbox", sendEach) : sendEach();
  void Promise.resolve(work).finally(() => {
    isSending = false;
    dispatchEvent(new Event(CHANGED));
    if (problem) timer = setTimeout(sendAll, pause);
    else if (kept().waiting.length) sendAll();
  });
}

async function sendEach(): Promise<void> {
  for (let next = kept().waiting[0]; next; next = kept().waiting[0]) {
    const sending = next;
    try {
      const answer = await write<LabelItemAnswer>(sending.method, "/label", sending.body);
      problem = "";
      pause = FIRST_PAUSE;
      keep((box) => (box.waiting = box.waiting.filter((each) => each.id !== sending.id)));
      for (const heard of listeners) heard(sending, answer);
    } catch (error) {
      const { code, message, etag } = error instanceof Refused ? error.problem : { code: "page", message: String(error), etag: null };
      if (PASSING.has(code)) {
        if (code === "forbidden") forgetSession();
        problem = message;
        pause = Math.min(pause * 2, LONGEST_PAUSE);
        return;
      }
      keep((box) => {
        box.waiting = box.waiting.filter((each) => each.id !== sending.id);
        box.stuck.push({ ...sending, code, message, etag });
      });
    }
  }
}

addEventListener("online", sendAll);
addEventListener("pagehide", () => clearTimeout(timer));
addEventListener("beforeunload", (event) => {
  if (inMemory?.waiting.length) event.preventDefault();
});
sendAll();
