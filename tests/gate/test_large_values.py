"""Times and costs: a time-out or a budget bounds them, and without one a rule says that it is approximate."""

from random import Random

import pytest

from calipers import Case, Dataset, increment_eval_metric
from calipers.errors import InvalidOptionError
from calipers.gate import Growth, Policy, judge_run
from calipers.gate.measure import Grown, Level


def costs(*values):
    def task(number):
        increment_eval_metric("cost", values[number % len(values)])
        return number

    cases = [Case(name=f"case {number}", inputs=number) for number in range(60)]
    dataset = Dataset(name="costs", cases=cases, evaluators=[lambda output: True])
    return dataset.evaluate_sync(task, progress=False)


CHEAP = costs(0.8, 1.0, 1.2)


def findings(verdict, subject):
    return [finding for finding in verdict.findings if finding.subject == subject]


def test_without_a_largest_value_a_rule_says_that_it_is_approximate():
    verdict = judge_run(CHEAP, Policy(metrics={"cost": Growth(at_most=1.2)}))
    (found,) = findings(verdict, "cost")
    assert (found.outcome, found.approximate) == ("PASS", True)
    assert "approximate 95 % interval" in found.said
    assert any("max_possible" in note for note in verdict.notes)


def test_a_largest_value_makes_the_rule_reckon_with_calls_that_were_not_seen():
    policy = Policy(metrics={"cost": Growth(at_most=1.2, max_possible=100)})
    verdict = judge_run(CHEAP, policy)
    (found,) = findings(verdict, "cost")
    assert (found.outcome, found.approximate) == ("INCONCLUSIVE", False)
    assert not any("max_possible" in note for note in verdict.notes)
    tight = Policy(metrics={"cost": Growth(at_most=1.2, max_possible=2)})
    assert judge_run(CHEAP, tight).outcome == "PASS"


def test_a_growth_is_bounded_too():
    policy = Policy(metrics={"cost": Growth(max_growth=0.3, max_possible=2)})
    verdict = judge_run(CHEAP, policy, baseline=costs(0.8, 1.0, 1.2))
    (found,) = findings(verdict, "cost")
    assert (found.outcome, found.approximate) == ("PASS", False)
    verdict = judge_run(costs(1.6, 1.9, 2.0), policy, baseline=CHEAP)
    assert findings(verdict, "cost")[0].outcome == "FAIL"


def test_a_value_beyond_the_largest_is_inconclusive_and_named():
    policy = Policy(metrics={"cost": Growth(at_most=1.1, max_possible=1.15)})
    (found,) = findings(judge_run(CHEAP, policy), "cost")
    assert found.outcome == "INCONCLUSIVE"
    assert "1.2 of case 'case 2'" in found.said


def test_a_limit_that_nothing_could_miss_is_refused():
    with pytest.raises(InvalidOptionError, match="nothing could miss it"):
        Growth(at_most=60, max_possible=60)


def test_the_time_out_of_the_runs_bounds_their_times_unless_one_took_longer():
    policy = Policy(duration=Growth(at_most=5))
    assert findings(judge_run(CHEAP, policy), "task time")[0].approximate
    assert not findings(judge_run(CHEAP, policy, task_timeout=10.0), "task time")[0].approximate
    assert findings(judge_run(CHEAP, policy, task_timeout=1e-9), "task time")[0].approximate


def test_the_ends_of_a_bounded_growth_are_where_the_bounded_difference_is_open():
    draw = Random(3)
    new, old = ([[draw.uniform(0, 2)] for _ in range(40)] for _ in range(2))
    found = Grown(run=new, baseline=old, most=3.0).interval(0.95)
    for end, side in ((found.high, "high"), (found.low, "low")):
        times = 1 + end
        values = [[a - times * b] for (a,), (b,) in zip(new, old, strict=True)]
        inner = Level(cases=values, bounds=(-times * 3.0, 3.0)).interval(0.95)
        assert getattr(inner, side) == pytest.approx(0, abs=1e-3)
    assert found.low < Grown(run=new, baseline=old).value < found.high


def test_rare_hangs_pass_at_most_at_the_stated_rate_where_the_time_out_is_known():
    draw = Random(5)
    truth = 0.02 * 60 + 0.98
    passed = {None: 0, (0.0, 60.0): 0}
    for _ in range(300):
        cases = [[60.0 if draw.random() < 0.02 else draw.uniform(0.5, 1.5)] for _ in range(30)]
        for bounds in passed:
            passed[bounds] += Level(cases=cases, bounds=bounds).interval(0.95).high < truth
    assert passed[None] > 120, "the t interval passes it about half of the time"
    assert passed[0.0, 60.0] <= 15, "2.5 % of 300 is 7.5"
