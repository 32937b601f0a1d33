"""The engine `ray`: attempts run in the workers of a Ray cluster, which is started on this machine or has been started before.

Ray starts workers where there is room, brings the code there, and says when one is gone. The crew decides which worker gets what, and what is made again,
as for the engine `processes`. So there is one answer to a worker that crashes, hangs or is lost with its machine.

Only the task is called there. Judging stays with the run, and so do the journal, the store, limits, budgets and the order of attempts:
what they need to know is in one place, and a judge's client, key and cache need not travel. A run whose evaluators keep a processor
busy can be scored again later, or run in shards.

A task that cannot be imported is sent with its code: a `lambda`, a function inside another one, a function of the script itself.
"""

import asyncio
import math
import os
import sys
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from calipers.data.argument_checks import check_function, check_number, check_whole_number
from calipers.errors import InvalidOptionError, TravelError
from calipers.process.loop import GRACE_SECONDS
from calipers.run.place import Job, Place
from calipers.run.task import Task

from .crew import AHEAD_SECONDS, Crew
from .parcel import Message, unpicklable
from .ray_cluster import Connection, Wanted, connected, imported_ray, released, without_values
from .worker import Order

if TYPE_CHECKING:
    from concurrent.futures import Future

KILL_SECONDS: Final = 0.5
"""A worker that does not end by itself in this time is killed."""
TELL_SECONDS: Final = 10.0
"""So long a run waits for a worker before it says that it waits; less, if it is about to give up."""
MESSAGES: Final = 1000
"""All workers together send the run about so many messages a second at most: the more there are, the longer each of them gathers."""
MOST_PAUSE: Final = 1.0
"""But none for longer than this."""
MOST_ON_THE_WAY: Final = 1
"""Messages to one worker that it has not acknowledged."""
_MOST_TOLD: Final = 400
"""Characters of Ray's reason for the end of a worker."""


class RayEngine:
    """Attempts run in the workers of Ray.

    In a `with` block, the connection and its workers stay for the next run; without one, each run has its own.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        address: str | None = None,
        setup: Callable[[], Any] | None = None,
        variables: Sequence[str] = (),
        working_dir: str | None = ".",
        runtime_env: Mapping[str, Any] | None = None,
        needs: Mapping[str, Any] | None = None,
        patience: float = 5.0,
        start_timeout: float = 300.0,
    ) -> None:
        """An engine that has started nothing yet.

        Args:
            workers: `None`: as many as there are processors.
            address: of a cluster, such as "ray://head:10001" from outside of it, or "head:6379" on one of its machines. `None`: the one
                that `RAY_ADDRESS` names, and without that one that is started on this machine and ends with the run.
            setup: called in each worker before its first attempt of a run, to load a model, say.
            variables: names of environment variables that workers get from this process, such as "OPENAI_API_KEY". Their values are
                in no report, and not in what Ray shows.
            working_dir: the folder whose files go to the machines of a cluster, where it is the current folder of workers. `None`: the
                code is there already. A cluster that is started on this machine reads the files where they are.
            runtime_env: more of Ray's runtime environment, such as `{"pip": ["my-package"]}`.
            needs: what each worker needs, as options of a Ray actor; `{"num_cpus": 1}` unless it says otherwise.
            patience: seconds after its time limit in which an attempt may still be answered; then its worker is ended.
            start_timeout: seconds that a run may be without any worker, as when the cluster is busy; then it gives up.

        Raises:
            InvalidOptionError: an argument is out of its range.
        """
        self.workers = check_whole_number("workers", workers, at_least=1, or_none=True)
        self.address = address
        self.setup = check_function("setup", setup, or_none=True)
        self.variables = variables
        self.working_dir = working_dir
        self.runtime_env = runtime_env
        self.needs = needs
        self.patience = check_number("patience", patience, above=0, of="seconds")
        self.start_timeout = check_number("start_timeout", start_timeout, above=0, of="seconds")
        self._stays = False
        self._connection: Connection | None = None
        self._free: list[_Actor] = []

    def __repr__(self) -> str:
        told = [] if self.workers is None else [str(self.workers)]
        return f"RayEngine({', '.join([*told, *([f'address={self.address!r}'] if self.address else [])])})"

    def __enter__(self) -> Self:
        self._stays = True
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._stays = False
        _end(self._free)
        self._free.clear()
        if self._connection is not None:
            released(self._connection)
            self._connection = None

    def check(self, task: Task) -> None:
        """Refuse a task that cannot be sent to another machine.

        Raises:
            TravelError: it cannot be pickled.
            MissingExtraError: Ray is not installed.
        """
        imported_ray()
        self._packed(task)
        self._values()

    @asynccontextmanager
    async def opened(self, job: Job) -> AsyncIterator[Place]:
        """A block in which attempts run in the workers of Ray."""
        from .ray_worker import by_value

        function, setup = self._packed(job.task)
        connection = await asyncio.to_thread(self._connected)
        started: list[_Actor] = []

        async def hire(crew: Crew) -> None:
            while self._free:
                actor = self._free.pop()
                if actor.is_alive:
                    break
            else:
                actor = await asyncio.to_thread(make)
            started.append(actor)
            actor.join(crew)
            actor.order(crew.order(function, setup))

        try:
            size = await asyncio.to_thread(self._size)
            pause = min(MOST_PAUSE, size / MESSAGES)
            make = self._maker(connection, pause)
            ahead = max(AHEAD_SECONDS, 2 * pause)
            crew = Crew(job, hire, size, patience=self.patience + pause, dumps=by_value, ahead=ahead)
            watch = asyncio.create_task(self._watch(crew))
            try:
                await crew.begin()
                yield crew
            finally:
                watch.cancel()
                free = crew.close(stays=self._stays)
                kept = [actor for actor in started if self._stays and actor in free and actor.is_alive]
                self._free += kept
                _end([actor for actor in started if actor not in kept])
        finally:
            released(connection)

    def _connected(self) -> Connection:
        """The connection, for one run; in a `with` block, it stays open after it."""
        address = self.address or os.environ.get("RAY_ADDRESS")
        travels = address is not None and self.working_dir is not None
        wanted = Wanted(
            address,
            math.ceil((self.workers or _processors()) * max(self._needs["num_cpus"] or 0, 1)),
            str(Path(self.working_dir or ".").resolve()) if travels else "",
            dict(self.runtime_env or {}),
        )
        if self._stays and self._connection is None:
            self._connection = connected(wanted)
        return connected(wanted)

    @property
    def _needs(self) -> dict[str, Any]:
        return {"num_cpus": 1, **(self.needs or {})}

    def _size(self) -> int:
        """How many workers there are to be."""
        if self.workers is not None:
            return self.workers
        processors = imported_ray().cluster_resources().get("CPU", 1)
        return max(1, int(processors // (self._needs["num_cpus"] or 1)))

    def _maker(self, connection: Connection, pause: float) -> "Callable[[], _Actor]":
        """What starts one worker, or has Ray start it when there is room."""
        from .ray_worker import GROUPS, RayWorker, Start, own_version

        ray = imported_ray()
        options = {"max_restarts": 0, "max_task_retries": 0, "concurrency_groups": GROUPS, **self._needs}
        if self.runtime_env and not connection.is_own:  # else the whole connection has it
            options["runtime_env"] = dict(self.runtime_env)
        kind = ray.remote(**options)(RayWorker)
        folder = connection.wanted.folder or str(Path.cwd())
        start = Start(
            own_version(),
            folder,
            connection.travels,
            tuple(str(place.absolute()) for place in map(Path, sys.path) if place.is_dir()),
            pause,
            self._values(),
        )
        return lambda: _Actor(ray, kind.remote(start), self._clean)

    def _values(self) -> dict[str, str]:
        """The environment variables that workers get."""
        missing = [name for name in self.variables if name not in os.environ]
        if missing:
            raise InvalidOptionError(
                f"the environment has no variable {missing[0]!r}, which workers are to get"
            )
        return {name: os.environ[name] for name in self.variables}

    def _clean(self, text: str) -> str:
        """A text of Ray's without what may be secret."""
        return without_values(
            text, {**dict((self.runtime_env or {}).get("env_vars") or {}), **self._values()}
        )

    async def _watch(self, crew: Crew) -> None:
        """Say when the run waits for a worker, and give up when it waits too long."""
        since, is_told = perf_counter(), False
        while True:
            await asyncio.sleep(min(1.0, self.start_timeout / 10))
            now = perf_counter()
            if crew.has_workers:
                since, is_told = now, False
            elif now - since > self.start_timeout:
                crew.give_up(f"no worker has begun in {self.start_timeout:g} seconds: {_room()}")
                return
            elif now - since > min(TELL_SECONDS, self.start_timeout / 2) and not is_told:
                is_told = True
                warnings.warn(f"the run waits for a worker: {_room()}", RuntimeWarning, stacklevel=1)

    def _packed(self, task: Task) -> tuple[bytes, bytes]:
        """What to call, and what before it, as workers read them.

        Raises:
            TravelError: it cannot be pickled.
        """
        from .ray_worker import by_value

        try:
            return by_value(task.function), by_value(self.setup)
        except Exception as error:
            parts = {f"the task {task.name!r}": task.function, "setup": self.setup}
            raise TravelError(
                f"the task cannot be sent to other machines: {unpicklable(parts, error, by_value)}. Open what cannot be sent in the "
                "task, at its first call, or in `setup`; what is at the top of a module that workers can import is not sent"
            ) from error


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _room() -> str:
    """How much of the cluster is in use, in words."""
    ray = imported_ray()
    there, free = ray.cluster_resources(), ray.available_resources()
    told = [
        f"{free.get(name, 0):g} of {there[name]:g} {name} free"
        for name in sorted(there)
        if name in {"CPU", "GPU"} or name.startswith("accelerator")
    ]
    return f"the cluster has {', '.join(told) or 'no processors'}; others may use it, or it has no machine for what a worker needs"


def _end(actors: "list[_Actor]") -> None:
    """End workers, and wait for that."""
    for actor in actors:
        actor.end()
    for actor in actors:
        actor.wait()


class _Actor:
    """One worker, and the way to it."""

    _numbers = count(1)

    def __init__(self, ray: Any, actor: Any, clean: Callable[[str], str]) -> None:
        self.name = f"Ray worker {next(self._numbers)}"
        self._ray = ray
        self._actor = actor
        self._clean = clean
        self._place: Future[str] | None = None
        self._pending: Future[list[bytes]] | None = None
        """What comes next from there."""
        self._crew: Crew | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._on_the_way = 0
        self._is_over = False
        self._has_begun = False
        self._is_gone = threading.Event()

    @property
    def is_free(self) -> bool:
        """Whether few messages are on their way: each costs Ray more than what is in it, so attempts wait for each other meanwhile."""
        return self._on_the_way < MOST_ON_THE_WAY

    @property
    def is_alive(self) -> bool:
        """Whether it can be sent something."""
        return not self._is_over and not self._is_gone.is_set()

    def join(self, crew: Crew) -> None:
        """Work for a crew from now on."""
        self._crew, self._loop = crew, asyncio.get_running_loop()
        self._on_the_way = 0
        crew.joined(self)
        pending = self._pending
        if pending is None:
            self._ask()
        elif pending.done():  # with the end of this worker, or with what the last crew did not wait for
            self._loop.call_soon(self._hear, pending)

    def order(self, order: Order) -> None:
        """Say what to do."""
        self._place = self._actor.begin.remote(msgspec.msgpack.encode(order)).future()

    def send(self, message: Message) -> None:
        """Send attempts."""
        self._on_the_way += 1
        taken: Future[None] = self._actor.take.remote(message).future()
        taken.add_done_callback(lambda _: self._tell(self._taken))

    def answer(self, data: bytes) -> None:
        """Send what the run says to calls of its task."""
        self._actor.answer.remote(data)

    def _taken(self) -> None:
        self._on_the_way = max(0, self._on_the_way - 1)
        if self._crew is not None and not self._crew.is_closed:
            self._crew.dispatch()

    def _tell(self, what: Callable[..., None], *said: Any) -> None:
        """Have something called on the run's event loop, from a thread of Ray's."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed; the next crew hears of it
                self._loop.call_soon_threadsafe(what, *said)

    def end(self) -> None:
        """End the worker, with all that its task has started."""
        if not self._is_over:
            self._is_over = True
            threading.Thread(target=self._end, name="calipers-ray", daemon=True).start()

    def wait(self) -> None:
        """Wait until the worker has ended."""
        self._is_gone.wait(KILL_SECONDS + GRACE_SECONDS)

    def _end(self) -> None:
        """In a thread of its own: Ray may take a moment, and in a thread of Ray's it would wait for itself."""
        with suppress(Exception):  # it does not answer, or is gone already
            if self._has_begun and not self._is_gone.is_set():
                self._actor.end_children.remote().future().result(KILL_SECONDS)
        with suppress(Exception):
            self._ray.kill(self._actor)

    def _ask(self) -> None:
        pending: Future[list[bytes]] = self._actor.receive.remote().future()
        self._pending = pending
        pending.add_done_callback(self._arrived)

    def _arrived(self, pending: "Future[list[bytes]]") -> None:
        """In a thread of Ray's."""
        if pending.exception() is not None:
            self._is_gone.set()
        self._tell(self._hear, pending)

    def _hear(self, pending: "Future[list[bytes]]") -> None:
        if pending is not self._pending or self._crew is None:  # heard already
            return
        error = pending.exception()
        if error is None:
            self._has_begun = True
            self._ask()
            for data in pending.result():
                self._crew.heard(self, data)
        else:
            self._pending = None
            if not self._is_over:
                self.end()  # it may only be out of reach, and still at work
                self._crew.ended(self, self._why(error))

    def _why(self, error: BaseException) -> str:
        """Why Ray says that it ended: the last line of its text, which is the one for people, and where it was."""
        lines = [line.strip() for line in self._clean(str(error)).splitlines() if line.strip()]
        told = lines[-1] if lines else type(error).__name__
        told = told if len(told) <= _MOST_TOLD else told[:_MOST_TOLD] + " …"
        place = self._place
        if place is not None and place.done() and place.exception() is None:
            return f"{place.result()}: {told}"
        return told
