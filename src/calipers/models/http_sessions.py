"""One HTTP session for each event loop, shared by all its requests, and closed with the loop.

A connection belongs to the loop it was opened in, and a program may have several. So each loop has a session, from its
first request until `asyncio.run` ends, or for `Dataset.evaluate_sync` and the like until the process ends. There is nothing
to close. Idle connections close by themselves within seconds. A forked child opens its own.

- **Requests stand alone.** No cookie is kept, or one case could continue the conversation of another.
- **The number of connections is not limited**: the run decides how much is in flight.
- **Proxies are those of the environment** (`HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`, at a loop's first request), but never on
  the way to this machine itself. `.netrc` is not read.
- **Certificates are those of the system.**
"""

import asyncio
import atexit
import ipaddress
import os
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from calipers.errors import MissingExtraError
from calipers.process.forks import keep_for_ever

if TYPE_CHECKING:
    import aiohttp

_IDLE_SECONDS = 4.0
"""Many servers hang up after five idle seconds, and a request that is sent at that very moment is lost."""


class Session(NamedTuple):
    """What the requests of one event loop share."""

    client: "aiohttp.ClientSession"
    proxies: dict[str, str]
    """The address of the proxy, by the scheme of what is asked."""
    lifetime: AsyncGenerator[None]

    def proxy_for(self, url: str) -> str | None:
        """The proxy by which to reach an address."""
        if not self.proxies:
            return None
        parts = urlsplit(url)
        proxy, host = self.proxies.get(parts.scheme), parts.hostname or ""
        if not proxy or _is_here(host) or proxy_bypass(host):
            return None
        return proxy if "://" in proxy else f"http://{proxy}"


_sessions: dict[asyncio.AbstractEventLoop, Session] = {}


def load_aiohttp() -> Any:
    """The library.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import aiohttp
    except ImportError as error:
        raise MissingExtraError.of("Talking to an agent over HTTP", "http") from error
    return aiohttp


async def session_of_loop() -> Session:
    """The session of the running event loop.

    Raises:
        MissingExtraError: aiohttp is not installed.
    """
    loop = asyncio.get_running_loop()
    found = _sessions.get(loop)
    if found is None:
        aiohttp = load_aiohttp()
        _close_leftovers(of_closed_loops=True)
        client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(),  # none: the time of a request is measured around it
        )
        found = _sessions[loop] = Session(client, getproxies(), _lifetime(loop, client))
        await anext(found.lifetime)
    return found


async def _lifetime(loop: asyncio.AbstractEventLoop, client: "aiohttp.ClientSession") -> AsyncGenerator[None]:
    # A loop that shuts down closes its asynchronous generators, and so this session.
    try:
        yield
    finally:
        _sessions.pop(loop, None)
        await client.close()


@atexit.register
def _close_leftovers(*, of_closed_loops: bool = False) -> None:
    """Close the sessions of loops that were never shut down, or aiohttp would warn about them."""
    for loop, session in list(_sessions.items()):
        if loop.is_closed():
            _sessions.pop(loop, None)
            closing = session.client.close()
            with suppress(StopIteration):
                closing.send(None)  # a closed loop leaves nothing to wait for
        elif not of_closed_loops and not loop.is_running():
            loop.run_until_complete(session.lifetime.aclose())


def _leave_to_parent() -> None:
    """Forget the sessions of the parent: closing one here would close it for the server."""
    global _sessions  # noqa: PLW0603 - it belongs to the process
    keep_for_ever(_sessions)
    _sessions = {}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
