import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, Report
from calipers.errors import InvalidOptionError
from calipers.evaluators import ROCEvaluator


def measure(pairs, *, repeat=1, **options):
    """The curve of (score, truth) pairs."""
    dataset = Dataset(
        cases=[Case(inputs=score, expected_output=truth) for score, truth in pairs],
        report_evaluators=[ROCEvaluator(score_from="output", **options)],
    )
    report = dataset.evaluate_sync(lambda x: x, progress=False, repeat=repeat)
    assert report.report_evaluator_failures == []
    assert Report.from_dict(report.to_dict()).analyses == report.analyses
    return report.analyses[0]


def test_the_curve_runs_from_corner_to_corner():
    found = measure([(0.9, True), (0.4, True), (0.6, False), (0.1, False)])
    assert [(p.threshold, p.false_positive_rate, p.true_positive_rate) for p in found.points] == [
        (None, 0.0, 0.0),
        (0.9, 0.0, 0.5),
        (0.6, 0.5, 0.5),
        (0.4, 0.5, 1.0),
        (0.1, 1.0, 1.0),
    ]
    assert (found.auc, found.n_positive, found.n_negative, found.note) == (0.75, 2, 2, None)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=15))
def test_the_area_is_the_chance_that_a_positive_outscores_a_negative(pairs):
    found = measure(pairs)
    duels = [(a > b) + (a == b) / 2 for a, pa in pairs if pa for b, pb in pairs if not pb]
    assert found.auc == (pytest.approx(sum(duels) / len(duels)) if duels else None)
    assert (found.note is None) == bool(duels)


def test_a_score_that_is_always_the_same_tells_nothing():
    assert measure([(0.5, True), (0.5, False), (0.5, True)]).auc == 0.5


@pytest.mark.parametrize(
    ("pairs", "note"),
    [
        ([], "the report has no attempts"),
        ([(0.5, False)], "no attempt is positive; the values of the expected output are: False"),
        ([(0.5, True)], "no attempt is negative; the values of the expected output are: True"),
    ],
)
def test_without_both_classes_nothing_is_measured_and_the_note_says_why(pairs, note):
    found = measure(pairs)
    assert (found.points, found.auc, found.note) == ([], None, note)


def test_thinning_keeps_both_corners_and_the_area():
    pairs = [(i, i % 3 == 0) for i in range(50)]
    full, thin = measure(pairs, n_points=1000), measure(pairs, n_points=3)
    assert len(thin.points) == 3
    assert (thin.points[0], thin.points[-1], thin.auc) == (full.points[0], full.points[-1], full.auc)


def test_every_attempt_counts():
    found = measure([(0.9, True), (0.1, False)], repeat=2)
    assert (found.n_positive, found.n_negative) == (2, 2)
    assert found.note == "every attempt counts: 4 attempts at 2 cases"


def test_a_curve_of_one_point_is_refused():
    with pytest.raises(InvalidOptionError, match="n_points"):
        ROCEvaluator("x", n_points=1)
