"""The turns of a rollout as one trace: what the attempt of a run keeps, and what its evaluators judge.

- **Every turn counts**, in the order of `Graph.walk`, also one that was taken back, or that the target did not finish: what was
  said, and between question and answer what the target did.
- **A tree** is one trace: each turn once, a branch after the other. The built-in evaluators of tool calls judge each
  conversation of a tree by itself.
- **Totals** are those of all turns. A turn that did not measure its tokens leaves the total unknown; the time of a turn is that
  of its trace, else `Node.duration`.
- **A turn records** the trace that the target gives, and the calls recorded meanwhile, such as those of functions marked with
  `@tool`; not what tester, moderator and judges do.
- **Unknown is not none.** If the target gives no trace, has no tools marked with `@tool`, and no call was recorded in the whole
  rollout, the attempt has no trace, and evaluators of tool calls are skipped.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from calipers.data.attempt import inside_part, running_attempt
from calipers.data.trace import ToolCall, Trace, Turn, TurnType, joined

from .graph import Graph, Node
from .rollout_outcome import as_text


def conversation_trace(graph: Graph[Any, Any], agent_name: str = "") -> Trace:
    """All turns of a rollout as one trace."""
    turns = list(graph.walk())
    parts = [*map(_turn_trace, turns), *graph.unfinished]
    whole = joined(parts) if parts else Trace()
    return Trace(
        agent_name=agent_name or whole.agent_name,
        model=whole.model,
        input_text=as_text(graph.metadata.get("goal", "")),
        output_text=as_text(turns[-1].response) if turns else "",
        turns=whole.turns,
        total_input_tokens=whole.total_input_tokens,
        total_output_tokens=whole.total_output_tokens,
        total_latency_ms=whole.total_latency_ms,
        tags=whole.tags,
        metadata=whole.metadata,
        records_calls=whole.records_calls,
        recorded_tools=whole.recorded_tools,
    )


def tells_calls(graph: Graph[Any, Any]) -> bool:
    """Whether there are turns, and every one says what the target did in it."""
    told = [isinstance(getattr(node, "trace", None), Trace) for node in graph.walk()]
    return bool(told or graph.unfinished) and all(told)


def _turn_trace(node: Node[Any, Any]) -> Trace:
    """One turn: the question, what the target did, the answer."""
    done = node.trace or Trace()
    known = {turn.turn_type for turn in done.turns}
    turns = list(done.turns)
    if TurnType.USER_MESSAGE not in known:
        turns.insert(0, Turn(turn_type=TurnType.USER_MESSAGE, content=as_text(node.attack)))
    if TurnType.AGENT_MESSAGE not in known:
        turns.append(Turn(turn_type=TurnType.AGENT_MESSAGE, content=as_text(node.response)))
    changes: dict[str, Any] = {"turns": turns}
    if not done.latency_measured and node.duration is not None:
        changes["total_latency_ms"] = node.duration * 1000
    return done.replace(**changes)


def with_recorded(given: Trace | None, recorded: Trace) -> Trace | None:
    """What a target did in a turn: the trace it gives, with those calls that were recorded and that it does not have."""
    if given is None:
        return recorded if recorded.calls_known or recorded.llm_calls else None
    if recorded.calls_known and not given.calls_known:
        given = given.replace(records_calls=True, recorded_tools=recorded.recorded_tools)
    known = Counter[str](map(_shown, given.tool_calls))
    missing: list[Turn] = []
    for turn in recorded.turns:
        if turn.tool_call is None:
            continue
        if known[_shown(turn.tool_call)] > 0:
            known[_shown(turn.tool_call)] -= 1
        else:
            missing.append(turn)
    return given.replace(turns=[*missing, *given.turns]) if missing else given


def _shown(call: ToolCall) -> str:
    return f"{call.name}({as_text(call.arguments)})"


class _Conversation:
    """A rollout as a part of the attempt that it is made in."""

    def __init__(self, graph: Graph[Any, Any], agent_name: str) -> None:
        self.graph = graph
        self.agent_name = agent_name

    @property
    def trace(self) -> Trace:
        return conversation_trace(self.graph, self.agent_name)


@contextmanager
def part_of_attempt(graph: Graph[Any, Any], agent_name: str) -> Iterator[None]:
    """A block in which a rollout grows. In a run, its turns are the trace of the attempt, or a part of it."""
    attempt = running_attempt()
    if attempt is None:
        yield
        return
    part = _Conversation(graph, agent_name)
    attempt.record(part)
    with inside_part():
        yield
    if tells_calls(graph):
        attempt.attach(part)
    else:  # a trace without calls would say that there were none
        attempt.recorded = [each for each in attempt.recorded if each is not part]
