"""`GET /events`: what happens in the store, as one stream of server-sent events for each browser.

Another process writes the runs, so the store is asked how far they have come: twice a second while someone listens, and not at all otherwise.
All streams hear the same messages, each with a number. A browser that was cut off sends the number of the last message it heard, and gets those it missed. If these are gone it gets
`resync`, and asks for everything again. A message never holds rows.

| event | data | when |
|---|---|---|
| `progress` | `Progress` | a run in flight, or its index, went on; at most twice a second for each run |
| `runs` | `RunsChanged` | runs began, ended or were deleted |
| `resync` | nothing | messages were lost |
"""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from time import monotonic
from typing import Final, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from calipers.errors import CalipersError
from calipers.stores.run_info import RunProgress

from .refusal import Refusal
from .request_threads import RequestThreads
from .responses import problem
from .run_list import RunList
from .viewed_store import ViewedStore
from .wire import Progress, RunsChanged

PAUSE: Final = 0.5
"""Seconds between looks at the store."""
HEARTBEAT: Final = 15.0
"""Seconds after which something is sent in any case, so that what is between browser and server keeps the connection."""
MOST_STREAMS: Final = 32
"""Streams at the same time."""
_KEPT: Final = 512
"""Messages that are kept for those who were cut off."""
_WAITING: Final = 256
"""Messages that may wait for a slow browser."""


class Event(NamedTuple):
    """A message."""

    number: int
    name: str
    data: bytes

    def text(self, stream: str) -> bytes:
        """As it is sent."""
        return b"id: %s.%d\nevent: %s\ndata: %s\n\n" % (
            stream.encode(),
            self.number,
            self.name.encode(),
            self.data,
        )


class Watcher:
    """Looks at the store while someone listens, and tells what changed."""

    def __init__(self, viewed: ViewedStore, threads: RequestThreads) -> None:
        self._viewed = viewed
        self._threads = threads
        self._name = secrets.token_hex(4)
        """Of this start of the server: numbers begin anew with each."""
        self._numbers = 0
        self._kept: deque[Event] = deque(maxlen=_KEPT)
        self._listeners: set[asyncio.Queue[Event]] = set()
        self._seen: dict[str, RunProgress] | None = None
        self._told: dict[str, Progress] = {}
        """The last message of each run that is followed."""
        self._looking: asyncio.Task[None] | None = None
        self._is_over = False

    # ------------------------------------------------------------------ for the server

    async def stream(self, request: Request) -> Response:
        """The stream of one browser."""
        if request.url.query:
            return problem(Refusal("bad_request", "/events has no parameters: a stream tells of all runs"))
        if len(self._listeners) >= MOST_STREAMS or self._is_over:
            return problem(
                Refusal(
                    "busy", f"more than {MOST_STREAMS} browsers listen already: close one, or reload later"
                )
            )
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        last = request.headers.get("last-event-id", "")
        queue: asyncio.Queue[Event] = asyncio.Queue(_WAITING)
        missed = self._missed(last)
        self._listeners.add(queue)
        self._begin()
        return StreamingResponse(
            self._messages(queue, missed), headers=headers, media_type="text/event-stream"
        )

    def end(self) -> None:
        """End all streams: the server is about to end. May be called from a signal handler."""
        self._is_over = True

    async def _messages(self, queue: "asyncio.Queue[Event]", missed: Iterable[Event]) -> AsyncIterator[bytes]:
        try:
            yield b"retry: 2000\n\n"
            for event in missed:
                yield event.text(self._name)
            spoken = monotonic()
            while not self._is_over:
                try:
                    event = await asyncio.wait_for(queue.get(), PAUSE)
                except TimeoutError:
                    if monotonic() - spoken >= HEARTBEAT:
                        spoken = monotonic()
                        yield b": still here\n\n"
                    continue
                spoken = monotonic()
                yield event.text(self._name)
        finally:
            self._listeners.discard(queue)

    def _missed(self, last: str) -> list[Event]:
        """What was told since a message; a `resync` if that is not known any more."""
        stream, _, number = last.partition(".")
        if not last or (stream == self._name and number == str(self._numbers)):
            return []
        first = self._kept[0].number if self._kept else self._numbers + 1
        if stream == self._name and number.isdecimal() and first - 1 <= int(number) < self._numbers:
            return [event for event in self._kept if event.number > int(number)]
        return [Event(self._numbers, "resync", b"{}")]

    # ------------------------------------------------------------------ looking

    def _begin(self) -> None:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_on())

    async def _look_on(self) -> None:
        """Look at the store while someone listens."""
        while self._listeners and not self._is_over:
            begun = monotonic()
            try:
                events = await self._threads.within(self._changes, self._viewed.deadline)
            except CalipersError:  # the store is gone or busy: every other call says so
                events = []
            for name, data in events:
                self._tell(name, data)
            await asyncio.sleep(max(PAUSE - (monotonic() - begun), PAUSE / 2))
        self._seen = None  # what happens while no one listens is told to no one

    def _tell(self, name: str, data: bytes) -> None:
        self._numbers += 1
        event = Event(self._numbers, name, data)
        self._kept.append(event)
        for queue in list(self._listeners):
            if queue.full():
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(Event(self._numbers, "resync", b"{}"))
            else:
                queue.put_nowait(event)

    def _changes(self) -> list[tuple[str, bytes]]:
        """What is to be told now."""
        with self._viewed.reading() as store:
            now = {run.id: run for run in store.progress()}
        before, self._seen = self._seen, now
        found = [("progress", data) for data in self._went_on(now)]
        changed = None if before is None else _difference(before, now)
        if changed is not None:
            found.append(("runs", msgspec.json.encode(changed)))
        return found

    def _went_on(self, now: Mapping[str, RunProgress]) -> Iterator[bytes]:
        """A message for each run in flight, or whose attempts are being read, that has come further; a last one when that is over."""
        indexes = self._viewed.index_states()
        reading = {run for run, state in indexes.items() if state.state == "reading"}
        running = {run.id for run in now.values() if run.status == "running"}
        watched = (running | reading | self._told.keys()) & now.keys()
        rows = self._viewed.kept(RunList).rows(self._viewed) if watched else []
        for row in rows:
            if row.id not in watched:
                continue
            message = Progress(
                run=row.id,
                state=row.state,
                revision=now[row.id].revision,
                attempts=row.attempts,
                total=row.total,
                failures=row.failures,
                cases=row.cases,
                rate=row.rate,
                gate=row.gate,
                index=indexes.get(row.id),
            )
            if self._told.get(row.id) != message:  # that time goes by is no news
                yield msgspec.json.encode(msgspec.structs.replace(message, seconds=row.seconds))
            self._told[row.id] = message
            if row.state != "running" and row.id not in reading:
                del self._told[row.id]
        for gone in self._told.keys() - now.keys():
            del self._told[gone]


def _difference(before: Mapping[str, RunProgress], now: Mapping[str, RunProgress]) -> RunsChanged | None:
    """Which runs began, ended and went away between two looks; `None` if none did."""
    began = [run for run in now if run not in before]
    ended = [
        run.id
        for run in now.values()
        if run.status != "running" and (old := before.get(run.id)) is not None and old.status == "running"
    ]
    gone = [run for run in before if run not in now]
    return RunsChanged(began=began, ended=ended, gone=gone) if began or ended or gone else None
