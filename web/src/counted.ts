// Runs that were never counted are counted by the server in the background: what shows their numbers asks again until it has them.
import { useEffect, useRef } from "preact/hooks";
import type { Asked } from "./api";

const PATIENCE = 1000;
const MOST = 12;

/** Ask again while some numbers are missing that may come: less and less often, and not for ever. */
export function useCounted<T>(isMissing: boolean, asked: Asked<T>): void {
  const times = useRef(0);
  useEffect(() => {
    if (!isMissing || times.current >= MOST) return undefined;
    times.current += 1;
    const timer = setTimeout(asked.again, PATIENCE * times.current);
    return () => clearTimeout(timer);
  }, [asked.answer, isMissing]);
}
