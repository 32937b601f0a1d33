"""A run as OTLP: spans under the conventions, results as events, and the same traces when it is read back."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.data.record import ReportCase
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn, TurnType
from calipers.exchange import export_run, import_run
from calipers.report.report import Report
from calipers.spans import read_recording, read_traces
from calipers.stores import MemoryStore

from .conftest import make_dataset, task

AT = datetime(2026, 11, 17, 6, 30, tzinfo=UTC)
CALLED = Trace(
    agent_name="travel",
    input_text="to Oslo?",
    output_text="OS12",
    turns=[
        Turn(turn_type=TurnType.USER_MESSAGE, content="to Oslo?", timestamp=AT),
        Turn(
            llm_call=LLMCall(
                model="m",
                input_tokens=5,
                output_tokens=2,
                cost=0.25,
                call_id="r1",
                latency_ms=3.0,
                timestamp=AT,
            ),
            timestamp=AT,
        ),
        Turn(tool_call=ToolCall("find", {"to": "Oslo"}, output=["OS12"], call_id="c1", latency_ms=2.0)),
        Turn(tool_call=ToolCall("book", {}, error="no seat", call_id="c2")),
        Turn(tool_call=ToolCall("pay", unknown=["arguments", "output", "success"], call_id="c3")),
        Turn(llm_call=LLMCall(model="m", output_text="OS12")),
        Turn(turn_type=TurnType.AGENT_MESSAGE, content="OS12"),
    ],
    tags=["x"],
    metadata={"conversation_id": "one", "more": [1]},
    created_at=AT,
)


def record(name, trace):
    return ReportCase(
        name=name,
        inputs=trace.input_text,
        metadata=None,
        expected_output=None,
        output=trace.output_text,
        metrics={},
        attributes={},
        results=(),
        task_duration=1.0,
        total_duration=1.0,
        trace=trace,
    )


def exported(folder, *traces):
    path = folder / "run.otlp"
    with MemoryStore() as store:
        cases = [record(f"case {number}", trace) for number, trace in enumerate(traces)]
        run = store.add_report(Report(name="r", cases=cases))
        export_run(store, run.id, to=f"otlp:{path}")
    return path


def spans(path):
    """(name, attributes, span) of each span."""
    for line in path.read_text().splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            for span in resource["scopeSpans"][0]["spans"]:
                yield span["name"], values(span), span


def values(noted):
    return {pair["key"]: next(iter(pair["value"].values())) for pair in noted["attributes"]}


def test_spans_follow_the_conventions(tmp_path):
    found = {name: (told, span) for name, told, span in spans(exported(tmp_path, CALLED))}
    assert list(found) == ["invoke_agent travel", "chat m", "execute_tool find", "execute_tool book"]
    root, find = found["invoke_agent travel"][1], found["execute_tool find"]
    assert find[1]["parentSpanId"] == root["spanId"]
    assert find[0]["gen_ai.tool.call.arguments"] == '{"to":"Oslo"}'
    assert found["execute_tool book"][1]["status"] == {"code": 2, "message": "no seat"}
    assert root["traceId"] == CALLED.trace_id


def without_whole_trace(path):
    lines = []
    for line in path.read_text().splitlines():
        data = json.loads(line)
        (root, *_) = data["resourceSpans"][0]["scopeSpans"][0]["spans"]
        root["attributes"] = [each for each in root["attributes"] if each["key"] != "calipers.trace"]
        lines.append(json.dumps(data))
    path.write_text("\n".join(lines))
    return path


def test_the_spans_alone_tell_calls_tokens_cost_and_messages(tmp_path):
    (read,) = read_traces(without_whole_trace(exported(tmp_path, CALLED)))
    told = ("name", "arguments", "output", "error", "unknown", "call_id")
    assert [[getattr(call, name) for name in told] for call in read.tool_calls] == [
        [getattr(call, name) for name in told] for call in CALLED.tool_calls
    ]
    for name in ("input_text", "output_text", "agent_name", "total_input_tokens", "total_cost", "model"):
        assert getattr(read, name) == getattr(CALLED, name)


def test_two_attempts_of_one_conversation_stay_two(tmp_path):
    assert read_traces(exported(tmp_path, CALLED, CALLED)) == [CALLED, CALLED]


@pytest.fixture
def run(store):
    make_dataset().evaluate_sync(task, store=store, progress=False)
    return store.run("latest")


def test_each_result_is_an_event_under_the_attempt(store, run, tmp_path):
    path = tmp_path / "run.otlp"
    export_run(store, run.id, to=path)
    events = {
        told["calipers.attempt.name"]: {
            (each := values(event))["gen_ai.evaluation.name"]: each for event in span["events"]
        }
        for _, told, span in spans(path)
    }
    one = events["one"]
    assert one["right"]["gen_ai.evaluation.score.value"] == 1.0
    assert one["right"]["gen_ai.evaluation.score.label"] == "pass"
    assert one["tone/kind"]["gen_ai.evaluation.score.label"] == "calm"
    assert "gen_ai.evaluation.explanation" in one["why"]
    assert one["sometimes"]["gen_ai.evaluation.score.label"] == "skipped"
    assert events["a/b\\c"]["broken"]["error.type"] == "ValueError"
    failed = next(span for _, told, span in spans(path) if told["calipers.attempt.name"] == "../fails")
    assert failed["status"]["code"] == 2
    assert len(read_recording(path).traces) == run.attempts
    assert import_run(path, "memory:").run.attempts == run.attempts


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
names = st.sampled_from(["find", "book"])
plain_data = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=3,
)
tool_calls = st.builds(
    ToolCall,
    names,
    st.dictionaries(texts, plain_data, max_size=2),
    output=plain_data,
    error=st.none() | texts,
    latency_ms=st.none() | st.floats(0, 1e6),
    call_id=st.none() | texts,
    timestamp=st.none() | st.just(AT),
    unknown=st.lists(st.sampled_from(["arguments", "output", "success"]), max_size=3),
    keep_secrets=st.just(True),
)
llm_calls = st.builds(
    LLMCall,
    model=st.sampled_from(["m", "n"]),
    input_tokens=st.integers(0, 9),
    output_text=texts,
    input_text=texts,
    cost=st.none() | st.floats(0, 10),
    timestamp=st.none() | st.just(AT),
)
turns = st.one_of(
    st.builds(Turn, tool_call=tool_calls),
    st.builds(Turn, llm_call=llm_calls),
    st.builds(
        Turn, turn_type=st.sampled_from([TurnType.USER_MESSAGE, TurnType.AGENT_MESSAGE]), content=texts
    ),
)
traces = st.builds(
    Trace,
    agent_name=texts,
    input_text=texts,
    output_text=texts,
    turns=st.lists(turns, max_size=4),
    tags=st.lists(texts, max_size=2),
    metadata=st.dictionaries(texts | st.just("conversation_id"), plain_data, max_size=2),
    trace_id=st.just("x") | st.just("0" * 31 + "7"),
    created_at=st.just(AT),
    keep_secrets=st.just(True),
)


@given(st.lists(traces, min_size=1, max_size=3))
@settings(max_examples=40)
def test_reading_back_gives_the_same_traces(tmp_path_factory, given_traces):
    path = exported(tmp_path_factory.mktemp("otlp"), *given_traces)
    found = read_traces(path)
    assert sorted(found, key=repr) == sorted(given_traces, key=repr)
    assert sorted(each.trace_id for each in found) == sorted(each.trace_id for each in given_traces)
