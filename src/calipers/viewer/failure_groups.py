"""Failures that are alike (`calipers.report.complaints`) among the cases of a selection, the largest groups first."""

from typing import Final

import numpy as np

from .case_selection import Selection, worst_outcomes
from .deadline import Deadline
from .facets import cases_with
from .field_values import values_of
from .value_column import Array
from .wire import FailureGroup, GroupsAnswer

MOST: Final = 100
"""Groups that are listed."""


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
    order = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    by_id = {group.id: group for group in index.groups}
    missed = selection.chosen & np.isin(worst_outcomes(index), (1, 2))
    n_missed = int(missed.sum())
    grouped = np.zeros(index.cases, np.bool_)
    grouped[index.case_of[found.rows]] = True
    made: list[FailureGroup] = []
    for code in order[:limit].tolist():
        if deadline is not None and deadline.is_over:
            break
        group = by_id[found.values[code]]
        example = _example(selection, found.rows[found.codes == code])
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
