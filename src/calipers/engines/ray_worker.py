"""A worker of the engine `ray`: an actor with a mailbox for each direction.

The run sends attempts with `take` and waits in `receive` for what came of them. Each direction has a thread of the actor to itself, so
their messages keep their order. Attempts are made on an event loop in a further thread, as they are in a worker process.

A worker calls code that it can import: what Ray has brought to its machine, or what lies in the same place as it does for the run.
"""

import asyncio
import os
import sys
import threading
from contextlib import suppress
from importlib import invalidate_caches
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter, sleep
from typing import Any, Final

import msgspec
import ray
from ray import cloudpickle

from .parcel import Dumps, Message, by_name
from .worker import MOMENT, Back, Worker

GROUPS: Final = {"inbox": 1, "outbox": 1}
"""The threads of the actor, which has one for each direction."""


class Start(msgspec.Struct, frozen=True):
    """What a worker is told when it begins."""

    version: str
    """Of the Calipers that runs the evaluation."""
    folder: str
    """The run's folder."""
    travels: bool
    """Whether Ray has brought a copy of that folder, which is the current folder then."""
    places: tuple[str, ...]
    """Where the run looks for modules."""
    pause: float
    """Seconds for which a worker that is busy gathers what it has to tell. A message costs the run more than what is in it."""
    variables: dict[str, str]
    """Environment variables to set. They come this way since Ray shows those of its runtime environment in its dashboard and its logs."""


def own_version() -> str:
    """The version of Calipers in this process."""
    version: str = sys.modules["calipers"].__version__
    return version


def by_value(value: Any) -> bytes:
    """A value, pickled; with the code of functions and classes that no import would find elsewhere."""
    try:
        packed = by_name(value)
    except Exception:
        packed = b"__main__"
    if b"__main__" not in packed:
        return packed
    dumps: Dumps = cloudpickle.dumps  # pyright: ignore[reportPrivateImportUsage]
    return dumps(value)


class RayWorker:
    """What an actor does."""

    def __init__(self, start: Start) -> None:
        self.refusal: str | None = None
        """Why it takes no order."""
        if start.version != own_version():
            self.refusal = (
                f"Calipers {own_version()} is installed there, and the run has {start.version}: install the same version on each "
                "machine of the cluster"
            )
        self._pause = start.pause
        self._outbox: SimpleQueue[bytes] = SimpleQueue()
        self._loop = asyncio.new_event_loop()
        os.environ.update(start.variables)
        _find_modules(start)
        threading.Thread(target=self._run, daemon=True).start()
        self._worker = asyncio.run_coroutine_threadsafe(_made(self._outbox), self._loop).result()

    def begin(self, order: bytes) -> str:
        """Take an order. Returns where this worker is, in words."""
        if self.refusal is None:
            self._loop.call_soon_threadsafe(self._worker.begin, order)
        else:
            self._outbox.put(msgspec.msgpack.encode(Back(refused=self.refusal)))
        return f"process {os.getpid()} on {ray.util.get_node_ip_address()}"

    def take(self, message: Message) -> None:
        """Make these attempts, after those before."""
        self._loop.call_soon_threadsafe(self._worker.take, message)

    def answer(self, data: bytes) -> None:
        """Hear what the run says to calls that the task wants to make."""
        self._worker.answer(data)

    def receive(self) -> list[bytes]:
        """Wait for something to tell, and tell it, with all that comes up in the pause while this worker is busy anyway."""
        messages = [self._outbox.get()]
        until = perf_counter() + self._pause
        while self._worker.is_busy and perf_counter() < until:
            sleep(max(MOMENT, self._pause / 10))
        while not self._outbox.empty():
            messages.append(self._outbox.get())
        return messages

    def end_children(self) -> None:
        """End what the task has started, before this process ends: Ray gives each worker a process group of its own."""
        import psutil

        if sys.platform == "win32" or os.getpgid(0) != os.getpid():
            return
        for process in psutil.process_iter():
            with suppress(OSError, psutil.Error):
                if process.pid != os.getpid() and os.getpgid(process.pid) == os.getpid():
                    process.kill()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()


for _direction, _method in (
    ("inbox", RayWorker.begin),
    ("inbox", RayWorker.take),
    ("inbox", RayWorker.answer),
    ("inbox", RayWorker.end_children),
    ("outbox", RayWorker.receive),
):
    ray.method(concurrency_group=_direction)(
        _method
    )  # here, since a client of Ray has the class made elsewhere


async def _made(outbox: "SimpleQueue[bytes]") -> Worker:
    """A worker on the current event loop. A method of this kind would have Ray run all others on event loops of its own."""
    return Worker(outbox.put, by_value)


def _find_modules(start: Start) -> None:
    """Have modules be found where the run finds them: in its folder, wherever that is here, and in the places outside of it."""
    if not start.travels and Path(start.folder).is_dir():
        os.chdir(start.folder)
    here, there = Path.cwd(), Path(start.folder)
    places = [
        str(here / place.relative_to(there)) if place.is_relative_to(there) else str(place)
        for place in map(Path, start.places)
        if place.is_relative_to(there) or not start.travels
    ]
    sys.path[:] = [*places, *(place for place in sys.path if place not in places)]
    invalidate_caches()
