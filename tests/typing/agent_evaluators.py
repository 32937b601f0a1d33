# pyright: reportUnnecessaryTypeIgnoreComment=true
"""What type checkers infer about verdict evaluators. This code is never run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_type

from calipers import Case, Dataset
from calipers.agents import (
    BaseEvaluator,
    CompositeEvaluator,
    EmbeddingSimilarityEvaluator,
    EvalResult,
    EvalVerdict,
    JsonSchemaEvaluator,
    LatencyBudgetEvaluator,
    NonEmptyOutputEvaluator,
    RuleBasedEvaluator,
    RuleSpec,
    StatisticalEvaluator,
    StatisticalSummary,
    TestCase,
    Trace,
)
from calipers.evaluators import Contains


class InTheOldStyle(BaseEvaluator):
    def __init__(self, limit: int = 3) -> None:
        super().__init__(name="old")
        self.limit = limit

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        return EvalResult(self.name, EvalVerdict.PASS, 1.0, test_case.input_text)


@dataclass
class AsDataclass(BaseEvaluator):
    limit: int = 3
    name: str = "dataclass"

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        return EvalResult(evaluator_name=self.name, verdict=EvalVerdict.FAIL, score=0.0)


async def embed(texts: list[str]) -> list[list[float]]:
    return [[1.0] for _ in texts]


def judge(output: str) -> bool:
    return bool(output)


LatencyBudgetEvaluator(budget_ms=3000, warn_pct=0.75, name="quick")
LatencyBudgetEvaluator("3000")  # type: ignore[arg-type]
JsonSchemaEvaluator(schema={"type": "object"}, allow_fence=True)
JsonSchemaEvaluator()  # type: ignore[call-arg]
RuleBasedEvaluator(rules=[RuleSpec("max_length", {"max": 3}, weight=2.0)])
EmbeddingSimilarityEvaluator(0.7, embed)
EmbeddingSimilarityEvaluator(embed=lambda texts: [[1.0] for _ in texts])

parts: list[tuple[BaseEvaluator, float]] = [(NonEmptyOutputEvaluator(), 1.0), (InTheOldStyle(), 2)]
composite = CompositeEvaluator(parts, pass_threshold=0.75, stop_early=True)
CompositeEvaluator(evaluators=[(composite, 2.0), (Contains("x"), 1), (judge, 1), AsDataclass(4)])
CompositeEvaluator(parts, on_error="ignore")  # type: ignore[arg-type]
statistical = StatisticalEvaluator(judge, pass_threshold=0.9)


async def by_hand(case: Case[str, str, None], traces: Sequence[Trace]) -> None:
    assert_type(await composite.evaluate(case, traces[0]), EvalResult)
    assert_type(await AsDataclass().evaluate(TestCase(name="x"), traces[0]), EvalResult)
    summary = await statistical.evaluate_multiple(case, traces)
    assert_type(summary, StatisticalSummary)
    assert_type(summary.mean, float | None)
    assert_type(statistical.summary_to_eval_result(summary).verdict, EvalVerdict)


Dataset(
    cases=[TestCase(name="x", input_text="question")], evaluators=[composite, statistical, InTheOldStyle(2)]
)
