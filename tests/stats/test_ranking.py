import random
from math import nan

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calipers.stats.ranking import Ranking, rank

# A coarse grid makes ties common, a fine one makes them rare.
ITEMS = st.lists(
    st.tuples(st.integers(0, 6).map(lambda i: i / 4) | st.floats(-10, 10), st.booleans()),
    min_size=1,
    max_size=40,
)
BOTH_CLASSES = ITEMS.filter(lambda items: len({positive for _, positive in items}) == 2)


def columns(items):
    scores, positives = zip(*items, strict=True)
    return list(scores), list(positives)


@given(items=BOTH_CLASSES)
def test_roc_auc_is_the_chance_that_a_positive_outscores_a_negative(items):
    positives = [s for s, positive in items if positive]
    negatives = [s for s, positive in items if not positive]
    wins = sum((p > n) + 0.5 * (p == n) for p in positives for n in negatives)
    assert rank(*columns(items)).roc_auc() == pytest.approx(
        wins / (len(positives) * len(negatives)), rel=1e-12
    )


@given(items=BOTH_CLASSES)
def test_roc_auc_is_the_area_under_the_roc_curve(items):
    ranking = rank(*columns(items))
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
    assert rank(*columns(items)).average_precision() == pytest.approx(total / len(wanted), rel=1e-12)


@given(items=ITEMS.filter(lambda items: any(positive for _, positive in items)))
def test_every_precision_recall_point_is_what_its_threshold_gives(items):
    points = rank(*columns(items)).precision_recall()
    assert [p.threshold for p in points] == sorted({s for s, _ in items}, reverse=True)
    for point in points:
        chosen = [positive for s, positive in items if s >= point.threshold]
        assert point.precision == sum(chosen) / len(chosen)
        assert point.recall == sum(chosen) / sum(positive for _, positive in items)


@given(items=BOTH_CLASSES)
def test_the_ks_statistic_is_the_largest_gap_between_the_two_distributions(items):
    positives = [s for s, positive in items if positive]
    negatives = [s for s, positive in items if not positive]
    ranking = rank(*columns(items))
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
    assert rank(*columns(items)) == rank(*columns(shuffled))


@given(items=BOTH_CLASSES)
def test_turning_the_scores_around_turns_the_auc_around(items):
    scores, positives = columns(items)
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
