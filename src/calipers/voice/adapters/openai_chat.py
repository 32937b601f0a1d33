"""OpenAI's chat completions with sound as input, and every server that speaks the same protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from calipers.http.concealment import shown_address
from calipers.http.request import Request
from calipers.voice.audio import Audio
from calipers.voice.parsers import OpenAIResponseParser
from calipers.voice.protocols import ResponseParser
from calipers.voice.response import AgentResponse

from .answer import Asked, AskedBySDK, answer_to, read_answer
from .provider import ask_sdk, key_for, laid_over
from .request import as_json, check_audio, check_text, endpoint
from .showing import shown_agent
from .sound import as_file, text_of
from .tool_declarations import Tools, for_chat

BASE_URL = "https://api.openai.com/v1"
"""Where OpenAI is."""
KEY_VARIABLES = ("OPENAI_API_KEY",)
"""Where its key is looked for in the environment."""


@dataclass(repr=False, eq=False)
class OpenAIAgent:
    """A model of OpenAI's that hears: `POST /chat/completions` with an `input_audio` part.

    Sound travels as WAV, with one header, or as MP3 if that is what it is.
    """

    model: str
    """Which model, such as `gpt-audio`."""
    tools: Tools = field(default=(), kw_only=True)
    """What it may call, in any provider's shape."""
    instructions: str | None = field(default=None, kw_only=True)
    """The system message."""
    options: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """Further fields of the request, such as `temperature` and `tool_choice`; they win over ours."""
    api_key: str | None = field(default=None, kw_only=True, repr=False)
    """The key; default: `OPENAI_API_KEY` of the environment."""
    base_url: str = field(default=BASE_URL, kw_only=True)
    """Where the server is; at any but OpenAI's own, the key may be missing."""
    headers: Mapping[str, str] | None = field(default=None, kw_only=True, repr=False)
    """Further headers."""
    parser: ResponseParser | None = field(default=None, kw_only=True)
    """Reads the answer; default: `OpenAIResponseParser()`."""
    timeout: float | None = field(default=60.0, kw_only=True)
    """Seconds for the whole exchange; `None` waits for ever."""
    client: Any = field(default=None, kw_only=True, repr=False)
    """Your own `httpx.AsyncClient`, `aiohttp.ClientSession` or `openai.AsyncOpenAI`; the latter brings its own key and address."""

    async def run(self, audio: Audio) -> AgentResponse:
        """What the model does about what it hears.

        Raises:
            AgentError: it gave no answer.
        """
        data, form = as_file(check_audio(audio), ("mp3",))
        part = {"type": "input_audio", "input_audio": {"data": text_of(data), "format": form}}
        return await self._ask([part])

    async def run_text(self, text: str) -> AgentResponse:
        """What the model does about what it reads. Some of OpenAI's audio models refuse requests without sound.

        Raises:
            AgentError: it gave no answer.
        """
        return await self._ask(check_text(text))

    def request(self, content: Any) -> dict[str, Any]:
        """The body of a request with this content of the user's message."""
        messages = [{"role": "user", "content": content}]
        if self.instructions is not None:
            messages.insert(0, {"role": "system", "content": self.instructions})
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        if self.tools:
            body["tools"] = for_chat(self.tools)
        return laid_over(body, self.options)

    async def _ask(self, content: Any) -> AgentResponse:
        start, body = perf_counter(), self.request(content)
        url = endpoint(self.base_url, "/chat/completions")
        if hasattr(self.client, "chat"):
            asked: Asked = AskedBySDK(shown_address(url), [self.api_key] if self.api_key else [])
            create = self.client.chat.completions.create
            raw = await ask_sdk(lambda: create(**body), seconds=self.timeout, secrets=asked.secrets)
        else:
            key = key_for(self.api_key, KEY_VARIABLES, needed=self.base_url == BASE_URL)
            headers = {**({"Authorization": f"Bearer {key}"} if key else {}), **(self.headers or {})}
            asked = request = Request(url, "POST", headers, as_json(body), timeout=self.timeout, api_key=key)
            raw = await answer_to(request, self.client)
        response = read_answer(self.parser or OpenAIResponseParser(), raw, asked)
        response.timings.setdefault("done", perf_counter() - start)
        return response

    def __repr__(self) -> str:
        return shown_agent(self)
