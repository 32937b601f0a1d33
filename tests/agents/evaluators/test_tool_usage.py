from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.agents import ToolCall, ToolUsageAuditor, Trace
from calipers.errors import InvalidOptionError

NAMES = st.lists(st.sampled_from("abc"), max_size=6)


def calls(names):
    return [ToolCall(name, {"n": number}) for number, name in enumerate(names)]


@pytest.mark.parametrize(
    ("expected", "actual", "verdict", "score"),
    [
        ("search summarize", "search summarize", "pass", 1.0),
        ("search summarize", "search look search summarize look", "pass", 1.0),
        ("search summarize", "summarize search", "partial", 0.5),
        ("search summarize", "search", "partial", 0.5),
        ("search filter summarize", "filter summarize", "partial", 2 / 3),
        ("search search", "search", "partial", 0.5),
        ("search", "look", "fail", 0.0),
        ("search", "", "fail", 0.0),
        ("search", "Search", "fail", 0.0),
        ("", "", "pass", 1.0),
        ("", "search", "fail", 0.0),
    ],
)
def test_in_order_as_many_as_possible_are_found(judge, expected, actual, verdict, score):
    result = judge(ToolUsageAuditor(expected.split()), tool_calls=calls(actual.split()))
    assert (result.evaluator_name, result.verdict) == ("tool-usage-auditor", verdict)
    assert result.score == pytest.approx(score)


@pytest.mark.parametrize(
    ("expected", "actual", "verdict", "score", "missing"),
    [
        ("search summarize", "summarize look search", "pass", 1.0, []),
        ("search summarize", "search", "partial", 0.5, ["summarize"]),
        ("search search search", "search look search", "partial", 2 / 3, ["search"]),
        ("b a b", "c", "fail", 0.0, ["a", "b", "b"]),
        ("", "", "pass", 1.0, []),
        ("", "search", "fail", 0.0, []),
    ],
)
def test_without_order_each_expected_call_needs_one_of_its_own(
    judge, expected, actual, verdict, score, missing
):
    auditor = ToolUsageAuditor(expected.split(), strict_order=False)
    result = judge(auditor, tool_calls=calls(actual.split()))
    assert (result.verdict, result.metadata["missing_tools"]) == (verdict, missing)
    assert result.score == pytest.approx(score)


def test_the_result_tells_which_tools_were_expected_called_and_found(judge):
    result = judge(ToolUsageAuditor(["search", "summarize"]), tool_calls=calls(["search", "look"]))
    assert {
        "expected_tools": ["search", "summarize"],
        "actual_tools": ["search", "look"],
        "matched_count": 1,
        "missing_tools": ["summarize"],
    }.items() <= result.metadata.items()


@pytest.mark.parametrize("strict_order", [True, False])
def test_the_reason_shows_what_would_have_to_change(judge, strict_order):
    auditor = ToolUsageAuditor(["search", "summarize"], strict_order)
    reason = judge(auditor, tool_calls=calls(["search", "look"])).reason
    script = reason.splitlines()[1:]
    assert any("summarize" in line for line in script)
    assert any("search" in line for line in script)
    assert "\n" not in judge(auditor, tool_calls=calls(["search", "summarize"])).reason


def test_whether_a_call_that_failed_counts_is_an_option(judge):
    failed = [ToolCall("search", success=False, error="timeout")]
    assert judge(ToolUsageAuditor(["search"]), tool_calls=failed).verdict == "pass"
    assert judge(ToolUsageAuditor(["search"], count_failed=False), tool_calls=failed).verdict == "fail"
    assert judge(ToolUsageAuditor([], count_failed=False), tool_calls=failed).verdict == "pass"


@given(NAMES, NAMES)
def test_in_order_nothing_longer_could_have_been_found(judge, expected, actual):
    """Beside the alignment: try every choice of expected tools, the longest first."""

    def comes_in_order(names):
        rest = iter(actual)
        return all(name in rest for name in names)

    longest = next(
        size
        for size in range(len(expected), -1, -1)
        if any(map(comes_in_order, combinations(expected, size)))
    )
    result = judge(ToolUsageAuditor(expected), Trace(tool_calls=calls(actual)))
    assert result.metadata["matched_count"] == longest
    if expected:
        assert result.score == pytest.approx(longest / len(expected))


@given(NAMES, NAMES, st.randoms(use_true_random=False))
def test_without_order_the_order_changes_nothing(judge, expected, actual, random):
    shuffled = random.sample(actual, len(actual))
    one, other = (
        judge(ToolUsageAuditor(expected, strict_order=False), Trace(tool_calls=calls(names)))
        for names in (actual, shuffled)
    )
    assert (one.verdict, one.score) == (other.verdict, other.score)
    assert one.metadata["matched_count"] == (Counter(expected) & Counter(actual)).total()
    assert Counter(one.metadata["missing_tools"]) == Counter(expected) - Counter(actual)


@pytest.mark.parametrize("strict_order", [True, False])
def test_long_lists_are_no_trouble(judge, strict_order):
    names = [f"tool{number % 7}" for number in range(700)]
    auditor = ToolUsageAuditor(names, strict_order)
    assert judge(auditor, tool_calls=calls(names)).verdict == "pass"
    assert judge(auditor, tool_calls=calls(names[::2])).score == pytest.approx(0.5)


@pytest.mark.parametrize("tools", ["search", {"search"}, ["search", 5], [""], [None]], ids=range(5))
def test_tools_are_expected_by_a_list_of_names(tools):
    with pytest.raises(InvalidOptionError, match="ToolUsageAuditor"):
        ToolUsageAuditor(tools)
