"""The intervals that a gate decides by are never surer than the bounds of the values allow."""

from math import comb
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.gate.measure import Change, Grown, Level
from calipers.gate.ratings import Ratings


def test_two_cases_that_differ_by_a_hair_prove_nothing():
    for second in (0.9, 0.9 + 1e-7, 0.9001):
        interval = Level(cases=[[0.9], [second]], bounds=(0.0, 1.0)).interval(0.95)
        assert interval.low < 0.2


def test_rare_failures_that_were_not_seen_are_reckoned_with():
    draw = Random(2)
    wrong = 0
    for _ in range(200):
        cases = [[0.0 if draw.random() < 0.03 else 0.99 + 0.01 * draw.random()] for _ in range(20)]
        wrong += Level(cases=cases, bounds=(0.0, 1.0)).interval(0.95).low > 0.97 * 0.995
    assert wrong <= 12, "2.5 % of 200 is 5, and 12 is beyond luck; a t interval is wrong in half of them"


@pytest.mark.parametrize("is_rate", [False, True])
@pytest.mark.parametrize(("n", "margin"), [(20, 0.1), (40, 0.05), (60, 0.04), (100, 0.02), (100, 0.05)])
def test_agents_that_mostly_agree_are_not_passed_for_it(n, margin, is_rate):
    """The new one loses as many cases as the margin says, and wins none: the number that it loses is binomial."""
    passed = failed = 0.0
    for lost in range(n + 1):
        chance = comb(n, lost) * margin**lost * (1 - margin) ** (n - lost)
        change = Change(
            run=[[0.0]] * lost + [[1.0]] * (n - lost),
            baseline=[[1.0]] * n,
            bounds=(-1.0, 1.0),
            is_rate=is_rate,
        ).interval(0.95)
        passed += chance * (change.low > -margin)
        failed += chance * (change.high < -margin)
    assert passed <= 0.0251
    assert failed <= 0.0251


def test_only_passes_of_cases_that_were_attempted_once_have_the_exact_interval():
    """A score of 0 or 1 may be another time in between, and so may the mean of several attempts."""
    new, old = [[0.0]] * 11 + [[1.0]] * 89, [[1.0]] * 100

    def method(run, baseline, **fields):
        return Change(run=run, baseline=baseline, bounds=(-1.0, 1.0), **fields).interval(0.95).method

    assert method(new, old, is_rate=True) == "tango-exact"
    assert method(new, old) == "gaffke"
    assert method([case * 2 for case in new], old, is_rate=True) == "gaffke"
    assert method(new, old, is_rate=True, clusters=[place // 2 for place in range(100)]) == "gaffke"


@pytest.mark.parametrize("n", [10, 20, 50])
@pytest.mark.parametrize("limit", [0.02, 0.1, 0.5, 0.9, 0.98])
def test_a_rate_at_its_limit_is_decided_as_rarely_as_promised(n, limit):
    passed = failed = 0.0
    for right in range(n + 1):
        chance = comb(n, right) * limit**right * (1 - limit) ** (n - right)
        found = Level(cases=[[1.0]] * right + [[0.0]] * (n - right), is_rate=True).interval(0.95)
        passed += chance * (found.low > limit)
        failed += chance * (found.high < limit)
        said = ["yes"] * n
        share = Ratings(judge=said, human=["yes"] * right + ["no"] * (n - right), by="share").interval(0.95)
        assert (share.low, share.high) == (pytest.approx(found.low), pytest.approx(found.high))
    assert max(passed, failed) <= 0.025 + 1e-9


def test_cases_of_one_cluster_are_no_evidence_of_their_own():
    cases = [[1.0], [1.0], [0.0], [1.0]]
    alone = Level(cases=cases, is_rate=True).interval(0.95)
    copies = Level(cases=cases * 5, clusters=list(range(4)) * 5, is_rate=True).interval(0.95)
    assert copies.low <= alone.low
    assert copies.high >= alone.high
    assert Level(cases=cases, clusters=["one"] * 4, is_rate=True).interval(0.95) is None


def test_values_outside_the_bounds_have_the_interval_of_values_without_any():
    cases = [[3.0], [4.0], [5.0]]
    assert Level(cases=cases, bounds=(0.0, 1.0)).interval(0.95) == Level(cases=cases).interval(0.95)


def test_more_cases_are_asked_for_where_only_the_unseen_stands_in_the_way():
    level = Level(cases=[[0.99], [0.995]] * 5, bounds=(0.0, 1.0))
    needed = level.needed(0.95, 0.95)
    assert level.interval(0.95).low < 0.95
    enough = Level(cases=[[0.99], [0.995]] * (needed // 2 + 2), bounds=(0.0, 1.0))
    assert enough.interval(0.95).low > 0.95


def test_clusters_that_agree_by_luck_prove_nothing():
    found = Change(run=[[3], [6], [6], [3]], baseline=[[4], [5], [5], [4]], clusters=[0, 0, 1, 1])
    assert found.interval(0.95) is None


def test_a_spread_beyond_floats_proves_nothing():
    found = Change(run=[[1e-200], [2e-200], [1e-200]], baseline=[[0.0], [0.0], [0.0]])
    assert found.interval(0.95) is None


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_numbers_are_as_uncertain_in_whatever_unit_they_are_written(unit):
    draw = Random(5)
    costs = [[draw.gauss(2.9, 2.0)] for _ in range(40)]
    plain, written = (Level(cases=[[cost * by] for (cost,) in costs]) for by in (1.0, unit))
    assert written.interval(0.95).width == pytest.approx(plain.interval(0.95).width * unit)
    assert written.needed(3.0 * unit, 0.95) == plain.needed(3.0, 0.95) is not None


def test_a_small_spread_of_large_numbers_is_one():
    cases = [[1e9 + 0.1 * (number % 3)] for number in range(40)]
    assert Level(cases=cases).interval(0.95).width > 0.01


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_numbers_that_agree_but_for_rounding_are_taken_at_their_word(unit):
    third, same = [0.1 * unit] * 3, [0.3 * unit / 3]
    level = Level(cases=[third, same] * 20)
    assert level.interval(0.95).width == pytest.approx(0, abs=1e-12 * unit)
    change = Change(run=[third, same] * 20, baseline=[same, third] * 20)
    assert change.interval(0.95).width == pytest.approx(0, abs=1e-12 * unit)


def test_the_cases_that_are_asked_for_tell_four_times_in_five():
    seen = [1.0] * 45 + [0.0] * 5
    needed = Level(cases=[[value] for value in seen], is_rate=True).needed(0.8, 0.95)
    draw = Random(3)
    told = 0
    for _ in range(400):
        drawn = [[value] for value in draw.choices(seen, k=needed)]
        told += Level(cases=drawn, is_rate=True).interval(0.95).low > 0.8
    assert told / 400 == pytest.approx(0.8, abs=0.06)
    turned = Level(cases=[[1 - value] for value in seen], is_rate=True)
    assert turned.needed(0.2, 0.95) == needed


def in_clusters(scores, size):
    """Cases of which each cluster scores alike, and their clusters."""
    cases = [[score] for score in scores for _ in range(size)]
    return cases, [cluster for cluster, _ in enumerate(scores) for _ in range(size)]


@pytest.mark.parametrize("bounds", [(0.0, 1.0), None])
def test_the_cases_that_are_asked_for_in_clusters_tell_four_times_in_five(bounds):
    seen = [0.9, 0.8, 1.0, 0.7, 0.95, 0.6]
    cases, clusters = in_clusters(seen, 4)
    needed = Level(cases=cases, clusters=clusters, bounds=bounds).needed(0.7, 0.95)
    assert needed > 2 * Level(cases=cases, bounds=bounds).needed(0.7, 0.95)
    draw = Random(4)
    told = 0
    for _ in range(300):
        drawn, groups = in_clusters(draw.choices(seen, k=needed // 4), 4)
        interval = Level(cases=drawn, clusters=groups, bounds=bounds).interval(0.95)
        told += interval is not None and interval.low > 0.7
    assert told / 300 == pytest.approx(0.82, abs=0.08)


def test_a_total_in_clusters_needs_as_many_more_cases_as_the_clusters_hold():
    costs = [1.0, 1.4, 0.8, 1.3, 0.9, 1.2]
    alone = Grown(run=[[cost] for cost in costs], baseline=[[1.0]] * 6)
    cases, clusters = in_clusters(costs, 5)
    grown = Grown(run=cases, baseline=[[1.0]] * 30, clusters=clusters)
    assert grown.interval(0.95).low == pytest.approx(alone.interval(0.95).low)
    assert grown.needed(0.3, 0.95) == 5 * alone.needed(0.3, 0.95)


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.integers(0, 4)), min_size=2, max_size=30),
    st.floats(0.05, 0.95),
    st.booleans(),
)
def test_what_has_as_many_cases_as_it_needs_is_told(scored, limit, is_clustered):
    clusters = [cluster for _, cluster in scored] if is_clustered else None
    level = Level(cases=[[score] for score, _ in scored], clusters=clusters, bounds=(0.0, 1.0))
    needed, interval = level.needed(limit, 0.95), level.interval(0.95)
    if needed is not None and needed <= level.n:
        assert interval.low > limit or interval.high < limit
