"""An OTLP/HTTP endpoint into which agents in any language export their spans. `Receiver`.

`POST /v1/traces` and `POST /v1/logs` take JSON and protobuf, with or without gzip. The body of a request is written to the spool before
it is acknowledged; a thread sorts spans into traces and stores these, another one judges them.

Back-pressure: while more waits to be stored than `ReceiverLimits.waiting_bytes`, or more spans come in a second than are allowed, a request is
refused with 429 and `Retry-After`, and an exporter sends it again. If the disk is full the answer is 503, for the same reason.

Any program on the machine may send to loopback. Any other address needs a token, which `check_address` sees to. Pages in a browser cannot send: what
they may send to another site without being asked is of another content type.
"""

import asyncio
import hmac
import ipaddress
import threading
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from calipers.errors import InvalidOptionError, MissingExtraError

from .otlp_request import (
    CONTENT_TYPES,
    EXHAUSTED,
    INVALID,
    UNAUTHENTICATED,
    UNAVAILABLE,
    Answer,
    Body,
    Form,
    accepted,
    read_body,
    refused,
)
from .received_run import ArrivalJudge, ReceivedRun

if TYPE_CHECKING:
    from aiohttp import web

_TICK: Final = 0.25
"""Seconds between looks at what is complete."""
_PATHS: Final = ("/v1/traces", "/v1/logs")
_LAST_ANSWERS: Final = 5.0
"""Seconds that requests may take to end when all is over."""


class ReceiverLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a receiver takes."""

    body_bytes: int = 64 << 20
    """Of one request, unzipped."""
    waiting_bytes: int = 256 << 20
    """Of all requests whose spans are not stored yet."""
    spans_per_second: float | None = None
    """`None`: as many as there is room for."""


class _Request(NamedTuple):
    """A request that is to be put on disk."""

    form: Form
    body: bytes
    read: Body
    is_safe: "asyncio.Future[None]"


class Receiver:
    """Receives spans over HTTP into a run."""

    def __init__(
        self,
        run: ReceivedRun,
        *,
        judge: ArrivalJudge | None = None,
        token: str | None = None,
        limits: ReceiverLimits | None = None,
    ) -> None:
        """A receiver that is not open yet; `open` opens it.

        Args:
            run: that traces are stored into.
            judge: of its attempts.
            token: which a request must have, as `authorization: Bearer`; `None`: none is needed.
            limits: of what it takes.
        """
        self.run = run
        self.url = ""
        """Where it is, when it is open."""
        self.error: BaseException | None = None
        """Why traces can no longer be stored; `None` if they can."""
        self._judge = judge
        self._token = token
        self._limits = limits or ReceiverLimits()
        self._arrived: deque[tuple[Body, int, int]] = deque()
        self._queued = 0
        """Bytes of requests that the thread has not looked at yet."""
        self._counting = threading.Lock()
        self._second = 0
        self._spans = 0
        """Spans that came in this second."""
        self._stop = threading.Event()
        self._ended: asyncio.Event | None = None

    async def open(self, host: str, port: int) -> None:
        """Begin to receive.

        Raises:
            OSError: the port is taken, or the address is not one of this machine.
            MissingExtraError: aiohttp is not installed.
        """
        web = load_web()
        app = web.Application(client_max_size=self._limits.body_bytes)
        for path in _PATHS:
            app.router.add_post(path, self._export)
        self._runner = web.AppRunner(
            app, access_log=None, handle_signals=False, shutdown_timeout=_LAST_ANSWERS
        )
        await self._runner.setup()
        self._to_write: asyncio.Queue[_Request] = asyncio.Queue()
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except BaseException:
            await self._runner.cleanup()
            raise
        address = self._runner.addresses[0]
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        self.url = f"http://{shown}:{address[1]}"
        self._writer = asyncio.create_task(self._write_all())
        self._keeper = threading.Thread(target=self._keep_all, name="calipers-receiver", daemon=True)
        self._keeper.start()

    async def wait(self, ended: "asyncio.Event") -> None:
        """Wait until `ended` is set, or traces can no longer be stored."""
        assert self._ended is not None
        waiting = [asyncio.ensure_future(each.wait()) for each in (ended, self._ended)]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()

    async def close(self) -> None:
        """Stop receiving, and store and judge what has arrived."""
        await self._runner.cleanup()
        self._writer.cancel()
        with suppress(asyncio.CancelledError):
            await self._writer
        self._stop.set()
        await asyncio.to_thread(self._keeper.join)
        if self._judge is not None:
            await asyncio.to_thread(self._judge.finish)

    # ------------------------------------------------------------------ requests

    async def _export(self, request: "web.Request") -> "web.Response":
        form = CONTENT_TYPES.get(request.content_type)
        if not self._may_send(request.headers.get("authorization", "")):
            answer = refused(form or "J", 401, UNAUTHENTICATED, "a token is needed: authorization: Bearer …")
        elif form is None:
            known = " or ".join(CONTENT_TYPES)
            answer = refused(
                "J", 415, INVALID, f"the content type must be {known}, got {request.content_type!r}"
            )
        elif (why := self._is_full()) is not None:
            answer = refused(form, 429, EXHAUSTED, why)
        else:
            answer = await self._answer(request, form)
        response: web.Response = load_web().Response(
            status=answer.status, body=answer.body, content_type=answer.content_type
        )
        if answer.status in {429, 503}:
            response.headers["Retry-After"] = "1"
        return response

    def _may_send(self, authorization: str) -> bool:
        if self._token is None:
            return True
        scheme, _, given = authorization.partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(
            given.strip().encode(), self._token.encode()
        )

    def _is_full(self) -> str | None:
        """Why no more can be taken now."""
        if self._queued + self.run.inbox.size > self._limits.waiting_bytes:
            return f"more than {self._limits.waiting_bytes} bytes wait to be stored: send this again"
        most = self._limits.spans_per_second
        if most is not None and int(monotonic()) == self._second and self._spans >= most:
            return f"more than {most:g} spans came in this second: send this again"
        return None

    async def _answer(self, request: "web.Request", form: Form) -> Answer:
        web = load_web()
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            most = self._limits.body_bytes
            return refused(form, 413, EXHAUSTED, f"the request has more than {most} bytes: send smaller ones")
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:
            return refused(form, 400, INVALID, f"the body cannot be unzipped: {error}")
        read = read_body(form, body)
        if read.problem and not read.items:
            return refused(form, 400, INVALID, read.problem)
        if self.error is not None:
            return refused(form, 503, UNAVAILABLE, "traces cannot be stored any more")
        if int(monotonic()) != self._second:
            self._second, self._spans = int(monotonic()), 0
        self._spans += len(read.items)
        if read.items:
            safe: asyncio.Future[None] = self._loop.create_future()
            self._to_write.put_nowait(_Request(form, body, read, safe))
            try:
                await safe
            except OSError as error:
                return refused(form, 503, UNAVAILABLE, f"the request cannot be written to disk: {error}")
        return accepted(form, read)

    # ------------------------------------------------------------------ to disk

    async def _write_all(self) -> None:
        """Put requests on disk, those that wait together at once, and say so."""
        while True:
            batch = [await self._to_write.get()]
            while not self._to_write.empty():
                batch.append(self._to_write.get_nowait())
            try:
                await asyncio.to_thread(self._write, batch)
            except OSError as error:
                for request in batch:
                    if not request.is_safe.done():
                        request.is_safe.set_exception(error)
                continue
            for request in batch:
                if not request.is_safe.done():  # the client went away
                    request.is_safe.set_result(None)

    def _write(self, batch: list[_Request]) -> None:
        segment = self.run.spool.write([(request.form, request.body) for request in batch])
        with self._counting:
            self._queued += sum(len(request.body) for request in batch)
        self._arrived.extend((request.read, len(request.body), segment) for request in batch)

    # ------------------------------------------------------------------ into the store

    def _keep_all(self) -> None:
        try:
            while True:
                is_last = self._stop.wait(_TICK)
                self._keep(is_last=is_last)
                if is_last:
                    return
        except BaseException as error:
            self.error = error
            if self._ended is not None:
                self._loop.call_soon_threadsafe(self._ended.set)

    def _keep(self, *, is_last: bool) -> None:
        inbox = self.run.inbox
        current = self.run.spool.current  # before the look at what has arrived
        now = monotonic()
        while self._arrived:
            read, size, segment = self._arrived.popleft()
            inbox.add(read.items, size=size, segment=segment, now=now)
            with self._counting:
                self._queued -= size
        positions = self.run.sweep(now, at_once=is_last)
        if self._judge is not None and positions:
            self._judge.add(positions)
        needed = inbox.first_segment()
        self.run.spool.release(current if needed is None else min(needed, current))


def check_address(host: str, token: str | None) -> None:
    """See that an address that others can reach has a token.

    Raises:
        InvalidOptionError: it has none, or an empty one.
    """
    if token is not None and not token.strip():
        raise InvalidOptionError("the token is empty: give one that cannot be guessed")
    if token is None and not is_loopback(host):
        raise InvalidOptionError(
            f"{host!r} can be reached from other machines: give --token TOKEN, which a sender must have, or --host 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def load_web() -> Any:
    """The library that serves HTTP.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        from aiohttp import web
    except ImportError as error:
        raise MissingExtraError.of("Receiving traces", "http") from error
    return web
