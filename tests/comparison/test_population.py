"""Whether a comparison asks about these cases, or about cases like these."""

from random import Random

import pytest

from calipers import Case, Dataset, current_attempt, increment_eval_metric
from calipers.comparison import Comparison, compare_many, compare_reports
from calipers.errors import InvalidOptionError
from calipers.views.comparison import comparisons_html, comparisons_markdown, comparisons_text, sentence
from calipers.views.comparison.statement import lead


def right(output):
    return output > 0.5


def high(output):
    return output / 2


def kind(output):
    return "high" if output > 0.5 else "low"


def run(version, broken=(), *, repeat=5, n=30, names="case"):
    def task(number):
        attempt = current_attempt().repeat_index or 0
        draw = Random(f"{version} {number} {attempt}")
        increment_eval_metric("cost", 1 + draw.random() / 10 + (number in broken))
        return 0.1 if (draw.random() < 0.02) != (number in broken) else 0.9 + draw.random() / 100

    cases = [Case(name=f"{names} {number}", inputs=number, tags=["all"]) for number in range(n)]
    dataset = Dataset(name="numbers", cases=cases, evaluators=[right, high, kind])
    return dataset.evaluate_sync(task, repeat=repeat, progress=False, name=version)


OLD, NEW = run("old"), run("new", (3, 17))


def test_two_broken_cases_are_worse_on_these_and_say_little_of_others():
    like, these = compare_reports(OLD, NEW), compare_reports(OLD, NEW, population="these-cases")
    assert (like.pass_rate.outcome, these.pass_rate.outcome) == ("unclear", "worse")
    assert like.pass_rate.difference == pytest.approx(these.pass_rate.difference)
    assert (like.population, these.population) == ("cases-like-these", "these-cases")
    assert these.conclusion.outcome == "worse"
    for change in (*these.evaluators, *these.slices, *these.measures):
        assert change.population == "these-cases"
        assert change.interval.method == "within-t"
        assert change.needed_cases is None
    cost = next(change for change in these.measures if change.name == "cost")
    assert (cost.scale, cost.outcome) == ("relative", "worse")
    assert cost.difference == pytest.approx(
        next(change for change in like.measures if change.name == "cost").difference
    )
    assert these.labels[0].changed.interval is None


def test_every_form_says_which_question_is_answered():
    for population, words in (
        ("cases-like-these", "about cases like these"),
        ("these-cases", "about these cases"),
    ):
        found = compare_reports(OLD, NEW, population=population)
        for shown in (comparisons_text, comparisons_markdown, comparisons_html):
            assert words in shown([found])
        assert found.to_dict()["population"] == population
        assert Comparison.from_dict(found.to_dict()) == found


def test_a_single_attempt_at_each_case_cannot_answer_and_says_what_would():
    found = compare_reports(run("old", repeat=1), run("new", (3, 17), repeat=1), population="these-cases")
    change = found.pass_rate
    assert (change.interval, change.p_value, change.outcome, change.attempted_once) == (
        None,
        None,
        "unclear",
        30,
    )
    assert sentence(change).startswith("cannot tell: 30 cases of 30 were attempted once")
    assert "--repeat" in lead(found)[-1]
    assert "about cases like these" in lead(found)[-1]


def test_where_it_is_open_more_attempts_are_asked_for_and_no_cases():
    found = compare_reports(
        run("a", repeat=2, n=10), run("b", (3,), repeat=2, n=10), population="these-cases"
    )
    assert found.pass_rate.outcome == "unclear"
    assert (found.conclusion.advice, found.conclusion.more_cases) == ("add attempts", None)
    assert found.conclusion.attempts == found.pass_rate.needed_attempts > 2
    assert "attempts at each case would show 3 points" in sentence(found.pass_rate)
    assert lead(found)[-1].startswith("Make about")


def test_runs_without_a_case_in_common_are_refused():
    other = run("other", names="another")
    shifted = Dataset(name="numbers", cases=[Case(name="x", inputs=99)], evaluators=[right]).evaluate_sync(
        lambda number: number, repeat=2, progress=False
    )
    assert compare_reports(OLD, other, population="these-cases").paired
    with pytest.raises(InvalidOptionError, match="no case in common"):
        compare_many([OLD, shifted], population="these-cases")
    with pytest.raises(InvalidOptionError, match="got 'all'"):
        compare_many([OLD, NEW], population="all")
