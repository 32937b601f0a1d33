import asyncio

import pytest

from calipers.data.retry import Retry
from calipers.data.trace import ToolCall
from calipers.errors import (
    AgentConnectionError,
    AgentReplyError,
    AgentTimeoutError,
    InvalidOptionError,
    RolloutError,
)
from calipers.models.http_request import is_passing_trouble
from calipers.rollouts import ChatTarget, Environment, Message, OnRefusal
from calipers.testing import OpenAIServer, Reply

AT_ONCE = Retry(on=is_passing_trouble, backoff=0)
KEY = "sk-top-secret"


def ask(target, text="Hello"):
    return asyncio.run(target.reply([Message("system", "Be kind."), Message("user", text)]))


def answer(text, **usage):
    return {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}


def test_the_conversation_is_sent_and_the_answer_read():
    with OpenAIServer(Reply(text="Hi!")) as server:
        target = ChatTarget(server.url, "small", api_key=KEY, options={"temperature": 0})
        reply = ask(target)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json == {
        "model": "small",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}],
        "temperature": 0,
    }
    assert (reply.text, reply.cost) == ("Hi!", None)
    assert reply.trace.llm_calls[0].model == "small"


def test_tokens_and_prices_give_a_cost():
    raw = answer("Hi!", prompt_tokens=1000, completion_tokens=10)
    with OpenAIServer(Reply(raw=raw)) as server:
        reply = ask(ChatTarget(server.url, input_price=2, output_price=50))
    assert reply.cost == pytest.approx(0.0025)
    assert (reply.trace.total_input_tokens, reply.trace.total_output_tokens) == (1000, 10)


def declining(content=None, refusal=None, finish_reason="stop"):
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return Reply(raw={"choices": [{"message": message, "finish_reason": finish_reason}]})


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (declining(refusal="I can't help with that."), "I can't help with that."),
        (declining(finish_reason="content_filter"), ""),
        (declining("Half a sent", finish_reason="content_filter"), "Half a sent"),
        (declining("", refusal="No."), "No."),
    ],
    ids=["refusal", "filtered", "cut off", "empty content"],
)
def test_a_model_that_declines_in_a_field_of_its_own_has_replied(given, text):
    with OpenAIServer(given) as server:
        reply = ask(ChatTarget(server.url))
        rollout = Environment(ChatTarget(server.url), ["a", "b"], goals=["g"], stop=OnRefusal()).rollout(0)
    assert (reply.text, reply.metadata) == (text, {"refused": True})
    assert (rollout.stopped, rollout.depth) == ("refusal", 1)


def test_a_model_that_says_nothing_at_all_is_an_error():
    with OpenAIServer(declining()) as server, pytest.raises(AgentReplyError, match="no text"):
        ask(ChatTarget(server.url))


def test_more_tokens_than_there_can_be_are_an_error():
    raw = answer("Hi!", prompt_tokens=10**400, completion_tokens=1)
    with OpenAIServer(Reply(raw=raw)) as server, pytest.raises(AgentReplyError, match="prompt_tokens"):
        ask(ChatTarget(server.url, input_price=2.5, output_price=1))


def test_tool_calls_are_kept_in_the_trace_and_need_no_words():
    with OpenAIServer(Reply(calls=[ToolCall("open", {"vault": 1})])) as server:
        reply = ask(ChatTarget(server.url))
    assert reply.text == ""
    assert reply.trace.tool_calls == (ToolCall("open", {"vault": 1}),)


@pytest.mark.parametrize(
    "trouble", [Reply(status=429), Reply(status=503), Reply(fault="disconnect")], ids=range(3)
)
def test_passing_trouble_is_tried_again(trouble):
    with OpenAIServer([trouble, trouble, Reply(text="Hi!")]) as server:
        assert ask(ChatTarget(server.url, retry=AT_ONCE)).text == "Hi!"
    assert len(server.requests) == 3


def test_trouble_that_does_not_pass_is_an_error():
    with OpenAIServer(Reply(status=503)) as server:
        with pytest.raises(AgentReplyError, match="503"):
            ask(ChatTarget(server.url, retry=AT_ONCE))
        assert len(server.requests) == 3
        with pytest.raises(AgentReplyError):
            ask(ChatTarget(server.url, retry=None))
        assert len(server.requests) == 4


def test_a_refusal_is_not_tried_again_and_the_key_is_in_no_message():
    with OpenAIServer(Reply(status=401, raw=f"wrong key {KEY}")) as server:
        target = ChatTarget(server.url, "small", api_key=KEY)
        with pytest.raises(AgentReplyError, match="401") as caught:
            ask(target)
    assert len(server.requests) == 1
    assert KEY not in f"{caught.value} {target!r}"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(fault="garbage"), "not JSON"),
        (Reply(raw={"choices": []}), "there is no answer here: expected choices"),
        (Reply(raw=answer(None)), "there is no answer here"),
        (Reply(raw=answer("x", prompt_tokens="many")), "tokens"),
    ],
    ids=["garbage", "no choice", "no words", "odd tokens"],
)
def test_what_is_no_answer_is_an_error(reply, error):
    with OpenAIServer(reply) as server, pytest.raises(AgentReplyError, match=error):
        ask(ChatTarget(server.url))


def test_a_server_that_is_silent_or_away_is_an_error():
    with OpenAIServer(Reply(fault="silence")) as server, pytest.raises(AgentTimeoutError):
        ask(ChatTarget(server.url, timeout=0.05))
    with pytest.raises(AgentConnectionError):
        ask(ChatTarget(server.url, retry=AT_ONCE))


def test_the_seed_of_the_turn_is_sent_if_asked_for():
    with OpenAIServer(Reply(text="no")) as server:
        target = ChatTarget(f"{server.url}/chat/completions", send_seed=True)
        for seed in (0, 0, 1):
            Environment(target, ["a"], goals=["g"]).rollout(seed)
    first, again, other = (request.json["seed"] for request in server.requests)
    assert first == again != other


def test_a_conversation_goes_over_the_wire():
    with OpenAIServer(lambda received: Reply(text=f"{len(received.json['messages'])} messages")) as server:
        graph = Environment(
            ChatTarget(server.url), ["a", "b"], goals=["g"], system_prompt="Be kind."
        ).rollout(0)
    assert [node.response for node in graph.walk()] == ["2 messages", "4 messages"]


def test_a_server_that_fails_makes_the_rollout_fail():
    with OpenAIServer([Reply(text="no"), Reply(status=400)]) as server, pytest.raises(RolloutError) as caught:
        Environment(ChatTarget(server.url), ["a", "b"], goals=["g"]).rollout(0)
    assert caught.value.graph.depth == 1


@pytest.mark.parametrize(
    "options",
    [
        {"url": "localhost"},
        {"url": None},
        {"timeout": 0},
        {"input_price": 1.0},
        {"input_price": -1.0, "output_price": 1.0},
    ],
    ids=str,
)
def test_options_that_cannot_be_are_refused(options):
    with pytest.raises(ValueError, match=r"url|timeout|price|cost"):
        ChatTarget(**{"url": "http://localhost/v1", **options})


def test_a_request_that_json_cannot_hold_is_refused():
    with pytest.raises(InvalidOptionError, match="JSON"):
        ask(ChatTarget("http://localhost/v1", options={"a": object()}))


@pytest.mark.parametrize(
    ("url", "shown", "meant"),
    [
        ("localhost:8080", "localhost:8080", "http://localhost:8080"),
        ("localhost:8080/v1", "localhost:8080/v1", "http://localhost:8080/v1"),
        ("user:secret@host/v1?key=secret", "host/v1", "http://host/v1"),
        ("", "", None),
    ],
)
def test_an_address_without_a_scheme_is_refused_with_the_one_that_was_meant(url, shown, meant):
    with pytest.raises(InvalidOptionError, match="address of a chat server") as caught:
        ChatTarget(url, "m")
    assert f"got {shown!r}" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert ("did you mean" in str(caught.value)) is (meant is not None)
    if meant is not None:
        assert str(caught.value).endswith(f"did you mean {meant!r}?")


@pytest.mark.parametrize("options", ["x", ["temperature"], {1: 2}, {"messages": []}], ids=repr)
def test_options_that_cannot_be_are_refused_when_the_target_is_made(options):
    with pytest.raises(InvalidOptionError, match="options"):
        ChatTarget("http://localhost/v1", options=options)
