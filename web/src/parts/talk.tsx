// A conversation that an attempt was: who said what, what was done in between, and how each turn was judged.
import { useMemo, useState } from "preact/hooks";
import { TEXTS } from "../texts";
import type { Talk, TalkTurn } from "../wire";
import { JudgementRow } from "./judgements";
import { Plain } from "./plain";
import "./trace.css";
import { Value } from "./value";

const FIRST = { characters: 2400, lines: 30 };
const AT_ONCE = 100;

export function TalkView({ talk }: { talk: Talk }) {
  const branches = useMemo(() => [...new Set(talk.turns.map((turn) => turn.branch).filter((branch): branch is number => branch !== null))], [talk]);
  const [branch, setBranch] = useState<number | null>(null);
  const [most, setMost] = useState(AT_ONCE);
  const turns = branch === null ? talk.turns : talk.turns.filter((turn) => turn.branch === branch);
  return (
    <section class="talk" aria-label={TEXTS.trace.talk}>
      {branches.length > 1 && (
        <p class="talk-branches">
          <label>
            {TEXTS.case.branch}{" "}
            <select value={branch ?? ""} onChange={(event) => setBranch(event.currentTarget.value ? Number(event.currentTarget.value) : null)}>
              <option value="">{TEXTS.case.allBranches(branches.length)}</option>
              {branches.map((each) => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          </label>
        </p>
      )}
      {talk.instructions && (
        <details>
          <summary>{TEXTS.case.instructions}</summary>
          <div class="prose" dir="auto">
            <Plain text={talk.instructions} chips />
          </div>
        </details>
      )}
      {talk.opening && (
        <div class="said-step kind-agent">
          <div class="said-who">
            <span class="kind">{talk.answerer}</span>
          </div>
          <div class="said-what prose" dir="auto">
            <Plain text={talk.opening} chips />
          </div>
        </div>
      )}
      <ol class="talk-turns">
        {turns.slice(0, most).map((turn, index) => (
          <li key={index}>
            <Turn talk={talk} turn={turn} />
          </li>
        ))}
      </ol>
      {turns.length > most && (
        <button type="button" class="more" onClick={() => setMost(most + AT_ONCE)}>
          {TEXTS.case.moreTurns(turns.length - most)}
        </button>
      )}
      {talk.left_out > 0 && <p class="quiet">{TEXTS.case.turnsLeftOut(talk.left_out)}</p>}
      {talk.stopped && (
        <p class="quiet talk-end">
          {TEXTS.case.ended} <Plain text={talk.stopped} />
        </p>
      )}
    </section>
  );
}

function Turn({ talk, turn }: { talk: Talk; turn: TalkTurn }) {
  const where = turn.branch === null ? `${turn.number}` : `${turn.branch}.${turn.number}`;
  return (
    <>
      {turn.asked.kind !== "missing" && (
        <div class="said-step kind-user">
          <div class="said-who">
            <span class="kind">{talk.asker}</span> <span class="quiet number">{where}</span>
          </div>
          <div class="said-what">
            <Value name={talk.asker} value={turn.asked} first={FIRST} isBare />
          </div>
        </div>
      )}
      {turn.steps.length > 0 && (
        <ul class="talk-steps">
          {turn.steps.map((step, index) => (
            <li key={index} class="mono">
              <span class={`kind kind-${step.kind}`}>{TEXTS.trace.kinds[step.kind]}</span> <Plain text={step.text} />
            </li>
          ))}
        </ul>
      )}
      {turn.answered.kind !== "missing" && (
        <div class="said-step kind-agent">
          <div class="said-who">
            <span class="kind">{talk.answerer}</span>
          </div>
          <div class="said-what">
            <Value name={talk.answerer} value={turn.answered} first={FIRST} isBare />
          </div>
        </div>
      )}
      {(turn.facts.length > 0 || turn.judgements.length > 0) && (
        <div class="talk-judged">
          {turn.facts.length > 0 && (
            <p class="quiet">
              <Plain text={turn.facts.join(" · ")} />
            </p>
          )}
          {turn.judgements.map((judgement, index) => (
            <JudgementRow key={index} judgement={judgement} />
          ))}
        </div>
      )}
    </>
  );
}
