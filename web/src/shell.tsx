// The frame around every page: where to go, which store this is, whether it is live, light or dark, and all keys.
import type { ComponentChildren } from "preact";
import { Component } from "preact";
import { useEffect, useState } from "preact/hooks";
import { theSession, useConnection } from "./api";
import { useLive } from "./events";
import { keyGroups, keyShortcut, keyText, switchLetters, useKeys, useLettersAreOn } from "./keys";
import { Dialog } from "./parts/dialog";
import { Icon } from "./parts/icon";
import { KeyCap } from "./parts/key";
import { Page } from "./parts/page";
import { go, type Place } from "./router";
import { TEXTS } from "./texts";
import { useTheme } from "./theme";
import type { SessionAnswer } from "./wire";

export function useSession(): SessionAnswer | undefined {
  const [session, setSession] = useState<SessionAnswer>();
  useEffect(() => void theSession().then(setSession, () => undefined), []);
  return session;
}

export function Shell({ place, children }: { place: Place; children: ComponentChildren }) {
  const session = useSession();
  const { dark, turn } = useTheme();
  const [help, setHelp] = useState(false);
  const [said, setSaid] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      setSaid(TEXTS.app.copied);
    } catch {
      setSaid(TEXTS.app.notCopied);
    }
  };
  useEffect(() => {
    if (!said) return undefined;
    const timer = setTimeout(() => setSaid(""), 4000);
    return () => clearTimeout(timer);
  }, [said]);
  const run = /^\/runs\/([^/]+)/.exec(place.path)?.[1];
  useKeys(TEXTS.keys.everywhere, [
    { keys: "?", does: TEXTS.keys.help, run: () => setHelp(true) },
    { keys: "g r", does: TEXTS.keys.runs, run: () => go("/runs") },
    { keys: "g c", does: TEXTS.keys.cases, when: run !== undefined, run: () => go(`/runs/${run}/cases`) },
    { keys: "g l", does: TEXTS.keys.label, run: () => go("/label") },
    { keys: "y", does: TEXTS.keys.copy, run: () => void copy() },
    { keys: "t", does: TEXTS.keys.theme, run: turn },
  ]);
  const section = place.path.startsWith("/label") ? "/label" : place.path.startsWith("/judges") ? "/judges" : "/runs";
  const pages = [
    ["/runs", TEXTS.app.runs],
    ["/label", TEXTS.app.label],
    ["/judges", TEXTS.app.judges],
  ] as const;
  return (
    <>
      <a class="skip-link" href="#content" data-plain onClick={toContent}>
        {TEXTS.app.skip}
      </a>
      <header class="shell">
        <a class="shell-name" href="/runs" aria-label={TEXTS.app.name}>
          <Logo />
          <span>{TEXTS.app.name}</span>
        </a>
        <nav aria-label={TEXTS.app.pages}>
          <ul class="shell-pages">
            {pages.map(([href, text]) => (
              <li key={href}>
                <a href={href} aria-current={section === href ? (place.path === href ? "page" : "true") : undefined}>
                  {text}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <span class="shell-space" />
        {session?.read_only && (
          <span class="badge" title={TEXTS.app.readOnlyTitle}>
            {TEXTS.app.readOnly}
          </span>
        )}
        <ConnectionState />
        {session && (
          <span class="shell-store" title={`${TEXTS.app.store}: ${session.store}`}>
            {session.store}
          </span>
        )}
        <button
          type="button"
          class="quiet-button"
          aria-label={dark ? TEXTS.app.toLight : TEXTS.app.toDark}
          title={`${dark ? TEXTS.app.toLight : TEXTS.app.toDark} (t)`}
          aria-keyshortcuts={keyShortcut("t")}
          onClick={turn}
        >
          <Icon name={dark ? "sun" : "moon"} />
        </button>
        <button type="button" class="quiet-button shell-help" title={TEXTS.app.helpTitle} aria-keyshortcuts={keyShortcut("?")} onClick={() => setHelp(true)}>
          {TEXTS.app.help} <KeyCap name="?" />
        </button>
      </header>
      <Boundary path={place.path}>{children}</Boundary>
      <div class="toast" role="status" aria-live="polite">
        {said}
      </div>
      {help && <Help onClose={() => setHelp(false)} />}
    </>
  );
}

function toContent(event: Event): void {
  event.preventDefault();
  const heading = document.querySelector<HTMLElement>("#content h1");
  heading?.focus();
  heading?.scrollIntoView();
}

function Logo() {
  return (
    <svg viewBox="0 0 16 16" width="18" height="18" aria-hidden="true" focusable="false">
      <path d="M2 2.5h12M4 2.5v9l-1.5 2M10.5 2.5v9l1.5 2M10.5 5.5H14" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

function ConnectionState() {
  const isUp = useConnection();
  const live = useLive();
  if (!isUp) {
    return (
      <span class="connection connection-lost" role="status">
        {TEXTS.app.lost}
      </span>
    );
  }
  if (live === "off") return null;
  const [text, title] = live === "live" ? [TEXTS.app.live, TEXTS.app.liveTitle] : [TEXTS.app.polling, TEXTS.app.pollingTitle];
  return (
    <span class={`connection connection-${live}`} title={title}>
      {text}
    </span>
  );
}

function Help({ onClose }: { onClose: () => void }) {
  const on = useLettersAreOn();
  return (
    <Dialog title={TEXTS.keys.title} onClose={onClose}>
      <div class="help-groups">
        {keyGroups().map((group) => (
          <section key={group.title} aria-label={group.title}>
            <h3>{group.title}</h3>
            <dl class="help-keys">
              {group.keys.map((key) => {
                const names = Array.isArray(key.keys) ? key.keys : [key.keys];
                return (
                  <div key={names[0]}>
                    <dt>
                      {names.map((name, index) => (
                        <span key={name}>
                          {index > 0 && <span class="quiet"> {TEXTS.keys.or} </span>}
                          {name.split(" ").map((each, place) => (
                            <span key={place}>
                              {place > 0 && <span class="said"> {TEXTS.keys.then} </span>}
                              <kbd>{keyText(each)}</kbd>
                            </span>
                          ))}
                        </span>
                      ))}
                    </dt>
                    <dd>{key.does}</dd>
                  </div>
                );
              })}
            </dl>
          </section>
        ))}
      </div>
      <label class="help-switch">
        <input type="checkbox" checked={on} onChange={(event) => switchLetters(event.currentTarget.checked)} /> {TEXTS.keys.letters}
      </label>
      <p class="quiet">{TEXTS.keys.lettersWhy}</p>
    </Dialog>
  );
}

/** What could not be drawn takes down its page, and not the frame. */
class Boundary extends Component<{ path: string; children: ComponentChildren }, { error: unknown }> {
  override state = { error: undefined };

  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate(before: { path: string }) {
    if (before.path !== this.props.path && this.state.error !== undefined) this.setState({ error: undefined });
  }

  override render() {
    if (this.state.error === undefined) return this.props.children;
    return (
      <Page title={TEXTS.app.broken}>
        <div class="trouble" role="alert">
          <p>{String(this.state.error)}</p>
          <p class="trouble-ways">
            <button type="button" onClick={() => location.reload()}>
              {TEXTS.app.reload}
            </button>
            <a href="/runs">{TEXTS.app.toRuns}</a>
          </p>
        </div>
      </Page>
    );
  }
}
