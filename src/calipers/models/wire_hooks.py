"""Where requests leave this process: hooks in HTTP libraries, by which requests to models pass the taps of `wire_tap.py`.

An agent makes its own clients, often inside of a framework, and each SDK lets one set only the transport of a client that one
makes oneself. What they share is httpx (or httpx2, the same library under a new name) and aiohttp: every client that does not bring a
transport of another kind ends in `HTTPTransport.handle_request`, `AsyncHTTPTransport.handle_async_request` or
`ClientSession._request`; below `requests` and botocore stands urllib3 (`urllib3_hook.py`). So `install` replaces these methods of the classes, once for each process, as OpenTelemetry's
instrumentations do. Without taps and limits in the context they only call what they replaced. The requests of `calipers.models` itself
pass the taps in `http_request.py`.

- An answer that comes as a stream through httpx is handed on as it comes, and told when it has been read or is closed. One through
  aiohttp or urllib3 is read first.
- Models in this process (functions, test models of frameworks) and requests that go other ways (gRPC, WebSockets) are not seen.
"""

import asyncio
import functools
import importlib
import importlib.util
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from calipers.errors import TapeError
from calipers.run.call_limit import detach, enter, enter_async, leave, limits_here

from .http_sessions import session_of_loop
from .request_redaction import secrets_of, shown_address
from .urllib3_hook import urllib3_hook
from .wire_limits import asked_of
from .wire_tap import Passage, WireAnswer, WireRequest, is_tapped, is_to_model, past_taps, retry_headers

_HTTPX = ("httpx", "httpx2")
_LIBRARIES = (*_HTTPX, "aiohttp", "urllib3")
_LAST = {
    "httpx": "AsyncHTTPTransport",
    "httpx2": "AsyncHTTPTransport",
    "aiohttp": "ClientSession",
    "urllib3": "add_stderr_logger",
}
"""What is there when a library has been loaded."""
_INSTALLING = threading.Lock()
_installed: set[str] = set()


def install(*, loaded_only: bool = False) -> None:
    """Replace these methods in each of the libraries that this machine has, once. Loading them takes a moment.

    Args:
        loaded_only: leave out libraries that are not loaded, or are being loaded.
    """
    if len(_installed) == len(_LIBRARIES):
        return
    with _INSTALLING:
        for name in _LIBRARIES:
            if loaded_only and not hasattr(sys.modules.get(name), _LAST[name]):
                continue
            if name not in _installed and importlib.util.find_spec(name) is not None:
                module: Any = importlib.import_module(name)
                if name in _HTTPX:
                    sync, later = module.HTTPTransport, module.AsyncHTTPTransport
                    sync.handle_request = _sync_hook(module, _limited(sync.handle_request))
                    later.handle_async_request = _async_hook(
                        module, _limited_async(later.handle_async_request)
                    )
                elif name == "urllib3":
                    pool = module.HTTPConnectionPool
                    pool.urlopen = urllib3_hook(pool.urlopen)
                else:
                    session = module.ClientSession
                    session._request = _aiohttp_hook(_limited_aiohttp(session._request))  # noqa: SLF001 - all requests go through it
            _installed.add(name)


def _sync_hook(module: Any, send: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    stream_of, _, given = _streams(module)

    @functools.wraps(send)
    def handle_request(self: Any, request: Any) -> Any:
        if not is_tapped(request.method, str(request.url)):
            return send(self, request)
        passage = Passage(_asked(request, request.read()))
        if (answer := passage.answer) is not None:
            time.sleep(answer.delay)
            return _response(module, answer, given(answer))
        try:
            response = send(self, _request(module, request, passage))
        except Exception as error:
            passage.end(error)
            raise
        response.stream = stream_of(module, response, passage)
        return response

    return handle_request


def _async_hook(module: Any, send: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    _, stream_of, given = _streams(module)

    @functools.wraps(send)
    async def handle_async_request(self: Any, request: Any) -> Any:
        if not is_tapped(request.method, str(request.url)):
            return await send(self, request)
        passage = Passage(_asked(request, await request.aread()))
        if (answer := passage.answer) is not None:
            await asyncio.sleep(answer.delay)
            return _response(module, answer, given(answer))
        try:
            response = await send(self, _request(module, request, passage))
        except Exception as error:
            passage.end(error)
            raise
        response.stream = stream_of(module, response, passage)
        return response

    return handle_async_request


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


def _response(module: Any, answer: WireAnswer, stream: Any) -> Any:
    return module.Response(answer.status, headers=answer.sent_headers, stream=stream)


class _Heard:
    """What has come of an answer so far."""

    def __init__(self, module: Any, response: Any, passage: Passage) -> None:
        self._module = module
        self._response = response
        self._passage = passage
        self._chunks: list[bytes] = []
        self._is_dropped = False
        self.is_whole = False
        """Whether it has come to its end."""
        passage.begin(self._so_far)

    def take(self, chunk: bytes) -> bytes:
        self._chunks.append(chunk)
        return chunk

    def drop(self) -> None:
        """The reader was stopped: a time-out, or the end of the process. That is no outcome."""
        self._is_dropped = True

    def end(self, error: Exception | None = None) -> None:
        if error is not None:
            self._passage.end(error)
        elif (answer := self._so_far()) is not None:
            self._passage.end(answer)

    def _so_far(self) -> WireAnswer | None:
        headers = self._response.headers
        body = b"".join(self._chunks)
        if self._is_dropped:
            return None
        if encoding := headers.get("content-encoding"):
            try:
                body = self._module.Response(
                    200, headers={"content-encoding": encoding}, content=body
                ).content
            except Exception:  # the reader hears of it as well, or has read too little of it
                return None
        return WireAnswer(
            self._response.status_code,
            headers.get("content-type", ""),
            body,
            headers=retry_headers(headers),
            is_whole=self.is_whole,
        )


def _streams(module: Any) -> tuple[Callable[..., Any], Callable[..., Any], Callable[[WireAnswer], Any]]:
    """The classes of streams, sync and async, that tell what was read of them, and of one that a tap gives.

    Each library wants its own base.
    """

    class Stream(module.SyncByteStream):  # type: ignore[misc]  # the base is known only here
        def __init__(self, library: Any, response: Any, passage: Passage) -> None:
            self._inner = response.stream
            self._heard = _Heard(library, response, passage)

        def __iter__(self) -> Iterator[bytes]:
            try:
                for chunk in self._inner:
                    yield self._heard.take(chunk)
            except GeneratorExit:  # the reader has enough
                raise
            except Exception as error:
                self._heard.end(error)
                raise
            except BaseException:
                self._heard.drop()
                raise
            self._heard.is_whole = True

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
            except GeneratorExit:
                raise
            except Exception as error:
                self._heard.end(error)
                raise
            except BaseException:
                self._heard.drop()
                raise
            self._heard.is_whole = True

        async def aclose(self) -> None:
            try:
                await self._inner.aclose()
            finally:
                self._heard.end()

    class Given(module.SyncByteStream, module.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, answer: WireAnswer) -> None:
            self._answer = answer

        def __iter__(self) -> Iterator[bytes]:
            yield self._answer.body
            if self._answer.beyond is not None:
                raise self._answer.beyond()

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for chunk in self:
                yield chunk

    return Stream, AsyncStream, Given


# ---------------------------------------------------------------------- aiohttp


def _aiohttp_hook(send: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(send)
    async def request(self: Any, method: str, url: Any, **options: Any) -> Any:
        if not is_tapped(method, str(url)):
            return await send(self, method, url, **options)
        headers = {**self.headers, **(options.get("headers") or {})}
        target = self._build_url(url)  # a session may have a base_url
        address = str(target)
        body = _sent_body(self, options, address)
        passage = Passage(WireRequest(method, address, body, tuple(secrets_of(address, headers))))
        if (answer := passage.answer) is not None:
            await asyncio.sleep(answer.delay)
        else:
            changed = passage.request
            whole = {**options, "json": None, "data": changed.body, "headers": headers}
            if options.get("json") is not None:
                whole["headers"] = {"Content-Type": "application/json", **headers}
            whole |= {"raise_for_status": False, "auto_decompress": True}
            try:
                response = await send(self, method, changed.url if passage.is_changed else url, **whole)
                read = await response.read()
            except Exception as error:
                passage.end(error)
                raise
            told = WireAnswer(
                response.status,
                response.headers.get("Content-Type", ""),
                read,
                headers=retry_headers(response.headers),
            )
            passage.end(told)
            return await _checked(_unread(response, read), self, options)
        response = _as_of(await _served(answer), method, target)
        return await _checked(response, self, options)

    return request


def _unread(response: Any, body: bytes) -> Any:
    """A response whose content can be read once more."""
    base: Any = importlib.import_module("aiohttp.base_protocol")
    library: Any = importlib.import_module("aiohttp")
    loop = asyncio.get_running_loop()
    response.content = library.StreamReader(base.BaseProtocol(loop), 2**16, loop=loop)
    response.content.feed_data(body)
    response.content.feed_eof()
    return response


def _as_of(response: Any, method: str, target: Any) -> Any:
    """A response that says of itself that it answers this request: its errors show the address."""
    # It has no other places for them, and keeps what it was once asked for.
    info = response._request_info  # noqa: SLF001
    response.method, response._url, response._real_url = method, target, target  # noqa: SLF001
    response._request_info = type(info)(target, method, info.headers, target)  # noqa: SLF001
    return response


async def _checked(response: Any, session: Any, options: dict[str, Any]) -> Any:
    """A response, where the session or the request does not want its status to raise."""
    check = options.get("raise_for_status")
    check = session.raise_for_status if check is None else check
    if check is True:
        response.raise_for_status()
    elif check:
        await check(response)
    return response


def _sent_body(session: Any, options: dict[str, Any], url: str) -> bytes:
    """The body of a request, which aiohttp takes in many forms."""
    given = options.get("data")
    if options.get("json") is not None:
        given = session.json_serialize(options["json"])
    if isinstance(given, str):
        return given.encode()
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(given)
    raise TapeError(
        f"the request to {shown_address(url)} sends {type(given).__name__}, which a tape cannot record or replay: send text or bytes"
    )


async def _served(answer: WireAnswer) -> Any:
    """A response of aiohttp with this answer. Only a server can make one, so one on this machine gives it, once."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 {answer.status} {_phrase(answer.status)}\r\nConnection: close\r\n"
        head += f"Content-Length: {len(answer.body)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in answer.sent_headers.items())
        writer.write(head.encode("latin-1") + b"\r\n" + answer.body)
        with suppress(OSError):  # the client may have seen enough
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        own = await session_of_loop()
        port = server.sockets[0].getsockname()[1]
        with past_taps():
            return await own.client.get(f"http://127.0.0.1:{port}/", raise_for_status=False)
    finally:
        server.close()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


# ---------------------------------------------------------------------- limits


def _limited(send: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The same for requests that wait for a limit of their run."""

    def handle_request(self: Any, request: Any) -> Any:
        limits = limits_here()
        if limits is None or not is_to_model(request.method, str(request.url)):
            return send(self, request)
        name, model = asked_of(str(request.url), request.read())
        call = enter(limits, name, model)
        try:
            response = send(self, request)
        except BaseException as error:
            leave(name, error)
            raise
        call.told(response.status_code, response.headers)
        if (going_on := detach(name)) is not None:
            close = response.stream.close

            def closed() -> None:
                going_on.end()
                close()

            response.stream.close = closed
        return response

    return handle_request


def _limited_async(send: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    async def handle_async_request(self: Any, request: Any) -> Any:
        limits = limits_here()
        if limits is None or not is_to_model(request.method, str(request.url)):
            return await send(self, request)
        name, model = asked_of(str(request.url), await request.aread())
        call = await enter_async(limits, name, model)
        try:
            response = await send(self, request)
        except BaseException as error:
            leave(name, error)
            raise
        call.told(response.status_code, response.headers)
        if (going_on := detach(name)) is not None:
            close = response.stream.aclose

            async def closed() -> None:
                going_on.end()
                await close()

            response.stream.aclose = closed
        return response

    return handle_async_request


def _limited_aiohttp(send: Callable[..., Any]) -> Callable[..., Any]:
    async def request(self: Any, method: str, url: Any, **options: Any) -> Any:
        limits = limits_here()
        address = str(self._build_url(url)) if limits is not None else ""
        if limits is None or not is_to_model(method, address):
            return await send(self, method, url, **options)
        body = b""
        with suppress(TapeError):  # a body of another kind is sent all the same
            body = _sent_body(self, options, address)
        name, model = asked_of(address, body)
        call = await enter_async(limits, name, model)
        try:
            response = await send(self, method, url, **options)
        except BaseException as error:
            leave(name, error)
            raise
        call.told(response.status, response.headers)
        leave(name)
        return response

    return request
