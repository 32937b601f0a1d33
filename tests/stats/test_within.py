"""The difference on these cases: only attempts vary."""

from itertools import combinations
from math import exp, log
from random import Random

import pytest
from scipy.stats import ttest_ind

from calipers.stats import compare_paired, compare_these
from calipers.stats.within import growth_of_these


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
