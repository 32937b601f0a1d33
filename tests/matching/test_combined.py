"""Matchers made of others."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.matching import (
    Absent,
    AllOf,
    AnyOf,
    Approx,
    Includes,
    Maybe,
    Not,
    OfType,
    Regex,
    SetOf,
    matches,
    similarity,
)
from calipers.matching.value_comparison import differences

ITEMS = st.lists(st.sampled_from([1, 2, 3, "a", True, None]), max_size=5)


@pytest.mark.parametrize(
    ("matcher", "fitting", "unfit"),
    [
        (AnyOf(1, "a", Regex("^b")), [1, 1.0, "a", "bc"], [True, "cb", None]),
        (AnyOf([1], {"a": 2}), [[1], {"a": 2}], [[2], {}]),
        (AllOf(Regex("a"), Regex("b")), ["ab", "ba"], ["a", "b", 5]),
        (AllOf(OfType(int), lambda value: value > 3), [4], [3]),
        (Not(5), [6, "5", True, None], [5, 5.0]),
        (Not(Regex("secret")), ["fine", 5], ["a secret"]),
        (SetOf([1, 2, 2]), [[1, 2, 2], (2, 1, 2)], [[1, 2], [1, 1, 2], [1, 2, 2, 3], "122", None]),
        (SetOf([]), [[], (), set()], [[1], None]),
        (SetOf({1, 2}), [{1, 2}, [2, 1]], [[1]]),
        # Taking the first that fits would leave 1 without a partner.
        (SetOf([OfType(int), 1]), [[1, 2], [2, 1]], [[2, 3]]),
        (SetOf([Approx(1, abs_tol=1), Approx(2, abs_tol=0.1)]), [[2, 1]], [[1, 1]]),
        (Includes("b"), ["abc"], ["ac", 5, None, ["b"]]),
        (Includes([1, 1]), [[1, 2, 1], (1, 1)], [[1, 2], 1, None]),
        (Includes((1, Regex("a"))), [["ab", 1]], [[1]]),
        (Includes({"a": 1}), [{"a": 1, "b": 2}], [{"a": 2}, {}, [1], None]),
        (Includes({"a": Absent()}), [{"b": 2}], [{"a": 2}]),
        (Includes({"a": Includes({"b": 1})}), [{"a": {"b": 1, "c": 2}, "d": 3}], [{"a": {"b": 2}}]),
    ],
)
def test_what_each_accepts(matcher, fitting, unfit):
    for value in fitting:
        assert matches(matcher, value), value
        assert not list(differences(matcher, value))
    for value in unfit:
        assert not matches(matcher, value), value
        (found,) = differences(matcher, value)
        assert found.reason


@pytest.mark.parametrize(
    ("matcher", "value", "reason"),
    [
        (AnyOf(1, Regex("^a")), "b", "expected AnyOf(1, Regex('^a')), got 'b'"),
        (AllOf(Regex("a"), Regex("b")), "ac", "expected a match of 'b', got 'ac'"),
        (Not(5), 5, "expected Not(5), got 5"),
        (SetOf([1, 2, "x"]), [2, 1, True], "missing items 'x' and unexpected items True"),
        (SetOf([1]), 1, "expected a list of 1 items in any order, got 1 (int)"),
        (Includes([1, 5]), [2, 1], "missing items 5"),
        (Includes({"a": 1, "b": 2}), {"a": 3}, "a: expected 1, got 3; b: missing, expected 2"),
        (Includes("b"), 5, "expected Includes('b'), got 5 (int)"),
        (Includes([1]), {}, "expected Includes([1]), got {} (dict)"),
    ],
)
def test_each_says_why_it_does_not_match(matcher, value, reason):
    (found,) = differences(matcher, value)
    assert found.reason == reason


@given(ITEMS, st.randoms(use_true_random=False))
def test_a_set_matches_every_order_of_its_items(items, random):
    shuffled = random.sample(items, len(items))
    assert matches(SetOf(items), shuffled)
    assert not matches(SetOf(items), [*shuffled, "one more"])


@given(ITEMS, ITEMS)
def test_a_set_pairs_items_as_well_as_any_order_could(expected, actual):
    longest = max(len(expected), len(actual))
    padded = [*actual, *["nothing"] * (longest - len(actual))]
    best = max(
        sum(similarity(a, b) for a, b in zip(expected, order, strict=False)) for order in permutations(padded)
    )
    assert similarity(SetOf(expected), actual) == pytest.approx(best / longest if longest else 1)


@given(ITEMS.filter(bool), ITEMS, st.randoms(use_true_random=False))
def test_whatever_is_added_to_what_is_included_changes_nothing(items, more, random):
    together = [*items, *more]
    assert matches(Includes(items), random.sample(together, len(together)))


@pytest.mark.parametrize(
    ("matcher", "accepts"),
    [
        (AnyOf("x", Absent()), True),
        (AnyOf("x", "y"), False),
        (AllOf(Maybe("x"), Maybe(Regex("x"))), True),
        (AllOf(Maybe("x"), "x"), False),
    ],
)
def test_an_argument_may_be_left_out_where_the_parts_say_so(matcher, accepts):
    assert matches({"a": matcher}, {}) is accepts
    assert matches({"a": matcher}, {"a": "x"})


@pytest.mark.parametrize(
    "make",
    [
        AnyOf,
        AllOf,
        lambda: SetOf("ab"),
        lambda: SetOf(5),
        lambda: Includes([]),
        lambda: Includes(5),
        lambda: Includes(""),
    ],
)
def test_what_means_nothing_is_refused(make):
    with pytest.raises(InvalidOptionError, match="needs"):
        make()


def test_each_prints_as_it_is_written():
    assert repr(AnyOf(1, AllOf(Regex("a"), "b"))) == "AnyOf(1, AllOf(Regex('a'), 'b'))"
    assert repr(SetOf([1, Not("a")])) == "SetOf([1, Not('a')])"
    assert AnyOf(1, 2) == AnyOf(1, 2)
    assert AnyOf(1, 2) != AnyOf(2, 1)
