"""A run in which nothing can succeed ends after a few attempts, and goes on when it is resumed."""

from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from calipers import Case, Dataset, Evaluator, EvaluatorContext
from calipers.errors import ModelKeyError
from calipers.models import Ask, RemoteModel
from calipers.run.runner import HOPELESS_IN_A_ROW
from calipers.stores import open_store
from calipers.testing import AnthropicServer, OpenAIServer, Reply

_NOWHERE = "http://127.0.0.1:9/v1"


def cases(count: int = 50) -> Dataset[int, str, Any]:
    return Dataset(cases=[Case(name=str(number), inputs=number) for number in range(count)])


def remote(address: str) -> Any:
    model = RemoteModel("openai:x", base_url=address, retry=None)

    async def task(_: int) -> str | None:
        return (await model.ask(Ask(messages=[{"role": "user", "content": "?"}]))).text

    return task


def test_a_wrong_key_ends_the_run_and_the_resumed_run_makes_those_attempts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "runs.db"
    with OpenAIServer(Reply(text="hi"), key="right") as server:
        task = remote(server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "wrong")
        report = cases().evaluate_sync(task, max_concurrency=2, store=store, progress=False)
        assert report.incomplete is not None
        assert report.incomplete.kind == "hopeless"
        assert "check the key, and resume the run" in str(report.incomplete)
        assert HOPELESS_IN_A_ROW <= len(report.failures) <= HOPELESS_IN_A_ROW + 2
        assert {failure.hopeless for failure in report.failures} == {"key"}
        with open_store(store) as opened:
            assert {failure.hopeless for failure in opened.report("latest").failures} == {"key"}
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        resumed = cases().evaluate_sync(task, store=store, resume=True, progress=False)
    assert (len(resumed.cases), len(resumed.failures), resumed.incomplete) == (50, 0, None)


def test_a_judge_with_a_wrong_key_ends_it_too_and_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "runs.db"
    with OpenAIServer(Reply(text="hi"), key="right") as server:
        model = RemoteModel("openai:x", base_url=server.url)

        class Judge(Evaluator[int, str, Any]):
            async def evaluate(self, ctx: EvaluatorContext[int, str, Any]) -> bool:
                asked = Ask(messages=[{"role": "user", "content": str(ctx.output)}])
                return (await model.ask(asked)).text == "hi"

        async def task(inputs: int) -> str:
            return str(inputs)

        dataset = cases()
        dataset.add_evaluator(Judge())
        monkeypatch.setenv("OPENAI_API_KEY", "wrong")
        report = dataset.evaluate_sync(task, max_concurrency=2, store=store, progress=False)
        assert report.incomplete is not None
        assert report.incomplete.kind == "hopeless"
        assert len(report.cases) < 10
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        resumed = dataset.evaluate_sync(task, store=store, resume=True, progress=False)
    assert resumed.incomplete is None
    assert resumed.pass_rate().value == 1


@pytest.mark.parametrize("at_once", ["auto", 4])
@pytest.mark.parametrize("kind", ["openai", "anthropic", "gone", "no model"])
def test_errors_of_the_sdks_count_in_threads_too(kind: str, at_once: Any) -> None:
    with (
        OpenAIServer(Reply(text="hi"), key="right", models=["a"]) as one,
        AnthropicServer(Reply(text="hi"), key="right") as two,
    ):
        key = "right" if kind == "no model" else "wrong"
        address = _NOWHERE if kind == "gone" else one.url
        with (
            openai.OpenAI(base_url=address, api_key=key, max_retries=0) as client,
            anthropic.Anthropic(base_url=two.url, api_key=key, max_retries=0) as other,
        ):
            messages: Any = [{"role": "user", "content": "?"}]

            def task(_: int) -> Any:
                if kind == "anthropic":
                    return other.messages.create(model="m", max_tokens=3, messages=messages)
                return client.chat.completions.create(model="m", messages=messages)

            report = cases(2000).evaluate_sync(task, max_concurrency=at_once, progress=False)
    assert report.incomplete is not None
    assert report.incomplete.kind == "hopeless"
    assert len(report.failures) < 300
    expected = {"openai": "key", "anthropic": "key", "gone": "host", "no model": "model"}[kind]
    assert {failure.hopeless for failure in report.failures} == {expected}


def test_an_answer_in_between_lets_the_run_go_on() -> None:
    async def task(inputs: int) -> int:
        if inputs % HOPELESS_IN_A_ROW:
            raise ModelKeyError("not allowed to ask this model")
        return inputs

    report = cases(20).evaluate_sync(task, max_concurrency=1, progress=False)
    assert report.incomplete is None
    assert len(report.failures) == 15


def test_a_run_of_fewer_cases_comes_to_its_end() -> None:
    async def task(inputs: int) -> int:
        raise ModelKeyError("no")

    report = cases(HOPELESS_IN_A_ROW - 1).evaluate_sync(task, progress=False)
    assert report.incomplete is None
    assert len(report.failures) == HOPELESS_IN_A_ROW - 1
