"""What the spans of an attempt say it used: requests to models, tokens and cost, as metrics.

Instrumentation notes usage on spans by OpenTelemetry's conventions for generative AI. `gen_ai.usage.input_tokens` becomes the
metric `input_tokens`, and so on for whatever else stands behind `gen_ai.usage.` (or `gen_ai.usage.details.`);
`operation.cost` becomes `cost`; each request to a model counts in `requests`. The span of an agent or a workflow often
repeats the sum of the requests inside it, so a span with usage inside it counts for nothing itself.
"""

import math
from typing import Any, Final

from calipers.data.argument_checks import is_number

from .tree import SpanNode, SpanTree

_USAGE: Final = "gen_ai.usage."
_REQUESTS: Final = frozenset({None, "chat", "text_completion", "generate_content"})
"""Operations that ask a model for text; `None`: the span does not say which operation it is."""


def usage_metrics(tree: SpanTree) -> dict[str, int | float]:
    """Requests, tokens and cost by name; empty where no span tells of any."""
    found: dict[str, int | float] = {}
    for node in tree:
        if not _tells(node) or any(map(_tells, node.descendants)):
            continue
        if node.attributes.get("gen_ai.operation.name") in _REQUESTS:
            found["requests"] = found.get("requests", 0) + 1
        for key, amount in node.attributes.items():
            if (name := _metric(key)) is not None and _is_amount(amount):
                found[name] = found.get(name, 0) + amount
    return found


def _tells(node: SpanNode) -> bool:
    return "gen_ai.request.model" in node.attributes or any(key.startswith(_USAGE) for key in node.attributes)


def _metric(key: str) -> str | None:
    """What the metric of an attribute is called; `None` if it is none."""
    if key == "operation.cost":
        return "cost"
    if not key.startswith(_USAGE):
        return None
    return key.removeprefix(_USAGE).removeprefix("details.") or None


def _is_amount(value: Any) -> bool:
    return is_number(value) and 0 <= value < math.inf
