"""Recordings of other programs become traces."""

import gc
import gzip
import io
import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.data.trace import Trace, TurnType
from calipers.errors import InvalidTraceError
from calipers.spans import otlp_json, otlp_protobuf, read_recording, read_traces
from calipers.spans.recordings import iter_traces, traces_of

from .recorded import as_json, as_protobuf, in_base64, log, logs_as_protobuf, span


def read(tmp_path: Path, *contents: bytes) -> list[Trace]:
    paths = []
    for number, content in enumerate(contents):
        path = tmp_path / f"{number}.recording"
        path.write_bytes(content)
        paths.append(path)
    return read_traces(*paths)


def told(traces: list[Trace]) -> list[Any]:
    """What traces say, without ids that are drawn anew."""
    return [
        [
            trace.input_text,
            trace.output_text,
            trace.total_input_tokens,
            trace.total_output_tokens,
            trace.metadata,
            [(turn.turn_type, turn.content) for turn in trace.turns],
            [call.plain_data() for call in trace.tool_calls],
        ]
        for trace in traces
    ]


def messages(*said: tuple[str, Any]) -> str:
    """Messages as OpenTelemetry's conventions write them: a text, or parts."""
    return json.dumps(
        [
            {
                "role": role,
                "parts": parts if isinstance(parts, list) else [{"type": "text", "content": parts}],
            }
            for role, parts in said
        ]
    )


ASKS = [{"type": "tool_call", "id": "c1", "name": "find", "arguments": {"to": "Oslo"}}]
TELLS = [{"type": "tool_call_response", "id": "c1", "response": ["OS12"]}]


def agent_spans(conversation: str = "v1", at: int = 0, trace: int | None = None) -> list[dict[str, Any]]:
    """An agent that asks its model twice and calls a tool in between."""
    named = {"gen_ai.conversation.id": conversation}
    root = span(
        "invoke_agent a",
        at=at,
        takes=9,
        trace=trace,
        attributes={
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "a",
            "gen_ai.usage.input_tokens": 300,
            **named,
        },
    )
    model = {"gen_ai.operation.name": "chat", "gen_ai.response.model": "m", **named}
    first = span(
        "chat m",
        root,
        at=at + 1,
        attributes=model
        | {
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 10,
            "gen_ai.input.messages": messages(("user", "to Oslo?")),
            "gen_ai.output.messages": messages(("assistant", ASKS)),
        },
    )
    tool = span(
        "execute_tool find",
        root,
        at=at + 3,
        attributes={
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "find",
            "gen_ai.tool.call.id": "c1",
            "gen_ai.tool.call.arguments": '{"to": "Oslo"}',
            "gen_ai.tool.call.result": '["OS12"]',
        },
    )
    last = span(
        "chat m",
        root,
        at=at + 5,
        attributes=model
        | {
            "gen_ai.usage.input_tokens": 200,
            "gen_ai.usage.output_tokens": 20,
            "gen_ai.input.messages": messages(("user", "to Oslo?"), ("assistant", ASKS), ("tool", TELLS)),
            "gen_ai.output.messages": messages(("assistant", "OS12.")),
        },
    )
    return [last, tool, first, root]


def test_a_run_of_an_agent_is_a_trace(tmp_path):
    (trace,) = read(tmp_path, as_json(agent_spans()))
    assert (trace.agent_name, trace.input_text, trace.output_text) == ("a", "to Oslo?", "OS12.")
    assert [turn.turn_type for turn in trace.turns] == [
        TurnType.USER_MESSAGE,
        TurnType.LLM_CALL,
        TurnType.TOOL_CALL,
        TurnType.LLM_CALL,
        TurnType.AGENT_MESSAGE,
    ]
    (call,) = trace.tool_calls
    assert (call.name, call.arguments, call.output, call.call_id) == ("find", {"to": "Oslo"}, ["OS12"], "c1")
    assert (call.success, call.unknown) == (True, ())
    # The agent's own span repeats the sum.
    assert (trace.total_input_tokens, trace.total_output_tokens) == (300, 30)
    assert trace.calls_known


def test_the_form_of_a_file_does_not_matter(tmp_path):
    spans = agent_spans()
    wanted = told(read(tmp_path, as_json(spans)))
    one_by_one = [as_json([each]) for each in spans]
    sized = b"".join(len(each).to_bytes(4, "big") + each for each in (as_protobuf([one]) for one in spans))
    for content in (
        as_protobuf(spans),
        as_json(in_base64(spans)),
        b"\n".join(one_by_one),
        gzip.compress(as_json(spans)),
        gzip.compress(as_protobuf(spans[:2])) + gzip.compress(as_protobuf(spans[2:])),
        sized,
    ):
        assert told(read(tmp_path, content)) == wanted
    folder = tmp_path / "folder" / "inner"
    folder.mkdir(parents=True)
    for number, each in enumerate(one_by_one):
        (folder / str(number)).write_bytes(each)
    assert told(read_traces(tmp_path / "folder")) == wanted


@given(st.randoms(use_true_random=False), st.integers(0, 8))
def test_neither_the_order_of_spans_nor_the_file_of_one_matters(
    tmp_path_factory, chance: random.Random, cut: int
):
    spans = [*agent_spans(trace=1), *agent_spans("v2", at=20, trace=2)]
    folder = tmp_path_factory.mktemp("laws")
    wanted = told(read(folder, as_json(spans)))
    chance.shuffle(spans)
    parts = [part for part in (spans[:cut], spans[cut:]) if part]
    assert told(read(folder, *map(as_json, parts))) == wanted
    assert told(read(folder, *map(as_protobuf, parts))) == wanted


ATTRIBUTES = st.dictionaries(
    st.text(min_size=1, max_size=200),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=300),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    ),
    max_size=5,
)


@given(ATTRIBUTES)
def test_json_and_protobuf_of_the_same_span_are_the_same(attributes: dict[str, Any]):

    written = [span("x", attributes=attributes, events=[("e", attributes)], error="why")]
    (one,) = otlp_json.read_request(as_json(written))
    (other,) = otlp_protobuf.read_request(as_protobuf(written))
    assert one.attributes == other.attributes == attributes
    assert one.events == other.events
    assert (one.trace_id, one.span_id, one.start_ns, one.status, one.status_message) == (
        other.trace_id,
        other.span_id,
        other.start_ns,
        other.status,
        other.status_message,
    )


def test_log_records_are_messages_of_their_span(tmp_path):
    chat = span("chat m", attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})
    logs = [
        log(chat, "gen_ai.user.message", {"content": "to Oslo?"}, 1),
        log(chat, "gen_ai.choice", {"index": 0, "message": {"role": "assistant", "content": "OS12."}}, 2),
    ]
    for written in (as_json([chat], logs), as_json([chat]) + b"\n" + as_json([], logs)):
        (trace,) = read(tmp_path, written)
        assert (trace.input_text, trace.output_text) == ("to Oslo?", "OS12.")
    (trace,) = read(tmp_path, as_protobuf([chat]), logs_as_protobuf(logs))
    assert (trace.input_text, trace.output_text) == ("to Oslo?", "OS12.")


# ---------------------------------------------------------------------- conversations


def request(*given_and_answer: str, **more: Any) -> dict[str, Any]:
    """A request to a model without any span around it."""
    given_, answer = given_and_answer
    return span(
        "chat m",
        attributes={
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": given_,
            "gen_ai.output.messages": answer,
        },
        **more,
    )


def test_runs_that_name_a_conversation_are_one_trace(tmp_path):
    (trace,) = read(tmp_path, as_json([*agent_spans(), *agent_spans(at=20)]))
    assert [call.name for call in trace.tool_calls] == ["find", "find"]
    assert len(read(tmp_path, as_json([*agent_spans(), *agent_spans("other", at=20)]))) == 2


def test_requests_without_a_parent_are_joined_by_what_was_said_before(tmp_path):
    user = ("user", "to Oslo?")
    talk = [
        request(messages(user), messages(("assistant", ASKS)), at=0),
        request(messages(user, ("assistant", ASKS), ("tool", TELLS)), messages(("assistant", "OS12.")), at=5),
    ]
    other = [request(messages(("user", "to Rome?")), messages(("assistant", "no")), at=3)]
    traces = read(tmp_path, as_json([*other, *talk]))
    assert [trace.output_text for trace in traces] == ["OS12.", "no"]
    (call,) = traces[0].tool_calls
    assert (call.output, call.success) == (["OS12"], True)


def test_what_was_said_before_a_call_need_not_be_repeated(tmp_path):
    """OpenTelemetry's instrumentation of OpenAI leaves it out of the history, others tell it as a message of its own."""
    user, looks = ("user", "to Oslo?"), {"type": "text", "content": "Let me look."}
    answer = messages(("assistant", "OS12."))
    for history in (
        [("assistant", ASKS)],
        [("assistant", [looks, *ASKS])],
        [("assistant", [looks]), ("assistant", ASKS)],
    ):
        talk = [
            request(messages(user), messages(("assistant", [looks, *ASKS])), at=0),
            request(messages(user, *history, ("tool", TELLS)), answer, at=5),
        ]
        (trace,) = read(tmp_path, as_json(talk))
        assert (trace.output_text, trace.tool_calls[0].output) == ("OS12.", ["OS12"])


def test_two_equal_requests_are_two_conversations(tmp_path):
    same = messages(("user", "hi")), messages(("assistant", "hello"))
    assert len(read(tmp_path, as_json([request(*same, at=0), request(*same, at=5)]))) == 2


def test_conversations_that_begin_alike_stay_apart(tmp_path):
    user = ("user", "to Oslo?")
    spans = []
    for number in range(3):
        asks = [each | {"id": f"c{number}"} for each in ASKS]
        tells = [each | {"id": f"c{number}"} for each in TELLS]
        spans.append(request(messages(user), messages(("assistant", asks)), at=10 * number))
        given_ = messages(user, ("assistant", asks), ("tool", tells))
        spans.append(request(given_, messages(("assistant", f"no {number}")), at=10 * number + 5))
    assert [trace.output_text for trace in read(tmp_path, as_json(spans))] == ["no 0", "no 1", "no 2"]


def test_a_request_that_failed_and_is_asked_again_is_one_conversation(tmp_path):
    failed = span(
        "chat m",
        attributes={"gen_ai.operation.name": "chat", "gen_ai.input.messages": messages(("user", "hi"))},
        error="busy",
    )
    (trace,) = read(
        tmp_path, as_json([failed, request(messages(("user", "hi")), messages(("assistant", "hello")), at=5)])
    )
    assert (len(trace.llm_calls), trace.output_text) == (2, "hello")


@given(st.randoms(use_true_random=False))
def test_a_recording_that_is_sorted_on_disk_says_the_same(tmp_path_factory, chance: random.Random):
    user = ("user", "to Oslo?")
    chat = span("chat m", at=50, attributes={"gen_ai.operation.name": "chat"})
    logs = [log(chat, "gen_ai.choice", {"message": {"role": "assistant", "content": "yes"}})]
    spans = [
        *agent_spans(trace=1),
        *agent_spans(at=20, trace=2),
        *agent_spans("v2", at=40, trace=3),
        request(messages(user), messages(("assistant", ASKS)), at=60),
        request(
            messages(user, ("assistant", ASKS), ("tool", TELLS)), messages(("assistant", "OS12.")), at=65
        ),
        chat,
    ]
    chance.shuffle(spans)
    path = tmp_path_factory.mktemp("spool") / "spans"
    path.write_bytes(as_json(spans, logs))
    in_memory, on_disk = (list(iter_traces([path], print, most_bytes=most)) for most in (1 << 30, 0))
    assert told(in_memory) == told(on_disk)
    assert len(in_memory) == 4


# ---------------------------------------------------------------------- doubles


def test_spans_of_two_instrumentations_around_one_request_are_one_call(tmp_path):
    outer = span(
        "chat",
        takes=5,
        attributes={
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": 7,
            "gen_ai.response.id": "r",
        },
    )
    inner = span(
        "ChatCompletion",
        outer,
        at=1,
        attributes={
            "openinference.span.kind": "LLM",
            "llm.token_count.prompt": 7,
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "hello",
        },
    )
    (trace,) = read(tmp_path, as_json([outer, inner]))
    assert (len(trace.llm_calls), trace.total_input_tokens, trace.output_text) == (1, 7, "hello")


def test_spans_side_by_side_are_one_call_if_their_answer_has_the_same_id(tmp_path):
    app = span("app", takes=9)
    one = span(
        "chat",
        app,
        attributes={
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": 7,
            "gen_ai.response.id": "r",
        },
    )
    two = span(
        "ChatCompletion",
        app,
        attributes={
            "openinference.span.kind": "LLM",
            "llm.token_count.prompt": 7,
            "output.value": '{"id": "r"}',
        },
    )
    (trace,) = read(tmp_path, as_json([app, one, two]))
    assert (len(trace.llm_calls), trace.total_input_tokens) == (1, 7)
    two["attributes"][-1]["value"]["stringValue"] = '{"id": "another"}'
    (trace,) = read(tmp_path, as_json([app, one, two]))
    assert len(trace.llm_calls) == 2


def test_so_are_spans_in_traces_of_their_own_wherever_they_are_sorted(tmp_path):
    """Anthropic's SDK traces a stream itself, beside the span of an instrumentation and not in it."""
    chat = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 7}
    shown = {
        "openinference.span.kind": "LLM",
        "llm.token_count.prompt": 7,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "hello",
    }
    spans = [
        span("own", attributes=chat | {"gen_ai.response.id": "r"}, at=1),
        span("messages.stream", attributes=shown | {"output.value": '{"id": "r"}'}),
        span("another", attributes=chat | {"gen_ai.response.id": "s"}, at=5),
    ]
    path = tmp_path / "spans"
    path.write_bytes(as_json(spans))
    for most in (1 << 30, 0):
        one, other = iter_traces([path], print, most_bytes=most)
        assert (len(one.llm_calls), one.total_input_tokens, one.output_text) == (1, 7, "hello")
        assert (len(other.llm_calls), other.output_text) == (1, "")


def test_the_same_call_twice_is_two_calls(tmp_path):
    asks = [each | {"id": number} for number in ("c1", "c2") for each in ASKS]
    user = ("user", "to Oslo?")
    (trace,) = read(tmp_path, as_json([request(messages(user), messages(("assistant", asks)))]))
    assert [call.call_id for call in trace.tool_calls] == ["c1", "c2"]


# ---------------------------------------------------------------------- unknown is not none


def test_what_a_recording_leaves_out_is_unknown(tmp_path):
    root = span("invoke_agent", takes=9, attributes={"gen_ai.operation.name": "invoke_agent"})
    tool = span(
        "execute_tool", root, attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
    )
    (trace,) = read(tmp_path, as_json([root, tool]))
    assert trace.tool_calls[0].unknown == ("arguments", "output")
    assert trace.metadata["notes"] == [
        "1 of 1 tool calls do not show their arguments",
        "1 of 1 tool calls do not show their output",
    ]
    (trace,) = read(tmp_path, as_json([request(messages(("user", "?")), messages(("assistant", ASKS)))]))
    assert trace.tool_calls[0].unknown == ("output", "success")


def test_of_a_request_without_its_answer_no_calls_are_known(tmp_path):
    bare = span("chat", attributes={"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5})
    (trace,) = read(tmp_path, as_json([bare]))
    assert not trace.calls_known
    assert trace.tokens_measured
    assert trace.metadata["notes"] == ["1 of 1 requests do not show their answers"]


# ---------------------------------------------------------------------- bad input


def test_what_cannot_be_read_is_noted_and_the_rest_is_kept(tmp_path):
    spans = agent_spans()
    whole = as_json(spans)
    binary = as_protobuf(spans)
    for content, word in (
        (whole[:-40], "cut off"),
        (binary[:-40], "cut off"),
        (gzip.compress(b"\n".join([whole] * 2))[:-40], "cut off"),
        (whole + b"\n{broken\n", "line 2"),
        (as_json([*spans, span("GET /", attributes={"http.method": "GET"})]), "'GET /'"),
    ):
        path = tmp_path / "bad"
        path.write_bytes(content)
        recording = read_recording(path)
        assert recording.traces, word
        assert any(word in note for note in recording.notes), (word, recording.notes)


def test_files_without_a_conversation_are_refused_with_what_they_hold(tmp_path):
    for content, word in (
        (b"", "is empty"),
        (b"hello", "neither JSON nor OTLP"),
        (b'{"a": 1}', "neither spans nor messages"),
        (as_json([span("GET /")]), "no known convention"),
    ):
        with pytest.raises(InvalidTraceError, match=word):
            read(tmp_path, content)


def test_spans_in_a_circle_and_without_parents_are_read_and_noted(tmp_path):
    spans = agent_spans()
    path = tmp_path / "spans.json"
    path.write_bytes(as_json(spans))
    assert read_recording(path).notes == []
    path.write_bytes(as_json(spans[:-1]))
    (trace,), (note,) = read_recording(path)
    assert [call.name for call in trace.tool_calls] == ["find"]
    assert "a parent that is not in the recording" in note
    root = spans[-1]
    root["parentSpanId"] = spans[0]["spanId"]
    path.write_bytes(as_json(spans))
    (trace,), (note,) = read_recording(path)
    assert [call.name for call in trace.tool_calls] == ["find"]
    assert "each other's parents" in note


def test_an_attribute_of_ten_megabytes_is_read(tmp_path):
    spans = agent_spans()
    spans[1]["attributes"][-1]["value"]["stringValue"] = "x" * 10_000_000
    (trace,) = read(tmp_path, as_protobuf(spans))
    assert len(trace.tool_calls[0].output) == 10_000_000


def test_requests_that_are_read_piece_by_piece_say_the_same():
    spans = [*agent_spans(), *agent_spans("v2", at=20)]
    spans[1]["attributes"].append({"key": "large", "value": {"stringValue": '"spans":[{' * 500_000}})
    for read_all, read_pieces, written in (
        (
            otlp_json.read_request,
            lambda data: otlp_json.read_loosely(b"", io.BytesIO(data).read),
            as_json(spans),
        ),
        (
            otlp_protobuf.read_request,
            lambda data: otlp_protobuf.read_large_request(io.BytesIO(data).read),
            as_protobuf(spans),
        ),
    ):
        assert [node.attributes for node in read_pieces(written)] == [
            node.attributes for node in read_all(written)
        ]


@pytest.mark.parametrize("indent", [None, 1])
def test_many_spans_are_the_same_whether_they_are_read_together_or_piece_by_piece(indent):
    spans = [each for number in range(300) for each in agent_spans(at=10 * number, trace=number + 1)]
    spans[7]["links"] = [dict(spans[1]), dict(spans[2])]  # they begin as spans do
    spans[-1]["links"] = [dict(spans[1])]
    spans[9]["name"] = '{"traceId": "é"}, {"traceId": "ü"}'
    request = json.loads(as_json(spans))
    (scope,) = request["resourceSpans"][0]["scopeSpans"]
    request["resourceSpans"][0]["scopeSpans"] = [
        {"spans": some}
        for some in (scope["spans"][:1], [], scope["spans"][1:-9], scope["spans"][-9:-4], scope["spans"][-4:])
    ]
    written = json.dumps(request, indent=indent).encode()
    wanted = [(node.name, node.span_id, node.attributes) for node in otlp_json.read_request(written)]
    for size in (len(written) + 1, 5000):
        file = io.BytesIO(written)
        found = otlp_json.read_loosely(b"", lambda _, file=file, size=size: file.read(size))
        assert [(node.name, node.span_id, node.attributes) for node in found] == wanted


def test_traces_whose_spans_are_far_apart_are_put_together_from_the_disk(tmp_path):
    spans = [agent_spans(f"v{number % 20}", at=10 * number, trace=number + 1) for number in range(40)]
    for own in spans:
        own[1]["attributes"].append({"key": "large", "value": {"stringValue": "x" * 5000}})
        own[-1]["spanId"] = "f" * 32  # twice as long as an id should be
    path = tmp_path / "spans"
    path.write_bytes(as_json([each for together in zip(*spans, strict=True) for each in together]))
    in_memory, on_disk = (list(iter_traces([path], print, most_bytes=most)) for most in (1 << 30, 0))
    assert told(in_memory) == told(on_disk)
    assert len(on_disk) == 20


def test_an_attribute_that_holds_a_list_belongs_to_its_span_alone():
    spans = agent_spans()
    for each in spans:
        each["attributes"].append(
            {"key": "tags", "value": {"arrayValue": {"values": [{"stringValue": "a"}]}}}
        )
    one, other, *_ = otlp_protobuf.read_request(as_protobuf(spans))
    one.attributes["tags"].append("b")
    assert other.attributes["tags"] == ["a"]


JUNK = st.sampled_from(
    [
        *(
            None,
            -5,
            2.5,
            True,
            "",
            "{",
            "[null]",
            "[[[]]]",
            '{"messages": 5}',
            ["a"],
            {"a": {"b": 1}},
            10**30,
        ),
        '[{"role": 1}]',
        '[{"kind": "request", "parts": [5]}]',
        '[{"lc": 1, "id": "x", "kwargs": 5}]',
        '[{"role": "assistant", "parts": [{"type": "tool_call", "name": {}, "id": 5, "arguments": [1]}]}]',
        '[{"role": "assistant", "tool_calls": [1, {"function": 5}]}]',
        '[{"type": "ai", "data": {"tool_calls": 5}}]',
    ]
)


@given(st.data())
def test_whatever_stands_under_a_known_name_nothing_breaks(data: st.DataObject):
    nodes = list(otlp_json.read_request(as_json(agent_spans())))
    for node in nodes:
        for name in list(node.attributes):
            if data.draw(st.booleans()):
                node.attributes[name] = data.draw(JUNK)
    for trace in traces_of(nodes):
        trace.to_dict()


@given(
    st.floats(0.001, 0.99),
    st.sampled_from([as_json, as_protobuf, lambda spans: gzip.compress(as_json(spans))]),
)
def test_a_file_that_is_cut_anywhere_is_read_up_to_the_cut(tmp_path_factory, share: float, write: Any):
    whole = write(agent_spans())
    path = tmp_path_factory.mktemp("cut") / "spans"
    path.write_bytes(whole[: int(len(whole) * share)])
    recording = read_recording(path)
    assert recording.notes
    assert len(recording.traces) <= 1


def test_the_garbage_collector_works_again_after_reading_in_several_threads_and_after_an_error(tmp_path):
    path = tmp_path / "recording"
    path.write_bytes(as_json([span("chat", attributes={"gen_ai.operation.name": "chat"})]))
    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(lambda _: read_recording(path).traces, range(40)))
    assert gc.isenabled()
    with pytest.raises(FileNotFoundError):
        read_traces(tmp_path / "none")
    assert gc.isenabled()
    gc.disable()
    try:
        assert read_traces(path)
        assert not gc.isenabled(), "a program that turned it off finds it turned off"
    finally:
        gc.enable()


def test_objects_that_a_program_froze_stay_frozen_when_many_traces_are_read(tmp_path):
    chat = {"gen_ai.operation.name": "chat"}
    path = tmp_path / "recording"
    path.write_bytes(as_json([span("chat", attributes=chat, trace=number + 1) for number in range(1000)]))
    frozen_before = gc.get_freeze_count()  # by the tests themselves, perhaps
    gc.collect()
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        assert len(read_traces(path)) == 1000
        assert frozen - 1000 < gc.get_freeze_count() <= frozen
    finally:
        if not frozen_before:
            gc.unfreeze()


def test_a_span_with_odd_values_is_read_and_does_not_end_the_reading(tmp_path):
    chat = {"gen_ai.operation.name": "chat"}
    odd = [span("chat", attributes=chat, trace=number) for number in range(1, 7)]
    odd[0]["startTimeUnixNano"] = ""
    odd[1]["startTimeUnixNano"] = str(10**30)
    odd[2]["endTimeUnixNano"] = "-5"
    odd[3]["attributes"].append({"key": "count", "value": {"intValue": "many"}})
    odd[4]["attributes"].append({"key": "count", "value": {"intValue": str(10**30)}})
    odd[5]["events"] = None
    path = tmp_path / "recording"
    path.write_bytes(as_json(odd))
    notes: list[str] = []
    for most_bytes in (0, 1 << 20):  # sorted on disk, and in memory
        assert len(list(iter_traces([path], notes.append, most_bytes=most_bytes))) == len(odd)
    assert notes == []


def test_entries_of_an_export_that_are_no_spans_are_counted_and_the_rest_is_read(tmp_path):
    def observation(number: int, **more: Any) -> dict[str, Any]:
        at = "2024-01-01T00:00:00Z"
        found = {"traceId": f"t{number}", "id": f"o{number}", "type": "GENERATION", "startTime": at}
        return found | {"input": "Hello", "output": "Hi"} | more

    entries = [observation(1), {"oops": 1}, observation(2, usage="many"), "?", observation(3)]
    path = tmp_path / "observations.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    found = read_recording(path)
    assert [trace.output_text for trace in found.traces] == ["Hi"] * 3
    assert found.notes == [f"{str(path)!r}: 2 of 5 entries are no spans of a known shape"]


def test_tokens_that_only_some_requests_show_are_noted(tmp_path):
    chat = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": messages(("assistant", "Hi"))}
    tokens = {"gen_ai.usage.input_tokens": 3}
    for shown, noted in (((tokens, tokens), False), (({}, {}), False), ((tokens, {}), True)):
        agent = span("agent", attributes={"gen_ai.operation.name": "invoke_agent"})
        spans = [span("chat", agent, at=at, attributes=chat | more) for at, more in enumerate(shown)]
        (trace,) = read(tmp_path, as_json([agent, *spans]))
        note = "1 of 2 requests do not show their tokens, which the totals lack"
        assert trace.metadata.get("notes", []) == [note] * noted
