"""The threads in which requests are worked on, each with a deadline, so that the event loop never waits for the store."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Final, TypeVar

from starlette.requests import Request

from .deadline import Deadline, working_until

_T = TypeVar("_T")

WORKERS: Final = 8
"""Requests that are worked on at the same time."""


class RequestThreads:
    """The threads of a server."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(WORKERS, thread_name_prefix="calipers-viewer")
        self._working: set[Deadline] = set()
        self._is_over = False

    async def within(
        self,
        work: Callable[[], _T],
        seconds: float,
        leaves: Awaitable[None] | None = None,
    ) -> _T:
        """What some work gives, done in a worker thread with a deadline; it ends early if the client leaves."""
        deadline = Deadline(seconds)
        if self._is_over:
            deadline.cancel()
        self._working.add(deadline)
        watch = None if leaves is None else asyncio.ensure_future(leaves)
        if watch is not None:
            watch.add_done_callback(lambda done: None if done.cancelled() else deadline.cancel())

        def run() -> _T:
            with working_until(deadline):
                return work()

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, run)
        finally:
            self._working.discard(deadline)
            if watch is not None:
                watch.cancel()

    def end(self) -> None:
        """Let what is being worked on end. May be called from a signal handler."""
        self._is_over = True
        for deadline in list(self._working):
            deadline.cancel()

    def close(self) -> None:
        """End what is being worked on, and wait until it did."""
        self.end()
        self._threads.shutdown(wait=True, cancel_futures=True)


async def leaving(request: Request) -> None:
    """Ends when the client leaves."""
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            return
