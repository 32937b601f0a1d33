"""OpenTelemetry's conventions for generative AI: `gen_ai.operation.name` says what a span is.

Messages stand in one of four places: as JSON in `gen_ai.input.messages` and `gen_ai.output.messages`; the same attributes
on an event; an event for each message (`gen_ai.user.message`, `gen_ai.choice`, …), which log records become, too; or a list
of such events in an attribute (`events`), as pydantic-ai first had it. Frameworks add names of their own for arguments and results.
"""

import math
from typing import Any, Final

from msgspec import UNSET

from calipers.data.argument_checks import is_number
from calipers.spans.messages import (
    Message,
    Result,
    arguments_of,
    decoded,
    parts_of,
    read_messages,
    structured,
    told,
    unwrapped,
)
from calipers.spans.steps import AgentStep, ModelStep, Step, ToolStep, count, failure_of, nothing, text
from calipers.spans.tree import SpanNode

MODELS: Final = frozenset({"chat", "generate_content", "text_completion"})
AGENTS: Final = frozenset({"invoke_agent", "invoke_workflow"})
CONVENTION: Final = "gen_ai"
_CONVERSATION_ID: Final = "gen_ai.conversation.id"
CONVERSATION: Final = (_CONVERSATION_ID, "session.id")
"""What names the conversation of a span."""

_GIVEN: Final = "gen_ai.input.messages"
_ANSWER: Final = "gen_ai.output.messages"
_GOOGLE: Final = "gcp.vertex.agent.event_id"
"""What spans of Google's Agent Development Kit have."""
_NOT_TOOLS: Final = frozenset({"(merged tools)"})
_NO_ID: Final = frozenset({"", "<not specified>"})
_ROLES: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE: Final = "gen_ai.choice"
_LEFT_OUT: Final = "<elided>"
"""What Google writes instead of a content; it does not even say whether there was a call."""


def read(node: SpanNode) -> Step | None:
    """What a span of these conventions says."""
    attributes = node.attributes
    operation = attributes["gen_ai.operation.name"]
    operation = operation if type(operation) is str else str(operation)
    conversation = attributes.get(_CONVERSATION_ID)
    if type(conversation) is not str or not conversation:
        conversation = text(attributes, *CONVERSATION)
    if operation == "execute_tool":
        return _tool(node, conversation)
    error = None if node.status != "error" else failure_of(node)
    if operation in MODELS:
        asked = attributes.get("gen_ai.usage.input_tokens")  # what most spans have is read at a glance
        if type(asked) is not int or asked < 0:
            asked = count(attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
        answered = attributes.get("gen_ai.usage.output_tokens")
        if type(answered) is not int or answered < 0:
            answered = count(attributes, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
        return ModelStep(
            node,
            CONVENTION,
            text(attributes, "gen_ai.response.model", "gen_ai.request.model"),
            conversation,
            asked,
            answered,
            None if "operation.cost" not in attributes else _cost(attributes),
            error,
            text(attributes, "gen_ai.response.id"),
            given=_given,
            answer=_answer,
        )
    if operation in AGENTS:
        return AgentStep(
            node,
            name=text(attributes, "gen_ai.agent.name", "gen_ai.workflow.name"),
            conversation=conversation,
            output_text=text(attributes, "final_result"),
            error=error,
            history=_history
            if "pydantic_ai.all_messages" in attributes or "all_messages_events" in attributes
            else nothing,
            answer=_answer,
        )
    return None


def _cost(attributes: dict[str, Any]) -> float | None:
    value = attributes["operation.cost"]
    return float(value) if is_number(value) and 0 <= value < math.inf else None


# ---------------------------------------------------------------------- tools


_ARGUMENTS: Final = ("gen_ai.tool.call.arguments", "tool_arguments", "gcp.vertex.agent.tool_call_args")
_RESULTS: Final = ("gen_ai.tool.call.result", "tool_response", "gcp.vertex.agent.tool_response")


def _first(attributes: dict[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if name in attributes:
            return attributes[name]
    return UNSET


def _tool(node: SpanNode, conversation: str | None) -> ToolStep | None:
    attributes = node.attributes
    name = text(attributes, "gen_ai.tool.name")
    if name is None or name in _NOT_TOOLS:
        return None
    given, output = _first(attributes, _ARGUMENTS), _first(attributes, _RESULTS)
    for event in node.events if given is UNSET or output is UNSET else ():
        if event.name == "gen_ai.tool.message" and given is UNSET:
            given = event.attributes.get("content", UNSET)
        elif event.name == _CHOICE and output is UNSET:
            output = event.attributes.get("message", UNSET)
    call_id = text(attributes, "gen_ai.tool.call.id")
    error = None if node.status != "error" else failure_of(node)
    if error is None and attributes.get("gen_ai.tool.status") == "error":
        error = "failed"
    if output is not UNSET:
        output = told(decoded(output))
        if _GOOGLE in attributes:
            output = unwrapped(output)
    return ToolStep(
        node,
        CONVENTION,
        name,
        conversation,
        UNSET if given is UNSET else arguments_of(given),
        output,
        error,
        None if call_id in _NO_ID else call_id,
    )


# ---------------------------------------------------------------------- messages


def _given(node: SpanNode) -> list[Message] | None:
    return _messages(node, _GIVEN)


def _answer(node: SpanNode) -> list[Message] | None:
    return _messages(node, _ANSWER)


def _messages(node: SpanNode, name: str) -> list[Message] | None:
    """What a model was given, or answered."""
    attributes = node.attributes
    is_google = _GOOGLE in attributes
    if name in attributes:
        return read_messages(attributes[name]) if not is_google else _google_messages(attributes[name])
    if "events" in attributes:
        listed = structured(attributes["events"])
        return _from_events(
            [(str(each.get("event.name")), each) for each in listed if isinstance(each, dict)]
            if isinstance(listed, list)
            else [],
            name,
        )
    found: list[Message] = []
    seen = False
    for event in node.events:
        if name in event.attributes:
            listed = event.attributes[name]
            found.extend(read_messages(listed) if not is_google else _google_messages(listed))
            seen = True
    if seen:
        return found
    return _from_events([(event.name, event.attributes) for event in node.events], name)


def _google_messages(listed: Any) -> list[Message]:
    """Messages as Google's kit writes them: results in an object, and of an answer that came as a stream its pieces before the whole."""
    entries = structured(listed)
    if isinstance(entries, list):
        whole = [each for each in entries if not (isinstance(each, dict) and each.get("finish_reason") == "")]
        entries = whole or entries
    messages = read_messages(entries)
    for _, part in parts_of(messages):
        if isinstance(part, Result):
            part.output = unwrapped(part.output)
    return messages


def _from_events(events: list[tuple[str, dict[str, Any]]], name: str) -> list[Message] | None:
    """The messages of some events; `None` if none of them is a message."""
    found: list[Message] = []
    seen = False
    for kind, body in events:
        if body.get("content") == _LEFT_OUT:
            continue
        if kind == _CHOICE:
            seen = True
            if name == _ANSWER:
                found.extend(read_messages([_choice(body)]))
        elif (role := _ROLES.get(kind)) is not None:
            seen = True
            if name == _GIVEN:
                found.extend(read_messages([{"role": role} | _blocks(body)]))
    return found if seen else None


def _choice(body: dict[str, Any]) -> dict[str, Any]:
    told = body.get("message", body.get("content"))
    message = structured(told)
    if not isinstance(message, dict):
        message = {"content": message}
    elif message.keys().isdisjoint(_MESSAGE_KEYS):  # an answer that is an object: it is what was said
        message = {"content": told}
    return {"role": "assistant"} | message


_MESSAGE_KEYS: Final = frozenset({"role", "content", "parts", "tool_calls"})
"""A message has one of these, and other objects seldom do."""


def _blocks(body: dict[str, Any]) -> dict[str, Any]:
    """The body of an event, with blocks as such that stand in it as JSON."""
    content = structured(body.get("content"))
    are_blocks = isinstance(content, list) and all(isinstance(each, dict) for each in content)
    is_bedrock = are_blocks and any(
        each.keys() & {"text", "toolUse", "toolResult"} and "type" not in each for each in content
    )
    return body | {"content": content} if is_bedrock else body


def _history(node: SpanNode) -> list[Message]:
    """All messages of a run of pydantic-ai; earlier ones of its conversation are left out."""
    attributes = node.attributes
    begin = attributes.get("pydantic_ai.new_message_index")
    begin = begin if type(begin) is int else 0
    if "pydantic_ai.all_messages" in attributes:
        listed = structured(attributes["pydantic_ai.all_messages"])
        return read_messages(listed[begin:] if isinstance(listed, list) else [])
    listed = structured(attributes["all_messages_events"])
    return read_messages(
        [
            {"role": _ROLES.get(str(each.get("event.name")), "assistant")} | each
            for each in (listed if isinstance(listed, list) else [])
            if isinstance(each, dict) and int(each.get("gen_ai.message.index") or 0) >= begin
        ]
    )
