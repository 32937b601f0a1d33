"""What a run leaves out never helps it through a gate: attempts that crash, results of another kind, runs that were stopped."""

from math import inf, nan

import msgspec
import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError
from calipers.evaluators import Contains, EqualsExpected
from calipers.gate import Growth, Policy, Rules, StopWhenDecided, judge_run
from calipers.gate.claims import Claim
from calipers.gate.measure import Level
from calipers.stats import Interval


def near(output):
    return 0.9 + 0.001 * (output % 5)


def shaky(output):
    if output >= 30:
        raise RuntimeError("cannot judge this")
    return near(output)


def steady(number):
    return number


def crashing(number):
    if number >= 30:
        raise RuntimeError("no answer")
    return number


def run(task, evaluator, n=100, **options):
    cases = [Case(name=f"case {number}", inputs=number) for number in range(n)]
    dataset = Dataset(name="numbers", cases=cases, evaluators=[evaluator])
    return dataset.evaluate_sync(task, progress=False, seed=1, **options)


WHOLE = run(steady, near)
CRASHED = run(crashing, near)
UNJUDGED = run(steady, shaky)


@pytest.mark.parametrize(
    ("report", "policy"),
    [
        (CRASHED, Policy(evaluators={"near": Rules(at_least=0.5)})),
        (CRASHED, Policy(evaluators={"near": Rules(margin=0.05)})),
        (CRASHED, Policy(evaluators={"near": Rules(at_least=0.5, max_errors=0.5)})),
        (CRASHED, Policy(duration=Growth(at_most=1000))),
        (UNJUDGED, Policy(evaluators={"shaky": Rules(at_least=0.5)})),
        (UNJUDGED, Policy(evaluators={"shaky": Rules(at_least=0.5)}, max_task_failures=0.5)),
    ],
)
def test_what_crashes_on_most_cases_is_not_judged_by_the_rest(report, policy):
    verdict = judge_run(report, policy, baseline=WHOLE)
    assert verdict.outcome == "INCONCLUSIVE"
    assert any("70 of 100 attempts have no" in finding.said for finding in verdict.findings)


@pytest.mark.parametrize(
    ("report", "name", "limits"),
    [
        (CRASHED, "near", {"max_task_failures": 0.8}),
        (UNJUDGED, "shaky", {"max_evaluator_errors": 0.8}),
    ],
)
def test_a_policy_that_says_how_many_may_be_lost_is_taken_at_its_word(report, name, limits):
    policy = Policy(evaluators={name: Rules(at_least=0.5)}, **limits)
    assert judge_run(report, policy).outcome == "PASS"
    strict = msgspec.structs.replace(policy, **dict.fromkeys(limits, 0.1))
    assert judge_run(report, strict).outcome == "FAIL"


@pytest.mark.parametrize(
    "policy",
    [
        Policy(evaluators={"near": Rules(at_least=0.5)}, min_cases=50, max_task_failures=1.0),
        Policy(evaluators={"near": Rules(margin=0.3)}, min_cases=50, max_task_failures=1.0),
        Policy(duration=Growth(at_most=1000), min_cases=50, max_task_failures=1.0),
    ],
)
def test_the_least_number_of_cases_is_of_cases_that_were_judged(policy):
    assert judge_run(CRASHED, policy, baseline=WHOLE).outcome == "INCONCLUSIVE"
    assert judge_run(CRASHED, msgspec.structs.replace(policy, min_cases=30), baseline=WHOLE).outcome == "PASS"


def test_a_rule_may_ask_for_fewer_cases_than_the_run_has_to_have():
    rules = Rules(at_least=0.5, min_cases=30)
    policy = Policy(evaluators={"near": rules}, min_cases=50, max_task_failures=1.0)
    assert judge_run(CRASHED, policy).outcome == "PASS"


def only_if_even(output):
    return output % 2 == 0 and 0.95


def even(number):
    return 2 * number


def test_false_for_bad_and_a_number_for_good_is_not_judged_by_its_good_half():
    half, good = run(steady, only_if_even), run(even, only_if_even)
    for rules in (Rules(at_least=0.5), Rules(margin=0.1), Rules(min_cases=1)):
        verdict = judge_run(half, Policy(evaluators={"only_if_even": rules}), baseline=good)
        assert verdict.outcome == "INCONCLUSIVE"
        said = verdict.findings[-1].said
        assert "'only_if_even (score)'" in said
        assert "'only_if_even (assertion)'" in said
    against = judge_run(good, Policy(evaluators={"only_if_even": Rules(margin=0.1)}), baseline=half)
    assert against.outcome == "INCONCLUSIVE"
    assert "other kinds" in against.findings[-1].said


def test_a_policy_can_name_the_kind_that_it_means():
    half = run(steady, only_if_even)
    assert judge_run(half, Policy(evaluators={"only_if_even (score)": Rules(at_least=0.5)})).outcome == "PASS"
    assert (
        judge_run(half, Policy(evaluators={"only_if_even (assertion)": Rules(at_least=0.8)})).outcome
        == "FAIL"
    )


@pytest.mark.parametrize("ends", [(nan, nan), (inf, inf), (-inf, -inf), (0.9, nan), (0.9, inf), (0.9, 0.1)])
@pytest.mark.parametrize("above", [True, False])
def test_an_interval_that_is_none_decides_nothing(ends, above):
    claim = Claim(subject="x", rule="", measure=Level(cases=[]), limit=0.5, above=above)
    interval = msgspec.structs.replace(Interval(0.1, 0.2, 0.95), low=ends[0], high=ends[1])
    assert not claim.holds(interval)
    assert not claim.fails(interval)


def test_cases_that_the_verdict_leaves_out_do_not_count_as_cases():
    policy = Policy(evaluators={"near": Rules(at_least=0.5)}, min_cases=100)
    looked = run(steady, near, stop_when=StopWhenDecided(policy))
    unheard = [case.name for case in looked.cases[60:]]
    cut = msgspec.structs.replace(looked, stopping=msgspec.structs.replace(looked.stopping, unheard=unheard))
    assert judge_run(looked, policy).outcome == "PASS"
    assert judge_run(cut, policy).outcome == "INCONCLUSIVE"


def test_a_baseline_that_a_rule_could_stop_was_looked_at_often_too():
    policy = Policy(evaluators={"near": Rules(margin=0.3)})
    looked = run(steady, near, stop_when=StopWhenDecided(Policy(evaluators={"near": Rules(at_least=0.5)})))
    verdict = judge_run(WHOLE, policy, baseline=looked)
    assert verdict.anytime
    assert any("baseline could be stopped" in each for each in verdict.notes)


def is_small(output):
    return output < 50


@pytest.mark.parametrize("rules", [Rules(margin=5), Rules(margin=1), Rules(at_most=80), Rules(at_least=-1)])
@pytest.mark.parametrize("evaluator", [near, is_small])
def test_a_limit_that_nothing_can_miss_is_refused(evaluator, rules):
    report = run(steady, evaluator)
    if evaluator is near:  # 0.9 to 0.904: inside the bounds that no one set
        assert judge_run(report, Policy(evaluators={"near": Rules(at_least=3)})).outcome == "FAIL"
    with pytest.raises(InvalidOptionError, match=r"could never miss it|nothing could lose more"):
        judge_run(report, Policy(evaluators={evaluator.__name__: rules}), baseline=report)


def test_a_score_on_another_scale_has_limits_on_that_scale():
    def out_of_ten(output):
        return 7.0 + output % 3

    report = run(steady, out_of_ten)
    for rules in (Rules(at_least=7.5), Rules(at_most=9.5), Rules(margin=5), Rules(margin=5, bounds=(0, 10))):
        assert judge_run(report, Policy(evaluators={"out_of_ten": rules}), baseline=report).outcome == "PASS"


@pytest.mark.parametrize(
    ("rules", "where"),
    [
        (Rules(at_least=2.0, bounds=(0, 8.5)), ""),
        (Rules(at_most=8.2, bounds=(0, 8.5)), ""),
        (Rules(margin=5, bounds=(7, 100)), " in the baseline"),
    ],
)
@pytest.mark.parametrize("repeat", [1, 2])
def test_a_score_outside_the_stated_bounds_is_inconclusive_with_its_case_and_value(rules, where, repeat):
    def grade(output):
        return 8.0 + output

    report = run(lambda number: 1.0 if number == 3 else 0.0, grade, repeat=repeat)
    old = run(lambda number: -2.0 if number == 3 else 0.0, grade, repeat=repeat)
    verdict = judge_run(report, Policy(evaluators={"grade": rules}), baseline=old)
    found = verdict.findings[-1]
    assert (verdict.outcome, found.interval) == ("INCONCLUSIVE", None)
    assert found.said.startswith(f"the score {6 if where else 9} of case 'case 3'{where}")
    assert found.advice == "correct the bounds in the policy, or the evaluator"


def test_scores_on_another_scale_without_bounds_are_judged_with_a_word_of_caution():
    def out_of_ten(output):
        return 7.0 + output % 3

    report = run(steady, out_of_ten)
    verdict = judge_run(report, Policy(evaluators={"out_of_ten": Rules(at_least=7.5)}))
    assert any(
        "the policy states no bounds" in note and "the score 7 of case" in note for note in verdict.notes
    )
    stated = judge_run(report, Policy(evaluators={"out_of_ten": Rules(at_least=7.5, bounds=(0, 10))}))
    assert not any("bounds" in note for note in stated.notes)


# ---------------------------------------------------------------------- decided during a run


def is_odd(output):
    return output % 2 == 1


@pytest.mark.parametrize(
    ("task", "evaluator", "rules", "policy"),
    [
        (crashing, near, Rules(at_least=0.3), {}),
        (steady, shaky, Rules(at_least=0.3), {}),
        (steady, shaky, Rules(at_least=0.3, max_errors=0.1), {}),
        (crashing, near, Rules(at_least=0.3), {"min_cases": 50, "max_task_failures": 1.0}),
        (steady, only_if_even, Rules(at_least=0.3), {}),
    ],
)
def test_a_run_is_not_stopped_as_passed_by_what_is_left_of_it(task, evaluator, rules, policy):
    rule = StopWhenDecided(Policy(evaluators={evaluator.__name__: rules}, **policy))
    report = run(task, evaluator, stop_when=rule, max_concurrency=1)
    assert report.incomplete is None
    assert report.stopping.why is None
    assert judge_run(report, rule.policy).outcome != "PASS"


def test_a_run_is_stopped_where_the_policy_says_how_many_may_be_lost():
    rule = StopWhenDecided(Policy(evaluators={"near": Rules(at_least=0.3)}, max_task_failures=1.0))
    assert run(crashing, near, stop_when=rule, max_concurrency=1).stopping.why == "decided: PASS"


@pytest.mark.parametrize("which", ["evaluator", "pass rate"])
@pytest.mark.parametrize("answer", ["abc", "z"])
def test_another_evaluator_than_the_baselines_decides_nothing_during_a_run(which, answer):
    rules = Rules(margin=0.2)
    policy = Policy(pass_rate=rules) if which == "pass rate" else Policy(evaluators={"has": rules})
    old = run(lambda number: "abc" if number % 2 else "z", Contains("abc", evaluation_name="has"))
    for text, decided in (("abc", True), ("z", False)):
        report = run(
            lambda number: answer,
            Contains(text, evaluation_name="has"),
            stop_when=StopWhenDecided(policy, old),
            max_concurrency=1,
        )
        assert (report.stopping.why is not None) == decided
        assert (judge_run(report, policy, baseline=old).outcome == "INCONCLUSIVE") != decided


def test_a_value_outside_the_bounds_ends_the_deciding_and_not_the_run():
    def large(output):
        return 5.0

    policy = Policy(evaluators={"large": Rules(at_least=0.5)})
    report = run(steady, large, stop_when=StopWhenDecided(policy))
    assert (len(report.cases), report.incomplete, report.stopping.why) == (100, None, None)
    verdict = judge_run(report, policy)
    assert verdict.findings[-1].approximate, "it is judged when it is over, as scores without bounds are"
    assert any("states no bounds" in note for note in verdict.notes)
    assert "outside the bounds" in judge_run(report, policy, anytime=True).findings[-1].said


def test_attempts_outside_the_bounds_decide_nothing_though_their_mean_lies_inside():
    calls = iter(range(1000))

    def uneven(output):
        return 1.2 if next(calls) % 2 else 0.6

    policy = Policy(evaluators={"uneven": Rules(at_least=0.5, bounds=(0, 1))})
    report = run(steady, uneven, repeat=2, stop_when=StopWhenDecided(policy), max_concurrency=1)
    assert report.stopping.why is None
    assert judge_run(report, policy).outcome == "INCONCLUSIVE"


@pytest.mark.parametrize("limit", [0.3, 0.5])
def test_one_rule_serves_one_run(limit):
    rule = StopWhenDecided(Policy(evaluators={"is_odd": Rules(at_least=limit)}))
    first = run(steady, is_odd, stop_when=rule, max_concurrency=1)
    assert first.incomplete is None
    assert "one for each run" in str(run(steady, is_odd, stop_when=rule, max_concurrency=1).incomplete)


def test_where_it_is_not_known_whether_the_evaluators_are_the_same_a_note_says_so():
    policy = Policy(evaluators={"near": Rules(margin=0.3)})
    assert "not known" in judge_run(WHOLE, policy, baseline=WHOLE).notes[-1]
    assert judge_run(WHOLE, policy, baseline=WHOLE, changed_evaluators={}).notes == ()
    level = Policy(evaluators={"near": Rules(at_least=0.3)})
    assert judge_run(WHOLE, level, baseline=WHOLE).notes == ()


def whole(output):
    return isinstance(output, int)


def test_crashes_on_cases_without_an_expectation_count_against_the_margin():
    cases = [
        Case(name=f"case {number}", inputs=number, expected_output=number)
        if number < 30
        else Case(name=f"case {number}", inputs=number)
        for number in range(100)
    ]
    dataset = Dataset(name="mixed", cases=cases, evaluators=[EqualsExpected(), whole])
    old, new = (dataset.evaluate_sync(task, progress=False, seed=1) for task in (steady, crashing))
    verdict = judge_run(new, Policy(pass_rate=Rules(margin=0.15)), baseline=old)
    assert verdict.outcome == "FAIL"
    assert "on 100 cases" in verdict.findings[-1].said
