"""A run cut by a field: what the cases with each value say, and how that differs from the rest; `calipers.report.cut` says how."""

from typing import NamedTuple

import msgspec
import numpy as np

from calipers.data.argument_checks import did_you_mean
from calipers.data.case import FAULT_TAG, NO_FAULT
from calipers.errors import InvalidOptionError
from calipers.report.attempt_filter import term_without, value_text
from calipers.report.cut import CORRECTION, MOST, Adjusted, Cases, ClusteredCases, Cut, Scale, adjusted, cut
from calipers.report.cut import estimate as estimate_of
from calipers.report.run_slices import WITHOUT_FAULTS
from calipers.stats.case_moments import CaseMoments
from calipers.stats.estimate import Estimate

from .case_selection import Selection
from .deadline import Deadline
from .facets import cases_with
from .field_values import FieldValues, values_of
from .index_builder import JUDGED
from .index_source import ResultColumn
from .run_index import RunIndex
from .value_column import Array, Mask
from .wire import Slice, SlicesAnswer


class Measured(NamedTuple):
    """What is averaged: a number of each attempt that has one."""

    values: Array
    known: Mask
    scale: Scale


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
    faulty = under_faults(index)
    chosen = selection.chosen[index.case_of]
    clean = chosen
    if faulty is not None:
        clean = chosen & ~faulty
        is_fault = np.asarray([by == "tag" and _is_fault(value) for value in found.values], np.bool_)
        counted = clean[found.rows] | is_fault[found.codes]
        found = found._replace(rows=found.rows[counted], codes=found.codes[counted])
    has_value = np.zeros(index.attempts, np.bool_)
    has_value[found.rows] = True
    order, counts, left_out = _largest(selection, found)
    made: list[Slice] = []
    cuts: list[Cut] = []
    timed_out = False
    for code in order:
        if deadline is not None and deadline.is_over:
            timed_out = True
            break
        value, term = found.values[code], found.term(code)
        if faulty is not None and term != WITHOUT_FAULTS and not (by == "tag" and _is_fault(value)):
            term += f" {WITHOUT_FAULTS}"
        rows = found.rows[found.codes == code]
        rows = rows[chosen[rows]]
        cuts.append(_cut(index, measured, clean, rows))
        made.append(Slice(value=value_text(value), cases=int(counts[code]), filter=term, estimate=None))
    lacking = np.flatnonzero(clean & ~has_value)
    if len(lacking) and not timed_out:
        cuts.append(_cut(index, measured, clean, lacking))
        made.append(
            Slice(
                value="(none)",
                is_missing=True,
                cases=len(np.unique(index.case_of[lacking])),
                filter=term_without(found.field, found.key)
                + ("" if faulty is None else f" {WITHOUT_FAULTS}"),
                estimate=None,
            )
        )
    return SlicesAnswer(
        by=by,
        evaluator=evaluator,
        is_rate=measured.scale.is_rate,
        slices=[_with_cut(made[each.place], each) for each in adjusted(cuts)],
        left_out=left_out,
        looked_at=sum(each.p_value is not None for each in cuts),
        correction=CORRECTION,
        whole=estimate(index, measured, np.flatnonzero(clean)),
        timed_out=timed_out,
    )


def _with_cut(made: Slice, found: Adjusted) -> Slice:
    return msgspec.structs.replace(
        made,
        estimate=found.cut.estimate,
        difference=found.cut.difference,
        difference_interval=found.cut.interval,
        adjusted_p=found.p_value,
        differs=found.differs,
    )


def under_faults(index: RunIndex) -> Mask | None:
    """The attempts that were made under a fault of the agent's tools, which count in the slice of that fault alone; `None` if there are none."""
    part = index.values("tag").parts.get("code")
    if part is None or not any(f"{FAULT_TAG}{NO_FAULT}" in tags for tags in part.table):
        return None
    codes, _ = index.dense(part)
    found: Mask = np.asarray([False, *(any(map(_is_fault, tags)) for tags in part.table)])[codes]
    return found if found.any() else None


def _is_fault(tag: object) -> bool:
    return isinstance(tag, str) and tag.startswith(FAULT_TAG) and tag != f"{FAULT_TAG}{NO_FAULT}"


def _largest(selection: Selection, found: FieldValues) -> tuple[list[int], Array, int]:
    counts = cases_with(selection, found)
    order = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    return order[:MOST].tolist(), counts, max(0, len(order) - MOST)


# ---------------------------------------------------------------------- estimates


def measure(index: RunIndex, evaluator: str | None) -> Measured:
    """What a slice averages: whether attempts passed, or a column of results.

    Raises:
        InvalidOptionError: there is no such column.
    """
    if evaluator is None:
        return Measured((index.status == 0).astype(np.float64), index.status <= 2, Scale(is_rate=True))
    columns = [each for each in index.results if each.kind != "label"]
    column = next((each for each in columns if each.name == evaluator), None)
    if column is None:
        names = [each.name for each in columns]
        raise InvalidOptionError(
            f"no column of results is called {evaluator!r}{did_you_mean(evaluator, names)}; there are {names}"
        )
    if column.kind == "score":
        values, known = index.numbers(f"score.{column.name}")
        return Measured(values, known, Scale(is_rate=False, bounds=_bounds(values[known], column.range)))
    values, known = index.numbers(f"held.{column.name}")
    return Measured(values, known | _lost(index, column), Scale(is_rate=True))


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
    return estimate_of(_cases(index, measured, rows), measured.scale)


def _cut(index: RunIndex, measured: Measured, clean: Mask, rows: Array) -> Cut:
    """Some attempts beside the rest of those that were chosen and made without faults."""
    rest = clean.copy()
    rest[rows] = False
    return cut(_cases(index, measured, rows), _cases(index, measured, np.flatnonzero(rest)), measured.scale)


def _cases(index: RunIndex, measured: Measured, rows: Array) -> Cases | None:
    """What is known of the cases of some attempts; `None` if none has a number."""
    rows = rows[measured.known[rows]]
    if not len(rows):
        return None
    return _moments(index, measured, rows) if index.clusters is None else _listed(index, measured, rows)


def _moments(index: RunIndex, measured: Measured, rows: Array) -> CaseMoments:
    """What is counted of the cases of some attempts."""
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


def _listed(index: RunIndex, measured: Measured, rows: Array) -> ClusteredCases:
    """The numbers of attempts by case, with the clusters of the cases."""
    by_case: dict[int, list[float]] = {}
    for case, value in zip(index.case_of[rows].tolist(), measured.values[rows].tolist(), strict=True):
        by_case.setdefault(case, []).append(value)
    known = index.clusters
    assert known is not None
    clusters = [("", case) if known[case] < 0 else int(known[case]) for case in by_case]
    return ClusteredCases(list(by_case.values()), clusters)
