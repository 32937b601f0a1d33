"""What the rollouts of a report say together, as analyses: success at k, turns held, scores by turn, what a success costs.

Put `RolloutCurves()` among the report evaluators of a dataset whose task returns rollouts, and the curves stand in every
view of the report. Attempts whose task failed, or whose output is not a rollout, are left out and counted.

The score of a turn is the mean over the rollouts that had such a turn, which later on are those that did not end before:
a rising curve need not mean that any conversation got worse. The number of rollouts stands beside each point.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, get_args

from calipers.data.argument_checks import check_whole_number
from calipers.data.record import ReportCase
from calipers.errors import InvalidOptionError
from calipers.report.analysis import (
    Analysis,
    Cell,
    LinePlot,
    PlotLine,
    PlotPoint,
    ScalarResult,
    TableResult,
    some,
)
from calipers.report.report_evaluator import ReportEvaluator, ReportEvaluatorContext
from calipers.stats import Interval, mean
from calipers.stats.number_text import number, plural, rate_text
from calipers.stats.sample import check_confidence

from .environment import settings
from .graph import Graph, numbered_turns
from .rollout_outcome import by_unit, calls_of, goal_of, is_rollout, rollouts_of, succeeded
from .success import (
    AttackSuccess,
    PerSuccess,
    attack_success,
    calls_per_success,
    cost_per_success,
    turns_to_success,
)

_POINTS = 100
"""The most points of a curve: a thousand rollouts per goal need no thousand."""

Score = Literal["attack_score", "response_score", "reward"]
"""A number that a turn carries."""


@dataclass
class RolloutCurves(ReportEvaluator):
    """Success at k, turns to success, scores by turn and the price of a success, of a report whose outputs are rollouts."""

    _: KW_ONLY
    scores: Sequence[Score] = ("attack_score", "response_score")
    """Which numbers of a turn to draw; one that no turn has is left out."""
    judge: str | None = None
    """Who decides what a success is, in words, to stand beside the rate; default: the names that the rollouts tell."""
    trees: int = 3
    """How many of the rollouts that succeeded to show whole, those of different goals first."""
    confidence: float = 0.95
    """Of every interval."""

    def __post_init__(self) -> None:
        unknown = [name for name in self.scores if name not in get_args(Score)]
        if isinstance(self.scores, str) or unknown:
            raise InvalidOptionError(f"scores are some of {get_args(Score)}, got {self.scores!r}")
        check_whole_number("trees", self.trees, at_least=0)
        check_confidence(self.confidence)

    def evaluate(self, ctx: ReportEvaluatorContext) -> list[Analysis]:
        """The analyses, those that the rollouts allow. Attempts that are not rollouts are left out and counted."""
        if ctx.report.totals is None and ctx.report.cases and not any(map(_is_rollout, ctx.report.cases)):
            count = plural(len(ctx.report.cases), "attempt")
            return [ScalarResult(title="Attack success", value=None, note=f"no rollouts: {count} left out")]
        graphs = rollouts_of(ctx.report)
        success = attack_success(ctx.report, confidence=self.confidence)
        found: list[Analysis] = [self._overall(success, graphs)]
        if success.max_k > 1:
            found.append(_at_k(success))
        found += [*self._survival(graphs), *self._scores(graphs), *_by_attack(success)]
        for spent in (
            cost_per_success(ctx.report, confidence=self.confidence),
            calls_per_success(ctx.report, confidence=self.confidence),
        ):
            found += _spending(spent)
        from calipers.views.rollout_tree import rollout_tree

        return [*found, *(rollout_tree(graph) for graph in _lost(graphs)[: self.trees])]

    def _overall(self, success: AttackSuccess, graphs: Sequence[Graph[Any, Any]]) -> ScalarResult:
        """The rate, with all that belongs to such a claim: the bound if it is 0, the judge, the effort, what is missing."""
        judges, limits = settings(graphs)
        said = [str(success), f"judge: {self.judge or ' / '.join(judges) or 'not stated'}"]
        if limits:
            said.append(f"limits: {' / '.join(limits)}")
        if graphs:
            turns, calls = max(graph.depth for graph in graphs), max(calls_of(graph) for graph in graphs)
            said.append(
                f"up to {plural(turns, 'turn')} and {plural(calls, 'call')} of the target per rollout"
            )
        said.append(f"interval over {success.unit}s")
        found = success.rate
        return ScalarResult(
            title="Attack success",
            value=None if found is None else found.value,
            interval=None if found is None else _bounded(success, found.interval),
            note="; ".join(said),
        )

    def _survival(self, graphs: Sequence[Graph[Any, Any]]) -> Iterable[Analysis]:
        curve = turns_to_success(graphs, confidence=self.confidence)
        if curve is None:
            return
        start = PlotPoint(x=0, y=1.0, n=curve.n)
        points = [
            PlotPoint(x=step.time, y=step.survival, interval=step.interval, n=step.at_risk)
            for step in curve.steps
            if step.time > 0
        ]
        low, high = curve.median_interval
        half = "not reached" if curve.median is None else f"by turn {curve.median:g}"
        between = (
            f"between turn {_turn(low)} and {_turn(high)}" if low is not None else "not within these turns"
        )
        yield LinePlot(
            title="Held so far",
            x_label="turn",
            y_label="held",
            lines=[PlotLine(name="held", points=[start, *points])],
            stepped=True,
            rates=True,
            note=f"half of the rollouts had succeeded: {half} (may be {between}); n: rollouts still going",
        )

    def _scores(self, graphs: Sequence[Graph[Any, Any]]) -> Iterable[Analysis]:
        lines = [
            PlotLine(name=name.replace("_", " "), points=points)
            for name in self.scores
            if (points := _score_points(graphs, name, self.confidence))
        ]
        if lines:
            yield LinePlot(
                title="Scores by turn",
                x_label="turn",
                y_label="mean score",
                lines=lines,
                note="n: rollouts that had such a turn" + _once_each(graphs),
            )


def _is_rollout(case: ReportCase) -> bool:
    return is_rollout(case.output)


def _once_each(graphs: Sequence[Graph[Any, Any]]) -> str:
    return "; every goal counting once" if by_unit(graphs)[0] == "goal" else ""


def _lost(graphs: Sequence[Graph[Any, Any]]) -> list[Graph[Any, Any]]:
    """The rollouts that succeeded: the first of every goal, then the others."""
    lost = [graph for graph in graphs if succeeded(graph)]
    first = {goal_of(graph): graph for graph in reversed(lost)}
    return sorted(lost, key=lambda graph: first[goal_of(graph)] is not graph)


def _turn(value: float | None) -> str:
    return "a later one than was seen" if value is None else f"{value:g}"


def _bounded(success: AttackSuccess, interval: Interval | None) -> Interval | None:
    """The interval of the rate; where nothing succeeded, the one-sided bound that the note states in words."""
    bound = success.bound
    if success.successes or bound is None:
        return interval
    return Interval(0.0, bound, success.confidence, "clopper-pearson")


def _at_k(success: AttackSuccess) -> LinePlot:
    estimates = [(k, success.at_k(k)) for k in some(range(1, success.max_k + 1), _POINTS)]
    points = [
        PlotPoint(x=k, y=found.value, interval=found.interval, n=found.n_units)
        for k, found in estimates
        if found is not None
    ]
    return LinePlot(
        title="Attack success at k",
        x_label="k",
        y_label="success",
        lines=[PlotLine(name="at least one of k rollouts", points=points)],
        rates=True,
        note="the chance that at least one of k rollouts after a goal succeeds; n: goals",
    )


def _score_points(graphs: Sequence[Graph[Any, Any]], name: Score, confidence: float) -> list[PlotPoint]:
    """The mean of a score at each turn. A rollout counts once at each, by the mean over its branches."""
    _, groups = by_unit(graphs)
    turns: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for unit, graph in ((unit, graph) for unit, group in enumerate(groups) for graph in group):
        mine: dict[int, list[float]] = defaultdict(list)
        for turn, node in numbered_turns(graph):
            score = getattr(node, name, None)
            if score is not None:
                mine[turn].append(score)
        for turn, scores in mine.items():
            turns[turn][unit].append(sum(scores) / len(scores))
    points: list[PlotPoint] = []
    for turn in sorted(turns):
        cases = list(turns[turn].values())
        # A moderator's scores lie between 0 and 1; how far a reward may go, nothing tells.
        bounded = name != "reward" and all(0 <= score <= 1 for case in cases for score in case)
        found = mean(cases, bounds=(0, 1) if bounded else None, confidence=confidence)
        assert found is not None
        points.append(PlotPoint(x=turn, y=found.value, interval=found.interval, n=found.n_observations))
    return points


def _by_attack(success: AttackSuccess) -> Iterable[Analysis]:
    if not success.attacks:
        return
    rows: list[list[Cell]] = []
    for name, found in sorted(success.attacks.items(), key=lambda item: (-item[1].value, item[0])):
        value, ends = rate_text(found.value, found.interval)
        rows.append([name, value, ends, found.n_observations])
    yield TableResult(
        title="Success by attack",
        columns=["attack", "success", "interval", "turns"],
        rows=rows,
        note="the share of the turns with this attack in which the target gave way"
        + ("; every goal counting once" if success.unit == "goal" else ""),
    )


def _spending(spent: PerSuccess) -> Iterable[Analysis]:
    if not spent.rollouts:
        return
    interval = None
    if spent.low is not None and spent.high is not None:
        interval = Interval(spent.low, spent.high, spent.confidence, "donner-zou")
    said = str(spent)
    if spent.value is not None:
        said = f"{number(spent.spent)} for {plural(spent.successes, 'success', 'successes')} in {plural(spent.rollouts, 'rollout')}"
        if spent.low is None:
            said += f"; {spent.no_interval()}"
        said += spent.missing()
    yield ScalarResult(
        title=f"{spent.what.capitalize()} per success", value=spent.value, interval=interval, note=said
    )
