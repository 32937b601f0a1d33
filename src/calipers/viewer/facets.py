"""The values of a field among the cases of a selection, with how many cases have each."""

from math import inf
from typing import Final

import numpy as np

from calipers.report.attempt_filter import value_text

from .case_selection import Selection
from .deadline import Deadline, OverdueError, check_deadline, working_until
from .field_values import FieldValues, values_of
from .value_column import Array
from .wire import FacetsAnswer, FacetValue

MOST: Final = 100
"""Values that are listed: the most frequent."""


def facets(
    selection: Selection, field: str, *, limit: int = MOST, deadline: Deadline | None = None
) -> FacetsAnswer:
    """The values of a field, the most frequent first; of equally frequent ones the first by name.

    Args:
        selection: the cases that count.
        field: such as `tag`, `meta.lang`, `status` or `eval.Correct`.
        limit: how many values.
        deadline: until when to answer.

    Raises:
        InvalidOptionError: there is no such field.
    """
    try:
        with working_until(deadline or Deadline(inf)):
            found = values_of(selection.index, field)
            check_deadline()
    except OverdueError:
        return FacetsAnswer(field=field, values=[], left_out=0, timed_out=True)
    counts = cases_with(selection, found)
    order = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    return FacetsAnswer(
        field=field,
        values=[
            FacetValue(value=value_text(found.values[code]), cases=int(counts[code]), filter=found.term(code))
            for code in order[:limit].tolist()
        ],
        left_out=max(0, len(order) - limit),
        timed_out=False,
    )


def cases_with(selection: Selection, found: FieldValues) -> Array:
    """In how many cases of a selection each value of a field stands."""
    index = selection.index
    cases = index.case_of[found.rows]
    inside = selection.chosen[cases]
    pairs = found.codes[inside] * index.cases + cases[inside]
    if index.attempts > index.cases:
        pairs = np.unique(pairs)
    return np.bincount(pairs // max(index.cases, 1), minlength=len(found.values))
