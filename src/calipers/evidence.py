"""What the evaluators of an attempt judge: each of them sees it as the task left it.

An evaluator may bind `ctx.output` anew: it has a context of its own. It may also change in place what it was given, such as a
list that it sorts. Plain data (lists, dictionaries, tuples and sets of numbers and text) is then put back before anyone else
looks; evaluators that are waited for side by side have copies of their own. An object of another kind cannot be put back: the
evaluator that changed one fails, and those after it are not asked, since they would judge something else.

What an object says is its plain form (`calipers.plain`); what that does not show is not noticed.
"""

import marshal
from typing import Any, Final, NamedTuple

import msgspec

from .context import EvaluatorContext
from .errors import EvaluatorContractError
from .interrupt import is_interrupt
from .plain import plain

_UNCHANGING: Final = frozenset({type(None), str, int, float, bool, bytes})
_FIELDS: Final = ("inputs", "metadata", "expected_output", "output", "attributes", "metrics")
_WORDS: Final = {"expected_output": "expected output"}

_VERSION: Final = 2
"""Of the format of `marshal`: from the next one on, what it writes depends on who else holds an object."""

_quick: Final = msgspec.msgpack.Encoder().encode
_encode: Final = msgspec.json.Encoder(enc_hook=plain).encode


class Evidence:
    """The data of one attempt that an evaluator could change in place, and what it says."""

    __slots__ = ("_before", "_each", "_quick", "_values", "spoiled")

    def __init__(self, ctx: EvaluatorContext[Any, Any, Any]) -> None:
        self._values = values = (
            ctx.inputs,
            ctx.metadata,
            ctx.expected_output,
            ctx.output,
            ctx.attributes,
            ctx.metrics,
        )
        self._before: bytes | None
        """What it all says, if all of it is plain data."""
        self._each: list[_Written] = []
        """What each part says, otherwise."""
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
        if self._quick is None:
            return [_written(value) for value in self._values] != self._each
        try:
            return _quick(self._values) != self._quick
        except (OverflowError, TypeError):  # there is something else than plain data now
            return True

    def private(self, ctx: EvaluatorContext[Any, Any, Any]) -> None:
        """Give a context its own copies of plain data."""
        for name, value, written in zip(_FIELDS, self._values, self._parts(), strict=True):
            if type(value) not in _UNCHANGING and (copy := written.copy()) is not None:
                setattr(ctx, name, copy)

    def put_back(self, *evaluators: str) -> EvaluatorContractError | None:
        """Put back what these evaluators changed; an error if it cannot be."""
        lost: dict[str, Any] = {}
        for name, value, before in zip(_FIELDS, self._values, self._parts(), strict=True):
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
        if self._before is None:
            return self._each
        return [_Written(marshal.dumps(each, _VERSION), True) for each in marshal.loads(self._before)]  # noqa: S302 - our own


class _Written(NamedTuple):
    """What a value says at one moment."""

    text: bytes
    is_plain: bool
    """Whether it is plain data, which can be read again from it; else it is shown as JSON."""

    def copy(self) -> Any:
        """The value again; `None` if that is not to be had."""
        copy = marshal.loads(self.text) if self.is_plain else None  # noqa: S302 - our own
        # Other things than bytes, such as arrays, are written as if they were bytes.
        return None if _has_bytes(copy) else copy

    def told(self) -> Any:
        """The value as plain data."""
        return plain(marshal.loads(self.text)) if self.is_plain else msgspec.json.decode(self.text)  # noqa: S302 - our own


def evidence(ctx: EvaluatorContext[Any, Any, Any]) -> Evidence | None:
    """The data that an evaluator could change in place; `None` if there is none but what is empty."""
    unchanging = _UNCHANGING
    if (
        type(ctx.output) in unchanging
        and type(ctx.inputs) in unchanging
        and type(ctx.expected_output) in unchanging
        and type(ctx.metadata) in unchanging
        and not ctx.attributes
        and not ctx.metrics
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
