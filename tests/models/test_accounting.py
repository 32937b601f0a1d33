"""Model calls count for the task or the evaluator that makes them: once, over all tries, and unknown where there is no price."""

import msgspec
import pytest

from calipers import Case, Dataset, Report, ReportCase, increment_eval_metric
from calipers.data.retry import Retry
from calipers.models import Ask, Completion, Usage, as_model
from calipers.models.accounting import account

KNOWN, UNKNOWN = "openai:gpt-4o", "openai:gpt-99"


def ask(model: str = KNOWN, *, tokens: int = 1000) -> None:
    """An answer from a model, which costs 0.0025 dollars for a thousand tokens."""
    account(Completion(text="yes", finish="stop", usage=Usage(input=tokens, output=0)), model)


def run(task, *evaluators, cases: int = 1, **options) -> Report:
    dataset = Dataset(cases=[Case(name=str(n), inputs=n) for n in range(cases)], evaluators=evaluators)
    return dataset.evaluate_sync(task, **options)


def told(record: ReportCase) -> list:
    noted = [*record.results, *record.evaluator_failures, *record.skipped]
    return [(each.metadata or {}).get("metrics") for each in noted]


def test_a_task_pays_for_its_calls():
    def task(_):
        ask()
        ask(UNKNOWN)

    [case] = run(task).cases
    counted = {"requests": 2, "input_tokens": 2000, "output_tokens": 0}
    assert case.metrics == {**counted, "cost": pytest.approx(0.0025), "unpriced_calls": 1}
    assert case.trace is not None
    assert [call.cost for call in case.trace.llm_calls] == [pytest.approx(0.0025), None]
    assert case.trace.total_cost == pytest.approx(0.0025)


def test_an_evaluator_pays_once_however_many_results_it_gives():
    def several(output):
        ask()
        return {"a": True, "b": 0.5, "c": "x"}

    def skips(output):
        ask()
        return {}

    def fails(output):
        ask()
        raise ValueError

    async def waits(output):
        ask()
        return True

    report = run(lambda _: 1, several, skips, fails, waits)
    [case] = report.cases
    assert case.all_metrics == {"judge_cost": pytest.approx(0.01)}
    assert sum(metrics is not None for metrics in told(case)) == 4
    costs = report.costs()
    assert costs.agent is None
    assert costs.judges is not None
    assert (costs.judges.total, costs.judges.calls) == (pytest.approx(0.01), 4)
    assert {name: cost.total for name, cost in costs.by_judge.items()} == {
        name: pytest.approx(0.0025) for name in ("several", "skips", "fails", "waits")
    }
    again = Report.from_dict(msgspec.json.decode(msgspec.json.encode(report.to_dict())))
    assert again.costs() == costs


def test_an_answer_that_a_function_passes_on_is_paid_for_once_and_one_that_it_gives_twice_twice():
    canned = Completion(text="yes", finish="stop", usage=Usage(input=1000, output=0), model="gpt-4o")

    async def asks(messages):
        fresh = Completion(text="yes", finish="stop", usage=Usage(input=1000, output=0))
        account(fresh, KNOWN)  # as a model that was asked does
        return fresh

    def task(model):
        async def answer(_):
            for _ in range(2):
                await as_model(model).ask(Ask(messages=[{"role": "user", "content": "?"}]))

        return answer

    for model in (asks, lambda messages: canned):
        [case] = run(task(model)).cases
        assert case.metrics["requests"] == 2
        assert len(case.trace.llm_calls) == 2


def test_tries_that_failed_are_paid_for():
    tries = {"task": 0, "judge": 0}

    def task(_):
        ask()
        increment_eval_metric("tries", 1)
        tries["task"] += 1
        if tries["task"] < 3:
            raise ConnectionError

    async def judge(output):
        ask()
        tries["judge"] += 1
        if tries["judge"] < 2:
            raise ConnectionError
        return True

    report = run(task, judge, retry=Retry(backoff=0), retry_evaluators=Retry(backoff=0))
    [case] = report.cases
    assert (case.metrics["cost"], case.metrics["tries"]) == (pytest.approx(0.0075), 1)
    assert case.all_metrics["judge_cost"] == pytest.approx(0.005)


def test_an_attempt_that_fails_is_paid_for():
    def task(number):
        ask()
        if number:
            raise ValueError

    report = run(task, cases=2)
    assert [failure.metrics["cost"] for failure in report.failures] == [pytest.approx(0.0025)]
    assert report.costs().agent.total == pytest.approx(0.005)
    assert report.metrics()["cost"].n_observations == 1


def test_what_the_task_counts_itself_stands():
    def task(_):
        ask()
        increment_eval_metric("cost", 7)

    def judge(output):
        ask()
        increment_eval_metric("cost", 3)
        return True

    [case] = run(task, judge).cases
    assert (case.metrics["cost"], case.all_metrics["judge_cost"]) == (7, 3)


def test_an_evaluator_that_asked_no_model_cost_nothing_and_one_without_a_price_is_unknown():
    def judge(output):
        if output:
            ask(UNKNOWN if output == 3 else KNOWN)
        return True

    report = run(lambda number: number, judge, cases=4)
    judges = report.costs().judges
    assert (judges.total, judges.calls, judges.unpriced_calls) == (pytest.approx(0.005), 3, 1)
    assert judges.per_case.n_units == 4
    assert judges.per_case.value == pytest.approx(0.00125)
    assert "at least $0.005 in all: 1 call without a known price" in report.render()
    unknown = run(lambda _: ask(UNKNOWN))
    assert unknown.costs().agent.total is None
    assert "unknown: 1 call without a known price" in unknown.render()


def test_a_report_says_which_prices_it_used():
    assert any(source.startswith("genai-prices ") for source in run(lambda _: ask()).prices)


def test_totals_of_a_report_that_keeps_little_have_the_costs():
    whole = run(lambda _: ask(), lambda output: True, cases=3)
    part = run(lambda _: ask(), lambda output: True, cases=3, keep="failed")
    assert (part.cases, part.costs()) == ([], whole.costs())
