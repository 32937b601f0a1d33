"""Requests through urllib3, which `requests` and the SDK of AWS send by: the hook that `wire_hooks.py` puts into its connection pools.

An answer is read before it is handed on, also one that comes as a stream. A pool that sends a request again does so by the method that
is replaced here: what it sends inside of a request is part of that one.
"""

import functools
import importlib
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from io import BytesIO
from typing import Any, Final

from calipers.errors import TapeError
from calipers.run.call_limit import enter, leave, limits_here

from .request_redaction import secrets_of, shown_address
from .wire_limits import asked_of
from .wire_tap import Passage, WireAnswer, WireRequest, is_tapped, is_to_model, retry_headers

_IS_WITHIN: ContextVar[bool] = ContextVar("calipers_within_urllib3", default=False)
_OF_THE_WIRE: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""Headers that say how a body was sent, and not what it holds."""


def urllib3_hook(send: Callable[..., Any]) -> Callable[..., Any]:
    """`HTTPConnectionPool.urlopen`, with the taps and limits of the context."""
    limited = _limited(send)

    @functools.wraps(send)
    def urlopen(
        self: Any, method: str, url: str, body: Any = None, headers: Any = None, **options: Any
    ) -> Any:
        address = _address(self, url)
        if _IS_WITHIN.get() or not is_to_model(method, address):
            return send(self, method, url, body, headers, **options)
        token = _IS_WITHIN.set(True)
        try:
            if not is_tapped(method, address):
                return limited(self, method, url, body, headers, **options)
            return _pass(limited, self, method, url, body, headers, **options)
        finally:
            _IS_WITHIN.reset(token)

    return urlopen


def _address(pool: Any, url: str) -> str:
    """The whole address of a request: a pool is asked for a path, except by way of a proxy."""
    if "://" in url:
        return url
    port = "" if pool.port in {None, {"http": 80, "https": 443}.get(pool.scheme)} else f":{pool.port}"
    host = f"[{pool.host}]" if ":" in pool.host else pool.host
    return f"{pool.scheme}://{host}{port}{url}"


def _pass(
    send: Callable[..., Any], pool: Any, method: str, url: str, body: Any, headers: Any, **options: Any
) -> Any:
    """Send a request, or what taps make of it, and hand on what came back."""
    address = _address(pool, url)
    sent = _sent(body)
    if sent is None:
        raise TapeError(
            f"the request to {shown_address(address)} sends {type(body).__name__}, which a tape cannot record or replay: send text or bytes"
        )
    given: Mapping[str, str] = pool.headers if headers is None else headers
    passage = Passage(WireRequest(method, address, sent, tuple(secrets_of(address, given))))
    if (answer := passage.answer) is not None:
        time.sleep(answer.delay)
        return _response(answer.status, answer.sent_headers, _Body(answer), method, url, options)
    if passage.is_changed:
        body, url = passage.request.body, passage.request.url.removeprefix(_address(pool, ""))
        headers = {name: value for name, value in given.items() if name.lower() != "content-length"}
    try:
        response = send(pool, method, url, body, headers, **{**options, "preload_content": False})
        read = response.read(decode_content=True)
        response.release_conn()
    except Exception as error:
        passage.end(error)
        raise
    kept = {name: value for name, value in response.headers.items() if name.lower() not in _OF_THE_WIRE}
    kept["Content-Length"] = str(len(read))
    told = WireAnswer(
        response.status,
        response.headers.get("content-type", ""),
        read,
        headers=retry_headers(response.headers),
    )
    passage.end(told)
    return _response(told.status, kept, BytesIO(read), method, url, options)


def _sent(body: Any) -> bytes | None:
    """The body of a request; `None`: it is of a kind that is read only once."""
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    return bytes(body) if isinstance(body, bytes | bytearray | memoryview) else None


class _Body(BytesIO):
    """What a tap gives. Of an answer that is not whole, more than there is cannot be read."""

    def __init__(self, answer: WireAnswer) -> None:
        super().__init__(answer.body)
        self._beyond = answer.beyond

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes."""
        found = super().read(size)
        if self._beyond is not None and not found and size != 0:
            raise self._beyond()
        return found


def _response(
    status: int, headers: Mapping[str, str], body: Any, method: str, url: str, options: Mapping[str, Any]
) -> Any:
    """A response of the library."""
    library: Any = importlib.import_module("urllib3")
    return library.HTTPResponse(
        body,
        headers=headers,
        status=status,
        preload_content=options.get("preload_content", True),
        decode_content=options.get("decode_content", True),
        request_method=method,
        request_url=url,
    )


def _limited(send: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a request that waits for a limit of its run. A call ends when its answer begins."""

    def urlopen(self: Any, method: str, url: str, body: Any, headers: Any, **options: Any) -> Any:
        limits = limits_here()
        if limits is None:
            return send(self, method, url, body, headers, **options)
        name, model = asked_of(_address(self, url), _sent(body) or b"")
        call = enter(limits, name, model)
        try:
            response = send(self, method, url, body, headers, **options)
        except BaseException as error:
            leave(name, error)
            raise
        call.told(response.status, response.headers)
        leave(name)
        return response

    return urlopen
