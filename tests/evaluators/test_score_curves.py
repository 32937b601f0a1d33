import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, Report
from calipers.errors import InvalidOptionError
from calipers.evaluators import KolmogorovSmirnovEvaluator, PrecisionRecallEvaluator, ROCEvaluator
from calipers.evaluators.score_curves import ScoredReportEvaluator, thinned
from calipers.report.analysis import ScalarResult, TableResult


@dataclass
class Rows(ScoredReportEvaluator):
    """Shows the sample it was given."""

    def evaluate(self, ctx):
        sample = self.sample(ctx.report)
        rows = [[scored.score, scored.positive] for scored in sample.values]
        note = sample.note(self.missing_class(sample))
        return TableResult(title="rows", columns=["score", "positive"], rows=rows, note=note)


def run(pairs, evaluator):
    """The report on tasks that return the first of each pair, where the second is expected unless it is `...`."""
    cases = [
        Case(name=f"case {i}", inputs=x, **({} if truth is ... else {"expected_output": truth}))
        for i, (x, truth) in enumerate(pairs)
    ]
    return Dataset(cases=cases, report_evaluators=[evaluator]).evaluate_sync(lambda x: x, progress=False)


def rows(pairs, **options):
    report = run(pairs, Rows(score_from="output", **options))
    assert report.report_evaluator_failures == []
    return report.analyses[0]


def failure(pairs, **options):
    (found,) = run(pairs, Rows(score_from="output", **options)).report_evaluator_failures
    assert found.error_type == "InvalidOptionError"
    return found.error_message


def test_a_bool_is_its_own_truth():
    assert rows([(0.9, True), (0.1, False)]).rows == [[0.9, True], [0.1, False]]


@pytest.mark.parametrize("truth", ["negative", "", 1, 0, 0.5])
def test_what_is_no_bool_is_never_taken_for_one(truth):
    message = failure([(0.5, truth), (0.9, truth)])
    assert f"the expected output of 'case 0' is {truth!r}, which is neither True nor False" in message
    assert "positive_label" in message
    found = rows([(0.5, True), (0.9, truth), (0.2, False)])
    assert [row[1] for row in found.rows] == [True, False]
    assert "1 of 3 attempts are left out: 1 whose expected output is neither yes nor no" in str(found.note)


def test_the_positive_label_is_positive_and_every_other_is_not():
    found = rows([(0.9, "positive"), (0.1, "negative"), (0.2, "")], positive_label="positive")
    assert [row[1] for row in found.rows] == [True, False, False]


@pytest.mark.parametrize(
    ("label", "truth", "positive"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (False, False, True),
        (False, True, False),
        (np.int64(1), 1, True),
        ("1", 1, False),
    ],
)
def test_a_label_is_met_by_its_equals_and_a_bool_is_never_a_number(label, truth, positive):
    assert rows([(0.5, truth)], positive_label=label).rows == [[0.5, positive]]


def test_a_truth_of_none_is_unknown_and_left_out():
    found = rows([(0.5, None), (0.6, True), (0.7, ...), (0.1, False)])
    assert len(found.rows) == 2
    assert found.note == (
        "2 of 4 attempts are left out: 1 whose expected output is None, 1 without an expected output"
    )


def test_a_truth_with_parts_asks_for_the_part():
    assert "name the part to look at with positive_key" in failure([(0.5, {"label": True})])
    assert rows([(0.5, {"label": True})], positive_key="label").rows == [[0.5, True]]


@pytest.mark.parametrize(
    ("score", "reason"),
    [
        (True, "1 whose output is of type bool, not a number"),
        ("0.9", "1 whose output is of type str, not a number"),
        (None, "1 whose output is not a finite number"),
        (math.nan, "1 whose output is not a finite number"),
        (math.inf, "1 whose output is not a finite number"),
    ],
)
def test_what_is_no_number_is_left_out_as_a_score(score, reason):
    assert rows([(score, True)]).note == f"nothing could be measured: {reason}"


def test_numpy_numbers_are_numbers():
    assert rows([(np.float32(0.5), True), (np.int64(2), False)]).rows == [[0.5, True], [2, False]]


def test_a_missing_class_is_said_with_the_values_that_were_met():
    found = rows([(0.5, "ham"), (0.6, "spamm")], positive_label="spam")
    assert found.note == "no attempt is positive; the values of the expected output are: 'ham', 'spamm'"
    assert rows([(0.5, True)]).note == "no attempt is negative; the values of the expected output are: True"


def test_scores_need_a_name():
    with pytest.raises(InvalidOptionError, match="score_from='scores' needs score_key"):
        Rows()
    with pytest.raises(InvalidOptionError, match="positive_from='assertions' needs positive_key"):
        Rows("x", positive_from="assertions")


def graded(output):
    return {"grade": output, "good": output > 0.5}


def test_the_truth_can_be_an_assertion_and_a_failed_one_can_be_what_is_looked_for():
    def sample(**options):
        evaluator = Rows("grade", positive_from="assertions", positive_key="good", **options)
        dataset = Dataset(
            cases=[Case(inputs=0.9), Case(inputs=0.1)], evaluators=[graded], report_evaluators=[evaluator]
        )
        return dataset.evaluate_sync(lambda x: x, progress=False).analyses[0].rows

    assert sample() == [[0.9, True], [0.1, False]]
    assert sample(positive_label=False) == [[0.9, False], [0.1, True]]


@given(st.lists(st.integers(), unique=True), st.integers(2, 20))
def test_thinning_keeps_the_ends_the_order_and_no_more_than_asked_for(points, n):
    kept = thinned(points, n)
    assert len(kept) == min(len(points), n)
    assert kept[:1] == points[:1]
    assert kept[-1:] == points[-1:]
    places = [points.index(point) for point in kept]
    assert places == sorted(set(places))


@pytest.mark.parametrize("n", [1, 0, -3, 2.5, True, None])
def test_a_curve_needs_two_points(n):
    with pytest.raises(InvalidOptionError, match="n_points must be a whole number from 2"):
        ROCEvaluator("x", n_points=n)


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


def precision_recall(pairs, *, repeat=1, **options):
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
    found = precision_recall([(0.9, True), (0.4, True), (0.6, False), (0.1, False)])
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
    assert shown(precision_recall(pairs)) == [(0.5, pytest.approx(1 / 3), 1.0)]
    assert (
        precision_recall(pairs).average_precision
        == precision_recall(pairs[::-1]).average_precision
        == pytest.approx(1 / 3)
    )


def test_the_string_negative_is_not_positive():
    found = precision_recall([(0.9, "negative"), (0.8, "positive")], positive_label="positive")
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
def test_without_both_classes_nothing_is_measured_and_the_note_says_why_for_precision_and_recall(pairs, note):
    found = precision_recall(pairs)
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
    full, thin = (
        precision_recall(pairs, n_points=1000),
        precision_recall(pairs, n_points=n),
    )
    assert thin.average_precision == full.average_precision
    assert len(thin.points) == min(n, len(full.points))
    assert thin.points[:1] + thin.points[-1:] == full.points[:1] + full.points[-1:]


def test_every_attempt_counts_for_precision_and_recall():
    found = precision_recall([(0.9, True), (0.1, False)], repeat=3)
    assert (found.n_positive, found.n_negative, found.average_precision) == (3, 3, 1.0)
    assert found.note == "every attempt counts: 6 attempts at 2 cases"


def test_a_curve_of_one_point_is_refused_for_precision_and_recall():
    with pytest.raises(InvalidOptionError, match="n_points"):
        PrecisionRecallEvaluator("x", n_points=1)


def distance(pairs, **options):
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
    assert distance(pairs) == [
        ScalarResult(title="KS statistic", value=statistic),
        ScalarResult(title="KS threshold", value=threshold),
    ]


def test_without_both_classes_nothing_is_measured_and_the_note_says_why_for_the_distance():
    for found in distance([(0.5, True)], title="gap"):
        assert found.title in {"gap statistic", "gap threshold"}
        assert found.value is None
        assert found.note == "no attempt is negative; the values of the expected output are: True"
