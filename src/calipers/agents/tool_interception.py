"""Tool calls on their way: an interceptor decides what becomes of a call before the tool runs, and of its outcome after.

`intercepting_tools` sets the interceptors of a block. Tools marked with `@tool` go through them, and tools of an agent that the adapter
of its framework runs. The trace records what the agent saw. Without interceptors a call costs one look at a variable.

- Interceptors stand one inside the other, the first one outermost: it is asked first, and sees the outcome last.
- One that returns or raises in the tool's place ends the way: those inside of it and the tool are not asked. Those outside of
  it see the outcome as if the tool had given it.
- Delays add up, and are waited for before the outcome.
- A tool of an agent that is also marked with `@tool` is one call, and is intercepted once.
- Cancellations and the end of the process are no outcomes: they pass.
- What an interceptor itself raises reaches the caller of the tool.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from calipers.data.argument_checks import check_number
from calipers.errors import InvalidOptionError, TaskContractError


@dataclass(frozen=True)
class Proceed:
    """Go on: to the next interceptor, and at last to the tool."""

    delay: float = 0.0
    """Seconds to wait before."""

    def __post_init__(self) -> None:
        check_number("delay of Proceed", self.delay, at_least=0)


@dataclass(frozen=True)
class Return:
    """A call gives a value."""

    value: Any
    delay: float = 0.0
    """Seconds to wait before."""

    def __post_init__(self) -> None:
        check_number("delay of Return", self.delay, at_least=0)


@dataclass(frozen=True)
class Raise:
    """A call raises."""

    error: Exception
    delay: float = 0.0
    """Seconds to wait before."""

    def __post_init__(self) -> None:
        if not isinstance(self.error, Exception):
            raise InvalidOptionError(f"error of Raise must be an exception, got {self.error!r:.200}")
        check_number("delay of Raise", self.delay, at_least=0)


Outcome: TypeAlias = Return | Raise
"""What became of a call. As the outcome of a real call it has no delay."""


class MarkedArguments(dict[str, Any]):
    """The arguments of a call of a marked tool, and what its mark says of recording them."""

    shown: Callable[[str, Any], Any] | None = None
    """What to record of an argument by its name, of the value as "return", of an error's text as "raise"; `None`: all of it."""


_MARKED: dict[str, Callable[[str, Any], Any]] = {}
"""What the marks of tools have recorded, by the names of those that do not want all of it recorded."""


def record_marked(name: str, shown: Callable[[str, Any], Any]) -> None:
    """Have the calls of a tool recorded as its mark says, also those that the adapter of a framework makes by its name."""
    _MARKED[name] = shown


class ToolInterceptor(Protocol):
    """Decides what becomes of tool calls. It waits for nothing: delays are data."""

    def before(self, name: str, arguments: Mapping[str, Any], /) -> Proceed | Outcome:
        """What to do with a call: go on, or return or raise in the tool's place."""
        ...

    def after(self, name: str, arguments: Mapping[str, Any], outcome: Outcome, /) -> Outcome:
        """The outcome that the agent sees, of a call that went on; `outcome` itself to leave it as it is."""
        ...


_INTERCEPTORS: ContextVar[tuple[ToolInterceptor, ...]] = ContextVar("calipers_tool_interceptors", default=())


class _UnderWay:
    """A call that a framework's adapter has sent through the interceptors, until its marked function takes it up."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.taken = False
        self.record: Callable[[Outcome], None] | None = None
        """Records of the marked function what the agent saw in the place of its outcome."""


_UNDER_WAY: ContextVar[_UnderWay | None] = ContextVar("calipers_intercepted_call", default=None)


@contextmanager
def intercepting_tools(*interceptors: ToolInterceptor) -> Iterator[None]:
    """A block in which tool calls go through these interceptors, inside of those that are set already.

    ```python
    with intercepting_tools(my_interceptor):
        agent("What does a desk cost?")
    ```

    It holds in this thread or `asyncio` task, and in all that inherit its context; see `carry` for the threads of a pool.

    Raises:
        InvalidOptionError: one of them is no interceptor.
    """
    for each in interceptors:
        if not callable(getattr(each, "before", None)) or not callable(getattr(each, "after", None)):
            raise InvalidOptionError(
                f"an interceptor has the methods before(name, arguments) and after(name, arguments, outcome), got {each!r}"
            )
    token = _INTERCEPTORS.set((*_INTERCEPTORS.get(), *interceptors))
    try:
        yield
    finally:
        _INTERCEPTORS.reset(token)


def are_tools_intercepted() -> bool:
    """Whether this code runs in a block with interceptors."""
    return bool(_INTERCEPTORS.get())


def refuse_interceptors(kind: str) -> None:
    """Refuse to run clean what interceptors were set for.

    Raises:
        TaskContractError: interceptors are set, and the calls of this kind of agent cannot go through them.
    """
    if _INTERCEPTORS.get():
        raise TaskContractError(
            f"the tool calls of {kind} cannot be intercepted, because its tools do not run here: "
            "run it without interceptors, or mark the functions of its tools with @tool where they run"
        )


class _Way:
    """One call on its way through the interceptors. It decides, and the two functions below do."""

    def __init__(self, name: str, arguments: Mapping[str, Any]) -> None:
        if not isinstance(arguments, MarkedArguments) and (shown := _MARKED.get(name)) is not None:
            arguments = MarkedArguments(arguments)
            arguments.shown = shown
        self._name = name
        self._arguments = arguments
        self._passed: list[ToolInterceptor] = []
        self.delay = 0.0
        self.outcome: Outcome | None = None
        """What was given in the tool's place; `None`: the tool is to run."""
        for each in _INTERCEPTORS.get():
            decision = each.before(name, arguments)
            if not isinstance(decision, Proceed | Return | Raise):
                raise _no_decision(each, "before", "Proceed, Return or Raise", decision)
            self.delay += decision.delay
            if not isinstance(decision, Proceed):
                self.outcome = decision
                return
            self._passed.append(each)

    def seen(self, outcome: Outcome, under_way: _UnderWay | None = None) -> Any:
        """What the agent sees of an outcome: the value, or what it raises."""
        given = outcome
        for each in reversed(self._passed):
            outcome = each.after(self._name, self._arguments, outcome)
            if not isinstance(outcome, Return | Raise):
                raise _no_decision(each, "after", "Return or Raise", outcome)
        if outcome is not given and under_way is not None and under_way.record is not None:
            under_way.record(outcome)
        if isinstance(outcome, Raise):
            is_own = isinstance(given, Raise) and given is not self.outcome and given.error is outcome.error
            # One error may be raised for many calls. Its traceback would grow by each, and keep what their frames hold.
            raise outcome.error if is_own else outcome.error.with_traceback(None)
        return outcome.value


def _no_decision(interceptor: object, method: str, wanted: str, got: object) -> TaskContractError:
    return TaskContractError(
        f"{type(interceptor).__name__}.{method}() has to give {wanted} of calipers.agents, got {got!r:.200}"
    )


def call_tool(
    name: str, arguments: Mapping[str, Any], function: Callable[[], Any], *, is_marked: bool = False
) -> Any:
    """Call a tool through the interceptors.

    Args:
        name: which tool.
        arguments: those that the agent chose, by parameter name.
        function: the call itself. A coroutine that it gives is one call, and is to be awaited.
        is_marked: whether it is the function of a tool marked with `@tool`, which an adapter may have intercepted already.
    """
    if not _INTERCEPTORS.get() or (is_marked and _is_taken_up(name)):
        return function()
    way = _Way(name, arguments)
    if way.delay:
        time.sleep(way.delay)
    if way.outcome is not None:
        return way.seen(way.outcome)
    under_way = None if is_marked else _UnderWay(name)
    token = None if under_way is None else _UNDER_WAY.set(under_way)
    try:
        value = function()
    except Exception as error:
        outcome: Outcome = Raise(error)
    else:
        if isinstance(value, Coroutine):
            return _later(way, name, value, is_marked=is_marked)
        outcome = Return(value)
    finally:
        if token is not None:
            _UNDER_WAY.reset(token)
    return way.seen(outcome, under_way)


async def await_tool(
    name: str,
    arguments: Mapping[str, Any],
    function: Callable[[], Awaitable[Any]],
    *,
    is_marked: bool = False,
) -> Any:
    """The same for a tool that is awaited."""
    if not _INTERCEPTORS.get() or (is_marked and _is_taken_up(name)):
        return await function()
    way = _Way(name, arguments)
    if way.delay:
        await asyncio.sleep(way.delay)
    if way.outcome is not None:
        return way.seen(way.outcome)
    return await _later(way, name, function(), is_marked=is_marked)


async def _later(way: _Way, name: str, call: Awaitable[Any], *, is_marked: bool) -> Any:
    """Await the call itself, and what the agent sees of it."""
    under_way = None if is_marked else _UnderWay(name)
    token = None if under_way is None else _UNDER_WAY.set(under_way)
    try:
        outcome: Outcome = Return(await call)
    except Exception as error:
        outcome = Raise(error)
    finally:
        if token is not None:
            _UNDER_WAY.reset(token)
    return way.seen(outcome, under_way)


def record_seen(name: str, record: Callable[[Outcome], None]) -> None:
    """Have `record` told what the agent sees of a marked function that is about to take up an adapter's call, if that is changed."""
    call = _UNDER_WAY.get()
    if call is not None and not call.taken and call.name == name:
        call.record = record


def _is_taken_up(name: str) -> bool:
    """Whether this is the function of a call that an adapter has intercepted; a further call inside of it is another one."""
    call = _UNDER_WAY.get()
    if call is None or call.taken or call.name != name:
        return False
    call.taken = True
    return True
