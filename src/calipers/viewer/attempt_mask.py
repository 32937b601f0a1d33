"""Which attempts of an index meet a filter: the same that `AttemptFilter.matches` says of their records.

Terms are asked of each different value once, or of all numbers at once. Texts are searched block by block until the deadline.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from calipers.report.attempt_fields import FIELDS, STATUSES
from calipers.report.attempt_filter import (
    AttemptFilter,
    Term,
    Wanted,
    number_in,
    time_range,
    without_comparison,
)

from .deadline import Deadline
from .index_builder import JUDGED, PARTS, microseconds
from .run_index import RunIndex
from .text_column import needle
from .value_column import Array, Mask

_COMPARE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    ":": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("input", "output", "remarks"),
    "input": ("input",),
    "output": ("output",),
    "case": ("case",),
}
"""The text columns behind a field."""


class Met(NamedTuple):
    """The attempts that meet a filter."""

    rows: Mask
    searched: float = 1.0
    """The share of the attempts that was searched before the deadline."""


class _Known(NamedTuple):
    """Of each attempt, whether it has a value that meets a term as it stands, and whether that is known."""

    met: Mask
    known: Mask | bool
    searched: float = 1.0


def attempts_that_meet(index: RunIndex, wanted: AttemptFilter, *, deadline: Deadline | None = None) -> Met:
    """The attempts that are known to meet all terms.

    Args:
        index: of a run.
        wanted: the filter.
        deadline: when searching texts ends; what was not searched by then is not met.

    Raises:
        FilterError: the filter asks for what is known only where two runs are compared.
    """
    without_comparison(wanted, also=() if index.new_cases is not None else ("new",))
    rows = np.ones(index.attempts, np.bool_)
    searched = 1.0
    # Texts last: they take longest.
    for term in sorted(wanted.terms, key=lambda term: term.field in _TEXTS):
        found = _asked(index, term, deadline)
        rows &= (found.met != term.is_negated) & found.known
        searched = min(searched, found.searched)
    return Met(rows, searched)


def _asked(index: RunIndex, term: Term, deadline: Deadline | None) -> _Known:
    if term.field in _TEXTS:
        return _in_texts(index, term, deadline)
    if term.field == "status":
        return _of_codes(index.status, [_met(term, [word]) for word in STATUSES])
    if term.field == "time":
        return _in_time(index, term)
    if term.field == "is":
        return _traits(index, term)
    if term.field == "has":
        return _Known(_any([index.bits & PARTS[value.text] > 0 for value in term.values]), known=True)
    if term.field == "eval":
        return _judgements(index, term)
    return _in_columns(index, term)


def _met(term: Term, values: Sequence[Any]) -> bool:
    """Whether values meet a term as it stands without its sign."""
    return bool(term.is_met_by(values)) != term.is_negated


def _any(masks: Sequence[Mask]) -> Mask:
    found = masks[0].copy()
    for mask in masks[1:]:
        found |= mask
    return found


def _of_codes(codes: Array, met: Sequence[bool]) -> _Known:
    return _Known(np.asarray(met, np.bool_)[codes], known=True)


# ---------------------------------------------------------------------- columns

_NAMES: Final[Mapping[str, str]] = {
    f"metric.{name}": name for name in ("cost", "input_tokens", "output_tokens", "requests")
}
"""Fields that are columns under another name."""


def column_of(field: str, key: str) -> str:
    """The name under which an index has the values of a field."""
    name = f"{field}.{key}" if key else field
    return _NAMES.get(name, name)


def _in_columns(index: RunIndex, term: Term) -> _Known:
    met = np.zeros(index.attempts, np.bool_)
    known = np.full(index.attempts, FIELDS[term.field].unless_absent, np.bool_)
    for kind, column in index.values(column_of(term.field, term.key)).parts.items():
        values, has = index.dense(column)
        if kind == "code":
            held = np.asarray(
                [False, *(_met(term, _listed(index, term, each)) for each in column.table)], np.bool_
            )[values]
        else:
            held = _in_numbers(term, values, has)
        met |= held & has
        known |= has
    if term.field == "label":
        _add_people(index, term, met, known)
    return _Known(met, known)


def _listed(index: RunIndex, term: Term, value: Any) -> Sequence[Any]:
    """The values behind a code."""
    if term.field == "group":
        return [index.groups[number].id for number in value]
    return value if isinstance(value, tuple) else (value,)


def _in_numbers(term: Term, values: Array, has: Mask) -> Mask:
    numbers = [number_in(value, FIELDS[term.field].kind) for value in term.values]
    known = [number for number in numbers if number is not None]
    if len(known) == len(numbers):
        sign = _COMPARE[":" if term.operator == "~" else term.operator]
        return _any([sign(values, number) for number in known])
    # Compared as texts, such as `meta.age:3*`.
    unique, inside = np.unique(values, return_inverse=True)
    held = np.asarray([_met(term, [each]) for each in unique.tolist()], np.bool_)
    return held[inside] & has


def _add_people(index: RunIndex, term: Term, met: Mask, known: Mask) -> None:
    for position, labels in index.people.items():
        said = [label.value for label in labels if label.question == term.key]
        row = index.row_at(position) if said else None
        if row is not None:
            met[row] |= _met(term, said)
            known[row] = True


def _judgements(index: RunIndex, term: Term) -> _Known:
    part = index.values(f"eval.{term.key}").parts.get("int")
    if part is None:
        return _Known(np.zeros(index.attempts, np.bool_), known=False)
    values, has = index.dense(part)
    return _Known(_any([values & JUDGED[value.text] > 0 for value in term.values]), has)


def _in_time(index: RunIndex, term: Term) -> _Known:
    times, known = index.times
    found: list[Mask] = []
    for value in term.values:
        begin, end = map(microseconds, time_range(value))
        if term.operator == ":":
            found.append((times >= begin) & (times <= end))
        else:
            found.append(_COMPARE[term.operator](times, begin))
    return _Known(_any(found), known)


def _traits(index: RunIndex, term: Term) -> _Known:
    found: list[Mask] = []
    for value in term.values:
        match value.text:
            case "flaky":
                found.append(index.flaky[index.case_of])
            case "labelled":
                found.append(index.labelled > 0)
            case "errored":
                found.append(index.outcome == 2)
            case _:
                assert index.new_cases is not None
                found.append(index.new_cases[index.case_of])
    return _Known(_any(found), known=True)


# ---------------------------------------------------------------------- texts


def _in_texts(index: RunIndex, term: Term, deadline: Deadline | None) -> _Known:
    wanted = tuple(_sought(term, value) for value in term.values)
    met = np.zeros(index.attempts, np.bool_)
    known = np.ones(index.attempts, np.bool_)
    for name in _TEXTS[term.field]:
        hits = index.search(name, wanted).hits(deadline)
        met |= hits.rows
        if hits.known is not None:
            known &= hits.known
    known |= met
    return _Known(met, known, float(known.mean()) if index.attempts else 1.0)


def _sought(term: Term, value: Wanted) -> bytes:
    anywhere = term.operator == "~" or FIELDS[term.field].kind == "text"
    if anywhere:
        return needle(value.text)
    return needle(value.text, beginning=value.is_beginning, whole=not value.is_beginning)
