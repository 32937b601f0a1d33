"""A conversation as the page shows it: a rollout, or a value that is a list of messages. What it says is decided in `calipers.views`."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from calipers.data.result import EvaluationResult
from calipers.data.trace import Turn
from calipers.views.message_list import message_transcript
from calipers.views.outcome import call_text
from calipers.views.transcript import Transcript, TranscriptTurn

from .shown_value import MOST, shown_json, shown_value
from .wire import CellJudgement, ShownValue, Talk, TalkStep, TalkTurn

_TURNS: Final = 300
"""Turns of a conversation."""
_STEPS: Final = 50
"""Calls of one turn that are named."""
_SMALL: Final = 4_000
"""Characters of why it ended."""
_MARKS: Final = (b'"role"', b'"lc"', b'"kind"', b'"data"', b'"function_call')
"""One of them stands in every list of messages."""
_LARGEST: Final = 1 << 20
"""Bytes beyond which a value is data."""

Judged = Callable[[EvaluationResult], CellJudgement]


def shown_talk(talk: Transcript, judged: Judged | None = None, *, most: int = MOST) -> Talk:
    """A conversation.

    Args:
        talk: what it says.
        judged: shows what an evaluator said of a turn; `None`: that is not shown.
        most: characters of one value.
    """
    return Talk(
        asker=talk.asker,
        answerer=talk.answerer,
        instructions=talk.instructions[:most],
        opening=talk.opening[:most],
        turns=[_turn(turn, judged, most) for turn in talk.turns[:_TURNS]],
        stopped=None if talk.stopped is None else talk.stopped[:_SMALL],
        left_out=max(0, len(talk.turns) - _TURNS),
    )


def value_with_talk(raw: bytes | msgspec.Raw, href: str | None, *, most: int = MOST) -> ShownValue:
    """A value that is given as JSON, with the conversation that it is if it is a list of messages; takes what `shown_json` takes."""
    shown = shown_json(raw, href, most=most)
    written = bytes(raw)
    if shown.kind != "json" or len(written) > _LARGEST or not any(mark in written for mark in _MARKS):
        return shown
    return _with_talk(shown, msgspec.json.decode(written), most)


def shown_with_talk(value: Any, *, is_there: bool = True) -> ShownValue:
    """Any value, with the conversation that it is if it is a list of messages; takes what `shown_value` takes."""
    shown = shown_value(value, is_there=is_there)
    return _with_talk(shown, value, MOST) if shown.kind == "json" else shown


def _with_talk(shown: ShownValue, value: Any, most: int) -> ShownValue:
    talk = message_transcript(value)
    return shown if talk is None else msgspec.structs.replace(shown, talk=shown_talk(talk, most=most))


def _turn(turn: TranscriptTurn, judged: Judged | None, most: int) -> TalkTurn:
    steps = [_step(each) for each in turn.done[:_STEPS]]
    if len(turn.done) > _STEPS:
        steps.append(TalkStep(kind="tool", text=f"… and {len(turn.done) - _STEPS:,} more"))
    return TalkTurn(
        number=turn.number,
        branch=turn.branch,
        asked=shown_value(turn.asked, is_there=turn.asked is not None, most=most),
        answered=shown_value(turn.answered, is_there=turn.answered is not None, most=most),
        steps=steps,
        facts=list(turn.facts),
        judgements=[] if judged is None else [judged(each) for each in turn.results],
    )


def _step(turn: Turn) -> TalkStep:
    """A step between two messages, in words."""
    if turn.tool_call is not None:
        return TalkStep(kind="tool", text=f"called {call_text(turn.tool_call)}")
    if turn.llm_call is not None:
        return TalkStep(kind="model", text=f"asked {turn.llm_call.model}")
    return TalkStep(kind="agent", text=turn.content)
