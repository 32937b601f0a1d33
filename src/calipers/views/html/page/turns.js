// What the agent did: the turns of its trace, in order.

const TURN_KINDS = { llm_call: "model", tool_call: "tool", user_message: "user", agent_message: "agent" };
const FOLD_TURNS = 12;

// A value on one line if it is short, else folded away under its length.
function told(title, value) {
  if (!value) return null;
  const text = textOf(value);
  if (text.length <= 120 && !text.includes("\n"))
    return make("p", { class: "told" }, make("span", { class: "quiet" }, `${title} `), make("code", { dir: "auto" }, shown(text, false)));
  const size = plural(value.length ?? [...text].length, "character");
  return make("details", null, make("summary", null, `${title}, ${size}`), block(shown(text)), cutNote(value));
}

function turnFacts({ tokens, cost, seconds: time }) {
  const facts = tokens ? [`${number(tokens[0])} tokens in, ${number(tokens[1])} out`] : [];
  if (cost) facts.push(cost);
  if (time !== undefined) facts.push(seconds(time));
  return facts.join(" · ");
}

function turnOf(turn) {
  if (turn.kind.endsWith("message"))
    return make("li", null, utterance(TURN_KINDS[turn.kind], turn.content ?? { text: "" }, turn.kind === "user_message" ? "asker" : "answerer"));
  return make("li", { class: turn.failed ? "failed" : null },
    make("div", { class: "said" },
      make("span", { class: "kind" }, TURN_KINDS[turn.kind]),
      turn.name && make("bdi", { class: "name" }, breakable(turn.name)),
      turn.failed && make("strong", { class: "bad" }, "failed"),
      make("span", { class: "note" }, turnFacts(turn))),
    told("with", turn.arguments),
    told("asked", turn.asked),
    told(turn.kind === "tool_call" ? "gave" : "answered", turn.output),
    told("wanted", turn.wanted),
    turn.error && make("p", { class: "reason bad", dir: "auto" }, shown(turn.error)));
}

// ---------------------------------------------------------------- on one scale of time

const SCALE = 1000;

// The place of a step between the start of the first and the end of the last; one with an unknown end is open to the right.
function stepBar({ kind, failed, start, seconds: took, lasts }, extent) {
  if (start === undefined) return null;
  const at = extent ? Math.min((start / extent) * SCALE, SCALE - 6) : 0, time = took ?? lasts;
  const look = { class: failed ? `${TURN_KINDS[kind]} failed` : TURN_KINDS[kind] };
  const message = kind.endsWith("message");
  const shape = time === undefined && !message ? make("polygon", { ...look, points: `${at},1 ${at + 14},6 ${at},11` })
    : make("rect", {
      ...look, x: at, y: message ? 4.5 : 1, height: message ? 3 : 10,
      width: extent ? Math.max(Math.min(((time ?? 0) / extent) * SCALE, SCALE - at), 6) : SCALE,
    });
  return make("svg", { viewBox: `0 0 ${SCALE} 12`, preserveAspectRatio: "none", "aria-hidden": "true" }, shape);
}

function stepRow(turn, within, extent) {
  const { kind, name, content, tokens, cost, error, start, seconds: took, lasts } = turn;
  const failed = turn.failed || (kind === "llm_call" && error);
  const unknown = kind === "llm_call" && !failed ? "?" : "";
  const time = took ?? lasts;
  return make("tr", { class: failed ? "failed" : null },
    make("th", { scope: "row", class: within ? "within" : null },
      make("span", { class: "kind" }, TURN_KINDS[kind]), " ", failed && mark("failed"),
      make("bdi", null, line(name ?? (content ? textOf(content) : "").slice(0, 200)))),
    make("td", { class: "when" }, start !== undefined && make("span", { class: "unseen" }, `at ${seconds(start)} `),
      stepBar({ ...turn, failed }, extent)),
    make("td", null, time === undefined ? (kind.endsWith("message") ? "" : "?") : seconds(time)),
    make("td", null, tokens ? `${number(tokens[0])} + ${number(tokens[1])}` : unknown),
    make("td", null, cost ?? unknown));
}

// Turns, model calls and tools on one scale: what ran side by side overlaps.
function waterfallOf(trace) {
  const notes = (trace.notes ?? []).map((each) => make("p", { class: "note" }, each));
  if (trace.extent === undefined || trace.turns.length < 2) return notes;
  const rows = [];
  let within = false;
  trace.turns.forEach((turn, at) => {
    if (at === trace.before_fold) rows.push(make("tr", null, make("td", { class: "folded", colspan: "5" }, `… ${trace.folded}`)));
    const begins = turn.kind === "user_message";
    rows.push(stepRow(turn, within && !begins, trace.extent));
    within ||= begins;
  });
  const heads = ["Step", `0 – ${seconds(trace.extent)}`, "took", "tokens in + out", "cost"];
  return [
    make("div", { class: "steps", role: "region", "aria-label": "Waterfall", tabindex: "0" }, make("table", null,
      make("thead", null, make("tr", null, heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", null, rows))),
    notes];
}

function turnsOf({ trace }) {
  if (!trace) return null;
  const title = "What the agent did";
  if (trace.left_out !== undefined)
    return part(title, make("p", { class: "note" },
      `${plural(trace.left_out, "turn")}, left out to keep this page small: the report as JSON has them.`));
  const total = trace.of ?? trace.turns.length;
  const facts = [
    trace.agent_name && line(trace.agent_name), trace.model && line(trace.model), plural(total, "turn"), turnFacts(trace),
  ];
  const list = make("ol", { class: "turns" }, trace.turns.map(turnOf));
  return part(title,
    make("p", { class: "note", dir: "auto" }, facts.filter(Boolean).join(" · ")),
    waterfallOf(trace),
    total > FOLD_TURNS ? make("details", null, make("summary", null, "turns"), list) : list,
    trace.of && make("p", { class: "note" },
      `The first ${grouped(trace.before_fold)} and the last ${grouped(trace.turns.length - trace.before_fold)} of ${grouped(trace.of)} turns are shown.`),
    told("metadata", trace.metadata));
}
