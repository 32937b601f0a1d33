"""The difference between two ways, paired and not."""

import random
from itertools import combinations
from math import exp, inf, log, nan
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import ttest_ind

from calipers.stats import (
    Interval,
    bootstrap_difference,
    compare_paired,
    compare_these,
    compare_unpaired,
    decide,
    paired_difference,
    permutation_test,
)
from calipers.stats.difference import fisher_exact, growth_of_these

SCORES = st.floats(-100, 100).map(lambda x: round(x, 3))
SPREAD = st.lists(SCORES, min_size=2, max_size=20).filter(lambda xs: max(xs) - min(xs) > 0.01)
PAIRS = st.lists(st.tuples(SCORES, SCORES), min_size=2, max_size=25)


def once(values):
    return [[value] for value in values]


def columns(pairs):
    return ([[pair[side]] for pair in pairs] for side in (0, 1))


@given(PAIRS)
def test_paired_scores_give_the_t_test_of_the_differences(pairs):
    found = compare_paired(*columns(pairs))
    differences = [a - b for a, b in pairs]
    if max(differences) - min(differences) < 1e-6 or set(sum(pairs, ())) <= {0, 1}:
        return
    test = stats.ttest_1samp(differences, 0)
    expected = test.confidence_interval(0.95)
    assert found.test == "paired-t"
    assert found.p_value == pytest.approx(test.pvalue, rel=1e-6, abs=1e-12)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (expected.low, expected.high), rel=1e-6, abs=1e-6
    )


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_passed_or_not_once_each_is_newcombe_and_mcnemar(pairs):
    found = compare_paired(*columns(pairs))
    kinds = [(True, True), (True, False), (False, True), (False, False)]
    expected = paired_difference(*(pairs.count(kind) for kind in kinds))
    assert (found.value, found.interval, found.p_value) == (
        pytest.approx(expected.value),
        expected.interval,
        expected.p_value,
    )
    assert found.test == "mcnemar"


def test_repeats_of_a_case_are_one_observation():
    # Four cases, three attempts each, always better: what counts is four.
    found = compare_paired([[1.0] * 3] * 4, [[0.0] * 3] * 4)
    assert found.p_value == pytest.approx(1 / 8)  # two-sided; 1/16 each way
    assert found.n_first == 4
    repeated = compare_paired([[3.0] * 5, [1.0] * 5, [2.5] * 5], [[1.0] * 5] * 3)
    single = compare_paired([[3.0], [1.0], [2.5]], [[1.0]] * 3)
    assert repeated.p_value == pytest.approx(single.p_value)
    assert repeated.interval == single.interval


def test_clusters_whose_cases_agree_count_once():
    first, second = [1.0, 2.0, 4.0, 3.0], [1.5, 1.0, 2.0, 2.5]
    clustered = compare_paired(once(first * 3), once(second * 3), clusters=[0, 1, 2, 3] * 3)
    plain = compare_paired(once(first), once(second))
    assert clustered.p_value == pytest.approx(plain.p_value)
    assert clustered.interval.method == "clustered-t"
    assert clustered.n_clusters == 4
    assert (clustered.interval.low, clustered.interval.high) == pytest.approx(
        (plain.interval.low, plain.interval.high)
    )


@pytest.mark.parametrize(
    ("first", "second", "p_value", "covered"),
    [
        ([[0.3]] * 5, [[0.3]] * 5, 1.0, None),
        ([[0.3]] * 5, [[0.1]] * 5, 1 / 16, None),
        ([[1, 1]] * 5, [[1, 1]] * 5, 1.0, 0.0),
        ([[1, 1]] * 5, [[0, 0]] * 5, 1 / 16, 1.0),
        ([[1, 0]] * 5, [[0, 0]] * 5, 1 / 16, 0.5),
    ],
    ids=["equal", "all by the same", "repeats that all pass", "repeats that all differ", "half of them"],
)
def test_differences_without_spread_are_never_certain(first, second, p_value, covered):
    found = compare_paired(first, second)
    assert found.p_value == pytest.approx(p_value)
    assert found.test == "sign-flip"
    if covered is None:
        assert found.interval is None
    else:
        assert covered in found.interval
        assert found.interval.width > 0.2


def test_what_rounding_leaves_over_is_neither_a_difference_nor_a_spread():
    thirds, same = [[0.1] * 3] * 10, [[0.1]] * 10
    assert sum(thirds[0]) / 3 != 0.1
    found = compare_paired([[sum(case) / 3] for case in thirds], same)
    assert (found.value, found.p_value, found.interval) == (0, 1, None)
    shifted = compare_paired([[0.3], [0.5], [0.7]], [[0.1], [0.3], [0.5]])
    assert (shifted.test, shifted.interval) == ("sign-flip", None)
    assert permutation_test([[sum(case) / 3] for case in thirds], same, seed=0).p_value == 1


def test_one_case_or_one_cluster_has_a_difference_and_no_certainty():
    for found in (
        compare_paired([[0.7]], [[0.2]]),
        compare_paired([[0.7], [0.6]], [[0.2], [0.3]], clusters="aa"),
        compare_unpaired([[0.7]], [[0.2], [0.4]]),
    ):
        assert found.value > 0
        assert (found.interval, found.p_value, found.test) == (None, None, None)


def test_without_cases_there_is_no_difference():
    assert compare_paired([], []) is None
    assert compare_unpaired([], [[1.0]]) is None
    assert bootstrap_difference([], [], seed=0) is None


@given(SPREAD, SPREAD)
def test_unpaired_scores_give_welchs_t_test(first, second):
    if set(first + second) <= {0, 1}:
        return
    found = compare_unpaired(once(first), once(second))
    test = stats.ttest_ind(first, second, equal_var=False)
    assert found.test == "welch-t"
    assert found.p_value == pytest.approx(test.pvalue, rel=1e-6, abs=1e-12)
    expected = test.confidence_interval(0.95)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (expected.low, expected.high), rel=1e-6, abs=1e-6
    )


def test_a_side_without_spread_leaves_the_other_to_judge_by():
    found = compare_unpaired([[1.0], [2.0], [3.5]], [[2.0], [2.0]])
    alone = stats.ttest_1samp([1.0, 2.0, 3.5], 2.0)
    assert found.p_value == pytest.approx(alone.pvalue)
    assert compare_unpaired([[1.5]] * 3, [[2.5]] * 3).p_value is None


def test_unpaired_rates_have_the_published_interval():
    # Newcombe (1998), method 10, for 56/70 - 48/80 and for 10/10 - 0/10.
    for passed, n, passed_too, m, low, high in [
        (56, 70, 48, 80, 0.0524, 0.3339),
        (10, 10, 0, 10, 0.6075, 1.0),
    ]:
        found = compare_unpaired(
            once([1] * passed + [0] * (n - passed)), once([1] * passed_too + [0] * (m - passed_too))
        )
        assert (found.interval.low, found.interval.high) == (
            pytest.approx(low, abs=5e-5),
            pytest.approx(high, abs=5e-5),
        )
        assert found.test == "fisher"


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_the_exact_test_of_unpaired_rates_is_fishers(a, b, c, d):
    if a + b == 0 or c + d == 0:
        return
    assert fisher_exact(a, b, c, d) == pytest.approx(stats.fisher_exact([[a, b], [c, d]]).pvalue, rel=1e-6)


def test_the_exact_test_of_many_cases_is_quick_and_finite():
    expected = stats.fisher_exact([[20_000, 20_000], [19_900, 20_100]]).pvalue
    assert fisher_exact(20_000, 20_000, 19_900, 20_100) == pytest.approx(expected, rel=1e-6)
    assert 0 <= fisher_exact(20_000, 0, 0, 20_000) < 1e-300


def test_unpaired_repeats_that_all_agree_know_no_more_than_the_cases():
    found = compare_unpaired([[1, 1, 1]] * 6, [[0, 0, 0]] * 6)
    plain = compare_unpaired([[1]] * 6, [[0]] * 6)
    assert found.interval == plain.interval
    assert found.p_value is None


def test_pairing_finds_what_unpaired_comparison_misses():
    draw = random.Random(0)
    hard = [draw.gauss(0, 1) for _ in range(40)]
    first, second = ([[x + shift + draw.gauss(0, 0.1)] for x in hard] for shift in (0.1, 0.0))
    assert compare_paired(first, second).p_value < 0.001
    assert compare_unpaired(first, second).p_value > 0.5


def test_the_bootstrap_is_about_the_t_interval_and_repeats_from_its_seed():
    draw = random.Random(3)
    first, second = ([[draw.gauss(mean, 1)] for _ in range(40)] for mean in (0.5, 0))
    one, two = (bootstrap_difference(first, second, seed=7, resamples=1000) for _ in range(2))
    t = compare_paired(first, second)
    assert one == two
    assert one.interval.method == "bca"
    assert (one.interval.low, one.interval.high) == pytest.approx((t.interval.low, t.interval.high), abs=0.1)


def test_the_bootstrap_redraws_whole_clusters():
    draw = random.Random(5)
    shared = [draw.gauss(0, 1) for _ in range(15)]
    first = [[each + draw.gauss(0, 0.1)] for each in shared for _ in range(4)]
    second = [[0.0]] * 60
    clusters = [group for group in range(15) for _ in range(4)]
    whole = bootstrap_difference(first, second, seed=0, clusters=clusters, resamples=500)
    single = bootstrap_difference(first, second, seed=0, resamples=500)
    assert whole.interval.width > 1.5 * single.interval.width
    assert whole.n_clusters == 15


def test_equal_differences_have_nothing_to_redraw():
    assert bootstrap_difference([[0.5]] * 9, [[0.3]] * 9, seed=0).interval is None


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: compare_paired([[1.0]], []), "got 1 and 0 cases.*compare_unpaired"),
        (lambda: compare_paired([[1.0], []], [[1.0], [1.0]]), "first: case 1 has no scores"),
        (lambda: compare_paired([[nan]], [[1.0]]), "got nan at index 0"),
        (lambda: compare_paired([[1.0]], [[1.0]], confidence=95), "got 95"),
        (lambda: compare_paired([[1.0]], [[0.3]], clusters=[]), "1 cases and 0 cluster ids"),
        (lambda: compare_paired([[1e200], [0.5], [3]], [[0.0]] * 3), "rescale"),
        (lambda: compare_paired([[1e-200], [2e-200], [0]], [[0.0]] * 3), "rescale"),
        (lambda: compare_unpaired([[1e-200], [2e-200], [0]], [[0.5]] * 3), "rescale"),
        (lambda: compare_paired([], [], clusters=["a"]), "0 cases and 1 cluster ids"),
        (lambda: compare_unpaired([[1.0]], [[0.3]], second_clusters=[1, 2]), "1 cases and 2 cluster ids"),
        (lambda: bootstrap_difference([[1.0]], [[0.3]], seed=0, clusters=[1, 2]), "2 cluster ids"),
    ],
)
def test_impossible_input_is_refused_with_its_value(call, shown):
    with pytest.raises(ValueError, match=shown):
        call()


@pytest.mark.parametrize(
    ("first", "second", "p_value"),
    [
        ((0.3, 0.6, 0.5, 0.4), (0.1, 0.4, 0.4, 0.1), 0.5),
        ((0.7, -0.2, -0.2, 0.7), (0.1, 0.4, 0.4, 0.1), None),
        ((3, 6, 6, 3), (4, 5, 5, 4), None),
        ((0.1, 0.4, 0.4, 0.1), (0.1, 0.4, 0.4, 0.1), 1.0),
    ],
    ids=["the same gain", "cancel but for rounding", "cancel", "equal"],
)
def test_clusters_whose_differences_agree_by_luck_are_no_certainty(first, second, p_value):
    found = compare_paired(once(first), once(second), clusters=[0, 0, 1, 1])
    assert (found.interval, found.p_value) == (None, p_value)
    assert bootstrap_difference(once(first), once(second), clusters=[0, 0, 1, 1], seed=1).interval is None


@pytest.mark.parametrize(
    ("first", "second"),
    [((1, 0, 1, 0, 1, 0), (0, 1, 0, 1, 0, 1)), ((1,) * 6, (1,) * 6), ((1,) * 6, (0,) * 6)],
    ids=["cancel", "equal", "all differ"],
)
def test_rates_whose_clusters_agree_get_the_interval_of_a_few_cases(first, second):
    found = compare_paired(once(first), once(second), clusters=[0, 0, 1, 1, 2, 2])
    alone = compare_paired(once(first), once(second))
    assert found.value in found.interval
    assert found.interval.width > alone.interval.width


@pytest.mark.parametrize("second", [(0.1, 0.5, 0.5, 0.1), (0.1, 0.6, 0.5, 0.2), (0.2, 0.3, 0.4, 0.9)])
def test_runs_over_different_cases_whose_clusters_agree_by_luck_tell_nothing(second):
    groups = [0, 0, 1, 1]
    found = compare_unpaired(
        once(second), once((0.1, 0.4, 0.4, 0.1)), first_clusters=groups, second_clusters=groups
    )
    assert (found.interval, found.p_value, found.test) == (None, None, None)


# ---------------------------------------------------------------------- paired


counts = st.integers(0, 60)


def test_the_interval_is_the_published_one():
    # Newcombe (1998), method 10, for 36, 12, 2 and 0 of 50 pairs.
    found = paired_difference(36, 12, 2, 0)
    assert found.value == pytest.approx(0.2)
    assert (found.interval.low, found.interval.high) == (
        pytest.approx(0.0569, abs=5e-5),
        pytest.approx(0.3404, abs=5e-5),
    )


def test_without_counts_there_is_no_difference():
    assert paired_difference(0, 0, 0, 0) is None


@given(counts, counts, counts, counts)
def test_swapping_the_two_ways_mirrors_the_interval(both, first, second, neither):
    found, mirrored = (
        paired_difference(both, first, second, neither),
        paired_difference(both, second, first, neither),
    )
    if found is None:
        return
    assert -1 <= found.interval.low <= found.value <= found.interval.high <= 1
    assert mirrored.value == -found.value
    assert mirrored.interval.low == pytest.approx(-found.interval.high)
    assert mirrored.interval.high == pytest.approx(-found.interval.low)


@given(st.integers(1, 200))
def test_ways_that_never_disagreed_are_not_proved_equal(n):
    interval = paired_difference(n, 0, 0, 0).interval
    assert interval.low < 0 < interval.high


@pytest.mark.parametrize(
    ("n", "chances"),
    [(30, (0.7, 0.2, 0.05)), (40, (0.85, 0.1, 0.02)), (100, (0.5, 0.2, 0.1)), (100, (0.9, 0.05, 0.05))],
)
def test_nineteen_of_twenty_intervals_cover_the_truth(n, chances):
    draw = random.Random(0)
    both, first, second = chances
    covered, rounds = 0, 2000
    for _ in range(rounds):
        drawn = draw.choices(range(4), [both, first, second, 1 - sum(chances)], k=n)
        found = paired_difference(*(drawn.count(kind) for kind in range(4)))
        covered += (first - second) in found.interval
    # Within what 2,000 rounds can tell, and a little on the careful side, as the method is.
    assert 0.93 <= covered / rounds <= 0.99


def test_what_is_no_count_is_refused():
    with pytest.raises(ValueError, match="-1"):
        paired_difference(-1, 2, 3, 4)


@given(counts, counts, counts, counts)
def test_the_p_value_is_that_of_the_mid_p_binomial_test(both, first, second, neither):
    found = paired_difference(both, first, second, neither)
    if found is None:
        return
    disagree = first + second
    exact = stats.binomtest(first, disagree, 0.5).pvalue if disagree else 1.0
    seen = stats.binom.pmf(first, disagree, 0.5) if disagree and first != second else 0.0
    assert found.p_value == pytest.approx(exact - seen)


def test_the_mid_p_test_keeps_its_level_and_the_exact_one_wastes_it():
    """By enumeration, over rates at which 2 % to 40 % of 100 cases flip either way alike."""
    alarms, exact_alarms = [], []  # the chance of an alarm for each number of flips
    for n in range(101):
        firsts = range(n + 1)
        weights = stats.binom.pmf(firsts, n, 0.5)
        p_values = [paired_difference(100 - n, first, n - first, 0).p_value for first in firsts]
        exact = 2 * stats.binom.cdf([min(first, n - first) for first in firsts], n, 0.5)
        alarms.append(sum(weights[first] for first in firsts if p_values[first] < 0.05))
        exact_alarms.append(sum(weights[first] for first in firsts if n > 0 and exact[first] < 0.05))
    chances = [stats.binom.pmf(range(101), 100, flips) for flips in (0.02, 0.05, 0.1, 0.2, 0.4)]
    rejected = [sum(chance * alarms) for chance in chances]
    by_exact = [sum(chance * exact_alarms) for chance in chances]
    assert max(rejected) < 0.05
    assert all(mid >= exact for mid, exact in zip(rejected, by_exact, strict=True))
    assert rejected[2] > 1.5 * by_exact[2]


# ---------------------------------------------------------------------- decision


ENDS = st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(sorted)


@pytest.mark.parametrize(
    ("low", "high", "margin", "decision"),
    [
        (0.01, 0.2, 0.05, "superior"),
        (-0.04, 0.2, 0.05, "non-inferior"),
        (-0.04, -0.01, 0.05, "non-inferior"),
        (-0.3, -0.06, 0.05, "inferior"),
        (-0.3, -0.01, 0.05, "undecided"),
        (-0.3, 0.3, 0.05, "undecided"),
        (-0.05, 0.3, 0.05, "undecided"),
        (0.0, 0.3, 0.0, "undecided"),
        (-0.3, -0.1, 0.0, "inferior"),
        (-0.01, 0.1, 0.0, "undecided"),
    ],
)
def test_the_margin_decides(low, high, margin, decision):
    assert decide(Interval(low, high), margin=margin) == decision


def test_without_an_interval_nothing_is_decided():
    assert decide(None, margin=1.0) == "undecided"


@given(ENDS, st.floats(0, 1), st.floats(0, 1))
def test_a_wider_margin_never_makes_things_worse(ends, one, two):
    order = ["inferior", "undecided", "non-inferior", "superior"]
    strict, lenient = sorted((one, two))
    interval = Interval(*ends)
    assert order.index(decide(interval, margin=strict)) <= order.index(decide(interval, margin=lenient))


@pytest.mark.parametrize("margin", [-0.1, nan, inf])
def test_what_is_no_margin_is_refused(margin):
    with pytest.raises(ValueError, match=f"got {margin!r}"):
        decide(None, margin=margin)


# ---------------------------------------------------------------------- within


def attempts(draw, chances, count):
    return [[float(draw.random() < chance) for _ in range(count)] for chance in chances]


def test_of_one_case_it_is_welchs_test():
    new, old = [0.2, 0.4, 0.9, 0.7, 0.1], [0.3, 0.35, 0.5]
    found = compare_these([new], [old])
    usual = ttest_ind(new, old, equal_var=False)
    assert found.p_value == pytest.approx(usual.pvalue)
    ends = usual.confidence_interval()
    assert (found.interval.low, found.interval.high) == (pytest.approx(ends.low), pytest.approx(ends.high))


def test_cases_that_differ_from_each_other_do_not_widen_it():
    new = [[1.0, 0.9, 1.0], [0.1, 0.0, 0.0], [0.5, 0.4, 0.5]]
    old = [[0.5, 0.6, 0.5], [0.1, 0.0, 0.1], [0.6, 0.5, 0.5]]
    these, like_these = compare_these(new, old), compare_paired(new, old)
    assert these.value == pytest.approx(like_these.value)
    assert these.interval.width < like_these.interval.width / 3
    assert (these.interval.method, these.test) == ("within-t", "within-t")


def test_the_p_value_of_passes_counts_all_ways_to_deal_the_attempts():
    new, old = [[1.0, 1.0, 1.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]

    def deals(one, two):
        together = [*one, *two]
        for chosen in combinations(range(len(together)), len(one)):
            mine = sum(together[place] for place in chosen) / len(one)
            yield mine - (sum(together) - mine * len(one)) / len(two)

    sums = [a + b for a in deals(new[0], old[0]) for b in deals(new[1], old[1])]
    share = sum(abs(each) >= 1.5 - 1e-9 for each in sums) / len(sums)
    found = compare_these(new, old)
    assert (found.test, found.p_value) == ("dealt", pytest.approx(share))


def test_attempts_that_all_agree_still_leave_some_doubt():
    found = compare_these([[1.0] * 5] * 20, [[1.0] * 5] * 20)
    assert found.interval.low < 0 < found.interval.high
    assert found.interval.width < 0.1
    assert found.p_value == 1


def test_a_single_attempt_at_a_case_shows_no_noise():
    found = compare_these([[1.0, 0.0], [1.0]], [[1.0, 1.0], [0.0, 0.0]])
    assert (found.interval, found.p_value, found.test) == (None, None, None)
    assert found.value == 0.25
    assert compare_these([], []) is None


def test_scores_that_never_differ_between_attempts_have_no_interval():
    found = compare_these([[0.5, 0.5], [0.7, 0.7]], [[0.4, 0.4], [0.7, 0.7]])
    assert (found.interval, found.p_value) == (None, None)
    assert compare_these([[0.5, 0.5]], [[0.5, 0.5]]).p_value == 1


@pytest.mark.parametrize("repeats", [2, 5])
def test_it_covers_the_change_of_these_cases_and_raises_few_false_alarms(repeats):
    draw = Random(repeats)
    missed = alarms = 0
    for _ in range(300):
        old = [draw.choice((0.02, 0.5, 0.95, 1.0)) for _ in range(40)]
        new = [1 - chance if place < 4 else chance for place, chance in enumerate(old)]
        before = attempts(draw, old, repeats)
        changed = compare_these(attempts(draw, new, repeats), before)
        truth = (sum(new) - sum(old)) / 40
        missed += not changed.interval.low <= truth <= changed.interval.high
        alarms += compare_these(attempts(draw, old, repeats), before).p_value <= 0.05
    assert missed <= 24, "5 % of 300 is 15"
    assert alarms <= 24


def test_a_growth_is_that_of_the_typical_case_or_of_the_total():
    new, old = [[2.0, 2.2], [30.0, 33.0]], [[1.0, 1.1], [30.0, 31.0]]
    typical = growth_of_these(new, old, by_case=True)
    assert typical.value == pytest.approx((log(2.1 / 1.05) + log(31.5 / 30.5)) / 2)
    total = growth_of_these(new, old, by_case=False)
    assert exp(total.value) == pytest.approx((2.1 + 31.5) / (1.05 + 30.5))
    assert total.interval.low < total.value < total.interval.high
    assert growth_of_these([[0.0, 0.0]], [[1.0, 1.0]], by_case=True) is None
    assert growth_of_these([[2.0, 2.0]], [[2.0, 2.0]], by_case=True).p_value == 1
