import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, Report
from calipers.errors import InvalidOptionError
from calipers.evaluators import CalibrationEvaluator, EqualsExpected
from calipers.stats import wilson


def run(pairs, *, repeat=1, cluster=None, **options):
    """The report on (probability, outcome) pairs."""
    dataset = Dataset(
        cases=[
            Case(inputs=p, expected_output=outcome, cluster=cluster and cluster(p)) for p, outcome in pairs
        ],
        report_evaluators=[CalibrationEvaluator(score_from="output", **options)],
    )
    return dataset.evaluate_sync(lambda x: x, progress=False, repeat=repeat)


def measure(pairs, **options):
    report = run(pairs, **options)
    assert report.report_evaluator_failures == []
    assert Report.from_dict(report.to_dict()).analyses == report.analyses
    return report.analyses[0]


PAIRS = [(0.0, False), (0.2, False), (0.3, True), (0.8, True), (0.9, True), (1.0, False)]


def test_each_bin_shows_what_was_predicted_and_what_happened():
    found = measure(PAIRS, n_bins=2)
    low, high = found.bins
    assert (low.low, low.high, low.n) == (0.0, 0.5, 3)
    assert low.mean_predicted == pytest.approx(0.5 / 3)
    assert low.observed_rate == pytest.approx(1 / 3)
    assert low.interval == wilson(1, 3)
    assert (high.n, high.observed_rate, high.interval) == (3, pytest.approx(2 / 3), wilson(2, 3))
    assert found.ece == pytest.approx((abs(0.5 - 1) + abs(2.7 - 2)) / 6)
    assert (found.n_positive, found.n_negative, found.note) == (3, 3, None)


def test_the_brier_score_is_the_mean_squared_error_with_an_interval_that_it_could_have():
    found = measure(PAIRS)
    assert found.brier == pytest.approx((0 + 0.04 + 0.49 + 0.04 + 0.01 + 1) / 6)
    assert found.brier_interval.method == "t"
    assert found.brier_interval.low == 0.0
    assert found.brier in found.brier_interval
    assert measure([(0.0, True), (1.0, True)]).brier_interval.high == 1.0


probabilities = st.floats(0, 1) | st.integers(0, 12).map(lambda i: i / 12)


@given(
    st.lists(st.tuples(probabilities, st.booleans()), min_size=1, max_size=12),
    st.integers(1, 12),
    st.sampled_from([1, 2]),
)
def test_every_attempt_is_in_one_bin_and_every_interval_holds_its_rate(pairs, n_bins, repeat):
    found = measure(pairs, n_bins=n_bins, repeat=repeat)
    assert len(found.bins) == n_bins
    assert sum(one.n for one in found.bins) == len(pairs) * repeat
    for one in found.bins:
        # Two attempts at one case say nothing about how cases differ.
        assert (one.interval is None) == (one.n == 0 or (repeat == 2 and one.n == 2))
        assert one.interval is None or one.observed_rate in one.interval


@pytest.mark.parametrize("score", [7, -0.1, 1.0001])
def test_a_score_that_is_no_probability_is_a_failure_that_says_so(score):
    report = run([(0.5, True), (score, True)])
    assert report.analyses == []
    (failure,) = report.report_evaluator_failures
    assert failure.error_type == "InvalidOptionError"
    assert f"the output of 'Case 2' is {float(score)!r}" in failure.error_message
    assert "probabilities from 0 to 1: scale the score, or use ROCEvaluator" in failure.error_message


def test_without_attempts_nothing_is_measured():
    found = measure([])
    assert (found.bins, found.brier, found.ece, found.brier_interval) == ([], None, None, None)
    assert found.note == "the report has no attempts"


def test_one_class_alone_can_be_calibrated_and_is_noted():
    found = measure([(0.9, True), (0.8, True)])
    assert found.brier == pytest.approx(0.025)
    assert found.note == "no attempt is negative; the values of the expected output are: True"


def spread(n):
    """Probabilities in one bin, two of three outcomes positive."""
    return [(0.5 + i / 1000, i % 3 > 0) for i in range(n)]


def test_every_attempt_counts_and_repeats_do_not_narrow_the_intervals():
    once, often = measure(spread(12), n_bins=1), measure(spread(12), n_bins=1, repeat=4)
    (one,), (four,) = once.bins, often.bins
    assert (one.n, four.n) == (12, 48)
    assert four.observed_rate == one.observed_rate
    assert four.interval.width >= one.interval.width
    assert often.brier == pytest.approx(once.brier)
    assert often.brier_interval.width >= 0.99 * once.brier_interval.width
    assert often.note == "every attempt counts: 48 attempts at 12 cases"


def test_cases_of_one_cluster_widen_the_intervals():
    alone = measure(spread(12), n_bins=2)
    together = measure(spread(12), n_bins=2, cluster=lambda p: str(int(p * 1000) % 3))
    assert together.bins[1].interval.width > alone.bins[1].interval.width
    assert together.bins[0] == alone.bins[0]
    assert together.brier == alone.brier
    assert together.brier_interval.method == "clustered-t"


def test_in_a_bin_of_one_cluster_the_data_cannot_tell():
    (one,) = measure(spread(6), n_bins=1, cluster=lambda p: "same").bins
    assert (one.n, one.interval) == (6, None)


def test_a_stated_confidence_can_be_held_against_being_right():
    dataset = Dataset(
        cases=[
            Case(inputs={"answer": "4", "sure": 0.9}, expected_output="4"),
            Case(inputs={"answer": "5", "sure": 0.8}, expected_output="4"),
        ],
        evaluators=[lambda inputs: {"sure": inputs["sure"]}, EqualsExpected()],
        report_evaluators=[
            CalibrationEvaluator("sure", positive_from="assertions", positive_key="EqualsExpected")
        ],
    )
    (found,) = dataset.evaluate_sync(lambda inputs: inputs["answer"], progress=False).analyses
    assert (found.n_positive, found.n_negative) == (1, 1)
    assert found.brier == pytest.approx((0.01 + 0.64) / 2)


@pytest.mark.parametrize(
    "options", [{"n_bins": 0}, {"n_bins": 2.5}, {"n_bins": True}, {"confidence": 95}, {"confidence": 0}]
)
def test_an_option_out_of_range_is_refused(options):
    with pytest.raises(InvalidOptionError, match=next(iter(options))):
        CalibrationEvaluator("x", **options)


def test_the_confidence_of_the_intervals_can_be_chosen():
    wide, narrow = measure(PAIRS, n_bins=1, confidence=0.99), measure(PAIRS, n_bins=1, confidence=0.5)
    assert wide.bins[0].interval.width > narrow.bins[0].interval.width
    assert wide.brier_interval.width > narrow.brier_interval.width
