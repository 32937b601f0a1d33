"""One request over HTTP, and its answer; without an answer, an `AgentError` says why.

Redirects are not followed: a request for one address is not sent to another. Nothing is retried: a run has `retry=` for
that. A key is in no message, even where the server repeats it.
"""

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from io import BytesIO
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import msgspec

from calipers.data.argument_checks import check_seconds
from calipers.errors import AgentConnectionError, AgentReplyError, AgentTimeoutError, InvalidOptionError
from calipers.models.http_sessions import load_aiohttp, session_of_loop
from calipers.models.request_redaction import secrets_of, shown_address, shown_text
from calipers.models.wire_limits import asked_of, body_of
from calipers.models.wire_tap import Passage, WireAnswer, WireRequest, is_tapped, past_taps, retry_headers
from calipers.run.call_limit import enter_async, leave, limits_here

_LARGE = 2**20
"""aiohttp wants bodies from this size on in pieces."""


class Reply(NamedTuple):
    """What came back, whatever its status."""

    status: int
    reason: str
    """The status in words; empty if the server said none."""
    body: bytes
    charset: str | None = None
    """How text is encoded, where the server says."""
    headers: Mapping[str, str] = {}
    """By name, in any case."""

    @property
    def location(self) -> str | None:
        """Where to ask instead."""
        return self.headers.get("location")

    @property
    def text(self) -> str:
        """The body as text; what cannot be read is replaced."""
        try:
            return self.body.decode(self.charset or "utf-8", errors="replace")
        except LookupError:  # an unknown encoding
            return self.body.decode(errors="replace")


@dataclass(eq=False)
class Request:
    """What to send, where, and how long to wait."""

    url: str
    method: str
    headers: Mapping[str, str] | None
    """Further headers; they win over what the address and the content say."""
    content: bytes
    """The body."""
    content_type: str = "application/json"
    timeout: float | None = None
    """Seconds from the first byte sent to the last received; `None` waits for ever."""
    api_key: str | None = None
    """A key among the headers, which no message may show."""
    asked: str = "agent"
    """What is asked, in the words of a message."""
    waited: float = 0.0
    """Seconds for which it waited for a limit of the run before it was sent."""

    @property
    def address(self) -> str:
        """The URL as messages may show it."""
        return shown_address(self.url)

    @property
    def secrets(self) -> list[str]:
        """What no message may show."""
        return secrets_of(self.url, self.headers, self.api_key)

    async def send(self, client: Any = None) -> Reply:
        """The answer, by the session of the event loop, or by an `httpx.AsyncClient` or `aiohttp.ClientSession`.

        Raises:
            AgentTimeoutError: there was none in time.
            AgentConnectionError: the agent cannot be reached, or hung up.
            InvalidOptionError: the address is invalid, or the request cannot be sent.
            MissingExtraError: aiohttp is not installed, and no other client is given.
        """
        check_seconds("timeout", self.timeout)
        check_address(self.url)
        if client is not None and not hasattr(client, "request"):
            raise InvalidOptionError(
                f"client must be an httpx.AsyncClient or aiohttp.ClientSession, got {client!r:.200}"
            )
        if not hasattr(client, "aclose") and is_tapped(self.method, self.url):
            return await self._through_taps(client)
        return await self._sent(client)

    async def _through_taps(self, client: Any) -> Reply:
        """The answer, where taps see the request or answer it. A client of httpx has them in its transport."""
        passage = Passage(WireRequest(self.method, self.url, self.content, tuple(self.secrets)))
        if (answer := passage.answer) is not None:
            await asyncio.sleep(answer.delay)
            headers = {"content-type": answer.content_type, **answer.headers}
            return Reply(answer.status, "", answer.body, headers=headers)
        request = replace(self, url=passage.request.url, content=passage.request.body)
        try:
            with past_taps():
                reply = await request._sent(client)  # noqa: SLF001 - of its own class
        except Exception as error:
            passage.end(error)
            raise
        finally:
            self.waited += request.waited
        told = retry_headers(reply.headers)
        passage.end(WireAnswer(reply.status, reply.headers.get("content-type", ""), reply.body, headers=told))
        return reply

    async def _sent(self, client: Any) -> Reply:
        """The answer; in a run with limits, when this request has its turn.

        One that was refused is sent again as long as others are answered meanwhile: the limit follows what the server takes, and it
        is by chance which request is one too many.
        """
        if (limits := limits_here()) is None:
            return await self._sent_now(client)
        name, model = asked_of(self.url, self.content)
        answered = -1
        while True:
            start = perf_counter()
            call = await enter_async(limits, name, model)
            self.waited += perf_counter() - start
            try:
                reply = await self._sent_now(client)
            except BaseException as error:
                leave(name, error)
                raise
            call.told(reply.status, reply.headers, body_of(reply.status, reply.body))
            leave(name)
            before, answered = answered, call.limit.answered
            if reply.status != 429 or answered <= max(before, 0) or not _wants_again(reply):
                return reply

    async def _sent_now(self, client: Any) -> Reply:
        own = await session_of_loop() if client is None else None  # loads aiohttp, before the time counts
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                if own is not None:
                    return await self._by_aiohttp(own.client, proxy=own.proxy_for(self.url))
                if hasattr(client, "aclose"):
                    return await self._by_httpx(client)
                return await self._by_aiohttp(client)
        except TimeoutError as error:
            waited = f"within {self.timeout:g} s" if limit.expired() else "in time"
            raise AgentTimeoutError(f"{self.address} did not answer {waited}") from error

    def refusal(self, reply: Reply) -> AgentReplyError | None:
        """The error that a reply is; `None` if its status says that it is an answer."""
        if 200 <= reply.status < 300:
            return None
        if reply.location is not None and 300 <= reply.status < 400:
            said = f"it has moved to {shown_address(reply.location)}"
        else:
            said = shown_text(reply.text, self.secrets) or "without a word"
        status = f"{reply.status} {reply.reason}".strip()
        return AgentReplyError(f"{self.address} answered with status {status}: {said}", status=reply.status)

    async def _by_aiohttp(self, client: Any, **options: Any) -> Reply:
        aiohttp = load_aiohttp()
        data = self.content if len(self.content) < _LARGE else BytesIO(self.content)
        url, headers = self._url_and_headers()
        options |= {"headers": headers, "allow_redirects": False, "raise_for_status": False}
        try:
            async with client.request(self.method, url, data=data, **options) as answer:
                body = await answer.read()
        except TimeoutError:
            raise
        except aiohttp.InvalidURL as error:
            raise self._unsendable(error) from None
        except aiohttp.ClientConnectorError as error:
            raise self._unreachable(error.__cause__ or error) from self._shown_cause(error)
        except (aiohttp.ClientError, OSError) as error:
            raise self._hung_up(error) from self._shown_cause(error)
        except (TypeError, ValueError) as error:
            raise self._unsendable(error) from None
        return Reply(answer.status, answer.reason or "", body, answer.charset, answer.headers)

    async def _by_httpx(self, client: Any) -> Reply:
        import httpx

        url, headers = self._url_and_headers()
        try:
            answer = await client.request(
                self.method, url, content=self.content, headers=headers, follow_redirects=False
            )
        except httpx.TimeoutException as error:
            raise TimeoutError from error
        except httpx.ConnectError as error:
            raise self._unreachable(error) from self._shown_cause(error)
        except (httpx.InvalidURL, httpx.LocalProtocolError, TypeError, ValueError) as error:
            raise self._unsendable(error) from None
        except httpx.RequestError as error:
            raise self._hung_up(error) from self._shown_cause(error)
        charset = answer.charset_encoding
        return Reply(answer.status_code, answer.reason_phrase, answer.content, charset, answer.headers)

    def _url_and_headers(self) -> tuple[str, dict[str, str]]:
        headers = dict(self.headers or {})
        given = {name.lower() for name in headers}
        if "content-type" not in given:
            headers["Content-Type"] = self.content_type
        if "authorization" not in given or "@" not in self.url:
            return self.url, headers
        parts = urlsplit(self.url)  # the header wins over the user in the address
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])), headers

    def _why(self, error: BaseException) -> str:
        return shown_text(str(error) or type(error).__name__, [*self.secrets, self.url])

    def _shown_cause(self, error: Exception) -> Exception | None:
        """The error, if a traceback may show it."""
        return None if any(secret in str(error) for secret in self.secrets) else error

    def _unreachable(self, error: BaseException) -> AgentConnectionError:
        return AgentConnectionError(
            f"cannot connect to {self.address} ({self._why(error)}): is the {self.asked} running?"
        )

    def _hung_up(self, error: BaseException) -> AgentConnectionError:
        return AgentConnectionError(f"{self.address} hung up before it had answered: {self._why(error)}")

    def _unsendable(self, error: BaseException) -> InvalidOptionError:
        return InvalidOptionError(f"the request to {self.address} cannot be sent: {self._why(error)}")


def _wants_again(reply: Reply) -> bool:
    """Whether a server that has refused a request may be asked again, as far as it says."""
    return str(reply.headers.get("x-should-retry", "")).strip().lower() != "false"


def is_passing_trouble(error: BaseException) -> bool:
    """Whether asking again may help: no connection, too many requests, or a server's own failure."""
    if isinstance(error, AgentReplyError):
        return error.status is not None and (error.status == 429 or error.status >= 500)
    return isinstance(error, AgentConnectionError)


def check_address(url: Any, *, name: str = "url") -> None:
    """Check an address.

    Raises:
        InvalidOptionError: it is not an HTTP address.
    """
    if isinstance(url, str) and is_address(url, ("http", "https")):
        return
    told = shown_address(url) if isinstance(url, str) else url
    raise InvalidOptionError(
        f"the {name} must be the address of an agent, such as 'http://localhost:8000/chat', got {told!r}"
    )


@lru_cache
def is_address(url: str, schemes: tuple[str, ...]) -> bool:
    """Whether this is an address with a host and one of these schemes."""
    try:
        parts = urlsplit(url)
        has_place = bool(parts.hostname) and (parts.port is None or parts.port >= 0)
    except ValueError:  # such as a port of letters
        return False
    return has_place and parts.scheme in schemes and url.isprintable()


def as_json(body: Any, *, what: str = "the request") -> bytes:
    """The body of a request; bytes in it become base64.

    Raises:
        InvalidOptionError: JSON cannot hold it.
    """
    try:
        made = msgspec.json.encode(body)
        # It writes null for such a number, so most bodies need no second look.
        if b"null" in made and (number := _not_finite(body)) is not None:
            raise ValueError(f"it holds {number!r}, and JSON knows only finite numbers")  # noqa: TRY301
        return made
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidOptionError(f"{what} cannot be sent as JSON: {error}") from None


def _not_finite(value: Any) -> float | None:
    """The first number in a value that JSON cannot hold: a serializer would write `null`."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:  # nearly all there is, and quickly told
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else value
    inside: Any = ()
    if kind is dict or isinstance(value, Mapping):
        inside = value.values()
    elif isinstance(value, list | tuple):
        inside = value
    for each in inside:
        if (number := _not_finite(each)) is not None:
            return number
    return None
