import pytest

from calipers.comparison.case_pairs import cases_of
from calipers.comparison.columns import Columns, durations, metric, passes
from calipers.data.result import SkippedEvaluation


@pytest.fixture
def columns(attempt, report_of):
    """The columns of attempts, and a way to look one up."""
    return lambda *attempts: Columns(cases_of(report_of(attempts)))


def test_a_lost_attempt_has_not_passed_and_has_no_score(columns, attempt):
    found = columns(
        attempt("a", repeat=1, ok=True, size=2.0),
        attempt("a", repeat=2, ok=True, size=1.0, lost=("ok", "size")),
        attempt("a", repeat=3, error="ValueError", ok=True, size=1.0),
    )
    (case,) = found.cases
    assert sorted(found.scores(case, ("ok", "assertion"))) == [0.0, 0.0, 1.0]
    assert sorted(found.scores(case, ("ok", "assertion"), judged=True)) == [0.0, 1.0]
    assert found.scores(case, ("size", "score")) == [2.0]
    assert found.lost(("ok", "assertion")) == {"evaluator": 1, "task": 1}
    assert sorted(passes(case)) == [0.0, 0.0, 1.0]


def test_chosen_assertions_hold_together_or_not_at_all(columns, attempt):
    found = columns(
        attempt("a", repeat=1, ok=True, brief=True, other=False),
        attempt("a", repeat=2, ok=True, brief=False),
        attempt("a", repeat=3, ok=True, brief=True, lost=("ok",)),
        attempt("a", repeat=4, other=True),
    )
    (case,) = found.cases
    assert found.held(case, ["ok", "brief"]) == [1.0, 0.0, 0.0]
    assert found.held(case, ["other"]) == [0.0, 1.0]


def test_what_was_skipped_is_left_out(columns, attempt):
    skipped = attempt("b")
    skipped.skipped = (SkippedEvaluation("ok", "does not apply"),)
    found = columns(attempt("a", ok=True), skipped)
    assert [found.scores(case, ("ok", "assertion")) for case in found.cases] == [[1.0], []]
    assert passes(found.cases[1]) == []


def test_times_and_metrics_are_of_finished_attempts(columns, attempt):
    found = columns(
        attempt("a", repeat=1, seconds=2.0, metrics={"cost": 3}), attempt("a", repeat=2, error="ValueError")
    )
    assert durations(found.cases[0]) == [2.0]
    assert metric(found.cases[0], "cost") == [3.0]
    assert found.metrics == ["cost"]


def test_a_run_that_lost_everything_takes_over_the_assertions_of_the_other(columns, attempt):
    one, two = columns(attempt("a", ok=True, size=1.0)), columns(attempt("a", error="E", ok=True, size=1.0))
    two.adopt(one)
    assert list(two.by_key) == [("ok", "assertion")]
    assert two.scores(two.cases[0], ("ok", "assertion")) == [0.0]


@pytest.mark.parametrize(
    ("fields", "asserts"),
    [({"ok": True}, True), ({"size": 1.0}, False), ({"error": "E"}, True)],
    ids=["assertion", "score only", "failed before it was judged"],
)
def test_a_run_has_a_pass_rate_if_something_was_asserted_or_would_have_been(
    columns, attempt, fields, asserts
):
    assert columns(attempt("a", **fields)).asserts is asserts
