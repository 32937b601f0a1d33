"""How values look in differences and edit scripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.matching.value_text import show, show_typed


class Broken:
    def __repr__(self):
        raise RuntimeError


class Loud:
    def __repr__(self):
        return "two\nlines \x1b[31mred \u202e"


@given(st.recursive(st.text() | st.binary() | st.floats(), lambda inner: st.lists(inner)))
def test_a_value_is_shown_on_one_short_line_of_printable_text(value):
    assert show(value).isprintable()
    assert len(show(value)) <= 120
    assert len(show(value, 20)) <= 20


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb", r"'a\nb'"),
        ("\x1b[2J", r"'\x1b[2J'"),
        ("a\u202eb", r"'a\u202eb'"),
        (Broken(), "a value of type Broken"),
        (Loud(), r"two\x0alines \x1b[31mred \x202e"),
        (10**5000, "a value of type int"),
        ({"a": [1, {2: (3, {4: {5: 6}})}]}, "{'a': [1, {2: (3, {...})}]}"),
    ],
    ids=["lines", "escapes", "direction", "broken repr", "loud repr", "huge integer", "deep"],
)
def test_hostile_values_are_shown_safely(value, text):
    assert show(value).replace("…", "...") == text


def test_a_long_value_keeps_its_beginning_and_its_end():
    shown = show("a" * 50_000 + "z" * 50_000)
    assert shown.startswith("'aaa")
    assert shown.endswith("zzz'")
    assert "…" in shown


def test_the_type_is_added_where_it_is_the_point():
    assert show_typed(5) == "5 (int)"
    assert show_typed(None) == "None"
