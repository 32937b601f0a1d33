"""What holds for every adapter: calls come through, whatever goes wrong is an error that says so, nothing stays open."""

import asyncio
import gc
import subprocess
import sys
import traceback
import warnings
from dataclasses import dataclass
from typing import Any

import pytest

from calipers.data.trace import ToolCall
from calipers.errors import (
    AgentConnectionError,
    AgentError,
    AgentReplyError,
    AgentTimeoutError,
    InvalidOptionError,
)
from calipers.testing import (
    GeminiLiveServer,
    GeminiServer,
    HttpAgentServer,
    OpenAIRealtimeServer,
    OpenAIServer,
    Reply,
    WebSocketAgentServer,
)
from calipers.voice import run_concurrent
from calipers.voice.adapters import (
    GeminiAgent,
    GeminiLiveAgent,
    HttpAgent,
    OpenAIAgent,
    OpenAIRealtimeAgent,
    WebSocketAgent,
)
from calipers.voice.protocols import Agent, TextAgent
from calipers.voice.response import AgentResponse

KEY = "sk-very-secret-key"
CALLS = [
    ToolCall("book", {"to": "Los Ángeles", "seats": 2}),
    ToolCall("pay"),
    ToolCall("book", {"to": "NYC"}),
]


@dataclass
class Pair:
    """An adapter and the server that plays its agent."""

    server: Any
    make: Any
    sockets: bool = False
    keyed: bool = True

    def agent(self, url, *, seconds=10.0, **options):
        return self.make(url, timeout=seconds, **options)


PAIRS = {
    "http": Pair(HttpAgentServer, HttpAgent, keyed=False),
    "openai": Pair(OpenAIServer, lambda url, **more: OpenAIAgent("m", base_url=url, **more)),
    "gemini": Pair(GeminiServer, lambda url, **more: GeminiAgent("m", base_url=url, **more)),
    "websocket": Pair(WebSocketAgentServer, WebSocketAgent, sockets=True, keyed=False),
    "realtime": Pair(
        OpenAIRealtimeServer,
        lambda url, **more: OpenAIRealtimeAgent("m", base_url=url, **more),
        sockets=True,
    ),
    "live": Pair(
        GeminiLiveServer,
        lambda url, **more: GeminiLiveAgent("m", base_url=url, **more),
        sockets=True,
    ),
}


@pytest.fixture(params=PAIRS)
def pair(request):
    return PAIRS[request.param]


@pytest.mark.parametrize("split", [False, True])
def test_calls_come_through_in_order_for_sound_and_for_text(pair, ask, audio, split):
    with pair.server(Reply(calls=CALLS, text="Sí.", split=split)) as server:
        agent = pair.agent(server.url)
        assert isinstance(agent, Agent)
        assert isinstance(agent, TextAgent)
        for request in (audio, "book LA"):
            response = ask(agent, request)
            assert response.tool_calls == CALLS
            assert response.text == "Sí."
            assert response.problems == []
            assert response.timed_out is False
            assert response.timings["done"] >= 0
    assert len(server.requests) == 2


def test_an_agent_that_calls_nothing_has_no_calls_and_no_problem(pair, ask, audio):
    with pair.server(Reply(text="No.")) as server:
        response = ask(pair.agent(server.url), audio)
    assert (response.tool_calls, response.text, response.problems) == ([], "No.", [])


@pytest.mark.parametrize("fault", ["silence", "stall"])
def test_an_agent_that_does_not_finish_is_a_timeout_and_never_no_calls(pair, ask, audio, fault):
    with pair.server(Reply(calls=CALLS, fault=fault)) as server, pytest.raises(AgentTimeoutError) as caught:
        ask(pair.agent(server.url, seconds=0.2), audio)
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.response.timed_out is True
    assert "0.2 s" in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


def test_an_agent_that_hangs_up_midway_is_an_error_of_the_connection(pair, ask, audio):
    with (
        pair.server(Reply(calls=CALLS, fault="disconnect")) as server,
        pytest.raises(AgentConnectionError) as caught,
    ):
        ask(pair.agent(server.url), audio)
    assert isinstance(caught.value, ConnectionError)
    assert "hung up" in str(caught.value)


def test_no_server_at_the_address_is_an_error_that_asks_whether_the_agent_runs(pair, ask, audio):
    with pair.server() as server:
        pass
    with pytest.raises(AgentConnectionError, match=r"cannot connect to .*is the agent running\?"):
        ask(pair.agent(server.url), audio)


def test_an_error_of_the_agent_is_told_with_its_words(pair, ask, audio):
    with pair.server(Reply(fault="error")) as server, pytest.raises(AgentReplyError) as caught:
        ask(pair.agent(server.url), audio)
    assert "the agent failed" in str(caught.value) or "Internal Server Error" in str(caught.value)


def test_a_refusal_has_its_status(pair, ask, audio):
    with pair.server(Reply(status=403)) as server, pytest.raises(AgentReplyError) as caught:
        ask(pair.agent(server.url), audio)
    assert caught.value.status == 403
    assert "403" in str(caught.value)
    assert "Forbidden" in str(caught.value)


def test_arguments_that_cannot_be_read_are_recorded(pair, ask, audio):
    with pair.server(Reply(calls=CALLS, fault="bad_arguments")) as server:
        response = ask(pair.agent(server.url), audio)
    assert response.problems
    assert {problem.kind for problem in response.problems} <= {"malformed_arguments", "malformed_call"}
    assert response.tool_calls
    assert not set(response.tool_calls) & {*CALLS, ToolCall("book")}


def test_what_is_not_of_the_protocol_is_recorded_between_messages(ask, audio):
    for pair in (PAIRS["realtime"], PAIRS["live"]):
        with pair.server(Reply(calls=CALLS, fault="garbage")) as server:
            response = ask(pair.agent(server.url), audio)
        assert response.tool_calls == CALLS
        assert [problem.kind for problem in response.problems] == ["malformed_message"]


@pytest.mark.parametrize("name", ["http", "openai", "gemini", "websocket"])
def test_what_is_not_of_the_protocol_is_no_answer(ask, audio, name):
    pair = PAIRS[name]
    with pair.server(Reply(calls=CALLS, fault="garbage")) as server, pytest.raises(AgentReplyError) as caught:
        ask(pair.agent(server.url), audio)
    assert "there is no answer here" in str(caught.value)
    assert "not what you asked for" in str(caught.value)
    assert [problem.kind for problem in caught.value.response.problems] == ["malformed_message", "no_answer"]


@pytest.mark.parametrize(
    "reply", [Reply(status=401), Reply(fault="error"), Reply(fault="disconnect", calls=CALLS), None]
)
def test_no_key_is_ever_shown(pair, ask, audio, reply):
    secret = {"headers": {"X-Api-Key": KEY, "Authorization": f"Bearer {KEY}"}}
    if pair.keyed:
        secret["api_key"] = KEY
    if reply is not None and reply.fault is None:  # servers do repeat keys in what they say about them
        reply = Reply(status=401, raw=f"Incorrect API key provided: {KEY}.")
    with pair.server(reply or Reply()) as server:
        agent = pair.agent(server.url, **secret)
        if reply is None:
            ask(agent, audio)
        else:
            with pytest.raises(AgentError) as caught:
                ask(agent, audio)
            assert KEY not in str(caught.value)
            assert KEY not in repr(caught.value)
            assert KEY not in repr(caught.value.response)
    assert KEY not in repr(agent)
    assert KEY in str(server.requests[0].headers)


def test_a_cancelled_run_closes_its_connection(pair, audio):
    async def cancelled(url):
        async with asyncio.timeout(20):
            run = asyncio.create_task(pair.agent(url).run(audio))
            while not server.requests:
                await asyncio.sleep(0.005)
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
            assert asyncio.all_tasks() == {asyncio.current_task()}, "something still runs"
            while not server.requests[0].closed:
                await asyncio.sleep(0.005)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pair.server(Reply(fault="silence")) as server:
            asyncio.run(cancelled(server.url))
        gc.collect()


def test_many_runs_side_by_side_get_their_own_answers(pair):
    def echo(received):
        texts = [
            word for word in str(received.body or received.messages).split() if word.startswith("number-")
        ]
        return Reply(calls=[ToolCall("echo", {"text": texts[0].strip("\"'}],.")})], delay=0.01)

    async def all_of_them(url):
        agent = pair.agent(url)
        return await asyncio.gather(*(agent.run_text(f"say number-{index} now") for index in range(30)))

    with pair.server(echo) as server:
        responses = asyncio.run(all_of_them(server.url))
    assert [response.tool_calls for response in responses] == [
        [ToolCall("echo", {"text": f"number-{index}"})] for index in range(30)
    ]


def test_one_agent_may_be_used_in_one_event_loop_after_another(pair, ask):
    with pair.server([Reply(text="one"), Reply(text="two")]) as server:
        agent = pair.agent(server.url)
        assert [ask(agent, "hi").text, ask(agent, "hi").text] == ["one", "two"]


@pytest.mark.parametrize("wrong", [None, b"RIFF", "text", 5])
def test_what_is_no_sound_is_refused_before_anything_is_sent(pair, wrong):
    with pair.server() as server, pytest.raises(InvalidOptionError, match="takes an Audio"):
        asyncio.run(pair.agent(server.url).run(wrong))
    assert not server.requests


@pytest.mark.parametrize("url", ["", "nowhere", "ftp://127.0.0.1/", "http://[::1", "://"], ids=str)
def test_what_is_no_address_is_an_error_of_ours(pair, ask, url):
    with pytest.raises((InvalidOptionError, AgentConnectionError)) as caught:
        ask(pair.agent(url), "hi")
    assert not isinstance(caught.value, AgentConnectionError) or "connect" in str(caught.value)


def test_a_parser_of_ones_own_has_the_last_word(pair, ask):
    class Parser:
        def parse(self, raw):
            return AgentResponse([ToolCall("mine", {"seen": raw is not None})])

    with pair.server(Reply(text="hm")) as server:
        response = ask(pair.agent(server.url, parser=Parser()), "hi")
    assert response.tool_calls == [ToolCall("mine", {"seen": True})]


def test_text_of_every_script_comes_through(pair, ask):
    text = 'Zürich → 東京 🎧 "quoted" \\ back'
    with pair.server(lambda received: Reply(text=text, calls=[ToolCall("f", {"q": text})])) as server:
        response = ask(pair.agent(server.url), text)
    assert (response.text, response.tool_calls) == (text, [ToolCall("f", {"q": text})])
    request = server.requests[0]
    sent = request.json if request.body else request.messages
    assert text in str(_strings(sent))


def _strings(value):
    if isinstance(value, dict):
        return [each for item in value.values() for each in _strings(item)]
    if isinstance(value, list):
        return [each for item in value for each in _strings(item)]
    return [Verbatim(value)]


class Verbatim:
    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return str(self.value)


@pytest.mark.parametrize("wrong", [None, b"book", 5, ["book"]])
def test_what_is_no_text_is_refused_before_anything_is_sent(pair, wrong):
    with pair.server() as server, pytest.raises(InvalidOptionError, match="takes a text"):
        asyncio.run(pair.agent(server.url).run_text(wrong))
    assert not server.requests


def test_a_key_that_cannot_be_sent_is_not_shown_either(pair, ask):
    with pair.server() as server, pytest.raises((InvalidOptionError, AgentError)) as caught:
        ask(pair.agent(server.url, headers={"Authorization": f"Bearer {KEY}\n"}), "hi")
    shown = "".join(traceback.format_exception(caught.value))
    assert KEY not in shown


def test_adapters_and_their_servers_load_nothing_optional_until_they_are_used():
    code = "import sys, calipers.voice.adapters, calipers.testing; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"aiohttp", "httpx", "websockets", "numpy", "soxr"} & set(done.stdout.split())


@pytest.mark.parametrize("fault", ["silence", "stall", "disconnect", "error"])
def test_an_agent_that_gives_no_answer_never_passes_even_where_no_call_is_expected(pair, fault):
    with pair.server([Reply(fault=fault), Reply(text="No.")]) as server:
        agent = pair.agent(server.url, seconds=0.3)
        batch = asyncio.run(run_concurrent(prompts="hi", agent=agent, expect=[], runs=2, max_concurrency=1))
    assert [run.passed for run in batch.runs] == [False, True]
    assert batch.runs[0].error.startswith("Agent")
