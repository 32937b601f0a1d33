"""Ctrl-C as a request to finish: the first one ends a run early, the second one ends the program as usual."""

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on the event loop at the first Ctrl-C inside the block.

    Only in the main thread, where Python delivers signals, and only if nobody else has put a handler of their own:
    Python's default and `asyncio.run`'s are replaced for the time of the block.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not _is_default(before):
        yield
        return
    loop = asyncio.get_running_loop()
    asked = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            signal.default_int_handler(number, frame)
        asked = True
        sys.stderr.write("\nstopping: what is finished is kept; Ctrl-C again ends at once\n")
        loop.call_soon_threadsafe(stop)

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _is_default(handler: Any) -> bool:
    if handler is signal.default_int_handler:
        return True
    # asyncio.run's own handler is a functools.partial of a method of asyncio.Runner.
    method = getattr(handler, "func", None)
    return isinstance(getattr(method, "__self__", None), asyncio.Runner)
