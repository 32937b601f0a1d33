// A point in time: how long ago, with the exact time in the title.
import { useEffect, useState } from "preact/hooks";
import { ago, exactTime } from "../numbers";
import { TEXTS } from "../texts";

const listeners = new Set<() => void>();
setInterval(() => !document.hidden && listeners.forEach((each) => each()), 30_000);

export function Ago({ at }: { at: string | null | undefined }) {
  const [, setTimes] = useState(0);
  useEffect(() => {
    const update = () => setTimes((times) => times + 1);
    listeners.add(update);
    return () => void listeners.delete(update);
  }, []);
  if (!at) return <span class="missing">{TEXTS.app.missing}</span>;
  return (
    <time dateTime={at} title={exactTime(at)}>
      {ago(at)}
    </time>
  );
}
