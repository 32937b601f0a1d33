from math import fsum, nan
from random import Random

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calipers.stats.clusters import clustered_interval
from calipers.stats.estimate import (
    Estimate,
    bounded_mean,
    mean,
    mean_from_moments,
    rate,
    rate_from_counts,
)
from calipers.stats.interval import Interval, t_interval, wilson
from calipers.stats.sample import Moments

OUTCOMES = st.lists(st.booleans(), min_size=1, max_size=60)
TRIALS = st.lists(
    st.integers(1, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1, max_size=40
)


@given(outcomes=OUTCOMES, confidence=st.floats(0.5, 0.99))
def test_one_attempt_per_case_is_exactly_wilson(outcomes, confidence):
    k, n = sum(outcomes), len(outcomes)
    found = rate([(int(passed), 1) for passed in outcomes], confidence=confidence)
    assert found == Estimate(k / n, wilson(k, n, confidence=confidence), n_units=n, n_observations=n)
    assert found == rate_from_counts(k, n, confidence=confidence)


@given(outcomes=OUTCOMES.filter(lambda o: len(o) > 1))
def test_clusters_of_one_case_each_are_exactly_wilson(outcomes):
    k, n = sum(outcomes), len(outcomes)
    found = rate([(int(passed), 1) for passed in outcomes], clusters=range(n))
    assert found.interval == wilson(k, n)
    assert found.n_clusters == n


@given(outcomes=OUTCOMES, repeats=st.integers(2, 9))
def test_repeats_that_always_agree_add_nothing(outcomes, repeats):
    k, n = sum(outcomes), len(outcomes)
    found = rate([(repeats * passed, repeats) for passed in outcomes])
    assert found.value == k / n
    assert (found.interval.low, found.interval.high) == (wilson(k, n).low, wilson(k, n).high)
    assert found.interval.method == "effective-wilson"
    assert (found.n_units, found.n_observations) == (n, n * repeats)


@given(cases=TRIALS)
def test_repeats_help_at_most_as_much_as_independent_attempts_would(cases):
    found = rate(cases)
    value = sum(k / n for k, n in cases) / len(cases)
    attempts = sum(n for _, n in cases)
    assert found.value == pytest.approx(value)
    widest, narrowest = (wilson(value * size, size).width for size in (len(cases), attempts))
    assert narrowest - 1e-12 <= found.interval.width <= widest + 1e-12
    assert found.value in found.interval


def test_independent_repeats_are_worth_nearly_all_attempts():
    random = np.random.default_rng(0)
    cases = [(int(k), 5) for k in random.binomial(5, 0.6, size=2000)]
    found = rate(cases)
    assert found.interval.width == pytest.approx(wilson(found.value * 10_000, 10_000).width, rel=0.05)


def test_every_case_counts_once_however_often_it_was_attempted():
    assert rate([(0, 1), (100, 100)]).value == 0.5
    assert mean([[0.0], [1.0] * 100]).value == 0.5


def test_one_repeated_case_claims_no_more_than_one_case_can():
    found = rate([(5, 10)])
    assert (found.interval.low, found.interval.high) == (wilson(0.5, 1).low, wilson(0.5, 1).high)


@pytest.mark.parametrize(("passes", "value"), [(0, 0.0), (1, 1.0)])
def test_a_rate_without_spread_is_worth_its_number_of_groups(passes, value):
    cases = [(4 * passes, 4)] * 6
    plain = rate(cases)
    assert (plain.interval.low, plain.interval.high) == (wilson(6 * value, 6).low, wilson(6 * value, 6).high)
    clustered = rate(cases, clusters=["a", "a", "b", "b", "c", "c"])
    assert clustered.interval.width == pytest.approx(wilson(3 * value, 3).width)
    lopsided = rate(cases, clusters=["a"] * 5 + ["b"])
    assert lopsided.interval.width == pytest.approx(wilson(value * 36 / 26, 36 / 26).width)


def test_cases_that_agree_within_a_cluster_are_worth_no_more_than_the_clusters():
    cases = [(1, 1)] * 10 + [(0, 1)] * 10 + [(1, 1)] * 10 + [(0, 1)] * 10
    clusters = [i // 10 for i in range(40)]
    assert rate(cases, clusters=clusters).interval.width >= wilson(2, 4).width
    assert rate(cases).interval.width < wilson(2, 4).width


def test_one_cluster_has_a_value_and_no_interval():
    assert rate([(1, 1), (0, 1)], clusters=["a", "a"]) == Estimate(0.5, None, 2, 2, 1)
    assert mean([[1.0], [0.0]], clusters=["a", "a"]) == Estimate(0.5, None, 2, 2, 1)


def test_no_case_has_no_estimate():
    assert rate([]) is None
    assert rate([], clusters=[]) is None
    assert mean([]) is None
    assert mean([], clusters=[]) is None
    assert rate_from_counts(0, 0) is None
    assert mean_from_moments(0, None, None) is None
    assert bounded_mean([], n_observations=0) is None


@given(cases=st.lists(st.lists(st.floats(-100, 100), min_size=1, max_size=5), min_size=2, max_size=20))
@example(cases=[[0.0, 0.0, 0.0, 0.0, 1.0], [0.0], [0.0], [0.0, 0.0, 0.0, 0.0, 1.0]])
def test_scores_are_judged_by_their_case_means(cases):
    means = [fsum(scores) / len(scores) for scores in cases]
    found = mean(cases)
    assert found.value == pytest.approx(sum(means) / len(means), abs=1e-9)
    tied = max(means) - min(means) <= 1e-12 * max(map(abs, means))
    assert found.interval == (None if tied else t_interval(means))
    assert (found.n_units, found.n_observations) == (len(cases), sum(map(len, cases)))
    clusters = [i % 2 for i in range(len(cases))]
    grouped = mean(cases, clusters=clusters)
    assert grouped.interval == (None if tied else clustered_interval(means, clusters))
    assert grouped.n_clusters == 2


@given(values=st.lists(st.floats(-100, 100), min_size=1, max_size=40))
def test_moments_give_the_estimate_of_the_listed_scores(values):
    moments = Moments.of(values)
    fast = mean_from_moments(moments.n, moments.mean, moments.variance)
    slow = mean([[value] for value in values])
    assert fast.value == pytest.approx(slow.value, abs=1e-9)
    if len(values) == 1 or max(values) == min(values):
        assert slow.interval is None
    if fast.interval and slow.interval:
        assert (fast.interval.low, fast.interval.high) == pytest.approx(
            (slow.interval.low, slow.interval.high), abs=1e-5
        )


def test_an_estimate_survives_json():
    found = rate([(1, 2), (2, 2)], clusters=["a", "b"])
    assert msgspec.json.decode(msgspec.json.encode(found), type=Estimate) == found


def test_a_hundred_thousand_cases_are_no_burden():
    found = rate([(i % 4 != 0, 1) for i in range(100_000)])
    assert found == Estimate(0.75, wilson(75_000, 100_000), 100_000, 100_000)
    assert found.interval.width < 0.006


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: rate([(1, 1), (3, 2)]), r"case 1 must be .* got \(3, 2\)"),
        (lambda: rate([(0, 0)]), r"got \(0, 0\); leave out a case that was never attempted"),
        (lambda: rate([(-1, 2)]), r"got \(-1, 2\)"),
        (lambda: rate([(nan, 2)]), r"got \(nan, 2\)"),
        (lambda: rate([(1, 2)], confidence=90), "got 90"),
        (lambda: rate([(1, 2), (1, 2)], clusters=["a"]), "2 cases and 1 cluster ids"),
        (lambda: rate([(1, 1), (1, 1)], clusters=["a"]), "2 cases and 1 cluster ids"),
        (lambda: mean([[1.0], []]), "case 1 has no scores"),
        (lambda: mean([[1.0], [nan]]), "got nan at index 1"),
        (lambda: mean([[nan]]), "got nan"),
        (lambda: mean([[1.0, nan]]), "scores of case 0 .* got nan at index 1"),
        (lambda: mean([[1.0]], clusters=[]), "1 cases and 0 cluster ids"),
        (lambda: mean([[1.0]], confidence=nan), "got nan"),
        (lambda: rate_from_counts(2, 1), "got 2 of 1"),
        (lambda: rate_from_counts(0, 0, confidence=1), "got 1"),
        (lambda: mean_from_moments(-1, 0.0, 0.0), "-1 cases"),
        (lambda: mean_from_moments(3, 0.0, None), "3 cases cannot have mean 0.0 and variance None"),
        (lambda: mean_from_moments(2, None, None), "2 cases cannot have mean None"),
        (lambda: mean_from_moments(2, nan, 1.0), "got nan"),
        (lambda: bounded_mean([0.5, 1.5], n_observations=2), "between 0 and 1, got 1.5"),
        (lambda: bounded_mean([0.5, 0.5], n_observations=1), "n_observations .* got 1"),
    ],
)
def test_impossible_input_is_refused_with_its_value(call, shown):
    with pytest.raises(ValueError, match=shown):
        call()


def beta_cases(random: np.random.Generator, *, p: float, correlation: float, cases: int, repeats: int):
    """Cases whose own pass rates follow a beta with mean p: attempts at one case correlate as told."""
    strength = 1 / correlation - 1
    own = random.beta(p * strength, (1 - p) * strength, cases)
    return [(int(k), repeats) for k in random.binomial(repeats, own)]


@pytest.mark.parametrize("p", [0.5, 0.8])
@pytest.mark.parametrize("correlation", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("cases", [8, 30])
def test_repeated_rates_are_covered_as_often_as_said(p, correlation, cases):
    random = np.random.default_rng(3)
    runs = 400
    covered = sum(
        p in rate(beta_cases(random, p=p, correlation=correlation, cases=cases, repeats=5)).interval
        for _ in range(runs)
    )
    assert covered / runs > 0.91


def test_pooling_attempts_covers_far_less_than_it_says_and_counting_cases_does_not():
    random = np.random.default_rng(4)
    ours = pooled = 0
    runs = 500
    for _ in range(runs):
        cases = beta_cases(random, p=0.7, correlation=0.5, cases=25, repeats=10)
        ours += 0.7 in rate(cases).interval
        pooled += 0.7 in wilson(sum(k for k, _ in cases), 250)
    assert ours / runs > 0.92
    assert pooled / runs < 0.70


@pytest.mark.parametrize("clusters", [5, 12, 40])
@pytest.mark.parametrize("p", [0.5, 0.85])
def test_clustered_rates_are_covered_as_often_as_said_and_pooled_ones_are_not(clusters, p):
    random = np.random.default_rng(6)
    ids = [i // 8 for i in range(8 * clusters)]
    ours = pooled = 0
    runs = 400
    for _ in range(runs):
        own = random.beta(2 * p, 2 * (1 - p), clusters)
        passed = (random.random(len(ids)) < own[ids]).tolist()
        ours += p in rate([(int(x), 1) for x in passed], clusters=ids).interval
        pooled += p in wilson(sum(passed), len(ids))
    assert ours / runs > 0.91
    assert pooled / runs < 0.80


def test_repeated_scores_are_covered_as_often_as_said_and_pooled_ones_are_not():
    random = np.random.default_rng(8)
    ours = pooled = 0
    runs = 600
    for _ in range(runs):
        scores = random.normal(0, 1, (10, 1)) + random.normal(0, 0.5, (10, 6))
        ours += 0 in mean(scores.tolist()).interval
        pooled += 0 in t_interval(scores.ravel())
    assert 0.92 < ours / runs < 0.98
    assert pooled / runs < 0.75


def test_the_method_says_whether_every_attempt_counted():
    assert rate([(1, 1), (0, 1)]).interval.method == "wilson"
    assert rate([(1, 2), (0, 2), (2, 2)]).interval.method == "effective-wilson"
    assert mean([[1.0], [0.0]]).interval == Interval(
        *(lambda i: (i.low, i.high))(t_interval([1.0, 0.0])), method="t"
    )


# ---------------------------------------------------------------------- scores between bounds


@given(
    # On a grid, so that a shift does not swallow what tells values apart.
    values=st.lists(st.integers(0, 1000).map(lambda n: n / 1000), min_size=2, max_size=30),
    scale=st.tuples(st.floats(-50, 50), st.floats(0.1, 50)),
)
def test_the_interval_of_bounded_scores_stays_between_the_bounds_and_moves_with_the_scale(values, scale):
    low, width = scale
    share = mean([[value] for value in values], bounds=(0, 1)).interval
    assert 0 <= share.low <= fsum(values) / len(values) + 1e-12
    assert fsum(values) / len(values) - 1e-12 <= share.high <= 1
    scaled = [min(max(low + width * value, low), low + width) for value in values]
    other = mean([[value] for value in scaled], bounds=(low, low + width)).interval
    assert other.low == pytest.approx(low + width * share.low, abs=1e-3 * width)
    assert other.high == pytest.approx(low + width * share.high, abs=1e-3 * width)


@given(n=st.integers(2, 50), value=st.sampled_from([0.0, 0.25, 1.0]))
def test_tied_scores_are_as_sure_as_their_number_allows(n, value):
    found = mean([[value]] * n, bounds=(0, 1)).interval
    expected = wilson(value * n, n)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert mean([[value]] * n).interval is None, "without bounds nothing tells what else there could be"


def test_far_from_the_bounds_it_is_the_t_interval():
    values = [0.5 + 0.01 * (i % 7 - 3) for i in range(100)]
    bounded, plain = mean([[v] for v in values], bounds=(0, 1)).interval, t_interval(values)
    assert (bounded.low, bounded.high) == pytest.approx((plain.low, plain.high), abs=1e-4)


@pytest.mark.parametrize("n", [10, 30])
def test_scores_of_which_most_are_1_are_covered(n):
    """Student's t covers 18 % and 42 %."""
    draw = Random(n)
    covered = 0
    for _ in range(500):
        values = [1.0 if draw.random() < 0.98 else draw.random() for _ in range(n)]
        covered += 0.99 in mean([[v] for v in values], bounds=(0, 1)).interval
    assert covered / 500 > 0.9


@pytest.mark.parametrize("bounds", [(1, 0), (0, 0), (0, nan), (0, 0.4)])
def test_bounds_that_cannot_be_are_refused(bounds):
    with pytest.raises(ValueError, match="bounds"):
        mean([[0.2], [0.5]], bounds=bounds)
