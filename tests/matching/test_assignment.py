"""The best assignment."""

from functools import cache
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from calipers.matching import assignment
from calipers.matching.assignment import (
    UNIT,
    best_alignment,
    best_assignment,
    best_pairs,
    bit_set,
    bits,
    levels_of,
)


def levels(table):
    return [levels_of((weight, 1 << column) for column, weight in enumerate(row)) for row in table]


def solve(table):
    """The pairs, checked to be an assignment of pairs that are worth something."""
    columns = len(table[0]) if table else 0
    found = best_assignment(levels(table), columns)
    pairs = [(row, column) for row, column in enumerate(found) if column is not None]
    assert len(found) == len(table)
    assert len({column for _, column in pairs}) == len(pairs)
    assert all(table[row][column] > 0 for row, column in pairs)
    return pairs


def total(table):
    return sum(table[row][column] for row, column in solve(table))


def best_total(table):
    """What scipy finds."""
    rows, columns = linear_sum_assignment(np.array(table), maximize=True)
    return int(np.array(table)[rows, columns].sum())


TABLES = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 12)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(0, shape[2]), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


@given(TABLES)
def test_no_assignment_is_better(table):
    rows, columns = len(table), len(table[0])
    padded = [[*row, *[0] * rows] for row in table]  # a column of its own for each row that goes without
    orders = permutations(range(columns + rows), rows) if rows + columns <= 6 else ()
    best = max(
        (sum(padded[i][j] for i, j in enumerate(order)) for order in orders), default=best_total(table)
    )
    assert total(table) == best == best_total(table)


@given(TABLES)
def test_the_way_for_popular_columns_finds_the_best_of_any_table(table):
    columns = len(table[0])
    wide = table[:columns]
    found = assignment._assignment_with_popular_columns(levels(wide), columns)
    taken = [column for column in found if column is not None]
    assert len(set(taken)) == len(taken)
    assert all(wide[row][column] > 0 for row, column in enumerate(found) if column is not None)
    worth = sum(wide[row][column] for row, column in enumerate(found) if column is not None)
    assert worth == best_total(wide)


@pytest.mark.parametrize(
    ("shape", "largest"),
    [
        ((60, 60), 3),
        ((60, 40), 3),
        ((40, 60), 3),
        ((60, 60), 10**9),
        ((60, 40), 10**9),
        ((40, 60), 10**9),
        ((80, 80), 90),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_larger_tables_are_solved_as_well_as_scipy_does(shape, largest, seed):
    random = np.random.default_rng(seed)
    table = random.integers(0, largest + 1, shape)
    assert total(table.tolist()) == best_total(table)


@pytest.mark.parametrize("seed", range(3))
def test_columns_that_everyone_wants_are_shared_out_in_the_best_way(seed):
    random = np.random.default_rng(seed)
    worth = (
        random.integers(0, 500, (1, 70))
        + random.integers(0, 500, (50, 1))
        + random.integers(1, 500, (50, 70))
    )
    for table in (worth, worth.T, worth * (random.random((50, 70)) < 0.3)):
        assert total(table.tolist()) == best_total(table)


@pytest.mark.parametrize(("rows", "values", "arguments"), [(200, 3, 3), (150, 6, 2), (120, 2, 5)])
def test_calls_that_share_few_values_are_assigned_in_the_best_way(rows, values, arguments):
    random = np.random.default_rng(7)
    expected, actual = random.integers(0, values, (2, rows, arguments))
    shared = (expected[:, None] == actual[None]).sum(2)
    table = shared + (shared == arguments) * 1000
    assert total(table.tolist()) == best_total(table)


def test_enormous_weights_are_exact():
    huge = 10**40
    assert solve([[huge + 1, huge], [huge, huge]]) == [(0, 0), (1, 1)]
    assert solve([[huge, huge + 1], [huge, huge]]) == [(0, 1), (1, 0)]


@given(TABLES)
def test_the_same_table_gives_the_same_pairs(table):
    assert solve(table) == solve(table)


@pytest.mark.parametrize("table", [[], [[]], [[0]], [[0, 0], [0, 0]]])
def test_nothing_of_worth_assigns_nothing(table):
    assert solve(table) == []


# ---------------------------------------------------------------------- similarities


SIMILARITIES = st.integers(1, 5).flatmap(
    lambda columns: st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]), min_size=columns, max_size=columns),
        min_size=1,
        max_size=5,
    )
)


@given(SIMILARITIES)
def test_full_matches_come_first_and_similarity_second(table):
    rows, columns = len(table), len(table[0])
    padded = [[*row, *[0.0] * rows] for row in table]
    best = max(
        (
            sum(padded[i][j] == 1.0 for i, j in enumerate(order)),
            round(sum(padded[i][j] for i, j in enumerate(order)), 9),
        )
        for order in permutations(range(columns + rows), rows)
    )
    values = [table[row][column] for row, column in best_pairs(table)]
    assert (values.count(1.0), round(sum(values), 9)) == best


def test_one_full_match_is_better_than_any_number_of_near_ones():
    assert best_pairs([[1.0, 0.99], [0.99, 0.0]]) == [(0, 0)]


def test_what_is_just_below_a_match_is_none():
    almost = 1 - 1e-12
    assert best_pairs([[almost, almost], [1.0, 0.0]]) == [(0, 1), (1, 0)]
    assert assignment.weight_of(almost, 5) < UNIT


# ---------------------------------------------------------------------- sets of columns as integers


@given(st.sets(st.integers(0, 300)))
def test_bits_are_told_from_the_lowest(positions):
    assert list(bits(bit_set(positions))) == sorted(positions)
    assert bit_set(positions) == sum(1 << position for position in positions)


def test_levels_are_sorted_and_hold_each_weight_once():
    assert levels_of([(3, 1), (5, 2), (3, 4), (0, 8), (7, 0)]) == [(5, 2), (3, 5)]


ORDERED_TABLES = st.integers(1, 6).flatmap(
    lambda columns: st.lists(
        st.lists(st.integers(0, 4), min_size=columns, max_size=columns) | st.just([]), min_size=1, max_size=6
    ).map(lambda rows: (rows, columns))
)


def best_ordered_total(rows, columns):
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


@given(ORDERED_TABLES)
def test_no_alignment_is_better_and_no_pairs_cross(given_table):
    rows, columns = given_table
    found = best_alignment(rows, columns)
    pairs = [(row, column) for row, column in enumerate(found) if column is not None]
    assert [column for _, column in pairs] == sorted({column for _, column in pairs})
    assert all(rows[row][column] > 0 for row, column in pairs)
    assert sum(rows[row][column] for row, column in pairs) == best_ordered_total(rows, columns)


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
