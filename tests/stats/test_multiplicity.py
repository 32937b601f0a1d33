"""p-values of several questions at once."""

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calipers.stats import benjamini_hochberg, holm

P_VALUES = st.lists(st.floats(0, 1), max_size=12)


def test_holm_is_as_published():
    # Holm (1979) rejects step by step: 0.01 at 0.05/4, 0.005 first of all; 0.03 against 0.05/2 is not.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(P_VALUES, st.floats(0.001, 0.5))
def test_holm_rejects_what_the_step_down_procedure_rejects(p_values, level):
    adjusted = holm(p_values)
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    rejected = set()
    for place, index in enumerate(order):
        if (len(p_values) - place) * p_values[index] > level:
            break
        rejected.add(index)
    assert {i for i, p in enumerate(adjusted) if p <= level} == rejected


@given(P_VALUES)
def test_benjamini_and_hochberg_agree_with_scipy(p_values):
    expected = stats.false_discovery_control(p_values).tolist() if p_values else []
    assert benjamini_hochberg(p_values) == pytest.approx(expected)


@given(P_VALUES)
def test_adjusting_never_makes_a_p_value_smaller_nor_swaps_two(p_values):
    for adjust in (holm, benjamini_hochberg):
        adjusted = adjust(p_values)
        assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
        assert all(
            adjusted[i] <= adjusted[j]
            for i in range(len(p_values))
            for j in range(len(p_values))
            if p_values[i] <= p_values[j]
        )
    assert all(b <= h for b, h in zip(benjamini_hochberg(p_values), holm(p_values), strict=True))


@pytest.mark.parametrize("bad", [-0.1, 1.2, nan])
@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_what_is_no_p_value_is_refused(adjust, bad):
    with pytest.raises(ValueError, match=f"got {bad!r} at index 1"):
        adjust([0.5, bad])


@pytest.mark.parametrize("p_values", [[True, None], [0.1, None], ["0.1"], [float("nan")]])
@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg], ids=["holm", "benjamini-hochberg"])
def test_what_is_no_p_value_is_refused_with_its_place(adjust, p_values):
    with pytest.raises(ValueError, match=r"got .* at index"):
        adjust(p_values)
