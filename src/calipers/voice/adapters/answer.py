"""From what a server sent to an `AgentResponse`, or to the error that there is none."""

from typing import Any

import msgspec

from calipers.errors import AgentReplyError
from calipers.voice.protocols import ResponseParser
from calipers.voice.response import AgentResponse

from .showing import shown_text


def decoded(data: str | bytes) -> Any:
    """The JSON that a server sent; what is none stays as it is: text, or sound."""
    if isinstance(data, bytes) and data.lstrip()[:1] not in (b"{", b"["):
        return data
    try:
        return msgspec.json.decode(data)
    except Exception:
        return data


def decoded_body(data: bytes) -> Any:
    """The JSON of an HTTP answer, or its text."""
    found = decoded(data)
    return found.decode(errors="replace") if isinstance(found, bytes) else found


def read_answer(parser: ResponseParser, raw: Any, *, address: str, secrets: list[str]) -> AgentResponse:
    """What a parser finds.

    Raises:
        AgentReplyError: it found no answer; with what it did find.
    """
    response = parser.parse(raw)
    for problem in getattr(response, "problems", ()):
        if problem.kind == "no_answer":
            said = "; ".join(each.message for each in response.problems)
            raise AgentReplyError(shown_text(f"{address}: {said}", secrets), response=response)
    return response
