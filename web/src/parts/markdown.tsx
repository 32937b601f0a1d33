// Markdown of models, as elements: headings, lists, emphasis, code, tables, quotes and links whose target is shown. There is no raw HTML, and
// nothing is loaded: a picture is a chip. Every text takes time in proportion to its length, whatever it holds.
import type { ComponentChildren } from "preact";
import { TEXTS } from "../texts";
import { Plain, oneLine } from "./plain";
import { stretches } from "./prose";

/** Quotes and lists within each other. */
const DEEPEST = 8;
const MOST_COLUMNS = 50;

type Block =
  | { kind: "heading"; level: number; text: string }
  | { kind: "code"; language: string; text: string }
  | { kind: "quote"; lines: string[] }
  | { kind: "list"; isOrdered: boolean; start: number; items: string[][] }
  | { kind: "table"; head: string[]; align: string[]; rows: string[][] }
  | { kind: "rule" }
  | { kind: "paragraph"; text: string };

const FENCE = /^ {0,3}(`{3,}|~{3,}) *([\w+#.-]{0,40})[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const RULE = /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( +|\t|$)(.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const DIVIDER = /^ {0,3}\|? *:?-+:? *(?:\| *:?-+:? *)*\|? *$/;

export function Markdown({ text }: { text: string }) {
  return (
    <div class="markdown" dir="auto">
      {stretches(text.replaceAll("\r\n", "\n"), 64_000).map((part, index) => (
        <div key={index} class={index > 0 ? "prose-stretch" : undefined}>
          <Blocks lines={part.split("\n")} depth={0} />
        </div>
      ))}
    </div>
  );
}

/** Whether a text was most likely written as Markdown. */
export function looksLikeMarkdown(text: string): boolean {
  const start = text.slice(0, 4000);
  let signs = 0;
  if (/^#{1,6} \S/m.test(start)) signs += 2;
  if (/^```/m.test(start)) signs += 2;
  if (/^ {0,3}[-*] \S.*\n {0,3}[-*] \S/m.test(start) || /^ {0,3}\d[.)] \S.*\n/m.test(start)) signs += 1;
  if (/(^|[\s(])\*\*[^\s*]([^*\n]{0,200}[^\s*])?\*\*/.test(start)) signs += 2;
  if (/\]\(https?:/.test(start) || /`[^`\n]{1,200}`/.test(start)) signs += 1;
  if (/^\|? *:?-{2,}:? *\|/m.test(start)) signs += 2;
  return signs >= 2;
}

function Blocks({ lines, depth }: { lines: string[]; depth: number }) {
  if (depth > DEEPEST) return <Plain text={lines.join("\n")} />;
  return <>{blocksOf(lines).map((block, index) => drawn(block, depth, index))}</>;
}

function blocksOf(lines: string[]): Block[] {
  const found: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at]!;
    if (!line.trim()) {
      at++;
      continue;
    }
    const [block, next] = fenced(lines, at) ?? heading(lines, at) ?? quote(lines, at) ?? list(lines, at) ?? table(lines, at) ?? paragraph(lines, at);
    found.push(block);
    at = next;
  }
  return found;
}

type Read = [Block, number] | null;

function fenced(lines: string[], at: number): Read {
  const open = FENCE.exec(lines[at]!);
  if (!open) return null;
  const mark = open[1]!;
  let end = at + 1;
  while (end < lines.length && !isClosing(lines[end]!, mark)) end++;
  return [{ kind: "code", language: open[2] ?? "", text: lines.slice(at + 1, end).join("\n") }, end + 1];
}

function isClosing(line: string, mark: string): boolean {
  const text = line.trim();
  return text.length >= mark.length && text[0] === mark[0] && text === mark[0]!.repeat(text.length);
}

function heading(lines: string[], at: number): Read {
  const match = HEADING.exec(lines[at]!);
  if (match) return [{ kind: "heading", level: match[1]!.length, text: match[2]!.trimEnd().replace(/ #+$/, "") }, at + 1];
  return RULE.test(lines[at]!.trimEnd()) ? [{ kind: "rule" }, at + 1] : null;
}

function quote(lines: string[], at: number): Read {
  const inner: string[] = [];
  let end = at;
  for (let match; end < lines.length && (match = QUOTE.exec(lines[end]!)); end++) inner.push(match[1]!);
  return inner.length ? [{ kind: "quote", lines: inner }, end] : null;
}

function list(lines: string[], at: number): Read {
  const first = ITEM.exec(lines[at]!);
  if (!first) return null;
  const isOrdered = first[2]!.length > 1;
  const items: string[][] = [];
  let indent = 0;
  let end = at;
  for (; end < lines.length; end++) {
    const line = lines[end]!;
    const item = ITEM.exec(line);
    const space = line.length - line.trimStart().length;
    if (item && item[2]!.length > 1 === isOrdered && space < Math.max(indent, 1) && !RULE.test(line.trimEnd())) {
      indent = item[1]!.length + item[2]!.length + Math.min(item[3]!.length || 1, 4);
      items.push([item[4]!]);
    } else if (!line.trim()) {
      const next = lines[end + 1] ?? "";
      if (!next.trim() || (next.length - next.trimStart().length < indent && !ITEM.test(next))) break;
      items[items.length - 1]!.push("");
    } else if (space >= indent) items[items.length - 1]!.push(line.slice(indent));
    else if (lines[end - 1]!.trim() && !HEADING.test(line) && !FENCE.test(line) && !item && !QUOTE.test(line)) items[items.length - 1]!.push(line.trim());
    else break;
  }
  return [{ kind: "list", isOrdered, start: Number.parseInt(first[2]!, 10) || 0, items }, end];
}

function table(lines: string[], at: number): Read {
  const divider = lines[at + 1];
  if (!divider || !lines[at]!.includes("|") || !divider.includes("-") || divider.length > 2000 || !DIVIDER.test(divider)) return null;
  const head = cellsOf(lines[at]!);
  const align = cellsOf(divider).map((cell) => (cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "end") : ""));
  if (head.length !== align.length) return null;
  const rows: string[][] = [];
  let end = at + 2;
  for (; end < lines.length && lines[end]!.includes("|"); end++) rows.push(cellsOf(lines[end]!).slice(0, head.length));
  return [{ kind: "table", head, align, rows }, end];
}

function cellsOf(line: string): string[] {
  const inner = line.trim().replace(/^\|/, "").replace(/(^|[^\\])\|$/, "$1");
  return inner.split(/(?<!\\)\|/, MOST_COLUMNS).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function paragraph(lines: string[], at: number): [Block, number] {
  let end = at + 1;
  while (end < lines.length && lines[end]!.trim() && !HEADING.test(lines[end]!) && !FENCE.test(lines[end]!) && !QUOTE.test(lines[end]!)) {
    const item = ITEM.exec(lines[end]!);
    if ((item && item[4]) || RULE.test(lines[end]!.trimEnd())) break;
    end++;
  }
  return [{ kind: "paragraph", text: lines.slice(at, end).join("\n") }, end];
}

function drawn(block: Block, depth: number, key: number): ComponentChildren {
  switch (block.kind) {
    case "heading": {
      return (
        <div key={key} role="heading" aria-level={Math.min(block.level + 3, 9)} class={`markdown-heading level-${block.level}`}>
          <Inline text={block.text} />
        </div>
      );
    }
    case "code":
      return (
        <pre key={key} dir="ltr" title={oneLine(block.language, 40) || undefined}>
          <code>
            <Plain text={block.text} chips />
          </code>
        </pre>
      );
    case "quote":
      return (
        <blockquote key={key}>
          <Blocks lines={block.lines} depth={depth + 1} />
        </blockquote>
      );
    case "list": {
      const items = block.items.map((lines, index) => (
        <li key={index}>
          <Task lines={lines} depth={depth} />
        </li>
      ));
      return block.isOrdered ? (
        <ol key={key} start={block.start}>
          {items}
        </ol>
      ) : (
        <ul key={key}>{items}</ul>
      );
    }
    case "table":
      return <Table key={key} block={block} />;
    case "rule":
      return <hr key={key} />;
    case "paragraph":
      return (
        <p key={key}>
          <Inline text={block.text} />
        </p>
      );
  }
}

function Task({ lines, depth }: { lines: string[]; depth: number }) {
  const box = /^\[([ xX])\] /.exec(lines[0] ?? "");
  const rest = box ? [lines[0]!.slice(4), ...lines.slice(1)] : lines;
  const isTight = !rest.slice(0, -1).some((line) => !line.trim()) && rest.length === 1;
  return (
    <>
      {box && <span role="img" aria-label={box[1] === " " ? TEXTS.value.open : TEXTS.value.done}>{box[1] === " " ? "☐ " : "☑ "}</span>}
      {isTight ? <Inline text={rest[0]!} /> : <Blocks lines={rest} depth={depth + 1} />}
    </>
  );
}

function Table({ block }: { block: Extract<Block, { kind: "table" }> }) {
  return (
    <div class="markdown-table" tabIndex={0} role="group" aria-label={TEXTS.value.table}>
      <table>
        <thead>
          <tr>
            {block.head.map((cell, index) => (
              <th key={index} scope="col" class={block.align[index]}>
                <Inline text={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {block.rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, index) => (
                <td key={index} class={block.align[index]}>
                  <Inline text={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// ---------------------------------------------------------------------- within a line

const SPECIAL = /[\\`*_~![<h]/g;
const ESCAPED = /[!-/:-@[-`{-~]/;
const MOST_PARTS = 5000;

function Inline({ text }: { text: string }) {
  return <>{new Reader(text).read(0)}</>;
}

/** Reads a text from left to right. What has no end further on is remembered, so that it is looked for once. */
class Reader {
  private readonly hopeless = new Map<string, number>();
  private parts = 0;

  constructor(private readonly text: string) {}

  read(depth: number, from = 0, end = this.text.length): ComponentChildren[] {
    const found: ComponentChildren[] = [];
    let plain = "";
    let at = from;
    const flush = () => {
      if (plain) found.push(<Plain text={plain} chips />);
      plain = "";
    };
    while (at < end) {
      SPECIAL.lastIndex = at;
      const next = this.parts > MOST_PARTS || depth > DEEPEST ? null : SPECIAL.exec(this.text);
      const stop = next && next.index < end ? next.index : end;
      plain += this.text.slice(at, stop);
      at = stop;
      if (at >= end) break;
      if (this.text[at] === "\\" && ESCAPED.test(this.text[at + 1] ?? "")) {
        plain += this.text[at + 1];
        at += 2;
        continue;
      }
      const special = this.special(at, end, depth);
      if (special) {
        flush();
        this.parts++;
        found.push(special[0]);
        at = special[1];
      } else plain += this.text[at++];
    }
    flush();
    return found;
  }

  private special(at: number, end: number, depth: number): [ComponentChildren, number] | null {
    switch (this.text[at]) {
      case "`":
        return this.code(at, end);
      case "*":
      case "_":
      case "~":
        return this.emphasis(at, end, depth);
      case "!":
        return this.text[at + 1] === "[" ? this.picture(at, end) : null;
      case "[":
        return this.link(at, end, depth);
      case "<":
        return this.bare(at + 1, end, ">");
      default:
        return this.text.startsWith("http", at) && !/\w/.test(this.text[at - 1] ?? "") ? this.bare(at, end, null) : null;
    }
  }

  /** Where `mark` comes next, if it does before `end`. */
  private find(mark: string, from: number, end: number): number {
    if (from >= (this.hopeless.get(mark) ?? Infinity)) return -1;
    const found = this.text.indexOf(mark, from);
    if (found < 0) this.hopeless.set(mark, from);
    return found >= 0 && found + mark.length <= end ? found : -1;
  }

  private code(at: number, end: number): [ComponentChildren, number] | null {
    const mark = /^`{1,10}/.exec(this.text.slice(at, at + 10))![0];
    const close = this.find(mark, at + mark.length, end);
    if (close < 0) return null;
    const inside = this.text.slice(at + mark.length, close).replace(/^ (.*) $/s, "$1");
    return [
      <code>
        <Plain text={inside} />
      </code>,
      close + mark.length,
    ];
  }

  private emphasis(at: number, end: number, depth: number): [ComponentChildren, number] | null {
    const sign = this.text[at]!;
    const isDouble = this.text[at + 1] === sign;
    if (sign === "~" && !isDouble) return null;
    const mark = isDouble ? sign + sign : sign;
    const inside = at + mark.length;
    if (/\s/.test(this.text[inside] ?? " ") || (sign === "_" && /\w/.test(this.text[at - 1] ?? ""))) return null;
    const close = this.closing(mark, inside + 1, end);
    if (close < 0) return null;
    const children = this.read(depth + 1, inside, close);
    return [sign === "~" ? <s>{children}</s> : isDouble ? <strong>{children}</strong> : <em>{children}</em>, close + mark.length];
  }

  private closing(mark: string, from: number, end: number): number {
    for (let at = this.find(mark, from, end), tries = 0; at >= 0 && tries < 20; at = this.find(mark, at + mark.length, end), tries++) {
      const isSpaced = /[\s\\]/.test(this.text[at - 1]!);
      const isWithin = mark[0] === "_" && /\w/.test(this.text[at + mark.length] ?? "");
      if (mark.length === 1 && this.text[at + 1] === mark) at++;
      else if (!isSpaced && !isWithin) return at;
    }
    return -1;
  }

  /** `[text](target)`: where the text and the target end. */
  private target(at: number, end: number): { text: [number, number]; href: string; next: number } | null {
    const close = this.find("](", at + 1, end);
    if (close < 0 || close - at > 2000 || this.text.slice(at + 1, close).includes("\n\n")) return null;
    const last = this.find(")", close + 2, end);
    if (last < 0) return null;
    const whole = this.text.slice(close + 2, last);
    if (whole.length > 2000 && !whole.startsWith("data:")) return null;
    const href = whole.trim().split(/\s/, 1)[0]!.replace(/^<(.*)>$/, "$1");
    return { text: [at + 1, close], href, next: last + 1 };
  }

  private picture(at: number, end: number): [ComponentChildren, number] | null {
    const found = this.target(at + 1, end);
    if (!found) return null;
    if (found.href.startsWith("data:")) return [<Plain text={this.text.slice(at, found.next)} chips />, found.next];
    const name = this.text.slice(...found.text);
    return [
      <span class="chip" title={TEXTS.value.pictureAbout}>
        <span class="chip-name">{TEXTS.value.pictureOf}</span>
        {name && <Plain text={name.slice(0, 200)} />}
        <span class="link-target">
          <Plain text={found.href.slice(0, 200)} />
        </span>
      </span>,
      found.next,
    ];
  }

  private link(at: number, end: number, depth: number): [ComponentChildren, number] | null {
    const found = this.target(at, end);
    const href = found && safeTarget(found.href);
    if (!found || !href) return null;
    return [
      <Link href={href}>
        <span class="link-text">{this.read(depth + 1, ...found.text)}</span>
      </Link>,
      found.next,
    ];
  }

  /** An address that stands in the text. */
  private bare(at: number, end: number, close: string | null): [ComponentChildren, number] | null {
    const match = /^https?:\/\/[^\s<>"'`\\^{}|]+/.exec(this.text.slice(at, Math.min(end, at + 2000)));
    const written = close ? match?.[0] : match?.[0].replace(/[.,;:!?)\]*_]+$/, "");
    const href = written && safeTarget(written);
    if (!written || !href || (close && this.text[at + written.length] !== close)) return null;
    return [<Link href={href} />, at + written.length + (close ? 1 : 0)];
  }
}

/** The address of a link that may be followed: only to the web or to a mailbox. */
export function safeTarget(written: string): string | null {
  if (!/^(https?:\/\/|mailto:)/i.test(written)) return null;
  try {
    const address = new URL(written);
    return ["http:", "https:", "mailto:"].includes(address.protocol) && !address.username && !address.password ? address.href : null;
  } catch {
    return null;
  }
}

/** A link to elsewhere, with where it goes. */
function Link({ href, children }: { href: string; children?: ComponentChildren }) {
  const shown = oneLine(href, 80);
  return (
    <a class="away" href={href} target="_blank" rel="noopener noreferrer nofollow" title={oneLine(href, 400)}>
      {children}
      <span class="link-target">{shown}</span>
    </a>
  );
}
