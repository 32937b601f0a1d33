"""How well a list of calls fits: the numbers, and the laws between them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import ToolCall
from calipers.matching import MatchOptions, match_calls

MODES = ("exact", "contiguous", "in_order", "unordered", "superset", "subset")
WEAKER = {
    "exact": ("contiguous", "in_order", "unordered", "superset", "subset"),
    "contiguous": ("in_order", "superset"),
    "in_order": ("superset",),
    "unordered": ("superset", "subset"),
    "superset": (),
    "subset": (),
}
"""What passes whenever the mode does."""

ARGUMENTS = st.dictionaries(
    st.sampled_from("ab"), st.sampled_from([1, 2, True, None, [1, 2], [1, 3]]), max_size=2
)
CALLS = st.lists(st.builds(ToolCall, st.sampled_from("fg"), ARGUMENTS), min_size=1, max_size=5)
ANY_CALLS = st.lists(st.builds(ToolCall, st.sampled_from("fg"), ARGUMENTS), max_size=5)
RANDOM = st.randoms(use_true_random=False)


def names(text):
    return [ToolCall(name) for name in text]


def numbers(match):
    return match.matched, match.passed, match.precision, match.recall, match.f1


def shuffled(calls, random):
    return random.sample(calls, len(calls))


@pytest.mark.parametrize(
    ("expected", "actual", "modes"),
    [
        ("abc", "abc", "exact contiguous in_order unordered superset subset"),
        ("abc", "xabcy", "contiguous in_order superset"),
        ("abc", "axbc", "in_order superset"),
        ("abc", "bca", "unordered superset subset"),
        ("abc", "cxba", "superset"),
        ("abc", "ba", "subset"),
        ("abc", "ab", "subset"),
        ("abc", "", ""),
        ("abc", "abx", ""),
        ("aa", "a", "subset"),
        ("a", "aa", "contiguous in_order superset"),
        ("ab", "aab", "contiguous in_order superset"),
    ],
)
def test_which_modes_pass(expected, actual, modes):
    passing = [mode for mode in MODES if match_calls(names(expected), names(actual), mode=mode).passed]
    assert " ".join(passing) == modes


def test_nothing_expected_and_nothing_done_passes_where_more_would_not():
    for mode in ("exact", "unordered", "subset"):
        match = match_calls([], [], mode=mode)
        assert (match.passed, match.score) == (True, 1.0)
        assert (match.precision, match.recall, match.f1) == (None, None, None)
        assert not match_calls([], names("a"), mode=mode).passed


@given(CALLS, st.sampled_from(MODES))
def test_calls_match_themselves_in_every_mode(calls, mode):
    match = match_calls(calls, list(calls), mode=mode)
    assert numbers(match) == (len(calls), True, 1.0, 1.0, 1.0)
    assert match.score == 1.0


@given(CALLS, ANY_CALLS, st.sampled_from(MODES))
def test_what_passes_in_one_mode_passes_in_the_weaker_ones(expected, actual, mode):
    if match_calls(expected, actual, mode=mode).passed:
        for weaker in WEAKER[mode]:
            assert match_calls(expected, actual, mode=weaker).passed


@given(CALLS, ANY_CALLS, st.sampled_from(MODES))
def test_the_score_is_one_exactly_when_the_match_passes(expected, actual, mode):
    match = match_calls(expected, actual, mode=mode)
    assert 0 <= match.score <= 1
    assert (match.score == 1.0) is match.passed


@given(CALLS, ANY_CALLS, st.sampled_from(MODES))
def test_precision_recall_and_f1_are_what_they_are_called(expected, actual, mode):
    match = match_calls(expected, actual, mode=mode)
    assert match.recall == match.matched / len(expected)
    assert match.precision == (match.matched / len(actual) if actual else None)
    if match.matched:
        assert match.f1 == pytest.approx(2 / (1 / match.precision + 1 / match.recall))
    else:
        assert match.f1 == 0


@given(CALLS, CALLS, st.sampled_from(["unordered", "superset", "subset"]), RANDOM)
def test_the_order_of_calls_changes_nothing_where_it_does_not_count(expected, actual, mode, random):
    match = match_calls(expected, actual, mode=mode)
    other = match_calls(shuffled(expected, random), shuffled(actual, random), mode=mode)
    assert numbers(match) == numbers(other)
    assert match.score == pytest.approx(other.score)


@given(CALLS, CALLS)
def test_subset_and_superset_mirror_each_other(expected, actual):
    subset, superset = (
        match_calls(expected, actual, mode="subset"),
        match_calls(actual, expected, mode="superset"),
    )
    assert subset.passed is superset.passed
    assert subset.score == pytest.approx(superset.score)
    assert (subset.precision, subset.recall) == (superset.recall, superset.precision)


@given(CALLS, CALLS, st.sampled_from(["exact", "unordered"]))
def test_the_strict_modes_are_the_same_from_both_sides(expected, actual, mode):
    there, back = match_calls(expected, actual, mode=mode), match_calls(actual, expected, mode=mode)
    assert there.passed is back.passed
    assert there.f1 == back.f1
    assert there.score == pytest.approx(back.score)


@given(CALLS, CALLS, st.sampled_from(MODES), st.integers(0, 5))
def test_an_unrelated_call_lowers_precision_and_never_recall(expected, actual, mode, place):
    before = match_calls(expected, actual, mode=mode)
    after = match_calls(expected, [*actual[:place], ToolCall("unrelated"), *actual[place:]], mode=mode)
    if mode != "contiguous":  # which looks for calls without others between them first
        assert after.recall == before.recall
        assert after.precision <= before.precision
        assert after.score <= before.score
    assert not (after.passed and not before.passed)


@given(CALLS, CALLS, st.data())
def test_losing_a_call_never_raises_recall(expected, actual, data):
    place = data.draw(st.integers(0, len(actual) - 1))
    fewer = [*actual[:place], *actual[place + 1 :]]
    for mode in MODES:
        assert (
            match_calls(expected, fewer, mode=mode).recall <= match_calls(expected, actual, mode=mode).recall
        )


@given(CALLS, CALLS)
def test_forgetting_the_order_never_lowers_the_number_of_matches(expected, actual):
    assert (
        match_calls(expected, actual, mode="exact").matched
        <= match_calls(expected, actual, mode="unordered").matched
    )


@given(CALLS, CALLS, st.sampled_from(MODES))
def test_looser_arguments_never_lose_matches(expected, actual, mode):
    found = {
        arguments: match_calls(expected, actual, mode=mode, arguments=arguments).matched
        for arguments in ("exact", "subset", "superset", "ignore")
    }
    assert found["exact"] <= min(found["subset"], found["superset"])
    assert max(found["subset"], found["superset"]) <= found["ignore"]


@pytest.mark.parametrize(
    ("expected", "actual", "mode", "score"),
    [
        ("abcd", "abc", "exact", 6 / 7),
        ("abcd", "abc", "in_order", 3 / 4),
        ("abcd", "bcx", "subset", 2 / 3),
        ("ab", "ba", "exact", 1 / 2),
        ("ab", "axb", "contiguous", 2 / 3),
        ("abc", "axbyc", "contiguous", 3 / 5),
        ("ab", "xy", "unordered", 0),
        ("ab", "", "exact", 0),
    ],
)
def test_the_score_counts_what_the_mode_asks_for(expected, actual, mode, score):
    assert match_calls(names(expected), names(actual), mode=mode).score == pytest.approx(score)


def test_a_call_that_fits_in_part_earns_part_of_the_score():
    expected = [ToolCall("f", {"a": 1, "b": 2}), ToolCall("g")]
    actual = [ToolCall("f", {"a": 1, "b": 3}), ToolCall("g")]
    match = match_calls(expected, actual)
    assert match.score == pytest.approx((0.75 + 1) / 2)
    assert (match.matched, match.precision, match.recall, match.f1) == (1, 0.5, 0.5, 0.5)


def test_many_near_matches_never_round_up_to_a_pass():
    expected = [ToolCall("f", {"a": lambda _: math.nextafter(1, 0)})] * 500
    match = match_calls(expected, [ToolCall("f", {"a": 1})] * 500, mode="unordered")
    assert not match.passed
    assert match.score < 1


@pytest.mark.parametrize(
    ("expected", "actual", "options", "headline"),
    [
        ("ab", "ab", {}, "2 of 2 expected calls matched (mode 'exact')"),
        (
            "abc",
            "cax",
            {},
            "1 of 3 expected calls matched, 1 out of order, 1 missing, 1 unexpected (mode 'exact')",
        ),
        ("ab", "axb", {"mode": "in_order"}, "2 of 2 expected calls matched (mode 'in_order')"),
        (
            "ab",
            "axb",
            {"mode": "contiguous"},
            "2 of 2 expected calls matched, 1 unexpected (mode 'contiguous')",
        ),
        ("ab", "bx", {"mode": "subset"}, "1 of 2 actual calls matched, 1 unexpected (mode 'subset')"),
        ("", "", {}, "no calls, as expected (mode 'exact')"),
        ("", "x", {}, "1 unexpected (mode 'exact')"),
        ("", "", {"mode": "subset"}, "no calls, as expected (mode 'subset')"),
        ("ab", "", {"mode": "subset"}, "no calls, and at least one of 2 was expected (mode 'subset')"),
    ],
)
def test_the_headline_counts_everything_once(expected, actual, options, headline):
    assert match_calls(names(expected), names(actual), **options).headline == headline


def test_the_reason_is_the_script_unless_all_is_well():
    assert match_calls(names("a"), names("a")).reason == "1 of 1 expected calls matched (mode 'exact')"
    match = match_calls(names("a"), names("b"))
    assert match.reason == f"{match.headline}\n- missing a()\n+ unexpected b()"
    assert str(match) == f"failed with score 0.000: {match.reason}"
    assert str(match_calls(names("a"), names("a"))).startswith("passed with score 1.000: ")


def test_the_outcome_tells_the_calls():
    match = match_calls(names("abcd"), names("cabx"), MatchOptions())
    assert (match.missing, match.extra) == ((ToolCall("d"),), (ToolCall("x"),))
    assert [(pair.expected_index, pair.actual_index) for pair in match.pairs] == [(0, 1), (1, 2)]
    assert [(pair.expected_index, pair.actual_index) for pair in match.out_of_order] == [(2, 0)]


def test_what_was_not_measured_is_not_in_the_numbers():
    assert match_calls([], names("a")).metadata == {
        "matched": 0,
        "expected": 0,
        "actual": 1,
        "precision": 0.0,
        "f1": 0.0,
    }


def test_an_outcome_prints_on_one_line():
    assert repr(match_calls(names("ab"), names("a"))) == (
        "CallsMatch(passed=False, score=0.667: 1 of 2 expected calls matched, 1 missing (mode 'exact'))"
    )
