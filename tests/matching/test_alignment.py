"""The best alignment."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.matching.alignment import best_alignment

TABLES = st.integers(1, 6).flatmap(
    lambda columns: st.lists(
        st.lists(st.integers(0, 4), min_size=columns, max_size=columns) | st.just([]), min_size=1, max_size=6
    ).map(lambda rows: (rows, columns))
)


def best_total(rows, columns):
    """By the definition: each row goes with a later column than the ones before, or with none."""

    @cache
    def best(row, column):
        if row == len(rows):
            return 0
        paired = (
            rows[row][there] + best(row + 1, there + 1)
            for there in range(column, columns)
            if rows[row] and rows[row][there]
        )
        return max([best(row + 1, column), *paired])

    return best(0, 0)


@given(TABLES)
def test_no_alignment_is_better_and_no_pairs_cross(given_table):
    rows, columns = given_table
    found = best_alignment(rows, columns)
    pairs = [(row, column) for row, column in enumerate(found) if column is not None]
    assert [column for _, column in pairs] == sorted({column for _, column in pairs})
    assert all(rows[row][column] > 0 for row, column in pairs)
    assert sum(rows[row][column] for row, column in pairs) == best_total(rows, columns)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([], []),
        ([[], []], [None, None]),
        ([[0, 0]], [None]),
        ([[1, 1]], [0]),
        ([[1], [1]], [0, None]),
        ([[1, 0], [0, 1]], [0, 1]),
        ([[0, 1], [1, 0]], [None, 0]),
        ([[1, 2]], [1]),
        ([[5, 0, 0], [0, 0, 0], [0, 0, 5]], [0, None, 2]),
        # The first fitting pair is not the best one: it would cost two others.
        ([[0, 0, 1], [1, 0, 0], [0, 1, 0]], [None, 0, 1]),
    ],
)
def test_examples(rows, found):
    columns = max(map(len, rows), default=0)
    assert best_alignment(rows, columns) == found
