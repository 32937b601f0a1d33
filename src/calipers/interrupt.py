"""What ends a run from outside, told apart from what the code under test raises.

Ctrl-C and SIGTERM are requests to finish: the first one ends a run early, the second one ends the program as usual. A
`KeyboardInterrupt` that comes without one was raised by a task or an evaluator, and is a failure like any other; so is a
cancellation of the task in which `run_sync` runs an evaluation, for no one outside can reach that.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from weakref import WeakSet

from .forks import no_more_forks, tell_of_forks

if TYPE_CHECKING:
    import asyncio

_T = TypeVar("_T")

_MAIN: "ContextVar[asyncio.Task[Any] | None]" = ContextVar("calipers_main", default=None)
"""The task in which a synchronous entry point runs everything."""

_released: "WeakSet[asyncio.Task[Any]]" = WeakSet()
"""Such tasks that were given up."""

_NAMES: Final[dict[int, str]] = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}
_SAID: Final[dict[int, str]] = {
    signal.SIGINT: "stopping: what is finished is kept; Ctrl-C again ends at once",
    signal.SIGTERM: "stopping, by SIGTERM: what is finished is kept",
}
_calm = False
"""Whether a handler is in place that would have heard a Ctrl-C, and has heard none."""


def is_interrupt(error: BaseException) -> bool:
    """Whether this is the user's Ctrl-C, rather than a `KeyboardInterrupt` that code under test raised.

    Python delivers signals to the main thread alone. Where another handler than ours is in place, every one counts as the user's.
    """
    return (
        issubclass(type(error), KeyboardInterrupt)  # the error may not say its own class
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
def on_interrupt(stop: Callable[[str], None]) -> Iterator[None]:
    """Call `stop` on the event loop at the first Ctrl-C or SIGTERM inside the block, with the name of what came.

    Only in the main thread, where Python delivers signals, and only for a signal that has no handler of the user's: Python's
    default, `asyncio.run`'s and that of `terminating` are replaced for the time of the block.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    import asyncio  # here, since modules that only ask whether something is an interrupt load early

    global _calm  # noqa: PLW0603 - a process has one handler
    loop = asyncio.get_running_loop()
    asked = False

    def handle(number: int, frame: FrameType | None) -> None:
        global _calm  # noqa: PLW0603
        nonlocal asked
        _calm = False
        if asked and number == signal.SIGINT:
            signal.default_int_handler(number, frame)
        if asked:
            handlers.put_back()
            signal.raise_signal(number)
            return
        asked = True
        with suppress(RuntimeError):  # it came while something else was being written there
            sys.stderr.write(f"\n{_SAID[number]}\n")
        loop.call_soon_threadsafe(stop, _NAMES[number])

    with _Handlers(dict.fromkeys(_NAMES, handle)) as handlers:
        _calm = signal.SIGINT in handlers.before
        try:
            yield
        finally:
            _calm = False


class Terminated(KeyboardInterrupt):
    """A SIGTERM, where it is to end a program like Ctrl-C: what is open is closed."""


@contextmanager
def terminating() -> Iterator[None]:
    """Raise `Terminated` in the main thread at a SIGTERM inside the block, unless there is a handler for it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _Handlers({signal.SIGTERM: _terminate}):
        yield


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise Terminated


class _Handlers:
    """Signal handlers in the place of the default ones, for the time of a block and in this process alone."""

    def __init__(self, handlers: "dict[int, Callable[[int, FrameType | None], None]]") -> None:
        found = {number: signal.getsignal(number) for number in handlers}
        self.before = {number: handler for number, handler in found.items() if _is_default(number, handler)}
        """What is put back, by signal."""
        self._handlers = handlers
        self._mask: set[int] = set()

    def __enter__(self) -> Self:
        tell_of_forks(self)
        for number in self.before:
            signal.signal(number, self._handlers[number])
        return self

    def __exit__(self, *_: object) -> None:
        no_more_forks(self)
        self.put_back()

    def put_back(self) -> None:
        """Put back what was there before."""
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def before_fork(self) -> None:
        """Hold back signals until it is clear who gets them."""
        if sys.platform != "win32":  # which never forks
            self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, self.before)

    def after_fork(self, *, is_child: bool) -> None:
        """A child that a task forked ends by these signals like any other process."""
        if is_child:
            self.put_back()
        if sys.platform != "win32":
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)


def _is_default(number: int, handler: Any) -> bool:
    if number == signal.SIGTERM:
        return handler in (signal.SIG_DFL, _terminate)
    if handler is signal.default_int_handler:
        return True
    import asyncio

    # asyncio.run's own handler is a functools.partial of a method of asyncio.Runner.
    method = getattr(handler, "func", None)
    return isinstance(getattr(method, "__self__", None), asyncio.Runner)
