"""Calibration: of the things a model called 80% likely, did 80% happen?

Predictions are probabilities of the outcome, in [0, 1]. Bins are of equal width, closed below and open above,
the last closed on both sides. An empty bin stays in the list with nothing measured, so that a gap is seen as
a gap.

- Brier score: mean of (predicted - outcome)², lower is better (Brier 1950, in its form for two outcomes).
- Expected calibration error: Σ over bins of (n_bin / n) x |mean predicted - observed rate| (Naeini et al.
  2015). It depends on the number of bins, and is biased upwards where bins are thin: read it beside the bins'
  intervals.
"""

from bisect import bisect_right
from collections.abc import Sequence
from math import fsum

import msgspec

from calipers.stats.interval import Interval, check_confidence, wilson
from calipers.stats.sample import finite_values

__all__ = ["Calibration", "CalibrationBin", "brier_score", "calibration"]


class CalibrationBin(msgspec.Struct, frozen=True):
    """What was predicted and what happened, for predictions of about one size."""

    low: float
    """The smallest prediction that belongs here."""
    high: float
    """Where the next bin begins; the last bin includes 1."""
    n: int
    """Predictions in the bin."""
    mean_predicted: float | None
    """Their mean; `None` in an empty bin."""
    observed_rate: float | None
    """How often the outcome happened; `None` in an empty bin."""
    interval: Interval | None
    """Wilson interval of the observed rate; `None` in an empty bin."""


class Calibration(msgspec.Struct, frozen=True):
    """A reliability diagram as data, with its two summaries."""

    bins: tuple[CalibrationBin, ...]
    """From 0 to 1, empty ones included."""
    n: int
    """Predictions in all bins."""
    brier_score: float
    """Mean squared distance of prediction and outcome."""
    expected_error: float
    """Expected calibration error over these bins."""


def calibration(
    predicted: Sequence[float], outcomes: Sequence[bool], *, n_bins: int = 10, confidence: float = 0.95
) -> Calibration | None:
    """Compare predicted probabilities with what happened. `None` without predictions."""
    values = _probabilities(predicted, outcomes)
    check_confidence(confidence)
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins!r}")
    if not values:
        return None
    edges = [i / n_bins for i in range(n_bins + 1)]
    members: list[list[float]] = [[] for _ in range(n_bins)]
    happened = [0] * n_bins
    for value, outcome in zip(values, outcomes, strict=True):
        # Looking the edge up, not multiplying: 0.29 * 100 falls short of 29.
        index = min(bisect_right(edges, value) - 1, n_bins - 1)
        members[index].append(value)
        happened[index] += bool(outcome)
    bins = tuple(_bin(edges[i], edges[i + 1], members[i], happened[i], confidence) for i in range(n_bins))
    error = fsum(abs(fsum(inside) - count) for inside, count in zip(members, happened, strict=True))
    return Calibration(
        bins=bins,
        n=len(values),
        brier_score=_brier(values, outcomes),
        expected_error=error / len(values),
    )


def brier_score(predicted: Sequence[float], outcomes: Sequence[bool]) -> float | None:
    """Mean squared distance of predicted probability and outcome. `None` without predictions."""
    values = _probabilities(predicted, outcomes)
    return _brier(values, outcomes) if values else None


def _brier(values: list[float], outcomes: Sequence[bool]) -> float:
    return fsum((value - bool(outcome)) ** 2 for value, outcome in zip(values, outcomes, strict=True)) / len(
        values
    )


def _probabilities(predicted: Sequence[float], outcomes: Sequence[bool]) -> list[float]:
    values = finite_values(predicted, name="predicted")
    if len(values) != len(outcomes):
        raise ValueError(
            f"every prediction needs its outcome: got {len(values)} predictions and {len(outcomes)} outcomes"
        )
    for index, value in enumerate(values):
        if not 0 <= value <= 1:
            raise ValueError(
                f"a predicted probability must lie between 0 and 1, got {value!r} at index {index}"
            )
    return values


def _bin(low: float, high: float, members: list[float], happened: int, confidence: float) -> CalibrationBin:
    n = len(members)
    return CalibrationBin(
        low=low,
        high=high,
        n=n,
        mean_predicted=fsum(members) / n if n else None,
        observed_rate=happened / n if n else None,
        interval=wilson(happened, n, confidence=confidence),
    )
