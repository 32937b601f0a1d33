"""Attempts that say nothing of the agent decide no gate and no comparison: an `OtherLoopError` leaves them open, and an outage is told beside them."""

import pytest

from calipers import Case, Dataset
from calipers.comparison import compare_reports
from calipers.comparison.comparison import ranks
from calipers.gate import Policy, Rules, judge_run
from calipers.views.comparison.files import comparisons_json
from calipers.views.comparison.html import comparisons_html
from calipers.views.comparison.markdown import comparisons_markdown
from calipers.views.comparison.statement import lead
from calipers.views.comparison.terminal import comparisons_text
from calipers.views.gate.files import verdict_json
from calipers.views.gate.html import verdict_html
from calipers.views.gate.markdown import verdict_markdown
from calipers.views.gate.terminal import verdict_text

CASES = [Case(name=f"case {number}", inputs=number) for number in range(60)]
AT_LEAST = Policy(pass_rate=Rules(at_least=0.8))
OTHER_LOOP = "lock is bound to a different event loop"


def right(output):
    return True


def run(task, *evaluators):
    dataset = Dataset(name="numbers", cases=CASES, evaluators=list(evaluators or [right]))
    return dataset.evaluate_sync(task, progress=False, seed=1)


def steady(number):
    return number


def on_other_loop(number):
    if number % 2:
        raise RuntimeError(OTHER_LOOP)
    return number


def judged_on_other_loop(output):
    if output % 2:
        raise RuntimeError(OTHER_LOOP)
    return True


def without_answer(number):
    if number % 5 == 0:
        raise ConnectionRefusedError("refused")
    return number


STEADY = run(steady)
LOST = run(on_other_loop)
UNJUDGED = run(steady, judged_on_other_loop)
OUTAGE = run(without_answer)


@pytest.mark.parametrize("report", [LOST, UNJUDGED], ids=["the task", "a judge"])
@pytest.mark.parametrize(
    "policy",
    [
        AT_LEAST,
        Policy(evaluators={"absent": Rules(at_least=0.8)}),
        Policy(max_task_failures=0.0, max_evaluator_errors=0.0, pass_rate=Rules(at_least=0.1)),
        Policy(pass_rate=Rules(margin=0.05)),
        Policy(pass_rate=Rules(at_least=0.1)),
    ],
    ids=["a limit", "an absent evaluator", "limits of failures", "a margin", "a limit that is met"],
)
def test_attempts_on_another_event_loop_leave_every_gate_open(report, policy):
    verdict = judge_run(report, policy, baseline=STEADY)
    assert verdict.outcome == "INCONCLUSIVE"
    assert {finding.outcome for finding in verdict.findings} <= {"PASS", "INCONCLUSIVE"}
    said = verdict.findings[0]
    assert said.said.startswith("30 of 60 attempts failed for a client or lock of another event loop")
    assert "make a new client inside the task" in said.advice


def test_a_baseline_on_another_event_loop_compares_nothing():
    margin = Policy(pass_rate=Rules(margin=0.05), max_task_failures=1.0)
    assert judge_run(STEADY, margin, baseline=LOST).outcome == "INCONCLUSIVE"
    assert judge_run(STEADY, AT_LEAST, baseline=LOST).outcome == "PASS", "no rule compares with it"


@pytest.mark.parametrize(("one", "two"), [(STEADY, LOST), (LOST, STEADY)], ids=["candidate", "baseline"])
def test_attempts_on_another_event_loop_make_neither_run_better(one, two):
    found = compare_reports(one, two)
    assert (found.conclusion.outcome, found.conclusion.advice) == ("incomparable", "leave the other loop")
    assert lead(found)[0] == (
        "Cannot tell which is better: attempts failed on another event loop, which says nothing about the agents"
    )
    assert "30 of 60 attempts" in found.pass_rate.warning
    assert [change.warning for change in found.evaluators] == [found.pass_rate.warning]
    assert not ranks([found])


def test_a_gate_tells_how_many_attempts_got_no_answer_and_the_rate_without_them():
    verdict = judge_run(OUTAGE, Policy(pass_rate=Rules(at_least=0.95)))
    assert verdict.outcome == "FAIL"
    for show in (verdict_text, verdict_markdown, verdict_html, verdict_json):
        shown = " ".join(show(verdict).split())
        assert "12 of 60 attempts got no answer" in shown
        assert "of those answered 100.0 % passed" in shown
        assert "--resume RUN --rerun-failed" in shown
    assert not judge_run(STEADY, AT_LEAST, baseline=OUTAGE).notes, "no rule compares with it"
    margin = judge_run(STEADY, Policy(pass_rate=Rules(margin=0.05)), baseline=OUTAGE)
    assert margin.notes[0].startswith("12 of 60 attempts of the baseline got no answer")


def test_a_comparison_tells_it_and_asks_for_the_answers_before_a_decision():
    found = compare_reports(STEADY, OUTAGE, labels=("old", "new"))
    assert (found.conclusion.outcome, found.conclusion.advice) == ("worse", "answer first")
    assert lead(found)[2] == (
        "Before you decide, make 12 attempts again that got no answer (calipers run --resume RUN --rerun-failed), and look at the 12 "
        "cases that broke"
    )
    assert (found.candidate.unanswered, found.candidate.answered.value) == (12, 1.0)
    for show in (comparisons_text, comparisons_markdown, comparisons_html, comparisons_json):
        shown = " ".join(show([found]).split())
        assert "12 of 60 attempts of new got no answer" in shown
        assert "of those answered 100.0 % passed" in shown


def test_an_outage_in_both_runs_is_told_beside_an_open_comparison():
    found = compare_reports(OUTAGE, OUTAGE)
    assert "make 24 attempts again that got no answer" in lead(found)[2]
