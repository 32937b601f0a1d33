"""What one run does not say, though nothing failed, is told before the rest is believed."""

import pytest

from calipers.comparison import compare_reports

NAMES = [f"case {number}" for number in range(20)]


def warned(one, two, **options):
    return [each for each in compare_reports(one, two, **options).warnings if "the others may be" in each]


@pytest.mark.parametrize("value", [True, 0.9, "fine"], ids=["assertion", "score", "label"])
def test_an_evaluator_that_fell_silent_is_told(attempt, report_of, value):
    whole = report_of(attempt(name, near=value, other=0.5) for name in NAMES)
    half = report_of(
        attempt(name, other=0.5, **({"near": value} if number < 10 else {"skipped": ["near"]}))
        for number, name in enumerate(NAMES)
    )
    names = "('case 10', 'case 11', 'case 12' and 7 more): the others may be the easy ones"
    for pair, here, there in (
        ((whole, half), "candidate", "baseline"),
        ((half, whole), "baseline", "candidate"),
    ):
        said = f"'near' lacks results on 10 cases of the {here} that the {there} has, though nothing failed {names}"
        assert said in warned(*pair)
        assert said in warned(*pair, evaluators=["near"])
        assert warned(*pair, evaluators=["other"]) == []
    assert warned(half, half) == warned(whole, whole) == []


def test_cases_that_assert_nothing_any_more_are_told_of_the_pass_rate(attempt, report_of):
    whole = report_of(attempt(name, ok=True) for name in NAMES)
    last = attempt(NAMES[-1], skipped=["ok"])
    less = report_of([*(attempt(name, ok=True) for name in NAMES[:-1]), last])
    said = "lacks results on 1 case of the candidate that the baseline has, though nothing failed ('case 19')"
    assert [each.split(": ")[0] for each in warned(whole, less)] == [f"the pass rate {said}", f"'ok' {said}"]


@pytest.mark.parametrize("value", [True, 0.9, "fine"], ids=["assertion", "score", "label"])
def test_a_case_without_the_evaluator_is_not_called_silent(attempt, report_of, value):
    whole = report_of(attempt(name, near=value, other=0.5) for name in NAMES)
    less = report_of(
        [*(attempt(name, near=value, other=0.5) for name in NAMES[:-1]), attempt(NAMES[-1], other=0.5)]
    )
    for pair, side in (((whole, less), "baseline"), ((less, whole), "candidate")):
        found = compare_reports(*pair)
        assert not any("lacks results" in each for each in found.warnings)
        (only,) = found.changed_evaluators
        assert (only.case, only.name, getattr(only, side)) == (NAMES[-1], "near", ("near()",))
    assert compare_reports(less, less).changed_evaluators == ()


def test_a_task_that_failed_on_a_case_without_the_evaluator_is_not_called_silent(attempt, report_of):
    whole = [attempt("a", ok=True, near=0.5), attempt("b", ok=True)]
    failed = [whole[0], attempt("b", error="Crash", ok=True)]
    for pair in ((whole, failed), (failed, whole)):
        assert not any("near" in each for each in compare_reports(*map(report_of, pair)).warnings)


def test_one_attempt_of_a_repeated_case_is_enough(attempt, report_of):
    whole = [attempt(name, repeat=f"{number}/2", near=0.5) for name in "abc" for number in (1, 2)]
    less = [*whole[:-1], attempt("c", repeat="2/2")]
    assert "1 case of the candidate" in warned(report_of(whole), report_of(less))[0]


@pytest.mark.parametrize("not_run", [{}, {"near": 0.5}], ids=["not told", "told"])
def test_what_failed_is_not_silent(attempt, report_of, not_run):
    whole = report_of(attempt(name, near=0.5) for name in NAMES)
    failed = report_of(
        [
            *(attempt(name, near=0.5) for name in NAMES[:-2]),
            attempt(NAMES[-2], error="Crash", **not_run),
            attempt(NAMES[-1], near=0.5, lost=["near"]),
        ]
    )
    assert not any("though nothing failed" in each for each in warned(whole, failed))
    assert not any("though nothing failed" in each for each in warned(failed, whole))


def test_a_metric_that_some_attempts_have_not_recorded_is_told(attempt, report_of):
    whole = report_of(attempt(name, metrics={"cost": 1.0, "calls": 2}) for name in NAMES)
    third = report_of(
        [
            *(
                attempt(name, metrics={"cost": 1.0, "calls": 2} if name < "case 15" else {})
                for name in NAMES[:-1]
            ),
            attempt(NAMES[-1], error="Crash"),
        ]
    )
    missing = sum(name >= "case 15" for name in NAMES[:-1])
    for pair, side in (((whole, third), "candidate"), ((third, whole), "baseline")):
        told = [each for each in warned(*pair) if "metric" in each]
        assert told == [
            f"the metric {name!r} was not recorded in {missing} of 19 attempts of the {side} that finished: "
            "the others may be the cheap ones"
            for name in ("cost", "calls")
        ]
    assert warned(whole, whole) == []


def test_a_metric_that_neither_run_has_of_a_case_was_never_due(attempt, report_of):
    run = report_of(attempt(name, metrics={"strikes": 1} if name > "a" else {}) for name in "abc")
    assert warned(run, run) == []


def test_runs_over_different_cases_tell_of_their_metrics_too(attempt, report_of):
    one = report_of(attempt(name, metrics={"cost": 1.0}) for name in "abc")
    two = report_of(attempt(name, metrics={"cost": 1.0} if name < "y" else {}) for name in "xyz")
    assert "was not recorded in 2 of 3 attempts of the candidate" in warned(one, two)[0]


def test_a_metric_that_is_recorded_no_more_is_told(attempt, report_of):
    one, two = (report_of(attempt(name, metrics=each) for name in "abc") for each in ({"cost": 1.0}, {}))
    said = "the metric 'cost' is in no attempt of the candidate, so it is not compared"
    assert said in compare_reports(one, two).warnings
    assert compare_reports(two, one).warnings == ()
