import asyncio
import threading
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from calipers import Case, Dataset, Evaluator, EvaluatorContext, Skipped, ToolCall, Trace
from calipers.errors import NotAnEvaluatorError
from calipers.testing import evaluate_one, make_context


@dataclass
class Longer(Evaluator):
    than: int = 3

    def evaluate(self, ctx):
        return len(ctx.output) > self.than


class Pair:
    async def evaluate(self, expected, actual):
        return {"same": expected == actual, "close": 0.5}


class OfTrace:
    def evaluate(self, test_case, trace):
        return f"{test_case.name}: {len(trace.tool_calls)}"


class Rollout:
    def compute_metrics(self, graph):
        return SimpleNamespace(per_turn=[], overall={"turns": len(graph.children)})

    def aggregate_metrics(self, all_metrics):
        return {}


@pytest.mark.parametrize(
    ("evaluator", "ctx", "values"),
    [
        (lambda output: output == "Paris", make_context("Paris"), {"function": True}),
        (Longer(), make_context("Rom"), {"Longer": False}),
        (Pair(), make_context("a", expected_output="a"), {"same": True, "close": 0.5}),
        (OfTrace(), make_context(Trace(tool_calls=[ToolCall("t")]), name="c"), {"OfTrace": "c: 1"}),
        (Rollout(), make_context(SimpleNamespace(children=[1, 2])), {"turns": 2}),
    ],
    ids=["function", "dataclass", "pair", "trace", "rollout"],
)
def test_every_style_is_judged_as_in_a_run(evaluator, ctx, values):
    record = evaluate_one(evaluator, ctx)
    assert {result.name: result.value for result in record.results} == values
    assert record.evaluator_failures == ()
    assert record.skipped == ()


def test_the_record_is_the_one_a_run_would_keep():
    case = Case(name="c", inputs="q", expected_output="Rome", metadata={"m": 1})
    report = Dataset(cases=[case], evaluators=[Longer()]).evaluate_sync(lambda inputs: "Rome", progress=False)
    ctx = make_context("Rome", name="c", inputs="q", expected_output="Rome", metadata={"m": 1})
    record, kept = evaluate_one(Longer(), ctx), report.cases[0]
    for name in ("name", "inputs", "output", "expected_output", "has_expected_output", "metadata", "results"):
        assert getattr(record, name) == getattr(kept, name)


def test_a_skip_a_crash_and_an_illegal_output_are_told_apart():
    assert evaluate_one(lambda output: Skipped("not text"), make_context(1)).skipped[0].reason == "not text"
    assert evaluate_one(lambda expected_output: True, make_context(1)).skipped[0].name == "function"
    crashed = evaluate_one(lambda output: output.lower(), make_context(1))
    assert crashed.evaluator_failures[0].error_type == "AttributeError"
    assert crashed.passed is False
    illegal = evaluate_one(lambda output: float("nan"), make_context(1))
    assert illegal.evaluator_failures[0].error_type == "InvalidOutputError"


def test_an_evaluator_sees_the_earlier_results_of_the_context_and_the_record_holds_only_its_own():
    ctx = make_context("x", results={"cheap": False})
    record = evaluate_one(lambda results: results["cheap"].value is False, ctx)
    assert [result.name for result in record.results] == ["function"]
    assert record.passed
    assert list(ctx.results) == ["cheap"], "judging leaves the context as it was"


def test_a_context_built_by_hand_will_do():
    ctx = EvaluatorContext(
        name=None,
        inputs="q",
        metadata=None,
        expected_output="a",
        output="a",
        duration=0.1,
        _span_tree=None,
        attributes={},
        metrics={},
    )
    assert evaluate_one(lambda output, expected_output: output == expected_output, ctx).passed
    ctx.output = "b"
    record = evaluate_one(lambda output, expected_output: output == expected_output, ctx)
    assert record.passed is False
    assert record.output == "b"


def test_what_hangs_is_a_failure_when_there_is_a_timeout():
    forever = threading.Event()
    try:
        record = evaluate_one(lambda output: forever.wait(), make_context("x"), timeout=0.05)
    finally:
        forever.set()
    assert record.evaluator_failures[0].error_type == "AttemptTimeoutError"


def test_it_works_where_an_event_loop_runs():
    async def later(output):
        await asyncio.sleep(0)
        return 0.25

    async def main():
        return evaluate_one(later, make_context("x"))

    assert asyncio.run(main()).scores["later"].value == 0.25


def test_what_is_no_evaluator_is_refused():
    with pytest.raises(NotAnEvaluatorError):
        evaluate_one(3, make_context("x"))
