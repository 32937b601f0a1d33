"""The front door."""

import pytest

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
