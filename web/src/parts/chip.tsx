// A picture, a sound or another file that stands in a text as base64: its type and size. Nothing of it is decoded until someone asks.
import { useEffect, useState } from "preact/hooks";
import { TEXTS } from "../texts";
import { bytes } from "../numbers";

export interface FoundFile {
  start: number;
  end: number;
  /** Where the base64 begins. */
  from: number;
  type: string;
}

const ADDRESS = /data:([\w.+-]{1,60}\/[\w.+-]{1,60})?((?:;[\w-]{1,40}=[\w.-]{1,60}){0,4});base64,([A-Za-z0-9+/_=-]{40,})/g;
const RUN = /[A-Za-z0-9+/]{400,}={0,2}/g;
/** How files begin, in base64; what a file says of itself goes before what a text says of it. */
const BEGINNINGS: [string, string][] = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGODlh", "image/gif"],
  ["R0lGODdh", "image/gif"],
  ["T2dnUw", "audio/ogg"],
  ["ZkxhQw", "audio/flac"],
  ["SUQz", "audio/mpeg"],
  ["JVBERi0", "application/pdf"],
  ["UEsDB", "application/zip"],
  ["H4sI", "application/gzip"],
];
const SHOWN = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const ENDINGS: Record<string, string> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "audio/ogg": "ogg",
  "audio/wav": "wav",
  "audio/flac": "flac",
  "audio/mpeg": "mp3",
  "application/pdf": "pdf",
  "application/zip": "zip",
  "application/gzip": "gz",
};

/** The files in a text, in their order. */
export function foundFiles(text: string): FoundFile[] {
  if (text.length < 60) return [];
  const found: FoundFile[] = [];
  if (text.includes(";base64,"))
    for (const match of text.matchAll(ADDRESS)) {
      const from = match.index + match[0].length - (match[3] ?? "").length;
      found.push({ start: match.index, end: match.index + match[0].length, from, type: typeOf(text, from) ?? match[1] ?? "text/plain" });
    }
  if (text.length >= 400)
    for (const match of text.matchAll(RUN)) {
      const type = typeOf(text, match.index);
      const isKnown = found.some((each) => match.index < each.end && match.index >= each.start);
      if (type && !isKnown) found.push({ start: match.index, end: match.index + match[0].length, from: match.index, type });
    }
  return found.sort((one, other) => one.start - other.start);
}

function typeOf(text: string, at: number): string | undefined {
  const start = text.slice(at, at + 20);
  if (start.startsWith("UklGR")) return { QVZF: "audio/wav", RUJQ: "image/webp" }[start.slice(12, 16)];
  return BEGINNINGS.find(([beginning]) => start.startsWith(beginning))?.[1];
}

function decoded(base64: string, type: string): Blob | null {
  try {
    const text = atob(base64.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, ""));
    return new Blob([Uint8Array.from(text, (each) => each.charCodeAt(0))], { type });
  } catch {
    return null;
  }
}

export function Chip({ file, text }: { file: FoundFile; text: string }) {
  const [picture, setPicture] = useState<string | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => () => void (picture && URL.revokeObjectURL(picture)), [picture]);
  const size = Math.floor(((file.end - file.from) * 3) / 4);
  const safe = ENDINGS[file.type] ? file.type : "application/octet-stream";
  const open = (use: (href: string) => void) => {
    const blob = decoded(text.slice(file.from, file.end), safe);
    setFailed(!blob);
    if (blob) use(URL.createObjectURL(blob));
  };
  return (
    <span class="chip">
      <span class="chip-name">
        {file.type} · {bytes(size)}
      </span>
      {SHOWN.includes(file.type) && (
        <button type="button" onClick={() => (picture ? setPicture(null) : open(setPicture))} aria-expanded={!!picture}>
          {picture ? TEXTS.value.hide : TEXTS.value.look}
        </button>
      )}
      <button type="button" onClick={() => open((href) => save(href, `value.${ENDINGS[file.type] ?? "bin"}`))}>
        {TEXTS.value.save}
      </button>
      {failed && <span role="status">{TEXTS.value.broken}</span>}
      {picture && <img class="chip-picture" src={picture} alt={TEXTS.value.picture(file.type)} />}
    </span>
  );
}

/** Keep something that the page made as a file. */
export function save(href: string, name: string): void {
  const link = document.createElement("a");
  link.href = href;
  link.download = name;
  link.dataset["plain"] = "";
  link.click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}
