"""The best assignment and the best alignment: which row goes with which column.

In an **assignment** the order does not count. A row is given by its levels: for each weight, the set of columns that are worth it, as the bits of an integer. Columns
in no level are worth nothing, and are never assigned. No two rows share a column, and no assignment has a larger total
weight. Among equal ones the choice depends on the order of rows and columns only.

The method is that of shortest augmenting paths (Jonker and Volgenant, 1987): rows enter one by one, and each displaces
others along the path that costs least in dual prices. Prices of columns are never negative, so the columns of a level
cost at least what the level itself costs: a level is looked at only when nothing cheaper is left, and a free column,
whose price is 0, ends the search at once. Sets of columns as integers keep long lists of equals cheap.

In an **alignment** the order counts. Pairs may not cross: of two rows, the later one has the later column. No alignment has a larger total weight. Among equal
ones the choice depends on the order of rows and columns only, and leans to early columns.

The method is dynamic programming over the ends of both sequences: what the best alignment of the rows from `i` on with
the columns from `j` on is worth, for every `i` and `j`.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import compress, islice
from operator import add
from typing import NamedTuple, TypeAlias

UNIT = 10**9
"""Similarities are weighed in this many parts, so that sums are exact and ties are ties."""

Levels: TypeAlias = Sequence[tuple[int, int]]
"""The weights of one row, largest first, each with its columns as the bits of an integer."""


def best_assignment(rows: Sequence[Levels], columns: int) -> list[int | None]:
    """For each row its column, or `None`, such that the total weight is largest."""
    if len(rows) > columns:  # every row that finds no column has to search them all
        row_of = best_assignment(_turned(rows, columns), len(rows))
        column_of = {row: column for column, row in enumerate(row_of)}
        return [column_of.get(row) for row in range(len(rows))]
    found = _Search(rows, columns).enter_all(patience=len(rows) * columns)
    return _assignment_with_popular_columns(rows, columns) if found is None else found


def best_pairs(table: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The best pairs of row and column of a table of similarities: most full matches, then the largest total."""
    columns = len(table[0]) if table else 0
    if len(table) == columns == 1:  # most requests lead to one call
        return [(0, 0)] if weight_of(table[0][0], 0) > 0 else []
    full = full_bonus(len(table), columns)
    rows = [levels_of((weight_of(value, full), 1 << j) for j, value in enumerate(row)) for row in table]
    found = best_assignment(rows, columns)
    return [(row, column) for row, column in enumerate(found) if column is not None]


def weight_of(similarity: float, full: int) -> int:
    """A similarity as a whole number, with the bonus of a full match."""
    return UNIT + full if similarity == 1.0 else min(int(similarity * UNIT), UNIT - 1)


def full_bonus(rows: int, columns: int) -> int:
    """What a full match weighs beyond its similarity, so that no sum of partial ones outweighs it."""
    return UNIT * 2 * (min(rows, columns) + 1)


def levels_of(weights: Iterable[tuple[int, int]]) -> Levels:
    """Levels from weights with their columns, given in any order; weights of 0 are left out."""
    found: dict[int, int] = {}
    for weight, columns in weights:
        if weight > 0 and columns:
            found[weight] = found.get(weight, 0) | columns
    return sorted(found.items(), reverse=True)


def bit_set(positions: Iterable[int]) -> int:
    """The integer with these bits set."""
    given = list(positions)
    # Each `|=` copies the integer, so many bits are set in place first.
    octets = bytearray(max(given, default=0) // 8 + 1)
    for position in given:
        octets[position >> 3] |= 1 << (position & 7)
    return int.from_bytes(octets, "little")


def bits(mask: int) -> Iterable[int]:
    """The positions of the bits that are set, from the lowest."""
    if mask.bit_count() * 8 > mask.bit_length():
        digits = bin(mask)[:1:-1]  # the lowest first, without the leading 0b
        return compress(range(len(digits)), map("1".__eq__, digits))
    return _single_bits(mask)


def _single_bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _turned(rows: Sequence[Levels], columns: int) -> list[Levels]:
    """The same weights with rows and columns exchanged."""
    found: list[dict[int, int]] = [{} for _ in range(columns)]
    for row, levels in enumerate(rows):
        for weight, mask in levels:
            for column in bits(mask):
                found[column][weight] = found[column].get(weight, 0) | 1 << row
    return [sorted(weights.items(), reverse=True) for weights in found]


def _assignment_with_popular_columns(rows: Sequence[Levels], columns: int) -> list[int | None]:
    """The same, where hardly two weights are equal and some columns are worth more to every row.

    Every row then wants the same columns first, and each search displaces most of the others. Taking a constant off a
    column changes nothing as long as each column is taken, so rows of no worth fill up the square. It takes longer to set
    up, but its searches are short.
    """
    high, second = [0] * columns, [0] * columns
    for levels in rows:
        for weight, mask in levels:
            for column in bits(mask):
                if weight > second[column]:
                    high[column], second[column] = max(high[column], weight), min(high[column], weight)
    lift = max(second) + 1
    everything = (1 << columns) - 1
    nothing = [(lift - price, 1 << column) for column, price in enumerate(second)]
    leveled: list[Levels] = []
    for levels in rows:
        worth, rest = [], everything
        for weight, mask in levels:
            worth += [(weight + nothing[column][0], 1 << column) for column in bits(mask)]
            rest &= ~mask
        leveled.append(levels_of([*worth, *(nothing[column] for column in bits(rest))]))
    leveled += [levels_of(nothing)] * (columns - len(rows))
    found = _Search(leveled, columns).enter_all() or []
    of_worth = [sum(mask for _, mask in levels) for levels in rows]
    return [
        column if column is not None and mask >> column & 1 else None
        for column, mask in zip(found, of_worth, strict=False)
    ]


class _Search:
    """The assignment so far, with its prices, and the search for the next row's place."""

    def __init__(self, rows: Sequence[Levels], columns: int) -> None:
        self.rows = rows
        self.column_of: list[int | None] = [None] * len(rows)
        self.row_of: list[int] = [-1] * columns
        self.free = (1 << columns) - 1
        self.row_price = [levels[0][0] if levels else 0 for levels in rows]
        self.column_price = [0] * columns
        self.steps = 0
        """How much work the searches were."""
        self.priced = 0
        """The columns whose price is above 0."""

    def enter_all(self, patience: int | None = None) -> list[int | None] | None:
        """The column of each row, once every row has its place; `None` if that takes more steps than there is patience."""
        for row, levels in enumerate(self.rows):
            if levels:
                self._enter(row)
            if patience is not None and self.steps > patience:
                return None
        return self.column_of

    def _enter(self, row: int) -> None:
        """Gives a row its place, at the least cost to the others."""
        quick = self.rows[row][0][1] & self.free
        if quick:  # one of its best columns is free
            self._take(row, (quick & -quick).bit_length() - 1)
            return
        paths = _Paths(self, row)
        end = paths.cheapest()
        paths.reprice(end.cost)
        row, column = end.row, end.column
        while True:
            left = self.column_of[row]
            self.column_of[row] = None
            if column is not None:
                self._take(row, column)
            if left is None:
                return
            row, column = paths.came_from[left], left

    def _take(self, row: int, column: int) -> None:
        self.column_of[row] = column
        self.row_of[column] = row
        self.free &= ~(1 << column)


class _End(NamedTuple):
    """Where the cheapest path ends: a row takes a free column, or goes without."""

    cost: int
    row: int
    column: int | None


class _Paths:
    """The cheapest paths from an entering row over the columns of others, found in the order of their cost."""

    def __init__(self, search: _Search, root: int) -> None:
        self.search = search
        self.settled = 0
        self.came_from: dict[int, int] = {}
        """For a column reached, the row that would take it."""
        self.row_cost: dict[int, int] = {}
        self.waiting: list[tuple[int, int, int, int]] = []
        """Cost, kind (0 a row's level, 1 a column, 2 a row that goes without), and what it is about."""
        self.offered: dict[int, int] = {}
        """For a column with a price, the least cost at which it waits."""
        self._reach_row(root, 0)

    def cheapest(self) -> _End:
        """The end of the cheapest path."""
        search = self.search
        while True:
            search.steps += 1
            cost, kind, this, other = heappop(self.waiting)
            if kind == 0:
                levels = search.rows[this]
                columns = levels[other][1] & ~self.settled
                if open_columns := columns & search.free:
                    return _End(cost, this, (open_columns & -open_columns).bit_length() - 1)
                if other + 1 < len(levels):
                    further = cost + levels[other][0] - levels[other + 1][0]
                    heappush(self.waiting, (further, 0, this, other + 1))
                self._offer(columns, this, cost)
            elif kind == 2:
                return _End(cost, this, None)
            elif not self.settled >> this & 1:
                self._settle(this, other, cost)

    def reprice(self, total: int) -> None:
        """Lowers the prices of the rows that were reached, and raises those of their columns, by what is left."""
        search = self.search
        for row, cost in self.row_cost.items():
            rest = total - cost
            if rest > 0:
                search.row_price[row] -= rest
                column = search.column_of[row]
                if column is not None:
                    search.column_price[column] += rest
                    search.priced |= 1 << column

    def _offer(self, columns: int, row: int, cost: int) -> None:
        search = self.search
        for column in bits(columns & ~search.priced):
            self._settle(column, row, cost)
        for column in bits(columns & search.priced):
            dear = cost + search.column_price[column]
            if dear < self.offered.get(column, dear + 1):
                self.offered[column] = dear
                heappush(self.waiting, (dear, 1, column, row))

    def _settle(self, column: int, row: int, cost: int) -> None:
        self.settled |= 1 << column
        self.came_from[column] = row
        self._reach_row(self.search.row_of[column], cost)

    def _reach_row(self, row: int, cost: int) -> None:
        self.row_cost[row] = cost
        without = cost + self.search.row_price[row]
        heappush(self.waiting, (without - self.search.rows[row][0][0], 0, row, 0))
        heappush(self.waiting, (without, 2, row, 0))


def best_alignment(weights: Sequence[Sequence[int]], columns: int) -> list[int | None]:
    """For each row its column, or `None`, such that the total weight is largest and pairs do not cross.

    A row holds a weight for every column; a row without any may be empty.
    """
    # Ends first: the table's row `r` is about the last `r` rows, and its column `c` about the last `c` columns.
    table = [[0] * (columns + 1)]
    for row in reversed(weights):
        table.append(_with_row(table[-1], row) if row else table[-1])
    found: list[int | None] = [None] * len(weights)
    i = j = 0
    while i < len(weights) and j < columns:
        here, below = table[len(weights) - i], table[len(weights) - i - 1]
        left = columns - j
        weight = weights[i][j] if weights[i] else 0
        if weight > 0 and here[left] == weight + below[left - 1]:
            found[i] = j
            i, j = i + 1, j + 1
        elif here[left] == below[left]:
            i += 1
        else:
            j += 1
    return found


def _with_row(below: list[int], row: Sequence[int]) -> list[int]:
    """The next row of the table: each end of the columns with one row more."""
    best, here = 0, [0]
    for without, paired in zip(islice(below, 1, None), map(add, below, reversed(row)), strict=True):
        if without > best:  # noqa: PLR1730 - max() would take three times as long, a million times
            best = without
        if paired > best:  # noqa: PLR1730 - same
            best = paired
        here.append(best)
    return here
