import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, Report
from calipers.errors import InvalidOptionError
from calipers.evaluators import PrecisionRecallEvaluator


def measure(pairs, *, repeat=1, **options):
    """The curve of (score, truth) pairs."""
    evaluator = PrecisionRecallEvaluator(score_from="output", **options)
    dataset = Dataset(
        cases=[Case(inputs=score, expected_output=truth) for score, truth in pairs],
        report_evaluators=[evaluator],
    )
    report = dataset.evaluate_sync(lambda x: x, progress=False, repeat=repeat)
    assert report.report_evaluator_failures == []
    assert Report.from_dict(report.to_dict()).analyses == report.analyses
    return report.analyses[0]


def shown(found):
    return [(p.threshold, p.precision, p.recall) for p in found.points]


def test_the_curve_runs_from_the_highest_score_down():
    found = measure([(0.9, True), (0.4, True), (0.6, False), (0.1, False)])
    assert shown(found) == [
        (0.9, 1.0, 0.5),
        (0.6, 0.5, 0.5),
        (0.4, pytest.approx(2 / 3), 1.0),
        (0.1, 0.5, 1.0),
    ]
    assert found.average_precision == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)
    assert (found.n_positive, found.n_negative, found.note) == (2, 2, None)


def test_attempts_with_equal_scores_cross_a_threshold_together():
    pairs = [(0.5, True), (0.5, False), (0.5, False)]
    assert shown(measure(pairs)) == [(0.5, pytest.approx(1 / 3), 1.0)]
    assert measure(pairs).average_precision == measure(pairs[::-1]).average_precision == pytest.approx(1 / 3)


def test_the_string_negative_is_not_positive():
    found = measure([(0.9, "negative"), (0.8, "positive")], positive_label="positive")
    assert (found.n_positive, found.n_negative, found.average_precision) == (1, 1, 0.5)


@pytest.mark.parametrize(
    ("pairs", "note"),
    [
        ([], "the report has no attempts"),
        ([(0.5, False)], "no attempt is positive; the values of the expected output are: False"),
        ([(0.5, True), (0.2, True)], "no attempt is negative; the values of the expected output are: True"),
        ([("high", True)], "nothing could be measured: 1 whose output is of type str, not a number"),
    ],
)
def test_without_both_classes_nothing_is_measured_and_the_note_says_why(pairs, note):
    found = measure(pairs)
    assert (found.points, found.average_precision, found.note) == ([], None, note)


def test_a_name_that_no_attempt_has_is_noted_beside_those_there_are():
    dataset = Dataset(
        cases=[Case(inputs=0.5, expected_output=True)],
        evaluators=[lambda output: {"sure": output}],
        report_evaluators=[PrecisionRecallEvaluator("shure")],
    )
    (found,) = dataset.evaluate_sync(lambda x: x, progress=False).analyses
    assert found.average_precision is None
    assert found.note == (
        "nothing could be measured: 1 without a score called 'shure' (the scores there are: 'sure')"
    )


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=40), st.integers(2, 6))
def test_thinning_the_points_changes_the_display_and_not_the_number(pairs, n):
    full, thin = measure(pairs, n_points=1000), measure(pairs, n_points=n)
    assert thin.average_precision == full.average_precision
    assert len(thin.points) == min(n, len(full.points))
    assert thin.points[:1] + thin.points[-1:] == full.points[:1] + full.points[-1:]


def test_every_attempt_counts():
    found = measure([(0.9, True), (0.1, False)], repeat=3)
    assert (found.n_positive, found.n_negative, found.average_precision) == (3, 3, 1.0)
    assert found.note == "every attempt counts: 6 attempts at 2 cases"


def test_a_curve_of_one_point_is_refused():
    with pytest.raises(InvalidOptionError, match="n_points"):
        PrecisionRecallEvaluator("x", n_points=1)
