"""Limits by name that the calls of a run share: those of the task, of judges and of rollouts.

`limit("search")` is a block in which one call is made. It begins when the limit has room, and what comes of it says how much room there is
(`pace.py` decides). Calls that Calipers sees have limits of their own accord where a run has `max_concurrency="auto"`, named by who is asked.

- **A limit belongs to a run.** Outside of runs there is one for the whole process.
- **Cases take turns** while they wait, one call each: a case with many calls does not keep the others waiting.
- **Time spent waiting is not the attempt's** (`calipers.data.attempt.Waited`).
- **A block inside a block of the same name** needs no place of its own: the first one is the call that the outer block stands for, and further ones
  wait for the pace alone. So does one inside of a block of another name, unless you gave its limit a number: calls that hold a place do not
  wait for each other's.
- **A call ends** when its block is left, or when its attempt is over.
"""

import asyncio
import logging
import random
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from time import perf_counter
from typing import Any, Final

from typing_extensions import override

from calipers.data.argument_checks import check_text, check_whole_number
from calipers.data.attempt import waited_here, who_runs
from calipers.data.infrastructure import status_of
from calipers.data.limit_use import LimitPoint, LimitUse
from calipers.data.rate_headers import allowances_in
from calipers.data.retry_after import wait_of
from calipers.errors import InvalidOptionError
from calipers.run.ledger import GivenUp
from calipers.run.pace import Outcome, Pace, Ticket, Told
from calipers.stats.number_text import seconds

_BUSY: Final = frozenset({503, 529})
_LATE: Final = frozenset({408, 504})
_MOST_POINTS: Final = 60
_LONG_PAUSE: Final = 30.0
"""A pause from this length on is told at once."""
_FEW_WAITING: Final = 8
"""While more calls wait than this, no further attempt needs to begin."""

ATTEMPTS: Final = "attempts"
"""The name of the limit of attempts in flight."""
_LOOK_SECONDS: Final = 0.02
"""How soon it is looked again whether further attempts may begin."""

_log = logging.getLogger("calipers.limits")


class Call:
    """One call that holds a place, or waits for one."""

    __slots__ = (
        "_is_over",
        "_is_taken",
        "_told",
        "error",
        "has_slot",
        "limit",
        "owner",
        "since",
        "ticket",
        "wake",
    )

    def __init__(self, limit: "CallLimit", owner: Any, *, has_slot: bool) -> None:
        self.limit = limit
        self.owner = owner
        """The attempt, or the notes of the evaluator, that makes it."""
        self.has_slot = has_slot
        """Whether it is part of a call that holds a place, and needs none."""
        self.ticket: Ticket | None = None
        self.wake: Callable[[], None] | None = None
        """To be called when it may begin, or when it never will."""
        self.since = 0.0
        self.error: Exception | None = None
        """Why it may not begin; `None`: it may, or it is given up."""
        self._told = False
        self._is_taken = False
        self._is_over = False

    def take(self) -> bool:
        """Whether this is the first call that is made in its block, and so the one that the block stands for."""
        was_taken, self._is_taken = self._is_taken, True
        return not was_taken and not self._told

    def told(self, status: int, headers: Mapping[str, str] | None = None, body: Any = None) -> None:
        """Say what the server answered: its status and headers, from which the limit learns how much it takes.

        Args:
            status: of the HTTP answer.
            headers: of the answer, found by their names in lower case.
            body: decoded, where it may say how long to wait.
        """
        known = headers or {}
        outcome: Outcome = "answered"
        if status == 429:
            outcome = "refused"
        elif status in _BUSY or status in _LATE:
            outcome = "overloaded"
        elif status >= 400:
            outcome = "failed"
        wait = wait_of(known, body) if outcome in {"refused", "overloaded"} else None
        self.hear(Told(outcome, wait, allowances_in(known)))

    def hear(self, told: Told) -> None:
        """Take in what came of it, unless that is known."""
        if not self._told and self.ticket is not None:
            self._told = True
            self.limit.hear(self.ticket, told)

    def drop(self) -> None:
        """It is not made after all."""
        self._told = True
        self.end()

    def end(self, error: BaseException | None = None) -> None:
        """It is over, by this error or well. Further calls of this do nothing."""
        if self._is_over:
            return
        self._is_over = True
        if not self._told:
            self.hear(_told_by(error))
        self.limit.release(self)


def _told_by(error: BaseException | None) -> Told:
    """What the end of a call says of its limit."""
    if error is None:
        return Told("answered")
    status = status_of(error)
    wait = getattr(error, "retry_after", None)
    headers = getattr(getattr(error, "response", None), "headers", None)
    if headers is not None:
        with suppress(Exception):
            wait = wait_of(headers) if wait is None else wait
    wait = wait if isinstance(wait, int | float) else None
    if status == 429:
        return Told("refused", wait)
    if status in _BUSY or status in _LATE or isinstance(error, TimeoutError):
        return Told("overloaded", wait)
    return Told("failed")


class _Turns:
    """Calls that wait, in the order in which they may begin: one of each owner in turn."""

    def __init__(self) -> None:
        self._owners: OrderedDict[int, deque[Call]] = OrderedDict()
        self.count = 0

    def add(self, call: Call) -> None:
        """One more waits."""
        self._owners.setdefault(id(call.owner), deque()).append(call)
        self.count += 1

    def first(self) -> Call | None:
        """Whose turn it is."""
        return next(iter(self._owners.values()))[0] if self._owners else None

    def take(self) -> Call:
        """The same, which waits no longer."""
        owner, calls = next(iter(self._owners.items()))
        call = calls.popleft()
        self.count -= 1
        if calls:
            self._owners.move_to_end(owner)
        else:
            del self._owners[owner]
        return call

    def remove(self, call: Call) -> bool:
        """Whether it waited; it does no longer."""
        calls = self._owners.get(id(call.owner))
        if calls is None or call not in calls:
            return False
        calls.remove(call)
        self.count -= 1
        if not calls:
            del self._owners[id(call.owner)]
        return True


class CallLimit:
    """The calls of one name in one run."""

    def __init__(self, name: str, limits: "Limits", at_most: int | None = None) -> None:
        self.name = name
        self.limits = limits
        self._lock = limits.lock
        self.pace = Pace(limits.draw, at_most=at_most, now=perf_counter())
        self._waiting: dict[tuple[str, bool], _Turns] = {}
        self.held: set[Call] = set()
        self._counts: dict[Outcome, int] = {"answered": 0, "refused": 0, "overloaded": 0, "failed": 0}
        self._waited = 0.0
        self._most = 0
        self._longest_pause = 0.0
        self._told_rate: float | None = None
        self._points: list[LimitPoint] = []
        self._every = 1.0
        self._next_point = 0.0
        self._said_until = 0.0

    @property
    def answered(self) -> int:
        """Calls that were answered so far."""
        return self._counts["answered"]

    @property
    def waiting(self) -> int:
        """Calls that wait."""
        return sum(turns.count for turns in self._waiting.values())

    def begin_or_wait(self, call: Call, model: str, wake: Callable[[], None]) -> bool:
        """Whether a call may begin; if not, `wake` is called when it does.

        Raises:
            GivenUp: the run is over.
        """
        with self._lock:
            self.limits.check_open()
            now = perf_counter()
            if not self._turns(model, call).count and self.ready_at(now, model, call.has_slot) <= now:
                self._begin(call, model, now)
                return True
            call.wake, call.since = wake, now
            self._turns(model, call).add(call)
            self.limits.look_by(self.pump(now))
            return call.ticket is not None

    def _turns(self, model: str, call: Call) -> _Turns:
        key = (model, call.has_slot)
        turns = self._waiting.get(key)
        if turns is None:
            turns = self._waiting[key] = _Turns()
        return turns

    def _begin(self, call: Call, model: str, now: float) -> None:
        call.ticket = self.pace.begin(now, model, has_slot=call.has_slot)
        self.held.add(call)
        self._most = max(self._most, self.pace.in_flight)
        self._sample(now)

    def ready_at(self, now: float, model: str, has_slot: bool) -> float:
        """When a call may begin, as things stand."""
        return self.pace.ready_at(now, model, has_slot=has_slot)

    def pump(self, now: float) -> float:
        """Let all calls begin that may; when the next one may, as things stand."""
        soonest = float("inf")
        for (model, has_slot), turns in self._waiting.items():
            while turns.count:
                ready = self.ready_at(now, model, has_slot)
                if ready > now:
                    soonest = min(soonest, ready)
                    break
                call = turns.take()
                self._waited += now - call.since
                self._begin(call, model, now)
                assert call.wake is not None
                call.wake()
        return soonest

    def hear(self, ticket: Ticket, told: Told) -> None:
        """Take in what came of a call."""
        with self._lock:
            now = perf_counter()
            self._counts[told.outcome] += 1
            self.pace.hear(ticket, now, told)
            if told.allowances:
                self._told_rate = self.pace.told(now)
            if told.wait is not None and told.outcome != "answered":
                self._longest_pause = max(self._longest_pause, told.wait)
                self._say(now, told.wait)
            self._sample(now)
            if self.waiting:
                self.limits.look_by(self.pump(now))

    def _say(self, now: float, wait: float) -> None:
        """Tell of a long pause, once."""
        if wait >= _LONG_PAUSE and now + wait > self._said_until + _LONG_PAUSE:
            self._said_until = now + wait
            _log.warning("%s asks for a pause of %s: the run waits", self.name, seconds(wait))

    def release(self, call: Call) -> None:
        """A call has ended, or stopped waiting."""
        with self._lock:
            if call.ticket is None:
                for turns in self._waiting.values():
                    turns.remove(call)
                return
            now = perf_counter()
            self.held.discard(call)
            if not call.has_slot:
                self.pace.end()
            self._sample(now)
            if self.waiting and not self.limits.is_closed:
                self.limits.look_by(self.pump(now))

    def give_up(self, owner: Any = None) -> None:
        """End the calls of an owner, those that wait too; of all of them, if none is given. Those that wait are woken."""
        with self._lock:
            for turns in list(self._waiting.values()):
                for calls in list(turns._owners.values()):  # noqa: SLF001 - of this module
                    for call in list(calls):
                        if owner is None or call.owner is owner:
                            turns.remove(call)
                            assert call.wake is not None
                            call.wake()
            held = [call for call in self.held if owner is None or call.owner is owner]
        for call in held:
            call.end(TimeoutError())

    def _sample(self, now: float) -> None:
        """Note how things stand, now and then; the more seldom, the longer the run."""
        at = now - self.limits.start
        if at < self._next_point:
            return
        if len(self._points) >= _MOST_POINTS:
            self._points = self._points[::2]
            self._every *= 2
        self._next_point = at + self._every
        self._points.append(self._point(now))

    def _point(self, now: float) -> LimitPoint:
        rate = self.pace.allowed(now)
        return LimitPoint(
            round(now - self.limits.start, 3),
            self.pace.in_flight,
            int(self.pace.window),
            None if rate is None else round(rate, 4),
            self._counts["answered"],
        )

    @property
    def use(self) -> LimitUse:
        """What became of it."""
        with self._lock:
            points = (*self._points, self._point(perf_counter()))
            return LimitUse(
                name=self.name,
                waited=round(self._waited, 3),
                longest_pause=self._longest_pause,
                most_in_flight=self._most,
                at_most=self.pace.at_most,
                told=None if self._told_rate is None else round(self._told_rate, 4),
                points=points,
                **self._counts,
            )


class AttemptLimit(CallLimit):
    """How many attempts are in flight: no more than there is room for their calls.

    Where none of their calls is seen, it follows what comes of the attempts.
    """

    @override
    def ready_at(self, now: float, model: str, has_slot: bool) -> float:
        if self.pace.in_flight and self.limits.are_full:
            return now + _LOOK_SECONDS
        return super().ready_at(now, model, has_slot)

    async def next(self) -> "Turn":
        """Wait until one attempt more may be in flight.

        Raises:
            GivenUp: the run is over.
        """
        if self.limits.watch is not None:
            self.limits.watch()
        turn = Turn(self, None, has_slot=False)
        await wait_async(turn)
        return turn

    def next_in_thread(self) -> "Turn":
        """The same for threads.

        Raises:
            GivenUp: the run is over.
        """
        if self.limits.watch is not None:
            self.limits.watch()
        turn = Turn(self, None, has_slot=False)
        wait(turn)
        return turn


class Turn(Call):
    """One attempt in flight."""

    __slots__ = ()

    def over(self, *, broke: bool) -> None:
        """The attempt is over; `broke`: something else than the agent failed, such as a server that was too busy."""
        seen = len(self.limit.limits.by_name) > 1
        self.hear(Told("overloaded" if broke and not seen else "answered"))
        self.end()


class Limits:
    """The limits of one run, or of the process."""

    def __init__(self, *, sees_all: bool = False, draw: Callable[[], float] = random.random) -> None:
        self.lock = threading.RLock()
        self._changed = threading.Condition(self.lock)
        self.sees_all = sees_all
        """Whether calls that Calipers sees have limits of their own accord."""
        self.watch: Callable[[], None] | None = None
        """Called before each attempt, to see the calls of libraries that were loaded meanwhile."""
        self.draw = draw
        self.start = perf_counter()
        self.by_name: dict[str, CallLimit] = {}
        self._look_at = float("inf")
        self._thread: threading.Thread | None = None
        self.is_closed = False

    def of(self, name: str, at_most: int | None = None) -> CallLimit:
        """The limit of a name.

        Raises:
            InvalidOptionError: it has another number already.
        """
        with self.lock:
            found = self.by_name.get(name)
            if found is None:
                found = self.by_name[name] = self._made(name, at_most)
            elif at_most is not None and found.pace.at_most != at_most:
                if found.pace.at_most is not None:
                    raise InvalidOptionError(
                        f"the limit {name!r} has at_most={found.pace.at_most} already, and cannot have at_most={at_most}"
                    )
                found.pace.at_most = found.pace.most = at_most
                found.pace.window = min(found.pace.window, at_most)
            return found

    def _made(self, name: str, at_most: int | None) -> CallLimit:
        return CallLimit(name, self, at_most)

    def attempts(self, at_most: int) -> AttemptLimit:
        """The limit of attempts in flight."""
        found = AttemptLimit(ATTEMPTS, self)
        found.pace.most = at_most
        self.by_name[ATTEMPTS] = found
        return found

    def check_open(self) -> None:
        """Let no call begin when the run is over.

        Raises:
            GivenUp: it is.
        """
        if self.is_closed:
            raise GivenUp

    def look_by(self, at: float) -> None:
        """Have a thread let calls begin at this time."""
        if at == float("inf") or at >= self._look_at:
            return
        self._look_at = at
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="calipers-limits", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _work(self) -> None:
        with self.lock:
            while not self.is_closed:
                now = perf_counter()
                if now >= self._look_at:
                    self._look_at = float("inf")
                    for each in list(self.by_name.values()):
                        if each.waiting:
                            self.look_by(each.pump(now))
                    continue
                left = self._look_at - now
                self._changed.wait(None if left == float("inf") else min(left, 3600.0))

    @property
    def are_full(self) -> bool:
        """Whether so many calls wait that no further attempt needs to begin."""
        for each in self.by_name.values():
            if each.name != ATTEMPTS and each.waiting > max(_FEW_WAITING, each.pace.in_flight // 4):
                return True
        return False

    @property
    def pauses(self) -> list[tuple[str, float]]:
        """Which limits pause, and for how many seconds more."""
        now = perf_counter()
        with self.lock:
            return [
                (each.name, each.pace.pause - now)
                for each in self.by_name.values()
                if each.name != ATTEMPTS and each.waiting and each.pace.pause > now
            ]

    @property
    def waiting(self) -> int:
        """Calls that wait."""
        with self.lock:
            return sum(each.waiting for each in self.by_name.values() if each.name != ATTEMPTS)

    def end_calls_of(self, owner: Any) -> None:
        """An attempt is over, and so are its calls."""
        for each in list(self.by_name.values()):
            if each.held or each.waiting:
                each.give_up(owner)

    def close(self) -> None:
        """The run is over: calls that wait are given up."""
        with self.lock:
            self.is_closed = True
            self._changed.notify_all()
        for each in list(self.by_name.values()):
            each.give_up()

    @property
    def uses(self) -> tuple[LimitUse, ...]:
        """What became of each; of attempts only where no call was seen."""
        found = [each.use for each in list(self.by_name.values())]
        seen = [use for use in found if use.name != ATTEMPTS and (use.calls or use.waited)]
        return tuple(seen or [use for use in found if use.calls])


_LIMITS: ContextVar[Limits | None] = ContextVar("calipers_limits", default=None)
_HELD: ContextVar[tuple[Call, ...]] = ContextVar("calipers_held_limits", default=())
_of_process: Limits | None = None
_making = threading.Lock()


@contextmanager
def limits_in_use(limits: Limits) -> Iterator[None]:
    """A block in which calls share these limits; calls that still wait when it is left are given up."""
    token = _LIMITS.set(limits)
    try:
        yield
    finally:
        _LIMITS.reset(token)
        limits.close()


def use_limits(limits: Limits) -> None:
    """Let calls share these limits from here on, in the current context."""
    _LIMITS.set(limits)


def limits_here() -> Limits | None:
    """The limits of the run that this code is part of, where calls that Calipers sees have some; `None` if they have none."""
    limits = _LIMITS.get()
    return limits if limits is not None and limits.sees_all else None


def _limits() -> Limits:
    global _of_process  # noqa: PLW0603 - there is one
    limits = _LIMITS.get()
    if limits is not None:
        return limits
    with _making:
        if _of_process is None:
            _of_process = Limits()
        return _of_process


def _call(limits: Limits, name: str, at_most: int | None) -> Call:
    """A call that wants to begin; the first one in a block of this name has begun with it."""
    held = _HELD.get()
    found = limits.of(name, at_most)
    around = next((outer for outer in held if outer.limit is found), None)
    if around is not None and around.take():
        return around
    has_slot = around is not None or (bool(held) and found.pace.at_most is None)
    return Call(found, who_runs(), has_slot=has_slot)


def wait(call: Call, model: str = "") -> None:
    """Begin a call when it may. For threads.

    Raises:
        GivenUp: the run is over, or the attempt that wanted to make the call.
    """
    woken = threading.Event()
    if call.limit.begin_or_wait(call, model, woken.set):
        return
    try:
        with waited_here():
            woken.wait()
    except BaseException:
        call.end(asyncio.CancelledError())
        raise
    if call.ticket is None:
        raise call.error or GivenUp


async def wait_async(call: Call, model: str = "") -> None:
    """The same for code that is async.

    Raises:
        GivenUp: the run is over, or the attempt that wanted to make the call.
    """
    loop = asyncio.get_running_loop()
    woken: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop is closed, and nothing waits any more
            loop.call_soon_threadsafe(_done, woken)

    if call.limit.begin_or_wait(call, model, wake):
        return
    try:
        with waited_here():
            await woken
    except BaseException:
        call.end(asyncio.CancelledError())
        raise
    if call.ticket is None:
        raise call.error or GivenUp


def enter(limits: Limits, name: str, model: str = "", *, at_most: int | None = None) -> Call:
    """Begin a call of this name when it may begin; `leave` ends it. For threads.

    Raises:
        GivenUp: the run is over, or the attempt that wanted to make the call.
    """
    call = _call(limits, name, at_most)
    if call.ticket is None:
        wait(call, model)
    _HELD.set((*_HELD.get(), call))
    return call


async def enter_async(limits: Limits, name: str, model: str = "", *, at_most: int | None = None) -> Call:
    """The same for code that is async.

    Raises:
        GivenUp: the run is over, or the attempt that wanted to make the call.
    """
    call = _call(limits, name, at_most)
    if call.ticket is None:
        await wait_async(call, model)
    _HELD.set((*_HELD.get(), call))
    return call


def _done(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def leave(name: str, error: BaseException | None = None) -> None:
    """End the innermost call of this name that was entered here."""
    call = detach(name)
    if call is not None:
        call.end(error)


def detach(name: str) -> Call | None:
    """Leave the innermost call of this name that was entered here, and let it go on; `None` if it is part of another one."""
    held = list(_HELD.get())
    for place in range(len(held) - 1, -1, -1):
        if held[place].limit.name == name:
            call = held.pop(place)
            _HELD.set(tuple(held))
            return None if any(each is call for each in held) else call
    return None


class limit:  # noqa: N801 - it is called like a function
    """A block in which one call of this name is made; `async with` or `with`.

    ```python
    async with calipers.limit("search", at_most=4):
        found = await search(question)
    ```

    All blocks of a name share one limit in a run. It follows what comes of the calls: fewer at a time after a time-out, slower after an error
    with the status 429. `call.told(status, headers)` tells it more, where the block is entered `as call`.

    Args:
        name: what is called.
        at_most: calls in flight; default: as many as go well.

    Raises:
        InvalidOptionError: an argument is out of its range, or the limit has another number.
    """

    def __init__(self, name: str, *, at_most: int | None = None) -> None:
        self.name = check_text("the name of a limit", name)
        self.at_most = check_whole_number("at_most", at_most, at_least=1, or_none=True)

    def __repr__(self) -> str:
        return f"limit({self.name!r}{'' if self.at_most is None else f', at_most={self.at_most}'})"

    def __enter__(self) -> Call:
        return enter(_limits(), self.name, at_most=self.at_most)

    async def __aenter__(self) -> Call:
        return await enter_async(_limits(), self.name, at_most=self.at_most)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        leave(self.name, error)

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        leave(self.name, error)
