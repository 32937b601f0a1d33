"""What pairs of calls are worth, all at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import ToolCall
from calipers.matching import (
    Absent,
    AnyOf,
    Approx,
    CallRules,
    Includes,
    Maybe,
    Regex,
    SetOf,
    Similar,
    compare_calls,
)
from calipers.matching.assignment import UNIT
from calipers.matching.weights import call_weights

PLAIN = st.sampled_from(
    [
        0,
        1,
        1.0,
        True,
        None,
        float("nan"),
        "a",
        "ab",
        [1, 2],
        (1, 3),
        [],
        {"k": 1},
        {"k": 1, "l": [1]},
        {},
        {1, 2},
    ]
)
EXPECTED = PLAIN | st.sampled_from(
    [
        Regex("^a"),
        Similar("abc", minimum=0.9),
        Approx(1, abs_tol=0.5),
        SetOf([2, 1]),
        Absent(),
        Maybe(1),
        AnyOf("b", Absent()),
        Includes({"k": 1}),
        {"k": Regex("x"), "l": Maybe([1])},
        [Approx(1), 2],
        lambda value: isinstance(value, str) and 0.5,
    ]
)
NAMES = st.sampled_from("abc")
TOOLS = st.sampled_from(["f", "F", "g"])


def calls(values):
    return st.lists(
        st.builds(ToolCall, TOOLS, st.dictionaries(NAMES, values, max_size=3)), min_size=1, max_size=5
    )


RULES = st.builds(
    CallRules,
    arguments=st.sampled_from(["exact", "subset", "superset", "ignore"]),
    ignore=st.sampled_from([(), ["a"], {"f": ["b"]}]),
    defaults=st.sampled_from([{}, {"f": {"c": 1}}, {"*": {"a": "a", "b": None}}]),
    compare=st.sampled_from([{}, {"*": {"c": lambda value: AnyOf(value, "ab")}}]),
    names=st.sampled_from(["exact", "ignore_case"]),
)


def worth(weights, row, column):
    """The similarity of a pair, as the weights tell it."""
    bit = 1 << column
    if not weights.same_tool[row] & bit:
        return 0.0
    found = [weight for weight, mask in weights.levels[row] if mask & bit]
    assert len(found) <= 1
    weight = found[0] if found else 0
    return (UNIT + (weight - weights.full if weight > weights.full else weight)) / UNIT / 2


@given(calls(EXPECTED), calls(PLAIN), RULES)
def test_weights_say_of_each_pair_what_comparing_it_says(expected, actual, rules):
    weights = call_weights(expected, actual, rules)
    for row, wanted in enumerate(expected):
        for column, made in enumerate(actual):
            compared = compare_calls(wanted, made, rules)
            assert worth(weights, row, column) == pytest.approx(compared.similarity, abs=1e-8)
            assert bool(weights.full_matches[row] >> column & 1) is compared.matched


def test_a_matcher_is_asked_once_about_each_different_value():
    asked = []

    def ask(value):
        asked.append(value)
        return value == 3

    actual = [ToolCall("f", {"a": number % 5}) for number in range(1000)]
    weights = call_weights([ToolCall("f", {"a": ask})], actual, CallRules())
    assert sorted(asked) == [0, 1, 2, 3, 4]
    assert weights.full_matches[0].bit_count() == 200


def test_many_grades_are_added_like_few():
    grade = {"a": lambda value: value / 100, "b": lambda value: value / 200, "c": 1}
    actual = [ToolCall("f", {"a": n, "b": n, "c": n % 2}) for n in range(100)]
    weights = call_weights([ToolCall("f", grade)], actual, CallRules())
    for column, call in enumerate(actual):
        expected = compare_calls(ToolCall("f", grade), call).similarity
        assert worth(weights, 0, column) == pytest.approx(expected, abs=1e-8)
