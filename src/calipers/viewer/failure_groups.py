"""Failures that are alike (`calipers.report.failure_groups`) among the cases of a selection, the largest groups first."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from calipers.report.attempt_filter import value_text
from calipers.report.cut import MOST as MOST_SLICES
from calipers.report.failure_groups import LOOKED_AT, MOST, Concentration, concentrations
from calipers.stats.case_moments import CaseMoments
from calipers.stats.estimate import Estimate

from .case_selection import Selection, worst_outcomes
from .deadline import Deadline
from .facets import cases_with
from .field_values import FieldValues, values_of
from .value_column import Array, Mask
from .wire import FailureGroup, GroupsAnswer, Slice


def failure_groups(
    selection: Selection, *, limit: int = MOST, deadline: Deadline | None = None
) -> GroupsAnswer:
    """What was said of several cases, or of one.

    Args:
        selection: the cases that count.
        limit: how many groups.
        deadline: when the rest is left out.
    """
    index = selection.index
    found = values_of(index, "group")
    counts = cases_with(selection, found)
    first = np.full(len(found.values), np.iinfo(np.int64).max)
    np.minimum.at(first, found.codes, index.positions[found.rows])
    order = np.lexsort((first, -counts))[: int((counts > 0).sum())]
    by_id = {group.id: group for group in index.groups}
    missed = selection.chosen & np.isin(worst_outcomes(index), (1, 2))
    n_missed = int(missed.sum())
    grouped = np.zeros(index.cases, np.bool_)
    grouped[index.case_of[found.rows]] = True
    made: list[FailureGroup] = []
    members: list[Mask] = []
    for code in order[:limit].tolist():
        if deadline is not None and deadline.is_over:
            break
        group = by_id[found.values[code]]
        rows = found.rows[found.codes == code]
        example = _example(selection, rows)
        if len(members) < LOOKED_AT:
            members.append(_cases_of(selection, rows))
        made.append(
            FailureGroup(
                id=group.id,
                evaluator=group.evaluator or None,
                said=group.said,
                mark="error" if group.did_not_finish else "fail",
                cases=int(counts[code]),
                share=int(counts[code]) / max(n_missed, 1),
                example=index.id_of(int(index.case_of[example])),
                example_name=index.peeks([example])[example].name,
                filter=found.term(code),
            )
        )
    mostly = _concentrated(selection, members, deadline)
    made[: len(mostly)] = [
        msgspec.structs.replace(group, concentrated=slices)
        for group, slices in zip(made, mostly, strict=False)
    ]
    return GroupsAnswer(
        by="said",
        groups=made,
        left_out=len(order) - len(made),
        ungrouped=int((missed & ~grouped).sum()),
    )


def _example(selection: Selection, rows: Array) -> int:
    """The first attempt of a group, in the order of the dataset."""
    inside = rows[selection.chosen[selection.index.case_of[rows]]]
    return int(inside[np.argmin(selection.index.positions[inside])])


def _cases_of(selection: Selection, rows: Array) -> Mask:
    """Which cases of a selection some attempts are at."""
    found = np.zeros(selection.index.cases, np.bool_)
    found[selection.index.case_of[rows]] = True
    return found & selection.chosen


class _Values(NamedTuple):
    """The values of a field among the cases of a selection."""

    found: FieldValues
    codes: list[int]
    """The values with the most cases."""
    counts: Array
    """How many cases each value has, by its code."""
    of_pairs: tuple[Array, Array]
    """Value and case, each pair once."""


def _concentrated(
    selection: Selection, groups: Sequence[Mask], deadline: Deadline | None
) -> list[list[Slice]]:
    """The slices that each group hits far more often than other cases."""
    fields = list(_fields(selection, deadline)) if groups else []
    slices = [(field, code) for field in fields for code in field.codes]
    inside = [
        {
            place: count
            for place, count in enumerate(
                count for field in fields for count in _shared(field, group)[field.codes].tolist()
            )
            if count
        }
        for group in groups
    ]
    found = concentrations(
        [int(group.sum()) for group in groups],
        [int(field.counts[code]) for field, code in slices],
        inside,
        cases=selection.total,
    )
    return [[_slice(*slices[each.place], each) for each in of_group] for of_group in found]


def _fields(selection: Selection, deadline: Deadline | None) -> Iterator[_Values]:
    """The fields that cut the selection, other than labels: those in which cases share a value."""
    index = selection.index
    for name in index.slice_fields():
        if name.startswith("label.") or (deadline is not None and deadline.is_over):
            continue
        found = values_of(index, name)
        cases = index.case_of[found.rows]
        chosen = selection.chosen[cases]
        pairs = found.codes[chosen] * index.cases + cases[chosen]
        if index.attempts > index.cases:
            pairs = np.unique(pairs)
        codes = pairs // max(index.cases, 1)
        counts = np.bincount(codes, minlength=len(found.values))
        order = np.argsort(-counts, kind="stable")[:MOST_SLICES]
        if len(counts) and counts[order[0]] > 1:
            yield _Values(found, order[counts[order] > 0].tolist(), counts, (codes, pairs % index.cases))


def _shared(field: _Values, group: Mask) -> Array:
    """How many cases of a group have each value."""
    codes, cases = field.of_pairs
    return np.bincount(codes[group[cases]], minlength=len(field.counts))


def _slice(field: _Values, code: int, found: Concentration) -> Slice:
    """A slice, with the share of its cases that are in the group."""
    cases = int(field.counts[code])
    return Slice(
        value=value_text(field.found.values[code]),
        cases=cases,
        estimate=_share(found.cases, cases),
        adjusted_p=found.adjusted_p,
        differs=True,
        filter=field.found.term(code),
    )


def _share(some: int, cases: int) -> Estimate | None:
    share = some / cases
    moments = CaseMoments(
        n=cases,
        n_attempts=cases,
        mean=share,
        variance=cases * share * (1 - share) / (cases - 1) if cases > 1 else None,
        lowest=float(some == cases),
        highest=1.0,
        passed_or_not=True,
    )
    return moments.rate()
