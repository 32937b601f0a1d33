import math
from dataclasses import dataclass

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.evaluators import Contains, ContainsAll, ContainsAny, EvaluationReason, NotContains, Skipped

LETTERS = st.text("abAB", max_size=6)


@dataclass
class Answer:
    text: str
    score: int = 1


class Struct(msgspec.Struct):
    text: str


class OnlyContains:
    def __contains__(self, item):
        return item == 1


TABLE = [
    # value, output, options, contained
    ("b", "abc", {}, True),
    ("B", "abc", {}, False),
    ("B", "abc", {"case_sensitive": False}, True),
    ("STRASSE", "straße", {"case_sensitive": False}, True),
    (b"b", b"abc", {}, True),
    (b"B", b"abc", {"case_sensitive": False}, True),
    (5, "5 apples", {"as_strings": True}, True),
    ("1, 2", [1, 2], {"as_strings": True}, True),
    ("none", None, {"as_strings": True, "case_sensitive": False}, True),
    (2, [1, 2], {}, True),
    (3, [1, 2], {}, False),
    (math.nan, [1, math.nan], {}, True),  # the same object, as `in` sees it
    ([1], [[1], [2]], {}, True),
    ("x", ["xy"], {}, False),
    ("X", ["x"], {}, False),
    ("X", ["x"], {"case_sensitive": False}, True),
    ("X", {"x"}, {"case_sensitive": False}, True),
    (2, {1, 2}, {}, True),
    (3, range(5), {}, True),
    (1, OnlyContains(), {}, True),
    (2, OnlyContains(), {}, False),
    (2, np.array([1, 2]), {}, True),
    (3, np.array([1, 2]), {}, False),
    ("a", {"a": 1}, {}, True),
    ("b", {"a": 1}, {}, False),
    ("A", {"a": 1}, {"case_sensitive": False}, True),
    ([1], {"a": [1]}, {}, False),
    (None, {None: 1}, {}, True),
    ({"a": 1}, {"a": 1, "b": 2}, {}, True),
    ({"a": 1, "b": 3}, {"a": 1, "b": 2}, {}, False),
    ({"a": None}, {}, {}, False),
    ({"a": "X"}, {"a": "x"}, {}, False),
    ({"A": "X"}, {"a": "x"}, {"case_sensitive": False}, True),
    ({"a": np.array([1, 2])}, {"a": np.array([1, 2])}, {}, True),
    ({"a": 1}, [{"a": 1}], {}, True),
    ("text", Answer("hi"), {}, True),
    ("hi", Answer("hi"), {}, False),
    ({"text": "hi"}, Answer("hi"), {}, True),
    ({"text": "ho"}, Answer("hi"), {}, False),
    ({"text": "hi"}, Struct("hi"), {}, True),
    (Answer("hi"), {"text": "hi", "score": 1, "more": 2}, {}, True),
]


@pytest.mark.parametrize(("value", "output", "options", "contained"), TABLE)
def test_what_contains_what(judge, value, output, options, contained):
    result = judge(Contains(value, **options), output)
    assert result.value is contained
    assert (result.reason is None) is contained


@pytest.mark.parametrize(("value", "output", "options", "contained"), TABLE)
def test_one_value_is_contained_as_all_as_any_and_not_as_absent(judge, value, output, options, contained):
    assert judge(ContainsAll([value], **options), output).value is contained
    assert judge(ContainsAny([value], **options), output).value is contained
    if contained:
        assert judge(NotContains(value, **options), output).value is False


@given(LETTERS.filter(bool), LETTERS)
def test_on_text_it_agrees_with_python(judge, value, output):
    assert judge(Contains(value), output).value == (value in output)
    assert judge(NotContains(value), output).value == (value not in output)
    folded = judge(Contains(value, case_sensitive=False), output).value
    assert folded == (value.casefold() in output.casefold())


@given(
    st.integers(0, 3) | st.floats(), st.lists(st.integers(0, 3) | st.floats()) | st.sets(st.integers(0, 3))
)
def test_on_collections_it_agrees_with_python(judge, value, output):
    assert judge(Contains(value), output).value == (value in output)
    assert judge(NotContains(value), output).value == (value not in output)


@given(st.dictionaries(LETTERS, st.integers(0, 2), min_size=1), st.dictionaries(LETTERS, st.integers(0, 2)))
def test_a_mapping_contains_another_when_it_has_all_its_pairs(judge, value, output):
    assert judge(Contains(value), output).value == (value.items() <= output.items())
    assert judge(NotContains(value), output).value == value.items().isdisjoint(output.items())


@pytest.mark.parametrize(
    ("evaluator", "output", "reason"),
    [
        (Contains("b"), "xyz", "expected 'b' in 'xyz'"),
        (Contains("X"), "xyz", "expected 'X' in 'xyz' (it is there in another case)"),
        (Contains(5), "5", "5 (int) cannot be part of '5' (str): as_strings=True compares both as text"),
        (
            Contains("b"),
            b"b",
            "'b' (str) cannot be part of b'b' (bytes): as_strings=True compares both as text",
        ),
        (Contains("b"), 7, "7 (int) cannot contain 'b'"),
        (Contains("b"), {"a": 1}, "expected the key 'b', got the keys ['a']"),
        (Contains({"b": 1}), {"a": 1}, "the key 'b' is missing (expected 1); got the keys ['a']"),
        (Contains({"a": [1]}), {"a": [2]}, "at key 'a': at [0]: expected 1, got 2"),
        (NotContains("b"), "abc", "expected no 'b', got 'abc'"),
        (NotContains({"a": 1, "b": 2}), {"a": 0, "b": 2}, "expected no {'b': 2}, got {'a': 0, 'b': 2}"),
        (ContainsAll(["a", "b", "c"]), "ab", "1 of 3 are missing: ['c']; got 'ab'"),
        (ContainsAny(["x", "y"]), "ab", "expected one of ['x', 'y'], got 'ab'"),
    ],
)
def test_a_failure_says_what_was_expected_and_what_was_there(judge, evaluator, output, reason):
    assert judge(evaluator, output) == EvaluationReason(value=False, reason=reason)


def test_any_says_which_one_it_found(judge):
    assert judge(ContainsAny(["x", "b", "c"]), "abc") == EvaluationReason(value=True, reason="contains 'b'")


@pytest.mark.parametrize(
    ("value", "output"), [("b", None), ("b", 5), (5, "5"), ("b", b"b"), ([1], {1, 2}), ("b", iter("abc"))]
)
def test_absence_shows_nothing_where_the_value_could_never_be(judge, value, output):
    assert isinstance(judge(NotContains(value), output), Skipped)


@pytest.mark.parametrize(("value", "output"), [("", "text"), (b"", b"text"), ({}, {"a": 1})])
@pytest.mark.parametrize("kind", [Contains, NotContains])
def test_looking_for_nothing_is_an_error(judge, kind, value, output):
    with pytest.raises(InvalidOptionError, match="shows nothing"):
        judge(kind(value), output)


def test_an_empty_element_is_something(judge):
    assert judge(Contains(""), ["", "a"]).value is True
    assert judge(Contains({}), [{}]).value is True


@pytest.mark.parametrize("kind", [ContainsAny, ContainsAll])
@pytest.mark.parametrize("values", [[], "abc", None, 5])
def test_several_values_are_a_list_with_something_in_it(kind, values):
    with pytest.raises(InvalidOptionError, match=kind.__name__):
        kind(values)


def test_an_iterator_is_not_used_up(judge):
    output = iter("abc")
    judge(Contains("a"), output)
    assert list(output) == ["a", "b", "c"]
