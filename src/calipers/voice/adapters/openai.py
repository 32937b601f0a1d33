"""OpenAI's models that hear: by chat completions, or in a Realtime session. Servers that speak the same protocols work, too.

**Realtime.** The request is over when the agent says so (`input_audio_buffer.commit`, `response.create`), not when the server
believes it hears a pause: turn detection is off, so that the same sound always is the same request. With `turn_detection` the
server decides, and a second of silence is sent after the sound so that it can.

The answer is whole at `response.done`: a response may hold several calls, and words besides. A response that was cut short
because the server heard more speech is not the answer; the next one is. An `error` event ends the run: a session that was
set up otherwise than asked would measure something else.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from calipers.errors import AgentReplyError
from calipers.models import openai, openai_realtime
from calipers.models.completion import excerpt, read
from calipers.models.model_request import Sound
from calipers.models.openai_realtime import OPENAI_REALTIME, SAMPLE_RATE
from calipers.models.request_redaction import shown_text
from calipers.voice.audio import Audio
from calipers.voice.parsers import OpenAIResponseParser
from calipers.voice.response import AgentResponse

from .conversation import Conversation, answered
from .model_agent import ChatAgent, LiveAgent
from .remote_agent import as_file, as_pcm, check_audio, check_chunk, check_text, paced


@dataclass(repr=False, eq=False)
class OpenAIAgent(ChatAgent):
    """A model of OpenAI's that hears: `POST /chat/completions` with an `input_audio` part.

    Sound travels as WAV, with one header, or as MP3 if that is what it is.
    """

    _provider = openai.OPENAI
    _usual_parser = OpenAIResponseParser

    base_url: str = field(default=openai.OPENAI.home, kw_only=True)
    """Where the server is; at any but OpenAI's own, the key may be missing."""

    async def run(self, audio: Audio) -> AgentResponse:
        """What the model does about what it hears.

        Raises:
            AgentError: it gave no answer.
        """
        return await self._ask(as_file(check_audio(audio), ("mp3",)))

    async def run_text(self, text: str) -> AgentResponse:
        """What the model does about what it reads. Some of OpenAI's audio models refuse requests without sound.

        Raises:
            AgentError: it gave no answer.
        """
        return await self._ask(check_text(text))

    async def _ask(self, content: Sound | str) -> AgentResponse:
        body = openai.body(self._messages(content), model=self.model, tools=self.tools, options=self.options)
        completions = self.client.chat.completions if hasattr(self.client, "chat") else None
        by_sdk = None if completions is None else lambda: completions.create(**body)
        return await self._answer(openai.chat_address(self.base_url), body, by_sdk=by_sdk)


@dataclass(repr=False, eq=False)
class OpenAIRealtimeAgent(LiveAgent):
    """A model of OpenAI's that hears as one speaks: a Realtime session for each request."""

    _provider = OPENAI_REALTIME
    _usual_parser = OpenAIResponseParser

    base_url: str = field(default=OPENAI_REALTIME.home, kw_only=True)
    """Where the server is; at any but OpenAI's own, the key may be missing."""
    turn_detection: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """How the server finds the end of the request, such as `{"type": "server_vad"}`; `None`: the agent sends it."""
    transcription: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """How the server writes down what it hears, such as `{"model": "whisper-1"}`; the agent then waits for it."""
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

    async def _spoken(self, audio: Audio) -> AsyncIterator[dict[str, Any]]:
        async for piece in paced(audio, self.chunk_ms, realtime=self.realtime):
            yield openai_realtime.append_sound(piece)
        if self.turn_detection is None:
            for event in openai_realtime.end_sound():
                yield event

    @staticmethod
    async def _written(text: str) -> AsyncIterator[dict[str, Any]]:
        for event in openai_realtime.ask_text(text):
            yield event

    async def _converse(
        self, events: AsyncIterator[dict[str, Any]], spoken_seconds: float, *, transcribed: bool
    ) -> AgentResponse:
        first = openai_realtime.session_update(
            instructions=self.instructions,
            tools=self.tools,
            turn_detection=self.turn_detection,
            transcription=self.transcription,
            session=self.session,
        )

        async def send(conversation: Conversation) -> None:
            await conversation.send(first)
            async for event in events:
                await conversation.send(event)

        conversation = self._conversation(
            openai_realtime.session_address(self.base_url, self.model),
            spoken_seconds,
            kept=openai_realtime.without_sound,
        )
        end = _ending(conversation, transcribed=transcribed, detects=self.turn_detection is not None)
        return await answered(conversation, send, end, self._reader())


def _ending(conversation: Conversation, *, transcribed: bool, detects: bool) -> Callable[[Any], bool]:
    """Recognizes the last event of an answer."""
    seen = {"answer": False, "transcript": not transcribed}

    def is_complete(event: Any) -> bool:
        kind = read(event, "type")
        if kind == "error":
            said = shown_text(excerpt(read(event, "error")), conversation.secrets)
            raise AgentReplyError(f"{conversation.address} reported an error: {said}")
        if kind in (openai_realtime.HEARD, openai_realtime.NOT_HEARD):
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
