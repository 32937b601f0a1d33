"""A run cut by a field: what the cases with each value say, and how that differs from the rest.

Estimates are those of the report of these cases: the unit is the case, and clusters are respected. Whether a slice differs is asked of
many slices at once, so p-values are adjusted by Holm over all that were looked at.
"""

from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from calipers.data.argument_checks import did_you_mean
from calipers.errors import InvalidOptionError
from calipers.stats.case_moments import CaseMoments, compare_moments
from calipers.stats.difference import Difference, compare_unpaired
from calipers.stats.estimate import Estimate, mean, rate
from calipers.stats.interval import Interval
from calipers.stats.p_values import holm

from .case_selection import Selection
from .deadline import Deadline
from .facets import cases_with
from .field_values import FieldValues, shown, term_without, values_of
from .index_builder import JUDGED
from .index_source import ResultColumn
from .run_index import RunIndex
from .value_column import Array, Mask
from .wire import Slice, SlicesAnswer

MOST: Final = 100
"""Slices that are looked at: those with the most cases."""
LEVEL: Final = 0.05
CORRECTION: Final = "Holm"


class Measured(NamedTuple):
    """What is averaged: a number of each attempt that has one."""

    values: Array
    known: Mask
    is_rate: bool
    bounds: tuple[float, float] | None = None


def slices(
    selection: Selection, by: str, *, evaluator: str | None = None, deadline: Deadline | None = None
) -> SlicesAnswer:
    """The cases of a selection cut by a field; those that certainly differ most come first.

    Args:
        selection: the cases.
        by: a field such as `tag`, `cluster`, `meta.lang` or `label.tone`.
        evaluator: a column of assertions or scores; default: whether the attempt passed.
        deadline: when slices are left out.

    Raises:
        InvalidOptionError: there is no such field, or no such column.
    """
    index = selection.index
    found = values_of(index, by)
    measured = measure(index, evaluator)
    chosen = selection.chosen[index.case_of]
    has_value = np.zeros(index.attempts, np.bool_)
    has_value[found.rows] = True
    order, counts, left_out = _largest(selection, found)
    made: list[Slice] = []
    p_values: list[float | None] = []
    timed_out = False
    for code in order:
        if deadline is not None and deadline.is_over:
            timed_out = True
            break
        rows = found.rows[found.codes == code]
        one = _slice(index, measured, chosen, rows[chosen[rows]])
        made.append(
            Slice(
                value=shown(found.values[code]),
                cases=int(counts[code]),
                filter=found.term(code),
                estimate=one.estimate,
                difference=one.difference,
                difference_interval=one.interval,
            )
        )
        p_values.append(one.p_value)
    lacking = np.flatnonzero(chosen & ~has_value)
    if len(lacking) and not timed_out:
        one = _slice(index, measured, chosen, lacking)
        cases = len(np.unique(index.case_of[lacking]))
        name = term_without(found.field, found.key)
        made.append(
            Slice(
                value="(none)",
                is_missing=True,
                cases=cases,
                filter=name,
                estimate=one.estimate,
                difference=one.difference,
                difference_interval=one.interval,
            )
        )
        p_values.append(one.p_value)
    whole = estimate(index, measured, np.flatnonzero(chosen))
    return SlicesAnswer(
        by=by,
        evaluator=evaluator,
        is_rate=measured.is_rate,
        slices=_adjusted(made, p_values),
        left_out=left_out,
        looked_at=sum(each is not None for each in p_values),
        correction=CORRECTION,
        whole=whole,
        timed_out=timed_out,
    )


def _largest(selection: Selection, found: FieldValues) -> tuple[list[int], Array, int]:
    counts = cases_with(selection, found)
    order = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    return order[:MOST].tolist(), counts, max(0, len(order) - MOST)


def _adjusted(made: Sequence[Slice], p_values: Sequence[float | None]) -> list[Slice]:
    """The slices with p-values adjusted for being many, in order."""
    known = [place for place, each in enumerate(p_values) if each is not None]
    adjusted = dict(zip(known, holm([p_values[place] or 0.0 for place in known]), strict=True))
    found = [
        msgspec.structs.replace(
            each, adjusted_p=adjusted.get(place), differs=adjusted.get(place, 1.0) < LEVEL
        )
        for place, each in enumerate(made)
    ]
    return sorted(found, key=lambda each: -_certain(each))


def _certain(each: Slice) -> float:
    """How far the near end of a difference's interval is from 0; below 0, if 0 is within."""
    interval = each.difference_interval
    if interval is None:
        return -float("inf")
    return max(interval.low, -interval.high)


# ---------------------------------------------------------------------- estimates


def measure(index: RunIndex, evaluator: str | None) -> Measured:
    """What a slice averages: whether attempts passed, or a column of results.

    Raises:
        InvalidOptionError: there is no such column.
    """
    if evaluator is None:
        return Measured((index.status == 0).astype(np.float64), index.status <= 2, is_rate=True)
    columns = [each for each in index.results if each.kind != "label"]
    column = next((each for each in columns if each.name == evaluator), None)
    if column is None:
        names = [each.name for each in columns]
        raise InvalidOptionError(
            f"no column of results is called {evaluator!r}{did_you_mean(evaluator, names)}; there are {names}"
        )
    if column.kind == "score":
        values, known = index.numbers(f"score.{column.name}")
        return Measured(values, known, is_rate=False, bounds=_bounds(values[known], column.range))
    values, known = index.numbers(f"held.{column.name}")
    return Measured(values, known | _lost(index, column), is_rate=True)


def _bounds(values: Array, declared: tuple[float, float] | None) -> tuple[float, float] | None:
    """The bounds that all numbers keep to: those that were declared, else 0 and 1, else `None`."""
    low, high = (0.0, 1.0) if declared is None else declared
    return (low, high) if len(values) and low <= values.min() and values.max() <= high else None


def _lost(index: RunIndex, column: ResultColumn) -> Mask:
    """The attempts at which a column has no result since the task or its evaluator did not finish."""
    found = np.zeros(index.attempts, np.bool_)
    for name in column.evaluators:
        part = index.values(f"eval.{name}").parts.get("int")
        if part is not None:
            found |= index.dense(part)[0] & JUDGED["errored"] > 0
    part = index.values("not_run").parts.get("code")
    if part is not None:
        codes, _ = index.dense(part)
        found |= np.asarray([False, *(not set(column.evaluators).isdisjoint(names) for names in part.table)])[
            codes
        ]
    return found


def estimate(index: RunIndex, measured: Measured, rows: Array) -> Estimate | None:
    """What the report of some attempts says; `None` if nothing was asserted."""
    if index.clusters is None:
        found = _moments(index, measured, rows)
        if found is None:
            return None
        return found.rate() if measured.is_rate else found.score(bounds=measured.bounds)
    cases = _Cases(index, measured, rows)
    if not cases.numbers:
        return None
    if measured.is_rate:
        return rate([(sum(each), len(each)) for each in cases.numbers], clusters=cases.clusters)
    return mean(cases.numbers, bounds=measured.bounds, clusters=cases.clusters)


def _moments(index: RunIndex, measured: Measured, rows: Array) -> CaseMoments | None:
    """What is counted of the cases of some attempts; `None` if there are none."""
    rows = rows[measured.known[rows]]
    if not len(rows):
        return None
    found = measured.values[rows]
    attempts = found
    if index.cases < index.attempts:
        cases = index.case_of[rows]
        counts = np.bincount(cases, minlength=index.cases)
        tried = counts > 0
        found = np.bincount(cases, found, index.cases)[tried] / counts[tried]
    return CaseMoments(
        n=len(found),
        n_attempts=len(rows),
        mean=float(found.mean()),
        variance=float(found.var(ddof=1)) if len(found) > 1 else None,
        lowest=float(found.min()),
        highest=float(found.max()),
        passed_or_not=bool(((attempts == 0) | (attempts == 1)).all()),
    )


class _Cases:
    """The numbers of attempts by case, where cases are in clusters."""

    def __init__(self, index: RunIndex, measured: Measured, rows: Array) -> None:
        rows = rows[measured.known[rows]]
        by_case: dict[int, list[float]] = {}
        for case, value in zip(index.case_of[rows].tolist(), measured.values[rows].tolist(), strict=True):
            by_case.setdefault(case, []).append(value)
        self.numbers = list(by_case.values())
        known = index.clusters
        assert known is not None
        self.clusters: list[Hashable] = [
            ("", case) if known[case] < 0 else int(known[case]) for case in by_case
        ]


class _Cut(NamedTuple):
    """A slice beside the rest."""

    estimate: Estimate | None
    difference: float | None
    interval: Interval | None
    p_value: float | None


def _slice(index: RunIndex, measured: Measured, chosen: Mask, rows: Array) -> _Cut:
    """The estimate of a slice and its difference from the rest."""
    found = estimate(index, measured, rows)
    rest = chosen.copy()
    rest[rows] = False
    difference = _difference(index, measured, rows, np.flatnonzero(rest))
    if difference is None:
        return _Cut(found, None, None, None)
    return _Cut(found, difference.value, difference.interval, difference.p_value)


def _difference(index: RunIndex, measured: Measured, rows: Array, others: Array) -> Difference | None:
    """How much higher some attempts are than others; `None` if either has no numbers."""
    if index.clusters is None:
        one, other = _moments(index, measured, rows), _moments(index, measured, others)
        return None if one is None or other is None else compare_moments(one, other)
    these, those = _Cases(index, measured, rows), _Cases(index, measured, others)
    if not these.numbers or not those.numbers:
        return None
    return compare_unpaired(
        these.numbers, those.numbers, first_clusters=these.clusters, second_clusters=those.clusters
    )
