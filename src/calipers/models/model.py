"""`Model`: what answers a question, and `Ask`: the question. `as_model` makes a model of what people have.

| given | what it is |
|---|---|
| `"openai:NAME"`, `"openai-responses:NAME"` | OpenAI's chat completions or Responses API |
| `"anthropic:NAME"`, `"gemini:NAME"` | Anthropic's messages, Gemini's `generateContent` |
| `"http://localhost:8000/v1#NAME"` | any server that speaks OpenAI's chat completions; without `#NAME` the server chooses the model |
| `"local:smollm2"`, `"local:PATH"` | a small model in this process, or a GGUF file |
| a function | of the messages, or of the `Ask`; plain or async |
| a model of pydantic-ai, a chat model of LangChain | that model |
| an object with `name` and `ask` | itself |
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from calipers.data.argument_checks import check_number, check_whole_number
from calipers.data.jsonable import loaded_types
from calipers.data.spending import take_prices_from
from calipers.errors import InvalidOptionError, UnreadableAnswerError

from .answer_data import check_schema, load_reader, read_data, repair_messages
from .model_answer import Completion
from .model_request import Tools
from .prices import price_sources

_ROLES = ("system", "user", "assistant", "tool")
SETTINGS = ("temperature", "max_tokens", "seed")
"""The fields of an `Ask` that every provider has a word for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question to a model."""

    messages: Sequence[Mapping[str, Any]]
    """The conversation: each with `role` (`system`, `user`, `assistant` or `tool`) and `content`."""
    schema: Mapping[str, Any] | None = None
    """The JSON Schema that the answer must follow; `None`: free text."""
    tools: Tools = ()
    """What the model may call, in any provider's shape."""
    top_logprobs: int = 0
    """How many likely tokens to report for each token of the answer; 0 asks for no log-probabilities."""
    temperature: float | None = None
    """0 takes the likeliest words; `None` leaves it to the provider."""
    max_tokens: int | None = None
    """The longest answer; `None` leaves it to the provider."""
    seed: int | None = None
    """What the provider draws by, where it can."""
    options: Mapping[str, Any] | None = None
    """Further fields of the provider's request; they win."""
    repeat: int = 0
    """Which repeat of the same question this is. An answer is never kept for another repeat."""

    def __post_init__(self) -> None:
        if isinstance(self.messages, str) or not self.messages:
            raise InvalidOptionError(
                f"messages must be a list with at least one message, such as "
                f"[{{'role': 'user', 'content': 'Hello'}}], got {self.messages!r:.200}"
            )
        for message in self.messages:
            if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
                raise InvalidOptionError(
                    f"a message must have a role ({', '.join(_ROLES)}) and content, got {message!r:.200}"
                )
        if self.schema is not None:
            check_schema(self.schema)
        check_whole_number("top_logprobs", self.top_logprobs, at_least=0, at_most=20)
        check_number("temperature", self.temperature, at_least=0, or_none=True)
        check_whole_number("max_tokens", self.max_tokens, at_least=1, or_none=True)
        check_whole_number("seed", self.seed, or_none=True)
        check_whole_number("repeat", self.repeat, at_least=0)

    @property
    def settings(self) -> dict[str, Any]:
        """Those of `temperature`, `max_tokens` and `seed` that are set."""
        return {name: value for name in SETTINGS if (value := getattr(self, name)) is not None}


@runtime_checkable
class Model(Protocol):
    """What answers questions."""

    @property
    def name(self) -> str:
        """How it is called in reports, identities and prices, such as `openai:gpt-4o`."""
        ...

    async def ask(self, ask: Ask, /) -> Completion:
        """The answer.

        Raises:
            ModelError: there is no answer; the class says why.
        """
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that follows the schema that was asked for."""

    data: Any
    """The answer, as JSON data."""
    completion: Completion
    """The answer as the model gave it; after a repair round, the second one."""


async def ask_for_data(model: Model, ask: Ask) -> Answer:
    """Ask for data that follows the schema of the question.

    The answer is checked here, whatever the provider promised. One that is not JSON, or does not follow the schema, is sent back
    once with what is wrong with it. An answer that was cut off, filtered or declined is never data.

    Raises:
        UnreadableAnswerError: the answer is not what was asked for, twice; `text` is what the model said.
        ModelFilteredError: the model or its provider declined to answer.
        ModelError: there is no answer.
        InvalidOptionError: the question has no schema.
    """
    if ask.schema is None:
        raise InvalidOptionError("ask_for_data needs a schema: Ask(messages=..., schema={...})")
    first = await model.ask(ask)
    try:
        return Answer(read_data(first, ask.schema), first)
    except UnreadableAnswerError as error:
        if first.finish != "stop":
            raise
        again = repair_messages(first.text, error.problem, ask.schema)
    second = await model.ask(replace(ask, messages=[*ask.messages, *again]))
    return Answer(read_data(second, ask.schema), second)


async def check_model(model: Model) -> None:
    """Check, at no cost, that a model can be asked: that there is a key which is taken, a server, and a model of that name.

    A model that has a method `check` is checked by that; any other is taken to be there. Libraries that an answer needs are loaded
    here: inside of a run, that would hold up everything in flight for half a second, and the first judge would be blamed.

    Raises:
        ModelError: it cannot be asked; the message says what to do.
    """
    check: Any = getattr(model, "check", None)
    made = check() if callable(check) else None
    if inspect.isawaitable(made):
        await made
    load_reader()
    take_prices_from(price_sources)
    price_sources()


def as_model(given: Any) -> Model:
    """The model that is given by its name, its address, as a function or as an object.

    Raises:
        InvalidOptionError: it is none of these.
        MissingExtraError: it needs a library that is not installed.
    """
    if isinstance(given, str):
        return _named(given)
    # As isinstance(given, Model), which is slow: a judge comes here with each question.
    if hasattr(given, "name") and callable(getattr(given, "ask", None)):
        found: Model = given
        return found
    if isinstance(given, loaded_types("pydantic_ai.models", "Model")):
        from .pydantic_ai_model import PydanticAIModel

        return PydanticAIModel(given)
    if isinstance(given, loaded_types("langchain_core.language_models.chat_models", "BaseChatModel")):
        from .langchain_model import LangChainModel

        return LangChainModel(given)
    if callable(given) and not isinstance(given, type):
        from .function_model import FunctionModel

        return FunctionModel(given)
    raise InvalidOptionError(
        "a model is given by its name ('openai:gpt-4o'), by the address of a server, as a function of the messages, as a model "
        f"of pydantic-ai or LangChain, or as an object with name and ask, got {given!r:.200}"
    )


@lru_cache(maxsize=256)  # a model remembers which parameters it was found to refuse
def _named(name: str) -> Model:
    if name.startswith("local:"):
        from .in_process_model import local_model

        return local_model(name)
    from .remote_model import RemoteModel

    return RemoteModel(name)
