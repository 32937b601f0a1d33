"""The transcript of an attempt whose output is a conversation: turn by turn, who said what, what was done in between.

The two sides are called *user* and *agent*, or *attacker* and *target* where the rollout is an attack: a moderator or a
rule of success judges it, and the one who asks is no simulated user. Where a conversation branches, the turns stand in the
order of `Graph.walk`, each with the conversation in which it first appears. The results of a `TurnEvaluator` stand with
their turn.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from calipers.data.jsonable import plain, safe_repr
from calipers.data.record import ReportCase
from calipers.data.result import EvaluationResult
from calipers.data.trace import Turn, TurnType
from calipers.data.trace_json import read_trace
from calipers.data.user_turn import TurnEvaluator
from calipers.errors import InvalidTraceError
from calipers.stats.number_text import number

from .outcome import Record, call_text, values
from .text import held_text

_MESSAGES = (TurnType.USER_MESSAGE, TurnType.AGENT_MESSAGE)


class TranscriptTurn(NamedTuple):
    """One turn of a conversation."""

    number: int
    """Its place in its conversation, from 1."""
    branch: int | None
    """The conversation in which it first appears, from 1; `None` where there is a single one."""
    asked: Any
    """What the user, or the attacker, said."""
    done: Sequence[Turn]
    """The tool calls and the requests to models in between."""
    answered: Any
    """What the agent, or the target, answered."""
    facts: Sequence[str]
    """How the turn was judged when it was made, in words."""
    results: Sequence[EvaluationResult]
    """What evaluators said of this turn."""


class Transcript(NamedTuple):
    """A conversation, or a tree of them."""

    asker: str
    """What the side that asks is called."""
    answerer: str
    """What the side that answers is called."""
    opening: str
    """What the answering side said first; "" if it waited to be asked."""
    turns: Sequence[TranscriptTurn]
    stopped: str | None
    """Why it ended."""
    instructions: str = ""
    """What the agent was told beforehand."""
    is_rollout: bool = True
    """Whether Calipers held it; a list of messages may be but a part of what the agent did."""


def transcript_of(record: Record) -> Transcript | None:
    """The transcript of an attempt; `None` if its output is no conversation."""
    if not isinstance(record, ReportCase):
        return None
    return rollout_transcript(record.output, record.results)


def rollout_transcript(rollout: Any, results: Sequence[EvaluationResult] = ()) -> Transcript | None:
    """The transcript of a rollout and what evaluators said of its turns; `None` if it is not a rollout."""
    kind = type(rollout)  # an object may lie about its class, or raise when asked
    live = hasattr(kind, "plain_data") and hasattr(rollout, "children")
    if not live and not (kind is dict and "calipers_rollout" in rollout):
        return None
    data = plain(rollout)
    turns = data.get("turns") if isinstance(data, dict) else None
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        return None
    metadata = data.get("metadata")
    notes: dict[str, Any] = metadata if isinstance(metadata, dict) else {}
    is_attack = bool(notes.get("judge")) and notes.get("tester") != "user"
    asker, answerer = ("attacker", "target") if is_attack else ("user", "agent")
    context, stopped = data.get("context"), data.get("stopped")
    opening = context if isinstance(context, str) and context != notes.get("goal") else ""
    listed = list(_turns(turns, results, is_attack=is_attack))
    return Transcript(asker, answerer, opening, listed, stopped if isinstance(stopped, str) else None)


def shown_output(record: ReportCase) -> Any:
    """The output, or of a conversation its last answer: what fits on a line."""
    talk = transcript_of(record)
    return record.output if talk is None or not talk.turns else talk.turns[-1].answered


def seen(record: Record) -> tuple[list[tuple[str, Any]], list[str]]:
    """What was tried, expected and came of an attempt, and its conversation line by line instead of the output if that is one.

    The text is as the record has it. Each view makes it safe, and cuts it, in its own way.
    """
    talk = transcript_of(record)
    return values(record, output=talk is None), [] if talk is None else list(_talk_lines(talk))


def _talk_lines(talk: Transcript) -> Iterator[str]:
    if talk.opening:
        yield f"{talk.answerer}: {talk.opening}"
    for turn in talk.turns:
        where = "" if turn.branch is None else f" ({turn.branch}.{turn.number})"
        yield f"{talk.asker}{where}: {_said(turn.asked)}"
        for done in turn.done:
            if done.tool_call is not None:
                yield f"  called {call_text(done.tool_call)}"
        yield f"{talk.answerer}{where}: {_said(turn.answered)}"
        yield from (f"  = {fact}" for fact in turn.facts)
        for result in turn.results:
            shown = safe_repr(result.value) if isinstance(result.value, bool | str) else number(result.value)
            yield f"  = {result.name}: {shown}{f' ({result.reason})' if result.reason else ''}"
    if talk.stopped is not None:
        yield f"ended: {talk.stopped}"


def _said(words: Any) -> str:
    text = held_text(words)
    return safe_repr(words) if text is None else " ".join(text.split())


def _turns(
    turns: Sequence[dict[str, Any]], results: Sequence[EvaluationResult], *, is_attack: bool
) -> Iterator[TranscriptTurn]:
    numbers = [turn.get("turn") for turn in turns]
    places = [place if isinstance(place, int) else 1 for place in numbers]
    branches = 1 + sum(later <= earlier for earlier, later in itertools.pairwise(places))
    branch = 1
    for index, (turn, place) in enumerate(zip(turns, places, strict=True)):
        branch += index > 0 and place <= places[index - 1]
        yield TranscriptTurn(
            place,
            branch if branches > 1 else None,
            turn.get("attack"),
            _done(turn.get("trace")),
            turn.get("response"),
            _facts(turn, is_attack=is_attack),
            [] if branches > 1 else [each for each in results if _turn_judged(each) == place],
        )


def _turn_judged(result: EvaluationResult) -> Any:
    """Which turn a result is about; `None`: the whole attempt."""
    return result.source.arguments.get("turn") if result.source.name == TurnEvaluator.__name__ else None


def _done(trace: Any) -> list[Turn]:
    try:
        turns = () if trace is None else read_trace(trace).turns
    except InvalidTraceError:  # what a reader cannot make out is still in the report as data
        return []
    return [turn for turn in turns if turn.turn_type not in _MESSAGES]


def _facts(turn: Mapping[str, Any], *, is_attack: bool) -> list[str]:
    words = ("gave way", "held") if is_attack else ("goal reached", "goal not reached yet")
    success, found = turn.get("success"), list[str]()
    if isinstance(success, bool):
        found.append(words[0] if success else words[1])
    for name, what in (("attack_score", "question"), ("response_score", "answer")):
        score = turn.get(name)
        if isinstance(score, int | float):
            found.append(f"score of the {what} {number(score)}")
    return found
