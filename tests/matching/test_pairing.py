"""Which expected call goes with which actual one."""

from itertools import combinations, permutations

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
    MatchOptions,
    Maybe,
    Regex,
    SetOf,
    Similar,
    compare_calls,
)
from calipers.matching.assignment import UNIT
from calipers.matching.pairing import call_weights, pair_calls

VALUES = st.sampled_from([1, 2, "a", [1, 2], [1, 3]])
ACTUAL = st.lists(
    st.builds(ToolCall, st.sampled_from("fg"), st.dictionaries(st.sampled_from("ab"), VALUES, max_size=2)),
    max_size=4,
)
EXPECTED = st.lists(
    st.builds(
        ToolCall,
        st.sampled_from("fg"),
        st.dictionaries(st.sampled_from("ab"), VALUES | st.just(Regex("a")), max_size=2),
    ),
    max_size=4,
)
ARGUMENTS = st.sampled_from(["exact", "subset", "superset", "ignore"])


def names(text):
    return [ToolCall(name) for name in text]


def pairs_of(pairing):
    return [(pair.expected_index, pair.actual_index) for pair in pairing.pairs]


def worth(pairs, expected, actual, options):
    shares = [compare_calls(expected[i], actual[j], options).similarity for i, j in pairs]
    return shares.count(1.0), round(sum(shares), 6)


def every_pairing(rows, columns, *, ordered):
    for count in range(min(rows, columns) + 1):
        for left in combinations(range(rows), count):
            for right in (combinations if ordered else permutations)(range(columns), count):
                yield list(zip(left, right, strict=True))


@given(EXPECTED, ACTUAL, ARGUMENTS, st.booleans())
def test_no_other_pairing_is_better(expected, actual, arguments, ordered):
    options = MatchOptions(mode="exact" if ordered else "unordered", arguments=arguments)
    found = pairs_of(pair_calls(expected, actual, options))
    every = every_pairing(len(expected), len(actual), ordered=ordered)
    best = max(worth(pairs, expected, actual, options) for pairs in every)
    assert worth(found, expected, actual, options) == best
    if ordered:
        assert found == sorted(found)
        assert [j for _, j in found] == sorted(j for _, j in found)


@given(
    EXPECTED, ACTUAL, st.sampled_from(["exact", "contiguous", "in_order", "unordered", "subset", "superset"])
)
def test_every_call_has_one_place(expected, actual, mode):
    pairing = pair_calls(expected, actual, MatchOptions(mode=mode))
    both = [*pairing.pairs, *pairing.out_of_order]
    assert sorted([*(pair.expected_index for pair in both), *pairing.missing]) == list(range(len(expected)))
    assert sorted([*(pair.actual_index for pair in both), *pairing.extra]) == list(range(len(actual)))
    assert all(pair.comparison.expected is expected[pair.expected_index] for pair in both)
    assert all(pair.comparison.actual is actual[pair.actual_index] for pair in both)
    assert all(pair.comparison.similarity > 0 for pair in both)
    assert all(pair.matched for pair in pairing.out_of_order)


@given(EXPECTED, ACTUAL, ARGUMENTS)
def test_what_could_match_elsewhere_is_never_called_missing(expected, actual, arguments):
    options = MatchOptions(mode="exact", arguments=arguments)
    pairing = pair_calls(expected, actual, options)
    for row in pairing.missing:
        for column in pairing.extra:
            assert not compare_calls(expected[row], actual[column], options).matched


@given(EXPECTED, ACTUAL)
def test_calls_of_one_tool_are_paired_as_long_as_both_sides_have_some(expected, actual):
    pairing = pair_calls(expected, actual, MatchOptions(mode="unordered"))
    for tool in "fg":
        assert not (
            any(expected[row].name == tool for row in pairing.missing)
            and any(actual[column].name == tool for column in pairing.extra)
        )


@pytest.mark.parametrize(
    ("expected", "actual", "pairs", "moved", "missing", "extra"),
    [
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)], [], [], []),
        ("abc", "axbc", [(0, 0), (1, 2), (2, 3)], [], [], [1]),
        ("abc", "ac", [(0, 0), (2, 1)], [], [1], []),
        ("ab", "ba", [(1, 0)], [(0, 1)], [], []),
        ("abc", "cab", [(0, 1), (1, 2)], [(2, 0)], [], []),
        ("a", "aa", [(0, 0)], [], [], [1]),
        ("aa", "a", [(0, 0)], [], [1], []),
        ("", "a", [], [], [], [0]),
        ("a", "", [], [], [0], []),
        ("", "", [], [], [], []),
        ("abcd", "xbcdy", [(1, 1), (2, 2), (3, 3)], [], [0], [0, 4]),
        ("aabb", "abab", [(0, 0), (2, 1), (3, 3)], [(1, 2)], [], []),
    ],
)
def test_examples_where_the_order_counts(expected, actual, pairs, moved, missing, extra):
    pairing = pair_calls(names(expected), names(actual), MatchOptions(mode="exact"))
    assert pairs_of(pairing) == pairs
    assert [(pair.expected_index, pair.actual_index) for pair in pairing.out_of_order] == moved
    assert (list(pairing.missing), list(pairing.extra)) == (missing, extra)


@pytest.mark.parametrize(
    ("expected", "actual", "pairs"),
    [
        ("ab", "axab", [(0, 2), (1, 3)]),
        ("ab", "xaby", [(0, 1), (1, 2)]),
        ("ab", "abab", [(0, 0), (1, 1)]),
        ("ab", "axb", [(0, 0), (1, 2)]),
        ("aab", "aaab", [(0, 1), (1, 2), (2, 3)]),
    ],
)
def test_calls_without_a_gap_are_preferred_where_gaps_count(expected, actual, pairs):
    assert pairs_of(pair_calls(names(expected), names(actual), MatchOptions(mode="contiguous"))) == pairs


def test_greedy_pairing_would_fail_what_fits():
    expected = [ToolCall("f", {"a": 1}), ToolCall("f", {"a": 1, "b": 2})]
    actual = [ToolCall("f", {"a": 1, "b": 2}), ToolCall("f", {"a": 1})]
    pairing = pair_calls(expected, actual, MatchOptions(mode="unordered", arguments="subset"))
    assert pairs_of(pairing) == [(0, 1), (1, 0)]
    assert all(pair.matched for pair in pairing.pairs)


@pytest.mark.parametrize("mode", ["exact", "unordered"])
def test_a_thousand_calls_of_one_tool_are_paired(mode):
    expected = [ToolCall("f", {"n": n, "unit": "c", "kind": n % 7}) for n in range(1000)]
    actual = [ToolCall("f", {"n": -n, "unit": "c", "kind": n % 5}) for n in range(1000)]
    pairing = pair_calls(expected, actual, MatchOptions(mode=mode))
    assert len(pairing.pairs) + len(pairing.missing) == len(pairing.pairs) + len(pairing.extra) == 1000
    assert sum(pair.matched for pair in pairing.pairs) == 1  # 0 is -0


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
WEIGHED = PLAIN | st.sampled_from(
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


def pair_worth(weights, row, column):
    """The similarity of a pair, as the weights tell it."""
    bit = 1 << column
    if not weights.same_tool[row] & bit:
        return 0.0
    found = [weight for weight, mask in weights.levels[row] if mask & bit]
    assert len(found) <= 1
    weight = found[0] if found else 0
    return (UNIT + (weight - weights.full if weight > weights.full else weight)) / UNIT / 2


@given(calls(WEIGHED), calls(PLAIN), RULES)
def test_weights_say_of_each_pair_what_comparing_it_says(expected, actual, rules):
    weights = call_weights(expected, actual, rules)
    for row, wanted in enumerate(expected):
        for column, made in enumerate(actual):
            compared = compare_calls(wanted, made, rules)
            assert pair_worth(weights, row, column) == pytest.approx(compared.similarity, abs=1e-8)
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
        assert pair_worth(weights, 0, column) == pytest.approx(expected, abs=1e-8)
