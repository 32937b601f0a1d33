// A case over the runs of its dataset: how it came out each time, and where its output or the case itself changed.
import { dollars, seconds } from "../numbers";
import { address } from "../router";
import { TEXTS } from "../texts";
import type { HistoryAnswer, HistoryPoint } from "../wire";
import { csvOf, fileName, save } from "./column";
import { Marks, spokenMarks } from "./mark";
import { oneLine } from "./plain";
import { CsvLink } from "./simple-table";
import { Ago } from "./time";

const STRIP = 24;

/** The newest runs as marks in a row, the oldest first. */
export function HistoryStrip({ history, run }: { history: HistoryAnswer; run?: string }) {
  const shown = history.points.slice(0, STRIP).reverse();
  return (
    <ol class="history-strip" aria-label={TEXTS.history.title}>
      {shown.map((point) => (
        <li key={point.run} class={point.changed_case ? "changed" : undefined}>
          <a
            href={address(["runs", point.run, "cases", history.id])}
            aria-current={point.run === run ? "true" : undefined}
            title={`${oneLine(point.run_name, 80)}: ${spokenMarks(point.marks)}${point.changed_case ? `, ${TEXTS.history.changedCase}` : ""}`}
          >
            <Marks marks={point.marks} />
          </a>
        </li>
      ))}
    </ol>
  );
}

export function HistoryTable({ history, run }: { history: HistoryAnswer; run?: string }) {
  return (
    <>
      <div class="history-table" tabIndex={0} role="group" aria-label={TEXTS.history.title}>
        <table>
          <thead>
            <tr>
              <th scope="col">{TEXTS.history.run}</th>
              <th scope="col">{TEXTS.history.outcome}</th>
              <th scope="col">{TEXTS.history.when}</th>
              <th scope="col">{TEXTS.history.commit}</th>
              <th scope="col" class="end">
                {TEXTS.history.time}
              </th>
              <th scope="col" class="end">
                {TEXTS.history.cost}
              </th>
              <th scope="col">{TEXTS.history.output}</th>
            </tr>
          </thead>
          <tbody>
            {history.points.map((point) => (
              <Point key={point.run} point={point} id={history.id} isHere={point.run === run} />
            ))}
          </tbody>
        </table>
      </div>
      <div class="table-foot">
        <span class="grow" />
        <CsvLink make={() => save(fileName(`${history.name} ${TEXTS.history.title}`, "csv"), "text/csv", historyFile(history))} />
      </div>
    </>
  );
}

function historyFile({ points }: HistoryAnswer): string {
  const texts = TEXTS.history;
  return csvOf(
    [texts.run, texts.outcome, texts.when, texts.commit, texts.time, texts.cost, texts.changedOutput, texts.changedCase, texts.output],
    points.map((point) => [
      point.run_name,
      spokenMarks(point.marks),
      point.started_at,
      point.commit,
      point.seconds,
      point.cost,
      point.changed_output ? "true" : "false",
      point.changed_case ? "true" : "false",
      point.output,
    ]),
  );
}

function Point({ point, id, isHere }: { point: HistoryPoint; id: string; isHere: boolean }) {
  return (
    <>
      <tr aria-current={isHere ? "true" : undefined}>
        <th scope="row">
          <a href={address(["runs", point.run, "cases", id])}>{oneLine(point.run_name, 60)}</a>
        </th>
        <td>
          <Marks marks={point.marks} word />
        </td>
        <td>
          <Ago at={point.started_at} />
        </td>
        <td class="mono">{point.commit ? <span title={oneLine(point.commit, 60)}>{oneLine(point.commit.slice(0, 7))}</span> : <span class="missing">–</span>}</td>
        <td class="end">{point.seconds === null ? <span class="missing">–</span> : seconds(point.seconds)}</td>
        <td class="end">{point.cost === null ? <span class="missing">–</span> : dollars(point.cost)}</td>
        <td class="history-output">
          {point.changed_output && <span class="badge">{TEXTS.history.changedOutput}</span>} {oneLine(point.output, 160)}
        </td>
      </tr>
      {point.changed_case && (
        <tr class="history-break">
          <td colSpan={7}>{TEXTS.history.changedCaseLong}</td>
        </tr>
      )}
    </>
  );
}
