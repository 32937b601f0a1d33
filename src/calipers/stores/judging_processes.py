"""Other processes that judge a share of a stored run, so that all processors work.

Each of them reads attempts from the store itself, asks the evaluators, and sends what they said to the process that scores the
run. That process alone writes, counts and reports; meanwhile it judges, too. Attempts are shared out in stretches of positions, and
a process that has finished one gets the next. What a process does not judge, because it ended or could not start, is judged by
the process that scores the run.

A process starts from scratch and imports the evaluators by their names, so they must be at the top of a module. What they note in memory
stays there.
"""

import asyncio
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol, Self

import msgspec

from calipers.data.result import describe_error
from calipers.errors import InvalidOptionError
from calipers.process.loop import GRACE_SECONDS
from calipers.run.runner import Options

from .sqlite import MemoryStore, SqliteStore
from .store import Store
from .stored_attempt import StoredCell

_SHARE: Final = 1000
"""Positions that a process judges at once: two pages of the store."""
_AHEAD: Final = 2
"""Shares that a process is given beforehand, so that it never waits for one."""


class Told(msgspec.Struct):
    """What came of one share."""

    cells: list[StoredCell] = []
    finished: int = 0
    attempts_reused: int = 0
    cells_reused: int = 0
    cells_computed: int = 0
    judged_as_plain: int = 0
    judged_redacted: int = 0
    judged_bare: int = 0
    changed: int = 0
    unread: int = 0
    spent: float = 0.0
    asked: list[str] = []
    error: str | None = None
    """Why the process ends before its time."""


class Order(msgspec.Struct):
    """What a process needs to know; pickled, for evaluators are objects."""

    path: str
    """Of the store's file."""
    run: str
    evaluators: Sequence[Any]
    names: Sequence[str]
    """What the evaluators are called in the run."""
    places: Sequence[int]
    dataset: Any
    output_type: Any
    options: Options


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Told).decode
_decode_share: Final = msgspec.msgpack.Decoder(tuple[int, int]).decode


class JudgingProcesses:
    """Processes that judge shares of a run, beside the one that made them."""

    def __init__(self, order: Order, count: int, last: int, take: Callable[[Told], None]) -> None:
        """Processes that have not begun.

        Args:
            order: what they are to do.
            count: of them.
            last: the last position of the run.
            take: is given what came of each share, in threads.

        Raises:
            InvalidOptionError: the evaluators cannot be sent to other processes.
        """
        import multiprocessing

        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise InvalidOptionError(
                "this script scores a run while another process imports it: put what it does below "
                "`if __name__ == '__main__':`, so that others only find its evaluators"
            )
        try:
            self._order = pickle.dumps(order, protocol=5)
        except Exception as error:
            raise InvalidOptionError(
                f"the evaluators cannot be sent to other processes ({type(error).__name__}: {error}): put them at the top of a "
                "module, or leave out processes="
            ) from error
        self._count = count
        self._shares = iter(range(0, last + 1, _SHARE))
        self._lock = threading.Lock()
        self._is_over = False
        self._take = take
        self._threads: list[threading.Thread] = []
        self._processes: list[Any] = []
        self.problems: list[str] = []
        """Why processes ended before their time."""
        self.lost: list[tuple[int, int]] = []
        """What such processes were given and have not judged."""

    def __enter__(self) -> Self:
        self._threads = [
            threading.Thread(target=self._work_with, name="calipers-judging", daemon=True)
            for _ in range(self._count)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        for process in self._processes:
            process.join(GRACE_SECONDS)

    def shares(self) -> Iterator[tuple[int, int]]:
        """Stretches of positions for this process, as long as there are any."""
        while (share := self._next()) is not None:
            yield share

    def stop(self) -> None:
        """Share out nothing more, and end the processes."""
        with self._lock:
            self._is_over = True
            processes = list(self._processes)
        for process in processes:
            if process.is_alive():
                process.terminate()

    async def finish(self) -> None:
        """Wait until the processes are through."""
        await asyncio.to_thread(self._join)

    def _join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _next(self) -> tuple[int, int] | None:
        with self._lock:
            first = None if self._is_over else next(self._shares, None)
        return None if first is None else (first, first + _SHARE)

    def _work_with(self) -> None:
        """Start a process, give it shares, and take what comes of them."""
        import multiprocessing

        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=judge_shares, args=(theirs,), daemon=True)
        given: deque[tuple[int, int]] = deque()
        try:
            if sys.platform != "win32":  # no Ctrl-C reaches a process that begins with it blocked
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # in this thread alone
            process.start()
            theirs.close()
            with self._lock:
                self._processes.append(process)
                if self._is_over:  # it was stopped while the process began
                    process.terminate()
            ours.send_bytes(self._order)
            while True:
                while len(given) < _AHEAD and (share := self._next()) is not None:
                    given.append(share)
                    ours.send_bytes(_encode(share))
                if not given:
                    break
                told = _decode(ours.recv_bytes())
                if told.error is not None:
                    self.problems.append(told.error)
                    break
                given.popleft()
                self._take(told)
            ours.send_bytes(b"")
        except (EOFError, OSError) as error:
            if not self._is_over:
                self.problems.append(f"it ended: {error!r}")
        except BaseException as error:
            self.problems.append(describe_error(error)[1])
        finally:
            self.lost += given
            ours.close()


# ---------------------------------------------------------------------- in the other process


def judge_shares(connection: Any) -> None:
    """Judge shares of a run until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that scores the run decides
    if sys.platform != "win32":
        signal.pthread_sigmask(
            signal.SIG_UNBLOCK, {signal.SIGINT}
        )  # what evaluators start may be interrupted
    try:
        order: Order = pickle.loads(connection.recv_bytes())  # noqa: S301 - our own process sent it
        asyncio.run(_judge_all(connection, order))
    except (EOFError, OSError):  # no one listens any more
        return
    except BaseException as error:
        with suppress(OSError):
            connection.send_bytes(_encode(Told(error=describe_error(error)[1])))


async def _judge_all(connection: Any, order: Order) -> None:
    from .rescoring import judging_of

    with SqliteStore(order.path, read_only=True) as store:
        store.can_lack_values = True  # as in the process that scores the run
        rescoring = await judging_of(store, order)
        while message := await asyncio.to_thread(connection.recv_bytes):
            first, stop = _decode_share(message)
            told = await _judged(rescoring, order, first, stop)
            connection.send_bytes(_encode(told))


async def _judged(rescoring: "_Round", order: Order, first: int, stop: int) -> Told:
    """What evaluators say of one share."""
    found = _Cells()
    finished = await rescoring.judge_share(order.options, (first, stop), found)
    told = rescoring.taken_counts()
    told.cells, told.finished = found.cells, finished
    return told


class _Round(Protocol):
    """A round of scoring (`calipers.stores.rescoring`)."""

    async def judge_share(self, options: Options, share: tuple[int, int], sink: Any) -> int:
        """Judge the attempts in a stretch of positions; returns how many were."""
        ...

    def taken_counts(self) -> Told:
        """What was counted since the last time."""
        ...


class _Cells:
    """Stands where a writer would be."""

    def __init__(self) -> None:
        self.cells: list[StoredCell] = []

    def add_cells(self, cells: Sequence[StoredCell]) -> None:
        """Keep them, to be sent."""
        self.cells += cells


def file_of(store: Store) -> Path | None:
    """The file that other processes can read a store in; `None` if there is none."""
    return store.path if isinstance(store, SqliteStore) and not isinstance(store, MemoryStore) else None
