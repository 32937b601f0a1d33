import math
import statistics
from math import inf, isclose, nan
from random import Random

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import (
    cases_needed,
    compare_paired,
    decide,
    jeffreys,
    mean,
    noise_floor,
    pass_at_k,
    pass_hat_k,
    rate,
    wilson,
)
from calipers.stats.sample import (
    Moments,
    QuantileSketch,
    case_means,
    finite_values,
    quantile,
    quantile_ends,
    quantiles,
    values_for_quantile,
)


def test_booleans_and_integers_become_floats():
    sample = finite_values([True, 2, 0.5])
    assert sample == [1.0, 2.0, 0.5]
    assert all(type(value) is float for value in sample)


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_a_value_that_is_not_finite_is_refused_with_its_place(bad):
    with pytest.raises(ValueError, match=f"scores must be finite numbers, got {bad!r} at index 1"):
        finite_values([0.0, bad, 1.0], name="scores")


def test_attempts_at_a_case_are_averaged():
    assert case_means([[1, 0, 0.5], [True]]) == [0.5, 1.0]
    assert case_means([]) == []


@pytest.mark.parametrize(
    ("cases", "shown"),
    [([[1.0], []], "old: case 1 has no scores"), ([[nan]], "old: scores of case 0 .* got nan")],
)
def test_a_case_without_a_score_is_refused(cases, shown):
    with pytest.raises(ValueError, match=shown):
        case_means(cases, name="old")


def test_scores_that_are_not_in_lists_are_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"case 0 must be the list .* got 0.5; write \[\[0.5\], \[1.0\]\]"):
        case_means([0.5, 1.0])


ATTEMPTS = [[1, 1], [0, 1], [1, 1], [0, 1]]
"""Cases by their attempts, which could be taken for counts: one of one, none of one."""


@pytest.mark.parametrize(
    "of_counts",
    [rate, noise_floor, lambda cases: pass_at_k(cases, 1), lambda cases: pass_hat_k(cases, 1)],
    ids=["rate", "noise_floor", "pass_at_k", "pass_hat_k"],
)
@pytest.mark.parametrize(
    ("cases", "shown"),
    [
        (ATTEMPTS, r"case 0 must be the tuple \(passes, attempts\), got \[1, 1\]; .*\(sum\(attempts\), len"),
        ([[1, 0, 1], [1, 1, 1]], r"got \[1, 0, 1\]"),
        ([(1, 1), (1, 0, 1)], r"case 1 .* got \(1, 0, 1\)"),
        ([True, False], r"got True; write \(1, 1\) or \(0, 1\)"),
        ([(True, True)], r"got \(True, True\); two attempts of which one passed are \(1, 2\)"),
        ([(1, 1.5)], r"whole number, got \(1, 1.5\)"),
        ([("1", 1)], r"got \('1', 1\)"),
    ],
)
def test_lists_of_attempts_are_never_taken_for_counts(of_counts, cases, shown):
    with pytest.raises(TypeError, match=shown):
        of_counts(cases)


def test_the_way_from_attempts_to_counts_gives_the_rate_of_the_attempts():
    counts = [(sum(attempts), len(attempts)) for attempts in ATTEMPTS]
    assert rate(counts).value == mean(ATTEMPTS).value == 0.75
    assert rate([(np.int64(1), np.int64(2))]).value == 0.5


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: mean([0.5, 0.6]), r"case 0 must be the list .* got 0.5; write \[\[0.5\], \[1.0\]\]"),
        (lambda: mean([[0.5], [None]]), "values must be numbers, got None at index 1"),
        (lambda: mean([[0.5, "x"]]), "scores of case 0 must be numbers, got 'x' at index 1"),
        (lambda: mean(["ab"]), "case 0 must be the list .* got 'ab'"),
        (lambda: compare_paired([[None]], [[1]]), "must be numbers, got None at index 0"),
        (
            lambda: decide(compare_paired([[1]] * 9, [[0]] * 9), margin=0.05),
            r"difference\.interval, got Diff",
        ),
        (
            lambda: cases_needed(0.05, 0.4),
            r"spread must be VarianceComponents, got 0.4; .*Components\(v, 0.0\)",
        ),
        (lambda: wilson("8", 10), "successes must be a number, got '8'"),
        (lambda: jeffreys(8, None), "n must be a number, got None"),
    ],
)
def test_what_is_no_number_is_refused_with_its_value(call, shown):
    with pytest.raises(TypeError, match=shown):
        call()


def test_cases_may_be_rows_of_an_array():
    assert mean(np.array([[0.0, 1.0], [1.0, 1.0]])).value == 0.75


# ---------------------------------------------------------------------- moments


VALUES = st.lists(st.floats(-1e6, 1e6), max_size=40)


def same(left: Moments, right: Moments) -> bool:
    if left.n != right.n:
        return False
    if left.n == 0:
        return left.mean is right.mean is None
    scale = max(abs(left.mean), left.m2**0.5, 1e-3)
    return left.mean == pytest.approx(right.mean, rel=1e-9, abs=1e-9 * scale) and left.m2 == pytest.approx(
        right.m2, rel=1e-9, abs=1e-9 * scale**2
    )


@given(values=VALUES)
def test_moments_agree_with_the_statistics_module(values):
    moments = Moments.of(values)
    assert moments.n == len(values)
    if values:
        assert moments.mean == pytest.approx(statistics.fmean(values), rel=1e-9, abs=1e-6)
    if len(values) > 1:
        assert moments.variance == pytest.approx(statistics.variance(values), rel=1e-9, abs=1e-6)


def test_nothing_added_means_nothing_measured():
    assert (Moments().mean, Moments().variance) == (None, None)
    assert Moments.of([4.0]).variance is None


def test_a_large_offset_does_not_drown_the_variance():
    values = [1e9 + x for x in (4, 7, 13, 16)]
    assert Moments.of(values).variance == pytest.approx(30.0)


@given(left=VALUES, right=VALUES)
def test_merging_two_streams_is_reading_them_in_one(left, right):
    merged = Moments.of(left)
    other = Moments.of(right)
    before = (other.n, other.mean, other.m2)
    merged.merge(other)
    assert same(merged, Moments.of(left + right))
    assert (other.n, other.mean, other.m2) == before


@given(a=VALUES, b=VALUES, c=VALUES)
def test_merging_is_associative_and_commutative(a, b, c):
    left = Moments.of(a)
    left.merge(Moments.of(b))
    left.merge(Moments.of(c))
    tail = Moments.of(c)
    tail.merge(Moments.of(b))
    right = tail
    right.merge(Moments.of(a))
    assert same(left, right)


def test_an_empty_merge_changes_nothing():
    moments = Moments.of([1.0, 2.0])
    moments.merge(Moments())
    assert moments == Moments.of([1.0, 2.0])


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_a_value_that_is_not_finite_is_refused_and_leaves_no_trace(bad):
    moments = Moments.of([1.0, 2.0])
    with pytest.raises(ValueError, match=f"got {bad!r}"):
        moments.add(bad)
    assert moments == Moments.of([1.0, 2.0])


def test_moments_survive_json():
    moments = Moments.of([1.0, 2.5])
    assert msgspec.json.decode(msgspec.json.encode(moments), type=Moments) == moments


# ---------------------------------------------------------------------- quantiles


SAMPLES = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)
LEVELS = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@given(values=SAMPLES, levels=LEVELS)
def test_quantiles_agree_with_numpy(values, levels):
    for found, expected in zip(quantiles(values, levels), np.quantile(values, levels), strict=True):
        assert isclose(found, expected, rel_tol=1e-12, abs_tol=1e-6 * 1e-9 * max(map(abs, values)) + 1e-300)


@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), levels=LEVELS)
def test_quantiles_rise_with_their_level_and_stay_within_the_sample(values, levels):
    found = quantiles(values, [0, *sorted(levels), 1])
    assert found[0] == min(values)
    assert found[-1] == max(values)
    assert found == sorted(found)


@given(values=SAMPLES, levels=LEVELS)
def test_order_does_not_matter_and_a_sorted_sample_need_not_be_sorted_again(values, levels):
    assert quantiles(values, levels) == quantiles(sorted(values), levels, presorted=True)


@pytest.mark.parametrize(
    ("values", "level", "expected"),
    [
        ([3.0], 0.9, 3.0),
        ([1.0, 2.0], 0.5, 1.5),
        ([4.0, 1.0, 3.0, 2.0], 0.25, 1.75),
        (range(101), 0.95, 95.0),
    ],
)
def test_quantiles_known_by_hand(values, level, expected):
    assert quantile(values, level) == expected


def test_neighbours_further_apart_than_the_largest_float_are_interpolated():
    assert quantiles([-1.5e308, 1.5e308], [0.25, 0.5, 0.75]) == [-7.5e307, 0, 7.5e307]


def test_an_empty_sample_has_no_quantiles():
    assert quantiles([], [0.5]) is None
    assert quantile([], 0.5) is None


def test_the_input_is_left_as_it_was():
    values = [3.0, 1.0, 2.0]
    quantiles(values, [0.5])
    assert values == [3.0, 1.0, 2.0]


@pytest.mark.parametrize("level", [95, -0.1, nan])
def test_a_level_outside_zero_and_one_is_refused(level):
    with pytest.raises(ValueError, match=rf"0.95 for p95\), got {level!r}"):
        quantile([1.0], level)


@pytest.mark.parametrize("bad", [nan, inf])
def test_a_sample_with_a_hole_is_refused(bad):
    with pytest.raises(ValueError, match=f"got {bad!r} at index 1"):
        quantile([1.0, bad], 0.5)


def test_the_ends_of_a_quantile_are_order_statistics():
    low, high = quantile_ends(100, 0.5)
    assert (round(low * 99) + 1, round(high * 99) + 1) == (40, 61), "the ranks of the usual tables"
    assert quantile_ends(20, 0.9)[1] is None
    assert quantile_ends(1, 0.5) == (None, None)


def test_a_high_quantile_has_an_upper_end_from_as_many_values_on_as_is_said():
    for level, n in ((0.9, 36), (0.99, 368)):
        assert values_for_quantile(level) == n
        assert quantile_ends(n, level)[1] is not None
        assert quantile_ends(n - 1, level)[1] is None


def test_the_interval_of_p90_covers_the_truth_as_often_as_it_says():
    draw = Random(4)
    low, high = quantile_ends(60, 0.9)
    covered = 0
    for _ in range(1000):
        values = sorted(draw.lognormvariate(0, 1) for _ in range(60))
        truth = 3.602224479279158  # exp of the normal quantile of 0.9
        covered += values[round(low * 59)] <= truth <= values[round(high * 59)]
    assert covered >= 935


# ---------------------------------------------------------------------- sketch


def sketch(values, *, exactly=0):
    made = QuantileSketch(exactly=exactly)
    for value in values:
        made.add(value)
    return made


@given(values=st.lists(st.floats(1e-9, 1e9), min_size=1), level=st.floats(0, 1))
def test_a_quantile_is_within_one_percent_of_an_order_statistic_at_its_rank(values, level):
    ordered = sorted(values)
    rank = level * (len(values) - 1)
    found = sketch(values).quantile(level)
    low, high = ordered[math.floor(rank)], ordered[math.ceil(rank)]
    assert low * 0.99 <= found <= high * 1.01


@given(values=st.lists(st.floats(1e-9, 1e9), min_size=1), level=st.floats(0, 1))
def test_few_values_are_kept_and_their_quantiles_and_mean_are_exact(values, level):
    made = sketch(values, exactly=len(values))
    assert made.quantile(level) == quantile(values, level)
    assert made.mean == math.fsum(values) / len(values)
    assert sketch(values, exactly=len(values) - 1).quantile(level) == sketch(values).quantile(level)


@given(values=st.lists(st.floats(0, 1e6)))
def test_count_mean_and_largest_are_exact(values):
    made = sketch(values)
    assert made.count == len(values)
    assert made.largest == max(values, default=0)
    assert made.mean == (None if not values else pytest.approx(math.fsum(values) / len(values)))


def test_nothing_counted_has_no_quantile():
    assert QuantileSketch().quantile(0.5) is None
    assert QuantileSketch().mean is None


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_what_is_no_duration_is_refused(value):
    with pytest.raises(ValueError, match=f"{value!r}"):
        QuantileSketch().add(value)


@pytest.mark.parametrize("level", [-0.1, 1.1, math.nan])
def test_a_level_outside_its_range_is_refused(level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        sketch([1.0]).quantile(level)


def test_memory_does_not_grow_with_the_number_of_values():
    made = sketch(0.001 + i / 1e7 for i in range(50_000))
    assert len(made._buckets) < 300
