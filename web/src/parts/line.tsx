// A sentence of the report, with its parts in their tones.
import type { WirePart } from "../wire";
import { Plain } from "./plain";

/** A sentence with commands between backticks. */
export function WithCode({ text }: { text: string }) {
  return <>{text.split("`").map((part, place) => (place % 2 ? <code key={place}>{part}</code> : <Plain key={place} text={part} />))}</>;
}

export function Line({ parts }: { parts: WirePart[] }) {
  return (
    <>
      {parts.map((part, place) =>
        part.tone === "plain" ? (
          part.text
        ) : (
          <span key={place} class={`tone-${part.tone}`}>
            {part.text}
          </span>
        ),
      )}
    </>
  );
}
