"""What ends a run from outside, told apart from what the code under test raises.

Ctrl-C and SIGTERM are requests to finish: the first one ends a run early, the second one ends the program as usual. While a
handler of this module is in place, which is so during a run and during a whole command, a `KeyboardInterrupt` that comes without
a signal was raised by user code, and is a failure like any other; so is a cancellation of the task in which `run_sync` runs an
evaluation, which code outside cannot reach.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar, copy_context
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar
from weakref import WeakSet

from typing_extensions import override

from calipers.process.forks import no_more_forks, tell_of_forks

if TYPE_CHECKING:
    import asyncio

_T = TypeVar("_T")

_MAIN: "ContextVar[asyncio.Task[Any] | None]" = ContextVar("calipers_main", default=None)
"""The task in which a synchronous entry point runs everything."""

_released: "WeakSet[asyncio.Task[Any]]" = WeakSet()
"""Such tasks that were given up."""

Signal = Literal["Ctrl-C", "SIGTERM"]
"""What ends a run from outside, by the name people know."""

_NAMES: Final[dict[int, Signal]] = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}
_SAID: Final[dict[int, str]] = {
    signal.SIGINT: "stopping: what is finished is kept; Ctrl-C again ends at once",
    signal.SIGTERM: "stopping, by SIGTERM: what is finished is kept",
}
_taken = 0
"""How many signals a run of this process was stopped by."""
_heard = False
"""Whether a handler of ours has heard a signal since it is in place."""


def is_interrupt(error: BaseException) -> bool:
    """Whether this is the user's Ctrl-C, rather than a `KeyboardInterrupt` that user code raised.

    Python delivers signals to the main thread alone. Where another handler than ours is in place, every one counts as the user's.
    """
    return (
        issubclass(type(error), KeyboardInterrupt)  # the error may not say its own class
        and _is_main_thread()
        and (_heard or not _is_ours(signal.getsignal(signal.SIGINT)))
    )


def was_signalled() -> bool:
    """Whether a handler of ours has heard a signal, so that runs are about to be stopped."""
    return _heard


def signals_taken() -> int:
    """How many signals have ended runs of this process, and so did not end what called them."""
    return _taken


def claim_main(task: "asyncio.Task[Any]") -> None:
    """Say that the current context belongs to a task that code outside cannot cancel."""
    _MAIN.set(task)


def release_main(task: "asyncio.Task[Any]") -> None:
    """Say that the task was given up, so that it may be cancelled."""
    _released.add(task)


def is_main(task: "asyncio.Task[Any]") -> bool:
    """Whether code outside cannot cancel this task: if it is cancelled, code under test cancelled every task it found."""
    return _MAIN.get() is task and task not in _released


def is_cancelled_by_caller() -> bool:
    """Whether the current task was cancelled from outside, and not by code under test."""
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


class _Handlers:
    """Signal handlers in the place of the default ones, for the time of a block and in this process alone."""

    def __init__(self, handlers: "dict[int, Callable[[int, FrameType | None], None]]") -> None:
        found = {number: signal.getsignal(number) for number in handlers}
        self.before = {number: handler for number, handler in found.items() if _is_default(number, handler)}
        """What is put back, by signal."""
        self._handlers = handlers
        self._heard_before = False
        self._mask: set[int] = set()

    def __enter__(self) -> Self:
        global _heard
        self._heard_before, _heard = _heard, False
        tell_of_forks(self)
        for number in self.before:
            signal.signal(number, self._handlers[number])
        return self

    def __exit__(self, *_: object) -> None:
        global _heard  # noqa: PLW0603
        no_more_forks(self)
        self.put_back()
        # A Ctrl-C may be on its way through the block.
        _heard = _heard or self._heard_before

    def put_back(self) -> None:
        """Put back what was there before, unless another handler has come since: a notebook has one for each cell."""
        for number, handler in self.before.items():
            if signal.getsignal(number) == self._handlers[number]:
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


class _Listener(_Handlers):
    """Hears Ctrl-C and SIGTERM in the main thread, for runs in whatever thread.

    The first signal stops the runs there are. A further one, and one that comes while there are none, means what it means elsewhere;
    so does one that came too late for a run to be stopped by it, when all is over.
    """

    def __init__(self, *, blocks: bool) -> None:
        super().__init__(dict.fromkeys(_NAMES, self._handle))
        self.is_open = True
        self._blocks = blocks
        self._users = 0
        self._context = copy_context()
        self._stops: list[Callable[[Signal], None]] = []
        self._asked = False
        self._missed: int | None = None
        """A signal that no run has been stopped by yet."""

    @override
    def __enter__(self) -> Self:
        self._users += 1
        return self if self._users > 1 else super().__enter__()

    @override
    def __exit__(self, *_: object) -> None:
        self._users -= 1
        if self._users:
            return
        self.is_open = False
        super().__exit__()
        if self._missed is not None:
            signal.raise_signal(self._missed)

    @override
    def after_fork(self, *, is_child: bool) -> None:
        super().after_fork(is_child=is_child)
        if is_child:
            self.is_open = False

    @contextmanager
    def stopping(self, send: Callable[[Signal], None]) -> Iterator[None]:
        """Call `send` at the first signal inside the block, with the name of what came; until `has_arrived`, nothing was stopped."""
        global _heard  # noqa: PLW0603
        if not self._stops:
            self._asked = _heard = False
        self._stops.append(send)
        if self._asked and (missed := self._missed) is not None:  # what came while the run was being prepared
            send(_NAMES[missed])
        try:
            yield
        finally:
            self._stops.remove(send)

    def has_arrived(self) -> None:
        """Say that a run was stopped by the signal."""
        global _taken  # noqa: PLW0603
        if self._missed is not None:
            _taken += 1
        self._missed = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        global _heard  # noqa: PLW0603
        _heard = True
        if self._asked or not self._stops:
            self._pass_on(number, frame)
            return
        self._asked, self._missed = True, number
        with suppress(RuntimeError):  # it came while something else was being written there
            # A notebook shows it below the cell whose context it is.
            self._context.copy().run(sys.stderr.write, f"\n{_SAID[number]}\n")
        for send in list(self._stops):
            send(_NAMES[number])

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        self._missed = None
        # A kernel whose event loop ends by a KeyboardInterrupt is gone, with all that its notebook had.
        ours = self._blocks or not _is_of(self.before[number], "ipykernel")
        if number == signal.SIGINT and ours:
            signal.default_int_handler(number, frame)
        self.put_back()
        signal.raise_signal(number)


_listener: _Listener | None = None
"""What hears signals at the moment, or did last."""

_WAITED_FOR: ContextVar[_Listener | None] = ContextVar("calipers_waited_for", default=None)
"""What hears signals for code in another thread that the main thread waits for."""


_EXPECTED: ContextVar[tuple[ExitStack, ...]] = ContextVar("calipers_expected", default=())
"""The blocks that wait for a run to begin."""


@contextmanager
def listening(*, blocks: bool) -> Iterator[None]:
    """Hear Ctrl-C and SIGTERM for the runs that begin inside the block, in this thread or another.

    While there is no run, they mean what they mean elsewhere, and `is_interrupt` can tell them from what user code raises.

    Only in the main thread, where Python delivers signals, and only for a signal that has no handler of the user's: Python's
    default, that of `terminating` and those of `asyncio.run`, a notebook's kernel and trio are replaced for the time of the block.

    Args:
        blocks: whether the main thread does nothing else inside the block than wait for another thread.
    """
    global _listener  # noqa: PLW0603
    if not _is_main_thread():
        yield
        return
    if _listener is None or not _listener.is_open:
        _listener = _Listener(blocks=blocks)
    with _listener as listener:
        before = _WAITED_FOR.get()
        _WAITED_FOR.set(listener)
        try:
            yield
        finally:
            _WAITED_FOR.set(before)  # not reset: a coroutine may be closed in another context


@contextmanager
def on_interrupt(stop: Callable[[Signal], None]) -> Iterator[None]:
    """Call `stop` on the event loop at the first Ctrl-C or SIGTERM inside the block, with the name of what came.

    In the main thread, and in another one if the main thread waits for what it does.
    """
    with listening(blocks=False):
        listener = _WAITED_FOR.get()
        if listener is None or not listener.is_open:
            yield
            return
        import asyncio  # here, since modules that only ask whether something is an interrupt load early

        loop = asyncio.get_running_loop()

        def arrive(name: Signal) -> None:
            listener.has_arrived()
            stop(name)

        def send(name: Signal) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(arrive, name)

        with listener.stopping(send):
            for expected in _EXPECTED.get():
                expected.close()
            yield


@contextmanager
def expecting_run() -> Iterator[None]:
    """Keep a Ctrl-C or SIGTERM for the run that is about to begin, since loading and preparing it takes a moment.

    From the beginning of the run, this block does nothing. If there comes none, the signal is as ever when the block is left; a second one
    is not kept.
    """
    with listening(blocks=False), ExitStack() as waiting:
        listener = _WAITED_FOR.get()
        if listener is None or not listener.is_open:
            yield
            return
        waiting.enter_context(listener.stopping(lambda _name: None))
        before = _EXPECTED.get()
        _EXPECTED.set((*before, waiting))
        try:
            yield
        finally:
            _EXPECTED.set(before)


@contextmanager
def held_back() -> Iterator[None]:
    """Hold back a Ctrl-C or SIGTERM until the block is left, unless it ends a run inside; a second one is not held back."""
    with listening(blocks=False):
        listener = _WAITED_FOR.get()
        if listener is None or not listener.is_open:
            yield
            return
        with listener.stopping(lambda _name: None):
            yield


class Terminated(KeyboardInterrupt):
    """A SIGTERM, where it is to end a program like Ctrl-C: what is open is closed."""


@contextmanager
def terminating() -> Iterator[None]:
    """Raise `Terminated` in the main thread at a SIGTERM inside the block, and notice a Ctrl-C, unless there are handlers for them."""
    if not _is_main_thread():
        yield
        return
    with _Handlers({signal.SIGTERM: _terminate, signal.SIGINT: _interrupt}):
        yield


def _terminate(_number: int, _frame: FrameType | None) -> None:
    global _heard  # noqa: PLW0603
    _heard = True
    raise Terminated


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _heard  # noqa: PLW0603
    _heard = True
    signal.default_int_handler(number, frame)


def _is_ours(handler: Any) -> bool:
    """Whether a handler of this module would have heard the signal."""
    return handler is _interrupt or getattr(handler, "__func__", None) is _Listener._handle  # noqa: SLF001


def _is_default(number: int, handler: Any) -> bool:
    """Whether a handler does no more than end what runs."""
    if number == signal.SIGTERM:
        return handler in (signal.SIG_DFL, _terminate)
    if handler in (signal.default_int_handler, _interrupt) or _is_of(handler, "ipykernel", "trio"):
        return True
    import asyncio

    # asyncio.run's own handler is a functools.partial of a method of asyncio.Runner.
    method = getattr(handler, "func", None)
    return isinstance(getattr(method, "__self__", None), asyncio.Runner)


def _is_of(handler: Any, *packages: str) -> bool:
    """Whether one of these packages defines the handler."""
    module = getattr(handler, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in packages


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
