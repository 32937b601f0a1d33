// Cases that flipped: which evaluator changed its mind and why, both outputs as one text, and where the traces part.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, read, Refused } from "../api";
import { useKeys } from "../keys";
import { count, percent } from "../numbers";
import { go } from "../router";
import { TEXTS } from "../texts";
import type { CompareAnswer, FlippedAssertion, FlipRow } from "../wire";
import { Way } from "./change";
import { comparedCasePage, parameters, type Comparison } from "./comparison";
import { InlineDiff } from "./diff";
import { KeyCap } from "./key";
import { Marks, MarkShape } from "./mark";
import { oneLine, Plain } from "./plain";
import { CsvLink } from "./simple-table";

interface FlipsProps {
  answer: CompareAnswer;
  asking: Comparison;
  names: [string, string];
  csv: string;
}

/** The flips of the answer, and those that were asked for after them. */
function useMore(answer: CompareAnswer, asking: Comparison) {
  const [more, setMore] = useState<FlipRow[]>([]);
  const [next, setNext] = useState(answer.next);
  const [problem, setProblem] = useState("");
  const first = [answer.next, ...answer.flips.map((flip) => flip.case)].join(" ");
  useEffect(() => {
    setMore([]);
    setNext(answer.next);
  }, [first]); // an answer that comes again and says the same takes nothing away
  const load = async () => {
    if (next === null) return;
    try {
      const found = await read<CompareAnswer>(call("/compare", { ...parameters(asking), after: next }));
      setMore((before) => [...before, ...found.flips]);
      setNext(found.next);
      setProblem("");
    } catch (error) {
      setProblem(error instanceof Refused ? error.message : String(error));
    }
  };
  const seen = new Set(answer.flips.map((flip) => flip.case));
  return { flips: [...answer.flips, ...more.filter((flip) => !seen.has(flip.case))], next, load, problem };
}

export function Flips({ answer, asking, names, csv }: FlipsProps) {
  const { flips, next, load, problem } = useMore(answer, asking);
  const [here, setHere] = useState<string | null>(null);
  const newest = useRef(flips);
  newest.current = flips;
  const step = (way: number) => {
    const all = newest.current;
    const at = all.findIndex((flip) => flip.case === here);
    const to = all[at < 0 ? 0 : Math.min(Math.max(at + way, 0), all.length - 1)];
    if (way > 0 && at === all.length - 1 && at >= 0) void load();
    if (!to) return;
    setHere(to.case);
    const link = document.querySelector<HTMLElement>(`[data-row="${CSS.escape(to.case)}"] .row-link`);
    link?.focus({ preventScroll: true });
    link?.closest("li")?.scrollIntoView({ block: "nearest" });
  };
  const page = (id: string) => comparedCasePage(asking, id);
  useKeys(TEXTS.compare.flips, [
    { keys: ["j", "ArrowDown"], does: TEXTS.compare.nextFlip, when: flips.length > 0, run: () => step(1) },
    { keys: ["k", "ArrowUp"], does: TEXTS.compare.previousFlip, when: here !== null, run: () => step(-1) },
    { keys: "Enter", does: TEXTS.compare.open, when: here !== null, run: () => here && go(page(here)) },
  ]);
  return (
    <>
      <ol class="flips" aria-label={TEXTS.compare.flipList}>
        {flips.map((flip) => (
          <li key={flip.case} data-row={flip.case} class={flip.case === here ? "flip row-here" : "flip"}>
            <FlipView flip={flip} href={page(flip.case)} names={names} onFocus={() => setHere(flip.case)} />
          </li>
        ))}
      </ol>
      {answer.left_out.map((what) => (
        <p key={what} class="tone-warn" role="status">
          {TEXTS.compare.leftOut(what)}
        </p>
      ))}
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="table-foot">
        {flips.length > 0 && (
          <span class="quiet flip-keys">
            <KeyCap name="j" /> <KeyCap name="k" /> {TEXTS.compare.nextFlip}, {TEXTS.compare.previousFlip} · <KeyCap name="Enter" /> {TEXTS.compare.open}
          </span>
        )}
        <span class="grow" />
        {next !== null && (
          <button type="button" onClick={() => void load()}>
            {TEXTS.compare.more(count(Math.min(answer.flips_total - flips.length, answer.flips.length)))}
          </button>
        )}
        {flips.length > 0 && <CsvLink href={csv} />}
      </div>
    </>
  );
}

function FlipView({ flip, href, names, onFocus }: { flip: FlipRow; href: string; names: [string, string]; onFocus: () => void }) {
  const [before = "", after = ""] = flip.outputs;
  const isRepeated = flip.marks.some((marks) => marks.length > 1);
  return (
    <>
      <div class="flip-head">
        <span title={TEXTS.compare.waysAbout[flip.way]}>
          <Way way={flip.way} />
        </span>
        <a class="row-link" href={href} onFocus={onFocus}>
          <Plain text={oneLine(flip.name, 120)} />
        </a>
        <span class="flip-marks" title={TEXTS.compare.passedAttempts(flip.counts)}>
          <Marks marks={flip.marks[0] ?? ""} /> <span aria-hidden="true">→</span> <span class="said">{TEXTS.compare.became}</span> <Marks marks={flip.marks[1] ?? ""} />
        </span>
        {isRepeated && <span class="quiet number">{flip.counts}</span>}
        {flip.basis === "attempts" && (
          <span class="quiet" title={TEXTS.compare.byLuckAbout}>
            {TEXTS.compare.byLuck(percent(flip.noise))}
          </span>
        )}
      </div>
      <dl class="flip-body">
        {flip.assertions.map((assertion) => (
          <div key={assertion.name}>
            <dt>
              <Plain text={oneLine(assertion.name, 60)} />
            </dt>
            <dd>
              <Mind assertion={assertion} names={names} />
            </dd>
          </div>
        ))}
        <div>
          <dt>{TEXTS.compare.output}</dt>
          <dd class="flip-output">{flip.outputs.length ? <InlineDiff before={before} after={after} beforeName={names[0]} afterName={names[1]} /> : <span class="quiet">{TEXTS.compare.notRead}</span>}</dd>
        </div>
        {flip.parting && (
          <div>
            <dt>{TEXTS.compare.trace}</dt>
            <dd>
              <Plain text={flip.parting} />
            </dd>
          </div>
        )}
      </dl>
    </>
  );
}

/** What an evaluator said before and now; the reason of the side that did not hold says most. */
function Mind({ assertion, names }: { assertion: FlippedAssertion; names: [string, string] }) {
  const sides = [
    [assertion.baseline, assertion.baseline_reason],
    [assertion.candidate, assertion.candidate_reason],
  ] as const;
  return (
    <>
      <span class="mind">
        <Held held={assertion.baseline} /> <span aria-hidden="true">→</span> <span class="said">{TEXTS.compare.became}</span> <Held held={assertion.candidate} />
      </span>
      {sides.map(
        ([held, reason], place) =>
          reason && (
            <span key={place} class={held ? "mind-reason quiet" : "mind-reason"}>
              {sides.every(([, each]) => each) && <span class="quiet">{oneLine(names[place]!, 24)}: </span>}
              <Plain text={oneLine(reason, 300)} />
            </span>
          ),
      )}
    </>
  );
}

function Held({ held }: { held: boolean | null }) {
  if (held === null) return <span class="quiet">{TEXTS.compare.noResult}</span>;
  return <MarkShape mark={held ? "pass" : "fail"} named />;
}
