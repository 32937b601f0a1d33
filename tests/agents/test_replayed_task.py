"""Tapes: what is recorded of a run, how it is replayed offline, where a replay leaves its tape, and how it forks."""

import asyncio
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import anthropic
import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, Retry
from calipers.agents import (
    Fork,
    PydanticAIAdapter,
    RecordedTask,
    ReplayedTask,
    Return,
    Tape,
    ToolCall,
    intercepting_tools,
    tool,
    with_faults,
)
from calipers.agents.tool_interception import call_tool
from calipers.errors import InvalidOptionError, TapeError, TapeFileError
from calipers.models import Ask, RemoteModel, using_cache
from calipers.process.loop import run_sync
from calipers.stores import MemoryStore, hide_keys
from calipers.testing import AnthropicServer, OpenAIServer, Reply

PRICES = {"desk": 120, "lamp": 30}
SCHEMA = {"type": "object", "properties": {"thing": {"type": "string"}}}


class Shop:
    """The tools of an agent, which count how often they are reached."""

    def __init__(self):
        self.reached = 0

    def price(self):
        @tool
        def price(thing: str) -> int:
            self.reached += 1
            return PRICES[thing]

        return price


def asks_for(*things):
    """A model that asks for prices first, and then says what it heard."""

    def reply(received):
        heard = [each["content"] for each in received.json["messages"] if each["role"] == "tool"]
        if not heard:
            return Reply(calls=[ToolCall("price", {"thing": thing}) for thing in things])
        return Reply(text=f"{received.json['model']} says {', '.join(heard)}")

    return reply


def chat_agent(url, shop, model="small"):
    """An agent on the SDK of OpenAI, with a loop of its own."""
    price = shop.price()
    client = openai.OpenAI(base_url=url, api_key="sk-proj-abcdefgh12345678", max_retries=0)

    def agent(question):
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}]
        described = {"type": "function", "function": {"name": "price", "parameters": SCHEMA}}
        while True:
            answer = client.chat.completions.create(model=model, messages=messages, tools=[described])
            said = answer.choices[0].message
            if not said.tool_calls:
                return said.content
            messages.append(said.model_dump(exclude_none=True))
            for call in said.tool_calls:
                found = price(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": str(found)})

    return agent


def one_case(inputs="What is a desk?", **fields):
    return Dataset(cases=[Case(name="desk", inputs=inputs, **fields)])


def only(report):
    """The one attempt of a report."""
    (record,) = [*report.cases, *report.failures]
    return record


def run(dataset, task, **options):
    return dataset.evaluate_sync(task, progress=False, **options)


@pytest.fixture
def tape(tmp_path):
    return tmp_path / "run.tape"


def recorded(tape, things=("desk",), dataset=None, **options):
    """A recorded run of the agent of OpenAI's SDK, and what of it a replay needs: the address, which no one answers any more."""
    with OpenAIServer(asks_for(*things)) as server:
        task = RecordedTask(chat_agent(server.url, Shop()), tape)
        return run(dataset or one_case(), task, **options), server.url


# ---------------------------------------------------------------------- recording and replaying


def test_a_replay_gives_the_same_output_and_trace_and_reaches_neither_model_nor_tool(tape):
    report, url = recorded(tape, ("desk", "lamp"))
    shop = Shop()
    again = only(run(one_case(), ReplayedTask(chat_agent(url, shop), tape)))
    assert again.output == only(report).output == "small says 120, 30"
    assert again.trace.tool_calls == only(report).trace.tool_calls
    assert shop.reached == 0
    assert again.attributes["tape"]["replayed"] == 4
    assert again.attributes["tape"]["live"] == 0


def test_a_tape_has_a_line_for_each_exchange_that_people_can_read(tape):
    recorded(tape)
    head, begin, *exchanges, end = map(json.loads, tape.read_text().splitlines())
    assert head["tape"] == 1
    assert (begin["case"], begin["repeat"], begin["try"]) == ("desk", 1, 1)
    assert [(each["kind"], each["step"]) for each in exchanges] == [("model", 1), ("tool", 2), ("model", 3)]
    assert exchanges[1]["asked"] == {"name": "price", "arguments": {"thing": "desk"}}
    assert exchanges[1]["answered"] == {"value": 120}
    assert exchanges[0]["asked"]["body"]["messages"][0] == {"role": "system", "content": "Be brief."}
    assert end == {"attempt": 1, "steps": 3}


def test_a_tape_has_no_header_and_no_secret(tape):
    @tool
    def login(password: str) -> str:
        return f"token=abcd1234efgh5678 for {password}"

    client = RecordedTask(lambda _: login("hunter2-hunter2"), tape)
    client("x")
    recorded_text = tape.read_text()
    assert "hunter2" not in recorded_text
    assert "abcd1234" not in recorded_text
    assert ReplayedTask(lambda _: login("another-password"), tape)("x") == "token=[redacted] for [redacted]"
    recorded(tape)
    assert "sk-proj" not in tape.read_text()
    assert "authorization" not in tape.read_text().lower()


def test_a_secret_is_not_on_the_tape_either_where_the_agent_repeats_it_in_a_prompt(tape):
    @tool
    def account() -> dict[str, str]:
        return {"user": "bob", "password": "correct-horse-battery"}

    def agent(url):
        def ask(inputs):
            prompt = [{"role": "user", "content": f"{account()['password']}, {inputs['token']}"}]
            with openai.OpenAI(base_url=url, api_key="k", max_retries=0) as client:
                answer = client.chat.completions.create(model="m", messages=prompt)
            return answer.choices[0].message.content

        return ask

    inputs = {"token": "abcd-efgh"}
    with OpenAIServer(lambda received: Reply(text=received.json["messages"][0]["content"])) as server:
        RecordedTask(agent(server.url), tape)(inputs)
    assert "battery" not in tape.read_text()
    assert "efgh" not in tape.read_text()
    assert ReplayedTask(agent(server.url), tape)(inputs) == "[redacted], [redacted]"


def test_what_the_mark_of_a_tool_redacts_is_not_on_the_tape(tape):
    @tool(redact=["number", "return"])
    def pay(number: str, pin: int) -> str:
        return f"paid with {number}"

    @tool(redact=lambda name, value: value[:4] if name in ("note", "raise") else value)
    def write(note: str) -> str:
        raise ValueError(f"too long: {note}")

    @tool
    def say(text: str) -> str:
        return text

    def agent(_):
        paid = pay("DE89 3704", pin=3)
        with suppress(ValueError):
            write("it rains outside")
        return say(f"{paid} of DE89 3704")

    def framework(_):
        return call_tool("pay", {"number": "DE89 3704", "pin": 3}, lambda: pay("DE89 3704", pin=3))

    assert RecordedTask(framework, tape)("x") == "paid with DE89 3704"
    assert "3704" not in tape.read_text()
    assert ReplayedTask(framework, tape)("x") == "[redacted]"
    assert RecordedTask(agent, tape)("x") == "paid with DE89 3704 of DE89 3704"
    assert "3704" not in tape.read_text()
    assert "outside" not in tape.read_text()
    assert ReplayedTask(agent, tape)("x") == "[redacted] of [redacted]"


@pytest.mark.parametrize("streams", [False, True])
def test_the_sdk_of_anthropic_is_replayed_sync_and_async_and_as_a_stream(tape, streams):
    given = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}

    def agents(url):
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)

        def ask(_):
            if not streams:
                return client.messages.create(**given).content[0].text
            with client.messages.stream(**given) as stream:
                return "|".join(stream.text_stream)

        async def ask_later(_):
            async with anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as later:
                if not streams:
                    return (await later.messages.create(**given)).content[0].text
                async with later.messages.stream(**given) as stream:
                    return "|".join([text async for text in stream.text_stream])

        return ask, ask_later

    with AnthropicServer(Reply(text="one two three")) as server:
        ask, ask_later = agents(server.url)
        expected = RecordedTask(ask, tape)("x")
        assert asyncio.run(RecordedTask(ask_later, tape.with_suffix(".later"))("x")) == expected
    ask, ask_later = agents(server.url)
    assert ReplayedTask(ask, tape)("x") == expected
    assert asyncio.run(ReplayedTask(ask_later, tape.with_suffix(".later"))("x")) == expected


def test_a_stream_of_openai_is_on_the_tape_event_by_event_and_comes_again(tape):
    def ask(url):
        client = openai.OpenAI(base_url=url, api_key="k", max_retries=0)
        messages = [{"role": "user", "content": "Hi"}]
        return lambda _: [
            chunk.choices[0].delta.content
            for chunk in client.chat.completions.create(model="m", messages=messages, stream=True)
            if chunk.choices
        ]

    with OpenAIServer(Reply(text="one two three")) as server:
        expected = RecordedTask(ask(server.url), tape)("x")
    (exchange,) = Tape.read(tape).attempts[0].exchanges
    assert exchange.answered["stream"][-1] == "data: [DONE]"
    assert ReplayedTask(ask(server.url), tape)("x") == expected


def test_a_stream_that_the_agent_leaves_half_way_is_on_the_tape_up_to_there(tape):
    """Which it often does without closing the stream."""
    body = {"model": "m", "messages": [], "stream": True}

    def agent(url, enough):
        def ask(_):
            asked = client.build_request("POST", f"{url}/chat/completions", json=body)
            opened.append(client.send(asked, stream=True))
            said = []
            for line in opened[-1].iter_lines():
                said.append(line)
                if enough in line:
                    break
            return said

        return ask

    opened = []
    with httpx.Client() as client, OpenAIServer(Reply(text="one two " * 40_000)) as server:
        said = RecordedTask(agent(server.url, "one two"), tape)("x")
        opened[0].close()
        assert ReplayedTask(agent(server.url, "one two"), tape)("x") == said
        with pytest.raises(TapeError, match="it read more of the answer of the model 'm' than it did then"):
            ReplayedTask(agent(server.url, "[DONE]"), tape)("x")


def test_an_answer_that_is_cancelled_while_it_comes_is_no_outcome(tape):
    async def ask(_):
        async with httpx.AsyncClient() as client:
            try:
                async with asyncio.timeout(0.3):
                    return (await client.post(f"{url}/chat/completions", json={"model": "m"})).text
            except TimeoutError:
                return "too late"

    with OpenAIServer(Reply(text="Hello", fault="stall")) as server:
        url = server.url
        assert asyncio.run(RecordedTask(ask, tape)("x")) == "too late"
    assert Tape.read(tape).attempts[0].exchanges == []


def test_an_error_of_a_server_comes_back_with_what_it_says_of_asking_again(tape):
    def ask(_):
        with openai.OpenAI(base_url=url, api_key="k", max_retries=3) as client:
            try:
                return client.completions.create(model="m", prompt=_).choices
            except openai.RateLimitError as error:
                return error.status_code

    with OpenAIServer(Reply(status=429, headers={"x-should-retry": "false", "retry-after": "50"})) as server:
        url = server.url
        assert RecordedTask(ask, tape)("x") == 429
        assert len(server.requests) == 1
    assert ReplayedTask(ask, tape)("x") == 429


@pytest.mark.parametrize("answer", [bytes(range(256)), b'"a text in quotes"', b"[1e999]", b"a text", b""])
def test_an_answer_of_any_kind_comes_back_byte_by_byte(tape, answer):
    def ask(_):
        return httpx.post(f"{url}/audio/speech", files={"sample": bytes(range(256))}).content

    with OpenAIServer(Reply(raw=answer)) as server:
        url = server.url
        assert RecordedTask(ask, tape)("x") == answer
    assert ReplayedTask(ask, tape)("x") == answer


def test_an_agent_of_pydantic_ai_is_replayed(tape):
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    reached, clients = [], []

    def price(thing: str) -> int:
        """The tool of a framework, which no one has marked."""
        reached.append(thing)
        return PRICES[thing]

    def made(url):
        clients.append(openai.AsyncOpenAI(base_url=url, api_key="k"))
        model = OpenAIChatModel("small", provider=OpenAIProvider(openai_client=clients[-1]))
        return PydanticAIAdapter(Agent(model, tools=[price]))

    with OpenAIServer(asks_for("desk", "lamp")) as server:
        report = run(one_case(), RecordedTask(made(server.url), tape))
    again = run(one_case(), ReplayedTask(made(server.url), tape))
    assert only(again).output == only(report).output == "small says 120, 30"
    assert only(again).trace.tool_calls == only(report).trace.tool_calls
    assert sorted(reached) == ["desk", "lamp"]
    for client in clients:
        run_sync(client.close)


def test_a_model_of_calipers_that_an_agent_asks_is_on_the_tape_and_a_judge_is_not(tape, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    async def say(model, words):
        asked = Ask(messages=[{"role": "user", "content": words}])
        return (await RemoteModel(f"openai:{model}", base_url=server.url).ask(asked)).text

    async def agent(question):
        return await say("small", question)

    async def judge(output):
        return await say("judge", f"Is it good? {output}") == "fine"

    dataset = Dataset(cases=[Case(name="desk", inputs="Hi")], evaluators=[judge])
    with OpenAIServer(Reply(text="fine")) as server:
        assert run(dataset, RecordedTask(agent, tape)).pass_rate().value == 1
        (exchange,) = Tape.read(tape).attempts[0].exchanges
        assert exchange.asked["body"]["model"] == "small"
        asked = len(server.requests)
        assert run(dataset, ReplayedTask(agent, tape)).pass_rate().value == 1
        assert len(server.requests) == asked + 1


def test_a_cache_of_answers_has_no_part_in_a_tape(tape, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    said = iter(["first", "second"])

    async def agent(question):
        asked = Ask(messages=[{"role": "user", "content": question}])
        return (await RemoteModel("openai:m", base_url=server.url).ask(asked)).text

    class Cache(dict):
        put = dict.__setitem__

    with using_cache(Cache()):
        with OpenAIServer(lambda _: Reply(text=next(said))) as server:
            assert only(run(one_case(), agent)).output == "first"
            assert only(run(one_case(), RecordedTask(agent, tape))).output == "second"
        assert only(run(one_case(), ReplayedTask(agent, tape))).output == "second"
        assert only(run(one_case(), agent)).output == "first"


def test_repeats_retries_and_side_by_side_attempts_each_find_their_own_exchanges(tape):
    numbers = iter(range(100))

    @tool
    async def number() -> int:
        found = next(numbers)
        await asyncio.sleep(0)
        if found % 3 == 0:
            raise ConnectionError(f"no {found}")
        return found

    async def agent(_):
        return await number()

    dataset = Dataset(cases=[Case(name=f"case {n}", inputs=n) for n in range(5)])
    options = {"repeat": 3, "retry": Retry(attempts=3, backoff=0)}
    first = run(dataset, RecordedTask(agent, tape), **options)
    again = run(dataset, ReplayedTask(agent, tape), **options)
    assert [each.output for each in again.cases] == [each.output for each in first.cases]
    assert [each.tries for each in again.cases] == [each.tries for each in first.cases]


def test_a_conversation_is_one_attempt_of_the_tape(tape):
    shop = Shop()

    def task(url):
        agent = chat_agent(url, shop)
        return lambda text: agent(text)

    dataset = Dataset(cases=[Case(name="talk", turns=["A desk?", "A desk again?"])])
    with OpenAIServer(asks_for("desk")) as server:
        report = run(dataset, RecordedTask(task(server.url), tape))
    again = run(dataset, ReplayedTask(task(server.url), tape))
    assert len(Tape.read(tape).attempts) == 1
    assert again.cases[0].trace.tool_calls == report.cases[0].trace.tool_calls
    assert again.cases[0].attributes["tape"]["replayed"] == 6


def test_a_tape_has_what_the_agent_saw_of_a_call_that_was_interfered_with(tape):
    class Broken:
        def before(self, name, arguments):
            return Return("out of order")

        def after(self, name, arguments, outcome):
            return outcome

    shop = Shop()
    price = shop.price()

    def agent(_):
        with intercepting_tools(Broken()):
            return price("desk")

    assert RecordedTask(agent, tape)("x") == "out of order"
    assert ReplayedTask(lambda _: price("desk"), tape)("x") == "out of order"
    assert shop.reached == 0


@dataclass
class Point:
    x: int
    y: int = 0


@dataclass
class Account:
    user: str
    password: str


class Opaque:
    pass


def test_what_json_cannot_hold_is_made_again_or_the_replay_says_that_it_cannot(tape):
    results = {
        "point": Point(1, 2),
        "pair": (1, 2),
        "rows": [(1, date(2026, 1, 2)), (2, None)],
        "named": {"a/b": Point(1), "path": Path("x"), "plain": [1]},
        "not a number": [math.nan],
        "secret": Account("bob", "hunter2-hunter2"),
        "opaque": [Opaque()],
    }

    @tool
    def get(name: str):
        return results[name]

    def agent(name):
        return get(name)

    task = RecordedTask(agent, tape)
    for name in results:
        task(name)
    replay = ReplayedTask(agent, tape)
    assert replay("point") == Point(1, 2)
    assert replay("pair") == (1, 2)
    assert replay("rows") == results["rows"]
    assert replay("named") == results["named"]
    assert math.isnan(replay("not a number")[0])
    assert replay("secret") == Account("bob", "[redacted]")
    with pytest.raises(TapeError, match="Opaque at /0, which cannot be made of plain data: have it return"):
        replay("opaque")


def test_each_replay_has_values_of_its_own_that_the_agent_may_change(tape):
    @tool
    def basket() -> list[str]:
        return ["desk"]

    def agent(_):
        things = basket()
        things.append("lamp")
        return things

    RecordedTask(agent, tape)("x")
    read = Tape.read(tape)
    assert [ReplayedTask(agent, read)("x") for _ in range(2)] == [["desk", "lamp"]] * 2
    RecordedTask(agent, tape, append=True)("y")
    fork = ReplayedTask(agent, tape, fork=Fork(at=1, result=[]))
    assert [fork(each) for each in "xy"] == [["lamp"]] * 2


class OddError(Exception):
    """One that its arguments do not tell."""

    def __init__(self, code, text):
        super().__init__(code)
        self.text = text

    def __str__(self):
        return self.text


def test_an_error_comes_back_as_its_class_with_its_text_and_a_group_with_its_errors(tape):
    errors = [
        OddError(7, "it is odd"),
        UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"),
        ExceptionGroup("two", [ValueError("a"), ExceptionGroup("one", [KeyError("b")])]),
    ]

    @tool
    def fail(number: int) -> None:
        raise errors[number]

    def agent(number):
        try:
            fail(number)
        except (OddError, UnicodeDecodeError, ExceptionGroup) as error:
            return type(error).__name__, str(error), repr(getattr(error, "exceptions", None))

    record = RecordedTask(agent, tape)
    first = [record(number) for number in range(3)]
    replay = ReplayedTask(agent, tape)
    assert [replay(number) for number in range(3)] == first


def test_an_error_that_cannot_be_made_again_fails_the_replay(tape):
    from pydantic import TypeAdapter, ValidationError

    @tool
    def check() -> int:
        return TypeAdapter(int).validate_python("x")

    def agent(_):
        try:
            return check()
        except ValidationError:
            return "invalid"

    assert RecordedTask(agent, tape)("x") == "invalid"
    with pytest.raises(TapeError, match="ValidationError, which cannot be made again"):
        ReplayedTask(agent, tape)("x")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
ERRORS = st.builds(
    lambda kind, args: kind(*args),
    st.sampled_from([ValueError, KeyError, LookupError, TimeoutError, OSError]),
    st.lists(st.text(max_size=5) | st.integers(0, 9), max_size=3),
)


@given(
    st.lists(st.tuples(JSON, st.tuples(st.just(True), JSON) | st.tuples(st.just(False), ERRORS)), max_size=4)
)
def test_recording_and_replaying_any_calls_of_tools_is_the_identity(calls):
    at_hand = iter(calls)
    reached = 0

    @tool(keep_secrets=True)
    def work(given):
        nonlocal reached
        reached += 1
        _, (returns, outcome) = next(at_hand)
        if returns:
            return outcome
        raise outcome

    def agent(_):
        seen = []
        for given_value, _outcome in calls:
            try:
                seen.append(work(given_value))
            except Exception as error:
                seen.append((type(error), str(error), error.args))
        return seen

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tape"
        first = RecordedTask(agent, path)(1)
        replayed = ReplayedTask(agent, path)(1)
    assert repr(replayed) == repr(first)
    assert reached == len(calls)


# ---------------------------------------------------------------------- leaving the tape


def test_a_replay_that_leaves_the_tape_says_where_and_what_differs_and_goes_nowhere(tape):
    _, url = recorded(tape)
    shop = Shop()
    failed = only(run(one_case(), ReplayedTask(chat_agent(url, shop, model="large"), tape)))
    assert failed.error_type == "TapeError"
    assert failed.error_message == (
        "TapeError: case 'desk' left the tape at step 1: it asked the model 'large'; "
        "step 1 of the tape differs in body.model: expected 'small', got 'large'"
    )
    assert shop.reached == 0


def test_an_agent_that_catches_the_error_fails_all_the_same_and_is_answered_nothing_more(tape):
    @tool
    def look(where: str) -> str:
        return f"saw {where}"

    def first(_):
        return look("here") + look("there")

    def other(_):
        with suppress(TapeError):
            look("elsewhere")
        try:
            return look("there")
        except TapeError:
            return "never mind"

    RecordedTask(first, tape)("x")
    with pytest.raises(TapeError, match="at step 1: it asked the tool 'look'") as caught:
        ReplayedTask(other, tape)("x")
    assert caught.value.step == 1
    assert [str(each) for each in caught.value.differences] == [
        "arguments.where: expected 'here', got 'elsewhere'"
    ]


def test_a_case_that_is_not_on_the_tape_is_an_error_that_says_why(tape):
    _, url = recorded(tape)
    task = ReplayedTask(chat_agent(url, Shop()), tape)
    assert "the inputs of this case were others then" in only(run(one_case("Hello?"), task)).error_message
    again = run(one_case(), task, repeat=2)
    assert "repeat 2 is not on the tape" in again.failures[0].error_message
    assert "it has 1 of this case" in again.failures[0].error_message


def test_exchanges_that_no_one_asks_for_are_noted(tape):
    @tool
    def look(where: str) -> str:
        return where

    dataset = one_case()
    run(dataset, RecordedTask(lambda _: look("a") + look("b"), tape))
    task = ReplayedTask(lambda _: look("b"), tape)
    assert only(run(dataset, task)).attributes["tape"]["never_asked"] == [1]
    ((key, (exchange,)),) = task.unasked.items()
    assert (key.case, exchange.what) == ("desk", "the tool 'look'")
    assert task.unplayed == []


def test_calls_side_by_side_may_come_in_any_order(tape):
    @tool
    async def look(where: str) -> str:
        await asyncio.sleep(0)
        return f"saw {where}"

    def agent(*places):
        async def ask(_):
            return sorted(await asyncio.gather(*map(look, places)))

        return ask

    first = asyncio.run(RecordedTask(agent("a", "b", "c", "a"), tape)("x"))
    assert asyncio.run(ReplayedTask(agent("c", "a", "a", "b"), tape)("x")) == first


def test_an_id_that_is_made_for_each_request_does_not_count_and_one_that_was_given_does(tape):
    first, second = str(uuid.uuid4()), str(uuid.uuid4())

    @tool
    def look(order: str, request: str) -> str:
        return f"saw {order}"

    def agent(order):
        def ask(_):
            return [look(order, f"{kind}-{uuid.uuid4().hex}") for kind in "ab"]

        return ask

    assert RecordedTask(agent(first), tape)({"order": first}) == [f"saw {first}"] * 2
    assert ReplayedTask(agent(first), tape)({"order": first}) == [f"saw {first}"] * 2
    with pytest.raises(TapeError, match=r"differs in arguments\.order"):
        ReplayedTask(agent(second), tape)({"order": first})


# ---------------------------------------------------------------------- files


NEXT = "\n"
BEGUN = '{"tape": 1}\n{"attempt": 1, "case": "", "inputs": "i", "repeat": 1, "try": 1}\n'
CALLED = (
    '{"attempt": 1, "step": 1, "kind": "tool", "asked": {"name": "f", "arguments": {}}, '
    '"answered": {"value": 1}, "seconds": 0}\n'
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no line that is whole"),
        ("hello\n", "line 1: this is no tape: it is not JSON"),
        ('{"cases": []}\n', "line 1: this is no tape"),
        ('{"tape": 2}\n', "a tape of version 2, and this release reads version 1"),
        ('{"tape": 1}\n{"attempt": 1, "steps": 3}\n', "line 2: attempt 1 has not begun"),
        ('{"tape": 1}\n{"attempt": 1, "stops": 3}\n', "line 2: Object "),
        (f"{BEGUN}{CALLED}{CALLED}", "line 4: step 1 of attempt 1 is there twice: something else wrote"),
        (f"{BEGUN}{BEGUN.partition(NEXT)[2]}", "line 3: attempt 1 begins twice: something else wrote"),
        (f"{BEGUN}{CALLED.replace('value', 'result')}", "line 3: `answered` has no outcome of a tool"),
    ],
)
def test_a_damaged_tape_is_refused_before_the_run_with_the_line(tape, text, why):
    tape.write_text(text)
    with pytest.raises(TapeFileError, match=why):
        ReplayedTask(str, tape)


def test_there_must_be_a_tape_and_a_place_for_one(tmp_path):
    with pytest.raises(TapeFileError, match="cannot be read: No such file"):
        ReplayedTask(str, tmp_path / "none.tape")
    with pytest.raises(InvalidOptionError, match="is a folder"):
        RecordedTask(str, tmp_path)
    (tmp_path / "cases.yaml").write_text("cases: []")
    with pytest.raises(InvalidOptionError, match="is there already, and is no tape"):
        RecordedTask(str, tmp_path / "cases.yaml")


def test_two_recordings_that_write_to_one_file_are_told_apart(tape):
    first, second = RecordedTask(str, tape), RecordedTask(str, tape)
    first("x")
    second("x")
    with pytest.raises(TapeFileError, match="something else writes to the tape"):
        first("y")

    @tool
    def begins_another() -> str:
        return second("z")

    def agent(_):
        with suppress(TapeError):
            return begins_another()

    second = RecordedTask(str, tape)
    with pytest.raises(TapeFileError, match="something else writes to the tape"):
        RecordedTask(agent, tape)("x")


def test_a_tape_that_cannot_be_written_fails_the_attempt_and_has_whole_lines(tape):
    resource = pytest.importorskip("resource")

    @tool
    def look(where: str) -> str:
        return where * 200

    def agent(_):
        with suppress(TapeError):
            look("here")
        return "done"

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    try:
        with pytest.raises(TapeFileError, match="cannot be written: File too large"):
            RecordedTask(agent, tape)("x")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert not Tape.read(tape).is_cut
    with pytest.raises(TapeFileError, match=r"in a file.* cannot be written"):
        RecordedTask(agent, tape / "in a file")("x")


def test_inputs_and_arguments_that_only_have_a_place_in_memory_are_the_same_in_each_process(tape):
    @tool
    def look(at) -> str:
        return "seen"

    RecordedTask(look, tape)(Opaque())
    assert ReplayedTask(look, tape)(Opaque()) == "seen"


def test_a_thread_without_the_context_of_its_attempt_calls_no_marked_tool_while_a_tape_is_replayed(tape):
    shop = Shop()
    price = shop.price()

    def agent(_):
        with ThreadPoolExecutor() as pool:
            return list(pool.map(price, ["desk", "lamp"]))

    assert RecordedTask(agent, tape)("x") == [120, 30]
    with pytest.raises(TapeError, match="'price' was called outside of any attempt while a tape is replayed"):
        ReplayedTask(agent, tape)("x")
    assert shop.reached == 2


def test_an_exchange_that_the_agent_gave_up_has_no_outcome_on_the_tape(tape):
    @tool
    async def work(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "done"

    def agent(wait):
        async def ask(_):
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await work(30)
            return await work(0)

        return ask

    assert asyncio.run(RecordedTask(agent(0.01), tape)("x")) == "done"
    (attempt,) = Tape.read(tape).attempts
    assert (attempt.steps, [each.step for each in attempt.exchanges]) == (2, [2])
    with pytest.raises(TapeError, match="at step 1: it asked the tool 'work'; step 2 of the tape differs in"):
        asyncio.run(ReplayedTask(agent(30), tape)("x"))


def test_an_attempt_that_leaves_the_tape_is_not_tried_again(tape):
    @tool
    def look(where: str) -> str:
        return where

    run(one_case(), RecordedTask(lambda _: look("a"), tape))
    failed = only(run(one_case(), ReplayedTask(lambda _: look("b"), tape), retry=Retry(attempts=3)))
    assert failed.tries == 1
    assert "left the tape at step 1" in failed.error_message


def test_a_process_that_is_killed_leaves_all_whole_lines(tape):
    program = f"""
import os, signal
from calipers.agents import RecordedTask, tool

@tool
def look(where):
    if where == "c":
        os.kill(os.getpid(), signal.SIGKILL)
    return where * 2

RecordedTask(lambda _: look("a") + look("b") + look("c"), {str(tape)!r})("x")
"""
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ}, check=False)
    assert done.returncode == -signal.SIGKILL
    tape.write_bytes(tape.read_bytes() + b'{"attempt": 1, "st')

    @tool
    def look(where: str) -> str:
        return "live"

    assert Tape.read(tape).is_cut
    assert ReplayedTask(lambda _: look("a") + look("b"), tape)("x") == "aabb"
    with pytest.raises(
        TapeError, match="at step 3: it asked the tool 'look'; the tape was cut off before it"
    ):
        ReplayedTask(lambda _: look("a") + look("b") + look("c"), tape)("x")


def test_further_attempts_are_added_to_a_tape_and_newer_ones_count(tape):
    answers = iter(["old", "new"])

    @tool
    def look() -> str:
        return next(answers)

    RecordedTask(lambda _: look(), tape)("x")
    tape.write_bytes(tape.read_bytes() + b'{"half')
    RecordedTask(lambda _: look(), tape, append=True)("x")
    assert ReplayedTask(lambda _: look(), tape)("x") == "new"


# ---------------------------------------------------------------------- forks


def test_a_fork_goes_on_live_with_another_model_from_its_step_on(tape):
    report, _ = recorded(tape)
    shop = Shop()
    with OpenAIServer(asks_for("desk")) as server:
        task = ReplayedTask(chat_agent(server.url, shop), tape, fork=Fork(at=3, model="large"))
        forked = only(run(one_case(), task))
        assert [each.json["model"] for each in server.requests] == ["large"]
    assert only(report).output == "small says 120"
    assert forked.output == "large says 120"
    assert shop.reached == 0
    note = forked.attributes["tape"]
    assert (note["fork"], note["replayed"], note["live"]) == (3, 2, 1)


def test_a_fork_gives_a_tool_another_result(tape):
    recorded(tape)
    with OpenAIServer(asks_for("desk")) as server:
        task = ReplayedTask(chat_agent(server.url, Shop()), tape, fork=Fork(at=2, result=7))
        assert only(run(one_case(), task)).output == "small says 7"
        wrong = ReplayedTask(chat_agent(server.url, Shop()), tape, fork=Fork(at=1, result=7))
        assert (
            "the tape has the model 'small' there, and a result is that of a tool"
            in only(run(one_case(), wrong)).error_message
        )
        late = ReplayedTask(chat_agent(server.url, Shop()), tape, fork=Fork(at=9))
        assert "cannot fork at step 9: the tape" in only(run(one_case(), late)).error_message


def test_a_fork_sends_another_prompt_and_can_be_recorded_itself(tape, tmp_path):
    _, url = recorded(tape)
    with OpenAIServer(asks_for("lamp")) as server:
        task = ReplayedTask(chat_agent(server.url, Shop()), tape, fork=Fork(at=1, prompt="Sell lamps."))
        forked = only(run(one_case(), RecordedTask(task, tmp_path / "fork.tape")))
        assert {each.json["messages"][0]["content"] for each in server.requests} == {"Sell lamps."}
    assert forked.output == "small says 30"
    again = ReplayedTask(chat_agent(url, Shop()), tmp_path / "fork.tape")
    assert only(run(one_case(), again)).output == "small says 30"


# ---------------------------------------------------------------------- stores


def test_a_replayed_attempt_is_not_taken_for_a_live_one(tape, tmp_path):
    @tool
    def look() -> str:
        return "live"

    def agent(_):
        return look()

    store = tmp_path / "runs.db"
    dataset = one_case()
    recorded_run = run(dataset, RecordedTask(agent, tape), store=store, reuse=True)
    replayed = run(dataset, ReplayedTask(agent, tape), store=store, reuse=True)
    again = run(dataset, ReplayedTask(agent, tape), store=store, reuse=True)
    live = run(dataset, agent, store=store, reuse=True)
    forks = [
        run(dataset, ReplayedTask(agent, tape, fork=Fork(at=1, result=result)), store=store, reuse=True)
        for result in ("a", "a", "b", None)
    ]
    made = [each.reuse.attempts_made for each in (recorded_run, replayed, again, live, *forks)]
    assert made == [1, 1, 0, 1, 1, 0, 1, 1]


def test_a_task_on_tape_is_not_kept_in_a_store_that_hides_what_the_tape_would_have(tmp_path):
    dataset = Dataset(cases=[Case(name="desk", inputs="desk")])
    path = tmp_path / "run.tape"
    with MemoryStore(redact=[hide_keys("email")]) as store:
        for task in (RecordedTask(str.upper, path), RecordedTask(str.upper, path).around(str.lower)):
            with pytest.raises(InvalidOptionError, match="a tape gives back word for word what came"):
                dataset.evaluate_sync(task, store=store, progress=False)
        with pytest.raises(InvalidOptionError, match="unredacted=True"):
            with_faults(dataset, "error").evaluate_sync(
                RecordedTask(str.upper, path), store=store, progress=False
            )
        assert not store.runs()
        assert not path.exists()
        allowed = RecordedTask(str.upper, path, unredacted=True)
        assert dataset.evaluate_sync(allowed, store=store, progress=False).cases[0].output == "DESK"
        replayed = ReplayedTask(str.upper, path)
        assert dataset.evaluate_sync(replayed, store=store, progress=False).cases[0].output == "DESK"
