"""What a rate may still be when little of it was seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calipers.stats import upper_bound


@given(st.integers(1, 100_000))
def test_nothing_seen_leaves_what_the_formula_says(n):
    assert upper_bound(0, n) == pytest.approx(1 - 0.05 ** (1 / n))


def test_the_rule_of_three():
    assert upper_bound(0, 300) == pytest.approx(3 / 300, rel=0.01)


@given(st.integers(0, 300), st.integers(0, 300), st.floats(0.5, 0.999))
def test_at_the_bound_so_few_are_just_possible(seen, unseen, confidence):
    n = seen + unseen
    bound = upper_bound(seen, n, confidence=confidence)
    if n == 0:
        assert bound is None
    elif unseen == 0:
        assert bound == 1
    else:
        assert stats.binom.cdf(seen, n, bound) == pytest.approx(1 - confidence, rel=1e-6)


@pytest.mark.parametrize(("seen", "n"), [(-1, 3), (4, 3), (0, float("nan"))])
def test_what_cannot_be_is_refused(seen, n):
    with pytest.raises(ValueError, match="must"):
        upper_bound(seen, n)
