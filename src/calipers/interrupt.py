"""What ends a run from outside, told apart from what the code under test raises.

Ctrl-C is a request to finish: the first one ends a run early, the second one ends the program as usual. A `KeyboardInterrupt`
that comes without one was raised by a task or an evaluator, and is a failure like any other; so is a cancellation of the
task in which `run_sync` runs an evaluation, for no one outside can reach that.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    import asyncio

_T = TypeVar("_T")

_MAIN: "ContextVar[asyncio.Task[Any] | None]" = ContextVar("calipers_main", default=None)
"""The task in which a synchronous entry point runs everything."""

_released: "WeakSet[asyncio.Task[Any]]" = WeakSet()
"""Such tasks that were given up."""

_calm = False
"""Whether a handler is in place that would have heard a Ctrl-C, and has heard none."""


def is_interrupt(error: BaseException) -> bool:
    """Whether this is the user's Ctrl-C, rather than a `KeyboardInterrupt` that code under test raised.

    Python delivers signals to the main thread alone. Where another handler than ours is in place, every one counts as the user's.
    """
    return (
        isinstance(error, KeyboardInterrupt)
        and not _calm
        and threading.current_thread() is threading.main_thread()
    )


def claim_main(task: "asyncio.Task[Any]") -> None:
    """Say that the current context belongs to a task that no one outside can cancel."""
    _MAIN.set(task)


def release_main(task: "asyncio.Task[Any]") -> None:
    """Say that those who wait for the task give it up, and cancel it."""
    _released.add(task)


def is_main(task: "asyncio.Task[Any]") -> bool:
    """Whether no one outside can cancel this task: if it is cancelled, code under test cancelled every task it found."""
    return _MAIN.get() is task and task not in _released


def is_cancelled_by_caller() -> bool:
    """Whether the current task was cancelled by those who may."""
    import asyncio

    me = asyncio.current_task()
    return me is None or (me.cancelling() > 0 and not is_main(me))


async def outlast(future: "asyncio.Future[_T]") -> _T:
    """Wait for a future. Only the caller can cancel that, not the code under test that cancels all tasks there are."""
    import asyncio

    me = asyncio.current_task()
    while True:
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if me is None or (me.cancelling() and not is_main(me)):
                future.cancel()
                raise
            await take_back(me)
            if future.cancelled():
                raise


async def take_back(task: "asyncio.Task[Any]") -> "asyncio.CancelledError | None":
    """Take back the cancellation of the current task; returns it if it had not been delivered yet."""
    import asyncio

    waiting = None
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError as error:
        waiting = error
    while task.cancelling():
        task.uncancel()
    return waiting


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
    import asyncio  # here, since modules that only ask whether something is an interrupt load early

    global _calm  # noqa: PLW0603 - a process has one handler
    loop = asyncio.get_running_loop()

    def handle(number: int, frame: FrameType | None) -> None:
        global _calm  # noqa: PLW0603
        if not _calm:
            signal.default_int_handler(number, frame)
        _calm = False
        sys.stderr.write("\nstopping: what is finished is kept; Ctrl-C again ends at once\n")
        loop.call_soon_threadsafe(stop)

    signal.signal(signal.SIGINT, handle)
    _calm = True
    try:
        yield
    finally:
        _calm = False
        signal.signal(signal.SIGINT, before)


def _is_default(handler: Any) -> bool:
    if handler is signal.default_int_handler:
        return True
    import asyncio

    # asyncio.run's own handler is a functools.partial of a method of asyncio.Runner.
    method = getattr(handler, "func", None)
    return isinstance(getattr(method, "__self__", None), asyncio.Runner)
