# pyright: reportUnnecessaryTypeIgnoreComment=true
"""The five styles of evaluator are accepted as they are, sync or async; what is none of them is refused."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, assert_type

from calipers import (
    Case,
    Dataset,
    EvaluationReason,
    Evaluator,
    EvaluatorContext,
    EvaluatorOutput,
    Skipped,
    ToolCall,
    Trace,
    as_evaluator,
)
from calipers.data.result import EvalResult, EvalVerdict

# 1. Functions whose parameters are named for what they need.


def is_short(output: str) -> bool:
    return len(output) < 20


def matches(output: str, expected_output: str, *, ignore_case: bool = True) -> EvaluationReason:
    same = output.lower() == expected_output.lower() if ignore_case else output == expected_output
    return EvaluationReason(same, reason="compared")


async def asks_a_service(ctx: EvaluatorContext[str, str, None]) -> Mapping[str, EvaluatorOutput]:
    return {"reachable": True, "confidence": 0.9, "why": EvaluationReason("label", "because")}


# 2. Objects with evaluate(ctx), with or without the base class.


@dataclass
class Subclass(Evaluator[str, str, None]):
    word: str

    def evaluate(self, ctx: EvaluatorContext[str, str, None]) -> bool | Skipped:
        return self.word in ctx.output if ctx.output else Skipped("no output")


class JudgesItsContext:
    def evaluate(self, ctx: EvaluatorContext[str, str, None]) -> float:
        return 1.0 / (1 + len(ctx.output))


# 3. Objects with evaluate(expected, actual).


class SameCalls:
    def evaluate(self, expected: list[ToolCall], actual: list[ToolCall]) -> bool:
        return expected == actual


# 4. Objects with evaluate(test_case, trace).


class UsedTool:
    name = "used_tool"

    async def evaluate(self, test_case: Case[Any, Any, Any], trace: Trace) -> EvalResult:
        used = any(call.name == "search" for call in trace.tool_calls)
        return EvalResult(self.name, EvalVerdict.PASS if used else EvalVerdict.FAIL, float(used))


# 5. Rollout metrics.


class Turns:
    def compute_metrics(self, g: Any) -> Any:
        return g

    def aggregate_metrics(self, all_metrics: list[Any]) -> dict[str, int]:
        return {"rollouts": len(all_metrics)}


cases: list[Case[str, str, None]] = [Case(inputs="a", expected_output="b")]

dataset = Dataset(
    cases=cases,
    evaluators=[
        is_short,
        matches,
        asks_a_service,
        lambda output: output == "b",
        Subclass("b"),
        JudgesItsContext(),
        SameCalls(),
        UsedTool(),
        Turns(),
    ],
)
assert_type(dataset, Dataset[str, str, None])
case: Case[str, str, None] = Case(inputs="a", evaluators=[is_short, Subclass("b"), SameCalls()])

one = as_evaluator(is_short, name="short")
assert_type(one, Evaluator[Any, Any, Any])
assert_type(
    one.evaluate(EvaluatorContext[Any, Any, Any].__new__(EvaluatorContext)),
    EvaluatorOutput | Awaitable[EvaluatorOutput],
)


# What is no evaluator.


class Unrelated:
    def judge(self) -> bool:
        return True


Dataset(cases=cases, evaluators=[Unrelated()])  # type: ignore[list-item]
Dataset(cases=cases, evaluators=[3])  # type: ignore[list-item]
Dataset(cases=cases, evaluators="Contains")  # type: ignore[arg-type]
dataset.add_evaluator(Unrelated())  # type: ignore[arg-type]


class Forgets(Evaluator):
    """It has no `evaluate`."""


Forgets()  # type: ignore[abstract]


class ReturnsAList(Evaluator):
    def evaluate(self, ctx: EvaluatorContext) -> list[bool]:  # type: ignore[override]
        return [True]


class ReturnsNothing(Evaluator):
    def evaluate(self, ctx: EvaluatorContext) -> None:  # type: ignore[override]
        return None
