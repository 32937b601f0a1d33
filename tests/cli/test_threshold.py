import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset
from calipers.cli.evaluation_outcome import Finding, Threshold, compare, parse_threshold, unknown
from calipers.errors import InvalidOptionError
from calipers.stats import Estimate


@pytest.mark.parametrize(
    ("text", "threshold"),
    [
        ("0.9", Threshold(None, 0.9)),
        ("90%", Threshold(None, 0.9)),
        ("0", Threshold(None, 0.0)),
        ("1", Threshold(None, 1.0)),
        ("Tone=0.8", Threshold("Tone", 0.8)),
        ("Tone=80%", Threshold("Tone", 0.8)),
        ("delay=-3.5", Threshold("delay", -3.5)),
        ("length=120", Threshold("length", 120.0)),
        ("a=b=0.5", Threshold("a=b", 0.5)),
    ],
)
def test_a_threshold_is_a_number_with_or_without_a_name(text, threshold):
    assert parse_threshold(text) == threshold


@pytest.mark.parametrize(
    "text", ["", "x", "=0.9", "Tone=", "Tone=high", "nan", "Tone=nan", "inf", "1.1", "-0.1", "110%"]
)
def test_anything_else_is_refused(text):
    with pytest.raises(InvalidOptionError, match="--fail-under"):
        parse_threshold(text)


def estimate(value):
    return Estimate(value=value, interval=None, n_units=1, n_observations=1)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_threshold_is_met_by_what_is_not_lower(value, minimum):
    finding = Finding(Threshold("x", minimum), estimate(value))
    if abs(value - minimum) > 1e-6:
        assert finding.met == (value > minimum)
    assert ("not below" in str(finding)) == finding.met


def test_a_mean_that_misses_by_a_rounding_error_does_not_fail():
    assert Finding(Threshold(None, 0.3), estimate(0.1 + 0.1 + 0.1 - 1e-16)).met


def report():
    evaluators = {"holds": lambda output: True, "graded": lambda output: 0.5, "skips": lambda output: {}}
    named = [_named(function, name) for name, function in evaluators.items()]
    return Dataset(cases=[Case(inputs=1)], evaluators=named).evaluate_sync(abs, progress=False)


def _named(function, name):
    function.__name__ = name
    return function


def test_what_was_not_measured_meets_nothing():
    (finding,) = compare([Threshold("skips", 0.0)], report())
    assert not finding.met
    assert str(finding) == "skips should be at least 0 and was not measured"


def test_thresholds_of_evaluators_that_a_report_does_not_have_are_told_apart():
    thresholds = [
        Threshold(None, 1.0),
        Threshold("holds", 1.0),
        Threshold("graded", 0.6),
        Threshold("greded", 0.6),
    ]
    findings = compare(thresholds, report())
    assert [(finding.threshold.evaluator, finding.met) for finding in findings] == [
        (None, True),
        ("holds", True),
        ("graded", False),
    ]
    (message,) = unknown(thresholds, [report()])
    assert message == (
        "--fail-under greded=0.6: there is no such evaluator; did you mean 'graded'? "
        "There are 'holds', 'graded', 'skips'."
    )
    assert unknown([Threshold("x", 1.0)], [report()]) == [
        "--fail-under x=1: there is no such evaluator; there are 'holds', 'graded', 'skips'"
    ]
