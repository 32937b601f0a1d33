// What evaluators said of an attempt: each with its mark, its value and its reason.
import { useState } from "preact/hooks";
import { TEXTS } from "../texts";
import type { CellJudgement } from "../wire";
import { MarkShape } from "./mark";
import { Plain } from "./plain";
import { Value } from "./value";

const ORDER = { error: 0, fail: 1, partial: 2, none: 3, pass: 4, skip: 5 };

/** The worst first; what is alike stays in its order. */
export function worstFirst(judgements: CellJudgement[]): CellJudgement[] {
  return [...judgements].sort((one, other) => ORDER[one.mark ?? "none"] - ORDER[other.mark ?? "none"]);
}

/** What passed is folded away beyond so many rows. */
const CALM_ROWS = 4;

export function Judgements({ judgements, notRun = [] }: { judgements: CellJudgement[]; notRun?: string[] }) {
  const [isOpen, setOpen] = useState(false);
  const bad = judgements.filter(({ mark }) => mark === "fail" || mark === "error").length;
  const most = isOpen || judgements.length <= bad + CALM_ROWS + 1 ? judgements.length : bad + CALM_ROWS;
  return (
    <ul class="judgements">
      {judgements.slice(0, most).map((judgement, index) => (
        <li key={index}>
          <JudgementRow judgement={judgement} />
        </li>
      ))}
      {most < judgements.length && (
        <li class="judgements-more">
          <button type="button" class="link" onClick={() => setOpen(true)}>
            {TEXTS.case.moreJudgements(judgements.length - most)}
          </button>
        </li>
      )}
      {notRun.length > 0 && (
        <li class="judgement">
          <MarkShape mark="skip" />
          <span class="judgement-not-run quiet">
            {TEXTS.case.notRun}: <Plain text={notRun.join(", ")} />
          </span>
        </li>
      )}
    </ul>
  );
}

export function JudgementRow({ judgement }: { judgement: CellJudgement }) {
  const { mark, name, evaluator, text, reason, traceback, details } = judgement;
  return (
    <div class={`judgement${mark === "fail" || mark === "error" ? " bad" : ""}`}>
      {mark ? <MarkShape mark={mark} named /> : <span class="judgement-none" />}
      <span class="judgement-name" title={evaluator === name ? undefined : evaluator}>
        <Plain text={name} />
        {judgement.is_judge && <span class="badge">{TEXTS.case.judge}</span>}
      </span>
      <span class="judgement-value">
        <Plain text={text} />
      </span>
      <div class="judgement-why">
        {reason && (
          <div class="prose" dir="auto">
            <Plain text={reason} />
          </div>
        )}
        {traceback && <Traceback text={traceback} />}
        {details && details.kind !== "missing" && (
          <details>
            <summary>{TEXTS.case.details}</summary>
            <Value name={TEXTS.case.detailsOf(name)} value={details} isBare />
          </details>
        )}
      </div>
    </div>
  );
}

export function Traceback({ text }: { text: string }) {
  return (
    <details>
      <summary>{TEXTS.case.traceback}</summary>
      <pre class="traceback" tabIndex={0}>
        <Plain text={text} />
      </pre>
    </details>
  );
}
