"""All that an evaluator may look at: one attempt, seen by the evaluators that judge it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeGuard

import msgspec
from typing_extensions import TypeVar

from calipers.data.result import EvaluationResult
from calipers.data.trace import ToolCall, Trace
from calipers.errors import SpanTreeRecordingError

if TYPE_CHECKING:
    from calipers.spans import SpanTree

InputsT = TypeVar("InputsT", default=Any)
OutputT = TypeVar("OutputT", default=Any)
MetadataT = TypeVar("MetadataT", default=Any)


NO_TOOL_CALLS = (
    "no tool call was recorded, and nothing shows that one would have been: mark the agent's tools with "
    "@calipers.agents.tool, or if it has none, say calipers.agents.FunctionAdapter(agent, records_calls=True)"
)
"""Why an evaluator of tool calls is skipped, and what to do about it."""


def not_recorded(tools: Sequence[str]) -> str:
    """Why a claim that names some tools is skipped where their calls would not be seen."""
    listed = ", ".join(map(repr, tools))
    return (
        f"calls of {listed} would not be seen: the agent's code reaches no tool of that name marked with "
        "@tool: mark it, or if the agent has no such tool, say calipers.agents.FunctionAdapter(agent, records_calls=True)"
    )


class AttemptFacts(Protocol):
    """What a context knows of its attempt beyond its own fields."""

    @property
    def case(self) -> Any:
        """The case."""

    @property
    def seed(self) -> int:
        """The attempt's own seed."""
        ...  # type checkers read it as "no body here"

    @property
    def repeat_index(self) -> int | None:
        """Which repeat, from 1; `None`: not known."""


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
    _earlier: Iterable[EvaluationResult] = ()
    _expected_calls: list[ToolCall] | None = None
    """The expected tool calls as this context alone has them; `None`: those of the case."""
    _asked: set[str] | None = None
    """What evaluators looked at beyond the attempt, where that is noted; copies share it."""

    @property
    def case(self) -> Any:
        """The case itself; `None` in a context built by hand."""
        self._note("case")
        return None if self._attempt is None else self._attempt.case

    @property
    def seed(self) -> int | None:
        """The seed of this attempt; `None` in a context built by hand."""
        self._note("seed")
        return None if self._attempt is None else self._attempt.seed

    @property
    def repeat_index(self) -> int | None:
        """Which repeat of its case this attempt is, from 1; `None` if that is not known, as in a context built by hand."""
        return None if self._attempt is None else self._attempt.repeat_index

    @property
    def has_expected_output(self) -> bool:
        """Whether the case states an expectation. A case may expect `None`; a context built by hand may not."""
        return (
            self.expected_output is not None
            if self._attempt is None
            else self._attempt.case.has_expected_output
        )

    @property
    def expected_tool_calls(self) -> list[ToolCall] | None:
        """The tools that the case expects to be called, none if it is empty; `None` if it says nothing about calls."""
        if self._expected_calls is not None:
            return self._expected_calls
        return None if self._attempt is None else self._attempt.case.expected_tool_calls

    @property
    def results(self) -> dict[str, EvaluationResult]:
        """The results that earlier evaluators gave for this attempt, by name."""
        self._note("results")
        return {result.name: result for result in self._earlier}

    def _note(self, what: str) -> None:
        if self._asked is not None:
            self._asked.add(what)

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
            # One error stands for a whole run. Raised itself, it would gather the traceback of every attempt.
            raise SpanTreeRecordingError(*tree.args)
        return tree

    @property
    def tool_calls(self) -> list[ToolCall] | None:
        """The tools the agent called; `None` if the attempt does not tell.

        They come from the trace, if it has any or is known to record them; from an output with `tool_calls`, or from an output that is a list of tool calls. An
        empty list as output says that no tool was called only where the case expects tool calls.
        """
        if self.trace is not None and self.trace.calls_known:
            return list(self.trace.tool_calls)
        output: Any = self.output
        named = (
            output.get("tool_calls") if isinstance(output, Mapping) else getattr(output, "tool_calls", None)
        )
        if are_tool_calls(named):
            return list(named)
        expected = self.expected_output
        if are_tool_calls(output) and (output or (are_tool_calls(expected) and expected)):
            return list(output)
        return None

    def unrecorded(
        self, tools: Iterable[str], *, name_of: Callable[[str], str] | None = None
    ) -> tuple[str, ...]:
        """Those of some tools whose calls would not be among `tool_calls`: nothing can be claimed about them."""
        # Calls that the output tells are all that were made.
        from_trace = self.trace is not None and self.trace.calls_known
        return self.trace.unrecorded(tools, name_of=name_of) if self.trace is not None and from_trace else ()

    def conversations(self, calls: Sequence[ToolCall]) -> list[Sequence[ToolCall]]:
        """These calls of the attempt by conversation: one list, or where a rollout branches, one for each of its paths.

        The calls of one branch come neither before nor after those of another, so each path is judged by itself.
        """
        if self.trace is None or not callable(getattr(graph := rollout_of(self.output), "call_paths", None)):
            return [calls]
        return graph.call_paths() or [calls]

    @property
    def input_text(self) -> str:
        """The inputs as text, in the words of trace evaluators."""
        return self.inputs if isinstance(self.inputs, str) else str(self.inputs)


def rollout_of(output: Any) -> Any:
    """The output as a rollout, as it was returned or as a report stored it; `None` if it is not one."""
    if isinstance(output, Mapping) and "calipers_rollout" in output:
        from calipers.rollouts.graph_data import read_graph

        return read_graph(output)
    return output if hasattr(output, "children") else None


def are_tool_calls(value: Any) -> TypeGuard[Sequence[ToolCall]]:
    """Whether this is a list of tool calls; an empty list is one, too."""
    return isinstance(value, list | tuple) and all(isinstance(call, ToolCall) for call in value)
