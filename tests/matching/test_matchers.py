"""Matchers of single values."""

import copy
import math
from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import AttemptTimeoutError, InvalidOptionError
from calipers.matching import (
    Absent,
    AllOf,
    AnyOf,
    Anything,
    Approx,
    Includes,
    InRange,
    Json,
    Maybe,
    Not,
    OfType,
    Present,
    Regex,
    SetOf,
    Similar,
    Text,
    matches,
    similarity,
)
from calipers.matching.value_comparison import differences

MATCHERS = [
    Absent(),
    Anything(),
    Approx(5, abs_tol=0.1),
    InRange(1, 3),
    Json({"a": 1}),
    Maybe("x"),
    OfType("string"),
    Present(),
    Regex("^a"),
    Similar("night"),
    Text("Rome"),
]


@pytest.mark.parametrize(
    ("matcher", "fitting", "unfit"),
    [
        (Regex("b+"), ["abc", "bb"], ["ac", "", "B", 5, None, b"b"]),
        (Regex("b+", full=True), ["bb"], ["abc"]),
        (Regex("B", ignore_case=True), ["abc"], ["ac"]),
        (Text("San  Francisco"), ["san francisco", " SAN\tFRANCISCO\n"], ["sanfrancisco", 5, None]),
        (Text("Straße"), ["STRASSE"], ["Strase"]),
        (Text("e\u0301"), ["\xe9", "\xc9"], ["e"]),
        (Text("a b", ignore_space=False), ["A B"], ["a  b", "a b "]),
        (Text("a B", ignore_case=False), ["a  B "], ["a b"]),
        (Similar("night train"), ["night train", "nigt train"], ["day bus", "", None, 5]),
        (Similar("NIGHT", ignore_case=True), ["night"], ["day"]),
        (
            Approx(10, abs_tol=0.5),
            [10, 10.5, 9.5, Decimal("10.2"), Fraction(21, 2)],
            [10.6, "10", None, True],
        ),
        (Approx(1), [1, 1.0, 1 + 1e-12], [1.001, True, math.nan, Decimal("NaN"), Decimal("sNaN")]),
        (Approx(0), [0, 0.0, -0.0], [1e-300]),
        (Approx(10**400), [10**400], [10**401, 5, math.inf]),
        (Approx(5), [], [10**400]),
        (Approx(math.inf), [math.inf], [-math.inf, 1e308]),
        (InRange(1, 3), [1, 3, 2.5, Decimal(2)], [0, 3.1, math.nan, True, "2", None]),
        (InRange(minimum=1), [1, math.inf, 10**400], [0]),
        (InRange(maximum=1), [1, -math.inf], [2]),
        (OfType(str), ["a"], [5, None, b"a"]),
        (OfType(int), [5], [True, 5.0]),
        (OfType(bool), [True], [1]),
        (OfType(object), [True, 1, None], []),
        (OfType("integer"), [5], [True, 5.0, "5"]),
        (OfType("number"), [5, 5.0, Decimal(5)], [True, "5"]),
        (OfType("boolean"), [False], [0]),
        (OfType("array"), [[], (1,)], ["a", {}]),
        (OfType("object"), [{}], [[]]),
        (OfType("null"), [None], [0, ""]),
        (OfType("string"), [""], [None]),
        (Anything(), [None, 0, "", [], math.nan], []),
        (
            Present(),
            [0, False, "a", [None], {"a": None}, math.nan],
            [None, "", " \n", [], (), {}, set(), b""],
        ),
        (Absent(), [], [None, 0, ""]),
        (Maybe("x"), ["x"], ["y", None]),
        (Maybe(Regex("^x")), ["xy"], ["y"]),
        (
            Json({"a": [1, Regex("b")]}),
            ['{"a": [1.0, "b"]}', ' {"a":[1,"abc"]} '],
            ['{"a": [1]}', "{", {"a": 1}],
        ),
        (Json(1), ["1"], ["true", "", None, 1, "[" * 100_000]),
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
        assert found.reason.isprintable()


@pytest.mark.parametrize(
    ("matcher", "value", "reason"),
    [
        (Regex("^x"), "yz", "expected a match of '^x', got 'yz'"),
        (Regex("x", full=True), "yz", "expected the whole text to match 'x', got 'yz'"),
        (Regex("x"), 5, "expected text, got 5 (int)"),
        (Text("Rome"), "Paris", "expected Text('Rome'), got 'Paris'"),
        (Approx(9.99, abs_tol=0.01), 12, "expected 9.99 ± 0.01, got 12, which is 2.01 away"),
        (Approx(9.99), "12", "expected a number close to 9.99, got '12' (str)"),
        pytest.param(
            Approx(5), 10**400, f"expected a number close to 5, got 1{'0' * 47}…{'0' * 49}", id="huge number"
        ),
        (InRange(1, 3), 4, "expected InRange(1, 3), got 4"),
        (OfType("integer"), 5.0, "expected OfType('integer'), got 5.0 (float)"),
        (OfType(str), None, "expected OfType(str), got None"),
        (Present(), "", "expected Present(), got ''"),
        (Absent(), None, "expected to be left out, got None"),
        (Maybe("x"), "y", "expected 'x', got 'y' (it may be left out)"),
        (Json({"a": 1}), '{"a": 2}', "inside the JSON: a: expected 1, got 2"),
        (Json({"a": 1}), "{", "expected text that is JSON, got '{' (str)"),
        (
            Similar("night", minimum=0.9),
            "light",
            "expected similarity 0.9 to 'night', got 0.800 with 'light'",
        ),
        (Similar("night"), 5, "expected text, got 5 (int)"),
    ],
)
def test_each_says_why_it_does_not_match(matcher, value, reason):
    (found,) = differences(matcher, value)
    assert found.reason == reason


@pytest.mark.parametrize(
    ("matcher", "text"),
    [
        (Regex("^a"), "Regex('^a')"),
        (Regex("^a", full=True, timeout_seconds=2), "Regex('^a', full=True, timeout_seconds=2)"),
        (Approx(5), "Approx(5)"),
        (Approx(5, abs_tol=0.1), "Approx(5, abs_tol=0.1)"),
        (InRange(1), "InRange(1, None)"),
        (Present(), "Present()"),
        (Maybe(Text("a", ignore_case=False)), "Maybe(Text('a', ignore_case=False))"),
        (OfType(int), "OfType(int)"),
    ],
    ids=str,
)
def test_each_prints_as_it_is_written(matcher, text):
    assert repr(matcher) == text


@pytest.mark.parametrize("matcher", MATCHERS, ids=repr)
def test_equal_ones_are_equal_and_different_ones_are_not(matcher):
    assert [other for other in copy.deepcopy(MATCHERS) if other == matcher] == [matcher]


@pytest.mark.parametrize(
    ("matcher", "accepts"), [(m, isinstance(m, Absent | Maybe)) for m in MATCHERS], ids=str
)
def test_only_those_that_say_so_accept_that_an_argument_is_left_out(matcher, accepts):
    assert matches({"a": matcher}, {}) is accepts


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Regex(""), "Regex needs a pattern as non-empty text, got ''"),
        (lambda: Regex(None), "Regex needs a pattern"),
        (lambda: Regex("("), r"'\(' is not a valid pattern"),
        (
            lambda: Regex("a", timeout_seconds=0),
            "timeout_seconds must be a number of seconds above 0, got 0",
        ),
        (lambda: Regex("a", timeout_seconds=math.inf), "timeout_seconds"),
        (lambda: Regex("a", timeout_seconds=True), "timeout_seconds"),
        (lambda: Text(5), "the value of Text must be a text, got 5"),
        (lambda: Similar(None), "the value of Similar must be a text, got None"),
        (lambda: Similar("a", minimum=0), "minimum must be a number above 0 and at most 1, got 0"),
        (lambda: Approx("5"), "Approx needs a number, got '5'"),
        (lambda: Approx(math.nan), "Approx needs a number, got nan"),
        (lambda: Approx(True), "Approx needs a number, got True"),
        (lambda: Approx(5, abs_tol=-1), "abs_tol must be a number from 0, got -1"),
        (lambda: Approx(5, rel_tol=math.nan), "rel_tol must be a number from 0, got nan"),
        (lambda: InRange(), "InRange needs a minimum, a maximum, or both"),
        (lambda: InRange(3, 1), "got 3 and 1"),
        (lambda: InRange(math.nan), "InRange needs"),
        (lambda: OfType("text"), "OfType needs a class or one of array, boolean"),
        (lambda: OfType(5), "OfType needs a class"),
    ],
)
def test_what_means_nothing_is_refused(make, message):
    with pytest.raises(InvalidOptionError, match=message):
        make()


def test_a_pattern_that_does_not_come_to_an_end_is_an_error_and_no_mismatch():
    endless = Regex("(a|aa)+$", timeout_seconds=0.05)
    with pytest.raises(AttemptTimeoutError, match=r"still running after 0\.05 s on a text of 61 characters"):
        similarity(endless, "a" * 60 + "b")


@given(st.floats(allow_nan=False), st.floats(), st.floats(0, 2), st.floats(0, 2))
def test_close_means_what_math_says(value, actual, abs_tol, rel_tol):
    close = math.isclose(value, actual, abs_tol=abs_tol, rel_tol=rel_tol)
    assert matches(Approx(value, abs_tol=abs_tol, rel_tol=rel_tol), actual) is close


@given(st.text(min_size=1), st.text(), st.floats(0.01, 1))
def test_similar_text_earns_its_similarity_below_the_minimum_and_one_above(value, actual, minimum):
    share = similarity(Similar(value, minimum=minimum), actual)
    assert share == 1.0 or share < minimum
    assert matches(Similar(value, minimum=minimum), value)


@given(st.text())
def test_text_is_the_same_however_it_is_cased_and_spaced(text):
    assert matches(Text(text), f"  {text.replace(' ', '   ')} ")
    assert matches(Text(text, ignore_case=False, ignore_space=False), text)


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
def test_what_each_combination_accepts(matcher, fitting, unfit):
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
def test_each_combination_says_why_it_does_not_match(matcher, value, reason):
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
def test_a_combination_that_means_nothing_is_refused(make):
    with pytest.raises(InvalidOptionError, match="needs"):
        make()


def test_each_combination_prints_as_it_is_written():
    assert repr(AnyOf(1, AllOf(Regex("a"), "b"))) == "AnyOf(1, AllOf(Regex('a'), 'b'))"
    assert repr(SetOf([1, Not("a")])) == "SetOf([1, Not('a')])"
    assert AnyOf(1, 2) == AnyOf(1, 2)
    assert AnyOf(1, 2) != AnyOf(2, 1)
