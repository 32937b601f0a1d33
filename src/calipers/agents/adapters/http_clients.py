"""HTTP clients that close themselves: one for each event loop, open from its first request to the end of the loop.

A connection belongs to the loop it was opened in, and a run may have a loop of its own. So each loop has its client, and
requests that follow one another in it share connections.
"""

import asyncio
import functools
import weakref
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from calipers.errors import MissingExtraError

if TYPE_CHECKING:
    import ssl

    import httpx


class HttpClients:
    """One HTTP client for each event loop, closed with the loop."""

    def __init__(self) -> None:
        self._of: dict[asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, AsyncGenerator[None]]] = {}

    async def get(self) -> "httpx.AsyncClient":
        """The client of this event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._of:
            httpx = load_httpx()
            # How much is under way is the run's decision, and how long it may take is measured around each request.
            limits = httpx.Limits(max_connections=None)
            client = httpx.AsyncClient(timeout=None, limits=limits, verify=_certificates())
            lifetime = _lifetime(weakref.ref(self), loop, client)
            self._of[loop] = client, lifetime
            await anext(lifetime)
        return self._of[loop][0]

    def forget(self, loop: asyncio.AbstractEventLoop) -> None:
        """The client of an event loop is no more."""
        self._of.pop(loop, None)

    async def close(self) -> None:
        """Close the client of this event loop, if there is one."""
        if (found := self._of.get(asyncio.get_running_loop())) is not None:
            await found[1].aclose()


async def _lifetime(
    clients: "weakref.ref[HttpClients]", loop: asyncio.AbstractEventLoop, client: "httpx.AsyncClient"
) -> AsyncGenerator[None]:
    # A loop that shuts down closes the asynchronous generators begun in it, and one that nobody refers to any more is
    # closed as well: that is how a client hears of the end, be it the loop's or the adapter's.
    try:
        yield
    finally:
        if (owner := clients()) is not None:
            owner.forget(loop)
        await client.aclose()


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
        raise MissingExtraError.of("Talking to an agent over HTTP", "http") from error
    return httpx
