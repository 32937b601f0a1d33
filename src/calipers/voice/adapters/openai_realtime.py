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
from calipers.models.concealment import shown_text
from calipers.voice.audio import Audio
from calipers.voice.parsers import OpenAIResponseParser
from calipers.voice.parsers.draft import excerpt, read
from calipers.voice.response import AgentResponse

from .conversation import Conversation, answered
from .model_agent import LiveAgent, socket_address
from .openai_chat import KEY_VARIABLES
from .provider import laid_over
from .request import check_audio, check_chunk, check_text, endpoint
from .sound import as_pcm, paced, text_of
from .tool_declarations import for_realtime

BASE_URL = "wss://api.openai.com/v1"
SAMPLE_RATE = 24000
"""What the server takes: 16-bit frames of one channel at this rate."""
_HEARD = "conversation.item.input_audio_transcription."
_SOUND = ("response.output_audio.delta", "response.audio.delta")
"""Events that are not kept: they are only sound."""


@dataclass(repr=False, eq=False)
class OpenAIRealtimeAgent(LiveAgent):
    """A model of OpenAI's that hears as one speaks: a Realtime session for each request."""

    _home = BASE_URL
    _key_variables = KEY_VARIABLES
    _key_header = ("Authorization", "Bearer ")
    _usual_parser = OpenAIResponseParser

    base_url: str = field(default=BASE_URL, kw_only=True)
    """Where the server is; at any but OpenAI's own, the key may be missing."""
    turn_detection: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """How the server finds the end of the request, such as `{"type": "server_vad"}`; `None`: we tell it."""
    transcription: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """How the server writes down what it hears, such as `{"model": "whisper-1"}`; it is then waited for."""
    session: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """Further fields of the session; they win over ours."""

    async def run(self, audio: Audio) -> AgentResponse:
        """What the model does about what it hears.

        Raises:
            AgentError: it gave no answer.
        """
        check_chunk(self.chunk_ms)
        pcm = as_pcm(check_audio(audio), SAMPLE_RATE)
        if self.turn_detection is not None:
            pcm += Audio.silence(1.0, sample_rate=SAMPLE_RATE)
        return await self._converse(
            self._spoken(pcm), pcm.duration, transcribed=self.transcription is not None
        )

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

        conversation = self._conversation(
            session_address(self.base_url, self.model),
            spoken_seconds,
            kept=lambda event: None if read(event, "type") in _SOUND else event,
        )
        end = _ending(conversation, transcribed=transcribed, detects=self.turn_detection is not None)
        return await answered(conversation, send, end, self._reader())


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
