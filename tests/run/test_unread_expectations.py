"""Expectations that cases state and no evaluator of the run reads."""

from dataclasses import dataclass

import pytest

from calipers import Case, Dataset, Evaluator, Report, as_evaluator
from calipers.evaluators import (
    CloseTo,
    ConfusionMatrixEvaluator,
    Contains,
    ContainsExpected,
    EqualsExpected,
    SimilarText,
    ToolCallsMatch,
)
from calipers.views.html.document import report_html
from calipers.views.markdown import report_markdown
from calipers.views.terminal import report_text


@dataclass
class ReadsContext(Evaluator):
    def evaluate(self, ctx):
        return True


@dataclass
class ReadsOutput(Evaluator):
    def evaluate(self, output):
        return True


class Pair:
    def evaluate(self, expected, actual):
        return True


def run(*evaluators, cases=None, **options):
    cases = cases or [
        Case(name="output", inputs="a", expected_output="b"),
        Case(name="calls", inputs="a", expected_tool_calls=[{"name": "look_up"}]),
        Case(name="neither", inputs="a"),
    ]
    return Dataset(cases=cases, evaluators=evaluators, **options).evaluate_sync(str, progress=False)


BOTH = {"expected_output": 1, "expected_tool_calls": 1}
CALLS = {"expected_tool_calls": 1}
OUTPUT = {"expected_output": 1}


@pytest.mark.parametrize(
    ("evaluator", "unread"),
    [
        (lambda output: True, BOTH),
        (ReadsOutput(), BOTH),
        (Contains("a"), BOTH),
        (CloseTo(3), BOTH),
        (SimilarText("a"), BOTH),
        (ToolCallsMatch([]), BOTH),
        (lambda output, expected_output: True, CALLS),
        (lambda output, expected_output=None: True, CALLS),
        (EqualsExpected(), CALLS),
        (ContainsExpected(), CALLS),
        (CloseTo(), CALLS),
        (SimilarText(), CALLS),
        (lambda expected_tool_calls: True, OUTPUT),
        (ToolCallsMatch(), {}),
        (Pair(), {}),
        (ReadsContext(), {}),
        (lambda ctx: True, {}),
        (lambda case, output: True, {}),
        (as_evaluator(EqualsExpected(), name="equal"), {}),
    ],
)
def test_a_run_counts_the_cases_whose_expectation_no_evaluator_reads_where_that_can_be_known(
    evaluator, unread
):
    assert run(evaluator).unread_expectations == unread


def test_one_evaluator_that_reads_the_expectation_or_may_read_it_is_enough():
    assert run(Contains("a"), EqualsExpected(), ToolCallsMatch()).unread_expectations == {}
    assert run(Contains("a"), ReadsContext()).unread_expectations == {}
    assert run(Contains("a"), report_evaluators=[ConfusionMatrixEvaluator()]).unread_expectations == {}
    own = [
        Case(inputs="a", expected_output="a", evaluators=[EqualsExpected()]),
        Case(inputs="b", expected_output="b"),
    ]
    assert run(Contains("a"), cases=own).unread_expectations == {"expected_output": 1}


def test_a_case_without_evaluators_is_not_counted_for_nothing_judges_it():
    assert run().unread_expectations == {}


def test_each_case_of_a_lazy_and_repeated_dataset_is_counted_once():
    cases = (Case(inputs=n, expected_output=n) for n in range(3))
    report = Dataset(cases=cases, evaluators=[lambda output: True]).evaluate_sync(
        str, repeat=2, progress=False
    )
    assert report.unread_expectations == {"expected_output": 3}


def test_the_views_say_how_many_there_are_and_what_to_add():
    report = run(lambda output: True)
    note = "1 case states an expected output that no evaluator compares: add EqualsExpected()"
    assert note in report_text(report, width=200)
    assert (
        "1 case states expected tool calls that no evaluator compares: add ToolCallsMatch()"
        in report_text(report, width=200)
    )
    for draw in (report_html, report_markdown):
        assert "1 case states an expected output that no evaluator compares" in draw(report)
    assert Report.from_dict(report.to_dict()).unread_expectations == BOTH
    assert "no evaluator compares" not in report_text(run(Pair()), width=200)
