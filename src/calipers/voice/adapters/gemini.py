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
from .remote_agent import paced
from .socket_session import SocketSession


@dataclass(repr=False, eq=False)
class GeminiAgent(ChatAgent):
    """A model of Google's that hears: `POST /v1beta/models/…:generateContent`.

    Sound travels as WAV, with one header, or as MP3, Ogg or FLAC if that is what it is.
    """

    _provider = GEMINI
    _usual_parser = GeminiResponseParser
    _formats = ("mp3", "ogg", "flac")

    base_url: str = field(default=GEMINI.home, kw_only=True)
    """Where the server is; at any but Google's own, the key may be missing."""

    async def _ask(self, content: Sound | str) -> AgentResponse:
        for_sdk = gemini.is_sdk_client(self.client)
        body = gemini.body(self._messages(content), tools=self.tools, options=self.options, for_sdk=for_sdk)
        by_sdk = (lambda: gemini.ask_client(self.client, self.model, body)) if for_sdk else None
        return await self._answer(gemini.generate_address(self.base_url, self.model), body, by_sdk=by_sdk)


@dataclass(repr=False, eq=False)
class GeminiLiveAgent(LiveAgent):
    """A model of Google's that hears while you speak: a Live session for each request."""

    _provider = GEMINI_LIVE
    _usual_parser = GeminiResponseParser
    _sample_rate = LIVE_SAMPLE_RATE

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

    async def _inputs(self, request: Audio | str) -> AsyncIterator[dict[str, Any]]:
        if isinstance(request, str):
            yield gemini.live_text(request)
            return
        if not self.automatic_detection:
            yield gemini.live_start()
        async for piece in paced(request, self.chunk_ms, realtime=self.realtime):
            yield gemini.live_sound(piece)
        yield gemini.live_end(automatic_detection=self.automatic_detection)

    async def _converse(self, request: Audio | str) -> AgentResponse:
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
            async for each in self._inputs(request):
                await session.send(each)

        url = gemini.live_address(self.base_url)
        session = self._socket_session(url, request, kept=gemini.without_sound)
        try:
            return await session.ask(send, answer.is_complete, self._reader())
        except AgentConnectionError as error:
            if answer.going_away:
                error.args = (f"{error}; it had announced that (goAway)",)
            raise
