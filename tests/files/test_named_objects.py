"""What a file says of a thing that is made by its name."""

from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from calipers import Dataset, ToolCall, Trace
from calipers.agents import (
    BaseEvaluator,
    CompositeEvaluator,
    LatencyBudgetEvaluator,
    RuleBasedEvaluator,
    RuleSpec,
    StatisticalEvaluator,
)
from calipers.data.evaluator import EvaluatorLike
from calipers.evaluators import Contains, EqualsExpected, Evaluator, HasMatchingSpan, MaxDuration
from calipers.files.catalog import Catalog
from calipers.files.named_objects import (
    Parameter,
    holds_evaluators,
    nested_in,
    parameters_of,
    read_arguments,
    read_spec,
)
from calipers.files.problem import Problems

FIRST = Parameter("size", int, required=True, by_position=True)
SECOND = Parameter("color", str, required=False, by_position=False)


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("Box", ("Box", {}, ("parts",))),
        ({"Box": 3}, ("Box", 3, ("parts", "Box"))),
        ({"Box": {"size": 3}}, ("Box", {"size": 3}, ("parts", "Box"))),
        ({"Box": None}, ("Box", None, ("parts", "Box"))),
    ],
)
def test_a_name_stands_alone_or_with_what_it_is_given(spec, found):
    problems = Problems("f.yaml")
    assert read_spec(spec, ("parts",), problems, what="a part") == found
    assert not problems.found


@pytest.mark.parametrize("spec", [3, "", [], {}, {"A": 1, "B": 2}, {3: 1}, None], ids=repr)
def test_what_names_nothing_is_a_problem_that_says_what_was_expected(spec):
    problems = Problems("f.yaml")
    assert read_spec(spec, ("parts",), problems, what="a part")[0] is None
    assert problems.found[0].message.startswith("expected a part as Name, {Name: value} or")


@pytest.mark.parametrize(
    ("given", "arguments", "message"),
    [
        (3, {"size": 3}, None),
        ({"size": 3, "color": "red"}, {"size": 3, "color": "red"}, None),
        ({}, {}, "the parameter 'size' is missing"),
        (None, {}, "Box needs a value, and there is none: write {size: null} if you mean null"),
        (
            {"size": 3, "colour": "red"},
            {"size": 3},
            "no parameter is called 'colour' (did you mean 'color'?)",
        ),
        ("large", {"size": None}, "expected a valid integer"),
    ],
    ids=repr,
)
def test_arguments_are_read_by_name_or_as_the_first(given, arguments, message):
    problems = Problems("f.yaml")
    assert read_arguments([FIRST, SECOND], given, ("Box",), problems) == arguments
    assert [problem.message for problem in problems.found] == ([] if message is None else [message])


def test_a_reader_of_ones_own_is_asked_for_every_argument():
    problems = Problems("f.yaml")
    read = lambda parameter, value, steps, problems: (parameter.name, value, steps)
    found = read_arguments([FIRST], {"size": 3}, ("Box",), problems, read=read)
    assert found == {"size": ("size", 3, ("Box", "size"))}


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


def test_an_annotation_that_cannot_be_resolved_lets_everything_through():
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


@dataclass
class Chain(Evaluator):
    """Parameters of every shape that can hold evaluators."""

    parts: list[EvaluatorLike] = field(default_factory=list)
    pairs: tuple[tuple[str, Evaluator], ...] = ()
    last: Evaluator | None = None
    label: str = ""

    def evaluate(self, ctx):
        return True


def build(spec):
    problems = Problems("a")
    found = Catalog([Chain]).build(spec, ("e",), problems)
    return found, [str(problem) for problem in problems.found]


@pytest.mark.parametrize(
    ("annotation", "holds"),
    [
        (Evaluator, True),
        (Evaluator[Any, Any, Any], True),
        (BaseEvaluator, True),
        (LatencyBudgetEvaluator, True),
        (EvaluatorLike, True),
        (EvaluatorLike | None, True),
        (Sequence[tuple[EvaluatorLike[Any, Any, Any], float] | EvaluatorLike[Any, Any, Any]], True),
        (list[str], False),
        (str | None, False),
        (dict[str, Any], False),
        (Any, False),
        (None, False),
        ("Evaluator", False),
    ],
    ids=str,
)
def test_which_parameters_hold_evaluators_is_told_by_their_annotation(annotation, holds):
    assert holds_evaluators(annotation) is holds


@pytest.mark.parametrize(
    ("spec", "evaluator"),
    [
        ({"Chain": ["EqualsExpected", {"Contains": "x"}]}, Chain([EqualsExpected(), Contains("x")])),
        ({"Chain": []}, Chain()),
        ({"Chain": {"last": None, "label": "x"}}, Chain(label="x")),
        ({"Chain": {"last": {"MaxDuration": 2}}}, Chain(last=MaxDuration(2.0))),
        ({"Chain": {"pairs": [["a", "EqualsExpected"]]}}, Chain(pairs=(("a", EqualsExpected()),))),
        ({"Chain": [{"Chain": ["EqualsExpected"]}]}, Chain([Chain([EqualsExpected()])])),
        (
            {"CompositeEvaluator": [["EqualsExpected", 2], {"LatencyBudgetEvaluator": 3000}]},
            CompositeEvaluator([(EqualsExpected(), 2.0), LatencyBudgetEvaluator(3000)]),
        ),
        (
            {"StatisticalEvaluator": {"inner": {"LatencyBudgetEvaluator": 3000}}},
            StatisticalEvaluator(LatencyBudgetEvaluator(3000)),
        ),
    ],
)
def test_evaluators_in_an_evaluator_have_the_forms_they_have_alone(spec, evaluator):
    assert build(spec) == (evaluator, [])


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            {"Chain": ["EqualExpected"]},
            "a: e.Chain[0]: no evaluator is called 'EqualExpected' (did you mean 'EqualsExpected'?)",
        ),
        ({"Chain": ["MaxDuration"]}, "a: e.Chain[0]: the parameter 'seconds' is missing"),
        ({"Chain": [["EqualsExpected", 1]]}, "a: e.Chain[0]: expected an evaluator as Name"),
        ({"Chain": 5}, "a: e.Chain: expected a list, got 5"),
        ({"Chain": {"last": "ROCEvaluator"}}, "a: e.Chain.last: ROCEvaluator judges a whole report"),
        (
            {"Chain": {"pairs": [[1, "EqualsExpected"]]}},
            "a: e.Chain.pairs[0][0]: expected a valid string, got 1",
        ),
        (
            {"CompositeEvaluator": [["EqualsExpected", "much"]]},
            "a: e.CompositeEvaluator[0][1]: expected a valid number, got 'much'",
        ),
        (
            {"CompositeEvaluator": [["EqualsExpected", 1, 2]]},
            "a: e.CompositeEvaluator[0]: expected an evaluator",
        ),
        (
            {"CompositeEvaluator": []},
            "a: e.CompositeEvaluator: CompositeEvaluator needs at least one evaluator",
        ),
    ],
    ids=str,
)
def test_what_is_wrong_inside_is_told_with_its_place(spec, problem):
    found, problems = build(spec)
    assert found is None
    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_what_holds_evaluators_is_searched_at_any_depth():
    first, second = Contains("x"), EqualsExpected()
    assert list(nested_in([(first, 2.0), [second, [first]], None, "text"])) == [first, second, first]


def test_a_composite_comes_back_from_a_file_and_judges(tmp_path):
    path = tmp_path / "cases.yaml"
    path.write_text(
        "cases: [{inputs: 1, expected_output: 1}, {inputs: 2, expected_output: 3}]\n"
        "evaluators:\n"
        "  - CompositeEvaluator: [[EqualsExpected, 3], {MaxDuration: 60}]\n"
    )
    report = Dataset.from_file(path).evaluate_sync(abs, progress=False)
    assert [case.passed for case in report.cases] == [True, False]
    Dataset.from_file(path).to_file(tmp_path / "again.yaml")
    assert Dataset.from_file(tmp_path / "again.yaml").evaluators == Dataset.from_file(path).evaluators
