"""Which expected call goes with which actual one.

Where the order does not count, calls are paired by the best assignment; where it does, by the best alignment, in which
pairs do not cross. Best means: first as many full matches as possible, then the largest total similarity. Calls of
different tools are never paired, and two calls of one tool always may be.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

from calipers.data.trace import ToolCall

from .alignment import best_alignment
from .assignment import UNIT, Levels, best_assignment, bits
from .call import CallComparison, compare_calls
from calipers.matching.match_options import MatchOptions
from .weights import CallWeights, call_weights


class Pair(NamedTuple):
    """An expected and an actual call that go together, fully or in part."""

    expected_index: int
    actual_index: int
    comparison: CallComparison

    @property
    def matched(self) -> bool:
        """Whether the calls match."""
        return self.comparison.matched


@dataclass(frozen=True, slots=True)
class Pairing:
    """Every expected and every actual call in one of four places."""

    pairs: tuple[Pair, ...]
    """The calls that go together, in expected order."""
    out_of_order: tuple[Pair, ...]
    """Calls that match, but whose places do not; only where the order counts."""
    missing: tuple[int, ...]
    """The positions of expected calls without a partner."""
    extra: tuple[int, ...]
    """The positions of actual calls without a partner."""


def pair_calls(expected: Sequence[ToolCall], actual: Sequence[ToolCall], options: MatchOptions) -> Pairing:
    """The best pairs of some expected and some actual calls."""
    weights = call_weights(expected, actual, options)
    moved: list[int | None] = [None] * len(expected)
    if options.order_counts:
        window = _window(weights, len(actual)) if options.mode == "contiguous" else None
        found = _aligned(weights, len(actual)) if window is None else window
        moved = _elsewhere(weights, found, len(actual))
    else:
        found = best_assignment(weights.levels, len(actual))
        _pair_by_tool(found, weights, len(actual))

    def compared(columns: Sequence[int | None]) -> tuple[Pair, ...]:
        return tuple(
            Pair(row, column, _comparison(expected[row], actual[column], weights, (row, column), options))
            for row, column in enumerate(columns)
            if column is not None
        )

    taken = {column for column in (*found, *moved) if column is not None}
    return Pairing(
        pairs=compared(found),
        out_of_order=compared(moved),
        missing=tuple(row for row in range(len(expected)) if found[row] is None and moved[row] is None),
        extra=tuple(column for column in range(len(actual)) if column not in taken),
    )


def _comparison(
    expected: ToolCall, actual: ToolCall, weights: CallWeights, at: tuple[int, int], options: MatchOptions
) -> CallComparison:
    row, column = at
    if weights.full_matches[row] >> column & 1:  # no need to look again
        return CallComparison(expected, actual, 1.0, ())
    return compare_calls(expected, actual, options)


def _pair_by_tool(found: list[int | None], weights: CallWeights, columns: int) -> None:
    """Pairs what is left of each tool, in order: such calls share the tool and nothing else, whoever takes whom."""
    free = (1 << columns) - 1 - sum(1 << column for column in found if column is not None)
    for row, column in enumerate(found):
        left = weights.same_tool[row] & free
        if column is None and left:
            lowest = left & -left
            found[row] = lowest.bit_length() - 1
            free ^= lowest


def _window(weights: CallWeights, columns: int) -> list[int | None] | None:
    """The first place where the expected calls stand one after the other."""
    rows = len(weights.full_matches)
    starts = reduce(and_, (mask >> row for row, mask in enumerate(weights.full_matches)), (1 << columns) - 1)
    if not starts:
        return None
    first = (starts & -starts).bit_length() - 1
    return list(range(first, first + rows))


def _aligned(weights: CallWeights, columns: int) -> list[int | None]:
    """The best alignment. Calls at either end that match as they stand can be paired without looking further."""
    rows, full = len(weights.levels), weights.full_matches
    start, shortest = 0, min(rows, columns)
    while start < shortest and full[start] >> start & 1:
        start += 1
    end = 0
    while end < shortest - start and full[rows - 1 - end] >> (columns - 1 - end) & 1:
        end += 1
    middle = range(start, rows - end)
    width = columns - end - start
    known: dict[Any, list[int]] = {}
    for row in middle:  # calls that are worth the same to all, as equal ones are, share their row
        worth = (weights.same_tool[row], tuple(weights.levels[row]))
        if worth not in known:
            known[worth] = _row(*worth, start, width)
    table = [known[weights.same_tool[row], tuple(weights.levels[row])] for row in middle]
    found: list[int | None] = list(range(start))
    found += [None if column is None else column + start for column in best_alignment(table, width)]
    return [*found, *range(columns - end, columns)]


def _row(same_tool: int, levels: Levels, start: int, width: int) -> list[int]:
    """What the actual calls of a range are worth to an expected one, the tool included."""
    inside = (1 << width) - 1
    same_tool = same_tool >> start & inside
    if not same_tool:
        return []
    found = [0] * width
    for column in bits(same_tool):
        found[column] = UNIT
    for weight, mask in levels:
        for column in bits(mask >> start & inside):
            found[column] = UNIT + weight
    return found


def _elsewhere(weights: CallWeights, found: Sequence[int | None], columns: int) -> list[int | None]:
    """For the expected calls without a partner in their place, one that matches in another."""
    free = (1 << columns) - 1 - sum(1 << column for column in found if column is not None)
    rows = [
        [(1, weights.full_matches[row] & free)] if column is None and weights.full_matches[row] & free else []
        for row, column in enumerate(found)
    ]
    return best_assignment(rows, columns)
