"""An agent in any language exports into a run."""

import asyncio
import gzip
import json
from contextlib import asynccontextmanager
from functools import wraps

import aiohttp
import pytest
from opentelemetry import trace as otel
from opentelemetry._logs import get_logger, get_logger_provider
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError
from calipers.evaluators import FollowsTrajectory, ToolCallCount, ToolCallsMatch
from calipers.exchange import import_traces
from calipers.exchange.received_run import ArrivalJudge, ReceivedRun, unfinished_runs
from calipers.exchange.receiver import Receiver, ReceiverLimits, check_address
from calipers.exchange.request_spool import RequestSpool
from calipers.run.runner import Options
from calipers.spans import read_traces
from calipers.stores import MemoryStore
from calipers.stores.rescoring import score_again
from calipers.stores.run_info import RunInfo


def in_a_loop(test):
    @wraps(test)
    def run(*args, **kwargs):
        return asyncio.run(test(*args, **kwargs))

    return run


JSON = {"content-type": "application/json"}
PROTOBUF = {"content-type": "application/x-protobuf"}


def span(trace_id, span_id, parent="", **attributes):
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "travel"} | attributes
    return {
        "traceId": f"{trace_id:032x}",
        "spanId": f"{span_id:016x}",
        "parentSpanId": parent and f"{parent:016x}",
        "name": "work",
        "startTimeUnixNano": "1",
        "endTimeUnixNano": "2",
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in told.items()],
    }


def tool(trace_id, span_id, parent, name):
    own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    return span(trace_id, span_id, parent, **own)


def request(*spans):
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


@asynccontextmanager
async def receiving(store, folder, *, evaluators=(), wait=0.01, **options):
    run = ReceivedRun.begin(store, folder / "received", name=None, wait=wait)
    judge = ArrivalJudge(run, evaluators, Options(), tell=print) if evaluators else None
    receiver = Receiver(run, judge=judge, **options)
    await receiver.open("127.0.0.1", 0)
    async with aiohttp.ClientSession(receiver.url) as client:
        yield receiver, client
    await receiver.close()
    run.finish()


async def post(client, body, headers=JSON, path="/v1/traces"):
    async with client.post(path, data=body, headers=headers) as answer:
        return answer.status, await answer.read(), answer.headers


@pytest.fixture
def store():
    with MemoryStore() as store:
        yield store


async def stored(store, number):
    """Wait until so many attempts are stored."""
    while store.run("latest").attempts < number:
        await asyncio.sleep(0.05)


# ---------------------------------------------------------------------- requests


@in_a_loop
async def test_each_trace_is_an_attempt(store, tmp_path):
    async with receiving(store, tmp_path) as (_, client):
        status, body, _ = await post(client, request(span(1, 1), tool(1, 2, 1, "find"), span(2, 1)))
        assert (status, body) == (200, b"{}")
    report = store.report("latest")
    assert [(case.name, len(case.trace.tool_calls)) for case in report.cases] == [
        (f"{1:032x}", 1),
        (f"{2:032x}", 0),
    ]
    assert report.incomplete is None
    assert not list(tmp_path.iterdir())


@in_a_loop
async def test_the_same_is_read_with_gzip(store, tmp_path):
    async with receiving(store, tmp_path) as (_, client):
        headers = {**JSON, "content-encoding": "gzip"}
        assert (await post(client, gzip.compress(request(span(1, 1))), headers))[0] == 200
        status, body, _ = await post(client, b"no gzip", headers)
        assert (status, json.loads(body)["code"]) == (400, 3)
    assert store.run("latest").attempts == 1


@in_a_loop
async def test_what_cannot_be_read_is_refused_and_the_rest_is_kept(store, tmp_path):
    nameless = span(1, 1) | {"spanId": ""}
    async with receiving(store, tmp_path) as (_, client):
        for body, headers in ((b"{no json", JSON), (b"\xff\xff", PROTOBUF), (request(nameless), JSON)):
            status, answer, _ = await post(client, body, headers)
            assert status == 400
            assert answer[:1] in {b"{", b"\x08"}
        status, body, _ = await post(client, request(nameless, span(1, 1)))
        assert status == 200
        told = json.loads(body)["partialSuccess"]
        assert (told["rejectedSpans"], told["errorMessage"]) == (
            "1",
            "1 spans have no id, or none of their trace",
        )
        cut = request(span(2, 1), span(3, 1))[:-60]
        status, body, _ = await post(client, cut)
        assert (status, "partialSuccess" in json.loads(body)) == (200, True)
    assert store.run("latest").attempts == 2


@in_a_loop
async def test_what_is_too_much_is_refused_until_there_is_room(store, tmp_path):
    limits = ReceiverLimits(body_bytes=2000, waiting_bytes=100)
    async with receiving(store, tmp_path, wait=0.4, limits=limits) as (_, client):
        assert (await post(client, request(*(span(1, number) for number in range(1, 9)))))[0] == 413
        bomb = gzip.compress(b" " * 1_000_000)
        assert (await post(client, bomb, {**JSON, "content-encoding": "gzip"}))[0] == 413
        assert (await post(client, request(span(1, 1))))[0] == 200
        status, body, headers = await post(client, request(span(2, 1)))
        assert (status, json.loads(body)["code"], headers["retry-after"]) == (429, 8, "1")
        await stored(store, 1)
        async with asyncio.timeout(60):  # what was stored may count as waiting for a moment more
            while (status := (await post(client, request(span(2, 1))))[0]) == 429:
                await asyncio.sleep(0.05)
        assert status == 200
    assert store.run("latest").attempts == 2


@in_a_loop
async def test_more_spans_than_are_allowed_in_a_second_are_to_be_sent_again(store, tmp_path):
    async with receiving(store, tmp_path, limits=ReceiverLimits(spans_per_second=1)) as (_, client):
        codes = [(await post(client, request(span(number, 1))))[0] for number in range(1, 9)]
    assert set(codes) == {200, 429}
    assert store.run("latest").attempts == codes.count(200)


@in_a_loop
async def test_only_who_has_the_token_may_send(store, tmp_path):
    async with receiving(store, tmp_path, token="secret") as (_, client):
        for given in ({}, {"authorization": "Bearer other"}, {"authorization": "Basic secret"}):
            status, body, _ = await post(client, request(span(1, 1)), {**JSON, **given})
            assert (status, json.loads(body)["code"]) == (401, 16)
        assert (await post(client, request(span(1, 1)), {**JSON, "authorization": "bearer secret"}))[0] == 200
        own = {"authorization": "Bearer secret", "content-type": "text/plain"}
        assert (await post(client, request(span(1, 1)), own))[0] == 415
        assert (await post(client, b"", {**JSON, "authorization": "Bearer secret"}, path="/v1/metrics"))[
            0
        ] == 404


@pytest.mark.parametrize(("host", "token"), [("0.0.0.0", None), ("example.org", None), ("127.0.0.1", " ")])
def test_an_address_that_others_reach_needs_a_token(host, token):
    with pytest.raises(InvalidOptionError, match="token"):
        check_address(host, token)
    check_address(host, "secret")
    check_address("::1", None)
    check_address("localhost", None)


# ---------------------------------------------------------------------- traces


@in_a_loop
async def test_a_span_that_comes_later_is_joined_and_judged_anew(store, tmp_path):
    evaluators = [ToolCallCount(maximum=1)]
    async with receiving(store, tmp_path, evaluators=evaluators) as (receiver, client):
        await post(client, request(span(1, 1), tool(1, 2, 1, "find")))
        await stored(store, 1)
        await post(client, request(tool(1, 3, 1, "book")))
    (case,) = store.report("latest").cases
    assert [call.name for call in case.trace.tool_calls] == ["find", "book"]
    assert [result.value for result in case.results] == [False]
    assert (receiver.run.received.rejoined, receiver.run.received.attempts) == (1, 1)


@in_a_loop
async def test_attempts_that_show_no_answer_are_counted_until_one_comes(store, tmp_path):
    answered = span(3, 1, final_result="OS12.")
    async with receiving(store, tmp_path) as (receiver, client):
        await post(client, request(span(1, 1), span(2, 1), answered))
        await stored(store, 3)
        first = receiver.run.received.without_answer
        await post(client, request(span(1, 2, 1, final_result="Booked.")))
    assert (first, receiver.run.received.without_answer) == (2, 1)


@in_a_loop
async def test_spans_of_no_agent_are_counted_and_make_no_attempt(store, tmp_path):
    other = span(1, 1) | {"attributes": []}
    async with receiving(store, tmp_path) as (receiver, client):
        await post(client, request(other))
    assert receiver.run.received.without_conversation == 1
    assert "'work'" in receiver.run.received.notes[0]
    assert not store.runs()


@in_a_loop
async def test_what_was_acknowledged_outlives_a_process_that_is_killed(store, tmp_path):
    run = ReceivedRun.begin(store, tmp_path, name="killed", wait=60)
    receiver = Receiver(run)
    await receiver.open("127.0.0.1", 0)
    async with aiohttp.ClientSession(receiver.url) as client:
        for body in (request(span(1, 1)), request(span(2, 2, 1)), request(span(2, 1))):
            assert (await post(client, body))[0] == 200
    assert store.run(run.info.id).attempts == 0
    # As after kill -9: no one stores what has arrived, and the run belongs to no living process.
    store.finish_run(run.info.id, status="interrupted")
    (again,) = unfinished_runs(store, tmp_path, wait=1)
    again.sweep(0.0, at_once=True)
    info = again.finish()
    assert (info.id, info.name, info.attempts, info.status) == (run.info.id, "killed", 2, "finished")
    assert again.received.spans == 3
    assert not list(unfinished_runs(store, tmp_path, wait=1))
    run.inbox.open.clear()
    receiver._arrived.clear()
    await receiver.close()
    run.spool.close()


def test_what_was_stored_before_a_kill_is_not_stored_twice(store, tmp_path):
    run = ReceivedRun.begin(store, tmp_path, name=None, wait=1)
    run.spool.write([("J", request(span(1, 1))), ("J", request(span(2, 1)))])
    run.spool.close()
    for killed_before in ("the note", "the end"):
        store.finish_run(run.info.id, status="interrupted")
        (again,) = unfinished_runs(store, tmp_path, wait=1)
        assert len(again.inbox.open) == (2 if killed_before == "the note" else 0)
        again.sweep(0.0, at_once=True)
        again.spool.close()
    assert store.run(run.info.id).attempts == 2


@in_a_loop
async def test_a_span_that_comes_late_and_is_hit_by_a_kill_is_joined(store, tmp_path):
    info = store.begin_run(RunInfo(name="killed"))
    run = ReceivedRun(store, info, RequestSpool(tmp_path / info.id, segment_bytes=1), wait=0.01)
    receiver = Receiver(run)
    await receiver.open("127.0.0.1", 0)
    async with aiohttp.ClientSession(receiver.url) as client:
        await post(client, request(span(1, 1), tool(1, 2, 1, "find")))
        await stored(store, 1)
        run.inbox.wait = 60
        await post(client, request(tool(1, 3, 1, "book")))
        while receiver._arrived:
            await asyncio.sleep(0.05)
    store.finish_run(info.id, status="interrupted")
    (again,) = unfinished_runs(store, tmp_path, wait=1)
    again.sweep(0.0, at_once=True)
    assert (again.finish().attempts, again.received.late) == (1, 0)
    (case,) = store.report("latest").cases
    assert [call.name for call in case.trace.tool_calls] == ["find", "book"]
    run.inbox.open.clear()
    await receiver.close()
    run.spool.close()


# ---------------------------------------------------------------------- one agent, three ways


def answering(messages, _info):
    if len(messages) > 1:
        return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[ToolCallPart("find", {"to": to}, tool_call_id=to) for to in ("Oslo", "Rome")])


class _Twice:
    """Exports over the wire, and writes the same to a file."""

    def __init__(self, wire, encode, path):
        self.wire = wire
        self.encode = encode
        self.path = path

    def export(self, batch):
        self.path.write_bytes(self.encode(batch).SerializeToString())
        return self.wire.export(batch)

    def shutdown(self):
        self.wire.shutdown()


def exporting(url, folder):
    """Has all spans and log records of this process exported; what ends it."""
    spans = OTLPSpanExporter(endpoint=f"{url}/v1/traces", compression=Compression.Gzip)
    logs = OTLPLogExporter(endpoint=f"{url}/v1/logs")
    processors = (
        BatchSpanProcessor(_Twice(spans, encode_spans, folder / "spans.pb")),
        BatchLogRecordProcessor(_Twice(logs, encode_logs, folder / "logs.pb")),
    )
    otel.get_tracer_provider().add_span_processor(processors[0])
    get_logger_provider().add_log_record_processor(processors[1])
    return processors


EVALUATORS = (ToolCallsMatch(["find", "find"]), FollowsTrajectory(["find", "find"]), ToolCallCount(maximum=1))


async def leaves_the_same(task, store, tmp_path):
    """The trace of an agent, which is the same in the process, in a file and over the wire, and so are the results."""
    seen, processors = [], []
    folder = tmp_path / "exported"
    folder.mkdir()

    def look(span_tree, ctx):
        seen.append(ctx.trace)
        return len(span_tree) > 0

    async with receiving(store, tmp_path, evaluators=EVALUATORS) as (receiver, _):

        async def exported(question):
            processors.extend(exporting(receiver.url, folder))
            return await task(question)

        def evaluate():
            dataset = Dataset(cases=[Case(inputs="to Oslo or Rome?")], evaluators=[look, *EVALUATORS])
            report = dataset.evaluate_sync(exported)
            for each in processors:
                each.shutdown()
            return report

        (here,) = (await asyncio.to_thread(evaluate)).cases
    (received,) = store.report("latest").cases
    (from_file,) = read_traces(folder)
    assert received.trace == from_file == seen[0]
    with MemoryStore() as other:
        import_traces([folder], other)
        (imported,) = score_again(other, "latest", evaluators=EVALUATORS, keep="all").cases
    wanted = [("ToolCallsMatch", True), ("FollowsTrajectory", True), ("ToolCallCount", False)]
    for case in (here, received, imported):
        assert [(each.name, each.value) for each in case.results if each.name != "look"] == wanted
        assert case.output == "done"
    return received.trace


@in_a_loop
async def test_an_agent_in_the_process_in_a_file_and_over_the_wire_leaves_the_same(store, tmp_path):
    agent = Agent(FunctionModel(answering), name="travel")

    @agent.tool_plain
    def find(to: str) -> list[str]:
        return [f"{to}1"]

    async def task(question):
        Agent.instrument_all(InstrumentationSettings())
        try:
            return (await agent.run(question)).output
        finally:
            Agent.instrument_all(False)

    trace = await leaves_the_same(task, store, tmp_path)
    assert [call.output for call in trace.tool_calls] == [["Oslo1"], ["Rome1"]]


@in_a_loop
async def test_so_does_one_whose_messages_are_log_records(store, tmp_path):
    calls = [
        {"id": to, "function": {"name": "find", "arguments": json.dumps({"to": to})}}
        for to in ("Oslo", "Rome")
    ]

    async def task(question):
        tracer, logger = otel.get_tracer("agent"), get_logger("agent")
        with tracer.start_as_current_span("travel", attributes={"gen_ai.operation.name": "invoke_agent"}):
            with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}):
                logger.emit(event_name="gen_ai.user.message", body={"content": question})
                logger.emit(event_name="gen_ai.choice", body={"message": {"tool_calls": calls}})
            with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}):
                logger.emit(event_name="gen_ai.user.message", body={"content": question})
                logger.emit(event_name="gen_ai.assistant.message", body={"tool_calls": calls})
                for to in ("Oslo", "Rome"):
                    logger.emit(event_name="gen_ai.tool.message", body={"id": to, "content": f"{to}1"})
                logger.emit(event_name="gen_ai.choice", body={"message": {"content": "done"}})
        return "done"

    trace = await leaves_the_same(task, store, tmp_path)
    assert trace.input_text == "to Oslo or Rome?"
    assert [(call.arguments, call.output) for call in trace.tool_calls] == [
        ({"to": "Oslo"}, "Oslo1"),
        ({"to": "Rome"}, "Rome1"),
    ]
