"""The rollout evaluator: what to measure of a rollout, and how to combine the rollouts of a run.

Subclass `Evaluator` and write two methods: `compute_metrics` for one rollout, `aggregate_metrics` for all of them, each
sync or async. `evaluate` rolls out the environment, measures every rollout and returns what `aggregate_metrics` returned,
unchanged. In a `Dataset`'s list of evaluators the same object judges the rollouts that a task gives, and needs no
environment.

A rollout that fails, or whose metrics do, is left out of what `aggregate_metrics` gets, and listed in `failures`; if none
is left, `evaluate` raises. Both methods run on the event loop, one rollout after the other, so that a moderator is never
called by two threads at once; with `metrics_timeout`, a sync `compute_metrics` runs in threads instead.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from typing import Any, Literal, TypedDict, Unpack

from calipers.data.jsonable import safe_repr
from calipers.data.lifecycle import RunHooks
from calipers.data.retry import Retry
from calipers.errors import InvalidOptionError
from calipers.process.loop import run_sync
from calipers.report.report import Report
from calipers.run.evaluation import Progress

from .graph import Graph
from .metrics import GraphMetrics, JSONLike, MeasuredRollouts, RolloutFailure
from .rollout_run import check, planned_seeds, roll_out


class RolloutOptions(TypedDict, total=False):
    """The options of `Evaluator.evaluate` and `evaluate_async`; see `evaluate_async` for what they mean."""

    max_concurrency: int | None
    rollout_timeout: float | None
    metrics_timeout: float | None
    retry: Retry | None
    plugins: RunHooks | None
    name: str | None
    metadata: dict[str, Any] | None
    store: Any
    resume: str | bool | None
    reuse: bool
    rerun_failed: bool


class Evaluator(ABC):
    """Rolls out an environment many times, measures each rollout, and combines the measurements."""

    env: Any
    """What is rolled out: an object with `eval_rollout(seed)` or `rollout(seed)`; also read as `sampler`."""
    seeds: Sequence[Any] | None
    """What to roll out, one seed per rollout; `None` for the integers from 0."""
    report: Report | None = None
    """The last run as a report, with an interval for every overall metric; `None` before the first."""
    metrics: MeasuredRollouts | None = None
    """What `compute_metrics` gave in the last run; `None` before the first."""

    def __init__(self, env: Any = None, seeds: Sequence[Any] | None = None, *, sampler: Any = None) -> None:
        if env is not None and sampler is not None:
            raise InvalidOptionError(
                f"env and sampler are two names of one thing, got {safe_repr(env):.100} and {safe_repr(sampler):.100}"
            )
        self.env = sampler if env is None else env
        self.seeds = seeds

    @property
    def sampler(self) -> Any:
        """The environment, under its other name."""
        return self.env

    @sampler.setter
    def sampler(self, value: Any) -> None:
        self.env = value

    @property
    def failures(self) -> tuple[RolloutFailure, ...]:
        """The rollouts of the last run that could not be measured."""
        return () if self.metrics is None else self.metrics.failures

    def check_ready(self) -> None:  # noqa: B027 - most measures are ready as they are
        """Called by `evaluate` before the first rollout: raise here if measuring is bound to fail."""

    @abstractmethod
    def compute_metrics(self, g: Graph[Any, Any]) -> GraphMetrics | Awaitable[GraphMetrics]:
        """The metrics of one rollout."""

    @abstractmethod
    def aggregate_metrics(self, all_metrics: list[GraphMetrics]) -> JSONLike | Awaitable[JSONLike]:
        """The metrics of all rollouts together.

        In a run of `evaluate`, the list is a `MeasuredRollouts`, which also knows the rollouts that are missing from it.
        """

    def evaluate(
        self,
        n_rollouts: int | None = None,
        progress: bool | Progress = True,
        **options: Unpack[RolloutOptions],
    ) -> Any:
        """`evaluate_async` for code that is not async, with the same options."""
        return run_sync(lambda: self.evaluate_async(n_rollouts, progress, **options))

    async def evaluate_async(
        self,
        n_rollouts: int | None = None,
        progress: bool | Progress = True,
        *,
        max_concurrency: int | None = None,
        rollout_timeout: float | None = None,
        metrics_timeout: float | None = None,
        retry: Retry | None = None,
        plugins: RunHooks | None = None,
        name: str | None = None,
        metadata: dict[str, Any] | None = None,
        store: Any = None,
        resume: str | bool | None = None,
        reuse: bool = False,
        rerun_failed: bool = False,
    ) -> Any:
        """Roll out, measure and combine: what `aggregate_metrics` returns, unchanged.

        `report`, `metrics` and `failures` then tell the rest about this run.

        Args:
            n_rollouts: how many rollouts: the first so many seeds. Default: all seeds; required if there are none.
            progress: show a bar on a terminal; or an object that shows progress its own way.
            max_concurrency: rollouts in flight at once; default: 100, or 32 for a sync environment.
            rollout_timeout: seconds a rollout may take before it counts as failed.
            metrics_timeout: seconds that measuring a rollout may take; a sync `compute_metrics` then runs in threads.
            retry: when to roll out a seed again after a failure.
            plugins: a `calipers.plugins.PluginManager` whose plugins are told of the run.
            name: of the report; default: that of the environment's class.
            metadata: anything to keep with the report.
            store: where to keep every rollout as soon as it is measured: a path, a URL or a `calipers.stores.Store`.
            resume: go on with a stored run: its id, "latest", or True for the newest one that did not finish, if any.
            reuse: take over what any earlier run of the store has for the same seed, environment and metrics.
            rerun_failed: with `resume`, roll out again what failed.

        Raises:
            InvalidOptionError: nothing to roll out, or more rollouts than seeds.
            RolloutError: not one rollout could be measured.
        """
        self.check_ready()
        rolled = await roll_out(
            self,
            self.env,
            planned_seeds(self.seeds, n_rollouts),
            progress=progress,
            max_concurrency=max_concurrency,
            task_timeout=rollout_timeout,
            evaluator_timeout=metrics_timeout,
            retry=retry,
            plugins=plugins,
            name=name,
            metadata=metadata,
            store=store,
            resume=resume,
            reuse=reuse,
            rerun_failed=rerun_failed,
            seed=0,  # what a rollout draws follows from its own seed
        )
        self.report, self.metrics = rolled.report, rolled.metrics
        check(rolled)
        return rolled.aggregate

    @staticmethod
    def write_json(data: Any, path: str | os.PathLike[str]) -> None:
        """Write what `evaluate` returned, or any other data, as JSON; see `calipers.rollouts.write_json`."""
        from calipers.exchange.metrics_files import write_json

        write_json(data, path)

    @staticmethod
    def write_csv(
        data: Any, path: str | os.PathLike[str], *, rows: Literal["turns", "rollouts"] = "turns"
    ) -> None:
        """Write a row for every turn, or for every rollout; see `calipers.rollouts.write_csv`."""
        from calipers.exchange.metrics_files import write_csv

        write_csv(data, path, rows=rows)

    @staticmethod
    def write_parquet(
        data: Any, path: str | os.PathLike[str], *, rows: Literal["turns", "rollouts"] = "turns"
    ) -> None:
        """The same table with typed columns; see `calipers.rollouts.write_parquet`."""
        from calipers.exchange.metrics_files import write_parquet

        write_parquet(data, path, rows=rows)
