import pytest

from calipers.report import Incomplete
from calipers.views.headline import alerts, headline, silent, title
from calipers.views.page import Page


def lines(drawn) -> list[str]:
    return [line.plain for line in drawn]


def test_the_title_says_what_was_run_on_what_and_how_much(records):
    report = records.report(records.case("a"), records.failure("b"), metadata={"model": "small", "t": 0.2})
    assert lines(title(Page(), report)) == [
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
    assert lines(title(Page(), report)) == ["answer", "1 case · 2 attempts · seed 0"]


def test_much_metadata_is_cut(records):
    report = records.report(metadata={f"key{i}": i for i in range(30)})
    assert "… and 22 more" in lines(title(Page(200), report))[-1]


def test_a_report_without_problems_has_no_alerts(records):
    assert lines(alerts(Page(), records.report(records.case("a", records.result("ok", True))))) == []


def test_alerts_name_everything_that_did_not_finish(records):
    report = records.report(
        records.case("a", evaluator_failures=(records.broken("Judge", "RuntimeError: overloaded"),)),
        records.failure("b", "TimeoutError: late"),
        records.failure("c", "ValueError: bad"),
        records.failure("d", "ValueError: worse"),
        incomplete=Incomplete("interrupted", "interrupted by Ctrl-C after 4 of 9 attempts"),
        unfinished=1,
    )
    assert lines(alerts(Page(), report)) == [
        "INCOMPLETE: interrupted by Ctrl-C after 4 of 9 attempts (1 attempt begun and given up)",
        "3 of 4 tasks failed and count as not passed: ValueError (2), TimeoutError (1)",
        "1 evaluator failure counts as not passed: Judge (1)",
    ]


def test_no_cases_is_an_alert_and_no_pass_rate(records):
    assert lines(alerts(Page(), records.report())) == ["No cases ran: nothing was measured."]
    assert lines(headline(Page(), records.report(), confidence=0.95)) == []


def test_many_kinds_of_error_are_summed_up(records):
    report = records.report(*(records.failure(str(i), f"Error{i}: x") for i in range(5)))
    assert lines(alerts(Page(), report))[0].endswith("Error0 (1), Error1 (1), Error2 (1), and 2 more")


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
    assert lines(headline(Page(width), forty(records, 37), confidence=0.95)) == shown


def test_the_confidence_is_the_one_asked_for(records):
    (line,) = lines(headline(Page(), forty(records, 37), confidence=0.5))
    assert line == "Passed 37 of 40 cases   92.5 %  [89.2, 94.9]   50 % Wilson interval"


def test_a_failed_task_lowers_the_headline(records):
    report = records.report(records.case("a", records.result("ok", True)), records.failure("b"))
    (line,) = lines(headline(Page(), report, confidence=0.95))
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
    shown = lines(headline(Page(100), report, confidence=0.95))
    assert shown[0].startswith("Passed 5 of 6 attempts at 3 cases   83.3 %")
    assert shown[1].startswith("  pass@2  100.0 %")
    assert shown[1].endswith("at least one of 2 attempts passes")
    assert shown[2].startswith("  pass^2   66.7 %")
    assert shown[2].endswith("all 2 attempts pass")
    assert all(len(line) <= 44 for line in lines(headline(Page(44), report, confidence=0.95)))


def test_pass_at_k_is_not_guessed_where_attempts_are_missing(records):
    report = records.report(
        records.case("a [1/2]", records.result("ok", True), source_case_name="a"),
        records.case("a [2/2]", records.result("ok", True), source_case_name="a"),
        records.case("b [1/2]", records.result("ok", True), source_case_name="b"),
        repeat=2,
    )
    shown = lines(headline(Page(), report, confidence=0.95))
    assert shown[-1] == "No pass@2 and pass^2: not every case has 2 attempts."


def test_clusters_are_named_and_a_single_one_gives_no_interval(records):
    cases = [
        records.case(str(i), records.result("ok", i % 3 > 0), cluster=cluster)
        for i, cluster in enumerate("aabbcc")
    ]
    assert lines(headline(Page(120), records.report(*cases), confidence=0.95))[0].endswith(", 3 clusters")
    alone = records.report(*(records.case(c, records.result("ok", True), cluster="a") for c in "xy"))
    (line,) = lines(headline(Page(120), alone, confidence=0.95))
    assert line == "Passed 2 of 2 cases   100.0 %   no interval: one cluster of cases"


def test_where_nothing_was_asserted_there_is_no_pass_rate(records):
    scored = records.report(records.case("a", records.result("length", 3)))
    assert lines(headline(Page(), scored, confidence=0.95)) == ["No pass rate: nothing was asserted."]
    failed = records.report(records.failure("a"))
    assert lines(headline(Page(), failed, confidence=0.95)) == ["No task finished: nothing was measured."]


def test_attempts_of_which_nothing_was_asserted_are_counted(records):
    report = records.report(records.case("a", records.result("ok", True)), records.case("b"))
    shown = lines(headline(Page(), report, confidence=0.95))
    assert shown[-1] == "Left out: 1 attempt of which nothing was asserted."


def test_evaluators_that_gave_no_result_are_named_with_the_reason(records):
    def case(name, *results, skipped):
        return records.case(name, *results, skipped=tuple(records.skip(*each) for each in skipped))

    report = records.report(
        case("a", records.result("ok", True), skipped=[("Latency", "no trace"), ("tone", "too short")]),
        case("b", records.result("tone", "warm"), skipped=[("Latency", "no trace"), ("ok", "n/a")]),
    )
    assert lines(silent(Page(), report)) == ["Latency: skipped in all 2 attempts: no trace"]


def test_many_evaluators_without_a_result_are_summed_up_and_hostile_reasons_stay_on_their_line(records):
    skipped = tuple(records.skip(f"E{n}", "\x1b[2J\nforged" if n == 0 else "n/a") for n in range(12))
    shown = lines(silent(Page(), records.report(records.case("a", skipped=skipped))))
    assert shown[0] == "E0: skipped in the only attempt: \\x1b[2J\\nforged"
    assert shown[9:] == [
        "E9: skipped in the only attempt: n/a",
        "… and 2 more evaluators that gave no result",
    ]


def test_where_all_evaluators_had_results_none_is_called_silent(records):
    report = records.report(records.case("a", records.result("ok", True)), records.failure("b"))
    assert lines(silent(Page(), report)) == []
