"""One execution of an agent, being recorded; a `TraceRecorder` makes such recordings.

A recording holds what happens between the beginning and the end of its block, in the same thread or `asyncio` task and
in all that inherit its context: tasks it starts, `asyncio.to_thread`. The threads of a pool inherit nothing; `carry`
takes the context there. Two recordings in different tasks or threads know nothing of each other.

- Turns are in the order in which they began. A call recorded after the fact stands where it was recorded.
- A recording inside another one, such as a sub-agent's, has a trace of its own. Its calls also count in the outer trace;
  its messages do not.
- A call that is still running at the end becomes a failed call, with an error that says so.
- A recording without a call says that none was made only where there is evidence that it would have been recorded
  (`call_evidence.py`): the code around it has tools marked with `@tool`, or records calls by hand.
- What looks like a secret (`calipers.data.redaction`) is recorded as `[redacted]`: in calls, in metadata, in errors. What the
  agent was asked and what it said stays as it is, because evaluators judge it.
- If the block raises, the trace so far is kept, with the error under `metadata["error"]`.
- A run records the calls of functions marked with `@tool` also outside of any recording.
- In a run, the outermost recordings of an attempt make its trace, `ctx.trace`. Several make one trace, in the order in which
  they began. A task that fails or runs out of time leaves the trace so far in the report.

Later changes do not touch what was recorded: `snapshot` copies lists, tuples, dicts and sets, all the way down. Other objects
are kept as they are: a copy of a connection, a model or a table would be costly or impossible.
"""

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar, cast

from calipers.data.argument_checks import check_text
from calipers.data.attempt import Attempt, running_attempt
from calipers.data.redaction import masked, masked_text, secrets_in, without
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn, TurnType, new_id
from calipers.errors import InvalidOptionError, InvalidTraceError
from calipers.spans.attempt_trace import with_spans

from .call_evidence import Found, tools_reached, tools_reached_by_caller
from .event_log import Event, EventLog, error_text, turn_of

ArgumentsT = ParamSpec("ArgumentsT")
ResultT = TypeVar("ResultT")

_OPENING = threading.Lock()

_CURRENT: ContextVar["Recording | None"] = ContextVar("calipers_recording", default=None)


def current_recording() -> "Recording | None":
    """The innermost recording this code runs in, or `None` where nothing is recorded."""
    recording = _CURRENT.get()
    while recording is not None and recording.log.ended:
        recording = recording.outer
    return recording


def place_to_record() -> "Recording | None":
    """The recording for a tool call: the current one, else that of the attempt this code runs in."""
    recording, attempt = current_recording(), running_attempt()
    if recording is None and attempt is not None and attempt.takes_parts:
        with _OPENING:
            if attempt.calls is None:
                attempt.calls = opened = _of_attempt(attempt)
                opened.log.begin(None)
                attempt.record(opened)
            recording = cast("Recording | None", attempt.calls)
    return None if recording is None or recording.log.ended else recording


def trace_without_calls(attempt: Attempt) -> Trace | None:
    """The trace of an attempt that called no tool, if its task reaches tools that would have been recorded."""
    reached = attempt.function is not None and tools_reached(attempt.function).tools
    return _of_attempt(attempt).trace if reached else None


def _of_attempt(attempt: Attempt) -> "Recording":
    """A recording for an attempt whose task has none. It measures no time."""
    function = attempt.function

    def marked() -> Found:
        return Found(tools_reached(function).tools)  # without a recording, nothing is recorded by hand

    name = getattr(function, "__name__", "")
    return Recording(name if isinstance(name, str) else "", records_calls=marked, is_timed=False)


class Recording:
    """One execution of an agent, being recorded. `TraceRecorder` makes them."""

    def __init__(
        self,
        agent_name: str,
        *,
        model: str | None = None,
        tags: Sequence[str] = (),
        input_text: str = "",
        metadata: Mapping[str, Any] | None = None,
        keep_secrets: bool = False,
        records_calls: bool | Callable[[], Found] | None = None,
        is_timed: bool = True,
    ) -> None:
        self.agent_name = agent_name
        self.model = model
        self.tags = tags
        self.input_text = input_text
        self.output_text = None
        self.metadata: dict[str, Any] = dict(metadata or {})
        """Goes into the trace."""
        self.keep_secrets = keep_secrets
        """Whether what looks like a secret is recorded as it is."""
        self.records_calls = records_calls
        """Whether every tool call would be recorded, or a function that looks for evidence; `None`: look at the caller."""
        self.is_timed = is_timed
        """Whether it takes as long as the agent; else the total latency of the trace is unknown."""
        self.by_hand = False
        """Whether a call was recorded by hand, here or in a recording inside."""
        self.log = EventLog()
        """What has happened so far."""
        self.outer: Recording | None = None
        """The recording this one is inside of."""
        self.attempt: Attempt | None = None
        """The attempt of a run this was begun in."""
        self._found = Found()
        self._trace_id = new_id()

    @property
    def input_text(self) -> str:
        """What the agent was asked; without it, the trace has the first user message."""
        return self._input_text

    @input_text.setter
    def input_text(self, text: str) -> None:
        self._input_text = check_text("input_text", text, or_empty=True, error=InvalidTraceError)

    @property
    def output_text(self) -> str | None:
        """What the agent answered; without it, the trace has the last agent message."""
        return self._output_text

    @output_text.setter
    def output_text(self, text: str | None) -> None:
        self._output_text = check_text(
            "output_text", text, or_empty=True, or_none=True, error=InvalidTraceError
        )

    # ------------------------------------------------------------------ the block

    def __enter__(self) -> Self:
        if self.log.began_at is not None:
            raise InvalidTraceError("a recording is entered once: ask the recorder for another one")
        self.outer = current_recording()
        self.attempt = running_attempt()
        if self.attempt is not None and (self.outer is None or self.outer.attempt is not self.attempt):
            self.attempt.record(self)
        self.log.begin(None if self.outer is None else self.outer.log)
        self.resume()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self.metadata["error"] = self.recorded(error_text(error))
        self.suspend()
        self.log.end()
        if self.records_calls is None:
            self._found = tools_reached_by_caller()
        self.attach()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    def suspend(self) -> None:
        """Stop recording what this code does, until `resume`; calls in progress are still recorded."""
        # No token of the variable: a block may be left in another context than the one it was entered in.
        if _CURRENT.get() is self:
            _CURRENT.set(self.outer)

    def resume(self) -> None:
        """Record what this code does, and what it starts, until `suspend` or the end of the block."""
        _CURRENT.set(self)

    # ------------------------------------------------------------------ what happened

    def record_llm_call(
        self,
        model: str | None = None,
        *,
        input_tokens: int = 0,
        output_tokens: int = 0,
        input_text: str = "",
        output_text: str = "",
        latency_ms: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        call_id: str | None = None,
        timestamp: datetime | None = None,
        cost: float | None = None,
    ) -> LLMCall:
        """Record a model call that has been answered.

        Args:
            model: default: the recorder's.
            input_tokens: as the provider counted them.
            output_tokens: as the provider counted them.
            input_text: what the model was given.
            output_text: what it answered.
            latency_ms: how long it took; `None`: not measured.
            metadata: anything else.
            call_id: the provider's id of the request.
            timestamp: when it began; default: `latency_ms` ago.
            cost: US dollars; `None`: not known.
        """
        self._check_open()
        call = LLMCall(
            model=self._model(model),
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            input_text=self.recorded(input_text),
            output_text=self.recorded(output_text),
            latency_ms=latency_ms,
            metadata=self.recorded(snapshot(dict(metadata or {}))),
            call_id=call_id,
            cost=cost,
        )
        call.timestamp = timestamp or self.log.earlier(latency_ms)
        self._add(turn_of(call))
        return call

    def record_tool_call(
        self,
        name: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        *,
        output: Any = None,
        success: bool | None = None,
        error: str | None = None,
        latency_ms: float | None = None,
        call_id: str | None = None,
        timestamp: datetime | None = None,
        tool_name: str | None = None,
        tool_input: Mapping[str, Any] | None = None,
        tool_output: Any = None,
    ) -> ToolCall:
        """Record a tool call that has been made.

        Args:
            name: which tool.
            arguments: by parameter name.
            output: what came back.
            success: default: whether there is no `error`.
            error: why it failed.
            latency_ms: how long it took; `None`: not measured.
            call_id: the provider's id of the call.
            timestamp: when it began; default: `latency_ms` ago.
            tool_name: another word for `name`.
            tool_input: another word for `arguments`.
            tool_output: another word for `output`.
        """
        self._check_open()
        call = ToolCall(
            name,
            self.recorded(snapshot(arguments)),
            output=self.recorded(snapshot(output)),
            success=error is None if success is None else success,
            error=self.recorded(error),
            latency_ms=latency_ms,
            call_id=call_id,
            tool_name=tool_name,
            tool_input=self.recorded(snapshot(tool_input)),
            tool_output=self.recorded(snapshot(tool_output)),
        )
        call.timestamp = timestamp or self.log.earlier(latency_ms)
        self._add(turn_of(call))
        self._note_by_hand()
        return call

    def record_user_message(self, text: str) -> None:
        """Record what the user said."""
        self._message(TurnType.USER_MESSAGE, text)

    def record_agent_message(self, text: str) -> None:
        """Record what the agent said."""
        self._message(TurnType.AGENT_MESSAGE, text)

    @contextmanager
    def tool_call(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, call_id: str | None = None
    ) -> Iterator[ToolCall]:
        """Record a tool call while it is made; for functions there is `@tool`.

        ```python
        with recording.tool_call("search", {"query": query}) as call:
            call.output = client.search(query)
        ```

        Time, success and errors are recorded, and errors are raised again. Set `call.error` for a failure that raises nothing.
        """
        self._check_open()
        self._note_by_hand()
        given = snapshot(arguments)
        with self.log.tool_call(ToolCall(name, self.recorded(given), call_id=call_id)) as call:
            try:
                yield call
            except BaseException as error:
                if call.error is None:
                    call.error = error_text(error)
                raise
            finally:
                call.output = snapshot(call.output)
                if not self.keep_secrets:
                    secrets = secrets_in(given)
                    call.output = masked(call.output, secrets)
                    call.error = None if call.error is None else masked_text(without(call.error, secrets))

    @contextmanager
    def llm_call(self, model: str | None = None, *, input_text: str = "") -> Iterator[LLMCall]:
        """Record a model call while it is made.

        ```python
        with recording.llm_call("small-model", input_text=prompt) as call:
            answer = client.ask(prompt)
            call.output_text, call.output_tokens = answer.text, answer.tokens
        ```

        The time is measured. An error is recorded under `metadata["error"]` of the call, and raised again.
        """
        self._check_open()
        asked = self.recorded(input_text)
        with self.log.llm_call(LLMCall(model=self._model(model), input_text=asked)) as call:
            yield call
            call.output_text = self.recorded(call.output_text)
            call.metadata = self.recorded(call.metadata)

    def adopt(self, told: Trace) -> list[Turn]:
        """Add what another one tells of this execution, such as the framework of the agent. A call that both know is one call.

        Returns:
            The calls of tools and models that were not recorded here yet.
        """
        self._check_open()
        if not self.keep_secrets:
            hidden = zip(told.turns, told.without_secrets().turns, strict=True)
            told = told.replace(
                turns=[safe if safe.tool_call or safe.llm_call else turn for turn, safe in hidden]
            )
        turns = with_spans(self.trace, told).turns
        known = {id(turn) for turn in told.turns if turn.tool_call or turn.llm_call}
        new = [turn for turn in turns if id(turn) in known]
        self.log.rewrite(turns, new)
        return new

    # ------------------------------------------------------------------ what comes of it

    @property
    def trace(self) -> Trace:
        """What was recorded, so far or in all. The total latency is wall-clock time."""
        log, turns, output = self.log, self.log.turns, self.output_text
        if output is None:
            output = next((t.content for t in reversed(turns) if t.turn_type is TurnType.AGENT_MESSAGE), "")
        asked = (turn.content for turn in turns if turn.turn_type is TurnType.USER_MESSAGE)
        records_calls, recorded_tools = self._known_calls(turns)
        return Trace(
            agent_name=self.agent_name,
            model=self.model,
            input_text=self.input_text or next(asked, ""),
            output_text=output,
            turns=turns,
            total_latency_ms=log.seconds * 1000 if self.is_timed else 0,
            tags=self.tags,
            metadata=self.recorded(dict(self.metadata)),
            records_calls=records_calls,
            recorded_tools=recorded_tools,
            trace_id=self._trace_id,
            created_at=log.began_at or datetime.now(UTC),
            keep_secrets=self.keep_secrets,
        )

    def recorded(self, value: Any) -> Any:
        """A value as it is recorded: without secrets, unless they are to be kept."""
        return value if self.keep_secrets else masked(value)

    def end(self) -> None:
        """Record nothing more. A block does this by itself."""
        self.log.end()

    def attach(self) -> None:
        """Give the trace to the attempt, if this is one of its outermost recordings."""
        if self.attempt is not None:
            self.attempt.attach(self)

    def _known_calls(self, turns: Sequence[Turn]) -> tuple[bool | None, Sequence[str] | None]:
        """Whether calls are known to be recorded, and of which tools; `None` for all of them."""
        if self.records_calls is True or self.by_hand:
            return True, None
        found = self.records_calls() if callable(self.records_calls) else self._found
        if found.by_hand:
            return True, None
        if found.tools or any(turn.tool_call is not None for turn in turns):
            return True, sorted(found.tools)
        return None, None  # that no evidence was found does not show that calls would be missed

    def _note_by_hand(self) -> None:
        recording: Recording | None = self
        while recording is not None:
            recording.by_hand = True
            recording = recording.outer

    def _check_open(self) -> None:
        if not self.log.is_open:
            raise InvalidTraceError(
                "this recording has ended: record inside its block"
                if self.log.ended
                else "this recording has not begun: enter it with `with`"
            )

    def _add(self, turn: Turn) -> None:
        if not self.log.add(Event(turn)):
            self._check_open()

    def _message(self, kind: TurnType, text: str) -> None:
        self._check_open()
        check_text("a message", text, or_empty=True, error=InvalidTraceError)
        self._add(Turn(turn_type=kind, content=text, timestamp=self.log.now()))

    def _model(self, model: str | None) -> str:
        found = model or self.model
        if not isinstance(found, str) or not found:
            raise InvalidTraceError(
                f"a request goes to a model: name it here, or give the recorder model=..., got {found!r}"
            )
        return found


def carry(function: Callable[ArgumentsT, ResultT]) -> Callable[ArgumentsT, ResultT]:
    """The function with the context of this code, for a thread of a pool to call.

    Threads of a pool inherit no context: a tool called there is not recorded, and `increment_eval_metric` counts
    nothing. `pool.submit(carry(search), query)` and `pool.map(carry(search), queries)` do.

    Raises:
        InvalidOptionError: it is an async function; `asyncio` carries the context by itself.
    """
    if inspect.iscoroutinefunction(function):
        raise InvalidOptionError(
            f"carry takes a plain function into a thread, got the async {function!r}: "
            "asyncio tasks inherit the context by themselves"
        )
    context = copy_context()

    @functools.wraps(function)
    def carried(*args: ArgumentsT.args, **kwargs: ArgumentsT.kwargs) -> ResultT:
        # A context is one thread's at a time, so each call has a copy.
        return context.copy().run(function, *args, **kwargs)

    return carried


class TraceRecorder:
    """Makes recordings of an agent, one for each execution.

    ```python
    with TraceRecorder("weather-bot", input_text=question) as recording:
        recording.output_text = agent(question)  # calls of functions marked with @tool are recorded
    recording.trace
    ```

    `async with` works the same. One recorder may record many executions, also at once.

    Args:
        agent_name: whose traces these are.
        model: the model the agent asks; default: the one that its requests name.
        tags: of each trace.
        input_text: what the agent is asked.
        metadata: of each trace.
        keep_secrets: record what looks like a secret as it is, rather than as `[redacted]`.
        records_calls: whether every tool call is recorded here, so that a trace without any says that none was made;
            default: whether the code around has tools marked with `@tool`, or records calls by hand.

    Raises:
        InvalidTraceError: the agent has no name, or the tags are no list of texts.
    """

    def __init__(
        self,
        agent_name: str,
        model: str | None = None,
        tags: Sequence[str] = (),
        *,
        input_text: str = "",
        metadata: Mapping[str, Any] | None = None,
        keep_secrets: bool = False,
        records_calls: bool | None = None,
    ) -> None:
        check_text("agent_name", agent_name, error=InvalidTraceError)
        Trace(tags=tags)  # refuses now what the trace would refuse at the end
        self.agent_name = agent_name
        self.model = model
        self.tags = tags
        self.input_text = input_text
        self.metadata = metadata
        self.keep_secrets = keep_secrets
        self.records_calls = records_calls
        self._lock = threading.Lock()
        self._recordings: list[Recording] = []
        self._last: Recording | None = None
        self._overlapping = False

    def recording(self, *, input_text: str | None = None) -> Recording:
        """A new recording, to be entered with `with` or `async with`."""
        made = Recording(
            self.agent_name,
            model=self.model,
            tags=self.tags,
            input_text=self.input_text if input_text is None else input_text,
            metadata=self.metadata,
            keep_secrets=self.keep_secrets,
            records_calls=self.records_calls,
        )
        with self._lock:
            self._recordings = [each for each in self._recordings if not each.log.ended]
            self._overlapping = any(each.log.is_open for each in self._recordings)
            self._recordings.append(made)
            self._last = made
        return made

    def finalize(self, *, input_text: str | None = None, output: str | None = None) -> Trace:
        """The trace of the last recording, with what was asked and answered. The recorder is then as new.

        Raises:
            InvalidTraceError: nothing was recorded, it is still being recorded, or several were recorded at once.
        """
        with self._lock:
            last = self._last
            if last is None:
                raise InvalidTraceError(
                    "nothing was recorded: first `with recorder.recording() as recording: ...`"
                )
            if not last.log.ended:
                raise InvalidTraceError(
                    "the recording has not ended: enter and leave its block, then finalize"
                )
            if self._overlapping:
                raise InvalidTraceError(
                    "several executions were recorded at once, so there is no last one: "
                    "take the `trace` of each recording"
                )
            self._last = None
        if input_text is not None:
            last.input_text = input_text
        if output is not None:
            last.output_text = output
        last.attach()
        return last.trace

    def __enter__(self) -> Recording:
        return self.recording().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._innermost().__exit__(kind, error, traceback)

    async def __aenter__(self) -> Recording:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    def __repr__(self) -> str:
        return f"TraceRecorder({self.agent_name!r})"

    def _innermost(self) -> Recording:
        """The recording that the block being left has entered."""
        with self._lock:
            own = [each for each in self._recordings if each.log.is_open]
        recording = current_recording()
        while recording is not None and recording not in own:
            recording = recording.outer
        if not own:
            raise InvalidTraceError("this recorder records nothing: enter it with `with` before you leave it")
        # Otherwise it was entered in another context: a fixture may do that.
        return recording or own[-1]


def snapshot(value: Any) -> Any:
    """The value with its containers copied.

    What cannot be copied is kept: it may be nested too deeply, or change in another thread meanwhile.
    """
    try:
        return _copy(value, {})
    except Exception:
        return value


def _copy(value: Any, copied: dict[int, Any]) -> Any:
    """A copy. `copied` holds earlier copies by id, so that a container that holds itself still does."""
    if not isinstance(value, dict | list | tuple | set | frozenset):
        return value
    if (known := copied.get(id(value))) is not None:
        return known
    if isinstance(value, dict):
        mapping: dict[Any, Any] = {}
        copied[id(value)] = mapping
        for key, item in value.items():
            mapping[key] = _copy(item, copied)
        return mapping
    if isinstance(value, list):
        items: list[Any] = []
        copied[id(value)] = items
        items.extend(_copy(item, copied) for item in value)
        return items
    if isinstance(value, tuple):
        make = getattr(value, "_make", tuple)  # a named tuple keeps its names
        return make([_copy(item, copied) for item in value])
    return set(value) if isinstance(value, set) else value
