"""Judgements on spoken requests."""

from decimal import Decimal
from fractions import Fraction

import pytest

from calipers.errors import InvalidOptionError, InvalidOutputError
from calipers.voice import EvalResult, ToolCallAssertionError, ToolCallMatch, assert_tool_calls, tool_call

BOOK = tool_call("book", to="LA")
PAY = tool_call("pay")


@pytest.mark.parametrize(
    ("passed", "expected", "matches", "rate"),
    [
        (True, [BOOK], [ToolCallMatch(BOOK, BOOK, matched=True)], 1.0),
        (False, [BOOK, PAY], [ToolCallMatch(BOOK, BOOK, matched=True), ToolCallMatch(PAY)], 0.5),
        (True, [BOOK], [], 1.0),
        (False, [BOOK], [], 0.0),
        (True, [], [], 1.0),
        (False, [], [ToolCallMatch(tool_call("(none)"), PAY)], 0.0),
        (
            False,
            [BOOK],
            [ToolCallMatch(BOOK, BOOK, matched=True), ToolCallMatch(tool_call("(none)"), PAY)],
            0.5,
        ),
        (False, [BOOK, PAY], [ToolCallMatch(BOOK, BOOK, matched=True)], 0.5),
    ],
)
def test_the_match_rate_is_the_share_of_calls_that_matched(passed, expected, matches, rate):
    assert EvalResult(passed, expected, [], matches).match_rate == rate


def test_the_summary_has_one_line_per_call_and_the_details_below():
    result = EvalResult(
        passed=False,
        expected=[BOOK, PAY],
        actual=[BOOK],
        matches=[
            ToolCallMatch(BOOK, BOOK, matched=True),
            ToolCallMatch(PAY, details="nothing was paid\nnot even tried"),
        ],
    )
    assert result.summary() == (
        "FAILED (50% match rate)\n"
        "  [+] book({'to': 'LA'}) -> book({'to': 'LA'})\n"
        "  [-] pay({}) -> (no match)\n"
        "      nothing was paid\n"
        "      not even tried"
    )


def test_an_assertion_shows_the_summary_and_carries_the_result():
    failed = EvalResult(False, [BOOK], [])
    with pytest.raises(ToolCallAssertionError, match=r"^flights\nFAILED") as caught:
        assert_tool_calls(failed, message="flights")
    assert caught.value.result is failed
    assert isinstance(caught.value, AssertionError)
    assert_tool_calls(EvalResult(True, [BOOK], [BOOK]))


def test_an_argument_may_be_called_name():
    assert tool_call("greet", name="Ann").arguments == {"name": "Ann"}


@pytest.mark.parametrize("score", [None, 0, 1, 0.5, Decimal("0.5"), Fraction(1, 3)], ids=repr)
def test_a_score_is_from_0_to_1_or_none(score):
    assert EvalResult(True, [], [], score=score).score == score


@pytest.mark.parametrize("score", [2, -0.1, 1.0001, float("nan"), float("inf"), True, "1", [1]], ids=repr)
def test_any_other_score_is_refused(score):
    with pytest.raises(InvalidOutputError, match="a number from 0 to 1, got"):
        EvalResult(True, [], [], score=score)


@pytest.mark.parametrize("result", [None, True, []], ids=repr)
def test_what_is_no_result_cannot_be_asserted(result):
    with pytest.raises(InvalidOptionError, match="a result to assert from run and run_concurrent, got"):
        assert_tool_calls(result)


def test_a_result_that_was_not_awaited_is_told():
    async def run(): ...

    forgotten = run()
    with pytest.raises(InvalidOptionError, match="await it first"):
        assert_tool_calls(forgotten)
    forgotten.close()
