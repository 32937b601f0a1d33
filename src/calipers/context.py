"""All that an evaluator may look at: one attempt, seen by the evaluators that judge it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol

import msgspec
from typing_extensions import TypeVar

from .errors import SpanTreeRecordingError
from .result import EvaluationResult
from .trace import ToolCall, Trace

if TYPE_CHECKING:
    from .spans import SpanTree

InputsT = TypeVar("InputsT", default=Any)
OutputT = TypeVar("OutputT", default=Any)
MetadataT = TypeVar("MetadataT", default=Any)


class AttemptFacts(Protocol):
    """What a context knows of its attempt beyond its own fields."""

    @property
    def case(self) -> Any:
        """The case."""

    @property
    def seed(self) -> int:
        """The attempt's own seed."""


class EvaluatorContext(msgspec.Struct, Generic[InputsT, OutputT, MetadataT], kw_only=True):
    """One attempt as its evaluators see it.

    The first nine fields describe the attempt and are required, so that a context built by hand in a test says all
    an evaluator might read. It is mutable: a test may change `output` and evaluate again.
    """

    name: str | None
    """The case's name."""
    inputs: InputsT
    """What the task was given."""
    metadata: MetadataT | None
    """The case's metadata."""
    expected_output: OutputT | None
    """What the case expects; see `has_expected_output` for an expectation of `None`."""
    output: OutputT
    """What the task returned."""
    duration: float
    """How long the task took, in seconds."""
    _span_tree: "SpanTree | SpanTreeRecordingError | None"
    attributes: dict[str, Any]
    """What the task noted with `set_eval_attribute`."""
    metrics: dict[str, int | float]
    """What the task counted with `increment_eval_metric`."""
    trace: Trace | None = None
    """What the agent did, where the task returned or recorded a trace."""
    _attempt: AttemptFacts | None = None
    _earlier: Sequence[EvaluationResult] = ()

    @property
    def case(self) -> Any:
        """The case itself; `None` in a context built by hand."""
        return None if self._attempt is None else self._attempt.case

    @property
    def seed(self) -> int | None:
        """The seed of this attempt; `None` in a context built by hand."""
        return None if self._attempt is None else self._attempt.seed

    @property
    def has_expected_output(self) -> bool:
        """Whether the case states an expectation. A case may expect `None`; a context built by hand may not."""
        return (
            self.expected_output is not None
            if self._attempt is None
            else self._attempt.case.has_expected_output
        )

    @property
    def results(self) -> dict[str, EvaluationResult]:
        """The results that earlier evaluators gave for this attempt, by name."""
        return {result.name: result for result in self._earlier}

    @property
    def span_tree(self) -> "SpanTree":
        """The spans of the attempt.

        Raises:
            SpanTreeRecordingError: none were recorded; the message says how to turn recording on.
        """
        tree = self._span_tree
        if tree is None:
            raise SpanTreeRecordingError(
                "this context was built without spans (_span_tree=None): pass a SpanTree"
            )
        if isinstance(tree, SpanTreeRecordingError):
            raise tree
        return tree

    @property
    def tool_calls(self) -> list[ToolCall] | None:
        """The tools the agent called, from the trace or from an output that lists them; `None` if neither is there."""
        if self.trace is not None:
            return list(self.trace.tool_calls)
        if isinstance(self.output, Mapping):
            found = self.output.get("tool_calls")
        else:
            found = getattr(self.output, "tool_calls", None)
        if isinstance(found, list | tuple) and all(isinstance(call, ToolCall) for call in found):
            return list(found)
        return None

    @property
    def input_text(self) -> str:
        """The inputs as text, in the words of trace evaluators."""
        return self.inputs if isinstance(self.inputs, str) else str(self.inputs)
