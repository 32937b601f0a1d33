"""Limits and budgets hold across workers: what tasks call in other processes waits, and pays, as it does in the run's own."""

import os

import calling_tasks
import pytest

import calipers
from calipers import Budget, Case, Dataset, known
from calipers.models import Price, set_prices
from calipers.testing import OpenAIServer, RateLimit, Reply

posix = pytest.mark.skipif(os.name != "posix", reason="processes are ended otherwise there")
SLOW = Reply(text="four", delay=0.02)


def cases(inputs, *evaluators):
    made = [Case(name=str(number), inputs=each) for number, each in enumerate(inputs)]
    return Dataset(name="calls", cases=made, evaluators=evaluators)


def most_at_once(report):
    """The largest number of attempts that were inside of their limit at the same time."""
    times = [(case.attributes["began"], case.attributes["ended"]) for case in report.cases]
    return max(sum(began <= start < ended for began, ended in times) for start, _ in times)


@pytest.mark.parametrize("task", [calling_tasks.ask, calling_tasks.ask_async])
def test_requests_of_an_sdk_in_several_processes_keep_to_one_limit(engine, task):
    limit = RateLimit(20, seconds=0.5)
    with OpenAIServer(SLOW, limit=limit) as server:
        report = cases([server.url] * 60).evaluate_sync(
            task, engine=engine, max_concurrency="auto", progress=False
        )
    assert [case.output for case in report.cases] == ["four"] * 60, report.failures[:1]
    (use,) = report.limits
    assert use.name == f"127.0.0.1:{server.port}"
    assert (use.answered, use.refused) == (limit.taken, limit.refused)
    assert use.told is not None
    assert limit.refused <= limit.taken // 4


@pytest.mark.parametrize("task", [calling_tasks.search, calling_tasks.search_async])
def test_a_limit_of_ones_own_holds_in_all_processes_together(engine, task):
    report = cases([(3, 0.02)] * 30).evaluate_sync(task, engine=engine, max_concurrency=12, progress=False)
    assert not report.failures
    assert len({case.output for case in report.cases}) == 2
    assert most_at_once(report) <= 3
    (use,) = report.limits
    assert (use.name, use.answered, use.at_most, use.most_in_flight) == ("search", 30, 3, 3)


def test_judges_here_and_tasks_elsewhere_share_a_limit(engine):
    async def searching(output) -> bool:
        async with calipers.limit("search"):
            return True

    data = cases([(2, 0.001)] * 20, searching)
    report = data.evaluate_sync(calling_tasks.search_async, engine=engine, progress=False)
    (use,) = report.limits
    assert (use.answered, use.most_in_flight) == (40, 2)


@pytest.mark.parametrize("task", [calling_tasks.search, calling_tasks.search_async])
def test_waiting_for_a_limit_is_not_the_time_of_an_attempt_elsewhere(engine, task):
    report = cases([(1, 0.2)] * 12).evaluate_sync(
        task, engine=engine, max_concurrency=12, task_timeout=1.5, progress=False
    )
    assert not report.failures
    assert most_at_once(report) == 1
    assert max(case.task_duration for case in report.cases) < 1.5 < known(report.duration)


def test_two_numbers_for_one_limit_are_refused_elsewhere_too(engine):
    report = cases([(1, 0.001), (2, 0.001)]).evaluate_sync(
        calling_tasks.search, engine=engine, max_concurrency=2, progress=False
    )
    (failure,) = report.failures
    assert failure.error_type == "InvalidOptionError"
    assert "the limit 'search' has at_most=" in failure.error_message


@posix
def test_a_worker_that_dies_gives_its_places_back(engine, tmp_path):
    report = cases([str(tmp_path / "killed")] * 20).evaluate_sync(
        calling_tasks.search_and_end_process, engine=engine, progress=False
    )
    assert [case.output for case in report.cases] == [True] * 20
    (use,) = report.limits
    assert use.answered == 20


# ---------------------------------------------------------------------- budgets


class Counting:
    """Answers of a server, which counts them."""

    def __init__(self):
        self.calls = 0

    def __call__(self, _):
        self.calls += 1
        return Reply(text="four", delay=0.003)


@pytest.mark.parametrize("calls", [7, 30])
@pytest.mark.parametrize(
    "task", [calling_tasks.ask_often, calling_tasks.ask_often_async, calling_tasks.ask_at_once]
)
def test_a_budget_of_calls_is_not_exceeded_by_workers(engine, task, calls):
    counting = Counting()
    with OpenAIServer(counting) as server:
        report = cases([(server.url, 1 + number % 5) for number in range(40)]).evaluate_sync(
            task, engine=engine, max_concurrency=8, budget=Budget(calls=calls), progress=False
        )
    spent = known(report.budget).agent.calls
    assert counting.calls <= spent <= calls
    assert spent >= sum(case.output for case in report.cases)
    assert known(report.incomplete).kind == "budget"
    assert not report.failures, "attempts that were refused a call are given up"


def test_what_workers_spend_is_settled_call_by_call(engine):
    set_prices({"openai:m": Price(input=1000.0, output=1000.0)})
    counting = Counting()
    try:
        with OpenAIServer(counting) as server:
            report = cases([(server.url, 50)] * 4).evaluate_sync(
                calling_tasks.ask_often_async,
                engine=engine,
                max_concurrency=4,
                budget=Budget(tokens=400, agent=Budget(calls=1000)),
                progress=False,
            )
    finally:
        set_prices({})
    use = known(report.budget)
    assert use.reached == "tokens"
    each = use.agent.tokens / use.agent.calls
    assert 400 <= use.agent.tokens <= 400 + 4 * each, "no more than the calls in flight beyond it"
    assert use.agent.calls == counting.calls


def test_a_budget_that_is_large_enough_changes_nothing(engine):
    with OpenAIServer(SLOW) as server:
        data = cases([(server.url, 2)] * 12)
        plain = data.evaluate_sync(calling_tasks.ask_often, engine=engine, progress=False)
        kept = data.evaluate_sync(
            calling_tasks.ask_often, engine=engine, budget=Budget(calls=1000), progress=False
        )
    assert kept.incomplete is None
    assert sorted(case.name for case in kept.cases) == sorted(case.name for case in plain.cases)
    assert known(kept.budget).agent.calls == 24
    assert [case.metrics["requests"] for case in kept.cases] == [2] * 12


@posix
def test_calls_of_a_worker_that_died_count(engine, tmp_path):
    report = cases([(str(tmp_path / "killed"), number) for number in range(6)]).evaluate_sync(
        calling_tasks.pay_and_end_process,
        engine=engine,
        max_concurrency=2,
        budget=Budget(calls=1000),
        progress=False,
    )
    assert [case.output for case in report.cases] == [True] * 6
    assert [case.metrics["requests"] for case in report.cases] == [2] * 6
    spent = known(report.budget).agent.calls
    assert 14 <= spent <= 16, (
        "the twelve of the attempts, the two of the one that was lost, and those beside it"
    )
