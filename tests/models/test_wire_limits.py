"""Calls of models wait for the limits of their run, whoever makes them: Calipers, the SDKs, a rollout, a judge."""

import asyncio
from typing import Any

import anthropic
import httpx
import openai
import pytest

from calipers import Case, Dataset, Evaluator, EvaluatorContext, Report
from calipers.agents import HttpAdapter
from calipers.models import Ask, RemoteModel, wrap
from calipers.models.wire_limits import asked_of
from calipers.rollouts import ChatTarget
from calipers.testing import (
    AnthropicServer,
    GeminiServer,
    HttpAgentServer,
    ModelServer,
    OpenAIServer,
    RateLimit,
    Reply,
)

_QUESTION = [{"role": "user", "content": "one two three"}]
_SLOW = Reply(text="four", delay=0.02)


def cases(count: int) -> Dataset[int, str, Any]:
    return Dataset(cases=[Case(name=str(number), inputs=number) for number in range(count)])


def evaluated(dataset: Dataset[int, str, Any], task: Any, **options: Any) -> Report:
    return dataset.evaluate_sync(task, max_concurrency="auto", progress=False, **options)


def remote(server: ModelServer, name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(variable, "key")
    model = RemoteModel(name, base_url=server.url)

    async def task(_: int) -> str | None:
        return (await model.ask(Ask(messages=_QUESTION, max_tokens=4))).text

    return task


@pytest.mark.parametrize("tells", [True, False])
@pytest.mark.parametrize(
    ("kind", "name"),
    [(OpenAIServer, "openai:x"), (AnthropicServer, "anthropic:x"), (GeminiServer, "gemini:x")],
)
def test_every_model_of_calipers_keeps_to_what_its_provider_takes(
    kind: type[ModelServer], name: str, tells: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = RateLimit(50, 5_000, seconds=0.5, tells=tells)
    with kind(_SLOW, limit=limit) as server:
        report = evaluated(cases(120), remote(server, name, monkeypatch))
    assert [case.output for case in report.cases] == ["four"] * 120
    (use,) = report.limits
    assert use.name == f"127.0.0.1:{server.port}"
    assert (use.answered, use.refused) == (limit.taken, limit.refused)
    if tells and kind is not GeminiServer:
        assert use.told is not None
        assert limit.refused <= limit.taken // 4


def client_of(address: str, kind: str) -> Any:
    if kind == "openai":
        return openai.OpenAI(base_url=address, api_key="key")
    if kind == "openai async":
        return openai.AsyncOpenAI(base_url=address, api_key="key")
    if kind == "anthropic":
        return anthropic.Anthropic(base_url=address, api_key="key")
    return anthropic.AsyncAnthropic(base_url=address, api_key="key")


def task_of(client: Any, kind: str) -> Any:
    """A task that asks by an SDK, which asks again by itself as it does by default."""
    asked: Any = {"model": "m", "max_tokens": 4, "messages": _QUESTION}

    def ask(_: int) -> Any:
        make = client.chat.completions.create if kind.startswith("openai") else client.messages.create
        return make(**asked)

    def text(answer: Any) -> Any:
        return answer.choices[0].message.content if kind.startswith("openai") else answer.content[0].text

    async def task(number: int) -> Any:
        return text(await ask(number))

    return task if kind.endswith("async") else lambda number: text(ask(number))


def with_client(client: Any, dataset: Dataset[int, str, Any], task: Any) -> Report:
    """Evaluate, and close the client on the loop where it was used."""

    async def main() -> Report:
        try:
            return await dataset.evaluate(task, max_concurrency="auto", progress=False)
        finally:
            closed = client.close()
            if closed is not None:
                await closed

    return asyncio.run(main())


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("kind", ["openai", "openai async", "anthropic", "anthropic async"])
def test_each_request_of_an_sdk_waits_for_the_limit_wrapped_or_not(kind: str, wrapped: bool) -> None:
    limit = RateLimit(20, seconds=0.5)
    serve = OpenAIServer if kind.startswith("openai") else AnthropicServer
    with serve(_SLOW, limit=limit) as server:
        client = client_of(server.url, kind)
        task = task_of(wrap(client) if wrapped else client, kind)
        report = with_client(client, cases(60), task)
    assert [case.output for case in report.cases] == ["four"] * 60, report.failures[:1]
    (use,) = report.limits
    assert (use.answered, use.refused) == (limit.taken, limit.refused)
    assert use.told is not None
    assert limit.refused <= limit.taken // 4


def test_a_stream_is_a_call_until_it_has_been_read() -> None:
    with OpenAIServer(Reply(text="one two three")) as server:
        client = openai.AsyncOpenAI(base_url=server.url, api_key="key")

        async def task(_: int) -> str:
            stream: Any = await client.chat.completions.create(model="m", messages=_QUESTION, stream=True)  # type: ignore[call-overload]
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

        report = with_client(client, cases(20), task)
    assert [case.output for case in report.cases] == ["one two three"] * 20
    (use,) = report.limits
    assert (use.answered, use.points[-1].in_flight) == (20, 0)


def test_task_judge_and_rollout_share_the_limit_of_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = RateLimit(60, seconds=0.5)
    with OpenAIServer(_SLOW, limit=limit) as server:
        judge = RemoteModel("openai:x", base_url=server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        target = ChatTarget(server.url, "x")
        client = client_of(server.url, "openai async")
        ask = task_of(client, "openai async")

        class Judge(Evaluator[int, str, Any]):
            async def evaluate(self, ctx: EvaluatorContext[int, str, Any]) -> bool:
                return (await judge.ask(Ask(messages=_QUESTION, max_tokens=4))).text == "four"

        async def task(number: int) -> str:
            both = await asyncio.gather(ask(number), target.reply([]))
            return f"{both[0]} {both[1].text}"

        dataset = cases(60)
        dataset.add_evaluator(Judge())
        report = with_client(client, dataset, task)
    assert report.pass_rate().value == 1, report.failures[:1]
    (use,) = report.limits
    assert use.answered == limit.taken == 180
    assert limit.refused <= limit.taken // 4


def test_an_agent_over_http_has_the_limit_of_its_host() -> None:
    with HttpAgentServer(Reply(text="hi")) as server:
        report = evaluated(cases(20), HttpAdapter(server.url))
    assert len(report.cases) == 20
    assert [use.name for use in report.limits] == [f"127.0.0.1:{server.port}"]


def test_a_server_that_always_refuses_ends_the_attempts_as_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer(Reply(status=429, headers={"retry-after-ms": "5"})) as server:
        report = evaluated(cases(2), remote(server, "openai:x", monkeypatch))
    assert [failure.error_type for failure in report.failures] == ["ModelRateError"] * 2
    (use,) = report.limits
    assert use.refused == len(server.requests)


def test_without_auto_nothing_waits_and_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer(Reply(text="four")) as server:
        report = cases(5).evaluate_sync(remote(server, "openai:x", monkeypatch), progress=False)
    assert report.limits == ()


def test_a_time_out_of_a_request_lowers_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer(Reply(fault="silence")) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        model = RemoteModel("openai:x", base_url=server.url, timeout=0.05, retry=None)

        async def task(_: int) -> Any:
            return await model.ask(Ask(messages=_QUESTION))

        report = evaluated(cases(8), task)
    (use,) = report.limits
    assert (use.overloaded, use.points[-1].window) == (8, use.points[-1].window)
    assert use.points[-1].window < 8


def test_a_request_that_asks_no_model_is_let_through() -> None:
    with HttpAgentServer(Reply(text="hi")) as server:

        async def task(_: int) -> int:
            async with httpx.AsyncClient() as client:
                return (await client.get(f"http://127.0.0.1:{server.port}/other")).status_code

        report = evaluated(cases(3), task)
    assert [use.name for use in report.limits] == ["attempts"]


@pytest.mark.parametrize(
    ("url", "body", "expected"),
    [
        ("https://api.openai.com/v1/chat/completions", b'{"model": "gpt-5"}', ("openai", "gpt-5")),
        ("https://api.anthropic.com/v1/messages", b'{"model": "claude"}', ("anthropic", "claude")),
        (
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-2:generateContent",
            b"{}",
            ("gemini", "/v1beta/models/gemini-2:generateContent"),
        ),
        ("http://localhost:8000/v1/chat/completions", b"not json", ("localhost:8000", "")),
        ("http://[::1]:8000/v1/responses", b'{"model": 5}', ("::1:8000", "")),
    ],
)
def test_a_request_falls_under_the_limit_of_its_host(
    url: str, body: bytes, expected: tuple[str, str]
) -> None:
    assert asked_of(url, body) == expected
