from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from calipers import ToolCall, Trace
from calipers.agents import RuleBasedEvaluator, RuleSpec
from calipers.evaluators import Evaluator, HasMatchingSpan, MaxDuration
from calipers.files.parameters import parameters_of
from calipers.files.problem import Problems


@dataclass
class Full(Evaluator):
    needs_spans: ClassVar[bool] = False
    first: int
    second: "Sequence[str]" = ()
    third: str = field(default="x", kw_only=True)
    made: int = field(default=0, init=False)
    given: InitVar[int] = 3

    def __post_init__(self, given): ...

    def evaluate(self, ctx):
        return True


class Plain:
    def __init__(self, threshold: float, *rest, label=None, **more): ...

    def evaluate(self, expected, actual):
        return True


def close(output, expected_output, tolerance: float = 0.1, *, scale=1):
    return abs(output - expected_output) <= tolerance * scale


def claim(report, title: str):
    return title


@pytest.mark.parametrize(
    ("kind", "of_report", "expected"),
    [
        (
            Full,
            False,
            [("first", True, True), ("second", False, True), ("given", False, True), ("third", False, False)],
        ),
        (Plain, False, [("threshold", True, True), ("label", False, False)]),
        (close, False, [("tolerance", False, True), ("scale", False, True)]),
        (claim, True, [("title", True, True)]),
        (len, False, [("obj", True, True)]),
    ],
)
def test_the_parameters_are_those_that_a_file_can_give(kind, of_report, expected):
    found = parameters_of(kind, of_report=of_report)
    assert [(each.name, each.required, each.by_position) for each in found] == expected


def read(kind, name, value):
    parameter = next(each for each in parameters_of(kind) if each.name == name)
    problems = Problems("a")
    return parameter.read(value, (), problems), len(problems.found)


@pytest.mark.parametrize(
    ("kind", "name", "value", "found"),
    [
        (MaxDuration, "seconds", "PT1M30S", timedelta(seconds=90)),
        (MaxDuration, "seconds", 5, 5.0),
        (Full, "second", ["a"], ["a"]),
        (Plain, "threshold", 1, 1.0),
        (Plain, "label", {"any": ["thing"]}, {"any": ["thing"]}),
        (close, "tolerance", 0.5, 0.5),
        (HasMatchingSpan, "query", {"name_equals": "x"}, {"name_equals": "x"}),
    ],
)
def test_an_argument_becomes_what_its_annotation_says(kind, name, value, found):
    assert read(kind, name, value) == (found, 0)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (MaxDuration, "seconds", "abc"),
        (MaxDuration, "seconds", True),
        (Full, "first", "5"),
        (Full, "first", True),
        (Full, "second", "text"),
        (Full, "third", 5),
        (close, "tolerance", None),
    ],
)
def test_text_is_no_number_and_true_is_no_one(kind, name, value):
    assert read(kind, name, value)[1] == 1


def test_a_misspelt_key_of_an_argument_is_no_key_to_pass_over():
    rule = {"rule_type": "max_length", "params": {"max": 5}}
    assert read(RuleBasedEvaluator, "rules", [rule]) == ([RuleSpec(**rule)], 0)
    assert read(RuleBasedEvaluator, "rules", [rule | {"wieght": 3.0}])[1] == 1


def test_an_annotation_that_nobody_can_resolve_lets_everything_through():
    def judge(output, limit: "Unknown" = 1):  # noqa: F821
        return output < limit

    assert read(judge, "limit", "x") == ("x", 0)


def test_an_object_that_no_file_can_hold_is_refused():
    class Client: ...

    @dataclass
    class Asks(Evaluator):
        client: Client
        how: Callable[[str], Any] = str

        def evaluate(self, ctx):
            return True

    assert read(Asks, "client", {})[1] == 1
    assert read(Asks, "how", "print")[1] == 1


def compares(output, reference: Trace, other: Trace | None = None):
    return output == reference.output_text


def read_reference(data, name="reference"):
    problems = Problems("a")
    (parameter,) = [each for each in parameters_of(compares) if each.name == name]
    return parameter.read(data, ("reference",), problems), [str(problem) for problem in problems.found]


def test_a_trace_is_written_as_an_object_with_its_fields():
    trace, problems = read_reference(
        {"output_text": "done", "tool_calls": [{"name": "search", "arguments": {"q": "x"}}]}
    )
    assert problems == []
    assert (trace.output_text, trace.tool_calls[0]) == ("done", ToolCall("search", {"q": "x"}))
    assert read_reference(None, "other") == (None, [])
    assert read_reference({}, "other")[0].output_text == ""


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("done", "is stored as an object, got 'done'"),
        ({"output": "done"}, "a trace has no 'output'"),
        ({"tool_calls": [{"arguments": {}}]}, "needs the tool's name"),
        ({"turns": 5}, "turns"),
    ],
)
def test_what_is_wrong_with_a_trace_is_told(data, problem):
    trace, problems = read_reference(data)
    assert trace is None
    assert len(problems) == 1
    assert problem in problems[0]
