# pyright: reportUnnecessaryTypeIgnoreComment=true
"""Evaluators as they are commonly written for pydantic_evals, with only the imports changed."""

import json
from dataclasses import dataclass
from typing import Any, TypeVar, assert_type

from calipers import Case, Dataset, increment_eval_metric, set_eval_attribute
from calipers.evaluators import EvaluationReason, Evaluator, EvaluatorContext, EvaluatorOutput

InputsT = TypeVar("InputsT")
OutputT = TypeVar("OutputT")


@dataclass
class ExactMatch(Evaluator):
    def evaluate(self, ctx: EvaluatorContext) -> bool:
        return bool(ctx.output == ctx.expected_output)


@dataclass
class ContainsKeyword(Evaluator):
    keyword: str
    case_sensitive: bool = True

    def evaluate(self, ctx: EvaluatorContext) -> bool:
        output = ctx.output if self.case_sensitive else ctx.output.lower()
        return self.keyword in output


@dataclass
class LengthScore(Evaluator):
    ideal_length: int = 100

    def evaluate(self, ctx: EvaluatorContext) -> float:
        return 1.0 - abs(len(ctx.output) - self.ideal_length) / self.ideal_length


@dataclass
class Sentiment(Evaluator):
    def evaluate(self, ctx: EvaluatorContext) -> str:
        return "negative" if "error" in ctx.output else "neutral"


@dataclass
class Explains(Evaluator):
    threshold: float = 0.8

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        return EvaluationReason(value=len(ctx.output) > self.threshold, reason=f"above {self.threshold}")


@dataclass
class Several(Evaluator):
    def evaluate(self, ctx: EvaluatorContext) -> EvaluatorOutput:
        if not isinstance(ctx.output, str):
            return {}
        valid = ctx.output.startswith("{")
        return {
            "valid": EvaluationReason(valid, reason="starts with a brace"),
            "quality": len(ctx.output) / 100,
            "kind": "short",
            "nested": {"deeper": True},
        }


@dataclass
class AsksAService(Evaluator):
    url: str
    evaluation_name: str | None = None

    async def evaluate(self, ctx: EvaluatorContext) -> dict[str, bool | float]:
        try:
            answer = json.loads(ctx.output)
        except ValueError:
            return {"reachable": False, "confidence": 0.0}
        return {"reachable": True, "passed": answer.get("valid", False), "confidence": 0.5}


@dataclass
class UsesMetadata(Evaluator):
    def evaluate(self, ctx: EvaluatorContext) -> float:
        if ctx.metadata and "difficulty" in ctx.metadata:
            return 1.0 if ctx.metadata["difficulty"] == "hard" else 0.5
        return 0.8

    def get_default_evaluation_name(self) -> str:
        return "difficulty_aware"


@dataclass
class UsesMetrics(Evaluator):
    max_api_calls: int = 5

    def evaluate(self, ctx: EvaluatorContext) -> bool:
        assert_type(ctx.metrics.get("api_calls", 0), int | float)
        return ctx.metrics.get("api_calls", 0) <= self.max_api_calls


@dataclass
class TypedEvaluator(Evaluator[InputsT, OutputT, dict[str, Any]]):
    def evaluate(self, ctx: EvaluatorContext[InputsT, OutputT, dict[str, Any]]) -> bool:
        assert_type(ctx.metadata, dict[str, Any] | None)
        return ctx.output is not None


def my_task(inputs: str) -> str:
    increment_eval_metric("api_calls", 3)
    set_eval_attribute("used_cache", True)
    return f"processed: {inputs}"


dataset = Dataset(
    name="seeds",
    cases=[Case(name="test", inputs="This is important", metadata={"difficulty": "easy"})],
    evaluators=[
        ExactMatch(),
        ContainsKeyword(keyword="important", case_sensitive=False),
        LengthScore(),
        Sentiment(),
        Explains(threshold=0.5),
        Several(),
        AsksAService(url="local"),
        UsesMetadata(),
        UsesMetrics(),
        TypedEvaluator[str, str](),
    ],
)
dataset.evaluate_sync(my_task)

ctx = EvaluatorContext(
    name="test",
    inputs="input",
    metadata=None,
    expected_output="expected",
    output="expected",
    duration=0.1,
    _span_tree=None,
    attributes={},
    metrics={},
)
assert ExactMatch().evaluate(ctx) is True
ctx.output = "different"
EvaluatorContext(name="test", inputs="input", output="x")  # type: ignore[call-arg]
ContainsKeyword()  # type: ignore[call-arg]
