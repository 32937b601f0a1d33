"""How likely a language model finds a text that someone else wrote: what realism and perplexity are made of.

| model | how it is asked |
|---|---|
| `local:smollm2`, `local:PATH` | in this process, token by token |
| the address of a server | `POST /completions` with `echo`, which gives the prompt back with its log-probabilities: vLLM, SGLang |
| `openai:NAME` | the same; OpenAI gives them for its base models alone |
| an object with an async method `text_likelihood(text)` | by that |

A model behind a chat alone, such as those of Anthropic and Gemini, tells how likely its own words are, and not how likely a text is.

The text stands behind `User:`, as it would in the transcript of a conversation. The words before it do not count.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, fsum
from typing import Any, Final

from calipers.data.argument_checks import is_number
from calipers.errors import InvalidOptionError, ModelRequestError

from .model import Ask, as_model
from .model_answer import Completion, is_list, read
from .model_request import endpoint
from .openai import CHAT, COMPATIBLE_CHAT, read_answer
from .remote_model import RemoteModel
from .wire_format import WireFormat

BEFORE: Final = "User:"
"""What stands before a text."""
_FIRST_TOKENS: Final = 8
"""Among so many tokens what stands before the text has its end."""
_MOST: Final = 700.0
"""A perplexity with a higher logarithm is not a number."""
_LEAST: Final = -100.0
"""The log-probability of a token that the server finds too unlikely to tell."""


@dataclass(frozen=True, slots=True)
class TextLikelihood:
    """How likely a model finds a text."""

    log_likelihood: float
    """The sum of the log-probabilities of its tokens, in nats. The longer a text, the lower it is."""
    tokens: int
    """How many tokens the text has."""

    @property
    def surprise(self) -> float:
        """The mean of `-log p` over the tokens, in nats: comparable over lengths."""
        return -self.log_likelihood / self.tokens

    @property
    def perplexity(self) -> float:
        """Among how many equally likely tokens the model would have had to choose, on average."""
        return exp(min(self.surprise, _MOST))


async def text_likelihood(model: Any, text: str) -> TextLikelihood:
    """How likely a model finds a text.

    Args:
        model: as `as_model` takes it.
        text: not blank.

    Raises:
        InvalidOptionError: the model cannot tell, or the text is blank.
        ModelRequestError: the text is too long, or the server does not tell.
        ModelError: there is no answer.
    """
    if not text.strip():
        raise InvalidOptionError("a blank text has no tokens, so it has no likelihood")
    known = model if hasattr(model, "text_likelihood") else as_model(model)
    if isinstance(known, RemoteModel):
        known = _EchoModel(
            known.name,
            base_url=known.base_url,
            key_variable=known.key_variable,
            headers=known.headers,
            timeout=known.timeout,
            deadline=known.deadline,
            retry=known.retry,
            client=known.client,
        )
    asked = getattr(known, "text_likelihood", None)
    if asked is None:
        raise InvalidOptionError(
            f"{known.name} cannot tell how likely a text is: give local:smollm2, the address of a server that echoes prompts with their "
            "log-probabilities, such as vLLM, or an object with a method text_likelihood(text)"
        )
    found = await asked(text)
    if not isinstance(found, TextLikelihood) or found.tokens < 1:
        raise InvalidOptionError(
            f"text_likelihood(text) gives a TextLikelihood of at least one token, got {found!r:.200}"
        )
    return found


class _EchoModel(RemoteModel):
    """A server that is asked for the prompt back, with its log-probabilities."""

    def _format_and_model(self) -> tuple[WireFormat, str | None]:
        wire, model = super()._format_and_model()
        if wire.address is not CHAT.address:
            raise InvalidOptionError(
                f"{self.name} cannot tell how likely a text is: {wire.name} gives log-probabilities of the model's own words alone. "
                "Give local:smollm2, or the address of a server that echoes prompts, such as vLLM"
            )
        return (_ECHO if wire is COMPATIBLE_CHAT else _ECHO._replace(provider=wire.provider)), model

    async def text_likelihood(self, text: str) -> TextLikelihood:
        """How likely the model finds a text.

        Raises:
            ModelRequestError: the server does not give the log-probabilities of a prompt.
            ModelError: there is no answer.
        """
        answer = await self.ask(Ask(messages=[{"role": "user", "content": _prompt_of(text)}], top_logprobs=1))
        found = _text_logprobs(answer)
        if not found:
            raise ModelRequestError(
                f"{self.name}: the server did not give the log-probabilities of the prompt (echo): vLLM and SGLang do, and "
                "local:smollm2 needs no server"
            )
        return TextLikelihood(fsum(found), len(found))


def _prompt_of(text: str) -> str:
    return f"{BEFORE} {text.strip()}"


def _text_logprobs(answer: Completion) -> list[float]:
    """The log-probabilities of the tokens between `User:` and what the model goes on with; none where they are not all there.

    Places of tokens (`text_offset`) do not tell: SGLang has none, and those of vLLM count a mark at the beginning that is not in the text.
    """
    choices = read(answer.raw, "choices")
    told = read(choices[0], "logprobs") if is_list(choices) and choices else None
    tokens, logprobs = read(told, "tokens"), read(told, "token_logprobs")
    if not is_list(tokens) or not is_list(logprobs) or len(tokens) != len(logprobs):
        return []
    begins, said = 0, ""
    for number, token in enumerate(tokens[:_FIRST_TOKENS], 1):
        said += str(token)
        if said.endswith(BEFORE):
            begins = number
            break
    ends = len(tokens) - 1
    if answer.usage is not None and answer.usage.input in {len(tokens), len(tokens) - 1}:
        ends = answer.usage.input
    found = logprobs[begins:ends]
    if not begins or not all(map(is_number, found)):
        return []
    return [min(max(float(each), _LEAST), 0.0) for each in found]


def _body(ask: Ask, model: str | None) -> dict[str, Any]:
    made: dict[str, Any] = {} if model is None else {"model": model}
    # A server may take no tokens at all for as many as it likes.
    more = {"max_tokens": 1, "echo": True, "logprobs": ask.top_logprobs, "temperature": 0}
    return {**made, "prompt": ask.messages[-1]["content"], **more}


def _read(raw: Any) -> Completion:
    """The answer as that of a chat; its log-probabilities stay in `raw`."""
    choices = read(raw, "choices")
    if not isinstance(raw, Mapping) or not is_list(choices) or not choices:
        return read_answer(raw)
    said = {
        "message": {"content": read(choices[0], "text")},
        "finish_reason": "stop",
    }  # it was asked for no more
    found = read_answer({**raw, "choices": [said]})
    found.raw = raw
    return found


_ECHO: Final = COMPATIBLE_CHAT._replace(
    name="completions",
    address=lambda base_url, _: endpoint(base_url, "/completions"),
    body=_body,
    read=_read,
    words={},
)
