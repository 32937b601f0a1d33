# pyright: reportUnnecessaryTypeIgnoreComment=true
"""Rollout metrics as users write them: two methods, sync or async, and metrics added to those that exist."""

from typing import Any, assert_type

from calipers import Case, Dataset, Report
from calipers.rollouts import (
    ASTEvaluator,
    Evaluator,
    Graph,
    GraphMetrics,
    JSONLike,
    JudgeTurns,
    MetricSummary,
    RolloutFailure,
    summarize_metrics,
)


class Turns(Evaluator):
    def compute_metrics(self, g: Graph[str, str]) -> GraphMetrics:
        return GraphMetrics(overall={"turns": g.depth}, per_turn=[])

    def aggregate_metrics(self, all_metrics: list[GraphMetrics]) -> JSONLike:
        return {"n_rollouts": len(all_metrics)}


class Later(Evaluator):
    async def compute_metrics(self, g: Graph[str, str]) -> GraphMetrics:
        return GraphMetrics(overall={"turns": g.depth}, per_turn=[])

    async def aggregate_metrics(self, all_metrics: list[GraphMetrics]) -> JSONLike:
        return len(all_metrics)


class More(ASTEvaluator):
    def compute_metrics(self, g: Graph[str, str]) -> GraphMetrics:
        metrics: GraphMetrics = super().compute_metrics(g)
        metrics.overall["more"] = 1
        return metrics


def polite(output: str) -> bool:
    return "please" in output


def measure(env: object) -> None:
    Evaluator(env)  # type: ignore[abstract]
    evaluator = More(env, seeds=["a"], threshold=0.7)
    evaluator.evaluate(n_rollouts=20, progress=True, max_concurrency=4)
    evaluator.evaluate(rollout_timeout="soon")  # type: ignore[arg-type]
    Evaluator.write_json({}, "metrics.json")
    assert_type(evaluator.report, Report | None)
    assert_type(evaluator.failures, tuple[RolloutFailure, ...])
    assert_type(summarize_metrics([]), dict[str, MetricSummary])
    Dataset[str, Any, Any](cases=[Case(inputs="a")], evaluators=[Turns(), Later(), JudgeTurns(polite)])
