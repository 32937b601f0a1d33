"""The thing under test: any callable of one argument, the case's inputs, or an object with `invoke`.

Each attempt runs in its own copy of the caller's context variables: what one case sets, the next does not see.
"""

import dataclasses
import functools
import inspect
import types
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol, TypeAlias, TypeGuard, runtime_checkable

import msgspec

from calipers.data.attempt import Attempt
from calipers.data.spending import COST, UNPRICED_CALLS, trace_metrics
from calipers.data.trace import Trace, joined
from calipers.errors import TaskContractError
from calipers.process.user_code import own_exit
from calipers.spans.tree import SpanTree


class Invokable(Protocol):
    """An object that is asked by a method of this name, such as an adapter of an agent."""

    def invoke(self, input_text: Any, /) -> Any:
        """The output for some inputs, or something to await it by."""
        ...


TaskLike: TypeAlias = Callable[[Any], Any] | Invokable
"""What `as_task` makes a task of."""


@runtime_checkable
class TaskAround(Protocol):
    """A task that calls another one inside of a block, such as one that records it."""

    task: Any
    """What it calls."""

    def around(self, task: Any, /) -> Any:
        """The same around another task."""
        ...


class Task(msgspec.Struct, frozen=True):
    """A callable under test, and how to call it."""

    function: Callable[[Any], Any]
    name: str
    is_async: bool


def is_task(value: Any) -> TypeGuard[TaskLike]:
    """Whether it may be a task: a callable, or an object with a method `invoke`, or `reply` for conversations."""
    return callable(value) or any(callable(getattr(value, name, None)) for name in ("invoke", "reply"))


def hint_for_task(value: Any) -> str:
    """How to make a task of this, as the end of a message; empty if there is no way."""
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


_PLAIN: Final = frozenset({str, int, float, bool, type(None), dict, list, tuple, bytes})
"""Outputs that are neither a trace nor a generator nor a rollout."""


def settle(attempt: Attempt, output: Any) -> None:
    """Store what the task returned: a trace gives both output and trace, a generator is no output.

    A trace that was recorded in this attempt is one part of it: the calls of the other parts count as well, and so do those
    that captured spans tell of. Any other trace stands as it is. An output that has a method `attempt_trace`, as a rollout does, gives the trace where nothing else did.

    Raises:
        TaskContractError: the output is a generator that was not run.
    """
    if (
        type(output) in _PLAIN
        and _silent is None
        and not (attempt.recorded or attempt.usage)
        and attempt.trace is None
        and type(attempt.spans) is not SpanTree
    ):
        attempt.output = output  # nothing else is to be told: so it is of most attempts
        return
    if attempt.calls is not None:
        attempt.calls.end()
    attempt.take_usage()
    if isinstance(output, Trace):
        parts = [part.trace for part in attempt.recorded]
        is_part = any(part.trace_id == output.trace_id for part in parts)
        attempt.trace = joined(parts) if is_part and len(parts) > 1 else output
        attempt.output = output.output_text
        if is_part:
            _add_spans(attempt)
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
        if not is_rollout:
            _add_spans(attempt)
        if attempt.trace is not None:
            attempt.trace = _with_texts(attempt.trace, attempt.inputs, output)


def _add_spans(attempt: Attempt) -> None:
    attempt.trace = with_captured_spans(attempt, attempt.trace)


def with_captured_spans(attempt: Attempt, trace: Trace | None) -> Trace | None:
    """A trace with what the captured spans of its attempt tell; metrics that they did not give yet are added to the attempt."""
    if not isinstance(attempt.spans, SpanTree) or not attempt.spans.roots:
        return trace
    from calipers.spans.attempt_trace import spans_trace, with_spans

    told = spans_trace(attempt.spans)
    if told is None:
        return trace
    used = trace_metrics(told)
    if COST in attempt.metrics:  # of other calls: these lack nothing of it
        used.pop(UNPRICED_CALLS, None)
    for name, amount in used.items():
        if amount:
            attempt.metrics.setdefault(name, amount)
    return with_spans(trace, told)


_silent: Callable[[Attempt], Trace | None] | None = None
"""What finds the trace of an attempt that called no tool; `None` while no tool is marked in this process."""


def find_silent_traces_with(find: Callable[[Attempt], Trace | None]) -> None:
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
