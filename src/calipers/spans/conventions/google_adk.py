"""The `call_llm` spans of Google's Agent Development Kit before version 2: request and answer as JSON in attributes of its own.

The same request has a second span inside, by OpenTelemetry's conventions and without messages.
"""

from typing import Final

from calipers.spans.messages import Message, read_messages, structured
from calipers.spans.steps import ModelStep, Step, count, failure_of, text
from calipers.spans.tree import SpanNode

CONVENTION: Final = "google-adk"


def read(node: SpanNode) -> Step | None:
    """What a span of these names says."""
    attributes = node.attributes
    return ModelStep(
        node,
        CONVENTION,
        model=text(attributes, "gen_ai.response.model", "gen_ai.request.model"),
        conversation=text(attributes, "gen_ai.conversation.id", "gcp.vertex.agent.session_id"),
        input_tokens=count(attributes, "gen_ai.usage.input_tokens"),
        output_tokens=count(attributes, "gen_ai.usage.output_tokens"),
        error=failure_of(node),
        given=_given,
        answer=_answer,
    )


def _given(node: SpanNode) -> list[Message] | None:
    sent = structured(node.attributes.get("gcp.vertex.agent.llm_request"))
    return read_messages(sent["contents"]) if isinstance(sent, dict) and "contents" in sent else None


def _answer(node: SpanNode) -> list[Message] | None:
    received = structured(node.attributes.get("gcp.vertex.agent.llm_response"))
    content = received.get("content") if isinstance(received, dict) else None
    return None if content is None else read_messages([content])
