"""What a success costs: money or calls, all rollouts together, the ones in vain included.

It is the ratio of two totals, with an interval over goals (`calipers.stats.ratio`) that knows how many rollouts might have
succeeded: that all of a few did is no proof. When nothing succeeded there is no such number, but there is a bound: the rate
of success is below some bound at this confidence, so a success costs at least what a rollout costs divided by that bound.
The bound is one of goals like these too.
"""

from collections.abc import Callable
from math import inf
from typing import Any, Final, Literal

import msgspec

from calipers.errors import InvalidRolloutError
from calipers.stats import ratio_of_totals, upper_bound
from calipers.stats.clusters import independent_groups
from calipers.stats.interval import check_confidence
from calipers.stats.number_text import confidence_text, number, plural

from .graph import Graph
from .rollout_outcome import (
    Rollouts,
    Unit,
    by_unit,
    calls_of,
    cost_of,
    failed_attempts,
    goal_of,
    other_attempts,
    rollouts_of,
    succeeded,
)

_LEAST: Final = {"cost": 0.0, "calls": 1.0}
"""What a success costs at the very least: an interval does not go below."""


class PerSuccess(msgspec.Struct, frozen=True, kw_only=True):
    """What one success costs."""

    what: Literal["cost", "calls"]
    value: float | None
    """Spent per success; `None` if nothing succeeded."""
    low: float | None
    """The lower end of its interval; `None` if the data cannot tell."""
    high: float | None
    """The upper end; `None` where the lower one is."""
    at_least: float | None
    """Where nothing succeeded: what a success costs at least, at this confidence; `None` otherwise."""
    spent: float
    """By all rollouts that are counted."""
    successes: int
    rollouts: int
    left_out: int
    """Rollouts that were not judged, or did not tell what they cost."""
    failed: int = 0
    """Attempts of a report that failed; what they spent is not counted."""
    other: int = 0
    """Attempts of a report that are no rollouts."""
    unit: Unit
    """What the interval takes for independent."""
    confidence: float = 0.95

    def __str__(self) -> str:
        if not self.rollouts:
            return f"{self.what} per success: not measured{self.missing()}"
        if self.value is None:
            bound = "" if self.at_least is None else f", so at least {number(self.at_least)} per success"
            return (
                f"{number(self.spent)} {self._noun()} and no success in {plural(self.rollouts, 'rollout')}{bound} "
                f"at {confidence_text(self.confidence)} confidence{self.missing()}"
            )
        return f"{number(self.value)} {self._noun()} per success{self._ends()}{self.missing()}"

    def _ends(self) -> str:
        """The interval, or why there is none."""
        if self.low is None or self.high is None:
            return f" ({self.no_interval()})"
        return f" [{number(self.low)}, {number(self.high)}]"

    def no_interval(self) -> str:
        """Why there is no interval."""
        return f"no interval: it takes at least two {self.unit}s, and what costs nothing has none"

    def missing(self) -> str:
        """What the numbers do not count, in words that begin with a semicolon; "" if they count everything."""
        said = f"; {plural(self.left_out, 'rollout')} left out" if self.left_out else ""
        said += f"; {plural(self.failed, 'rollout')} failed, left out" if self.failed else ""
        return said + (f"; {plural(self.other, 'attempt')} of another kind left out" if self.other else "")

    def _noun(self) -> str:
        return "calls" if self.what == "calls" else "cost units"


def cost_per_success(rollouts: Rollouts, *, confidence: float = 0.95) -> PerSuccess:
    """What the rollouts cost per success, in the unit of `Node.cost`. One with a turn that tells no cost is left out.

    Args:
        rollouts: a report whose outputs are rollouts, or the trees themselves.
        confidence: of the interval, and of the bound.
    """
    return _per_success("cost", cost_of, rollouts, confidence)


def calls_per_success(rollouts: Rollouts, *, confidence: float = 0.95) -> PerSuccess:
    """How often the target was asked per success.

    Args:
        rollouts: a report whose outputs are rollouts, or the trees themselves.
        confidence: of the interval, and of the bound.
    """
    return _per_success("calls", calls_of, rollouts, confidence)


def _per_success(
    what: Literal["cost", "calls"],
    spent_by: Callable[[Graph[Any, Any]], float | None],
    rollouts: Rollouts,
    confidence: float,
) -> PerSuccess:
    check_confidence(confidence)
    graphs = rollouts_of(rollouts)
    counted: list[Graph[Any, Any]] = []
    for graph in graphs:
        one = spent_by(graph)
        if one is not None and not 0 <= one < inf:
            raise InvalidRolloutError(
                f"a rollout after {goal_of(graph)!r:.100} says that it cost {one!r}: a cost is a finite number from 0"
            )
        if one is not None and succeeded(graph) is not None:
            counted.append(graph)
    unit, groups = by_unit(counted)
    spent = [sum(spent_by(graph) or 0.0 for graph in group) for group in groups]
    successes = [sum(bool(succeeded(graph)) for graph in group) for group in groups]
    sizes = [len(group) for group in groups]
    ratio = ratio_of_totals(spent, successes, most=sizes, confidence=confidence)
    at_least = None
    if ratio is not None and ratio.value is None:
        bound = upper_bound(0, int(independent_groups(sizes)), confidence=confidence)
        at_least = None if bound is None else ratio.top / len(counted) / bound
    return PerSuccess(
        what=what,
        value=None if ratio is None else ratio.value,
        low=None if ratio is None or ratio.low is None else max(ratio.low, _LEAST[what]),
        high=None if ratio is None else ratio.high,
        at_least=at_least,
        spent=sum(spent),
        successes=sum(successes),
        rollouts=len(counted),
        left_out=len(graphs) - len(counted),
        failed=failed_attempts(rollouts),
        other=other_attempts(rollouts),
        unit=unit,
        confidence=confidence,
    )
