"""The cases of a run as tables: a window of its cases, the values of a field, the run cut by a field, failures that are alike.

All of them are functions of the index of the run; here are their parameters, and how long they may take.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

from .case_selection import Selection, place_of, select, window
from .deadline import Deadline, current_deadline
from .facets import facets
from .failure_groups import failure_groups
from .refusal import Refusal
from .similar_outputs import SimilarOutputs
from .slices import slices
from .turns import in_turn
from .viewed_store import ViewedStore
from .wire import CasesAnswer, FacetsAnswer, GroupsAnswer, SlicesAnswer

MOST_ROWS: Final = 200
"""Rows of one answer."""
_FACET_SECONDS: Final = 0.5
"""For the values of a field, which a page asks for beside what it shows."""
_SEARCH_SECONDS: Final = 3.0
"""For searching texts: what was found by then is shown."""
_LONG: Final = 50_000
"""Attempts of a run from which on requests take turns."""


@contextmanager
def selecting(
    viewed: ViewedStore, run: str, q: str, sort: str = "", *, is_beside: bool = False
) -> Iterator[Selection]:
    """The cases of a run that meet a filter, in an order; of a long run, a few requests at a time have theirs.

    Raises:
        Refusal: the time of the request was over before it had its turn.
    """
    index = viewed.index(viewed.find_run(run).id)
    with in_turn(is_large=index.attempts >= _LONG, is_beside=is_beside):
        yield select(index, q, sort=sort, deadline=_within(_SEARCH_SECONDS))


def _within(seconds: float) -> Deadline:
    """The end of a part of the request that is worked on."""
    current = current_deadline()
    return Deadline(seconds if current is None else min(seconds, current.left))


def cases_answer(
    viewed: ViewedStore,
    run: str,
    *,
    q: str = "",
    sort: str = "",
    at: int = 0,
    limit: int = 100,
    around: str = "",
) -> CasesAnswer:
    """A window of the cases that meet a filter.

    Args:
        viewed: the store.
        run: as in `Store.run`.
        q: the filter.
        sort: what they are sorted by; see `CasesAnswer`.
        at: the place of the first row.
        limit: rows.
        around: the id of a case that the window is put around, instead of `at`; where it does not meet the filter, the window begins at 0.
    """
    if not 0 <= limit <= MOST_ROWS:
        raise Refusal("bad_request", f"limit must be from 0 to {MOST_ROWS}, got {limit}")
    with selecting(viewed, run, q, sort) as selection:
        if around:
            place = place_of(selection, around)
            at = 0 if place is None else place - limit // 2
        at = max(0, min(at, selection.total - 1))
        index = selection.index
        return CasesAnswer(
            rows=window(selection, at, limit),
            columns=index.columns(),
            total=selection.total,
            all=index.cases,
            at=at,
            index=index.state,
            searched=selection.searched,
        )


def facets_answer(viewed: ViewedStore, run: str, *, field: str, q: str = "") -> FacetsAnswer:
    """The values of a field among the cases that meet a filter."""
    with selecting(viewed, run, q, is_beside=True) as selection:
        return facets(selection, field, deadline=_within(_FACET_SECONDS))


def slices_answer(
    viewed: ViewedStore, run: str, *, by: str, evaluator: str = "", q: str = ""
) -> SlicesAnswer:
    """The cases that meet a filter, cut by a field."""
    with selecting(viewed, run, q, is_beside=True) as selection:
        return slices(selection, by, evaluator=evaluator or None, deadline=_within(_SEARCH_SECONDS))


def groups_answer(
    viewed: ViewedStore, run: str, *, q: str = "", by: Literal["said", "meaning"] = "said"
) -> GroupsAnswer:
    """Failures that are alike among the cases that meet a filter."""
    with selecting(viewed, run, q, is_beside=True) as selection:
        if by == "meaning":
            return viewed.kept(SimilarOutputs).of(viewed, selection)
        return failure_groups(selection, deadline=_within(_SEARCH_SECONDS))
