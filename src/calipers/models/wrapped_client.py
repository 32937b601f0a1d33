"""Records what a client of OpenAI's or Anthropic's SDK asks of models.

`wrap` gives the client a class of its own, below the class it has: it is the same object, of the same type for `isinstance`, and its
`with_options` makes clients that record as well. The one method it replaces is `request`, which all calls of these SDKs go through
(the public base of both; `create`, `parse`, `stream` and raw responses end there). What the method returns or raises is what
the SDK returns or raises. A stream is passed on chunk by chunk, and recorded when it ends.

- Chat completions, the Responses API and Anthropic's messages are recorded; embeddings, files and all else are not.
- A call belongs to the attempt, the evaluator or the recording that makes it, also where another thread reads its stream.
- A call that fails is in the trace with its error, and not counted: providers charge for answers.
- A stream that breaks off, or that its reader leaves or closes, is counted, and its price is not known unless its tokens were told. OpenAI's chat
  completions tell them only with `stream_options={"include_usage": True}`.
- What a model asked to have called stands with its call. Whether a tool was called, only the tool knows; see `calipers.agents.tool`.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import copy_context
from functools import cache
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from calipers.data.result import describe_error
from calipers.data.spending import take_prices_from
from calipers.errors import InvalidOptionError
from calipers.models import anthropic, openai
from calipers.models.accounting import account, is_kept, record
from calipers.models.model_answer import Completion, is_list, read
from calipers.models.prices import price_sources
from calipers.run.ledger import Release, reserve_call, reserve_call_async

ClientT = TypeVar("ClientT")


class _Api(NamedTuple):
    """A way to ask a model."""

    provider: str
    read_answer: Callable[[Any], Completion]


_OPENAI = _Api("openai", openai.read_answer)
_ANTHROPIC = _Api("anthropic", anthropic.read_answer)
_APIS: Mapping[tuple[str, str], _Api] = {
    ("openai", "/chat/completions"): _OPENAI,
    ("openai", "/responses"): _OPENAI,
    ("anthropic", "/v1/messages"): _ANTHROPIC,
}
"""By the SDK and the end of the path."""
_RESPONSE_ENDS = ("response.completed", "response.incomplete", "response.failed")
"""Events that carry the whole response, with its tokens."""


def wrap(client: ClientT) -> ClientT:
    """Record the model calls of a client: tokens, cost, time, the tools that the model asks for, errors.

    ```python
    client = wrap(OpenAI())  # once, where the client is made
    ```

    In a run, each call becomes part of the attempt's trace, and its tokens and cost become metrics of the attempt; those of an evaluator
    stand with its result. Outside a run, the client works as before. It is the client itself that is returned.

    Args:
        client: of the `openai` or the `anthropic` SDK, for synchronous or async code; wrapping it again changes nothing.

    Raises:
        InvalidOptionError: it is no such client.
    """
    kind: Any = type(client)
    if issubclass(kind, _Wrapped):
        return client
    if _sdk_of(kind) is None:
        raise InvalidOptionError(
            f"wrap takes a client of the openai or the anthropic SDK, such as OpenAI() or AsyncAnthropic(), got {client!r:.200}"
        )
    client.__class__ = _recording_client(kind)
    # So that they are there before the first case: what loads during a task counts as the task's time.
    take_prices_from(price_sources)
    return client


class _Wrapped:
    """Marks a class of clients that record."""

    __slots__ = ()


def _sdk_of(kind: type) -> str | None:
    """The SDK that a class of clients is from; `None` if it is of neither."""
    for base in kind.__mro__:
        package = base.__module__.partition(".")[0]
        if package in ("openai", "anthropic") and hasattr(base, "request"):
            return package
    return None


@cache
def _recording_client(kind: Any) -> Any:
    """A class of clients like this one that record."""

    def request(self: Any, cast_to: Any, options: Any, *args: Any, **kwargs: Any) -> Any:
        call = _call_of(self, options)
        if call is None:
            return kind.request(self, cast_to, options, *args, **kwargs)
        call.release = reserve_call()
        try:
            answer = kind.request(self, cast_to, options, *args, **kwargs)
        except BaseException as error:
            call.fail(error)
            raise
        return call.answered(answer)

    async def request_async(self: Any, cast_to: Any, options: Any, *args: Any, **kwargs: Any) -> Any:
        call = _call_of(self, options)
        if call is None:
            return await kind.request(self, cast_to, options, *args, **kwargs)
        call.release = await reserve_call_async()
        try:
            answer = await kind.request(self, cast_to, options, *args, **kwargs)
        except BaseException as error:
            call.fail(error)
            raise
        return call.answered(answer)

    is_async = inspect.iscoroutinefunction(kind.request)
    return _below(kind, _Wrapped, request=request_async if is_async else request)


def _below(kind: type, *mixins: type, **methods: Any) -> Any:
    """A class that is called like the one it is made of. An object of that one can become one of this if that one is its first base."""
    named = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind, *mixins), {**named, **methods})


# ---------------------------------------------------------------------- one call


def _call_of(client: Any, options: Any) -> "_Call | None":
    """A call that is about to be made; `None` if it is not to be recorded."""
    if not is_kept():
        return None
    call: _Call | None = None
    with suppress(Exception):  # what an SDK of another version has here must not end the call
        path = str(read(options, "url")).partition("?")[0]
        for (sdk, end), api in _APIS.items():
            if path.endswith(end) and sdk == _sdk_of(type(client)):
                call = _Call(api, str(client.base_url), read(options, "json_data"))
    return call


class _Call:
    """A call that is being made, in the context in which it began."""

    def __init__(self, api: _Api, address: str, body: Any) -> None:
        self._api = api
        self._address = address
        self._body = body
        self._name = f"{api.provider}:{read(body, 'model') or 'unknown'}"
        self._context = copy_context()
        self._started = perf_counter()
        self._chunks: list[Any] = []
        self._ended = False
        self.release: Release | None = None
        """To be called when it is over: it is one of the calls in flight of a budget."""

    def answered(self, answer: Any) -> Any:
        """Take what the SDK returns, and return it: an answer, a raw response, or a stream, which is watched."""
        is_sync, is_async = hasattr(answer, "__next__"), hasattr(answer, "__anext__")
        if not (is_sync or is_async):
            self._keep(answer)
            return answer
        kind: Any = type(answer)
        try:
            answer._calipers_call = self  # noqa: SLF001 - ours
            answer.__class__ = (_watched_stream if is_sync else _watched_async_stream)(kind)
        except Exception:  # a stream of another shape: what it holds stays unknown
            self._keep(None)
        return answer

    def take(self, chunk: Any) -> None:
        """Take a chunk of a stream that is on its way to the reader."""
        if not self._chunks or self._chunks[-1] is not chunk:
            self._chunks.append(chunk)

    def end(self, error: BaseException | None = None) -> None:
        """Keep a stream as far as it came, once."""
        chunks = self._chunks
        whole = [read(chunk, "response") for chunk in chunks if read(chunk, "type") in _RESPONSE_ENDS]
        self._keep(whole[-1] if whole else chunks, error)

    def fail(self, error: BaseException) -> None:
        """Keep that there was no answer."""
        if not self._ended:
            self._ended = True
            made = Completion(finish="error", duration=perf_counter() - self._started)
            with suppress(Exception):
                self._context.run(record, made, self._name, input_text=self._given(), error=_text(error))
            self._let_go(error)

    def _keep(self, raw: Any, error: BaseException | None = None) -> None:
        if self._ended:
            return
        self._ended = True
        with suppress(Exception):  # the caller is to get its answer
            raw = _content(raw)
            found = self._api.read_answer(raw)
            first = raw[0] if is_list(raw) and raw else raw
            first = read(first, "message") or first  # the event that begins a message of Anthropic's
            found.model, found.id = found.model or read(first, "model"), found.id or read(first, "id")
            found.duration = perf_counter() - self._started
            self._context.run(
                account,
                found,
                self._name,
                address=self._address,
                input_text=self._given(),
                error=None if error is None else _text(error),
            )
        self._let_go()

    def _let_go(self, error: BaseException | None = None) -> None:
        if self.release is not None:
            self.release(error)

    def _given(self) -> str:
        """What the model was given since it last spoke; what came before stands with the calls before."""
        said = read(self._body, "messages", "input")
        if isinstance(said, str):
            return said
        fresh: list[Any] = []
        for message in reversed(said if is_list(said) else []):
            if read(message, "role") == "assistant" or read(message, "type") in (
                "function_call",
                "reasoning",
            ):
                break
            fresh.insert(0, message)
        texts = [(str(read(message, "role", "type") or ""), _words(message)) for message in fresh]
        return texts[0][1] if len(texts) == 1 else "\n".join(f"{role}: {words}" for role, words in texts)


def _content(answer: Any) -> Any:
    """An answer, or the body of a raw response; nothing if that has not been read, or cannot be."""
    response = read(answer, "http_response")
    if response is None:
        return answer
    with suppress(Exception):
        return response.json() if response.is_stream_consumed else None
    return None


def _words(message: Any) -> str:
    """The text of a message."""
    content = read(message, "content", "output")
    if isinstance(content, str):
        return content
    parts = [read(part, "text", "content") for part in content] if is_list(content) else []
    return "\n".join(part for part in parts if isinstance(part, str))


def _text(error: BaseException) -> str:
    return describe_error(error)[1].removesuffix(": ")


# ---------------------------------------------------------------------- streams


@cache
def _watched_stream(kind: Any) -> Any:
    """A class of streams like this one that are recorded when they end; `_calipers_call` is the call."""

    def iterate(self: Any) -> Iterator[Any]:
        call = self._calipers_call
        try:
            for chunk in kind.__iter__(self):
                call.take(chunk)
                yield chunk
        except BaseException as error:
            call.end(None if isinstance(error, GeneratorExit) else error)
            raise
        call.end()

    def following(self: Any) -> Any:
        try:
            chunk = kind.__next__(self)
        except BaseException as error:
            self._calipers_call.end(None if isinstance(error, StopIteration) else error)
            raise
        self._calipers_call.take(chunk)
        return chunk

    def close(self: Any) -> Any:
        self._calipers_call.end()
        return kind.close(self)

    return _below(kind, __iter__=iterate, __next__=following, close=close)


@cache
def _watched_async_stream(kind: Any) -> Any:
    """The same for async code."""

    async def iterate(self: Any) -> AsyncIterator[Any]:
        call = self._calipers_call
        try:
            async for chunk in kind.__aiter__(self):
                call.take(chunk)
                yield chunk
        except BaseException as error:
            call.end(None if isinstance(error, GeneratorExit) else error)
            raise
        call.end()

    async def following(self: Any) -> Any:
        try:
            chunk = await kind.__anext__(self)
        except BaseException as error:
            self._calipers_call.end(None if isinstance(error, StopAsyncIteration) else error)
            raise
        self._calipers_call.take(chunk)
        return chunk

    async def close(self: Any) -> Any:
        self._calipers_call.end()
        return await kind.close(self)

    return _below(kind, __aiter__=iterate, __anext__=following, close=close)
