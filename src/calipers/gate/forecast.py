"""What a run will cost: money, tokens, calls of models and time, by what the attempts of a pilot took.

What the agent and the evaluators spent on a case is taken from the metrics of the pilot, failed attempts included. Of a case that was attempted several
times, the mean counts. A forecast is for fresh cases of the same kind, so its interval has two parts: the mean of the pilot is not exact, and
the cases to come differ. What came from a cache in the pilot counts with what it had cost.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, sqrt

import msgspec

from calipers.data.argument_checks import check_share, check_whole_number
from calipers.data.budget import SIDES, UNITS, Side, Unit
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.spending import (
    COST,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    REQUESTS,
    UNPRICED_CALLS,
    spent_by_judges,
    spent_of,
)
from calipers.errors import InvalidOptionError
from calipers.report.averages import group_by_case
from calipers.report.report import Report
from calipers.stats.distributions import student_t_quantile
from calipers.stats.sample import Moments

_METRICS: Mapping[Unit, tuple[str, ...]] = {
    "cost": (COST,),
    "tokens": (INPUT_TOKENS, OUTPUT_TOKENS),
    "calls": (REQUESTS,),
}


class Amount(msgspec.Struct, frozen=True, kw_only=True):
    """How much of one thing a run is expected to spend."""

    unit: Unit
    side: Side
    expected: float
    low: float | None = None
    """The ends of the interval; `None` from a pilot of one case."""
    high: float | None = None


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """What one run is expected to spend."""

    cases: int
    repeats: int
    amounts: tuple[Amount, ...]
    """Of the agent and of judges, each unit of which the pilot tells something."""
    seconds: float | None = None
    """How long it takes at the pace of the pilot; `None` if that is not known."""
    confidence: float
    unpriced_calls: int = 0
    """Calls of the pilot without a known price: with these, costs are lower bounds."""


def forecast_run(
    pilot: Report, *, cases: int | None = None, repeats: int = 1, confidence: float = 0.95
) -> Forecast:
    """What a run over so many cases of the pilot's kind is expected to spend.

    Args:
        pilot: a run that was made, whole or not.
        cases: how many; default: as many as the pilot attempted.
        repeats: attempts at each case.
        confidence: of the intervals.

    Raises:
        InvalidOptionError: the pilot has no attempts.
    """
    check_whole_number("cases", cases, at_least=1, or_none=True)
    check_whole_number("repeats", repeats, at_least=1)
    check_share("confidence", confidence, or_zero=False, or_one=False)
    pilot.check_whole("a forecast")
    groups = group_by_case([*pilot.cases, *pilot.failures])
    if not groups:
        raise InvalidOptionError("the pilot has no attempts: nothing tells what a run costs")
    attempts: list[list[ReportCase | ReportCaseFailure]] = [
        [*group.runs, *group.failures] for group in groups
    ]
    spent = {side: [[_spent(each, side) for each in of_case] for of_case in attempts] for side in SIDES}
    n = len(groups) if cases is None else cases
    amounts = [
        _amount(unit, side, values, n, repeats, confidence)
        for side in SIDES
        for unit in UNITS
        if (values := _values(unit, spent[side])) is not None
    ]
    made = sum(map(len, attempts))
    return Forecast(
        cases=n,
        repeats=repeats,
        amounts=tuple(amounts),
        seconds=pilot.duration * n * repeats / made if pilot.duration else None,
        confidence=confidence,
        unpriced_calls=int(
            sum(one.get(UNPRICED_CALLS, 0) for side in SIDES for case in spent[side] for one in case)
        ),
    )


def _spent(record: ReportCase | ReportCaseFailure, side: Side) -> dict[str, float]:
    if side == "agent":
        return spent_of(record.metrics)
    found: dict[str, float] = {}
    for amounts in spent_by_judges(record).values() if isinstance(record, ReportCase) else ():
        for name, amount in amounts.items():
            found[name] = found.get(name, 0) + amount
    return found


def _values(unit: Unit, cases: Iterable[Sequence[Mapping[str, float]]]) -> list[float] | None:
    """The mean over the attempts at each case; `None` if no attempt tells."""
    names = _METRICS[unit]
    found = [[[one[name] for name in names if name in one] for one in case] for case in cases]
    if not any(told for case in found for told in case):
        return None
    return [fsum(fsum(told) for told in case) / len(case) for case in found]


def _amount(
    unit: Unit, side: Side, values: Sequence[float], cases: int, repeats: int, confidence: float
) -> Amount:
    n, variance = len(values), Moments.of(values).variance
    expected = fsum(values) / n * cases * repeats
    if variance is None:
        return Amount(unit=unit, side=side, expected=expected)
    # The sum over new cases: the cases themselves vary, and so does the mean that is taken for theirs.
    error = repeats * sqrt(variance * (cases + cases**2 / n))
    half = student_t_quantile(1 - (1 - confidence) / 2, n - 1) * error
    return Amount(
        unit=unit, side=side, expected=expected, low=max(0.0, expected - half), high=expected + half
    )
