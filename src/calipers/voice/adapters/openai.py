"""OpenAI's models that hear: by chat completions, or in a Realtime session. Servers that speak the same protocols work, too.

**Realtime.** The request is over when the agent says so (`input_audio_buffer.commit`, `response.create`), not when the server
believes it hears a pause: turn detection is off, so that the same sound always is the same request. With `turn_detection` the
server decides, and a second of silence is sent after the sound so that it can.

`calipers.models.openai_realtime.RealtimeAnswer` says when the answer is whole. An `error` event ends the run: a session that was
set up otherwise than asked would measure something else.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from calipers.models import openai, openai_realtime
from calipers.models.model_request import Sound
from calipers.models.openai_realtime import OPENAI_REALTIME, SAMPLE_RATE
from calipers.voice.audio import Audio
from calipers.voice.parsers import OpenAIResponseParser
from calipers.voice.response import AgentResponse

from .model_agent import ChatAgent, LiveAgent
from .remote_agent import as_file, as_pcm, check_audio, check_chunk, check_text, paced
from .socket_session import SocketSession


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
        client = self.client
        by_sdk = (lambda: openai.ask_client(client, body)) if openai.is_sdk_client(client) else None
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

        async def send(session: SocketSession) -> None:
            await session.send(first)
            async for event in events:
                await session.send(event)

        url = openai_realtime.session_address(self.base_url, self.model)
        session = self._socket_session(url, spoken_seconds, kept=openai_realtime.without_sound)
        answer = openai_realtime.RealtimeAnswer(
            session.address,
            session.secrets,
            transcribed=transcribed,
            detects=self.turn_detection is not None,
        )
        return await session.ask(send, answer.is_complete, self._reader())
