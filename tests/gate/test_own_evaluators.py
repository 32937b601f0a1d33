"""Cases that bring evaluators of their own are held against the same cases of the baseline, one by one."""

import msgspec
import pytest

from calipers import Case, Dataset
from calipers.comparison import compare_reports
from calipers.evaluators import Contains
from calipers.gate import Policy, Rules, StopWhenDecided, judge_run

POLICIES = [Policy(evaluators={"right": Rules(margin=0.2)}), Policy(pass_rate=Rules(margin=0.2))]


def run(task, wanted, n=120, **options):
    """A run whose every case looks for its own text."""
    cases = [
        Case(
            name=f"case {number}",
            inputs=number,
            evaluators=[Contains(value=wanted(number), evaluation_name="right")],
        )
        for number in range(n)
    ]
    return Dataset(name="own", cases=cases).evaluate_sync(task, progress=False, **options)


def answer(number):
    return f"answer {number}."


def right(number):
    return f"answer {number}."


def trivial_from_110(number):
    return right(number) if number < 110 else "."


def crashes_once(number):
    if number == 3:
        raise RuntimeError("once")
    return answer(number)


OLD = run(answer, right)


@pytest.mark.parametrize("policy", POLICIES, ids=["evaluator", "pass rate"])
def test_cases_whose_evaluator_was_made_trivial_are_left_out_and_named(policy):
    new = run(answer, trivial_from_110)
    verdict = judge_run(new, policy, baseline=OLD)
    assert (verdict.outcome, verdict.findings[-1].n) == ("PASS", 110)
    assert verdict.notes[-1].startswith(
        "not compared on 10 cases, judged by another evaluator in the baseline: "
        "'case 110' (Contains(evaluation_name='right', value='answer 110.') in the baseline, "
    )
    few = msgspec.structs.replace(policy, min_cases=111)
    assert judge_run(new, few, baseline=OLD).outcome == "INCONCLUSIVE"
    found = compare_reports(OLD, new)
    assert (found.change("right").candidate_cases, found.pass_rate.candidate_cases) == (110, 110)
    assert [each.case for each in found.changed_evaluators] == [f"case {n}" for n in range(110, 120)]


@pytest.mark.parametrize("policy", POLICIES, ids=["evaluator", "pass rate"])
def test_an_agent_is_not_saved_by_evaluators_that_were_made_trivial(policy):
    new = run(lambda n: answer(n) if n < 60 else "no.", trivial_from_110)
    assert judge_run(new, policy, baseline=OLD).outcome == "FAIL"


@pytest.mark.parametrize("policy", POLICIES, ids=["evaluator", "pass rate"])
def test_where_no_case_is_judged_alike_nothing_is_decided(policy):
    verdict = judge_run(run(answer, lambda number: f"{number}."), policy, baseline=OLD)
    assert verdict.outcome == "INCONCLUSIVE"
    assert "Contains(evaluation_name='right', value='answer 0.')" in verdict.findings[-1].said
    assert "run the baseline's task again" in verdict.findings[-1].advice


@pytest.mark.parametrize("policy", POLICIES, ids=["evaluator", "pass rate"])
def test_one_crash_is_no_other_evaluator(policy):
    new = run(crashes_once, right)
    assert judge_run(new, policy, baseline=OLD).outcome == "PASS"
    assert compare_reports(OLD, new).change("right").warning is None


@pytest.mark.parametrize("policy", POLICIES, ids=["evaluator", "pass rate"])
@pytest.mark.parametrize("wanted", [right, lambda n: right(n) if n % 9 else "."], ids=["all", "some trivial"])
@pytest.mark.parametrize(("task", "outcome"), [(answer, "PASS"), (lambda _: "no", "FAIL")])
def test_a_run_that_is_stopped_is_judged_as_it_was_decided(policy, task, outcome, wanted):
    new = run(task, wanted, stop_when=StopWhenDecided(policy, OLD), max_concurrency=1)
    assert f"decided: {outcome}" in new.stopping.why
    assert judge_run(new, policy, baseline=OLD).outcome == outcome


@pytest.mark.parametrize("policy", POLICIES, ids=["evaluator", "pass rate"])
def test_a_run_by_other_evaluators_is_not_stopped(policy):
    rule = StopWhenDecided(policy, OLD)
    assert run(answer, lambda number: ".", stop_when=rule, max_concurrency=1).stopping.why is None
