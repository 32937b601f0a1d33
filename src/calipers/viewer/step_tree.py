"""The steps of a trace as a tree, and which of them are sent at once.

The *id* of a step is its place in the order in which a reader meets the steps: each before those below it. So where ids jump, the
steps between them were not sent.

Parents are data of others. A step whose parent is not there stands at the top, and so does the first step of a circle.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

MOST_AT_ONCE: Final = 20_000
"""Steps of one answer."""
_LEVELS: Final = 2
"""Levels that are sent of a trace that is too long to be sent whole."""

Places: Any = NDArray[np.int64]


class StepTree:
    """The steps of a trace below each other."""

    def __init__(self, parents: Sequence[int]) -> None:
        """Order the steps.

        Args:
            parents: of each step, in the order of the trace: the place of another one, or -1.
        """
        order = _in_order(parents)
        self.place = np.arange(len(parents)) if order is None else np.array(order[0], dtype=np.int64)
        """Of each id, the place of the step in the trace."""
        self.id = np.empty_like(self.place)
        """Of each place, the id."""
        self.id[self.place] = np.arange(len(parents))
        known = np.asarray(parents if order is None else order[1], dtype=np.int64)[self.place]
        self.parent = np.where(known < 0, -1, self.id[known])
        """Of each id, that of the step above it; -1 at the top."""
        depth, below = [0] * len(parents), [0] * len(parents)
        above = self.parent.tolist()
        for each, parent in enumerate(above):
            depth[each] = 0 if parent < 0 else depth[parent] + 1
        for each in range(len(above) - 1, -1, -1):
            if above[each] >= 0:
                below[above[each]] += below[each] + 1
        self.depth = np.array(depth, dtype=np.int64)
        self.below = np.array(below, dtype=np.int64)
        """How many steps stand below each."""

    def __len__(self) -> int:
        return len(self.place)

    # ------------------------------------------------------------------ what is sent

    def chosen(
        self,
        failed: NDArray[np.bool_],
        *,
        parent: int = -1,
        levels: int | None = None,
        limit: int = MOST_AT_ONCE,
    ) -> NDArray[np.int64]:
        """The ids below a step that are sent at once: all if they are not too many, else the first levels and the ways to failures.

        Args:
            failed: by id, whether the step failed.
            parent: the id of the step; -1 for the whole trace.
            levels: below it that are sent; default: all if they are few enough, else two.
            limit: steps that are sent. Of what is too much, the first steps below each other one are sent.
        """
        ids = self.range_of(parent)
        base = 0 if parent < 0 else int(self.depth[parent]) + 1
        if levels is not None:
            ids = ids[self.depth[ids] - base < levels]
        if len(ids) <= limit:
            return ids
        ways = ids[failed[ids]][: limit // 2]
        taken = np.zeros(len(self), dtype=bool)
        taken[self.with_those_above(ways, parent)[:limit]] = True
        for level in range(_LEVELS if levels is None else levels):
            room = limit - int(taken.sum())
            found = ids[(self.depth[ids] - base == level) & ~taken[ids]]
            if level:
                found = found[taken[self.parent[found]]]
            taken[_first_of_each(found, self.parent[found], room)] = True
        return np.flatnonzero(taken)

    def range_of(self, parent: int, after: int = -1) -> NDArray[np.int64]:
        """All ids below a step, or of the whole trace with -1, that come after another one."""
        if parent < 0:
            return np.arange(after + 1, len(self))
        return np.arange(max(parent, after) + 1, parent + 1 + int(self.below[parent]))

    def with_those_above(self, ids: NDArray[np.int64], top: int = -1) -> NDArray[np.int64]:
        """Some ids, and all that stand above them below a step, in order."""
        taken = np.zeros(len(self), dtype=bool)
        while len(ids):
            taken[ids] = True
            above = self.parent[ids]
            ids = np.unique(above[(above >= 0) & (above != top)])
            ids = ids[~taken[ids]]
        return np.flatnonzero(taken)

    def missing(self, sent: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of each id that is sent, how many steps below it are not."""
        last = sent + self.below[sent]
        there = np.searchsorted(sent, last, side="right") - np.arange(len(sent)) - 1
        return self.below[sent] - there


def _first_of_each(ids: NDArray[np.int64], parents: NDArray[np.int64], room: int) -> NDArray[np.int64]:
    """As many ids as there is room for: of each parent equally many, its first ones."""
    if len(ids) <= room:
        return ids
    order = np.argsort(parents, kind="stable")
    _, starts, counts = np.unique(parents[order], return_index=True, return_counts=True)
    few, many = 0, room
    while few < many:  # the most of each for which there is room
        middle = (few + many + 1) // 2
        few, many = (middle, many) if np.minimum(counts, middle).sum() <= room else (few, middle - 1)
    if not few:
        return ids[:room]
    rank = np.arange(len(ids)) - np.repeat(starts, counts)
    return np.sort(ids[order[rank < few]])


# ---------------------------------------------------------------------- order


def _in_order(parents: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """The places of steps in the order of the tree, and the parents that hold; `None` if all is in that order as it is."""
    above: list[int] = []
    for place, parent in enumerate(parents):
        while above and above[-1] != parent:
            above.pop()
        if parent != -1 and not above:
            break
        above.append(place)
    else:
        return None
    known = [
        parent if 0 <= parent < len(parents) and parent != at else -1 for at, parent in enumerate(parents)
    ]
    children: dict[int, list[int]] = {}
    for place, parent in enumerate(known):
        children.setdefault(parent, []).append(place)
    order: list[int] = []
    seen = bytearray(len(known))
    _walk(children.get(-1, ()), children, order, seen)
    for place in range(len(known)):
        if not seen[place]:  # it is in a circle, or below one
            start = _in_circle(place, known)
            known[start] = -1
            _walk([start], children, order, seen)
    return order, known


def _walk(roots: Iterable[int], children: dict[int, list[int]], order: list[int], seen: bytearray) -> None:
    waiting = list(roots)[::-1]
    while waiting:
        place = waiting.pop()
        if not seen[place]:
            seen[place] = 1
            order.append(place)
            waiting += reversed(children.get(place, ()))


def _in_circle(place: int, parents: Sequence[int]) -> int:
    """The first step of the circle that the steps above one lead into."""
    passed: set[int] = set()
    while place not in passed:
        passed.add(place)
        place = parents[place]
    circle = [place]
    while parents[circle[-1]] != place:
        circle.append(parents[circle[-1]])
    return min(circle)
