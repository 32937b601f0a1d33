import time

import pytest

from calipers import Case, Dataset
from calipers.data.record import Failure
from calipers.scoring.scoring import BlockedLoop
from calipers.views.notes import footnote, measures, warnings
from calipers.views.page import Page


def lines(drawn) -> list[str]:
    return [line.plain for line in drawn]


def test_times_are_quantiles_and_metrics_are_means(records):
    report = records.report(
        records.case("a", task_duration=1.0, metrics={"tokens": 100, "cost": 0.001}),
        records.case("b", task_duration=3.0, metrics={"tokens": 101, "cost": 0.002}),
    )
    assert lines(measures(Page(), report)) == [
        "Task time  p50 2 s · longest 3 s · p90 needs 36 cases",
        "Metrics    tokens 100.5 · cost 0.0015 · (means per case)",
    ]


def test_times_say_that_they_are_of_finished_tasks_where_some_failed(records):
    report = records.report(records.case("a", task_duration=1.0), records.failure("b", task_duration=9.0))
    assert lines(measures(Page(), report)) == [
        "Task time  p50 1 s · longest 1 s · p90 needs 36 cases · (finished tasks)",
    ]


def test_nothing_measured_is_nothing_shown(records):
    assert lines(measures(Page(), records.report(records.failure("a")))) == []


def test_evaluators_that_blocked_the_event_loop_are_named_with_the_way_out(records):
    report = records.report(blocked={"Slow": BlockedLoop(3, 1.2), "Once": BlockedLoop(1, 0.5)})
    way_out = "make it async, or pass evaluator_timeout=... to run it in a thread"
    assert lines(warnings(Page(), report)) == [
        f"Note: evaluator 'Slow' blocked the event loop 3 times, longest 1.2 s: {way_out}",
        f"Note: evaluator 'Once' blocked the event loop once, longest 500 ms: {way_out}",
    ]


def test_a_task_that_blocked_the_event_loop_has_a_way_out_of_its_own(records):
    report = records.report(blocked={"(task)": BlockedLoop(2, 1.5)})
    way_out = "await what it waits for, or make it an ordinary function, which runs in threads"
    assert lines(warnings(Page(), report)) == [
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
    assert bool(lines(warnings(Page(), records.report(blocked={name: blocked})))) is noted


def test_a_task_of_a_run_that_blocks_is_noted_as_a_task():
    async def blocks(seconds):
        time.sleep(seconds)

    report = Dataset(cases=[Case(inputs=0.12), Case(inputs=0.12)]).evaluate_sync(blocks, progress=False)
    [note] = lines(warnings(Page(), report))
    assert note.startswith("Note: the async task blocked the event loop 2 times")


def test_failed_clean_up_is_noted(records):
    failure = Failure(error_type="OSError", error_message="OSError: still open")
    report = records.report(
        records.case("a", teardown_failure=failure), records.failure("b", teardown_failure=failure)
    )
    assert lines(warnings(Page(), report)) == [
        "Note: clean-up failed after 2 attempts (the judgements stand); the first was a: OSError: still open"
    ]


def test_the_footnote_names_each_method_once(records):
    report = records.report(
        *(
            records.case(str(i), records.result("ok", i > 1), records.result("n", i), records.result("m", -i))
            for i in range(5)
        )
    )
    (line,) = lines(footnote(Page(), report, report.summaries(), confidence=0.95))
    assert line == (
        "[low, high] is a 95 % interval (Wilson; Student t): with fresh cases of the same kind, 95 % of such "
        "intervals would contain the true value. Those of scores are approximate: they go by the spread that was seen."
    )


def test_under_repeats_the_footnote_says_what_they_are_good_for(records):
    report = records.report(
        *(records.case(f"a [{i}/2]", records.result("ok", True), source_case_name="a") for i in (1, 2)),
        repeat=2,
    )
    (line,) = lines(footnote(Page(), report, report.summaries(), confidence=0.95))
    assert line.endswith("Repeats measure the same cases better; only more cases tell more about new ones.")


def test_without_intervals_there_is_no_footnote(records):
    report = records.report(records.case("a", records.result("tone", "polite")))
    assert lines(footnote(Page(), report, report.summaries(), confidence=0.95)) == []


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
    shown = lines(footnote(Page(), report, report.summaries(), confidence=0.95))[1:]
    assert [
        line.removeprefix("A graded row is the mean of the scores behind a verdict, ") for line in shown
    ] == end


def test_high_quantiles_of_times_have_intervals_and_are_shown_where_cases_suffice(records):
    few, some, many = (
        records.report(*(records.case(str(i), task_duration=i / n) for i in range(n))) for n in (20, 50, 400)
    )
    assert lines(measures(Page(), few)) == [
        "Task time  p50 475 ms [250 ms, 700 ms] · longest 950 ms · p90 needs 36 cases"
    ]
    assert lines(measures(Page(200), some)) == [
        "Task time  p50 490 ms [340 ms, 640 ms] · p90 882 ms [800 ms, 980 ms] · longest 980 ms · p99 needs 368 cases"
    ]
    assert "p99 988 ms [9" in "".join(lines(measures(Page(200), many)))
