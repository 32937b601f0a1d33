import random
from math import nan

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calipers.stats.interval import wilson
from calipers.stats.predictions import (
    Calibration,
    Confusion,
    Ranking,
    brier_score,
    calibration,
    confusion,
    rank,
)

# ---------------------------------------------------------------------- confusion


PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), max_size=50)
EXAMPLE = confusion([("cat", "cat"), ("cat", "dog"), ("dog", "dog"), ("dog", "dog"), ("cow", "dog")])


def test_rows_are_expected_and_columns_predicted():
    assert EXAMPLE.labels == ("cat", "cow", "dog")
    assert EXAMPLE.counts == ((1, 0, 1), (0, 0, 1), (0, 0, 2))
    assert EXAMPLE.count("cat", "dog") == 1
    assert EXAMPLE.count("dog", "cat") == 0


def test_ratios_of_a_small_example():
    assert EXAMPLE.n == 5
    assert EXAMPLE.accuracy == 3 / 5
    assert (EXAMPLE.precision("dog"), EXAMPLE.recall("dog")) == (2 / 4, 1.0)
    assert EXAMPLE.f1("dog") == pytest.approx(2 * 0.5 * 1 / 1.5)


def test_a_ratio_with_nothing_below_the_line_was_not_measured():
    assert EXAMPLE.precision("cow") is None
    assert EXAMPLE.recall("cow") == 0
    assert EXAMPLE.f1("cow") == 0
    assert confusion([("a", "b")]).recall("b") is None
    empty = confusion([])
    assert (empty.labels, empty.n, empty.accuracy) == ((), 0, None)


@given(pairs=PAIRS)
def test_every_measure_matches_its_definition(pairs):
    found = confusion(pairs)
    assert found.n == len(pairs)
    for label in found.labels:
        hits = sum(e == p == label for e, p in pairs)
        predicted = sum(p == label for _, p in pairs)
        expected = sum(e == label for e, _ in pairs)
        assert found.precision(label) == (hits / predicted if predicted else None)
        assert found.recall(label) == (hits / expected if expected else None)
        assert found.f1(label) == 2 * hits / (predicted + expected)


def test_an_unknown_label_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"no such label: 'fox'; the labels are \['cat', 'cow', 'dog'\]"):
        EXAMPLE.recall("fox")


def test_a_confusion_survives_json():
    assert msgspec.json.decode(msgspec.json.encode(EXAMPLE), type=Confusion) == EXAMPLE


# ---------------------------------------------------------------------- calibration


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


# ---------------------------------------------------------------------- ranking


# A coarse grid makes ties common, a fine one makes them rare.
ITEMS = st.lists(
    st.tuples(st.integers(0, 6).map(lambda i: i / 4) | st.floats(-10, 10), st.booleans()),
    min_size=1,
    max_size=40,
)
BOTH_CLASSES = ITEMS.filter(lambda items: len({positive for _, positive in items}) == 2)


def scores_and_positives(items):
    scores, positives = zip(*items, strict=True)
    return list(scores), list(positives)


@given(items=BOTH_CLASSES)
def test_roc_auc_is_the_chance_that_a_positive_outscores_a_negative(items):
    positives = [s for s, positive in items if positive]
    negatives = [s for s, positive in items if not positive]
    wins = sum((p > n) + 0.5 * (p == n) for p in positives for n in negatives)
    assert rank(*scores_and_positives(items)).roc_auc() == pytest.approx(
        wins / (len(positives) * len(negatives)), rel=1e-12
    )


@given(items=BOTH_CLASSES)
def test_roc_auc_is_the_area_under_the_roc_curve(items):
    ranking = rank(*scores_and_positives(items))
    points = ranking.roc()
    area = np.trapezoid([p.true_positive_rate for p in points], [p.false_positive_rate for p in points])
    assert ranking.roc_auc() == pytest.approx(area, abs=1e-12)
    assert (points[0].threshold, points[0].false_positive_rate, points[0].true_positive_rate) == (None, 0, 0)
    assert (points[-1].false_positive_rate, points[-1].true_positive_rate) == (1, 1)


@given(items=ITEMS.filter(lambda items: any(positive for _, positive in items)))
def test_average_precision_is_the_mean_precision_at_each_positive(items):
    total = 0.0
    wanted = [s for s, positive in items if positive]
    for threshold in wanted:
        chosen = [positive for s, positive in items if s >= threshold]
        total += sum(chosen) / len(chosen)
    assert rank(*scores_and_positives(items)).average_precision() == pytest.approx(
        total / len(wanted), rel=1e-12
    )


@given(items=ITEMS.filter(lambda items: any(positive for _, positive in items)))
def test_every_precision_recall_point_is_what_its_threshold_gives(items):
    points = rank(*scores_and_positives(items)).precision_recall()
    assert [p.threshold for p in points] == sorted({s for s, _ in items}, reverse=True)
    for point in points:
        chosen = [positive for s, positive in items if s >= point.threshold]
        assert point.precision == sum(chosen) / len(chosen)
        assert point.recall == sum(chosen) / sum(positive for _, positive in items)


@given(items=BOTH_CLASSES)
def test_the_ks_statistic_is_the_largest_gap_between_the_two_distributions(items):
    positives = [s for s, positive in items if positive]
    negatives = [s for s, positive in items if not positive]
    ranking = rank(*scores_and_positives(items))
    expected = max(
        abs(sum(p <= s for p in positives) / len(positives) - sum(n <= s for n in negatives) / len(negatives))
        for s, _ in items
    )
    assert ranking.ks_statistic() == pytest.approx(expected, abs=1e-12)
    cut = ranking.ks_threshold()
    gap = sum(s >= cut for s in positives) / len(positives) - sum(s >= cut for s in negatives) / len(
        negatives
    )
    assert abs(gap) == pytest.approx(expected, abs=1e-12)


@given(items=ITEMS, seed=st.integers(0, 99))
def test_the_order_of_the_items_does_not_matter(items, seed):
    shuffled = random.Random(seed).sample(items, len(items))
    assert rank(*scores_and_positives(items)) == rank(*scores_and_positives(shuffled))


@given(items=BOTH_CLASSES)
def test_turning_the_scores_around_turns_the_auc_around(items):
    scores, positives = scores_and_positives(items)
    assert rank([-s for s in scores], positives).roc_auc() == pytest.approx(
        1 - rank(scores, positives).roc_auc(), abs=1e-12
    )


def test_the_ks_statistic_agrees_with_scipy():
    generator = np.random.default_rng(0)
    positives, negatives = generator.normal(1, 1, 80).round(1), generator.normal(0, 2, 60).round(1)
    found = rank([*positives, *negatives], [True] * 80 + [False] * 60).ks_statistic()
    assert found == pytest.approx(stats.ks_2samp(positives, negatives).statistic, abs=1e-12)


def test_a_perfect_a_useless_and_a_reversed_score():
    truth = [True, True, False, False]
    perfect, useless, reversed_ = (rank(s, truth) for s in ([4, 3, 2, 1], [1, 1, 1, 1], [1, 2, 3, 4]))
    assert (perfect.roc_auc(), perfect.average_precision(), perfect.ks_statistic()) == (1, 1, 1)
    assert (useless.roc_auc(), useless.average_precision(), useless.ks_statistic()) == (0.5, 0.5, 0)
    assert reversed_.roc_auc() == 0


def test_average_precision_does_not_flatter_as_the_trapezoid_does():
    ranking = rank([4, 3, 2, 1], [False, True, False, True])
    assert ranking.average_precision() == pytest.approx((1 / 2 + 2 / 4) / 2)


def test_a_measure_whose_class_is_missing_was_not_measured():
    only_negative, only_positive, nothing = (
        rank([1, 2], [False, False]),
        rank([1, 2], [True, True]),
        rank([], []),
    )
    for ranking in (only_negative, nothing):
        assert ranking.average_precision() is ranking.precision_recall() is None
    for ranking in (only_negative, only_positive, nothing):
        assert ranking.roc_auc() is ranking.roc() is ranking.ks_statistic() is ranking.ks_threshold() is None
    assert only_positive.average_precision() == 1
    assert (only_negative.n_positive, only_negative.n_negative) == (0, 2)
    assert (nothing.n_positive, nothing.n_negative) == (0, 0)


def test_impossible_input_is_refused():
    with pytest.raises(ValueError, match="scores must be finite numbers, got nan at index 0"):
        rank([nan], [True])
    with pytest.raises(ValueError, match="2 scores and 1 classes"):
        rank([1.0, 2.0], [True])


def test_a_ranking_survives_json():
    ranking = rank([0.1, 0.9, 0.9], [False, True, False])
    assert msgspec.json.decode(msgspec.json.encode(ranking), type=Ranking) == ranking
