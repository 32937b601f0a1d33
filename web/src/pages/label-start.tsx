// The questions that were asked about runs of this store, and asking another one.
import { useState } from "preact/hooks";
import { call, useAnswer } from "../api";
import { count, plural } from "../numbers";
import { Answered, Page } from "../parts/page";
import { setPerson, usePerson } from "../parts/person";
import { WithCode } from "../parts/line";
import { Plain, oneLine } from "../parts/plain";
import { labelPage } from "../parts/question";
import { Missing, SimpleTable } from "../parts/simple-table";
import { address, go } from "../router";
import { useSession } from "../shell";
import { TEXTS } from "../texts";
import type { LabelQuestion, LabelsAnswer } from "../wire";

const WORDS = TEXTS.label;

export function LabelStart({ query }: { query: URLSearchParams }) {
  const asked = useAnswer<LabelsAnswer>(call("/label"));
  return (
    <Page title={WORDS.title} about={WORDS.about}>
      <Answered asked={asked}>
        {(answer) => (
          <>
            <Questions questions={answer.questions} />
            <Start answer={answer} query={query} />
          </>
        )}
      </Answered>
    </Page>
  );
}

function Questions({ questions }: { questions: LabelQuestion[] }) {
  if (!questions.length) return <p class="quiet">{WORDS.none}</p>;
  return (
    <section aria-label={WORDS.questions}>
      <SimpleTable
        label={WORDS.questions}
        rows={questions}
        id={(row) => row.id}
        columns={[
          {
            name: "question",
            title: WORDS.columns.question,
            plain: (row) => row.question,
            cell: (row) => (
              <a class="label-question" href={labelPage(row)}>
                <Plain text={oneLine(row.question, 200)} />
              </a>
            ),
          },
          {
            name: "run",
            title: WORDS.columns.run,
            plain: (row) => row.run_name,
            cell: (row) => (
              <a href={address(["runs", row.run])}>
                <Plain text={oneLine(row.run_name, 60)} />
              </a>
            ),
          },
          { name: "answers", title: WORDS.columns.answers, plain: (row) => row.choices.join(" "), cell: (row) => <Plain text={oneLine(row.choices.join(" · "), 80)} /> },
          { name: "labelled", title: WORDS.columns.labelled, end: true, plain: (row) => row.labelled, cell: (row) => WORDS.place(count(row.labelled), count(row.of)) },
          {
            name: "people",
            title: WORDS.columns.people,
            plain: (row) => row.people.map(([name, labels]) => `${name} ${labels}`).join(", "),
            cell: (row) => <Plain text={oneLine(row.people.map(([name, labels]) => `${name} ${count(labels)}`).join(", "), 80)} />,
          },
          {
            name: "judge",
            title: WORDS.columns.judge,
            plain: (row) => row.judge,
            about: WORDS.judgeAbout,
            cell: (row) =>
              row.judge ? (
                <a href="/judges">
                  <Plain text={oneLine(row.judge, 60)} />
                </a>
              ) : (
                <Missing />
              ),
          },
        ]}
      />
    </section>
  );
}

type Kind = "yes" | "scale" | "choices";

function Start({ answer, query }: { answer: LabelsAnswer; query: URLSearchParams }) {
  const person = usePerson();
  const [kind, setKind] = useState<Kind>(query.get("scale") ? "scale" : query.get("choices") ? "choices" : "yes");
  const [run, setRun] = useState(query.get("run") ?? answer.runs[0]?.id ?? "");
  const names = answer.runs.find((each) => each.id === run)?.evaluators ?? [];
  const session = useSession();
  if (session?.read_only) return <p class="quiet"><WithCode text={WORDS.readOnly} /></p>;
  if (!answer.runs.length)
    return (
      <div class="empty">
        <p>{WORDS.noRuns}</p>
        <pre>{TEXTS.runs.emptyCommand}</pre>
      </div>
    );
  const begin = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    setPerson(text("person"));
    const points = Number(text("width").replace(",", "."));
    go(
      address(["label"], {
        run: text("run"),
        question: text("question"),
        scale: kind === "scale" ? text("scale") : null,
        choices: kind === "choices" ? text("choices") : null,
        hide_expected: form.get("hide_expected") ? "true" : null,
        show_metadata: form.get("show_metadata") ? "true" : null,
        count: text("count") || null,
        judge: text("count") ? text("judge") || null : null,
        width: points > 0 ? String(Math.min((2 * points) / 100, 1)) : null,
      }),
    );
  };
  return (
    <form class="label-start" onSubmit={begin} aria-label={WORDS.start}>
      <h2>{WORDS.start}</h2>
      <label class="field">
        <span>{WORDS.whoAreYou}</span>
        <input type="text" name="person" required maxLength={200} defaultValue={person ?? ""} autocomplete="name" />
        <span class="quiet">{WORDS.whoHint}</span>
      </label>
      <label class="field">
        <span>{WORDS.which}</span>
        <select name="run" value={run} onChange={(event) => setRun(event.currentTarget.value)}>
          {answer.runs.map((each) => (
            <option key={each.id} value={each.id}>
              {oneLine(each.name, 60)} · {plural(each.attempts, "attempt")} · {each.started_at.slice(0, 16).replace("T", " ")}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>{WORDS.question}</span>
        <input type="text" name="question" required maxLength={200} list="label-names" defaultValue={query.get("question") ?? ""} autocomplete="off" />
        <datalist id="label-names">
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <span class="quiet">{WORDS.questionHint}</span>
      </label>
      <fieldset class="field">
        <legend>{WORDS.answers}</legend>
        {(
          [
            ["yes", WORDS.yesOrNo],
            ["scale", WORDS.scale],
            ["choices", WORDS.choices],
          ] as const
        ).map(([each, text]) => (
          <label key={each} class="choice">
            <input type="radio" name="kind" checked={kind === each} onChange={() => setKind(each)} /> {text}
          </label>
        ))}
        {kind === "scale" && (
          <label class="inside">
            <input type="text" name="scale" required pattern="\d+-\d+" defaultValue={query.get("scale") ?? "1-5"} aria-label={WORDS.scale} /> <span class="quiet">{WORDS.scaleHint}</span>
          </label>
        )}
        {kind === "choices" && (
          <label class="inside">
            <input type="text" name="choices" required defaultValue={query.get("choices") ?? ""} aria-label={WORDS.choices} /> <span class="quiet">{WORDS.choicesHint}</span>
          </label>
        )}
      </fieldset>
      <details class="field">
        <summary>{WORDS.more}</summary>
        <label class="choice">
          <input type="checkbox" name="hide_expected" /> {WORDS.hideExpected}
        </label>
        <label class="choice">
          <input type="checkbox" name="show_metadata" /> {WORDS.showMetadata}
        </label>
        <label class="inside">
          {WORDS.count} <input type="number" name="count" min="1" step="1" class="short" /> <span class="quiet">{WORDS.countHint}</span>
        </label>
        <label class="inside">
          {WORDS.judge} <input type="text" name="judge" list="label-names" /> <span class="quiet">{WORDS.judgeHint}</span>
        </label>
        <label class="inside">
          {WORDS.width} <input type="number" name="width" min="0.1" max="50" step="any" class="short" /> {WORDS.widthUnit}
        </label>
      </details>
      <button type="submit" class="main-button">
        {WORDS.begin}
      </button>
    </form>
  );
}
