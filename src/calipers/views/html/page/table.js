// The attempts: sorted, filtered, and drawn only where the reader looks.

const DATA = JSON.parse(document.getElementById("data").textContent);
const ATTEMPTS = DATA.attempts;
const CASES = (DATA.cases ?? []).map((name) => ({ name, attempts: [] })); // only where cases are repeated
const REPEATED = DATA.repeat > 1;
const CHUNK = 50; // rows that are drawn and dropped together
const FEW = 300; // rows that are simply all drawn, so that the browser's own search finds them
const PRINTED = 1000; // rows that go to paper
const WIDTHS = { outcome: 4.2, name: 10, value: 8, assertion: 5.6, score: 5.4, label: 9, duration: 5.2 }; // rem, the least that can be read
const RANK = { error: 0, failed: 1, skipped: 2, passed: 3 };
const COLLATOR = new Intl.Collator("en", { numeric: true });

ATTEMPTS.forEach((attempt, position) => {
  attempt.position = position;
  if (REPEATED) CASES[attempt.case].attempts.push(attempt);
});

const HEADS = [
  { key: "outcome", label: "Passed", kind: "outcome" },
  { key: "name", label: REPEATED ? "Case" : "Name", kind: "name" },
  { key: "inputs", label: "Input", kind: "value", value: ({ asked, inputs }) => asked?.turns.at(-1)?.asked ?? inputs },
  { key: "output", label: "Output", kind: "value", value: ({ talk, output }) => (talk ? talk.turns.at(-1)?.answered ?? (talk.messages && output) : output) },
  ...DATA.columns.map((column, i) => ({ key: `column-${i}`, label: column.name, kind: column.kind, column: i })),
  { key: "duration", label: "Time", kind: "duration" },
];

const wanted = { text: "", outcome: "all", column: -1, terms: [] }; // terms: the slices and groups in which attempts have to be
const order = { head: null, down: false };
const open = new Set(); // positions of the attempts that are shown in full
const folded = new Set(CASES.filter((group) => group.attempts.every((attempt) => attempt.outcome === "passed"))); // attempts hidden

// ---------------------------------------------------------------- what an attempt says in a column

// A result, "error", "lost" with its task, "skipped" or nothing.
function cellOf(attempt, column) {
  const { evaluator } = DATA.columns[column];
  const names = (list) => (list ?? []).some((one) => one.evaluator === evaluator);
  return (attempt.results ?? []).find((result) => result.column === column) ??
    (names(attempt.failures) ? "error" : attempt.not_run?.includes(evaluator) ? "lost" : names(attempt.skipped) ? "skipped" : null);
}

// What a head sorts by: a number, a string, or undefined where there is nothing to compare.
function measured(attempt, head) {
  if (head.kind === "outcome") return RANK[attempt.outcome];
  if (head.kind === "duration") return attempt.duration ?? undefined;
  if (head.kind === "value") return head.value(attempt) && textOf(head.value(attempt));
  const cell = cellOf(attempt, head.column);
  if (cell === "error" || cell === "lost") return head.kind === "assertion" ? -1 : undefined;
  return typeof cell?.value === "boolean" ? Number(cell.value) : cell?.value;
}

// The same for a repeated case: the mean over its attempts.
function measure(item, head) {
  if (head.kind === "name") return item.name;
  const found = (item.attempts ?? [item]).map((attempt) => measured(attempt, head)).filter((value) => value !== undefined);
  if (!found.length || typeof found[0] === "string") return found[0];
  return found.reduce((sum, value) => sum + value, 0) / found.length;
}

function sorted(items) {
  if (!order.head) return items;
  const sign = order.down ? -1 : 1;
  const keys = new Map(items.map((item) => [item, measure(item, order.head)]));
  return [...items].sort((one, other) => {
    const [a, b] = [keys.get(one), keys.get(other)];
    if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
    return sign * (typeof a === "string" ? COLLATOR.compare(a, b) : a - b);
  });
}

// ---------------------------------------------------------------- which attempts are shown

// With an evaluator chosen, its own judgement decides; else that of the whole attempt.
function outcomeOf(attempt) {
  if (wanted.column < 0) return attempt.outcome;
  const cell = cellOf(attempt, wanted.column);
  if (cell === "error" || cell === "lost") return "error";
  return typeof cell?.value === "boolean" ? (cell.value ? "passed" : "failed") : cell && "skipped";
}

function hasOutcome(attempt, wish) {
  const outcome = outcomeOf(attempt);
  return outcome !== null && (wish === "all" || outcome === wish || (wish === "missed" && (outcome === "failed" || outcome === "error")));
}

function hasText(attempt) {
  if (!wanted.text) return true;
  const { name, inputs, expected, output, error, cluster, tags = [], trace, results = [], failures = [], skipped = [] } = attempt;
  attempt.haystack ??= [
    name, cluster, ...tags, error?.message, ...[inputs, expected, output].map((value) => value && textOf(value)),
    ...results.flatMap((result) => [result.reason, typeof result.value === "string" ? result.value : ""]),
    ...failures.map((failure) => failure.message), ...skipped.map((skip) => skip.reason),
    ...(trace?.turns ?? []).flatMap((turn) => [turn.name, turn.error]),
  ].join("\n").toLowerCase();
  return attempt.haystack.includes(wanted.text);
}

const isInTerms = (attempt) => wanted.terms.every((term) => term.has(attempt.position));
const fits = (attempt) => isInTerms(attempt) && hasOutcome(attempt, wanted.outcome) && hasText(attempt);

// The rows of the table: attempts, or repeated cases each followed by its attempts.
function rowsWanted() {
  if (!REPEATED) return sorted(ATTEMPTS.filter(fits));
  return sorted(CASES).flatMap((group) => {
    const found = group.attempts.filter(fits);
    return found.length ? [group, ...(folded.has(group) ? [] : found)] : [];
  });
}

// ---------------------------------------------------------------- rows

function attemptCell(attempt, head) {
  if (head.kind === "duration") return seconds(attempt.duration);
  if (head.kind === "value") return valueCell(head.value(attempt));
  const cell = cellOf(attempt, head.column);
  if (cell === null) return "";
  if (cell === "error") return mark("error");
  if (typeof cell === "string") return make("span", { class: "quiet", title: cell === "lost" ? "not run" : cell }, "–");
  if (head.kind === "assertion") return mark(cell.value ? "passed" : "failed");
  return head.kind === "label" ? make("bdi", { title: line(cell.value) }, shown(cell.value, false)) : scoreText(cell);
}

// The beginning of a value on one line; the row below shows all of it.
const PEEK = 120;
function valueCell(value) {
  if (!value) return "";
  const text = textOf(value).slice(0, PEEK).replaceAll(/\s+/g, " ");
  return make("bdi", { title: line(text) }, shown(text, false));
}

function caseCell(group, head) {
  if (head.kind === "value") {
    const values = group.attempts.map(head.value).filter(Boolean);
    const kinds = new Set(values.map(textOf));
    return kinds.size > 1 ? make("span", { class: "quiet" }, `${kinds.size} values`) : valueCell(values[0]);
  }
  const mean = measure(group, head);
  if (head.kind === "duration") return seconds(mean ?? null);
  if (head.kind === "score") return mean === undefined ? "" : number(mean);
  const cells = group.attempts.map((attempt) => cellOf(attempt, head.column)).filter((cell) => cell !== null && cell !== "skipped");
  if (!cells.length) return "";
  if (head.kind === "assertion") return `${cells.filter((cell) => cell.value === true).length}/${cells.length}`;
  const labels = new Set(cells.map((cell) => cell.value).filter((value) => value !== undefined));
  return labels.size === 1 ? make("bdi", null, shown([...labels][0], false)) : labels.size ? `${labels.size} labels` : "";
}

function passCount(group) {
  const judged = group.attempts.filter((attempt) => attempt.outcome !== "skipped");
  const passed = judged.filter((attempt) => attempt.outcome === "passed").length;
  const tone = !judged.length ? "skip" : passed === judged.length ? "pass" : passed ? "partial" : "fail";
  return make("span", { class: `count ${tone}`, title: `${passed} of ${plural(judged.length, "attempt")} passed` },
    judged.length ? `${passed}/${judged.length}` : "·");
}

// The row of an attempt or of a repeated case; below an open attempt, the row that shows it in full.
function rowsOf(item, index) {
  const isCase = "attempts" in item, isOpen = isCase ? !folded.has(item) : open.has(item.position);
  const name = REPEATED && !isCase ? item.name.slice(CASES[item.case].name.length).trim() || item.name : item.name;
  const row = make("tr", {
    role: "row", class: `${isCase ? "case" : "attempt"}${REPEATED && !isCase ? " repeat" : ""}${!isCase && isOpen ? " open" : ""}`,
    "aria-rowindex": String(index + 2), id: isCase ? null : `attempt-${item.position + 1}`,
    click: (event) => { if (event.target.closest("button") || !String(getSelection())) (isCase ? fold : toggle)(item, row); },
  },
    make("td", { role: "cell", class: "outcome" }, isCase ? passCount(item) : mark(item.outcome)),
    make("th", { role: "rowheader", scope: "row", class: "name" },
      make("button", { type: "button", class: "name", title: line(item.name), "aria-expanded": String(isOpen) }, make("bdi", null, shown(name, false)))),
    HEADS.slice(2).map((head) =>
      make("td", { role: "cell", class: head.kind, "data-label": line(head.label) }, (isCase ? caseCell : attemptCell)(item, head))));
  return !isCase && isOpen ? [row, detailRow(item)] : [row];
}

const detailRow = (attempt) =>
  make("tr", { role: "row", class: "details" }, make("td", { role: "cell", colspan: String(HEADS.length) }, details(attempt)));

function fold(group) {
  if (!folded.delete(group)) folded.add(group);
  draw();
  focusOn(group);
}

function toggle(attempt, row) {
  const isOpen = open.delete(attempt.position);
  if (isOpen) row.nextElementSibling.remove();
  else {
    open.add(attempt.position);
    row.after(detailRow(attempt));
  }
  row.classList.toggle("open", !isOpen);
  row.querySelector("button.name").setAttribute("aria-expanded", String(!isOpen));
  try {
    history.replaceState(null, "", isOpen ? location.pathname + location.search : `#case-${attempt.position + 1}`);
  } catch { /* a page inside another may not change its address */ }
}

// ---------------------------------------------------------------- chunks: only what is near the screen is drawn

let rows = [];
let chunks = [];
let observer = null;
let rowHeight = 33;

function fill(chunk) {
  if (chunk.isDrawn) return;
  chunk.isDrawn = true;
  chunk.body.replaceChildren(...rows.slice(chunk.from, chunk.from + CHUNK).flatMap((item, i) => rowsOf(item, chunk.from + i)));
}

function empty(chunk) {
  if (chunk.isDrawn && chunk.body.contains(document.activeElement)) return;
  const height = chunk.isDrawn ? chunk.body.offsetHeight : rowHeight * Math.min(CHUNK, rows.length - chunk.from);
  chunk.isDrawn = false;
  const space = make("td", { colspan: String(HEADS.length) });
  space.style.height = `${height}px`;
  chunk.body.replaceChildren(make("tr", { class: "space", "aria-hidden": "true" }, space));
}

function draw() {
  for (const chunk of chunks) chunk.body.remove();
  observer?.disconnect();
  rows = rowsWanted();
  chunks = [];
  for (let from = 0; from < rows.length; from += CHUNK)
    chunks.push({ body: make("tbody", { role: "rowgroup" }), from, isDrawn: false });
  table.append(...chunks.map((chunk) => chunk.body));
  table.setAttribute("aria-rowcount", String(rows.length + 1));
  const isLong = rows.length > FEW;
  chunks.slice(0, isLong ? 1 : chunks.length).forEach(fill);
  rowHeight = table.querySelector("tbody tr")?.offsetHeight || rowHeight;
  const byBody = new Map(chunks.map((chunk) => [chunk.body, chunk]));
  observer = new IntersectionObserver((entries) => {
    for (const entry of entries) (entry.isIntersecting ? fill : empty)(byBody.get(entry.target));
  }, { root: holder.classList.contains("wide") ? holder : null, rootMargin: "800px 0px" });
  if (isLong) for (const chunk of chunks) empty(chunk), observer.observe(chunk.body);
  const hidden = rows.filter((item) => folded.has(item)).length;
  status.textContent = !rows.length ? "No attempt fits: change the filter."
    : `${grouped(ATTEMPTS.filter(fits).length)} of ${plural(ATTEMPTS.length, "attempt")}${hidden ? `, ${plural(hidden, "case")} folded` : ""}`;
  folding.textContent = CASES.some((group) => !folded.has(group)) ? "Fold cases" : "Unfold cases";
}

// A table too wide for its place scrolls by itself, with its head and names in sight.
function measureWidth() {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const isWide = HEADS.reduce((sum, each) => sum + WIDTHS[each.kind], 0) * rem > holder.clientWidth;
  const hasChanged = holder.classList.contains("wide") !== isWide;
  holder.classList.toggle("wide", isWide);
  return hasChanged;
}

// Draw the row of an attempt or a case, and give it the focus.
function focusOn(item) {
  const at = rows.indexOf(item);
  if (at < 0) return null;
  const chunk = chunks[Math.floor(at / CHUNK)];
  fill(chunk);
  const row = chunk.body.querySelectorAll("tr:not(.details)")[at - chunk.from];
  row.querySelector("button.name").focus({ preventScroll: true });
  return row;
}

// ---------------------------------------------------------------- the page around the table

const headCells = HEADS.map((each) => make("th", { role: "columnheader", scope: "col", class: each.kind, "aria-sort": "none" },
  make("button", { type: "button", title: line(each.label), click: () => sortBy(each) }, breakable(each.label))));
const table = make("table", { class: "attempts", role: "table", "aria-labelledby": "attempts-title" },
  make("colgroup", null, HEADS.map((each) => make("col", { class: each.kind }))),
  make("thead", { role: "rowgroup" }, make("tr", { role: "row", "aria-rowindex": "1" }, headCells)));
const holder = make("div", { class: "holder" }, table);
const status = make("p", { class: "status", role: "status" });

// First the way that shows trouble first, then the other way round, then the report's own order.
function sortBy(each) {
  const first = each.kind === "duration";
  if (order.head !== each) sortAs(each, first);
  else sortAs(order.down === first ? each : null, !first);
}

function sortAs(each, down) {
  Object.assign(order, { head: each, down });
  HEADS.forEach((one, i) => headCells[i].setAttribute("aria-sort", one !== each ? "none" : down ? "descending" : "ascending"));
  sorting.value = each ? `${each.key} ${down ? "down" : "up"}` : "";
  draw();
}

const CHOICES = [["all", "All"], ["missed", "Did not pass"], ["error", "Errors"], ["passed", "Passed"], ["skipped", "Not judged"]]
  .map(([value, label]) => {
    const input = make("input", { type: "radio", name: "outcome", value, checked: value === "all",
      change: () => { wanted.outcome = value; draw(); } });
    const count = make("span", { class: "tally" });
    return { value, input, count, view: make("label", null, input, make("span", null, label, " ", count)) };
  });

function tally() {
  for (const { value, count, input, view } of CHOICES) {
    const found = ATTEMPTS.filter((attempt) => isInTerms(attempt) && hasOutcome(attempt, value)).length;
    count.textContent = grouped(found);
    view.hidden = value === "skipped" && !found && !input.checked;
  }
}

const search = make("input", { type: "search", placeholder: "Find in names, values, reasons", "aria-label": "Find attempts by text",
  input: () => { wanted.text = search.value.toLowerCase(); draw(); } });
const judges = make("select", { "aria-label": "Judged by", change: () => { wanted.column = Number(judges.value); tally(); draw(); } },
  make("option", { value: "-1" }, "all evaluators"),
  DATA.columns.map((column, i) => make("option", { value: String(i) }, line(column.name))));
const sorting = make("select", { "aria-label": "Sort by", class: "sorting", change: () => {
  const [key, way] = sorting.value.split(" ");
  sortAs(HEADS.find((each) => each.key === key) ?? null, way === "down");
} }, make("option", { value: "" }, "report order"), HEADS.flatMap(({ key, label }) =>
  [["up", "↑"], ["down", "↓"]].map(([way, arrow]) => make("option", { value: `${key} ${way}` }, `${line(label)} ${arrow}`))));
const terms = make("p", { class: "terms", hidden: true });
const folding = make("button", { type: "button", hidden: !REPEATED, click: () => {
  const isAny = CASES.some((group) => !folded.has(group));
  for (const group of CASES) isAny ? folded.add(group) : folded.delete(group);
  draw();
} });

// ---------------------------------------------------------------- keys, links, paper

function move(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !event.target.matches("button.name")) return;
  const names = [...table.querySelectorAll("button.name")];
  event.preventDefault();
  names[names.indexOf(event.target) + step]?.focus();
}

// Show only attempts that are in all of some slices and groups.
function narrow(found) {
  wanted.terms = found;
  terms.hidden = !found.length;
  terms.replaceChildren(...found.map((term) => make("button", { type: "button", title: "Show all again", click: () => {
    narrow(found.filter((each) => each !== term));
    draw();
    try {
      history.replaceState(null, "", location.pathname + location.search);
    } catch { /* a page inside another may not change its address */ }
  } }, shown(term.text, false), make("span", { "aria-hidden": "true" }, " ×"))));
  tally();
}

// Show what the address names: #case-12 is the twelfth attempt of the report, #find-g0+s1.2 those in a group and a slice. No element has
// this id: the browser would go there by itself, before or after us, and take the focus away.
function follow() {
  const found = /^#find-(.+)$/.exec(location.hash)?.[1].split("+").map(termNamed);
  if (found?.every(Boolean)) {
    Object.assign(wanted, { text: "", outcome: "all", column: -1 });
    [search.value, judges.value, CHOICES[0].input.checked] = ["", "-1", true];
    for (const group of CASES) folded.delete(group);
    narrow(found);
    draw();
    document.getElementById("attempts").scrollIntoView();
    terms.querySelector("button").focus({ preventScroll: true });
    return;
  }
  const attempt = ATTEMPTS[Number(/^#case-(\d+)$/.exec(location.hash)?.[1]) - 1];
  if (!attempt) return;
  open.add(attempt.position);
  folded.delete(CASES[attempt.case]);
  if (!fits(attempt)) {
    Object.assign(wanted, { text: "", outcome: "all", column: -1 });
    [search.value, judges.value, CHOICES[0].input.checked] = ["", "-1", true];
    narrow([]);
  }
  draw();
  history.scrollRestoration = "manual"; // the address says where to look, not the last visit
  const shown = focusOn(attempt);
  // The head of the table stays in sight and may be as high as its longest name: what is shown stands below it.
  const kept = Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
  shown.style.scrollMarginTop = `${Math.max(0, Math.ceil(table.tHead.offsetHeight - kept))}px`;
  shown.scrollIntoView();
}

function toPaper() {
  observer.disconnect();
  chunks.slice(0, PRINTED / CHUNK).forEach(fill);
  for (const chunk of chunks.slice(PRINTED / CHUNK)) chunk.body.remove();
  if (rows.length > PRINTED) status.textContent += `; the first ${grouped(PRINTED)} rows are printed`;
}

if (ATTEMPTS.length) {
  const browser = document.getElementById("browser");
  browser.append(make("div", { class: "controls" },
    make("fieldset", { class: "outcomes" }, make("legend", { class: "unseen" }, "Show"), CHOICES.map((choice) => choice.view)),
    search, judges, sorting, folding), terms, status, holder);
  browser.hidden = false;
  if (DATA.slices) showSlices(DATA.slices);
  tally();
  measureWidth();
  draw();
  follow();
  addEventListener("resize", () => { if (measureWidth()) draw(); });
  table.addEventListener("keydown", move);
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", draw);
} else document.getElementById("attempts").hidden = true;
