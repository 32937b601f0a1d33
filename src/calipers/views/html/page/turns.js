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
  return make("li", { class: turn.failed ? "failed" : null },
    make("div", { class: "said" },
      make("span", { class: "kind" }, TURN_KINDS[turn.kind]),
      turn.name && make("bdi", { class: "name" }, breakable(turn.name)),
      turn.failed && make("strong", { class: "bad" }, "failed"),
      make("span", { class: "note" }, turnFacts(turn))),
    told("said", turn.content),
    told("with", turn.arguments),
    told("asked", turn.asked),
    told(turn.kind === "tool_call" ? "gave" : "answered", turn.output),
    told("wanted", turn.wanted),
    turn.error && make("p", { class: "reason bad", dir: "auto" }, shown(turn.error)));
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
    total > FOLD_TURNS ? make("details", null, make("summary", null, "turns"), list) : list,
    trace.of && make("p", { class: "note" }, `The first ${grouped(trace.turns.length)} of ${grouped(trace.of)} turns are shown.`),
    told("metadata", trace.metadata));
}
