"""A budget holds: what is spent never exceeds it by more than the calls in flight, nothing is judged that was cut, and a run can go on with more."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Budget, Case, Dataset, increment_eval_metric
from calipers.data.attempt import Attempt, begin
from calipers.data.budget import BudgetUse, Spent
from calipers.errors import BudgetError, InvalidOptionError
from calipers.gate import Policy, Rules, StopWhenDecided
from calipers.models.accounting import account
from calipers.models.function_model import FunctionModel
from calipers.models.model import Ask
from calipers.models.model_answer import Completion, Usage
from calipers.models.prices import Price, set_prices
from calipers.report.report import Report
from calipers.run.ledger import Ledger, reserve_call
from calipers.stores import score_again
from calipers.testing import ScriptedModel


@pytest.fixture(autouse=True)
def prices():
    """A dollar for each thousand tokens."""
    set_prices({"scripted:model": Price(input=1000.0, output=1000.0)})
    yield
    set_prices({})


def answer(ask, tokens=5):
    return Completion(text="yes", finish="stop", model="m", usage=Usage(tokens, tokens))


ASK = Ask(messages=[{"role": "user", "content": "?"}])


async def agent(calls):
    """Asks a model as often as its inputs say, for a cent each time."""
    for _ in range(calls):
        await ScriptedModel(answer).ask(ASK)
        await asyncio.sleep(0)
    return calls


def fine(output) -> bool:
    return True


async def asking(output) -> bool:
    await ScriptedModel(answer).ask(ASK)
    return True


def dataset(calls, *evaluators):
    cases = [Case(name=f"case {place}", inputs=each) for place, each in enumerate(calls)]
    return Dataset(name="calls", cases=cases, evaluators=[fine, *evaluators])


def run(data, task=agent, **options):
    return data.evaluate_sync(task, progress=False, **{"seed": 1, **options})


# ---------------------------------------------------------------------- laws


@settings(deadline=None, max_examples=60)
@given(
    calls=st.lists(st.integers(1, 9), min_size=1, max_size=40),
    budget=st.builds(
        Budget, cost=st.floats(0.01, 0.5), tokens=st.integers(10, 600), calls=st.integers(1, 60)
    ),
    judged=st.booleans(),
    at_once=st.integers(1, 20),
)
def test_a_run_stays_within_its_budget_and_keeps_only_whole_attempts(calls, budget, judged, at_once):
    report = run(dataset(calls, *([asking] if judged else [])), budget=budget, max_concurrency=at_once)
    use = report.budget
    together = use.agent + use.judges
    # A call is made while something is left, so at most those in flight go beyond; all cost the same here, so none does.
    assert together.calls <= budget.calls
    assert together.tokens < budget.tokens + 10
    assert together.cost < budget.cost + 0.01 + 1e-9
    assert all(case.metrics["requests"] == case.inputs for case in report.cases)
    assert all(set(case.assertions) == ({"fine", "asking"} if judged else {"fine"}) for case in report.cases)
    kept = sum(case.inputs + judged for case in report.cases)
    assert kept <= together.calls
    if not report.unfinished:
        assert kept == together.calls
    whole = len(report.cases) == len(calls)
    assert (report.incomplete is None) == whole
    assert whole or (report.incomplete.kind == "budget" and use.reached in {"cost", "tokens", "calls"})


@settings(deadline=None, max_examples=100)
@given(st.floats(0.5, 5.0), st.lists(st.tuples(st.integers(0, 5), st.floats(0.01, 1.0)), max_size=80))
def test_a_ledger_is_overdrawn_by_calls_in_flight_alone(limit, steps):
    ledger = Ledger(Budget(cost=limit))
    ledger.begin({}, asks_models=False)
    flying: list[float] = []
    spent = worst = 0.0
    ended = 0
    attempt = Attempt(Case(inputs=1), 1, "a", "a", 1, 0, {}, {})

    def spend():
        nonlocal spent, worst, ended
        begin(attempt)
        with ledger.opened(attempt, admitted=False) as open_account:
            releases = []
            for which, cost in steps:
                if which and flying:  # one of those in flight ends
                    paid = flying.pop(which % len(flying))
                    open_account.note("m", {"cost": paid, "input_tokens": 1}, cached=False)
                    releases.pop()()
                    spent += paid
                    ended += 1
                    continue
                try:
                    releases.append(reserve_call())
                except BudgetError:
                    assert spent + sum(flying) >= limit * 0.1 or spent >= limit
                    assert open_account.refused
                else:
                    assert spent < limit
                    flying.append(cost)
                    worst = max(worst, sum(flying))
            assert ledger.use().agent.cost == pytest.approx(spent)

    from contextvars import copy_context

    copy_context().run(spend)
    assert spent <= limit + worst
    average = spent / ended if ended else 0.0
    assert ledger.use().agent.cost == pytest.approx(spent + average * len(flying)), "they may be paid for"


def test_a_ledger_waits_for_attempts_in_flight_before_it_ends():
    ledger = Ledger(Budget(calls=10))
    ledger.begin({}, asks_models=True)
    assert ledger.admit() is True
    assert ledger.admit() is None, "the first attempt tells what one costs, so it runs alone"
    attempt = Attempt(Case(inputs=1), 1, "a", "a", 1, 0, {}, {})
    with ledger.opened(attempt, admitted=True) as open_account:
        record = run(dataset([1]), lambda inputs: increment_eval_metric("requests", 4)).cases[0]
        open_account.settle(record, made=True, asked=None)
    assert ledger.use().agent == Spent(calls=4)
    assert ledger.admit() is True
    assert ledger.admit() is None, "two of four would go beyond ten, if they differ"


# ---------------------------------------------------------------------- runs


@pytest.mark.parametrize("is_async", [True, False])
def test_both_kinds_of_workers_keep_to_it(is_async):
    def blocking(calls):
        for _ in range(calls):
            asyncio.run(ScriptedModel(answer).ask(ASK))
        return calls

    report = run(dataset([2] * 30), agent if is_async else blocking, budget=Budget(calls=21))
    assert report.incomplete.kind == "budget"
    assert str(report.incomplete).startswith(
        "ended at its budget (20 of 21 calls, and an attempt takes 2 calls) after 10 of 30"
    )
    assert (len(report.cases), report.unfinished, report.budget.agent.calls) == (10, 0, 20)


def test_an_agent_that_swallows_the_refusal_is_given_up_and_not_judged():
    async def stubborn(calls):
        try:
            return await agent(calls)
        except Exception:
            return "a fallback"

    report = run(dataset([1, 1, 50, 1]), stubborn, budget=Budget(calls=20), max_concurrency=1)
    assert {case.output for case in report.cases} == {1}
    assert report.unfinished == 1
    assert not report.failures
    assert report.incomplete.kind == "budget"


def test_a_retry_does_not_ask_again_what_the_budget_refused():
    report = run(
        dataset([50]),
        budget=Budget(calls=20),
        retry={"attempts": 5, "backoff": 0},
        retry_evaluators={"attempts": 3},
    )
    assert (report.budget.agent.calls, report.unfinished, report.failures) == (20, 1, [])


def test_a_function_that_is_a_model_is_refused_as_well():
    async def answering(messages):
        return answer(messages)

    model = FunctionModel(answering, name="scripted:model")

    async def ask_often(inputs):
        for _ in range(20):
            await model.ask(ASK)

    report = run(dataset([1] * 50), ask_often, budget=Budget(calls=30), max_concurrency=1)
    assert report.budget.agent.calls == 20, "a second attempt would go beyond"
    report = run(dataset([1]), ask_often, budget=Budget(calls=5))
    assert (report.budget.agent.calls, report.unfinished) == (5, 1)


def test_judges_have_a_budget_of_their_own():
    report = run(dataset([1] * 50, asking), budget=Budget(cost=10.0, judges=Budget(calls=7)))
    assert (report.budget.side, report.budget.reached) == ("judges", "calls")
    assert report.budget.judges.calls == 7
    assert len(report.cases) + report.unfinished == report.budget.agent.calls
    assert "for judges (7 of 7 calls)" in str(report.incomplete)


def test_what_a_task_counts_itself_is_settled_when_it_ends():
    def counting(inputs):
        increment_eval_metric("cost", 0.25)
        return inputs

    report = run(dataset([1] * 40), counting, budget=Budget(cost=2.0))
    assert report.budget.agent.cost == pytest.approx(2.0)
    assert len(report.cases) == 8


@pytest.mark.parametrize(
    ("budget", "task", "evaluators", "said"),
    [
        (Budget(cost=1), lambda inputs: inputs, [], "no cost of the agent was seen in 3 attempts"),
        (Budget(judges=Budget(calls=5)), agent, [], "no call of a model of any evaluator was seen"),
        (Budget(tokens=10), None, [], "a call of other:model did not tell its tokens"),
        (Budget(cost=1), None, [], "a call of other:model did not tell its tokens"),
        (Budget(cost=1), "unpriced", [], "the price of other:model is not known"),
    ],
)
def test_a_limit_that_cannot_be_kept_ends_the_run_early_and_says_why(budget, task, evaluators, said):
    async def untold(inputs):
        usage = Usage(1, 1) if task == "unpriced" else None
        account(Completion(text="x", finish="stop", usage=usage), "other:model")
        return inputs

    asked = task if callable(task) else untold
    report = run(dataset([1] * 200, *evaluators), asked, budget=budget, max_concurrency=5)
    assert said in str(report.incomplete)
    assert report.incomplete.kind == "budget"
    assert report.budget.reached is None
    assert len(report.cases) <= 10


def test_time_is_reserved_as_well():
    async def slow(inputs):
        await asyncio.sleep(0.05)
        return inputs

    async def stuck(inputs):
        await asyncio.sleep(60)

    report = run(dataset([1] * 500), slow, budget=Budget(seconds=0.4), max_concurrency=2)
    assert (report.budget.reached, report.incomplete.kind) == ("seconds", "budget")
    given_up = run(dataset([1] * 3), stuck, budget=Budget(seconds=0.1))
    assert (given_up.budget.reached, given_up.unfinished, given_up.incomplete.kind) == (
        "seconds",
        3,
        "budget",
    )


def test_a_stored_run_goes_on_with_more_and_not_with_the_same(tmp_path):
    data, store = dataset([1] * 30), tmp_path / "runs.db"
    first = run(data, store=store, budget=Budget(calls=10))
    run_id = first.reuse.run
    assert len(first.cases) == 10
    same = run(data, store=store, budget=Budget(calls=10), resume=run_id)
    assert (len(same.cases), same.incomplete.kind, same.reuse.attempts_made) == (10, "budget", 0)
    more = run(data, store=store, budget=Budget(calls=25), resume=run_id)
    assert (len(more.cases), more.reuse.attempts_made, more.budget.agent.calls) == (25, 15, 25)
    whole = run(data, store=store, resume=run_id)
    assert (len(whole.cases), whole.incomplete, whole.budget) == (30, None, None)


def test_what_was_given_up_counts_when_the_run_goes_on(tmp_path):
    data, store = dataset([9]), tmp_path / "runs.db"
    first = run(data, store=store, budget=Budget(calls=5))
    assert (len(first.cases), first.unfinished) == (0, 1)
    again = run(data, store=store, budget=Budget(calls=12), resume=first.reuse.run)
    assert again.budget.agent.calls == 12, "five of them before"


def test_scoring_again_has_a_budget_for_its_round(tmp_path):
    store = tmp_path / "runs.db"
    run(dataset([1] * 20), store=store)
    report = score_again(store, evaluators=[asking], budget=Budget(calls=6))
    assert (report.incomplete.kind, report.incomplete.during) == ("budget", "scoring")
    assert report.budget.judges.calls == 6
    assert score_again(store, evaluators=[asking], budget=Budget(calls=60)).incomplete is None


def test_it_goes_together_with_a_rule_that_may_end_the_run():
    rule = StopWhenDecided(Policy(evaluators={"fine": Rules(at_least=0.9)}))
    report = run(dataset([1] * 200), stop_when=rule, budget=Budget(calls=5))
    assert report.incomplete.kind == "budget"
    assert report.stopping.why is None


def test_the_report_says_what_it_can_still_claim_and_remembers_the_budget():
    report = run(dataset([1] * 40), budget=Budget(calls=20, seconds=600))
    text = report.render(width=200)
    assert "INCOMPLETE: ended at its budget (20 of 20 calls) after 20 of 40 attempts" in text
    assert "in a random order, so the numbers below hold for the whole dataset" in text
    assert "20 of 20 calls" in text.split("Budget")[1]
    assert Report.from_dict(report.to_dict()).budget == report.budget
    lazy = Dataset(cases=iter([Case(inputs=1)] * 40), evaluators=[fine])
    text = run(lazy, budget=Budget(calls=20)).render(width=200)
    assert "the numbers below are about its first part alone" in text


def test_a_call_outside_of_a_run_has_no_budget():
    reserve_call()()
    assert asyncio.run(ScriptedModel(answer).ask(ASK)).text == "yes"


def test_a_budget_says_what_is_wrong_with_it():
    for wrong in (
        {},
        {"cost": 0},
        {"tokens": 1.5},
        {"judges": 3},
        {"judges": Budget(seconds=1)},
        {"seconds": -1},
    ):
        with pytest.raises(InvalidOptionError, match="Budget"):
            Budget(**wrong)
    with pytest.raises(InvalidOptionError, match="budget must be a Budget"):
        run(dataset([1]), budget=5)


def test_what_is_left_of_a_budget():
    budget = Budget(cost=5.0, seconds=60, judges=Budget(calls=10))
    use = BudgetUse(budget=budget, agent=Spent(cost=1.0), judges=Spent(cost=0.5, calls=4), seconds=20.0)
    assert use.left(budget) == Budget(cost=3.5, seconds=40.0, judges=Budget(calls=6))
    assert use.left(Budget(cost=1.5)) is None
