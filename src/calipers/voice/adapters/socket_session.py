"""One exchange over a WebSocket: connect, send while listening, stop when the answer is whole.

Sending and listening go on side by side: an answer may come before the request is over, and a server may wait to be heard
before it reads on. However the exchange ends, the socket is closed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

from calipers.data.argument_checks import check_seconds
from calipers.errors import (
    AgentConnectionError,
    AgentError,
    AgentReplyError,
    AgentTimeoutError,
    InvalidOptionError,
    MissingExtraError,
)
from calipers.models.http_request import as_json, is_address
from calipers.models.request_redaction import secrets_of, shown_address, shown_text
from calipers.stats.number_text import plural
from calipers.voice.protocols import ResponseParser
from calipers.voice.response import AgentResponse

from .remote_agent import decoded, parsed

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

_LARGEST_MESSAGE = 64 * 2**20
_CLOSING = 1.0
"""Seconds to wait for the server to close its side, too."""
_PROTOCOL_ENDINGS = (1002, 1003, 1007, 1008, 1009, 1011)
"""Close codes by which a server says that it will not answer this; the others say that the line is gone."""

Send = Callable[["SocketSession"], Awaitable[None]]
"""Sends the whole request."""


class SocketSession:
    """One exchange: its messages, as far as they came, and when."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        api_key: str | None = None,
        open_timeout: float | None = 10.0,
        timeout: float | None = 30.0,
        spoken_seconds: float = 0.0,
        max_messages: int = 10_000,
        options: Mapping[str, Any] | None = None,
        kept: Callable[[Any], Any] = lambda message: message,
    ) -> None:
        self.url = url
        self.headers = headers
        self.open_timeout = open_timeout
        self.timeout = timeout
        self.spoken_seconds = spoken_seconds
        """How long the request itself takes, which is not counted as waiting."""
        self.max_messages = max_messages
        self.options = options
        self.kept = kept
        """What to keep of a message; `None` for nothing."""
        self.messages: list[Any] = []
        """What the server sent: JSON decoded, other text and bytes as they are."""
        self.timings: dict[str, float] = {}
        """Seconds until the socket was `opened`, the request `sent`, the first message there, and all `done`."""
        self.address = shown_address(url)
        self.secrets = secrets_of(url, headers, api_key)
        self._socket: ClientConnection | None = None
        self._failure: Exception | None = None
        self._start = 0.0

    async def send(self, message: Any) -> None:
        """Send text and bytes as they are, and anything else as JSON."""
        assert self._socket is not None, "send is called while the session is open"
        data = message if isinstance(message, str | bytes) else as_json(message, what="a message").decode()
        await self._socket.send(data)

    async def ask(
        self,
        send: Send,
        is_complete: Callable[[Any], bool] | None,
        parser: ResponseParser,
        aggregate: Callable[[list[Any]], Any] = lambda messages: messages,
    ) -> AgentResponse:
        """Send the request and read the answer.

        Args:
            send: sends the request.
            is_complete: whether a message is the last of the answer; without it, all until the server closes count.
            parser: reads the answer.
            aggregate: makes one answer of the messages, for the parser.
        """
        try:
            await self._run(send, is_complete)
            raw = aggregate(self.messages)
            found = parsed(parser, raw, address=self.address, secrets=self.secrets)
        except AgentError as error:
            if error.response is None:
                error.response = parser.parse(self.messages) if self.messages else AgentResponse()
            error.response.timed_out = isinstance(error, AgentTimeoutError)
            error.response.timings = self.timings | error.response.timings
            raise
        found.timings = self.timings | found.timings
        return found

    async def _run(self, send: Send, is_complete: Callable[[Any], bool] | None) -> None:
        """Connect, send and listen until the answer is whole."""
        check_seconds("open_timeout", self.open_timeout)
        check_seconds("timeout", self.timeout)
        check_socket_address(self.url)
        limit = None if self.timeout is None else self.timeout + self.spoken_seconds
        self._start = perf_counter()
        self._socket = await self._connect()
        self._note("opened")
        sending = asyncio.create_task(self._send(send))
        try:
            async with asyncio.timeout(limit):
                await self._listen(is_complete)
        except TimeoutError as error:
            came = plural(len(self.messages), "message") if self.messages else "nothing"
            message = f"{self.address} had not finished after {limit:g} s; {came} had come"
            raise AgentTimeoutError(message) from error
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            await self._socket.close()
        self._note("done")

    def _note(self, event: str) -> None:
        self.timings.setdefault(event, perf_counter() - self._start)

    async def _connect(self) -> "ClientConnection":
        connect, errors = _load_websockets()
        settings: dict[str, Any] = {
            "additional_headers": dict(self.headers or {}),
            "close_timeout": _CLOSING,
            "max_size": _LARGEST_MESSAGE,
            "open_timeout": None,
            **(self.options or {}),
        }
        try:
            async with asyncio.timeout(self.open_timeout):
                socket: ClientConnection = await connect(self.url, **settings)
                return socket
        except TimeoutError as error:
            message = f"{self.address} did not open the connection within {self.open_timeout:g} s"
            raise AgentTimeoutError(message) from error
        except (errors.InvalidURI, ValueError) as error:
            why = shown_text(str(error), [*self.secrets, self.url])
            raise InvalidOptionError(f"{self.address!r} is not the address of a WebSocket: {why}") from None
        except errors.InvalidStatus as error:
            status, body = error.response.status_code, error.response.body or b""
            said = (
                shown_text(bytes(body).decode(errors="replace").strip(), self.secrets)
                or error.response.reason_phrase
            )
            raise AgentReplyError(
                f"{self.address} refused the connection with status {status}: {said}", status=status
            ) from None
        except OSError as error:
            why = shown_text(str(error), self.secrets)
            raise AgentConnectionError(
                f"cannot connect to {self.address} ({why}): is the agent running?"
            ) from error
        except errors.WebSocketException as error:
            why = shown_text(str(error), [*self.secrets, self.url])
            raise AgentConnectionError(f"{self.address} does not speak WebSocket: {why}") from None

    async def _send(self, send: Send) -> None:
        _, errors = _load_websockets()
        assert self._socket is not None
        try:
            await send(self)
            self._note("sent")
        except errors.ConnectionClosed:
            pass  # the listener will notice, and report why
        except Exception as error:
            self._failure = error
            await self._socket.close()

    async def _listen(self, is_complete: Callable[[Any], bool] | None) -> None:
        _, errors = _load_websockets()
        assert self._socket is not None
        count = 0
        while True:
            try:
                message = decoded(await self._socket.recv())
            except errors.ConnectionClosed as closed:
                if self._failure is not None:
                    raise self._failure from None
                if is_complete is None and isinstance(closed, errors.ConnectionClosedOK):
                    return
                raise self._hung_up(closed) from None
            self._note("first_message")
            if (kept := self.kept(message)) is not None:
                self.messages.append(kept)
            if is_complete is not None and is_complete(message):
                return
            count += 1
            if count >= self.max_messages:
                raise AgentReplyError(
                    f"{self.address} sent {count} messages and had not finished: give is_complete, or more max_messages"
                )

    def _hung_up(self, closed: Any) -> AgentError:
        if closed.rcvd is None and closed.sent is not None and closed.sent.code in _PROTOCOL_ENDINGS:
            why = shown_text(f"code {closed.sent.code}, {closed.sent.reason}", self.secrets)
            return AgentReplyError(f"{self.address} sent an invalid message: {why}")
        code = closed.rcvd.code if closed.rcvd is not None else None
        reason = shown_text(closed.rcvd.reason if closed.rcvd is not None else "", self.secrets)
        said = "" if code is None else f", with code {code}{f' ({reason})' if reason else ''}"
        if code in _PROTOCOL_ENDINGS:
            return AgentReplyError(f"{self.address} ended the session before it had answered{said}")
        return AgentConnectionError(f"{self.address} hung up before it had finished{said}")


def check_socket_address(url: Any, *, name: str = "url") -> None:
    """Check the address of a WebSocket."""
    if isinstance(url, str) and is_address(url, ("ws", "wss")):
        return
    told = shown_address(url) if isinstance(url, str) else url
    raise InvalidOptionError(
        f"the {name} must be the address of a WebSocket, such as 'ws://localhost:8000/agent', got {told!r}"
    )


def _load_websockets() -> tuple[Any, Any]:
    """`connect`, and the module of exceptions."""
    try:
        from websockets import exceptions
        from websockets.asyncio.client import connect
    except ImportError as error:
        raise MissingExtraError.of("Talking to an agent over a WebSocket", "voice") from error
    return connect, exceptions
