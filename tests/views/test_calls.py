"""The tool calls of an attempt in short."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, LLMCall, ToolCall, Trace
from calipers.evaluators import ToolCallsMatch
from calipers.views.calls import ExpectedCalls, calls_line
from calipers.views.markdown import report_markdown


def line(records, *calls):
    return calls_line(records.case("a", trace=Trace(tool_calls=calls)))


@pytest.mark.parametrize(
    ("calls", "shown"),
    [
        ([ToolCall("now")], "now()"),
        ([ToolCall("add", {"a": 1, "b": "x"})], "add(a=1, b='x')"),
        ([ToolCall("a"), ToolCall("b", success=False)], "a(); b() failed"),
        ([ToolCall("b", success=False, error="no seats")], "b() failed: no seats"),
        ([ToolCall("b", {"x": [1, {"y": None}]}, output="left out")], "b(x=[1, {'y': None}])"),
        ([ToolCall("t", {"x": "y" * 500})], f"t(x='{'y' * 36}...)"),
        ([ToolCall("t", {"x": list(range(500))})], "t(x=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11...)"),
        ([ToolCall("t" * 500)], f"{'t' * 57}...()"),
        ([ToolCall("t", success=False, error="e" * 500)], f"t() failed: {'e' * 77}..."),
        ([ToolCall("t", success=False, error=ValueError("x"))], "t() failed: ValueError('x')"),
    ],
    ids=lambda value: None,
)
def test_a_call_is_its_name_its_arguments_and_whether_it_failed(records, calls, shown):
    assert line(records, *calls) == shown


def test_of_many_calls_the_first_are_named_and_the_rest_counted(records):
    shown = line(records, *(ToolCall(f"t{i}") for i in range(23)))
    assert shown.startswith("t0(); t1(); ")
    assert shown.endswith("t19(); 3 more calls")
    assert line(records, *(ToolCall("t") for _ in range(21))).endswith("; 1 more call")


def test_who_tells_of_no_tool_call_has_no_line(records):
    assert calls_line(records.case("a")) is None
    assert calls_line(records.failure("a")) is None
    assert calls_line(records.case("a", trace=Trace(llm_calls=[LLMCall(model="m")]))) is None


def test_an_attempt_that_failed_has_its_line_as_well(records):
    assert calls_line(records.failure("a", trace=Trace(tool_calls=[ToolCall("t")]))) == "t()"


class Breaks:
    def __repr__(self):
        raise RuntimeError


@given(st.lists(st.text(min_size=1), max_size=5), st.text() | st.binary() | st.builds(Breaks))
def test_whatever_was_called_the_line_is_short(records, names, value):
    shown = line(records, *(ToolCall(name, {name: value}, success=False, error=name) for name in names))
    assert len(shown or "") <= len(names) * 260


@pytest.mark.parametrize(
    ("calls", "shown"),
    [
        ([], "none"),
        ([{"name": "refund", "arguments": {"order_id": 201}}], "refund(order_id=201)"),
        ([{"name": "now"}, {"name": "b", "arguments": {"x": "y"}}], "now(); b(x='y')"),
        ([{"name": "now"}] * 22, "now(); " * 20 + "2 more calls"),
        (["refund"], "refund(...)"),
        ([{"tool": "x"}, 7], "{'tool': 'x'}; 7"),
    ],
)
def test_expected_calls_are_written_as_calls_are(calls, shown):
    assert repr(ExpectedCalls(calls)) == shown


def test_a_report_writes_expected_calls_and_calls_alike():
    def agent(inputs):
        return Trace(tool_calls=[ToolCall("refund", {"order_id": 201})])

    expected = [ToolCall("refund", {"order_id": 200}), "close"]
    case = Case(name="late", inputs="late", expected_tool_calls=expected)
    report = Dataset(name="shop", cases=[case], evaluators=[ToolCallsMatch()]).evaluate_sync(
        agent, progress=False
    )
    shown = report.render()
    assert "expected calls  refund(order_id=200); close(...)\n" in shown
    assert "called          refund(order_id=201)\n" in shown
    assert "expected calls `refund(order_id=200); close(...)`" in report_markdown(report)
