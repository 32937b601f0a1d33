"""Evaluators in the parameters of evaluators."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from calipers import Dataset
from calipers.agents import BaseEvaluator, CompositeEvaluator, LatencyBudgetEvaluator, StatisticalEvaluator
from calipers.data.evaluator import EvaluatorLike
from calipers.evaluators import Contains, EqualsExpected, Evaluator, MaxDuration
from calipers.files.catalog import Catalog
from calipers.files.parameters import holds_evaluators, nested_in
from calipers.files.problem import Problems


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
