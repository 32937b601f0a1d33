"""`Adapter`, the protocol of all adapters, and `FunctionAdapter`: an agent that is a function.

Any object with a `name` and a method `invoke` is an adapter: no base class, no registration.

The function takes a text and answers; what it does meanwhile is recorded. Functions marked with `@tool` appear in the trace, and
`current_recording()` is there for model calls. An answer may be of any type: in a run it is the output, and the trace has it as
JSON. `None` is no answer. A function may also return a `Trace` of its own. Errors are raised, so that a run can retry, count and
show them.
"""

import functools
import inspect
import types
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from typing import Any, Generic, Protocol, overload, runtime_checkable

import msgspec
from typing_extensions import TypeVar

from calipers.agents.call_evidence import Found, tools_reached
from calipers.agents.recording import Recording, TraceRecorder
from calipers.data.attempt import running_attempt
from calipers.data.jsonable import plain
from calipers.data.trace import Trace
from calipers.errors import TaskContractError


@runtime_checkable
class Adapter(Protocol):
    """Runs an agent once and returns its trace. Any object with a `name` and `invoke` is one, and can be the task of a run."""

    @property
    def name(self) -> str:
        """What the agent is called in reports."""
        ...

    def invoke(self, input_text: Any, /) -> Trace | Awaitable[Trace]:
        """Ask the agent. No answer is an exception, never an empty trace."""
        ...


AnswerT = TypeVar("AnswerT", default=Any)


class FunctionAdapter(Generic[AnswerT]):
    """An agent that is a function of a text, sync or async.

    ```python
    report = dataset.evaluate_sync(FunctionAdapter(my_agent))
    ```

    Args:
        function: takes the request, gives the answer, as text or anything else, or a `Trace`.
        name: the agent's name; default: the function's.
        model: the model the agent asks.
        tags: of each trace.
        keep_secrets: record what looks like a secret as it is, rather than as `[redacted]`.
        records_calls: whether every tool call of the agent is recorded, so that a trace without calls says that none was
            made. Default: what is known of the tools marked with `@tool` that the function reaches. Pass True for an
            agent without tools.

    Raises:
        TaskContractError: it is not a function.
    """

    @overload
    def __init__(
        self: "FunctionAdapter[Awaitable[Trace]]",
        function: Callable[[Any], Awaitable[object]],
        *,
        name: str | None = ...,
        model: str | None = ...,
        tags: Sequence[str] = ...,
        keep_secrets: bool = ...,
        records_calls: bool | None = ...,
    ) -> None: ...
    @overload
    def __init__(
        self: "FunctionAdapter[Trace]",
        function: Callable[[Any], object],
        *,
        name: str | None = ...,
        model: str | None = ...,
        tags: Sequence[str] = ...,
        keep_secrets: bool = ...,
        records_calls: bool | None = ...,
    ) -> None: ...
    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        name: str | None = None,
        model: str | None = None,
        tags: Sequence[str] = (),
        keep_secrets: bool = False,
        records_calls: bool | None = None,
    ) -> None:
        if not callable(function):
            raise TaskContractError(f"an agent is a function of a text, got {function!r}")
        plain: Any = function
        while isinstance(plain, functools.partial):
            plain = plain.func
        called = getattr(plain, "__name__", None) or type(plain).__name__
        self.function = function
        self.name = ("agent" if called == "<lambda>" else called) if name is None else name
        """What the agent is called in traces and reports."""
        self.is_async = inspect.iscoroutinefunction(plain) or inspect.iscoroutinefunction(
            type(plain).__call__
        )
        """Whether `invoke` gives something to await."""
        self.model = model
        self.tags = tags
        self.keep_secrets = keep_secrets
        self.records_calls = records_calls
        TraceRecorder(self.name, model, tags)  # refuses what no trace could hold

    def invoke(self, input_text: Any, /) -> AnswerT:
        """Ask the agent: the trace, or an awaitable of it if the function is async."""
        return self._ask(input_text, _trace)  # type: ignore[no-any-return]

    def __call__(self, input_text: Any, /) -> Any:
        """Ask the agent, as the task of a run: the trace, or the answer if that is not text, and then the attempt has the trace."""
        return self._ask(input_text, _output)

    def __repr__(self) -> str:
        return f"FunctionAdapter({self.function!r}, name={self.name!r})"

    def _recording(self, asked: Any) -> Recording:
        text = asked if isinstance(asked, str) else str(asked)
        return Recording(
            self.name,
            model=self.model,
            tags=self.tags,
            input_text=text,
            keep_secrets=self.keep_secrets,
            records_calls=self._reaches_tools if self.records_calls is None else self.records_calls,
        )

    def _reaches_tools(self) -> Found:
        return tools_reached(self.function)

    def _ask(self, asked: Any, give: Callable[[Any, Trace], Any]) -> Any:
        return self._invoke_later(asked, give) if self.is_async else self._invoke(asked, give)

    def _invoke(self, asked: Any, give: Callable[[Any, Trace], Any]) -> Any:
        recording = self._recording(asked)
        with ExitStack() as block:
            block.enter_context(recording)
            answer = self.function(asked)
            if inspect.isawaitable(answer):  # a plain function around an async one, such as a lambda
                recording.suspend()
                return self._finish(block.pop_all(), recording, answer, give)
            own = self._own_trace(recording, answer)
        return give(answer, own or recording.trace)

    async def _invoke_later(self, asked: Any, give: Callable[[Any, Trace], Any]) -> Any:
        recording = self._recording(asked)
        with recording:
            answer = await self.function(asked)
            own = self._own_trace(recording, answer)
        return give(answer, own or recording.trace)

    async def _finish(
        self, block: ExitStack, recording: Recording, later: Awaitable[Any], give: Callable[[Any, Trace], Any]
    ) -> Any:
        with block:
            recording.resume()
            answer = await later
            own = self._own_trace(recording, answer)
        return give(answer, own or recording.trace)

    def _own_trace(self, recording: Recording, answer: Any) -> Trace | None:
        """The trace that the function returned; `None` if it returned the answer of the recorded one."""
        if isinstance(answer, Trace):
            return answer
        if answer is None or isinstance(answer, types.GeneratorType | types.AsyncGeneratorType):
            raise TaskContractError(
                f"the agent {self.name!r} gave no answer, but {answer!r:.200}: return a text, a Trace or any other value"
            )
        recording.output_text = text_of(answer)
        return None


def text_of(value: Any) -> str:
    """An answer as a text: anything else than text as JSON, and nothing as an empty text."""
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(plain(value)).decode()


def is_turn() -> bool:
    """Whether this code answers a turn of a conversation, where an answer is a text."""
    attempt = running_attempt()
    return attempt is not None and bool(attempt.case.turns)


def _trace(_answer: Any, trace: Trace) -> Trace:
    return trace


def _output(answer: Any, trace: Trace) -> Any:
    return trace if isinstance(answer, str | Trace) or is_turn() else answer
