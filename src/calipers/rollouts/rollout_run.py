"""Running many rollouts: an environment and seeds in, metrics and a report out.

It is one evaluation on the common runner, with a case for each seed: concurrency, timeouts, retries, the progress bar and
the Ctrl-C that keeps what is done are those of `Dataset.evaluate`. A rollout that fails is recorded with its seed and ends
no other.

An environment is any object with `eval_rollout(seed)` or `rollout(seed)`, sync or async, that gives a `Graph`. An async twin
(`eval_rollout_async`, `rollout_async`) is used instead, unless a subclass overrides the sync one alone. Sync ones run in threads, so an environment that
several threads must not share at once needs `max_concurrency=1`.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, Literal, NamedTuple

from calipers.data.argument_checks import check_whole_number
from calipers.data.attempt import running_attempt
from calipers.data.case import Case
from calipers.data.evaluator_styles import RolloutEvaluator, as_evaluator
from calipers.data.jsonable import safe_repr
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluatorFailure
from calipers.data.result_names import unique
from calipers.errors import InvalidOptionError, InvalidOutputError, InvalidRolloutError, RolloutError
from calipers.report.report import Report
from calipers.run.dataset import Dataset

from .environment import Environment
from .graph import Graph
from .metrics import GraphMetrics, MeasuredRollouts, RolloutFailure

_METHODS = ("eval_rollout", "rollout")
"""What may roll out an environment, the better one first."""
_NAME = 60
"""Characters of a seed in the name of its case."""
_SHOWN = 3
"""Failures that an error lists."""


class Rolled(NamedTuple):
    """What a run of rollouts came to."""

    aggregate: Any
    """What `aggregate_metrics` returned, unchanged."""
    metrics: MeasuredRollouts
    report: Report


def planned_seeds(seeds: Sequence[Any] | None, n_rollouts: int | None) -> list[Any]:
    """The seeds to roll out: the first `n_rollouts` of those given, or all; without any, the integers from 0."""
    count = check_whole_number("n_rollouts", _plain_seed(n_rollouts), at_least=1, or_none=True)
    if seeds is None:
        if count is None:
            raise InvalidOptionError(
                "how many rollouts? Pass n_rollouts=..., or give the evaluator seeds to roll out each of them"
            )
        return list(range(count))
    if isinstance(seeds, str | bytes | Mapping) or not hasattr(seeds, "__getitem__"):
        raise InvalidOptionError(f"seeds must be a list, with one seed per rollout, got {seeds!r:.200}")
    listed = [_plain_seed(seed) for seed in seeds]
    if not listed:
        raise InvalidOptionError("there are no seeds: rolling out nothing measures nothing")
    if count is not None and count > len(listed):
        raise InvalidOptionError(
            f"{count} rollouts need as many seeds, got {len(listed)}: give more seeds, or lower n_rollouts"
        )
    return listed[:count]


def _plain_seed(seed: Any) -> Any:
    """A number of numpy as one of Python: environments ask whether a seed is an `int`."""
    return int(seed) if isinstance(seed, Integral) and not isinstance(seed, int) else seed


async def roll_out(evaluator: Any, env: Any, seeds: Sequence[Any], **options: Any) -> Rolled:
    """Roll out every seed and let a rollout evaluator measure; the options are those of `Dataset.evaluate`."""
    task = _Rolling(env)
    names = list(_names(seeds))
    measuring = _Measuring(evaluator, task, names)
    cases = [
        Case(name=name, inputs=seed, cluster=goal)
        for name, seed, goal in zip(names, seeds, _goals(env, seeds), strict=True)
    ]
    dataset: Dataset[Any, Any, Any] = Dataset(name="rollouts", cases=cases, evaluators=[measuring])
    report = await dataset.evaluate(task, on_record=measuring.note, **options)
    return Rolled(measuring.aggregated, measuring.metrics or measuring.measured(()), report)


def check(rolled: Rolled) -> None:
    """Refuse a run that measured nothing, or whose metrics could not be combined.

    Raises:
        RolloutError: every rollout failed.
        KeyboardInterrupt: the run was interrupted before one was finished.
        InvalidOutputError: `compute_metrics` gave what cannot be combined.
        Exception: whatever `aggregate_metrics` raised.
    """
    aggregate, metrics, report = rolled
    if isinstance(aggregate, _Raised):
        raise aggregate.error
    if report.report_evaluator_failures:
        raise InvalidOutputError(report.report_evaluator_failures[0].error_message)
    if metrics:
        return
    if not metrics.failures:
        raise KeyboardInterrupt
    shown = "\n".join(f"  {failure}" for failure in metrics.failures[:_SHOWN])
    more = len(metrics.failures) - _SHOWN
    rest = f"\n  and {more:,} more" if more > 0 else ""
    raise RolloutError(
        f"none of {metrics.planned:,} rollouts could be measured:\n{shown}{rest}",
        graph=metrics.failures[0].graph,
    )


class _Raised(NamedTuple):
    """Stands for what `aggregate_metrics` would have returned."""

    error: Exception


class _Rolling:
    """The task: a seed in, a rollout out."""

    def __init__(self, env: Any) -> None:
        method = next((found for name in _METHODS if (found := _method(env, name)) is not None), None)
        if env is None or isinstance(env, type) or method is None:
            given = "None" if env is None else safe_repr(env)[:200]
            raise InvalidOptionError(
                f"an environment has a method eval_rollout(seed) or rollout(seed) that gives a Graph, got {given}"
            )
        self.env = env
        self.is_async = inspect.iscoroutinefunction(method) or inspect.iscoroutinefunction(
            type(method).__call__
        )
        self.__name__ = getattr(env, "name", None) or type(env).__name__
        self.broken: dict[str, Any] = {}
        """What there was of rollouts that broke off, by the name of the attempt."""
        self._method = method
        self._by_position = _takes_position(method)

    def __call__(self, seed: Any) -> Any:
        """The rollout, or something to await it by."""
        if (attempt := running_attempt()) is not None:
            self.broken.pop(attempt.name, None)  # left by an earlier try
        try:
            found = self._method(seed) if self._by_position else self._method(seed=seed)
        except Exception as error:
            self._keep(error)
            raise
        return self._awaited(found, seed) if inspect.isawaitable(found) else _checked(found, seed)

    async def _awaited(self, found: Awaitable[Any], seed: Any) -> Any:
        try:
            return _checked(await found, seed)
        except Exception as error:
            self._keep(error)
            raise

    def _keep(self, error: Exception) -> None:
        attempt, graph = running_attempt(), getattr(error, "graph", None)
        if attempt is not None and graph is not None:
            self.broken[attempt.name] = graph


def _method(env: Any, name: str) -> Callable[..., Any] | None:
    """A method or its async twin: the one that is written nearest to the environment's own class, else the twin."""
    twin = f"{name}_async"
    found = [each for each in (twin, name) if callable(getattr(env, each, None))]
    if len(found) == 2:
        by_class = [
            next((place for place, kind in enumerate(type(env).__mro__) if each in vars(kind)), -1)
            for each in found
        ]
        if by_class[1] < by_class[0]:  # a subclass that has its own say in the sync one is to be heard
            found.reverse()
    return getattr(env, found[0]) if found else None


def _takes_position(method: Callable[..., Any]) -> bool:
    try:
        inspect.signature(method).bind(None)
    except TypeError:
        return False
    except ValueError:  # it does not tell its signature
        return True
    return True


def _checked(graph: Any, seed: Any) -> Any:
    if not hasattr(graph, "children"):
        raise InvalidRolloutError(
            f"a rollout is a Graph, or an object with `children`, got {safe_repr(graph)[:200]}"
        )
    if isinstance(graph, Graph) and graph.seed is None:
        graph.seed = seed
    return graph


class _Measuring(RolloutEvaluator):
    """A rollout evaluator, and what it made of the rollouts of one run."""

    skips = False  # a rollout without metrics belongs to the failures of the run

    def __init__(self, origin: Any, task: _Rolling, names: Sequence[str]) -> None:
        super().__init__(origin, as_evaluator(origin).get_default_evaluation_name())
        self.task = task
        self.places = {name: place for place, name in enumerate(names)}
        self.failures: dict[int, RolloutFailure] = {}
        """By their place among the seeds."""
        self.metrics: MeasuredRollouts | None = None
        self.aggregated: Any = None

    def note(self, record: ReportCase | ReportCaseFailure) -> None:
        """Note the seed of a rollout that was measured, and why one was not."""
        if isinstance(record, ReportCaseFailure):
            self._fail(record, record, "rollout", self.task.broken.get(record.name))
        elif record.evaluator_failures:
            self._fail(record, record.evaluator_failures[0], "metrics", record.output)
        else:
            originals = [
                *(result.original for result in record.results),
                *(skip.original for skip in record.skipped),
            ]
            metrics: Any = originals[0] if originals else None
            if metrics is None:
                if not record.results:
                    self._lose(record)
            elif (
                getattr(metrics, "seed", record) is None
            ):  # metrics of this run, or of a store, that can hold one
                metrics.seed = record.inputs

    def _fail(
        self,
        record: ReportCase | ReportCaseFailure,
        error: ReportCaseFailure | EvaluatorFailure,
        stage: Literal["rollout", "metrics"],
        graph: Any,
    ) -> None:
        self.failures[self.places[record.name]] = RolloutFailure(
            seed=record.inputs,
            error_type=error.error_type,
            error_message=error.error_message,
            stage=stage,
            graph=graph,
            error_stacktrace=error.error_stacktrace,
        )

    def _lose(self, record: ReportCase) -> None:
        """Note a rollout that was judged and has no metrics: finished, so it must not pass for one that was not run."""
        self.failures[self.places[record.name]] = RolloutFailure(
            seed=record.inputs,
            error_type="InvalidOutputError",
            error_message="InvalidOutputError: there are no metrics of it: a store may not have kept them, so roll it out "
            "again without resume and reuse",
            stage="metrics",
            graph=record.output,
        )

    def measured(self, metrics: Iterable[GraphMetrics]) -> MeasuredRollouts:
        """The metrics, with what is missing from them."""
        failures = [self.failures[place] for place in sorted(self.failures)]
        return MeasuredRollouts(metrics, failures=failures, planned=len(self.places))

    async def aggregate(self, all_metrics: list[Any]) -> Any:
        """What the origin makes of them, kept as it is. The report gets it without `details`: it has every rollout already."""
        self.metrics = self.measured(all_metrics)
        try:
            found = self.origin.aggregate_metrics(self.metrics)
            self.aggregated = await found if inspect.isawaitable(found) else found
        except Exception as error:
            self.aggregated = _Raised(error)
            raise
        if not isinstance(self.aggregated, Mapping):
            return self.aggregated
        return {name: value for name, value in self.aggregated.items() if name != "details"}


def _goals(env: Any, seeds: Sequence[Any]) -> list[str | None]:
    """The goal of each seed, where the environment tells beforehand and there are several: rollouts of one are a cluster."""
    unknown: list[str | None] = [None] * len(seeds)
    if not isinstance(env, Environment) or not all(isinstance(seed, int | str) for seed in seeds):
        return unknown
    try:
        goals: list[str | None] = [env.goal_of_seed(seed) for seed in seeds]
    except InvalidOptionError:  # every rollout will say so
        return unknown
    return goals if len(set(goals)) > 1 else unknown


def _names(seeds: Iterable[Any]) -> Iterator[str]:
    """For each seed the name of its case."""
    taken: set[str] = set()
    for seed in seeds:
        text = seed if isinstance(seed, str) else f"seed {safe_repr(seed)}"
        text = text if len(text) <= _NAME else f"{text[:_NAME]}…"
        taken.add(name := unique(text or "(nothing)", taken))
        yield name
