"""OpenAI's models that hear: by chat completions, or in a Realtime session. Servers that speak the same protocols work, too.

**Realtime.** The request is over when the agent says so (`input_audio_buffer.commit`, `response.create`), not when the server
believes it hears a pause: turn detection is off, so that the same sound always is the same request. With `turn_detection` the
server decides, and a second of silence is sent after the sound so that it can.

`calipers.models.openai_realtime.RealtimeAnswer` says when the answer is whole. An `error` event ends the run:
a session that is not set up as asked would measure something else.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from calipers.models import openai, openai_realtime
from calipers.models.model_request import Sound
from calipers.models.openai_realtime import OPENAI_REALTIME, SAMPLE_RATE
from calipers.voice.audio import Audio
from calipers.voice.parsers import OpenAIResponseParser
from calipers.voice.response import AgentResponse

from .model_agent import ChatAgent, LiveAgent
from .remote_agent import paced
from .socket_session import SocketSession


@dataclass(repr=False, eq=False)
class OpenAIAgent(ChatAgent):
    """A model of OpenAI's that hears: `POST /chat/completions` with an `input_audio` part.

    Sound travels as WAV, with one header, or as MP3 if that is what it is. Some of the models refuse requests without sound.
    """

    _provider = openai.OPENAI
    _usual_parser = OpenAIResponseParser
    _formats = ("mp3",)

    base_url: str = field(default=openai.OPENAI.home, kw_only=True)
    """Where the server is; at any but OpenAI's own, the key may be missing."""

    async def _ask(self, content: Sound | str) -> AgentResponse:
        body = openai.body(self._messages(content), model=self.model, tools=self.tools, options=self.options)
        client = self.client
        by_sdk = (lambda: openai.ask_client(client, body)) if openai.is_sdk_client(client) else None
        return await self._answer(openai.chat_address(self.base_url), body, by_sdk=by_sdk)


@dataclass(repr=False, eq=False)
class OpenAIRealtimeAgent(LiveAgent):
    """A model of OpenAI's that hears while you speak: a Realtime session for each request."""

    _provider = OPENAI_REALTIME
    _usual_parser = OpenAIResponseParser
    _sample_rate = SAMPLE_RATE

    base_url: str = field(default=OPENAI_REALTIME.home, kw_only=True)
    """Where the server is; at any but OpenAI's own, the key may be missing."""
    turn_detection: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """How the server finds the end of the request, such as `{"type": "server_vad"}`; `None`: the agent sends it."""
    transcription: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """How the server writes down what it hears, such as `{"model": "whisper-1"}`; the agent then waits for it."""
    session: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """Further fields of the session; they win over ours."""

    async def _events(self, request: Audio | str) -> AsyncIterator[dict[str, Any]]:
        end: Iterable[dict[str, Any]] = ()
        if isinstance(request, str):
            end = openai_realtime.ask_text(request)
        else:
            async for piece in paced(request, self.chunk_ms, realtime=self.realtime):
                yield openai_realtime.append_sound(piece)
            if self.turn_detection is None:
                end = openai_realtime.end_sound()
        for event in end:
            yield event

    async def _converse(self, request: Audio | str) -> AgentResponse:
        is_spoken = isinstance(request, Audio)
        if isinstance(request, Audio) and self.turn_detection is not None:
            request += Audio.silence(1.0, sample_rate=SAMPLE_RATE)
        first = openai_realtime.session_update(
            instructions=self.instructions,
            tools=self.tools,
            turn_detection=self.turn_detection,
            transcription=self.transcription,
            session=self.session,
        )

        async def send(session: SocketSession) -> None:
            await session.send(first)
            async for event in self._events(request):
                await session.send(event)

        url = openai_realtime.session_address(self.base_url, self.model)
        session = self._socket_session(url, request, kept=openai_realtime.without_sound)
        answer = openai_realtime.RealtimeAnswer(
            session.address,
            session.secrets,
            transcribed=is_spoken and self.transcription is not None,
            detects=self.turn_detection is not None,
        )
        return await session.ask(send, answer.is_complete, self._reader())
