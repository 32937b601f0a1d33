"""The Vercel AI SDK's own names: `ai.operationId` says what a span is."""

from typing import Final

from msgspec import UNSET

from calipers.spans.messages import (
    Call,
    Message,
    Part,
    Text,
    arguments_of,
    decoded,
    read_messages,
    structured,
)
from calipers.spans.steps import AgentStep, ModelStep, Step, ToolStep, count, failure_of, text
from calipers.spans.tree import SpanNode

CONVENTION: Final = "vercel"
_METADATA: Final = "ai.telemetry.metadata."
_CONVERSATIONS: Final = ("sessionId", "session_id", "conversationId", "conversation_id", "threadId", "chatId")
_RUNS: Final = frozenset({"ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"})


def read(node: SpanNode) -> Step | None:
    """What a span of the SDK says."""
    attributes = node.attributes
    operation = str(attributes["ai.operationId"])
    conversation = text(attributes, *(f"{_METADATA}{name}" for name in _CONVERSATIONS))
    if operation == "ai.toolCall":
        name = text(attributes, "ai.toolCall.name")
        if name is None:
            return None
        return ToolStep(
            node,
            CONVENTION,
            name,
            conversation,
            arguments=arguments_of(attributes.get("ai.toolCall.args", UNSET)),
            output=decoded(attributes.get("ai.toolCall.result", UNSET)),
            error=failure_of(node),
            call_id=text(attributes, "ai.toolCall.id"),
        )
    if operation in _RUNS:
        return AgentStep(
            node,
            name=text(attributes, "ai.telemetry.functionId"),
            conversation=conversation,
            output_text=text(attributes, "ai.response.text", "ai.response.object"),
            error=failure_of(node),
        )
    if not operation.endswith((".doGenerate", ".doStream")):
        return None
    return ModelStep(
        node,
        CONVENTION,
        model=text(attributes, "ai.response.model", "gen_ai.response.model", "ai.model.id"),
        conversation=conversation,
        input_tokens=count(
            attributes, "ai.usage.inputTokens", "ai.usage.promptTokens", "gen_ai.usage.input_tokens"
        ),
        output_tokens=count(
            attributes, "ai.usage.outputTokens", "ai.usage.completionTokens", "gen_ai.usage.output_tokens"
        ),
        error=failure_of(node),
        response_id=text(attributes, "ai.response.id", "gen_ai.response.id"),
        given=_given,
        answer=_answer,
    )


def _given(node: SpanNode) -> list[Message] | None:
    sent = node.attributes.get("ai.prompt.messages")
    return None if sent is None else read_messages(sent)


def _answer(node: SpanNode) -> list[Message] | None:
    attributes = node.attributes
    said, asked = attributes.get("ai.response.text"), structured(attributes.get("ai.response.toolCalls"))
    if said is None and asked is None:
        return None
    parts: list[Part] = [Text(said)] if isinstance(said, str) and said else []
    for call in asked if isinstance(asked, list) else ():
        if isinstance(call, dict) and isinstance(call.get("toolName"), str):
            given = call.get("input", call.get("args", UNSET))
            parts.append(Call(call["toolName"], arguments_of(given), call.get("toolCallId")))
    return [Message("assistant", parts)]
