"""OpenInference: `openinference.span.kind` says what a span is, and messages are flattened into attributes.

`llm.input_messages.3.message.tool_calls.0.tool_call.function.name` is one leaf of a list of messages. Numbers in such names
count, so that 10 comes after 2. What frameworks put into `input.value` and `output.value` differs: the values of a tool may
stand in a dumped message, among keyword arguments, or printed by Python. `input.messages` and `output.messages` hold whole
messages; no instrumentation writes them, and `exported_spans` does.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from calipers.spans.messages import (
    Call,
    Message,
    Part,
    Result,
    Text,
    arguments_of,
    decoded,
    entries_in,
    pair_results,
    parts_of,
    printed,
    read_messages,
    structured,
    tell_content,
    told,
)
from calipers.spans.steps import AgentStep, ModelStep, Step, ToolStep, count, failure_of, numbered, text
from calipers.spans.tree import SpanNode

CONVENTION: Final = "openinference"
_GIVEN: Final = "llm.input_messages."
_ANSWER: Final = "llm.output_messages."
_FINAL_ANSWER: Final = "FinalAnswerTool"
"""The span of what smolagents calls a tool and is its way to say the answer."""
_SMOLAGENTS: Final = (".generate", ".generate_stream", ".__call__")
"""How spans of requests end that smolagents makes."""
_NEW_TASK: Final = "New task:\n"
"""What it puts before the words of the user."""


def read(node: SpanNode) -> Step | None:
    """What a span of OpenInference says."""
    attributes = node.attributes
    kind = attributes["openinference.span.kind"]
    if kind == "TOOL":
        return _tool(node)
    if kind == "LLM":
        return ModelStep(
            node,
            CONVENTION,
            model=text(attributes, "llm.model_name", "llm.response.model_name", "llm.request.model_name"),
            conversation=conversation_of(attributes),
            input_tokens=count(attributes, "llm.token_count.prompt"),
            output_tokens=count(attributes, "llm.token_count.completion"),
            error=failure_of(node),
            given=_given,
            answer=_answer,
        )
    if kind == "AGENT" or node.parent_span_id is None:  # a graph of LangGraph has no other span for its run
        given, output = text(attributes, "input.value"), text(attributes, "output.value")
        return AgentStep(
            node,
            name=text(attributes, "agent.name", "graph.node.name")
            or (node.name.removesuffix(".run") if kind == "AGENT" else None),
            conversation=conversation_of(attributes),
            input_text=_task(given),
            output_text=_plain(output),
            error=failure_of(node),
        )
    return None


def conversation_of(attributes: dict[str, Any]) -> str | None:
    """The id of the conversation a span belongs to."""
    found = text(attributes, "session.id")
    if found is None and "metadata" in attributes:
        metadata = structured(attributes["metadata"])
        if isinstance(metadata, dict):
            found = text(metadata, "thread_id", "session_id", "conversation_id")
    return found


def _plain(value: str | None) -> str | None:
    """A text that is no JSON object or list: what an agent said, not its state. Of a state of LangChain's, its structured response."""
    state = structured(value)
    if isinstance(state, dict) and isinstance(chosen := state.get("structured_response"), dict):
        return msgspec.json.encode(chosen).decode()
    return None if isinstance(state, dict | list) else value


def _task(value: str | None) -> str | None:
    read = structured(value)
    return text(read, "task") if isinstance(read, dict) else _plain(value)


# ---------------------------------------------------------------------- tools


def _tool(node: SpanNode) -> ToolStep | None:
    attributes = node.attributes
    name = text(attributes, "tool.name") or node.name
    output: Any = attributes.get("output.value", UNSET)
    is_answer = node.name == _FINAL_ANSWER
    call_id = text(attributes, "tool_call.id", "tool.call.id")
    error = failure_of(node)
    if output is not UNSET and not is_answer:
        is_printed = attributes.get("output.mime_type") == "text/plain"
        output = printed(output) if is_printed else decoded(output)
        if isinstance(output, dict) and isinstance(output.get("data"), dict) and output.get("type") == "tool":
            dumped = output["data"]
            call_id = call_id or dumped.get("tool_call_id")
            output = told(dumped.get("content"))
            if dumped.get("status") == "error" and error is None:
                error = output if isinstance(output, str) else "failed"
    return ToolStep(
        node,
        CONVENTION,
        name,
        conversation_of(attributes),
        arguments=_arguments(attributes),
        output=output,
        error=error,
        call_id=call_id,
        is_answer=is_answer,
    )


def _arguments(attributes: dict[str, Any]) -> dict[str, Any] | UnsetType:
    if "input.value" not in attributes:
        return UNSET
    given = attributes["input.value"]
    found = arguments_of(given) if isinstance(structured(given), dict) else UNSET
    if isinstance(found, dict) and "args" in found and isinstance(found.get("kwargs"), dict):
        named: dict[str, Any] = found["kwargs"]
        return named if not found["args"] else UNSET
    return found


# ---------------------------------------------------------------------- messages


def _answer(node: SpanNode) -> list[Message] | None:
    attributes = node.attributes
    if "output.messages" in attributes:
        listed = attributes["output.messages"]
        return None if listed is None else read_messages(listed)
    messages = _flattened(attributes, _ANSWER)
    bare = [
        part for _, part in parts_of(messages or ()) if isinstance(part, Call) and part.arguments is UNSET
    ]
    if messages is None or bare or not tell_content(messages):
        received = _received(attributes)
        if bare:
            _add_arguments(bare, received)
        elif tell_content(received):
            return received
    return messages


def _given(node: SpanNode) -> list[Message] | None:
    attributes = node.attributes
    if "input.messages" in attributes:
        listed = attributes["input.messages"]
        return None if listed is None else read_messages(listed)
    messages = _flattened(attributes, _GIVEN)
    if messages is not None and _tells_failures(attributes):
        _mark_failures(messages, attributes)
    if messages is not None and node.name.endswith(_SMOLAGENTS):
        for message in messages:
            for part in message.parts:
                if message.role == "user" and isinstance(part, Text) and part.text is not None:
                    part.text = part.text.removeprefix(_NEW_TASK)
    return messages


def _received(attributes: dict[str, Any]) -> list[Message]:
    """The answer as it was received: it has what no one flattened."""
    received = structured(attributes.get("output.value"))
    return [] if isinstance(received, str) else read_messages(entries_in(received))


def _add_arguments(bare: Iterable[Call], received: Iterable[Message]) -> None:
    """Instrumentations leave out arguments that are empty."""
    known = {part.call_id: part.arguments for _, part in parts_of(received) if isinstance(part, Call)}
    for call in bare:
        call.arguments = known.get(call.call_id, UNSET)


def _tells_failures(attributes: dict[str, Any]) -> bool:
    """Whether a request may mark failed results: those of Anthropic and of LangChain do."""
    sent = attributes.get("input.value")
    return isinstance(sent, str) and (
        attributes.get("llm.system") == "anthropic" or '"status": "error"' in sent
    )


def _mark_failures(messages: list[Message], attributes: dict[str, Any]) -> None:
    """Mark failed results: only the request as it was sent still has the mark."""
    sent = structured(attributes.get("input.value"))
    history = read_messages(sent.get("messages")) if isinstance(sent, dict) else []
    failed = {result.call_id for _, result in pair_results(history) if result is not None and result.failed}
    for message in messages:
        for part in message.parts:
            if isinstance(part, Result) and part.call_id in failed:
                part.failed = True


def _flattened(attributes: dict[str, Any], prefix: str) -> list[Message] | None:
    """The messages below a prefix; `None` if there is none."""
    items = numbered(attributes, prefix, ".message.")
    return [_message(leaves) for leaves in items] if items else None


def _message(leaves: dict[str, Any]) -> Message:
    role = str(leaves.get("role") or "assistant")
    content = leaves.get("content")
    texts = [part.get("message_content.text") for part in numbered(leaves, "contents.")]
    if content is None and texts:
        content = "".join(each for each in texts if isinstance(each, str))
    if role == "tool":
        output = told(structured(content)) if content is not None else UNSET
        return Message("tool", [Result(leaves.get("tool_call_id"), leaves.get("name"), output)])
    parts: list[Part] = [Text(content)] if isinstance(content, str) and content else []
    for call in numbered(leaves, "tool_calls.", ".tool_call."):
        name = call.get("function.name")
        if isinstance(name, str):
            given = call.get("function.arguments", UNSET)
            parts.append(Call(name, UNSET if given is UNSET else arguments_of(given), call.get("id")))
    return Message(role, parts)


class _Identified(msgspec.Struct):
    id: str | None = None


def response_id(node: SpanNode) -> str | None:
    """The provider's id of an answer, which only the answer as it was received has."""
    output = node.attributes.get("output.value")
    try:
        return msgspec.json.decode(output, type=_Identified).id if isinstance(output, str) else None
    except (msgspec.DecodeError, ValueError):
        return None
