# pyright: reportUnnecessaryTypeIgnoreComment=true
"""Judges as users write them."""

from typing import Any

from calipers import Case, Dataset, EvaluationReason, EvaluatorContext
from calipers.judges import (
    Correct,
    Criterion,
    DecisionTree,
    Injection,
    InjectionReport,
    Jury,
    LLMJudge,
    ModelJudge,
    Question,
    Rubric,
    attack_judge,
    object_of,
)
from calipers.testing import ScriptedJudge


class Rhymes(ModelJudge):
    """A judge of one's own."""

    async def judge(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        answer = await self.ask(ctx, "Does the output rhyme?", object_of(rhymes={"type": "boolean"}))
        return EvaluationReason(bool(answer.data["rhymes"]), "it was asked")


judges = [
    LLMJudge("is polite", model="openai:gpt-4o", include_input=True, score={}, assertion=False),
    LLMJudge("is polite", assertion={"evaluation_name": "polite", "include_reason": True}),
    Correct(model=ScriptedJudge([{"reason": "r", "pass": True}]), model_settings={"temperature": 0}),
    Rubric({"kind": Criterion(levels={0: "rude", 1: "kind"})}, pass_at=0.5),
    DecisionTree({"kind": Question(ask="Is it kind?", if_yes=True, if_no=False)}),
    Jury([Correct(), LLMJudge("is right")], vote="all"),
    Rhymes(),
]
dataset: Dataset[str, str, Any] = Dataset(name="d", cases=[Case(name="a", inputs="x")], evaluators=judges)

LLMJudge("is polite", "openai:gpt-4o")  # type: ignore[call-arg]
LLMJudge("is polite", score=True)  # type: ignore[arg-type]
Jury([Correct()], vote="most")  # type: ignore[arg-type]


async def attack() -> list[Injection]:
    report: InjectionReport = await attack_judge(judges[0], max_concurrency=2)
    return [each.injection for each in report.ended("through")]
