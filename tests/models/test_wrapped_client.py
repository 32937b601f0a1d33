"""`wrap`: what clients of the providers' own SDKs ask of models is recorded, and nothing else changes."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncOpenAI, AzureOpenAI, BadRequestError, OpenAI
from pydantic import BaseModel

from calipers import Case, Dataset, ReportCase, ReportCaseFailure, known
from calipers.agents import TraceRecorder, carry, tool
from calipers.errors import InvalidOptionError
from calipers.models import Ask, Price, as_model, set_prices, wrap
from calipers.testing import OpenAIServer, Received, Reply

TOKENS = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
CALL = {"id": "t1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
RESPONSE = {
    "id": "r1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-4o",
    "status": "completed",
    "output": [
        {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
        }
    ],
    "usage": {
        "input_tokens": 100,
        "output_tokens": 10,
        "total_tokens": 110,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    },
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
MESSAGE = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [{"type": "text", "text": "Hello"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 100, "output_tokens": 10},
}
ASKED: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
CHAT: Any = {"model": "gpt-4o", "messages": ASKED}
TALK: Any = {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
pytestmark = pytest.mark.usefixtures(
    "no_tracer_provider"
)  # anthropic's SDK tells a provider of its calls, too
COUNTED = {"requests": 1, "input_tokens": 100, "output_tokens": 10, "cost": pytest.approx(0.00035)}


def chat(content: str | None = "Hello", calls: Any = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "tool_calls": calls}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o",
        "choices": [choice],
        "usage": TOKENS,
    }


def chunk(**changes: Any) -> dict[str, Any]:
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", **changes}


def delta(text: str, finish: str | None = None) -> dict[str, Any]:
    return chunk(choices=[{"index": 0, "delta": {"content": text}, "finish_reason": finish}])


CHUNKS = [delta("Hel"), delta("lo", "stop"), chunk(choices=[], usage=TOKENS)]
EVENTS: list[dict[str, Any]] = [
    {"type": "response.created", "sequence_number": 0, "response": {**RESPONSE, "output": []}},
    {"type": "response.completed", "sequence_number": 1, "response": RESPONSE},
]
MESSAGE_EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 10}},
    {"type": "message_stop"},
]


def stream(events: list[dict[str, Any]]) -> str:
    """Events as servers send them."""
    lines = ""
    for event in events:
        lines += f"event: {event['type']}\n" if "type" in event else ""
        lines += f"data: {msgspec.json.encode(event).decode()}\n\n"
    return lines + ("" if "type" in events[0] else "data: [DONE]\n\n")


def reply(received: Received) -> Reply:
    """What a server answers: by the address, and by the name of the model."""
    asked, path = received.json, received.path.partition("?")[0]
    if asked["model"] == "bad":
        return Reply(status=400, raw={"error": {"message": "no such model", "type": "invalid"}})
    if asked["model"] == "page":
        return Reply(raw="<html>")
    if path.endswith("/embeddings"):
        vector = {"object": "embedding", "index": 0, "embedding": [0.5]}
        tokens = {"prompt_tokens": 1, "total_tokens": 1}
        return Reply(raw={"object": "list", "data": [vector], "model": "e", "usage": tokens})
    streamed = asked.get("stream")
    if path.endswith("/chat/completions"):
        if asked["model"] == "broken":
            return Reply(raw=stream([CHUNKS[0], {"error": {"message": "overloaded"}}]))
        if asked["model"] == "no-usage":
            return Reply(raw=stream(CHUNKS[:2]))
        whole = chat('{"city": "Oslo"}') if asked.get("response_format") else chat()
        return Reply(raw=stream(CHUNKS) if streamed else chat(None, [CALL]) if asked.get("tools") else whole)
    if path.endswith("/responses"):
        return Reply(raw=stream(EVENTS) if streamed else RESPONSE)
    return Reply(raw=stream(MESSAGE_EVENTS) if streamed else MESSAGE)


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(reply) as running:
        yield running


@pytest.fixture(autouse=True)
def prices() -> Iterator[None]:
    known = Price(input=2.5, output=10)
    set_prices({"gpt-4o": known, "claude-x": known, "no-usage": known, "broken": known})
    yield
    set_prices({})


@pytest.fixture
def openai(server: OpenAIServer) -> Iterator[OpenAI]:
    with OpenAI(api_key="k", base_url=server.url, max_retries=0) as client:
        yield wrap(client)


@pytest.fixture
def anthropic(server: OpenAIServer) -> Iterator[Anthropic]:
    with Anthropic(api_key="k", base_url=server.url.removesuffix("/v1"), max_retries=0) as client:
        yield wrap(client)


def run(task: Any, **options: Any) -> ReportCase:
    [case] = Dataset(cases=[Case(name="one", inputs="x")], **options).evaluate_sync(task).cases
    return case


def call_of(record: ReportCase | ReportCaseFailure) -> Any:
    assert record.trace is not None
    [call] = record.trace.llm_calls
    return call


# ---------------------------------------------------------------------- each way to ask


def test_every_way_to_ask_is_counted_priced_and_recorded(openai: OpenAI, anthropic: Anthropic):
    def streamed(_: str) -> str:
        chunks = openai.chat.completions.create(**CHAT, stream=True)
        return "".join(each.choices[0].delta.content or "" for each in chunks if each.choices)

    def chat_helper(_: str) -> str:
        with openai.chat.completions.stream(**CHAT) as events:
            return "".join(event.delta for event in events if event.type == "content.delta")

    def message_helper(_: str) -> str:
        with anthropic.messages.stream(**TALK) as events:
            return "".join(events.text_stream)

    azure = wrap(
        AzureOpenAI(api_key="k", api_version="1", azure_endpoint=str(openai.base_url).removesuffix("/v1/"))
    )
    ways: dict[str, Any] = {
        "chat at Azure": lambda _: azure.chat.completions.create(**CHAT).choices[0].message.content,
        "chat": lambda _: openai.chat.completions.create(**CHAT).choices[0].message.content,
        "chat with other options": lambda _: (
            openai.with_options(timeout=9).chat.completions.create(**CHAT).choices[0].message.content
        ),
        "raw chat": lambda _: (
            openai.chat.completions.with_raw_response.create(**CHAT).parse().choices[0].message.content
        ),
        "streamed chat": streamed,
        "chat stream helper": chat_helper,
        "response": lambda _: openai.responses.create(model="gpt-4o", input="Hi").output_text,
        "streamed response": lambda _: "".join(
            event.response.output_text
            for event in openai.responses.create(model="gpt-4o", input="Hi", stream=True)
            if event.type == "response.completed"
        ),
        "message": lambda _: anthropic.messages.create(**TALK).content[0].text,
        "streamed message": lambda _: "".join(
            event.delta.text
            for event in anthropic.messages.create(**TALK, stream=True)
            if event.type == "content_block_delta"
        ),
        "message stream helper": message_helper,
    }
    for name, task in ways.items():
        case = run(task)
        call = call_of(case)
        assert (case.output, case.metrics) == ("Hello", COUNTED), name
        assert (call.output_text, call.metadata) == ("Hello", {"finish": "stop"}), name
        assert call.cost == pytest.approx(0.00035), name
        assert call.latency_ms > 0, name
        assert call.input_text in ("Hi", "system: Be brief.\nuser: Hi"), name
    azure.close()


def test_the_first_call_of_an_attempt_began_before_what_came_after_it(openai: OpenAI):
    @tool
    def look_up(word: str) -> str:
        return word

    def task(_: str) -> Any:
        answer = openai.chat.completions.create(**CHAT).choices[0].message.content
        return look_up(answer)

    called, looked = known(run(task).trace).turns
    took = timedelta(milliseconds=known(known(called.llm_call).latency_ms))
    assert known(called.timestamp) + took <= known(looked.timestamp) + timedelta(milliseconds=1)


def test_async_clients_are_recorded_too(server: OpenAIServer):
    async def whole(_: str) -> Any:
        async with wrap(AsyncOpenAI(api_key="k", base_url=server.url)) as client:
            return (await client.chat.completions.create(**CHAT)).choices[0].message.content

    async def streamed(_: str) -> Any:
        async with wrap(AsyncOpenAI(api_key="k", base_url=server.url)) as client:
            chunks = await client.chat.completions.create(**CHAT, stream=True)
            return "".join([each.choices[0].delta.content or "" async for each in chunks if each.choices])

    async def helper(_: str) -> Any:
        async with (
            wrap(AsyncAnthropic(api_key="k", base_url=server.url.removesuffix("/v1"))) as client,
            client.messages.stream(**TALK) as events,
        ):
            return "".join([text async for text in events.text_stream])

    for task in (whole, streamed, helper):
        case = run(task)
        assert (case.output, case.metrics, call_of(case).output_text) == ("Hello", COUNTED, "Hello")


def test_an_answer_parsed_into_a_class_is_recorded(openai: OpenAI):
    class Place(BaseModel):
        city: str

    def task(_: str) -> Any:
        return openai.chat.completions.parse(**CHAT, response_format=Place).choices[0].message.parsed

    case = run(task)
    assert (case.output, case.metrics) == (Place(city="Oslo"), COUNTED)


def test_what_is_no_question_to_a_model_is_not_recorded(openai: OpenAI):
    case = run(
        lambda _: openai.embeddings.create(model="e", input="x", encoding_format="float").data[0].index
    )
    assert (case.output, case.metrics, case.trace) == (0, {}, None)


# ---------------------------------------------------------------------- tools


def test_the_tools_that_a_model_asks_for_stand_with_its_call_and_are_no_tool_calls(openai: OpenAI):
    case = run(lambda _: openai.chat.completions.create(**CHAT, tools=[{"type": "function"}]).id)  # type: ignore[list-item]
    wanted = [{"name": "look", "arguments": {"at": 1}, "call_id": "t1"}]
    assert call_of(case).metadata == {"finish": "tool_call", "tool_calls": wanted}
    assert case.trace is not None
    assert (case.trace.tool_calls, case.trace.calls_known) == ((), False)


# ---------------------------------------------------------------------- what goes wrong


def test_a_raw_response_that_is_no_json_reaches_the_caller(openai: OpenAI):
    page = run(lambda _: openai.chat.completions.with_raw_response.create(model="page", messages=ASKED).text)
    assert (page.output, page.metrics) == ("<html>", {"requests": 1, "unpriced_calls": 1})


def test_an_error_reaches_the_caller_and_is_in_the_trace_and_costs_nothing(openai: OpenAI):
    def task(_: str) -> str:
        with pytest.raises(BadRequestError):
            openai.responses.create(model="bad", input="Hi")
        return "caught"

    case = run(task)
    assert (case.output, case.metrics) == ("caught", {})
    assert call_of(case).metadata["error"].startswith("BadRequestError: ")
    report = Dataset(cases=[Case(name="one", inputs="x")]).evaluate_sync(
        lambda _: openai.responses.create(model="bad", input="Hi")
    )
    assert call_of(report.failures[0]).metadata["finish"] == "error"


def test_a_stream_that_ends_early_is_counted_and_its_price_unknown(openai: OpenAI):
    def leaves(_: str) -> str:
        for _chunk in openai.chat.completions.create(**CHAT, stream=True):
            break
        return "left"

    def takes_one(_: str) -> str:
        chunks = openai.chat.completions.create(**CHAT, stream=True)
        said = next(chunks).choices[0].delta.content
        chunks.close()
        return said or ""

    def closes(_: str) -> str:
        with openai.chat.completions.create(**CHAT, stream=True):
            return "closed"

    def breaks(_: str) -> str:
        try:
            list(openai.chat.completions.create(model="broken", messages=ASKED, stream=True))
        except Exception as error:
            return type(error).__name__
        return "whole"

    def reads_later(_: str) -> str:
        with openai.chat.completions.with_streaming_response.create(**CHAT) as response:
            return response.parse().choices[0].message.content or ""

    def tells_no_tokens(_: str) -> int:
        return len(list(openai.chat.completions.create(model="no-usage", messages=ASKED, stream=True)))

    outputs = []
    for task in (leaves, takes_one, closes, breaks, reads_later, tells_no_tokens):
        case = run(task)
        outputs.append(case.output)
        assert (case.metrics, call_of(case).cost) == ({"requests": 1, "unpriced_calls": 1}, None), task
    assert outputs == ["left", "Hel", "closed", "APIError", "Hello", 2]
    assert call_of(run(breaks)).metadata["error"] == "APIError: overloaded"


# ---------------------------------------------------------------------- who asks


def test_attempts_in_flight_each_have_their_own_calls(openai: OpenAI):
    gate = threading.Barrier(4, timeout=20)

    def task(number: int) -> int:
        gate.wait()
        for _ in range(number):
            openai.chat.completions.create(**CHAT)
        return number

    cases = [Case(name=str(number), inputs=number) for number in range(1, 5)]
    report = Dataset(cases=cases).evaluate_sync(task, max_concurrency=4)
    assert [case.metrics["requests"] for case in report.cases] == [1, 2, 3, 4]
    assert [len(case.trace.llm_calls) for case in report.cases if case.trace] == [1, 2, 3, 4]


def test_a_thread_of_a_pool_belongs_to_the_attempt_if_it_is_carried_there(openai: OpenAI):
    def ask() -> str | None:
        return openai.chat.completions.create(**CHAT).choices[0].message.content

    def task(_: str) -> list[str | None]:
        with ThreadPoolExecutor(2) as pool:
            return [pool.submit(carry(ask)).result(), pool.submit(ask).result()]

    case = run(task)
    assert (case.output, case.metrics) == (["Hello", "Hello"], COUNTED)


def test_a_stream_belongs_to_who_asked_for_it_whoever_reads_it(openai: OpenAI):
    def task(_: str) -> int:
        chunks = openai.chat.completions.create(**CHAT, stream=True)
        with ThreadPoolExecutor(1) as pool:
            return len(pool.submit(list, chunks).result())

    case = run(task)
    assert (case.output, case.metrics) == (3, COUNTED)


def test_what_an_evaluator_asks_stands_with_its_result(openai: OpenAI):
    def judge(output: str) -> dict[str, Any]:
        openai.chat.completions.create(**CHAT)
        return {"good": output == "x", "grade": 0.5}

    case = run(lambda inputs: inputs, evaluators=[judge])
    assert case.metrics == {}
    assert case.trace is None
    assert [result.metadata for result in case.results] == [{"metrics": COUNTED}, None]


def test_a_model_that_uses_a_wrapped_client_counts_its_answer_once(server: OpenAIServer):
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async def judge(output: str) -> bool:
        async with wrap(AsyncOpenAI(api_key="k", base_url=server.url)) as client:
            model = as_model(OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=client)))
            answer = await model.ask(Ask(messages=[{"role": "user", "content": "Hi"}]))
        return answer.text == "Hello"

    case = run(lambda inputs: inputs, evaluators=[judge])
    assert case.results[0].value is True
    assert case.results[0].metadata == {"metrics": COUNTED}


def test_a_recording_outside_a_run_has_the_calls_in_order(openai: OpenAI):
    with TraceRecorder("bot") as recording:
        recording.record_user_message("Hi")
        openai.chat.completions.create(**CHAT)
        recording.record_agent_message("Hello")
    assert [turn.turn_type for turn in recording.trace.turns] == [
        "user_message",
        "llm_call",
        "agent_message",
    ]
    assert recording.trace.total_cost == pytest.approx(0.00035)


def test_later_calls_tell_only_what_was_said_since(openai: OpenAI):
    more: Any = [*ASKED, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "And?"}]
    case = run(lambda _: openai.chat.completions.create(model="gpt-4o", messages=more).id)
    assert call_of(case).input_text == "And?"


# ---------------------------------------------------------------------- the client


def test_a_wrapped_client_is_the_client(server: OpenAIServer):
    client = OpenAI(api_key="k", base_url=server.url, max_retries=0)
    chat_before = client.chat
    assert wrap(client) is client
    assert wrap(client) is client
    assert isinstance(client, OpenAI)
    assert client.chat is chat_before
    assert isinstance(client.with_options(timeout=1), type(client))
    assert repr(type(client)) == repr(OpenAI)
    # Outside a run, it asks and nothing is kept.
    assert chat_before.completions.create(**CHAT).choices[0].message.content == "Hello"
    client.close()


def test_what_is_no_client_is_refused():
    for thing in (object(), OpenAI, "openai", None):
        with pytest.raises(
            InvalidOptionError, match="wrap takes a client of the openai or the anthropic SDK"
        ):
            wrap(thing)


def test_async_tasks_at_once_do_not_mix(server: OpenAIServer):
    async def main() -> list[float]:
        async with wrap(AsyncOpenAI(api_key="k", base_url=server.url)) as client:

            async def task(number: int) -> int:
                await asyncio.gather(*(client.chat.completions.create(**CHAT) for _ in range(number)))
                return number

            report = await Dataset(cases=[Case(name=str(n), inputs=n) for n in (1, 3)]).evaluate(task)
            return [case.metrics["requests"] for case in report.cases]

    assert asyncio.run(main()) == [1, 3]
