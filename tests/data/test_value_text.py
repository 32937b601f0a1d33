import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.data.value_text import shorten, show, show_typed


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("text", "'text'"),
        (None, "None"),
        ([1, "a"], "[1, 'a']"),
        (b"\x00", "b'\\x00'"),
        ("two\nlines", "'two\\nlines'"),
        (float("nan"), "nan"),
    ],
)
def test_a_short_value_looks_as_python_prints_it(value, shown):
    assert show(value) == shown


@pytest.mark.parametrize(
    "value",
    [
        "x" * 10**6,
        b"x" * 10**6,
        list(range(10**5)),
        dict.fromkeys(range(10**5)),
        10**10_000,
        {"k": ["y" * 500] * 50},
    ],
    ids=["text", "bytes", "list", "dict", "integer", "nested"],
)
def test_a_huge_value_is_cut_to_a_line(value):
    assert len(show(value)) <= 200


def test_the_beginning_and_the_end_of_a_long_text_stay():
    shown = show("begin" + "x" * 1000 + "end")
    assert shown.startswith("'begin")
    assert shown.endswith("end'")


@pytest.mark.parametrize("value", [Unprintable(), [Unprintable()], {"a": Unprintable()}])
def test_a_value_that_cannot_be_printed_is_still_named(value):
    assert show(value)


def test_the_type_is_named_where_it_is_the_point():
    assert show_typed("1") == "'1' (str)"
    assert show_typed(None) == "None"


@given(st.text(), st.integers(min_value=10, max_value=50))
def test_shortened_text_never_exceeds_its_length_and_short_text_stays(text, longest):
    short = shorten(text, longest)
    assert len(short) <= longest
    assert (short == text) == (len(text) <= longest)


def test_what_spans_lines_is_shown_on_one():
    numpy = pytest.importorskip("numpy", reason="arrays print on several lines")
    assert "\n" not in show(numpy.zeros((3, 3)))


class Loud:
    def __repr__(self):
        return "two\nlines \x1b[31mred \u202e"


@given(st.recursive(st.text() | st.binary() | st.floats(), lambda inner: st.lists(inner)))
def test_a_value_is_shown_on_one_short_line_of_printable_text(value):
    assert show(value).isprintable()
    assert len(show(value)) <= 200
    assert len(show(value, 20)) <= 20


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb", r"'a\nb'"),
        ("\x1b[2J", r"'\x1b[2J'"),
        ("a\u202eb", r"'a\u202eb'"),
        (Unprintable(), "a value of type Unprintable"),
        (Loud(), r"two lines \x1b[31mred \x202e"),
        (10**5000, "a value of type int"),
        ({"a": [1, {2: (3, {4: {5: 6}})}]}, "{'a': [1, {2: (3, {...})}]}"),
    ],
    ids=["lines", "escapes", "direction", "broken repr", "loud repr", "huge integer", "deep"],
)
def test_hostile_values_are_shown_safely(value, text):
    assert show(value).replace("…", "...") == text
