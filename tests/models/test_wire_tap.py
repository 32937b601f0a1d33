"""Which requests pass taps, and what a tap can do with one."""

import asyncio
import threading
import warnings

import aiohttp
import httpx
import httpx2
import pytest

from calipers.agents import Fork
from calipers.agents.replayed_task import forked
from calipers.errors import TapeError
from calipers.models.wire_hooks import install
from calipers.models.wire_tap import WireAnswer, WireRequest, is_tapped, sealing, tapping
from calipers.testing import GeminiServer, OpenAIServer, Reply

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the library itself, while it is compiled and loaded
    from google import genai

install()


class Tap:
    """Answers what it is told to, or lets requests go on, and notes what it hears."""

    def __init__(self, answer=None):
        self.answer = answer
        self.heard = []

    def ask(self, request):
        if isinstance(self.answer, Exception):
            raise self.answer
        return request if self.answer is None else self.answer

    def coming(self, request, so_far):
        pass

    def told(self, request, outcome):
        self.heard.append((request, outcome))


@pytest.mark.parametrize(
    ("url", "is_model"),
    [
        ("https://api.openai.com/v1/chat/completions", True),
        ("https://api.openai.com/v1/responses", True),
        ("https://gateway/openai/deployments/x/chat/completions?api-version=1", True),
        ("https://api.anthropic.com/v1/messages", True),
        ("https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse", True),
        ("https://bedrock-runtime.eu.amazonaws.com/model/m/converse-stream", True),
        ("http://localhost:11434/api/chat", True),
        ("https://api.openai.com/v1/images/generations", True),
        ("https://api.openai.com/v1/audio/transcriptions", True),
        ("https://api.cohere.com/v2/rerank", True),
        ("https://shop.example/orders", False),
        ("https://chat.example/api/messages", False),
        ("https://api.openai.com/v1/files", False),
    ],
)
def test_only_requests_to_models_pass_taps(url, is_model):
    with tapping(Tap()):
        assert is_tapped("POST", url) is is_model
        assert not is_tapped("GET", url)
    assert not is_tapped("POST", url)


CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_a_tap_hears_the_answer_of_each_client_sync_and_async_and_may_answer_itself(library):
    async def later(url):
        async with library.AsyncClient() as client:
            return (await client.post(f"{url}/chat/completions", json=CHAT)).json()

    def now(url):
        with library.Client() as client:
            return client.post(f"{url}/chat/completions", json=CHAT).json()

    tap = Tap()
    with OpenAIServer(Reply(text="Hello")) as server, tapping(tap):
        first, second = now(server.url), asyncio.run(later(server.url))
    assert [b"Hello" in outcome.body for _, outcome in tap.heard] == [True, True]
    assert first["choices"] == second["choices"]
    with tapping(Tap(WireAnswer(200, "application/json", b"[1]"))):
        assert now(server.url) == asyncio.run(later(server.url)) == [1]


def test_a_tape_error_is_an_answer_that_is_not_asked_for_again():
    with tapping(Tap(TapeError("no"))), httpx.Client() as client:
        answer = client.post("http://x/v1/chat/completions", json=CHAT)
    assert answer.status_code == 400
    assert answer.headers["x-should-retry"] == "false"
    assert answer.json()["error"]["message"] == "no"


def test_an_outer_tap_hears_what_an_inner_one_answers():
    outer = Tap()
    inner = Tap(WireAnswer(200, "text/plain", b"said"))
    with tapping(outer), tapping(inner), httpx.Client() as client:
        client.post("http://x/v1/chat/completions", json=CHAT)
    ((_, outcome),) = outer.heard
    assert outcome is inner.answer


def test_a_client_of_aiohttp_passes_taps_and_gets_a_response_of_its_own_kind():
    async def ask(url, **options):
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/chat/completions", **options) as response,
        ):
            return response.status, await response.read()

    tap = Tap()
    with OpenAIServer(Reply(text="Hello")) as server, tapping(tap):
        status, body = asyncio.run(ask(server.url, json=CHAT))
    ((_, outcome),) = tap.heard
    assert (status, outcome.body) == (200, body)
    assert b"Hello" in body
    with tapping(Tap(WireAnswer(200, "text/event-stream", b"data: 1\n\n"))):
        assert asyncio.run(ask("http://x/v1", data=b"{}")) == (200, b"data: 1\n\n")
    with tapping(Tap()), pytest.raises(TapeError, match="sends FormData, which a tape cannot record"):
        asyncio.run(ask("http://x/v1", data=aiohttp.FormData({"a": "b"})))


def test_a_response_of_aiohttp_that_taps_hear_is_the_servers_own():
    async def ask(url):
        async with (
            aiohttp.ClientSession(base_url=f"{url}/") as session,
            session.post("chat/completions", json=CHAT) as response,
        ):
            streamed = b"".join([chunk async for chunk in response.content.iter_any()])
            told = response.method, str(response.request_info.url), response.headers.get("x-sent-at")
            return *told, streamed

    tap = Tap()
    with OpenAIServer(Reply(text="Hello", headers={"x-sent-at": "noon"})) as server, tapping(tap):
        asked = asyncio.run(ask(server.url))
    ((request, outcome),) = tap.heard
    assert request.url == f"{server.url}/chat/completions"
    assert asked == ("POST", f"{server.url}/chat/completions", "noon", outcome.body)
    with tapping(Tap(outcome)):
        assert asyncio.run(ask(server.url)) == (*asked[:2], None, outcome.body)


def test_a_response_of_httpx_that_a_tap_gives_knows_how_long_it_took():
    with tapping(Tap(WireAnswer(200, "text/plain", b"said"))), httpx.Client() as client:
        answer = client.post("http://x/v1/chat/completions", json=CHAT)
    assert answer.text == "said"
    assert answer.elapsed.total_seconds() >= 0


@pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")  # that is how the SDK uses aiohttp
@pytest.mark.parametrize("streams", [False, True])
def test_the_sdk_of_google_passes_taps_sync_and_async(streams):
    def client():
        options = {"base_url": server.url.removesuffix("/v1beta")}
        return genai.Client(api_key="k", http_options=options)

    def now():
        with client() as made:
            if streams:
                return "".join(
                    each.text or "" for each in made.models.generate_content_stream(model="m", contents="Hi")
                )
            return made.models.generate_content(model="m", contents="Hi").text

    async def later():
        async with client().aio as made:
            if streams:
                stream = await made.models.generate_content_stream(model="m", contents="Hi")
                return "".join([each.text or "" async for each in stream])
            return (await made.models.generate_content(model="m", contents="Hi")).text

    tap = Tap()
    with GeminiServer(Reply(text="one two")) as server, tapping(tap):
        assert (now(), asyncio.run(later())) == ("one two", "one two")
    assert len(tap.heard) == 2
    for _, answer in tap.heard:
        with tapping(Tap(answer)):
            assert (now(), asyncio.run(later())) == ("one two", "one two")


def test_a_thread_without_the_context_of_its_attempt_asks_no_model_while_a_tape_is_replayed():
    found = []

    def ask():
        with httpx.Client() as client:
            found.append(client.post("http://x/v1/chat/completions", json=CHAT).json()["error"]["message"])

    with sealing():
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert found[0].startswith("a model was asked outside of any attempt while a tape is replayed")


GEMINI = "https://g/v1beta/models/small:generateContent"
FORK = Fork(at=1, model="large", prompt="New.")


@pytest.mark.parametrize(
    ("url", "sent", "url_after", "after"),
    [
        (
            "https://o/v1/chat/completions",
            {
                "model": "m",
                "messages": [{"role": "developer", "content": "Old."}, {"role": "user", "content": "Hi"}],
            },
            "https://o/v1/chat/completions",
            {
                "model": "large",
                "messages": [{"role": "developer", "content": "New."}, {"role": "user", "content": "Hi"}],
            },
        ),
        (
            "https://o/v1/responses",
            {
                "model": "m",
                "input": [{"role": "system", "content": "Old."}, {"role": "user", "content": "Hi"}],
            },
            "https://o/v1/responses",
            {"model": "large", "instructions": "New.", "input": [{"role": "user", "content": "Hi"}]},
        ),
        (
            "https://a/v1/messages",
            {"model": "m", "messages": []},
            "https://a/v1/messages",
            {"model": "large", "messages": [], "system": "New."},
        ),
        (
            GEMINI,
            {"contents": [], "system_instruction": {"parts": []}},
            GEMINI.replace("small", "large"),
            {"contents": [], "systemInstruction": {"parts": [{"text": "New."}]}},
        ),
    ],
)
def test_a_fork_puts_model_and_prompt_where_each_protocol_has_them(url, sent, url_after, after):
    request = forked(WireRequest("POST", url, httpx.Request("POST", url, json=sent).content), FORK)
    assert (request.url, httpx.Response(200, content=request.body).json()) == (url_after, after)


def test_a_fork_says_which_request_it_cannot_change():
    with pytest.raises(TapeError, match="does not say which model it asks"):
        forked(WireRequest("POST", "https://x/model/m/converse", b"{}"), FORK)
    with pytest.raises(TapeError, match="is no JSON"):
        forked(WireRequest("POST", "https://x/v1/messages", b"\x00"), FORK)
