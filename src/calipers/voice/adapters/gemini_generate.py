"""Gemini by request: `generateContent` with sound as inline data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from calipers.voice.audio import Audio
from calipers.voice.parsers import GeminiResponseParser
from calipers.voice.response import AgentResponse

from .model_agent import ChatAgent
from .provider import laid_over
from .request import check_audio, check_text, endpoint
from .sound import MIME_TYPES, as_file, text_of
from .tool_declarations import for_gemini

BASE_URL = "https://generativelanguage.googleapis.com"
KEY_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
"""Where its key is looked for in the environment."""


@dataclass(repr=False, eq=False)
class GeminiAgent(ChatAgent):
    """A model of Google's that hears: `POST /v1beta/models/…:generateContent`.

    Sound travels as WAV, with one header, or as MP3, Ogg or FLAC if that is what it is.
    """

    _home = BASE_URL
    _key_variables = KEY_VARIABLES
    _key_header = ("x-goog-api-key", "")
    _usual_parser = GeminiResponseParser

    base_url: str = field(default=BASE_URL, kw_only=True)
    """Where the server is; at any but Google's own, the key may be missing."""

    async def run(self, audio: Audio) -> AgentResponse:
        """What the model does about what it hears.

        Raises:
            AgentError: it gave no answer.
        """
        data, form = as_file(check_audio(audio), ("mp3", "ogg", "flac"))
        if hasattr(self.client, "aio"):  # the SDK encodes bytes itself
            return await self._ask({"inline_data": {"mime_type": MIME_TYPES[form], "data": data}})
        return await self._ask({"inlineData": {"mimeType": MIME_TYPES[form], "data": text_of(data)}})

    async def run_text(self, text: str) -> AgentResponse:
        """What the model does about what it reads.

        Raises:
            AgentError: it gave no answer.
        """
        return await self._ask({"text": check_text(text)})

    def request(self, part: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a request with this part of the user's message."""
        body: dict[str, Any] = {"contents": [{"role": "user", "parts": [part]}]}
        if self.tools:
            body["tools"] = for_gemini(self.tools)
        if self.instructions is not None:
            body["systemInstruction"] = {"parts": [{"text": self.instructions}]}
        return body if hasattr(self.client, "aio") else laid_over(body, self.options)

    async def _ask(self, part: Mapping[str, Any]) -> AgentResponse:
        body = self.request(part)
        name = quote(self.model.removeprefix("models/"), safe="")
        by_sdk = (lambda: self._ask_client(body)) if hasattr(self.client, "aio") else None
        url = endpoint(self.base_url, f"/v1beta/models/{name}:generateContent")
        return await self._answer(url, body, by_sdk=by_sdk)

    def _ask_client(self, body: dict[str, Any]) -> Any:
        contents = body.pop("contents")
        config = laid_over(body, self.options)
        return self.client.aio.models.generate_content(model=self.model, contents=contents, config=config)
