"""OpenLLMetry before it followed OpenTelemetry: `gen_ai.prompt.N`, `gen_ai.completion.N`, `traceloop.span.kind`.

Messages are flattened into attributes. `traceloop.span.kind` marks functions as tools or agents.
"""

from typing import Any, Final

from msgspec import UNSET, UnsetType

from calipers.spans.messages import Call, Message, Part, Result, Text, arguments_of, decoded, structured, told
from calipers.spans.steps import AgentStep, ModelStep, Step, ToolStep, count, failure_of, numbered, text
from calipers.spans.tree import SpanNode

CONVENTION: Final = "openllmetry"


def read(node: SpanNode) -> Step | None:
    """What a span of these names says."""
    attributes = node.attributes
    conversation = text(
        attributes, "traceloop.association.properties.session_id", "gen_ai.conversation.id", "session.id"
    )
    kind = text(attributes, "traceloop.span.kind")
    name = text(attributes, "traceloop.entity.name")
    if kind == "tool" and name is not None:
        return ToolStep(
            node,
            CONVENTION,
            name,
            conversation,
            arguments=_arguments(attributes),
            output=decoded(attributes.get("traceloop.entity.output", UNSET)),
            error=failure_of(node),
        )
    if kind in {"agent", "workflow"}:
        return AgentStep(node, name=name, conversation=conversation, error=failure_of(node))
    if kind is not None or str(attributes.get("llm.request.type", "chat")) not in {"chat", "completion"}:
        return None
    return ModelStep(
        node,
        CONVENTION,
        model=text(attributes, "gen_ai.response.model", "gen_ai.request.model"),
        conversation=conversation,
        input_tokens=count(attributes, "gen_ai.usage.prompt_tokens", "gen_ai.usage.input_tokens"),
        output_tokens=count(attributes, "gen_ai.usage.completion_tokens", "gen_ai.usage.output_tokens"),
        error=failure_of(node),
        response_id=text(attributes, "gen_ai.response.id"),
        given=_given,
        answer=_answer,
    )


def _arguments(attributes: dict[str, Any]) -> dict[str, Any] | UnsetType:
    given = structured(attributes.get("traceloop.entity.input"))
    if not isinstance(given, dict):
        return UNSET
    inputs, named = given.get("inputs"), given.get("kwargs")
    if isinstance(inputs, dict):
        return inputs
    return named if isinstance(named, dict) and not given.get("args") else UNSET


def _given(node: SpanNode) -> list[Message] | None:
    return _flattened(node.attributes, "gen_ai.prompt.")


def _answer(node: SpanNode) -> list[Message] | None:
    return _flattened(node.attributes, "gen_ai.completion.")


def _flattened(attributes: dict[str, Any], prefix: str) -> list[Message] | None:
    """The messages below a prefix; `None` if there is none."""
    items = numbered(attributes, prefix)
    return [_message(leaves) for leaves in items] if items else None


def _message(leaves: dict[str, Any]) -> Message:
    role = str(leaves.get("role") or "assistant")
    content = leaves.get("content")
    if role == "tool":
        output = told(structured(content)) if content is not None else UNSET
        return Message("tool", [Result(leaves.get("tool_call_id"), None, output)])
    parts: list[Part] = [Text(content)] if isinstance(content, str) and content else []
    for call in numbered(leaves, "tool_calls."):
        if isinstance(call.get("name"), str):
            given = call.get("arguments", UNSET)
            parts.append(Call(call["name"], UNSET if given is UNSET else arguments_of(given), call.get("id")))
    return Message(role, parts)
