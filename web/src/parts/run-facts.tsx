// What is said of a run wherever one is named: its state, its commit, its gate, how far it has come.
import { count, percent, seconds } from "../numbers";
import { TEXTS } from "../texts";
import type { GateState, Progress, RunRow } from "../wire";
import { MarkShape } from "./mark";
import "./run-facts.css";

/** A row with what has been heard since. */
export function withProgress(row: RunRow, progress: Progress | undefined): RunRow {
  // What is heard of a run ends with it: a row of a run that is over is newer.
  if (!progress || progress.run !== row.id || row.state !== "running") return row;
  const { state, attempts, total, failures } = progress;
  const newer = { seconds: progress.seconds ?? row.seconds, cases: progress.cases ?? row.cases, rate: progress.rate ?? row.rate, gate: progress.gate ?? row.gate };
  return { ...row, ...newer, state, attempts, total: total ?? row.total, failures };
}

export function RunStateView({ row }: { row: RunRow }) {
  if (row.state === "finished" && !row.incomplete) return null;
  if (row.state === "running") {
    return (
      <span class="run-state">
        <ProgressBar attempts={row.attempts} total={row.total} />
      </span>
    );
  }
  const title = row.incomplete ?? undefined;
  const word = row.state !== "finished" ? TEXTS.runs.states[row.state] : row.shard ? TEXTS.runs.shard(row.shard) : TEXTS.runs.incomplete;
  return (
    <span class="badge badge-caution" title={title}>
      {word}
    </span>
  );
}

export function ProgressBar({ attempts, total }: { attempts: number; total: number | null }) {
  const share = total ? Math.min(attempts / total, 1) : null;
  const text = total ? TEXTS.runs.progress(count(attempts), count(total)) : TEXTS.runs.attempts(count(attempts));
  return (
    <span class="progress" title={text}>
      <progress class="said" {...(share === null ? {} : { value: share })} aria-label={text} />
      <span class="progress-track" aria-hidden="true">
        <span class="progress-done" style={{ width: `${100 * (share ?? 0)}%` }} />
      </span>
      <span class="progress-text" aria-hidden="true">
        {share === null ? text : percent(Math.floor(share * 1000) / 1000).replace(/\.0 /, " ")}
      </span>
    </span>
  );
}

export function Commit({ row }: { row: Pick<RunRow, "commit" | "dirty"> }) {
  if (!row.commit) return <span class="missing">{TEXTS.app.missing}</span>;
  return (
    <span class="mono" title={row.dirty ? `${row.commit} ${TEXTS.runs.dirty}` : row.commit}>
      {row.commit.slice(0, 7)}
      {row.dirty && <span class="dirty">+</span>}
    </span>
  );
}

const OUTCOMES: Record<string, "pass" | "fail" | "skip"> = { PASS: "pass", FAIL: "fail", WORSE: "fail" };

export function GateView({ gate }: { gate: GateState }) {
  const mark = gate.decided ? (OUTCOMES[gate.outcome] ?? "skip") : "skip";
  return (
    <span class="mark-word" title={TEXTS.runs.gateTitle(gate.policy)}>
      <MarkShape mark={mark} /> {gate.decided ? gate.outcome.toLowerCase() : TEXTS.runs.undecided}
    </span>
  );
}

export function duration(value: number | null): string | null {
  return value === null ? null : seconds(value);
}
