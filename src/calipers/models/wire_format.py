"""`WireFormat`: how one provider is asked, as data: its addresses, its request, its answer, its words for our parameters."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .model import Ask
from .model_answer import Completion
from .model_request import Provider


class WireFormat(NamedTuple):
    """How to ask a provider, and how to read what it answers."""

    name: str
    """What it is called in errors and in `Completion.parts`."""
    provider: Provider
    """Who serves it."""
    address: Callable[[str, str | None], str]
    """Where to send a request, by the base of the server and the model."""
    lookup: Callable[[str, str | None], str]
    """Where the server says which models it has, or whether it has this one."""
    body: Callable[[Ask, str | None], dict[str, Any]]
    """The request for a question to a model."""
    read: Callable[[Any], Completion]
    """The answer, of the data that came back."""
    words: Mapping[str, str]
    """The fields of an `Ask` that can be left out, by the provider's words for them."""
    lacks: frozenset[str] = frozenset()
    """The fields of an `Ask` for which there is no word at all."""
    headers: Mapping[str, str] = {}
    """What each request must carry, beside the key."""
    request_id: str = "x-request-id"
    """The header by which the provider can find a request."""


def plain_messages(ask: Ask) -> list[dict[str, Any]]:
    """The messages without what only another format can read."""
    return [{key: value for key, value in message.items() if key != "parts"} for message in ask.messages]


def own_parts(message: Mapping[str, Any], name: str) -> list[Any] | None:
    """What a model said earlier, if it said it in this format: it is sent back unchanged."""
    found = message.get("parts")
    return list(found[1]) if found is not None and found[0] == name else None


def calls_of(message: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    """The calls of an earlier answer: the id, the tool and the arguments of each, which are JSON text."""
    return [
        (call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    ]
