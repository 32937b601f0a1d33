"""What one person said of one attempt, in answer to one question.

A label of a person is evidence about a judge, never a result: no summary counts it, and it never makes an attempt pass. (A *label* among
results is another thing: a result whose value is a text.)

A label is known by run, position, question and person; the same person answers the same question about an attempt once. It is about an
output: `about` is the digest of the output that the person saw. When the attempt is made again, and gives another output, the label
stays, and counts for nothing.
"""

import math
from typing import Any, Literal, TypeAlias

import msgspec

from calipers.errors import InvalidOptionError

from .argument_checks import check_share, check_text, check_whole_number
from .jsonable import plain
from .pydantic_field import ModelField

Rating: TypeAlias = str | int | float | bool
"""What a person says: yes or no, a number, or a word."""

LONGEST_NAME = 200
"""Characters of a question or a person's name."""
_LARGEST = 2**53
_NOT_IN_NAMES = {"Cc", "Cs", "Zl", "Zp"}
"""Control characters, half surrogates and line separators."""


class HumanLabel(ModelField, msgspec.Struct, frozen=True, kw_only=True):
    """What one person said of one attempt.

    Raises:
        InvalidOptionError: a field is not of its type.
    """

    run: str
    """The id of the run."""
    position: int
    """The attempt's place in the run, from 0."""
    case: str
    """The name of the case, without the repeat."""
    repeat: int = 1
    """Which repeat of the case, from 1."""
    question: str
    """What was asked: the name that labels of one kind share."""
    person: str
    """Who said it."""
    value: Rating
    """Yes or no as a bool, a number of a scale, or a word."""
    note: str = ""
    """What the person wrote beside it."""
    at: str
    """When: ISO 8601, UTC."""
    probability: float | None = None
    """The chance with which the attempt was drawn for labelling; `None`: not known, or the same for all (then there is a `seed`)."""
    seed: int | None = None
    """Of the random order in which the person was shown attempts; `None`: the order is not known."""
    about: str = ""
    """The digest of the output (`output_digest`); empty: not known."""

    def __post_init__(self) -> None:
        for name in ("run", "case", "at", "note", "about"):
            check_text(name, getattr(self, name), or_empty=True)
        for name in ("question", "person"):
            check_name(name, getattr(self, name))
        check_whole_number("position", self.position, at_least=0)
        check_whole_number("repeat", self.repeat, at_least=1)
        check_share("probability", self.probability, or_zero=False, or_none=True)
        check_whole_number("seed", self.seed, at_least=0, or_none=True)
        if not is_rating(self.value):
            raise InvalidOptionError(
                f"a label must be true, false, a finite number or a text that is not empty, got {self.value!r:.200}"
            )


def check_name(name: str, value: str) -> str:
    """The name of a question or a person, if it can be shown in one line.

    Raises:
        InvalidOptionError: it is empty, too long, or has control characters.
    """
    from unicodedata import category

    check_text(name, value)
    if len(value) > LONGEST_NAME or any(category(sign) in _NOT_IN_NAMES for sign in value):
        raise InvalidOptionError(
            f"{name} must be one line of at most {LONGEST_NAME} characters, without control characters, got {value!r:.200}"
        )
    return value


def is_rating(value: object) -> bool:
    """Whether a value can be a label."""
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, bool | int | float) and math.isfinite(value) and abs(value) <= _LARGEST


def answer_kind(value: Rating) -> Literal["yes or no", "number", "word"]:
    """Which kind of answer a label is; the answers to one question are of one kind."""
    if isinstance(value, bool):
        return "yes or no"
    return "word" if isinstance(value, str) else "number"


def output_digest(output: Any) -> str:
    """What an output is known by, so that a label of another output is not taken for one of this."""
    from hashlib import blake2b

    text = msgspec.json.encode(plain(output), order="sorted")
    return blake2b(text, digest_size=12).hexdigest()
