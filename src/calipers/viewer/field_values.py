"""The values of a field in an index: which there are, and which attempts have each."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from calipers.report.attempt_fields import FIELDS, STATUSES
from calipers.report.attempt_filter import field_named, term_of, value_text

from .attempt_mask import column_of
from .deadline import check_deadline
from .index_builder import JUDGED, PARTS
from .run_index import RunIndex
from .value_column import Array

_AT_ONCE: Final = 20_000
"""Values that are put into words before it is asked whether there is time for more."""


class FieldValues(NamedTuple):
    """A field as pairs: an attempt has a value. An attempt may have several, or none."""

    field: str
    key: str
    values: list[Any]
    """Each different value: a text, a number or a flag."""
    rows: Array
    """The attempt of each pair."""
    codes: Array
    """The value of each pair: its place in `values`."""

    def term(self, code: int) -> str:
        """The term of a filter that finds a value."""
        return term_of(self.field, self.key, self.values[code])


def values_of(index: RunIndex, name: str) -> FieldValues:
    """The values of a field, such as `tag`, `meta.lang` or `status`.

    Raises:
        InvalidOptionError: there is no such field.
    """
    named = field_named(name, why="the field")
    field, key = named.field, named.key
    if field in {"status", "is", "has", "eval"}:
        return _of_words(index, field, key)
    values: list[Any] = []
    rows: list[Array] = []
    codes: list[Array] = []
    for found, where, what in _parts(index, field, key):
        rows.append(where)
        codes.append(what + len(values))
        values += found
    if not rows:
        return FieldValues(field, key, [], np.empty(0, np.int64), np.empty(0, np.int64))
    return _merged(FieldValues(field, key, values, np.concatenate(rows), np.concatenate(codes)))


def _parts(index: RunIndex, field: str, key: str) -> Iterator[tuple[list[Any], Array, Array]]:
    """Values with the rows that have them, from one column after another."""
    for kind, column in index.values(column_of(field, key)).parts.items():
        values, known = index.dense(column)
        where = np.flatnonzero(known)
        if kind == "code":
            table = column.table[: int(values.max(initial=0))]
            yield _flattened(index, field, table, where, values[where] - 1)
        else:
            unique, inside = np.unique(values[where], return_inverse=True)
            yield unique.tolist(), where, inside
    if field == "label" and index.people:
        said = [
            (row, label.value)
            for position, labels in index.people.items()
            for label in labels
            if label.question == key and (row := index.row_at(position)) is not None
        ]
        if said:
            yield (
                [value for _, value in said],
                np.asarray([row for row, _ in said], np.int64),
                np.arange(len(said)),
            )


def _flattened(
    index: RunIndex, field: str, table: list[Any], rows: Array, codes: Array
) -> tuple[list[Any], Array, Array]:
    """Values one by one, where a code stands for several."""
    listed = [list(dict.fromkeys(each)) if isinstance(each, tuple) else [each] for each in table]
    if field == "group":
        listed = [[index.groups[number].id for number in each] for each in listed]
    lengths = np.asarray([len(each) for each in listed], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    counts = lengths[codes] if len(codes) else np.empty(0, np.int64)
    where = np.repeat(rows, counts)
    ends = np.cumsum(counts)
    inside = np.arange(len(where)) - np.repeat(ends - counts, counts)
    return [value for each in listed for value in each], where, np.repeat(starts[codes], counts) + inside


def _merged(found: FieldValues) -> FieldValues:
    """The same with equal values put together, in alphabetical order."""
    numbers: dict[str, int] = {}
    names: list[str] = []
    for start in range(0, len(found.values), _AT_ONCE):
        check_deadline()
        names += map(value_text, found.values[start : start + _AT_ONCE])
    for name in sorted(set(names)):
        numbers[name] = len(numbers)
    codes = np.asarray([numbers[name] for name in names], np.int64)
    values = dict(zip(names, found.values, strict=True))
    return found._replace(values=[values[name] for name in numbers], codes=codes[found.codes])


def _of_words(index: RunIndex, field: str, key: str) -> FieldValues:
    """A field that is one of few words."""
    words, masks = list(FIELDS[field].choices), []
    for word in words:
        match field:
            case "status":
                masks.append(index.status == STATUSES.index(word))
            case "has":
                masks.append(index.bits & PARTS[word] > 0)
            case "eval":
                part = index.values(f"eval.{key}").parts.get("int")
                masks.append(
                    np.zeros(index.attempts, np.bool_)
                    if part is None
                    else index.dense(part)[0] & JUDGED[word] > 0
                )
            case _:
                masks.append(_trait(index, word))
    rows = [np.flatnonzero(mask) for mask in masks]
    codes = [np.full(len(where), code, np.int64) for code, where in enumerate(rows)]
    return FieldValues(field, key, words, np.concatenate(rows), np.concatenate(codes))


def _trait(index: RunIndex, word: str) -> Array:
    of_case = index.flaky if word == "flaky" else index.new_cases if word == "new" else None
    if of_case is not None:
        return np.asarray(of_case[index.case_of])
    if word == "new":
        return np.zeros(index.attempts, np.bool_)
    return np.asarray(index.labelled > 0 if word == "labelled" else index.outcome == 2)
