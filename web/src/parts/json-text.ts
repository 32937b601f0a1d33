// JSON as text that is read in place: nothing is parsed before it is looked at, numbers stay as they were written, and neither depth nor size
// can break it. A text that was cut is read as far as it goes.
export type JsonKind = "object" | "array" | "string" | "number" | "word" | "cut";

export interface JsonPart {
  /** The key, decoded; an index in an array; `null` at the top. */
  key: string | number | null;
  start: number;
  end: number;
  kind: JsonKind;
  /** Members of an object or an array. */
  size: number;
  /** Whether the text ended before it did. */
  isCut: boolean;
}

export interface Members {
  parts: JsonPart[];
  /** Where to go on; `null`: these were all. */
  rest: number | null;
}

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;

function skipSpace(text: string, at: number): number {
  while (at < text.length && text.charCodeAt(at) <= 32) at++;
  return at;
}

/** The place after a string that begins at `at`. */
function skipString(text: string, at: number): number {
  for (let place = at + 1; ; ) {
    const quote = text.indexOf('"', place);
    if (quote < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(quote - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return quote + 1;
    place = quote + 1;
  }
}

/** The value that begins at `at`, with its end and how many members it has. */
export function partAt(text: string, at: number, key: string | number | null = null): JsonPart {
  const start = skipSpace(text, at);
  const first = text[start];
  if (first === undefined) return { key, start, end: start, kind: "cut", size: 0, isCut: true };
  if (first === '"') {
    const end = skipString(text, start);
    const isCut = end === text.length && !(end - start > 1 && text[end - 1] === '"' && isClosed(text, start, end));
    return { key, start, end, kind: "string", size: 0, isCut };
  }
  if (first === "{" || first === "[") return container(text, start, key, first === "{" ? "object" : "array");
  let end = start;
  while (end < text.length && !/[\s,\]}]/.test(text[end]!)) end++;
  if (end === start) end++;
  const kind = /^-?\d/.test(text.slice(start, start + 2)) ? "number" : "word";
  return { key, start, end, kind, size: 0, isCut: false };
}

function isClosed(text: string, start: number, end: number): boolean {
  let slashes = 0;
  while (end - 2 - slashes > start && text.charCodeAt(end - 2 - slashes) === BACKSLASH) slashes++;
  return slashes % 2 === 0;
}

function container(text: string, start: number, key: string | number | null, kind: "object" | "array"): JsonPart {
  let depth = 0;
  let commas = 0;
  let hasMember = false;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      hasMember = true;
      at = skipString(text, at) - 1;
    } else if (code === 123 || code === 91) {
      if (depth++ > 0) hasMember = true;
    } else if (code === 125 || code === 93) {
      if (--depth === 0) return { key, start, end: at + 1, kind, size: hasMember ? commas + 1 : 0, isCut: false };
    } else if (code === COMMA) {
      if (depth === 1) commas++;
    } else if (code > 32) hasMember = true;
  }
  return { key, start, end: text.length, kind, size: hasMember ? commas + 1 : 0, isCut: true };
}

/** The members of an object or an array, at most `most` of them, from place `from` on (with the index `index`). */
export function membersOf(text: string, part: JsonPart, most: number, from: number = part.start + 1, index = 0): Members {
  const parts: JsonPart[] = [];
  const last = part.isCut ? part.end : part.end - 1;
  let at = skipSpace(text, from);
  while (at < last) {
    if (parts.length >= most) return { parts, rest: at };
    let key: string | number = index + parts.length;
    if (part.kind === "object") {
      if (text.charCodeAt(at) !== QUOTE) break;
      const end = skipString(text, at);
      key = decoded(text.slice(at, end));
      at = skipSpace(text, end);
      if (text[at] !== ":") break;
      at++;
    }
    const member = partAt(text, at, key);
    parts.push(member);
    at = skipSpace(text, Math.max(member.end, at + 1));
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return { parts, rest: null };
}

/** What a string says; one that was cut says as much as there is of it. */
export function decoded(literal: string): string {
  try {
    return JSON.parse(literal) as string;
  } catch {
    const inner = literal.replace(/^"/, "").replace(/\\(u[\da-fA-F]{0,3})?$/, "");
    try {
      return JSON.parse(`"${inner}"`) as string;
    } catch {
      return inner;
    }
  }
}

/** Whether a text could be JSON of an object or an array; it is not read to its end. */
/** The beginning of an object or a list of them in the words that it has, for a line of a table: `question: Where is it?, order: 17`. Other texts stay as they are. */
export function jsonInWords(text: string): string {
  if (!/^\[?\{\s*"/.test(text)) return text;
  let depth = text.startsWith("[") ? -1 : 0;
  return text.replace(/"((?:[^"\\]|\\.)*)(?:"|$)(\s*:\s*)?|[{}[\],]/g, (part, said: string | undefined, colon: string | undefined) => {
    if (said !== undefined) return spokenString(said) + (colon ? ": " : "");
    if (part === ",") return ", ";
    const isOuter = "{[".includes(part) ? depth++ < 1 : --depth < 1;
    return isOuter ? "" : part;
  });
}

/** A string of JSON without its escapes; one that was cut within an escape as it is. */
function spokenString(said: string): string {
  try {
    return JSON.parse(`"${said}"`) as string;
  } catch {
    return said;
  }
}

export function looksLikeJson(text: string): boolean {
  const start = text.slice(0, 200).trimStart();
  if (!/^(\{\s*("|\}|$)|\[)/.test(start)) return false;
  if (text.length > 2_000_000) return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Levels that are laid out, or opened in a tree; what is deeper stays on one line. */
export const DEEPEST = 64;

/** One part on each line, so that it can be read and compared; with `sorted`, keys in the order of the alphabet. */
export function laidOut(text: string, options: { sorted?: boolean; most?: number } = {}): string {
  const most = options.most ?? 400_000;
  const lines: string[] = [];
  let length = 0;
  const stack: JsonTask[] = [{ part: partAt(text, 0), depth: 0, before: "", after: "" }];
  while (stack.length && length < most) {
    const task = stack.pop()!;
    const space = "  ".repeat(task.depth);
    let line: string;
    if (!task.part) line = space + task.before + task.after;
    else if ((task.part.kind === "object" || task.part.kind === "array") && task.part.size > 0 && task.depth < DEEPEST) {
      const [open, close] = task.part.kind === "object" ? ["{", "}"] : ["[", "]"];
      line = space + task.before + open;
      stack.push({ part: null, depth: task.depth, before: close, after: task.after });
      const { parts, rest } = membersOf(text, task.part, 50_000);
      if (rest !== null) stack.push({ part: null, depth: task.depth + 1, before: "…", after: "" });
      if (options.sorted && task.part.kind === "object") parts.sort((one, other) => (String(one.key) < String(other.key) ? -1 : 1));
      for (let index = parts.length - 1; index >= 0; index--) {
        const part = parts[index]!;
        const before = task.part.kind === "object" ? `${JSON.stringify(part.key)}: ` : "";
        stack.push({ part, depth: task.depth + 1, before, after: index < parts.length - 1 ? "," : "" });
      }
    } else line = space + task.before + text.slice(task.part.start, task.part.end) + task.after;
    lines.push(line);
    length += line.length + 1;
  }
  return lines.join("\n");
}

interface JsonTask {
  part: JsonPart | null;
  depth: number;
  before: string;
  after: string;
}

/** The way to a part, as programs write it: `$.items[3]["a b"]`. */
export function pathText(keys: readonly (string | number)[]): string {
  return "$" + keys.map((key) => (typeof key === "number" ? `[${key}]` : /^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`)).join("");
}
