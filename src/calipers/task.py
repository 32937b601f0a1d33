"""Calling the thing under test, and what one call leaves behind.

A *task* is any callable of one argument, the case's inputs. An `Attempt` is one execution of one case: output or
error, duration, metrics, attributes, trace. It knows nothing of evaluators, so that an old attempt can be judged again.

Each attempt runs in its own copy of the caller's context variables: what one case sets, the next does not see.
"""

import dataclasses
import functools
import hashlib
import inspect
import math
import threading
import types
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from time import perf_counter
from typing import Any, Protocol, TypeAlias, TypeGuard, overload

import msgspec

from .case import Case
from .errors import (
    NO_DEFAULT,
    DefaultT,
    InvalidOptionError,
    InvalidTraceError,
    NotKnownError,
    TaskContractError,
)
from .plain import safe_repr
from .recalled import Recalled
from .threads import own_exit
from .trace import Trace, joined


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
    trace: Trace | None = None
    recorded: list[Recorded] = []
    """The parts of it that were recorded, in the order in which they began. Their traces make its trace."""
    function: Any = None
    """The task's function; `None` in an attempt built by hand."""
    calls: RecordedCalls | None = None
    """That of the parts which holds the calls of marked tools outside of the others; `None` while there are none."""
    spans: Any = None
    """A `SpanTree`, or the error that says why there is none."""
    trace_id: str | None = None
    span_id: str | None = None
    recalled: Recalled | None = None
    """What an earlier run knows of it; `None` if it is to be made."""
    seed_was_read: bool = False
    """Whether anybody asked for the seed: then the output may depend on it."""
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

    @property
    def seed(self) -> int:
        """A seed for this attempt alone: the same for the same run seed, case name and repeat, in any order."""
        self.seed_was_read = True
        return self.derived_seed()

    def derived_seed(self) -> int:
        """The seed, for those whose use of it changes no output."""
        text = f"{self.run_seed}\0{self.case_name}\0{self.repeat_index}"
        return int.from_bytes(
            hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest(), "big"
        )


STEP_SECONDS = 0.001
"""What holds the event loop longer than this does not count as the time of those who wait."""

BLOCKING_SECONDS = 0.1
"""What holds the event loop longer than this is named in the report."""


class Notes:
    """What an evaluator counts and notes while it judges; it stands with the evaluator's result, not with the attempt's metrics."""

    __slots__ = ("attributes", "metrics", "used")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget it."""
        self.metrics: dict[str, int | float] = {}
        self.attributes: dict[str, Any] = {}
        self.used = False
        """Whether there is something."""


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

    A task that looks here at its case, its name or the seed is called again by a run that reuses results, if these are
    others then.

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
    """The same, for those whose use of it changes no output."""
    current = _CURRENT.get()
    return current if isinstance(current, Attempt) else None


def take_notes(notes: Notes) -> None:
    """Let what is counted and noted from here on, in the current context, go into these notes."""
    _CURRENT.set(notes)


def judging_notes() -> Notes:
    """The notes of the current context, which are empty."""
    notes = _CURRENT.get()
    if type(notes) is not Notes:
        notes = Notes()
        _CURRENT.set(notes)
    elif notes.used:
        notes.clear()
    return notes


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
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not math.isfinite(amount):
        raise InvalidOptionError(f"metric {name!r} grows by a finite number, got {amount!r}")
    attempt = _CURRENT.get()
    if attempt is not None:
        with _COUNTING:
            total = attempt.metrics.get(name, 0) + amount
            if total != 0 or name in attempt.metrics:
                attempt.metrics[name] = total
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
        InvalidTraceError: it is no `Trace`.
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


class Invokable(Protocol):
    """An object that is asked by a method of this name, such as an adapter of an agent."""

    def invoke(self, input_text: Any, /) -> Any:
        """The output for some inputs, or something to await it by."""
        ...


TaskLike: TypeAlias = Callable[[Any], Any] | Invokable
"""What `as_task` makes a task of."""


class Task(msgspec.Struct, frozen=True):
    """A callable under test, and how to call it."""

    function: Callable[[Any], Any]
    name: str
    is_async: bool


def is_task(value: Any) -> TypeGuard[TaskLike]:
    """Whether it may be a task: a callable, or an object with a method `invoke`, or `reply` for conversations."""
    return callable(value) or any(callable(getattr(value, name, None)) for name in ("invoke", "reply"))


def hint_for_task(value: Any) -> str:
    """How to make a task of what is none, where there is a way; in words that follow a message."""
    if callable(getattr(value, "eval_rollout", None)):
        return "; an environment of rollouts becomes a task as calipers.rollouts.RolloutTask(environment)"
    if callable(getattr(value, "reply", None)):
        return "; what has `reply` answers cases with turns, and these cases have inputs"
    return ""


def as_task(function: Any, *, name: str | None = None) -> Task:
    """A task made of a callable of one argument, or of an object with `invoke`, such as an adapter of an agent.

    An object may say itself whether it is async (`is_async`), and what it is called (`name`).

    Raises:
        TaskContractError: it cannot be called with a case's inputs.
    """
    owner = function
    if not callable(function) and not callable(getattr(function, "invoke", None)):
        raise TaskContractError(
            f"the task must be callable with a case's inputs, or have a method `invoke` that is, got {owner!r}"
            f"{hint_for_task(owner)}"
        )
    if not callable(function):
        function = function.invoke
    try:
        inspect.signature(function).bind(None)
    except TypeError as error:
        raise TaskContractError(
            f"the task {function!r} must accept one argument, the case's inputs: {error}"
        ) from None
    except ValueError:  # a built-in that does not tell its signature: calling it will tell
        pass
    plain = function
    while isinstance(plain, functools.partial):
        plain = plain.func
    owner = plain if owner is function else owner
    named = getattr(owner, "__name__", None) or getattr(owner, "name", None)
    named = named if isinstance(named, str) and named else type(owner).__name__
    named = "task" if named == "<lambda>" else named
    is_async = getattr(owner, "is_async", None)
    if not isinstance(is_async, bool):
        # An object is async if its class's __call__ is.
        is_async = inspect.iscoroutinefunction(plain) or inspect.iscoroutinefunction(type(plain).__call__)
    return Task(function, name or named, is_async)


@types.coroutine
def isolated(
    coroutine: Coroutine[Any, Any, Any], context: Context, note: Callable[[float], None]
) -> Generator[Any, Any, Any]:
    """Await a coroutine inside a context of its own.

    `asyncio` gives a context to each of its tasks; this gives one to each await, at a tenth of the price. Every step
    of the coroutine runs in `context`; what it waits for goes up to the event loop unchanged. `note` is told how long
    a step held the event loop, if that was long.

    Raises:
        RuntimeError: the coroutine raised `GeneratorExit`, which to those who await it would mean that they are closed.
    """
    run = context.run
    closing = False
    start = perf_counter()
    try:
        waiting = run(coroutine.send, None)
        while True:
            if perf_counter() - start > STEP_SECONDS:
                note(perf_counter() - start)
            try:
                sent = yield waiting
            except GeneratorExit:
                closing = True
                run(coroutine.close)
                raise
            except BaseException as error:
                start = perf_counter()
                waiting = run(coroutine.throw, error)
            else:
                start = perf_counter()
                waiting = run(coroutine.send, sent)
    except StopIteration as done:
        if perf_counter() - start > STEP_SECONDS:
            note(perf_counter() - start)
        return done.value
    except GeneratorExit as error:
        if closing:
            raise
        raise own_exit(error) from error


def promised_coroutine(task: Task, inputs: Any) -> Coroutine[Any, Any, Any]:
    """The coroutine of an async task.

    Raises:
        TaskContractError: the task said it is async and returned nothing to await.
    """
    try:
        returned = task.function(inputs)
    except GeneratorExit as error:
        raise own_exit(error) from error
    if isinstance(returned, types.CoroutineType):
        return returned
    if inspect.isawaitable(returned):
        return _await(returned)
    raise TaskContractError(
        f"the task {task.name!r} says it is async, but returned {returned!r}, which cannot be awaited: "
        "return an awaitable, or make it an ordinary function"
    )


async def _await(awaitable: Any) -> Any:
    return await awaitable


def settle(attempt: Attempt, output: Any) -> None:
    """Store what the task returned: a trace gives both output and trace, a generator is no output.

    A trace that was recorded in this attempt is one part of it: the calls of the other parts count as well. Any other trace
    stands as it is. An output that has a method `attempt_trace`, as a rollout does, gives the trace where nothing else did.

    Raises:
        TaskContractError: the output is a generator that nobody has run.
    """
    if attempt.calls is not None:
        attempt.calls.end()
    if isinstance(output, Trace):
        parts = [part.trace for part in attempt.recorded]
        is_part = any(part.trace_id == output.trace_id for part in parts)
        attempt.trace = joined(parts) if is_part and len(parts) > 1 else output
        attempt.output = output.output_text
    elif isinstance(output, types.GeneratorType | types.AsyncGeneratorType):
        raise TaskContractError(
            f"the task returned a generator ({type(output).__name__}), which has produced nothing yet: "
            "collect its items and return those"
        )
    else:
        attempt.output = output
        is_rollout = callable(getattr(type(output), "attempt_trace", None))
        told = output.attempt_trace() if is_rollout and attempt.trace is None else None
        if told is not None:
            attempt.trace = told
        elif attempt.calls is not None:
            attempt.trace = attempt.trace_so_far
        elif attempt.trace is None and _silent is not None and not (is_rollout or attempt.recorded):
            attempt.trace = _silent(attempt)
        if attempt.trace is not None:
            attempt.trace = _with_texts(attempt.trace, attempt.inputs, output)


_silent: Callable[[Attempt], Trace | None] | None = None
"""What finds the trace of an attempt that called no tool; `None` while no tool is marked in this process."""


def tell_silence_with(find: Callable[[Attempt], Trace | None]) -> None:
    """Have attempts that recorded nothing told by a function: a trace without calls, or `None` where they are unknown."""
    global _silent  # noqa: PLW0603
    _silent = find


def _with_texts(trace: Trace, inputs: Any, output: Any) -> Trace:
    """A recorded trace with what the task was given and returned, where it does not say itself and those are texts."""
    given = inputs if isinstance(inputs, str) and not trace.input_text else trace.input_text
    answer = output if isinstance(output, str) and not trace.output_text else trace.output_text
    if given == trace.input_text and answer == trace.output_text:
        return trace
    return dataclasses.replace(trace, input_text=given, output_text=answer)


def begin(attempt: Attempt) -> None:
    """Make an attempt the current one. A further try starts with nothing counted and nothing noted."""
    if attempt.tries > 1:
        attempt.metrics = {}
        attempt.attributes = {}
        attempt.trace = None
        attempt.recorded = []
        attempt.calls = None
        attempt.error = None
    _CURRENT.set(attempt)
