"""The cases of an index that meet a filter, in some order: what the table of cases and its neighbours are made of.

A case is in a selection if one of its attempts meets all terms. Its row folds all its attempts in. What is not known is sorted last,
whichever way round; cases that are equal stay in the order of the dataset.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from calipers.data.argument_checks import did_you_mean
from calipers.errors import InvalidOptionError
from calipers.report.attempt_filter import AttemptFilter, parse_filter

from .attempt_mask import attempts_that_meet
from .deadline import Deadline
from .index_builder import OUTCOMES
from .index_source import Peek, ResultColumn
from .run_index import RunIndex
from .value_column import Array, Mask
from .wire import CaseRow, Mark

MARKS: Final[tuple[Mark, ...]] = ("pass", "fail", "error", "skip")
"""By the outcome of an attempt."""
SORTS: Final = ("order", "name", "mark", "seconds", "cost", "tokens")
"""What cases can be sorted by, beside `value.NAME`."""
_WORST: Final = np.asarray([2, 1, 0, 3])
"""By outcome: what did not finish is worst, then what failed; what was not judged is least."""


@dataclass(frozen=True)
class Selection:
    """Cases that meet a filter, in order."""

    index: RunIndex
    q: str
    sort: str
    cases: Array
    """Their numbers."""
    attempts: Mask
    """Which attempts meet the filter."""
    searched: float
    """The share of the attempts that was searched before the deadline; below 1, there may be more."""

    @property
    def total(self) -> int:
        """How many cases."""
        return len(self.cases)

    @property
    def chosen(self) -> Mask:
        """Of each case of the index, whether it is in the selection."""
        found = np.zeros(self.index.cases, np.bool_)
        found[self.cases] = True
        return found


def select(
    index: RunIndex, q: str | AttemptFilter = "", *, sort: str = "", deadline: Deadline | None = None
) -> Selection:
    """The cases that meet a filter.

    Args:
        index: of a run.
        q: the filter; an empty one is met by every case.
        sort: one of `SORTS`, or `value.NAME` for a column of results; a minus before it turns it round. Default: the order of the dataset.
        deadline: when searching texts ends.

    Raises:
        FilterError: it is not a filter, or not one for a single run.
        InvalidOptionError: there is nothing of that name to sort by.
    """
    wanted = parse_filter(q) if isinstance(q, str) else q
    met = attempts_that_meet(index, wanted, deadline=deadline)
    inside = np.zeros(index.cases, np.bool_)
    inside[index.case_of[met.rows]] = True
    order = sorted_cases(index, sort)
    cases = np.flatnonzero(inside) if order is None else order[inside[order]]
    return Selection(index, str(wanted), sort, cases, met.rows, met.searched)


def sorted_cases(index: RunIndex, sort: str) -> Array | None:
    """All cases in an order; `None`: that of the dataset.

    Raises:
        InvalidOptionError: there is nothing of that name to sort by.
    """
    by = sort.removeprefix("-")
    down = sort.startswith("-")
    if by in {"", "order"}:
        return np.arange(index.cases)[::-1] if down else None

    def make() -> Array:
        keys, known = _sort_keys(index, by)
        order = np.argsort(-keys if down else keys, kind="stable")
        return np.concatenate([order[known[order]], np.flatnonzero(~known)])

    return index.in_order(sort, make)


def _sort_keys(index: RunIndex, by: str) -> tuple[Array, Mask]:
    """A number of each case, and which of them are known."""
    if by == "name":
        return index.name_ranks, np.ones(index.cases, np.bool_)
    if by == "mark":
        return _WORST[worst_outcomes(index)], np.ones(index.cases, np.bool_)
    if by in SORTS:
        return case_means(index, *index.numbers("duration" if by == "seconds" else by))
    name = by.removeprefix("value.")
    column = next((each for each in index.results if each.name == name), None) if name != by else None
    if column is None:
        known = [*SORTS, *(f"value.{each.name}" for each in index.results)]
        raise InvalidOptionError(
            f"cases cannot be sorted by {by!r}{did_you_mean(by, known)}; known are {', '.join(known)}"
        )
    return result_means(index, column)


def case_means(index: RunIndex, values: Array, known: Mask) -> tuple[Array, Mask]:
    """The mean over the attempts at each case that have a value, and which cases have any."""
    cases = index.case_of[known]
    counts = np.bincount(cases, minlength=index.cases)
    sums = np.bincount(cases, values[known], index.cases)
    return np.divide(sums, counts, out=np.zeros(index.cases), where=counts > 0), counts > 0


def result_means(index: RunIndex, column: ResultColumn) -> tuple[Array, Mask]:
    """Of each case the share that held, the mean score, or the place of its label in alphabetical order."""
    if column.kind == "assertion":
        return case_means(index, *index.numbers(f"held.{column.name}"))
    if column.kind == "score":
        return case_means(index, *index.numbers(f"score.{column.name}"))
    part = index.values(f"label.{column.name}").parts["code"]
    codes, known = index.dense(part)
    ranks = np.zeros(len(part.table) + 1)
    ranks[
        np.asarray(sorted(range(len(part.table)), key=lambda code: str(part.table[code])), np.int64) + 1
    ] = np.arange(len(part.table))
    return case_means(index, ranks[codes], known)


def worst_outcomes(index: RunIndex) -> Array:
    """The worst outcome among the attempts at each case."""
    found = np.full(index.cases, 3, np.int64)
    order = np.argsort(-_WORST[index.outcome], kind="stable")
    found[index.case_of[order]] = index.outcome[order]
    return found


# ---------------------------------------------------------------------- rows


def window(selection: Selection, at: int = 0, limit: int = 100) -> list[CaseRow]:
    """The rows of a selection from a place on."""
    index = selection.index
    cases = [int(case) for case in selection.cases[max(0, at) : max(0, at) + limit]]
    rows = {case: index.rows_of(case) for case in cases}
    shown = {case: _shown(index, of_case) for case, of_case in rows.items()}
    peeks = index.peeks([*shown.values()])
    measures = [index.numbers(name) for name in ("duration", "cost", "tokens")]
    values = [_Values(index, column) for column in index.results]
    return [
        _row(index, case, at + number, rows[case], peeks[shown[case]], measures, values)
        for number, case in enumerate(cases)
    ]


def _shown(index: RunIndex, rows: Sequence[int]) -> int:
    """The attempt that a row shows: the first of the worst ones."""
    return min(rows, key=lambda row: _WORST[index.outcome[row]])


def _row(
    index: RunIndex,
    case: int,
    at: int,
    rows: Sequence[int],
    peek: Peek,
    measures: Sequence[tuple[Array, Mask]],
    values: "Sequence[_Values]",
) -> CaseRow:
    outcomes = [int(index.outcome[row]) for row in rows]
    seconds, cost, tokens = (_mean(rows, *measure) for measure in measures)
    return CaseRow(
        at=at,
        id=index.id_of(case),
        name=peek.name,
        marks="".join(OUTCOMES[outcome] for outcome in outcomes),
        mark=MARKS[min(outcomes, key=lambda outcome: _WORST[outcome])],
        why=peek.why,
        input=peek.input,
        output=peek.output,
        expected=peek.expected,
        seconds=seconds,
        cost=cost,
        tokens=None if tokens is None else round(tokens),
        values=[each.of(rows) for each in values],
        tags=index.tags_of(rows[0]),
        labelled=int(sum(index.labelled[row] for row in rows)),
    )


def _mean(rows: Sequence[int], values: Array, known: Mask) -> float | None:
    some = [float(values[row]) for row in rows if known[row]]
    return sum(some) / len(some) if some else None


class _Values:
    """The values of a column of results."""

    def __init__(self, index: RunIndex, column: ResultColumn) -> None:
        self._column = column
        self._numbers: tuple[Array, Mask] | None = None
        if column.kind == "label":
            part = index.values(f"label.{column.name}").parts["code"]
            self._table: list[Any] = part.table
            self._codes, self._has = index.dense(part)
        else:
            name = "held" if column.kind == "assertion" else "score"
            self._numbers = index.numbers(f"{name}.{column.name}")

    def of(self, rows: Sequence[int]) -> float | str | None:
        """The share that held, the mean score, or the labels, each once."""
        if self._numbers is not None:
            return _mean(rows, *self._numbers)
        labels = dict.fromkeys(self._table[self._codes[row] - 1] for row in rows if self._has[row])
        return ", ".join(labels) or None


# ---------------------------------------------------------------------- places


class Neighbours(NamedTuple):
    """What stands around a case in a selection, by the ids of cases."""

    at: int | None
    """Its place; `None` if it is not in the selection."""
    of: int
    previous: str | None
    next: str | None
    previous_failure: str | None
    next_failure: str | None


def place_of(selection: Selection, case_id: str) -> int | None:
    """The place of a case in a selection; `None` if it is not in it."""
    case = selection.index.number_of(case_id)
    if case is None:
        return None
    places = np.flatnonzero(selection.cases == case)
    return int(places[0]) if len(places) else None


def neighbours(selection: Selection, case_id: str) -> Neighbours:
    """What stands before and after a case, and the nearest cases that did not pass."""
    index, cases = selection.index, selection.cases
    at = place_of(selection, case_id)
    if at is None:
        return Neighbours(None, len(cases), None, None, None, None)
    missed = np.isin(worst_outcomes(index)[cases], (1, 2))
    before, after = np.flatnonzero(missed[:at]), np.flatnonzero(missed[at + 1 :])

    def name(place: int | None) -> str | None:
        return index.id_of(int(cases[place])) if place is not None and 0 <= place < len(cases) else None

    return Neighbours(
        at=at,
        of=len(cases),
        previous=name(at - 1),
        next=name(at + 1),
        previous_failure=name(int(before[-1]) if len(before) else None),
        next_failure=name(at + 1 + int(after[0]) if len(after) else None),
    )
