"""Moderators: who scores texts, from 0, harmless, to 1. Every shape becomes one, and every answer is checked.

| you have | what it becomes |
|---|---|
| an object with `moderate(texts)`, or `score(texts)` | itself |
| a function of one text that gives a number | a moderator that calls it for each text |

Sync or async, each. A moderator must give as many numbers from 0 to 1 as it was given texts, in their order.
"""

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from calipers.data.argument_checks import is_real_number
from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidOptionError, InvalidRolloutError
from calipers.process.loop import run_sync
from calipers.rollouts.players import FunctionPlayer, ask, is_async, is_blocking

_SHAPES = """A moderator is one of:
  1. an object with moderate(texts), which gives a list of numbers
  2. an object with score(texts), which gives a list of numbers
  3. a function of one text, which gives a number"""


def as_moderator(x: Any) -> Any:
    """A moderator made of `x`, whichever of the three shapes it has.

    Raises:
        InvalidOptionError: it has none of them; the message names them.
    """
    if inspect.isclass(x):
        raise InvalidOptionError(
            f"{x.__name__} is a class: make a moderator of it, {x.__name__}(...).\n{_SHAPES}"
        )
    if callable(getattr(x, "moderate", None)) or callable(getattr(x, "score", None)):
        return x
    if callable(x):
        return FunctionModerator(x)
    raise InvalidOptionError(f"{safe_repr(x):.200} is not a moderator.\n{_SHAPES}")


class Scorer:
    """Base of moderators: `score` is `moderate`, under its other name."""

    def moderate(self, texts: Sequence[str]) -> Any:
        """One score for each text, in the same order."""
        raise NotImplementedError

    def score(self, texts: Sequence[str]) -> Any:
        """`moderate`, under its other name."""
        return self.moderate(texts)


class TextModerator(Scorer):
    """A moderator that scores one text at a time, without waiting: say how in `score_text`."""

    def score_text(self, text: str) -> float:
        """The score of one text, from 0 to 1."""
        raise NotImplementedError

    def moderate(self, texts: Sequence[str]) -> list[float]:
        """One score for each text, in the same order."""
        return [self.score_text(text) for text in check_texts(texts)]


@dataclass(frozen=True)
class FunctionModerator(FunctionPlayer, Scorer):
    """A moderator that is a function of one text."""

    def moderate(self, texts: Sequence[str]) -> Any:
        """One score for each text, in the same order, or what to await them by."""
        if is_async(self.function):
            return self._moderate_async(texts)
        return [self.function(text) for text in check_texts(texts)]

    async def _moderate_async(self, texts: Sequence[str]) -> list[Any]:
        return [await self.function(text) for text in check_texts(texts)]


@dataclass(frozen=True)
class AnsweringModerator(Scorer):
    """Any moderator, for code that is not async and wants the scores at once: `moderate([text])[0]`.

    What waits is waited for, so this holds up an event loop that it is called on.
    """

    moderator: Any
    """Who scores."""

    def moderate(self, texts: Sequence[str]) -> list[float]:
        """One score for each text, in the same order."""
        return run_sync(lambda: scores_of(self.moderator, check_texts(texts)))


def answering(moderator: Any) -> Any:
    """A moderator whose `moderate` and `score` give the scores themselves; the same one, if it does so already."""
    return moderator if isinstance(moderator, TextModerator) else AnsweringModerator(moderator)


async def scores_of(moderator: Any, texts: Sequence[str]) -> list[float]:
    """What a moderator says of these texts, in one call."""
    if not texts:
        return []
    method = getattr(moderator, "moderate", None) or moderator.score
    return read_scores(await ask(method, list(texts), blocking=is_blocking(moderator)), len(texts))


def read_scores(given: Any, texts: int) -> list[float]:
    """The scores of so many texts."""
    try:
        scores = [] if isinstance(given, str | bytes) else list(given)
    except TypeError:
        scores = []
    good = [_number(score) for score in scores]
    if len(scores) != texts or None in good:
        raise InvalidRolloutError(
            f"a moderator must give one finite number for each of its {texts} texts, in their order, "
            f"got {safe_repr(given):.300}"
        )
    found = [score for score in good if score is not None]
    if (wrong := next((score for score in found if not 0 <= score <= 1), None)) is not None:
        raise InvalidRolloutError(
            f"a moderator scores from 0, harmless, to 1, got {wrong!r}: scale its scores, such as value / 100 for a percentage"
        )
    return found


def check_texts(texts: Any) -> Sequence[str]:
    """The same, if it is a list of texts."""
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise InvalidRolloutError(f"a moderator takes a list of texts, got {safe_repr(texts):.200}")
    return texts  # type: ignore[no-any-return]  # just checked


def _number(score: Any) -> float | None:
    """A finite number of Python, numpy or a tensor; `None` for anything else, also a bool."""
    if not isinstance(score, Real) and callable(item := getattr(score, "item", None)):
        try:
            score = item()
        except (TypeError, ValueError, RuntimeError):
            return None
    if not is_real_number(score):
        return None
    try:
        number = float(score)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
