// The runs that are compared: which is the baseline, and how to take others.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { call, useAnswer } from "../api";
import { count } from "../numbers";
import { address, go } from "../router";
import { TEXTS } from "../texts";
import type { ComparedRun, RunRow, RunsAnswer } from "../wire";
import { comparePage, MOST_RUNS, withoutRun, type Comparison } from "./comparison";
import { Icon } from "./icon";
import { Menu } from "./menu";
import { setMarked } from "./marked";
import { Answered } from "./page";
import { oneLine, Plain } from "./plain";
import { Commit, RunStateView } from "./run-facts";
import { Ago } from "./time";

const NEWEST = 200;

export function ComparedRuns({ runs, asking, children }: { runs: ComparedRun[]; asking: Comparison; children?: ComponentChildren }) {
  return (
    <div class="compared">
      <ol class="compared-runs" aria-label={TEXTS.compare.runs}>
        {runs.map((each, place) => (
          <li key={each.run.id}>
            <b class="letter">{each.label}</b>
            <span class="compared-run">
              <a href={address(["runs", each.run.id])}>
                <Plain text={oneLine(each.name, 60)} />
              </a>
              <span class="quiet compared-facts">
                {place === 0 && <span>{TEXTS.compare.baseline}</span>}
                <RunStateView row={each.run} />
                <Ago at={each.run.started_at} />
                {each.run.commit && <Commit row={each.run} />}
                {place > 0 && runs.length > 2 && (
                  <a class="small-link" href={comparePage(asBaseline(asking, place))} aria-label={TEXTS.compare.toBaselineOf(each.name)}>
                    {TEXTS.compare.toBaseline}
                  </a>
                )}
              </span>
            </span>
            <a class="quiet-button" href={comparePage(withoutRun(asking, place))} aria-label={TEXTS.compare.remove(each.name)} title={TEXTS.compare.remove(each.name)}>
              <Icon name="close" />
            </a>
          </li>
        ))}
      </ol>
      {runs.length < MOST_RUNS && <AddRun runs={runs.map((each) => each.run)} asking={asking} />}
      {children}
    </div>
  );
}

function asBaseline(asking: Comparison, place: number): Comparison {
  const runs = [asking.runs[place]!, ...asking.runs.filter((_, at) => at !== place)];
  return { ...asking, runs, of: 1 };
}

function AddRun({ runs, asking }: { runs: RunRow[]; asking: Comparison }) {
  const inList = () => {
    setMarked(runs.map((run) => run.id));
    go("/runs");
  };
  return (
    <Menu button={TEXTS.compare.add} class="add-run">
      {() => (
        <>
          <RunChoice label={TEXTS.compare.chooseRun} value="" without={runs.map((run) => run.id)} first={runs[0]?.dataset ?? null} onChange={(id) => go(comparePage({ ...asking, runs: [...runs.map((run) => run.id), id] }))} />
          <button type="button" class="quiet-button" onClick={inList}>
            {TEXTS.compare.chooseInList}
          </button>
        </>
      )}
    </Menu>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  without: string[];
  /** The dataset whose runs come first. */
  first: string | null;
  onChange: (id: string) => void;
}

/** One of the newest runs. */
function RunChoice({ label, value, without, first, onChange }: ChoiceProps) {
  const asked = useAnswer<RunsAnswer>(call("/runs", { limit: NEWEST }));
  return (
    <Answered asked={asked} lines={1}>
      {({ rows }) => {
        const there = rows.filter((row) => row.id === value || (!without.includes(row.id) && row.damaged === null));
        const sorted = [...there.filter((row) => row.dataset === first), ...there.filter((row) => row.dataset !== first)];
        return (
          <label class="run-choice">
            {label}{" "}
            <select value={value} onChange={(event) => event.currentTarget.value && onChange(event.currentTarget.value)}>
              <option value="">–</option>
              {sorted.map((row) => (
                <option key={row.id} value={row.id}>
                  {oneLine([row.name, row.dataset, row.started_at.slice(0, 16).replace("T", " ")].filter(Boolean).join(" · "), 90)}
                </option>
              ))}
            </select>
          </label>
        );
      }}
    </Answered>
  );
}

/** Where fewer than two runs are named: how to take them. */
export function ChooseRuns({ asking }: { asking: Comparison }) {
  const [runs, setRuns] = useState<[string, string]>([asking.runs[0] ?? "", asking.runs[1] ?? ""]);
  const known = useAnswer<RunsAnswer>(call("/runs", { limit: NEWEST }));
  const dataset = known.answer?.rows.find((row) => row.id === runs[0] || row.name === runs[0])?.dataset ?? null;
  const total = known.answer?.total;
  const isReady = runs.every(Boolean) && runs[0] !== runs[1];
  const texts = TEXTS.compare;
  if (total !== undefined && total < 2)
    return (
      <div class="empty">
        <p>{texts.noRuns}</p>
        <pre>{texts.makeRuns}</pre>
      </div>
    );
  return (
    <div class="choose-runs">
      <h2>{texts.choose}</h2>
      <p class="quiet">{texts.chooseAbout}</p>
      <RunChoice label={texts.first} value={runs[0]} without={[runs[1]]} first={null} onChange={(id) => setRuns([id, runs[1]])} />
      <RunChoice label={texts.second} value={runs[1]} without={[runs[0]]} first={dataset} onChange={(id) => setRuns([runs[0], id])} />
      <p>
        <button type="button" class="main-button" disabled={!isReady} onClick={() => go(comparePage({ ...asking, runs }))}>
          {texts.compare}
        </button>
        {total !== undefined && total > NEWEST && <span class="quiet"> {TEXTS.tables.rows("1", count(NEWEST), count(total))}</span>}
      </p>
      <p>
        <a href="/runs">{texts.chooseInList}</a> <span class="quiet">{texts.chooseHint}</span>
      </p>
      <pre>{texts.chooseCommand}</pre>
    </div>
  );
}
