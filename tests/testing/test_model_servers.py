"""The servers speak each protocol as the providers' own clients understand it, and go wrong as real ones do."""

import json
import warnings

import anthropic
import httpx
import openai
import pytest

from calipers.data.trace import ToolCall
from calipers.models import Token, Usage
from calipers.testing import AnthropicServer, GeminiServer, OpenAIServer, Reply

with warnings.catch_warnings():  # Python warns of its texts when it compiles them, which it does once
    warnings.simplefilter("ignore")
    from google import genai
    from google.genai import errors as gemini_errors

KEY = "sk-loopback-1"
ASK = [{"role": "user", "content": "Is Paris in France?"}]
CALL = ToolCall("look_up", {"city": "Paris"})
USED = Usage(input=9, output=5, cache_read=4, reasoning=2)


def openai_client(server, retries=0):
    return openai.OpenAI(api_key=KEY, base_url=server.url, max_retries=retries)


def chat(server, **options):
    with openai_client(server) as client:
        return client.chat.completions.create(model="gpt-x", messages=ASK, **options)


def respond(server, **options):
    with openai_client(server) as client:
        return client.responses.create(model="gpt-x", input=ASK, **options)


def message(server, **options):
    with anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0) as client:
        return client.messages.create(model="claude-x", max_tokens=10, messages=ASK, **options)


def generate(server, **config):
    with genai.Client(api_key=KEY, http_options={"base_url": server.url}) as client:
        return client.models.generate_content(model="gemini-x", contents="Is Paris in France?", config=config)


# ---------------------------------------------------------------------- whole answers


def test_openai_reads_a_chat_completion():
    reply = Reply(text="Yes", usage=USED, logprobs=[Token("Yes", -0.1, (("Yes", -0.1), ("No", None)))])
    with OpenAIServer(reply, key=KEY) as server:
        found = chat(server, logprobs=True, top_logprobs=2)
    choice = found.choices[0]
    assert (choice.message.content, choice.finish_reason, found.model) == ("Yes", "stop", "gpt-x")
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (9, 5)
    assert found.usage.prompt_tokens_details.cached_tokens == 4
    token = choice.logprobs.content[0]
    assert [(each.token, each.logprob) for each in token.top_logprobs] == [("Yes", -0.1), ("No", -9999.0)]
    assert token.top_logprobs[1].bytes is None


def test_openai_reads_calls_refusals_and_how_an_answer_ended():
    with OpenAIServer(
        [Reply(calls=[CALL]), Reply(refusal="No."), Reply(text="Ye", finish="length")]
    ) as server:
        called, refused, cut = (chat(server).choices[0] for _ in range(3))
    assert called.finish_reason == "tool_calls"
    assert json.loads(called.message.tool_calls[0].function.arguments) == {"city": "Paris"}
    assert (refused.finish_reason, refused.message.refusal, refused.message.content) == ("stop", "No.", None)
    assert cut.finish_reason == "length"


def test_openai_reads_a_response():
    with OpenAIServer(Reply(text="Yes", reasoning="Hm", calls=[CALL], usage=USED), key=KEY) as server:
        found = respond(server)
    assert (found.output_text, found.status, found.model) == ("Yes", "completed", "gpt-x")
    assert [item.type for item in found.output] == ["reasoning", "function_call", "message"]
    assert (found.usage.input_tokens, found.usage.output_tokens_details.reasoning_tokens) == (9, 2)
    with OpenAIServer([Reply(text="Ye", finish="length"), Reply(finish="error")]) as server:
        cut, failed = respond(server), respond(server)
    assert (cut.status, cut.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert (failed.status, failed.error.code) == ("failed", "server_error")


def test_anthropic_reads_a_message():
    with AnthropicServer(Reply(text="Yes", reasoning="Hm", calls=[CALL], usage=USED), key=KEY) as server:
        found = message(server)
    assert [block.type for block in found.content] == ["thinking", "text", "tool_use"]
    assert found.content[2].input == {"city": "Paris"}
    assert (found.stop_reason, found.model) == ("tool_use", "claude-x")
    assert (found.usage.input_tokens, found.usage.cache_read_input_tokens, found.usage.output_tokens) == (
        5,
        4,
        5,
    )


def test_gemini_reads_candidates():
    reply = Reply(text="Yes", reasoning="Hm", usage=USED, logprobs=[Token("Yes", -0.1, (("Yes", -0.1),))])
    with GeminiServer(reply, key=KEY) as server:
        found = generate(server)
    assert (found.text, found.model_version) == ("Yes", "gemini-x")
    assert found.candidates[0].finish_reason.name == "STOP"
    assert (found.usage_metadata.prompt_token_count, found.usage_metadata.candidates_token_count) == (9, 3)
    assert found.candidates[0].logprobs_result.chosen_candidates[0].log_probability == -0.1


def test_gemini_asks_for_the_rest_of_an_answer():
    with GeminiServer([Reply(text="Y", finish="unfinished"), Reply(text="es")]) as server:
        assert generate(server).text == "Yes"
    assert len(server.requests) == 2
    assert server.requests[1].json["continuationToken"] == "dG9r"


# ---------------------------------------------------------------------- streams


@pytest.mark.parametrize("split", [False, True])
def test_every_client_reads_a_stream(split):
    reply = Reply(text="Größe: yes", calls=[CALL], usage=USED, split=split)
    with OpenAIServer(reply) as server, openai_client(server) as client:
        chunks = list(
            client.chat.completions.create(
                model="gpt-x", messages=ASK, stream=True, stream_options={"include_usage": True}
            )
        )
        assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "Größe: yes"
        assert chunks[-1].choices == []
        assert chunks[-1].usage.prompt_tokens == 9
        with client.responses.stream(model="gpt-x", input=ASK) as stream:
            assert stream.get_final_response().output_text == "Größe: yes"
    with AnthropicServer(reply) as server, anthropic.Anthropic(api_key=KEY, base_url=server.url) as client:
        with client.messages.stream(model="claude-x", max_tokens=9, messages=ASK) as stream:
            found = stream.get_final_message()
        assert (found.content[0].text, found.content[1].input) == ("Größe: yes", {"city": "Paris"})
        assert (found.stop_reason, found.usage.output_tokens) == ("tool_use", 5)
    with (
        GeminiServer(reply) as server,
        genai.Client(api_key=KEY, http_options={"base_url": server.url}) as client,
    ):
        parts = list(client.models.generate_content_stream(model="gemini-x", contents="x"))
        said = [part.text for each in parts for part in each.candidates[0].content.parts or () if part.text]
        assert "".join(said) == "Größe: yes"


def test_a_stream_that_is_cut_is_no_error_for_a_client_which_is_the_trap():
    reply = Reply(text="Yes", fault="disconnect")
    with OpenAIServer(reply) as server, openai_client(server) as client:
        chunks = list(client.chat.completions.create(model="gpt-x", messages=ASK, stream=True))
        assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * len(chunks)
    with AnthropicServer(reply) as server, anthropic.Anthropic(api_key=KEY, base_url=server.url) as client:
        with client.messages.stream(model="claude-x", max_tokens=9, messages=ASK) as stream:
            found = stream.get_final_message()
        assert (found.content[0].text, found.stop_reason) == ("Yes", None)


def test_an_error_in_a_stream_is_one():
    reply = Reply(text="Yes", fault="error_in_stream")
    with (
        OpenAIServer(reply) as server,
        openai_client(server) as client,
        pytest.raises(openai.APIError, match="it failed"),
    ):
        list(client.chat.completions.create(model="gpt-x", messages=ASK, stream=True))
    with (
        AnthropicServer(reply) as server,
        anthropic.Anthropic(api_key=KEY, base_url=server.url) as client,
        pytest.raises(anthropic.APIStatusError, match="overloaded"),
        client.messages.stream(model="claude-x", max_tokens=9, messages=ASK) as stream,
    ):
        stream.get_final_message()


# ---------------------------------------------------------------------- errors


def test_clients_raise_their_own_errors():
    with OpenAIServer(Reply(status=429, headers={"retry-after": "1"})) as server:
        with pytest.raises(openai.RateLimitError) as limited:
            chat(server)
        assert limited.value.response.headers["retry-after"] == "1"
    with AnthropicServer(Reply(status=529)) as server, pytest.raises(anthropic.InternalServerError):
        message(server)
    with GeminiServer(Reply(status=503)) as server, pytest.raises(gemini_errors.ServerError):
        generate(server)


def test_a_wrong_key_is_refused_and_is_no_request():
    for server, ask, error in (
        (OpenAIServer(key="sk-other-1"), chat, openai.AuthenticationError),
        (AnthropicServer(key="sk-other-1"), message, anthropic.AuthenticationError),
        (GeminiServer(key="sk-other-1"), generate, gemini_errors.ClientError),
    ):
        with server, pytest.raises(error):
            ask(server)
        assert server.requests == []


def test_models_are_listed_and_others_are_unknown():
    with OpenAIServer(Reply(text="Hi"), models=["gpt-x"]) as server, openai_client(server) as client:
        assert [model.id for model in client.models.list()] == ["gpt-x"]
        assert chat(server).choices[0].message.content == "Hi"
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(model="gpt-y", messages=ASK)
    with (
        AnthropicServer(models=["claude-x"]) as server,
        anthropic.Anthropic(api_key=KEY, base_url=server.url) as client,
    ):
        assert client.models.retrieve("claude-x").id == "claude-x"


def test_a_parameter_is_refused():
    with OpenAIServer(refuses=["temperature"]) as server, pytest.raises(openai.BadRequestError) as refused:
        chat(server, temperature=0)
    assert (refused.value.param, refused.value.code) == ("temperature", "unsupported_parameter")


def test_connections_end_in_the_two_ways_that_a_retry_must_survive():
    with OpenAIServer([Reply(fault="close", text="1"), Reply(fault="hang_up")]) as server:
        url = f"{server.url}/chat/completions"
        assert httpx.post(url, json={"messages": ASK}).status_code == 200
        with pytest.raises(httpx.TransportError):
            httpx.post(url, json={"messages": ASK})
    assert len(server.requests) == 2
