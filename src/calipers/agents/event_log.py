"""The events of a recording: turns in the order in which they began, some of them still running.

Any number of threads and tasks may write a log at once. It is open from `begin` to `end`; what is not finished at the end
becomes a failed call whose error says so. Calls go to the logs around it as well, messages do not: an agent answers for
the calls of its sub-agents, but does not hold their conversation.
"""

import asyncio
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from time import perf_counter

import msgspec

from calipers.data.result import describe_error
from calipers.data.trace import LLMCall, ToolCall, Turn

UNFINISHED = "unfinished: it was still running when the recording ended"
"""The error of a call that outlived its recording."""


class Event:
    """One turn, from the moment it begins."""

    __slots__ = ("_call", "turn")

    turn: Turn | None
    """The turn once it is over; `None` while it is going on."""

    def __init__(self, turn: Turn | None = None, *, call: ToolCall | LLMCall | None = None) -> None:
        self.turn = turn
        self._call = call

    def as_turn(self) -> Turn:
        """The turn as it is now."""
        return self.turn or turn_of(_unfinished(self._call))


class EventLog:
    """The events of one recording, and its clock."""

    def __init__(self) -> None:
        self.outer: EventLog | None = None
        """The log this one is inside of."""
        self.began_at: datetime | None = None
        """When it was opened; `None` before."""
        self.ended = False
        self._started = 0.0
        self._took = 0.0
        self._events: list[Event] = []
        self._turns: tuple[Turn, ...] = ()
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether events are still taken."""
        return self.began_at is not None and not self.ended

    @property
    def seconds(self) -> float:
        """How long it has been open, or was."""
        return perf_counter() - self._started if self.is_open else self._took

    @property
    def turns(self) -> tuple[Turn, ...]:
        """What has happened, in the order in which it began."""
        with self._lock:
            return self._turns if self.ended else tuple(event.as_turn() for event in self._events)

    def begin(self, outer: "EventLog | None") -> None:
        """Open the log inside another one."""
        self.outer = outer
        self._started, self.began_at = perf_counter(), datetime.now(UTC)

    def end(self) -> None:
        """Close the log: nothing in it changes any more."""
        with self._lock:
            if self.ended:
                return
            self._took = perf_counter() - self._started
            self._turns = tuple(event.as_turn() for event in self._events)
            self._events.clear()
            self.ended = True

    def now(self) -> datetime:
        """The time, by a clock that never goes back."""
        assert self.began_at is not None
        return self.began_at + timedelta(seconds=perf_counter() - self._started)

    def earlier(self, milliseconds: float | None) -> datetime:
        """The time so many milliseconds ago, or when the log was opened if that is later."""
        assert self.began_at is not None
        elapsed = perf_counter() - self._started
        return self.began_at + timedelta(seconds=max(0.0, elapsed - (milliseconds or 0) / 1000))

    def add(self, event: Event) -> bool:
        """Add an event here, and a call also to the logs around this one; false if this log has ended."""
        if not self.take(event):
            return False
        turn = event.turn
        if turn is None or turn.tool_call is not None or turn.llm_call is not None:
            outer = self.outer
            while outer is not None:
                outer.take(event)
                outer = outer.outer
        return True

    def take(self, event: Event) -> bool:
        """Add an event to this log alone; false if it has ended."""
        with self._lock:
            if self.ended:
                return False
            self._events.append(event)
        return True

    def rewrite(self, turns: Iterable[Turn], new: Iterable[Turn]) -> None:
        """Put these turns in the place of all events, and the new ones among them into the logs around this one."""
        with self._lock:
            if self.ended:
                return
            self._events = [Event(turn) for turn in turns]
        further = list(new)
        outer = self.outer
        while outer is not None:
            for turn in further:
                outer.take(Event(turn))
            outer = outer.outer

    @contextmanager
    def tool_call(self, call: ToolCall) -> Iterator[ToolCall]:
        """Record a tool call while it is made: time, success, and the error it raises."""
        event, start = self._begin_call(call), perf_counter()
        try:
            yield call
        except BaseException as error:
            call.error = error_text(error) if call.error is None else call.error
            raise
        finally:
            call.success = bool(call.success) and call.error is None
            call.latency_ms = (perf_counter() - start) * 1000
            event.turn = turn_of(call)

    @contextmanager
    def llm_call(self, call: LLMCall) -> Iterator[LLMCall]:
        """Record a model call while it is made: time, and the error it raises as `metadata["error"]`."""
        event, start = self._begin_call(call), perf_counter()
        try:
            yield call
        except BaseException as error:
            call.latency_ms = (perf_counter() - start) * 1000
            event.turn = _failed(call, error_text(error))
            raise
        call.latency_ms = (perf_counter() - start) * 1000
        event.turn = turn_of(msgspec.structs.replace(call))  # which checks the numbers put into it

    def _begin_call(self, call: ToolCall | LLMCall) -> Event:
        call.timestamp = self.now()
        event = Event(call=call)
        self.add(event)
        return event


def turn_of(call: ToolCall | LLMCall) -> Turn:
    """The turn that a call is."""
    if isinstance(call, ToolCall):
        return Turn(tool_call=call, timestamp=call.timestamp)
    return Turn(llm_call=call, timestamp=call.timestamp)


def error_text(error: BaseException) -> str:
    """`Type: text` of an error."""
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        return "CancelledError: cancelled before it had finished"
    return describe_error(error)[1].removesuffix(": ")


def _failed(call: LLMCall, error: str) -> Turn:
    """The turn of a request that raised. What the caller put into it may be anything, and must not hide the error."""
    try:
        call.metadata = {"error": error, **call.metadata}
        return turn_of(msgspec.structs.replace(call))
    except Exception:
        return turn_of(LLMCall(model=call.model, metadata={"error": error}, timestamp=call.timestamp))


def _unfinished(call: ToolCall | LLMCall | None) -> ToolCall | LLMCall:
    """A call that is going on, as it was begun."""
    assert call is not None
    if isinstance(call, LLMCall):
        return LLMCall(
            model=call.model,
            input_text=call.input_text,
            metadata={"error": UNFINISHED},
            timestamp=call.timestamp,
        )
    return ToolCall(
        call.name,
        call.arguments,
        success=False,
        error=UNFINISHED,
        call_id=call.call_id,
        timestamp=call.timestamp,
        keep_secrets=call.keep_secrets,
    )
