"""What Phoenix, Langfuse and LangSmith give out, and what the SDK prints, says the same."""

import json
from typing import Any

import pytest

from calipers.spans import read_traces

USER = {"role": "user", "content": "to Oslo?"}
FUNCTION = {"name": "find", "arguments": '{"to": "Oslo"}'}
ASKS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": FUNCTION}],
}
TELLS = {"role": "tool", "tool_call_id": "c1", "content": '["OS12"]'}
ANSWERS = {"role": "assistant", "content": "OS12."}


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def phoenix(number: int, kind: str, **attributes: Any) -> dict[str, Any]:
    return {
        "name": "x",
        "context": {"trace_id": "ab" * 16, "span_id": f"{number:016x}"},
        "parent_id": None if number == 1 else f"{1:016x}",
        "span_kind": kind,
        "start_time": at(number),
        "end_time": at(number + 1),
        "status_code": "OK",
        "attributes": attributes,
        "events": [],
    }


def flat(prefix: str, *messages: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, message in enumerate(messages):
        begin = f"llm.{prefix}_messages.{number}.message."
        found[f"{begin}role"] = message["role"]
        if message["content"] is not None:
            found[f"{begin}content"] = message["content"]
        if "tool_call_id" in message:
            found[f"{begin}tool_call_id"] = message["tool_call_id"]
        for call in message.get("tool_calls", ()):
            found[f"{begin}tool_calls.0.tool_call.id"] = call["id"]
            for key, value in call["function"].items():
                found[f"{begin}tool_calls.0.tool_call.function.{key}"] = value
    return found


PHOENIX = {
    "data": [
        phoenix(1, "AGENT", **{"session.id": "v1"}),
        phoenix(2, "LLM", **flat("input", USER), **flat("output", ASKS), **{"llm.token_count.prompt": 5}),
        phoenix(
            3, "TOOL", **{"tool.name": "find", "input.value": '{"to": "Oslo"}', "output.value": '["OS12"]'}
        ),
        phoenix(4, "LLM", llm={"output_messages": [{"message": ANSWERS}], "token_count": {"prompt": 5}}),
    ],
    "next_cursor": None,
}


def langfuse(number: int, kind: str, **more: Any) -> dict[str, Any]:
    parent = {"parentObservationId": "o1"} if number > 1 else {}
    times = {"startTime": at(number), "endTime": at(number + 1)}
    return {"id": f"o{number}", "traceId": "t1", "type": kind, "name": "find", **times, **parent, **more}


LANGFUSE = {
    "id": "t1",
    "sessionId": "v1",
    "observations": [
        langfuse(1, "SPAN", input="to Oslo?"),
        langfuse(2, "GENERATION", input=[USER], output=ASKS, model="m", usage={"input": 5, "output": 1}),
        langfuse(3, "TOOL", input={"to": "Oslo"}, output=["OS12"]),
        langfuse(
            4,
            "GENERATION",
            input={"messages": [USER, ASKS, TELLS]},
            output=ANSWERS,
            usageDetails={"input": 5},
        ),
    ],
}


def langsmith(number: int, kind: str, given: Any, output: Any, **more: Any) -> dict[str, Any]:
    ids = [f"00000000-0000-0000-0000-{each:012}" for each in (number, 1)]
    own = {"id": ids[0], "trace_id": ids[1], "parent_run_id": ids[1] if number > 1 else None}
    times = {"start_time": at(number)[:-1], "end_time": at(number + 1)[:-1]}
    return {**own, "name": "find", "run_type": kind, "inputs": given, "outputs": output, **times, **more}


LANGSMITH = [
    langsmith(1, "chain", {"question": "to Oslo?"}, {}, extra={"metadata": {"thread_id": "v1"}}),
    langsmith(2, "llm", {"messages": [[USER]]}, {"choices": [{"message": ASKS}]}, prompt_tokens=5),
    langsmith(3, "tool", {"to": "Oslo"}, {"output": ["OS12"]}),
    langsmith(4, "llm", {"messages": [USER, ASKS, TELLS]}, {"messages": [ANSWERS]}, prompt_tokens=5),
]


@pytest.mark.parametrize("exported", [PHOENIX, LANGFUSE, LANGSMITH], ids=["Phoenix", "Langfuse", "LangSmith"])
def test_an_export_is_a_trace(tmp_path, exported):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(exported))
    (trace,) = read_traces(path)
    (call,) = trace.tool_calls
    assert (call.name, call.arguments, call.output) == ("find", {"to": "Oslo"}, ["OS12"])
    assert (trace.input_text, trace.output_text) == ("to Oslo?", "OS12.")
    assert (len(trace.llm_calls), trace.total_input_tokens) == (2, 10)
    assert trace.metadata["conversation_id"] == "v1"


def test_a_failed_observation_is_a_failed_call(tmp_path):
    failed = langfuse(3, "TOOL", input={"to": "Oslo"}, level="ERROR", statusMessage="sold out")
    (tmp_path / "x").write_text(json.dumps({"data": [langfuse(1, "AGENT"), failed]}))
    (trace,) = read_traces(tmp_path / "x")
    assert (trace.tool_calls[0].success, trace.tool_calls[0].error) == (False, "sold out")


def test_spans_that_the_sdk_prints_are_read(tmp_path):
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("x")
    with tracer.start_as_current_span("agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
        with tracer.start_as_current_span("tool", attributes=attributes):
            pass
    path = tmp_path / "spans.json"
    path.write_text(f"[{','.join(span.to_json() for span in exporter.get_finished_spans())}]")
    (trace,) = read_traces(path)
    assert [call.name for call in trace.tool_calls] == ["find"]
