"""What an evaluator may return, and how it becomes named values.

A bool is an assertion, a finite number a score, a string a label; numpy scalars count as what they hold, and a bool
is never a number. `EvaluationReason` adds a reason. A mapping gives one result per key, nested mappings flattened with
dots; an empty one, or `Skipped(reason)`, says that the evaluator does not apply. Richer objects are read by what they
carry: a `verdict` with its score, a `passed` flag, or a rollout's `overall` metrics.

Anything else (NaN, infinity, `None`, a list, an arbitrary object) is an `InvalidOutputError`: the evaluator failed,
and the message says what it returned.
"""

import math
import sys
from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import Enum
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

from .errors import InvalidOutputError
from .result import EvaluationReason, EvalVerdict, Scalar, Skipped

EvaluatorOutput: TypeAlias = Scalar | EvaluationReason | Skipped | Mapping[str, "EvaluatorOutput"]
"""Every legal return value of `evaluate`."""

# A score must survive JSON and arithmetic with floats, so integers stay within 64 bits.
_LARGEST_INT = 2**63 - 1


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


def read_output(output: Any) -> list[Judgement] | Skipped:
    """The judgements in an evaluator's output, or `Skipped` if it does not apply.

    Raises:
        InvalidOutputError: the output is not a judgement.
    """
    if isinstance(output, Skipped):
        return output
    if isinstance(output, Mapping):
        found = list(_flatten(output, ""))
        return found or Skipped("it returned no results for this case")
    return _read_object(None, output)


def _flatten(mapping: Mapping[Any, Any], prefix: str) -> Iterator[Judgement]:
    for key, value in mapping.items():
        if not isinstance(key, str):
            raise InvalidOutputError(f"a mapping of results needs strings as keys, got {key!r}")
        name = prefix + key
        if isinstance(value, Mapping):
            yield from _flatten(value, name + ".")
        elif not isinstance(value, Skipped):
            found = _read_object(name, value)
            if isinstance(found, list):
                yield from found


def _read_object(key: str | None, output: Any) -> list[Judgement] | Skipped:
    """One value that is not a mapping: a scalar, a value with a reason, or a richer result object."""
    if isinstance(output, EvaluationReason):
        if output.reason is not None and not isinstance(output.reason, str):
            raise InvalidOutputError(f"a reason must be a string, got {output.reason!r}")
        return [Judgement(key, read_scalar(output.value), output.reason)]
    if hasattr(output, "verdict"):
        return _read_verdict(key, output)
    if isinstance(getattr(output, "passed", None), bool):
        return [_read_passed(key, output)]
    if isinstance(overall := getattr(output, "overall", None), Mapping) and hasattr(output, "per_turn"):
        return _read_rollout(key, output, overall)
    return [Judgement(key, read_scalar(output))]


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
        return str(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        return read_scalar(value.item())
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


def _read_verdict(key: str | None, output: Any) -> list[Judgement] | Skipped:
    try:
        verdict = EvalVerdict(output.verdict)
    except ValueError:
        raise InvalidOutputError(
            f"returned the verdict {output.verdict!r}; verdicts are {', '.join(v.value for v in EvalVerdict)}"
        ) from None
    reason = str(getattr(output, "reason", "") or "") or None
    if verdict is EvalVerdict.SKIP:
        return Skipped(reason or "the evaluator gave the verdict 'skip'")
    if verdict is EvalVerdict.ERROR:
        raise InvalidOutputError(reason or "the evaluator gave the verdict 'error' without a reason")
    score = getattr(output, "score", None)
    return [
        Judgement(
            key,
            verdict is EvalVerdict.PASS,
            reason,
            verdict,
            None if score is None else _read_float(score),
            _metadata(output),
            output,
        )
    ]


def _read_passed(key: str | None, output: Any) -> Judgement:
    summary = getattr(output, "summary", None)
    reason = summary() if callable(summary) else getattr(output, "reason", None)
    score = getattr(output, "score", None)
    return Judgement(
        key,
        output.passed,
        None if reason is None else str(reason),
        None,
        None if score is None else _read_float(score),
        _metadata(output),
        output,
    )


def _read_rollout(key: str | None, output: Any, overall: Mapping[Any, Any]) -> list[Judgement] | Skipped:
    # A rollout writes None for what never happened ("first toxic turn"): not measured, so absent.
    measured = {name: value for name, value in overall.items() if value is not None}
    prefix = "" if key is None else key + "."
    found = [judgement._replace(original=output) for judgement in _flatten(measured, prefix)]
    return found or Skipped("the rollout has no overall metrics")


def _metadata(output: Any) -> dict[str, Any] | None:
    metadata = getattr(output, "metadata", None)
    return dict(metadata) if isinstance(metadata, Mapping) and metadata else None


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= 200 else text[:200] + "…"
