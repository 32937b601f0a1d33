"""Requests by `requests` and by urllib3 itself pass taps and wait for limits."""

from typing import Any

import pytest
import requests
import urllib3

from calipers import Case, Dataset
from calipers.agents import Fork, RecordedTask, ReplayedTask
from calipers.errors import TapeError
from calipers.models.wire_hooks import install
from calipers.models.wire_tap import WireAnswer, tapping
from calipers.testing import OpenAIServer, RateLimit, Reply

install()

CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


class Tap:
    """Gives an answer, or lets requests go on, and notes what it hears."""

    def __init__(self, answer: WireAnswer | None = None) -> None:
        self.answer = answer
        self.heard: list[Any] = []

    def ask(self, request: Any) -> Any:
        return request if self.answer is None else self.answer

    def coming(self, request: Any, so_far: Any) -> None: ...

    def told(self, request: Any, outcome: Any) -> None:
        self.heard.append((request, outcome))


def by_requests(url: str, *, stream: bool = False) -> bytes:
    with requests.post(f"{url}/chat/completions", json=CHAT | {"stream": stream}, stream=stream) as answer:
        return b"".join(answer.iter_content(7)) if stream else answer.content


def by_urllib3(url: str) -> bytes:
    with urllib3.PoolManager() as pool:
        return pool.request("POST", f"{url}/chat/completions", json=CHAT).data


@pytest.mark.parametrize("ask", [by_requests, lambda url: by_requests(url, stream=True), by_urllib3])
def test_a_tap_hears_the_answer_and_may_answer_itself(ask):
    tap = Tap()
    with OpenAIServer(Reply(text="Hello")) as server:
        untapped = ask(server.url)
        with tapping(tap):
            tapped = ask(server.url)
    ((request, outcome),) = tap.heard
    assert b"chat.completion" in untapped
    assert b"chat.completion" in tapped
    assert (request.method, request.url, outcome.body) == ("POST", f"{server.url}/chat/completions", tapped)
    with tapping(Tap(WireAnswer(200, "text/event-stream", b"data: 1\n\n"))):
        assert ask("http://x/v1") == b"data: 1\n\n"


def test_other_requests_are_let_through():
    tap = Tap()
    with tapping(tap), pytest.raises(requests.ConnectionError):
        requests.get("http://127.0.0.1:1/v1/models", timeout=1)
    assert tap.heard == []


def test_what_a_pool_sends_again_is_one_request():
    replies = iter([Reply(status=503), Reply(text="Hello")])
    tap = Tap()
    with OpenAIServer(lambda _: next(replies)) as server, tapping(tap), urllib3.PoolManager() as pool:
        again = urllib3.Retry(
            2, status_forcelist=[503], allowed_methods=None, respect_retry_after_header=False
        )
        answer = pool.request("POST", f"{server.url}/chat/completions", json=CHAT, retries=again)
    assert answer.status == 200
    assert len(tap.heard) == 1


def test_an_error_is_told():
    tap = Tap()
    with tapping(tap), pytest.raises(requests.ConnectionError):
        requests.post("http://127.0.0.1:1/v1/chat/completions", json=CHAT, timeout=1)
    ((_, outcome),) = tap.heard
    assert isinstance(outcome, Exception)


def test_more_than_was_read_then_cannot_be_read():
    cut = WireAnswer(
        200, "text/event-stream", b"data: 1\n\n", is_whole=False, beyond=lambda: TapeError("no more")
    )
    with tapping(Tap(cut)):
        answer = requests.post("http://x/v1/chat/completions", json=CHAT, stream=True, timeout=1)
        pieces = answer.iter_content(9)
        assert next(pieces) == b"data: 1\n\n"
        with pytest.raises(TapeError, match="no more"):
            next(pieces)


def test_a_body_that_can_be_read_only_once_is_refused():
    with tapping(Tap()), pytest.raises(TapeError, match="sends generator, which a tape cannot record"):
        requests.post("http://x/v1/chat/completions", data=(part for part in [b"{}"]), timeout=1)


def agent(url: str) -> Any:
    def ask(inputs: str) -> str:
        body = CHAT | {"messages": [{"role": "user", "content": inputs}]}
        answer = requests.post(f"{url}/chat/completions", json=body, timeout=5)
        answer.raise_for_status()
        return answer.json()["choices"][0]["message"]["content"]

    return ask


def test_an_agent_that_asks_by_requests_is_recorded_replayed_and_forked(tmp_path):
    dataset = Dataset(cases=[Case(name="one", inputs="four?")])
    with OpenAIServer(lambda received: Reply(text=f"{received.json['model']}: four")) as server:
        ask = agent(server.url)
        recorded = dataset.evaluate_sync(RecordedTask(ask, tmp_path / "tape"), progress=False)
        replayed = ReplayedTask(ask, tmp_path / "tape", fork=Fork(at=1, model="n"))
        forked = dataset.evaluate_sync(replayed, progress=False)
    offline = dataset.evaluate_sync(ReplayedTask(ask, tmp_path / "tape"), progress=False)
    outputs = [report.cases[0].output for report in (recorded, forked, offline)]
    assert outputs == ["m: four", "n: four", "m: four"]


def test_each_request_waits_for_the_limit_of_its_host():
    limit = RateLimit(20, seconds=0.5)
    dataset = Dataset(cases=[Case(name=str(number), inputs="four?") for number in range(30)])
    with OpenAIServer(Reply(text="four"), limit=limit) as server:
        report = dataset.evaluate_sync(agent(server.url), max_concurrency="auto", progress=False)
    (use,) = report.limits
    assert (use.answered, use.refused) == (limit.taken, limit.refused)
    assert limit.taken >= 20
