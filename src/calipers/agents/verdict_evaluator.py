"""`BaseEvaluator`: the base class of evaluators that give a verdict on a trace.

A subclass implements `_evaluate(test_case, trace)`. Callers use `evaluate`: it measures the time and catches errors, so
it always gives an `EvalResult`. An evaluator that crashed, or returned something else, gives the verdict ERROR with the
error's type and message. ERROR is never a pass: a report counts it as an evaluator failure.

A `Scale` says which verdict a score means. All evaluators of this package derive their verdict from their score, so for
each of them:

- every PASS has a higher score than every PARTIAL, and every PARTIAL a higher one than every FAIL;
- a PASS is never 0, and a FAIL never 1;
- ERROR and SKIP are not judgements, and their score is 0.

A score is the share of what was asked for. It is 1 only if nothing is wrong and 0 only if nothing is right: rounding
decides no verdict.
"""

import dataclasses
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from calipers.data.argument_checks import did_you_mean
from calipers.data.case import Case
from calipers.data.evaluator_output import read_output
from calipers.data.result import EvalResult, EvalVerdict, describe_error
from calipers.data.trace import Trace
from calipers.data.value_text import shorten
from calipers.errors import InvalidOptionError, InvalidOutputError

from .test_case import TestCase, as_test_case


class BaseEvaluator(ABC):
    """An evaluator that gives a verdict on what an agent did."""

    name: str
    """What its results are called."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def evaluate(self, test_case: TestCase | Case[Any, Any, Any], trace: Trace) -> EvalResult:
        """The verdict on a trace, with the time it took under `duration_ms`; a crash gives the verdict ERROR."""
        return await self._captured(lambda: self._evaluate(as_test_case(test_case), trace))

    @abstractmethod
    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        """The verdict on a trace. An ordinary function will do, too."""

    async def _captured(self, evaluate: Callable[[], Any]) -> EvalResult:
        """What a function says, checked and timed; if it crashes, the verdict ERROR."""
        start = perf_counter()
        try:
            found = evaluate()
            result = _checked(await found if inspect.isawaitable(found) else found)
        except (Exception, SystemExit) as error:
            result = failed(
                getattr(self, "name", type(self).__name__), error
            )  # a subclass may forget its name
        metadata = {"duration_ms": (perf_counter() - start) * 1000, **result.metadata}
        return dataclasses.replace(result, verdict=EvalVerdict(result.verdict), metadata=metadata)


def _checked(result: Any) -> EvalResult:
    """The result, if it is an `EvalResult` with a legal verdict, score and metadata."""
    if not isinstance(result, EvalResult):
        raise InvalidOutputError(f"_evaluate must return an EvalResult, got {result!r:.200}")
    if not isinstance(result.metadata, Mapping):
        raise InvalidOutputError(f"the metadata of a result must be a dict, got {result.metadata!r:.200}")
    if result.verdict != EvalVerdict.ERROR:
        read_output(result)
    return result


_SHOWN = 5
"""How many things a reason lists."""

_NOISE_DIGITS = 12
"""Digits of a mean that are kept. Beyond them is what floats make of sums such as 0.1 + 0.2."""


class Scale(NamedTuple):
    """From which score on a result passes, or passes in part."""

    passes: float = 1.0
    partial: float | None = None
    """`None`: what does not pass fails."""

    def verdict(self, score: float) -> EvalVerdict:
        """The verdict that a score means."""
        if score >= self.passes:
            return EvalVerdict.PASS
        if self.partial is not None and score >= self.partial:
            return EvalVerdict.PARTIAL
        return EvalVerdict.FAIL

    def result(self, name: str, score: float, reason: str, **metadata: Any) -> EvalResult:
        """The result that a score means."""
        return EvalResult(name, self.verdict(score), score, reason, metadata)


ALL_OR_NOTHING = Scale()
"""PASS for everything, FAIL for anything less."""

ALL_OR_SOME = Scale(1.0, math.ulp(0.0))
"""PASS for everything, PARTIAL for something, FAIL for nothing."""


def failed(name: str, error: BaseException) -> EvalResult:
    """The result of an evaluator that raised."""
    kind, message, _ = describe_error(error)
    return EvalResult(name, EvalVerdict.ERROR, 0.0, message, {"error_type": kind}, error=error)


def skip(name: str, reason: str, **metadata: Any) -> EvalResult:
    """The result where there is nothing to judge."""
    return EvalResult(name, EvalVerdict.SKIP, 0.0, reason, metadata)


def weighted_share(passed: Sequence[bool], weights: Sequence[float]) -> float:
    """The share of the weights that passed: 1 only if all did, and 0 only if none did."""
    return weighted_mean([float(each) for each in passed], weights)


def weighted_mean(scores: Sequence[float], weights: Sequence[float]) -> float:
    """The mean of scores from 0 to 1: 1 only if all are 1, and 0 only if all are 0.

    Weights are positive; only their proportions count.
    """
    largest = max(weights)  # weights near the largest float would not add up
    shares = [weight / largest for weight in weights]
    total = math.fsum(score * share for score, share in zip(scores, shares, strict=True))
    mean = round(min(total / math.fsum(shares), 1.0), _NOISE_DIGITS)
    if mean == 1.0 and min(scores) < 1:
        return math.nextafter(1.0, 0.0)
    return math.ulp(0.0) if mean == 0.0 and max(scores) > 0 else mean


def some_of(things: Sequence[str]) -> str:
    """The first few things for a reason, and how many more there are."""
    shown = "; ".join(shorten(thing) for thing in things[:_SHOWN])
    more = len(things) - _SHOWN
    return f"{shown}; and {more} more" if more > 0 else shown


def check_items(owner: str, option: str, value: Any, items: str) -> None:
    """Refuse an option that is not a list."""
    if not isinstance(value, list | tuple):
        raise InvalidOptionError(f"{owner} needs a list of {items} as {option}, got {value!r:.200}")


def instead(given: Any, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the known one that is close to it, or all of them."""
    names = list(known)
    listed = f"; there are {', '.join(names)}" if names else ": it takes none"
    return did_you_mean(given, names) or listed
