"""Models of providers: what all of them have, whether they are asked by request or in a live session.

The key is sent in a header of the provider's. At its own address there must be one; at any other there may be.
"""

import asyncio
import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, ClassVar

from calipers.errors import AgentConnectionError, AgentReplyError, AgentTimeoutError
from calipers.models.http_request import Request, as_json, check_address
from calipers.models.model_request import Provider, Sound, Tools, socket_address
from calipers.models.request_redaction import shown_address, shown_text
from calipers.voice.audio import Audio
from calipers.voice.protocols import ResponseParser
from calipers.voice.response import AgentResponse

from .remote_agent import (
    RemoteAgent,
    answer_to,
    as_file,
    as_pcm,
    check_audio,
    check_chunk,
    check_text,
    parsed,
)
from .socket_session import SocketSession, check_socket_address


@dataclass(repr=False, eq=False)
class ModelAgent(RemoteAgent):
    """A model of a provider's."""

    _provider: ClassVar[Provider]
    """Who serves it."""
    _usual_parser: ClassVar[type[ResponseParser]]
    """Reads what the provider answers."""

    model: str
    """Which model."""
    tools: Tools = field(default=(), kw_only=True)
    """What it may call, in any provider's shape."""
    instructions: str | None = field(default=None, kw_only=True)
    """The system message."""
    api_key: str | None = field(default=None, kw_only=True, repr=False)
    """The key; default: that of the environment, `OPENAI_API_KEY` for OpenAI, `GEMINI_API_KEY` or `GOOGLE_API_KEY` for Google."""
    base_url: str = field(default="", kw_only=True)
    """Where the server is; at any but the provider's own, the key may be missing."""
    headers: Mapping[str, str] | None = field(default=None, kw_only=True, repr=False)
    """Further headers."""
    parser: ResponseParser | None = field(default=None, kw_only=True)
    """Reads the answer; default: the parser of the provider."""

    async def run(self, audio: Audio) -> AgentResponse:
        """What the model does about what it hears.

        Raises:
            AgentError: it gave no answer.
        """
        return await self._respond(check_audio(audio))

    async def run_text(self, text: str) -> AgentResponse:
        """What the model does about what it reads.

        Raises:
            AgentError: it gave no answer.
        """
        return await self._respond(check_text(text))

    @abstractmethod
    async def _respond(self, request: Audio | str) -> AgentResponse:
        """What the model answers to a request that was checked."""

    def _reader(self) -> ResponseParser:
        """The parser, or the usual one."""
        return self.parser or self._usual_parser()

    def _key(self) -> str | None:
        """The key, or `None` if there is none and none is needed."""
        return self._provider.key(self.api_key, base_url=self.base_url)

    def _check_key(self, _name: str, _value: Any) -> None:
        """Check that there is a key, if one is needed."""
        self._key()


@dataclass(repr=False, eq=False)
class ChatAgent(ModelAgent):
    """A model that is asked by request."""

    _formats: ClassVar[tuple[str, ...]]
    """In which sound is sent as it is; any other is sent as WAV."""

    options: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """Further fields of the request, such as its temperature; they win over ours."""
    timeout: float | None = field(default=60.0, kw_only=True)
    """Seconds for the whole exchange; `None` for no limit."""
    client: Any = field(default=None, kw_only=True, repr=False)
    """Your own `httpx.AsyncClient`, `aiohttp.ClientSession` or client of the provider's SDK, which brings its own key and address."""

    def _own_checks(self) -> Mapping[str, Callable[[str, Any], object]]:
        return {"base_url": _check_http, "api_key": self._check_key}

    async def _respond(self, request: Audio | str) -> AgentResponse:
        return await self._ask(request if isinstance(request, str) else as_file(request, self._formats))

    @abstractmethod
    async def _ask(self, content: Sound | str) -> AgentResponse:
        """What the model answers to a request."""

    def _messages(self, content: Sound | str) -> list[dict[str, Any]]:
        """The conversation: the instructions, if there are any, and the request."""
        before = [] if self.instructions is None else [{"role": "system", "content": self.instructions}]
        return [*before, {"role": "user", "content": content}]

    async def _answer(self, url: str, body: Any, *, by_sdk: Callable[[], Any] | None) -> AgentResponse:
        """What the model answers to a body.

        Args:
            url: where it is sent.
            body: what is sent.
            by_sdk: sends it by a client of the SDK; `None` if there is none.
        """
        start = perf_counter()
        if by_sdk is not None:
            address, secrets = shown_address(url), [self.api_key] if self.api_key else []
            raw = await ask_sdk(by_sdk, seconds=self.timeout, secrets=secrets)
        else:
            key = self._key()
            headers = self._provider.headers(key, self.headers)
            request = Request(url, "POST", headers, as_json(body), timeout=self.timeout, api_key=key)
            address, secrets = request.address, request.secrets
            raw = await answer_to(request, self.client)
        response = parsed(self._reader(), raw, address=address, secrets=secrets)
        response.timings.setdefault("done", perf_counter() - start)
        return response


@dataclass(repr=False, eq=False)
class LiveAgent(ModelAgent):
    """A model that hears while you speak: a session over a WebSocket for each request."""

    _sample_rate: ClassVar[int]
    """Frames per second that the model hears."""

    chunk_ms: int = field(default=100, kw_only=True)
    """The length of the pieces, in milliseconds."""
    realtime: bool = field(default=False, kw_only=True)
    """Send each piece when a speaker would have said it, instead of as fast as possible."""
    timeout: float | None = field(default=30.0, kw_only=True)
    """Seconds from the open connection to the whole answer, on top of the sound's own length if sent in real time; `None` for no limit."""
    open_timeout: float | None = field(default=10.0, kw_only=True)
    """Seconds to open the connection; `None` for no limit."""

    def _own_checks(self) -> Mapping[str, Callable[[str, Any], object]]:
        return {"base_url": _check_socket, "api_key": self._check_key}

    async def _respond(self, request: Audio | str) -> AgentResponse:
        if isinstance(request, str):
            return await self._converse(request)
        check_chunk(self.chunk_ms)
        return await self._converse(as_pcm(request, self._sample_rate))

    @abstractmethod
    async def _converse(self, request: Audio | str) -> AgentResponse:
        """What the model answers to a request."""

    def _socket_session(self, url: str, request: Audio | str, *, kept: Callable[[Any], Any]) -> SocketSession:
        """A session at an address for a request; `kept` says what to keep of a message."""
        key = self._key()
        lasts = request.duration if self.realtime and isinstance(request, Audio) else 0.0
        return SocketSession(
            url,
            headers=self._provider.headers(key, self.headers),
            api_key=key,
            open_timeout=self.open_timeout,
            timeout=self.timeout,
            spoken_seconds=lasts,
            kept=kept,
        )


def _check_http(name: str, value: Any) -> None:
    check_address(value, name=name)


def _check_socket(name: str, value: Any) -> None:
    check_socket_address(socket_address(value) if isinstance(value, str) else value, name=name)


async def ask_sdk(ask: Callable[[], Any], *, seconds: float | None, secrets: list[str]) -> Any:
    """The answer by a client of an SDK. Its errors become ours where they mean that there is no answer."""
    try:
        async with asyncio.timeout(seconds):
            found = ask()
            return await found if inspect.isawaitable(found) else found
    except Exception as error:
        kind, said = type(error).__name__, shown_text(str(error), secrets)
        status = getattr(error, "status_code", getattr(error, "code", None))
        if isinstance(error, TimeoutError) or "Timeout" in kind:
            message = f"the client did not answer in time: {said or kind}"
            raise AgentTimeoutError(message, response=AgentResponse(timed_out=True)) from error
        if isinstance(status, int):
            raise AgentReplyError(
                f"the client reported {kind} with status {status}: {said}", status=status
            ) from error
        if "Connect" in kind:
            raise AgentConnectionError(f"the client could not connect: {said}") from error
        raise
