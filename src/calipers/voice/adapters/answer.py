"""From what a server sent to an `AgentResponse`, or to the error that there is none."""

from typing import Any, NamedTuple, Protocol

import msgspec

from calipers.data.redaction import without
from calipers.errors import AgentReplyError, AgentTimeoutError
from calipers.models.http_request import Request
from calipers.models.request_redaction import shown_text
from calipers.voice.protocols import ResponseParser
from calipers.voice.response import AgentResponse


def decoded(data: str | bytes) -> Any:
    """The JSON that a server sent; anything else stays as it is: text, or sound."""
    if isinstance(data, bytes) and data.lstrip()[:1] not in (b"{", b"["):
        return data
    try:
        return msgspec.json.decode(data)
    except Exception:
        return data


async def answer_to(request: Request, client: Any) -> Any:
    """What came back over HTTP: its JSON, or its text.

    Raises:
        AgentError: there is no answer; its class says why.
    """
    try:
        reply = await request.send(client)
    except AgentTimeoutError as error:
        error.response = AgentResponse(timed_out=True)
        raise
    if (refusal := request.refusal(reply)) is not None:
        refusal.response = AgentResponse(raw=without(reply.text, request.secrets))
        raise refusal
    found = decoded(reply.body)
    return reply.text if isinstance(found, bytes) else found


class Asked(Protocol):
    """Who was asked."""

    @property
    def address(self) -> str:
        """Where, as messages may show it."""
        ...

    @property
    def secrets(self) -> list[str]:
        """What no message may show."""
        ...


class AskedBySDK(NamedTuple):
    """Who was asked, by the client of an SDK."""

    address: str
    secrets: list[str]


def parsed(parser: ResponseParser, raw: Any, asked: Asked) -> AgentResponse:
    """What a parser reads.

    Raises:
        AgentReplyError: it found no answer; the error has what it did find.
    """
    response = parser.parse(raw)
    if (said := getattr(response, "no_answer", None)) is not None:
        raise AgentReplyError(shown_text(f"{asked.address}: {said}", asked.secrets), response=response)
    return response
