"""How likely a rare failure is, from draws that were made where failures are: importance sampling.

Inputs are drawn from a proposal instead of the stated distribution of users, and each draw weighs as much more or less as the stated
distribution gives it: `weight = p / q`. The mean of `weight · failed` is right on average, for any proposal that can draw every failure.

The interval is Clopper and Pearson's of an effective count: the weights of the failures are worth `(sum w)² / sum w²` equal ones, and for
the upper end one more failure is reckoned with, of the largest weight of those seen (Fay and Feuer, "Confidence intervals for directly
standardized rates", 1997, have it for Poisson counts). With all weights 1 it is exactly Clopper and Pearson's. It knows only of failures where the proposal
looks: one that it hardly ever draws is missing in the estimate, and nothing in the data says so. Three signs are given (`Doubt`):

- `few_failures`: the failures are worth fewer than 20 equal ones.
- `one_weight`: one draw makes up more than a fifth of the estimate.
- `weights_off`: the weights do not have the mean 1, which they must have if the proposal draws all that the stated distribution does.
"""

from collections.abc import Sequence
from math import fsum, sqrt
from typing import Literal

import msgspec

from calipers.stats.distributions import beta_quantile
from calipers.stats.interval import Interval
from calipers.stats.sample import check_confidence, finite_values

Doubt = Literal["few_failures", "one_weight", "weights_off"]
FEWEST_FAILURES = 20.0
_LARGEST_SHARE = 0.2
_STANDARD_ERRORS = 4.0
_SMALLEST = 1e-12


class ImportanceRate(msgspec.Struct, frozen=True):
    """How likely a draw of the stated distribution fails, from draws of another one."""

    value: float
    """The mean of the weights of those that failed, the others counting 0."""
    interval: Interval | None
    """Where the true probability may lie; `None` if no draw failed, for then nothing tells what the proposal missed."""
    n: int
    """Draws."""
    failures: int
    """Those that failed."""
    effective_failures: float
    """How many failures of equal weight they are worth."""
    effective_size: float
    """How many draws of the stated distribution all draws are worth: Kish's `(sum w)² / sum w²`."""
    mean_weight: float
    """It should be 1."""
    doubts: tuple[Doubt, ...]
    """What speaks against the estimate."""


def importance_rate(
    failed: Sequence[bool], weights: Sequence[float], *, confidence: float = 0.95
) -> ImportanceRate | None:
    """The probability of a failure, from draws of a proposal; `None` without draws.

    Args:
        failed: whether each draw failed.
        weights: by how much the stated distribution is likelier than the proposal to give each draw.
        confidence: of the interval.

    Raises:
        ValueError: the two do not have the same length, or a weight is below 0.
    """
    check_confidence(confidence)
    each = finite_values(list(weights), name="weights")
    if len(failed) != len(each):
        raise ValueError(f"each draw needs a weight: got {len(failed)} draws and {len(each)} weights")
    if any(weight < 0 for weight in each):
        raise ValueError(f"a weight must be 0 or more, got {min(each)!r}")
    if not each:
        return None
    n, total = len(each), fsum(each)
    counted = [weight for weight, fails in zip(each, failed, strict=True) if fails and weight > 0]
    squares = fsum(weight * weight for weight in counted)
    worth = fsum(counted) ** 2 / squares if counted else 0.0
    all_squares = fsum(weight * weight for weight in each)
    return ImportanceRate(
        value=min(1.0, fsum(counted) / n),
        interval=_interval(counted, n, confidence) if counted else None,
        n=n,
        failures=sum(map(bool, failed)),
        effective_failures=worth,
        effective_size=total * total / all_squares if all_squares else 0.0,
        mean_weight=total / n,
        doubts=tuple(_doubts(each, counted, worth)),
    )


def _interval(counted: list[float], n: int, confidence: float) -> Interval:
    tail = (1 - confidence) / 2
    total, squares, largest = fsum(counted), fsum(w * w for w in counted), max(counted)
    low = _quantile(tail, total**2 / squares, total / n, 1.0)
    total, squares = total + largest, squares + largest**2
    high = _quantile(1 - tail, total**2 / squares, total / (n + 1), 0.0)
    value = min(1.0, fsum(counted) / n)
    return Interval(min(low, value), max(high, value), confidence, "effective-clopper-pearson")


def _quantile(p: float, failures: float, rate: float, more: float) -> float:
    """Of the beta distribution for so many failures, at a rate that says among how many draws."""
    return beta_quantile(p, failures, max(failures / rate - failures + more, _SMALLEST))


def _doubts(weights: list[float], counted: list[float], worth: float) -> list[Doubt]:
    found: list[Doubt] = []
    if worth < FEWEST_FAILURES:
        found.append("few_failures")
    if counted and max(counted) > _LARGEST_SHARE * fsum(counted):
        found.append("one_weight")
    n = len(weights)
    mean = fsum(weights) / n
    spread = fsum((weight - mean) ** 2 for weight in weights) / (n - 1) if n > 1 else 0.0
    if abs(mean - 1) > _STANDARD_ERRORS * sqrt(spread / n) + 1e-9:
        found.append("weights_off")
    return found
