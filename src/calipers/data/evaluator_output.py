"""What an evaluator may return, and how it becomes named values.

A bool is an assertion, a finite number a score, a string a label; numpy scalars and enums count as what they hold, and
a bool is never a number. `EvaluationReason` adds a reason, and metadata where there is any. A mapping gives one result per key, nested mappings flattened
with dots; an empty one, or `Skipped(reason)`, says that the evaluator does not apply, or that this one of its results
does not. Richer objects are read by what they carry: a `verdict` with its score, a `passed` flag, or a rollout's
`overall` metrics. Only the verdict 'pass' passes: 'partial' is an assertion that did not hold, with a score that says how
nearly.

Anything else (NaN, infinity, `None`, a list, an arbitrary object) is an `InvalidOutputError`: the evaluator failed,
and the message says what it returned.
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

from calipers.data.jsonable import loaded_types
from calipers.data.result import EvalResult, EvaluationReason, EvalVerdict, Scalar, Skipped
from calipers.errors import InvalidOutputError
from calipers.process.interrupt import is_interrupt

from .argument_checks import is_real_number

EvaluatorOutput: TypeAlias = (
    Scalar | EvaluationReason | Skipped | EvalResult | Mapping[str, "EvaluatorOutput"]
)
"""Every legal return value of `evaluate`."""

# A score must survive JSON and arithmetic with floats, so integers stay within 64 bits.
_LARGEST_INT = 2**63 - 1

_SCALARS = frozenset({bool, int, float, str})


class Judgement(NamedTuple):
    """One value of an evaluator's output, before it has a place in a report."""

    key: str | None
    """The key within a mapping; `None` when the evaluator returned a single value."""
    value: Scalar
    reason: str | None = None
    verdict: EvalVerdict | None = None
    score: float | None = None
    metadata: dict[str, Any] | None = None
    original: Any = None


class Abstention(NamedTuple):
    """One value of an evaluator's output that says why there is none."""

    key: str | None
    """The key within a mapping; `None` when the whole evaluator does not apply."""
    reason: str
    original: Any = None


def read_output(output: Any) -> list[Judgement] | Skipped:
    """The judgements in an evaluator's output, or `Skipped` if it does not apply.

    Raises:
        InvalidOutputError: the output is not a judgement.
    """
    parts = read_parts(output)
    found = [part for part in parts if isinstance(part, Judgement)]
    return found or Skipped("; ".join(part.reason or "" for part in parts))


def read_parts(output: Any) -> list[Judgement | Abstention]:
    """The judgements in an evaluator's output, and what of it does not apply, in their order; never nothing.

    Raises:
        InvalidOutputError: the output is not a judgement.
    """
    if isinstance(output, Mapping):
        return _read_mapping(output, "", "it returned no results for this case")
    return _read_object(None, output)


def _read_mapping(mapping: Mapping[Any, Any], prefix: str, empty: str) -> list[Judgement | Abstention]:
    """What stands under each key."""
    found: list[Judgement | Abstention] = []
    for key, value in mapping.items():
        if not isinstance(key, str) or not key:
            raise InvalidOutputError(
                f"a mapping of results needs non-empty strings as keys, got {_short(key)}"
            )
        name = prefix + str.__str__(key)  # a plain string, whatever subclass the key is
        if isinstance(value, Mapping):
            found += _read_mapping(value, name + ".", f"{name} is empty")
        else:
            found += _read_entry(name, value)
    return found or [Abstention(prefix.removesuffix(".") or None, empty)]


def _read_entry(name: str, value: Any) -> list[Judgement | Abstention]:
    try:
        return _read_object(name, value)
    except InvalidOutputError as error:
        raise InvalidOutputError(f"under {name!r}: {error}") from error


def _read_object(key: str | None, output: Any) -> list[Judgement | Abstention]:
    """One value that is not a mapping: a scalar, a value with a reason, or a richer result object."""
    if type(output) in _SCALARS:
        return [Judgement(key, read_scalar(output))]
    if isinstance(output, Skipped):
        _check_reason(output.reason, "a skip needs a reason")
        return [Abstention(key, output.reason)]
    if isinstance(output, EvaluationReason):
        if output.reason is not None:
            _check_reason(output.reason, "a reason must be a string")
        if isinstance(output.value, EvalVerdict):
            return [_read_verdict(key, output.value, output)]
        return [Judgement(key, read_scalar(output.value), output.reason, metadata=_metadata(output))]
    if isinstance(output, EvalVerdict):
        return [_read_verdict(key, output, None)]
    if (verdict := getattr(output, "verdict", None)) is not None:
        return [_read_verdict(key, verdict, output)]
    if isinstance(passed := _plain_bool(getattr(output, "passed", None)), bool):
        return [_read_passed(key, passed, output)]
    if isinstance(overall := getattr(output, "overall", None), Mapping) and hasattr(output, "per_turn"):
        return _read_rollout(key, output, overall)
    return [Judgement(key, read_scalar(output))]


def _check_reason(reason: Any, rule: str) -> None:
    if not isinstance(reason, str):
        raise InvalidOutputError(f"{rule}, got {_short(reason)}")


def read_scalar(value: Any) -> Scalar:
    """A value as a plain bool, int, float or str.

    Raises:
        InvalidOutputError: it is none of these, or not finite.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return read_scalar(value.value)
    if isinstance(value, str):
        return str.__str__(value)
    value = _from_numpy(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) > _LARGEST_INT:
            raise InvalidOutputError("a score must fit into 64 bits: the integer returned is larger")
        return int(value)
    if isinstance(value, Real | Decimal):
        return _read_float(value)
    if value is None:
        raise InvalidOutputError(
            "returned None, which is not a judgement: a missing `return`? "
            "Where the evaluator does not apply, return {} or Skipped(reason)"
        )
    raise InvalidOutputError(
        f"returned {_short(value)}, which is not a judgement: return a bool, a finite number, a string, "
        "an EvaluationReason, Skipped(reason) or a mapping of these"
    )


def _from_numpy(value: Any) -> Any:
    """What a numpy scalar holds; anything else as it is."""
    if not isinstance(value, loaded_types("numpy", "generic")):
        return value
    # Extended precision has no Python type, and its item() would be itself.
    return float(value) if isinstance(value, loaded_types("numpy", "floating")) else value.item()


def _read_float(value: Any) -> float:
    try:
        number = float(value)
    except (OverflowError, ValueError) as error:
        raise InvalidOutputError(f"returned {_short(value)}, which is no finite number") from error
    if not math.isfinite(number):
        raise InvalidOutputError(
            f"returned {number!r}, which is no finite score: return Skipped(reason) when there is nothing to measure"
        )
    return number


def _read_verdict(key: str | None, given: Any, output: Any) -> Judgement | Abstention:
    """A verdict and, where it came in an object, what the object says about it."""
    try:
        verdict = EvalVerdict(given.value if isinstance(given, Enum) else given)
    except ValueError:
        raise InvalidOutputError(
            f"returned the verdict {_short(given)}; verdicts are {', '.join(v.value for v in EvalVerdict)}"
        ) from None
    reason = str(getattr(output, "reason", "") or "") or None
    if verdict is EvalVerdict.SKIP:
        return Abstention(key, reason or "the evaluator gave the verdict 'skip'")
    if verdict is EvalVerdict.ERROR:
        if isinstance(error := getattr(output, "error", None), Exception | SystemExit):
            raise error  # so that the failure tells its type and where it came from
        raise InvalidOutputError(reason or "the evaluator gave the verdict 'error' without a reason")
    score = _score_of(output)
    if score is not None and not 0 <= score <= 1:
        raise InvalidOutputError(
            f"returned the verdict {verdict.value!r} with the score {score!r}: the score of a verdict is from 0 to 1"
        )
    return Judgement(key, verdict is EvalVerdict.PASS, reason, verdict, score, _metadata(output), output)


def _read_passed(key: str | None, passed: bool, output: Any) -> Judgement:
    summary = getattr(output, "summary", None)
    reason = summary() if callable(summary) else getattr(output, "reason", None)
    return Judgement(
        key,
        passed,
        None if reason is None else str(reason),
        None,
        _score_of(output),
        _metadata(output),
        output,
    )


def _plain_bool(value: Any) -> Any:
    return value if isinstance(value, bool) else _from_numpy(value)


def _score_of(output: Any) -> float | None:
    """The graded score of a richer result; `None` if it has none."""
    given = getattr(output, "score", None)
    if given is None:
        return None
    number = _from_numpy(given)
    if not is_real_number(number):
        raise InvalidOutputError(
            f"returned {type(output).__name__} with the score {_short(given)}, which is no number"
        )
    return _read_float(number)


def _read_rollout(key: str | None, output: Any, overall: Mapping[Any, Any]) -> list[Judgement | Abstention]:
    # A rollout writes None for what never happened ("first toxic turn"): not measured, so absent. Its metrics may also
    # hold lists, which are there to be aggregated.
    measured = {
        name: Skipped("a list is no judgement") if _is_list(value) else value
        for name, value in overall.items()
        if value is not None
    }
    for name, value in measured.items():
        if isinstance(number := _from_numpy(value), float) and not math.isfinite(number):
            raise InvalidOutputError(
                f"the overall metric {name!r} of the rollout is {number!r}: write None for what was not measured"
            )
    prefix = "" if key is None else key + "."
    found = _read_mapping(measured, prefix, "the rollout has no overall metrics")
    return [part._replace(original=output) for part in found]


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) or bool(getattr(value, "ndim", 0))


def _metadata(output: Any) -> dict[str, Any] | None:
    metadata = getattr(output, "metadata", None)
    return dict(metadata) if isinstance(metadata, Mapping) and metadata else None


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except BaseException as error:
        if is_interrupt(error):
            raise
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= 200 else text[:200] + "…"
