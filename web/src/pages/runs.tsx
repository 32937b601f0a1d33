// The list of runs.
import { call, useAnswer } from "../api";
import { Answered, Page } from "../parts/page";
import type { PageProps } from "../routes";
import { TEXTS } from "../texts";
import type { RunsAnswer } from "../wire";

export default function Runs(_: PageProps) {
  const asked = useAnswer<RunsAnswer>(call("/runs"));
  return (
    <Page title={TEXTS.runs.title}>
      <Answered asked={asked}>
        {(answer) => (
          <ul>
            {answer.rows.map((row) => (
              <li key={row.id}>
                <a href={`/runs/${row.id}`}>{row.name}</a>
              </li>
            ))}
          </ul>
        )}
      </Answered>
    </Page>
  );
}
