"""What an interval of a difference allows to decide."""

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.stats import Interval, decide

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
