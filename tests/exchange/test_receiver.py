"""An agent in any language exports into a run."""

import asyncio
import gzip
import json
from contextlib import asynccontextmanager
from functools import wraps

import aiohttp
import pytest
from opentelemetry import trace as otel
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
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
from calipers.run.runner import Options
from calipers.spans import read_traces
from calipers.stores import MemoryStore
from calipers.stores.rescoring import score_again


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
        assert (await post(client, request(span(2, 1))))[0] == 200
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


# ---------------------------------------------------------------------- one agent, three ways


def answering(messages, _info):
    if len(messages) > 1:
        return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[ToolCallPart("find", {"to": to}, tool_call_id=to) for to in ("Oslo", "Rome")])


class _Twice(SpanExporter):
    """Exports over the wire, and writes the same to a file."""

    def __init__(self, url, path):
        self.wire = OTLPSpanExporter(endpoint=f"{url}/v1/traces", compression=Compression.Gzip)
        self.path = path

    def export(self, spans):
        self.path.write_bytes(encode_spans(spans).SerializeToString())
        return self.wire.export(spans)

    def shutdown(self):
        self.wire.shutdown()


EVALUATORS = (ToolCallsMatch(["find", "find"]), FollowsTrajectory(["find", "find"]), ToolCallCount(maximum=1))


@in_a_loop
async def test_an_agent_in_the_process_in_a_file_and_over_the_wire_leaves_the_same(store, tmp_path):
    seen = []
    path = tmp_path / "spans.pb"
    agent = Agent(FunctionModel(answering), name="travel")
    processors = []

    @agent.tool_plain
    def find(to: str) -> list[str]:
        return [f"{to}1"]

    def look(span_tree, ctx):
        seen.append(ctx.trace)
        return len(span_tree) > 0

    async with receiving(store, tmp_path, evaluators=EVALUATORS) as (receiver, _):

        async def task(question):
            processors.append(BatchSpanProcessor(_Twice(receiver.url, path)))
            otel.get_tracer_provider().add_span_processor(processors[0])
            Agent.instrument_all(InstrumentationSettings())
            try:
                return (await agent.run(question)).output
            finally:
                Agent.instrument_all(False)

        def evaluate():
            dataset = Dataset(cases=[Case(inputs="to Oslo or Rome?")], evaluators=[look, *EVALUATORS])
            report = dataset.evaluate_sync(task)
            processors[0].shutdown()
            return report

        (here,) = (await asyncio.to_thread(evaluate)).cases
    (received,) = store.report("latest").cases
    (from_file,) = read_traces(path)
    assert received.trace == from_file == seen[0]
    assert [call.output for call in received.trace.tool_calls] == [["Oslo1"], ["Rome1"]]
    with MemoryStore() as other:
        import_traces([path], other)
        (imported,) = score_again(other, "latest", evaluators=EVALUATORS, keep="all").cases
    wanted = [("ToolCallsMatch", True), ("FollowsTrajectory", True), ("ToolCallCount", False)]
    for case in (here, received, imported):
        assert [(each.name, each.value) for each in case.results if each.name != "look"] == wanted
        assert case.output == "done"
