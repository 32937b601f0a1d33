"""What travels between a run and the processes that call its task: attempts to make, and what came of them.

Everything is pickled, each attempt by itself, so that one that cannot be sent does not affect the others. Functions and classes are pickled by
their names, unless an engine says otherwise. A case travels without its evaluators:
they judge where the run is. What an attempt changed in its inputs comes back with it, since evaluators see them as the task left them.

An error comes back as it was, with its causes and its attributes, so that a rule for retries reads it as usual. If its class
cannot be pickled, it comes back as the nearest base class that can. Its message and traceback are those of its process.
"""

import copy
import pickle
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias

import msgspec

from calipers.data.attempt import Attempt
from calipers.data.case import Case
from calipers.data.jsonable import safe_repr
from calipers.data.result import describe_error, describe_error_as
from calipers.data.trace import Trace
from calipers.errors import TravelError
from calipers.spans import SpanTree

MOST_BYTES: Final = 256 * 1024 * 1024
"""An attempt whose output and trace are larger than this does not come back."""

_DEEP: Final = 5
"""How far into a value the search for the part goes that cannot be pickled."""
_CAUSES: Final = 10
"""How many causes of an error travel with it."""
_UNCHANGING = (str, int, float, bytes, type(None))
"""Inputs that no task can change."""

Message: TypeAlias = list[tuple[int, bytes]]
"""Attempts, or what came of them, each by its number."""

Dumps: TypeAlias = Callable[[Any], bytes]
"""How values are pickled; what it gives, `pickle.loads` reads."""


def by_name(value: Any) -> bytes:
    """A value, pickled; of functions and classes only the names, by which they are imported elsewhere."""
    return pickle.dumps(value, protocol=5)


class Outcome(msgspec.Struct, array_like=True):
    """What came of one call of the task."""

    output: Any
    errors: "list[_Told]"
    """What it raised, and what that came from; empty if it ended well."""
    duration: float
    metrics: dict[str, int | float]
    attributes: dict[str, Any]
    usage: dict[str, int | float]
    trace: Trace | None
    spans: Any
    trace_id: str | None
    span_id: str | None
    looked: tuple[bool, bool, bool]
    """Whether the task looked at the seed, its case, its name."""
    changed_inputs: tuple[Any, ...] = ()
    """The inputs as the task left them, if it changed them."""

    def __reduce__(self) -> Any:
        return Outcome, msgspec.structs.astuple(self)


class _Told(msgspec.Struct):
    """One error: how to make it again, and what is told of it."""

    pickled: bytes
    described: tuple[str, str, str]

    def __reduce__(self) -> Any:
        return _Told, (self.pickled, self.described)


# ---------------------------------------------------------------------- there


def pack_attempt(attempt: Attempt, dumps: Dumps = by_name) -> bytes:
    """An attempt that is to be made elsewhere.

    Raises:
        TravelError: something in its case cannot be pickled.
    """
    case = _without_evaluators(attempt.case)
    told = (
        attempt.inputs,
        case,
        attempt.name,
        attempt.case_name,
        attempt.repeat_index,
        attempt.run_seed,
        attempt.tries,
        attempt.usage,
    )
    try:
        return dumps(told)
    except Exception as error:
        parts = {
            "inputs": attempt.inputs,
            **{f"case.{name}": getattr(case, name) for name in ("metadata", "expected_output", "turns")},
        }
        raise TravelError(
            f"case {attempt.case_name!r} cannot be sent to another process: {unpicklable(parts, error, dumps)}"
        ) from error


def unpack_attempt(data: bytes, function: Any) -> Attempt:
    """The attempt to make, of a task's function."""
    inputs, case, name, case_name, repeat_index, run_seed, tries, usage = pickle.loads(data)  # noqa: S301 - our own run sent it
    return Attempt(
        case,
        inputs,
        name,
        case_name,
        repeat_index,
        run_seed,
        {},
        {},
        function=function,
        tries=tries,
        usage=usage,
    )


def _without_evaluators(case: Case[Any, Any, Any]) -> Case[Any, Any, Any]:
    if not case.evaluators and not case.turns:
        return case
    bare = copy.copy(case)
    bare.evaluators = []
    bare.turns = tuple(copy.copy(turn) for turn in case.turns)
    for turn in bare.turns:
        turn.evaluators = []
    return bare


# ---------------------------------------------------------------------- and back


def inputs_before(attempt: Attempt, dumps: Dumps = by_name) -> bytes | None:
    """The inputs before the task is called, to tell whether it changes them; `None` if it cannot."""
    if issubclass(type(attempt.inputs), _UNCHANGING):  # by its type: an object may lie about its class
        return None
    with suppress(Exception):
        return dumps(attempt.inputs)
    return None


def pack_outcome(
    attempt: Attempt, before: bytes | None, *, records_spans: bool, dumps: Dumps = by_name
) -> bytes:
    """What came of an attempt that was made here; of one that cannot travel, the error that says so."""
    outcome = _outcome(attempt, dumps, records_spans=records_spans)
    if before is not None and inputs_before(attempt, dumps) not in {before, None}:
        outcome.changed_inputs = (attempt.inputs,)
    try:
        packed = dumps(outcome)
    except Exception as error:
        parts = {
            "output": outcome.output,
            "attributes": outcome.attributes,
            "trace": outcome.trace,
            "spans": outcome.spans,
            "inputs": outcome.changed_inputs,
        }
        text = f"what came of the attempt cannot be sent back: {unpicklable(parts, error, dumps)}"
        return _refused(attempt, TravelError(text))
    if len(packed) <= MOST_BYTES:
        return packed
    text = (
        f"what came of the attempt is too large to be sent back: {len(packed):,} bytes, and at most {MOST_BYTES:,} are; "
        "write it to a file, and return its name"
    )
    return _refused(attempt, TravelError(text))


def pack_unreadable(error: Exception) -> bytes:
    """The outcome of an attempt that cannot be read here."""
    failure = TravelError(f"the case cannot be read in the worker: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return _refused(Attempt(Case(inputs=None), None, "", "", 1, 0, {}, {}), failure)


def _outcome(attempt: Attempt, dumps: Dumps, *, records_spans: bool) -> Outcome:
    error = attempt.error
    return Outcome(
        output=attempt.output,
        errors=[] if error is None else _pack_error(error, dumps),
        duration=attempt.duration,
        metrics=attempt.metrics,
        attributes=attempt.attributes,
        usage=attempt.usage,
        trace=attempt.trace if error is None else attempt.trace_so_far,
        spans=attempt.spans if records_spans and isinstance(attempt.spans, SpanTree) else None,
        trace_id=attempt.trace_id,
        span_id=attempt.span_id,
        looked=(attempt.seed_was_read, attempt.case_was_read, attempt.name_was_read),
    )


def _refused(attempt: Attempt, error: TravelError) -> bytes:
    """The outcome of an attempt of which only numbers come back, and why."""
    attempt.error = error
    outcome = _outcome(attempt, by_name, records_spans=False)
    outcome.output, outcome.attributes, outcome.trace = None, {}, None
    return pickle.dumps(outcome, protocol=5)


def unpack_outcome(data: bytes, attempt: Attempt) -> None:
    """Put into an attempt what came of it elsewhere."""
    try:
        outcome = pickle.loads(data)  # noqa: S301 - code of the user's own run made it
    except Exception as error:
        failure = TravelError(
            f"what came of the attempt cannot be read here: {type(error).__name__}: {error}"
        )
        failure.__cause__ = error
        attempt.error = failure
        return
    attempt.output, attempt.error = outcome.output, _unpack_error(outcome.errors)
    attempt.duration, attempt.metrics, attempt.attributes = (
        outcome.duration,
        outcome.metrics,
        outcome.attributes,
    )
    attempt.usage, attempt.trace, attempt.recorded = outcome.usage, outcome.trace, []
    attempt.trace_id, attempt.span_id = outcome.trace_id, outcome.span_id
    if outcome.spans is not None:
        attempt.spans = outcome.spans
    if outcome.changed_inputs:
        (attempt.inputs,) = outcome.changed_inputs
    seed, case, name = outcome.looked
    attempt.seed_was_read = attempt.seed_was_read or seed
    attempt.case_was_read = attempt.case_was_read or case
    attempt.name_was_read = attempt.name_was_read or name


# ---------------------------------------------------------------------- errors


def _pack_error(error: BaseException, dumps: Dumps) -> list[_Told]:
    """An error and what it came from, the error first."""
    chain: list[_Told] = []
    found: BaseException | None = error
    while found is not None and len(chain) < _CAUSES:
        chain.append(_Told(_pickled_error(found, dumps), describe_error(found)))
        found = found.__cause__
    return chain


def _pickled_error(error: BaseException, dumps: Dumps) -> bytes:
    """How to make an error again: the error itself, or the nearest of its bases with its text and its attributes."""
    with suppress(Exception):
        packed = dumps(error)
        if type(pickle.loads(packed)) is type(error):  # noqa: S301 - it was made here
            return packed
    attributes: dict[str, Any] = {}
    for name, value in vars(error).items():
        with suppress(Exception):
            dumps(value)
            attributes[name] = value
    text = ""
    with suppress(Exception):
        text = str(error)
    for kind in type(error).__mro__:
        with suppress(Exception):
            packed = dumps((kind, text, attributes))
            _remade(*pickle.loads(packed))  # noqa: S301 - it was made here
            return packed
    return pickle.dumps((RuntimeError, text, {}), protocol=5)


def _remade(kind: Any, text: str, attributes: dict[str, Any]) -> BaseException:
    """An error of a class, without calling what makes one: that may want other arguments than a text."""
    error: BaseException = kind.__new__(kind, text)
    vars(error).update(attributes)
    return error


def _unpack_error(chain: list[_Told]) -> BaseException | None:
    cause: BaseException | None = None
    for told in reversed(chain):
        error: Any
        try:
            error = pickle.loads(told.pickled)  # noqa: S301 - code of the user's own run made it
            if isinstance(error, tuple):
                error = _remade(*error)
        except Exception:  # its class cannot be imported here
            error = RuntimeError(told.described[1])
        error.__cause__ = cause
        describe_error_as(error, told.described)
        cause = error
    return cause


# ---------------------------------------------------------------------- which part it is


def unpicklable(parts: Mapping[str, Any], error: Exception, dumps: Dumps = by_name) -> str:
    """Which part of some values cannot be pickled, and what it is, as the end of a message.

    Args:
        parts: the values, each by the name that the user knows it by.
        error: what was raised when they were pickled together.
        dumps: pickles a value.
    """
    for name, value in parts.items():
        found = _culprit(name, value, dumps)
        if found is not None:
            where, part, why = found
            return (
                f"{where} is {safe_repr(part):.200} ({type(part).__name__}), which cannot be pickled: {why}"
            )
    return f"{type(error).__name__}: {error}"


def _culprit(name: str, value: Any, dumps: Dumps) -> tuple[str, Any, str] | None:
    """The innermost part that cannot be pickled: where it is, what it is, and why."""
    place, part, why = name, value, _why_not(value, dumps)
    if why is None:
        return None
    for _ in range(_DEEP):
        inner = next(
            (
                (f"{place}{where}", below, reason)
                for where, below in _parts_of(part, inside_functions=dumps is not by_name)
                if (reason := _why_not(below, dumps)) is not None
            ),
            None,
        )
        if inner is None:
            break
        place, part, why = inner
    return place, part, why


def _why_not(value: Any, dumps: Dumps) -> str | None:
    try:
        dumps(value)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _parts_of(value: Any, *, inside_functions: bool) -> list[tuple[str, Any]]:
    """What a value is made of, each part with the way to it."""
    if isinstance(value, Mapping):
        return [(f"[{key!r}]", each) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return [(f"[{number}]", each) for number, each in enumerate(value)]
    if isinstance(value, types.FunctionType) and not inside_functions:  # only its name is pickled
        return []
    found: list[tuple[str, Any]] = []
    with suppress(Exception):
        code = getattr(value, "__code__", None)
        if code is not None:
            cells = zip(code.co_freevars, value.__closure__ or (), strict=True)
            found += [(f", whose variable {name}", cell.cell_contents) for name, cell in cells]
            used = {name: value.__globals__[name] for name in code.co_names if name in value.__globals__}
            found += [(f", whose global {name}", each) for name, each in used.items()]
    with suppress(Exception):
        found += [(f".{name}", getattr(value, name)) for name in ("func", "__self__") if hasattr(value, name)]
        found += [(f".{name}", each) for name, each in vars(value).items()]
    return found
