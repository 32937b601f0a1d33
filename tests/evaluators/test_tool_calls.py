from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from calipers import Case, Dataset, EvalVerdict, ToolCall, Trace, record_trace
from calipers.data.context import NO_TOOL_CALLS
from calipers.errors import InvalidOptionError, InvalidTraceError
from calipers.evaluators import EvaluationReason, Skipped, ToolCallCount, ToolCallsMatch
from calipers.matching import Approx, Regex, Text

SEARCH = ToolCall("search", {"q": "x"})
BOOK = ToolCall("book", {"to": "LA"})


def test_calls_that_fit_pass(judge):
    result = judge(ToolCallsMatch([SEARCH, BOOK]), [SEARCH, BOOK])
    assert (result.verdict, result.score) == (EvalVerdict.PASS, 1.0)
    assert result.reason == "2 of 2 expected calls matched (mode 'exact')"
    assert result.metadata["f1"] == 1.0


def test_calls_that_fit_in_part_are_partial_with_the_edit_script_as_reason(judge):
    result = judge(ToolCallsMatch([SEARCH, ToolCall("book", {"to": "SF"})]), [SEARCH, BOOK])
    assert (result.verdict, result.score) == (EvalVerdict.PARTIAL, 0.75)
    assert result.reason.splitlines() == [
        "1 of 2 expected calls matched, 1 different (mode 'exact')",
        "✓ search(q='x')",
        "~ book(to='LA')",
        "    to: expected 'SF', got 'LA'",
    ]
    assert result.metadata == {
        "matched": 1,
        "expected": 2,
        "actual": 2,
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
    }


def test_calls_of_other_tools_fail(judge):
    result = judge(ToolCallsMatch([SEARCH]), [BOOK])
    assert (result.verdict, result.score) == (EvalVerdict.FAIL, 0.0)


@pytest.mark.parametrize(
    "expected",
    [
        [SEARCH],
        (SEARCH,),
        [{"name": "search", "arguments": {"q": "x"}}],
        [{"search": {"q": "x"}}],
        [{"name": "search", "matchers": {"q": {"regex": "x"}}}],
        {"tool_calls": [SEARCH]},
        SimpleNamespace(tool_calls=[SEARCH]),
        Trace(tool_calls=[SEARCH]),
    ],
)
def test_the_expected_calls_may_be_the_expected_output(judge, expected):
    assert judge(ToolCallsMatch(), [SEARCH], expected).verdict is EvalVerdict.PASS
    assert judge(ToolCallsMatch(), [BOOK], expected).verdict is EvalVerdict.FAIL


@dataclass
class Answer:
    tool_calls: list


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        ([SEARCH], EvalVerdict.PASS),
        ({"tool_calls": [SEARCH]}, EvalVerdict.PASS),
        ({"tool_calls": [{"name": "search", "arguments": {"q": "x"}}]}, EvalVerdict.PASS),
        ([{"name": "search", "arguments": {"q": "x"}}], EvalVerdict.PASS),
        (Answer([SEARCH]), EvalVerdict.PASS),
        (Answer([]), EvalVerdict.FAIL),
        # No calls were made, and some were expected: that is a failure, not a gap.
        ([], EvalVerdict.FAIL),
        ((), EvalVerdict.FAIL),
        ({"tool_calls": []}, EvalVerdict.FAIL),
    ],
)
def test_the_actual_calls_are_found_wherever_the_attempt_tells_them(judge, output, verdict):
    for evaluator, expected in (
        (ToolCallsMatch([SEARCH]), None),
        (ToolCallsMatch(), [{"search": {"q": "x"}}]),
    ):
        assert judge(evaluator, output, expected).verdict is verdict


@pytest.mark.parametrize(
    "output",
    ["text", None, 5, {}, {"tool_calls": None}, [1], ["search"], [{"title": "x"}], {"tool_calls": [5]}],
)
def test_an_attempt_that_does_not_tell_its_calls_is_skipped(judge, output):
    assert judge(ToolCallsMatch([SEARCH]), output) == Skipped(NO_TOOL_CALLS)


def test_a_case_that_says_nothing_about_calls_is_skipped(judge):
    assert judge(ToolCallsMatch(), [SEARCH]) == Skipped(
        "the case says nothing about tool calls: give it expected_tool_calls=[...], or the evaluator the calls"
    )
    assert judge(ToolCallsMatch(), [SEARCH], "a text") == Skipped(
        "the expected output is no list of tool calls: 'a text' (str)"
    )


def test_an_empty_list_expects_that_no_tool_is_called(judge):
    for evaluator, expected in ((ToolCallsMatch([]), None), (ToolCallsMatch(), [])):
        assert judge(evaluator, {"tool_calls": []}, expected).verdict is EvalVerdict.PASS
        assert judge(evaluator, [], expected).verdict is EvalVerdict.PASS
        assert judge(evaluator, [SEARCH], expected).verdict is EvalVerdict.FAIL


def test_an_expectation_that_every_agent_meets_is_skipped(judge):
    result = judge(ToolCallsMatch(mode="superset"), [SEARCH], [])
    assert result == Skipped(
        "no calls are expected, and mode 'superset' allows any others: there is nothing to check"
    )


def test_options_reach_the_match(judge):
    evaluator = ToolCallsMatch(
        [ToolCall("Book", {"to": "la", "price": 10}), ToolCall("search", {"q": Regex("^x")})],
        mode="unordered",
        arguments={"book": "subset"},
        ignore={"search": ["page"]},
        defaults={"book": {"price": 9.8}},
        compare={"book": {"to": Text, "price": {"approx": {"abs_tol": 0.5}}}},
        names="ignore_case",
        failed="skip",
    )
    failed = ToolCall("pay", success=False)
    assert (
        judge(evaluator, [ToolCall("search", {"q": "xy", "page": 2}), failed, BOOK]).verdict
        is EvalVerdict.PASS
    )


def test_calls_of_the_trace_are_judged_in_a_run():
    def agent(inputs):
        record_trace(Trace(tool_calls=[SEARCH, BOOK]))
        return "booked"

    dataset = Dataset(
        cases=[
            Case(name="fits", inputs="go", expected_output=[SEARCH, BOOK]),
            Case(name="not", inputs="go", expected_output=[BOOK]),
        ],
        evaluators=[ToolCallsMatch(mode="unordered"), ToolCallCount(maximum=1)],
    )
    report = dataset.evaluate_sync(agent, progress=False)
    fits, misses = ({case.name: case for case in report.cases}[name] for name in ("fits", "not"))
    assert fits.assertions["ToolCallsMatch"].value is True
    assert misses.assertions["ToolCallsMatch"].value is False
    assert misses.assertions["ToolCallsMatch"].score == pytest.approx(2 / 3)
    assert misses.assertions["ToolCallsMatch"].metadata["precision"] == 0.5
    assert misses.assertions["ToolCallCount"].value is False


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ToolCallsMatch("search"), InvalidTraceError, "the expected calls must be a list of calls"),
        (lambda: ToolCallsMatch([5]), InvalidTraceError, "expected call 0"),
        (
            lambda: ToolCallsMatch([{"name": "a", "matchers": {"x": {"rx": 1}}}]),
            InvalidOptionError,
            "no matcher is called",
        ),
        (lambda: ToolCallsMatch(mode="strict"), InvalidOptionError, "mode must be one of"),
        (lambda: ToolCallsMatch(arguments="some"), InvalidOptionError, "arguments must be one of"),
        (lambda: ToolCallsMatch(compare={"a": {"b": "any"}}), InvalidOptionError, "a comparison is"),
        (lambda: ToolCallsMatch(compare={"a": 5}), InvalidOptionError, "compare is a mapping from tools"),
        (lambda: ToolCallsMatch(compare=[5]), InvalidOptionError, "compare is a mapping from tools"),
        (lambda: ToolCallCount(), InvalidOptionError, "needs minimum=, maximum= or both"),
        (lambda: ToolCallCount("a", minimum=0), InvalidOptionError, "would accept everything"),
        (
            lambda: ToolCallCount(maximum=1, failed="no"),
            InvalidOptionError,
            "failed must be one of count, skip",
        ),
        (lambda: ToolCallCount("", maximum=1), InvalidOptionError, "the name of a tool, got ''"),
    ],
)
def test_what_means_nothing_is_refused_when_it_is_written(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("evaluator", "passes"),
    [
        (ToolCallCount(maximum=3), True),
        (ToolCallCount(maximum=2), False),
        (ToolCallCount(minimum=3), True),
        (ToolCallCount(minimum=4), False),
        (ToolCallCount("search", maximum=2, minimum=2), True),
        (ToolCallCount("search", maximum=1), False),
        (ToolCallCount("search", maximum=1, failed="skip"), True),
        (ToolCallCount("pay", maximum=0), True),
        (ToolCallCount("pay", minimum=1), False),
    ],
)
def test_calls_are_counted(judge, evaluator, passes):
    calls = [SEARCH, ToolCall("search", success=False), BOOK]
    assert judge(evaluator, calls).value is passes


def test_the_reason_of_a_wrong_count_tells_the_tools(judge):
    assert judge(ToolCallCount("pay", minimum=1), [SEARCH, BOOK, SEARCH]) == EvaluationReason(
        value=False, reason="expected at least 1 calls of 'pay', got 0; called: 'search', 'book'"
    )
    many = [ToolCall(f"t{n}") for n in range(10)]
    assert judge(ToolCallCount(maximum=3), many).reason.endswith("'t7' and 2 more")
    assert judge(ToolCallCount(minimum=1), {"tool_calls": []}).reason.endswith("no tool was called")


@pytest.mark.parametrize("output", ["text", None, [], [{"name": "Ada"}]])
def test_a_count_of_what_was_not_told_is_skipped(judge, output):
    # A list of mappings with names may be anything, unless the case expects calls.
    assert judge(ToolCallCount(maximum=1), output) == Skipped(NO_TOOL_CALLS)


def test_matchers_may_stand_in_the_expected_output_of_a_case(judge):
    expected = [ToolCall("pay", {"amount": Approx(5, abs_tol=1)})]
    assert judge(ToolCallsMatch(), [ToolCall("pay", {"amount": 5.5})], expected).verdict is EvalVerdict.PASS
