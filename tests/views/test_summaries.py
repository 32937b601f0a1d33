import pytest

from calipers.views.html.document import report_html
from calipers.views.markdown import report_markdown
from calipers.views.page import Page
from calipers.views.summaries import summary_table


def table(report, width: int = 80, encoding: str = "utf-8") -> list[str]:
    drawn = summary_table(Page(width, encoding), report.summaries(), confidence=0.95)
    return [line.plain.rstrip() for line in drawn]


@pytest.fixture
def mixed(records):
    """Assertions, scores, labels, skips, broken evaluators and failed tasks."""
    tones = ["polite"] * 6 + ["rude"] * 3
    cases = [
        records.case(
            f"case-{i}",
            records.result("EqualsExpected", i != 5),
            records.result("similarity", 0.5 + i / 20),
            records.result("tone", tones[i]),
            *([] if i == 7 else [records.result("Judge", True)]),
            evaluator_failures=(records.broken("Judge", "RuntimeError: overloaded"),) if i == 7 else (),
            skipped=(records.skip("Spelling"),),
        )
        for i in range(9)
    ]
    names = ("EqualsExpected", "similarity", "tone", "Judge", "Spelling")
    return records.report(*cases, records.failure("case-9", not_run=names))


def test_a_wide_table_shows_all(mixed):
    assert (
        table(mixed, 120)
        == """
Evaluator       Kind        Result  [95 % interval]    0 %                      100 %   n  errors  skipped  task failed
EqualsExpected  assertion   80.0 %  [49.0, 94.3]                     ├─────────●───┤   10                             1
similarity      score        0.700  [0.587, 0.793]                                      9                             1
tone            label      polite 66.7 %, rude 33.3 %                                   9                             1
Judge           assertion   80.0 %  [49.0, 94.3]                     ├─────────●───┤   10       1                     1
Spelling                   no result                                                    0                9            1
""".strip().splitlines()
    )


def test_at_80_columns_the_least_important_columns_are_gone(mixed):
    assert (
        table(mixed)
        == """
Evaluator        Result  [95 % interval]    0 %      100 %   n  errors  skipped
EqualsExpected   80.0 %  [49.0, 94.3]             ├────●─┤  10
similarity        0.700  [0.587, 0.793]                      9
tone            polite 66.7 %, rude 33.3 %                   9
Judge            80.0 %  [49.0, 94.3]             ├────●─┤  10       1
Spelling        no result                                    0                9
""".strip().splitlines()
    )


def test_at_40_columns_results_and_intervals_are_whole(mixed):
    assert table(mixed, 40) == [
        "Evaluator    Result  [95 % interval]   n",
        "EqualsExp…   80.0 %  [49.0, 94.3]     10",
        "similarity    0.700  [0.587, 0.793]    9",
        "tone        polite 66.7 %, rude 33.…   9",
        "Judge        80.0 %  [49.0, 94.3]     10",
        "Spelling    no result                  0",
    ]


def test_an_evaluator_whose_tasks_all_failed_is_said_not_to_have_judged(records):
    report = records.report(records.failure("a", not_run=("ok",)), records.failure("b", not_run=("ok",)))
    said = "not judged: all its tasks failed"
    assert said in table(report)[1]
    assert f"| {said} |" in report_markdown(report)
    assert said in report_html(report)


def test_n_is_what_the_number_is_over(records):
    """A rate counts what failed as not passed, a mean leaves it out; of a label, `n` counts those it was given."""
    broken = (records.broken("ok", "ValueError: bad"), records.broken("length", "ValueError: bad"))
    report = records.report(
        records.case("a", records.result("ok", True), records.result("length", 3), records.result("l", "x")),
        records.case("b", evaluator_failures=broken),
        records.case("c", skipped=(records.skip("ok"), records.skip("length"), records.skip("l"))),
        records.failure("d", not_run=("ok", "length", "l")),
    )
    shown = {line.split()[0]: line for line in table(report, 120)[1:]}
    summaries = report.summaries()
    assert summaries["ok"].estimate.value == 1 / 3
    # n, errors, skipped, task failed; what is 0 is left blank
    assert shown["ok"].split()[-4:] == ["3", "1", "1", "1"]
    assert shown["length"].split()[-4:] == ["1", "1", "1", "1"]
    assert shown["l"].split()[-3:] == ["1", "1", "1"]
    assert [summaries[name].count for name in ("ok", "length", "l")] == [1, 1, 1]


def test_columns_that_nobody_needs_are_left_out(records):
    report = records.report(*(records.case(str(i), records.result("length", i)) for i in range(4)))
    assert table(report) == [
        "Evaluator  Kind    Result  [95 % interval]  n",
        "length     score    1.500  [-0.554, 3.554]  4",
    ]


def test_the_graded_score_behind_an_assertion_has_its_own_line(records):
    report = records.report(
        *(records.case(str(i), records.result("Judge", i > 0, score=i / 4)) for i in range(5))
    )
    assert [line[:50].rstrip() for line in table(report)[1:]] == [
        "Judge          assertion   80.0 %  [37.6, 96.4]",
        "Judge, graded  score        0.500  [0.170, 0.830]",
    ]


def test_a_single_score_has_no_interval(records):
    report = records.report(records.case("a", records.result("length", 3)))
    assert table(report)[1] == "length     score        3                   1"


def test_only_the_most_frequent_labels_are_listed(records):
    report = records.report(
        *(records.case(str(i), records.result("kind", f"label-{min(i, 20)}")) for i in range(40))
    )
    shown = table(report, 120)[1]
    assert "label-20 50.0 %, label-0 2.5 %, label-1 2.5 %, label-2 2.5 %, 17 more" in shown


def test_plain_consoles_get_plain_glyphs(mixed):
    shown = table(mixed, 80, "ascii")
    assert all(line.isascii() for line in shown)
    assert "[----o-]" in shown[1]


def test_no_evaluators_is_no_table(records):
    assert table(records.report(records.case("a"))) == []


def test_a_graded_row_says_how_many_scores_its_mean_is_over(records):
    report = records.report(
        *(records.case(str(i), records.result("Judge", i > 0, score=i / 4)) for i in range(4)),
        records.failure("lost", not_run=("Judge",)),
    )
    rows = [line.split() for line in table(report, 120)[1:]]
    assert rows[0][-2:] == ["5", "1"], "the rate is over the failed task too"
    assert rows[1][-1] == "4"


def test_grades_that_say_no_more_than_the_verdicts_have_no_row(records):
    report = records.report(
        *(records.case(str(i), records.result("Judge", i > 0, score=float(i > 0))) for i in range(3))
    )
    assert len(table(report)) == 2
