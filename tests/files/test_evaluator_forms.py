import functools
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from calipers import ToolCall, Trace, as_evaluator
from calipers.agents import CompositeEvaluator, LatencyBudgetEvaluator, RuleSpec, StatisticalEvaluator
from calipers.evaluators import (
    ConfusionMatrixEvaluator,
    Contains,
    ContainsAll,
    Equals,
    EqualsExpected,
    Evaluator,
    EvaluatorSpec,
    HasMatchingSpan,
    IsInstance,
    Length,
    MatchesJSONSchema,
    MaxDuration,
    ROCEvaluator,
    RunsPython,
)
from calipers.files.catalog import Catalog, built_in_types, kind_of, kinds_of, write_evaluator
from calipers.files.problem import Problems
from calipers.judges import Correct, Criterion, LLMJudge, Question
from calipers.plugins.evaluator_factory import name_of
from calipers.report.report_evaluator import ReportEvaluator


@dataclass
class Weighted(Evaluator):
    weights: dict[str, float] = field(default_factory=dict)
    limit: timedelta = timedelta(seconds=1)
    anything: Any = None

    def evaluate(self, ctx):
        return True


class Stored(Evaluator):
    def __init__(self, level):
        self.level = level

    def evaluate(self, ctx):
        return True


class Telling(Stored):
    def as_spec(self):
        return EvaluatorSpec("Telling", {"level": self.level})


class Pair:
    def evaluate(self, expected, actual):
        return True


def close(output, expected_output, tolerance: float = 0.1):
    return True


def claim(report):
    return []


def write(evaluator, **options):
    problems = Problems("a")
    found = write_evaluator(evaluator, ("e",), problems, **options)
    return found, [str(problem) for problem in problems.found]


@pytest.mark.parametrize(
    ("evaluator", "spec"),
    [
        (EqualsExpected(), "EqualsExpected"),
        (EqualsExpected(evaluation_name="right"), {"EqualsExpected": {"evaluation_name": "right"}}),
        (Contains("x"), {"Contains": "x"}),
        (Contains({"a": 1}), {"Contains": {"value": {"a": 1}}}),
        (Contains("x", case_sensitive=False), {"Contains": {"value": "x", "case_sensitive": False}}),
        (Equals(None), {"Equals": {"value": None}}),
        (Equals([1, 2]), {"Equals": [1, 2]}),
        (ContainsAll(("a", "b")), {"ContainsAll": ["a", "b"]}),
        (MaxDuration(2), {"MaxDuration": 2}),
        (MaxDuration(timedelta(seconds=90)), {"MaxDuration": "PT1M30S"}),
        (Length(1, 5), {"Length": {"minimum": 1, "maximum": 5}}),
        (Length(maximum=5), {"Length": {"maximum": 5}}),
        (RunsPython(), "RunsPython"),
        (IsInstance("int"), {"IsInstance": "int"}),
        (HasMatchingSpan({"name_equals": "x"}), {"HasMatchingSpan": {"query": {"name_equals": "x"}}}),
        (MatchesJSONSchema({"type": "object"}), {"MatchesJSONSchema": {"schema": {"type": "object"}}}),
        (Weighted(), "Weighted"),
        (Weighted({"a": 1.5}, limit=timedelta(0)), {"Weighted": {"weights": {"a": 1.5}, "limit": "PT0S"}}),
        (Telling(3), {"Telling": 3}),
        (Pair(), "Pair"),
        (as_evaluator(Pair()), "Pair"),
        (close, "close"),
        (functools.partial(close, tolerance=0.5), {"close": 0.5}),
        (functools.partial(functools.partial(close), tolerance=0.5), {"close": 0.5}),
        (as_evaluator(close), "close"),
    ],
)
def test_the_shortest_form_that_builds_it_again_is_written(evaluator, spec):
    assert write(evaluator) == (spec, [])
    problems = Problems("a")
    again = Catalog([kind_of(evaluator)]).build(spec, (), problems)
    assert problems.found == []
    assert write(again)[0] == spec


@pytest.mark.parametrize(
    ("evaluator", "spec"),
    [
        (ConfusionMatrixEvaluator(), "ConfusionMatrixEvaluator"),
        (ROCEvaluator("s"), {"ROCEvaluator": "s"}),
        (claim, "claim"),
    ],
)
def test_report_evaluators_are_written_the_same_way(evaluator, spec):
    assert write(evaluator, of_report=True) == (spec, [])


@pytest.mark.parametrize(
    ("evaluator", "problem"),
    [
        (lambda output: True, "has no name that a file could hold: make it a named function or class"),
        (Stored(3), "make Stored a dataclass, so that its arguments are known"),
        (Stored(3).evaluate, "it is a method of an object"),
        (as_evaluator(close, name="near"), "its name 'near' was given to as_evaluator"),
        (Weighted(anything=(1, 2)), "a tuple would come back as a list"),
        (Weighted(anything=object), "is not plain data"),
        (Equals(float("nan")), "JSON has no such number"),
    ],
)
def test_what_a_file_cannot_hold_is_refused_by_name(evaluator, problem):
    _, problems = write(evaluator)
    assert len(problems) == 1
    assert problem in problems[0]


def test_yaml_holds_what_json_does_not():
    assert write(Equals(float("inf")), as_yaml=True) == ({"Equals": float("inf")}, [])


def test_an_evaluator_that_would_not_be_built_again_is_refused():
    @dataclass
    class Fickle(Evaluator):
        level: int = 0

        def __post_init__(self):
            self.level += 1

        def evaluate(self, ctx):
            return True

    _, problems = write(Fickle(3))
    assert "would come back as" in problems[0]


def test_an_argument_of_the_wrong_type_is_noticed_when_it_is_written():
    _, problems = write(Weighted(limit="soon"))
    assert "could not be read back" in problems[0]


SAMPLES = {
    "DecisionTree": (
        {
            "kind": Question(ask="Is it kind?", if_yes="right", if_no=False),
            "right": Question(ask="Is it right?", if_yes=True, if_no=False),
        },
    ),
    "GEval": ("kindness", ["Look for kind words."]),
    "Jury": ([Correct(), LLMJudge("is right", model="openai:gpt-4o")],),
    "KeepsTone": ("is warm",),
    "LLMJudge": ("is polite",),
    "Rubric": ({"kind": Criterion(levels={1: "rude", 2: "kind"}, weight=2.0)},),
    "TraceJudge": ("books once",),
    "CalibrationEvaluator": ("score",),
    "CompositeEvaluator": ([(EqualsExpected(), 2.0), Contains("x"), (MaxDuration(1), 0.5)],),
    "Contains": ("x",),
    "ContainsAll": (["x"],),
    "ContainsAny": (["x"],),
    "CostBudgetEvaluator": (0.5,),
    "Equals": (1,),
    "FollowsBaseline": ("baseline.yaml",),
    "FollowsTrajectory": (["search"],),
    "HasMatchingSpan": ({},),
    "InLanguage": ("en",),
    "IsInstance": ("int",),
    "JsonSchemaEvaluator": ({"type": "object"},),
    "JudgeCorrectionEvaluator": ("score", "labels.csv"),
    "KolmogorovSmirnovEvaluator": ("score",),
    "MatchesJSONSchema": ({"type": "object"},),
    "MatchesRegex": ("x+",),
    "MaxDuration": (1,),
    "InRange": (1, 2),
    "NotContains": ("x",),
    "PrecisionRecallEvaluator": ("score",),
    "ROCEvaluator": ("score",),
    "RegexPatternMatcher": ([{"pattern": "x+", "weight": 2.0}],),
    "RuleBasedEvaluator": ([RuleSpec("max_length", {"max": 5}, 2.0)],),
    "SpanCount": ({},),
    "StatisticalEvaluator": (LatencyBudgetEvaluator(3000),),
    "ToolCallsMatch": (["search", {"name": "pay", "matchers": {"amount": {"approx": 5}}}],),
    "ToolUsageAuditor": (["search"],),
    "TraceComparisonEvaluator": (Trace(output_text="x", tool_calls=[ToolCall("search", {"q": [1, None]})]),),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "Cascade": {"cheap": [Contains("x")], "judge": Correct()},
    "Length": {"minimum": 2},
    "SpanCount": {"minimum": 1},
    "ToolCallCount": {"minimum": 1},
}


@pytest.mark.parametrize("kind", built_in_types(), ids=name_of)
def test_every_built_in_evaluator_can_be_written(kind):
    name = kind.__name__
    evaluator = kind(*SAMPLES.get(name, ()), **OPTIONS.get(name, {}))
    of_report = isinstance(evaluator, ReportEvaluator)
    spec, problems = write(evaluator, of_report=of_report)
    assert problems == []
    assert Catalog().build(spec, (), Problems("a"), of_report=of_report) == evaluator


def test_evaluators_in_an_evaluator_are_written_as_they_would_be_alone():
    inner = CompositeEvaluator([Weighted(limit=timedelta(seconds=2)), (close, 3.0)], pass_threshold=1.0)
    evaluator = CompositeEvaluator([(StatisticalEvaluator(inner, name="often"), 2.0), Contains("x")])
    spec, problems = write(evaluator)
    assert problems == []
    assert spec == {
        "CompositeEvaluator": [
            [
                {
                    "StatisticalEvaluator": {
                        "inner": {
                            "CompositeEvaluator": {
                                "evaluators": [{"Weighted": {"limit": "PT2S"}}, ["close", 3.0]],
                                "pass_threshold": 1.0,
                            }
                        },
                        "name": "often",
                    }
                },
                2.0,
            ],
            {"Contains": "x"},
        ]
    }
    assert kinds_of(evaluator) == [
        CompositeEvaluator,
        StatisticalEvaluator,
        CompositeEvaluator,
        Weighted,
        close,
        Contains,
    ]


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        (lambda output: True, "has no name that a file could hold"),
        (Stored(3), "make Stored a dataclass"),
        (type("Contains", (Equals,), {})(3), "two of evaluator_types are called 'Contains'"),
    ],
    ids=["lambda", "stored", "same name"],
)
def test_an_evaluator_that_holds_one_which_no_file_can_is_refused(part, problem):
    _, problems = write(CompositeEvaluator([Contains("x"), part]))
    assert len(problems) == 1
    assert problem in problems[0]
