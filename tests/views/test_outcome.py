"""What came of an attempt, and who found fault with what."""

import pytest

from calipers.report import Incomplete
from calipers.report.summary import tally
from calipers.views.outcome import (
    complaints,
    count_dropped,
    count_missed,
    missed,
    outcome_of,
    reason_lines,
    run_problems,
    silences,
    values,
)


def kinds(records):
    broken = (records.broken("Judge", "ValueError: bad"),)
    return {
        "passed": records.case("a", records.result("x", True), records.result("score", 0.0)),
        "failed": records.case("b", records.result("x", False, "no")),
        "skipped": records.case("c", records.result("score", 1.0)),
        "error": records.case("d", records.result("x", False, "no"), evaluator_failures=broken),
    }


@pytest.mark.parametrize("outcome", ["passed", "failed", "skipped", "error"])
def test_an_attempt_has_one_outcome(records, outcome):
    assert outcome_of(kinds(records)[outcome]) == outcome


def test_a_task_that_did_not_finish_is_an_error(records):
    assert outcome_of(records.failure("e")) == "error"


def test_what_did_not_pass_is_listed_with_failed_tasks_first(records):
    report = records.report(*kinds(records).values(), records.failure("e"))
    assert [record.name for record in missed(report)] == ["e", "b", "d"]


def test_what_is_not_kept_is_counted_all_the_same(records):
    everything = [*kinds(records).values()]
    failed = [records.failure("e"), records.failure("f")]
    whole = records.report(*everything, *failed)
    assert (count_missed(whole), count_dropped(whole)) == (4, 0)
    some = records.report(failed[0], totals=tally(everything, failed).totals())
    assert (count_missed(some), count_dropped(some)) == (4, 5)
    assert run_problems(records.report(totals=some.totals)) == []


def test_failed_tasks_did_not_pass_even_where_nobody_was_to_judge(records):
    assert count_missed(records.report(records.failure("a"))) == 1


def test_a_complaint_has_a_name_and_a_reason_or_else_the_grade_behind_it(records):
    case = records.case(
        "a",
        records.result("x", True, "fine"),
        records.result("y", False, "no"),
        records.result("graded", False, score=0.25),
        records.result("mute", False),
        evaluator_failures=(records.broken("Judge", "ValueError: bad"),),
    )
    assert complaints(case) == [
        ("y", "no"),
        ("graded", "score 0.25"),
        ("mute", "did not hold"),
        ("Judge (evaluator failed)", "ValueError: bad"),
    ]


@pytest.mark.parametrize(("tries", "name"), [(1, ""), (3, "after 3 tries")])
def test_a_failed_task_says_how_often_it_was_tried(records, tries, name):
    assert complaints(records.failure("a", "OSError: gone", tries=tries)) == [(name, "OSError: gone")]


def test_an_expectation_of_none_is_shown_and_none_at_all_is_not(records):
    assert [label for label, _ in values(records.case("a"))] == ["inputs", "got"]
    assert ("expected", None) in values(records.case("a", has_expected_output=True))
    assert [label for label, _ in values(records.failure("a"))] == ["inputs"]


def test_a_run_that_is_whole_has_no_problem(records):
    assert run_problems(records.report(records.case("a"))) == []


def test_what_is_wrong_with_a_run_as_a_whole_is_told(records):
    report = records.report(
        incomplete=Incomplete("interrupted", "interrupted"),
        unfinished=2,
        report_evaluator_failures=[records.broken("Curve", "ValueError: flat")],
    )
    assert run_problems(report) == [
        "INCOMPLETE: interrupted (2 attempts begun and given up)",
        "No cases ran: nothing was measured.",
        "Report evaluator 'Curve' failed: ValueError: flat",
    ]


@pytest.mark.parametrize(
    ("number", "others", "said"),
    [
        (1, [], "skipped in the only attempt: n/a"),
        (1_200, [], "skipped in all 1,200 attempts: n/a"),
        (1, ["failed"], "skipped in 1 attempt, and lost to a failure in 1 more: n/a"),
        (2, ["another's"], "skipped in all 2 attempts that it judges: n/a"),
    ],
)
def test_how_often_a_silent_evaluator_was_skipped_is_told(records, number, others, said):
    cases = [records.case(str(n), skipped=(records.skip("E", "n/a"),)) for n in range(number)]
    extra = {
        "failed": records.failure("lost", not_run=("E",)),
        "another's": records.case("other", records.result("ok", True)),
    }
    report = records.report(*cases, *(extra[each] for each in others))
    assert silences(report) == [("E", said)]


def test_a_skip_without_a_reason_is_told_without_one(records):
    assert silences(records.report(records.case("a", skipped=(records.skip("E", ""),)))) == [
        ("E", "skipped in the only attempt")
    ]


@pytest.mark.parametrize(
    ("reason", "lines"),
    [
        ("", ([""], 0)),
        ("one", (["one"], 0)),
        ("\none\n\ntwo\n", (["one", "", "two"], 0)),
        ("\n".join("x" * 20), (["x"] * 20, 0)),
        ("\n".join("x" * 21), (["x"] * 19, 2)),
    ],
)
def test_a_reason_has_lines_of_which_a_view_shows_so_many(reason, lines):
    assert reason_lines(reason) == lines
