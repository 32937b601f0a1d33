"""Labels drawn in strata."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import choose_next, clopper_pearson, stratified_mean
from calipers.stats.distributions import student_t_quantile

_KINDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=40)


@given(_KINDS, st.integers(0, 50), st.integers(0, 9))
def test_a_draw_takes_what_was_asked_for_from_cases_without_a_label(strata, count, seed):
    labels = {index: float(index % 2) for index in range(0, len(strata), 4)}
    drawn = choose_next(strata, labels, count, seed=seed)
    indices = {each.place for each in drawn}
    assert len(indices) == len(drawn) == min(count, len(strata) - len(labels))
    assert not indices & labels.keys()


@given(_KINDS, st.integers(0, 50))
def test_the_probability_is_the_share_that_was_drawn_of_the_stratum(strata, count):
    drawn = choose_next(strata, {}, count, seed=1)
    sizes, taken = Counter(strata), Counter(strata[each.place] for each in drawn)
    for each in drawn:
        stratum = strata[each.place]
        assert each.probability == taken[stratum] / sizes[stratum]


def test_no_stratum_is_left_out():
    strata = ["often"] * 990 + ["seldom"] * 10
    drawn = choose_next(strata, {}, 20, seed=0, expected={"often": 0.5, "seldom": 0.001})
    assert Counter(strata[each.place] for each in drawn)["seldom"] == 2


def test_labels_go_where_they_vary():
    strata = ["sure"] * 200 + ["unsure"] * 200
    labels = dict.fromkeys(range(20), 1.0) | {200 + index: float(index % 2) for index in range(20)}
    drawn = Counter(strata[each.place] for each in choose_next(strata, labels, 40, seed=0))
    assert drawn["unsure"] > 2 * drawn["sure"]


def test_equal_strata_are_drawn_from_alike():
    strata = ["a"] * 50 + ["b"] * 50
    assert Counter(strata[each.place] for each in choose_next(strata, {}, 30, seed=0)) == {"a": 15, "b": 15}


def test_the_seed_decides_the_draw():
    strata = ["a", "b"] * 50
    assert choose_next(strata, {}, 10, seed=0) == choose_next(strata, {}, 10, seed=0)
    assert choose_next(strata, {}, 10, seed=0) != choose_next(strata, {}, 10, seed=1)


def test_labels_beyond_0_and_1_are_refused_by_a_draw():
    with pytest.raises(ValueError, match="between 0 and 1"):
        choose_next(["a"], {0: 2.0}, 1, seed=0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        choose_next(["a"], {1: 1.0}, 1, seed=0)
    with pytest.raises(ValueError, match="count"):
        choose_next(["a"], {}, -1, seed=0)


def test_the_mean_is_weighted_by_the_sizes_of_the_strata():
    strata = ["a"] * 90 + ["b"] * 10
    labels = {0: 1.0, 1: 1.0, 90: 0.0, 91: 0.0, 92: 1.0}
    found = stratified_mean(strata, labels)
    assert found.value == pytest.approx(0.9 + 0.1 / 3)
    assert [(part.stratum, part.size, part.labels) for part in found.strata] == [("a", 90, 2), ("b", 10, 3)]
    assert found.n_units == 100
    assert found.n_labels == 5


@given(st.integers(1, 40), st.integers(0, 40))
def test_one_stratum_has_the_interval_of_clopper_and_pearson(n, passes):
    passes = min(n, passes)
    found = stratified_mean(["all"] * n, {index: float(index < passes) for index in range(n)}).interval
    exact = clopper_pearson(passes, n)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))
    assert found.method == "stratified-beta"
    assert found.approximate


@given(_KINDS, st.integers(0, 2**40))
def test_an_interval_holds_its_value_and_lies_between_0_and_1(strata, bits):
    labels = {index: float(bits >> index & 1) for index in range(len(strata))}
    found = stratified_mean(strata, labels)
    assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1


def test_labels_that_agree_in_every_stratum_leave_doubt():
    strata = ["passed"] * 300 + ["failed"] * 100
    labels = dict.fromkeys(range(30), 1.0) | {300 + index: 0.0 for index in range(10)}
    interval = stratified_mean(strata, labels).interval
    assert interval.low < 0.7
    assert interval.high > 0.78


def test_scores_have_students_interval():
    values = [3.0, 4.0, 5.0, 4.0, 2.0]
    interval = stratified_mean(["all"] * 5, dict(enumerate(values))).interval
    mean = sum(values) / 5
    error = (sum((value - mean) ** 2 for value in values) / 4 / 5) ** 0.5
    assert interval.method == "stratified-t"
    assert interval.high == pytest.approx(mean - student_t_quantile(0.025, 4) * error)


def test_scores_that_do_not_vary_have_no_interval():
    assert stratified_mean(["a", "a", "b", "b"], dict.fromkeys(range(4), 3.0)).interval is None
    assert stratified_mean(["a", "b"], {0: 3.0, 1: 4.0}).interval is None


def test_a_stratum_without_a_label_is_refused():
    assert stratified_mean(["a"], {}) is None
    with pytest.raises(ValueError, match="'b' has none"):
        stratified_mean(["a", "b"], {0: 1.0})


def test_the_interval_covers_and_the_estimate_is_unbiased():
    draw, rate, sets = Random(1), 0.8, 200
    covered, errors = 0, 0.0
    for _ in range(sets):
        good = [draw.random() < rate for _ in range(200)]
        said = [draw.random() < (0.95 if each else 0.1) for each in good]
        labels: dict[int, float] = {}
        for _ in range(2):
            drawn = choose_next(said, labels, 20, seed=draw.getrandbits(32), expected={True: 0.9, False: 0.1})
            labels |= {each.place: float(good[each.place]) for each in drawn}
        found = stratified_mean(said, labels)
        covered += rate in found.interval
        errors += found.value - rate
    assert covered >= 0.93 * sets
    assert abs(errors / sets) < 0.01
