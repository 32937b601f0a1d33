"""The event loop of code that is not async: `run_sync`, which stands behind every call that blocks until its work is done.

A client of the user's (`httpx.AsyncClient`, `AsyncOpenAI`) belongs to the loop that it was first used in. So a loop is kept:

- **One loop for each thread**, from its first call to the end of the process. What a thread leaves behind at its end goes to the
  next thread that needs a loop. The loop is what the event loop policy makes: `uvloop.install()` comes before the first call.
- **Inside a running loop** (a notebook, an async test) the thread cannot run a second one. Another thread, always the same, runs the
  kept loop while this one waits, so that a client works in calls inside and outside of a running loop alike. What was used on the
  running loop itself belongs to that one: await there.
- **A call inside a call** needs a further loop, that of the other thread; so does a call in a signal handler, wherever the signal
  comes. Where the other thread is busy, there is one more.
- **A forked child** makes its own loops, and leaves those of its parent alone.
- **Between calls the loop stands still.** At the next call it first sees what happened meanwhile, such as connections that a
  server has closed.
- **Tasks.** A call waits a moment for the tasks that it cancelled. What was started and not cancelled belongs to the code that
  started it, just as with `await`: a client's keep-alive lives on, stands still between calls, and is cancelled at exit. A call that
  ends by Ctrl-C cancels everything that was started during it.
- **At exit** tasks are cancelled, async generators and open connections closed, and then the loop. What ignores its cancellation is
  waited for only a moment, and so is a call of `asyncio.to_thread` that hangs.
"""

import asyncio
import atexit
import os
import threading
import warnings
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from time import monotonic
from typing import Any, Final, TypeVar

from typing_extensions import override

from calipers.errors import InvalidOptionError
from calipers.process.forks import keep_for_ever, tell_of_forks
from calipers.process.interrupt import claim_main, is_interrupt, listening, release_main

_T = TypeVar("_T")

_GLANCE = 1.0
"""Seconds after which a wait for another thread looks for signals."""
GRACE_SECONDS: Final = 1.0
"""How long to wait for tasks that were cancelled, and for the judgements that are left when a run stops; what takes longer
is left behind."""


def run_sync(main: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Run a coroutine to its end from code that is not async, also where an event loop runs already."""
    holder = _holders.mine()
    loop = holder.loop()
    if (
        loop.is_in_use
    ):  # also by a call that has not begun to run it, or has just ended: this one is in a signal handler then
        return elsewhere(lambda: run_sync(main))
    if not _is_loop_running():
        return loop.run(main)
    return holder.helper().do(lambda: loop.run(main), loop=loop)


def elsewhere(work: Callable[[], _T], *, timeout: float | None = None) -> _T:
    """Do some work in another thread, always the same one for this thread, and so with the same event loop, which is that thread's.

    Raises:
        TimeoutError: it took longer than that. It is left behind, and so is its thread.
    """
    return _holders.mine().helper().do(work, timeout=timeout)


def _is_loop_running() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def check_asyncio(what: str, instead: str) -> None:
    """Refuse to await something where there is no event loop of asyncio.

    Args:
        what: what is awaited, for the message.
        instead: what to do about it, for the message.

    Raises:
        InvalidOptionError: another library runs this code, such as trio.
    """
    __tracebackhide__ = True
    if not _is_loop_running():
        raise InvalidOptionError(
            f"{what} runs on the event loop of asyncio, and this code runs on another one, such as trio's: {instead}"
        )


class _Loop:
    """An event loop that is kept."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._threads = _Threads()
        self.loop.set_default_executor(self._threads)
        self._in_use = threading.Lock()
        self._main: asyncio.Task[Any] | None = None
        self.lost = False
        """Whether it is busy with what was given up."""

    @property
    def is_in_use(self) -> bool:
        """Whether it runs, or is about to."""
        return self._in_use.locked()

    def run(self, main: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Run a coroutine to its end, and see to the tasks that it leaves."""
        loop = self.loop
        with self._in_use:
            before = asyncio.all_tasks(loop)
            task = loop.create_task(_awake(main))
            self._main = task
            try:
                return self._complete(task)
            finally:
                self._main = None
                left = asyncio.all_tasks(loop) - before
                if not task.done():
                    release_main(task)
                    for each in left:
                        each.cancel()
                self._wait({each for each in left if each.cancelling()})

    def _complete(self, task: "asyncio.Task[_T]") -> _T:
        """What a task returns or raises, whatever else on the loop is raised, and also where code under test stops the loop."""
        while True:
            try:
                self.loop.run_until_complete(task)
                return task.result()
            except BaseException as error:
                # Tasks and callbacks of the code under test raise SystemExit through the loop, and those who wait for them have
                # it too.
                if is_interrupt(error) or self.loop.is_closed():
                    raise
                if task.done():
                    return task.result()

    def _wait(self, tasks: "set[asyncio.Task[Any]]") -> None:
        if tasks:
            self._complete(self.loop.create_task(_end(tasks)))

    def cancel(self) -> None:
        """Cancel what is run, from another thread."""
        if (task := self._main) is not None:
            release_main(task)
            with suppress(RuntimeError):  # the loop is closed
                self.loop.call_soon_threadsafe(task.cancel)

    def close(self) -> None:
        """End the loop, unless it runs."""
        loop = self.loop
        if loop.is_closed() or not self._in_use.acquire(blocking=False):
            return
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        # What is said of a task or a connection from here on is no news: all of them end.
        loop.set_exception_handler(lambda _loop, _context: None)
        self._wait(tasks)
        self._complete(loop.create_task(_hang_up(loop)))
        with warnings.catch_warnings():
            # uvloop complains of connections, and closes them.
            warnings.simplefilter("ignore", ResourceWarning)
            loop.close()
        self._threads.wait(GRACE_SECONDS)


async def _awake(main: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """The coroutine, begun when the loop has seen what happened while it stood still."""
    task = asyncio.current_task()
    assert task is not None
    claim_main(task)
    for _ in range(2):
        await asyncio.sleep(0)
    return await main()


async def _end(tasks: "set[asyncio.Task[Any]]") -> None:
    """Wait a moment for tasks that were cancelled."""
    await asyncio.wait(tasks, timeout=GRACE_SECONDS)
    for task in tasks:
        task.add_done_callback(_forget)


async def _hang_up(loop: asyncio.AbstractEventLoop) -> None:
    """Close async generators, and connections that are still open, such as those of a client that was not closed."""
    await loop.shutdown_asyncgens()
    # The loops of asyncio keep them by this name; another loop may not.
    for transport in list(getattr(loop, "_transports", {}).values()):
        transport.abort()
    await asyncio.sleep(0)


def _forget(task: "asyncio.Future[Any]") -> None:
    """Retrieve the outcome of an abandoned task, so that the event loop does not complain of it."""
    if not task.cancelled():
        task.exception()


class _Threads(ThreadPoolExecutor):
    """The threads of `asyncio.to_thread`. They are daemons: a call that hangs does not keep the process alive."""

    def __init__(self) -> None:
        self._most = min(32, (os.cpu_count() or 1) + 4)
        super().__init__(self._most)
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._begun: list[threading.Thread] = []

    @override
    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> "Future[_T]":
        future: Future[_T] = Future()

        def call() -> None:
            if future.set_running_or_notify_cancel():
                _settle(future, lambda: fn(*args, **kwargs))

        self._calls.put(call)
        if not self._idle.acquire(blocking=False) and len(self._begun) < self._most:
            thread = threading.Thread(target=self._work, name="calipers-thread", daemon=True)
            self._begun.append(thread)
            thread.start()
        return future

    @override
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        for _ in self._begun:
            self._calls.put(None)
        if wait:
            self.wait(None)

    def wait(self, seconds: float | None) -> None:
        """Wait for the threads to end, but no longer than that; `None`: until they have."""
        until = None if seconds is None else monotonic() + seconds
        for thread in self._begun:
            thread.join(None if until is None else max(0.0, until - monotonic()))

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
            self._idle.release()


def _settle(future: "Future[_T]", work: Callable[[], _T]) -> None:
    """Do the work, and tell the future what it returned or raised."""
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


class _Helper:
    """A thread that does what another thread asks for, one thing at a time."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._loop: _Loop | None = None
        self.lost = False
        """Whether it is busy with what was given up."""
        self.is_busy = False
        """Whether it works for a call that has not ended, so that the next one comes from a signal handler."""
        threading.Thread(target=self._work, name="calipers-loop", daemon=True).start()

    def do(self, work: Callable[[], _T], *, timeout: float | None = None, loop: _Loop | None = None) -> _T:
        """What the work returns or raises; it runs this loop, or that of the thread. A Ctrl-C meanwhile is for its runs."""
        self.is_busy = True
        try:
            with listening(blocks=True):
                return self._do(work, timeout, loop)
        finally:
            self.is_busy = False

    def _do(self, work: Callable[[], _T], timeout: float | None, loop: _Loop | None) -> _T:
        future: Future[_T] = Future()
        context = copy_context()
        self._loop = loop

        def job() -> None:
            if self._loop is None:
                self._loop = _holders.mine().loop()
            _settle(future, lambda: context.run(work))

        try:
            self._jobs.put(job)
            # A signal that comes just as the wait begins is noticed when it ends, so no wait is forever.
            while timeout is None and not wait([future], _GLANCE).done:
                pass
            return future.result(timeout)
        except BaseException as error:
            if not future.done():
                self._give_up(future, 0 if isinstance(error, TimeoutError) else 2 * GRACE_SECONDS)
            raise

    def _give_up(self, future: "Future[Any]", grace: float) -> None:
        """Cancel the work; if it does not end, another thread has to be found for the next."""
        if self._loop is not None:
            self._loop.cancel()
        if not wait([future], grace).done:
            self.lost = True
            if self._loop is not None:
                self._loop.lost = True
            self.end()

    def end(self) -> None:
        """End the thread when it has done what it was asked for."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


class _LoopHolder:
    """What a thread has: its loop, and the thread that works for it where it runs a loop already."""

    def __init__(self) -> None:
        self._loops: list[_Loop] = []
        """The loop, after those that were given up."""
        self._helpers: list[_Helper] = []

    def loop(self) -> _Loop:
        """The loop, made when it is first needed, and when the one before was given up."""
        if not self._loops or self._loops[-1].lost or self._loops[-1].loop.is_closed():
            self._loops = [*(each for each in self._loops if not each.loop.is_closed()), _Loop()]
        return self._loops[-1]

    def helper(self) -> _Helper:
        """The other thread, made when it is first needed, and when those there are were given up or are busy."""
        self._helpers = [helper for helper in self._helpers if not helper.lost]
        for helper in self._helpers:
            if not helper.is_busy:
                return helper
        self._helpers.append(_Helper())
        return self._helpers[-1]

    def close(self) -> None:
        """End both, unless they are busy."""
        for helper in self._helpers:
            helper.end()
        self._helpers = []
        for loop in self._loops:
            loop.close()


class _Lease:
    """Lends a holder to a thread: when the thread ends, so does the lease, and the next thread takes the holder."""

    def __init__(self, idle: list[_LoopHolder], holder: _LoopHolder) -> None:
        self.holder = holder
        self._idle = idle

    def __del__(self) -> None:
        self._idle.append(self.holder)


class _LoopHolders:
    """All loop holders of this process."""

    def __init__(self) -> None:
        self._begin()
        tell_of_forks(self)

    def _begin(self) -> None:
        self._all: list[_LoopHolder] = []
        self._idle: list[_LoopHolder] = []
        self._threads = threading.local()

    def mine(self) -> _LoopHolder:
        """That of this thread."""
        lease: _Lease | None = getattr(self._threads, "lease", None)
        if lease is None:
            try:
                holder = self._idle.pop()  # the one that was used last
            except IndexError:
                holder = _LoopHolder()
                self._all.append(holder)
            lease = self._threads.lease = _Lease(self._idle, holder)
        return lease.holder

    def close(self) -> None:
        """Close every loop that does not run."""
        for holder in list(self._all):
            holder.close()

    def before_fork(self) -> None:
        """Nothing: the parent goes on as before."""

    def after_fork(self, *, is_child: bool) -> None:
        """Leave the loops to the parent: a child that closed one would close its connections."""
        if is_child:
            keep_for_ever(self._all)
            self._begin()


_holders: Final = _LoopHolders()
atexit.register(_holders.close)
