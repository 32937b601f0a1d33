// What two attempts gave: as one text with what is gone and what is new, side by side, or each against what was expected.
import { useMemo, useState } from "preact/hooks";
import { Refused, whole } from "../api";
import { useKeys } from "../keys";
import { count } from "../numbers";
import { TEXTS } from "../texts";
import type { ComparedAttempt, ShownValue } from "../wire";
import type { Side } from "./chosen-attempts";
import { Diff } from "./diff";
import { Traceback } from "./judgements";
import { laidOut, looksLikeJson } from "./json-text";
import { KeyCap } from "./key";
import { MarkShape } from "./mark";
import { HearingView, Player } from "./sound";
import { Value } from "./value";

const WORDS = TEXTS.comparedCase;
const FIRST = { characters: 6000, lines: 60 };

type Show = "both" | "sides" | "a" | "b";

interface OutputsProps {
  sides: [Side, Side];
  expected: ShownValue | undefined;
  show: string | null;
  change: (changes: Record<string, string | null>) => void;
}

export function Outputs({ sides, expected, show, change }: OutputsProps) {
  const [one, two] = sides.map((side) => side.attempt) as [ComparedAttempt | null, ComparedAttempt | null];
  const [before, after] = [one?.gave, two?.gave];
  const isExpected = expected !== undefined && expected.kind !== "missing";
  const isSame = !!before && !!after && before.kind === after.kind && before.text === after.text && before.length === after.length;
  const canDiffer = !!before && !!after && !isSame;
  const there: Show[] = [
    ...(canDiffer ? (["both"] as const) : []),
    "sides" as const,
    ...(isExpected && one && !one.failed ? (["a"] as const) : []),
    ...(isExpected && two && !two.failed ? (["b"] as const) : []),
  ];
  const usual: Show = canDiffer && !one?.failed && !two?.failed ? "both" : "sides";
  const look = there.find((each) => each === show) ?? usual;
  const choose = (wanted: Show) => change({ show: wanted === usual ? null : wanted });
  useKeys(WORDS.title, [{ keys: "d", does: WORDS.nextLook, when: there.length > 1, run: () => choose(there[(there.indexOf(look) + 1) % there.length]!) }]);
  if (!before && !after) return null;
  const text: Record<Show, string> = { both: WORDS.look.both, sides: isSame ? WORDS.look.once : WORDS.look.sides, a: WORDS.against(sides[0].letter), b: WORDS.against(sides[1].letter) };
  return (
    <section class="section outputs">
      <div class="section-head">
        <h2>{WORDS.output}</h2>
        {there.length > 1 && (
          <span class="switch" role="group" aria-label={WORDS.looks}>
            {there.map((each) => (
              <button key={each} type="button" aria-pressed={each === look} onClick={() => choose(each)}>
                {text[each]}
              </button>
            ))}
          </span>
        )}
        {there.length > 1 && <KeyCap name="d" />}
      </div>
      {look === "both" && <ValueDiff before={before!} after={after!} beforeName={`${sides[0].letter} ${sides[0].name}`} afterName={`${sides[1].letter} ${sides[1].name}`} />}
      {look === "a" && <ValueDiff before={expected!} after={before!} beforeName={WORDS.expected} afterName={`${sides[0].letter} ${sides[0].name}`} />}
      {look === "b" && <ValueDiff before={expected!} after={after!} beforeName={WORDS.expected} afterName={`${sides[1].letter} ${sides[1].name}`} />}
      {look === "sides" && isSame && <Value name={WORDS.sameOutput} value={before!} first={FIRST} />}
      {look === "sides" && !isSame && (
        <div class="two-sides">
          {sides.map((side) => (
            <div key={side.letter}>{side.attempt && <Gave side={side} attempt={side.attempt} />}</div>
          ))}
        </div>
      )}
      {sides.some((side) => side.attempt && (side.attempt.sounds.length > 0 || side.attempt.hearing)) && (
        <div class="two-sides">
          {sides.map((side) => (
            <div key={side.letter}>
              {side.attempt?.sounds.map((sound) => <Player key={sound.href} sound={{ ...sound, title: `${side.letter} ${sound.title}` }} />)}
              {side.attempt?.hearing && <HearingView hearing={side.attempt.hearing} />}
            </div>
          ))}
        </div>
      )}
    </section>
  );
}

function Gave({ side, attempt }: { side: Side; attempt: ComparedAttempt }) {
  const name = `${side.letter} ${side.name}`;
  return (
    <>
      <Value name={attempt.failed ? WORDS.errorOf(name) : WORDS.outputOf(name)} value={attempt.gave} first={FIRST}>
        {attempt.failed && <MarkShape mark="error" named />}
      </Value>
      {attempt.traceback && <Traceback text={attempt.traceback} />}
    </>
  );
}

/** Two values as one text: JSON with its keys in one order, so that only what differs is told. */
function ValueDiff({ before, after, beforeName, afterName }: { before: ShownValue; after: ShownValue; beforeName: string; afterName: string }) {
  const [loaded, setLoaded] = useState<[string, string] | null>(null);
  const [problem, setProblem] = useState("");
  const [one, two] = loaded ?? [before.text, after.text];
  const isJson = [before, after].some((value) => value.kind === "json") || (looksLikeJson(one) && looksLikeJson(two));
  const texts = useMemo(() => [one, two].map((text) => (isJson && looksLikeJson(text) ? laidOut(text, { sorted: true }) : text)) as [string, string], [one, two, isJson]);
  const isCut = !loaded && [before, after].some((value) => value.href !== null && value.text.length < value.length);
  const load = async () => {
    try {
      setLoaded((await Promise.all([before, after].map(async (value) => (value.href ? whole(value.href) : value.text)))) as [string, string]);
      setProblem("");
    } catch (error) {
      setProblem(error instanceof Refused ? error.message : String(error));
    }
  };
  return (
    <>
      <Diff before={texts[0]} after={texts[1]} beforeName={beforeName} afterName={afterName} mono={isJson} />
      {isCut && (
        <p class="quiet">
          {WORDS.bothTooLong(count(Math.max(one.length, two.length)), count(Math.max(before.length, after.length)))}{" "}
          <button type="button" class="more" onClick={() => void load()}>
            {WORDS.compareAll}
          </button>
        </p>
      )}
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}
