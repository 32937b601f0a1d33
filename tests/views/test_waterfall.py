"""A trace as a waterfall: what it says as data, as text, as a picture, and on the command line."""

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset
from calipers.agents import LLMCall, ToolCall, Trace, TraceRecorder, Turn, TurnType
from calipers.cli.app import app
from calipers.errors import InvalidOptionError
from calipers.views.formats import write_report
from calipers.views.trace_statement import FoldedSteps, TraceStep, trace_statement
from calipers.views.waterfall import waterfall_svg, waterfall_text

BEGAN = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def at(milliseconds: float) -> datetime:
    return BEGAN + timedelta(milliseconds=milliseconds)


def tool(call: ToolCall) -> Turn:
    return Turn(turn_type=TurnType.TOOL_CALL, tool_call=call, timestamp=call.timestamp)


def model(call: LLMCall) -> Turn:
    return Turn(turn_type=TurnType.LLM_CALL, llm_call=call, timestamp=call.timestamp)


def asked(text: str = "Weather in Paris?", moment: datetime | None = None) -> Turn:
    return Turn(turn_type=TurnType.USER_MESSAGE, content=text, timestamp=moment)


WEATHER = Trace(
    agent_name="weather-bot",
    turns=[
        asked(moment=at(0)),
        model(
            LLMCall(
                model="small",
                input_tokens=120,
                output_tokens=20,
                cost=0.001,
                latency_ms=400,
                timestamp=at(0),
            )
        ),
        tool(ToolCall("weather", {"city": "Paris"}, output="sun", latency_ms=300, timestamp=at(400))),
        tool(ToolCall("news", {}, error="no network", latency_ms=100, timestamp=at(400))),
        model(LLMCall(model="small", latency_ms=200, timestamp=at(700))),
        Turn(turn_type=TurnType.AGENT_MESSAGE, content="Sun.", timestamp=at(900)),
    ],
)


def test_steps_know_when_they_began_and_how_long_they_took() -> None:
    rows = trace_statement(WEATHER).rows
    found = [(row.kind, row.start_ms, row.took_ms) for row in rows if isinstance(row, TraceStep)]
    assert found == [
        ("user", 0, 900),
        ("model", 0, 400),
        ("tool", 400, 300),
        ("tool", 400, 100),
        ("model", 700, 200),
        ("agent", 900, None),
    ]


def test_what_was_not_recorded_is_unknown_and_said() -> None:
    says = trace_statement(WEATHER)
    second = says.rows[4]
    assert isinstance(second, TraceStep)
    assert (second.tokens, second.cost) == (None, None)
    assert list(says.notes) == [
        "Tokens of 1 model call of 2 not known.",
        "Cost of 1 model call of 2 not known.",
    ]


def test_a_failed_call_is_marked_and_gives_its_error() -> None:
    shown = waterfall_text(WEATHER, width=100)
    assert "tool  ✗ news" in shown
    assert "no network" in shown


def test_calls_side_by_side_begin_in_the_same_column() -> None:
    lines = {
        line.split()[1]: line for line in waterfall_text(WEATHER, width=100).splitlines() if "tool " in line
    }
    weather, news = lines["weather"], lines["✗"]
    assert weather.index("▒") == news.index("▒")
    assert weather.count("▒") > 2 * news.count("▒")


def test_without_times_the_steps_stand_in_their_order_without_bars() -> None:
    shown = waterfall_text(Trace(turns=[asked(), tool(ToolCall("a")), tool(ToolCall("b"))]), width=100)
    assert shown.index("tool  a") < shown.index("tool  b")
    assert "Times were not recorded" in shown
    assert not set("█▒─▸•") & set(shown)


def test_an_empty_trace_says_that_no_step_was_recorded() -> None:
    assert "No step was recorded." in waterfall_text(Trace())


def test_the_middle_of_a_long_trace_is_folded_and_counted() -> None:
    trace = Trace(turns=[tool(ToolCall("t", error="no" if n == 50 else None)) for n in range(5_000)])
    says = trace_statement(trace, max_steps=60)
    folded = [row for row in says.rows if isinstance(row, FoldedSteps)]
    assert len(says.rows) == 61
    assert [row.words for row in folded] == ["4,940 steps folded: 4,940 tool calls, 1 failed"]
    assert len(trace_statement(trace, max_steps=None).rows) == 5_000


@pytest.mark.parametrize("most", [1, 0, -3])
def test_a_waterfall_has_at_least_two_steps(most: int) -> None:
    with pytest.raises(InvalidOptionError, match="max_steps"):
        trace_statement(WEATHER, max_steps=most)


def test_names_are_escaped_in_the_picture_and_visible_in_the_text() -> None:
    hostile = Trace(turns=[tool(ToolCall("<script>\x1b[31m", latency_ms=1, timestamp=at(0)))])
    assert "\x1b" not in waterfall_text(hostile)
    picture = waterfall_svg(hostile)
    assert "<script>" not in picture
    ET.fromstring(picture)


def test_secrets_are_not_shown() -> None:
    key = "sk-proj-" + "a1B2c3D4" * 6
    shown = waterfall_text(
        Trace(turns=[asked(f"use {key}"), tool(ToolCall("t", error=f"bad key {key}"))]), width=150
    )
    assert key not in shown


@given(
    st.lists(
        st.tuples(st.none() | st.integers(0, 10_000), st.none() | st.integers(0, 5_000), st.booleans()),
        max_size=30,
    ),
    st.integers(20, 200),
)
def test_any_trace_fits_any_width_and_is_well_formed_as_a_picture(
    steps: list[tuple[int | None, int | None, bool]], width: int
) -> None:
    turns = [
        (
            model(LLMCall(model="m", latency_ms=took, timestamp=moment))
            if is_model
            else tool(ToolCall("t", latency_ms=took, timestamp=moment))
        )
        for start, took, is_model in steps
        for moment in [None if start is None else at(start)]
    ]
    trace = Trace(turns=turns)
    says = trace_statement(trace)
    assert len(says.rows) == len(steps)
    for row in says.rows:
        assert isinstance(row, TraceStep)
        assert row.start_ms is None or row.start_ms <= (says.extent_ms or 0)
        assert row.end_ms is None or row.end_ms <= (says.extent_ms or 0)
    assert all(len(line) <= width for line in waterfall_text(trace, width=width).splitlines())
    ET.fromstring(waterfall_svg(trace))


class TestCommand:
    @pytest.fixture
    def report(self, tmp_path) -> str:
        def agent(question: str) -> str:
            with TraceRecorder("bot", input_text=question) as recording:
                recording.record_user_message(question)
                recording.record_tool_call("search", {"q": question}, output="found", latency_ms=5)
                recording.output_text = "yes"
            return "yes"

        path = tmp_path / "report.json"
        dataset = Dataset(name="d", cases=[Case(name="one", inputs="where?")])
        write_report(dataset.evaluate_sync(agent, progress=False), path)
        return str(path)

    def test_show_draws_the_trace_of_a_case(self, report: str) -> None:
        done = CliRunner().invoke(app, ["show", report, "--trace", "one"])
        assert done.exit_code == 0
        assert "tool  search" in done.output
        assert "1 tool call" in done.output

    @pytest.mark.parametrize("more", [["--case", "one"], ["--to", "html:x.html"], ["--labels", "a=b.csv"]])
    def test_one_of_two_is_shown(self, report: str, more: list[str]) -> None:
        done = CliRunner().invoke(app, ["show", report, "--trace", "one", *more])
        assert done.exit_code == 2
        assert "give one of them" in done.output

    def test_a_case_that_is_not_there_is_an_error(self, report: str) -> None:
        done = CliRunner().invoke(app, ["show", report, "--trace", "two"])
        assert done.exit_code == 2
        assert "two" in done.output
