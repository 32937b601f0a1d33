// A sentence of the report, with its parts in their tones.
import type { WirePart } from "../wire";

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
