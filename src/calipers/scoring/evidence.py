"""What the evaluators of an attempt judge: each of them sees it as the task left it.

An evaluator may bind `ctx.output` anew: it has a context of its own. It may also change in place what it was given, such as a
list that it sorts. Plain data (lists, dictionaries, tuples and sets of numbers and text) is then put back before anyone else
looks; evaluators that are waited for side by side have copies of their own. An object of another kind cannot be put back: the
evaluator that changed one fails, and those after it are not asked, since they would judge something else.

The calls of the trace and the calls that the case expects are put back and copied in the same way, with what they are made of.

What an object says is its plain form (`calipers.data.jsonable`); what that does not show is not noticed.
"""

import marshal
from collections.abc import Sequence
from copy import copy
from datetime import datetime
from operator import attrgetter, is_not
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from calipers.data.context import EvaluatorContext
from calipers.data.jsonable import plain
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn
from calipers.errors import EvaluatorContractError
from calipers.process.interrupt import is_interrupt

_T = TypeVar("_T", Trace, Turn)

_UNCHANGING: Final = frozenset({type(None), str, int, float, bool, bytes})
_FIELDS: Final = ("inputs", "metadata", "expected_output", "output", "attributes", "metrics")
_WORDS: Final = {"expected_output": "expected output", "expected_tool_calls": "expected tool calls"}
_CALL_FIELDS: Final = {ToolCall: ToolCall.__slots__, LLMCall: LLMCall.__struct_fields__}
_READ: Final = {kind: attrgetter(*names) for kind, names in _CALL_FIELDS.items()}

_VERSION: Final = 2
"""Of the format of `marshal`: from the next one on, what it writes depends on who else holds an object."""

_quick: Final = msgspec.msgpack.Encoder().encode
_encode: Final = msgspec.json.Encoder(enc_hook=plain).encode


class Evidence:
    """The data of one attempt that an evaluator could change in place, and what it says."""

    __slots__ = ("_before", "_calls", "_each", "_names", "_quick", "_values", "spoiled")

    def __init__(self, ctx: EvaluatorContext[Any, Any, Any]) -> None:
        values: tuple[Any, ...] = (
            ctx.inputs,
            ctx.metadata,
            ctx.expected_output,
            ctx.output,
            ctx.attributes,
            ctx.metrics,
        )
        names: tuple[str, ...] = _FIELDS
        self._calls: _Calls | None = None
        if ctx.trace is not None or ctx.expected_tool_calls is not None:
            self._calls = calls = _Calls(ctx.trace, ctx.expected_tool_calls)
            values, names = (*values, *calls.values), (*names, *calls.names)
        self._values, self._names = values, names
        self._before: bytes | None
        """What it all says, if all of it is plain data."""
        self._each: list[_Written] = []
        """What each part says, otherwise, or once that is asked."""
        self._quick: bytes | None = None
        """What it all says, in a form that is written in no time; `None` if it is not plain data."""
        try:
            self._before = marshal.dumps(values, _VERSION)
            self._quick = _quick(values)
        except (ValueError, OverflowError, TypeError):
            self._before = None
            self._each = [_written(value) for value in values]
        self.spoiled: str | None = None
        """Why no further evaluator can be asked."""

    def has_changed(self) -> bool:
        """Whether it says something else than at first."""
        if self._calls is not None and self._calls.are_others():
            return True
        if self._quick is None:
            return [_written(value) for value in self._values] != self._each
        try:
            return _quick(self._values) != self._quick
        except (OverflowError, TypeError):  # there is something else than plain data now
            return True

    def private(self, ctx: EvaluatorContext[Any, Any, Any]) -> None:
        """Give a context its own copies of plain data."""
        copies = [
            None if type(value) in _UNCHANGING else written.copy()
            for value, written in zip(self._values, self._parts(), strict=True)
        ]
        for name, own in zip(_FIELDS, copies, strict=False):
            if own is not None:
                setattr(ctx, name, own)
        if self._calls is not None:
            ctx.trace, ctx._expected_calls = self._calls.copies(copies[len(_FIELDS) :])  # noqa: SLF001 - the scorer fills it in

    def put_back(self, *evaluators: str) -> EvaluatorContractError | None:
        """Put back what these evaluators changed; an error if it cannot be."""
        lost: dict[str, Any] = {}
        if self._calls is not None:
            self._calls.put_back()
        for name, value, before in zip(self._names, self._values, self._parts(), strict=True):
            now = _written(value)
            if now == before or (not now.is_plain and now != _written(value)):  # it never says the same twice
                continue
            copy = before.copy()
            if type(value) is not type(copy):
                lost[name] = before.told()
            elif isinstance(value, dict):
                value.clear()
                value.update(copy)
            elif isinstance(value, list):
                value[:] = copy
            elif isinstance(value, set):
                value.clear()
                value.update(copy)
            else:  # a tuple that holds something that changed
                lost[name] = before.told()
        if not lost:
            return None
        what = " and the ".join(_WORDS.get(name, name) for name in lost)
        by = " or ".join(evaluators)
        self.spoiled = f"{by} changed the {what} in place before"
        return EvaluatorContractError(
            f"{by} changed the {what} in place, which other evaluators judge as well: work on a copy", lost
        )

    def _parts(self) -> "list[_Written]":
        """What each part said at first."""
        if self._before is not None and not self._each:
            values = marshal.loads(self._before)  # noqa: S302 - our own
            self._each = [_Written(marshal.dumps(each, _VERSION), True) for each in values]
        return self._each


class _Calls:
    """The calls of a trace and those that a case expects: which they are, and what they are made of."""

    __slots__ = ("_each", "_expected", "_listed", "_trace", "names", "values")

    def __init__(self, trace: Trace | None, expected: list[ToolCall] | None) -> None:
        self._trace, self._expected = trace, expected
        self._listed = list(expected or ())
        made: list[ToolCall | LLMCall] = [] if trace is None else [*trace.tool_calls, *trace.llm_calls]
        found: list[tuple[str, Any]] = [] if trace is None else [("trace", trace.metadata)]
        self._each: list[tuple[Any, type, tuple[Any, ...]]] = []
        for name, calls in (("trace", made), ("expected_tool_calls", self._listed)):
            for call in calls:
                kind: type = ToolCall if isinstance(call, ToolCall) else LLMCall
                fields = _READ[kind](call)
                self._each.append((call, kind, fields))
                found += [
                    (name, value)
                    for value in fields
                    if type(value) not in _UNCHANGING and not isinstance(value, datetime)
                ]
        self.names = [name for name, _ in found]
        self.values = [value for _, value in found]
        """What could change in place."""

    def are_others(self) -> bool:
        """Whether there are other calls than at first, or one has other values, whatever these say."""
        expected = self._expected
        if expected is not None and (
            len(expected) != len(self._listed) or any(map(is_not, expected, self._listed))
        ):
            return True
        return any(any(map(is_not, _READ[kind](call), fields)) for call, kind, fields in self._each)

    def put_back(self) -> None:
        """Have the calls of the beginning again, each with its own values."""
        if self._expected is not None:
            self._expected[:] = self._listed
        for call, kind, fields in self._each:
            for name, value in zip(_CALL_FIELDS[kind], fields, strict=True):
                if getattr(call, name) is not value:
                    setattr(call, name, value)

    def copies(self, values: Sequence[Any]) -> tuple[Trace | None, list[ToolCall] | None]:
        """The trace and the expected calls again, made of these values; in the place of a `None` the old one stays."""
        known = {id(old): new for old, new in zip(self.values, values, strict=True) if new is not None}
        again: dict[int, Any] = {id(None): None}
        for call, kind, fields in self._each:
            again[id(call)] = one = copy(call)
            for name, value in zip(_CALL_FIELDS[kind], fields, strict=True):
                if id(value) in known:
                    setattr(one, name, known[id(value)])
        expected = None if self._expected is None else [again[id(call)] for call in self._listed]
        if self._trace is None:
            return None, expected
        trace = self._trace
        turns = tuple(
            _with(turn, tool_call=again[id(turn.tool_call)], llm_call=again[id(turn.llm_call)])
            for turn in trace.turns
        )
        own = _with(
            trace,
            turns=turns,
            tool_calls=tuple(again[id(call)] for call in trace.tool_calls),
            llm_calls=tuple(again[id(call)] for call in trace.llm_calls),
            metadata=known.get(id(trace.metadata), trace.metadata),
        )
        return own, expected


def _with(frozen: _T, **changes: Any) -> _T:
    """A trace or turn once more, with its id, and some fields changed; it agrees with itself as before."""
    found = object.__new__(type(frozen))
    vars(found).update(vars(frozen), **changes)
    return found


class _Written(NamedTuple):
    """What a value says at one moment."""

    text: bytes
    is_plain: bool
    """Whether it is plain data, which can be read again from it; else it is shown as JSON."""

    def copy(self) -> Any:
        """The value again; `None` if it cannot be made."""
        copy = marshal.loads(self.text) if self.is_plain else None  # noqa: S302 - our own
        # Other things than bytes, such as arrays, are written as if they were bytes.
        return None if _has_bytes(copy) else copy

    def told(self) -> Any:
        """The value as plain data."""
        return plain(marshal.loads(self.text)) if self.is_plain else msgspec.json.decode(self.text)  # noqa: S302 - our own


def evidence(ctx: EvaluatorContext[Any, Any, Any]) -> Evidence | None:
    """The data that an evaluator could change in place; `None` if all of it is empty."""
    unchanging = _UNCHANGING
    if (
        type(ctx.output) in unchanging
        and type(ctx.inputs) in unchanging
        and type(ctx.expected_output) in unchanging
        and type(ctx.metadata) in unchanging
        and not ctx.attributes
        and not ctx.metrics
        and ctx.trace is None
        and ctx.expected_tool_calls is None
    ):
        return None
    return Evidence(ctx)


def _written(value: Any) -> _Written:
    try:
        return _Written(marshal.dumps(value, _VERSION), True)
    except ValueError:  # an object
        pass
    try:
        return _Written(_encode(value), False)
    except (
        BaseException
    ) as error:  # keys that are no text, structures that contain themselves, fields that raise
        if is_interrupt(error):
            raise
        return _Written(msgspec.json.encode(plain(value)), False)


def _has_bytes(value: Any) -> bool:
    if isinstance(value, bytes):
        return True
    if isinstance(value, dict):
        return any(map(_has_bytes, value)) or any(map(_has_bytes, value.values()))
    return isinstance(value, list | tuple | set | frozenset) and any(map(_has_bytes, value))
