"""The workers of a run, as the run sees them: who is sent what, and what becomes of it when a worker ends.

**Sending.** Attempts that begin in one turn of the event loop go out together, to the workers that have most room. A worker of async
tasks has many slots. One of blocking tasks has few, and is sent some attempts ahead, as many as it makes in a moment: short ones must not
wait for the way there and back, and a long one must not wait behind another while a worker is free.

**A worker that ends** takes with it what it had begun, and what it had not sent back yet. Those attempts are made again elsewhere, as
they are when a run is resumed. One that had two workers end under it is from then on alone in its worker. If that worker ends, too,
and no other attempt was there, the attempt is to blame: it fails, with a `WorkerLostError`. No attempt is failed for what another did.

**A worker that hangs** is noticed where tasks have a time limit. One that has not answered some seconds after the time of an attempt
was over is ended: that attempt has timed out, and the others are made elsewhere. So is a worker in which a blocking call goes on
whose time is over, since nothing else can stop it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from itertools import islice
from time import perf_counter
from typing import Any, Final, Protocol

from calipers.data.attempt import Attempt, waited_by
from calipers.errors import EngineError, WorkerLostError
from calipers.run.place import Job
from calipers.run.runner import DEFAULT_CONCURRENCY

from .calls import Desk
from .parcel import Dumps, by_name, pack_attempt, unpack_outcome
from .worker import Order, read_back

AHEAD_SECONDS: Final = 0.02
"""A worker is sent so many attempts ahead as it makes in this time, unless its engine says otherwise."""
MOST_AHEAD: Final = 64
"""And at most so many for each slot."""
MOST_SENT: Final = 256
"""Attempts in one message."""
FALSE_STARTS: Final = 3
"""So many workers in a row may end before they were ready."""
LOSSES: Final = 2
"""When so many workers have ended under an attempt, it is to blame if it was alone in the last one, and else is made alone."""


class Link(Protocol):
    """The way to one worker."""

    name: str
    """What messages call it, such as "worker 2 (process 4711)"."""

    @property
    def is_free(self) -> bool:
        """Whether a message would go out at once; if not, the crew is told when it is (`Crew.dispatch`)."""
        ...

    def send(self, message: list[tuple[int, bytes]]) -> None:
        """Send attempts. Does not wait."""
        ...

    def answer(self, data: bytes) -> None:
        """Send what the run says to calls that its task wants to make. Does not wait."""
        ...

    def end(self) -> None:
        """End the worker at once, with all that its task has started."""
        ...


class _Call:
    """One attempt that is to be made somewhere."""

    __slots__ = ("attempt", "done", "lost", "number", "packed", "seconds", "seen", "since")

    def __init__(
        self,
        number: int,
        attempt: Attempt,
        packed: bytes,
        seconds: float | None,
        done: "asyncio.Future[bool]",
    ) -> None:
        self.number = number
        self.attempt = attempt
        self.packed = packed
        self.seconds = seconds
        self.done = done
        self.since: float | None = None
        """From when on its time counts; `None` while it waits for its turn."""
        self.seen = None if attempt.account is None else attempt.account.seen
        """What its account had seen before."""
        self.lost = 0
        """Workers that ended under it."""

    def lose(self) -> None:
        """The worker that makes it is gone, with what it would tell."""
        self.since = None
        self.attempt.waited = None
        if self.seen is not None:
            self.attempt.account.lose(self.seen)


class _Member:
    """One worker, and what it was sent."""

    __slots__ = ("calls", "desk", "is_held", "is_ready", "link")

    def __init__(self, link: Link, job: Job) -> None:
        self.link = link
        self.desk = Desk(job.limits, self._attempt, link.answer)
        self.calls: dict[int, _Call] = {}
        """What it has not answered, in the order in which it was sent."""
        self.is_ready = False
        self.is_held = False
        """Whether it is kept free, or makes one attempt alone."""

    def _attempt(self, number: int) -> Attempt | None:
        call = self.calls.get(number)
        return None if call is None else call.attempt

    def lose(self) -> list[_Call]:
        """It is gone; what it was to do."""
        self.desk.close()
        calls = list(self.calls.values())
        for call in calls:
            call.lose()
        return calls


class Crew:
    """The workers of one run: a place where attempts run."""

    _number = 0

    def __init__(
        self,
        job: Job,
        hire: Callable[["Crew"], Coroutine[Any, Any, None]],
        size: int,
        *,
        patience: float,
        dumps: Dumps = by_name,
        ahead: float = AHEAD_SECONDS,
    ) -> None:
        """A crew without workers.

        Args:
            job: what the run says.
            hire: starts one worker; it calls `joined` when the worker takes attempts, and `ended` when it is gone.
            size: how many workers there are to be.
            patience: seconds that an answer may be late before a worker counts as one that hangs.
            dumps: pickles the attempts that are sent.
            ahead: a worker is sent so many attempts of a blocking task ahead as it makes in so many seconds.
        """
        at_once = job.max_concurrency
        self.job = job
        self.size = size if at_once is None else min(size, at_once)
        self._hire = hire
        self._patience = patience
        self._dumps = dumps
        if at_once is None:
            self.slots = DEFAULT_CONCURRENCY if job.task.is_async else 1
        else:  # async attempts are counted here; of blocking ones, no worker may begin too many of those it has
            self.slots = -(-at_once // self.size) if job.task.is_async else at_once // self.size
        """Attempts that one worker makes at once."""
        self._most = self.size * self.slots if at_once is None or not job.task.is_async else at_once
        self._ahead_seconds = ahead
        self._ahead = 0
        self._mean: float | None = None
        self.limit = self._most if job.task.is_async else self._most * (1 + MOST_AHEAD) + MOST_AHEAD
        self.in_flight = 0
        self._loop = asyncio.get_running_loop()
        self._members: dict[str, _Member] = {}
        self._waiting: deque[_Call] = deque()
        self._suspects: deque[_Call] = deque()
        """Attempts that are to be made alone."""
        self._rooms: deque[asyncio.Future[None]] = deque()
        self._planned: asyncio.Handle | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._shortest: float | None = None
        self._hiring: set[asyncio.Task[None]] = set()
        self._false_starts = 0
        self._first: asyncio.Future[None] = self._loop.create_future()
        """Done when the first worker is ready."""
        self.is_closed = False

    # ------------------------------------------------------------------ the run's side

    async def room(self) -> None:
        """Wait until one attempt more would not have to wait for others."""
        while self.in_flight >= self._most * (1 + self._ahead):
            room: asyncio.Future[None] = self._loop.create_future()
            self._rooms.append(room)
            await room
        self._make_room()  # for the next one: this one may find the queue empty

    def _make_room(self) -> None:
        while self._rooms:
            room = self._rooms.popleft()
            if not room.done():
                room.set_result(None)
                return

    async def call(self, attempt: Attempt, seconds: float | None) -> bool:
        """Have an attempt made by a worker; false if it did not answer in time."""
        try:
            packed = pack_attempt(attempt, self._dumps)
        except EngineError as error:
            attempt.error = error
            return True
        Crew._number += 1
        call = _Call(Crew._number, attempt, packed, seconds, self._loop.create_future())
        if seconds is not None:
            self._time(seconds)
        self._waiting.append(call)
        self.in_flight += 1
        if self._planned is None:
            self._planned = self._loop.call_soon(self.dispatch)
        try:
            return await call.done
        finally:
            self.in_flight -= 1
            self._make_room()

    # ------------------------------------------------------------------ sending

    def dispatch(self) -> None:
        """Send what waits to the workers that have room."""
        if self._planned is not None:
            self._planned.cancel()
            self._planned = None
        if self._suspects:
            self._send_suspects()
        if not self._waiting:
            return
        most = self.slots * (1 + self._ahead)
        free = [
            member
            for member in self._members.values()
            if member.is_ready and not member.is_held and len(member.calls) < most and member.link.is_free
        ]
        free.sort(key=lambda member: len(member.calls))
        for place, member in enumerate(free):
            share = -(-len(self._waiting) // (len(free) - place))
            count = min(share, most - len(member.calls), MOST_SENT, len(self._waiting))
            self._send(member, [self._waiting.popleft() for _ in range(count)])
            if not self._waiting:
                return

    def _send_suspects(self) -> None:
        """Have one attempt made alone, by a worker that is kept free for it."""
        held = next((member for member in self._members.values() if member.is_held), None)
        if held is None:
            ready = [member for member in self._members.values() if member.is_ready]
            if not ready:
                return
            held = min(ready, key=lambda member: len(member.calls))
            held.is_held = True
        if not held.calls:
            self._send(held, [self._suspects.popleft()])

    def _send(self, member: _Member, calls: list[_Call]) -> None:
        message: list[tuple[int, bytes]] = []
        for call in calls:
            if not call.done.done():
                member.calls[call.number] = call
                message.append((call.number, call.packed))
        if message:
            self._begin(member)
            member.link.send(message)

    def _begin(self, member: _Member) -> None:
        """Note when the time of what has begun there began."""
        if self._shortest is not None:
            now = perf_counter()
            for call in islice(member.calls.values(), self.slots):
                if call.since is None:
                    call.since = now

    # ------------------------------------------------------------------ the workers' side

    def order(self, function: bytes, setup: bytes) -> Order:
        """What workers are told before the first attempt."""
        task = self.job.task
        return Order(
            function,
            setup,
            task.name,
            task.is_async,
            self.job.records_spans,
            self.job.task_timeout,
            self.slots,
            self.job.limits.sees_all,
            self.job.has_budget,
        )

    async def begin(self) -> None:
        """Hire all workers, and wait for the first.

        Raises:
            EngineError: there comes none.
        """
        for _ in range(self.size):
            self._hire_one()
        await self._first

    def _hire_one(self) -> None:
        hiring = self._loop.create_task(self._hire(self))
        self._hiring.add(hiring)
        hiring.add_done_callback(self._hired)

    def _hired(self, hiring: "asyncio.Task[None]") -> None:
        self._hiring.discard(hiring)
        if not hiring.cancelled() and (error := hiring.exception()) is not None:
            self.give_up(f"no worker could be started: {type(error).__name__}: {error}")

    @property
    def has_workers(self) -> bool:
        """Whether there is a worker that takes attempts."""
        return any(member.is_ready for member in self._members.values())

    def joined(self, link: Link) -> None:
        """There is a worker more, which has yet to say that it is ready."""
        self._members[link.name] = _Member(link, self.job)

    def heard(self, link: Link, data: bytes) -> None:
        """A worker sent something."""
        member = self._members.get(link.name)
        if member is None or self.is_closed:  # given up already
            return
        back = read_back(data)
        if back.refused is not None:
            del self._members[link.name]
            link.end()
            self.give_up(f"{link.name} cannot run the task {self.job.task.name!r}: {back.refused}")
            return
        if back.ready:
            member.is_ready, self._false_starts = True, 0
            if not self._first.done():
                self._first.set_result(None)
        for seconds in back.held:
            self.job.hold(seconds)
        if back.prices:
            self.job.use_prices(back.prices)
        if back.words:
            member.desk.hear(back.words)
        for number, packed in back.outcomes:
            call = member.calls.pop(number, None)
            if call is not None:
                member.desk.ended(number)
                self._answered(call, packed)
        if member.is_held and not member.calls:
            member.is_held = bool(self._suspects)
        if back.stuck:
            self._replace(member)
        else:
            self._begin(member)
        self.dispatch()

    def _answered(self, call: _Call, packed: bytes) -> None:
        if call.done.done():  # nothing waits for it any more
            return
        unpack_outcome(packed, call.attempt)
        if not self.job.task.is_async:
            self._look_ahead(call.attempt.duration)
        call.done.set_result(True)

    def _look_ahead(self, seconds: float) -> None:
        """Follow how long attempts take, and so how many a worker is sent ahead."""
        self._mean = seconds if self._mean is None else 0.9 * self._mean + 0.1 * seconds
        before, self._ahead = self._ahead, min(MOST_AHEAD, int(self._ahead_seconds / max(self._mean, 1e-6)))
        if self._ahead > before:
            self._make_room()

    def ended(self, link: Link, why: str) -> None:
        """A worker is gone, and was not sent away."""
        member = self._members.pop(link.name, None)
        if member is None or self.is_closed:
            return
        if not member.is_ready:
            self._false_starts += 1
            if self._false_starts >= FALSE_STARTS:
                self.give_up(f"{link.name} ended before it was ready ({why}), as did those before it")
                return
        calls = member.lose()
        for call in calls:
            call.lost += 1
        if len(calls) == 1 and calls[0].lost >= LOSSES:
            self._blame(calls.pop(), link, why)
        self._again(calls)
        self._hire_one()
        self.dispatch()

    def _blame(self, call: _Call, link: Link, why: str) -> None:
        call.attempt.error = WorkerLostError(
            f"{link.name} ended while it made this attempt and no other ({why}), and so did others before it: "
            "something in the task ends its process, or it needs more memory than there is"
        )
        if not call.done.done():
            call.done.set_result(True)

    def _again(self, calls: list[_Call]) -> None:
        """Have attempts made elsewhere, before those that have not been sent yet."""
        for call in reversed(calls):
            (self._suspects if call.lost >= LOSSES else self._waiting).appendleft(call)

    def _replace(self, member: _Member) -> None:
        """End a worker, and have another take over what it was to do."""
        self._members.pop(member.link.name, None)
        member.link.end()
        self._again(member.lose())
        self._hire_one()

    # ------------------------------------------------------------------ workers that hang

    def _time(self, seconds: float) -> None:
        if self._shortest is None or seconds < self._shortest:
            self._shortest = seconds
            if self._watch is not None:
                self._watch.cancel()
            self._look()

    def _look(self) -> None:
        """Give up on workers that should have answered long ago; then look again."""
        assert self._shortest is not None
        pause = min(1.0, max(0.05, (self._shortest + self._patience) / 10))
        self._watch = self._loop.call_later(pause, self._look)
        now = perf_counter()
        for member in list(self._members.values()):
            late = [
                call
                for call in islice(member.calls.values(), self.slots)
                if call.since is not None
                and call.seconds is not None
                and now - call.since - waited_by(call.attempt) > call.seconds + self._patience
            ]
            for call in late:
                del member.calls[call.number]
                if call.seen is not None:
                    call.attempt.account.lose(call.seen)
                if not call.done.done():
                    call.done.set_result(False)
            if late:
                self._replace(member)
        self.dispatch()

    # ------------------------------------------------------------------ the end

    def give_up(self, why: str) -> None:
        """Say that no more attempts can be made here, and why."""
        if not self._first.done():
            self._first.set_exception(EngineError(why))
        elif not self.is_closed:
            self.job.give_up(why)

    def close(self, *, stays: bool = False) -> list[Link]:
        """Send nothing more. Ends the workers that are still at work, and returns those that are free.

        Args:
            stays: whether there may be a next run. Workers that are not ready yet are for that one, if another one was ready: were
                they ended, runs that are shorter than a worker takes to begin would never have more than the first one.
        """
        first = self._first
        stays = stays and first.done() and not first.cancelled() and first.exception() is None
        self.is_closed = True
        for hiring in self._hiring:
            hiring.cancel()
        if self._watch is not None:
            self._watch.cancel()
        if self._planned is not None:
            self._planned.cancel()
        free: list[Link] = []
        for member in self._members.values():
            member.desk.close()
            if (member.is_ready or stays) and not member.calls:
                free.append(member.link)
            else:
                member.link.end()
        self._members.clear()
        return free
