// A conversation as its transcript: turn by turn, who said what, what was done in between, how the turn was judged.

function utterance(who, value, kind) {
  return make("div", { class: `utterance ${kind}` },
    make("span", { class: "who" }, who),
    make("div", { class: "words", dir: "auto" }, shown(textOf(value)), cutNote(value)));
}

function talkTurn(attempt, { asker, answerer }, turn) {
  const title = turn.branch ? `Turn ${turn.number}, conversation ${turn.branch}` : `Turn ${turn.number}`;
  const judged = (turn.results ?? []).map((place) => resultOf(attempt.results[place]));
  return make("li", null,
    make("p", { class: "note" }, [title, ...(turn.facts ?? [])].join(" · ")),
    utterance(asker, turn.asked, "asker"),
    turn.done && make("ol", { class: "turns" }, turn.done.map(turnOf)),
    utterance(answerer, turn.answered, "answerer"),
    judged.length ? make("ul", { class: "judgements" }, judged) : null);
}

function talkOf(attempt) {
  const { talk, output, trace } = attempt;
  if (!talk) return null;
  return part("Conversation",
    talk.opening && utterance(talk.answerer, talk.opening, "answerer"),
    make("ol", { class: "talk" }, talk.turns.map((turn) => talkTurn(attempt, talk, turn))),
    talk.of && make("p", { class: "note" }, `The first ${grouped(talk.turns.length)} of ${grouped(talk.of)} turns are shown.`),
    talk.stopped && make("p", { class: "note", dir: "auto" }, "Ended: ", shown(talk.stopped)),
    trace?.extent !== undefined && make("details", null, make("summary", null, "waterfall"), waterfallOf(trace)),
    make("details", null, make("summary", null, "as data"), block(shown(textOf(output))), cutNote(output)));
}
