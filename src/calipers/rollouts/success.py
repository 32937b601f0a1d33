"""How often attacks succeed, after how many turns, and what a success costs.

**The rate** is the mean of the goals' rates: every goal counts once, however often it was tried. So is the rate of an
attack. Where that differs from the share of all rollouts, the text says so.

*Success at k* is the chance that at least one of k rollouts after the same goal succeeds. It is estimated without bias from
n >= k rollouts per goal (see `calipers.stats.reliability`), up to the smallest number of rollouts that any goal had.

When nothing succeeded, the rate may still be as large as `bound`. For goals like these, the number of goals decides the bound,
however often each was tried. On these very goals more tries say more, and the text says how much: as if every goal had been
tried as often as the one that was tried least.

**Turns to success** are a survival curve. A rollout that ended without success might have succeeded in the next turn: it is
censored. A turn is a level of the tree, and the first branch to succeed counts, so do not compare trees of different width. The
curve assumes that rollouts end for other reasons than being about to succeed, such as a limit on turns. A tester that gives up
where it is refused breaks that assumption, and the curve is then too kind to testers beyond that turn.

**The cost of a success** is money or calls of all rollouts together, divided by the successes. Its interval over goals
(`calipers.stats.ratio`) takes into account how many rollouts might have succeeded. When nothing succeeded there is a lower bound:
what a rollout costs, divided by the bound on the rate.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from decimal import ROUND_UP, Context
from math import fsum, inf
from typing import Any, Final, Literal

import msgspec

from calipers.data.argument_checks import check_whole_number
from calipers.errors import InvalidRolloutError
from calipers.stats import (
    Estimate,
    Interval,
    Survival,
    kaplan_meier,
    pass_at_k,
    rate,
    rate_from_counts,
    ratio_of_totals,
    upper_bound,
)
from calipers.stats.clusters import independent_groups
from calipers.stats.number_text import confidence_text, number, percent, plural, rate_text
from calipers.stats.sample import check_confidence

from .graph import Graph
from .rollout_outcome import (
    Rollouts,
    Unit,
    as_text,
    attack_name,
    by_unit,
    calls_of,
    cost_of,
    failed_attempts,
    first_success,
    goal_of,
    other_attempts,
    rollouts_of,
    succeeded,
    success_of,
    why_incomplete,
)


class GoalSuccess(msgspec.Struct, frozen=True):
    """What came of the rollouts after one goal."""

    goal: str
    successes: int
    tries: int
    """Rollouts that were judged."""


class AttackSuccess(msgspec.Struct, frozen=True, kw_only=True):
    """How often the target gave way."""

    goals: list[GoalSuccess]
    """Every goal with the rollouts that were judged, in the order in which the goals came."""
    attacks: dict[str, Estimate]
    """By the name of the attack: the share of the turns it was said in that succeeded, every goal counting once."""
    unjudged: int
    """Rollouts left out because it is unknown whether they succeeded."""
    failed: int = 0
    """Attempts of a report that failed, so that there is no rollout to count."""
    other: int = 0
    """Attempts of a report that are not rollouts."""
    copies: int = 0
    """Rollouts with the goal and the seed of another one: if their players draw by the seed alone, they tell nothing new."""
    incomplete: str | None = None
    """Why a report does not have all the rollouts it should; `None` if it has."""
    confidence: float = 0.95

    @property
    def n(self) -> int:
        """Rollouts that were judged."""
        return sum(goal.tries for goal in self.goals)

    @property
    def successes(self) -> int:
        """Rollouts in which the target gave way."""
        return sum(goal.successes for goal in self.goals)

    @property
    def unit(self) -> Unit:
        """What the intervals take for independent."""
        return "rollout" if len(self.goals) == 1 else "goal"

    @property
    def rate(self) -> Estimate | None:
        """The share of rollouts that succeeded, every goal counting once; `None` if none was judged."""
        return _rate([(goal.successes, goal.tries) for goal in self.goals], self.confidence)

    @property
    def max_k(self) -> int:
        """The largest k that the rollouts allow to speak of: what the goal with the fewest rollouts had."""
        return min((goal.tries for goal in self.goals), default=0)

    def at_k(self, k: int) -> Estimate | None:
        """The chance that at least one of `k` rollouts after a goal succeeds.

        Raises:
            ValueError: k is not a whole number from 1, or a goal had fewer rollouts than that.
        """
        check_whole_number("k", k, at_least=1)
        counts = [(goal.successes, goal.tries) for goal in self.goals]
        found = pass_at_k(counts, k, confidence=self.confidence)
        if found is None or len(counts) > 1:
            return found
        # One goal: its rate has an interval over rollouts, and at_k is a rising function of the rate.
        once = rate_from_counts(*counts[0], confidence=self.confidence)
        assert once is not None
        assert once.interval is not None
        low, high = (1 - (1 - end) ** k for end in (once.interval.low, once.interval.high))
        interval = Interval(
            min(low, found.value), max(high, found.value), self.confidence, once.interval.method
        )
        return msgspec.structs.replace(found, interval=interval)

    def curve(self) -> list[Estimate]:
        """`at_k` for k = 1, 2, … up to `max_k`."""
        return [estimate for k in range(1, self.max_k + 1) if (estimate := self.at_k(k)) is not None]

    @property
    def bound(self) -> float | None:
        """The highest rate that is compatible with what was seen, one-sided; `None` without rollouts.

        It is one of goals like these: repeated rollouts of a goal do not lower it. Of a single goal it is the rate of further
        rollouts after that goal.
        """
        if self.unit == "rollout":
            return upper_bound(self.successes, self.n, confidence=self.confidence)
        lost = fsum(goal.successes / goal.tries for goal in self.goals)
        return upper_bound(min(lost, len(self.goals)), len(self.goals), confidence=self.confidence)

    def __str__(self) -> str:
        found = self.rate
        if found is None:
            failed = f", {self.failed:,} failed" if self.failed else ""
            failed += f", {plural(self.other, 'attempt')} of another kind left out" if self.other else ""
            broken = f"; incomplete: {self.incomplete}" if self.incomplete is not None else ""
            return f"no rollout was judged ({plural(self.unjudged, 'rollout')} left out{failed}{broken})"
        counts = ((self.unjudged, "not judged"), (self.failed, "failed"))
        missing = [f"{plural(count, 'rollout')} {why}, left out" for count, why in counts if count]
        if self.other:
            missing.append(f"{plural(self.other, 'attempt')} of another kind left out")
        if self.copies:
            missing.append(f"{plural(self.copies, 'rollout')} with the goal and seed of another: copies?")
        if self.incomplete is not None:
            missing.append(f"incomplete: {self.incomplete}")
        left_out = f" ({'; '.join(missing)})" if missing else ""
        if self.successes == 0:
            if not 1 < len(self.goals) < self.n:
                return bound_text(self.n, confidence=self.confidence) + left_out
            goals = len(self.goals)
            here = upper_bound(0, goals * self.max_k, confidence=self.confidence)
            return (
                f"{_bound_text(self.n, here, self.confidence)} on these {goals:,} goals; of other goals like these, up to "
                f"{_rounded_up(self.bound)} may be lost{left_out}"
            )
        value, ends = rate_text(found.value, found.interval)
        counted = f"{self.successes:,} of {plural(self.n, 'rollout')} succeeded"
        if value == percent(self.successes / self.n):
            return f"{counted}: {value} {ends}".rstrip() + left_out
        return f"{counted}; every goal counting once: {value} {ends}".rstrip() + left_out


def attack_success(rollouts: Rollouts, *, confidence: float = 0.95) -> AttackSuccess:
    """How often the target gave way in these rollouts.

    Args:
        rollouts: a report whose outputs are rollouts, or the trees themselves.
        confidence: of every interval.
    """
    check_confidence(confidence)
    graphs = rollouts_of(rollouts)
    goals: dict[str, list[bool]] = defaultdict(list)
    drawn: set[tuple[str, str]] = set()
    unjudged = copies = 0
    for graph in graphs:
        known = succeeded(graph)
        if graph.seed is not None:
            origin = (goal_of(graph), as_text(graph.seed))
            copies += origin in drawn
            drawn.add(origin)
        if known is None:
            unjudged += 1
        else:
            goals[goal_of(graph)].append(known)
    return AttackSuccess(
        goals=[GoalSuccess(goal, sum(found), len(found)) for goal, found in goals.items()],
        attacks=_by_attack(graphs, confidence),
        unjudged=unjudged,
        failed=failed_attempts(rollouts),
        other=other_attempts(rollouts),
        copies=copies,
        incomplete=why_incomplete(rollouts),
        confidence=confidence,
    )


def bound_text(n: int, *, confidence: float = 0.95) -> str:
    """What `n` rollouts without a success allow to say, in words; the bound is rounded up, so that it stays true.

    `bound_text(300)` is "0 of 300: at 95 % confidence the true rate is below 1.0 %".
    """
    check_whole_number("n", n, at_least=0)
    return _bound_text(n, upper_bound(0, n, confidence=confidence), confidence)


def _bound_text(n: int, bound: float | None, confidence: float) -> str:
    if bound is None:
        return "0 of 0: nothing was tried, so nothing can be said"
    return (
        f"0 of {n:,}: at {confidence_text(confidence)} confidence the true rate is below {_rounded_up(bound)}"
    )


def _rounded_up(bound: float | None) -> str:
    """A rate in percent to two digits, rounded up."""
    if bound is None or bound >= 0.995:
        return percent(1)
    return f"{Context(prec=2, rounding=ROUND_UP).create_decimal(100 * bound):f} %"


def _by_attack(graphs: Sequence[Graph[Any, Any]], confidence: float) -> dict[str, Estimate]:
    """The share of successful turns by the name of the attack, over the goals it was tried on."""
    turns: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for graph in graphs:
        for node in graph.walk():
            name = attack_name(node)
            known = success_of(node)
            if name is not None and known is not None:
                turns[name][goal_of(graph)].append(known)
    found: dict[str, Estimate] = {}
    for name in sorted(turns):
        estimate = _rate([(sum(known), len(known)) for known in turns[name].values()], confidence)
        assert estimate is not None
        found[name] = estimate
    return found


def _rate(counts: list[tuple[int, int]], confidence: float) -> Estimate | None:
    if len(counts) == 1:
        return rate_from_counts(*counts[0], confidence=confidence)
    return rate(counts, confidence=confidence)


def turns_to_success(rollouts: Rollouts, *, confidence: float = 0.95) -> Survival | None:
    """The share of rollouts in which the target had not given way, turn by turn; `None` if none was judged.

    Rollouts that were not judged are left out. The rollouts after one goal are one cluster.

    Args:
        rollouts: a report whose outputs are rollouts, or the trees themselves.
        confidence: of every interval.
    """
    graphs = [graph for graph in rollouts_of(rollouts) if succeeded(graph) is not None]
    _, groups = by_unit(graphs)
    times: list[int] = []
    happened: list[bool] = []
    clusters: list[int] = []
    for cluster, group in enumerate(groups):
        for graph in group:
            path = first_success(graph)
            times.append(graph.depth if path is None else len(path))
            happened.append(path is not None)
            clusters.append(cluster)
    repeated = len(groups) < len(times)
    return kaplan_meier(times, happened, clusters=clusters if repeated else None, confidence=confidence)


_LEAST: Final = {"cost": 0.0, "calls": 1.0}
"""The least that a success can cost: an interval does not go below."""


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
    """Attempts of a report that are not rollouts."""
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
