"""Attempts are made here, in a process that an engine started, for a run elsewhere.

A worker has a number of slots: it makes that many attempts at once. What it is sent beyond that waits for its turn, and attempts
begin in the order in which they were sent. So the run knows which of them had begun when a worker ends. Finished attempts are sent
back together, at most a moment later.

The task is called as it is in the run's own process: an async one on an event loop, a blocking one in a thread.
"""

import asyncio
import pickle
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Final

import msgspec
from typing_extensions import override

from calipers.data.spending import PricesInUse
from calipers.errors import AttemptTimeoutError
from calipers.process.user_code import BLOCKING_SECONDS
from calipers.run.call_limit import use_limits
from calipers.run.runner import FAIR_SECONDS, Options, Run
from calipers.run.task import Task
from calipers.run.work import WorkQueue
from calipers.scoring.scoring import Scoring
from calipers.spans import span_recorder

from .calls import Word, WorkerCalls
from .parcel import Dumps, Message, by_name, inputs_before, pack_outcome, pack_unreadable, unpack_attempt

MOMENT: Final = 0.001
"""Seconds that an outcome may wait for others, while more are under way."""


class Order(msgspec.Struct, array_like=True):
    """What a worker is told before the first attempt: how to call the task. It is the data of a `Job`."""

    function: bytes
    """Pickled."""
    setup: bytes
    """Pickled: what to call before the task can be read; `None` for nothing."""
    name: str
    is_async: bool
    records_spans: bool
    task_timeout: float | None
    slots: int
    sees_all: bool
    """Whether calls of models have limits of their own accord."""
    has_budget: bool


class Back(msgspec.Struct, array_like=True):
    """What a worker sends."""

    outcomes: Message = []
    held: tuple[float, ...] = ()
    """Seconds for which the task held the event loop, each time."""
    stuck: bool = False
    """Whether a blocking call goes on whose time is over, and makes no room for others."""
    ready: bool = False
    """Whether the worker has understood its order."""
    refused: str | None = None
    """Why it cannot do what it was told."""
    prices: tuple[str, ...] = ()
    """Which prices of models the task's calls were counted by; said once."""
    words: list[Word] = []
    """What it says of calls that its task makes. It comes before the outcomes."""


_back = msgspec.msgpack.Decoder(Back)
_order = msgspec.msgpack.Decoder(Order)


def read_back(data: bytes) -> Back:
    """What a worker sent."""
    return _back.decode(data)


class Worker:
    """Makes attempts on the current event loop."""

    def __init__(self, send: Callable[[bytes], None], dumps: Dumps = by_name) -> None:
        self._send = send
        self._dumps = dumps
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._slots: set[asyncio.Task[None]] = set()
        self._most = 1
        self._run: Run | None = None
        self._calls: WorkerCalls | None = None
        self._records_spans = False
        self._outcomes: Message = []
        self._held: list[float] = []
        self._stuck = False
        self._prices: PricesInUse | None = None
        """Of the run's calls; `None` when they have been told."""
        self._flush: asyncio.Handle | None = None

    @property
    def is_busy(self) -> bool:
        """Whether attempts are under way, or wait for their turn."""
        return bool(self._waiting or self._slots)

    def begin(self, data: bytes) -> None:
        """Take an order, and say that it is understood, or why not."""
        try:
            self._understand(_order.decode(data))
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            self._send(msgspec.msgpack.encode(Back(refused=text)))
        else:
            self._send(msgspec.msgpack.encode(Back(ready=True)))

    def _understand(self, order: Order) -> None:
        setup = pickle.loads(order.setup)  # noqa: S301 - our own run sent it
        if setup is not None:
            setup()
        function = pickle.loads(order.function)  # noqa: S301 - the same
        self._prices = PricesInUse()
        if self._calls is not None:
            self._calls.close()
        self._calls = WorkerCalls(self._say, self._plan, sees_all=order.sees_all, has_budget=order.has_budget)
        self._most, self._records_spans = order.slots, order.records_spans
        self._run = Run(
            Task(function, order.name, order.is_async),
            WorkQueue(iter(())),
            _Watch(self._held.append),
            span_recorder(order.records_spans),
            Options(task_timeout=order.task_timeout),
        )
        self._run.limits = self._calls.limits

    def take(self, message: Message) -> None:
        """Make these attempts, after those before."""
        self._waiting.extend(message)
        for _ in range(min(len(message), self._most - len(self._slots))):
            slot = self._loop.create_task(self._work())
            self._slots.add(slot)
            slot.add_done_callback(self._left)

    def _left(self, slot: "asyncio.Task[None]") -> None:
        self._slots.discard(slot)
        if self._waiting and not self._slots:  # code under test cancelled every task that it found
            self.take([])
            self._slots.add(again := self._loop.create_task(self._work()))
            again.add_done_callback(self._left)

    async def _work(self) -> None:
        run, calls = self._run, self._calls
        assert run is not None
        assert calls is not None
        use_limits(calls.limits)
        fair_until = perf_counter() + FAIR_SECONDS
        while self._waiting:
            number, data = self._waiting.popleft()
            self._finished(number, await self._make(run, calls, number, data))
            if perf_counter() > fair_until:
                await asyncio.sleep(0)
                fair_until = perf_counter() + FAIR_SECONDS

    async def _make(self, run: Run, calls: WorkerCalls, number: int, data: bytes) -> bytes:
        try:
            attempt = unpack_attempt(data, run.task.function)
        except Exception as error:
            return pack_unreadable(error)
        before = inputs_before(attempt, self._dumps)
        attempt.spans = run.no_spans
        calls.begin(attempt, number)
        try:
            await run.execute(attempt)
        except (
            BaseException
        ) as error:  # a cancellation is the task's own doing: a run that ends ends this process
            attempt.error = error
            if (me := asyncio.current_task()) is not None:
                while me.cancelling():
                    me.uncancel()
        calls.end(attempt)
        if isinstance(attempt.error, AttemptTimeoutError) and not run.task.is_async and self._most == 1:
            self._stuck = True
            self._waiting.clear()  # another worker takes it over
        return pack_outcome(attempt, before, records_spans=self._records_spans, dumps=self._dumps)

    def _finished(self, number: int, outcome: bytes) -> None:
        self._outcomes.append((number, outcome))
        if self._flush is None:
            more = bool(self._waiting) or len(self._slots) > 1
            self._flush = self._loop.call_later(MOMENT if more else 0, self._send_back)

    def _say(self, words: list[Word]) -> None:
        """Called in any thread."""
        self._send(msgspec.msgpack.encode(Back(words=words)))

    def _plan(self) -> None:
        """Called in any thread."""
        self._loop.call_soon_threadsafe(self._flush_soon)

    def _flush_soon(self) -> None:
        if self._flush is None:
            self._flush = self._loop.call_later(MOMENT, self._send_back)

    def answer(self, data: bytes) -> None:
        """Hear what the run says to calls that the task wants to make. Called in any thread."""
        if self._calls is not None:
            self._calls.hear(data)

    def _send_back(self) -> None:
        outcomes, self._outcomes, self._flush = self._outcomes, [], None
        words = [] if self._calls is None else self._calls.take_told()
        back = Back(outcomes, tuple(self._held), self._stuck, words=words)
        if self._prices is not None and (sources := self._prices.sources):
            back.prices, self._prices = tuple(sources), None
        self._held.clear()
        self._send(msgspec.msgpack.encode(back))


class _Watch(Scoring):
    """Judges nothing; tells for how long the task held the event loop."""

    def __init__(self, tell: Callable[[float], None]) -> None:
        super().__init__()
        self._tell = tell

    @override
    def note(self, name: str, seconds: float, *, is_async: bool = False) -> None:
        self.held += seconds
        if seconds > BLOCKING_SECONDS:
            self._tell(seconds)
