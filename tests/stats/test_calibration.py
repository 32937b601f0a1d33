from math import nan

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats.calibration import Calibration, brier_score, calibration
from calipers.stats.interval import wilson

FORECASTS = st.lists(
    st.tuples(st.floats(0, 1) | st.integers(0, 20).map(lambda i: i / 20), st.booleans()),
    min_size=1,
    max_size=60,
)


def columns(forecasts):
    predicted, outcomes = zip(*forecasts, strict=True)
    return list(predicted), list(outcomes)


@given(forecasts=FORECASTS, n_bins=st.integers(1, 20))
def test_every_bin_says_what_was_predicted_and_what_happened(forecasts, n_bins):
    found = calibration(*columns(forecasts), n_bins=n_bins, confidence=0.9)
    assert [b.low for b in found.bins] == [i / n_bins for i in range(n_bins)]
    assert sum(b.n for b in found.bins) == found.n == len(forecasts)
    for b in found.bins:
        inside = [(p, o) for p, o in forecasts if b.low <= p < b.high or (p == 1 == b.high)]
        assert b.n == len(inside)
        if inside:
            assert b.mean_predicted == pytest.approx(np.mean([p for p, _ in inside]), abs=1e-12)
            assert b.observed_rate == sum(o for _, o in inside) / len(inside)
            assert b.interval == wilson(sum(o for _, o in inside), len(inside), confidence=0.9)
        else:
            assert b.mean_predicted is b.observed_rate is b.interval is None


@given(forecasts=FORECASTS, n_bins=st.integers(1, 20))
def test_the_expected_error_is_the_weighted_gap_of_the_bins(forecasts, n_bins):
    found = calibration(*columns(forecasts), n_bins=n_bins)
    gaps = sum(b.n / found.n * abs(b.mean_predicted - b.observed_rate) for b in found.bins if b.n)
    assert found.expected_error == pytest.approx(gaps, abs=1e-12)


@given(forecasts=FORECASTS)
def test_the_brier_score_is_the_mean_squared_distance(forecasts):
    predicted, outcomes = columns(forecasts)
    expected = float(np.mean((np.array(predicted) - np.array(outcomes, dtype=float)) ** 2))
    assert brier_score(predicted, outcomes) == pytest.approx(expected, abs=1e-12)
    assert calibration(predicted, outcomes).brier_score == brier_score(predicted, outcomes)


def test_a_forecast_on_an_edge_belongs_to_the_bin_above():
    found = calibration([0.29], [True], n_bins=100)
    assert [i for i, b in enumerate(found.bins) if b.n] == [29]


def test_certain_and_right_is_perfect_and_certain_and_wrong_is_worst():
    right, wrong = calibration([1.0, 0.0], [True, False]), calibration([1.0, 0.0], [False, True])
    assert (right.brier_score, right.expected_error) == (0, 0)
    assert (wrong.brier_score, wrong.expected_error) == (1, 1)


def test_honest_forecasts_have_a_small_expected_error():
    random = np.random.default_rng(0)
    predicted = random.random(20_000)
    happened = random.random(20_000) < predicted
    assert calibration(predicted.tolist(), happened.tolist()).expected_error < 0.02
    assert calibration((predicted**2).tolist(), happened.tolist()).expected_error > 0.1


def test_no_forecasts_have_no_calibration():
    assert calibration([], []) is None
    assert brier_score([], []) is None


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: calibration([1.5], [True]), "between 0 and 1, got 1.5 at index 0"),
        (lambda: calibration([0.5, nan], [True, True]), "got nan at index 1"),
        (lambda: calibration([0.5], []), "1 predictions and 0 outcomes"),
        (lambda: calibration([0.5], [True], n_bins=0), "n_bins must be at least 1, got 0"),
        (lambda: calibration([], [], confidence=3), "got 3"),
        (lambda: brier_score([-0.1], [True]), "got -0.1"),
    ],
)
def test_impossible_input_is_refused_with_its_value(call, shown):
    with pytest.raises(ValueError, match=shown):
        call()


def test_a_calibration_survives_json():
    found = calibration([0.2, 0.8], [False, True])
    assert msgspec.json.decode(msgspec.json.encode(found), type=Calibration) == found
