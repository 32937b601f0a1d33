import pytest

from calipers import Case, Dataset
from calipers.evaluators import KolmogorovSmirnovEvaluator
from calipers.report.analysis import ScalarResult


def measure(pairs, **options):
    dataset = Dataset(
        cases=[Case(inputs=score, expected_output=truth) for score, truth in pairs],
        report_evaluators=[KolmogorovSmirnovEvaluator(score_from="output", **options)],
    )
    report = dataset.evaluate_sync(lambda x: x, progress=False)
    assert report.report_evaluator_failures == []
    return report.analyses


@pytest.mark.parametrize(
    ("pairs", "statistic", "threshold"),
    [
        ([(0.9, True), (0.8, True), (0.1, False)], 1.0, 0.8),
        ([(0.9, True), (0.4, True), (0.6, False), (0.1, False)], 0.5, 0.9),
        ([(0.5, True), (0.5, False)], 0.0, 0.5),
    ],
)
def test_the_largest_gap_between_the_classes_and_where_it_is(pairs, statistic, threshold):
    assert measure(pairs) == [
        ScalarResult(title="KS statistic", value=statistic),
        ScalarResult(title="KS threshold", value=threshold),
    ]


def test_without_both_classes_nothing_is_measured_and_the_note_says_why():
    for found in measure([(0.5, True)], title="gap"):
        assert found.title in {"gap statistic", "gap threshold"}
        assert found.value is None
        assert found.note == "no attempt is negative; the values of the expected output are: True"
