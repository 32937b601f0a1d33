// A case over all runs of its dataset.
import { call, useAnswer } from "../api";
import { HistoryStrip, HistoryTable } from "../parts/history";
import { Answered, Page } from "../parts/page";
import { oneLine } from "../parts/plain";
import { address } from "../router";
import type { PageProps } from "../routes";
import { TEXTS } from "../texts";
import type { HistoryAnswer } from "../wire";
import "./case.css";

export default function History({ place, id }: PageProps<"id">) {
  const dataset = place.query.get("dataset");
  const asked = useAnswer<HistoryAnswer>(call(`/cases/${encodeURIComponent(id)}/history`, { dataset }));
  const { answer } = asked;
  const crumbs = [
    { text: TEXTS.app.runs, href: "/runs" },
    ...(dataset ? [{ text: TEXTS.dataset.title(oneLine(dataset, 60)), href: address(["datasets", dataset]) }] : []),
  ];
  return (
    <Page title={answer ? oneLine(answer.name, 160) : TEXTS.history.title} crumbs={crumbs} about={answer?.summary}>
      <Answered asked={asked}>
        {(history) =>
          history.points.length === 0 ? (
            <p class="empty">{TEXTS.history.none}</p>
          ) : (
            <>
              <HistoryStrip history={history} />
              <HistoryTable history={history} />
            </>
          )
        }
      </Answered>
    </Page>
  );
}
