"""The best alignment: which row goes with which column when the order counts.

Pairs may not cross: of two rows, the later one has the later column. No alignment has a larger total weight. Among equal
ones the choice depends on the order of rows and columns only, and leans to early columns.

The method is dynamic programming over the ends of both sequences: what the best alignment of the rows from `i` on with
the columns from `j` on is worth, for every `i` and `j`.
"""

from collections.abc import Sequence
from itertools import islice
from operator import add


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
