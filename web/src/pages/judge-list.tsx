// All judges of the store's runs, each with its agreement with people and its passport.
import type { ComponentChildren } from "preact";
import { call, useAnswer } from "../api";
import { count, minus, plural } from "../numbers";
import type { Column } from "../parts/column";
import { useIsNarrow } from "../parts/display";
import { EstimateView, spokenEstimate } from "../parts/estimate";
import { Answered, Page } from "../parts/page";
import { PassportState, passportKind } from "../parts/passport-state";
import { oneLine, Plain } from "../parts/plain";
import { useRows } from "../parts/rows";
import { CsvLink, saveTable, SimpleTable } from "../parts/simple-table";
import { address, go } from "../router";
import { TEXTS } from "../texts";
import type { JudgeCard, JudgesAnswer } from "../wire";

const WORDS = TEXTS.judges;

export function JudgeList() {
  const asked = useAnswer<JudgesAnswer>(call("/judges"));
  return (
    <Page title={WORDS.title} about={WORDS.about}>
      <Answered asked={asked}>{({ judges }) => (judges.length ? <List judges={judges} /> : <Nothing />)}</Answered>
    </Page>
  );
}

function Nothing() {
  return (
    <div class="empty">
      <p>
        <b>{WORDS.none}</b>
      </p>
      <p>{WORDS.noneWay}</p>
      <pre>{WORDS.noneCommand}</pre>
    </div>
  );
}

function List({ judges }: { judges: JudgeCard[] }) {
  const page = (id: string) => address(["judges", id]);
  const [here, setHere] = useRows(
    judges.map((each) => each.id),
    (id) => go(page(id)),
  );
  const isNarrow = useIsNarrow();
  const link = (card: JudgeCard) => (
    <a class="row-link" href={page(card.id)} aria-current={card.id === here ? "true" : undefined} onFocus={() => setHere(card.id)}>
      <Plain text={oneLine(card.name, 80)} />
    </a>
  );
  if (isNarrow)
    return (
      <>
      <ul class="narrow-rows" aria-label={WORDS.all}>
        {judges.map((card) => (
          <li key={card.id} data-row={card.id} class={card.id === here ? "row-here" : undefined}>
            <div class="two-lines">
              <span class="grow">{link(card)}</span>
              <PassportState card={card} />
            </div>
            <div class="two-lines">
              <Agreement card={card} />
              <span class="quiet">{card.labels > 0 && plural(card.labels, "label")}</span>
            </div>
          </li>
        ))}
      </ul>
      <div class="table-foot">
        <span class="grow" />
        <CsvLink make={() => saveTable(WORDS.all, columns(link), judges)} />
      </div>
      </>
    );
  return <SimpleTable label={WORDS.all} columns={columns(link)} rows={judges} id={(card) => card.id} rowClass={(card) => (card.id === here ? "row-here" : undefined)} />;
}

function columns(link: (card: JudgeCard) => ComponentChildren): Column<JudgeCard>[] {
  const texts = WORDS.columns;
  return [
    {
      name: "name",
      title: texts.name,
      plain: (card) => card.name,
      cell: (card) => (
        <span class="judge-name">
          {link(card)}
          {card.standing === null && (
            <span class="badge" title={WORDS.noJudgeAbout}>
              {WORDS.noJudge}
            </span>
          )}
          {card.model && (
            <span class="quiet">
              <Plain text={WORDS.asks(oneLine(card.model, 40))} />
            </span>
          )}
        </span>
      ),
    },
    { name: "agreement", title: texts.agreement, about: texts.agreementAbout, plain: (card) => card.agreement && spokenEstimate(card.agreement, true), cell: (card) => <Agreement card={card} /> },
    { name: "kappa", title: texts.kappa, about: texts.kappaAbout, end: true, plain: (card) => card.kappa?.value, cell: (card) => card.kappa && <EstimateView estimate={card.kappa} isRate={false} glyph={false} /> },
    { name: "labels", title: texts.labels, about: texts.labelsAbout, end: true, plain: (card) => card.labels, cell: (card) => count(card.labels) },
    {
      name: "differ",
      title: texts.differ,
      about: texts.differAbout,
      end: true,
      plain: (card) => (card.labels ? card.disagreements_total : null),
      cell: (card) => (card.labels ? card.disagreements_total ? <a href={`${address(["judges", card.id])}#disagreements`}>{count(card.disagreements_total)}</a> : "0" : null),
    },
    { name: "passport", title: texts.passport, about: texts.passportAbout, fills: true, plain: (card) => card.standing?.passport?.at ?? WORDS.states[passportKind(card)], cell: (card) => <Passport card={card} /> },
    { name: "runs", title: texts.runs, end: true, plain: (card) => card.runs_total, cell: (card) => count(card.runs_total) },
  ];
}

function Agreement({ card }: { card: JudgeCard }) {
  if (card.agreement) return <EstimateView estimate={card.agreement} isRate />;
  return <span class="quiet">{WORDS.noLabels}</span>;
}

/** Whether it has a passport, and what that says first. */
function Passport({ card }: { card: JudgeCard }) {
  const kappa = card.traits.find((trait) => trait.name === "kappa" && trait.value !== null);
  return (
    <span class="passport-state">
      <PassportState card={card} />
      {card.standing?.passport && kappa && (
        <span class="quiet number">
          {WORDS.kappaOf} {minus(kappa.text)} {minus(kappa.ends)}
        </span>
      )}
    </span>
  );
}
