"""Google's models that hear: by `generateContent`, or in a Live session.

**Live.** The session is set up first, and nothing is sent until the server is ready. Then the sound goes out, followed by
`audioStreamEnd`, and the server finds the end of the request by itself. With `automatic_detection=False` the agent marks the
beginning and the end (`activityStart`, `activityEnd`), so that a pause does not cut the request in two.

`calipers.models.gemini.LiveAnswer` says when the answer is whole.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from calipers.errors import AgentConnectionError
from calipers.models import gemini
from calipers.models.gemini import GEMINI, GEMINI_LIVE, LIVE_SAMPLE_RATE
from calipers.models.model_request import Sound
from calipers.voice.audio import Audio
from calipers.voice.parsers import GeminiResponseParser
from calipers.voice.response import AgentResponse

from .model_agent import ChatAgent, LiveAgent
from .remote_agent import as_file, as_pcm, check_audio, check_chunk, check_text, paced
from .socket_session import SocketSession


@dataclass(repr=False, eq=False)
class GeminiAgent(ChatAgent):
    """A model of Google's that hears: `POST /v1beta/models/…:generateContent`.

    Sound travels as WAV, with one header, or as MP3, Ogg or FLAC if that is what it is.
    """

    _provider = GEMINI
    _usual_parser = GeminiResponseParser

    base_url: str = field(default=GEMINI.home, kw_only=True)
    """Where the server is; at any but Google's own, the key may be missing."""

    async def run(self, audio: Audio) -> AgentResponse:
        """What the model does about what it hears.

        Raises:
            AgentError: it gave no answer.
        """
        return await self._ask(as_file(check_audio(audio), ("mp3", "ogg", "flac")))

    async def run_text(self, text: str) -> AgentResponse:
        """What the model does about what it reads.

        Raises:
            AgentError: it gave no answer.
        """
        return await self._ask(check_text(text))

    async def _ask(self, content: Sound | str) -> AgentResponse:
        for_sdk = gemini.is_sdk_client(self.client)
        body = gemini.body(self._messages(content), tools=self.tools, options=self.options, for_sdk=for_sdk)
        by_sdk = (lambda: gemini.ask_client(self.client, self.model, body)) if for_sdk else None
        return await self._answer(gemini.generate_address(self.base_url, self.model), body, by_sdk=by_sdk)


@dataclass(repr=False, eq=False)
class GeminiLiveAgent(LiveAgent):
    """A model of Google's that hears as one speaks: a Live session for each request."""

    _provider = GEMINI_LIVE
    _usual_parser = GeminiResponseParser

    base_url: str = field(default=GEMINI_LIVE.home, kw_only=True)
    """Where the server is; at any but Google's own, the key may be missing."""
    automatic_detection: bool = field(default=True, kw_only=True)
    """Whether the server finds the beginning and end of speech; otherwise the agent marks them."""
    transcribe: bool = field(default=True, kw_only=True)
    """Ask for what the model heard and said as text, beside its sound."""
    modality: str = field(default="AUDIO", kw_only=True)
    """How the model answers: native-audio models only know `AUDIO`, others `TEXT`, too."""
    setup: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """Further fields of the setup; they win over ours."""

    async def run(self, audio: Audio) -> AgentResponse:
        """What the model does about what it hears.

        Raises:
            AgentError: it gave no answer.
        """
        check_chunk(self.chunk_ms)
        pcm = as_pcm(check_audio(audio), LIVE_SAMPLE_RATE)
        return await self._converse(self._spoken(pcm), pcm.duration)

    async def run_text(self, text: str) -> AgentResponse:
        """What the model does about what it reads.

        Raises:
            AgentError: it gave no answer.
        """
        return await self._converse(self._written(check_text(text)), 0.0)

    async def _spoken(self, audio: Audio) -> AsyncIterator[dict[str, Any]]:
        if not self.automatic_detection:
            yield gemini.live_start()
        async for piece in paced(audio, self.chunk_ms, realtime=self.realtime):
            yield gemini.live_sound(piece)
        yield gemini.live_end(automatic_detection=self.automatic_detection)

    @staticmethod
    async def _written(text: str) -> AsyncIterator[dict[str, Any]]:
        yield gemini.live_text(text)

    async def _converse(self, inputs: AsyncIterator[dict[str, Any]], spoken_seconds: float) -> AgentResponse:
        answer = gemini.LiveAnswer()
        first = gemini.live_setup(
            self.model,
            instructions=self.instructions,
            tools=self.tools,
            modality=self.modality,
            automatic_detection=self.automatic_detection,
            transcribe=self.transcribe,
            setup=self.setup,
        )

        async def send(session: SocketSession) -> None:
            await session.send(first)
            await answer.ready.wait()
            async for each in inputs:
                await session.send(each)

        url = gemini.live_address(self.base_url)
        session = self._socket_session(url, spoken_seconds, kept=gemini.without_sound)
        try:
            return await session.ask(send, answer.is_complete, self._reader())
        except AgentConnectionError as error:
            if answer.going_away:
                error.args = (f"{error}; it had announced that (goAway)",)
            raise
