"""Which conversation a row belongs to, and which turn it follows."""

import pytest

from calipers.rollouts.branches import mark_branches


@pytest.mark.parametrize(
    ("numbers", "ends", "marks"),
    [
        ([], [], []),
        ([1], [0], [{}]),
        ([1, 2, 3], [2], [{}, {}, {}]),
        ([1, 1], [0, 1], [(1, None), (2, None)]),
        ([1, 2, 2, 3, 1], [1, 3, 4], [(1, None), (1, 0), (2, 0), (2, 2), (3, None)]),
        ([1, 2, 3, 2, 1, 2], [2, 3, 5], [(1, None), (1, 0), (1, 1), (2, 0), (3, None), (3, 4)]),
    ],
)
def test_rows_are_marked_only_where_the_tree_branches(numbers, ends, marks):
    rows = [{"turn": number} for number in numbers]
    assert mark_branches(rows) == ends
    marked = [{"branch": mark[0], "parent": mark[1]} if mark else {} for mark in marks]
    assert rows == [{"turn": number} | mark for number, mark in zip(numbers, marked, strict=True)]
