"""Gemini's Live API: a session over a WebSocket (`BidiGenerateContent`), sound in pieces, messages back.

The session is set up first and nothing is sent until the server says that it is ready. Then the sound goes out, followed
by `audioStreamEnd`, and the server finds the end of the request by itself. With `automatic_detection=False` we say when
it begins and ends (`activityStart`, `activityEnd`), so that a pause does not cut it in two.

The answer is whole at the first `toolCall`, since the server then waits for results, or at `turnComplete`, when it has
said all and called nothing. A turn that was interrupted by more speech is not the answer; the next one is.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from calipers.errors import AgentConnectionError
from calipers.voice.audio import Audio
from calipers.voice.parsers import GeminiResponseParser
from calipers.voice.parsers.draft import is_list, read
from calipers.voice.response import AgentResponse

from .conversation import Conversation, answered
from .gemini_generate import KEY_VARIABLES
from .model_agent import LiveAgent, socket_address
from .provider import laid_over
from .request import check_audio, check_chunk, check_text
from .sound import as_pcm, paced, text_of
from .tool_declarations import for_gemini

BASE_URL = "wss://generativelanguage.googleapis.com"
SAMPLE_RATE = 16000
"""What the server hears best: 16-bit frames of one channel at this rate."""
_PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"


@dataclass(repr=False, eq=False)
class GeminiLiveAgent(LiveAgent):
    """A model of Google's that hears as one speaks: a Live session for each request."""

    _home = BASE_URL
    _key_variables = KEY_VARIABLES
    _key_header = ("x-goog-api-key", "")
    _usual_parser = GeminiResponseParser

    base_url: str = field(default=BASE_URL, kw_only=True)
    """Where the server is; at any but Google's own, the key may be missing."""
    automatic_detection: bool = field(default=True, kw_only=True)
    """Whether the server finds the beginning and end of speech; otherwise we tell it."""
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
        pcm = as_pcm(check_audio(audio), SAMPLE_RATE)
        return await self._converse(self._spoken(pcm), pcm.duration)

    async def run_text(self, text: str) -> AgentResponse:
        """What the model does about what it reads.

        Raises:
            AgentError: it gave no answer.
        """
        return await self._converse(self._written(check_text(text)), 0.0)

    def setup_message(self) -> dict[str, Any]:
        """The first message: what the session is to be."""
        setup: dict[str, Any] = {
            "model": f"models/{self.model.removeprefix('models/')}",
            "generationConfig": {"responseModalities": [self.modality]},
        }
        if self.tools:
            setup["tools"] = for_gemini(self.tools)
        if self.instructions is not None:
            setup["systemInstruction"] = {"parts": [{"text": self.instructions}]}
        if not self.automatic_detection:
            setup["realtimeInputConfig"] = {"automaticActivityDetection": {"disabled": True}}
        if self.transcribe:
            setup["inputAudioTranscription"] = {}
            if self.modality == "AUDIO":
                setup["outputAudioTranscription"] = {}
        return {"setup": laid_over(setup, self.setup)}

    async def _spoken(self, audio: Audio) -> AsyncIterator[dict[str, Any]]:
        if not self.automatic_detection:
            yield {"activityStart": {}}
        async for piece in paced(audio, self.chunk_ms, realtime=self.realtime):
            yield {"audio": {"data": text_of(piece), "mimeType": f"audio/pcm;rate={SAMPLE_RATE}"}}
        yield {"audioStreamEnd": True} if self.automatic_detection else {"activityEnd": {}}

    @staticmethod
    async def _written(text: str) -> AsyncIterator[dict[str, Any]]:
        yield {"turns": [{"role": "user", "parts": [{"text": text}]}], "turnComplete": True}

    async def _converse(self, inputs: AsyncIterator[dict[str, Any]], spoken_seconds: float) -> AgentResponse:
        turn = _Turn()

        async def send(conversation: Conversation) -> None:
            await conversation.send(self.setup_message())
            await turn.ready.wait()
            async for each in inputs:
                await conversation.send({"clientContent" if "turns" in each else "realtimeInput": each})

        url = socket_address(self.base_url) + _PATH
        conversation = self._conversation(url, spoken_seconds, kept=_without_sound)
        try:
            return await answered(conversation, send, turn.is_complete, self._reader())
        except AgentConnectionError as error:
            if turn.going_away:
                error.args = (f"{error}; it had announced that (goAway)",)
            raise


class _Turn:
    """How far the server is."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        self.going_away = False
        self._interrupted = False

    def is_complete(self, message: Any) -> bool:
        if read(message, "setupComplete", "setup_complete") is not None:
            self.ready.set()
        if read(message, "goAway", "go_away") is not None:
            self.going_away = True
        if read(message, "toolCall", "tool_call") is not None:
            return True
        content = read(message, "serverContent", "server_content")
        if read(content, "interrupted") is True:
            self._interrupted = True
        if read(content, "turnComplete", "turn_complete") is not True:
            return False
        ended, self._interrupted = not self._interrupted, False
        return ended


def _without_sound(message: Any) -> Any:
    """The message with the sound in it taken out: an hour of speech is no part of a report."""
    parts = read(read(read(message, "serverContent", "server_content"), "modelTurn", "model_turn"), "parts")
    for part in parts if is_list(parts) else ():
        data = read(part, "inlineData", "inline_data")
        if isinstance(data, dict) and isinstance(data.get("data"), str):
            data["data"] = f"<{len(data['data'])} characters of base64>"
    return message
