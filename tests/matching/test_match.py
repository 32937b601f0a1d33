"""The front door."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import ToolCall, Trace
from calipers.errors import InvalidOptionError, InvalidTraceError
from calipers.matching import CallOf, MatchOptions, Regex, match_calls


def call(name, n=0, *, ok=True):
    return ToolCall(name, {"n": n}, success=ok, error=None if ok else "timed out")


def test_the_default_is_the_same_calls_in_the_same_order():
    assert match_calls([call("a"), call("b")], [call("a"), call("b")]).passed
    assert not match_calls([call("a"), call("b")], [call("b"), call("a")]).passed
    assert not match_calls([call("a")], [call("a"), call("a")]).passed


def test_calls_may_be_written_in_several_ways():
    expected = [
        "search",
        {"name": "book", "arguments": {"to": "LA"}},
        {"pay": {"amount": 5}},
        ToolCall("mail"),
    ]
    actual = [
        ToolCall("search"),
        {"tool_name": "book", "tool_input": {"to": "LA"}},
        {"name": "pay", "arguments": {"amount": 5}, "success": False},
        "mail",
    ]
    assert match_calls(expected, actual).passed
    assert match_calls(iter(expected), iter(actual)).passed


def test_an_expected_call_in_plain_data_may_have_matchers():
    expected = [{"name": "pay", "arguments": {"to": "Bob"}, "matchers": {"amount": {"approx": 5}}}]
    assert match_calls(expected, [ToolCall("pay", {"to": "Bob", "amount": 5.0})]).passed


def test_the_actual_calls_may_be_those_of_a_trace():
    assert match_calls(["a", "b"], Trace(tool_calls=[ToolCall("a"), ToolCall("b")])).passed


def test_options_can_be_reused_and_changed_by_keywords():
    options = MatchOptions(mode="unordered", arguments="ignore")
    assert match_calls([call("a", 1), call("b")], [call("b"), call("a", 2)], options).passed
    assert not match_calls(
        [call("a", 1), call("b")], [call("b"), call("a", 2)], options, arguments="exact"
    ).passed
    assert options == MatchOptions(mode="unordered", arguments="ignore")


def test_subsequence_is_another_word_for_in_order():
    assert match_calls(["a", "b"], ["a", "x", "b"], mode="subsequence").passed
    assert not match_calls(["a", "b"], ["b", "a"], mode="subsequence").passed
    assert not match_calls(["a", "b"], ["a"], mode="subsequence").passed


@pytest.mark.parametrize("mode", ["contiguous", "in_order", "subsequence", "superset"])
def test_an_expectation_that_every_agent_meets_is_refused(mode):
    with pytest.raises(InvalidOptionError, match="use 'exact' to say that no tool may be called"):
        match_calls([], ["a"], mode=mode)


@pytest.mark.parametrize(
    ("options", "counted"),
    [
        ({}, "abbc"),
        ({"failed": "skip"}, "bc"),
        ({"retried": "skip"}, "abc"),
        ({"failed": "skip", "retried": "skip"}, "bc"),
    ],
)
def test_failed_and_retried_calls_count_or_do_not(options, counted):
    actual = [call("a", ok=False), call("b", ok=False), call("b"), call("c")]
    match = match_calls([call("c")], actual, mode="superset", **options)
    assert "".join(each.name for each in match.actual) == counted
    assert len(match.left_out) == len(actual) - len(counted)


@pytest.mark.parametrize(
    ("calls", "kept"),
    [
        ([call("a", ok=False), call("x"), call("a")], [1, 2]),  # others may come between
        ([call("a", ok=False), call("a", 1), call("a")], [0, 1, 2]),  # another call of the tool may not
        ([call("a", ok=False), call("a", ok=False), call("a")], [2]),
        ([call("a", ok=False), call("a", ok=False)], [1]),  # the last one stays, though it failed
        ([call("a"), call("a")], [0, 1]),  # a success is no retry
        ([call("a", 1, ok=False), call("a", True)], [0, 1]),  # 1 is not True
        ([call("A", ok=False), call("a")], [0, 1]),
    ],
)
def test_a_retry_repeats_a_failed_call_with_the_next_call_of_its_tool(calls, kept):
    match = match_calls([call("z")], calls, mode="superset", retried="skip")
    assert [id(each) for each in match.actual] == [id(calls[index]) for index in kept]


def test_names_count_in_retries_as_the_rules_say():
    calls = [call("A", ok=False), call("a")]
    assert match_calls([call("a")], calls, retried="skip", names="ignore_case").passed


def test_arguments_count_in_retries_as_the_rules_say():
    calls = [ToolCall("a", {"id": 1}, success=False), ToolCall("a", {"id": 2, "unit": "c"})]
    rules = {"ignore": ["id"], "defaults": {"a": {"unit": "c"}}}
    assert match_calls([ToolCall("a")], calls, retried="skip", **rules).passed
    assert not match_calls([ToolCall("a")], calls, retried="skip", ignore=["id"]).passed


def test_calls_left_out_are_told():
    match = match_calls([call("a")], [call("a", ok=False), call("a")], retried="skip")
    assert match.headline == "1 of 1 expected calls matched, 1 failed left out (mode 'exact')"


@pytest.mark.parametrize(
    ("expected", "actual", "message"),
    [
        ("search", [], "the expected calls must be a list of calls, got 'search'"),
        ({"name": "a"}, [], "the expected calls must be a list"),
        (ToolCall("a"), [], "the expected calls must be a list"),
        (None, [], "the expected calls must be a list of calls, got None"),
        ([], 5, "the actual calls must be a list of calls, got 5"),
        (["a", 5], [], "expected call 1: an expected call is the name of a tool"),
        (["a", ""], [], "expected call 1: a tool call needs the tool's name"),
        ([{"name": "a", "args": {}}], [], "expected call 0: an expected call has no 'args'"),
        (
            [{"name": "a", "arguments": [1]}],
            [],
            "expected call 0: the arguments of tool call 'a' must be a mapping",
        ),
        (["a"], [{"name": "a", "args": {}}], "actual call 0: .* unexpected keyword argument 'args'"),
        (["a"], [{"arguments": {}}], "actual call 0: a tool call needs the tool's name"),
        (["a"], [{"name": "a", "matchers": {}}], "actual call 0: .*matchers"),
        (["a"], [None], "actual call 0: give a ToolCall"),
    ],
)
def test_what_is_no_call_is_refused(expected, actual, message):
    with pytest.raises(InvalidTraceError, match=message):
        match_calls(expected, actual)


def test_an_expected_argument_that_contains_itself_is_refused():
    endless: list = []
    endless.append(endless)
    with pytest.raises(InvalidTraceError, match="arguments contain themselves, or are nested too deeply"):
        match_calls([call("a", endless)], [call("a", endless)])
    assert not match_calls([call("a", [1])], [call("a", endless)]).passed


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="ordered"):
        match_calls(["a"], ["a"], ordered=True)


def test_nothing_that_was_given_is_changed():
    expected, actual = [call("a", Regex("x"))], [call("a", "y"), call("b")]
    match_calls(expected, actual, defaults={"a": {"unit": "c"}}, ignore=["n"])
    assert [dict(each.arguments) for each in actual] == [{"n": "y"}, {"n": 0}]
    assert expected[0].arguments == {"n": Regex("x")}


def test_the_bare_name_of_a_tool_is_a_call_with_whatever_arguments():
    made = [ToolCall("search", {"q": "x"}), ToolCall("book", {"to": "LA"})]
    assert match_calls(["search", "book"], made).passed
    assert not match_calls(["search", ToolCall("book")], made).passed
    assert match_calls(["search", "pay"], made).edit_script().count("missing pay(…)") == 1
    assert CallOf("search") != ToolCall("search")
    assert len({CallOf("search"), CallOf("search")}) == 1


# ---------------------------------------------------------------------- how well a list of calls fits: the numbers, and the laws between them


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
