"""Judges that ask real servers on loopback: the wire, the cache of the store, the cost, a key that is wrong."""

import asyncio
from dataclasses import replace

import msgspec
import pytest

from calipers import Case, Dataset, Trace
from calipers.agents import TestCase
from calipers.agents.evaluators.composite import context_of
from calipers.comparison import compare_reports
from calipers.errors import JudgeCanaryError, ModelFilteredError, ModelKeyError, UnreadableAnswerError
from calipers.gate import Growth, Policy, judge_run
from calipers.judges import Correct, LLMJudge
from calipers.judges.fence import seal_in
from calipers.models import RemoteModel, using_cache
from calipers.stats.number_text import dollars
from calipers.stores import MemoryStore, open_store, score_again
from calipers.stores.stored_answers import StoredAnswers
from calipers.testing import AnthropicServer, GeminiServer, OpenAIServer, Reply, judge_replies, make_context

YES = {"reason": "it is", "pass": True}
SERVERS = {
    "openai": OpenAIServer,
    "openai-responses": OpenAIServer,
    "anthropic": AnthropicServer,
    "gemini": GeminiServer,
}


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "key")


@pytest.mark.parametrize("provider", SERVERS)
def test_every_provider_gives_a_judge_its_verdict_and_what_it_cost(provider):
    with SERVERS[provider](judge_replies(YES), models=["judge-1"]) as server:
        model = RemoteModel(f"{provider}:judge-1", base_url=server.url)
        dataset = Dataset(
            name="d", cases=[Case(name="a", inputs="x")], evaluators=[LLMJudge("is x", model=model)]
        )
        report = dataset.evaluate_sync(str, progress=False)
    result = report.cases[0].assertions["LLMJudge"]
    assert result.value is True
    assert result.reason == "it is"
    assert result.metadata["metrics"]["requests"] == 1
    assert result.metadata["metrics"]["input_tokens"] > 0


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(text="It passes."), UnreadableAnswerError),
        (Reply(text='{"reason": "so', finish="length"), UnreadableAnswerError),
        (Reply(refusal="I cannot judge this."), ModelFilteredError),
        (Reply(text=None, finish="filtered"), ModelFilteredError),
    ],
)
def test_what_a_server_answers_instead_of_a_verdict_is_a_failure(reply, error):
    with OpenAIServer(reply) as server:
        judge = LLMJudge("is x", model=RemoteModel("openai:judge-1", base_url=server.url))
        with pytest.raises(error):
            asyncio.run(judge.evaluate(make_context("x")))


def test_the_report_shows_what_a_model_said_instead_of_a_verdict_and_repair_repeats_it_once():
    with OpenAIServer(Reply(text="I would say it passes.")) as server:
        judge = LLMJudge("is x", model=RemoteModel("openai:judge-1", base_url=server.url))
        dataset = Dataset(
            name="d", cases=[Case(name=f"{n}", inputs=f"x{n}") for n in range(3)], evaluators=[judge]
        )
        report = dataset.evaluate_sync(str, progress=False)
    (failure,) = report.cases[0].evaluator_failures
    assert failure.error_message.endswith("It said: 'I would say it passes.'")
    assert "I would say it passes" in report.render(width=200)
    assert "It said" not in server.requests[-1].json["messages"][-1]["content"]


def test_a_wrong_key_ends_the_run_before_the_task_is_called():
    called = []
    with OpenAIServer(judge_replies(YES), key="another", models=["judge-1"]) as server:
        judge = LLMJudge("is x", model=RemoteModel("openai:judge-1", base_url=server.url))
        dataset = Dataset(name="d", cases=[Case(name="a", inputs="x")], evaluators=[judge])
        with pytest.raises(ModelKeyError):
            dataset.evaluate_sync(called.append, progress=False)
    assert called == []


def test_the_same_question_is_asked_once_in_a_store_with_the_same_fence_and_a_repeat_is_asked_anew(tmp_path):
    with OpenAIServer(judge_replies(YES)) as server:
        judge = Correct(model=RemoteModel("openai:judge-1", base_url=server.url))
        ctx = make_context("x", inputs="x?", expected_output="x")

        async def judged(repeat):
            schema = {
                "type": "object",
                "properties": {"pass": {"type": "boolean"}},
                "additionalProperties": True,
            }
            return await judge.ask(ctx, "Is it so?", schema, repeat=repeat)

        for _ in range(2):  # as two processes would
            with open_store(str(tmp_path / "runs.db")) as store, using_cache(StoredAnswers(store)):
                assert asyncio.run(judge.evaluate(ctx)).value is True
                asyncio.run(judged(7))
        assert len(server.requests) == 2
        asyncio.run(judge.evaluate(ctx))
        with open_store(str(tmp_path / "runs.db")) as store, using_cache(StoredAnswers(store)):
            trace = Trace(input_text="x?", output_text="x")
            for _ in range(2):  # a trace by itself does not tell which repeat it is
                asyncio.run(
                    judge.evaluate(
                        context_of(TestCase(name="a", input_text="x?", expected_output="x"), trace)
                    )
                )
        assert len(server.requests) == 5
        with open_store(str(tmp_path / "other.db")) as store, using_cache(StoredAnswers(store)):
            asyncio.run(judge.evaluate(ctx))
        assert len(server.requests) == 6
    seals = [seal_in(each.json["messages"]) for each in server.requests]
    assert len(set(seals)) == 5, "another store, and no store, have other secrets"


def test_judging_costs_the_same_whether_its_answers_are_kept_or_fresh():
    with OpenAIServer(judge_replies(YES), models=["gpt-4o"]) as server, MemoryStore() as store:
        judge = LLMJudge("is x", model=RemoteModel("openai:gpt-4o", base_url=server.url))
        dataset = Dataset(
            name="d", cases=[Case(name=f"{n}", inputs=f"x{n}") for n in range(6)], evaluators=[judge]
        )
        with using_cache(StoredAnswers(store)):
            fresh, kept, reused = (
                dataset.evaluate_sync(str, progress=False, store=store, reuse=reuse)
                for reuse in (False, False, True)
            )
            dataset.add_evaluator(LLMJudge("is x", model=judge.model, evaluation_name="same question"))
            scored = score_again(store, kept.reuse.run, evaluators=dataset.evaluators[1:])
    assert len(server.requests) == 6
    costs = fresh.costs().judges
    assert costs.total > 0
    assert costs.paid_before == 0
    assert "paid before" not in fresh.render()
    assert kept.costs().judges == msgspec.structs.replace(costs, paid_before=pytest.approx(costs.total))
    before = f"{dollars(costs.total)} of it paid before"
    assert before in kept.render()
    assert before in reused.render()
    assert f"{dollars(2 * costs.total)} of it paid before" in scored.render()
    (cost,) = (change for change in compare_reports(fresh, kept).measures if change.name == "judge_cost")
    assert cost.outcome == "identical"
    policy = Policy(metrics={"judge_cost": Growth(at_most=1)})
    assert judge_run(kept, policy).outcome == "PASS"


def test_a_result_says_that_another_model_answered_also_from_the_cache(tmp_path):
    says = judge_replies(YES)

    def by_another(received):
        return replace(says(received), model="surprise-1")

    with OpenAIServer(by_another, models=["judge-1"]) as server:
        model = RemoteModel("openai:judge-1", base_url=server.url)
        judge = LLMJudge("is x", model=model)
        dataset = Dataset(name="d", cases=[Case(name="a", inputs="x")], evaluators=[judge])
        with open_store(str(tmp_path / "s.db")) as store, using_cache(StoredAnswers(store)):
            for _ in range(2):
                (case,) = dataset.evaluate_sync(str, progress=False).cases
                told = case.assertions["LLMJudge"].metadata["attributes"]["other_model"]
                assert told == "'judge-1' was asked, and 'surprise-1' answered"


def test_an_answer_without_the_seal_is_not_kept_so_the_next_run_asks_again():
    dictated = Reply(text='{"reason": "so", "pass": true, "seal": "00000000"}')
    says = judge_replies(YES)
    answers = [lambda _: dictated, says]
    with OpenAIServer(lambda received: answers[len(server.requests) > 1](received)) as server:
        judge = LLMJudge("is x", model=RemoteModel("openai:judge-1", base_url=server.url))
        with MemoryStore() as store, using_cache(StoredAnswers(store)):
            with pytest.raises(JudgeCanaryError):
                asyncio.run(judge.evaluate(make_context("x")))
            for _ in range(2):
                assert asyncio.run(judge.evaluate(make_context("x"))).value is True
    assert len(server.requests) == 2
