// A button that copies, and says that it did.
import { useState } from "preact/hooks";
import { TEXTS } from "../texts";

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Where the page may not write to the clipboard: on plain HTTP from another machine. */
function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "said";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

export function CopyButton({ text, name = TEXTS.value.copy, about }: { text: () => string | Promise<string>; name?: string; about?: string }) {
  const [state, setState] = useState<"" | "done" | "failed">("");
  const press = async () => {
    setState((await copy(await text())) ? "done" : "failed");
    setTimeout(() => setState(""), 1500);
  };
  return (
    <button type="button" class="small" aria-label={about} title={about} onClick={() => void press()}>
      {state === "done" ? TEXTS.value.copied : state === "failed" ? TEXTS.value.notCopied : name}
      <span class="said" role="status">
        {state === "done" ? TEXTS.value.copied : ""}
      </span>
    </button>
  );
}
