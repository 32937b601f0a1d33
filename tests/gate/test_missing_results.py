"""What was measured in the baseline and not in the run is no proof: skips, and metrics that were not recorded."""

import pytest

from calipers import Case, Dataset, increment_eval_metric
from calipers.errors import InvalidOptionError
from calipers.gate import Growth, Policy, Rules, StopWhenDecided, judge_run


def good(output):
    return output["good"] if output["judged"] else {}


def grade(output):
    return {"grade": 0.9 if output["good"] else 0.1} if output["judged"] else {}


def run(*, judged=lambda number: True, recorded=lambda number: True, cost=1.0, n=120, **options):
    def task(number):
        if recorded(number):
            increment_eval_metric("cost", cost)
        return {"good": number % 3 != 0, "judged": judged(number)}

    cases = [Case(name=f"case {number}", inputs=number) for number in range(n)]
    dataset = Dataset(name="numbers", cases=cases, evaluators=[good, grade])
    return dataset.evaluate_sync(task, progress=False, seed=1, **options)


def easy(number):
    return number % 3 != 0


OLD = run()
SKIPPING = run(judged=easy)
CHEAP = run(recorded=easy)
RULES = [
    {"evaluators": {"good": Rules(margin=0.2)}},
    {"evaluators": {"good": Rules(at_least=0.6)}},
    {"evaluators": {"grade": Rules(margin=0.2)}},
    {"pass_rate": Rules(margin=0.2)},
]


def with_skips(policy, share):
    return {
        key: (
            {
                name: Rules(margin=each.margin, at_least=each.at_least, max_skipped=share)
                for name, each in found.items()
            }
            if isinstance(found, dict)
            else Rules(margin=found.margin, max_skipped=share)
        )
        for key, found in policy.items()
    }


@pytest.mark.parametrize("policy", RULES)
def test_an_evaluator_that_is_skipped_where_the_baseline_was_judged_is_inconclusive(policy):
    verdict = judge_run(SKIPPING, Policy(**policy), baseline=OLD)
    assert verdict.outcome == "INCONCLUSIVE"
    (found,) = [each for each in verdict.findings if each.rule == "a result wherever the baseline has one"]
    assert found.said.startswith("40 cases with a result in the baseline lack one in this run")
    assert "'case 0', 'case 3', 'case 6' and 37 more" in found.said
    assert "max_skipped" in found.advice
    assert judge_run(SKIPPING, Policy(**policy), baseline=SKIPPING).outcome == "PASS"


@pytest.mark.parametrize("policy", RULES)
@pytest.mark.parametrize(("share", "outcome"), [(0.4, "PASS"), (0.3, "FAIL")])
def test_a_policy_can_say_how_often_an_evaluator_may_be_skipped(policy, share, outcome):
    assert judge_run(SKIPPING, Policy(**with_skips(policy, share)), baseline=OLD).outcome == outcome


@pytest.mark.parametrize("policy", RULES)
def test_a_run_is_not_stopped_as_passed_where_it_is_skipped(policy):
    for rules, decided in (
        (policy, False),
        (with_skips(policy, 0.3), False),
        (with_skips(policy, 0.5), True),
    ):
        rule = StopWhenDecided(Policy(**rules), OLD)
        report = run(judged=easy, n=120, stop_when=rule, max_concurrency=1)
        assert (report.stopping.why == "decided: PASS") == decided


@pytest.mark.parametrize(
    "growth",
    [Growth(at_most=2.0), Growth(max_growth=0.1), Growth(at_most=2.0, max_growth=0.1, max_missing=0.3)],
)
@pytest.mark.parametrize("cost", [1.0, 0.5])
def test_a_metric_that_is_recorded_on_some_attempts_only_is_inconclusive(growth, cost):
    report = run(recorded=easy, cost=cost)
    verdict = judge_run(report, Policy(metrics={"cost": growth}), baseline=OLD)
    assert verdict.outcome == "INCONCLUSIVE"
    assert any(
        "40 of 120 attempts of this run that finished did not record it" in each.said
        for each in verdict.findings
    )
    assert judge_run(OLD, Policy(metrics={"cost": growth}), baseline=OLD).outcome == "PASS"


def kind(output):
    return "right" if output == 0 else {}


def test_labels_have_to_be_given_to_as_many_cases_as_the_policy_says():
    cases = [Case(name=f"case {number}", inputs=number) for number in range(100)]
    report = Dataset(name="labels", cases=cases, evaluators=[kind]).evaluate_sync(
        lambda number: number, progress=False
    )
    for policy, outcome in (
        (Policy(evaluators={"kind": Rules(min_cases=50)}), "INCONCLUSIVE"),
        (Policy(evaluators={"kind": Rules(max_errors=0)}, min_cases=50), "INCONCLUSIVE"),
        (Policy(evaluators={"kind": Rules(max_skipped=0.5)}), "FAIL"),
        (Policy(evaluators={"kind": Rules(min_cases=1, max_skipped=0.99)}, min_cases=50), "PASS"),
        (Policy(evaluators={"kind": Rules(min_cases=1)}), "PASS"),
    ):
        assert judge_run(report, policy).outcome == outcome


def tone(output):
    return "warm" if output["judged"] else {}


@pytest.mark.parametrize(
    ("rules", "decided"),
    [(Rules(max_errors=0), True), (Rules(max_skipped=0.5), True), (Rules(max_skipped=0.1), False)],
)
def test_labels_stand_in_the_way_of_stopping_only_if_they_are_missing(rules, decided):
    cases = [Case(name=f"case {number}", inputs=number) for number in range(60)]
    dataset = Dataset(name="labels", cases=cases, evaluators=[good, tone])

    def task(number):
        return {"good": True, "judged": easy(number)}

    policy = Policy(evaluators={"good": Rules(at_least=0.5, max_skipped=0.5), "tone": rules}, min_cases=30)
    old = dataset.evaluate_sync(lambda number: {"good": True, "judged": True}, progress=False)
    for baseline in (None, old):
        rule = StopWhenDecided(policy, baseline)
        report = dataset.evaluate_sync(task, stop_when=rule, max_concurrency=1, progress=False, seed=1)
        assert (report.stopping.why == "decided: PASS") == decided
        assert (judge_run(report, policy, baseline=baseline).outcome == "PASS") == decided


def test_an_evaluator_may_be_asked_only_for_results():
    assert (
        judge_run(SKIPPING, Policy(evaluators={"good": Rules(min_cases=1)}), baseline=OLD).outcome == "PASS"
    )


def test_a_growth_needs_the_metric_in_the_baseline_too():
    verdict = judge_run(OLD, Policy(metrics={"cost": Growth(max_growth=0.1)}), baseline=CHEAP)
    assert verdict.outcome == "INCONCLUSIVE"
    assert any(
        "attempts of the baseline that finished did not record it" in each.said for each in verdict.findings
    )
    assert judge_run(OLD, Policy(metrics={"cost": Growth(at_most=2)}), baseline=CHEAP).outcome == "PASS"


def test_a_policy_can_say_how_many_attempts_may_lack_a_metric():
    growth = Growth(at_most=2, max_growth=0.1, max_missing=0.4)
    assert judge_run(CHEAP, Policy(metrics={"cost": growth}), baseline=OLD).outcome == "PASS"
    for growth in (Growth(at_most=2, max_missing=0.4), Growth(at_most=2, missing_is_zero=True)):
        with pytest.raises(InvalidOptionError, match="every task that finishes has a time"):
            Policy(duration=growth)
    with pytest.raises(InvalidOptionError, match="take out max_missing"):
        Growth(at_most=2, max_missing=0.4, missing_is_zero=True)


def test_a_counter_that_never_moved_is_zero_where_the_policy_says_so():
    def retries(share):
        return run(recorded=lambda number: number % 10 < 10 * share)

    at_most = Policy(metrics={"cost": Growth(at_most=0.4, missing_is_zero=True)})
    found = judge_run(retries(0.2), at_most).findings[-1]
    assert (found.outcome, found.value, found.n) == ("PASS", 0.2, 120)
    assert judge_run(retries(0.8), at_most).outcome == "FAIL"
    growth = Policy(metrics={"cost": Growth(max_growth=0.1, missing_is_zero=True)})
    assert judge_run(retries(0.8), growth, baseline=retries(0.2)).outcome == "FAIL"
    assert judge_run(retries(0), at_most, baseline=retries(0.2)).outcome == "PASS"
    assert judge_run(retries(0), at_most).outcome == "FAIL", (
        "it is not known whether it is the name of anything"
    )
