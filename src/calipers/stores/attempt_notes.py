"""Notes beside a stored attempt and its cells, by which a later run tells whether they still hold.

Notes stand in the stored objects under a key of their own, only where there is something to note. Reading a report does
not look at them.

A cell of a rollout metric notes what `compute_metrics` returned. A later run combines it with what it computes itself, so it
is read back as it was: NaN as a number, a tuple as a tuple, the key 1 as a number. A value that JSON cannot express is an
object with one key that begins with a dollar sign.
"""

import types
from collections.abc import Mapping
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Final

import msgspec

from calipers.data.evaluator_styles import RolloutEvaluator
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase

from .stored_attempt import FORMAT

if TYPE_CHECKING:
    from calipers.scoring.evaluator_plan import PlannedEvaluator


class AttemptNotes(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True):
    """What else is known of an attempt."""

    rich: bool = False
    """Whether the task returned an object that JSON cannot hold, so that only its plain form is stored."""
    form: str | None = None
    """Of such an object: a hash that tells whether one made of the plain data is the same; see `reuse.form_of`."""
    rich_attributes: bool = False
    """Whether the same is true of its attributes."""
    rich_case: bool = False
    """Whether the same is true of the case's inputs, metadata or expectation."""
    redacted: bool = False
    """Whether redaction hooks took something out of its output, attributes, trace or spans."""
    redacted_case: bool = False
    """Whether they took something out of the case's inputs, metadata, tags or expectation."""
    seed: int | None = None
    """The seed of the run, where the task asked for the seed of the attempt."""
    case: str | None = None
    """A hash of the case's name, tags, cluster and timeout, where the task looked at them; empty if unknown."""
    code: dict[str, str] | None = None
    """Digests of the code in what the case holds, by class or function; `None`: it holds none, empty: they are unknown."""
    output_code: dict[str, str] | None = None
    """The same of what the output and the attributes hold."""
    changed: bool = False
    """Whether an evaluator changed the output, which is stored as it was, so that those after it judged another."""
    spans: dict[str, Any] | None = None
    """The spans of the attempt, where an evaluator reads them."""


class CellNotes(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True):
    """What else is known of what one evaluator said."""

    after: str | None = None
    """A hash of the evaluators before it, where it looked at their results; empty if they cannot be known."""
    seed: int | None = None
    """The seed of the run, where the evaluator asked for the seed of the attempt."""
    case: str | None = None
    """A hash of the case's name, tags, cluster and timeout, where it looked at the case; empty if unknown."""
    as_plain: bool = False
    """Whether it was given the output as plain data, though the task had returned something else."""
    made: tuple[str, ...] = ()
    """Where it was given plain data: what nevertheless was the object again that it had been, case or output."""
    original: Any = None
    """What a rollout metric returned, as plain data; at the end of a run, all of them are combined."""


class _Noted(msgspec.Struct):
    notes: CellNotes = CellNotes()
    failures: list[msgspec.Raw] = []


class _NotedAttempt(msgspec.Struct):
    notes: AttemptNotes = AttemptNotes()


_MARK: Final = '"notes":'
_encode: Final = msgspec.json.Encoder().encode
_read_cell: Final = msgspec.json.Decoder(_Noted).decode
_read_attempt: Final = msgspec.json.Decoder(_NotedAttempt).decode
_NOTHING: Final = CellNotes()
_NOTHING_OF_ATTEMPT: Final = AttemptNotes()


def with_notes(body: str, notes: CellNotes) -> str:
    """The body of a cell with notes; a bare value becomes an object."""
    if notes == _NOTHING:
        return body
    if not body.startswith("{"):
        body = f'{{"format":{FORMAT},"results":[{{"value":{body}}}]}}'
    return f"{body[:-1]},{_MARK}{_encode(notes).decode()}}}"


def cell_notes(body: str) -> CellNotes:
    """The notes in the body of a cell."""
    return _read_cell(body).notes if _MARK in body and body.startswith("{") else _NOTHING


def has_failed(body: str) -> bool:
    """Whether an evaluator did not finish."""
    return '"failures":' in body and body.startswith("{") and bool(_read_cell(body).failures)


def with_attempt_notes(output: str, notes: AttemptNotes) -> str:
    """The output part of an attempt with notes."""
    return output if notes == _NOTHING_OF_ATTEMPT else f"{output[:-1]},{_MARK}{_encode(notes).decode()}}}"


def attempt_notes(output: str) -> AttemptNotes:
    """The notes in the output part of an attempt."""
    return _read_attempt(output).notes if _MARK in output else _NOTHING_OF_ATTEMPT


# ---------------------------------------------------------------------- metrics of rollouts

_NUMBER: Final = "$number"
_TUPLE: Final = "$tuple"
_ITEMS: Final = "$items"


def original_of(record: ReportCase, planned: "PlannedEvaluator") -> Any:
    """What a rollout metric returned of an attempt, to be kept in its notes; `None` for other evaluators."""
    if not isinstance(planned.evaluator, RolloutEvaluator):
        return None
    mine = (result.original for result in record.results if result.evaluator == planned.name)
    return kept_metrics(next(mine, None))


def kept_metrics(original: Any) -> Any:
    """The fields of what a rollout metric returned, as plain data."""
    fields = plain(original)
    if not isinstance(fields, dict):
        return fields
    try:
        return {name: _kept(_field(original, name)) for name in fields}
    except Exception:  # it contains itself, or raises when it is read
        return fields


def read_metrics(data: Any) -> types.SimpleNamespace | None:
    """The metrics that were kept, as an object with their fields; `None` if there are none."""
    if not isinstance(data, dict):
        return None
    return types.SimpleNamespace(**{name: _read(value) for name, value in data.items()})


def _field(original: Any, name: str) -> Any:
    return original[name] if isinstance(original, Mapping) else getattr(original, name)


def _kept(value: Any) -> Any:
    if isinstance(value, str | bool | None):
        return plain(value)
    if isinstance(value, Real) and not isinstance(value, Integral):
        number = float(value)
        return number if isfinite(number) else {_NUMBER: repr(number)}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {plain(key): _kept(item) for key, item in value.items()}
        return {_ITEMS: [[_kept(key), _kept(item)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {_TUPLE: [_kept(item) for item in value]}
    if isinstance(value, list):
        return [_kept(item) for item in value]
    if callable(listed := getattr(value, "tolist", None)) and not isinstance(value, type):
        return _kept(listed())
    return plain(value)


def _read(data: Any) -> Any:
    if isinstance(data, list):
        return [_read(item) for item in data]
    if not isinstance(data, dict):
        return data
    if _NUMBER in data:
        return float(data[_NUMBER])
    if _TUPLE in data:
        return tuple(_read(item) for item in data[_TUPLE])
    if _ITEMS in data:
        return {_read(key): _read(item) for key, item in data[_ITEMS]}
    return {key: _read(item) for key, item in data.items()}
