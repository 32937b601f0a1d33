// The filter bar: a text with completion, its terms as chips, and where it is wrong. What it means is decided on the server alone.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { call, read, Refused, useAnswer } from "../api";
import { keyShortcut, useKeys } from "../keys";
import { count } from "../numbers";
import { TEXTS } from "../texts";
import type { Completion, CompletionsAnswer, FacetsAnswer, FilterAnswer, FilterTerm, Problem } from "../wire";
import { Icon } from "./icon";
import { KeyCap } from "./key";
import "./filter.css";

export type FilterOf = "cases" | "runs";

interface FilterOptions {
  of: FilterOf;
  /** The run whose values are offered. */
  run?: string | undefined;
  /** The filter that counts now. */
  value: string;
  /** Another filter; `typed` while someone is still at it, so that the address keeps one step for it. */
  onChange: (q: string) => void;
  /** Why the filter that counts was refused. */
  error?: Problem | undefined;
  placeholder: string;
}

const PAUSE = 300;
const PATIENCE = 1500;
const COMPLETE_PAUSE = 80;
const CHECK_PAUSE = 60;

/** The terms of a filter, and what is wrong with it; both while the newest answer is awaited are those of the text before. */
function useTerms(of: FilterOf, q: string): { terms: FilterTerm[]; q: string; error: Problem | undefined } {
  const [state, setState] = useState<{ terms: FilterTerm[]; q: string; error: Problem | undefined }>({ terms: [], q: "", error: undefined });
  useEffect(() => {
    if (!q.trim()) {
      setState({ terms: [], q, error: undefined });
      return undefined;
    }
    const control = new AbortController();
    const timer = setTimeout(() => {
      read<FilterAnswer>(call("/filter/check", { q, of }), control.signal).then(
        ({ terms, problem }) => !control.signal.aborted && setState({ terms, q, error: problem ?? undefined }),
        (error: unknown) => !control.signal.aborted && error instanceof Refused && setState({ terms: [], q, error: error.problem }),
      );
    }, CHECK_PAUSE);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [of, q]);
  return state;
}

export function FilterBar({ of, run, value, onChange, error, placeholder }: FilterOptions) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  const [isPatient, setIsPatient] = useState(false);
  const [offers, setOffers] = useState<Completion[]>([]);
  const [chosen, setChosen] = useState(-1);
  const [cursor, setCursor] = useState(0);
  const [isOpen, setIsOpen] = useState(false);
  const sent = useRef(value);
  const checked = useTerms(of, text);

  // The address changed by other means: back, a facet, a chip.
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
    setIsPatient(false);
  }, [value]);

  const apply = (q: string) => {
    const wanted = q.trim();
    setText(q);
    setIsPatient(false);
    if (wanted === sent.current) return;
    sent.current = wanted;
    onChange(wanted);
  };

  // What can be read counts after a short pause; what cannot is said after a longer one.
  useEffect(() => {
    if (text.trim() === sent.current) return undefined;
    const isChoosing = isOpen && offers.length > 0;
    const timer = setTimeout(() => {
      if (checked.q === text && !checked.error && !isChoosing && document.activeElement === input.current) {
        sent.current = text.trim();
        onChange(text.trim());
      }
    }, PAUSE);
    const complain = setTimeout(() => setIsPatient(false), PATIENCE);
    return () => {
      clearTimeout(timer);
      clearTimeout(complain);
    };
  }, [text, checked, isOpen, offers]);

  useEffect(() => {
    if (!isOpen) return undefined;
    const control = new AbortController();
    const timer = setTimeout(() => {
      read<CompletionsAnswer>(call("/filter/complete", { q: text, at: cursor, of, run }), control.signal).then(
        ({ completions }) => {
          if (control.signal.aborted) return;
          setOffers(completions);
          setChosen(-1);
        },
        () => !control.signal.aborted && setOffers([]),
      );
    }, COMPLETE_PAUSE);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [text, cursor, isOpen, of, run]);

  const take = (offer: Completion) => {
    const next = text.slice(0, offer.start) + offer.text + text.slice(offer.end);
    const at = offer.start + offer.text.length;
    setText(next);
    setCursor(at);
    setIsPatient(true);
    setOffers([]);
    requestAnimationFrame(() => input.current?.setSelectionRange(at, at));
  };

  const pressed = (event: KeyboardEvent) => {
    const isListed = isOpen && offers.length > 0;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!isListed) return setIsOpen(true);
      const way = event.key === "ArrowDown" ? 1 : -1;
      setChosen((at) => (at + way + offers.length + 1) % (offers.length + 1) === offers.length ? -1 : (at + way + offers.length + 1) % (offers.length + 1));
    } else if (event.key === "Enter" || (event.key === "Tab" && isListed && chosen >= 0)) {
      event.preventDefault();
      const offer = isListed ? offers[chosen] : undefined;
      if (offer) return take(offer);
      setIsOpen(false);
      apply(text);
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (isListed) return setIsOpen(false);
      input.current?.blur();
      document.querySelector<HTMLElement>("#content [role=row][tabindex='0']")?.focus({ preventScroll: true });
    }
  };

  const moved = () => setCursor(input.current?.selectionStart ?? 0);
  useKeys(TEXTS.keys.everywhere, [{ keys: "/", does: TEXTS.filter.focus, run: () => input.current?.select() }]);
  const problem = checked.q === text ? (checked.error ?? (text.trim() === value ? error : undefined)) : undefined;
  const shownProblem = problem && !isPatient ? problem : undefined;
  const isListed = isOpen && offers.length > 0;
  const terms = checked.error ? [] : checked.terms;
  return (
    <div class="filter" role="search">
      <div class={shownProblem ? "filter-field filter-wrong" : "filter-field"}>
        <Icon name="search" />
        <input
          ref={input}
          class="filter-input"
          type="text"
          role="combobox"
          aria-label={TEXTS.filter.label}
          aria-expanded={isListed}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={chosen >= 0 && isListed ? `${id}-${chosen}` : undefined}
          aria-invalid={shownProblem ? true : undefined}
          aria-errormessage={shownProblem ? `${id}-error` : undefined}
          aria-keyshortcuts={keyShortcut("/")}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          placeholder={placeholder}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setIsPatient(true);
            setIsOpen(true);
            moved();
          }}
          onKeyDown={pressed}
          onKeyUp={moved}
          onClick={() => {
            moved();
            setIsOpen(true);
          }}
          onBlur={() => {
            setIsOpen(false);
            setIsPatient(false);
          }}
        />
        {text ? (
          <button type="button" class="quiet-button filter-clear" aria-label={TEXTS.filter.clear} onClick={() => apply("")}>
            <Icon name="close" />
          </button>
        ) : (
          <KeyCap name="/" />
        )}
        <ul id={`${id}-list`} class="filter-offers" role="listbox" aria-label={TEXTS.filter.suggestions} hidden={!isListed} style={{ "--start": `${offers[0]?.start ?? 0}ch` }}>
          {offers.map((offer, place) => (
            <li
              key={`${offer.start} ${offer.text}`}
              id={`${id}-${place}`}
              role="option"
              aria-selected={place === chosen}
              onMouseDown={(event) => {
                event.preventDefault();
                take(offer);
              }}
            >
              <span class="mono">{offer.text}</span> <span class="quiet">{offer.about}</span>
            </li>
          ))}
        </ul>
      </div>
      {shownProblem && (
        <p class="filter-error" id={`${id}-error`} role="alert">
          {shownProblem.at !== null && (
            <span class="filter-place mono" aria-hidden="true" style={{ paddingLeft: `${shownProblem.at}ch` }}>
              ▲
            </span>
          )}
          {shownProblem.message}
        </p>
      )}
      {terms.length > 0 && (
        <ul class="filter-terms" aria-label={TEXTS.filter.terms}>
          {terms.map((term) => (
            <li key={term.start} class="filter-term">
              <span class="mono">{term.text}</span>
              <button type="button" aria-label={TEXTS.filter.remove(term.text)} onClick={() => apply(without(checked.q, term))}>
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** A filter without one of its terms. */
function without(q: string, term: FilterTerm): string {
  return `${q.slice(0, term.start).trimEnd()} ${q.slice(term.end).trimStart()}`.trim();
}

// ---------------------------------------------------------------------- facets

interface FacetOptions {
  run: string;
  q: string;
  onChange: (q: string) => void;
  /** Fields and what they are called. */
  fields: [string, string][];
}

/** The values of some fields with their counts. A press writes the term into the filter, or takes it out. */
export function Facets({ run, q, onChange, fields }: FacetOptions) {
  const { terms, q: checkedQ } = useTerms("cases", q);
  const toggle = (filter: string) => {
    const has = checkedQ === q && terms.find((term) => term.text === filter);
    onChange(has ? without(q, has) : `${q} ${filter}`.trim());
  };
  const isOn = (filter: string) => terms.some((term) => term.text === filter);
  return (
    <aside class="facets" aria-label={TEXTS.filter.facets}>
      {fields.map(([field, title], place) => (
        <Facet key={field} run={run} q={q} field={field} title={title} startsOpen={place < 4} isOn={isOn} toggle={toggle} />
      ))}
    </aside>
  );
}

interface FacetState {
  run: string;
  q: string;
  field: string;
  title: string;
  startsOpen: boolean;
  isOn: (filter: string) => boolean;
  toggle: (filter: string) => void;
}

const FEW = 8;

function Facet({ run, q, field, title, startsOpen, isOn, toggle }: FacetState) {
  const [isOpen, setIsOpen] = useState(startsOpen);
  const [all, setAll] = useState(false);
  const { answer } = useAnswer<FacetsAnswer>(isOpen ? call(`/runs/${encodeURIComponent(run)}/facets`, { q, field }) : null);
  // Where every case has a value of its own, a list of them narrows nothing down.
  const isAlone = answer !== undefined && answer.values.length > FEW && answer.values.every((each) => each.cases === 1);
  const values = answer ? (all ? answer.values : isAlone ? [] : answer.values.slice(0, FEW)) : [];
  const most = Math.max(...(answer?.values.map((each) => each.cases) ?? []), 1);
  const hidden = answer ? answer.values.length - values.length + answer.left_out : 0;
  return (
    <details class="facet" open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary title={TEXTS.filter.facetAbout}>{title}</summary>
      <ul>
        {values.map((each) => (
          <li key={each.value}>
            <button type="button" class="facet-value" aria-pressed={isOn(each.filter)} title={each.filter} onClick={() => toggle(each.filter)}>
              <span class="facet-bar" style={{ width: `${(100 * each.cases) / most}%` }} />
              <span class="facet-name">{each.value}</span>
              <span class="number">{count(each.cases)}</span>
            </button>
          </li>
        ))}
      </ul>
      {hidden > 0 && answer && answer.values.length > values.length && (
        <button type="button" class="quiet-button" onClick={() => setAll(true)}>
          {isAlone ? TEXTS.filter.alone(count(hidden)) : TEXTS.filter.leftOut(count(hidden))}
        </button>
      )}
      {answer?.timed_out && <p class="quiet">{TEXTS.filter.timedOut}</p>}
    </details>
  );
}
