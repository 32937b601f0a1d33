// A value of a case: as text, as a conversation, as a JSON tree, as Markdown, or what differs from another value.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Refused, whole } from "../api";
import { TEXTS } from "../texts";
import type { ShownValue } from "../wire";
import { CopyButton } from "./copy";
import { Diff } from "./diff";
import { laidOut, looksLikeJson } from "./json-text";
import { JsonTree } from "./json-tree";
import { Markdown, looksLikeMarkdown } from "./markdown";
import { bytes, count } from "../numbers";
import { Prose } from "./prose";
import { TalkView } from "./talk";

export type Look = "talk" | "text" | "tree" | "markdown" | "diff";

/** What is longer is shown in part until someone asks for the rest. */
const FIRST = { characters: 3000, lines: 40 };
/** What the page loads and shows; anything longer is for downloading. */
const MOST_SHOWN = 20_000_000;
const REMEMBERED = "calipers:markdown";

interface ValueProps {
  value: ShownValue;
  /** What it is: `Output`. */
  name: string;
  /** What it can be compared with. */
  against?: ShownValue | undefined;
  againstName?: string | undefined;
  /** Whether the difference is shown; where this is given, `onDiff` is asked to change it. */
  isDiff?: boolean | undefined;
  onDiff?: ((wanted: boolean) => void) | undefined;
  /** How much of it is shown at first. */
  first?: { characters: number; lines: number } | undefined;
  /** More to stand in the bar. */
  children?: ComponentChildren;
  /** Without a heading: where what stands around says what it is. */
  isBare?: boolean | undefined;
}

export function Value({ value, name, against, againstName, isDiff, onDiff, first = FIRST, children, isBare = false }: ValueProps) {
  const [loaded, setLoaded] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState<Look | null>(null);
  useEffect(() => {
    setLoaded(null);
    setOpen(false);
  }, [value.text, value.href]);
  const text = loaded ?? value.text;
  const looks = useMemo(() => looksOf(value, text, against), [value, text, against]);
  const look: Look = isDiff && looks.includes("diff") ? "diff" : chosen && looks.includes(chosen) ? chosen : standard(value, looks);
  const showAll = async () => {
    setOpen(true);
    if (!value.href || loaded !== null) return;
    try {
      setLoaded(await whole(value.href));
      setProblem("");
    } catch (error) {
      setProblem(error instanceof Refused ? error.message : String(error));
    }
  };
  const choose = (wanted: Look) => {
    setChosen(wanted === "diff" ? null : wanted);
    if (wanted === "markdown" || wanted === "text") remember(wanted === "markdown");
    if ((wanted === "diff") !== !!isDiff) onDiff?.(wanted === "diff");
  };
  if (value.kind === "missing") return isBare ? <span class="quiet">{TEXTS.value.missing}</span> : <Empty name={name} />;
  return (
    <section class="value" aria-label={name}>
      <div class="value-bar">
        {!isBare && <h3>{name}</h3>}
        {looks.length > 1 && <Switch name={name} looks={looks} look={look} choose={choose} />}
        {children}
        <span class="value-tools">
          {value.length > 1000 && <span class="quiet">{TEXTS.value.characters(count(value.length))}</span>}
          <CopyButton text={async () => (value.href && loaded === null ? await whole(value.href) : text)} about={TEXTS.value.copyOf(name)} />
          {value.href && (
            <a class="small button" href={value.href} download data-plain title={TEXTS.value.downloadOf(name)}>
              {TEXTS.value.download}
            </a>
          )}
        </span>
      </div>
      <Body look={look} value={value} text={text} name={name} against={against} againstName={againstName ?? ""} isOpen={isOpen} first={first} />
      <Rest value={value} text={text} isLoaded={loaded !== null} isOpen={isOpen} first={first} look={look} showAll={() => void showAll()} close={() => setOpen(false)} />
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </section>
  );
}

function Empty({ name }: { name: string }) {
  return (
    <section class="value" aria-label={name}>
      <div class="value-bar">
        <h3>{name}</h3>
        <span class="quiet">{TEXTS.value.missing}</span>
      </div>
    </section>
  );
}

function Switch({ name, looks, look, choose }: { name: string; looks: Look[]; look: Look; choose: (look: Look) => void }) {
  return (
    <span class="switch" role="group" aria-label={TEXTS.value.looksOf(name)}>
      {looks.map((each) => (
        <button key={each} type="button" aria-pressed={each === look} onClick={() => choose(each)}>
          {TEXTS.value.looks[each]}
        </button>
      ))}
    </span>
  );
}

interface BodyProps {
  look: Look;
  value: ShownValue;
  text: string;
  name: string;
  against: ShownValue | undefined;
  againstName: string;
  isOpen: boolean;
  first: { characters: number; lines: number };
}

function Body({ look, value, text, name, against, againstName, isOpen, first }: BodyProps) {
  if (look === "diff" && against) return <Diff before={comparable(against)} after={comparable({ ...value, text })} beforeName={againstName} afterName={name} mono={value.kind === "json"} />;
  if (look === "talk" && value.talk) return <TalkView talk={value.talk} />;
  if (look === "tree") return <JsonTree text={text} name={name} />;
  const shown = isOpen ? text : beginning(text, first);
  if (look === "markdown") return <Markdown text={shown} />;
  if (text === "") return <p class="quiet">{TEXTS.value.empty}</p>;
  return <Prose text={value.kind === "json" ? laidOut(shown, { most: 4_000_000 }) : shown} mono={value.kind === "json"} />;
}

interface RestProps {
  value: ShownValue;
  text: string;
  isLoaded: boolean;
  isOpen: boolean;
  first: { characters: number; lines: number };
  look: Look;
  showAll: () => void;
  close: () => void;
}

/** What is not shown, and the way to it. */
function Rest({ value, text, isLoaded, isOpen, first, look, showAll, close }: RestProps) {
  const isCut = value.href !== null && !isLoaded;
  if (look === "talk") return null;
  const isFolded = !isOpen && (look === "text" || look === "markdown") && beginning(text, first).length < text.length;
  if (value.length > MOST_SHOWN && isCut)
    return (
      <p class="quiet">
        {TEXTS.value.tooLong(bytes(value.text.length), bytes(value.length))}
        {isFolded && <More onClick={showAll} text={TEXTS.value.showMore} />}
      </p>
    );
  if (isFolded || isCut) return <More onClick={showAll} text={TEXTS.value.showAll(count(value.length))} />;
  return isOpen && beginning(text, first).length < text.length ? <More onClick={close} text={TEXTS.value.less} /> : null;
}

function More({ onClick, text }: { onClick: () => void; text: string }) {
  return (
    <button type="button" class="more" onClick={onClick}>
      {text}
    </button>
  );
}

/** The first lines of a text; a few more where only a few would be left. */
function beginning(text: string, first: { characters: number; lines: number }): string {
  if (text.length <= first.characters && text.length < first.lines) return text;
  let end = -1;
  for (let line = 0; line < first.lines; line++) {
    end = text.indexOf("\n", end + 1);
    if (end < 0) break;
  }
  let cut = Math.min(end < 0 ? text.length : end, first.characters);
  if (cut === first.characters) cut = Math.max(text.lastIndexOf("\n", cut), text.lastIndexOf(" ", cut), cut * 0.8);
  return text.length - cut < first.characters / 10 && text.slice(cut).split("\n", 8).length < 6 ? text : text.slice(0, cut);
}

function looksOf(value: ShownValue, text: string, against: ShownValue | undefined): Look[] {
  const looks: Look[] = value.talk ? ["talk", "text"] : ["text"];
  if (value.kind === "json" ? /^\s*[[{"]/.test(text) : looksLikeJson(text)) looks.push("tree");
  if (value.kind === "text" && looksLikeMarkdown(text)) looks.push("markdown");
  if (against && against.kind !== "missing" && value.kind !== "missing") looks.push("diff");
  return looks;
}

function standard(value: ShownValue, looks: Look[]): Look {
  if (value.talk) return "talk";
  if (value.kind === "json" && looks.includes("tree")) return "tree";
  return looks.includes("markdown") && remembered() ? "markdown" : "text";
}

function comparable(value: ShownValue): string {
  return value.kind === "json" || looksLikeJson(value.text) ? laidOut(value.text, { sorted: true }) : value.text;
}

function remembered(): boolean {
  try {
    return localStorage.getItem(REMEMBERED) !== "no";
  } catch {
    return true;
  }
}

function remember(isMarkdown: boolean): void {
  try {
    localStorage.setItem(REMEMBERED, isMarkdown ? "yes" : "no");
  } catch {
    // a page that may keep nothing forgets it
  }
}
