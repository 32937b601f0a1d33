"""OpenAI's Responses API: its requests. `openai.read_answer` reads its answers.

It differs from chat completions where a copied request would break: instructions stand apart, tools are flat, what a tool gave is
an item of its own, and log-probabilities must be included. The service keeps answers unless it is told not to.
"""

from collections.abc import Mapping
from typing import Any

from .model import Ask
from .model_request import endpoint, for_responses, laid_over
from .openai import CHAT, schema_format
from .wire_format import calls_of, own_parts

_NAME = "openai-responses"


def responses_address(base_url: str) -> str:
    """Where to send a request, below the base of a server."""
    return endpoint(base_url, "/responses")


def ask_body(ask: Ask, model: str | None) -> dict[str, Any]:
    """The body of a request for a question."""
    made: dict[str, Any] = {} if model is None else {"model": model}
    made |= {"input": [item for message in ask.messages for item in _items(message)], "store": False}
    if before := [message["content"] for message in ask.messages if message["role"] == "system"]:
        made["instructions"] = "\n\n".join(before)
    included = []
    if ask.top_logprobs:
        made["top_logprobs"] = ask.top_logprobs
        included.append("message.output_text.logprobs")
    if ask.tools:
        made["tools"] = for_responses(ask.tools)
        included.append("reasoning.encrypted_content")  # to go on after a call; nothing is kept there
    if included:
        made["include"] = included
    if ask.schema is not None:
        made["text"] = {"format": {"type": "json_schema", **schema_format(ask.schema)}}
    if ask.temperature is not None:
        made["temperature"] = ask.temperature
    if ask.max_tokens is not None:
        made["max_output_tokens"] = ask.max_tokens
    return laid_over(made, ask.options)


def _items(message: Mapping[str, Any]) -> list[Any]:
    role, content = message["role"], message.get("content")
    if role == "system":
        return []
    if role == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": content}]
    if (said := own_parts(message, _NAME)) is not None:
        return said
    calls = [
        {"type": "function_call", "call_id": identity, "name": name, "arguments": arguments}
        for identity, name, arguments in calls_of(message)
    ]
    return [*([{"role": role, "content": content}] if content else []), *calls]


RESPONSES = CHAT._replace(
    name=_NAME,
    address=lambda base_url, _: responses_address(base_url),
    body=ask_body,
    words={
        "temperature": "temperature",
        "max_output_tokens": "max_tokens",
        "top_logprobs": "top_logprobs",
        "include": "top_logprobs",
        "text": "schema",
    },
    lacks=frozenset({"seed"}),
)
