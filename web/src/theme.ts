// Light or dark: as the system has it, unless someone chose.
import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark" | "system";

const KEPT = "calipers:theme";

export function keptTheme(): Theme {
  const kept = localStorage.getItem(KEPT);
  return kept === "light" || kept === "dark" ? kept : "system";
}

function isDark(theme: Theme): boolean {
  return theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
}

export function showTheme(theme: Theme): void {
  if (theme === "system") {
    localStorage.removeItem(KEPT);
    delete document.documentElement.dataset["theme"];
  } else {
    localStorage.setItem(KEPT, theme);
    document.documentElement.dataset["theme"] = theme;
  }
}

/** Whether it is dark now, and how to turn it round. What the system has anyway is not kept as a choice. */
export function useTheme(): { dark: boolean; turn: () => void } {
  const [theme, setTheme] = useState(keptTheme);
  const dark = isDark(theme);
  const turn = () => {
    const wanted: Theme = dark ? "light" : "dark";
    const next: Theme = isDark("system") === !dark ? "system" : wanted;
    showTheme(next);
    setTheme(next);
  };
  return { dark, turn };
}

/** A number that changes with the colours of the page: for what is painted on a canvas. */
export function usePainting(): number {
  const [times, setTimes] = useState(0);
  useEffect(() => {
    const update = () => setTimes((before) => before + 1);
    const chosen = new MutationObserver(update);
    chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", update);
    return () => {
      chosen.disconnect();
      system.removeEventListener("change", update);
    };
  }, []);
  return times;
}
