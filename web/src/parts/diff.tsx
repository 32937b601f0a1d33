// Two texts as one, with what is gone and what is new: by sign, underline or strike-through, and colour.
import { useMemo, useState } from "preact/hooks";
import { TEXTS } from "../texts";
import { type Difference, type LineRow, type Run, difference, words } from "./difference";
import { count } from "../numbers";
import { Plain, withoutCodes } from "./plain";

const AROUND = 3;
const AT_ONCE = 400;

interface DiffProps {
  before: string;
  after: string;
  beforeName: string;
  afterName: string;
  mono?: boolean;
}

export function Diff({ before, after, beforeName, afterName, mono = false }: DiffProps) {
  const found = useMemo(() => difference(withoutCodes(before), withoutCodes(after)), [before, after]);
  const leftOut = Math.max(...found.leftOut);
  return (
    <div class="diff">
      <p class="diff-legend quiet">
        <span class="gone">
          <span aria-hidden="true">− </span>
          {TEXTS.value.onlyIn(beforeName)}
        </span>
        <span class="new">
          <span aria-hidden="true">+ </span>
          {TEXTS.value.onlyIn(afterName)}
        </span>
      </p>
      {found.isSame ? <p class="quiet">{TEXTS.value.same}</p> : found.kind === "words" ? <Words runs={found.runs} mono={mono} /> : <Lines found={found} />}
      {leftOut > 0 && <p class="quiet">{TEXTS.value.diffCut(count(leftOut))}</p>}
    </div>
  );
}

/** Two short texts in a line, without a legend. Where they have little in common, one stands after the other. */
export function InlineDiff({ before, after, beforeName, afterName }: Omit<DiffProps, "mono">) {
  const runs = useMemo(() => inOneLine(withoutCodes(before), withoutCodes(after)), [before, after]);
  if (before === after) return <Plain text={before} />;
  return (
    <span class="diff-inline">
      {runs.map((run, index) => (
        <span key={index} title={run.kind === "gone" ? TEXTS.value.onlyIn(beforeName) : run.kind === "new" ? TEXTS.value.onlyIn(afterName) : undefined}>
          <RunView run={run} signed />
        </span>
      ))}
    </span>
  );
}

function inOneLine(before: string, after: string): Run[] {
  const runs = words(before, after);
  const same = runs.reduce((sum, run) => sum + (run.kind === "same" ? run.text.trim().length : 0), 0);
  if (same * 3 >= Math.max(before.length, after.length)) return runs;
  return [
    { kind: "gone", text: before },
    { kind: "same", text: " " },
    { kind: "new", text: after },
  ];
}

function Words({ runs, mono }: { runs: Run[]; mono: boolean }) {
  return (
    <div class={mono ? "prose mono" : "prose"} dir="auto">
      {runs.map((run, index) => (
        <RunView key={index} run={run} signed />
      ))}
    </div>
  );
}

function RunView({ run, signed = false }: { run: Run; signed?: boolean }) {
  if (run.kind === "same") return <Plain text={run.text} />;
  const sign = signed && <span class="sign">{run.kind === "gone" ? "−" : "+"}</span>;
  return run.kind === "gone" ? (
    <del>
      {sign}
      <Plain text={run.text} />
    </del>
  ) : (
    <ins>
      {sign}
      <Plain text={run.text} />
    </ins>
  );
}

/** Lines that are the same fold away, but for a few around each change. */
function folded(rows: LineRow[], open: ReadonlySet<number>): (LineRow | { from: number; lines: number })[] {
  const near = new Uint8Array(rows.length);
  rows.forEach((row, at) => row.kind !== "same" && near.fill(1, Math.max(0, at - AROUND), at + AROUND + 1));
  const found: (LineRow | { from: number; lines: number })[] = [];
  for (let at = 0; at < rows.length; at++) {
    let end = at;
    while (end < rows.length && !near[end]) end++;
    if (end - at > 2 && !open.has(at)) found.push({ from: at, lines: end - at });
    else found.push(...rows.slice(at, Math.max(end, at + 1)));
    at = Math.max(end, at + 1) - 1;
  }
  return found;
}

function Lines({ found }: { found: Difference }) {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [most, setMost] = useState(AT_ONCE);
  const rows = useMemo(() => folded(found.lines, open), [found, open]);
  return (
    <div class="diff-lines mono" tabIndex={0} role="group" aria-label={TEXTS.value.difference}>
      {rows.slice(0, most).map((row, index) =>
        "from" in row ? (
          <button key={index} type="button" class="diff-fold" onClick={() => setOpen(new Set([...open, row.from]))}>
            {TEXTS.value.sameLines(row.lines)}
          </button>
        ) : (
          <div key={index} class={`diff-line ${row.kind}`}>
            <span class="diff-number" aria-hidden="true">
              {row.before ?? ""}
            </span>
            <span class="diff-number" aria-hidden="true">
              {row.after ?? ""}
            </span>
            <span class="sign">{row.kind === "gone" ? "−" : row.kind === "new" ? "+" : " "}</span>
            <span class="diff-text">
              {row.parts.length === 1 && row.parts[0]!.kind === row.kind ? (
                row.kind === "same" ? <Plain text={row.parts[0]!.text} /> : <RunView run={row.parts[0]!} />
              ) : (
                row.parts.map((run, at) => <RunView key={at} run={run} />)
              )}
            </span>
          </div>
        ),
      )}
      {rows.length > most && (
        <button type="button" class="link" onClick={() => setMost(most + AT_ONCE * 5)}>
          {TEXTS.value.moreLines(rows.length - most)}
        </button>
      )}
    </div>
  );
}
