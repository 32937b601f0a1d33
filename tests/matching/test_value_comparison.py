"""One value against another."""

import math
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction
from types import MappingProxyType
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import CalipersError, InvalidOptionError, InvalidOutputError
from calipers.matching import Check, Matcher, Regex, matches, similarity
from calipers.matching.value_comparison import UNKEYED, differences, unwrapped, value_key

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, -0.0, 0.5, math.nan, math.inf])
    | st.sampled_from(["", "1", "a", "é", b"a", Decimal(1), Fraction(1, 2), date(2025, 3, 5)])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


@dataclass
class Point:
    x: int


NOW = datetime(2025, 3, 5, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expected", "actual", "match"),
    [
        (1, 1.0, True),
        (1, True, False),
        (True, 1, False),
        (False, 0, False),
        (True, True, True),
        (True, np.True_, True),
        (1, Decimal(1), True),
        (0.5, Fraction(1, 2), True),
        (2, np.int64(2), True),
        (0.1, Decimal("0.1"), False),
        (math.nan, math.nan, True),
        (math.nan, Decimal("NaN"), True),
        (math.nan, Decimal("sNaN"), True),
        (1, math.nan, False),
        (0.0, -0.0, True),
        (10**400, 10**400, True),
        (10**400, math.inf, False),
        ("5", 5, False),
        ("a", "a", True),
        ("a", b"a", False),
        ("red", Colour.RED, True),
        (Colour.RED, "red", True),
        (Level.LOW, 1, True),
        (None, None, True),
        (None, 0, False),
        (None, "", False),
        ([1, 2], (1, 2), True),
        ([1, 2], [2, 1], False),
        ([1], 1, False),
        ([], {}, False),
        ([True], [1], False),
        ([1, 2], np.array([1, 2]), True),
        ({"a": 1}, OrderedDict(a=1), True),
        ({"a": 1}, MappingProxyType({"a": 1.0}), True),
        ({"a": None}, {}, False),
        ({}, {"a": None}, False),
        ({1, 2}, frozenset({2, 1}), True),
        ({1}, {True}, False),
        ({1}, [1], False),
        (date(2025, 3, 5), datetime(2025, 3, 5), False),  # noqa: DTZ001 - the point is that it has no zone
        (NOW, NOW.astimezone(), True),
        (NOW, NOW.replace(tzinfo=None), False),
        (Point(1), Point(1), True),
        (Point(1), Point(2), False),
        (UUID(int=1), UUID(int=1), True),
        ({"a": [Regex("^x"), 1]}, {"a": ["xy", 1]}, True),
        ({"a": [Regex("^x"), 1]}, {"a": ["yx", 1]}, False),
        ([lambda value: value > 3], [4], True),
        ([lambda value: value > 3], [3], False),
    ],
)
def test_what_matches_what(expected, actual, match):
    assert matches(expected, actual) is match
    assert (similarity(expected, actual) == 1.0) is match
    assert (list(differences(expected, actual)) == []) is match


@given(VALUES)
def test_a_value_matches_itself_and_its_copy(value):
    assert matches(value, value)
    assert not list(differences(value, value))


@given(VALUES, VALUES)
def test_matching_plain_values_is_the_same_in_both_directions(left, right):
    assert similarity(left, right) == similarity(right, left)
    assert 0 <= similarity(left, right) <= 1


@given(VALUES, VALUES)
def test_two_values_have_equal_keys_exactly_when_they_match(left, right):
    keys = value_key(left), value_key(right)
    assert UNKEYED not in keys
    assert (keys[0] == keys[1]) is matches(left, right)
    if keys[0] == keys[1]:
        assert hash(keys[0]) == hash(keys[1])


@given(VALUES, VALUES)
def test_values_differ_somewhere_exactly_when_they_do_not_match(left, right):
    assert bool(list(differences(left, right))) is not matches(left, right)


@pytest.mark.parametrize(
    "value", [Regex("a"), len, Point(1), {1}, Level.LOW, [Regex("a")], {"a": len}, object()]
)
def test_what_no_key_can_tell_has_none(value):
    assert value_key(value) is UNKEYED


def test_a_value_that_contains_itself_has_no_key_and_is_shown_and_compared():
    endless: list = []
    endless.append(endless)
    assert value_key(endless) is UNKEYED
    assert not matches([1], endless)
    assert [str(each) for each in differences([1], endless)] == [
        "[0]: expected 1 (int), got [[[[[…]]]]] (list)"
    ]


@pytest.mark.parametrize(
    ("expected", "actual", "share"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, 1 / 2),
        ({"a": 1}, {"a": 1, "b": 3, "c": 4}, 1 / 3),
        ([1, 2, 3], [1, 2], 2 / 3),
        ([1, 2], [1, 2, 3, 4], 1 / 2),
        ({"a": {"x": 1, "y": 2}, "b": 1}, {"a": {"x": 1, "y": 0}, "b": 1}, 3 / 4),
        ({"a": [1, 2]}, {"a": 1}, 0),
        ("night", "nights", 0),
        (1, 2, 0),
    ],
)
def test_mappings_and_lists_earn_the_mean_of_their_entries(expected, actual, share):
    assert similarity(expected, actual) == pytest.approx(share)


def test_many_entries_never_round_up_to_a_match():
    expected = {str(number): number for number in range(10**5)}
    assert similarity(expected, {**expected, "7": None}) < 1
    near = math.nextafter(1, 0)
    assert similarity([lambda _: near] * 1000, [0] * 1000) < 1


def test_every_difference_is_told_with_its_place():
    expected = {"a": 1, "b": [1, {"c": 2}], "d e": "x", "f": Regex("^x")}
    actual = {"b": [1, {"c": 3, "g": 0}, 9], "d e": True, "f": "y", 5: 6}
    assert [str(each) for each in differences(expected, actual, "order")] == [
        "order.a: missing, expected 1",
        "order.b[1].c: expected 2, got 3",
        "order.b[1].g: unexpected, got 0",
        "order.b[2]: unexpected, got 9",
        "order['d e']: expected 'x' (str), got True (bool)",
        "order.f: expected a match of '^x', got 'y'",
        "order[5]: unexpected, got 6",
    ]


def test_the_types_are_named_where_they_are_the_difference():
    (found,) = differences(1, True)
    assert found.reason == "expected 1 (int), got True (bool)"
    assert (found.kind, found.expected, found.actual) == ("different", 1, True)


# ---------------------------------------------------------------------- functions as expected values


@pytest.mark.parametrize(("answer", "expected"), [(True, 1), (False, 0), (0.25, 0.25), (1, 1), (np.True_, 1)])
def test_a_function_may_answer_with_a_bool_or_a_share(answer, expected):
    assert similarity(lambda _: answer, "x") == expected


def test_a_share_can_be_enough():
    assert matches(Check(lambda _: 0.8, minimum=0.8), "x")
    assert similarity(Check(lambda _: 0.7, minimum=0.8), "x") == 0.7


async def later(_):
    return True


@pytest.mark.parametrize("answer", [None, "yes", 2, -0.1, math.nan, [True]], ids=repr)
def test_a_function_that_answers_otherwise_is_an_error(answer):
    with pytest.raises(InvalidOutputError, match="return a bool, or a number from 0 to 1"):
        similarity(lambda _: answer, "x")


def test_an_async_function_is_an_error_and_leaves_no_warning():
    with pytest.raises(InvalidOutputError, match=r"Check\(later\) returned .*coroutine"):
        similarity(later, "x")


def test_a_function_that_raises_is_an_error_that_names_it_and_the_value():
    def starts_right(value):
        return value.startswith("x")

    with pytest.raises(CalipersError, match=r"Check\(starts_right\) raised AttributeError on 5 \(int\)"):
        similarity(starts_right, 5)


def test_a_class_is_refused_because_it_could_mean_two_things():
    with pytest.raises(
        InvalidOptionError, match=r"OfType\(int\) matches its instances, Check\(int\) calls it"
    ):
        similarity(int, 5)


@pytest.mark.parametrize("minimum", [0, 1.1, -1, math.nan, True, "a", None])
def test_a_minimum_that_means_nothing_is_refused(minimum):
    with pytest.raises(InvalidOptionError, match="minimum must be a number above 0 and at most 1"):
        Check(len, minimum=minimum)


def test_a_check_needs_a_function():
    with pytest.raises(InvalidOptionError, match="Check needs a function of the value, got 5"):
        Check(5)


def test_a_matcher_of_ones_own_needs_one_method():
    class Even(Matcher):
        def similarity(self, actual):
            return actual % 2 == 0

    assert matches({"n": Even()}, {"n": 4})
    assert [str(each) for each in differences({"n": Even()}, {"n": 3})] == ["n: expected Even(), got 3"]


@pytest.mark.parametrize("wrong", [2, -1, math.nan])
def test_a_matcher_that_leaves_the_range_is_an_error(wrong):
    class Wrong(Matcher):
        def similarity(self, actual):
            return wrong

    with pytest.raises(InvalidOutputError, match=r"Wrong\(\) gave the similarity"):
        similarity(Wrong(), 1)


def test_an_equality_that_raises_is_an_error_and_no_difference():
    class Odd:
        def __eq__(self, other):
            raise RuntimeError("never")

        __hash__ = None

    with pytest.raises(CalipersError, match="comparing two values of type Odd raised RuntimeError: never"):
        matches([Odd()], [Odd()])


def test_numpy_values_are_what_they_hold():
    assert unwrapped(np.float32(0.5)) == 0.5
    assert unwrapped(np.array([[1, 2]])) == [[1, 2]]
    assert unwrapped(timedelta(1)) == timedelta(1)
