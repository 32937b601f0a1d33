"""Asking a model over HTTP: what is sent, what comes of each thing that goes wrong, and how often the server is asked."""

import asyncio
import socket
import subprocess
import sys

import pytest

from calipers.data.retry import Retry
from calipers.data.trace import ToolCall
from calipers.errors import (
    InvalidOptionError,
    ModelConnectionError,
    ModelContextError,
    ModelError,
    ModelFilteredError,
    ModelKeyError,
    ModelOverloadedError,
    ModelQuotaError,
    ModelRateError,
    ModelRequestError,
    ModelTimeoutError,
    UnreadableAnswerError,
)
from calipers.models import Ask, RemoteModel, Token, Usage, as_model, ask_for_data, check_model, using_cache
from calipers.testing import AnthropicServer, GeminiServer, OpenAIServer, Reply

KEY = "sk-loopback-0123456789"
QUICK = Retry(attempts=3, backoff=0.001, max_backoff=0.002)
SCHEMA = {
    "type": "object",
    "properties": {"passed": {"type": "boolean"}, "note": {"type": "string", "default": "x"}},
    "required": ["passed"],
}
TOOL = {"name": "look_up", "description": "Looks up", "parameters": {"type": "object", "properties": {}}}
PROVIDERS = {
    "openai": OpenAIServer,
    "openai-responses": OpenAIServer,
    "anthropic": AnthropicServer,
    "gemini": GeminiServer,
}


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GEMINI_BASE_URL", "CALIPERS_MODEL_KEY"):
        monkeypatch.delenv(name, raising=False)


def question(text="Is it?", **options):
    return Ask(
        messages=[{"role": "system", "content": "Judge."}, {"role": "user", "content": text}], **options
    )


def model_of(provider, server, **options):
    return RemoteModel(f"{provider}:some-model", base_url=server.url, **{"retry": QUICK, **options})


def ask(provider, replies, asked=None, **options):
    """Ask a server that plays a provider; what it answered or raised, and the server."""
    with PROVIDERS[provider](replies) as server:
        try:
            found = asyncio.run(model_of(provider, server, **options).ask(asked or question()))
        except ModelError as error:
            found = error
    return found, server


# ---------------------------------------------------------------------- what is sent


def test_chat_completions_are_asked_as_documented():
    asked = question(schema=SCHEMA, temperature=0, max_tokens=9, seed=7, top_logprobs=2, tools=[TOOL])
    _, server = ask("openai", Reply(text="Hi"), asked)
    sent = server.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    strict = sent.json["response_format"]["json_schema"]
    assert strict["strict"] is True
    assert strict["schema"] == {
        "type": "object",
        "properties": {
            "passed": {"type": "boolean"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["passed", "note"],
        "additionalProperties": False,
    }
    body = {name: value for name, value in sent.json.items() if name not in ("response_format", "tools")}
    assert body == {
        "model": "some-model",
        "messages": [{"role": "system", "content": "Judge."}, {"role": "user", "content": "Is it?"}],
        "temperature": 0,
        "max_completion_tokens": 9,
        "seed": 7,
        "logprobs": True,
        "top_logprobs": 2,
    }


def test_responses_are_asked_as_documented():
    asked = question(schema=SCHEMA, temperature=0, max_tokens=9, seed=7, top_logprobs=2, tools=[TOOL])
    found, server = ask("openai-responses", Reply(text="Hi"), asked)
    sent = server.requests[0]
    assert sent.path == "/v1/responses"
    body = sent.json
    assert (body["instructions"], body["input"]) == ("Judge.", [{"role": "user", "content": "Is it?"}])
    assert (body["store"], body["max_output_tokens"], body["top_logprobs"]) == (False, 9, 2)
    assert "message.output_text.logprobs" in body["include"]
    assert body["text"]["format"]["type"] == "json_schema"
    assert body["tools"][0]["name"] == "look_up"
    assert "seed" not in body
    assert found.not_sent == ("seed",)


def test_anthropic_is_asked_as_documented():
    asked = question(schema=SCHEMA, temperature=0, seed=7, top_logprobs=2, tools=[TOOL])
    found, server = ask("anthropic", Reply(text="Hi"), asked)
    sent = server.requests[0]
    assert sent.path == "/v1/messages"
    assert sent.headers["x-api-key"] == KEY
    assert sent.headers["anthropic-version"] == "2023-06-01"
    body = sent.json
    assert (body["system"], body["messages"]) == ("Judge.", [{"role": "user", "content": "Is it?"}])
    assert (body["max_tokens"], body["temperature"]) == (4096, 0)
    assert body["output_config"]["format"]["schema"] == {**SCHEMA, "additionalProperties": False}
    assert body["tools"][0]["input_schema"] == TOOL["parameters"]
    assert sorted(found.not_sent) == ["seed", "top_logprobs"]


def test_gemini_is_asked_as_documented():
    asked = question(schema=SCHEMA, temperature=0, max_tokens=9, seed=7, top_logprobs=2, tools=[TOOL])
    _, server = ask("gemini", Reply(text="Hi"), asked)
    sent = server.requests[0]
    assert sent.path == "/v1beta/models/some-model:generateContent"
    assert sent.headers["x-goog-api-key"] == KEY
    body = sent.json
    assert body["contents"] == [{"role": "user", "parts": [{"text": "Is it?"}]}]
    assert body["systemInstruction"] == {"parts": [{"text": "Judge."}]}
    assert body["generationConfig"] == {
        "temperature": 0,
        "maxOutputTokens": 9,
        "seed": 7,
        "responseLogprobs": True,
        "logprobs": 2,
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
    }


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_answer_says_the_same_whoever_gave_it(provider):
    tokens = [Token("Hi", -0.5, (("Hi", -0.5), ("Ho", -2.0)))]
    reply = Reply(
        text="Hi",
        reasoning="Hm",
        usage=Usage(input=9, output=5, cache_read=4, reasoning=0),
        logprobs=tokens,
        headers={"x-request-id": "req-1", "request-id": "req-1"},
    )
    found, _ = ask(provider, reply, question(top_logprobs=2))
    assert (found.text, found.finish, found.reasoning, found.model) == ("Hi", "stop", "Hm", "some-model")
    assert (found.usage.input, found.usage.output, found.usage.cache_read) == (9, 5, 4)
    assert found.logprobs == (None if provider == "anthropic" else tuple(tokens))
    assert found.request_id == "req-1"
    assert found.id is not None
    assert (found.tries, found.cached, found.problems) == (1, False, [])
    assert found.duration > 0


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_conversation_with_calls_goes_on(provider):
    calls = Reply(calls=[ToolCall("look_up", {"city": "Paris"}), ToolCall("look_up", {"city": "Rome"})])

    async def talk(model):
        first = await model.ask(question(tools=[TOOL]))
        assert first.finish == "tool_call"
        said = first.message
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": f"result {number}"}
            for number, call in enumerate(said["tool_calls"])
        ]
        return await model.ask(Ask(messages=[*question().messages, said, *results], tools=[TOOL]))

    with PROVIDERS[provider]([calls, Reply(text="Done")]) as server:
        last = asyncio.run(talk(model_of(provider, server)))
    assert last.text == "Done"
    body = server.requests[1].json
    if provider == "openai":
        assert [message["role"] for message in body["messages"][1:]] == ["user", "assistant", "tool", "tool"]
        assert "parts" not in body["messages"][2]
    elif provider == "openai-responses":
        kinds = [item.get("type") for item in body["input"]]
        assert kinds == [
            None,
            "function_call",
            "function_call",
            "function_call_output",
            "function_call_output",
        ]
    elif provider == "anthropic":
        assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
        assert [block["tool_use_id"] for block in body["messages"][2]["content"]] == ["toolu_1", "toolu_2"]
    else:
        assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
        response = body["contents"][2]["parts"][1]["functionResponse"]
        assert response == {"name": "look_up", "response": {"result": "result 1"}}


def test_a_conversation_of_one_provider_can_go_on_with_another():
    with OpenAIServer(Reply(text="Hm", calls=[ToolCall("look_up", {"city": "Paris"})])) as server:
        said = asyncio.run(model_of("openai", server).ask(question(tools=[TOOL]))).message
    asked = Ask(
        messages=[*question().messages, said, {"role": "tool", "tool_call_id": "call_1", "content": "22"}]
    )
    for provider in ("anthropic", "gemini", "openai-responses"):
        found, _ = ask(provider, Reply(text="Done"), asked)
        assert found.text == "Done"


# ---------------------------------------------------------------------- what is no answer

NO_ANSWERS = [
    ({"status": 401}, ModelKeyError, 1),
    ({"status": 403}, ModelKeyError, 1),
    ({"status": 402}, ModelQuotaError, 1),
    ({"status": 404}, ModelRequestError, 1),
    ({"status": 413}, ModelContextError, 1),
    ({"status": 422}, ModelRequestError, 1),
    ({"status": 429}, ModelRateError, 3),
    ({"status": 408}, ModelTimeoutError, 3),
    ({"status": 409}, ModelOverloadedError, 3),
    ({"status": 500}, ModelOverloadedError, 3),
    ({"status": 503, "raw": "<html>busy", "headers": {"content-type": "text/html"}}, ModelOverloadedError, 3),
    ({"status": 529}, ModelOverloadedError, 3),
    ({"status": 504}, ModelTimeoutError, 3),
    ({"status": 302, "headers": {"location": "http://elsewhere.test/"}}, ModelRequestError, 1),
    ({"status": 500, "headers": {"x-should-retry": "false"}}, ModelOverloadedError, 1),
    ({"status": 400, "headers": {"x-should-retry": "true"}}, ModelRequestError, 3),
    ({"fault": "garbage"}, ModelRequestError, 1),
    ({"raw": b""}, ModelRequestError, 1),
    ({"raw": {}}, ModelRequestError, 1),
    ({"raw": {"choices": []}}, ModelRequestError, 1),
    ({"raw": {"candidates": []}}, ModelRequestError, 1),
    ({"raw": []}, ModelRequestError, 1),
    ({"raw": {"error": {"code": 502, "message": "upstream"}}}, ModelOverloadedError, 3),
    ({"raw": {"error": {"code": 401, "message": "no"}}}, ModelKeyError, 1),
    ({"raw": {"error": "model 'x' not found"}}, ModelRequestError, 1),
    ({"fault": "disconnect", "text": "Hi"}, ModelConnectionError, 3),
    ({"fault": "hang_up"}, ModelConnectionError, 3),
]


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic", "gemini"])
def test_what_is_no_answer_is_an_error_of_its_class_and_is_asked_for_as_often_as_it_may_help(provider):
    with PROVIDERS[provider](Reply(text="Hi")) as server:
        for reply, kind, requests in NO_ANSWERS:
            server.replies, before = Reply(**reply), len(server.requests)
            with pytest.raises(ModelError) as caught:
                asyncio.run(model_of(provider, server).ask(question()))
            assert (reply, type(caught.value)) == (reply, kind)
            assert (reply, len(server.requests) - before) == (reply, requests)
            assert caught.value.tries == requests
            assert KEY not in str(caught.value)


def error(code=None, message="", **more):
    return {"error": {"message": message, "code": code, **more}}


BODIES = [
    (400, error("content_filter", innererror={"code": "ResponsibleAIPolicyViolation"}), ModelFilteredError),
    (400, error("content_policy_violation"), ModelFilteredError),
    (403, error(403, "flagged", metadata={"reasons": ["violence"]}), ModelFilteredError),
    (429, error("insufficient_quota"), ModelQuotaError),
    (429, error("monthly_spend_limit_exceeded"), ModelQuotaError),
    (
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "Your credit balance is too low"},
        },
        ModelQuotaError,
    ),
    (
        400,
        error(400, "bad", status="INVALID_ARGUMENT", details=[{"reason": "API_KEY_INVALID"}]),
        ModelKeyError,
    ),
    (
        400,
        [error(400, "bad", status="INVALID_ARGUMENT", details=[{"reason": "API_KEY_INVALID"}])],
        ModelKeyError,
    ),
    (400, error("context_length_exceeded"), ModelContextError),
    (400, error(400, "too long", type="exceed_context_size_error", n_ctx=512), ModelContextError),
    (400, error(400, "This model's maximum context length is 8192 tokens"), ModelContextError),
    (400, error(None, "prompt is too long: 9 tokens > 8 maximum"), ModelContextError),
    (
        400,
        error(400, "The input token count (9) exceeds the maximum number of tokens allowed (8)."),
        ModelContextError,
    ),
    (500, error(500, "Context size has been exceeded."), ModelContextError),
    (400, {"object": "error", "message": "maximum context length", "code": 400}, ModelContextError),
    (400, error("model_not_found"), ModelRequestError),
    (400, error(None, "the text says: status 429, rate limit, invalid_api_key"), ModelRequestError),
    (400, {"detail": "no"}, ModelRequestError),
    (400, {"message": {"detail": [1]}, "request_id": "x"}, ModelRequestError),
]


def test_the_code_in_a_body_says_more_than_the_status():
    with OpenAIServer() as server:
        for status, body, kind in BODIES:
            server.replies = Reply(status=status, raw=body)
            with pytest.raises(ModelError) as caught:
                asyncio.run(model_of("openai", server, retry=None).ask(question()))
            assert (body, type(caught.value)) == (body, kind)


def test_an_answer_whose_status_is_failed_is_asked_for_again():
    failed = Reply(
        raw={"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}, "output": []}
    )
    found, server = ask("openai-responses", [failed, Reply(text="Hi")])
    assert (found.text, found.tries, len(server.requests)) == ("Hi", 2, 2)
    found, _ = ask("openai-responses", failed)
    assert type(found) is ModelRateError


def test_a_prompt_that_gemini_blocks_is_an_error():
    found, server = ask("gemini", Reply(raw={"promptFeedback": {"blockReason": "SAFETY"}}))
    assert type(found) is ModelFilteredError
    assert "SAFETY" in str(found)
    assert len(server.requests) == 1


# ---------------------------------------------------------------------- answers that fabricate a verdict

YES = '{"passed": true}'
TRAPS = [
    ("openai", {"refusal": "I cannot."}, ModelFilteredError),
    ("openai", {"text": YES, "refusal": "I cannot."}, ModelFilteredError),
    ("openai", {"text": YES, "finish": "filtered"}, ModelFilteredError),
    ("openai", {"text": '{"passed": true', "finish": "length"}, UnreadableAnswerError),
    ("openai", {"text": None, "finish": "length"}, UnreadableAnswerError),
    ("openai", {"text": YES, "finish": "surprise"}, UnreadableAnswerError),
    ("openai", {"text": YES, "finish": "unknown"}, UnreadableAnswerError),
    ("openai", {"text": YES, "finish": "error"}, UnreadableAnswerError),
    ("openai-responses", {"text": YES, "refusal": "I cannot."}, ModelFilteredError),
    ("openai-responses", {"text": YES, "finish": "unfinished"}, UnreadableAnswerError),
    ("openai-responses", {"text": YES, "finish": "filtered"}, ModelFilteredError),
    ("anthropic", {"text": YES, "finish": "refused"}, ModelFilteredError),
    ("anthropic", {"text": '{"passed"', "finish": "length"}, UnreadableAnswerError),
    ("anthropic", {"text": YES, "finish": "unfinished"}, UnreadableAnswerError),
    ("anthropic", {"text": YES, "finish": "unknown"}, UnreadableAnswerError),
    ("gemini", {"text": YES, "finish": "SAFETY"}, ModelFilteredError),
    ("gemini", {"text": YES, "finish": "OTHER"}, UnreadableAnswerError),
    ("gemini", {"text": YES, "finish": "error"}, UnreadableAnswerError),
]


def test_no_trap_becomes_a_verdict_and_each_costs_one_request():
    for provider, reply, kind in TRAPS:
        with PROVIDERS[provider](Reply(**reply)) as server, pytest.raises(ModelError) as caught:
            asyncio.run(ask_for_data(model_of(provider, server), question(schema=SCHEMA)))
        assert (provider, reply, type(caught.value)) == (provider, reply, kind)
        assert (reply, len(server.requests)) == (reply, 1)


def test_complete_json_at_the_limit_of_tokens_counts():
    for provider in PROVIDERS:
        with PROVIDERS[provider](Reply(text=YES, finish="length")) as server:
            answer = asyncio.run(ask_for_data(model_of(provider, server), question(schema=SCHEMA)))
        assert answer.data == {"passed": True}


def test_an_answer_cut_by_the_server_but_marked_complete_is_sent_back_and_not_completed():
    cut = Reply(text='{"passed": true, "note": "wel')
    with OpenAIServer([cut, Reply(text='{"passed": false, "note": null}')]) as server:
        answer = asyncio.run(ask_for_data(model_of("openai", server), question(schema=SCHEMA)))
    assert answer.data == {"passed": False}  # the null of a strict schema is an absent property
    assert len(server.requests) == 2


def test_the_answer_of_another_model_is_noted():
    found, _ = ask("openai", Reply(text="Hi", model="/models/smollm2.gguf"))
    assert [problem.kind for problem in found.problems] == ["other_model"]
    for same in ("some-model-2026-01-01", "vendor/some-model", "models/Some-Model", "some-model:latest"):
        assert ask("openai", Reply(text="Hi", model=same))[0].problems == []
    assert ask("openai", Reply(text="Hi", model="some-model-mini"))[0].problems != []


def test_gemini_is_asked_for_the_rest_and_all_of_it_is_paid_for():
    used = Usage(input=10, output=2, cache_read=0, reasoning=0)
    parts = [Reply(text=text, finish="unfinished", usage=used) for text in ('{"pas', 'sed": ')]
    with GeminiServer([*parts, Reply(text="true}", usage=used)]) as server:
        answer = asyncio.run(ask_for_data(model_of("gemini", server), question(schema=SCHEMA)))
    assert answer.data == {"passed": True}
    assert (answer.completion.usage.input, answer.completion.usage.output) == (30, 6)
    assert answer.completion.tries == len(server.requests) == 3


def test_gemini_that_never_ends_is_not_asked_for_ever():
    found, server = ask("gemini", Reply(text="a", finish="unfinished"))
    assert found.finish == "unfinished"
    assert len(server.requests) == 20


def test_tokens_that_are_not_told_are_unknown():
    for usage in ("missing", "null"):
        for provider in PROVIDERS:
            found, _ = ask(provider, Reply(text="Hi", usage=usage))
            assert (found.usage, found.cost) == (None, None)


# ---------------------------------------------------------------------- again


@pytest.mark.parametrize("provider", PROVIDERS)
def test_passing_trouble_is_asked_again(provider):
    bad = [Reply(status=429), Reply(fault="hang_up"), Reply(text="Hi")]
    found, server = ask(provider, bad)
    assert (found.text, found.tries, len(server.requests)) == ("Hi", 3, 3)


def test_a_connection_that_was_closed_between_two_questions_is_opened_again():
    async def twice(model):
        return [(await model.ask(question())).text for _ in range(3)]

    with OpenAIServer(
        [Reply(text="1", fault="close"), Reply(text="2", fault="close"), Reply(text="3")]
    ) as server:
        assert asyncio.run(twice(model_of("openai", server))) == ["1", "2", "3"]


@pytest.mark.parametrize(
    "headers", [{"retry-after": "0.2"}, {"retry-after-ms": "200"}, {"Retry-After": "200ms"}], ids=str
)
def test_the_server_says_how_long_to_wait(headers):
    found, server = ask("openai", [Reply(status=429, headers=headers), Reply(text="Hi")])
    assert len(server.requests) == 2
    assert found.duration >= 0.2


def test_the_delay_in_the_body_of_gemini_counts():
    busy = error(429, "slow", status="RESOURCE_EXHAUSTED", details=[{"retryDelay": "0.2s"}])
    found, _ = ask("gemini", [Reply(status=429, raw=busy), Reply(text="Hi")])
    assert found.duration >= 0.2


def test_a_wait_beyond_the_deadline_is_not_waited_for():
    found, server = ask("openai", Reply(status=429, headers={"retry-after": "3600"}))
    assert type(found) is ModelRateError
    assert found.retry_after == 3600
    assert len(server.requests) == 1


def test_a_slow_server_is_a_time_out():
    found, server = ask("openai", Reply(fault="silence"), timeout=0.05, retry=Retry(attempts=2, backoff=0))
    assert type(found) is ModelTimeoutError
    assert len(server.requests) == found.tries == 2
    found, server = ask("openai", Reply(fault="stall", text="Hi"), deadline=0.1)
    assert type(found) is ModelTimeoutError
    assert len(server.requests) == 1


def test_a_server_that_is_not_there_is_told_from_a_host_that_does_not_exist():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gone = RemoteModel(f"http://127.0.0.1:{port}/v1", retry=QUICK)
    with pytest.raises(ModelConnectionError, match="is the server running") as caught:
        asyncio.run(gone.ask(question()))
    assert caught.value.tries == 3
    unknown = RemoteModel("http://no-such-host.invalid/v1", retry=QUICK)
    with pytest.raises(ModelConnectionError) as caught:
        asyncio.run(unknown.ask(question()))
    assert caught.value.tries == 1


# ---------------------------------------------------------------------- parameters that are refused


@pytest.mark.parametrize(
    ("provider", "parameter", "field"),
    [
        ("openai", "temperature", "temperature"),
        ("openai", "max_completion_tokens", "max_tokens"),
        ("openai", "logprobs", "top_logprobs"),
        ("openai", "reasoning_effort", "reasoning_effort"),
        ("openai-responses", "temperature", "temperature"),
        ("anthropic", "temperature", "temperature"),
        ("gemini", "logprobs", "top_logprobs"),
    ],
)
def test_a_parameter_that_is_refused_is_left_out_once_and_for_all(provider, parameter, field):
    options = {"reasoning_effort": "none"} if parameter == "reasoning_effort" else None
    asked = question(temperature=0, max_tokens=5, top_logprobs=3, options=options)

    async def twice(model):
        return await model.ask(asked), await model.ask(asked)

    with PROVIDERS[provider](Reply(text="Hi"), refuses=[parameter]) as server:
        first, second = asyncio.run(twice(model_of(provider, server)))
    assert field in first.not_sent
    assert first.not_sent == second.not_sent
    assert (first.tries, second.tries, len(server.requests)) == (2, 1, 3)


@pytest.mark.parametrize(
    ("provider", "parameter"), [("openai", "response_format"), ("anthropic", "output_config")]
)
def test_a_schema_that_is_refused_is_asked_for_in_words(provider, parameter):
    with PROVIDERS[provider](Reply(text=YES), refuses=[parameter]) as server:
        answer = asyncio.run(ask_for_data(model_of(provider, server), question(schema=SCHEMA)))
    assert answer.data == {"passed": True}
    assert answer.completion.not_sent == ("schema",)
    assert "JSON Schema" in server.requests[1].body.decode()


def test_a_parameter_that_is_wrong_for_another_reason_is_an_error():
    bad = error("invalid_value", "too large", param="temperature")
    found, server = ask("openai", Reply(status=400, raw=bad), question(temperature=2))
    assert type(found) is ModelRequestError
    assert (found.parameter, found.code, len(server.requests)) == ("temperature", "invalid_value", 1)


# ---------------------------------------------------------------------- names, addresses, keys


def test_an_address_names_a_server_and_its_model(monkeypatch):
    with OpenAIServer(Reply(text="Hi")) as server:
        asyncio.run(as_model(server.url).ask(question(max_tokens=3)))
        asyncio.run(as_model(f"{server.url}#m/1").ask(question()))
        monkeypatch.setenv("CALIPERS_MODEL_KEY", "own-key-1")
        asyncio.run(as_model(server.url).ask(question()))
        monkeypatch.setenv("MINE", "own-key-2")
        asyncio.run(RemoteModel(server.url, key_variable="MINE").ask(question()))
    plain, named, keyed, own = server.requests
    assert "model" not in plain.json
    assert plain.json["max_tokens"] == 3
    assert "authorization" not in plain.headers, "the key for OpenAI is for OpenAI"
    assert named.json["model"] == "m/1"
    assert keyed.headers["authorization"] == "Bearer own-key-1"
    assert own.headers["authorization"] == "Bearer own-key-2"


def test_the_environment_says_where_a_provider_is(monkeypatch):
    for provider, variable in (
        ("openai", "OPENAI_BASE_URL"),
        ("anthropic", "ANTHROPIC_BASE_URL"),
        ("gemini", "GOOGLE_GEMINI_BASE_URL"),
        ("azure", "AZURE_OPENAI_ENDPOINT"),
    ):
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
        with PROVIDERS.get(provider, OpenAIServer)(Reply(text="Hi"), key=KEY) as server:
            monkeypatch.setenv(
                variable, server.url.removesuffix("/v1") if provider == "azure" else server.url
            )
            assert asyncio.run(as_model(f"{provider}:m").ask(question())).text == "Hi"
    assert server.requests[0].path == "/openai/deployments/m/chat/completions?api-version=2024-10-21"
    assert server.requests[0].headers["api-key"] == KEY


def test_without_a_key_the_error_says_which_variable_to_set(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ModelKeyError, match="set OPENAI_API_KEY"):
        asyncio.run(as_model("openai:gpt-4o").ask(question()))
    with pytest.raises(ModelKeyError, match="set MINE"):
        asyncio.run(RemoteModel("openai:gpt-4o", key_variable="MINE").ask(question()))


def test_a_key_is_in_no_message_even_if_the_server_repeats_it():
    found, _ = ask("openai", Reply(status=401, raw=error("invalid_api_key", f"Incorrect API key: {KEY}")))
    assert type(found) is ModelKeyError
    assert "OPENAI_API_KEY" in str(found)
    assert KEY not in f"{found} {found!r} {vars(found)}"
    assert KEY not in repr(as_model("openai:gpt-4o"))


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o",
        "openai:",
        "oracle:delphi",
        "",
        "http://",
        "ftp://host/v1",
        "http://me:secret@host/v1",
        "http://host/v1?api_key=abcdef",
    ],
)
def test_what_names_no_model_or_holds_a_secret_is_refused(name):
    with pytest.raises(InvalidOptionError) as caught:
        as_model(name)
    assert "secret@" not in str(caught.value)
    assert "abcdef" not in str(caught.value)


# ---------------------------------------------------------------------- before a run


def test_a_model_is_checked_without_asking_it():
    for provider, kind in PROVIDERS.items():
        with kind(models=["some-model"], key=KEY) as server:
            asyncio.run(check_model(model_of(provider, server)))
            with pytest.raises(ModelError, match=r"(no model|not found)"):
                asyncio.run(check_model(RemoteModel(f"{provider}:other", base_url=server.url)))
        assert server.requests == []
        with kind(key="sk-another-key") as server, pytest.raises(ModelKeyError, match="Check the key in"):
            asyncio.run(check_model(model_of(provider, server)))


def test_a_gateway_without_a_page_for_models_is_fine_for_every_provider():
    for provider, kind in PROVIDERS.items():
        with kind() as server:
            asyncio.run(check_model(model_of(provider, server)))


def test_a_key_that_is_missing_is_not_called_wrong(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with OpenAIServer(key=KEY) as server:
        for name in ("openai:gpt-4o", f"{server.url}#gpt-4o"):
            with pytest.raises(
                ModelKeyError, match=r"wants a key, and there is none .*\. Set (OPENAI|CALIPERS)_"
            ):
                asyncio.run(check_model(RemoteModel(name, base_url=None if "#" in name else server.url)))


def test_a_server_that_cannot_list_its_models_is_fine_and_one_that_is_gone_is_not():
    with OpenAIServer() as server:
        asyncio.run(check_model(as_model(server.url)))
        asyncio.run(check_model(as_model(f"{server.url}#any")))
    with pytest.raises(ModelConnectionError, match="is the server running"):
        asyncio.run(check_model(RemoteModel(server.url, retry=QUICK)))


def test_a_check_that_lost_its_connection_is_tried_again():
    async def found(lost):
        met = []

        async def serve(reader, writer):
            met.append(await reader.readuntil(b"\r\n\r\n"))
            if len(met) > lost:
                writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"data":[]}')
                await writer.drain()
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            await check_model(RemoteModel(f"http://127.0.0.1:{port}/v1", retry=QUICK))
        return len(met)

    assert asyncio.run(found(lost=1)) == 2
    with pytest.raises(ModelConnectionError, match="hung up"):
        asyncio.run(found(lost=9))


def test_an_ordinary_word_in_a_complaint_does_not_name_a_parameter():
    asked = question(schema=SCHEMA, top_logprobs=2)
    wrong = Reply(status=400, raw={"error": {"message": "The input must include some text", "param": None}})
    found, server = ask("openai-responses", wrong, asked)
    assert isinstance(found, ModelRequestError)
    assert len(server.requests) == 1


def test_names_of_gateways_and_tags_are_found_among_those_listed():
    with OpenAIServer(models=["llama3:latest", "vendor/*", "meta/gpt-x"]) as server:
        for name in ("llama3", "vendor/anything", "gpt-x"):
            asyncio.run(check_model(as_model(f"{server.url}#{name}")))
        with pytest.raises(ModelRequestError, match="no model 'gpt'"):
            asyncio.run(check_model(as_model(f"{server.url}#gpt")))


# ---------------------------------------------------------------------- the cache


class Kept(dict):
    def put(self, key, answer):
        self[key] = answer


def test_the_same_question_is_asked_once_and_each_repeat_for_itself():
    async def asked(model, *asks):
        return [await model.ask(each) for each in asks]

    for provider, kind in PROVIDERS.items():
        replies = [Reply(text=f"answer {number}") for number in range(9)]
        with kind(replies) as server, using_cache(Kept()):
            model = model_of(provider, server)
            repeats = [question(repeat=number) for number in (0, 1, 0, 1)]
            first, second, again, second_again = asyncio.run(asked(model, *repeats))
            assert (first.text, second.text, again.text, second_again.text) == (
                *("answer 0", "answer 1"),
                *("answer 0", "answer 1"),
            )
            assert (first.cached, again.cached, again.cost, again.tries) == (False, True, first.cost, 0)
            others = [question("Other?"), question(temperature=1), question(schema={"type": "string"})]
            others.append(question(tools=[TOOL]))
            assert not any(each.cached for each in asyncio.run(asked(model, *others)))
        assert len(server.requests) == 6


def test_what_may_choose_the_model_behind_an_address_keeps_answers_apart():
    async def asked(*models):
        return [(await model.ask(question())).text for model in models]

    with OpenAIServer([Reply(text=f"answer {number}") for number in range(9)]) as server, using_cache(Kept()):
        models = [
            RemoteModel("openai:some-model", base_url=f"{server.url}{query}", headers=headers)
            for query, headers in (
                ("", None),
                ("?provider=a", None),
                ("?provider=b", None),
                ("", {"x-route": "a"}),
                ("", {"x-route": "b"}),
            )
        ]
        assert len({*asyncio.run(asked(*models))}) == 5
        same = RemoteModel(
            "openai:some-model", base_url=server.url, headers={"Authorization": "Bearer other"}
        )
        assert asyncio.run(asked(same)) == ["answer 0"], "another key asks the same model"


def test_a_key_that_a_server_repeats_in_an_answer_is_neither_given_out_nor_kept(monkeypatch):
    key, kept = "a-key-that-is-long-enough", Kept()
    monkeypatch.setenv("OPENAI_API_KEY", key)
    reply = Reply(text=f"Your key is {key}.", model=f"m-{key}", headers={"x-request-id": key})
    with OpenAIServer(reply) as server, using_cache(kept):
        found = asyncio.run(model_of("openai", server).ask(question()))
    assert found.text == "Your key is [redacted]."
    assert found.request_id == "[redacted]"
    assert len(kept) == 1
    assert key not in repr(found) + repr(kept)


def test_an_answer_that_can_lead_to_no_verdict_is_not_kept():
    for reply in (
        {"text": "Hi", "finish": "length"},
        {"refusal": "No"},
        {"text": "not JSON"},
        {"text": YES, "finish": "unknown"},
    ):
        kept = Kept()
        with OpenAIServer(Reply(**reply)) as server, using_cache(kept):
            asyncio.run(model_of("openai", server).ask(question(schema=SCHEMA)))
        assert (reply, kept) == (reply, {})


def test_what_is_kept_holds_no_key_and_needs_none(monkeypatch):
    kept = Kept()
    with OpenAIServer(Reply(text="Hi", headers={"x-request-id": "r"})) as server, using_cache(kept):
        first = asyncio.run(model_of("openai", server).ask(question()))
        monkeypatch.delenv("OPENAI_API_KEY")
        again = asyncio.run(model_of("openai", server).ask(question()))
    assert len(server.requests) == 1
    assert KEY not in repr(kept)
    assert (again.text, again.request_id, again.usage) == (first.text, "r", first.usage)


def test_libraries_that_an_answer_needs_are_loaded_before_the_run_and_not_in_the_first_judgement():
    script = """if True:
        import asyncio, sys
        from calipers.models import as_model, check_model
        from calipers.testing import OpenAIServer
        with OpenAIServer(models=["m"]) as server:
            asyncio.run(check_model(as_model(server.url + "#m")))
        print(*sorted({"aiohttp", "genai_prices", "json_repair", "jsonschema_rs"} & set(sys.modules)))
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["aiohttp", "genai_prices", "json_repair", "jsonschema_rs"]
