import random
from math import log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.comparison.change import Question, change_of, decided
from calipers.stats import compare_paired, permutation_test


def ask(baseline, candidate, *, kind="assertion", paired=True, confidence=0.95, adjusted=None, **fields):
    """The change between cases that are given as attempts or as single values."""
    sides = [
        [case if isinstance(case, list) else [case] for case in cases] for cases in (baseline, candidate)
    ]
    found = change_of(
        Question(
            name="x",
            kind=kind,
            baseline=sides[0],
            candidate=sides[1],
            paired=paired,
            confidence=confidence,
            **({"smallest": 0.03, "smallest_relative": 0.1} | fields),
        )
    )
    return found and decided(found, found.p_value if adjusted is None else adjusted, confidence=confidence)


@pytest.mark.parametrize(
    ("baseline", "candidate", "fields", "outcome"),
    [
        ([0] * 20, [1] * 20, {}, "better"),
        ([1] * 20, [0] * 20, {}, "worse"),
        ([0] * 20, [1] * 20, {"better": "lower"}, "worse"),
        ([0] * 20, [1] * 20, {"better": None}, "higher"),
        ([1] * 20, [0] * 20, {"better": None}, "lower"),
        ([0] * 3, [1] * 3, {}, "unclear"),
        ([0] * 20, [1] * 20, {"adjusted": 0.06}, "unclear"),
        ([1] * 300, [1] * 300, {}, "same"),
        ([1] * 20, [1] * 20, {}, "unclear"),
        ([0.5] * 20, [0.5] * 20, {"kind": "score"}, "identical"),
        ([0.5] * 20, [0.7] * 20, {"kind": "score"}, "better"),
        ([0.5] * 4, [0.7] * 4, {"kind": "score"}, "unclear"),
        ([0.5], [0.7], {"kind": "score"}, "unclear"),
    ],
)
def test_the_outcome_says_no_more_than_interval_and_p_value_allow(baseline, candidate, fields, outcome):
    assert ask(baseline, candidate, **fields).outcome == outcome


def test_no_cases_no_change():
    assert ask([], []) is None
    assert ask([], [1], paired=False) is None


def test_four_cases_of_three_attempts_are_four_observations():
    """The example of pseudo-replication: pooled, the twelve attempts would give 1 in 4096."""
    found = ask([[0, 0, 0]] * 4, [[1, 1, 1]] * 4)
    assert (found.p_value, found.one_sided_p, found.outcome) == (1 / 8, 1 / 16, "unclear")


def test_a_t_test_of_a_handful_of_repeated_cases_is_not_believed():
    baseline, candidate = [[0, 0, 0]] * 4, [[1, 1, 1], [1, 1, 0], [1, 1, 1], [1, 1, 1]]
    assert compare_paired(candidate, baseline).p_value < 0.01
    found = ask(baseline, candidate)
    assert (found.p_value, found.test) == (1 / 8, "sign-flip")


def test_rates_differ_by_no_more_than_1():
    found = ask([[0, 0, 0]] * 4, [[1, 1, 1], [1, 1, 0], [1, 1, 1], [1, 1, 1]])
    assert found.interval.high == 1.0


def test_with_many_cases_that_differ_the_p_value_is_that_of_the_t_test():
    draw = random.Random(1)
    baseline = [draw.random() for _ in range(60)]
    candidate = [value + draw.gauss(0.01, 0.1) for value in baseline]
    found = ask(baseline, candidate, kind="score")
    assert found.test == "paired-t"
    assert found.p_value == pytest.approx(
        permutation_test([[x] for x in candidate], [[x] for x in baseline], seed=0).p_value, abs=0.03
    )


def test_two_clusters_with_most_of_the_cases_are_two_sources_however_many_others_there_are():
    """Two that agree are luck every second time; the t test said better of 9 % of equal agents."""
    groups = [*[0] * 30, *[1] * 30, *range(2, 40)]
    baseline = [[0.4]] * len(groups)
    candidate = [
        [0.6 + 0.001 * (place % 7) if place < 60 else 0.4 + 0.1 * (-1) ** place]
        for place in range(len(groups))
    ]
    found = ask(baseline, candidate, baseline_clusters=groups)
    assert found.interval.low > 0
    assert (found.outcome, found.test) == ("unclear", "sign-flip")
    assert found.p_value > 0.1


def test_many_clusters_of_one_size_keep_the_t_test():
    groups = [place // 2 for place in range(80)]
    candidate = [[0.5 + 0.01 * (place % 5)] for place in range(80)]
    assert ask([[0.5]] * 80, candidate, baseline_clusters=groups).test == "clustered-t"


def test_cases_of_one_cluster_count_as_one_source():
    baseline, candidate = [0.0] * 12, [1.0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0]
    alone = ask(baseline, candidate)
    together = ask(baseline, candidate, baseline_clusters=[place // 3 for place in range(12)])
    assert (together.clusters, together.p_value) == (4, 1 / 8)
    assert alone.p_value < 0.01


def test_a_typical_case_is_compared_for_times_and_the_bill_for_metrics():
    baseline, candidate = [1.0] * 9 + [100.0], [2.0] * 9 + [100.0]
    slower = ask(baseline, candidate, kind="duration", better="lower")
    assert slower.scale == "relative"
    assert slower.difference == pytest.approx(2**0.9 - 1)
    costlier = ask([1.0] * 9 + [3.0], [2.0] * 9 + [3.0], kind="metric", better="lower")
    assert costlier.difference == pytest.approx(9 / 12)
    assert costlier.interval.method == "fieller"


def test_a_bill_that_one_case_makes_up_is_compared_as_a_plain_difference():
    found = ask([1.0] * 9 + [100.0], [2.0] * 9 + [100.0], kind="metric", better="lower")
    assert (found.scale, found.difference, found.interval.method) == ("number", 0.9, "t")


def test_amounts_that_are_0_have_a_bill_and_those_below_0_a_plain_difference():
    free = ask([0.0, 1.0, 2.0, 1.0] * 3, [1.0, 2.0, 2.0, 1.0] * 3, kind="metric", better="lower")
    assert (free.scale, free.difference) == ("relative", 0.5)
    below = ask([-1.0, 1.0, 2.0], [0.0, 1.0, 2.5], kind="metric")
    assert (below.scale, below.difference) == ("number", 0.5)
    nothing = ask([0.0, 0.0], [0.0, 0.0], kind="metric")
    assert nothing.outcome == "identical"


def test_a_bill_of_clusters_is_compared_cluster_by_cluster():
    baseline, candidate = [1.0, 1, 2, 2, 3, 3, 1, 1], [1.1, 1.1, 2, 2, 3.5, 3.5, 1, 1]
    groups = [0, 0, 1, 1, 2, 2, 3, 3]
    alone = ask(baseline, candidate, kind="metric")
    together = ask(baseline, candidate, kind="metric", baseline_clusters=groups)
    assert together.difference == pytest.approx(alone.difference)
    assert together.interval.width > alone.interval.width


def test_scores_outside_0_and_1_are_plain_numbers_with_a_relative_margin():
    found = ask([10.0, 12.0, 14.0], [11.0, 12.5, 15.0], kind="score")
    assert (found.scale, found.smallest) == ("number", pytest.approx(1.2))


def test_the_cases_needed_are_those_that_show_the_smallest_difference_worth_seeing():
    draw = random.Random(3)
    baseline, candidate = (
        [[int(draw.random() < 0.5)] for _ in range(200)],
        [[int(draw.random() < 0.5)] for _ in range(200)],
    )
    small, large = (ask(baseline, candidate, smallest=share).needed_cases for share in (0.03, 0.3))
    assert small > 100 * large * 0.9
    spread = sum((a[0] - b[0]) ** 2 for a, b in zip(baseline, candidate, strict=True)) / 200
    assert small == pytest.approx((1.96 + 0.84) ** 2 * spread / 0.03**2, rel=0.02)


@pytest.mark.parametrize("n", [3, 30])
def test_cases_that_never_differed_do_not_promise_that_few_more_suffice(n):
    assert ask([1] * n, [1] * n).needed_cases == pytest.approx(7.85 / (n + 2) / 0.03**2, rel=0.02)


_cases = st.lists(
    st.tuples(*[st.lists(st.integers(0, 3).map(lambda k: k / 3), min_size=1, max_size=3)] * 2),
    min_size=1,
    max_size=12,
)


@given(_cases, st.booleans())
def test_swapping_the_runs_turns_the_difference_around(pairs, paired):
    one, two = [list(side) for side in zip(*pairs, strict=True)]
    there, back = ask(one, two, kind="score", paired=paired), ask(two, one, kind="score", paired=paired)
    assert there.difference == pytest.approx(-back.difference)
    assert there.p_value == pytest.approx(back.p_value) if there.p_value is not None else back.p_value is None
    if there.interval is not None:
        assert there.interval.low == pytest.approx(-back.interval.high, abs=1e-12)
    swapped = {"better": "worse", "worse": "better"}
    assert back.outcome == swapped.get(there.outcome, there.outcome)


@given(_cases, st.sampled_from([0, 1, -2]))
def test_what_is_called_better_has_an_interval_above_0_and_a_p_value_that_agrees(pairs, drift):
    one, two = [list(side) for side in zip(*pairs, strict=True)]
    found = ask(one, [[score + drift for score in case] for case in two], kind="score")
    certain = found.p_value is not None and found.p_value <= 0.05
    excluded = found.interval is None or found.interval.low > 0 or found.interval.high < 0
    assert (found.outcome in {"better", "worse"}) == (certain and excluded)


@pytest.mark.parametrize(
    ("kind", "repeats", "n"),
    [("assertion", 1, 60), ("assertion", 3, 40), ("score", 1, 40), ("duration", 1, 40), ("metric", 1, 30)],
)
def test_the_intervals_cover_the_truth_and_equal_agents_are_seldom_told_apart(kind, repeats, n):
    """200 pairs of equal agents: 95 % intervals miss 0 in 10 of them, give or take 3 standard errors."""
    draw = random.Random(f"{kind} {repeats}")
    missed = alarms = 0
    for _ in range(200):
        skills = [draw.betavariate(2, 1) for _ in range(n)]
        sides = []
        for _ in range(2):
            if kind == "assertion":
                sides.append([[int(draw.random() < p) for _ in range(repeats)] for p in skills])
            elif kind == "score":
                sides.append([min(1.0, max(0.0, draw.gauss(p, 0.2))) for p in skills])
            else:
                sides.append([draw.lognormvariate(log(p + 0.1), 0.5) for p in skills])
        found = ask(*sides, kind=kind, better="higher")
        missed += not found.interval.low <= 0 <= found.interval.high
        alarms += found.outcome in {"better", "worse"}
    most = 10 + 3 * sqrt(200 * 0.05 * 0.95)
    assert missed <= most
    assert alarms <= most
    assert missed, "an interval that always covers is too wide to be of use"
