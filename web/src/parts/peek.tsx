// A case at a glance, beside the table.
import { useAnswer } from "../api";
import { count, seconds } from "../numbers";
import { TEXTS } from "../texts";
import type { CaseAnswer } from "../wire";
import { Icon } from "./icon";
import { KeyCap } from "./key";
import { Mark, MarkShape } from "./mark";
import { Answered } from "./page";
import { oneLine, Plain } from "./plain";
import { Value } from "./value";

export default function Peek({ href, page, close }: { href: string; page: string; close: () => void }) {
  const asked = useAnswer<CaseAnswer>(href);
  return (
    <aside class="peek" aria-label={TEXTS.cases.peek}>
      <div class="section-head">
        <h2 class="peek-title">{asked.answer ? <Plain text={oneLine(asked.answer.name, 120)} /> : TEXTS.app.loading}</h2>
        <span class="grow" />
        <a class="button" href={page}>
          {TEXTS.tables.open} <KeyCap name="Enter" />
        </a>
        <button type="button" class="quiet-button" aria-label={TEXTS.app.close} title={`${TEXTS.app.close} (Esc)`} onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <Answered asked={asked}>{(answer) => <PeekedCase answer={answer} />}</Answered>
    </aside>
  );
}

/** What matters most of a case: why it did not pass, what it gave, what was expected, what it was given. */
function PeekedCase({ answer }: { answer: CaseAnswer }) {
  const worst = answer.attempts.find((attempt) => attempt.mark === "error" || attempt.mark === "fail") ?? answer.attempts[0];
  if (!worst) return <p class="quiet">{TEXTS.cases.noAttempt}</p>;
  return (
    <>
      <p class="facts-line">
        <Mark mark={worst.mark} />
        {answer.attempts.length > 1 && <span class="quiet">{TEXTS.cases.repeat(count(worst.repeat + 1), count(answer.attempts.length))}</span>}
        {worst.seconds !== null && <span class="quiet">{seconds(worst.seconds)}</span>}
        {worst.cost && <span class="quiet">{worst.cost.text}</span>}
      </p>
      {worst.error && (
        <p class="peek-error">
          <Plain text={oneLine(worst.error, 600)} />
        </p>
      )}
      <dl class="peek-judgements">
        {worst.judgements.map((each) => (
          <div key={each.name}>
            <dt>
              {each.mark && <MarkShape mark={each.mark} />} <Plain text={oneLine(each.name, 60)} />
            </dt>
            <dd>
              <b>
                <Plain text={oneLine(each.text, 80)} />
              </b>{" "}
              {each.reason && <Plain text={oneLine(each.reason, 400)} />}
            </dd>
          </div>
        ))}
      </dl>
      <Value value={worst.output} name={TEXTS.cases.columns.output} />
      <Value value={answer.expected} name={TEXTS.cases.columns.expected} />
      <Value value={answer.input} name={TEXTS.cases.columns.input} />
    </>
  );
}
