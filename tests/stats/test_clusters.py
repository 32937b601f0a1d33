from collections import Counter
from math import nan
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats.clusters import (
    cluster_degrees,
    clustered_interval,
    clustered_variance,
    clusters_agree,
    effective_size,
    independent_groups,
)
from calipers.stats.interval import t_interval

CLUSTERED = st.lists(st.tuples(st.floats(-100, 100), st.integers(0, 5)), min_size=2, max_size=30).filter(
    lambda pairs: len({cluster for _, cluster in pairs}) > 1
)


def quadratic_form(clusters: list[int]) -> np.ndarray:
    """The matrix A with variance = values' A values: CR2 by its definition, for a regression on a constant."""
    n = len(clusters)
    residuals = np.eye(n) - 1 / n
    form = np.zeros((n, n))
    for cluster in set(clusters):
        of = np.array([float(each == cluster) for each in clusters])
        pulled = residuals @ of
        form += np.outer(pulled, pulled) / (1 - of.sum() / n)
    return form / n**2


@given(pairs=CLUSTERED)
def test_the_clustered_variance_is_cr2_by_its_definition(pairs):
    values, clusters = (list(column) for column in zip(*pairs, strict=True))
    expected = np.array(values) @ quadratic_form(clusters) @ np.array(values)
    assert clustered_variance(values, clusters) == pytest.approx(expected, rel=1e-6, abs=1e-8)


@given(pairs=CLUSTERED)
def test_the_degrees_of_freedom_are_satterthwaites(pairs):
    clusters = [cluster for _, cluster in pairs]
    form = quadratic_form(clusters)
    expected = np.trace(form) ** 2 / np.trace(form @ form)
    found = cluster_degrees(Counter(clusters).values())
    assert found == pytest.approx(expected, rel=1e-9)
    assert 1 - 1e-9 <= found <= len(set(clusters)) - 1 + 1e-9


@given(size=st.integers(1, 20), count=st.integers(2, 20))
def test_equal_clusters_have_one_degree_less_than_there_are(size, count):
    assert cluster_degrees([size] * count) == pytest.approx(count - 1)


@pytest.mark.parametrize("sizes", [[], [5], [1, 0], [1, -1]])
def test_degrees_need_two_clusters(sizes):
    with pytest.raises(ValueError, match="at least two of them"):
        cluster_degrees(sizes)


def test_intervals_cover_where_one_cluster_holds_half_of_the_cases():
    """With C - 1 degrees of freedom and no correction they cover some 70 %."""
    draw = Random(7)
    clusters = [0] * 58 + [c for c in range(1, 30) for _ in range(2)]
    covered = 0
    for _ in range(400):
        shared = [draw.gauss(0, 1) for _ in range(30)]
        values = [shared[c] + draw.gauss(0, 1) for c in clusters]
        interval = clustered_interval(values, clusters)
        assert interval is not None
        covered += 0 in interval
    assert covered / 400 > 0.92


@given(values=st.lists(st.floats(-100, 100), min_size=2, max_size=30))
def test_singleton_clusters_change_nothing(values):
    clusters = [f"case {i}" for i in range(len(values))]
    assert clustered_variance(values, clusters) == pytest.approx(
        np.var(values, ddof=1) / len(values), rel=1e-9, abs=1e-12
    )
    plain, clustered = t_interval(values), clustered_interval(values, clusters)
    assert (clustered.low, clustered.high) == pytest.approx((plain.low, plain.high), rel=1e-6, abs=1e-6)
    assert clustered.method == "clustered-t"


@given(values=st.lists(st.floats(-100, 100), min_size=2, max_size=12), copies=st.integers(2, 5))
def test_copying_every_case_inside_its_cluster_adds_no_certainty(values, copies):
    clusters = [i for i in range(len(values)) for _ in range(copies)]
    copied = [value for value in values for _ in range(copies)]
    plain, clustered = t_interval(values), clustered_interval(copied, clusters)
    assert (clustered.low, clustered.high) == pytest.approx((plain.low, plain.high), rel=1e-6, abs=1e-6)


def test_one_cluster_says_nothing_about_how_clusters_differ():
    assert clustered_variance([1.0, 2.0, 3.0], ["a", "a", "a"]) is None
    assert clustered_interval([1.0, 2.0, 3.0], ["a", "a", "a"]) is None
    assert clustered_variance([], []) is None


@pytest.mark.parametrize(
    ("sizes", "worth"),
    [([1, 1, 1], 3), ([7, 7], 2), ([5], 1), ([100, 1, 1], 102**2 / 10_002), ([2, 2, 2, 2], 4)],
)
def test_groups_are_worth_their_number_when_they_are_equally_large(sizes, worth):
    assert independent_groups(sizes) == pytest.approx(worth)


def test_the_effective_size_is_n_for_independent_observations():
    assert effective_size(0.3, 0.3 * 0.7 / 49, n_observations=50, df=49) == pytest.approx(50)


def test_the_effective_size_shrinks_with_the_design_effect_and_with_the_groups_that_measured_it():
    srs = 0.3 * 0.7 / 499
    half = effective_size(0.3, 2 * srs, n_observations=500, df=399)
    few = effective_size(0.3, 2 * srs, n_observations=500, df=3)
    assert half == pytest.approx(250, rel=0.01)
    assert few == pytest.approx(250 * (1.9647 / 3.1824) ** 2, rel=1e-3)  # t quantiles for 499 and 3 degrees


@pytest.mark.parametrize("variance", [0.0, 1e-12])
def test_the_effective_size_is_at_most_n(variance):
    assert effective_size(0.3, variance, n_observations=50, df=49) == 50


def test_the_effective_size_is_at_least_what_is_known_to_be_safe():
    assert effective_size(0.3, 10.0, n_observations=50, df=4) == 1
    assert effective_size(0.3, 10.0, n_observations=50, df=4, at_least=5) == 5


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: clustered_variance([1.0, 2.0], ["a"]), "2 cases and 1 cluster ids"),
        (lambda: clustered_variance([1.0, nan], ["a", "b"]), "got nan at index 1"),
        (lambda: clustered_interval([1.0, 2.0], ["a", "b"], confidence=2), "got 2"),
        (lambda: independent_groups([]), r"got \[\]"),
        (lambda: independent_groups([3, 0]), r"got \[3, 0\]"),
        (lambda: effective_size(1.0, 0.1, n_observations=9, df=2), "strictly between 0 and 1, got 1.0"),
        (
            lambda: effective_size(0.5, 0.1, n_observations=9, df=0),
            "above 0 and below n_observations=9, got 0",
        ),
        (lambda: effective_size(0.5, nan, n_observations=9, df=2), "variance .* got nan"),
        (lambda: effective_size(0.5, -0.1, n_observations=9, df=2), "variance .* got -0.1"),
    ],
)
def test_impossible_input_is_refused_with_its_value(call, shown):
    with pytest.raises(ValueError, match=shown):
        call()


def test_clustered_scores_are_covered_as_often_as_said_and_pooled_ones_are_not():
    random = np.random.default_rng(5)
    clusters = np.repeat(np.arange(12), 8)
    ours = pooled = 0
    runs = 600
    for _ in range(runs):
        scores = (random.normal(0, 0.6, 12)[clusters] + random.normal(0, 0.8, clusters.size)).tolist()
        ours += 0 in clustered_interval(scores, clusters.tolist())
        pooled += 0 in t_interval(scores)
    assert 0.92 < ours / runs < 0.98
    assert pooled / runs < 0.80


@pytest.mark.parametrize(
    ("values", "agree"),
    [
        ([0.1, 0.4, 0.4, 0.1], True),
        ([0.1, 0.4, 0.3, 0.2], True),
        ([3, 6, 6, 3], True),
        ([0.7, 0.7, 0.7, 0.7], True),
        ([1e-10, 2e-10, 1e-10, 2.001e-10], False),
        ([0.1, 0.4, 0.4, 0.2], False),
        ([1e9, 1e9 + 1, 1e9 + 1, 1e9 + 1], False),
    ],
)
def test_clusters_that_agree_by_luck_have_no_interval(values, agree):
    clusters = [0, 0, 1, 1]
    assert clusters_agree(values, clusters) is agree
    equal = len(set(values)) == 1
    assert (clustered_interval(values, clusters) is None) == (agree and not equal)


def test_the_numbers_that_differences_were_made_of_say_what_rounding_leaves():
    differences = [1e6 + 0.1 - 1e6, 0.1]
    assert not clusters_agree(differences, [0, 1])
    assert clusters_agree(differences, [0, 1], scale=1e6)
