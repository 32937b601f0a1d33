"""An agent behind an HTTP address, played by a real server on loopback."""

import asyncio
import gc
import subprocess
import sys

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Case, Dataset, Retry
from calipers.agents import HttpAdapter, ToolCall, Trace
from calipers.errors import (
    AgentConnectionError,
    AgentError,
    AgentReplyError,
    AgentTimeoutError,
    InvalidOptionError,
    MissingExtraError,
    TaskContractError,
)
from calipers.testing import HttpAgentServer, OpenAIServer, Reply

SECRET = "Bearer sk-123456789"


def echo(received):
    return Reply(
        text=received.json["text"].upper(), calls=[ToolCall("shout", {"text": received.json["text"]})]
    )


def ask(adapter, request="hello"):
    """The trace of one request, in an event loop of its own, and never for long."""

    async def asked():
        async with asyncio.timeout(20):
            return await adapter.invoke(request)

    return asyncio.run(asked())


# ---------------------------------------------------------------------- what is sent and read


def test_a_request_becomes_a_trace():
    with HttpAgentServer(echo) as server:
        trace = ask(HttpAdapter(server.url, model="small", tags=["t"]))
        (received,) = server.requests
    assert received.json == {"text": "hello"}
    assert received.headers["content-type"] == "application/json"
    assert (trace.input_text, trace.output_text) == ("hello", "HELLO")
    assert trace.tool_calls == (ToolCall("shout", {"text": "hello"}),)
    assert trace.tool_calls[0].timestamp is None
    assert (trace.model, trace.tags, trace.agent_name) == ("small", ("t",), f"127.0.0.1:{server.port}")
    assert trace.total_latency_ms > 0
    assert not trace.tokens_measured


def test_interceptors_of_tools_are_refused_because_the_tools_run_elsewhere(intercepted):
    with pytest.raises(TaskContractError, match="an agent behind an HTTP address cannot be intercepted"):
        intercepted(lambda: ask(HttpAdapter("http://127.0.0.1:9/")))


def test_a_chat_completion_is_read_by_its_paths():
    usage = {"prompt_tokens": 12, "completion_tokens": 5}
    message = {
        "content": None,
        "tool_calls": [{"id": "c1", "function": {"name": "book", "arguments": '{"to": "LA"}'}}],
    }
    with OpenAIServer(Reply(raw={"choices": [{"message": message}], "usage": usage})) as server:
        adapter = HttpAdapter(
            f"{server.url}/chat/completions",
            name="assistant",
            headers={"Authorization": SECRET},
            body={"model": "m", "messages": [{"role": "user", "content": "{input_text}"}]},
            output="choices.0.message.content",
            tool_calls="choices.0.message.tool_calls",
            input_tokens="usage.prompt_tokens",
            output_tokens="usage.completion_tokens",
        )
        trace = ask(adapter, "book LA")
        (received,) = server.requests
    assert received.path == "/v1/chat/completions"
    assert received.headers["authorization"] == SECRET
    assert received.json["messages"] == [{"role": "user", "content": "book LA"}]
    assert trace.output_text == ""
    assert trace.tool_calls == (ToolCall("book", {"to": "LA"}),)
    assert (trace.total_input_tokens, trace.total_output_tokens) == (12, 5)
    assert trace.agent_name == "assistant"


@pytest.mark.parametrize(
    ("body", "request_", "sent"),
    [
        ({"q": "{input_text}"}, "hi", {"q": "hi"}),
        ({"q": "say: {input_text}!", "n": [1, None, True]}, "hi", {"q": "say: hi!", "n": [1, None, True]}),
        (["{input_text}", {"{input_text}": 1}], "hi", ["hi", {"{input_text}": 1}]),
        ("{input_text}", "hi", "hi"),
        ({"q": "{input_text}"}, {"city": "Oslo"}, {"q": {"city": "Oslo"}}),
        ({"q": "in {input_text}"}, 3, {"q": "in 3"}),
        ({"q": "{input_text}"}, "{input_text}", {"q": "{input_text}"}),
        (lambda text: {"words": text.split()}, "a b", {"words": ["a", "b"]}),
    ],
    ids=["alone", "inside", "keys stay", "bare", "object", "number", "as is", "function"],
)
def test_the_request_stands_where_the_body_says(body, request_, sent):
    with HttpAgentServer(Reply(text="ok")) as server:
        ask(HttpAdapter(server.url, body=body), request_)
        assert server.requests[0].json == sent


@given(st.text(alphabet=st.characters(exclude_categories=[]), max_size=40))
@settings(max_examples=min(15, settings().max_examples))
def test_any_text_survives_the_way_there_and_back(text):
    """Lone surrogates too: they travel as escapes."""
    with HttpAgentServer(lambda received: Reply(raw=received.body)) as server:
        assert ask(HttpAdapter(server.url), text).output_text == text


def test_an_answer_that_is_no_json_may_be_taken_as_text():
    with HttpAgentServer(Reply(raw="plain words")) as server:
        assert ask(HttpAdapter(server.url, output=None)).output_text == "plain words"


def test_method_and_content_type_are_those_given():
    with HttpAgentServer(Reply(text="ok")) as server:
        ask(HttpAdapter(server.url, method="PUT", headers={"Content-Type": "application/x-own"}))
        assert server.requests[0].headers["content-type"] == "application/x-own"


def test_a_client_of_ones_own_is_used_and_left_open():
    def answer(request):
        return httpx.Response(200, json={"text": f"{request.method} {request.url.path}"})

    async def main():
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            adapter = HttpAdapter("http://nowhere/agent", client=client)
            await adapter.invoke("a")
            assert not client.is_closed
            return await adapter.invoke("b")

    assert asyncio.run(main()).output_text == "POST /agent"


# ---------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (
            Reply(status=503, raw="try later"),
            AgentReplyError,
            "answered with status 503 Service Unavailable: try later",
        ),
        (
            Reply(status=500, raw=""),
            AgentReplyError,
            "answered with status 500 Internal Server Error: without a word",
        ),
        (Reply(status=302, raw=""), AgentReplyError, "answered with status 302 Found"),
        (Reply(status=400, raw="x" * 10_000), AgentReplyError, "x" * 500 + "…"),
        (Reply(fault="garbage"), AgentReplyError, "the answer is not JSON: '<html>"),
        (Reply(raw=b"\xff\xfe\xff"), AgentReplyError, "the answer is not JSON"),
        (Reply(raw="[" * 100_000), AgentReplyError, "the answer is not JSON"),
        (
            Reply(raw={"answer": "x"}),
            AgentReplyError,
            "no 'text' (of the path 'text') in the answer, which has 'answer'",
        ),
        (Reply(raw={"text": None}), AgentReplyError, "is not text: None"),
        (Reply(raw={"text": "a", "tool_calls": "b"}), AgentReplyError, "are not a list: 'b'"),
        (Reply(raw=[]), AgentReplyError, "no 'tool_calls'"),
        (Reply(fault="disconnect", text="x" * 100), AgentConnectionError, "hung up before it had answered"),
        (Reply(fault="silence"), AgentTimeoutError, "did not answer within 0.3 s"),
        (Reply(fault="stall", text="x" * 100), AgentTimeoutError, "did not answer within 0.3 s"),
    ],
    ids=lambda value: value.fault or str(value.status) if isinstance(value, Reply) else "",
)
def test_an_agent_that_gives_no_answer_is_an_error_that_says_why(reply, kind, message):
    timeout = 0.3 if kind is AgentTimeoutError else 20
    with HttpAgentServer(reply) as server:
        adapter = HttpAdapter(f"{server.url}?key=secret", name="bot", timeout=timeout)
        with pytest.raises(kind) as caught:
            ask(adapter)
    assert isinstance(caught.value, AgentError)
    assert message in str(caught.value)
    assert str(caught.value).startswith("bot: ")
    assert "key=secret" not in str(caught.value)


def test_the_status_of_a_refusal_is_there_for_those_who_retry():
    replies = [Reply(status=429, raw="slow down"), Reply(status=503), Reply(text="at last")]
    with HttpAgentServer(replies) as server:
        retry = Retry(attempts=5, backoff=0, on=lambda error: getattr(error, "status", None) in {429, 503})
        report = Dataset(cases=[Case(inputs="a")]).evaluate_sync(
            HttpAdapter(server.url), retry=retry, progress=False
        )
    assert (report.cases[0].output, report.cases[0].tries) == ("at last", 3)


def test_an_agent_that_cannot_be_reached_is_an_error_that_says_so():
    with HttpAgentServer() as server:
        url = server.url
    with pytest.raises(AgentConnectionError, match=r"cannot connect to .* \(.*\): is the agent running\?"):
        ask(HttpAdapter(url))


def test_a_failure_is_a_failed_attempt_with_the_trace_so_far():
    raw = {"tool_calls": [{"name": "a"}], "text": 3}
    with HttpAgentServer(Reply(raw=raw)) as server:
        report = Dataset(cases=[Case(inputs="asked")]).evaluate_sync(HttpAdapter(server.url), progress=False)
    failure = report.failures[0]
    assert failure.error_type == "AgentReplyError"
    assert isinstance(failure.trace, Trace)
    assert failure.trace.input_text == "asked"
    assert failure.trace.tool_calls == (ToolCall("a"),)
    assert failure.trace.total_latency_ms > 0
    assert "is not text: 3" in failure.trace.metadata["error"]


@pytest.mark.parametrize(
    "request_", [{"a": object()}, float("nan"), {"a": {1, 2}}], ids=["object", "nan", "set"]
)
def test_a_request_that_json_cannot_hold_is_not_sent(request_):
    with HttpAgentServer(Reply(text="ok")) as server:
        with pytest.raises(InvalidOptionError, match="cannot be sent as JSON"):
            ask(HttpAdapter(server.url), request_)
        assert server.requests == []


# ---------------------------------------------------------------------- what is not shown


@pytest.mark.parametrize(
    ("user", "headers"),
    [("", {"Authorization": SECRET}), ("user:password@", {"Authorization": SECRET}), ("user:password@", {})],
    ids=["header", "both", "address"],
)
def test_headers_and_the_secrets_of_an_address_are_in_no_repr_and_no_message(user, headers):
    def tells(received):
        return Reply(status=401, raw=f"bad token {received.headers['authorization']} for {received.path}")

    with HttpAgentServer(tells) as server:
        url = server.url.replace("http://", f"http://{user}")
        adapter = HttpAdapter(f"{url}?key=abcdefgh", headers=headers)
        with pytest.raises(AgentReplyError) as caught:
            ask(adapter)
    shown = f"{adapter!r} {adapter.name} {adapter.address} {caught.value} {caught.value!r}"
    for secret in ("sk-123456789", "password", "dXNlcjpwYXNzd29yZA", "abcdefgh"):
        assert secret not in shown
    scheme = "Bearer" if headers else "Basic"
    assert f"bad token {scheme} [redacted] for /agent?key=[redacted]" in str(caught.value)
    assert repr(adapter) == f"HttpAdapter('{server.url}', name='127.0.0.1:{server.port}')"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://user:pw@Example.com:8443/chat?k=1#x", "https://Example.com:8443/chat"),
        ("http://[::1]:80/a", "http://[::1]:80/a"),
        ("http://host", "http://host"),
    ],
)
def test_an_address_is_shown_without_its_secrets(url, address):
    assert HttpAdapter(url).address == address
    assert HttpAdapter(url).url == url


@pytest.mark.parametrize(
    "url",
    ["", "localhost:8000", "ftp://host", "http://", "http://host:port/", "http://a\nb", None, 3],
    ids=repr,
)
def test_what_is_no_address_is_refused_at_once(url):
    with pytest.raises(InvalidOptionError, match="url must be the address of an agent"):
        HttpAdapter(url)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), True, "5"], ids=repr)
def test_a_time_that_is_none_is_refused_at_once(timeout):
    with pytest.raises(InvalidOptionError, match="timeout must be"):
        HttpAdapter("http://host", timeout=timeout)


@pytest.mark.parametrize("body", [{}, None, {"text": "hello"}, ["{input}"], {"{input_text}": 1}], ids=repr)
def test_a_body_without_a_place_for_the_request_is_refused_at_once(body):
    with pytest.raises(InvalidOptionError, match="the agent does not receive it"):
        HttpAdapter("http://host", body=body)


def test_without_aiohttp_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'calipers\[http\]'"):
        HttpAdapter("http://host")


# ---------------------------------------------------------------------- connections


def test_runs_one_after_the_other_each_have_their_own_loop_and_leave_no_connection_behind():
    cases = [Case(inputs=f"t{number}") for number in range(20)]

    def own(trace, inputs, output):
        return (trace.input_text, output) == (inputs, inputs.upper())

    with HttpAgentServer(echo) as server:
        adapter = HttpAdapter(server.url)
        for _ in range(3):
            report = Dataset(cases=cases, evaluators=[own]).evaluate_sync(
                adapter, max_concurrency=5, progress=False
            )
            assert report.failures == []
            assert all(case.passed for case in report.cases)
            gc.collect()  # whatever was left open would be noticed here
        assert len(server.requests) == 60
    assert all(received.closed for received in server.requests)


def test_nothing_is_complained_of_at_exit():
    """Development mode warns of every socket and every client that was not closed."""
    code = """
import asyncio
from calipers import Case, Dataset
from calipers.agents import HttpAdapter
from calipers.testing import HttpAgentServer, Reply
with HttpAgentServer(Reply(text="ok")) as server:
    adapter = HttpAdapter(server.url)
    for _ in range(2):
        Dataset(cases=[Case(inputs="a"), Case(inputs="b")]).evaluate_sync(adapter, progress=False)
    asyncio.run(adapter.invoke("c"))
print(len(server.requests))
"""
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "5\n"
    complaints = [
        line for line in done.stderr.splitlines() if "took" not in line
    ]  # slow steps are no concern here
    assert complaints == []


def test_importing_the_room_loads_no_http_library():
    code = "import sys, calipers.agents; calipers.agents.HttpAdapter; print({'aiohttp', 'httpx'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
