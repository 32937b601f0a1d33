"""Whether a judge goes by the order."""

import random

import pytest

from calipers.stats import measure_order_bias


def judged(draw, n, *, noise=0.0, lean=0.0):
    """Pairs as a judge sees them in both orders; it errs with `noise`, and names the first place with the chance `lean`."""
    pairs = []
    for _ in range(n):
        better = draw.random() < 0.5

        def verdict(*, is_first, better=better):
            if draw.random() < lean:
                return float(is_first)
            return float(better != (draw.random() < noise))

        pairs.append((verdict(is_first=True), verdict(is_first=False)))
    return pairs


def test_a_planted_bias_is_found_with_its_direction():
    found = measure_order_bias(judged(random.Random(0), 100, lean=0.4))
    assert found.favours == "first"
    assert found.followed.value > 0.2
    turned = measure_order_bias([(b, a) for a, b in judged(random.Random(0), 100, lean=0.4)])
    assert turned.favours == "second"
    assert turned.first_share.value == pytest.approx(1 - found.first_share.value)


def test_a_noisy_judge_without_bias_is_seldom_called_biased():
    draw = random.Random(1)
    alarms = sum(measure_order_bias(judged(draw, 60, noise=0.3)).favours is not None for _ in range(200))
    assert alarms <= 20
    coin = measure_order_bias(judged(draw, 400, noise=0.5))
    assert 0.5 in coin.followed.interval  # a coin follows the position half of the time
    assert coin.favours is None


def test_ties_and_conflicts_are_counted():
    found = measure_order_bias([(1, 1), (0.5, 0.5), (1, 0), (1, 0.5)])
    assert (found.n_pairs, found.conflicts, found.followed.value) == (4, 2, 0.25)
    assert found.first_share.value == pytest.approx((0.5 + 0.5 + 1 + 0.75) / 4)
    assert measure_order_bias([]) is None
    with pytest.raises(ValueError, match="pair 0 must have two verdicts"):
        measure_order_bias([(2, 1)])
    with pytest.raises(ValueError, match="cluster id"):
        measure_order_bias([(1, 1)], clusters=[])
