// A long text as a block. It is put on the page in stretches, and the browser lays out only those that are seen: ten megabytes on one line
// are as quick as ten kilobytes.
import { foundFiles } from "./chip";
import { Plain } from "./plain";

const STRETCH = 16_000;

/** Where a text may be cut so that neither a line nor a file within it falls apart, unless a line is very long. */
export function stretches(text: string, size: number = STRETCH): string[] {
  if (text.length <= size) return [text];
  const files = foundFiles(text);
  const found: string[] = [];
  let start = 0;
  let file = 0;
  while (start < text.length) {
    let end = Math.min(start + size, text.length);
    if (end < text.length) {
      const line = text.lastIndexOf("\n", end - 1);
      if (line > start) end = line + 1;
      else end -= isHalf(text, end) ? 1 : 0;
    }
    while (file < files.length && files[file]!.end <= start) file++;
    const within = files[file];
    if (within && within.start < end && within.end > end) end = within.end;
    found.push(text.slice(start, end));
    start = end;
  }
  return found;
}

function isHalf(text: string, at: number): boolean {
  const code = text.charCodeAt(at - 1);
  return code >= 0xd800 && code < 0xdc00;
}

/** Line ends of a text that is cut in stretches would each show as an empty line. */
function withoutLastEnd(text: string): string {
  return text.endsWith("\n") ? text.slice(0, text.endsWith("\r\n") ? -2 : -1) : text;
}

export function Prose({ text, mono = false }: { text: string; mono?: boolean }) {
  const parts = stretches(text);
  const name = mono ? "prose mono" : "prose";
  if (parts.length === 1)
    return (
      <div class={name} dir="auto">
        <Plain text={text} chips />
      </div>
    );
  return (
    <div class={name}>
      {parts.map((part, index) => (
        <div key={index} class="prose-stretch" dir="auto">
          <Plain text={withoutLastEnd(part)} chips />
        </div>
      ))}
    </div>
  );
}
