"""Which expected call goes with which actual one.

Where the order does not count, calls are paired by the best assignment; where it does, by the best alignment, in which
pairs do not cross. Best means: first as many full matches as possible, then the largest total similarity. Calls of
different tools are never paired, and two calls of one tool always may be.

`call_weights` finds what each pair is worth, for all pairs at once. A thousand calls against a thousand are a million pairs, so the pairs are never made one by one. For each argument and
each value, the set of actual calls that carry it is one integer, a bit per call. The calls that share a value with an
expected one are then found by looking it up, and those that share two of three arguments by adding sets. Mappings and
lists inside arguments are treated alike. Only matchers are compared value by value, each with each different value once.

The worth of a pair is its share of fitting arguments, in `UNIT`s, on top of calling the same tool, which is worth the
same to every pair and stands in `same_tool`. A full match weighs `full` more than that, and so more than any number of
partial ones: the best pairs have the most full matches first, and the largest total similarity second.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_
from typing import Any, NamedTuple

from calipers.data.trace import ToolCall

from .assignment import UNIT, Levels, best_alignment, best_assignment, bit_set, bits, full_bonus, levels_of
from .call import (
    ArgumentMode,
    CallComparison,
    CallRules,
    MatchOptions,
    actual_arguments,
    compare_calls,
    expected_arguments,
)
from .value_comparison import UNKEYED, absence_accepted, similarity, unwrapped, value_key

_MANY = 64
"""With more totals and grades than this to combine, each call is counted by itself."""


@dataclass(frozen=True, slots=True)
class CallWeights:
    """What the pairs of some expected and some actual calls are worth; sets of actual calls are integers."""

    levels: Sequence[Levels]
    """For each expected call, the actual calls that share more with it than the tool, by what the rest is worth."""
    same_tool: Sequence[int]
    """For each expected call, the actual calls of its tool."""
    full_matches: Sequence[int]
    """For each expected call, the actual calls that match it."""
    full: int
    """What a full match weighs beyond its similarity."""


def call_weights(expected: Sequence[ToolCall], actual: Sequence[ToolCall], rules: CallRules) -> CallWeights:
    """The worth of every pair of calls under some rules."""
    full = full_bonus(len(expected), len(actual))
    tools: dict[str, list[int]] = {}
    for index, call in enumerate(actual):
        tools.setdefault(rules.name_of(call.name), []).append(index)
    columns = {
        name: _Entries(([index], actual_arguments(actual[index], rules)) for index in indexes)
        for name, indexes in tools.items()
    }
    nothing = _Entries(())
    levels, same_tool, full_matches = [], [], []
    for call in expected:
        here = columns.get(rules.name_of(call.name), nothing)
        row = levels_of(here.worth(expected_arguments(call, rules), rules.mode_of(call)))
        matching = row[0][1] if row and row[0][0] == UNIT else 0
        levels.append([(UNIT + full, matching), *row[1:]] if matching else row)
        same_tool.append(here.calls)
        full_matches.append(matching)
    return CallWeights(levels, same_tool, full_matches, full)


class _Entries:
    """The entries of many mappings (the arguments of calls, or what is nested in one), found by what they are."""

    def __init__(self, mappings: Iterable[tuple[Sequence[int], Mapping[Any, Any]]]) -> None:
        self.values: dict[Any, _Values] = {}
        self.shapes: dict[frozenset[Any], list[int]] = {}
        """By the names of the entries, the calls that have just these."""
        self.known: dict[tuple[ArgumentMode, frozenset[Any]], list[tuple[int, int]]] = {}
        """How many entries count for whom, by mode and expected names, once found out."""
        for calls, mapping in mappings:
            self.shapes.setdefault(frozenset(mapping), []).extend(calls)
            for name, value in mapping.items():
                self.values.setdefault(name, _Values()).add(value, calls)

    @cached_property
    def calls(self) -> int:
        """All calls that have such a mapping."""
        return bit_set([call for calls in self.shapes.values() for call in calls])

    def worth(self, expected: Mapping[Any, Any], mode: ArgumentMode = "exact") -> Iterator[tuple[int, int]]:
        """How many units an expected mapping is worth to which calls: `UNIT` where it matches."""
        totals = {0: self.calls}
        if mode != "ignore":
            for name, value in expected.items():
                totals = _added(totals, self._worth_of_entry(name, value, mode))
        for count, calls in self._counts(expected, mode):
            for total, some in totals.items():
                if some & calls:
                    yield (total // count if count else UNIT), some & calls

    def _counts(self, expected: Mapping[Any, Any], mode: ArgumentMode) -> list[tuple[int, int]]:
        """How many entries count, with the calls for which it is so."""
        if mode in {"ignore", "subset"}:
            return [(0 if mode == "ignore" else len(expected), self.calls)]
        names = frozenset() if mode == "superset" else frozenset(expected)
        if (mode, names) not in self.known:
            by_count: dict[int, list[int]] = {}
            for shape, calls in self.shapes.items():
                by_count.setdefault(len(shape | names), []).extend(calls)
            self.known[mode, names] = [(count, bit_set(calls)) for count, calls in by_count.items()]
        return self.known[mode, names]

    def _worth_of_entry(self, name: Any, value: Any, mode: ArgumentMode) -> Levels:
        values = self.values.get(name)
        found = values.worth(value) if values else []
        if absence_accepted(value) and mode != "superset":
            return [*found, (UNIT, self.calls & ~(values.calls if values else 0))]
        return found


class _Values:
    """The values of one entry, found by what they are."""

    def __init__(self) -> None:
        self.by_key: dict[Any, tuple[Any, list[int]]] = {}
        """By its key, each different value with the calls that carry it."""
        self.unkeyed: list[tuple[Any, Sequence[int]]] = []
        """The values that no key tells apart."""
        self.known: dict[Any, Levels] = {}
        """What expected values are worth, by their keys, once found out."""

    def add(self, value: Any, calls: Sequence[int]) -> None:
        """Adds what some calls carry."""
        value = unwrapped(value)
        key = value_key(value)
        if key is UNKEYED:
            self.unkeyed.append((value, calls))
        else:
            self.by_key.setdefault(key, (value, []))[1].extend(calls)

    @property
    def every(self) -> Iterator[tuple[Any, Sequence[int]]]:
        """Each different value with the calls that carry it."""
        yield from self.by_key.values()
        yield from self.unkeyed

    @cached_property
    def calls(self) -> int:
        """All calls that carry a value."""
        return bit_set([call for _, calls in self.every for call in calls])

    def worth(self, expected: Any) -> Levels:
        """How many units an expected value is worth to which calls, where it is worth any."""
        expected = unwrapped(expected)
        key = value_key(expected)
        if key is UNKEYED:
            return self._found_out(expected)
        if key not in self.known:
            self.known[key] = self._found_out(expected, key)
        return self.known[key]

    def _found_out(self, expected: Any, key: Any = UNKEYED) -> Levels:
        if isinstance(expected, Mapping):
            return levels_of(self._mappings.worth(expected))
        if isinstance(expected, list | tuple):
            return levels_of(self._lists.worth(dict(enumerate(expected))))
        worth: dict[int, list[int]] = {}
        if key is not UNKEYED and key in self.by_key:
            worth[UNIT] = list(self.by_key[key][1])
        for value, calls in self.every if key is UNKEYED else self.unkeyed:
            if units := _units(similarity(expected, value)):
                worth.setdefault(units, []).extend(calls)
        return levels_of((units, bit_set(calls)) for units, calls in worth.items())

    @cached_property
    def _mappings(self) -> _Entries:
        return _Entries((calls, value) for value, calls in self.every if isinstance(value, Mapping))

    @cached_property
    def _lists(self) -> _Entries:
        """A list is a mapping from positions, so that lists are compared position by position."""
        lists = ((calls, value) for value, calls in self.every if isinstance(value, list | tuple))
        return _Entries((calls, dict(enumerate(value))) for calls, value in lists)


def _units(share: float) -> int:
    return UNIT if share == 1.0 else min(int(share * UNIT), UNIT - 1)


def _added(totals: dict[int, int], worth: Levels) -> dict[int, int]:
    """The totals, with what one more entry is worth."""
    found: dict[int, int] = {}
    if len(worth) * len(totals) < _MANY:
        for total, calls in totals.items():
            rest = calls
            for units, some in worth:
                if both := rest & some:
                    found[total + units] = found.get(total + units, 0) | both
                    rest ^= both
            if rest:
                found[total] = found.get(total, 0) | rest
        return found
    by_call = {index: total for total, calls in totals.items() for index in bits(calls)}
    for units, some in worth:
        for index in bits(some):
            by_call[index] += units
    for index, total in by_call.items():
        found[total] = found.get(total, 0) | 1 << index
    return found


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
    """Pairs what is left of each tool, in order: such calls share the tool and nothing else."""
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
