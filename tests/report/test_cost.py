"""What a run cost, through stores, reuse, resuming and scoring again; in comparisons, gates and plans."""

from collections.abc import Iterator
from typing import Any

import pytest

from calipers import Case, Dataset
from calipers.comparison import compare_reports
from calipers.gate import Policy, judge_run, plan_from_pilot
from calipers.gate.policy import Growth
from calipers.models import Completion, Usage
from calipers.models.accounting import account
from calipers.stores import MemoryStore, score_again
from calipers.views.plan import plan_text
from calipers.views.run_table import run_table

ONCE = 0.0025
"""Dollars for a call of 1,000 tokens."""


def ask(tokens: float = 1000, *, model: str = "gpt-4o") -> None:
    account(
        Completion(text="yes", finish="stop", usage=Usage(input=int(tokens), output=0)), f"openai:{model}"
    )


def agent(number: int) -> int:
    ask()
    if number == 9:
        raise ValueError
    return number


def data(*evaluators: Any, cases: int = 10) -> Dataset:
    return Dataset(
        name="d", cases=[Case(name=f"c{n}", inputs=n) for n in range(cases)], evaluators=[*evaluators]
    )


def paid(report: Any) -> tuple[Any, Any]:
    costs = report.costs()
    return tuple(None if one is None else pytest.approx(one.total) for one in (costs.agent, costs.judges))


def judge(output: int) -> dict[str, Any]:
    ask()
    return {"good": output % 3 > 0, "grade": output / 10}


def second(output: int) -> bool:
    ask(2000)
    return True


def options(store: Any, **more: Any) -> dict[str, Any]:
    return {"store": store, "progress": False, **more}


# ---------------------------------------------------------------------- stores


@pytest.fixture
def memory_store() -> Iterator[MemoryStore]:
    with MemoryStore() as store:
        yield store


def test_a_stored_run_costs_what_the_run_cost(memory_store):
    report = data(judge).evaluate_sync(agent, **options(memory_store))
    stored = memory_store.report(report.reuse.run)
    assert paid(report) == (10 * ONCE, 9 * ONCE)
    assert stored.costs() == report.costs()
    assert stored.prices == report.prices
    assert [failure.metrics["cost"] for failure in stored.failures] == [ONCE]


def test_what_is_reused_was_paid_before(memory_store):
    data(judge).evaluate_sync(agent, **options(memory_store))
    again = data(judge, second).evaluate_sync(agent, **options(memory_store, reuse=True))
    # The failed attempt is made again, and all others are judged by the second evaluator alone.
    assert paid(again) == (10 * ONCE, 9 * ONCE + 9 * 2 * ONCE)
    assert again.reuse.agent_cost_reused == pytest.approx(9 * ONCE)
    assert again.reuse.judge_cost_reused == pytest.approx(9 * ONCE)
    shown = again.render()
    assert "$0.025 in all" in shown
    assert "$0.0225 of it paid before" in shown
    assert "judge $0.0225" in shown


def test_a_run_that_is_resumed_paid_for_its_first_part_before(memory_store):
    first = data(judge, cases=9).evaluate_sync(agent, **options(memory_store))
    again = data(judge, cases=9).evaluate_sync(agent, **options(memory_store, resume=first.reuse.run))
    assert paid(again) == (9 * ONCE, 9 * ONCE)
    assert (again.reuse.agent_cost_reused, again.reuse.judge_cost_reused) == (
        pytest.approx(9 * ONCE),
        pytest.approx(9 * ONCE),
    )


def test_scoring_again_pays_for_the_new_judgements_alone(memory_store):
    run = data(judge, cases=5).evaluate_sync(agent, **options(memory_store)).reuse.run
    for keep in ("all", "failed"):
        again = score_again(memory_store, run, evaluators=[second], keep=keep)
        assert paid(again) == (5 * ONCE, 5 * ONCE + 5 * 2 * ONCE)
    assert again.reuse.judge_cost_reused == pytest.approx(15 * ONCE)
    assert score_again(memory_store, run, drop=["second"]).costs().judges.total == pytest.approx(5 * ONCE)


# ---------------------------------------------------------------------- decisions


def test_a_comparison_has_the_cost_of_the_agent_and_of_its_judges_apart():
    before = data(judge, cases=8).evaluate_sync(agent)

    def dearer(number: int) -> int:
        ask(1500 + 10 * number)
        return number

    after = data(judge, second, cases=8).evaluate_sync(dearer)
    changes = {change.name: change for change in compare_reports(before, after).measures}
    assert changes["cost"].difference == pytest.approx(0.535)
    assert changes["cost"].outcome == "worse"
    assert changes["judge_cost"].difference == pytest.approx(2)
    assert "unpriced_calls" not in changes


def test_a_comparison_says_which_calls_a_cost_lacks():
    def unknown(number: int) -> int:
        ask()
        ask(model="gpt-99")
        return number

    compared = compare_reports(data(judge).evaluate_sync(agent), data(judge).evaluate_sync(unknown))
    [problem] = [problem for problem in compared.warnings if "known price" in problem]
    assert problem.startswith("the metric 'cost' of the candidate lacks")


def test_a_gate_holds_the_cost_of_judges_to_a_limit():
    def varied(output: int) -> bool:
        ask(1000 + 10 * output)
        return True

    def cheap(number: int) -> int:
        ask(500 + number)
        return number

    report = data(varied, cases=8).evaluate_sync(cheap)

    def verdict(**limits: Growth) -> Any:
        return judge_run(report, Policy(metrics=limits)).outcome

    assert verdict(judge_cost=Growth(at_most=0.01)) == "PASS"
    assert verdict(judge_cost=Growth(at_most=0.001)) == "FAIL"
    assert verdict(cost=Growth(at_most=0.002)) == "PASS"


def test_a_gate_decides_nothing_by_a_cost_that_lacks_calls():
    def unknown(number: int) -> int:
        ask()
        ask(model="gpt-99")
        return number

    report = data(judge, cases=8).evaluate_sync(unknown)
    verdict = judge_run(report, Policy(metrics={"cost": Growth(at_most=1)}))
    assert verdict.outcome == "INCONCLUSIVE"
    assert any(
        "8 model calls of this run have no known price" in finding.said for finding in verdict.findings
    )


def test_a_cost_of_which_no_price_is_known_is_not_missing_but_unknown():
    def unpriced(output: int) -> bool:
        ask(model="gpt-99")
        return True

    before, after = (data(each, cases=8).evaluate_sync(agent) for each in (judge, unpriced))
    verdict = judge_run(after, Policy(metrics={"judge_cost": Growth(at_most=1)}))
    assert verdict.outcome == "INCONCLUSIVE"
    assert any(
        problem.endswith("so it is not compared: 8 model calls without a known price")
        for problem in compare_reports(before, after).warnings
    )


def test_a_plan_says_what_agent_and_judges_will_cost():
    def some(output: int) -> bool:
        if output < 5:
            ask(model="gpt-99" if output == 0 else "gpt-4o")
        return output % 3 > 0

    pilot = data(some).evaluate_sync(agent)
    plan = plan_from_pilot(pilot, effect=0.2)
    row = plan.rows[0]
    assert row.costs["cost"] == pytest.approx(row.calls * ONCE)
    assert row.costs["judge_cost"] == pytest.approx(row.calls * ONCE * 4 / 10)
    assert plan.unpriced_calls == 1
    assert "It is at least that: 1 model call of the pilot had no known price." in plan_text(plan)


def test_tables_have_a_column_for_each():
    report = data(judge, cases=4).evaluate_sync(agent)
    assert run_table([report]).metrics == ("cost", "judge_cost")
    [row, *_] = report.to_rows()
    assert (row["metrics.cost"], row["metrics.judge_cost"]) == (pytest.approx(ONCE), pytest.approx(ONCE))
