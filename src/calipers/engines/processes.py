"""The engine `processes`: attempts run in other processes of this machine, for tasks that keep a processor busy.

It needs only the standard library. Processes are *spawned*: each starts from scratch and imports what it needs. Forking is out of the
question in a run, which has threads, event loops and open stores: a child would inherit locks that no thread
ever releases. A fork server forks early enough, but is one more process that lives until the program ends, does not exist on
Windows, and saves a third of a second for each worker, once. Spawning requires that a script's own code stands below
`if __name__ == "__main__":`.

A task is sent by its name, so it must be a function, or an object of a class, at the top of a module.

Each worker has a session of its own: Ctrl-C does not reach it, and what the task has started ends with it. When the run's process
is gone, however it ended, its workers end too.
"""

import asyncio
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from calipers.data.argument_checks import check_function, check_number, check_whole_number
from calipers.errors import EngineError, TravelError
from calipers.process.loop import GRACE_SECONDS
from calipers.run.place import Job, Place
from calipers.run.task import Task

from .crew import Crew
from .parcel import unpicklable
from .worker import Order, Worker

_ORDER: Final = b"o"
_ATTEMPTS: Final = b"a"
_ANSWER: Final = b"w"
_STOP: Final = b"s"


class ProcessEngine:
    """Attempts run in other processes of this machine.

    In a `with` block, the processes stay for the next run; without one, each run has its own.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        setup: Callable[[], Any] | None = None,
        patience: float = 5.0,
    ) -> None:
        """An engine that has started nothing yet.

        Args:
            workers: processes; `None`: as many as there are processors for this one.
            setup: called in each of them before its first attempt of a run, to load a model, say.
            patience: seconds after its time limit in which an attempt may still be answered; then its process is ended.

        Raises:
            InvalidOptionError: an argument is out of its range.
        """
        self.workers = check_whole_number("workers", workers, at_least=1, or_none=True)
        self.setup = check_function("setup", setup, or_none=True)
        self.patience = check_number("patience", patience, above=0, of="seconds")
        self._stays = False
        self._free: list[_Process] = []

    def __repr__(self) -> str:
        return f"ProcessEngine({'' if self.workers is None else self.workers})"

    def __enter__(self) -> Self:
        self._stays = True
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._stays = False
        _stop(self._free)
        self._free.clear()

    def check(self, task: Task) -> None:
        """Refuse a task that cannot be sent to another process.

        Raises:
            TravelError: it cannot be pickled.
        """
        _check_guard()
        self._packed(task)

    @asynccontextmanager
    async def opened(self, job: Job) -> AsyncIterator[Place]:
        """A block in which attempts run in processes."""
        function, setup = self._packed(job.task)
        started: list[_Process] = []
        is_over = False

        def start() -> _Process:
            started.append(process := _Process())
            if is_over:  # the block was left while the process began
                process.end()
            return process

        async def hire(crew: Crew) -> None:
            while self._free:
                process = self._free.pop()
                started.append(process)
                if process.is_alive:
                    break
            else:
                process = await asyncio.to_thread(start)
            process.join(crew)
            process.order(crew.order(function, setup))

        crew = Crew(job, hire, self.workers or _processors(), patience=self.patience)
        try:
            await crew.begin()
            yield crew
        finally:
            is_over = True
            free = crew.close(stays=self._stays)
            kept = [process for process in started if process in free and process.is_alive]
            if self._stays:
                self._free += kept
            else:
                _stop(kept)
            for process in started:
                if process not in kept:
                    process.end()
                    process.wait()

    def _packed(self, task: Task) -> tuple[bytes, bytes]:
        """What to call, and what before it, as workers read them.

        Raises:
            TravelError: it cannot be pickled.
        """
        try:
            return pickle.dumps(task.function, protocol=5), pickle.dumps(self.setup, protocol=5)
        except Exception as error:
            parts = {f"the task {task.name!r}": task.function, "setup": self.setup}
            raise TravelError(
                f"the task cannot be sent to other processes: {unpicklable(parts, error)}. A task is sent by its name: make it a "
                "function, or an object of a class, at the top of a module, and open in it what it needs; or use the engine 'ray', "
                "which sends the code of functions, too"
            ) from error


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check_guard() -> None:
    """Refuse to start workers in a worker that is still importing the script of the run."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise EngineError(
            "this script runs its evaluation while a worker imports it: put what it does below "
            "`if __name__ == '__main__':`, so that workers only find its functions"
        )


def _stop(processes: "list[_Process]") -> None:
    """End processes that have nothing to do, and wait for that."""
    for process in processes:
        process.stop()
    for process in processes:
        process.wait()


class _Process:
    """One worker process, and the way to it: a thread sends, one listens, and one waits for its end.

    That its connection is closed does not say that it has ended, nor the other way round: its task may have closed it, and what the task
    has forked holds it open.
    """

    _numbers = count(1)

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(
            target=work, args=(theirs,), name=f"calipers-worker-{next(self._numbers)}", daemon=True
        )
        with _without_interrupts():
            self._process.start()  # a daemon ends with the process that started it
        theirs.close()
        self.name = f"worker process {self._process.pid}"
        self._connection: Any = ours  # what it is depends on the system
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        self._crew: Crew | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_over = False
        self._has_ended = threading.Event()
        self._listener = threading.Thread(target=self._listen, name="calipers-worker", daemon=True)
        self._watcher = threading.Thread(target=self._watch, name="calipers-worker", daemon=True)
        sender = threading.Thread(target=self._send_all, name="calipers-worker", daemon=True)
        for thread in (self._listener, self._watcher, sender):
            thread.start()

    @property
    def pid(self) -> int | None:
        """The number of the process."""
        return self._process.pid

    def join(self, crew: Crew) -> None:
        """Work for a crew from now on."""
        self._crew, self._loop = crew, asyncio.get_running_loop()
        crew.joined(self)

    def order(self, order: Order) -> None:
        """Say what to do."""
        self._outbox.put(_ORDER + msgspec.msgpack.encode(order))

    @property
    def is_free(self) -> bool:
        """Whether a message would go out at once: the thread that sends takes any number of them."""
        return True

    def send(self, message: list[tuple[int, bytes]]) -> None:
        """Send attempts."""
        self._outbox.put(_ATTEMPTS + msgspec.msgpack.encode(message))

    def answer(self, data: bytes) -> None:
        """Send what the run says to calls of its task."""
        self._outbox.put(_ANSWER + data)

    @property
    def is_alive(self) -> bool:
        """Whether it can be sent something."""
        return self._listener.is_alive() and not self._is_over

    def stop(self) -> None:
        """Have the process end by itself."""
        self._is_over = True
        self._outbox.put(_STOP)

    def end(self) -> None:
        """End the process at once, with all that its task has started."""
        self._is_over = True
        if not self._has_ended.is_set():  # later, another process may have its number
            _kill(self._process)

    def wait(self) -> None:
        """Wait until the process has ended; one that does not is made to."""
        self._watcher.join(GRACE_SECONDS)
        if self._watcher.is_alive():
            self.end()
            self._watcher.join(GRACE_SECONDS)

    def _send_all(self) -> None:
        with suppress(OSError):  # the process is gone; the thread that watches says so
            while (message := self._outbox.get()) is not None:
                self._connection.send_bytes(message)

    def _listen(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                self._tell(Crew.heard, self._connection.recv_bytes())
        if not self._has_ended.wait(GRACE_SECONDS):  # a moment, so that its exit code is its own
            _kill(self._process)

    def _watch(self) -> None:
        _await_end(self._process)
        self._has_ended.set()
        _kill(self._process)  # what its task has started; the process keeps its number until it is joined
        self._listener.join(GRACE_SECONDS)  # what it sent before counts
        self._process.join()
        self._outbox.put(None)
        if not self._is_over:
            self._tell(Crew.ended, _why_ended(self._process.exitcode))
        self._connection.close()

    def _tell(self, what: Callable[[Crew, Any, Any], None], said: Any) -> None:
        crew, loop = self._crew, self._loop
        if crew is not None and loop is not None:
            with suppress(RuntimeError):  # the loop is closed, and nothing waits any more
                loop.call_soon_threadsafe(what, crew, self, said)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """A block in which processes are started that no Ctrl-C reaches; the process lets it through when it can ignore it."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGINT}
    )  # of this thread, which the process inherits
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _await_end(process: Any) -> None:
    """Wait until a process has ended; it keeps its number."""
    if sys.platform == "linux":
        with suppress(ChildProcessError):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        wait([process.sentinel])


def _kill(process: Any) -> None:
    """Kill a process and its session."""
    if sys.platform != "win32" and process.pid is not None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _why_ended(code: int | None) -> str:
    if code is None:
        return "it closed its connection"
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return f"killed by {signal.Signals(-code).name}"
    return f"killed by signal {-code}"


# ---------------------------------------------------------------------- in the worker


def work(connection: "Connection[bytes, bytes]") -> None:
    """What a worker process does: the main thread listens, and another one runs the event loop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    # A daemon may not have children, and tasks may want some; they end with its session.
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]  # noqa: SLF001
    outbox: SimpleQueue[bytes] = SimpleQueue()
    loop = asyncio.new_event_loop()

    def send_all() -> None:
        with suppress(OSError):
            while True:
                connection.send_bytes(outbox.get())

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()

    async def made() -> Worker:
        return Worker(outbox.put)

    for target in (send_all, run):
        threading.Thread(target=target, daemon=True).start()
    worker = asyncio.run_coroutine_threadsafe(made(), loop).result()
    with suppress(EOFError, OSError):
        while (message := connection.recv_bytes()) != _STOP:
            kind, data = message[:1], message[1:]
            if kind == _ORDER:
                loop.call_soon_threadsafe(worker.begin, data)
            elif kind == _ANSWER:
                worker.answer(data)
            else:
                loop.call_soon_threadsafe(
                    worker.take, msgspec.msgpack.decode(data, type=list[tuple[int, bytes]])
                )
        return
    # The run's process is gone. What the task has started goes, too, and so does this process, whatever its threads do.
    if sys.platform != "win32":
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
