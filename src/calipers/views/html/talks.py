"""The conversation of an attempt, as data for the page's script: its transcript, turn by turn.

The limits are those of traces: the characters of a value, and the turns of one conversation.
"""

from collections.abc import Mapping
from typing import Any

from calipers.views.transcript import Transcript, TranscriptTurn

from .traces import TURNS, VALUE, embedded_turn
from .values import shown_text, shown_value


def embedded_talk(talk: Transcript, places: Mapping[int, int], *, limit: int | None) -> dict[str, Any]:
    """One transcript, with only the keys that have something to say.

    Args:
        talk: the transcript.
        places: where a result stands among those of the attempt, by its id.
        limit: characters of one value; `None` for no limit of any kind.
    """
    most = limit if limit is None else min(limit, VALUE)
    turns = talk.turns if limit is None else talk.turns[:TURNS]
    found: dict[str, Any] = {
        "asker": talk.asker,
        "answerer": talk.answerer,
        "turns": [_turn(turn, places, most) for turn in turns],
    }
    if len(turns) < len(talk.turns):
        found["of"] = len(talk.turns)
    if talk.opening:
        found["opening"] = shown_value(talk.opening, most)
    if talk.stopped:
        found["stopped"] = shown_text(talk.stopped, most)
    return found


def _turn(turn: TranscriptTurn, places: Mapping[int, int], limit: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "number": turn.number,
        "asked": shown_value(turn.asked, limit),
        "answered": shown_value(turn.answered, limit),
    }
    if turn.branch is not None:
        found["branch"] = turn.branch
    if turn.done:
        found["done"] = [embedded_turn(each, limit) for each in turn.done]
    if turn.facts:
        found["facts"] = list(turn.facts)
    if turn.results:
        found["results"] = [places[id(result)] for result in turn.results]
    return found
