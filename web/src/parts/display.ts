// How much room there is, and how someone likes tables.
import { useEffect, useState } from "preact/hooks";

const NARROW = matchMedia("(max-width: 640px)");
const PLAIN = "calipers:plain";

export function useIsNarrow(): boolean {
  const [isNarrow, setIsNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const update = () => setIsNarrow(NARROW.matches);
    NARROW.addEventListener("change", update);
    return () => NARROW.removeEventListener("change", update);
  }, []);
  return isNarrow;
}

/** Whether long tables come as plain pages. */
export function useIsPlain(): [boolean, (isPlain: boolean) => void] {
  const [isPlain, setIsPlain] = useState(localStorage.getItem(PLAIN) === "yes");
  const keep = (wanted: boolean) => {
    if (wanted) localStorage.setItem(PLAIN, "yes");
    else localStorage.removeItem(PLAIN);
    setIsPlain(wanted);
  };
  return [isPlain, keep];
}
