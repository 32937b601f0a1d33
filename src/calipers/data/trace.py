"""What an agent did: the tools it called, the models it asked, the messages between, and the totals.

A tool call is `ToolCall(name, arguments)`. It may also be built and read as `tool_name`, `tool_input` and
`tool_output`, the words that trace recorders use. Two calls are equal when name and arguments are: what came back,
how long it took and which id it carried are circumstances, not identity.

A `Trace` is one execution of an agent. Its `turns` are what happened, in order; `tool_calls` and `llm_calls` are the
calls among them. Give either: the other follows. Given both, they must agree, and a trace never changes afterwards,
so they always do. Calls without turns become turns in the order of their timestamps where each has one; where the
order is not known, requests to models stand before tool calls.

Totals follow from the calls unless they are given. A total of zero says that nothing was measured.

A trace without tool calls may be that of an agent that called nothing, or of one whose calls nothing recorded.
`records_calls` tells which; where it does not, the calls are unknown, and nothing can be claimed about them. Where only the
calls of some tools are known to be recorded, `recorded_tools` names these, and of another tool nothing can be claimed.

`joined` makes one trace of several executions, such as the turns of a conversation. A total is the sum of theirs, and
unknown where one of them did not measure it; so are its calls.
"""

import contextlib
import copy
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from operator import is_
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from calipers.data.pydantic_field import written_as
from calipers.data.redaction import gather_texts, is_free_of_secrets, masked, masked_fields, secrets_in
from calipers.errors import InvalidTraceError

from .argument_checks import check_flag, check_number, check_whole_number

if TYPE_CHECKING:
    from rich.console import Console


class ToolCall:
    """One call of one tool."""

    __slots__ = (
        "arguments",
        "call_id",
        "error",
        "keep_secrets",
        "latency_ms",
        "name",
        "output",
        "success",
        "timestamp",
        "unknown",
    )

    name: str
    """Which tool."""
    arguments: dict[str, Any]
    """By parameter name."""
    output: Any
    """What the tool gave back; `None` when it was not recorded."""
    success: bool
    """False when the tool failed; follows from `error` where it is not given."""
    error: str | None
    """Why it failed."""
    latency_ms: float | None
    """How long it took, in milliseconds; `None` when it was not measured."""
    call_id: str | None
    """The provider's id of the call."""
    timestamp: datetime | None
    """When it began; `None` when it was not recorded."""
    keep_secrets: bool
    """Whether reports and stores tell what looks like a secret in it."""
    unknown: tuple[str, ...]
    """What the recording of it does not show, of `arguments`, `output` and `success`: nothing can be claimed about these."""

    def __init__(
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
        keep_secrets: bool = False,
        unknown: Iterable[str] = (),
        tool_name: str | None = None,
        tool_input: Mapping[str, Any] | None = None,
        tool_output: Any = None,
    ) -> None:
        called = name if tool_name is None else _either("name", name, "tool_name", tool_name)
        if not isinstance(called, str) or not called:
            raise InvalidTraceError(
                f"a tool call needs the tool's name as a non-empty string, got {called!r}"
            )
        given = arguments if tool_input is None else _either("arguments", arguments, "tool_input", tool_input)
        if given is not None and type(given) is not dict and not isinstance(given, Mapping):
            raise InvalidTraceError(f"the arguments of tool call {called!r} must be a mapping, got {given!r}")
        self.name = called
        self.arguments = dict(given) if given is not None else {}
        self.output = output if tool_output is None else _either("output", output, "tool_output", tool_output)
        self.success = (
            error is None
            if success is None
            else check_flag(f"success of tool call {called!r}", success, error=InvalidTraceError)
        )
        self.error = error
        if not _is_duration(latency_ms):
            _measured(f"latency_ms of tool call {called!r}", latency_ms)
        self.latency_ms = latency_ms
        self.call_id = call_id
        if timestamp is not None and type(timestamp) is not datetime:
            _moment(f"timestamp of tool call {called!r}", timestamp)
        self.timestamp = timestamp
        self.keep_secrets = keep_secrets
        self.unknown = _unknown(called, unknown) if unknown else ()

    def without_secrets(self, known: Collection[str] | None = None) -> "ToolCall":
        """The call as reports and stores tell it; the call itself where it holds no secret.

        Args:
            known: texts that are known to be secret; default: those under telling names among its arguments.
        """
        if self.keep_secrets:
            return self
        known = secrets_in(self.arguments) if known is None else known
        arguments = masked_fields(self.arguments, known) if self.arguments else self.arguments
        name, output = masked(self.name, known), masked(self.output, known)
        error = None if self.error is None else masked(self.error, known)
        if (
            name is self.name
            and arguments is self.arguments
            and output is self.output
            and error is self.error
        ):
            return self
        made = copy.copy(self)
        made.name, made.arguments, made.output, made.error = name, arguments, output, error
        return made

    @property
    def tool_name(self) -> str:
        """`name`, in the words of trace recorders."""
        return self.name

    @property
    def tool_input(self) -> dict[str, Any]:
        """`arguments`, in the words of trace recorders."""
        return self.arguments

    @property
    def tool_output(self) -> Any:
        """`output`, in the words of trace recorders."""
        return self.output

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolCall):
            return NotImplemented
        return self.name == other.name and self.arguments == other.arguments

    def __hash__(self) -> int:
        # Arguments may hold lists and dicts, so only the name takes part: equal calls still hash alike.
        return hash(self.name)

    def plain_data(self) -> Any:
        """What is shown of it as data; that secrets are kept says something only where they are."""
        return {
            slot: getattr(self, slot)
            for slot in ToolCall.__slots__
            if slot not in {"keep_secrets", "unknown"} or getattr(self, slot)
        }

    def __repr__(self) -> str:
        return f"ToolCall({self.name!r}, {self.arguments!r})"

    # Where values are validated by pydantic, as in typed dataset files, a mapping of the fields is a call.

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        from pydantic_core import core_schema

        written = core_schema.plain_serializer_function_ser_schema(_fields_of)
        return core_schema.no_info_plain_validator_function(_read_call, serialization=written)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: Any) -> dict[str, Any]:
        return {
            "title": "ToolCall",
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1},
                "arguments": {"type": "object"},
                "output": {},
                "success": {"type": "boolean"},
                "error": {"type": ["string", "null"]},
                "latency_ms": {"type": ["number", "null"], "minimum": 0},
                "call_id": {"type": ["string", "null"]},
                "timestamp": {"type": ["string", "null"], "format": "date-time"},
                "unknown": {"type": "array", "items": {"enum": list(UNKNOWN)}},
            },
            "required": ["name"],
            "additionalProperties": False,
        }


def observed_call(
    name: str,
    arguments: dict[str, Any],
    output: Any,
    error: str | None,
    latency_ms: float | None,
    call_id: str | None,
    timestamp: datetime | None,
    unknown: tuple[str, ...],
) -> ToolCall:
    """A tool call as a recording tells it. It is not checked, which takes two thirds of the time that `ToolCall` does."""
    call = _new(ToolCall)
    call.name = name
    call.arguments = arguments
    call.output = output
    call.success = error is None
    call.error = error
    call.latency_ms = latency_ms
    call.call_id = call_id
    call.timestamp = timestamp
    call.keep_secrets = False
    call.unknown = unknown
    return call


_new: Final = object.__new__

UNKNOWN: Final = ("arguments", "output", "success")
"""What a recording may leave out of a call."""


def _unknown(name: str, given: Iterable[str]) -> tuple[str, ...]:
    found = set(given)
    if strange := sorted(found.difference(UNKNOWN)):
        raise InvalidTraceError(
            f"of tool call {name!r}, {strange[0]!r} cannot be unknown: it is {', '.join(UNKNOWN)}"
        )
    return tuple(each for each in UNKNOWN if each in found)


CallLike: TypeAlias = ToolCall | Mapping[str, Any] | str
"""A tool call, a mapping with its `name` and `arguments` (and, where a call is expected, `matchers`), or the name of a
tool: an expected one with any arguments, an actual one that was called without any."""


def _fields_of(call: ToolCall) -> dict[str, Any]:
    """What a call says, without what it leaves at its default."""
    told = {"output": call.output, "error": call.error, "latency_ms": call.latency_ms}
    told |= {"call_id": call.call_id, "timestamp": call.timestamp}
    found: dict[str, Any] = {"name": call.name}
    if call.arguments:
        found["arguments"] = call.arguments
    found |= {name: value for name, value in told.items() if value is not None}
    if call.keep_secrets:
        found["keep_secrets"] = True
    if call.unknown:
        found["unknown"] = list(call.unknown)
    if call.success != (call.error is None):
        found["success"] = call.success
    return found


def _read_call(value: Any) -> ToolCall:
    """A call from what a file says of it."""
    if isinstance(value, ToolCall):
        return value
    if not isinstance(value, Mapping):
        raise InvalidTraceError(f"a tool call has a name and may have arguments, got {value!r:.200}")
    known = ("name", "arguments", *ToolCall.__slots__)
    if unknown := [key for key in value if key not in known]:
        raise InvalidTraceError(
            f"a tool call has no {unknown[0]!r}: it has name, arguments and what came of it"
        )
    given = dict(value)
    if isinstance(given.get("timestamp"), str):
        with contextlib.suppress(ValueError):  # the call says what is wrong with it
            given["timestamp"] = datetime.fromisoformat(given["timestamp"])
    return ToolCall(**given)


class LLMCall(msgspec.Struct, kw_only=True):
    """One request to a language model."""

    model: str
    """The model's name as the provider knows it."""
    input_tokens: int = 0
    output_tokens: int = 0
    input_text: str = ""
    output_text: str = ""
    latency_ms: float | None = None
    """How long it took, in milliseconds; `None` when it was not measured."""
    metadata: dict[str, Any] = {}
    call_id: str | None = None
    """The provider's id of the request."""
    timestamp: datetime | None = None
    """When it began; `None` when it was not recorded."""
    cost: float | None = None
    """What it cost, in US dollars; `None` when that is not known."""

    def __post_init__(self) -> None:
        given, answered, latency, at = self.input_tokens, self.output_tokens, self.latency_ms, self.timestamp
        if (  # seen at a glance, as most are; what is not is looked at closer below
            (type(given) is int and given >= 0 and type(answered) is int and answered >= 0)
            and (latency is None or (type(latency) is float and 0 <= latency < math.inf))
            and (at is None or type(at) is datetime)
            and self.cost is None
        ):
            return
        whose = f"of a call of {self.model!r}"
        _count(f"input_tokens {whose}", self.input_tokens)
        _count(f"output_tokens {whose}", self.output_tokens)
        _measured(f"latency_ms {whose}", self.latency_ms)
        _moment(f"timestamp {whose}", self.timestamp)
        if self.cost is not None:
            check_number(
                f"cost {whose}", self.cost, at_least=0, of="dollars", or_none=True, error=InvalidTraceError
            )


class TurnType(StrEnum):
    """What kind of thing happened."""

    LLM_CALL = "llm_call"
    TOOL_CALL = "tool_call"
    USER_MESSAGE = "user_message"
    AGENT_MESSAGE = "agent_message"


def new_id() -> str:
    """An id of its own for each trace and turn: 32 hexadecimal digits, as OpenTelemetry has them."""
    return os.urandom(16).hex()


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True, init=False)
class Turn:
    """One thing that happened: a message, a request to a model, or a call of a tool."""

    turn_type: TurnType = None  # type: ignore[assignment]  # the calls say it
    """Follows from `llm_call` or `tool_call` where one is given."""
    content: str = ""
    """The text of a message."""
    llm_call: LLMCall | None = None
    tool_call: ToolCall | None = None
    turn_id: str = field(default_factory=new_id, compare=False, repr=False)
    timestamp: datetime | None = None
    """When it happened; `None` when it was not recorded."""

    def __init__(
        self,
        *,
        turn_type: TurnType | None = None,
        content: str = "",
        llm_call: LLMCall | None = None,
        tool_call: ToolCall | None = None,
        turn_id: str | None = None,
        timestamp: datetime | None = None,
    ) -> None:
        # A recording has millions of turns, and the way around a frozen class takes twice as long.
        own = self.__dict__
        own["turn_type"] = turn_type
        own["content"] = content
        own["llm_call"] = llm_call
        own["tool_call"] = tool_call
        own["turn_id"] = new_id() if turn_id is None else turn_id
        own["timestamp"] = timestamp
        if timestamp is None or type(timestamp) is datetime:
            # One call, or one message, and nothing else to say: what a recording of an agent has most of.
            if llm_call is None:
                if tool_call is None:
                    if turn_type is TurnType.USER_MESSAGE or turn_type is TurnType.AGENT_MESSAGE:
                        return
                elif turn_type is None and type(tool_call) is ToolCall:
                    own["turn_type"] = TurnType.TOOL_CALL
                    return
            elif tool_call is None and turn_type is None and type(llm_call) is LLMCall:
                own["turn_type"] = TurnType.LLM_CALL
                return
        self._check()

    def _check(self) -> None:
        for name, call, wanted in (
            ("llm_call", self.llm_call, LLMCall),
            ("tool_call", self.tool_call, ToolCall),
        ):
            if call is not None and not isinstance(call, wanted):
                raise InvalidTraceError(f"{name} must be a {wanted.__name__}, got {call!r:.200}")
        if self.llm_call is not None and self.tool_call is not None:
            raise InvalidTraceError(
                "a turn is one thing: give llm_call or tool_call, and another turn for the other"
            )
        meant = (
            TurnType.LLM_CALL
            if self.llm_call is not None
            else TurnType.TOOL_CALL
            if self.tool_call is not None
            else None
        )
        given: Any = self.turn_type
        if given is None and meant is None:
            raise InvalidTraceError(
                "a turn needs a turn_type, or the call that it is: "
                f"turn_type is one of {', '.join(kind.value for kind in TurnType)}"
            )
        named: Any = meant if given is None else given
        try:
            kind = TurnType(named)
        except ValueError:
            raise InvalidTraceError(
                f"turn_type is one of {', '.join(kind.value for kind in TurnType)}, got {given!r}"
            ) from None
        if meant is not None and kind is not meant:
            raise InvalidTraceError(f"a turn with a {meant.value} has that as its turn_type, got {given!r}")
        if meant is None and kind in {TurnType.LLM_CALL, TurnType.TOOL_CALL}:
            raise InvalidTraceError(f"a turn of type {kind.value!r} needs its call: give {kind.value}=...")
        _moment("timestamp of a turn", self.timestamp)
        object.__setattr__(self, "turn_type", kind)


def observed_turn(
    kind: TurnType,
    turn_id: str,
    timestamp: datetime | None,
    content: str = "",
    llm_call: LLMCall | None = None,
    tool_call: ToolCall | None = None,
) -> Turn:
    """A turn as a recording tells it. It is not checked, which takes two thirds of the time that `Turn` does."""
    turn = _new(Turn)
    own = turn.__dict__
    own["turn_type"] = kind
    own["content"] = content
    own["llm_call"] = llm_call
    own["tool_call"] = tool_call
    own["turn_id"] = turn_id
    own["timestamp"] = timestamp
    return turn


def observed_trace(
    *,
    agent_name: str,
    input_text: str,
    output_text: str,
    turns: Iterable[Turn],
    total_latency_ms: float,
    metadata: dict[str, Any],
    records_calls: bool | None,
    trace_id: str,
    created_at: datetime,
) -> "Trace":
    """A trace as a recording tells it. It is not checked, which takes two thirds of the time that `Trace` does."""
    trace = _new(Trace)
    own = trace.__dict__
    own["agent_name"] = agent_name
    own["model"] = None
    own["input_text"] = input_text
    own["output_text"] = output_text
    own["turns"] = turns = tuple(turns)
    own["llm_calls"] = asked = tuple([call for turn in turns if (call := turn.llm_call) is not None])
    own["tool_calls"] = tuple([called for turn in turns if (called := turn.tool_call) is not None])
    given = answered = 0
    models: set[str] = set()
    for call in asked:
        given += call.input_tokens
        answered += call.output_tokens
        models.add(call.model)
    if len(models) == 1:
        own["model"] = models.pop()
    own["total_input_tokens"] = given
    own["total_output_tokens"] = answered
    own["total_latency_ms"] = total_latency_ms
    own["tags"] = ()
    own["metadata"] = metadata
    own["records_calls"] = records_calls
    own["recorded_tools"] = None
    own["trace_id"] = trace_id
    own["created_at"] = created_at
    own["keep_secrets"] = False
    return trace


_FROM_CALLS: Final[Any] = None
"""The default of a total: what the calls add up to."""


@dataclass(frozen=True, kw_only=True, init=False)
class Trace:
    """What one execution of an agent left behind."""

    agent_name: str = ""
    model: str | None = None
    """The model the agent asked; default: the one its requests name, if they all name the same."""
    input_text: str = ""
    output_text: str = ""
    turns: Sequence[Turn] = field(default=(), repr=False)
    """What happened, in order."""
    llm_calls: Sequence[LLMCall] = ()
    """The requests to models among the turns."""
    tool_calls: Sequence[ToolCall] = ()
    """The calls of tools among the turns."""
    total_input_tokens: int = _FROM_CALLS
    total_output_tokens: int = _FROM_CALLS
    total_latency_ms: float = _FROM_CALLS
    """Milliseconds: wall-clock time where it was recorded, else the sum of the calls' latencies."""
    tags: Sequence[str] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    records_calls: bool | None = field(default=None, compare=False, repr=False)
    """Whether a tool call would be here if one had been made; `None`: not known. Default: true of a list of `tool_calls`,
    be it empty."""
    recorded_tools: Sequence[str] | None = field(default=None, compare=False, repr=False)
    """The tools whose calls would be here, where that is known of these alone; `None`: `records_calls` speaks of all tools."""
    trace_id: str = field(default_factory=new_id, compare=False, repr=False)
    created_at: datetime = field(default_factory=_now, compare=False, repr=False)
    keep_secrets: bool = field(default=False, compare=False, repr=False)
    """Whether reports and stores tell what looks like a secret in it."""

    def __init__(
        self,
        *,
        agent_name: str = "",
        model: str | None = None,
        input_text: str = "",
        output_text: str = "",
        turns: Sequence[Turn] = (),
        llm_calls: Sequence[LLMCall] = (),
        tool_calls: Sequence[ToolCall] = (),
        total_input_tokens: int = _FROM_CALLS,
        total_output_tokens: int = _FROM_CALLS,
        total_latency_ms: float = _FROM_CALLS,
        tags: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
        records_calls: bool | None = None,
        recorded_tools: Sequence[str] | None = None,
        trace_id: str | None = None,
        created_at: datetime | None = None,
        keep_secrets: bool = False,
    ) -> None:
        own = self.__dict__  # the way around a frozen class takes twice as long
        own["agent_name"] = agent_name
        own["model"] = model
        own["input_text"] = input_text
        own["output_text"] = output_text
        own["turns"] = _tuple("turns", turns)
        own["llm_calls"] = _tuple("llm_calls", llm_calls)
        own["tool_calls"] = _tuple("tool_calls", tool_calls)
        own["total_input_tokens"] = total_input_tokens
        own["total_output_tokens"] = total_output_tokens
        own["total_latency_ms"] = total_latency_ms
        own["tags"] = _tuple("tags", tags)
        own["metadata"] = {} if metadata is None else metadata
        own["records_calls"] = (
            True if records_calls is None and isinstance(tool_calls, list) else records_calls
        )
        own["recorded_tools"] = None if recorded_tools is None else _tuple("recorded_tools", recorded_tools)
        own["trace_id"] = new_id() if trace_id is None else trace_id
        own["created_at"] = _now() if created_at is None else created_at
        own["keep_secrets"] = keep_secrets
        _agree(self)
        if model is None:
            models = {call.model for call in self.llm_calls}
            own["model"] = models.pop() if len(models) == 1 else None
        for name, total in _TOTALS.items():
            if own[name] is None:
                own[name] = total(self)
        _count("total_input_tokens", own["total_input_tokens"])
        _count("total_output_tokens", own["total_output_tokens"])
        if not _is_duration(own["total_latency_ms"]):
            _measured("total_latency_ms", own["total_latency_ms"])

    def without_secrets(self, known: Collection[str] | None = None) -> "Trace":
        """The trace as reports and stores tell it; the trace itself where it holds no secret.

        What looks like a secret is `[redacted]`, and so is what repeats a secret among the arguments of a call.

        Args:
            known: texts that are known to be secret; default: those under telling names among the arguments of its calls.
        """
        if self.keep_secrets:
            return self
        if known is None:
            if holds_no_secret(self):
                return self
            known = secrets_of(self.tool_calls)
        turns = [_turn_without_secrets(turn, known) for turn in self.turns]
        told = {name: masked(getattr(self, name), known) for name in _TEXTS}
        told["metadata"] = masked_fields(self.metadata, known)
        if all(map(is_, turns, self.turns)) and all(
            value is getattr(self, name) for name, value in told.items()
        ):
            return self
        return replace(self, turns=turns, llm_calls=(), tool_calls=(), **told)

    @property
    def calls_known(self) -> bool:
        """Whether the tool calls are known, so that none here means that none was made. Where there is one, they are."""
        return bool(self.tool_calls) or self.records_calls is True

    def unrecorded(
        self, names: Iterable[str], *, name_of: Callable[[str], str] | None = None
    ) -> tuple[str, ...]:
        """Those of some tools whose calls would not be here: none of them says nothing. A tool with a call here is recorded.

        Args:
            names: of the tools.
            name_of: what to compare of a name; default: all of it.
        """
        if not self.calls_known:
            return tuple(dict.fromkeys(names))
        if self.recorded_tools is None:
            return ()
        alike = name_of or str
        seen = {alike(name) for name in (*self.recorded_tools, *(call.name for call in self.tool_calls))}
        return tuple(name for name in dict.fromkeys(names) if alike(name) not in seen)

    @property
    def tokens_measured(self) -> bool:
        """Whether anything is known about tokens. Every request takes some: if all are 0, they were not counted."""
        return bool(self.total_input_tokens or self.total_output_tokens)

    @property
    def total_cost(self) -> float | None:
        """What its requests to models cost, in US dollars, as far as that is known; `None` if it is known of none."""
        known = [call.cost for call in self.llm_calls if call.cost is not None]
        return sum(known) if known else None

    @property
    def unpriced_calls(self) -> int:
        """How many of its requests to models have no known cost, except those that failed, which providers do not charge for."""
        return sum(call.cost is None and "error" not in call.metadata for call in self.llm_calls)

    @property
    def latency_measured(self) -> bool:
        """Whether the total time is known. A total of 0 beside calls that took longer says that it is not."""
        if self.total_latency_ms > 0:
            return True
        latencies = [call.latency_ms for call in self.llm_calls]
        latencies += [call.latency_ms for call in self.tool_calls]
        return any(latency is not None for latency in latencies) and not any(latencies)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from calipers.views.notebook import trace_cell

        return trace_cell(self)

    def print(
        self, *, console: "Console | None" = None, width: int | None = None, max_steps: int | None = 60
    ) -> None:
        """Show the trace in the terminal as a waterfall: its turns, requests to models and tools on one scale of time.

        Args:
            console: where; default: standard output.
            width: in columns; default: that of the terminal.
            max_steps: how many steps to show, the first and the last ones; the middle is folded. `None` for all.
        """
        from calipers.views.waterfall import print_waterfall

        print_waterfall(self, console=console, width=width, max_steps=max_steps)

    def render(self, *, width: int = 80, max_steps: int | None = 60) -> str:
        """What `print` shows, as plain text without colours."""
        from calipers.views.waterfall import waterfall_text

        return waterfall_text(self, width=width, max_steps=max_steps)

    def to_dict(self) -> dict[str, Any]:
        """The trace as plain JSON data; what it holds in places of any shape is made plain."""
        from calipers.data.trace_json import trace_data

        return trace_data(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Trace":
        """A trace from what `to_dict` gave.

        Raises:
            InvalidTraceError: the data is no trace; the message says what is wrong with it.
        """
        from calipers.data.trace_json import read_trace

        return read_trace(data)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """How a pydantic model with a field of this type reads and writes it: as `from_dict` and `to_dict` do."""
        return written_as(cls, cls.from_dict, cls.to_dict)

    def replace(self, **changes: Any) -> "Trace":
        """A copy with some fields changed, under a new `trace_id`.

        Other calls make other turns, and other turns other calls; totals that followed from the calls follow again.
        """
        known = {each.name for each in fields(self)}
        if unknown := sorted(changes.keys() - known):
            raise InvalidTraceError(f"a trace has no {unknown[0]!r}; it has {', '.join(sorted(known))}")
        kept = {name: getattr(self, name) for name in known - changes.keys() - {"trace_id", "created_at"}}
        if "turns" in changes:
            dropped = {"llm_calls", "tool_calls"}
        elif changes.keys() & {"llm_calls", "tool_calls"}:
            dropped = {"turns"}
        else:
            dropped = set()
        if dropped:
            dropped |= {name for name, total in _TOTALS.items() if getattr(self, name) == total(self)}
        return Trace(**{name: value for name, value in kept.items() if name not in dropped}, **changes)


def secrets_of(calls: Iterable[ToolCall]) -> list[str]:
    """What stands under telling names among the arguments of some calls, except of those that are to keep it."""
    return secrets_in([call.arguments for call in calls if not call.keep_secrets])


_TEXTS: Final = ("agent_name", "model", "input_text", "output_text", "tags")
"""What may hold a secret in a trace, besides its turns and its metadata."""


def holds_no_secret(trace: Trace) -> bool:
    """Whether a glance shows that a trace holds no secret. Its texts are looked at together, since most hold none."""
    texts = [trace.agent_name, trace.model or "", trace.input_text, trace.output_text, *trace.tags]
    try:
        if not gather_texts(trace.metadata, texts):
            return False
        for turn in trace.turns:
            if turn.content:
                texts.append(turn.content)
            if (asked := turn.llm_call) is not None:
                texts += (asked.model, asked.input_text, asked.output_text)
                if asked.metadata and not gather_texts(asked.metadata, texts):
                    return False
            if (called := turn.tool_call) is not None and not called.keep_secrets:
                texts += (called.name, called.error or "")
                if not gather_texts(called.arguments, texts) or not gather_texts(called.output, texts):
                    return False
        return is_free_of_secrets("\n".join(texts))
    except Exception:  # what raises when it is read, or a field that holds no text
        return False


def _turn_without_secrets(turn: Turn, known: Collection[str]) -> Turn:
    content, asked, called = turn.content, turn.llm_call, turn.tool_call
    if content:
        content = masked(content, known)
    if asked is not None:
        asked = _request_without_secrets(asked, known)
    if called is not None:
        called = called.without_secrets(known)
    if content is turn.content and asked is turn.llm_call and called is turn.tool_call:
        return turn
    return replace(turn, content=content, llm_call=asked, tool_call=called)


def _request_without_secrets(call: LLMCall, known: Collection[str]) -> LLMCall:
    model, given, said = call.model, call.input_text, call.output_text
    metadata = call.metadata
    if model:
        model = masked(model, known)
    if given:
        given = masked(given, known)
    if said:
        said = masked(said, known)
    if metadata:
        metadata = masked_fields(metadata, known)
    if (
        model is call.model
        and given is call.input_text
        and said is call.output_text
        and metadata is call.metadata
    ):
        return call
    return msgspec.structs.replace(call, model=model, input_text=given, output_text=said, metadata=metadata)


def joined(traces: Sequence[Trace]) -> Trace:
    """Several executions, one after the other, as one: all their turns, the first input and the last output.

    Raises:
        InvalidTraceError: there is no execution.
    """
    if not traces:
        raise InvalidTraceError("there are no traces to join")
    if len(traces) == 1:
        return traces[0]
    keeps = any(trace.keep_secrets for trace in traces)
    if keeps:  # one of them: of the others they are taken out here
        traces = [trace.without_secrets() for trace in traces]
    counted = all(trace.tokens_measured for trace in traces)
    timed = all(trace.latency_measured for trace in traces)
    models = {trace.model for trace in traces}
    names = list(dict.fromkeys(trace.agent_name for trace in traces if trace.agent_name))
    metadata: dict[str, Any] = {}
    for trace in traces:
        metadata |= trace.metadata
    return Trace(
        agent_name=", ".join(names),
        model=models.pop() if len(models) == 1 else None,
        input_text=traces[0].input_text,
        output_text=traces[-1].output_text,
        turns=[turn for trace in traces for turn in trace.turns],
        total_input_tokens=sum(trace.total_input_tokens for trace in traces) if counted else 0,
        total_output_tokens=sum(trace.total_output_tokens for trace in traces) if counted else 0,
        total_latency_ms=sum(trace.total_latency_ms for trace in traces) if timed else 0,
        tags=list(dict.fromkeys(tag for trace in traces for tag in trace.tags)),
        metadata=metadata,
        records_calls=True if all(trace.calls_known for trace in traces) else None,
        recorded_tools=_recorded_tools(traces),
        created_at=traces[0].created_at,
        keep_secrets=keeps,
    )


def _recorded_tools(traces: Sequence[Trace]) -> Sequence[str] | None:
    """The tools whose calls are recorded in several executions. One that tells nothing of its calls adds none."""
    limited = [
        trace.recorded_tools if trace.calls_known else ()
        for trace in traces
        if trace.recorded_tools is not None or not trace.calls_known
    ]
    return sorted({name for each in limited for name in each or ()}) if limited else None


def _latency(trace: Trace) -> float:
    latencies = [call.latency_ms for call in trace.llm_calls]
    latencies += [call.latency_ms for call in trace.tool_calls]
    return sum(latency for latency in latencies if latency is not None)


_TOTALS: Final[dict[str, Callable[[Trace], float]]] = {
    "total_input_tokens": lambda trace: sum([call.input_tokens for call in trace.llm_calls]),
    "total_output_tokens": lambda trace: sum([call.output_tokens for call in trace.llm_calls]),
    "total_latency_ms": _latency,
}
"""What the calls add up to."""


def _agree(trace: Trace) -> None:
    """Make the turns of the calls, or the calls of the turns; where both are given, see that they agree."""
    own = trace.__dict__
    turns = trace.turns
    if not turns:
        own["turns"] = _turns_of(trace.llm_calls, trace.tool_calls)
        return
    asked = tuple([turn.llm_call for turn in turns if turn.llm_call is not None])
    called = tuple([turn.tool_call for turn in turns if turn.tool_call is not None])
    for name, among in (("llm_calls", asked), ("tool_calls", called)):
        given = own[name]
        if given and given != among:
            raise InvalidTraceError(
                f"turns and {name} contradict each other: the turns have {list(among)!r:.200}, "
                f"{name} is {list(given)!r:.200}; give one of them, and the other follows"
            )
        own[name] = among


def _turns_of(llm_calls: Sequence[LLMCall], tool_calls: Sequence[ToolCall]) -> tuple[Turn, ...]:
    turns = [Turn(llm_call=call, timestamp=call.timestamp) for call in llm_calls]
    turns += [Turn(tool_call=call, timestamp=call.timestamp) for call in tool_calls]
    if all(turn.timestamp for turn in turns) and _in_order(llm_calls) and _in_order(tool_calls):
        turns.sort(key=lambda turn: _utc(turn.timestamp))
    return tuple(turns)


def _in_order(calls: Sequence[LLMCall] | Sequence[ToolCall]) -> bool:
    """Whether sorting by time would keep these calls as they are listed."""
    times = [_utc(call.timestamp) for call in calls]
    return times == sorted(times)


def _utc(moment: datetime | None) -> datetime:
    """A time that can be compared with any other; one without a zone is taken for universal time."""
    assert moment is not None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


_ITEMS: dict[str, type] = {"turns": Turn, "llm_calls": LLMCall, "tool_calls": ToolCall}
_ITEMS |= {"tags": str, "recorded_tools": str}


def _tuple(name: str, given: Any) -> tuple[Any, ...]:
    if not given and type(given) is tuple:
        return given
    kind = _ITEMS[name]
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidTraceError(f"{name} must be a list of {kind.__name__}, got {given!r:.200}")
    for item in given:
        if type(item) is not kind and not isinstance(item, kind):
            raise InvalidTraceError(f"{name} must hold {kind.__name__} objects, got {item!r:.200}")
    return tuple(given)


def _either(word: str, value: Any, other_word: str, other: Any) -> Any:
    """The value under whichever of the two words it was given."""
    if value is not None and other is not None:
        raise InvalidTraceError(
            f"{word}={value!r} and {other_word}={other!r} are two words for one thing: give one of them"
        )
    return other if value is None else value


def _is_count(value: Any) -> bool:
    """Whether a value is a number of tokens, seen at a glance; where it is not, `_count` looks closer."""
    return type(value) is int and value >= 0


def _count(what: str, value: Any) -> None:
    if not _is_count(value):
        check_whole_number(what, value, at_least=0, error=InvalidTraceError)


def _is_duration(value: Any) -> bool:
    """Whether a value is a time in milliseconds or `None`, seen at a glance; where it is not, `_measured` looks closer."""
    return value is None or (type(value) is float and 0 <= value < math.inf)


def _measured(what: str, value: Any) -> Any:
    if value is None:
        return None
    return check_number(what, value, at_least=0, of="milliseconds", error=InvalidTraceError)


def _moment(what: str, value: Any) -> Any:
    if value is not None and not isinstance(value, datetime):
        raise InvalidTraceError(f"{what} must be a datetime or None, got {value!r:.200}")
    return value
