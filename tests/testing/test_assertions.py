import re

import pytest

from calipers import CalipersError, Case, Dataset, Skipped, as_evaluator
from calipers.evaluators import EqualsExpected
from calipers.testing import BlockingScriptedTask, InTurn, assert_mean, assert_passed, assert_rate

ANSWERS = [str(number) for number in range(10)]


def length(output):
    return len(output)


BOTH = (EqualsExpected(), length)


def report_of(right=10, *, repeat=1, evaluators=BOTH, keep="all", **options):
    """A report on ten questions of which the first `right` are answered well."""
    dataset = Dataset(
        cases=[
            Case(name=f"question {n}", inputs=n, expected_output=answer) for n, answer in enumerate(ANSWERS)
        ],
        evaluators=evaluators,
    )
    task = options.pop("task", lambda n: ANSWERS[n] if n < right else "wrong")
    return dataset.evaluate_sync(task, progress=False, repeat=repeat, keep=keep, **options)


def message(check, *arguments, **options):
    """What a check says of something it refuses."""
    with pytest.raises(AssertionError) as caught:
        check(*arguments, **options)
    return str(caught.value)


# ---------------------------------------------------------------------- assert_passed


def test_what_passed_is_accepted():
    report = report_of()
    assert_passed(report)
    assert_passed(report.cases[0])
    assert_passed(report_of(keep="failed"))


def test_an_attempt_that_did_not_pass_is_explained():
    text = message(assert_passed, report_of(9).cases[-1])
    assert text.splitlines()[0] == "question 9: did not pass EqualsExpected"
    assert "expected  '9'" in text
    assert "got       'wrong'" in text


@pytest.mark.parametrize("keep", ["all", "failed"])
def test_a_report_with_an_attempt_that_did_not_pass_is_refused_with_that_attempt(keep):
    text = message(assert_passed, report_of(8, keep=keep))
    assert text.startswith("2 of 10 cases did not pass:" if keep == "all" else "8 of 10 attempts passed")
    assert "question 8: did not pass" in text
    assert "question 7" not in text


def test_a_failed_task_did_not_pass():
    report = report_of(task=BlockingScriptedTask([*ANSWERS[:9], ValueError("no idea")]), max_concurrency=1)
    assert "question 9: the task failed: ValueError: no idea" in message(assert_passed, report)
    assert "question 9: the task failed" in message(assert_passed, report.failures[0])


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (Dataset(cases=[], evaluators=[EqualsExpected()]).evaluate_sync(abs), "no attempt was made"),
        (report_of(evaluators=[length]), "add an evaluator that returns True or False"),
        (report_of(evaluators=[length], keep="failed"), "0 of 10 attempts passed"),
    ],
    ids=["no cases", "nothing asserted", "nothing asserted and nothing kept"],
)
def test_nothing_vacuous_passes(report, said):
    assert said in message(assert_passed, report)
    assert "nothing was asserted" in message(assert_rate, report, at_least=0)


def needs_a_trace(output):
    return Skipped("the attempt has no trace")


@pytest.mark.parametrize("keep", ["all", "failed"])
def test_where_evaluators_were_skipped_throughout_every_check_says_why(keep):
    report = report_of(evaluators=[needs_a_trace, length], keep=keep)
    why = "needs_a_trace: skipped in all 10 attempts: the attempt has no trace"
    assert message(assert_rate, report, at_least=0).splitlines() == [
        "pass rate: there is no rate, because nothing was asserted",
        f"  {why}",
    ]
    assert why in message(assert_rate, report, "needs_a_trace", at_least=0)
    said = message(assert_passed, report)
    assert "the attempt has no trace" in said
    assert "add an evaluator" not in said
    if keep == "all":
        assert said.splitlines()[-1].startswith(
            "An attempt passes by what is asserted of it, and the evaluators"
        )


def test_of_one_evaluator_only_its_own_reason_is_told():
    def other(output):
        return Skipped("of no interest")

    report = report_of(evaluators=[needs_a_trace, other])
    assert "of no interest" not in message(assert_rate, report, "needs_a_trace", at_least=0)


def test_many_evaluators_that_were_skipped_are_summed_up():
    skips = [as_evaluator(needs_a_trace, name=f"e{n}") for n in range(13)]
    assert message(assert_rate, report_of(evaluators=skips), at_least=0).splitlines()[-2:] == [
        "  e9: skipped in all 10 attempts: the attempt has no trace",
        "  … and 3 more",
    ]


def test_an_incomplete_run_passes_no_check():
    def broken():
        yield Case(inputs=0, expected_output="0")
        raise OSError("disk on fire")

    report = Dataset(cases=broken(), evaluators=[EqualsExpected(), length]).evaluate_sync(str, progress=False)
    assert report.incomplete
    for text in (
        message(assert_passed, report),
        message(assert_rate, report, at_least=0.1),
        message(assert_mean, report, "length", at_least=0.1),
    ):
        assert "incomplete" in text
        assert "disk on fire" in text


def flaky(passes):
    """A report on one case of three attempts, of which some pass."""
    dataset = Dataset(
        cases=[Case(name="flaky", inputs=1, expected_output="yes")], evaluators=[EqualsExpected()]
    )
    task = BlockingScriptedTask({1: InTurn(*(["yes"] * passes + ["no"] * (3 - passes)))})
    return dataset.evaluate_sync(task, repeat=3, max_concurrency=1, progress=False)


def test_of_repeated_attempts_so_many_must_pass_as_are_asked_for():
    assert_passed(flaky(2), min_pass=2)
    assert_passed(flaky(3))
    text = message(assert_passed, flaky(1), min_pass=2)
    assert text.startswith("flaky: 1 of 3 attempts passed, and 2 should have:\nflaky [2-3/3]: did not pass")
    assert message(assert_passed, flaky(2)).startswith("flaky: 2 of 3 attempts passed, and 3 should have:")
    assert message(assert_passed, report_of(9, repeat=2), min_pass=1).startswith(
        "1 of 10 cases did not pass 1 of 2 attempts:"
    )


@pytest.mark.parametrize("min_pass", [0, 4, True, 1.5])
def test_a_number_of_passes_that_cannot_be_is_a_mistake(min_pass):
    with pytest.raises(CalipersError, match=re.escape(f"got {min_pass!r}")):
        assert_passed(flaky(3), min_pass=min_pass)


def test_the_number_of_passes_needs_all_attempts():
    with pytest.raises(CalipersError, match="keep='all'"):
        assert_passed(report_of(keep="failed"), min_pass=1)


def test_only_reports_and_attempts_can_have_passed():
    with pytest.raises(CalipersError, match="takes a Report or one of its attempts, got True"):
        assert_passed(True)
    with pytest.raises(CalipersError, match="takes a Report, got None"):
        assert_rate(None, at_least=0.5)


# ---------------------------------------------------------------------- assert_rate


@pytest.mark.parametrize("keep", ["all", "failed"])
@pytest.mark.parametrize("evaluator", [None, "EqualsExpected"])
def test_a_rate_within_bounds_is_accepted_and_one_outside_is_explained(evaluator, keep):
    report = report_of(8, keep=keep)
    assert_rate(report, evaluator, at_least=0.8, at_most=0.8)
    text = message(assert_rate, report, evaluator, at_least=0.9)
    name = evaluator or "pass rate"
    assert text.splitlines()[:3] == [
        (
            f"{name}: 80.0 % [49.0, 94.3] over 10 cases (95 % Wilson interval); it should be at least 90.0 %, "
            "which the interval includes: more cases would tell"
        ),
        "2 attempts did not pass:",
        "question 8: did not pass EqualsExpected",
    ]
    assert "it should be at most 5.0 %" in message(assert_rate, report, evaluator, at_most=0.05)


def test_the_whole_interval_can_be_asked_for():
    report = report_of(10)
    assert_rate(report, at_least=0.7, whole_interval=True)
    text = message(assert_rate, report, at_least=0.9, whole_interval=True)
    assert "100.0 % [72.2, 100.0]" in text
    assert "the whole interval should be at least 90.0 % (as the rate itself is: more cases would" in text
    assert "did not pass" not in text
    assert_rate(report_of(0), at_most=0.3, whole_interval=True)
    assert "the whole interval should be at most 20.0 %" in message(
        assert_rate, report_of(0), at_most=0.2, whole_interval=True
    )


def test_a_rate_of_one_cluster_has_no_interval_to_keep_to():
    dataset = Dataset(
        cases=[Case(inputs=n, expected_output=n, cluster="one") for n in range(5)],
        evaluators=[EqualsExpected()],
    )
    report = dataset.evaluate_sync(lambda n: n, progress=False)
    assert_rate(report, at_least=1)
    assert "no interval" in message(assert_rate, report, at_least=0.1, whole_interval=True)


def test_repeats_are_told():
    text = message(assert_rate, report_of(8, repeat=2), at_least=0.9)
    assert "over 20 attempts at 10 cases" in text


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "without a bound everything would pass"),
        ({"at_least": 90}, "at_least must be a number from 0 to 1, or None, got 90; 90 % is written 0.9"),
        ({"at_most": -0.1}, "at_most must be a number from 0 to 1, or None, got -0.1"),
        ({"at_least": float("nan")}, "at_least must be a number from 0 to 1, or None, got nan"),
        ({"at_least": True}, "at_least must be a number from 0 to 1, or None, got True"),
        ({"evaluator": "EqualExpected", "at_least": 0.5}, "'EqualExpected' (did you mean 'EqualsExpected'?)"),
        ({"evaluator": "Polite", "at_least": 0.5}, "is called 'Polite'; there are 'EqualsExpected'"),
        ({"evaluator": "length", "at_least": 0.5}, "'length' is a score, which has a mean: use assert_mean"),
    ],
)
def test_a_bound_or_name_that_cannot_be_meant_is_a_mistake(options, problem):
    with pytest.raises(CalipersError, match=re.escape(problem)):
        assert_rate(report_of(), **options)


# ---------------------------------------------------------------------- assert_mean


@pytest.mark.parametrize("keep", ["all", "failed"])
def test_a_mean_within_bounds_is_accepted_and_one_outside_is_explained(keep):
    report = report_of(8, keep=keep)  # lengths: eight ones and two fives
    assert_mean(report, "length", at_least=1.8, at_most=1.8)
    assert message(assert_mean, report, "length", at_most=1) == (
        "length: 1.800 [0.594, 3.006] over 10 cases (95 % Student t interval); it should be at most 1, "
        "which the interval includes: more cases would tell"
    )
    assert "should be at least 3" in message(assert_mean, report, "length", at_least=3)


def test_a_mean_that_leaves_out_what_crashed_is_refused():
    report = report_of(task=BlockingScriptedTask([*ANSWERS[:9], ValueError("no idea")]), max_concurrency=1)
    text = message(assert_mean, report, "length", at_least=0)
    assert text.startswith("length: 1 attempt got no score")
    assert "ValueError: no idea" in text


def test_a_name_that_is_no_score_is_a_mistake():
    with pytest.raises(CalipersError, match=re.escape("no score is called 'size'; there are 'length'")):
        assert_mean(report_of(), "size", at_least=1)
    with pytest.raises(CalipersError, match="'EqualsExpected' is an assertion, which has a rate: use"):
        assert_mean(report_of(), "EqualsExpected", at_least=1)
    with pytest.raises(CalipersError, match="no score is called 'size'; the report has no score"):
        assert_mean(report_of(evaluators=[EqualsExpected()]), "size", at_least=1)


@pytest.mark.parametrize("check", [assert_rate, assert_mean])
def test_a_label_has_neither_rate_nor_mean(check):
    def tone(output):
        return "calm"

    with pytest.raises(CalipersError, match="'tone' is a label, which has neither a rate nor a mean"):
        check(report_of(evaluators=[tone]), "tone", at_least=0.5)
