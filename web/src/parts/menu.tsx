// Choices behind a button: Esc or a press elsewhere closes them, Esc gives the focus back, and they stay within the window.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "../keys";
import { TEXTS } from "../texts";
import "./menu.css";

interface MenuOptions {
  /** What stands on the button. */
  button: ComponentChildren;
  class?: string;
  /** Drawn while they are shown. */
  children: () => ComponentChildren;
}

/** Pixels between what is shown and the edge of the window. */
const EDGE = 8;

export function Menu({ button, class: kind = "", children }: MenuOptions) {
  const [isOpen, setIsOpen] = useState(false);
  const menu = useRef<HTMLDetailsElement>(null);
  const close = () => void (menu.current && (menu.current.open = false));
  return (
    <details class="menu" ref={menu} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary class="button">{button}</summary>
      {isOpen && (
        <Choices menu={menu} class={kind} close={close}>
          {children()}
        </Choices>
      )}
    </details>
  );
}

interface ChoicesOptions {
  menu: { current: HTMLDetailsElement | null };
  class: string;
  close: () => void;
  children: ComponentChildren;
}

/** A part of its own, since keys that are named last go first. */
function Choices({ menu, class: kind, close, children }: ChoicesOptions) {
  const body = useRef<HTMLDivElement>(null);
  const leave = () => {
    close();
    menu.current?.querySelector("summary")?.focus();
  };
  useKeys(TEXTS.keys.everywhere, [{ keys: "Escape", does: TEXTS.app.close, run: leave }]);
  /** In a field or a list of choices, keys are its own. */
  const pressed = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.preventDefault();
    leave();
  };
  useLayoutEffect(() => {
    const { left, right } = body.current!.getBoundingClientRect();
    const over = Math.max(0, right - (document.documentElement.clientWidth - EDGE));
    body.current!.style.translate = `${left - over < EDGE ? EDGE - left : -over}px`;
  }, []);
  useEffect(() => {
    const pressed = (event: Event) => void (menu.current?.contains(event.target as Node) || close());
    document.addEventListener("pointerdown", pressed);
    return () => document.removeEventListener("pointerdown", pressed);
  }, []);
  return (
    <div class={`menu-body ${kind}`} ref={body} onKeyDown={pressed}>
      {children}
    </div>
  );
}
