"""Where less is good, a crash is no gain: what was lost counts as what the limit likes least, in gates, comparisons and tests."""

import pytest

from calipers import Case, Dataset
from calipers.comparison import compare_reports
from calipers.gate import Policy, Rules, StopWhenDecided, judge_run
from calipers.testing import assert_rate


def leaks(output):
    return output % 5 == 0


def shaky(output):
    if output >= 5:
        raise RuntimeError("the judge is down")
    return False


def steady(number):
    return number


def crashing(number):
    if number >= 5:
        raise RuntimeError("no answer")
    return number


def tight(number):
    return 5 * number + 1


def run(task, evaluator, n=100, **options):
    cases = [Case(name=f"case {number}", inputs=number) for number in range(n)]
    dataset = Dataset(name="numbers", cases=cases, evaluators=[evaluator])
    return dataset.evaluate_sync(task, progress=False, seed=1, **options)


WHOLE = run(steady, leaks)
TIGHT = run(tight, leaks)
CRASHED = run(crashing, leaks)
UNJUDGED = run(steady, shaky)


@pytest.mark.parametrize(
    ("report", "policy"),
    [
        (CRASHED, Policy(evaluators={"leaks": Rules(at_most=0.5)})),
        (CRASHED, Policy(evaluators={"leaks": Rules(margin=0.02, better="lower")})),
        (CRASHED, Policy(pass_rate=Rules(at_most=0.5))),
        (CRASHED, Policy(pass_rate=Rules(margin=0.02, better="lower"))),
        (UNJUDGED, Policy(evaluators={"shaky": Rules(at_most=0.5)})),
        (UNJUDGED, Policy(pass_rate=Rules(at_most=0.5))),
    ],
)
def test_a_crash_fails_a_limit_from_above(report, policy):
    verdict = judge_run(report, policy, baseline=WHOLE)
    assert verdict.outcome == "FAIL"
    assert any("95 attempts that did not finish count as 1" in note for note in verdict.notes)


@pytest.mark.parametrize(
    "policy",
    [
        Policy(evaluators={"leaks": Rules(at_most=0.1)}),
        Policy(evaluators={"leaks": Rules(margin=0.02, better="lower")}),
    ],
)
def test_less_still_passes_where_nothing_crashes(policy):
    verdict = judge_run(TIGHT, policy, baseline=WHOLE)
    assert verdict.outcome == "PASS"
    assert not any("did not finish" in note for note in verdict.notes)


@pytest.mark.parametrize(
    ("task", "evaluator", "rules"),
    [
        (crashing, leaks, Rules(at_most=0.5)),
        (steady, shaky, Rules(at_most=0.5)),
        (crashing, leaks, Rules(margin=0.02, better="lower")),
    ],
)
@pytest.mark.parametrize("as_rate", [False, True])
def test_a_run_that_crashes_is_not_stopped_as_passed_for_having_little(task, evaluator, rules, as_rate):
    policy = Policy(pass_rate=rules) if as_rate else Policy(evaluators={evaluator.__name__: rules})
    report = run(task, evaluator, stop_when=StopWhenDecided(policy, WHOLE), max_concurrency=1)
    assert (report.stopping.why or "").startswith("decided: FAIL")
    assert judge_run(report, policy, baseline=WHOLE).outcome == "FAIL"


def test_a_limit_from_below_and_one_from_above_both_count_a_crash_against_the_run():
    def right(output):
        return True

    half = run(lambda number: 1 // (number % 2), right)
    policy = Policy(evaluators={"right": Rules(at_least=0.65, at_most=0.9)})
    verdict = judge_run(half, policy)
    assert [finding.value for finding in verdict.findings if finding.interval] == [0.5, 1.0]
    assert [finding.outcome for finding in verdict.findings if finding.interval] == ["FAIL", "FAIL"]


@pytest.mark.parametrize("lower", [True, False])
def test_a_comparison_never_says_better_of_a_crash(lower):
    found = compare_reports(WHOLE, CRASHED, lower_is_better=["leaks"] if lower else [])
    assert found.change("leaks").outcome == "worse"
    assert found.change("leaks").candidate == (0.96 if lower else 0.01)


@pytest.mark.parametrize(
    ("report", "evaluator"), [(CRASHED, "leaks"), (CRASHED, None), (UNJUDGED, "shaky"), (UNJUDGED, None)]
)
@pytest.mark.parametrize("whole", [True, False])
def test_assert_rate_at_most_is_not_met_by_crashing(report, evaluator, whole):
    with pytest.raises(AssertionError, match="did not finish counted against it"):
        assert_rate(report, evaluator, at_most=0.3, whole_interval=whole)
    assert_rate(TIGHT, "leaks", at_most=0.01)


def test_assert_rate_at_most_needs_every_attempt_where_some_failed():
    kept = run(crashing, leaks, keep="failed")
    with pytest.raises(AssertionError, match="keep='all'"):
        assert_rate(kept, "leaks", at_most=0.3)
    assert_rate(run(tight, leaks, keep="failed"), "leaks", at_most=0.01)


def test_assert_rate_at_most_bears_a_few_crashes():
    few = run(lambda number: 1 + 0 // number, leaks)
    assert_rate(few, "leaks", at_most=0.05)
    with pytest.raises(AssertionError):
        assert_rate(few, "leaks", at_most=0.005)
