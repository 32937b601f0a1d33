"""One conversation as a `Trace`: what spans and messages tell of each tool call, joined.

A call may be seen three times: a model asks for it, a span runs it, a later request tells its result. They are joined by the id of
the call; where that fails, a span belongs to the last request before it that asked for a tool of its name, with equal arguments
if there is one, and in order. The span is right about result and failure, the message about arguments and id.

- Calls stand in the order in which the models asked for them. A span that no one asked for stands where it began.
- What neither shows is unknown (`ToolCall.unknown`): arguments that were left out, a result that no later request tells, whether a
  call that was asked for was run at all.
- A framework may let its model answer by calling a tool. That call is the answer, and no tool call.
- A run that `calipers export --to otlp` wrote has the whole trace on the span of the agent, and that is the trace.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import UNSET

from calipers.data.trace import (
    UNKNOWN,
    LLMCall,
    ToolCall,
    Trace,
    Turn,
    TurnType,
    observed_call,
    observed_trace,
    observed_turn,
)
from calipers.errors import InvalidTraceError

from .conventions.family import step_of
from .messages import Call, Message, Result, Text, Usage, pair_results, structured
from .runs import Request, Run
from .steps import AgentStep, ModelStep, ToolStep, read, span_failure
from .tree import SpanNode, moment

WHOLE_TRACE: Final = "calipers.trace"
"""An attribute of an agent's span with the whole trace, as exported runs have it."""


_LLM_CALL, _TOOL_CALL = TurnType.LLM_CALL, TurnType.TOOL_CALL
_USER_MESSAGE, _AGENT_MESSAGE = TurnType.USER_MESSAGE, TurnType.AGENT_MESSAGE
"""To look one up in its class takes longer than to make the turn's content."""


class _Slot(msgspec.Struct):
    """One tool call, and all that tells of it."""

    request: int
    """Which request asked for it; -1: one before the first."""
    asked: Call | None = None
    ran: ToolStep | None = None
    result: Result | None = None
    is_answer: bool = False

    @property
    def name(self) -> str:
        return self.asked.name if self.asked is not None else self.ran.name if self.ran is not None else "?"


class _Answered(msgspec.Struct):
    """A request to a model, and what came back: read once, since much asks for it."""

    request: Request
    told: ModelStep
    start_ns: int
    end_ns: int
    is_shown: bool
    """Whether the recording shows the answer."""
    said: str
    calls: list[Call]
    """The tools that the answer asks for."""


def _answered(request: Request) -> _Answered:
    steps = request.steps
    told, answer = request.told(), request.answer()
    said, calls = _said(answer) if answer is not None else ("", [])
    begin, end = steps[-1].node.start_ns, steps[0].node.end_ns
    return _Answered(request, told, begin, end, answer is not None, said, calls)


def trace_of(runs: Sequence[Run]) -> Trace:
    """The trace of one conversation, given its runs in order. What they do not show is noted in `metadata["notes"]`."""
    if (told := _told_whole(runs)) is not None:
        return told
    agents, tools, requests = _steps_of(runs)
    slots = _asked(runs, requests)
    _join_spans(slots, tools, requests)
    _join_results(slots, runs, requests)
    _mark_answers(runs, slots, requests)
    output = _output(runs[-1], requests)
    turns = _turns(runs, requests, slots, output)
    metadata: dict[str, Any] = {}
    if runs[0].conversation is not None:
        metadata["conversation_id"] = runs[0].conversation
    if failure := _failure(runs[-1], requests, output):
        metadata["error"] = failure
    if notes := _not_shown(requests, turns):
        metadata["notes"] = notes
    begin = runs[0].start_ns if len(runs) == 1 else min([run.start_ns for run in runs])
    name = asked = ""
    for step in agents:
        name = name or step.name or ""
        asked = asked or step.input_text or ""
    for turn in turns:
        if turn.turn_type is _USER_MESSAGE:
            asked = turn.content or asked
            break
    return observed_trace(
        agent_name=name,
        input_text=asked,
        output_text=output or "",
        turns=turns,
        total_latency_ms=(_end(agents, tools, requests, begin) - begin) / 1e6,
        metadata=metadata,
        records_calls=True if _shows_calls(agents, requests) else None,
        trace_id=f"{runs[0].trace_id:032x}",
        created_at=moment(begin),
    )


def _steps_of(runs: Sequence[Run]) -> tuple[list[AgentStep], list[ToolStep], list[_Answered]]:
    """The agents and tools of all runs, and their requests in order of time."""
    if len(runs) == 1:
        (run,) = runs
        return run.agents, run.tools, list(map(_answered, run.requests))
    requests = [_answered(request) for run in runs for request in run.requests]
    requests.sort(key=lambda request: request.start_ns)
    return (
        [step for run in runs for step in run.agents],
        [step for run in runs for step in run.tools],
        requests,
    )


def _not_shown(requests: Sequence[_Answered], turns: Iterable[Turn]) -> list[str]:
    """What a recording leaves out, in words."""
    notes: list[str] = []
    silent = counted = uncounted = calls = 0
    for request in requests:
        told = request.told
        if told.error is None:
            silent += not request.is_shown
            if told.input_tokens is None and told.output_tokens is None:
                uncounted += 1
            else:
                counted += 1
    if silent:
        notes.append(f"{silent} of {len(requests)} requests do not show their answers")
    if counted and uncounted:
        notes.append(
            f"{uncounted} of {len(requests)} requests do not show their tokens, which the totals lack"
        )
    dim: list[ToolCall] = []
    for turn in turns:
        if (call := turn.tool_call) is not None:
            calls += 1
            if call.unknown:
                dim.append(call)
    for what in UNKNOWN if dim else ():
        dark = sum(what in call.unknown for call in dim)
        if dark:
            notes.append(f"{dark} of {calls} tool calls do not show their {what}")
    return notes


def _told_whole(runs: Sequence[Run]) -> Trace | None:
    """The trace that was exported by `calipers export`, if it was."""
    written = runs[0].agents[0].node.attributes.get(WHOLE_TRACE) if runs[0].agents else None
    if len(runs) > 1 or not isinstance(written, str):
        return None
    try:
        return Trace.from_dict(msgspec.json.decode(written))
    except (msgspec.DecodeError, InvalidTraceError):  # the spans tell what they can
        return None


def _shows_calls(agents: Sequence[AgentStep], requests: Sequence[_Answered]) -> bool:
    """Whether a tool call would be here if one had been made: every answer is here, or an agent that has spans for its tools."""
    return bool(agents) or (bool(requests) and all(request.is_shown for request in requests))


def _end(
    agents: Sequence[AgentStep], tools: Sequence[ToolStep], requests: Sequence[_Answered], begin: int
) -> int:
    """When the last of some steps ended that began at a time."""
    ends = [begin]
    ends += [step.node.end_ns for steps in (agents, tools) for step in steps]
    ends += [request.end_ns for request in requests]
    return max(ends)


def _failure(last: Run, requests: Sequence[_Answered], output: str | None) -> dict[str, str] | None:
    """Why a conversation ended badly: its last run failed as a whole, or its last step did, and a tool was asked for in vain."""
    ends = last.roots or [step.node for request in last.requests[-1:] for step in request.steps]
    if not output and (final := _last_own(last, requests)) is not None and final.calls:
        ends = [*ends, *(step for root in last.roots for step in _last_steps(root))]
    for node in ends:
        if (failure := span_failure(node)) is not None:
            return {"type": failure.kind, "message": str(failure)}
    return None


def _last_steps(root: SpanNode) -> Iterator[SpanNode]:
    """What a span did last, and what was done last in that; a tool that failed ends no run."""
    node = root
    while node.children and not isinstance(step_of(node := node.children[-1]), ToolStep):
        yield node


# ---------------------------------------------------------------------- joining


def _asked(runs: Sequence[Run], requests: Sequence[_Answered]) -> list[_Slot]:
    """The calls that models asked for: from their answers, else from the history that the span of an agent has."""
    slots = [_Slot(number, call) for number, request in enumerate(requests) for call in request.calls]
    if slots or any(request.is_shown for request in requests):
        return slots
    first = 0
    for run in runs:
        number = first - 1
        for message in _histories(run):
            number += message.role == "assistant"
            slots += [_Slot(number, part) for part in message.parts if isinstance(part, Call)]
        first += len(run.requests)
    return slots


def _histories(run: Run) -> list[Message]:
    return [message for step in run.agents for message in step.history(step.node) or ()]


def _join_spans(slots: list[_Slot], tools: Sequence[ToolStep], requests: Sequence[_Answered]) -> None:
    by_id: dict[str, list[_Slot]] = {}
    for slot in slots:
        if slot.asked is not None and slot.asked.call_id is not None:
            by_id.setdefault(slot.asked.call_id, []).append(slot)
    rest: list[ToolStep] = []
    for step in tools:
        named = by_id.get(step.call_id) if step.call_id is not None else None
        if named is None:
            rest.append(step)
            continue
        for slot in named:
            if slot.ran is None:
                slot.ran = step
                break
        else:
            named[-1].ran = _fuller(named[-1].ran, step)
    if not rest:
        return
    starts = [request.start_ns for request in requests]
    seen: dict[str, _Slot] = {}
    extra: list[_Slot] = []
    for step in rest:
        if step.call_id is not None and step.call_id in seen:  # a second instrumentation
            seen[step.call_id].ran = _fuller(seen[step.call_id].ran, step)
            continue
        before = _last_before(starts, step.node.start_ns)
        fitting = _fitting(slots, step, before)
        if fitting is None:
            fitting = _Slot(before)
            extra.append(fitting)
        fitting.ran = step
        if step.call_id is not None:
            seen[step.call_id] = fitting
    if extra:
        slots += extra
        slots.sort(key=lambda slot: slot.request)


def _fuller(one: ToolStep | None, other: ToolStep) -> ToolStep:
    """Of two spans of one call the one that tells its result; the later one if both do."""
    if one is None:
        return other
    return one if other.output is UNSET and other.error is None else other


def _last_before(starts: Sequence[int], moment: int) -> int:
    return bisect_right(starts, moment) - 1


def _fitting(slots: Sequence[_Slot], step: ToolStep, before: int) -> _Slot | None:
    """The call that a span without a known id runs."""
    open_ones = [
        slot for slot in slots if slot.ran is None and slot.name == step.name and slot.request <= before
    ]
    if not open_ones:
        return None
    latest = max(slot.request for slot in open_ones)
    open_ones = [slot for slot in open_ones if slot.request == latest]
    equal = (
        slot
        for slot in open_ones
        if slot.asked is not None and slot.asked.arguments == step.arguments != UNSET
    )
    return next(equal, open_ones[0])


def _join_results(slots: Sequence[_Slot], runs: Sequence[Run], requests: Sequence[_Answered]) -> None:
    """Give the calls whose span tells no result the one that a later request, or the history of the agent, tells."""
    lacking = [
        slot for slot in slots if slot.ran is None or (slot.ran.output is UNSET and slot.ran.error is None)
    ]
    if not lacking:
        return
    _take_results(slots, lacking, pair_results(_last_given(requests)))
    for slot in lacking:
        if slot.result is None and slot.request + 1 < len(requests) - 1:
            _take_results(slots, [slot], pair_results(requests[slot.request + 1].request.given() or ()))
    if any(slot.result is None for slot in lacking):
        pairs = [pair for run in runs for pair in pair_results(_histories(run))]
        _take_results(slots, lacking, pairs)


def _last_given(requests: Sequence[_Answered]) -> list[Message]:
    return next((given for each in reversed(requests) if (given := each.request.given())), [])


def _take_results(
    slots: Sequence[_Slot], lacking: Sequence[_Slot], pairs: Sequence[tuple[Call, Result | None]]
) -> None:
    told: dict[str, list[Result | None]] = {}
    for call, result in pairs:
        told.setdefault(call.call_id or f"\0{call.name}", []).append(result)
    wanted = {id(slot) for slot in lacking}
    counts: dict[str, int] = {}
    for slot in slots:
        if slot.asked is not None:
            key = slot.asked.call_id or f"\0{slot.asked.name}"
        elif slot.ran is not None and slot.ran.call_id is not None:
            key = slot.ran.call_id
        else:
            continue
        number = counts.get(key, 0)
        counts[key] = number + 1
        found = told.get(key, ())
        if id(slot) in wanted and slot.result is None and found:
            slot.result = found[min(number, len(found) - 1)]


# ---------------------------------------------------------------------- the answer


def _mark_answers(runs: Sequence[Run], slots: Sequence[_Slot], requests: Sequence[_Answered]) -> None:
    """Mark the calls by which a framework lets its model answer."""
    output_tools: set[str] | None = None
    echoed = _echoed(runs, requests) if slots else ()
    for slot in slots:
        if slot.name in echoed or (slot.ran is not None and slot.ran.is_answer):
            slot.is_answer = True
        elif slot.ran is None and requests and slot.request >= 0:
            if output_tools is None:
                output_tools = _output_tools(requests)
            slot.is_answer = slot.name in output_tools


def _echoed(runs: Sequence[Run], requests: Sequence[_Answered]) -> set[str]:
    """The tools that a model called last, with arguments that are what the agent says its output is, perhaps beside defaults."""
    found: set[str] = set()
    for run in runs:
        last = _last_own(run, requests)
        if last is not None and last.calls and isinstance(output := structured(_agent_says(run)), dict):
            for call in last.calls:
                given = call.arguments
                if isinstance(given, dict) and given and given.items() <= output.items():
                    found.add(call.name)
    return found


def _last_own(run: Run, requests: Sequence[_Answered]) -> _Answered | None:
    """The last request of a run that the agent itself made, and no other one that a tool asked."""
    own = set(map(id, run.requests))
    return next(
        (each for each in reversed(requests) if id(each.request) in own and not each.told.is_inner), None
    )


def _agent_says(run: Run) -> str | None:
    """The output of a run, if the span of an agent has it."""
    for step in run.agents:
        if step.is_inner:
            continue
        if step.output_text:
            return step.output_text
        said, calls = _said(read(step.answer, step.node) or ())
        if said and not calls:
            return said
    return None


def _output_tools(requests: Sequence[_Answered]) -> set[str]:
    """The tools of pydantic-ai by which a model gives its output."""
    found: set[str] = set()
    for each in requests:
        for step in each.request.steps:
            described = step.node.attributes.get("model_request_parameters")
            if isinstance(described, str) and '"output_tools":[]' not in described:
                listed = structured(described)
                tools = listed.get("output_tools") if isinstance(listed, dict) else None
                found.update(
                    tool["name"] for tool in tools or () if isinstance(tool, dict) and "name" in tool
                )
    return found


def _said(messages: Iterable[Message]) -> tuple[str, list[Call]]:
    """The text of an answer, and the tools that it asks for."""
    said = ""
    calls: list[Call] = []
    for message in messages:
        for part in message.parts:
            if type(part) is Call:
                calls.append(part)
            elif type(part) is Text and part.text:
                said += part.text
    return said, calls


def _output(run: Run, requests: Sequence[_Answered]) -> str | None:
    """The answer of a run: the one it gave by a tool, else what the last model said, unless it asked for one; else what the agent says it is."""
    for step in reversed(run.tools):
        if step.is_answer and not step.is_inner and isinstance(step.output, str):
            return step.output
    final = _last_own(run, requests)
    if final is not None and final.said and not final.calls:
        return final.said
    if says := _agent_says(run):
        return says
    if not run.requests:
        return None
    spoken = [_said([message]) for message in _histories(run) if message.role == "assistant"]
    return spoken[-1][0] or None if spoken and not spoken[-1][1] else None


# ---------------------------------------------------------------------- turns


def _turns(
    runs: Sequence[Run], requests: Sequence[_Answered], slots: Sequence[_Slot], output: str | None
) -> list[Turn]:
    """The turns, with their numbers as ids: a recording that is read twice says the same twice."""
    by_request: dict[int, list[_Slot]] = {}
    for slot in slots:
        if not slot.is_answer:
            by_request.setdefault(slot.request, []).append(slot)
    firsts = {id(run.requests[0]) for run in runs if run.requests}
    lasts = {id(run.requests[-1]): run for run in runs[:-1] if run.requests}
    turns: list[Turn] = []
    for slot in by_request.get(-1, ()):
        turns.append(_tool_turn(slot, str(len(turns) + 1)))
    spoken: str | None = None
    for number, each in enumerate(requests):
        at, said = moment(each.start_ns), each.said
        if id(each.request) in firsts and (asked := _user_text(each.request)):
            turns.append(observed_turn(_USER_MESSAGE, str(len(turns) + 1), at, asked))
        turns.append(_request_turn(each, str(len(turns) + 1), at))
        for slot in by_request.get(number, ()):
            turns.append(_tool_turn(slot, str(len(turns) + 1)))
        if said and not each.calls and not each.told.is_inner:
            spoken = said
            turns.append(observed_turn(_AGENT_MESSAGE, str(len(turns) + 1), moment(each.end_ns), said))
        last_of = lasts.get(id(each.request))
        if last_of is not None and (told := _output(last_of, requests)) and told != spoken:
            turns.append(observed_turn(_AGENT_MESSAGE, str(len(turns) + 1), moment(each.end_ns), told))
    if output and output != spoken:
        turns.append(observed_turn(_AGENT_MESSAGE, str(len(turns) + 1), None, output))
    return turns


def _user_text(request: Request) -> str:
    """What the user said last, if the model had not answered it yet."""
    texts: list[str] = []
    for message in reversed(request.given() or ()):
        role = message.role
        if role == "user":
            texts[:0] = [part.text for part in message.parts if type(part) is Text and part.text]
        elif role != "system":
            break
    return "\n".join(texts)


def _request_turn(answered: _Answered, turn_id: str, at: datetime) -> Turn:
    told = answered.told
    call = LLMCall(
        model=told.model or "unknown",
        input_tokens=told.input_tokens or 0,
        output_tokens=told.output_tokens or 0,
        output_text=answered.said,
        latency_ms=max(0, answered.end_ns - answered.start_ns) / 1e6,
        metadata={} if told.error is None else {"error": told.error},
        cost=told.cost,
        call_id=told.response_id,
        timestamp=at,
    )
    return observed_turn(_LLM_CALL, turn_id, at, llm_call=call)


def _tool_turn(slot: _Slot, turn_id: str) -> Turn:
    call = _tool_call(slot)
    return observed_turn(_TOOL_CALL, turn_id, call.timestamp, tool_call=call)


def _tool_call(slot: _Slot) -> ToolCall:
    asked, ran, result = slot.asked, slot.ran, slot.result
    arguments: Any = asked.arguments if asked is not None else UNSET
    if arguments is UNSET and ran is not None:
        arguments = ran.arguments
    output: Any = ran.output if ran is not None else UNSET
    failure = ran.error if ran is not None else None
    if output is UNSET and result is not None and failure is None:
        output = result.output
        if result.failed:
            failure = output if isinstance(output, str) else "failed"
            output = None
    call_id = asked.call_id if asked is not None else None
    if ran is not None and ran.call_id is not None:
        call_id = ran.call_id
    elif result is not None and result.call_id is not None:
        call_id = result.call_id
    unknown = []
    if arguments is UNSET:
        unknown.append("arguments")
    if output is UNSET and failure is None:
        unknown.append("output")
        if ran is None and result is None:
            unknown.append("success")
    return observed_call(
        slot.name,
        {} if arguments is UNSET else dict(arguments),
        None if output is UNSET else output,
        failure,
        None if ran is None else max(0, ran.node.end_ns - ran.node.start_ns) / 1e6,
        call_id,
        None if ran is None else moment(ran.node.start_ns),
        tuple(unknown),
    )


# ---------------------------------------------------------------------- histories


def trace_of_history(messages: Sequence[Message], usages: Sequence[Usage | None] = ()) -> Trace:
    """The trace of a message history.

    Args:
        messages: all of them.
        usages: what each answer of a model cost, where that is known.
    """
    pairs = {id(call): result for call, result in pair_results(messages)}
    told = iter(usages)
    turns: list[Turn] = []
    output = ""
    for message, following in zip(messages, (*messages[1:], None), strict=True):
        if message.role == "user":
            said = "\n".join(part.text for part in message.parts if isinstance(part, Text) and part.text)
            if said:
                turns.append(observed_turn(_USER_MESSAGE, str(len(turns) + 1), None, said))
        if message.role != "assistant":
            if not all(isinstance(part, Result) and part.is_answer for part in message.parts):
                output = ""
            continue
        said, calls = _said([message])
        usage = next(told, None)
        if usage is not None:
            turns.append(
                Turn(
                    llm_call=LLMCall(
                        model=usage.model or "unknown",
                        input_tokens=usage.input_tokens,
                        output_tokens=usage.output_tokens,
                        output_text=said,
                        cost=usage.cost,
                    ),
                    turn_id=str(len(turns) + 1),
                )
            )
        for call in list(calls):
            result = pairs.get(id(call))
            if result is not None and result.is_answer:
                calls.remove(call)
                said = msgspec.json.encode(call.arguments or {}).decode()
                continue
            turns.append(_tool_turn(_Slot(0, call, None, result), str(len(turns) + 1)))
        output = "" if calls or _goes_on(following) else said
        if output:
            turns.append(observed_turn(_AGENT_MESSAGE, str(len(turns) + 1), None, output))
    return Trace(
        input_text=next((turn.content for turn in turns if turn.turn_type is _USER_MESSAGE), ""),
        output_text=output,
        turns=turns,
        records_calls=True,
        trace_id=hashlib.blake2b(repr(messages).encode("utf-8", "replace"), digest_size=16).hexdigest(),
        created_at=moment(0),  # it does not say when
    )


def _goes_on(following: Message | None) -> bool:
    """Whether the message after an answer is a part of it: OpenAI's Responses have an item for the text, and one for each call."""
    return (
        following is not None
        and following.role == "assistant"
        and bool(following.parts)
        and all(isinstance(part, Call) for part in following.parts)
    )
