# pyright: reportUnnecessaryTypeIgnoreComment=true
"""Cases, datasets, contexts and evaluators know the types of inputs, outputs and metadata."""

from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

from calipers import Case, Dataset, Evaluator, EvaluatorContext, EvaluatorOutput
from calipers.testing import make_context


class Question(TypedDict):
    text: str


class Notes(TypedDict):
    difficulty: str


# A case takes its types from what it is given.

plain = Case(inputs="2 + 2", expected_output=4)
assert_type(plain, Case[str, int, Any])
assert_type(plain.inputs, str)
assert_type(plain.expected_output, int | None)

typed: Case[Question, str, Notes] = Case(
    name="capital",
    inputs={"text": "capital of France?"},
    expected_output="Paris",
    metadata={"difficulty": "easy"},
)
assert_type(typed.inputs, Question)
assert_type(typed.metadata, Notes | None)
assert_type(typed.name, str | None)
assert_type(typed.has_expected_output, bool)

expects_nothing: Case[str, int, None] = Case(inputs="no expectation")
Case[str, int](inputs=5)  # type: ignore[call-overload]
Case(name=5, inputs="x")  # type: ignore[call-overload]
Case("x")  # type: ignore[call-overload]


# A dataset takes them from its cases.

dataset = Dataset(cases=[plain])
assert_type(dataset, Dataset[str, int, Any])
lazy = Dataset(cases=(Case(inputs=n, expected_output=str(n)) for n in range(10)))
assert_type(lazy, Dataset[int, str, Any])
Dataset[str, int](cases=[typed])  # type: ignore[list-item]

dataset.add_case(plain)
dataset.add_case(name="sum", inputs="1 + 1", expected_output=2)
dataset.add_case(inputs=11)  # type: ignore[call-overload]
dataset.add_case(input="1 + 1")  # type: ignore[call-overload]


# An evaluator states which attempts it can judge, and its context has their types.


@dataclass
class CloseTo(Evaluator[Any, int, Any]):
    tolerance: int = 0

    def evaluate(self, ctx: EvaluatorContext[Any, int, Any]) -> bool:
        assert_type(ctx.output, int)
        assert_type(ctx.expected_output, int | None)
        assert_type(ctx.duration, float)
        assert_type(ctx.metrics, dict[str, int | float])
        return ctx.expected_output is not None and abs(ctx.output - ctx.expected_output) <= self.tolerance


@dataclass
class AsksForText(Evaluator[Question, str, Notes]):
    def evaluate(self, ctx: EvaluatorContext[Question, str, Notes]) -> EvaluatorOutput:
        assert_type(ctx.inputs, Question)
        assert_type(ctx.metadata, Notes | None)
        return ctx.output in ctx.inputs["text"]


@dataclass
class Anything(Evaluator):
    def evaluate(self, ctx: EvaluatorContext) -> bool:
        assert_type(ctx.output, Any)
        return bool(ctx.output)


class OfObjects(Evaluator[object, object, object]):
    def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> bool:
        return ctx.output is not None


Dataset(cases=[plain], evaluators=[CloseTo(tolerance=1), Anything(), OfObjects()])
Dataset(cases=[typed], evaluators=[AsksForText(), Anything(), OfObjects()])
dataset.add_evaluator(CloseTo())
dataset.add_evaluator(Anything(), specific_case="capital")

# An evaluator that can judge any object can judge a text, but not the other way round.
general: Evaluator[str, int, None] = OfObjects()
narrow: Evaluator[object, object, object] = CloseTo()  # type: ignore[assignment]

# An evaluator of other inputs than the dataset's is refused.
Dataset[str, int, None](cases=[], evaluators=[AsksForText()])  # type: ignore[list-item]
dataset.add_evaluator(AsksForText())  # type: ignore[arg-type]
Case[str, int, None](inputs="x", evaluators=[AsksForText()])  # type: ignore[list-item]


# A context for a test has the types of what it is made of.

assert_type(make_context("Paris", inputs=3), EvaluatorContext[int, str, Any])
assert_type(make_context(4, inputs="2 + 2", expected_output=4).expected_output, int | None)
CloseTo().evaluate(make_context(4))
CloseTo().evaluate(make_context("four"))  # type: ignore[arg-type]
