import math
from collections import OrderedDict, UserDict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import CalipersError
from calipers.evaluators import Equals, EqualsExpected, EvaluationReason, Skipped
from calipers.evaluators.equality import as_mapping, equal, first_difference

VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats()
    | st.text(max_size=3)
    | st.lists(st.integers(0, 2))
)


@given(VALUES, VALUES)
def test_equals_agrees_with_python(judge, value, output):
    assert judge(Equals(value), output).value == (output == value)


@given(VALUES, VALUES)
def test_equals_expected_agrees_with_python(judge, expected, output):
    assert judge(EqualsExpected(), output, expected).value == (output == expected)


def test_a_difference_is_explained_and_equality_is_not(judge):
    assert judge(Equals("a"), "a") == EvaluationReason(value=True)
    assert judge(Equals({"a": 1}), {"a": 2}) == EvaluationReason(
        value=False, reason="at ['a']: expected 1, got 2"
    )


def test_a_case_without_expectation_is_skipped(judge):
    assert judge(EqualsExpected(), "anything") == Skipped("the case states no expected output")


@pytest.mark.parametrize(("output", "passes"), [(None, True), (0, False)])
def test_a_case_may_expect_none(judge, output, passes):
    assert judge(EqualsExpected(), output, None).value is passes


def test_nan_equals_nothing(judge):
    result = judge(Equals(math.nan), math.nan)
    assert result.value is False
    assert "NaN equals nothing" in result.reason


DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=8,
)


@dataclass
class Point:
    x: object
    y: object = 0


class Incomparable:
    def __eq__(self, other):
        raise RuntimeError("not like this")

    __hash__ = None


@given(DATA, DATA)
def test_equality_of_plain_data_is_pythons(left, right):
    assert equal(left, right) == (left == right)
    assert equal(left, left)


@given(DATA, DATA)
def test_two_unequal_values_always_have_a_difference_in_words(left, right):
    if left != right:
        assert first_difference(left, right)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (np.array([1, 2]), np.array([1, 2]), True),
        (np.array([1, 2]), np.array([1, 3]), False),
        (np.array([1, 1]), 1, False),
        (1, np.array([1, 1]), False),
        (np.array([]), np.array([1]), False),
        (np.array([]), np.array([]), True),
        (np.array([1, 2]), np.array([1, 2, 3]), False),
        (np.array([[1, 2], [1, 2]]), np.array([1, 2]), False),
        (np.array([[1, 2]]), np.array([[1, 2]]), True),
        (np.array([1, 2]), [1, 2], True),
        ([1, 2], np.array([1, 2]), True),
        (np.array([1, 2]), [], False),
        ([1, 2, 3], np.array([1, 2]), False),
        (np.array([1, 2]), Incomparable(), False),
        (np.array([[1, 2], [1, 2]]), [1, 2], False),
        (np.array([math.nan]), np.array([math.nan]), False),
        (np.float64(1), 1, True),
        (np.array(1), 1, True),
        ({"a": np.array([1, 2])}, {"a": np.array([1, 2])}, True),
        ({"a": np.array([1, 2])}, {"a": np.array([1, 3])}, False),
        ({"a": np.array([1, 2])}, {"b": np.array([1, 2])}, False),
        ([np.array([1, 2])], [np.array([1, 2])], True),
        ((0, np.array([1, 2])), (0, np.array([1, 2]), 0), False),
        (Point(np.array([1, 2])), Point(np.array([1, 2])), True),
        (Point(np.array([1, 2])), Point(np.array([2, 2])), False),
    ],
)
def test_arrays_are_equal_in_shape_and_every_element(left, right, same):
    assert equal(left, right) is same


@pytest.mark.parametrize(
    ("left", "right"), [(Incomparable(), 1), ([Incomparable()], [1]), (Decimal("sNaN"), Decimal(1))]
)
def test_a_comparison_that_raises_is_an_error_and_not_an_answer(left, right):
    with pytest.raises(CalipersError, match=r"comparing .* raised"):
        equal(left, right)


def test_values_that_contain_themselves_do_not_hang():
    left, right = [], []
    left.append(left)
    right.append(right)
    with pytest.raises(CalipersError, match="RecursionError"):
        equal(left, right)


@pytest.mark.parametrize(
    ("expected", "actual", "words"),
    [
        (1, 2, "expected 1, got 2"),
        (1, "1", "expected 1 (int), got '1' (str)"),
        ("Paris", "paris", "expected 'Paris', got 'paris'"),
        (None, 0, "expected None, got 0 (int)"),
        ([1, 2], (1, 2), "expected [1, 2] (list), got (1, 2) (tuple)"),
        ({"a": 1}, {}, "'a' is missing (expected 1)"),
        ({}, {"a": 1}, "'a' is not expected (got 1)"),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, "at ['a'][1]['b']: expected 2, got 3"),
        ({"a": {"b": 1}}, {"a": {}}, "at ['a']: 'b' is missing (expected 1)"),
        ([1, 2], [1], "expected 2 items, got 1: [1] is missing, which is 2"),
        ([1], [1, 3], "expected 1 items, got 2: [1] is not expected, which is 3"),
        ([1, 2, 3], [1, 9], "at [1]: expected 2, got 9"),
        ({1, 2}, {2, 3}, "missing {1}, not expected {3}"),
        (Point(1, [2]), Point(1, [3]), "at .y[0]: expected 2, got 3"),
        (Point(1), 1, "expected Point(x=1, y=0) (Point), got 1 (int)"),
        (
            [math.nan],
            [math.nan + 0],
            "at [0]: expected nan (float), got nan (float) (NaN equals nothing, not even NaN)",
        ),
    ],
)
def test_the_first_difference_is_named_with_its_path(expected, actual, words):
    assert first_difference(expected, actual) == words


def test_long_texts_show_a_window_around_the_first_difference():
    words = first_difference("a" * 500 + "X" + "b" * 500, "a" * 500 + "Y" + "b" * 400)
    assert "'aaaaaaaaaaaaaaaaaaaaX" in words
    assert "'aaaaaaaaaaaaaaaaaaaaY" in words
    assert "first difference at character 500; 1001 and 901 characters" in words
    assert len(words) < 250


@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=200))
def test_the_position_of_a_difference_is_the_end_of_what_the_texts_share(start, left, right):
    expected, actual = start + left + "x" * 61, start + right + "x" * 61
    if expected != actual:
        position = int(first_difference(expected, actual).partition("at character ")[2].partition(";")[0])
        assert expected[:position] == actual[:position]
        assert expected[position : position + 1] != actual[position : position + 1]


def test_a_part_that_cannot_be_compared_does_not_hide_the_difference():
    assert "expected" in first_difference([Incomparable(), 1], [Incomparable()])


def test_a_path_without_end_is_cut():
    left, right = [], []
    for _ in range(200):
        left, right = [left, 1], [right, 2]
    assert len(first_difference(left, right)) < 1000


@dataclass
class Place:
    x: int = 1
    hidden: int = field(default=2, repr=False)


class Struct(msgspec.Struct):
    x: int = 1


class ModelLike:
    """The part of a pydantic model that is read."""

    model_fields = {"x": None}  # noqa: RUF012 - as pydantic has it

    def __init__(self, extra=None):
        self.x = 1
        self.model_extra = extra
        for name, value in (extra or {}).items():
            setattr(self, name, value)


class Attribute:
    name = "x"


class AttrsLike:
    __attrs_attrs__ = (Attribute,)

    def __init__(self):
        self.x = 1


class Pair(NamedTuple):
    x: int


class Plain:
    def __init__(self):
        self.x = 1


@pytest.mark.parametrize(
    ("value", "mapping"),
    [
        ({"a": 1}, {"a": 1}),
        (OrderedDict(a=1), {"a": 1}),
        (UserDict(a=1), {"a": 1}),
        (Place(), {"x": 1, "hidden": 2}),
        (Struct(), {"x": 1}),
        (ModelLike(), {"x": 1}),
        (ModelLike({"y": 2}), {"x": 1, "y": 2}),
        (AttrsLike(), {"x": 1}),
    ],
)
def test_what_declares_its_fields_is_read_as_a_mapping(value, mapping):
    assert dict(as_mapping(value)) == mapping


@pytest.mark.parametrize("value", [None, 1, "text", [1], Plain(), Place, Struct, ModelLike, Pair(1)])
def test_what_declares_none_is_not(value):
    assert as_mapping(value) is None


def test_a_field_that_was_never_set_is_absent():
    model = ModelLike()
    del model.x
    assert as_mapping(model) == {}
