// Text of others, as text. What cannot be seen, or would change how the text around it reads, is shown as its code point; colour codes of
// terminals are left out, but nothing that could hold words; a picture or a sound written as text is a chip.
import type { ComponentChildren } from "preact";
import "./value.css";
import { TEXTS } from "../texts";
import { Chip, foundFiles } from "./chip";

const ANSI = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]/g;
/** What is worth a second look: all else is put on the page as it is. */
const SUSPECT =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc\ud800-\udfff\u{e0000}-\u{e0fff}]|\p{M}{9}/u;
const HIDDEN =
  /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc\ud800-\udfff])\1*|[\u{e0000}-\u{e0fff}]+|(?<=\p{M}{8})\p{M}+/gu;
/** Letters that are joined or kept apart by invisible characters in ordinary writing. */
const JOINING =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gujarati}\p{Script=Gurmukhi}\p{Script=Kannada}\p{Script=Khmer}\p{Script=Malayalam}\p{Script=Oriya}\p{Script=Sinhala}\p{Script=Tamil}\p{Script=Telugu}]/u;
const PICTURE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]/u;
const MOST_MARKS = 500;

/** Part of a text: what can stand as it is, or what is shown by its name. */
export type Piece = string | { mark: string; about: string };

/** A text without the codes by which terminals change colours, and with one kind of line end. */
export function withoutCodes(text: string): string {
  const plain = text.includes("\u001b") || text.includes("\u009b") ? text.replace(ANSI, "") : text;
  return plain.includes("\r\n") ? plain.replaceAll("\r\n", "\n") : plain;
}

/** The parts of a text. Whatever it holds, there are at most a thousand of them. */
export function pieces(given: string): Piece[] {
  const text = withoutCodes(given);
  if (!SUSPECT.test(text)) return [text];
  const found: Piece[] = [];
  let last = 0;
  let marks = 0;
  let kept = "";
  for (const match of text.matchAll(HIDDEN)) {
    const end = match.index + match[0].length;
    if (isOrdinary(text, match.index, end, match[0])) continue;
    const shown = named(match[0]);
    kept += text.slice(last, match.index);
    last = end;
    if (marks++ >= MOST_MARKS) {
      kept += `⟨${shown.mark}⟩`;
      continue;
    }
    if (kept) found.push(kept);
    kept = "";
    found.push(shown);
  }
  kept += text.slice(last);
  if (kept) found.push(kept);
  return found;
}

function isOrdinary(text: string, start: number, end: number, run: string): boolean {
  const before = characterBefore(text, start);
  const after = String.fromCodePoint(text.codePointAt(end) ?? 32);
  if (run === "\u200d") return (PICTURE.test(before) && PICTURE.test(after)) || (JOINING.test(before) && JOINING.test(after));
  if (run === "\u200c") return JOINING.test(before) && JOINING.test(after);
  if (run === "\ufe0f" || run === "\ufe0e") return PICTURE.test(before) || /[#*0-9©®\u2000-\u3300]/.test(before);
  return false;
}

function characterBefore(text: string, at: number): string {
  const low = text.charCodeAt(at - 1);
  return low >= 0xdc00 && low <= 0xdfff ? text.slice(at - 2, at) : text.slice(at - 1, at);
}

function named(run: string): { mark: string; about: string } {
  const point = run.codePointAt(0) ?? 0;
  if (point >= 0xe0000) return smuggled(run);
  if (/\p{M}/u.test(run) && point !== 0x34f && !(point >= 0x180b && point <= 0x180f) && !(point >= 0xfe00 && point <= 0xfe0f))
    return { mark: TEXTS.plain.marks(run.length), about: TEXTS.plain.tooManyMarks };
  const code = `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
  const names: Record<number, string> = TEXTS.plain.names;
  return { mark: run.length > 1 ? `${code} ×${run.length}` : code, about: names[point] ?? TEXTS.plain.invisible };
}

/** Letters of a text that no one sees, as they are used to give a model orders: shown. */
function smuggled(run: string): { mark: string; about: string } {
  const letters = Array.from(run, (each) => {
    const low = (each.codePointAt(0) ?? 0) - 0xe0000;
    return low >= 0x20 && low < 0x7f ? String.fromCharCode(low) : "·";
  });
  const shown = letters.slice(0, 200).join("") + (letters.length > 200 ? "…" : "");
  return { mark: TEXTS.plain.hidden(shown), about: TEXTS.plain.hiddenAbout };
}

/** A text of others within a line or a paragraph of the page. */
export function Plain({ text, chips = false }: { text: string; chips?: boolean }) {
  const files = chips ? foundFiles(text) : [];
  if (!files.length) return <bdi class="plain">{drawn(pieces(text))}</bdi>;
  const parts: ComponentChildren[] = [];
  let last = 0;
  for (const file of files) {
    parts.push(drawn(pieces(text.slice(last, file.start))), <Chip file={file} text={text} />);
    last = file.end;
  }
  parts.push(drawn(pieces(text.slice(last))));
  return <bdi class="plain">{parts}</bdi>;
}

function drawn(parts: Piece[]): ComponentChildren {
  if (parts.length === 1 && typeof parts[0] === "string") return parts[0];
  return parts.map((part) =>
    typeof part === "string" ? (
      part
    ) : (
      <span class="codepoint" title={part.about}>
        {part.mark}
      </span>
    ),
  );
}

/** Whether a text has nothing that might have to be written out. */
export function isVisible(text: string): boolean {
  return !SUSPECT.test(text);
}

/** A text with all that cannot be seen written out. */
export function visible(text: string): string {
  return pieces(text)
    .map((part) => (typeof part === "string" ? part : `⟨${part.mark}⟩`))
    .join("");
}

/** A text on one line, for titles and labels that take text only. */
export function oneLine(text: string, most = 200): string {
  const start = text.slice(0, most * 4);
  const line = visible(start).replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line.length && start.length < text.length ? `${line}…` : line;
}
