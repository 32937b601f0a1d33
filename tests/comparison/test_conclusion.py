"""What a comparison comes to, decided by data alone."""

import pytest

from calipers.comparison import Comparison, compare_reports
from calipers.comparison.conclusion import conclude
from calipers.gate import Policy, Rules, judge_run
from calipers.views.comparison.statement import lead

SAME = [[1]] * 30 + [[0]] * 10
BETTER = [[1]] * 40
TABLE = [
    (SAME, BETTER, "better", "take the candidate"),
    (BETTER, SAME, "worse", "keep the baseline"),
    ([[1]] * 400, [[1]] * 400, "same", "choose freely"),
    (SAME, SAME, "unclear", "add cases"),
    ([[0]] * 4, [[1]] * 4, "unclear", "add cases"),
]


@pytest.mark.parametrize(("before", "after", "outcome", "advice"), TABLE, ids=[each[2] for each in TABLE])
def test_the_pass_rate_decides(judged_report, before, after, outcome, advice):
    found = compare_reports(judged_report(before), judged_report(after))
    assert (found.conclusion.outcome, found.conclusion.advice) == (outcome, advice)
    assert found.conclusion.change == "pass rate"
    assert found.conclusion.broken == sum(flip.way == "broken" for flip in found.flips)
    assert len(lead(found)) == 3
    assert Comparison.from_dict(found.to_dict()) == found


def test_so_few_cases_that_chance_is_not_excluded_say_nothing_of_how_many_it_takes(judged_report):
    few = compare_reports(judged_report([[0]] * 4), judged_report([[1]] * 4)).conclusion
    some = compare_reports(judged_report(SAME), judged_report(SAME)).conclusion
    assert few.more_cases is None
    assert some.more_cases > 100


def test_runs_that_were_not_judged_alike_are_neither_better_nor_worse(judged_report):
    one, two = judged_report(SAME), judged_report(BETTER, version="2")
    found = compare_reports(one, two)
    assert (found.conclusion.outcome, found.conclusion.advice) == ("incomparable", "judge alike")
    assert lead(found)[0].startswith("Cannot tell")


def test_a_gain_that_costs_an_evaluator_is_to_be_weighed(attempt, report_of):
    one = report_of(attempt(f"{n}", ok=n >= 20, tone=0.9 + n % 2 / 100) for n in range(40))
    two = report_of(attempt(f"{n}", ok=True, tone=0.5 + n % 2 / 100) for n in range(40))
    found = compare_reports(one, two)
    assert (found.conclusion.outcome, found.conclusion.advice) == ("better", "weigh")
    assert found.conclusion.worse == ("tone",)
    assert lead(found)[2] == "Decide what matters more: tone got worse"


def test_without_a_pass_rate_the_evaluator_that_tells_most_decides(attempt, report_of):
    one = report_of(attempt(f"{n}", a=0.5, tone=0.9 + n % 2 / 100) for n in range(40))
    two = report_of(attempt(f"{n}", a=0.5, tone=0.5 + n % 2 / 100) for n in range(40))
    found = compare_reports(one, two).conclusion
    assert (found.outcome, found.change) == ("worse", "tone")
    nothing = conclude(None, (), broken=0)
    assert (nothing.outcome, nothing.change, nothing.advice) == ("nothing", None, "share evaluators")


def test_a_flip_tells_the_assertions_that_flipped_and_what_both_runs_gave(attempt, report_of):
    before, after = attempt("a", ok=True, kind=True), attempt("a", ok=False, kind=True)
    before.output, after.output = "yes" * 1000, {"no": 1}
    crashed = attempt("b", error="ValueError", ok=True, kind=True)
    one, two = report_of([before, attempt("b", ok=True, kind=True)]), report_of([after, crashed])
    flips = {flip.case: flip for flip in compare_reports(one, two).flips}
    assert flips["a"].evaluators == ("ok",)
    assert flips["a"].baseline_gave.startswith("'yesyes")
    assert len(flips["a"].baseline_gave) <= 500
    assert flips["a"].candidate_gave == "{'no': 1}"
    assert flips["b"].evaluators == ("ok", "kind")
    assert flips["b"].candidate_gave == "ValueError: no"


def test_comparisons_and_verdicts_are_short_in_a_log(judged_report):
    one, two = judged_report([[0]] * 12), judged_report([[1]] * 12)
    found = compare_reports(one, two, labels=("old", "new"))
    assert repr(found) == "Comparison('new' against 'old', better, 12 cases in both)"
    verdict = judge_run(two, Policy(pass_rate=Rules(at_least=0.5)))
    assert repr(verdict) == f"Verdict(PASS, {two.name!r}, 2 of 2 rules passed)"
    assert f" against {one.name!r}, " in repr(
        judge_run(two, Policy(pass_rate=Rules(margin=0.5)), baseline=one)
    )
