"""OpenAI's Realtime API: a session over a WebSocket, sound in pieces, events back.

The request is over when we say so (`input_audio_buffer.commit`, `response.create`), not when the server believes to hear
a pause: turn detection is off, so that the same sound always is the same request. With `turn_detection` the server
decides, and a second of silence is sent after the sound so that it can.

The answer is whole at `response.done`: a response may hold several calls, and words besides. A response that was cut
short because the server heard more speech is not the answer; the next one is. An `error` event ends the run: a session
that was set up otherwise than asked would measure something else.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from calipers.errors import AgentReplyError
from calipers.http.concealment import shown_text
from calipers.voice.audio import Audio
from calipers.voice.parsers import OpenAIResponseParser
from calipers.voice.parsers.draft import excerpt, read
from calipers.voice.protocols import ResponseParser
from calipers.voice.response import AgentResponse

from .conversation import Conversation, answered
from .openai_chat import KEY_VARIABLES
from .provider import key_for, laid_over
from .request import check_audio, check_chunk, check_text, endpoint
from .showing import shown_agent
from .sound import as_pcm, paced, text_of
from .tool_declarations import Tools, for_realtime

BASE_URL = "wss://api.openai.com/v1"
SAMPLE_RATE = 24000
"""What the server takes: 16-bit frames of one channel at this rate."""
_HEARD = "conversation.item.input_audio_transcription."
_SOUND = ("response.output_audio.delta", "response.audio.delta")
"""Events that are not kept: they are only sound."""


@dataclass(repr=False, eq=False)
class OpenAIRealtimeAgent:
    """A model of OpenAI's that hears as one speaks: a Realtime session for each request."""

    model: str
    """Which model, such as `gpt-realtime`."""
    tools: Tools = field(default=(), kw_only=True)
    """What it may call, in any provider's shape."""
    instructions: str | None = field(default=None, kw_only=True)
    """The system message."""
    turn_detection: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """How the server finds the end of the request, such as `{"type": "server_vad"}`; `None`: we tell it."""
    transcription: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """How the server writes down what it hears, such as `{"model": "whisper-1"}`; it is then waited for."""
    session: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """Further fields of the session; they win over ours."""
    chunk_ms: int = field(default=100, kw_only=True)
    """The length of the pieces, in milliseconds."""
    realtime: bool = field(default=False, kw_only=True)
    """Send each piece when a speaker would have said it, instead of as fast as possible."""
    api_key: str | None = field(default=None, kw_only=True, repr=False)
    """The key; default: `OPENAI_API_KEY` of the environment."""
    base_url: str = field(default=BASE_URL, kw_only=True)
    """Where the server is; at any but OpenAI's own, the key may be missing."""
    headers: Mapping[str, str] | None = field(default=None, kw_only=True, repr=False)
    """Further headers."""
    parser: ResponseParser | None = field(default=None, kw_only=True)
    """Reads the events; default: `OpenAIResponseParser()`."""
    response_timeout: float | None = field(default=30.0, kw_only=True)
    """Seconds from the open connection to the whole answer, on top of the sound's own length if sent in real time."""
    open_timeout: float | None = field(default=10.0, kw_only=True)
    """Seconds to open the connection."""

    async def run(self, audio: Audio) -> AgentResponse:
        """What the model does about what it hears.

        Raises:
            AgentError: it gave no answer.
        """
        check_chunk(self.chunk_ms)
        pcm = as_pcm(check_audio(audio), SAMPLE_RATE)
        if self.turn_detection is not None:
            pcm += Audio.silence(1.0, sample_rate=SAMPLE_RATE)
        spoken = pcm.duration if self.realtime else 0.0
        return await self._converse(self._spoken(pcm), spoken, transcribed=self.transcription is not None)

    async def run_text(self, text: str) -> AgentResponse:
        """What the model does about what it reads.

        Raises:
            AgentError: it gave no answer.
        """
        return await self._converse(self._written(check_text(text)), 0.0, transcribed=False)

    def session_update(self) -> dict[str, Any]:
        """The first event: what the session is to be."""
        heard: dict[str, Any] = {
            "format": {"type": "audio/pcm", "rate": SAMPLE_RATE},
            "turn_detection": self.turn_detection,
        }
        if self.transcription is not None:
            heard["transcription"] = self.transcription
        session: dict[str, Any] = {
            "type": "realtime",
            "output_modalities": ["text"],
            "audio": {"input": heard},
        }
        if self.instructions is not None:
            session["instructions"] = self.instructions
        if self.tools:
            session["tools"] = for_realtime(self.tools)
        return {"type": "session.update", "session": laid_over(session, self.session)}

    async def _spoken(self, audio: Audio) -> AsyncIterator[dict[str, Any]]:
        async for piece in paced(audio, self.chunk_ms, realtime=self.realtime):
            yield {"type": "input_audio_buffer.append", "audio": text_of(piece)}
        if self.turn_detection is None:
            yield {"type": "input_audio_buffer.commit"}
            yield {"type": "response.create"}

    @staticmethod
    async def _written(text: str) -> AsyncIterator[dict[str, Any]]:
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        yield {"type": "conversation.item.create", "item": item}
        yield {"type": "response.create"}

    async def _converse(
        self, events: AsyncIterator[dict[str, Any]], spoken_seconds: float, *, transcribed: bool
    ) -> AgentResponse:
        async def send(conversation: Conversation) -> None:
            await conversation.send(self.session_update())
            async for event in events:
                await conversation.send(event)

        key = key_for(self.api_key, KEY_VARIABLES, needed=self.base_url == BASE_URL)
        conversation = Conversation(
            session_address(self.base_url, self.model),
            headers={**({"Authorization": f"Bearer {key}"} if key else {}), **(self.headers or {})},
            api_key=key,
            open_timeout=self.open_timeout,
            timeout=self.response_timeout,
            spoken_seconds=spoken_seconds,
            kept=lambda event: None if read(event, "type") in _SOUND else event,
        )
        end = _ending(conversation, transcribed=transcribed, detects=self.turn_detection is not None)
        return await answered(conversation, send, end, self.parser or OpenAIResponseParser())

    def __repr__(self) -> str:
        return shown_agent(self)


def socket_address(base_url: str) -> str:
    """The base of an address as a WebSocket's: many know it by its name for HTTP."""
    for http, socket in (("https://", "wss://"), ("http://", "ws://")):
        if base_url.startswith(http):
            base_url = socket + base_url.removeprefix(http)
    return base_url.rstrip("/")


def session_address(base_url: str, model: str) -> str:
    """The address of a session with a model; one that names a model or deployment already stays as it is."""
    url = endpoint(socket_address(base_url), "/realtime")
    if any(f"{name}=" in url for name in ("model", "deployment")):
        return url
    return f"{url}{'&' if '?' in url else '?'}model={quote(model, safe='')}"


def _ending(conversation: Conversation, *, transcribed: bool, detects: bool) -> Callable[[Any], bool]:
    """Tells the event after which nothing more is waited for."""
    seen = {"answer": False, "transcript": not transcribed}

    def is_complete(event: Any) -> bool:
        kind = read(event, "type")
        if kind == "error":
            said = shown_text(excerpt(read(event, "error")), conversation.secrets)
            raise AgentReplyError(f"{conversation.address} reported an error: {said}")
        if kind in (f"{_HEARD}completed", f"{_HEARD}failed"):
            seen["transcript"] = True
        if kind == "response.done":
            response = read(event, "response")
            status, details = read(response, "status"), read(response, "status_details")
            interrupted = detects and status == "cancelled" and read(details, "reason") == "turn_detected"
            if status in ("failed", "cancelled") and not interrupted:
                said = shown_text(excerpt(details), conversation.secrets)
                raise AgentReplyError(f"the response of {conversation.address} ended as {status!r}: {said}")
            seen["answer"] = not interrupted
        return all(seen.values())

    return is_complete
