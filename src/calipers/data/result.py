"""One judgement, and the ways of not making one.

An evaluator judges (`EvaluationResult`), does not apply (`SkippedEvaluation`), or does not finish
(`EvaluatorFailure`). The three are kept apart from here to the last view: a skip is never a pass, and a crash is
never a score.

A result has one value, and its type says what kind of claim it is: a bool is an *assertion*, a number a *score*, a
string a *label*. A result that came from a verdict keeps the verdict and its score beside the value.
"""

import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, Generic, Literal, TypeAlias, cast
from uuid import uuid4

import msgspec
from typing_extensions import TypeVar

from calipers.data.pydantic_field import ModelField
from calipers.data.redaction import masked_fields, masked_text
from calipers.errors import InvalidOutputError, OtherLoopError, RolloutError
from calipers.process.interrupt import is_interrupt

from .argument_checks import is_real_number

Scalar: TypeAlias = bool | int | float | str
"""What one judgement may say."""

Kind: TypeAlias = Literal["assertion", "score", "label"]
"""What kind of claim a result makes."""

ValueT = TypeVar("ValueT", default=Scalar)
_T = TypeVar("_T")


class EvalVerdict(StrEnum):
    """The outcome of a verdict evaluator."""

    PASS = "pass"  # noqa: S105 - not a password
    PARTIAL = "partial"
    FAIL = "fail"
    ERROR = "error"
    SKIP = "skip"


class EvaluationReason(ModelField, msgspec.Struct, frozen=True):
    """A value with the reason for it: what an evaluator returns when it explains itself."""

    value: Scalar
    reason: str | None = None
    metadata: dict[str, Any] | None = None
    """What else is to be kept with the result, as plain data."""


class Skipped(ModelField, msgspec.Struct, frozen=True):
    """What an evaluator returns when it does not apply, with the reason; `{}` says the same without one."""

    reason: str


@dataclass(frozen=True)
class EvalResult(ModelField):
    """What a verdict evaluator returns: a verdict, a score that agrees with it, and the reason."""

    evaluator_name: str
    verdict: EvalVerdict
    score: float
    """From 0 to 1."""
    reason: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    error: BaseException | None = field(default=None, repr=False, compare=False)
    """The exception behind the verdict ERROR, where one was caught."""
    eval_id: str = field(default_factory=lambda: str(uuid4()), repr=False, compare=False)
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC), repr=False, compare=False)

    def __post_init__(self) -> None:
        check_score(self.score)

    @property
    def duration_ms(self) -> float | None:
        """Milliseconds the evaluator took; `None` when it was not measured."""
        return self.metadata.get("duration_ms")


def check_score(score: Any) -> None:
    """Refuse what is no score of an `EvalResult`.

    Raises:
        InvalidOutputError: it is no number from 0 to 1. A bool is never a number.
    """
    if not is_real_number(score) or not 0 <= float(score) <= 1:
        raise InvalidOutputError(f"the score of an EvalResult is a number from 0 to 1, got {score!r:.200}")


class EvaluatorSpec(ModelField, msgspec.Struct, frozen=True):
    """Which evaluator made a result: its type and the arguments that differ from the defaults."""

    name: str
    arguments: dict[str, Any] = {}
    score_range: tuple[float, float] | None = None
    """The smallest and the largest score that it can give; `None` if it does not say."""

    def without_secrets(self) -> "EvaluatorSpec":
        """The same with `[redacted]` for each secret among the arguments, as it may be reported and stored."""
        told = masked_fields(self.arguments) if self.arguments else self.arguments
        if told is self.arguments:
            return self
        return msgspec.structs.replace(self, arguments=told)


class EvaluationResult(ModelField, msgspec.Struct, Generic[ValueT], frozen=True, kw_only=True, gc=False):
    """One named judgement of one attempt; `EvaluationResult[bool]` is an assertion."""

    name: str
    """Unique within its attempt; the key in `assertions`, `scores` or `labels`."""
    value: ValueT
    reason: str | None = None
    evaluator: str
    """Which evaluator of the run made it: equal to `name` unless one evaluator made several results."""
    source: EvaluatorSpec
    evaluator_version: str | None = None
    verdict: EvalVerdict | None = None
    """Only from evaluators that give verdicts."""
    score: float | None = None
    """The graded score behind an assertion, where the evaluator gave one."""
    metadata: dict[str, Any] | None = None
    original: Any = None
    """The object the evaluator returned, when it was richer than a value; not stored with a report."""
    key: str | None = None
    """The key in the evaluator's mapping, where it is not the name: another evaluator of the run has that."""

    @property
    def kind(self) -> Kind:
        """Which kind of claim the value makes."""
        return kind_of(self.value)  # type: ignore[arg-type]  # only a scalar makes a claim

    def downcast(self, *types: type[_T]) -> "EvaluationResult[_T] | None":
        """This result if its value is one of the types, else `None`. A bool is never a number."""
        if isinstance(self.value, bool) and bool not in types:
            return None
        return self if isinstance(self.value, types) else None  # type: ignore[return-value]  # its value is one


class SkippedEvaluation(ModelField, msgspec.Struct, frozen=True, gc=False):
    """An evaluator that did not apply to an attempt, or one of its results that did not."""

    name: str
    """The evaluator's, or what the result would be called."""
    reason: str
    key_of: str | None = None
    """The evaluator of which this is one result among others; `None`: the whole evaluator did not apply."""
    original: Any = None
    """The object the evaluator returned, when it was richer than a skip; not stored with a report."""
    metadata: dict[str, Any] | None = None
    """What the evaluator counted and noted, and how often it was tried, where there is something to say."""
    key: str | None = None
    """The key in the evaluator's mapping, where it is not the name: another evaluator of the run has that."""

    @property
    def evaluator(self) -> str:
        """Which evaluator of the run said so."""
        return self.name if self.key_of is None else self.key_of


Hopeless: TypeAlias = Literal["key", "credit", "model", "host"]
"""What is wrong where no further call can succeed (`calipers.data.hopeless` tells it by an error)."""


class EvaluatorFailure(ModelField, msgspec.Struct, frozen=True, kw_only=True):
    """An evaluator that did not finish."""

    name: str
    error_type: str
    error_message: str
    """`Type: text`."""
    error_stacktrace: str = ""
    source: EvaluatorSpec
    metadata: dict[str, Any] | None = None
    """What it counted and noted, and how often it was tried, where there is something to say."""
    infrastructure: bool = False
    """Whether a time-out, a connection or a server got in the way, so that it says nothing about what was judged."""
    hopeless: Hopeless | None = None
    """What was wrong that no further judgement could escape: the key, the credit, the model or the host; `None`: nothing of this kind."""


def kind_of(value: Scalar) -> Kind:
    """Assertion, score or label, by the value's type."""
    if isinstance(value, bool):
        return "assertion"
    return "label" if isinstance(value, str) else "score"


_TOLD: Final = "_calipers_text"
"""The attribute of an error that says how to tell it."""


def tell_error_as(error: BaseException, text: str) -> None:
    """Have an error told so, as `Type: text`, wherever it goes: its own text has secrets in it."""
    with suppress(Exception):  # an error whose attributes cannot be set
        setattr(error, _TOLD, text)


_DESCRIBED: Final = "_calipers_described"
"""The attribute of an error that another process raised: what is told of it, with the traceback that it had there."""


def describe_error_as(error: BaseException, described: tuple[str, str, str]) -> None:
    """Have an error described so, since where it was raised is known elsewhere."""
    with suppress(Exception):  # an error whose attributes cannot be set
        setattr(error, _DESCRIBED, described)


def describe_error(error: BaseException) -> tuple[str, str, str]:
    """Type, `Type: text` and traceback of an error, even if its own methods raise, and without what looks like a key.

    A player that failed in a conversation is described by its own error, with the turn after the text. An error of two event loops is
    described as an `OtherLoopError`.
    """
    with suppress(Exception):
        described = getattr(error, _DESCRIBED, None)
        if isinstance(described, tuple):
            return cast("tuple[str, str, str]", described)
    where = ""
    shown = error
    with suppress(Exception):  # an error whose attributes cannot be read
        if isinstance(error, RolloutError) and error.where and error.__cause__ is not None:
            shown, where = error.__cause__, f" ({error.where})"
    if (other_loop := OtherLoopError.found_in(error)) is not None:
        shown = error = other_loop
    kind = type(shown).__name__
    try:
        message = f"{kind}: {shown}{where}"
    except BaseException as another:
        if is_interrupt(another):
            raise
        message = f"{kind}: (the error's own text could not be read)"
    try:
        stack = "".join(traceback.format_exception(error))
        for text, told in _told_otherwise(error):
            message, stack = message.replace(text, told), stack.replace(text, told)
    except BaseException as another:
        if is_interrupt(another):
            raise
        stack = message
    return kind, masked_text(message), masked_text(stack)


def _told_otherwise(error: BaseException | None) -> Iterator[tuple[str, str]]:
    """The own texts of an error and of those it came from, each with what to tell instead, where that differs."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        told = getattr(error, _TOLD, None)
        if isinstance(told, str) and str(error):
            yield str(error), told.removeprefix(f"{type(error).__name__}: ")
        error = error.__cause__ or error.__context__
