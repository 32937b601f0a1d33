"""An agent behind a WebSocket: the request in one message or in a stream, the answer in as many as it takes."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

from calipers.data.argument_checks import check_choice
from calipers.errors import InvalidOptionError
from calipers.models.model_request import as_base64
from calipers.voice.audio import Audio
from calipers.voice.parsers import JsonResponseParser
from calipers.voice.protocols import ResponseParser
from calipers.voice.response import AgentResponse

from .remote_agent import RemoteAgent, as_file, as_pcm, check_audio, check_chunk, check_text, paced
from .socket_session import SocketSession, check_socket_address

Messages: TypeAlias = Iterable[Any] | AsyncIterable[Any]
"""What to send: text and bytes as they are, anything else as JSON."""


@dataclass(repr=False, eq=False)
class WebSocketAgent(RemoteAgent):
    """Sends a request over a WebSocket and reads the calls in what comes back.

    By default the request is one message, `{"audio": "<base64>", "format": "wav"}` or `{"text": …}`, and the first
    message that comes back is the answer. With `chunk_ms` the sound is streamed as bare frames.
    """

    url: str
    """The address: `ws://` or `wss://`."""
    parser: ResponseParser | None = field(default=None, kw_only=True)
    """Reads the answer; default: `JsonResponseParser()`."""
    headers: Mapping[str, str] | None = field(default=None, kw_only=True, repr=False)
    """Sent when the connection is opened."""
    send: Literal["json", "bytes"] | Callable[[Audio | str], Messages] = field(default="json", kw_only=True)
    """`json` wraps the sound as base64, `bytes` sends binary messages; a function gives the messages itself."""
    audio_field: str = field(default="audio", kw_only=True)
    """What the field of the sound is called, in JSON."""
    format_field: str | None = field(default="format", kw_only=True)
    """What the field of its format is called, in JSON; `None` leaves it out."""
    text_field: str = field(default="text", kw_only=True)
    """What the field of a text is called."""
    sample_rate: int | None = field(default=None, kw_only=True)
    """Convert to one channel of 16 bits at this rate; `None` keeps the rate."""
    chunk_ms: int | None = field(default=None, kw_only=True)
    """Stream the sound in pieces of this length, in milliseconds; `None` sends it whole."""
    realtime: bool = field(default=False, kw_only=True)
    """Send each piece when a speaker would have said it, instead of as fast as possible; needs `chunk_ms`."""
    end_message: Any = field(default=None, kw_only=True)
    """Sent after the last piece; `None` for nothing."""
    is_complete: Literal["first", "close"] | Callable[[Any], bool] = field(default="first", kw_only=True)
    """When the answer is whole: at the `first` message, when the server `close`s, or when this says so of a message."""
    aggregate: Callable[[list[Any]], Any] | None = field(default=None, kw_only=True)
    """Makes one answer of the messages for the parser; default: the message if there is one, else the list."""
    timeout: float | None = field(default=30.0, kw_only=True)
    """Seconds from the open connection to the whole answer, on top of the sound's own length if sent in real time; `None` for no limit."""
    open_timeout: float | None = field(default=10.0, kw_only=True)
    """Seconds to open the connection; `None` for no limit."""
    max_messages: int = field(default=10_000, kw_only=True)
    """An agent that sends as many without an end is an error."""
    connect_options: Mapping[str, Any] | None = field(default=None, kw_only=True, repr=False)
    """Further options of `websockets.connect`, such as `ssl` and `subprotocols`."""

    async def run(self, audio: Audio) -> AgentResponse:
        """What the agent does about what it hears.

        Raises:
            AgentError: it gave no answer.
        """
        audio = check_audio(audio)
        if self.chunk_ms is not None:
            check_chunk(self.chunk_ms)
        if self.sample_rate is not None:
            audio = as_pcm(audio, self.sample_rate)
        spoken = audio.duration if self.realtime else 0.0
        return await self._converse(audio, self._spoken(audio), spoken)

    async def run_text(self, text: str) -> AgentResponse:
        """What the agent does about what it reads.

        Raises:
            AgentError: it gave no answer.
        """
        check_text(text)
        return await self._converse(
            text, _in_turn([text if self.send == "bytes" else {self.text_field: text}]), 0.0
        )

    def _spoken(self, audio: Audio) -> AsyncIterator[Any]:
        if self.chunk_ms is None:
            data, form = as_file(audio, ("mp3", "ogg", "flac"))
            return _in_turn([self._message(data, form), self.end_message])
        return self._streamed(as_pcm(audio, self.sample_rate), self.chunk_ms)

    async def _streamed(self, audio: Audio, milliseconds: int) -> AsyncIterator[Any]:
        async for piece in paced(audio, milliseconds, realtime=self.realtime):
            yield self._message(piece, "pcm")
        yield self.end_message

    def _message(self, data: bytes, form: str) -> Any:
        if self.send == "bytes":
            return data
        fields = {self.audio_field: as_base64(data)}
        return fields if self.format_field is None else {**fields, self.format_field: form}

    async def _converse(
        self, request: Audio | str, messages: AsyncIterator[Any], spoken_seconds: float
    ) -> AgentResponse:
        _check_send("send", self.send)
        self._check_pace("realtime", self.realtime)

        async def send(session: SocketSession) -> None:
            given = self.send(request) if callable(self.send) else messages
            async for message in given if isinstance(given, AsyncIterable) else _in_turn(given):
                if message is not None:
                    await session.send(message)

        session = SocketSession(
            self.url,
            headers=self.headers,
            open_timeout=self.open_timeout,
            timeout=self.timeout,
            spoken_seconds=spoken_seconds,
            max_messages=self.max_messages,
            options=self.connect_options,
        )
        return await session.ask(send, self._is_complete(), self.parser or JsonResponseParser(), self._raw)

    def _is_complete(self) -> Callable[[Any], bool] | None:
        if callable(self.is_complete):
            return self.is_complete
        _check_complete("is_complete", self.is_complete)
        return None if self.is_complete == "close" else lambda _: True

    def _raw(self, messages: list[Any]) -> Any:
        if self.aggregate is not None:
            return self.aggregate(messages)
        return messages[0] if len(messages) == 1 else messages

    def _own_checks(self) -> Mapping[str, Callable[[str, Any], object]]:
        """What the address must be, and how to send and when to stop."""
        return {
            "url": lambda name, value: check_socket_address(value, name=name),
            "send": _check_send,
            "is_complete": _check_complete,
            "realtime": self._check_pace,
        }

    def _check_pace(self, name: str, value: Any) -> None:
        if value and self.chunk_ms is None and not callable(self.send):
            raise InvalidOptionError(
                f"{name}={value!r} sends pieces at the pace of speech: say how long one is, such as chunk_ms=100"
            )


def _check_word(name: str, value: Any, *, choices: tuple[str, ...]) -> None:
    if not callable(value) or isinstance(value, type):
        check_choice(f"{name}, unless it is a function,", value, choices)


_check_send = partial(_check_word, choices=("json", "bytes"))
_check_complete = partial(_check_word, choices=("first", "close"))


async def _in_turn(messages: Iterable[Any]) -> AsyncIterator[Any]:
    for message in messages:
        yield message
