"""What a judge can be shown of an attempt: its exhibits.

*Retrieved context* has no place of its own in an attempt. It is looked for under the name `context`, first in what the task noted
(`set_eval_attribute("context", passages)`), then in an output with such a key or field, in the case's metadata, and in the inputs. A
text is one passage; a list holds several.

A *conversation* is that of a rollout, messages with `role` and `content` as output, or the messages and calls of the trace. An attempt
may lack what a judge is to be shown. Then the judge skips it: `Skipped` stands in the place of the exhibit.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from calipers.data.context import NO_TOOL_CALLS, EvaluatorContext, rollout_of
from calipers.data.result import Skipped
from calipers.data.trace import ToolCall, Trace, Turn, TurnType
from calipers.evaluators.equality import as_mapping

from .fence import Exhibit

Part: TypeAlias = Literal[
    "input", "output", "expected_output", "tool_calls", "conversation", "context", "metadata"
]
"""What can be shown."""

CONTEXT: Final = "context"
"""The name under which retrieved passages are looked for."""
_NO_CONTEXT: Final = (
    'the attempt tells no retrieved context: note it in the task with calipers.set_eval_attribute("context", passages), or give '
    'the output, the metadata or the inputs a "context"'
)
_NO_CONVERSATION: Final = "the attempt is no conversation: there are no turns, no messages and no trace"


def exhibits_of(ctx: EvaluatorContext, parts: Sequence[Part]) -> list[Exhibit] | Skipped:
    """The exhibits of an attempt, in the order given; or why there is one that it lacks."""
    found = []
    for part in parts:
        value = _SOURCES[part](ctx)
        if isinstance(value, Skipped):
            return value
        found.append(Exhibit(part.replace("_", " "), value))
    return found


def _output(ctx: EvaluatorContext) -> Any:
    """The output; of a conversation, the last answer."""
    paths = _paths(ctx.output)
    return getattr(paths[-1][-1], "response", None) if paths else ctx.output


def _expected(ctx: EvaluatorContext) -> Any:
    return ctx.expected_output if ctx.has_expected_output else Skipped("the case states no expected output")


def _tool_calls(ctx: EvaluatorContext) -> Any:
    calls = ctx.tool_calls
    if calls is None:
        return Skipped(NO_TOOL_CALLS)
    return {f"call_{number}": _call(call) for number, call in enumerate(calls, 1)}


def _call(call: ToolCall) -> dict[str, Any]:
    told: dict[str, Any] = {"tool": call.name, "arguments": call.arguments}
    if call.output is not None:
        told["output"] = call.output
    if not call.success:
        told["error"] = call.error or "failed"
    return told


def _metadata(ctx: EvaluatorContext) -> Any:
    return Skipped("the case has no metadata") if ctx.metadata is None else ctx.metadata


def _context(ctx: EvaluatorContext) -> Any:
    for place in (ctx.attributes, ctx.output, ctx.metadata, ctx.inputs):
        passages = (as_mapping(place) or {}).get(CONTEXT)
        if passages is not None:
            return passages or Skipped("the retrieved context is empty")
    return Skipped(_NO_CONTEXT)


def passages_of(value: Any) -> list[Any]:
    """Retrieved context as a list of passages."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _conversation(ctx: EvaluatorContext) -> Any:
    if paths := _paths(ctx.output):
        told = [[turn for node in path for turn in _node(node)] for path in paths]
        return (
            told[0] if len(told) == 1 else {f"branch {number}": each for number, each in enumerate(told, 1)}
        )
    if _are_messages(ctx.output):
        return ctx.output
    if ctx.trace is not None and ctx.trace.turns:
        return _trace(ctx.trace)
    return Skipped(_NO_CONVERSATION)


def _paths(output: Any) -> list[Sequence[Any]]:
    """The conversations of a rollout; none if the output is something else."""
    graph: Any = rollout_of(output)
    return [path for path in graph.paths() if path] if hasattr(graph, "paths") else []


def _node(node: Any) -> list[dict[str, Any]]:
    """One turn of a rollout: the question, the calls, the answer."""
    calls = node.trace.tool_calls if isinstance(getattr(node, "trace", None), Trace) else ()
    return [{"user": node.attack}, *(_call(call) for call in calls), {"agent": node.response}]


def _trace(trace: Trace) -> list[dict[str, Any]]:
    told = [_turn(turn) for turn in trace.turns]
    kinds = {turn.turn_type for turn in trace.turns}
    if TurnType.USER_MESSAGE not in kinds and trace.input_text:
        told.insert(0, {"user": trace.input_text})
    if TurnType.AGENT_MESSAGE not in kinds and trace.output_text:
        told.append({"agent": trace.output_text})
    return told


def _turn(turn: Turn) -> dict[str, Any]:
    if turn.tool_call is not None:
        return _call(turn.tool_call)
    if turn.llm_call is not None:
        return {"model": turn.llm_call.output_text}
    return {"user" if turn.turn_type is TurnType.USER_MESSAGE else "agent": turn.content}


def _are_messages(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(each, Mapping) and "role" in each and "content" in each for each in value)
    )


_SOURCES: Final = {
    "input": lambda ctx: ctx.inputs,
    "output": _output,
    "expected_output": _expected,
    "tool_calls": _tool_calls,
    "conversation": _conversation,
    "context": _context,
    "metadata": _metadata,
}
"""Where each part is found."""
