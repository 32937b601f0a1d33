// A comparison of long runs that is still being made: how far it is, or why it ended without a result.
import { useEffect } from "preact/hooks";
import type { Asked } from "../api";
import { count } from "../numbers";
import { TEXTS } from "../texts";
import type { CompareReading } from "../wire";

const AGAIN = 600;

/** While long runs are compared, ask now and then how far that is. */
export function useReading(asked: Asked<{ reading: CompareReading | null }>): void {
  const reading = asked.answer?.reading;
  const isGoing = !!reading && !reading.failed && !asked.error;
  useEffect(() => {
    if (!isGoing) return undefined;
    const timer = setTimeout(asked.again, AGAIN);
    return () => clearTimeout(timer);
  }, [asked.answer, isGoing]);
}

export function Reading({ reading, again, about = TEXTS.compare.reading }: { reading: CompareReading; again: () => void; about?: string }) {
  if (reading.failed)
    return (
      <div class="trouble" role="alert">
        <p class="trouble-head">{TEXTS.compare.failed}</p>
        <p>{reading.failed}</p>
        <p class="trouble-ways">
          <button type="button" onClick={again}>
            {TEXTS.trouble.again}
          </button>
        </p>
      </div>
    );
  const text = TEXTS.compare.readSoFar(count(reading.read), count(reading.of));
  return (
    <section class="compare-reading" aria-label={TEXTS.compare.reading}>
      <p>{about}</p>
      <progress value={reading.of ? reading.read / reading.of : 0} aria-label={text} /> <span class="number">{text}</span>
    </section>
  );
}
