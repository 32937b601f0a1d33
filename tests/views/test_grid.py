from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from calipers.views.grid import Column, grid
from calipers.views.page import Page


def drawn(width: int, columns: list[Column], rows: list[list[str]], **options: bool) -> list[str]:
    return [line.plain for line in grid(Page(width), columns, rows, **options)]


COLUMNS = [
    Column("name", least=6),
    Column("kind", rank=2),
    Column("value", "right", rank=1),
]
ROWS = [["alphabetical", "letters", "1"], ["b", "", "1,000"]]


def test_columns_stand_in_line():
    assert drawn(40, COLUMNS, ROWS) == [
        "name          kind     value",
        "alphabetical  letters      1",
        "b                      1,000",
    ]


def test_a_flexible_column_gives_way_first():
    assert drawn(24, COLUMNS, ROWS) == [
        "name      kind     value",
        "alphabe…  letters      1",
        "b                  1,000",
    ]


def test_columns_of_the_highest_rank_are_the_first_to_go():
    assert drawn(21, COLUMNS, ROWS) == [
        "name          value",
        "alphabetical      1",
        "b             1,000",
    ]
    assert drawn(12, COLUMNS, ROWS) == ["name", "alphabetical", "b"]


def test_an_extra_column_goes_before_any_other_has_to_shrink_for_it():
    columns = [Column("name", least=6), Column("kind", rank=1, extra=True)]
    assert drawn(20, columns, [["alphabetical", "letters"]]) == ["name", "alphabetical"]
    assert drawn(21, columns, [["alphabetical", "letters"]])[1] == "alphabetical  letters"


def test_columns_without_room_can_be_named():
    assert drawn(21, COLUMNS, ROWS, say_dropped=True)[-1] == "no room for: kind"


@given(
    st.lists(st.lists(st.text(st.characters()), min_size=3, max_size=3), max_size=4),
    st.integers(1, 60),
)
def test_no_line_is_wider_than_the_page(rows: list[list[str]], width: int):
    for line in drawn(width, COLUMNS, rows):
        assert cell_len(line) <= width
        assert line.isprintable()
