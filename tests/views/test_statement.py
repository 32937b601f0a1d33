"""What a report says, drawn in the terminal; and that every view draws the same columns."""

import time

import pytest

from calipers import Case, Dataset, Report
from calipers.data.record import Failure
from calipers.report import Incomplete
from calipers.scoring.scoring import BlockedLoop
from calipers.views.attempts import AttemptOptions
from calipers.views.html.document import report_html, statement_html
from calipers.views.markdown import report_markdown, statement_markdown
from calipers.views.page import Page
from calipers.views.report_table import EVALUATOR_COLUMNS, Count, ReportColumn
from calipers.views.statement import Statement
from calipers.views.terminal import ReportView, headline, measures, report_text, table_lines, title


def lines(drawn) -> list[str]:
    return [line.plain for line in drawn]


def table(report: Report, width: int = 80, encoding: str = "utf-8") -> list[str]:
    return [line.rstrip() for line in lines(table_lines(Page(width, encoding), Statement(report).evaluators))]


def sentences(page: Page, found) -> list[str]:
    return lines(map(page.sentence, found))


# ---------------------------------------------------------------------- columns


@pytest.mark.parametrize(
    "draw",
    [
        lambda says: lines(ReportView(says, AttemptOptions(include_cases=False)).lines(Page(120))),
        lambda says: statement_markdown(says).splitlines(),
        lambda says: statement_html(says).split("</tr>"),
    ],
    ids=["terminal", "markdown", "html"],
)
def test_a_column_is_added_in_one_place_and_shown_by_every_view(records, draw):
    spread = ReportColumn("units", "count", lambda subject: Count(1_000 + subject.summary.count))
    report = records.report(*(records.case(str(i), records.result("Judge", i > 0)) for i in range(4)))
    without, with_it = Statement(report), Statement(report, columns=(*EVALUATOR_COLUMNS, spread))
    assert not [line for line in draw(without) if "units" in line]
    drawn = draw(with_it)
    at = next(place for place, line in enumerate(drawn) if "Evaluator" in line and "units" in line)
    row = next(line for line in drawn[at:] if "Judge" in line)
    assert "1,004" in row


def test_a_column_that_may_be_left_out_is_shown_where_a_row_has_something_in_it(records):
    report = records.report(
        records.case("a", records.result("x", True)), records.case("b", records.result("x", 3))
    )
    columns = (
        EVALUATOR_COLUMNS[0],
        ReportColumn("never", "count", lambda _: Count(None), where_any=True),
        ReportColumn(
            "words", "text", lambda s: "a score" if s.summary.kind == "score" else "", where_any=True
        ),
    )
    found = Statement(report, columns=columns).evaluators
    assert [column.title for column in found.columns] == ["Evaluator", "words"]
    assert [row[1] for row in found.rows] == ["", "a score"]


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
Evaluator        Result  [95 % interval]     n  errors  skipped  task failed
EqualsExpected   80.0 %  [49.0, 94.3]       10                             1
similarity        0.700  [0.587, 0.793]      9                             1
tone            polite 66.7 %, rude 33.3 %   9                             1
Judge            80.0 %  [49.0, 94.3]       10       1                     1
Spelling        no result                    0                9            1
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


def test_where_room_is_short_failed_tasks_are_shown_before_what_was_skipped(records):
    report = records.report(
        *(records.case(f"{i}", records.result("EqualsExpected", i > 1)) for i in range(10)),
        records.case("c", skipped=(records.skip("EqualsExpected"),)),
        records.failure("d", not_run=("EqualsExpected",)),
    )
    assert table(report, 80)[0].endswith("task failed")
    assert table(report, 120)[0].endswith("skipped  task failed")


def test_columns_without_content_are_left_out(records):
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
    shown = table(mixed, 120, "ascii")
    assert all(line.isascii() for line in shown)
    assert "[---------o---]" in shown[1]


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


# ---------------------------------------------------------------------- headline


def test_the_title_says_what_was_run_on_what_and_how_much(records):
    report = records.report(records.case("a"), records.failure("b"), metadata={"model": "small", "t": 0.2})
    assert lines(title(Page(), Statement(report))) == [
        "answer on capitals",
        "2 cases · 1.5 s · seed 7",
        "model: 'small' · t: 0.2",
    ]


def test_the_title_counts_cases_and_attempts_apart(records):
    report = records.report(
        records.case("a [1/2]", source_case_name="a"),
        records.failure("a [2/2]", source_case_name="a"),
        repeat=2,
        dataset_name=None,
        duration=None,
        seed=0,
    )
    assert lines(title(Page(), Statement(report))) == ["answer", "1 case · 2 attempts · seed 0"]


def test_much_metadata_is_cut(records):
    report = records.report(metadata={f"key{i}": i for i in range(30)})
    assert "… and 22 more" in lines(title(Page(200), Statement(report)))[-1]


def test_a_report_without_problems_has_no_alerts(records):
    assert (
        sentences(Page(), Statement(records.report(records.case("a", records.result("ok", True)))).alerts)
        == []
    )


def test_alerts_name_everything_that_did_not_finish(records):
    report = records.report(
        records.case("a", evaluator_failures=(records.broken("Judge", "RuntimeError: overloaded"),)),
        records.failure("b", "TimeoutError: late"),
        records.failure("c", "ValueError: bad"),
        records.failure("d", "ValueError: worse"),
        incomplete=Incomplete("interrupted", "interrupted by Ctrl-C after 4 of 9 attempts"),
        unfinished=1,
    )
    assert sentences(Page(), Statement(report).alerts) == [
        "INCOMPLETE: interrupted by Ctrl-C after 4 of 9 attempts (1 attempt begun and given up)",
        "3 of 4 tasks failed and count as not passed: ValueError (2), TimeoutError (1)",
        "1 evaluator failure counts as not passed: Judge (1)",
    ]


def test_no_cases_is_an_alert_and_no_pass_rate(records):
    assert sentences(Page(), Statement(records.report()).alerts) == ["No cases ran: nothing was measured."]
    assert lines(headline(Page(), Statement(records.report()))) == []


def test_many_kinds_of_error_are_summed_up(records):
    report = records.report(*(records.failure(str(i), f"Error{i}: x") for i in range(5)))
    assert sentences(Page(), Statement(report).alerts)[0].endswith(
        "Error0 (1), Error1 (1), Error2 (1), and 2 more"
    )


def forty(records, passed: int):
    return records.report(
        *(records.case(str(i), records.result("ok", i < passed)) for i in range(40)),
    )


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, ["Passed 37 of 40 cases   92.5 %  [80.1, 97.4]   95 % Wilson interval"]),
        (60, ["Passed 37 of 40 cases   92.5 %  [80.1, 97.4]", "95 % Wilson interval"]),
        (40, ["Passed 37 of 40 cases", "92.5 %  [80.1, 97.4]", "95 % Wilson interval"]),
    ],
)
def test_the_headline_is_the_pass_rate_with_its_interval(records, width: int, shown: list[str]):
    assert lines(headline(Page(width), Statement(forty(records, 37)))) == shown


def test_the_confidence_is_the_one_asked_for(records):
    (line,) = lines(headline(Page(), Statement(forty(records, 37), 0.5)))
    assert line == "Passed 37 of 40 cases   92.5 %  [89.2, 94.9]   50 % Wilson interval"


def test_a_failed_task_lowers_the_headline(records):
    report = records.report(records.case("a", records.result("ok", True)), records.failure("b"))
    (line,) = lines(headline(Page(), Statement(report)))
    assert line.startswith("Passed 1 of 2 cases   50.0 %")


def test_under_repeats_the_headline_counts_attempts_and_adds_pass_at_k_and_pass_hat_k(records):
    report = records.report(
        *(
            records.case(f"{case} [{i}/2]", records.result("ok", held), source_case_name=case)
            for case, runs in (("a", (True, True)), ("b", (True, False)), ("c", (True, True)))
            for i, held in enumerate(runs, 1)
        ),
        repeat=2,
    )
    shown = lines(headline(Page(100), Statement(report)))
    assert shown[0].startswith("Passed 5 of 6 attempts at 3 cases   83.3 %")
    assert shown[1].startswith("  pass@2  100.0 %")
    assert shown[1].endswith("at least one of 2 attempts passes")
    assert shown[2].startswith("  pass^2   66.7 %")
    assert shown[2].endswith("all 2 attempts pass")
    assert all(len(line) <= 44 for line in lines(headline(Page(44), Statement(report))))


def test_pass_at_k_is_not_guessed_where_attempts_are_missing(records):
    report = records.report(
        records.case("a [1/2]", records.result("ok", True), source_case_name="a"),
        records.case("a [2/2]", records.result("ok", True), source_case_name="a"),
        records.case("b [1/2]", records.result("ok", True), source_case_name="b"),
        repeat=2,
    )
    shown = lines(headline(Page(), Statement(report)))
    assert shown[-1] == "No pass@2 and pass^2: not every case has 2 attempts."


def test_clusters_are_named_and_a_single_one_gives_no_interval(records):
    cases = [
        records.case(str(i), records.result("ok", i % 3 > 0), cluster=cluster)
        for i, cluster in enumerate("aabbcc")
    ]
    statement = Statement(records.report(*cases))
    assert lines(headline(Page(120), statement))[0].endswith("approximate 95 % Wilson interval, 3 clusters")
    (note,) = sentences(Page(), statement.footnotes)
    assert "Those of rates of cases in clusters are approximate: they go by the spread that was seen." in note
    alone = records.report(*(records.case(c, records.result("ok", True), cluster="a") for c in "xy"))
    (line,) = lines(headline(Page(120), Statement(alone)))
    assert line == "Passed 2 of 2 cases   100.0 %   no interval: one cluster of cases"


def test_where_nothing_was_asserted_there_is_no_pass_rate(records):
    scored = records.report(records.case("a", records.result("length", 3)))
    assert lines(headline(Page(), Statement(scored))) == ["No pass rate: nothing was asserted."]
    failed = records.report(records.failure("a"))
    assert lines(headline(Page(), Statement(failed))) == ["No task finished: nothing was measured."]


def test_attempts_of_which_nothing_was_asserted_are_counted(records):
    report = records.report(records.case("a", records.result("ok", True)), records.case("b"))
    shown = lines(headline(Page(), Statement(report)))
    assert shown[-1] == "Left out: 1 attempt of which nothing was asserted."


def test_evaluators_that_gave_no_result_are_named_with_the_reason(records):
    def case(name, *results, skipped):
        return records.case(name, *results, skipped=tuple(records.skip(*each) for each in skipped))

    report = records.report(
        case("a", records.result("ok", True), skipped=[("Latency", "no trace"), ("tone", "too short")]),
        case("b", records.result("tone", "warm"), skipped=[("Latency", "no trace"), ("ok", "n/a")]),
    )
    assert sentences(Page(), Statement(report).silent) == ["Latency: skipped in all 2 attempts: no trace"]


def test_many_evaluators_without_a_result_are_summed_up_and_hostile_reasons_stay_on_their_line(records):
    skipped = tuple(records.skip(f"E{n}", "\x1b[2J\nforged" if n == 0 else "n/a") for n in range(12))
    shown = sentences(Page(), Statement(records.report(records.case("a", skipped=skipped))).silent)
    assert shown[0] == "E0: skipped in the only attempt: \\x1b[2J\\nforged"
    assert shown[9:] == [
        "E9: skipped in the only attempt: n/a",
        "… and 2 more evaluators that gave no result",
    ]


def test_where_all_evaluators_had_results_none_is_called_silent(records):
    report = records.report(records.case("a", records.result("ok", True)), records.failure("b"))
    assert sentences(Page(), Statement(report).silent) == []


# ---------------------------------------------------------------------- notes


def test_times_are_quantiles_and_metrics_are_means(records):
    report = records.report(
        records.case("a", task_duration=1.0, metrics={"tokens": 100, "cost": 0.001}),
        records.case("b", task_duration=3.0, metrics={"tokens": 101, "cost": 0.002}),
    )
    assert lines(measures(Page(), Statement(report))) == [
        "Task time  p50 2 s · longest 3 s · p90 needs 36 cases",
        "Cost       $0.003 in all · $0.0015 a case [$0.00, $0.00785]",
        "Metrics    tokens 100.5 · (means per case)",
    ]


def test_where_cases_are_repeated_means_are_of_an_attempt(records):
    report = records.report(
        *(records.case(name, metrics={"tokens": 100, "cost": 0.001}) for name in ("a [1/2]", "a [2/2]"))
    )
    report.repeat = 2
    _, cost, metrics = lines(measures(Page(), Statement(report)))
    assert cost.startswith("Cost       $0.002 in all · $0.001 an attempt")
    assert metrics.endswith("(means per attempt)")


def test_times_say_that_they_are_of_finished_tasks_where_some_failed(records):
    report = records.report(records.case("a", task_duration=1.0), records.failure("b", task_duration=9.0))
    assert lines(measures(Page(), Statement(report))) == [
        "Task time  p50 1 s · longest 1 s · p90 needs 36 cases · (finished tasks)",
    ]


def test_nothing_measured_is_nothing_shown(records):
    assert lines(measures(Page(), Statement(records.report(records.failure("a"))))) == []


def test_evaluators_that_blocked_the_event_loop_are_named_with_the_way_out(records):
    report = records.report(blocked={"Slow": BlockedLoop(3, 1.2), "Once": BlockedLoop(1, 0.5)})
    way_out = "make it async, or pass evaluator_timeout=... to run it in a thread"
    assert sentences(Page(), Statement(report).warnings) == [
        f"Note: evaluator 'Slow' blocked the event loop 3 times, longest 1.2 s: {way_out}",
        f"Note: evaluator 'Once' blocked the event loop once, longest 500 ms: {way_out}",
    ]


def test_a_task_that_blocked_the_event_loop_has_a_way_out_of_its_own(records):
    report = records.report(blocked={"(task)": BlockedLoop(2, 1.5)})
    way_out = "await what it waits for, or make it an ordinary function, which runs in threads"
    assert sentences(Page(), Statement(report).warnings) == [
        f"Note: the async task blocked the event loop 2 times, longest 1.5 s: {way_out}"
    ]


@pytest.mark.parametrize(
    ("blocked", "noted"),
    [
        (BlockedLoop(1, 0.15), False),
        (BlockedLoop(1, 0.49), False),
        (BlockedLoop(1, 0.5), True),
        (BlockedLoop(2, 0.15), True),
    ],
)
@pytest.mark.parametrize("name", ["Judge", "(task)"])
def test_a_single_short_block_is_not_worth_a_note(records, name, blocked, noted):
    assert bool(sentences(Page(), Statement(records.report(blocked={name: blocked})).warnings)) is noted


def test_a_task_of_a_run_that_blocks_is_noted_as_a_task():
    async def blocks(seconds):
        time.sleep(seconds)

    report = Dataset(cases=[Case(inputs=0.12), Case(inputs=0.12)]).evaluate_sync(blocks, progress=False)
    [note] = sentences(Page(), Statement(report).warnings)
    assert note.startswith("Note: the async task blocked the event loop 2 times")


def test_failed_clean_up_is_noted(records):
    failure = Failure(error_type="OSError", error_message="OSError: still open")
    report = records.report(
        records.case("a", teardown_failure=failure), records.failure("b", teardown_failure=failure)
    )
    assert sentences(Page(), Statement(report).warnings) == [
        "Note: clean-up failed after 2 attempts (the judgements stand); the first was a: OSError: still open"
    ]


def test_the_footnote_names_each_method_once(records):
    report = records.report(
        *(
            records.case(str(i), records.result("ok", i > 1), records.result("n", i), records.result("m", -i))
            for i in range(5)
        )
    )
    (line,) = sentences(Page(), Statement(report).footnotes)
    assert line == (
        "[low, high] is a 95 % interval (Wilson; Student t): with fresh cases of the same kind, 95 % of such "
        "intervals would contain the true value. Those of scores are approximate: they go by the spread that was seen."
    )


def test_under_repeats_the_footnote_says_what_they_are_good_for(records):
    report = records.report(
        *(records.case(f"a [{i}/2]", records.result("ok", True), source_case_name="a") for i in (1, 2)),
        repeat=2,
    )
    (line,) = sentences(Page(), Statement(report).footnotes)
    assert line.endswith("Repeats measure the same cases better; only more cases tell more about new ones.")


def test_without_intervals_there_is_no_footnote(records):
    report = records.report(records.case("a", records.result("tone", "polite")))
    assert sentences(Page(), Statement(report).footnotes) == []


@pytest.mark.parametrize(
    ("score", "lost", "end"),
    [
        (0.5, False, ["over the n attempts that have one."]),
        (0.5, True, ["over the n attempts that have one; a failed task or evaluator gives none."]),
        (1.0, True, []),
    ],
    ids=["graded", "graded and something failed", "no graded row"],
)
def test_the_footnote_says_what_a_graded_row_is_over(records, score, lost, end):
    failures = [records.failure("lost", not_run=("Judge",))] if lost else []
    report = records.report(records.case("a", records.result("Judge", True, score=score)), *failures)
    shown = sentences(Page(), Statement(report).footnotes)[1:]
    assert [
        line.removeprefix("A graded row is the mean of the scores behind a verdict, ") for line in shown
    ] == end


def test_high_quantiles_of_times_have_intervals_and_are_shown_where_cases_suffice(records):
    few, some, many = (
        records.report(*(records.case(str(i), task_duration=i / n) for i in range(n))) for n in (20, 50, 400)
    )
    assert lines(measures(Page(), Statement(few))) == [
        "Task time  p50 475 ms [250 ms, 700 ms] · longest 950 ms · p90 needs 36 cases"
    ]
    assert lines(measures(Page(200), Statement(some))) == [
        "Task time  p50 490 ms [340 ms, 640 ms] · p90 882 ms [800 ms, 980 ms] · longest 980 ms · p99 needs 368 cases"
    ]
    assert "p99 988 ms [9" in "".join(lines(measures(Page(200), Statement(many))))


# ---------------------------------------------------------------------- tags


def tagged(records, *cases):
    return records.report(
        *(
            records.case(f"c{i}", records.result("x", passed), tags=tags)
            for i, (passed, *tags) in enumerate(cases)
        )
    )


def test_each_tag_has_a_line_with_its_interval_and_the_number_of_its_cases(records):
    report = tagged(records, (True, "de", "hard"), (False, "de"), (True, "de"), (True,))
    lines = report_text(report, width=80).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("Tag "))
    assert lines[at : at + 3] == [
        "Tag    Passed  [95 % interval]  0 %      100 %  cases",
        "de     66.7 %  [20.8, 93.9]       ├──────●───┤      3",
        "hard  100.0 %  [20.7, 100.0]      ├──────────●      1",
    ]


def test_a_report_without_tags_or_without_assertions_has_no_table(records):
    assert "Tag " not in report_text(tagged(records, (True,)))
    report = records.report(records.case("a", records.result("size", 3), tags=("de",)))
    assert "Tag " not in report_text(report)


def test_of_many_tags_those_with_the_most_cases_are_shown_and_the_others_counted(records):
    report = tagged(records, *((True, f"t{i}", "common") for i in range(20)))
    rows = Statement(report).tags.rows
    assert rows[0][0].name == "common"
    assert len(rows) == 12
    for text in (report_text(report), report_markdown(report)):
        assert "… and 9 more tags with fewer attempts, which the JSON report has" in text


def test_markdown_has_a_table_in_which_a_tag_is_no_markup(records):
    report = tagged(records, (True, "a|b <b>"), (False, "a|b <b>"))
    assert r"| `a\x7cb <b>` | 50.0 % | [9.5, 90.5] | 2 |" in report_markdown(report)


def test_the_name_of_an_evaluator_is_no_markup_in_a_footnote(records):
    name = "</sub><b>x\x1b[2J"
    report = records.report(*(records.case(str(i), records.result(name, 3)) for i in range(3)))
    for text in (report_text(report), report_markdown(report)):
        assert "\x1b" not in text
    [note] = [line for line in report_markdown(report).splitlines() if "No interval for" in line]
    assert note.startswith("<sub>No interval for `</sub><b>x\\x1b[2J`: the cases do not differ")
