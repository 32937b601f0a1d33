"""The evaluator: an object that judges one attempt.

Subclass `Evaluator`, give it fields with `@dataclass`, and write `evaluate(ctx)`, sync or async. Other styles become
evaluators by `calipers.as_evaluator`.
"""

import dataclasses
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeAlias

from typing_extensions import TypeVar

from calipers.data.context import EvaluatorContext
from calipers.data.context import InputsT as InputsOf
from calipers.data.context import MetadataT as MetadataOf
from calipers.data.context import OutputT as OutputOf
from calipers.data.evaluator_output import EvaluatorOutput
from calipers.data.result import EvaluatorSpec
from calipers.errors import InvalidOptionError

InputsT = TypeVar("InputsT", default=Any, contravariant=True)
OutputT = TypeVar("OutputT", default=Any, contravariant=True)
MetadataT = TypeVar("MetadataT", default=Any, contravariant=True)


Expectation: TypeAlias = Literal["expected_output", "expected_tool_calls"]
"""What a case may expect."""


class Evaluator(ABC, Generic[InputsT, OutputT, MetadataT]):
    """Judges one attempt. A subclass implements `evaluate` and is usually a dataclass, its fields the parameters."""

    needs_spans: ClassVar[bool] = False
    """Whether `evaluate` reads `ctx.span_tree`; asking turns span recording on for the run."""
    is_judge: ClassVar[bool] = False
    """Whether it asks a model or a person, so that a passport says how far to believe it (`calipers judge check`)."""

    def needs_expectations(self) -> frozenset[Expectation]:
        """The expectations of which a case has to state at least one, since it skips all other cases; empty: it needs none.

        A task that crashes counts as not passed for each evaluator that would have judged it. One that needs an expectation
        would not have judged a case without.
        """
        return frozenset()

    async def before_run(self) -> None:
        """See to what the evaluator needs, such as a model that answers. A run awaits this once, before its first attempt.

        What it raises ends the run before the task is called.
        """

    @abstractmethod
    def evaluate(
        self, ctx: EvaluatorContext[InputsT, OutputT, MetadataT]
    ) -> EvaluatorOutput | Awaitable[EvaluatorOutput]:
        """Judge the attempt; see `EvaluatorOutput` for what may be returned."""

    async def evaluate_async(self, ctx: EvaluatorContext[InputsT, OutputT, MetadataT]) -> EvaluatorOutput:
        """The output of `evaluate`, awaited if it has to be."""
        output = self.evaluate(ctx)
        return await output if inspect.isawaitable(output) else output

    def evaluate_sync(self, ctx: EvaluatorContext[InputsT, OutputT, MetadataT]) -> EvaluatorOutput:
        """The output of `evaluate`, from code that is not async."""
        output = self.evaluate(ctx)
        if not inspect.isawaitable(output):
            return output
        from calipers.process.loop import (
            run_sync,  # asyncio costs a third of importing this module, and most evaluators never get here
        )

        return run_sync(lambda: _finish(output))

    def get_default_evaluation_name(self) -> str:
        """What a single result is called: the `evaluation_name` field if it holds a name, else the class's name."""
        given = getattr(self, "evaluation_name", None)
        return given if isinstance(given, str) and given else type(self).__name__

    @classmethod
    def get_serialization_name(cls) -> str:
        """What files call this type of evaluator."""
        return cls.__name__

    def get_evaluator_version(self) -> str | None:
        """A version that the author raises when the meaning of the results changes."""
        return None

    def as_spec(self) -> EvaluatorSpec:
        """The type's name, the arguments that differ from their defaults, and the range of its scores."""
        return EvaluatorSpec(self.get_serialization_name(), changed_fields(self), declared_range(self))


def declared_range(evaluator: Any) -> tuple[float, float] | None:
    """The smallest and the largest score that an evaluator can give, as its attribute `score_range` says; `None` without one.

    Raises:
        InvalidOptionError: it is no pair of finite numbers, the smaller one first.
    """
    found = getattr(evaluator, "score_range", None)
    if found is None:
        return None
    try:
        low, high = (float(end) for end in found)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (low < high and math.isfinite(high - low)):
        raise InvalidOptionError(
            f"score_range of {type(evaluator).__name__} is the smallest and the largest score, such as (0, 10), got {found!r}"
        )
    return low, high


async def _finish(output: Awaitable[EvaluatorOutput]) -> EvaluatorOutput:
    return await output


async def make_ready(evaluator: Any) -> None:
    """Await `before_run` of an evaluator that has it, which may be a plain method as well."""
    hook = getattr(evaluator, "before_run", None)
    made = hook() if callable(hook) else None
    if inspect.isawaitable(made):
        await made


def changed_fields(evaluator: Any) -> dict[str, Any]:
    """The fields of a dataclass instance whose value is not the default."""
    if not dataclasses.is_dataclass(evaluator):
        return {}
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(evaluator):
        if not field.init:
            continue  # not an argument
        value = getattr(evaluator, field.name, None)
        default = field.default_factory() if callable(field.default_factory) else field.default
        try:
            same = value is default or bool(type(value) is type(default) and value == default)
        except Exception:  # arrays and the like have no single truth value
            same = False
        if not same:
            changed[field.name] = value
    return changed


class JudgesContext(Protocol[InputsOf, OutputOf, MetadataOf]):
    """Any object with `evaluate(ctx)`."""

    def evaluate(self, ctx: EvaluatorContext[InputsOf, OutputOf, MetadataOf], /) -> Any:
        """Judge the attempt."""


class JudgesPair(Protocol):
    """Any object with `evaluate(expected, actual)`."""

    def evaluate(self, expected: Any, actual: Any) -> Any:
        """Judge what happened against what was expected."""


class JudgesTrace(Protocol):
    """Any object with `evaluate(test_case, trace)`."""

    def evaluate(self, test_case: Any, trace: Any) -> Any:
        """Judge the trace of a case."""


class JudgesRollout(Protocol):
    """Any object with `compute_metrics(graph)` and `aggregate_metrics(all_metrics)`."""

    def compute_metrics(self, g: Any, /) -> Any:
        """Metrics of one rollout."""

    def aggregate_metrics(self, all_metrics: list[Any], /) -> Any:
        """Metrics of all rollouts."""


EvaluatorLike: TypeAlias = (
    Evaluator[InputsT, OutputT, MetadataT]
    | JudgesContext[InputsT, OutputT, MetadataT]
    | JudgesPair
    | JudgesTrace
    | JudgesRollout
    | Callable[..., Any]
)
"""Whatever `as_evaluator` accepts: the five styles."""
