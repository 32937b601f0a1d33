// What happens on the server, told by one stream for the whole browser.
//
// A browser keeps at most six connections to a server, and a stream holds one of them for good. So the tabs that can be seen elect one of
// them (a lock), which opens the stream and passes on what it hears (a channel). A tab that is hidden gives the lock away. Where there are no
// locks, as on a plain address in the network, or where the stream breaks again and again, runs in flight are asked every few seconds.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, read } from "./api";
import type { Progress, RunAnswer, RunsAnswer, RunsChanged } from "./wire";

export type Live = "live" | "polling" | "off";

type Message = { kind: "progress"; progress: Progress } | { kind: "runs"; changed: RunsChanged } | { kind: "resync" } | { kind: "state"; live: boolean } | { kind: "hello" };

const NAME = "calipers:events";
const POLL = 3000;
const MOST_BREAKS = 3;

const wantedRuns = new Map<string, number>();
const progressListeners = new Set<(progress: Progress) => void>();
const runsListeners = new Set<(changed: RunsChanged) => void>();
const liveListeners = new Set<() => void>();
let wanted = 0;
let live: Live = "off";
let channel: BroadcastChannel | undefined;
let giveAway: (() => void) | undefined;
let waiting: AbortController | undefined;
let isLeader = false;
let breaks = 0;
let pollTimer: ReturnType<typeof setTimeout> | undefined;

function setLive(next: Live): void {
  if (live === next) return;
  live = next;
  liveListeners.forEach((each) => each());
}

function hear(message: Message): void {
  if (message.kind === "progress") progressListeners.forEach((each) => each(message.progress));
  else if (message.kind === "runs") runsListeners.forEach((each) => each(message.changed));
  else if (message.kind === "resync") runsListeners.forEach((each) => each({ began: [], ended: [], gone: [] }));
  else if (message.kind === "state" && !isLeader) setLive(message.live ? "live" : "off");
  else if (message.kind === "hello" && isLeader) channel?.postMessage({ kind: "state", live: live === "live" } satisfies Message);
}

function tell(message: Message): void {
  channel?.postMessage(message);
  hear(message);
}

const canShare = "locks" in navigator && "BroadcastChannel" in window && "EventSource" in window;

function follow(): void {
  if (!wanted || document.hidden) return stop();
  if (!canShare || breaks > MOST_BREAKS) return poll();
  if (waiting) return;
  if (!channel) {
    channel = new BroadcastChannel(NAME);
    channel.onmessage = (event: MessageEvent<Message>) => hear(event.data);
  }
  channel.postMessage({ kind: "hello" } satisfies Message);
  const control = new AbortController();
  waiting = control;
  navigator.locks
    .request(NAME, { signal: control.signal }, () => new Promise<void>((resolve) => lead(resolve)))
    .catch(() => undefined);
}

function lead(release: () => void): void {
  if (waiting === undefined) return release();
  isLeader = true;
  const stream = new EventSource(call("/events"));
  giveAway = () => {
    stream.close();
    isLeader = false;
    release();
  };
  stream.onopen = () => {
    breaks = 0;
    setLive("live");
    tell({ kind: "state", live: true });
    tell({ kind: "resync" });
  };
  stream.onerror = () => {
    setLive("off");
    tell({ kind: "state", live: false });
    breaks += 1;
    if (stream.readyState === EventSource.CLOSED || breaks > MOST_BREAKS) {
      breaks = MOST_BREAKS + 1;
      stop();
      follow();
    }
  };
  stream.addEventListener("progress", (event) => tell({ kind: "progress", progress: JSON.parse((event as MessageEvent<string>).data) as Progress }));
  stream.addEventListener("runs", (event) => tell({ kind: "runs", changed: JSON.parse((event as MessageEvent<string>).data) as RunsChanged }));
  stream.addEventListener("resync", () => tell({ kind: "resync" }));
}

function stop(): void {
  waiting?.abort();
  waiting = undefined;
  giveAway?.();
  giveAway = undefined;
  clearTimeout(pollTimer);
  pollTimer = undefined;
  setLive("off");
}

// ---------------------------------------------------------------------- without a stream

const lastIds = { current: "" };

function poll(): void {
  if (pollTimer !== undefined) return;
  setLive("polling");
  const again = () => {
    pollTimer = setTimeout(() => {
      pollTimer = undefined;
      if (wanted && !document.hidden) poll();
      else stop();
    }, POLL);
  };
  void ask().then(again, again);
}

async function ask(): Promise<void> {
  await Promise.all([...wantedRuns.keys()].map(askRun));
  if (!runsListeners.size) return;
  const { rows } = await read<RunsAnswer>(call("/runs", { limit: 20 }));
  const ids = rows.map((row) => `${row.id} ${row.state} ${row.attempts}`).join();
  if (lastIds.current && ids !== lastIds.current) hear({ kind: "resync" });
  lastIds.current = ids;
}

async function askRun(id: string): Promise<void> {
  const { run, revision, index } = await read<RunAnswer>(call(`/runs/${encodeURIComponent(id)}`));
  const { state, attempts, total, failures, seconds, cases, rate, gate } = run;
  hear({ kind: "progress", progress: { run: run.id, state, revision, attempts, total, failures, seconds, cases, rate, gate, index } });
}

// ---------------------------------------------------------------------- for pages

function want(by: number): void {
  wanted += by;
  follow();
}

document.addEventListener("visibilitychange", follow);
addEventListener("pagehide", stop);
addEventListener("pageshow", follow);

/** How far a run has come, from the first message on; `null` asks for nothing. Give it the run's id, and only while it is in flight. */
export function useProgress(run: string | null): Progress | undefined {
  const [progress, setProgress] = useState<Progress>();
  useEffect(() => {
    setProgress(undefined);
    if (run === null) return undefined;
    const listen = (each: Progress) => each.run === run && setProgress(each);
    progressListeners.add(listen);
    wantedRuns.set(run, (wantedRuns.get(run) ?? 0) + 1);
    want(1);
    return () => {
      progressListeners.delete(listen);
      const left = (wantedRuns.get(run) ?? 1) - 1;
      if (left) wantedRuns.set(run, left);
      else wantedRuns.delete(run);
      want(-1);
    };
  }, [run]);
  return progress;
}

/** Progress of any run, for a list of them. */
export function useAllProgress(heard: (progress: Progress) => void): void {
  const newest = useRef(heard);
  newest.current = heard;
  useEffect(() => {
    const listen = (progress: Progress) => newest.current(progress);
    progressListeners.add(listen);
    want(1);
    return () => {
      progressListeners.delete(listen);
      want(-1);
    };
  }, []);
}

/** Runs began, ended or went away. All lists empty: something may have been missed, so ask again. */
export function useRunsChanged(changed: (message: RunsChanged) => void): void {
  const newest = useRef(changed);
  newest.current = changed;
  useEffect(() => {
    const listen = (message: RunsChanged) => newest.current(message);
    runsListeners.add(listen);
    want(1);
    return () => {
      runsListeners.delete(listen);
      want(-1);
    };
  }, []);
}

/** Whether news come by themselves. */
export function useLive(): Live {
  const [state, setState] = useState(live);
  useEffect(() => {
    const update = () => setState(live);
    liveListeners.add(update);
    update();
    return () => void liveListeners.delete(update);
  }, []);
  return state;
}
