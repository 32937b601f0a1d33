"""One request over HTTP, and every way in which it may fail, as an `AgentError`.

Clients live as long as requests of their adapter are under way. So a run of many requests opens few connections, nothing
stays open afterwards, and nobody has to close anything. Each request has a client to itself: the pool of one client takes
time that grows with the square of its connections.
"""

import asyncio
import functools
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from calipers.errors import (
    AgentConnectionError,
    AgentReplyError,
    AgentTimeoutError,
    InvalidOptionError,
    MissingExtraError,
)
from calipers.voice.response import AgentResponse

from .request import check_seconds
from .showing import hidden, secrets_of, shown_address, shown_text

if TYPE_CHECKING:
    import ssl

    import httpx


class Clients:
    """HTTP clients that stay open while the adapter has requests under way."""

    def __init__(self) -> None:
        self._open: WeakKeyDictionary[asyncio.AbstractEventLoop, _Open] = WeakKeyDictionary()

    @asynccontextmanager
    async def one(self) -> "AsyncIterator[httpx.AsyncClient]":
        """A client for one request: one that is free, or a new one."""
        async with self.kept_open() as clients:
            client = clients.free.pop() if clients.free else _new_client()
            try:
                yield client
            finally:
                clients.free.append(client)

    @asynccontextmanager
    async def kept_open(self) -> "AsyncIterator[_Open]":
        """Keep the clients of this event loop open; whoever leaves last closes them."""
        loop = asyncio.get_running_loop()
        clients = self._open.setdefault(loop, _Open())
        clients.users += 1
        try:
            yield clients
        finally:
            clients.users -= 1
            if not clients.users:
                del self._open[loop]
                for client in clients.free:
                    await client.aclose()


class _Open:
    """The clients of one event loop."""

    def __init__(self) -> None:
        self.users = 0
        self.free: list[httpx.AsyncClient] = []


def _new_client() -> "httpx.AsyncClient":
    # The time of a request is measured around it, so the client needs no limit of its own.
    client: httpx.AsyncClient = load_httpx().AsyncClient(verify=_certificates(), timeout=None)
    return client


@functools.cache
def _certificates() -> "ssl.SSLContext":
    """Reading them takes longer than many an agent takes to answer."""
    found: ssl.SSLContext = load_httpx().create_ssl_context()
    return found


def load_httpx() -> Any:
    """The library.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import httpx
    except ImportError as error:
        raise MissingExtraError.of("Talking to an agent over HTTP", "voice") from error
    return httpx


class Request(NamedTuple):
    """What to ask, of whom, and for how long."""

    url: str
    method: str = "POST"
    headers: Mapping[str, str] | None = None
    timeout: float | None = 60.0
    """Seconds from the first byte sent to the last received; `None` waits for ever."""
    body: Any = None
    """Sent as JSON."""
    form: Mapping[str, Any] | None = None
    """Sent as a form instead: `data` and `files`, as httpx takes them."""
    api_key: str | None = None

    @property
    def secrets(self) -> list[str]:
        """What must not be shown."""
        return secrets_of(self.url, self.headers, self.api_key)

    async def send(self, clients: Clients, own: "httpx.AsyncClient | None" = None) -> bytes:
        """The body of the answer.

        Raises:
            AgentError: there is none, by whichever of its kinds says why.
            InvalidOptionError: the address is none.
        """
        httpx, address = load_httpx(), shown_address(self.url)
        check_seconds("timeout", self.timeout)
        try:
            async with asyncio.timeout(self.timeout):
                if own is not None:
                    answer = await self._ask(own)
                else:
                    async with clients.one() as client:
                        answer = await self._ask(client)
        except (TimeoutError, httpx.TimeoutException) as error:
            waited = "in time" if self.timeout is None else f"within {self.timeout:g} s"
            message = f"{address} did not answer {waited}"
            raise AgentTimeoutError(message, response=AgentResponse(timed_out=True)) from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise InvalidOptionError(f"{address!r} is no address that HTTP knows: {error}") from None
        except httpx.LocalProtocolError as error:
            why = shown_text(str(error), self.secrets)
            raise InvalidOptionError(f"the request to {address} cannot be sent: {why}") from None
        except httpx.ConnectError as error:
            why = shown_text(str(error), self.secrets)
            raise AgentConnectionError(
                f"cannot connect to {address} ({why}): is the agent running?"
            ) from error
        except httpx.TransportError as error:
            why = shown_text(str(error) or type(error).__name__, self.secrets)
            raise AgentConnectionError(f"{address} hung up before it had answered: {why}") from error
        self._check(answer, address)
        return bytes(answer.content)

    async def _ask(self, client: "httpx.AsyncClient") -> "httpx.Response":
        headers = dict(self.headers or {})
        if self.form is not None:
            return await client.request(self.method, self.url, headers=headers, **self.form)
        content = msgspec.json.encode(self.body)
        headers.setdefault("Content-Type", "application/json")
        return await client.request(self.method, self.url, headers=headers, content=content)

    def _check(self, answer: "httpx.Response", address: str) -> None:
        if answer.is_success:
            return
        status = f"{answer.status_code} {answer.reason_phrase}".strip()
        if answer.is_redirect:
            said = f"it has moved to {shown_address(answer.headers.get('location', ''))}"
        else:
            said = shown_text(answer.text, self.secrets) or "without a word"
        raise AgentReplyError(
            f"{address} answered with status {status}: {said}",
            response=AgentResponse(raw=hidden(answer.text, self.secrets)),
            status=answer.status_code,
        )
