"""What a person may answer to a question about an attempt, and by which key: the same on a terminal and in a browser."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from calipers.errors import InvalidOptionError

from .human_label import Rating

AnswersKind: TypeAlias = Literal["yes or no", "scale", "choices"]
"""Which kind of answers a question has."""

_MOST = 10
"""Answers that have a key each."""


class Answers(NamedTuple):
    """What a person may say, and by which key."""

    by_key: Mapping[str, Rating]
    words: Mapping[str, str]
    """How the answer of each key is shown."""
    kind: AnswersKind = "yes or no"


def yes_or_no() -> Answers:
    """The answers to a question of yes or no."""
    return Answers({"y": True, "n": False}, {"y": "yes", "n": "no"})


def scale(given: str) -> Answers:
    """The answers on a scale such as `1-5`: whole numbers, each by its last digit.

    Raises:
        InvalidOptionError: it is not a scale.
    """
    low, _, high = given.partition("-")
    if not (low.isdecimal() and high.isdecimal() and len(given) < _MOST):
        raise InvalidOptionError(
            f"a scale must be written LOW-HIGH in whole numbers, such as 1-5, got {given!r}"
        )
    numbers = range(int(low), int(high) + 1)
    if not 1 < len(numbers) <= _MOST:
        raise InvalidOptionError(
            f"a scale must have from 2 to {_MOST} numbers, one for each digit, got {given!r}"
        )
    found = {str(number % _MOST): number for number in numbers}
    return Answers(found, {key: str(number) for key, number in found.items()}, "scale")


def choices(given: str) -> Answers:
    """The answers among words such as `good,bad,unsure`, each by its number.

    Raises:
        InvalidOptionError: they are fewer than two or more than nine, or not all different.
    """
    words = [word.strip() for word in given.split(",")]
    if not all(words) or len(set(words)) < len(words) or not 1 < len(words) < _MOST:
        raise InvalidOptionError(
            f"choices must be from 2 to {_MOST - 1} different words, separated by commas, got {given!r}"
        )
    found = {str(number): word for number, word in enumerate(words, 1)}
    return Answers(found, dict(found), "choices")


def answers_of(scale_given: str | None, choices_given: str | None) -> Answers:
    """The answers of a scale, among choices, or yes and no where neither is given.

    Raises:
        InvalidOptionError: both are given, or one of them is not valid.
    """
    if scale_given is not None and choices_given is not None:
        raise InvalidOptionError("answers are either on a scale or among choices: give one of them")
    if scale_given is not None:
        return scale(scale_given)
    return yes_or_no() if choices_given is None else choices(choices_given)
