"""Requests to language models where they leave this process, and taps that see or answer them there.

`tapping` sets the taps of a block. A tap is asked before a request is sent: it lets it go on, changed or not, or answers in
the model's place; and it hears what came back.

**Why on the class of a transport.** An agent makes its own clients, often inside of a framework, and each SDK lets one
set only the transport of a client that one makes oneself. What they share is httpx (or httpx2, the same library under a new
name): every client that does not bring a transport of another kind ends in `HTTPTransport.handle_request` or
`AsyncHTTPTransport.handle_async_request`. So these two methods are replaced, once for each process and only when a first
block begins, as OpenTelemetry's instrumentations do. Without taps in the context they only call what they replaced. The
requests of `calipers.models` itself, which go through aiohttp, pass here as well (`models/http_request.py`). Those that others
send through aiohttp are refused where taps are set: its answers cannot be made by hand.

- Only requests to models pass: a POST to an address that ends as those of the known providers do. Other requests go on unseen.
- Taps stand one inside the other, the first one outermost: it is asked first, and hears of the outcome last.
- An answer that comes as a stream is handed on as it comes, and told when it has been read or is closed.
- A `TapeError` of a tap becomes an answer with the status 400, which no SDK asks for again.
- Models in this process (functions, test models of frameworks) and requests that go other ways (`requests`, gRPC, botocore,
  WebSockets) are not seen.
"""

import asyncio
import functools
import importlib
import importlib.util
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from calipers.data.attempt import counts_here
from calipers.errors import TapeError

from .request_redaction import secrets_of, shown_address

_MODEL_PATH = re.compile(
    r"(?:/(?:chat/completions|completions|embeddings|responses|v1/messages(?:/count_tokens)?|v\d/chat)"
    r"|:(?:generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents|rawPredict|streamRawPredict)"
    r"|/model/[^/]+/(?:converse|invoke)(?:-stream|-with-response-stream)?"
    r"|/api/(?:chat|generate|embed))/?$"
)
"""How the path of an address ends where a model is asked: OpenAI's and its kin, Anthropic's, Cohere's, Gemini's, Bedrock's, Ollama's."""


@dataclass(frozen=True, eq=False)
class WireRequest:
    """A request to a model."""

    method: str
    url: str
    body: bytes
    secrets: tuple[str, ...] = ()
    """What is known to be secret in it: keys in its headers and its address."""


@dataclass(frozen=True, eq=False)
class WireAnswer:
    """What came back for a request, whatever its status."""

    status: int
    content_type: str
    """As the header says; empty if it does not."""
    body: bytes
    """Without compression. Of a stream, all of it that was read."""
    delay: float = 0.0
    """Seconds to wait before it is given."""
    is_refusal: bool = False
    """Whether it stands for a `TapeError`: asking again does not help."""


class WireTap(Protocol):
    """Sees requests to models, and may answer them."""

    def ask(self, request: WireRequest, /) -> WireRequest | WireAnswer:
        """What to do with a request: send it (it or another one), or answer it. What it raises reaches the caller."""
        ...

    def told(self, request: WireRequest, outcome: WireAnswer | Exception, /) -> None:
        """What came of a request that went on; `request` is the one that `ask` was given."""
        ...


_TAPS: ContextVar[tuple[WireTap, ...]] = ContextVar("calipers_wire_taps", default=())


@contextmanager
def tapping(tap: WireTap) -> Iterator[None]:
    """A block in which requests to models pass a tap, inside of those that are set already."""
    install()
    token = _TAPS.set((*_TAPS.get(), tap))
    try:
        yield
    finally:
        _TAPS.reset(token)


@contextmanager
def past_taps() -> Iterator[None]:
    """A block in which a request is sent that has passed the taps."""
    token = _IS_PAST.set(True)
    try:
        yield
    finally:
        _IS_PAST.reset(token)


_IS_PAST: ContextVar[bool] = ContextVar("calipers_past_wire_taps", default=False)


@contextmanager
def sealing() -> Iterator[None]:
    """A block during which no code outside of all attempts may ask models, in the whole process.

    That is what code of an attempt looks like in a thread that has not got the attempt's context.
    """
    global _seals  # noqa: PLW0603 - it is a fact about the process
    with _COUNTING:
        _seals += 1
    try:
        yield
    finally:
        with _COUNTING:
            _seals -= 1


_COUNTING = threading.Lock()
_seals = 0
"""How many such blocks there are now."""


def is_tapped(method: str, url: str) -> bool:
    """Whether a request passes taps: there are some, or there should be, and it goes to a model."""
    if not (_TAPS.get() or (_seals and not counts_here())) or method.upper() != "POST" or _IS_PAST.get():
        return False
    return _MODEL_PATH.search(urlsplit(url).path) is not None


class Passage:
    """One request on its way through the taps. It decides, and the code around it sends and waits."""

    def __init__(self, request: WireRequest) -> None:
        self._passed: list[tuple[WireTap, WireRequest]] = []
        self.request = request
        """What is to be sent."""
        self.is_changed = False
        self.answer: WireAnswer | None = None
        """What was given in the model's place; `None`: the request is to be sent."""
        if not _TAPS.get():
            self.answer = _refusal(
                TapeError(
                    "a model was asked outside of any attempt while a tape is replayed, so it is not known which one asks: "
                    "start the thread with calipers.agents.carry, or in a copy of the context"
                )
            )
        for tap in _TAPS.get():
            try:
                decision = tap.ask(self.request)
            except TapeError as error:
                decision = _refusal(error)
            except Exception as error:
                self.end(error)
                raise
            if isinstance(decision, WireAnswer):
                self.answer = decision
                self.end(decision)
                return
            self._passed.append((tap, self.request))
            self.is_changed = self.is_changed or decision is not self.request
            self.request = decision

    def end(self, outcome: WireAnswer | Exception) -> None:
        """Tell the taps what came of it, once."""
        passed, self._passed = self._passed, []
        for tap, asked in reversed(passed):
            tap.told(asked, outcome)


def _refusal(error: TapeError) -> WireAnswer:
    body = {
        "type": "error",
        "error": {"type": "invalid_request_error", "code": "tape", "message": str(error)},
    }
    return WireAnswer(400, "application/json", msgspec.json.encode(body), is_refusal=True)


# ---------------------------------------------------------------------- httpx, under both of its names

_HTTPX = ("httpx", "httpx2")
_LIBRARIES = (*_HTTPX, "aiohttp")
_INSTALLING = threading.Lock()
_installed: set[str] = set()


def install() -> None:
    """Replace these methods in each of the libraries that this machine has, once. Loading them takes a moment."""
    if len(_installed) == len(_LIBRARIES):
        return
    with _INSTALLING:
        for name in _LIBRARIES:
            if name not in _installed and importlib.util.find_spec(name) is not None:
                module: Any = importlib.import_module(name)
                if name in _HTTPX:
                    sync, later = module.HTTPTransport, module.AsyncHTTPTransport
                    sync.handle_request = _sync_hook(module, sync.handle_request)
                    later.handle_async_request = _async_hook(module, later.handle_async_request)
                else:
                    session = module.ClientSession
                    session._request = _refusing_hook(session._request)  # noqa: SLF001 - all requests go through it
            _installed.add(name)


def _sync_hook(module: Any, send: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    stream_of, _ = _streams(module)

    @functools.wraps(send)
    def handle_request(self: Any, request: Any) -> Any:
        if not is_tapped(request.method, str(request.url)):
            return send(self, request)
        passage = Passage(_asked(request, request.read()))
        if (answer := passage.answer) is not None:
            time.sleep(answer.delay)
            return _response(module, answer)
        try:
            response = send(self, _request(module, request, passage))
        except Exception as error:
            passage.end(error)
            raise
        response.stream = stream_of(module, response, passage)
        return response

    return handle_request


def _async_hook(module: Any, send: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    _, stream_of = _streams(module)

    @functools.wraps(send)
    async def handle_async_request(self: Any, request: Any) -> Any:
        if not is_tapped(request.method, str(request.url)):
            return await send(self, request)
        passage = Passage(_asked(request, await request.aread()))
        if (answer := passage.answer) is not None:
            await asyncio.sleep(answer.delay)
            return _response(module, answer)
        try:
            response = await send(self, _request(module, request, passage))
        except Exception as error:
            passage.end(error)
            raise
        response.stream = stream_of(module, response, passage)
        return response

    return handle_async_request


def _refusing_hook(send: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(send)
    async def request(self: Any, method: str, url: Any, **options: Any) -> Any:
        if is_tapped(method, str(url)):
            raise TapeError(
                f"a model at {shown_address(str(url))} was asked through aiohttp, which a tape cannot record or replay: give the "
                "client httpx, such as HttpOptions(httpx_async_client=httpx2.AsyncClient()) for Google's SDK"
            )
        return await send(self, method, url, **options)

    return request


def _asked(request: Any, body: bytes) -> WireRequest:
    url = str(request.url)
    return WireRequest(request.method, url, body, tuple(secrets_of(url, request.headers)))


def _request(module: Any, request: Any, passage: Passage) -> Any:
    """The library's own request, or one like it that sends what a tap has made of it."""
    if not passage.is_changed:
        return request
    headers = [(name, value) for name, value in request.headers.multi_items() if name != "content-length"]
    changed = passage.request
    return module.Request(
        changed.method,
        changed.url,
        headers=headers,
        content=changed.body,
        extensions=request.extensions,
    )


def _response(module: Any, answer: WireAnswer) -> Any:
    headers = {"content-type": answer.content_type} if answer.content_type else {}
    if answer.is_refusal:
        headers["x-should-retry"] = (
            "false"  # the SDKs of OpenAI and Anthropic ask again after some others of 400 to 499, too
        )
    return module.Response(answer.status, headers=headers, content=answer.body)


class _Heard:
    """What has come of an answer so far."""

    def __init__(self, module: Any, response: Any, passage: Passage) -> None:
        self._module = module
        self._response = response
        self._passage = passage
        self._chunks: list[bytes] = []

    def take(self, chunk: bytes) -> bytes:
        self._chunks.append(chunk)
        return chunk

    def end(self, error: Exception | None = None) -> None:
        headers = self._response.headers
        body = b"".join(self._chunks)
        if error is None and (encoding := headers.get("content-encoding")):
            body = self._module.Response(200, headers={"content-encoding": encoding}, content=body).content
        answer = WireAnswer(self._response.status_code, headers.get("content-type", ""), body)
        self._passage.end(answer if error is None else error)


def _streams(module: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The classes of streams, sync and async, that tell what was read of them. Each library wants its own base."""

    class Stream(module.SyncByteStream):  # type: ignore[misc]  # the base is known only here
        def __init__(self, library: Any, response: Any, passage: Passage) -> None:
            self._inner = response.stream
            self._heard = _Heard(library, response, passage)

        def __iter__(self) -> Iterator[bytes]:
            try:
                for chunk in self._inner:
                    yield self._heard.take(chunk)
            except Exception as error:
                self._heard.end(error)
                raise

        def close(self) -> None:
            try:
                self._inner.close()
            finally:
                self._heard.end()

    class AsyncStream(module.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, library: Any, response: Any, passage: Passage) -> None:
            self._inner = response.stream
            self._heard = _Heard(library, response, passage)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for chunk in self._inner:
                    yield self._heard.take(chunk)
            except Exception as error:
                self._heard.end(error)
                raise

        async def aclose(self) -> None:
            try:
                await self._inner.aclose()
            finally:
                self._heard.end()

    return Stream, AsyncStream
