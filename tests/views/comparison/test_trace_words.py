"""Where two traces part, in words."""

import pytest

from calipers.comparison.flips import Flip, FlippedAssertion
from calipers.comparison.trace_difference import compare_traces
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn
from calipers.views.comparison.trace_words import difference_lines, flip_lines

FIND = ToolCall("find", {"city": "Rome"}, output=[1])


def trace(*steps):
    return Trace(
        turns=[Turn(llm_call=step) if isinstance(step, LLMCall) else Turn(tool_call=step) for step in steps],
        records_calls=True,
    )


def lines(one, two, *, short=False):
    found = compare_traces(trace(*one), trace(*two))
    return difference_lines(found.shortened() if short else found)


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize(
    ("one", "two", "said"),
    [
        (
            [FIND, ToolCall("book", {"flight": "AZ611"})],
            [FIND, ToolCall("book", {"flight": "LH220"})],
            ["parts at step 2: book(flight='AZ611') became book(flight='LH220')"],
        ),
        (
            [ToolCall("book", {"a": 1, "b": 1})],
            [ToolCall("book", {"a": 2})],
            [
                "parts at step 1: book(a=1, b=1) became book(a=2)",
                "arguments.a: 1 → 2",
                "arguments.b: 1 → nothing",
            ],
        ),
        ([FIND, ToolCall("book")], [FIND], ["stops after step 1: no call of book()"]),
        ([FIND], [], ["makes no step: no call of find(city='Rome')"]),
        ([FIND], [FIND, ToolCall("book")], ["goes on at step 2: extra call of book()"]),
        (
            [FIND, ToolCall("book")],
            [FIND, ToolCall("cancel", {"n": 7}), ToolCall("book")],
            ["parts at step 2: extra call of cancel(n=7)"],
        ),
        (
            [FIND, ToolCall("refund"), ToolCall("book")],
            [FIND, ToolCall("cancel"), ToolCall("book")],
            ["parts at step 2: cancel() instead of refund()"],
        ),
        (
            [FIND],
            [ToolCall("find", {"city": "Rome"}, output=[2])],
            ["parts at step 1: find(city='Rome') gave something else", "output[0]: 1 → 2"],
        ),
        (
            [FIND],
            [ToolCall("find", {"city": "Rome"}, error="down")],
            ["parts at step 1: find(city='Rome') fails now", "error: nothing → 'down'"],
        ),
        (
            [LLMCall(model="m", output_text="let me look"), ToolCall("book", {"n": 1})],
            [LLMCall(model="m", output_text="I look"), ToolCall("book", {"n": 2})],
            [
                "parts at step 1: 'let me look' became 'I look'",
                "output_text: 'let me look' → 'I look'",
                "first call that differs, step 2: book(n=1) became book(n=2)",
            ],
        ),
        (
            [ToolCall("refund"), FIND],
            [FIND, ToolCall("cancel")],
            ["parts at step 1: no call of refund()"],
        ),
        ([FIND], [FIND], ["does not part: 1 step the same"]),
        ([], [], ["not compared: neither trace has a step"]),
    ],
)
def test_two_traces_are_told_apart_in_words(one, two, said, short):
    assert lines(one, two, short=short) == said


def test_a_step_that_the_other_trace_would_not_tell_is_named_and_never_called_the_same():
    one = Trace(tool_calls=[FIND], recorded_tools=["find"])
    found = compare_traces(one, trace(FIND, ToolCall("cancel")))
    assert difference_lines(found) == [
        "does not part: 1 step the same; not compared: 1 step of one trace that the other does not record (cancel)"
    ]
    assert difference_lines(compare_traces(Trace(), trace(FIND))) == [
        "not compared: 1 step of one trace that the other does not record (find)"
    ]


def test_the_lines_of_a_reason_stay_apart():
    flip = Flip(
        case="a",
        way="broken",
        baseline_passed=1,
        baseline_attempts=1,
        candidate_passed=0,
        candidate_attempts=1,
        noise=0,
        basis="other flips",
        assertions=(
            FlippedAssertion(name="Calls", candidate=False, candidate_reason="1 of 2\n✓ find()\n  - book()"),
        ),
    )
    assert next(flip_lines([flip])) == [("why", "Calls now: 1 of 2 · ✓ find() · - book()")]
