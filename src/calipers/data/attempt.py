"""One execution of one case, and what code inside of it can ask and note.

An `Attempt` holds output or error, duration, metrics, attributes and trace. It knows nothing of evaluators, so that an old attempt
can be judged again.
"""

import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from time import perf_counter
from typing import Any, Protocol, overload

import msgspec

from calipers.data.case import Case
from calipers.data.jsonable import safe_repr
from calipers.data.reuse import Recalled
from calipers.data.trace import Trace, joined
from calipers.errors import NO_DEFAULT, DefaultT, InvalidTraceError, NotKnownError

from .argument_checks import check_number


class Recorded(Protocol):
    """Part of an attempt that is or was recorded: a recording of an agent, a conversation."""

    @property
    def trace(self) -> Trace:
        """What happened in it, so far or in all."""
        ...


class RecordedCalls(Recorded, Protocol):
    """The part of an attempt that holds the calls of marked tools outside of any other part."""

    def end(self) -> None:
        """Record nothing more."""


class Waited:
    """How long an attempt, or an evaluator, waited for what all of a run share, such as a limit.

    Such time is not its own: not for its time-out, and not for how long it took. Where several of its calls wait at the same time, it counts once.
    """

    __slots__ = ("_lock", "_now", "_since", "_total")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = 0
        self._since = 0.0
        self._total = 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A block in which a call waits."""
        with self._lock:
            self._now += 1
            if self._now == 1:
                self._since = perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self._now -= 1
                if not self._now:
                    self._total += perf_counter() - self._since

    def is_at_least(self, seconds: float) -> None:
        """Note that it has waited so long before, elsewhere."""
        with self._lock:
            self._total = max(self._total, seconds)

    @property
    def seconds(self) -> float:
        """How long so far."""
        with self._lock:
            return self._total + (perf_counter() - self._since if self._now else 0.0)


class Attempt(msgspec.Struct):
    """One execution of one case."""

    case: Case[Any, Any, Any]
    inputs: Any
    """What the task is given: the case's inputs, or a copy of them where the case is repeated."""
    name: str
    """The case's name, with `[i/n]` when the case is repeated."""
    case_name: str
    """The case's name without the repeat."""
    repeat_index: int
    """Which repeat, from 1."""
    run_seed: int
    metrics: dict[str, int | float]
    attributes: dict[str, Any]
    output: Any = None
    error: BaseException | None = None
    duration: float = 0.0
    """Seconds, of the last try alone."""
    tries: int = 1
    """How often the task was called: more than one when it was retried."""
    earlier: float = 0.0
    """Seconds that the tries before the last one took, and the pauses after them."""
    usage: dict[str, int | float] = {}
    """What the models that it asked used, of all tries: calls, tokens, money; see `count_usage`."""
    trace: Trace | None = None
    recorded: list[Recorded] = []
    """The parts of it that were recorded, in the order in which they began. Their traces make its trace."""
    function: Any = None
    """The task's function; `None` in an attempt built by hand."""
    calls: RecordedCalls | None = None
    """The part that holds the calls of marked tools outside of the other parts; `None` while there are no such calls."""
    spans: Any = None
    """A `SpanTree`, or the error that says why there is none."""
    trace_id: str | None = None
    span_id: str | None = None
    recalled: Recalled | None = None
    """What an earlier run knows of it; `None` if it is to be made."""
    seed_was_read: bool = False
    """Whether the seed was asked for: then the output may depend on it."""
    case_was_read: bool = False
    """Whether the task looked at its case, with all that this says beside its content, or at its name."""
    name_was_read: bool = False
    """Whether it looked at the name with the repeat."""
    changed_from: Any = None
    """What the output was, as plain data, where an evaluator changed it; `None` also where no journal is kept."""
    hidden: bool = False
    """Whether what looks like a secret was taken out of what its record and its spans tell."""
    asked: dict[str, frozenset[str]] | None = None
    """What its evaluators looked at beyond the attempt, by their names; `None` where no journal is kept."""
    waited: Waited | None = None
    """How long it waited for limits, of the last try alone; `None`: it did not."""
    account: Any = None
    """Where what it spends is settled (`calipers.run.ledger.Account`); `None` without a budget."""

    @property
    def trace_so_far(self) -> Trace | None:
        """The trace; of a task that was given up while it was recorded, what it had done by then."""
        return joined([part.trace for part in self.recorded]) if self.recorded else self.trace

    @property
    def takes_parts(self) -> bool:
        """Whether this code runs outside of a part that tells all there is to tell."""
        return not _INSIDE.get()

    def record(self, part: Recorded) -> None:
        """Make something that is recorded a part of the attempt, unless this code runs inside of another part."""
        if self.takes_parts:
            with _COUNTING:
                self.recorded.append(part)

    def attach(self, part: Recorded) -> None:
        """Take over the trace of a part that has come to its end."""
        if any(part is each for each in self.recorded):
            self.trace = self.trace_so_far

    def take_usage(self) -> None:
        """Make a metric of each amount that models used; what the task counted itself under that name stands."""
        if self.usage:
            self.metrics = {**self.usage, **self.metrics}

    @property
    def seed(self) -> int:
        """A seed for this attempt alone: the same for the same run seed, case name and repeat, in any order."""
        self.seed_was_read = True
        return self.derived_seed()

    def derived_seed(self) -> int:
        """The seed, for code whose use of it does not change an output."""
        text = f"{self.run_seed}\0{self.case_name}\0{self.repeat_index}"
        return int.from_bytes(
            hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest(), "big"
        )


class Notes(msgspec.Struct):
    """What an evaluator counts and notes while it judges; it stands with the evaluator's result, not with the attempt's metrics."""

    usage: dict[str, int | float] = {}
    """What the models that it asked used, of all tries: calls, tokens, money; see `count_usage`."""
    metrics: dict[str, int | float] = {}
    attributes: dict[str, Any] = {}
    used: bool = False
    """Whether there is something."""
    waited: Waited | None = None
    """How long it waited for limits; `None`: it did not."""

    def clear(self) -> None:
        """Forget it."""
        self.usage = {}
        self.begin_try()

    def begin_try(self) -> None:
        """Forget what an earlier try counted and noted, but not what it used: that is paid for."""
        self.metrics, self.attributes = {}, {}
        self.used = bool(self.usage)
        self.waited = None


_CURRENT: ContextVar[Attempt | Notes | None] = ContextVar("calipers_attempt", default=None)
_COUNTING = threading.Lock()
_INSIDE: ContextVar[bool] = ContextVar("calipers_inside_part", default=False)
"""Whether this code runs inside of a part of an attempt that tells all there is to tell."""


@contextmanager
def inside_part() -> Iterator[None]:
    """A block in which recordings are no parts of the attempt: what surrounds them tells what they recorded."""
    token = _INSIDE.set(True)
    try:
        yield
    finally:
        _INSIDE.reset(token)


@overload
def current_attempt() -> Attempt: ...


@overload
def current_attempt(default: DefaultT) -> Attempt | DefaultT: ...


def current_attempt(default: Any = NO_DEFAULT) -> Any:
    """The attempt this code runs in, or `default` outside a run. Its `seed` is there for tasks that draw at random.

    If a task looks here at its case, its name or the seed, a run that reuses results calls it again when these change.

    Raises:
        NotKnownError: outside a run, without a default.
    """
    attempt = running_attempt()
    if attempt is not None:
        return _Watched(attempt)
    if default is NO_DEFAULT:
        raise NotKnownError(
            "this code does not run in an attempt of an evaluation: current_attempt(None) gives None here"
        )
    return default


def running_attempt() -> Attempt | None:
    """The same, for code whose use of it does not change an output."""
    current = _CURRENT.get()
    return current if isinstance(current, Attempt) else None


def take_notes(notes: Notes) -> None:
    """Let what is counted and noted from here on, in the current context, go into these notes."""
    _CURRENT.set(notes)


@contextmanager
def noting() -> Iterator[Notes]:
    """A block outside of any attempt in which what is counted and noted goes into notes of its own."""
    notes = Notes()
    token = _CURRENT.set(notes)
    try:
        yield notes
    finally:
        _CURRENT.reset(token)


def judging_notes() -> Notes:
    """The notes of the current context, which are empty."""
    notes = _CURRENT.get()
    if type(notes) is not Notes or notes.used:
        notes = Notes()
        _CURRENT.set(notes)
    return notes


def who_runs() -> Attempt | Notes | None:
    """Whose code runs here: the attempt, or the notes of an evaluator; `None` outside of a run."""
    return _CURRENT.get()


def waited_here() -> AbstractContextManager[None]:
    """A block in which code waits for something that is not its own: the time is not that of its attempt, nor of its evaluator."""
    current = _CURRENT.get()
    return nullcontext() if current is None else waited_of(current).waiting()


def waited_of(who: Attempt | Notes) -> Waited:
    """How long an attempt, or an evaluator, waited so far, to be added to."""
    with _COUNTING:
        if who.waited is None:
            who.waited = Waited()
    return who.waited


def waited_by(who: Attempt | Notes) -> float:
    """Seconds for which an attempt waited so far, in its last try, or an evaluator."""
    return 0.0 if who.waited is None else who.waited.seconds


class _Watched:
    """An attempt as its task sees it: what the task looks at beyond its inputs is noted."""

    __slots__ = ("_attempt",)

    def __init__(self, attempt: Attempt) -> None:
        object.__setattr__(self, "_attempt", attempt)

    def __getattr__(self, name: str) -> Any:
        attempt = object.__getattribute__(self, "_attempt")
        if name == "run_seed":
            attempt.seed_was_read = True
        elif name in {"case", "name", "case_name"}:
            attempt.case_was_read = True
            attempt.name_was_read = attempt.name_was_read or name == "name"
        return getattr(attempt, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_attempt"), name, value)

    def __repr__(self) -> str:
        attempt = object.__getattribute__(self, "_attempt")
        attempt.seed_was_read = attempt.case_was_read = attempt.name_was_read = True
        return repr(attempt)


def increment_eval_metric(name: str, amount: float) -> None:
    """Add to a metric of the current attempt: tokens, calls, money. Outside a run it does nothing.

    What an evaluator counts stands in the `metadata` of its result, under "metrics". Safe in threads the task starts with its context. A metric that never moves from zero is not created.
    """
    check_number(f"the amount to add to metric {name!r}", amount)
    attempt = _CURRENT.get()
    if attempt is not None:
        with _COUNTING:
            total = attempt.metrics.get(name, 0) + amount
            if total != 0 or name in attempt.metrics:
                attempt.metrics[name] = total
                if type(attempt) is Notes:
                    attempt.used = True


def counts_here() -> bool:
    """Whether this code runs in an attempt, or in an evaluator that judges one."""
    return _CURRENT.get() is not None


def count_usage(amounts: Mapping[str, int | float]) -> None:
    """Add to what models used in the current attempt, or for the evaluator that judges it. Outside a run it does nothing.

    Each amount becomes a metric, unless the task or the evaluator counts one of that name itself. An amount of 0 is a measurement.
    """
    attempt = _CURRENT.get()
    if attempt is not None:
        with _COUNTING:
            for name, amount in amounts.items():
                attempt.usage[name] = attempt.usage.get(name, 0) + amount
            if type(attempt) is Notes:
                attempt.used = True


def set_eval_attribute(name: str, value: Any) -> None:
    """Note something about the current attempt; the last value wins. Outside a run it does nothing.

    What an evaluator notes stands in the `metadata` of its result, under "attributes". What looks like a secret is told as `[redacted]`.
    """
    attempt = _CURRENT.get()
    if attempt is not None:
        attempt.attributes[name] = value
        if type(attempt) is Notes:
            attempt.used = True


def record_trace(trace: Trace) -> None:
    """Attach a trace to the current attempt, for tasks that return something else. Outside a run it does nothing.

    It stands for all that was recorded until then; what is recorded afterwards is added to it.

    Raises:
        InvalidTraceError: it is not a `Trace`.
    """
    if not isinstance(trace, Trace):
        raise InvalidTraceError(f"record_trace takes a Trace, got {safe_repr(trace):.200}")
    attempt = running_attempt()
    if attempt is not None:
        attempt.recorded, attempt.calls = [_Told(trace)], None
        attempt.trace = trace


class _Told(msgspec.Struct, frozen=True):
    """A part of an attempt that the task told by itself."""

    trace: Trace


def begin(attempt: Attempt) -> None:
    """Make an attempt the current one. A further try starts with nothing counted and nothing noted."""
    attempt.waited = None
    if attempt.tries > 1:
        attempt.metrics = {}
        attempt.attributes = {}
        attempt.trace = None
        attempt.recorded = []
        attempt.calls = None
        attempt.error = None
    _CURRENT.set(attempt)
