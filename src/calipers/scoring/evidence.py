"""What the evaluators of an attempt judge: each of them sees it as the task left it.

An evaluator may bind `ctx.output` anew: it has a context of its own. It may also change in place what it was given, such as a
list that it sorts. Plain data (lists, dictionaries, tuples and sets of numbers and text) is then put back before anyone else
looks; evaluators that are waited for side by side have copies of their own. An object of another kind cannot be put back: the
evaluator that changed one fails, and those after it are not asked, since they would judge something else.

The calls of the trace and the calls that the case expects are put back and copied in the same way, with what they are made of.
An object in which nothing can change, such as a frozen dataclass of numbers and text, is known by which one it is: the sound of a
spoken request is not written down again for each evaluator.

What an object says is its plain form (`calipers.data.jsonable`); what that does not show is not noticed.
"""

import dataclasses
import marshal
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from operator import attrgetter, is_not
from typing import Any, Final, TypeVar

import msgspec

from calipers.data.context import EvaluatorContext
from calipers.data.jsonable import plain
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn
from calipers.errors import EvaluatorContractError
from calipers.process.interrupt import is_interrupt

_T = TypeVar("_T", Trace, Turn)

_UNCHANGING: Final = frozenset({type(None), str, int, float, bool, bytes})
_FIXED: Final = frozenset({date, datetime, time, timedelta, timezone, Decimal, complex, type(...)})
"""Kinds of objects that do not change and are not written as plain data."""
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

    __slots__ = ("_before", "_calls", "_each", "_names", "_odd", "_plain", "_quick", "_values", "spoiled")

    def __init__(self, ctx: EvaluatorContext[Any, Any, Any]) -> None:
        values: tuple[Any, ...] = tuple(
            None if type(value) in _UNCHANGING else value
            for value in (
                *(ctx.inputs, ctx.metadata, ctx.expected_output, ctx.output),
                *(ctx.attributes, ctx.metrics),
            )
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
        self._plain = values
        """The parts that are plain data."""
        self._quick: bytes
        """What these say, in a form that is written in no time."""
        self._odd: list[tuple[Any, _Written]] = []
        """The other parts, and what each says."""
        try:
            self._before = marshal.dumps(values, _VERSION)
            self._quick = _quick(values)
        except (ValueError, OverflowError, TypeError):
            self._before = None
            self._take_apart()
        self.spoiled: str | None = None
        """Why no further evaluator can be asked."""

    def has_changed(self) -> bool:
        """Whether it says something else than at first."""
        if self._calls is not None and self._calls.are_others():
            return True
        try:
            if _quick(self._plain) != self._quick:
                return True
        except (ValueError, OverflowError, TypeError):  # there is something else than plain data now
            return True
        return any(_written(value) != before for value, before in self._odd)

    def _take_apart(self) -> None:
        """Write each part down by itself, since some are not plain data."""
        self._each = [_written(value) for value in self._values]
        both = list(zip(self._values, self._each, strict=True))
        self._plain = tuple(value for value, written in both if written.is_whole)
        self._odd = [(value, written) for value, written in both if not written.is_whole]
        try:
            self._quick = _quick(self._plain)
        except (ValueError, OverflowError, TypeError):  # an odd key, half of a character, a wide number
            self._plain, self._odd, self._quick = (), both, _quick(())

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
            self._each = [_Written(marshal.dumps(each, _VERSION), is_plain=True) for each in values]
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


class _Written:
    """What a value says at one moment."""

    __slots__ = ("held", "is_plain", "text")

    def __init__(self, text: bytes, *, is_plain: bool, held: tuple[Any, ...] = ()) -> None:
        self.text = text
        self.is_plain = is_plain
        """Whether it is plain data, which can be read again from it; else it is shown as JSON."""
        self.held = held
        """The objects in plain data in which nothing can change; in the text, their ids stand beside it."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Written) and (self.text, self.is_plain) == (other.text, other.is_plain)

    __hash__ = None  # type: ignore[assignment]

    @property
    def is_whole(self) -> bool:
        """Whether it is plain data and nothing else."""
        return self.is_plain and not self.held

    def copy(self) -> Any:
        """The value again; `None` if it cannot be made."""
        copy = self._read() if self.is_plain else None
        # Other things than bytes, such as arrays, are written as if they were bytes.
        return None if _has_bytes(copy) else copy

    def told(self) -> Any:
        """The value as plain data."""
        return plain(self._read()) if self.is_plain else msgspec.json.decode(self.text)

    def _read(self) -> Any:
        found = marshal.loads(self.text)  # noqa: S302 - our own
        if not self.held:
            return found
        held = iter(self.held)
        return _rebuilt(found[0], lambda _: next(held))


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
        and (ctx._attempt is None or ctx._attempt.case.expected_tool_calls is None)  # noqa: SLF001 - a property takes longer
        and ctx._expected_calls is None  # noqa: SLF001
    ):
        return None
    return Evidence(ctx)


def _written(value: Any) -> _Written:
    try:
        return _Written(marshal.dumps(value, _VERSION), is_plain=True)
    except ValueError:  # an object
        pass
    held: list[Any] = []
    try:
        bare = _rebuilt(value, lambda leaf: _put_aside(leaf, held))
        written = marshal.dumps((bare, list(map(id, held))), _VERSION)
        return _Written(written, is_plain=True, held=tuple(held))
    except (ValueError, RecursionError):  # an object that may change, a structure that contains itself
        pass
    try:
        return _Written(_encode(value), is_plain=False)
    except (
        BaseException
    ) as error:  # keys that are no text, structures that contain themselves, fields that raise
        if is_interrupt(error):
            raise
        return _Written(msgspec.json.encode(plain(value)), is_plain=False)


def _rebuilt(value: Any, other: Callable[[Any], Any]) -> Any:
    """Lists, tuples and dictionaries once more, with what `other` gives for each object in them."""
    kind = type(value)
    if kind in _UNCHANGING:
        return value
    if kind is dict:
        return {name: _rebuilt(inner, other) for name, inner in value.items()}
    if kind is list:
        return [_rebuilt(inner, other) for inner in value]
    if kind is tuple:
        return tuple([_rebuilt(inner, other) for inner in value])
    return other(value)


def _put_aside(value: Any, held: list[Any]) -> Any:
    """Hold an object that cannot change, for which `...` stands; a set stays where it is."""
    if type(value) in {set, frozenset}:
        return value
    if not _is_fixed(value):
        raise ValueError("it may change")
    held.append(value)
    return ...


def _is_fixed(value: Any) -> bool:
    """Whether nothing in an object can change."""
    kind: Any = type(value)
    if kind in _UNCHANGING or kind in _FIXED:
        return True
    if isinstance(value, Enum):
        return type(value.value) in _UNCHANGING
    read = _reader(kind)
    return read is not None and all(map(_is_fixed, read(value)))


@lru_cache(maxsize=1000)
def _reader(kind: Any) -> Callable[[Any], Iterable[Any]] | None:
    """How to read the fields of a frozen dataclass or struct, or of a named tuple; `None` for other classes."""
    if issubclass(kind, tuple):
        return None if "__dict__" in dir(kind) else iter
    if (parameters := vars(kind).get("__dataclass_params__")) is not None and parameters.frozen:
        names = [field.name for field in dataclasses.fields(kind)]
    elif issubclass(kind, msgspec.Struct) and kind.__struct_config__.frozen:
        names = list(kind.__struct_fields__)
    else:
        return None
    return lambda value: [getattr(value, name, None) for name in names]


def _has_bytes(value: Any) -> bool:
    if isinstance(value, bytes):
        return True
    if isinstance(value, dict):
        return any(map(_has_bytes, value)) or any(map(_has_bytes, value.values()))
    return isinstance(value, list | tuple | set | frozenset) and any(map(_has_bytes, value))
