"""OpenAI's chat completions with sound as input, and every server that speaks the same protocol."""

from dataclasses import dataclass, field
from typing import Any

from calipers.voice.audio import Audio
from calipers.voice.parsers import OpenAIResponseParser
from calipers.voice.response import AgentResponse

from .model_agent import ChatAgent
from .provider import laid_over
from .request import check_audio, check_text, endpoint
from .sound import as_file, text_of
from .tool_declarations import for_chat

BASE_URL = "https://api.openai.com/v1"
"""Where OpenAI is."""
KEY_VARIABLES = ("OPENAI_API_KEY",)
"""Where its key is looked for in the environment."""


@dataclass(repr=False, eq=False)
class OpenAIAgent(ChatAgent):
    """A model of OpenAI's that hears: `POST /chat/completions` with an `input_audio` part.

    Sound travels as WAV, with one header, or as MP3 if that is what it is.
    """

    _home = BASE_URL
    _key_variables = KEY_VARIABLES
    _key_header = ("Authorization", "Bearer ")
    _usual_parser = OpenAIResponseParser

    base_url: str = field(default=BASE_URL, kw_only=True)
    """Where the server is; at any but OpenAI's own, the key may be missing."""

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
        body = self.request(content)
        completions = self.client.chat.completions if hasattr(self.client, "chat") else None
        by_sdk = None if completions is None else lambda: completions.create(**body)
        return await self._answer(endpoint(self.base_url, "/chat/completions"), body, by_sdk=by_sdk)
