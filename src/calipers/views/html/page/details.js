// One attempt in full: what went in, what came out, and what was said about it.

const MARKS = { passed: "pass", failed: "fail", error: "error", skipped: "skip" };

// A shape, with its word for readers who do not see it. LOOKS is shapes.json.
function mark(outcome) {
  const name = MARKS[outcome], word = LOOKS.words[name];
  return make("span", { class: "outcome-mark", title: word },
    make("svg", { class: `mark mark-${name}`, viewBox: "0 0 12 12", width: "12", height: "12", "aria-hidden": "true" },
      LOOKS.marks[name].map(([tag, attributes]) => make(tag, attributes))),
    make("span", { class: "unseen" }, word));
}

const textOf = (value) => value.text ?? value.json;
const block = (content) => make("pre", { dir: "auto" }, content);

function part(title, ...content) {
  return make("div", { class: "part" }, make("h4", null, title), content);
}

function cutNote(...values) {
  return values.filter((value) => value?.length).map((value) =>
    make("p", { class: "note" }, `Cut: ${grouped([...textOf(value)].length)} of ${grouped(value.length)} characters are shown.`));
}

// ---------------------------------------------------------------- values

function valuesOf(attempt) {
  const { inputs, expected, asked } = attempt;
  const output = attempt.talk ? null : attempt.output; // a conversation is shown as its transcript
  const given = [block(shown(textOf(inputs))), cutNote(inputs)];
  const found = [part("Inputs", asked ? talkView(attempt, asked, given) : given)];
  if (!expected || !output) {
    if (expected) found.push(part("Expected", block(shown(textOf(expected))), cutNote(expected)));
    if (output) found.push(part("Output", block(shown(textOf(output))), cutNote(output)));
    return found;
  }
  const [before, after] = [textOf(expected), textOf(output)];
  const isSameKind = "text" in expected === "text" in output;
  if (isSameKind && before === after && !expected.length && !output.length)
    return [...found, part("Output, reads the same as expected", block(shown(after)))];
  if (!isSameKind) {
    const kind = (value) => ("text" in value ? "text" : "JSON");
    return [...found,
      part(`Expected (${kind(expected)})`, block(shown(before)), cutNote(expected)),
      part(`Output (${kind(output)})`, block(shown(after)), cutNote(output))];
  }
  if (!before.includes("\n") && !after.includes("\n")) {
    const [removed, added] = marked(before, after);
    return [...found, part("Expected", block(removed), cutNote(expected)), part("Output", block(added), cutNote(output))];
  }
  const views = { Difference: () => diffView(before, after), Expected: () => block(shown(before)), Output: () => block(shown(after)) };
  return [...found, make("div", { class: "part" }, tabs(views), cutNote(expected, output))];
}

function tabs(views) {
  const body = make("div");
  const buttons = Object.entries(views).map(([name, draw]) =>
    make("button", { type: "button", "aria-pressed": "false", click: (event) => show(event.currentTarget, draw) }, name));
  const show = (button, draw) => {
    for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
    body.replaceChildren(draw());
  };
  show(buttons[0], Object.values(views)[0]);
  return [make("div", { class: "tabs" }, buttons), body];
}

// ---------------------------------------------------------------- judgements

function traceback(failure) {
  if (!failure.traceback) return null;
  return make("details", null, make("summary", null, "traceback"), block(shown(failure.traceback)));
}

function judgement(badge, name, kind, ...content) {
  return make("li", { class: kind },
    make("div", { class: "said" }, badge, make("bdi", { class: "name" }, breakable(name))), content);
}

const reason = (text) => (text ? make("p", { class: "reason", dir: "auto" }, shown(text)) : null);

function resultOf(result) {
  const column = DATA.columns[result.column];
  const badge = column.kind === "assertion" ? mark(result.value ? "passed" : "failed")
    : make("span", { class: `value ${column.kind}` }, column.kind === "label" ? shown(result.value, false) : scoreText(result));
  const graded = [];
  if (result.verdict) graded.push(`verdict ${result.verdict}`);
  if (result.score !== undefined) graded.push(`score ${number(result.score)}`);
  return judgement(badge, column.name, column.kind,
    graded.length ? make("p", { class: "note" }, graded.join(" · ")) : null, reason(result.reason),
    result.metadata ? make("details", null, make("summary", null, "metadata"), block(shown(textOf(result.metadata)))) : null);
}

const scoreText = (result) => result.text ?? number(result.value);

function judgementsOf(attempt) {
  const ofTurns = new Set((attempt.talk?.turns ?? []).flatMap((turn) => turn.results ?? [])); // shown in the transcript
  const said = [
    ...(attempt.failures ?? []).map((failure) => judgement(mark("error"), failure.evaluator, "error",
      make("p", { class: "reason bad", dir: "auto" }, "evaluator failed: ", shown(failure.message)), traceback(failure))),
    ...(attempt.results ?? []).filter((_, place) => !ofTurns.has(place)).map(resultOf),
    ...(attempt.skipped ?? []).map((skip) => judgement(mark("skipped"), skip.name ?? skip.evaluator, "skipped",
      make("p", { class: "reason quiet", dir: "auto" }, "skipped: ", shown(skip.reason)))),
    ...(attempt.not_run ?? []).map((name) => judgement(mark("skipped"), name, "skipped",
      make("p", { class: "reason quiet" }, "not run: the task failed"))),
  ];
  return said.length ? part("Results", make("ul", { class: "judgements" }, said)) : null;
}

// ---------------------------------------------------------------- circumstances

function metricText(value) {
  const measured = Number(value.json ?? NaN);
  return Number.isFinite(measured) && Math.abs(measured) < 2 ** 53 ? number(measured) : textOf(value);
}

function pairs(title, entries) {
  if (!entries.length) return null;
  return part(title, make("dl", { class: "pairs" }, entries.map(([name, content]) =>
    make("div", null, make("dt", null, shown(name, false)), make("dd", null, content)))));
}

function inline(value) {
  const text = textOf(value);
  return text.length > 100 || text.includes("\n") ? [block(shown(text)), cutNote(value)] : make("code", { dir: "auto" }, shown(text));
}

function notesOf(attempt) {
  return [
    pairs("Attributes", Object.entries(attempt.attributes ?? {}).map(([name, value]) => [name, inline(value)])),
    attempt.expected_calls ? part("Expected tool calls", inline(attempt.expected_calls)) : null,
    attempt.metadata ? part("Metadata", inline(attempt.metadata)) : null,
  ];
}

function circumstancesOf(attempt) {
  const facts = [["task", seconds(attempt.duration)], ["in all", seconds(attempt.total)]];
  if (attempt.tries) facts.push(["tries", String(attempt.tries)]);
  if (attempt.tags) facts.push(["tags", shown(attempt.tags.join(", "), false)]);
  for (const key of ["cluster", "trace_id", "span_id"]) if (attempt[key]) facts.push([key, shown(attempt[key], false)]);
  return [
    pairs("Metrics", Object.entries(attempt.metrics ?? {}).map(([name, value]) => [name, metricText(value)])),
    pairs("Circumstances", facts),
    attempt.teardown ? part("Clean-up failed", reason(attempt.teardown.message), traceback(attempt.teardown)) : null,
  ];
}

// ---------------------------------------------------------------- all of it

// The attempt as JSON. Values that are JSON already stay as they were written: 1.0 is not 1.
function asJson(attempt) {
  const value = (item) => {
    if (Array.isArray(item)) return `[${item.map(value).join(", ")}]`;
    if (item === null || typeof item !== "object") return JSON.stringify(item);
    const isWhole = !("length" in item || "value" in item);
    if (isWhole && typeof item.json === "string") return item.json;
    if (isWhole && typeof item.text === "string") return JSON.stringify(item.text);
    const named = (key, inner) => (key === "column" && typeof inner === "number" ? DATA.columns[inner].name : inner);
    return `{${Object.entries(item).map(([key, inner]) => `${JSON.stringify(key)}: ${value(named(key, inner))}`).join(", ")}}`;
  };
  const { case: _, position, haystack, asked, talk, ...facts } = attempt;
  return value(facts);
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // an older way, for pages that may not use the clipboard
    const area = make("textarea", { class: "unseen" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 1200);
}

function details(attempt) {
  const { error } = attempt;
  return make("div", { class: "detail" },
    error && make("div", { class: "alerts" },
      make("p", { dir: "auto" }, make("strong", null, "Task failed: "), shown(error.message)), traceback(error)),
    make("div", { class: "values" }, valuesOf(attempt), talkOf(attempt), notesOf(attempt)),
    make("div", { class: "judged" }, judgementsOf(attempt), circumstancesOf(attempt)),
    make("div", { class: "actions" },
      make("button", { type: "button", click: (event) => copy(asJson(attempt), event.currentTarget) }, "Copy as JSON")));
}
