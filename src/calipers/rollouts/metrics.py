"""What was measured of one rollout, and of all rollouts of a run.

`summarize_metrics` combines the overall metrics of many rollouts: mean with its interval, median, quantiles, extremes. The
unit is the rollout. Flags (`True`, `False`) are a rate with Wilson's interval, numbers a mean with Student's t. Rollouts of
one goal resemble each other: pass the goals as `clusters` (see `goals_of`) to get an interval that accounts for it. Numbers
that are all the same, or goals whose means agree, show no spread, and have no interval.

A metric that is `None`, or absent, in a rollout was not measured there: the numbers are over the others, and `missing`
counts it. So the mean of "the first turn at which it happened" covers only the rollouts in which it happened; it says
nothing about how soon it happens, because the rollouts that would have needed longer are not in it.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import msgspec

from calipers.data.evaluator_output import read_scalar
from calipers.errors import InvalidOptionError, InvalidOutputError
from calipers.stats import Interval, mean, quantiles, rate

JSONLike: TypeAlias = (
    dict[str, "JSONLike"] | list["JSONLike"] | tuple["JSONLike", ...] | str | int | float | bool | None
)
"""What a JSON file can hold."""


@dataclass
class GraphMetrics:
    """The metrics of one rollout."""

    overall: dict[str, Any]
    """Of the rollout as a whole; `None` stands for what never happened."""
    per_turn: list[dict[str, Any]]
    """Of each turn, in order."""
    seed: Any = field(default=None, compare=False)
    """What the rollout was drawn from; `Evaluator.evaluate` notes it. `None`: not noted."""
    goal: str | None = field(default=None, compare=False)
    """What the rollout was after: rollouts of one goal resemble each other. `None`: not stated."""


@dataclass(frozen=True)
class RolloutFailure:
    """A rollout of which there are no metrics."""

    seed: Any
    error_type: str
    error_message: str
    """`Type: text`."""
    stage: Literal["rollout", "metrics"]
    """What failed: the conversation, or the computation of its metrics."""
    graph: Any = field(default=None, repr=False, compare=False)
    """The rollout; of one that broke off the turns it had, where the error tells them, else `None`."""
    error_stacktrace: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        return f"seed {self.seed!r:.60}, {self.stage}: {self.error_message}"


class MeasuredRollouts(list[GraphMetrics]):
    """The metrics of a run's rollouts, in the order of their seeds: a list that also knows what is missing from it."""

    def __init__(
        self,
        metrics: Iterable[GraphMetrics] = (),
        *,
        failures: Iterable[RolloutFailure] = (),
        planned: int | None = None,
    ) -> None:
        super().__init__(metrics)
        self.failures = tuple(failures)
        """The rollouts that failed, in the order of their seeds."""
        self.planned = len(self) + len(self.failures) if planned is None else planned
        """How many rollouts there were to be."""

    @property
    def not_run(self) -> int:
        """How many were not finished, because the run was interrupted."""
        return self.planned - len(self) - len(self.failures)

    def missing(self) -> dict[str, int]:
        """What a summary should say of the rollouts that are not in the list: `n_failed` and `n_not_run`, if above 0."""
        counts = {"n_failed": len(self.failures), "n_not_run": self.not_run}
        return {name: count for name, count in counts.items() if count}


def metrics_data(metrics: GraphMetrics) -> dict[str, Any]:
    """The metrics of a rollout as they stand in a file: with the seed, where it is known."""
    seed = {} if metrics.seed is None else {"seed": metrics.seed}
    return {**seed, "overall": metrics.overall, "per_turn": metrics.per_turn}


def mark_branches(per_turn: list[dict[str, Any]]) -> list[int]:
    """The places of the last turns of the conversations, in order; where the tree branches, each row gets its own place.

    The rows are in the order of `Graph.walk`, each with its number as `turn`. Where there is more than one conversation,
    each row gets `branch`, the number of the conversation in which it first appears, from 1, and `parent`, the place of
    the row it follows, from 0; `None` for a first turn.
    """
    numbers = [row["turn"] for row in per_turn]
    ends = [
        place
        for place, (this, following) in enumerate(zip(numbers, [*numbers[1:], 1], strict=False))
        if following <= this
    ]
    if len(ends) <= 1:
        return ends
    before: list[int] = []
    branch = 1
    for place, (row, number) in enumerate(zip(per_turn, numbers, strict=True)):
        row["branch"] = branch
        row["parent"] = before[number - 2] if number > 1 else None
        before[number - 1 :] = [place]
        branch += place == ends[branch - 1]
    return ends


LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


class MetricSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One overall metric over all rollouts that have it."""

    n: int
    """Rollouts in which it was measured."""
    missing: int
    """Rollouts in which it was not."""
    mean: float
    """Of a flag, the share of rollouts in which it is true."""
    interval: Interval | None
    """Where the true mean may lie; `None` where the data cannot tell: one rollout, or numbers that are all the same."""
    median: float
    quantiles: dict[str, float]
    """By name: `p05` to `p95`."""
    minimum: float
    maximum: float

    def to_dict(self) -> dict[str, Any]:
        """As plain data, flat: the ends of the interval are `low` and `high`."""
        low, high = (None, None) if self.interval is None else (self.interval.low, self.interval.high)
        return {
            "n": self.n,
            "missing": self.missing,
            "mean": self.mean,
            "low": low,
            "high": high,
            "median": self.median,
            **self.quantiles,
            "min": self.minimum,
            "max": self.maximum,
        }


def summarize_metrics(
    all_metrics: Sequence[Any],
    *,
    confidence: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> dict[str, MetricSummary]:
    """The summary of each overall metric that is a number or a flag, by name, in the order they first appear.

    Args:
        all_metrics: what `compute_metrics` gave for each rollout.
        confidence: of the intervals.
        clusters: for each rollout the group it belongs to, such as its goal; default: all are independent.

    Raises:
        InvalidOutputError: a metric is NaN or infinite in some rollout, or a text or list in some and a number in others.
    """
    if clusters is not None and len(clusters) != len(all_metrics):
        raise InvalidOptionError(
            f"every rollout needs its cluster: got {len(all_metrics)} rollouts and {len(clusters)} clusters"
        )
    names = dict.fromkeys(name for metrics in all_metrics for name in metrics.overall)
    found: dict[str, MetricSummary] = {}
    for name in names:
        measured = {
            index: value
            for index, metrics in enumerate(all_metrics)
            if (value := metrics.overall.get(name)) is not None
        }
        values = _numbers(name, measured.values())
        if values:
            groups = None if clusters is None else [clusters[index] for index in measured]
            found[name] = _summary(values, len(all_metrics) - len(values), groups, confidence)
    return found


def goals_of(all_metrics: Sequence[Any]) -> list[Hashable] | None:
    """The clusters of rollouts of several goals, for `summarize_metrics`: the goal of each.

    A rollout that names no goal stands by itself. `None` where all have the same goal: the interval is then one of further
    rollouts after that goal.
    """
    goals: list[Hashable] = []
    for place, metrics in enumerate(all_metrics):
        goal = getattr(metrics, "goal", None)
        goals.append((place,) if goal is None else goal)
    return goals if 1 < len(set(goals)) < len(goals) else None


def _numbers(name: str, values: Iterable[Any]) -> list[float]:
    """The values as numbers, flags among them; none if they are texts, lists or objects."""
    found: list[float] = []
    others = 0
    for value in values:
        if isinstance(value, str | list | tuple | dict):
            others += 1
            continue
        try:
            number = read_scalar(value)
        except InvalidOutputError as error:
            raise InvalidOutputError(f"the overall metric {name!r} of a rollout: {error}") from error
        if isinstance(number, str):
            others += 1
        else:
            found.append(number)
    if found and others:
        raise InvalidOutputError(
            f"the overall metric {name!r} is a number in {len(found)} rollouts and none in {others}: write None for "
            "what was not measured"
        )
    return found


def _summary(
    values: list[float], missing: int, clusters: list[Hashable] | None, confidence: float
) -> MetricSummary:
    if all(isinstance(value, bool) for value in values):
        estimate = rate([(int(value), 1) for value in values], clusters=clusters, confidence=confidence)
    else:
        estimate = mean([[value] for value in values], clusters=clusters, confidence=confidence)
    assert estimate is not None
    ordered = sorted(map(float, values))
    interval = estimate.interval
    if interval is not None and _is_point(interval, ordered):
        interval = None
    at = quantiles(ordered, LEVELS, presorted=True)
    assert at is not None
    return MetricSummary(
        n=len(values),
        missing=missing,
        mean=estimate.value,
        interval=interval,
        median=at[LEVELS.index(0.5)],
        quantiles={
            f"p{round(level * 100):02}": value
            for level, value in zip(LEVELS, at, strict=True)
            if level != 0.5
        },
        minimum=ordered[0],
        maximum=ordered[-1],
    )


def _is_point(interval: Interval, ordered: list[float]) -> bool:
    """Whether an interval has no width but that of rounding."""
    return interval.width <= 1e-12 * max(abs(ordered[0]), abs(ordered[-1]))
