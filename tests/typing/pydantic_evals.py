# pyright: reportUnnecessaryTypeIgnoreComment=true
"""Code written for pydantic_evals, with other imports, keeps its types."""

from typing import Any, assert_type

from pydantic import BaseModel

from calipers import (
    Case,
    CaseLifecycle,
    Dataset,
    EvaluationResult,
    Report,
    ReportCase,
    ReportCaseFailure,
    Trace,
)
from calipers.evaluators import EqualsExpected, EvaluatorContext

Suite = Dataset[str, int, dict[str, str]]

dataset = Suite(cases=[Case(inputs="a", expected_output=1)], evaluators=[EqualsExpected()])
assert_type(Suite.from_text("cases: []", fmt="yaml"), Dataset[str, int, dict[str, str]])
assert_type(
    Suite.from_dict({"cases": []}, custom_evaluator_types=[EqualsExpected]), Dataset[str, int, dict[str, str]]
)
assert_type(Suite.model_json_schema_with_evaluators(), dict[str, Any])
dataset.to_file("d.yaml", schema_path=None, fmt="yaml")
dataset.to_file("d.yaml", colour="red")  # type: ignore[call-arg]
Suite.from_dict({}, colour="red")  # type: ignore[call-arg]


def count(text: str) -> int:
    return len(text)


report = dataset.evaluate_sync(count, task_name="counter", retry_task={"max_attempts": 3})
assert_type(report, Report[str, int, dict[str, str]])
assert_type(report.cases[0], ReportCase[str, int, dict[str, str]])
assert_type(report.cases[0].output, int)
assert_type(report.cases[0].metadata, dict[str, str] | None)
assert_type(report.failures[0].inputs, str)
assert_type(report.cases[0].assertions["x"].value, bool)
assert_type(report.cases[0].scores["x"].value, int | float)
assert_type(report.cases[0].labels["x"].value, str)
assert_type(report.experiment_metadata, dict[str, Any] | None)
assert_type(report.render(include_input=True), str)
report.print(include_input=True, include_durations=False, baseline=report)
report.print(include_colours=True)  # type: ignore[call-arg]
assert_type(Trace.from_dict(Trace().to_dict()), Trace)


class Hooks(CaseLifecycle[str, int, dict[str, str]]):
    async def prepare_context(
        self, ctx: EvaluatorContext[str, int, dict[str, str]]
    ) -> EvaluatorContext[str, int, dict[str, str]]:
        return ctx

    async def teardown(
        self,
        result: ReportCase[str, int, dict[str, str]] | ReportCaseFailure[str, int, dict[str, str]] | None,
    ) -> None: ...


class Kept(BaseModel):
    attempt: ReportCase[str, int, dict[str, str]]
    judgement: EvaluationResult[bool]


assert_type(Kept(attempt=report.cases[0], judgement=report.cases[0].assertions["x"]).judgement.value, bool)
