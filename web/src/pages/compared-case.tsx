// One case in two runs: what became of it, which evaluator changed its mind and why, both outputs, and both traces with the step at which they part.
import { useCallback, useEffect } from "preact/hooks";
import { call, read, useAnswer, type Asked } from "../api";
import { useKeys } from "../keys";
import { count, dollars, percent, plural, seconds } from "../numbers";
import { AlignedTraces } from "../parts/aligned-steps";
import { ChangeShape, type ChangeName } from "../parts/change";
import { ChosenAttempts, type Side } from "../parts/chosen-attempts";
import { comparedCasePage, comparePage, comparisonOf, parameters, type Comparison } from "../parts/comparison";
import { KeyCap } from "../parts/key";
import { Mark, Marks } from "../parts/mark";
import { Outputs } from "../parts/outputs";
import { Answered, Page } from "../parts/page";
import { oneLine, Plain } from "../parts/plain";
import { Reading, useReading } from "../parts/reading";
import { Said } from "../parts/said";
import { Value } from "../parts/value";
import { address, go, withQuery } from "../router";
import type { PageProps } from "../routes";
import { TEXTS } from "../texts";
import type { ComparedCaseAnswer, ShownValue } from "../wire";
import "./compared-case.css";

const WORDS = TEXTS.comparedCase;
const SHORT = { characters: 900, lines: 10 };

/** The address of a case, with the attempts that are looked at. */
function hrefOf(id: string, asking: Comparison, ra: string | null, rb: string | null): string {
  return call(`/compare/${encodeURIComponent(id)}`, { ...parameters(asking), ra, rb });
}

export default function ComparedCase({ place, id }: PageProps<"id">) {
  const { query } = place;
  const asking = comparisonOf(query);
  const isEnough = asking.runs.length > 1;
  const asked = useAnswer<ComparedCaseAnswer>(isEnough ? hrefOf(id, asking, query.get("ra"), query.get("rb")) : null);
  const { answer } = asked;
  useReading(asked);
  useIds(asked, asking);
  useNeighbours(asked, asking, query.get("show"));
  const above = [{ text: TEXTS.runs.title, href: "/runs" }];
  if (!isEnough)
    return (
      <Page title={WORDS.title} crumbs={above}>
        <p>
          <a href={comparePage(asking)}>{TEXTS.compare.choose}</a>
        </p>
      </Page>
    );
  return (
    <Page
      title={answer ? oneLine(answer.name, 160) : WORDS.title}
      crumbs={[...above, { text: comparedNames(answer), href: `${comparePage(asking)}#flips` }]}
      about={answer && <About answer={answer} q={asking.q} />}
      actions={answer && <Neighbours answer={answer} asking={asking} show={query.get("show")} />}
    >
      <Answered asked={asked} lines={10}>
        {(found) => (
          <div class={asked.isCurrent ? undefined : "stale"}>
            <Found key={`${found.id} ${found.of}`} answer={found} asking={asking} asked={asked} query={query} />
          </div>
        )}
      </Answered>
    </Page>
  );
}

function comparedNames(answer: ComparedCaseAnswer | undefined): string {
  const [first, candidate] = [answer?.runs[0], answer?.runs[answer.of]];
  return first && candidate ? TEXTS.compare.against(oneLine(candidate.name, 40), oneLine(first.name, 40)) : TEXTS.compare.title;
}

/** An address with names of runs becomes one with their ids, which stay what they are. */
function useIds({ answer, isCurrent }: Asked<ComparedCaseAnswer>, asking: Comparison): void {
  useEffect(() => {
    if (!answer || !isCurrent) return;
    const runs = answer.runs.map((each) => each.run.id);
    if (runs.join() === asking.runs.join()) return;
    go(withQuery(parameters({ ...asking, runs })), { replace: true });
  }, [answer, isCurrent]);
}

function useNeighbours({ answer, isCurrent }: Asked<ComparedCaseAnswer>, asking: Comparison, show: string | null): void {
  const to = (id: string | null | undefined) => id && go(comparedCasePage(asking, id, { show }));
  useKeys(WORDS.title, [
    { keys: "j", does: TEXTS.compare.nextFlip, when: !!answer?.next && isCurrent, run: () => to(answer?.next) },
    { keys: "k", does: TEXTS.compare.previousFlip, when: !!answer?.previous && isCurrent, run: () => to(answer?.previous) },
    ...(answer?.cases ?? []).map((each, at) => ({
      keys: String(at),
      does: TEXTS.compare.pairKey(answer?.runs[at]?.name ?? ""),
      when: at > 0 && (answer?.runs.length ?? 0) > 2,
      run: () => answer && go(comparedCasePage({ ...asking, of: at }, each.id || answer.id, { show }), { replace: true }),
    })),
  ]);
  const next = isCurrent ? answer?.next : null;
  useEffect(() => {
    if (!next) return undefined;
    const wait = setTimeout(() => void read(hrefOf(next, asking, null, null)).catch(() => undefined), 400);
    return () => clearTimeout(wait);
  }, [next]);
}

function About({ answer, q }: { answer: ComparedCaseAnswer; q: string }) {
  const { at, flips, flip } = answer;
  if (flips === null) return null;
  if (at !== null) return <>{q ? WORDS.placeIn(count(at + 1), count(flips), oneLine(q, 60)) : WORDS.place(count(at + 1), count(flips))}</>;
  return <>{flip && q ? WORDS.notIn(oneLine(q, 60)) : WORDS.noFlip}</>;
}

function Neighbours({ answer, asking, show }: { answer: ComparedCaseAnswer; asking: Comparison; show: string | null }) {
  const ways = [
    [answer.previous, WORDS.previous, "k"],
    [answer.next, WORDS.next, "j"],
  ] as const;
  return (
    <nav class="case-ways" aria-label={WORDS.ways}>
      {ways.map(([id, text, key]) =>
        id ? (
          <a key={key} class="button" href={comparedCasePage(asking, id, { show })}>
            {text} <KeyCap name={key} />
          </a>
        ) : (
          <span key={key} class="button off" aria-disabled="true">
            {text}
          </span>
        ),
      )}
    </nav>
  );
}

interface FoundProps {
  answer: ComparedCaseAnswer;
  asking: Comparison;
  asked: Asked<ComparedCaseAnswer>;
  query: URLSearchParams;
}

function Found({ answer, asking, asked, query }: FoundProps) {
  const change = useCallback((changes: Record<string, string | null>) => go(withQuery(changes), { replace: true }), []);
  const sides = sidesOf(answer);
  const { reading } = answer;
  return (
    <>
      <Outcome answer={answer} sides={sides} />
      {reading && <Reading reading={reading} again={asked.again} about={WORDS.reading} />}
      {answer.left_out.map((what) => (
        <p key={what} class="tone-warn" role="status">
          {TEXTS.compare.leftOut(what)}
        </p>
      ))}
      <Runs answer={answer} asking={asking} show={query.get("show")} />
      <ChosenAttempts answer={answer} sides={sides} change={change} />
      <Said rows={answer.rows} sides={sides} />
      <Given answer={answer} sides={sides} />
      <Outputs sides={sides} expected={answer.expected[answer.expected.length - 1]} show={query.get("show")} change={change} />
      <AlignedTraces sides={sides} at={query.get("at")} change={change} />
    </>
  );
}

/** The baseline and the run that is looked at, each with its letter, its case and the attempt that is shown. */
function sidesOf(answer: ComparedCaseAnswer): [Side, Side] {
  const side = (place: number, at: number): Side => {
    const { label, name, run } = answer.runs[place]!;
    return { letter: label, name: oneLine(name, 60), run: run.id, found: answer.cases[place]!, attempt: answer.sides[at] ?? null };
  };
  return [side(0, 0), side(answer.of, 1)];
}

// ---------------------------------------------------------------------- what became of it

const CHANGES: Record<ComparedCaseAnswer["outcome"], ChangeName> = {
  broken: "worse",
  fixed: "better",
  moved: "unclear",
  passed: "same",
  failed: "same",
  baseline: "incomparable",
  candidate: "incomparable",
  other: "incomparable",
};

function Outcome({ answer, sides }: { answer: ComparedCaseAnswer; sides: [Side, Side] }) {
  const { outcome, flip, counts, differing } = answer;
  const [one, two] = sides;
  const change = CHANGES[outcome];
  const isRepeated = sides.some((side) => side.found.marks.length > 1);
  const names = (flip?.evaluators ?? []).map((name) => oneLine(name, 60)).join(", ");
  return (
    <section class={`verdict verdict-${change}`} aria-label={WORDS.outcome}>
      <p class="verdict-what">
        <ChangeShape change={change} size={18} /> {WORDS.outcomes[outcome]}
        {counts && (
          <span class="flip-marks compared-marks" title={TEXTS.compare.passedAttempts(counts)}>
            <Marks marks={one.found.marks} /> <span aria-hidden="true">→</span> <span class="said">{TEXTS.compare.became}</span> <Marks marks={two.found.marks} />
            {isRepeated && <span class="quiet number">{counts}</span>}
          </span>
        )}
      </p>
      <p>
        <Plain text={WORDS.outcomesAbout[outcome](one.name, two.name)} /> {differing.length > 0 && WORDS.differing(differing.join(", "))}
        {names && <Plain text={WORDS.changedMind(names)} />}
      </p>
      {flip?.basis === "attempts" && flip.noise !== null && <p class="quiet">{`${TEXTS.compare.byLuck(percent(flip.noise))}: ${TEXTS.compare.byLuckAbout}`}</p>}
      {flip?.basis === "other flips" && <p class="quiet">{WORDS.luckUnknown}</p>}
    </section>
  );
}

/** Each run with what came of the case in it, and the way there. */
function Runs({ answer, asking, show }: { answer: ComparedCaseAnswer; asking: Comparison; show: string | null }) {
  const isMany = answer.runs.length > 2;
  return (
    <ul class="compared-runs compared-in" aria-label={WORDS.runs}>
      {answer.runs.map(({ label, name, run }, at) => {
        const found = answer.cases[at]!;
        const shown = at === 0 ? answer.sides[0] : at === answer.of ? answer.sides[1] : null;
        const isHere = at === 0 || at === answer.of;
        const facts = shown ? factsOf(shown) : [];
        return (
          <li key={run.id} class={isMany && isHere ? "run-here" : undefined}>
            <b class="letter">{label}</b>
            <span class="compared-run">
              {isMany && at > 0 ? (
                <a href={comparedCasePage({ ...asking, of: at }, found.id || answer.id, { show })} aria-current={isHere ? "true" : undefined}>
                  <KeyCap name={String(at)} /> <Plain text={oneLine(name, 60)} />
                </a>
              ) : (
                <a href={address(["runs", run.id])}>
                  <Plain text={oneLine(name, 60)} />
                </a>
              )}
              <span class="quiet compared-facts">
                {at === 0 && <span>{TEXTS.compare.baseline}</span>}
                {found.id ? found.marks.length === 1 ? <Mark mark={found.attempts[0]!.mark} /> : <Marks marks={found.marks} /> : <span>{WORDS.lacks}</span>}
                {found.changed && <span class="badge badge-caution">{WORDS.otherContent}</span>}
                {found.name && found.name !== answer.name && <Plain text={WORDS.renamed(oneLine(found.name, 60))} />}
                {facts.map((fact) => (
                  <span key={fact} class="number" title={WORDS.shownAttempt(shown?.number ?? 1)}>
                    {fact}
                  </span>
                ))}
                {found.id && (
                  <a class="small-link" href={address(["runs", run.id, "cases", found.id], { rep: shown && shown.number > 1 ? String(shown.number) : null })} aria-label={WORDS.inRunOf(name)}>
                    {WORDS.inRun}
                  </a>
                )}
              </span>
            </span>
          </li>
        );
      })}
    </ul>
  );
}

function factsOf(attempt: NonNullable<ComparedCaseAnswer["sides"][number]>): string[] {
  const { seconds: took, cost, tokens_in: given, tokens_out: made } = attempt;
  return [
    ...(took === null ? [] : [seconds(took)]),
    ...(cost ? [cost.at_least ? cost.text : dollars(cost.dollars)] : []),
    ...(given === null && made === null ? [] : [plural((given ?? 0) + (made ?? 0), "token")]),
  ];
}

// ---------------------------------------------------------------------- what it is about

function Given({ answer, sides }: { answer: ComparedCaseAnswer; sides: [Side, Side] }) {
  const parts = [
    ["input", answer.inputs, WORDS.input, WORDS.inputIn],
    ["expected", answer.expected, WORDS.expected, WORDS.expectedIn],
    ["calls", answer.expected_calls, WORDS.expectedCalls, WORDS.expectedCallsIn],
  ] as const;
  const there = parts.filter(([name, values]) => name === "input" || values.some((value) => value.kind !== "missing"));
  return (
    <section class="in-out compared-given" aria-label={WORDS.given}>
      {there.map(([key, values, name, nameIn]) => (
        <div key={key} class="in-out-cell">
          <GivenValues values={values} name={name} nameIn={nameIn} sides={sides} />
        </div>
      ))}
    </section>
  );
}

/** A part of the case; where these are two cases, that of each, and what differs. */
function GivenValues({ values, name, nameIn, sides }: { values: ShownValue[]; name: string; nameIn: (run: string) => string; sides: [Side, Side] }) {
  const [one, two] = values;
  if (!one) return null;
  if (!two || one.text === two.text) return <Value name={name} value={one} first={SHORT} />;
  return (
    <>
      <Value name={nameIn(sides[0].name)} value={one} first={SHORT} />
      <Value name={nameIn(sides[1].name)} value={two} against={one} againstName={sides[0].name} first={SHORT} />
    </>
  );
}
