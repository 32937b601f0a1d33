"""Gemini by request: `generateContent` with sound as inline data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from urllib.parse import quote

from calipers.http.concealment import shown_address
from calipers.http.request import Request
from calipers.voice.audio import Audio
from calipers.voice.parsers import GeminiResponseParser
from calipers.voice.protocols import ResponseParser
from calipers.voice.response import AgentResponse

from .answer import Asked, AskedBySDK, answer_to, read_answer
from .provider import ask_sdk, key_for, laid_over
from .request import as_json, check_audio, check_text, endpoint
from .showing import shown_agent
from .sound import MIME_TYPES, as_file, text_of
from .tool_declarations import Tools, for_gemini

BASE_URL = "https://generativelanguage.googleapis.com"
KEY_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
"""Where its key is looked for in the environment."""


@dataclass(repr=False, eq=False)
class GeminiAgent:
    """A model of Google's that hears: `POST /v1beta/models/…:generateContent`.

    Sound travels as WAV, with one header, or as MP3, Ogg or FLAC if that is what it is.
    """

    model: str
    """Which model, such as `gemini-2.5-flash`."""
    tools: Tools = field(default=(), kw_only=True)
    """What it may call, in any provider's shape."""
    instructions: str | None = field(default=None, kw_only=True)
    """The system instruction."""
    options: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """Further fields of the request, such as `generationConfig`; of the client's `config` where you give one."""
    api_key: str | None = field(default=None, kw_only=True, repr=False)
    """The key; default: `GEMINI_API_KEY` or `GOOGLE_API_KEY` of the environment."""
    base_url: str = field(default=BASE_URL, kw_only=True)
    """Where the server is; at any but Google's own, the key may be missing."""
    headers: Mapping[str, str] | None = field(default=None, kw_only=True, repr=False)
    """Further headers."""
    parser: ResponseParser | None = field(default=None, kw_only=True)
    """Reads the answer; default: `GeminiResponseParser()`."""
    timeout: float | None = field(default=60.0, kw_only=True)
    """Seconds for the whole exchange; `None` waits for ever."""
    client: Any = field(default=None, kw_only=True, repr=False)
    """Your own `httpx.AsyncClient`, `aiohttp.ClientSession` or `google.genai.Client`; the latter brings its own key and address."""

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
        start, body = perf_counter(), self.request(part)
        name = quote(self.model.removeprefix("models/"), safe="")
        url = endpoint(self.base_url, f"/v1beta/models/{name}:generateContent")
        if hasattr(self.client, "aio"):
            asked: Asked = AskedBySDK(shown_address(url), [self.api_key] if self.api_key else [])
            raw = await ask_sdk(lambda: self._ask_client(body), seconds=self.timeout, secrets=asked.secrets)
        else:
            key = key_for(self.api_key, KEY_VARIABLES, needed=self.base_url == BASE_URL)
            headers = {**({"x-goog-api-key": key} if key else {}), **(self.headers or {})}
            asked = request = Request(url, "POST", headers, as_json(body), timeout=self.timeout, api_key=key)
            raw = await answer_to(request, self.client)
        response = read_answer(self.parser or GeminiResponseParser(), raw, asked)
        response.timings.setdefault("done", perf_counter() - start)
        return response

    def _ask_client(self, body: dict[str, Any]) -> Any:
        contents = body.pop("contents")
        config = laid_over(body, self.options)
        return self.client.aio.models.generate_content(model=self.model, contents=contents, config=config)

    def __repr__(self) -> str:
        return shown_agent(self)
