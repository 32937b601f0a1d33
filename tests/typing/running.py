# pyright: reportUnnecessaryTypeIgnoreComment=true
"""Tasks, options, hooks, and reading the report."""

from typing import Any, assert_type

from calipers import (
    Case,
    CaseLifecycle,
    Dataset,
    EvaluationResult,
    EvaluatorContext,
    Report,
    ReportCase,
    ReportCaseFailure,
    Retry,
    increment_eval_metric,
    known,
    set_eval_attribute,
)
from calipers.comparison import Conclusion, compare_reports
from calipers.pytest_plugin.evaluate_fixtures import Evaluate
from calipers.pytest_plugin.gate_fixture import Gate
from calipers.report.analysis import ConfusionMatrix
from calipers.report.averages import Averages, CaseGroup
from calipers.report.summary import Summary
from calipers.stats import Estimate, Interval
from calipers.testing import BlockingScriptedTask, ScriptedTask, assert_passed, evaluate_one, make_context

cases: list[Case[str, int, dict[str, str]]] = [Case(inputs="a", expected_output=1)]
dataset = Dataset(cases=cases)


# A task is a function of the inputs, sync or async.


def count(text: str) -> int:
    increment_eval_metric("letters", len(text))
    set_eval_attribute("empty", not text)
    return len(text)


async def count_later(text: str) -> int:
    return len(text)


def count_anything(value: object) -> int:
    return len(str(value))


class Counter:
    async def __call__(self, text: str) -> int:
        return len(text)


def wrong_inputs(number: int) -> int:
    return number


def wrong_output(text: str) -> str:
    return text


async def wrong_output_later(text: str) -> str:
    return text


async def run() -> Report:
    await dataset.evaluate(count, max_concurrency=8)
    await dataset.evaluate(count_later, retry=Retry(attempts=2, on=ConnectionError), task_timeout=1.5)
    await dataset.evaluate(count_anything, retry=Retry(on=(OSError, TimeoutError)))
    await dataset.evaluate(Counter(), retry=Retry(on=lambda error: "again" in str(error)))
    await dataset.evaluate(ScriptedTask({"a": 1}), progress=False, seed=0)
    await dataset.evaluate(BlockingScriptedTask([1, 2]))
    await dataset.evaluate(lambda text: len(text), repeat=3, name="lambda", metadata={"model": "m"})
    await dataset.evaluate(wrong_inputs)  # type: ignore[arg-type]
    await dataset.evaluate(wrong_output)  # type: ignore[arg-type]
    await dataset.evaluate(wrong_output_later)  # type: ignore[arg-type]
    await dataset.evaluate(3)  # type: ignore[arg-type]
    await dataset.evaluate(count, max_concurrency="8")  # type: ignore[arg-type]
    await dataset.evaluate(count, retries=3)  # type: ignore[call-arg]
    return await dataset.evaluate(count)


assert_type(dataset.evaluate_sync(count, repeat=2), Report[str, int, dict[str, str]])
dataset.evaluate_sync(wrong_inputs)  # type: ignore[arg-type]
dataset.evaluate_sync(wrong_output)  # type: ignore[arg-type]
dataset.evaluate_sync(count, retries=3)  # type: ignore[call-arg]
dataset.evaluate_sync(count, repeat="3")  # type: ignore[arg-type]


# Hooks know the types of their case.


class Hooks(CaseLifecycle[str, int, dict[str, str]]):
    async def setup(self) -> None:
        assert_type(self.case, Case[str, int, dict[str, str]])
        assert_type(self.case.inputs, str)

    def prepare_context(
        self, ctx: EvaluatorContext[str, int, dict[str, str]]
    ) -> EvaluatorContext[str, int, dict[str, str]]:
        assert_type(ctx.output, int)
        ctx.attributes["seen"] = True
        return ctx

    async def teardown(self, result: ReportCase | ReportCaseFailure | None) -> None:
        if isinstance(result, ReportCase):
            assert_type(result.passed, bool | None)


dataset.evaluate_sync(count, lifecycle=Hooks)
dataset.evaluate_sync(count, lifecycle=lambda case: Hooks(case))


# What a report says.


def read(report: Report) -> None:
    rate = report.pass_rate()
    assert_type(rate, Estimate)
    assert_type(report.pass_rate(None), Estimate | None)
    assert_type(report.pass_at_k(3), Estimate)
    assert_type(report.pass_at_k(3, None, evaluator="brief"), Estimate | None)
    assert_type(report.durations().p50, float)
    assert_type(report.analysis(ConfusionMatrix), ConfusionMatrix)
    assert_type(known(rate.interval), Interval)
    assert_type(report.summaries(), dict[str, Summary])
    assert_type(report.averages(), Averages)
    assert_type(report.averages(default=None), Averages | None)
    assert_type(report.case_groups(), list[CaseGroup])
    _ = rate.interval.low  # type: ignore[union-attr]
    for case in report.cases:
        assert_type(case, ReportCase)
        assert_type(case.assertions, dict[str, EvaluationResult[bool]])
        assert_type(case.scores, dict[str, EvaluationResult[int | float]])
        assert_type(case.labels, dict[str, EvaluationResult[str]])
        assert_type(case.results, tuple[EvaluationResult, ...])
        assert_type(case.passed, bool | None)
        assert_type(case.output, Any)
        for result in case.results:
            assert_type(result.value, bool | int | float | str)
            assert_type(result.reason, str | None)
            assert_type(result.downcast(bool), EvaluationResult[bool] | None)
            result.value = True  # type: ignore[misc]
    for failure in report.failures:
        assert_type(failure.error_message, str)
        assert_type(failure.not_run, tuple[str, ...])
    assert_type(report.to_dict(), dict[str, Any])
    assert_type(Report.from_dict(report.to_dict()), Report)
    report.print(width=100)


assert_type(evaluate_one(lambda output: output > 0, make_context(3)), ReportCase)
Retry(3)  # type: ignore[call-arg]
Retry(attempts="3")  # type: ignore[arg-type]
Retry(attempts=3).attempts = 4  # type: ignore[misc]


def checked(attempt: ReportCase[str, int, None] | ReportCaseFailure[str, int, None], report: Report) -> None:
    _ = attempt.output  # type: ignore[union-attr]
    assert_type(assert_passed(attempt).output, int)
    assert_type(assert_passed(report), Report)


def compared(one: Report, two: Report) -> str:
    """A comparison always comes to something."""
    found = compare_reports(one, two)
    assert_type(found.conclusion, Conclusion)
    return found.conclusion.outcome


def test_agent(evaluate: Evaluate, gate: Gate) -> None:
    """The fixtures have types."""
    gate(evaluate(dataset, len), at_least=0.2)
