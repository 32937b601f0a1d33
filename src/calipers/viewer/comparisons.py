"""The comparisons that were asked for last, and those that are being made.

A comparison is kept by the runs, their revisions and the options: it is made once, however many pages ask for it. One that takes longer than a moment
goes on in the background, and those who asked are told how far it is. It ends when no page asks for it any more.
"""

import os
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import IO, Final

import msgspec

from calipers.errors import CalipersError
from calipers.stores.run_info import RunInfo

from .compare_runs import CompareOptions, FoundPair, Line, compare_runs, work_for
from .deadline import current_deadline
from .refusal import Refusal
from .viewed_store import ViewedStore

APART: Final = 20_000
"""Attempts of all runs together from which on a comparison has a process of its own."""
MOST: Final = 2_000_000
"""Attempts of all runs together that are compared."""
SECONDS: Final = 300.0
"""How long a comparison may take."""
WAIT: Final = 1.5
"""Seconds that a request waits for one."""
_FORGOTTEN: Final = 60.0
"""Seconds after which one ends for which no one asks."""
_KEPT: Final = 4
"""Comparisons that are kept."""
_FEWEST: Final = 0.2
_FAILED: Final = 5.0
"""Seconds after which a comparison that failed is tried again."""


class Making:
    """A comparison that is made, or was."""

    def __init__(self, work: Callable[["Making"], list[FoundPair]], of: int) -> None:
        self.of = of
        """Attempts to read."""
        self.read = 0
        self.found: list[FoundPair] | None = None
        self.failed = ""
        """Why there is no result."""
        self.asked = monotonic()
        self.is_over = False
        """Whether the work should end."""
        self._end = monotonic() + SECONDS
        self._done = threading.Event()
        self._work = work
        threading.Thread(target=self._run, name="calipers-comparison", daemon=True).start()

    def _run(self) -> None:
        try:
            self.found = self._work(self)
        except CalipersError as error:
            self.failed = str(error)
        except Exception as error:
            self.failed = f"the comparison failed: {type(error).__name__}: {error}"
            raise
        finally:
            self._done.set()

    def wait(self, seconds: float) -> bool:
        """Whether it is done within some seconds."""
        self.asked = monotonic()
        return self._done.wait(seconds)

    def hear(self, read: int) -> None:
        """Note that more was read, and see whether the work is still wanted.

        Raises:
            Refusal: it is not.
        """
        self.read += read
        self.check()

    def check(self) -> None:
        """See whether the work is still wanted.

        Raises:
            Refusal: no one asks for it any more, or it took too long.
        """
        now = monotonic()
        if self.is_over or now - self.asked > _FORGOTTEN:
            raise Refusal("gone", "the comparison was ended because no page asked for it any more")
        if now > self._end:
            raise Refusal(
                "too_slow",
                f"the comparison took longer than {SECONDS:g} s and was ended: `calipers compare` in a terminal has all the time it takes",
            )


class Comparisons:
    """What is kept of comparisons."""

    def __init__(self) -> None:
        self.apart = APART
        """Attempts from which on a comparison has a process of its own."""
        self.most = MOST
        """Attempts up to which runs are compared."""
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, Making] = OrderedDict()

    def of(self, viewed: ViewedStore, runs: Sequence[RunInfo], options: CompareOptions) -> Making:
        """The comparison of some runs, waited for as long as a request can wait."""
        making = self.begin(viewed, runs, options)
        deadline = current_deadline()
        making.wait(WAIT if deadline is None else max(_FEWEST, min(WAIT, deadline.left / 2)))
        return making

    def begin(
        self, viewed: ViewedStore, runs: Sequence[RunInfo], options: CompareOptions | None = None
    ) -> Making:
        """The comparison of some runs, begun now if no one has asked for it.

        Raises:
            Refusal: they are too long.
        """
        options = options or CompareOptions()
        attempts = sum(run.attempts for run in runs)
        if attempts > self.most:
            raise Refusal(
                "too_large",
                f"these runs have {attempts:,} attempts, and up to {self.most:,} are compared here: `calipers compare` in a terminal has "
                "no limit",
            )
        with viewed.reading() as store:
            key = (tuple((run.id, store.revision(run.id, judging=False)) for run in runs), options)
        with self._lock:
            making = self._kept.get(key)
            if making is None or (making.failed and monotonic() - making.asked > _FAILED):
                address = viewed.address if attempts > self.apart else None
                making = self._kept[key] = Making(_worker(viewed, address, runs, options), attempts)
            self._kept.move_to_end(key)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)[1].is_over = True
        return making

    def close(self) -> None:
        """End all that is being made."""
        with self._lock:
            for making in self._kept.values():
                making.is_over = True


def _worker(
    viewed: ViewedStore, address: str | None, runs: Sequence[RunInfo], options: CompareOptions
) -> Callable[[Making], list[FoundPair]]:
    """What makes a comparison: in this process, or in one of its own."""

    def here(making: Making) -> list[FoundPair]:
        with viewed.reading() as store:
            return compare_runs(store, runs, options, hear=making.hear)

    def apart(making: Making) -> list[FoundPair]:
        assert address is not None
        return _in_process(work_for(address, runs, options), making)

    return here if address is None else apart


def _in_process(work: bytes, making: Making) -> list[FoundPair]:
    """Have a process of its own do the work."""
    source = str(Path(__file__).parents[2])
    paths = [source, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "calipers.viewer.compare_runs"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
    over = threading.Event()
    threading.Thread(target=_watch, args=(process, making, over), daemon=True).start()
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.write(work)
            process.stdin.close()
        return _heard(process.stdout, making)
    finally:
        over.set()
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _heard(lines: IO[bytes], making: Making) -> list[FoundPair]:
    for line in lines:
        said = msgspec.json.decode(line, type=Line)
        if said.kind == "found":
            return said.found
        if said.kind == "failed":
            raise Refusal("failed", said.why)
        making.hear(said.read)
    making.check()
    raise Refusal(
        "failed", "the process that compares ended early: it may have needed more memory than there is"
    )


def _watch(process: "subprocess.Popen[bytes]", making: Making, over: threading.Event) -> None:
    """End a process that is not wanted any more, also while it says nothing."""
    while not over.wait(1.0):
        try:
            making.check()
        except Refusal:
            process.kill()
            return
