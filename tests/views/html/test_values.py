import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.data.jsonable import plain
from calipers.views.html.values import json_text, shown_pair, shown_text, shown_value

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=20,
).map(plain)


@given(PLAIN, st.sampled_from([0, 20, 88]))
def test_json_for_reading_is_json_of_the_same_data(data, width):
    assert json.loads(json_text(data, width=width)) == data


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("3", {"text": "3"}),
        (3, {"json": "3"}),
        (1.0, {"json": "1.0"}),
        (2**70, {"json": "1180591620717411303424"}),
        (None, {"json": "null"}),
        (True, {"json": "true"}),
        (float("nan"), {"text": "NaN"}),
        ({"b": [1, 2], "a": "é"}, {"json": '{"b": [1, 2], "a": "é"}'}),
        ([], {"json": "[]"}),
        ("x" * 11, {"text": "x" * 10, "length": 11}),
        ([123456, 123456], {"json": "[123456, 1", "length": 16}),
        ("\ud800", {"text": "\\ud800"}),
    ],
)
def test_a_value_is_shown_as_text_or_as_json_and_cut_with_its_length(value, shown):
    found = shown_value(value, 10) if "length" in shown else shown_value(value, 1000)
    assert found == shown


def test_what_fits_on_a_line_stays_on_a_line():
    data = {"short": list(range(5)), "long": ["x" * 40, "y" * 40]}
    assert json_text(data) == (
        '{\n  "short": [0, 1, 2, 3, 4],\n  "long": [\n    "' + "x" * 40 + '",\n    "' + "y" * 40 + '"\n  ]\n}'
    )


def test_two_values_to_compare_are_broken_up_in_the_same_way():
    short, long = {"a": 1, "b": [1]}, {"a": 1, "b": [1], "c": "x" * 90}
    assert shown_pair(short, short, None)[0] == {"json": '{"a": 1, "b": [1]}'}
    one, other = (pair["json"].split("\n") for pair in shown_pair(short, long, None))
    assert one[:4] == other[:4] == ["{", '  "a": 1,', '  "b": [', "    1"]


def test_a_cut_message_says_so_at_the_end_and_a_traceback_at_its_beginning():
    assert shown_text("abcdef", 6) == shown_text("abcdef", None) == "abcdef"
    assert shown_text("abcdef", 4) == "abcd… (6 characters)"
    assert shown_text("abcdef", 4, keep_end=True) == "… (6 characters)\ncdef"
