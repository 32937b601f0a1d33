"""An agent behind an HTTP address: one request, one JSON answer."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec

from calipers.voice.audio import Audio
from calipers.voice.parsers import JsonResponseParser
from calipers.voice.protocols import ResponseParser
from calipers.voice.response import AgentResponse

from . import sound
from .answer import decoded_body, read_answer
from .http_request import Clients, Request
from .request import check_audio, check_text
from .showing import shown_address, shown_agent

if TYPE_CHECKING:
    import httpx


@dataclass(repr=False, eq=False)
class HttpAgent:
    """Posts a request to an address and reads the calls in its JSON answer.

    By default the body is `{"audio": "<base64>", "format": "wav"}`, or `{"text": …}` for a text, and the answer
    `{"tool_calls": [{"name": …, "arguments": {…}}]}`. `async with agent:` keeps its connections open in between.
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
    """Seconds for the whole exchange; `None` waits for ever."""
    client: "httpx.AsyncClient | None" = field(default=None, kw_only=True, repr=False)
    """Your own client, such as one with an `ASGITransport`; you close it."""
    _clients: Clients = field(default_factory=Clients, init=False, repr=False)
    _held: AsyncExitStack = field(default_factory=AsyncExitStack, init=False, repr=False)

    async def run(self, audio: Audio) -> AgentResponse:
        """What the agent does about what it hears.

        Raises:
            AgentError: it gave no answer.
        """
        audio = check_audio(audio)
        if self.sample_rate is not None:
            audio = sound.as_pcm(audio, self.sample_rate)
        data, form = sound.as_file(audio, ("mp3", "ogg", "flac"))
        fields = dict(self.extra_fields or {})
        if self.format_field is not None:
            fields[self.format_field] = form
        if self.body == "json":
            return await self._ask({self.audio_field: sound.text_of(data), **fields})
        file = (f"request.{form}", data, sound.MIME_TYPES[form])
        return await self._ask(form={"data": _form(fields), "files": {self.audio_field: file}})

    async def run_text(self, text: str) -> AgentResponse:
        """What the agent does about what it reads.

        Raises:
            AgentError: it gave no answer.
        """
        fields = {self.text_field: check_text(text), **(self.extra_fields or {})}
        if self.body == "json":
            return await self._ask(fields)
        # A part without a file name is an ordinary field of a form: httpx makes a form multipart only for files.
        return await self._ask(form={"files": {name: (None, value) for name, value in _form(fields).items()}})

    async def _ask(self, body: Any = None, *, form: Mapping[str, Any] | None = None) -> AgentResponse:
        start = perf_counter()
        request = Request(self.url, self.method, self.headers, self.timeout, body, form)
        raw = decoded_body(await request.send(self._clients, self.client))
        response = read_answer(
            self.parser or JsonResponseParser(),
            raw,
            address=shown_address(self.url),
            secrets=request.secrets,
        )
        response.timings.setdefault("done", perf_counter() - start)
        return response

    async def __aenter__(self) -> Self:
        if self.client is None:
            await self._held.enter_async_context(self._clients.kept_open())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._held.aclose()

    def __repr__(self) -> str:
        return shown_agent(self)


def _form(fields: Mapping[str, Any]) -> dict[str, str]:
    """Fields of a form are text; what is none is written as JSON."""
    return {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for name, value in fields.items()
    }
