import statistics
from math import inf, nan

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats.moments import Moments

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
