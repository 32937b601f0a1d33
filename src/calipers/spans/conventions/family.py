"""Which family of names a span follows: `step_of`. Its attributes decide, not its scope: one trace mixes writers."""

from calipers.spans.steps import Step
from calipers.spans.tree import SpanNode

from . import genai, google_adk, openinference, openllmetry, vercel


def follows_genai(node: SpanNode) -> bool:
    """Whether a span follows OpenTelemetry's own conventions."""
    attributes = node.attributes
    return (
        "gen_ai.operation.name" in attributes
        and "openinference.span.kind" not in attributes
        and "ai.operationId" not in attributes
    )


def step_of(node: SpanNode) -> Step | None:
    """What a span says; `None` if it follows no known convention, or says nothing of agents, models or tools."""
    if follows_genai(node):
        return genai.read(node)
    attributes = node.attributes
    if "openinference.span.kind" in attributes:
        return openinference.read(node)
    if "ai.operationId" in attributes:
        return vercel.read(node)
    if "gcp.vertex.agent.llm_request" in attributes:
        return google_adk.read(node)
    if "llm.request.type" in attributes or "traceloop.span.kind" in attributes:
        return openllmetry.read(node)
    if "gen_ai.prompt.0.role" in attributes or "gen_ai.completion.0.role" in attributes:
        return openllmetry.read(node)
    return None
