"""An agent behind an HTTP address: one request, one JSON answer."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from calipers.data.argument_checks import check_choice
from calipers.models.http_request import Request, as_json, check_address
from calipers.models.model_request import Sound, base64_bytes
from calipers.voice.audio import Audio
from calipers.voice.parsers import JsonResponseParser
from calipers.voice.protocols import ResponseParser
from calipers.voice.response import AgentResponse

from .remote_agent import RemoteAgent, answer_to, as_file, as_pcm, check_audio, check_text, parsed

if TYPE_CHECKING:
    import aiohttp
    import httpx

_PARSER = JsonResponseParser()
_JSON = "application/json"
_check_body = partial(check_choice, choices=("json", "multipart"))


@dataclass(repr=False, eq=False)
class HttpAgent(RemoteAgent):
    """Posts a request to an address and reads the calls in its JSON answer.

    By default the body is `{"audio": "<base64>", "format": "wav"}`, or `{"text": …}` for a text, and the answer
    `{"tool_calls": [{"name": …, "arguments": {…}}]}`.
    """

    url: str
    """The address."""
    parser: ResponseParser | None = field(default=None, kw_only=True)
    """Reads the answer; default: `JsonResponseParser()`."""
    method: str = field(default="POST", kw_only=True)
    """The HTTP method."""
    headers: Mapping[str, str] | None = field(default=None, kw_only=True, repr=False)
    """Sent with each request."""
    body: Literal["json", "multipart"] = field(default="json", kw_only=True)
    """How to send: JSON with the sound as base64, or a form with the sound as a file."""
    audio_field: str = field(default="audio", kw_only=True)
    """What the field of the sound is called."""
    format_field: str | None = field(default="format", kw_only=True)
    """What the field of its format is called; `None` leaves it out."""
    text_field: str = field(default="text", kw_only=True)
    """What the field of a text is called."""
    extra_fields: Mapping[str, Any] | None = field(default=None, kw_only=True, repr=False)
    """Further fields of each request."""
    sample_rate: int | None = field(default=None, kw_only=True)
    """Convert to one channel of 16 bits at this rate; `None` sends the sound as it is."""
    timeout: float | None = field(default=60.0, kw_only=True)
    """Seconds for the whole exchange; `None` for no limit."""
    client: "httpx.AsyncClient | aiohttp.ClientSession | None" = field(default=None, kw_only=True, repr=False)
    """Your own client, such as one with an `ASGITransport`; you close it."""

    async def run(self, audio: Audio) -> AgentResponse:
        """What the agent does about what it hears.

        Raises:
            AgentError: it gave no answer.
        """
        audio = check_audio(audio)
        if self.sample_rate is not None:
            audio = as_pcm(audio, self.sample_rate)
        sound = as_file(audio, ("mp3", "ogg", "flac"))
        fields = dict(self.extra_fields or {})
        if self.format_field is not None:
            fields[self.format_field] = sound.format
        if self._is_form:
            return await self._ask(as_form({self.audio_field: sound, **fields}))
        return await self._ask((as_json_with(self.audio_field, sound.data, fields), _JSON))

    async def run_text(self, text: str) -> AgentResponse:
        """What the agent does about what it reads.

        Raises:
            AgentError: it gave no answer.
        """
        fields = {self.text_field: check_text(text), **(self.extra_fields or {})}
        return await self._ask(as_form(fields) if self._is_form else (as_json(fields), _JSON))

    @property
    def _is_form(self) -> bool:
        _check_body("body", self.body)
        return self.body == "multipart"

    async def _ask(self, content: tuple[bytes, str]) -> AgentResponse:
        """What the agent does about a body of this type."""
        start = perf_counter()
        request = Request(self.url, self.method, self.headers, *content, self.timeout)
        raw = await answer_to(request, self.client)
        response = parsed(self.parser or _PARSER, raw, address=request.address, secrets=request.secrets)
        response.timings.setdefault("done", perf_counter() - start)
        return response

    def _own_checks(self) -> Mapping[str, Callable[[str, Any], object]]:
        """What the address and the body must be."""
        return {"url": lambda name, value: check_address(value, name=name), "body": _check_body}


def as_json_with(name: str, data: bytes, fields: Mapping[str, Any]) -> bytes:
    """A JSON object of bytes, as base64, and of further fields, which win where they have the same name.

    It is put together by hand: a serializer would look through, and copy, a long text that needs no escapes.
    """
    if name in fields:
        return as_json(fields)
    more = b"," if fields else b""
    return b"".join((b"{", as_json(name), b':"', base64_bytes(data), b'"', more, as_json(fields)[1:]))


def as_form(fields: Mapping[str, Any]) -> tuple[bytes, str]:
    """The body of a form (`multipart/form-data`, as browsers send files) and its content type.

    A field is a sound, which becomes a file, or text; anything else is written as JSON.
    """
    boundary = secrets.token_hex(16)
    parts = []
    for name, value in fields.items():
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_quoted(name)}"'
        if isinstance(value, Sound):
            head += f'; filename="request.{value.format}"\r\nContent-Type: {value.mime_type}'
            data = value.data
        else:
            data = value.encode() if isinstance(value, str) else as_json(value)
        parts += [head.encode(), b"\r\n\r\n", data, b"\r\n"]
    return b"".join([*parts, f"--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"


def _quoted(name: str) -> str:
    """A name inside quotes: with the escapes that browsers write."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
