// The keyboard: each page and part names its keys here, so that one list has all that work now.
//
// A key is off while someone types, with a modifier, while a dialog is open, and where a control has the key for itself. Keys of one
// character can be switched off altogether (WCAG 2.1.4); Enter, Escape and the arrows stay.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Key {
  /** `j`, `F`, `g r` (one after the other), `ArrowDown`, `Enter`, `Escape`; several names mean the same. */
  keys: string | string[];
  /** What it does, for the list. */
  does: string;
  run: (event: KeyboardEvent) => void;
  /** Whether it works now; it is not listed while it does not. */
  when?: boolean;
}

export interface KeyGroup {
  title: string;
  keys: Key[];
}

const SEQUENCE = 1000;
const OFF = "calipers:keys";
const CHANGED = "calipers:keys";

const groups: { current: KeyGroup }[] = [];
let pending = "";
let pendingSince = 0;

/** Name keys for as long as a component is shown. Of two that are the same, the one named last counts. */
export function useKeys(title: string, keys: Key[]): void {
  const group = useRef<KeyGroup>({ title, keys });
  group.current = { title, keys };
  useLayoutEffect(() => {
    groups.push(group);
    return () => void groups.splice(groups.indexOf(group), 1);
  }, []);
}

/** All keys that work now, by group; for the list of them. */
export function keyGroups(): KeyGroup[] {
  const byTitle = new Map<string, Key[]>();
  for (const { current } of groups) {
    const active = current.keys.filter((key) => key.when !== false);
    if (active.length) byTitle.set(current.title, [...(byTitle.get(current.title) ?? []), ...active]);
  }
  return [...byTitle].map(([title, keys]) => ({ title, keys }));
}

export function lettersAreOn(): boolean {
  return localStorage.getItem(OFF) !== "off";
}

export function switchLetters(on: boolean): void {
  if (on) localStorage.removeItem(OFF);
  else localStorage.setItem(OFF, "off");
  dispatchEvent(new Event(CHANGED));
}

export function useLettersAreOn(): boolean {
  const [on, setOn] = useState(lettersAreOn);
  useEffect(() => {
    const update = () => setOn(lettersAreOn());
    addEventListener(CHANGED, update);
    addEventListener("storage", update);
    return () => {
      removeEventListener(CHANGED, update);
      removeEventListener("storage", update);
    };
  }, []);
  return on;
}

/** How a key is written on a button. */
export function keyText(name: string): string {
  return (
    { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc", " ": "Space", Backspace: "⌫" }[name] ??
    name.split(" ").join(" ")
  );
}

/** The same for `aria-keyshortcuts`; "" while keys of one character are off, or for a sequence. */
export function keyShortcut(name: string): string | undefined {
  if (name.includes(" ") || (name.length === 1 && !lettersAreOn())) return undefined;
  return name.length === 1 && name !== name.toLowerCase() ? `Shift+${name}` : name;
}

const TYPED = "textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=button], [type=submit], [type=range])";
const PRESSED = "a[href], button, summary, input, audio, video, [role=button], [role=option], [role=tab], [role=menuitem]";
const MOVED = "[role=tablist], [role=listbox], [role=radiogroup], [role=slider], [role=tree], [role=menu], [role=separator], input, audio, video";
const MOVES = new Set(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"]);

function belongsToControl(target: Element, name: string): boolean {
  if (target.closest(TYPED)) return true;
  if (name === "Enter" || name === " ") return target.closest(PRESSED) !== null;
  if (MOVES.has(name)) return target.closest(MOVED) !== null;
  return false;
}

function pressed(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || !event.key || event.key === "Shift") return;
  const name = event.key;
  const isCharacter = [...name].length === 1;
  const isWritten = isCharacter && event.getModifierState("AltGraph");
  if (!isWritten && (event.ctrlKey || event.altKey || event.metaKey)) return;
  if (!isCharacter && event.shiftKey) return;
  const target = event.target instanceof Element ? event.target : document.body;
  if (belongsToControl(target, name)) return;
  const dialog = document.querySelector("dialog[open]");
  if (dialog) return;
  if (isCharacter && name !== " " && !lettersAreOn()) return;
  const now = event.timeStamp;
  const sequence = pending && now - pendingSince < SEQUENCE ? `${pending} ${name}` : "";
  pending = "";
  const active = groups.flatMap(({ current }) => current.keys.filter((key) => key.when !== false)).reverse();
  const names = (key: Key) => (Array.isArray(key.keys) ? key.keys : [key.keys]);
  const found = (sequence && active.find((key) => names(key).includes(sequence))) || active.find((key) => names(key).includes(name));
  if (found) {
    event.preventDefault();
    found.run(event);
  } else if (active.some((key) => names(key).some((each) => each.startsWith(`${name} `)))) {
    pending = name;
    pendingSince = now;
  }
}

/** Begin to listen; once for the page. */
export function listenToKeys(): void {
  document.addEventListener("keydown", pressed);
}
