"""A scale: what a score means. The verdict of every evaluator of this package is read off its score.

That makes a law that holds for each configured evaluator, whatever it judges:

- every PASS has a higher score than every PARTIAL, and every PARTIAL a higher one than every FAIL;
- a PASS is never 0, and a FAIL never 1;
- ERROR and SKIP are no judgement, and their score is 0.

A score is the share of what was asked for. It is 1 only if nothing is wrong and 0 only if nothing is right, however the
weights lie: rounding decides no verdict.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from calipers.data.result import EvalResult, EvalVerdict
from calipers.evaluators.value_text import shorten

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
