// A conversation as its transcript: turn by turn, who said what, what was done in between, how the turn was judged.

function utterance(who, value, kind) {
  return value && make("div", { class: `utterance ${kind}` },
    make("span", { class: "who" }, who),
    make("div", { class: "words", dir: "auto" }, shown(textOf(value)), cutNote(value)));
}

function talkTurn(attempt, { asker, answerer, turns }, turn) {
  const title = turn.branch ? `Turn ${turn.number}, conversation ${turn.branch}` : `Turn ${turn.number}`;
  const facts = [...(turns.length > 1 ? [title] : []), ...(turn.facts ?? [])];
  const judged = (turn.results ?? []).map((place) => resultOf(attempt.results[place]));
  return make("li", null,
    facts.length > 0 && make("p", { class: "note" }, facts.join(" · ")),
    utterance(asker, turn.asked, "asker"),
    turn.done && make("ol", { class: "turns" }, turn.done.map(turnOf)),
    utterance(answerer, turn.answered, "answerer"),
    judged.length > 0 && make("ul", { class: "judgements" }, judged));
}

// A value that is a conversation; what is left of it as data stands below.
function talkView(attempt, talk, ...data) {
  return [
    told("told beforehand", talk.instructions),
    talk.opening && utterance(talk.answerer, talk.opening, "answerer"),
    make("ol", { class: "talk" }, talk.turns.map((turn) => talkTurn(attempt, talk, turn))),
    talk.of && make("p", { class: "note" }, `The first ${grouped(talk.turns.length)} of ${grouped(talk.of)} turns are shown.`),
    talk.stopped && make("p", { class: "note", dir: "auto" }, "Ended: ", shown(talk.stopped)),
    make("details", null, make("summary", null, "as data"), data),
  ];
}

// What came of the attempt, if that is a conversation, and what the agent did: of one that Calipers held, the transcript says it.
function talkOf(attempt) {
  const { talk, output, expected, trace } = attempt;
  if (!talk) return turnsOf(attempt);
  const isRollout = !talk.messages;
  const data = expected?.json && !isRollout ? diffView(textOf(expected), textOf(output)) : block(shown(textOf(output)));
  return [
    part(isRollout ? "Conversation" : "Output",
      isRollout && trace?.extent !== undefined && make("details", null, make("summary", null, "waterfall"), waterfallOf(trace)),
      talkView(attempt, talk, data, cutNote(output))),
    isRollout ? null : turnsOf(attempt),
  ];
}
