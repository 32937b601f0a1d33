"""What a run will cost, by a pilot: expectations, intervals that cover, and what is said where nothing is known."""

import json
import random

import pytest

from calipers import Case, Dataset, increment_eval_metric
from calipers.cli.actions.plan import priced_by_trace
from calipers.errors import InvalidOptionError
from calipers.gate import forecast_run
from calipers.models.accounting import account
from calipers.models.model_answer import Completion, Usage
from calipers.models.prices import set_prices
from calipers.report.report import Report
from calipers.views.plan import forecast_json, forecast_text


def run(n, *, seed=1, repeat=1, task=None):
    draw = random.Random(seed)
    costs = [draw.lognormvariate(-3, 0.6) for _ in range(n)]

    def spend(cost):
        increment_eval_metric("cost", cost)
        increment_eval_metric("requests", 2)

    def judged(output) -> bool:
        increment_eval_metric("cost", 0.01)
        increment_eval_metric("input_tokens", 100)
        return True

    dataset = Dataset(cases=[Case(inputs=cost) for cost in costs], evaluators=[judged])
    return dataset.evaluate_sync(task or spend, repeat=repeat, seed=seed, progress=False)


def amounts(forecast):
    return {(each.side, each.unit): each for each in forecast.amounts}


def test_each_side_and_unit_is_told_apart_and_scales_with_cases_and_repeats():
    pilot = run(30, repeat=2)
    found = amounts(forecast_run(pilot, cases=300, repeats=3))
    assert set(found) == {("agent", "cost"), ("agent", "calls"), ("judges", "cost"), ("judges", "tokens")}
    assert found["agent", "cost"].expected == pytest.approx(15 * pilot.costs().agent.total)
    assert (found["agent", "calls"].expected, found["agent", "calls"].high) == (1800, 1800)
    assert found["judges", "cost"].expected == pytest.approx(9.0)
    assert found["judges", "tokens"].expected == 90_000
    assert forecast_run(pilot).cases == 30


def test_the_interval_covers_what_fresh_runs_cost():
    inside = 0
    for seed in range(60):
        cost = amounts(forecast_run(run(25, seed=seed), cases=40))["agent", "cost"]
        draw = random.Random(f"fresh {seed}")
        real = sum(draw.lognormvariate(-3, 0.6) for _ in range(40))
        inside += cost.low <= real <= cost.high
    assert inside >= 52, "95 % of 60 is 57"


def test_it_is_told_with_a_budget():
    text = forecast_text(forecast_run(run(1), cases=10))
    assert "One run of 10 cases, attempted once, is expected to take" in text
    assert "[" not in text.split("\n")[1], "one case tells no spread"
    assert "Budget that will hardly end it: --max-cost " in text
    assert json.loads(forecast_json(forecast_run(run(3))))["calipers_forecast"] == 1
    broken = run(2, task=lambda inputs: 1 // 0)
    assert "What it costs is not known" in forecast_text(forecast_run(broken))
    with pytest.raises(InvalidOptionError, match="no attempts"):
        forecast_run(Report(name="x", cases=[]))


@pytest.mark.parametrize("name", ["tuned", "own:tuned"])  # a trace does not tell the provider
def test_tokens_of_traces_are_priced_by_the_prices_of_now(tmp_path, monkeypatch, name):
    def ask(inputs):
        account(
            Completion(text="x", finish="stop", model="tuned", usage=Usage(input=1000, output=500)),
            "own:tuned",
        )

    pilot = run(4, task=ask)
    before = forecast_run(pilot)
    assert (before.unpriced_calls, ("agent", "cost") in amounts(before)) == (4, False)
    assert "It costs at least that: 4 model calls" in forecast_text(before)
    (tmp_path / "calipers.toml").write_text(f'[prices."{name}"]\ninput = 1.0\noutput = 2.0\n')
    monkeypatch.chdir(tmp_path)
    try:
        found = amounts(forecast_run(priced_by_trace(pilot), cases=100))
    finally:
        set_prices({})
    assert found["agent", "cost"].expected == pytest.approx(0.2)
