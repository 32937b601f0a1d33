"""A baseline that crashed lets nothing through: beside it, anything looks good."""

import pytest

from calipers import Case, Dataset, increment_eval_metric
from calipers.gate import Growth, Policy, Rules, StopWhenDecided, judge_run


def good(output):
    return output % 3 == 0


def grade(output):
    return 0.3 + 0.1 * (output % 3)


def steady(number):
    increment_eval_metric("cost", 1.0)
    return number


def crashing(number):
    if number >= 10:
        raise RuntimeError("no answer")
    return steady(number)


def good_or_down(output):
    if output >= 10:
        raise RuntimeError("the judge is down")
    return good(output)


def run(task, *evaluators, n=200, **options):
    cases = [Case(name=f"case {number}", inputs=number) for number in range(n)]
    dataset = Dataset(name="numbers", cases=cases, evaluators=list(evaluators))
    return dataset.evaluate_sync(task, progress=False, seed=1, **options)


NOW = run(steady, good, grade, good_or_down)
CRASHED = run(crashing, good, grade)
UNJUDGED = run(steady, good_or_down)
JUDGED = run(lambda number: number % 10, good_or_down)
MARGIN = Rules(margin=0.15)


@pytest.mark.parametrize(
    ("report", "old", "policy"),
    [
        (NOW, CRASHED, Policy(evaluators={"good": MARGIN})),
        (NOW, CRASHED, Policy(evaluators={"good": MARGIN}, max_task_failures=0.5)),
        (NOW, CRASHED, Policy(evaluators={"good": Rules(margin=0.15, max_errors=1.0)})),
        (NOW, CRASHED, Policy(evaluators={"grade": MARGIN})),
        (CRASHED, CRASHED, Policy(pass_rate=MARGIN)),
        (NOW, CRASHED, Policy(metrics={"cost": Growth(max_growth=0.2)})),
        (JUDGED, UNJUDGED, Policy(evaluators={"good_or_down": MARGIN})),
        (JUDGED, UNJUDGED, Policy(evaluators={"good_or_down": MARGIN}, max_evaluator_errors=0.5)),
        (JUDGED, UNJUDGED, Policy(evaluators={"good_or_down": Rules(margin=0.15, max_errors=0.5)})),
        (JUDGED, UNJUDGED, Policy(pass_rate=MARGIN)),
    ],
)
def test_a_margin_against_a_broken_baseline_is_inconclusive(report, old, policy):
    verdict = judge_run(report, policy, baseline=old)
    assert verdict.outcome == "INCONCLUSIVE"
    (found,) = [each for each in verdict.findings if each.rule == "a baseline that is sound"]
    assert "lost 190 of its 200 attempts" in found.said
    assert "max_" in found.advice


@pytest.mark.parametrize(
    ("report", "old", "policy"),
    [
        (NOW, CRASHED, Policy(evaluators={"good": MARGIN}, max_task_failures=0.95)),
        (JUDGED, UNJUDGED, Policy(evaluators={"good_or_down": MARGIN}, max_evaluator_errors=0.95)),
        (JUDGED, UNJUDGED, Policy(evaluators={"good_or_down": Rules(margin=0.15, max_errors=0.95)})),
    ],
)
def test_a_policy_may_allow_the_baseline_its_losses(report, old, policy):
    assert judge_run(report, policy, baseline=old).outcome == "PASS"


def test_a_run_that_is_worse_than_even_a_broken_baseline_fails():
    none = run(lambda number: 1, good)
    half = run(lambda number: 1 // (number % 2) * 3, good)
    assert judge_run(none, Policy(evaluators={"good": MARGIN}), baseline=half).outcome == "FAIL"


def test_losses_at_cases_that_the_run_does_not_have_do_not_matter():
    few = run(steady, good, n=10)
    verdict = judge_run(few, Policy(evaluators={"good": Rules(margin=0.6)}), baseline=CRASHED)
    assert verdict.outcome == "PASS"
    assert any("190 of 200 attempts of the baseline" in note for note in verdict.notes)


@pytest.mark.parametrize("rate", [True, False])
def test_a_run_is_not_stopped_as_passed_beside_a_broken_baseline(rate):
    for old, allowed in ((CRASHED, {}), (CRASHED, {"max_task_failures": 1.0})):
        policy = Policy(**({"pass_rate": MARGIN} if rate else {"evaluators": {"good": MARGIN}}), **allowed)
        baseline = run(crashing, good) if rate else old
        report = run(steady, good, stop_when=StopWhenDecided(policy, baseline), max_concurrency=1)
        assert (report.stopping.why == "decided: PASS") == bool(allowed)
        assert judge_run(report, policy, baseline=baseline).outcome == ("PASS" if allowed else "INCONCLUSIVE")
