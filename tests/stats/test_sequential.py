"""Looking after every case."""

import random
from math import inf, log, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import EProcess, SequentialComparison, anytime_interval, stakes_for, wilson

VALUES = st.lists(st.floats(0, 1).map(lambda x: round(x, 3)), min_size=1, max_size=15)


@given(VALUES)
def test_the_interval_holds_exactly_the_means_that_no_bet_refutes(values):
    interval = anytime_interval(values)
    assert 0 <= interval.low <= sum(values) / len(values) <= interval.high <= 1
    for null in (0.02, 0.2, 0.5, 0.8, 0.98):
        above, below = EProcess(null), EProcess(null, alternative="less")
        for value in values:
            above.add(value)
            below.add(value)
        if min(abs(null - interval.low), abs(null - interval.high)) > 1e-9:
            assert (null in interval) == (above.e_value < 40 and below.e_value < 40)


@given(VALUES, st.sampled_from([5, 50, 5000]), st.sampled_from([None, 0.0, 0.1]))
def test_planned_stakes_refute_exactly_what_their_interval_leaves_out(values, n, distance):
    for null in (0.02, 0.2, 0.5, 0.8, 0.98):
        stakes = stakes_for(n, null, distance=distance)
        interval = anytime_interval(values, stakes=stakes)
        assert 0 <= interval.low <= sum(values) / len(values) <= interval.high <= 1
        above, below = (EProcess(null, alternative=side, stakes=stakes) for side in ("greater", "less"))
        for value in values:
            above.add(value)
            below.add(value)
        if min(abs(null - interval.low), abs(null - interval.high)) > 1e-9:
            assert (null in interval) == (above.e_value < 40 and below.e_value < 40)


def test_planned_stakes_begin_with_the_whole_capital_and_never_stake_all():
    for n in (1, 30, 1_000_000):
        for null in (0.001, 0.5, 0.999):
            stakes = stakes_for(n, null, distance=0.01)
            assert sum(part for _, part in stakes) == pytest.approx(1)
            process = EProcess(null, stakes=stakes)
            assert process.e_value == pytest.approx(1)
            assert process.add(0.0) > 0
    with pytest.raises(ValueError, match="at least 1"):
        stakes_for(0, 0.5)


def test_planned_stakes_decide_sooner_within_the_plan_and_are_wrong_as_rarely():
    draw = random.Random(4)
    used = {"planned": 0, "any": 0}
    alarms = 0
    for _ in range(150):
        for name, stakes in (
            ("planned", stakes_for(400, -0.05, low=-1, high=1, distance=0.05)),
            ("any", None),
        ):
            process = EProcess(-0.05, low=-1, high=1, stakes=stakes)
            for n, value in enumerate(draw.choices((1.0, -1.0, 0.0), (6, 6, 88), k=400), 1):
                if process.add(value) >= 200 or n == 400:
                    used[name] += n
                    break
        process = EProcess(0.0, low=-1, high=1, stakes=stakes_for(400, 0.0, low=-1, high=1, distance=0.0))
        alarms += any(process.add(value) >= 20 for value in draw.choices((1.0, -1.0, 0.0), (6, 6, 88), k=400))
    assert used["planned"] < 0.97 * used["any"]
    assert alarms <= 15, "5 % of 150 is 7.5, and 15 is beyond any luck"


def test_values_that_rounding_tells_apart_count_each():
    alike = [1e-17 * number for number in range(100)]
    assert anytime_interval(alike).high == pytest.approx(anytime_interval([0.0] * 100).high)
    assert anytime_interval([1 - value for value in alike]).low == pytest.approx(
        anytime_interval([1.0] * 100).low
    )


@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_the_cases_does_not_matter(values, draw):
    shuffled = list(values)
    draw.shuffle(shuffled)
    one, two = anytime_interval(values), anytime_interval(shuffled)
    assert (one.low, one.high) == pytest.approx((two.low, two.high), abs=1e-12)


@given(VALUES)
def test_turning_the_scale_around_mirrors_the_interval(values):
    interval, mirrored = anytime_interval(values), anytime_interval([1 - value for value in values])
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - interval.high, 1 - interval.low), abs=1e-9)


@given(VALUES)
def test_another_scale_gives_the_same_interval_on_that_scale(values):
    interval = anytime_interval(values)
    stretched = anytime_interval([2 * value - 1 for value in values], low=-1, high=1)
    assert (stretched.low, stretched.high) == pytest.approx(
        (2 * interval.low - 1, 2 * interval.high - 1), abs=1e-9
    )


def test_without_values_there_is_no_interval_and_no_evidence():
    assert anytime_interval([]) is None
    process = EProcess(0.5)
    assert (process.n, process.e_value, process.p_value) == (0, 1, 1)


def test_values_that_never_vary_still_leave_doubt():
    all_passed = anytime_interval([1.0] * 30)
    assert all_passed.high == 1
    assert 0.7 < all_passed.low < 0.9
    assert anytime_interval([0.0] * 30).low == 0
    assert anytime_interval([0.5] * 3).width > 0.5


def test_the_price_of_looking_at_any_time_is_bounded():
    draw = random.Random(0)
    values = [draw.random() < 0.8 for _ in range(200)]
    fixed = wilson(sum(values), 200)
    assert 1.2 < anytime_interval(values).width / fixed.width < 2.2


def ever_refuted(draw, rate, n):
    """Whether a true null, exactly met, is refuted on one side at any look."""
    process = EProcess(rate)
    return any(process.add(draw.random() < rate) >= 20 for _ in range(n))


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.95])
def test_a_true_null_is_refuted_at_any_look_at_most_as_often_as_said(rate):
    draw = random.Random(1)
    refuted = sum(ever_refuted(draw, rate, 150) for _ in range(400))
    assert refuted / 400 <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5


def test_the_same_looks_at_ordinary_intervals_fool_far_more_often():
    draw = random.Random(1)
    fooled = 0
    for _ in range(100):
        passed = 0
        for n in range(1, 151):
            passed += draw.random() < 0.5
            if 0.5 not in wilson(passed, n):
                fooled += 1
                break
    assert fooled / 100 > 0.2


def test_evidence_grows_where_the_null_is_wrong_and_the_p_value_never_forgets():
    process = EProcess(0.5)
    for _ in range(40):
        process.add(1.0)
    best = process.p_value
    assert process.e_value > 1e6
    assert best == pytest.approx(1 / process.e_value)
    for _ in range(200):
        process.add(0.0)
    assert process.e_value < 1
    assert process.p_value == best


def test_endless_evidence_does_not_overflow():
    process = EProcess(0.01)
    for _ in range(2000):
        process.add(1.0)
    assert log(process.e_value) == pytest.approx(700)
    assert process.p_value == 0


def decided(draw, old_rate, new_rate, *, margin, n=300):
    """The first decision of a run of n cases, if any, and when it was made."""
    comparison = SequentialComparison(margin=margin)
    for case in range(1, n + 1):
        hard = draw.random()
        decision = comparison.add(float(hard < new_rate), float(draw.random() < old_rate))
        if decision != "undecided":
            return decision, case
    return "undecided", n


def test_identical_agents_are_called_worse_or_better_at_most_as_often_as_said():
    draw = random.Random(2)
    decisions = [decided(draw, 0.7, 0.7, margin=0.0, n=150)[0] for _ in range(200)]
    most = 0.05 + 2 * (0.05 * 0.95 / 200) ** 0.5
    assert decisions.count("superior") / 200 <= most
    assert decisions.count("inferior") / 200 <= most


@pytest.mark.parametrize(
    ("old", "new", "margin", "expected"),
    [
        (0.5, 0.8, 0.05, {"superior", "non-inferior"}),
        (0.9, 0.9, 0.2, {"non-inferior"}),
        (0.9, 0.5, 0.1, {"inferior"}),
    ],
)
def test_clear_cases_are_decided_early_and_rightly(old, new, margin, expected):
    draw = random.Random(3)
    runs = [decided(draw, old, new, margin=margin) for _ in range(15)]
    assert {decision for decision, _ in runs} <= expected | {"undecided"}
    assert sum(decision in expected for decision, _ in runs) >= 13
    assert sorted(case for _, case in runs)[7] < 200


def test_a_decision_stays_and_non_inferior_may_become_superior():
    comparison = SequentialComparison(margin=0.3)
    seen = [comparison.add(*scores) for scores in [(1.0, 0.5)] * 60 + [(0.0, 0.0)] * 60]
    assert list(dict.fromkeys(seen)) == ["undecided", "non-inferior", "superior"]
    assert comparison.n == 120


def test_scores_on_any_bounded_scale_are_compared():
    comparison = SequentialComparison(margin=1, low=1, high=5)
    for _ in range(60):
        comparison.add(5, 1)
    assert comparison.decision == "superior"


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: anytime_interval([1.5]), "between low=0.0 and high=1.0, got 1.5"),
        (lambda: anytime_interval([nan]), "got nan at index 0"),
        (lambda: anytime_interval([0.5], low=1, high=0), "low must be less than high"),
        (lambda: anytime_interval([0.5], high=inf), "both finite"),
        (lambda: anytime_interval([0.5], confidence=1), "got 1"),
        (lambda: EProcess(0.0), "strictly between .* got 0.0"),
        (lambda: EProcess(0.5, alternative="two-sided"), "got 'two-sided'"),
        (lambda: EProcess(0.5).add(nan), "got nan"),
        (lambda: SequentialComparison(margin=1.0), "less than the range of scores, 1.0, got 1.0"),
        (lambda: SequentialComparison(margin=-1), "got -1"),
        (lambda: SequentialComparison().add(2.0, 0.5), "got 2.0"),
        (lambda: SequentialComparison().add(0.5, nan), "got nan"),
    ],
)
def test_impossible_input_is_refused_with_its_value(call, shown):
    with pytest.raises(ValueError, match=shown):
        call()


def test_a_refused_pair_leaves_the_comparison_as_it_was():
    comparison = SequentialComparison()
    with pytest.raises(ValueError, match="got 7"):
        comparison.add(0.5, 7)
    assert comparison.n == 0


def test_bounds_too_far_apart_for_a_float_are_refused():
    with pytest.raises(ValueError, match="finite"):
        anytime_interval([0.0, 1.0], low=-1.7e308, high=1.7e308)
    with pytest.raises(ValueError, match="finite"):
        SequentialComparison(low=-1e308, high=1e308)
