"""The evaluator as a class: names, specs, versions, sync and async."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

from calipers import Case, Dataset, Evaluator, EvaluatorContext
from calipers.data.result import EvaluatorSpec
from calipers.evaluators import EqualsExpected

T = TypeVar("T")
CTX = EvaluatorContext(
    name="c", inputs=1, metadata=None, expected_output=2, output=2, duration=0.0, _span_tree=None, attributes={}, metrics={}
)  # fmt: skip


@dataclass
class Same(Evaluator):
    def evaluate(self, ctx: EvaluatorContext) -> bool:
        return ctx.output == ctx.expected_output


@dataclass
class SameLater(Evaluator):
    async def evaluate(self, ctx: EvaluatorContext) -> bool:
        await asyncio.sleep(0)
        return ctx.output == ctx.expected_output


@dataclass
class Named(Evaluator):
    evaluation_name: str | None = None

    def evaluate(self, ctx: EvaluatorContext) -> bool:
        return True


@dataclass
class NamesItself(Named):
    check_type: str = "format"

    def get_default_evaluation_name(self) -> str:
        return f"{self.check_type}_check"


@dataclass
class Typed(Evaluator[str, str, dict[str, Any]], Generic[T]):
    def evaluate(self, ctx: EvaluatorContext[str, str, dict[str, Any]]) -> bool:
        return True


class NotADataclass(Evaluator):
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def evaluate(self, ctx: EvaluatorContext) -> bool:
        return True


@dataclass
class Parameters(Evaluator):
    first: Any
    limit: float = 1.0
    words: list[str] = field(default_factory=list)
    array: Any = None
    cache: dict[str, Any] = field(default_factory=dict, init=False)

    def evaluate(self, ctx: EvaluatorContext) -> bool:
        return True


def names(*evaluators, **case):
    """The result names of a run with one case, each with the evaluator that made it."""
    dataset = Dataset(cases=[Case(inputs=1, **case)], evaluators=list(evaluators))
    [record] = dataset.evaluate_sync(lambda inputs: inputs, progress=False).cases
    for group in (record.assertions, record.scores, record.labels):
        assert all(result.name == key for key, result in group.items())
    return [(result.name, result.evaluator) for result in record.results]


def test_an_evaluator_without_evaluate_cannot_be_made():
    class Empty(Evaluator):
        pass

    with pytest.raises(TypeError, match="evaluate"):
        Empty()


@pytest.mark.parametrize("evaluator", [Same(), SameLater()])
def test_sync_and_async_evaluators_can_be_called_either_way(evaluator):
    assert evaluator.evaluate_sync(CTX) is True
    assert asyncio.run(evaluator.evaluate_async(CTX)) is True


def test_any_awaitable_is_awaited_not_only_coroutines():
    class Later(Awaitable):
        def __await__(self):
            yield from asyncio.sleep(0).__await__()
            return True

    class Returns(Evaluator):
        def evaluate(self, ctx):
            return Later()

    assert Returns().evaluate_sync(CTX) is True
    assert asyncio.run(Returns().evaluate_async(CTX)) is True
    assert names(Returns()) == [("Returns", "Returns")]


# ---------------------------------------------------------------------- names: rule 3


@pytest.mark.parametrize(
    ("evaluator", "name"),
    [
        (Same(), "Same"),
        (Named(), "Named"),
        (Named(evaluation_name=""), "Named"),
        (Named(evaluation_name="mine"), "mine"),
        (NamesItself(), "format_check"),
        (NamesItself(evaluation_name="mine", check_type="type"), "type_check"),
        (Typed[int](), "Typed"),
        (NotADataclass(3), "NotADataclass"),
    ],
)
def test_a_result_is_called_what_the_evaluator_says_else_after_its_class(evaluator, name):
    assert evaluator.get_default_evaluation_name() == name
    assert names(evaluator) == [(name, name)]


def test_repeated_names_are_numbered_in_the_order_of_the_list():
    assert names(Same(), Named(), Same(), Same()) == [
        ("Same", "Same"),
        ("Named", "Named"),
        ("Same_2", "Same_2"),
        ("Same_3", "Same_3"),
    ]


def test_a_number_that_is_taken_by_a_name_is_passed_over():
    assert [name for name, _ in names(Same(), Named("Same_2"), Same())] == ["Same", "Same_2", "Same_3"]


def test_a_case_adds_evaluators_without_moving_the_columns_of_the_dataset():
    assert names(Same(), Named("x"), evaluators=[Same(), Same(), Named("x")]) == [
        ("Same_2", "Same_2"),
        ("Same_3", "Same_3"),
        ("x_2", "x_2"),
        ("Same", "Same"),
        ("x", "x"),
    ]


def test_keys_of_mappings_and_names_of_evaluators_share_one_namespace():
    def many(output):
        return {"Same": True, "twice": 1, "many": "label"}

    def more(output):
        return {"twice": 2, "many": 3}

    assert names(many, more, Same()) == [
        ("many.Same", "many"),
        ("many.twice", "many"),
        ("many", "many"),
        ("more.twice", "more"),
        ("more.many", "more"),
        ("Same", "Same"),
    ]


def test_keys_that_meet_after_flattening_are_numbered():
    def nested(output):
        return {"a.b": 1, "a": {"b": 2}}

    assert [name for name, _ in names(nested)] == ["a.b", "a.b_2"]


# ---------------------------------------------------------------------- specs


@pytest.mark.parametrize(
    ("evaluator", "spec"),
    [
        (Same(), EvaluatorSpec("Same")),
        (Named(evaluation_name="mine"), EvaluatorSpec("Named", {"evaluation_name": "mine"})),
        (Parameters(1), EvaluatorSpec("Parameters", {"first": 1})),
        (Parameters(None), EvaluatorSpec("Parameters", {"first": None})),
        (Parameters(1, limit=1.0, words=[]), EvaluatorSpec("Parameters", {"first": 1})),
        (Parameters(1, limit=1), EvaluatorSpec("Parameters", {"first": 1, "limit": 1})),
        (Parameters(1, limit=True), EvaluatorSpec("Parameters", {"first": 1, "limit": True})),
        (Parameters(1, words=["a"]), EvaluatorSpec("Parameters", {"first": 1, "words": ["a"]})),
        (NotADataclass(3), EvaluatorSpec("NotADataclass")),
    ],
)
def test_a_spec_holds_the_arguments_that_differ_from_their_defaults(evaluator, spec):
    found = evaluator.as_spec()
    assert found == spec
    assert {name: type(value) for name, value in found.arguments.items()} == {
        name: type(value) for name, value in spec.arguments.items()
    }


def test_what_is_not_given_to_the_constructor_is_no_argument():
    evaluator = Parameters(1)
    evaluator.cache["seen"] = True
    assert evaluator.as_spec() == EvaluatorSpec("Parameters", {"first": 1})


def test_arguments_without_a_plain_truth_value_are_kept():
    @dataclass
    class Weighted(Parameters):
        weights: Any = field(default_factory=lambda: np.array([1, 2]))

    assert list(Weighted(1).as_spec().arguments["weights"]) == [1, 2]


def test_a_result_tells_which_evaluator_made_it_and_in_which_version():
    @dataclass
    class Versioned(Parameters):
        def get_evaluator_version(self) -> str:
            return "2"

    [record] = (
        Dataset(cases=[Case(inputs=1)], evaluators=[Versioned(3)]).evaluate_sync(abs, progress=False).cases
    )
    [result] = record.results
    assert result.source == EvaluatorSpec("Versioned", {"first": 3})
    assert result.evaluator_version == "2"


def test_a_crash_counts_only_for_evaluators_that_would_have_judged_the_case():
    class NeedsCalls(Evaluator):
        def needs_expectations(self):
            return frozenset({"expected_tool_calls"})

        def evaluate(self, ctx):
            raise AssertionError("the task crashes first")

    def either(expected, actual):
        return True

    def optional(output, expected_output=None):
        return True

    def crashes(inputs):
        raise ValueError("no")

    cases = [
        Case(name="neither", inputs=0),
        Case(name="output", inputs=1, expected_output="x"),
        Case(name="calls", inputs=2, expected_tool_calls=["search"]),
    ]
    evaluators = [EqualsExpected(), NeedsCalls(), either, optional]
    report = Dataset(cases=cases, evaluators=evaluators).evaluate_sync(crashes, progress=False)
    assert {failure.name: failure.not_run for failure in report.failures} == {
        "neither": ("optional",),
        "output": ("EqualsExpected", "either", "optional"),
        "calls": ("NeedsCalls", "either", "optional"),
    }
