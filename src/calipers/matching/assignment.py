"""The best assignment: which row goes with which column when the order does not count.

Best means: first as many full matches (similarity 1) as possible, then the largest total similarity.
"""

import math
from collections.abc import Sequence


def best_assignment(table: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The best pairs of row and column of a table of similarities, by row; pairs of similarity 0 are left out."""
    rows, columns = len(table), len(table[0]) if table else 0
    if not rows or not columns:
        return []
    if rows > columns:
        turned = best_assignment([list(column) for column in zip(*table, strict=True)])
        return sorted((row, column) for column, row in turned)
    full = rows + 1.0
    cost = [[-(value + full if value == 1.0 else value) for value in row] for row in table]
    by_row, by_column, partner = [0.0] * (rows + 1), [0.0] * (columns + 1), [0] * (columns + 1)
    for row in range(1, rows + 1):
        partner[0] = row
        column = 0
        least, way, used = [math.inf] * (columns + 1), [0] * (columns + 1), [False] * (columns + 1)
        while partner[column]:
            used[column] = True
            here, delta, following = partner[column], math.inf, 0
            for j in range(1, columns + 1):
                if not used[j]:
                    reduced = cost[here - 1][j - 1] - by_row[here] - by_column[j]
                    if reduced < least[j]:
                        least[j], way[j] = reduced, column
                    if least[j] < delta:
                        delta, following = least[j], j
            for j in range(columns + 1):
                if used[j]:
                    by_row[partner[j]] += delta
                    by_column[j] -= delta
                else:
                    least[j] -= delta
            column = following
        while column:
            partner[column] = partner[way[column]]
            column = way[column]
    found = sorted((partner[column] - 1, column - 1) for column in range(1, columns + 1) if partner[column])
    return [(row, column) for row, column in found if table[row][column] > 0]
