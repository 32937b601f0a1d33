from math import inf, isclose, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from calipers.stats.distributions import (
    beta_cdf,
    beta_quantile,
    normal_cdf,
    normal_quantile,
    student_t_cdf,
    student_t_quantile,
)


def powers_of_ten(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


TAILS = powers_of_ten(-12, -0.31)
CENTRE = TAILS.map(lambda p: 0.5 - p)
PROBABILITIES = TAILS | TAILS.map(lambda p: 1 - p)
DEGREES = powers_of_ten(0, 6) | st.integers(1, 10**6).map(float)
# Below this the oracle itself underflows or loses digits, as it does for subnormal x.
SMALLEST = 1e-200


def close(found: float, expected: float, *, rel: float = 1e-9) -> bool:
    return isclose(found, expected, rel_tol=rel, abs_tol=SMALLEST)


@given(z=st.floats(-30, 8))
def test_the_normal_cdf_agrees_with_scipy(z):
    assert close(normal_cdf(z), float(special.ndtr(z)), rel=1e-12)


@given(p=powers_of_ten(-300, -0.31) | PROBABILITIES | CENTRE)
def test_the_normal_quantile_agrees_with_scipy(p):
    assert close(normal_quantile(p), float(special.ndtri(p)), rel=1e-12)


@given(t=powers_of_ten(-6, 3), sign=st.sampled_from([-1, 1]), df=DEGREES)
def test_the_student_t_cdf_agrees_with_scipy(t, sign, df):
    assert close(student_t_cdf(sign * t, df), float(special.stdtr(df, sign * t)))


@given(p=PROBABILITIES, df=DEGREES)
def test_the_student_t_quantile_agrees_with_scipy(p, df):
    assert close(student_t_quantile(p, df), float(special.stdtrit(df, p)), rel=1e-12)


@given(p=CENTRE, df=DEGREES)
def test_the_student_t_quantile_is_accurate_near_its_centre(p, df):
    inside = float(special.betaincinv(0.5, df / 2, 1 - 2 * p))  # scipy's own t quantile loses digits here
    assert close(student_t_quantile(p, df), -((df * inside / (1 - inside)) ** 0.5), rel=1e-12)


@given(a=powers_of_ten(-1, 6), b=powers_of_ten(-1, 6), p=PROBABILITIES)
def test_the_beta_cdf_agrees_with_scipy_across_its_bulk_and_tails(a, b, p):
    x = float(special.betaincinv(a, b, p))
    if 0 < x < 1:
        assert close(beta_cdf(x, a, b), float(special.betainc(a, b, x)))


@given(a=powers_of_ten(-1, 4), b=powers_of_ten(-1, 4), x=st.floats(0, 1, allow_subnormal=False))
def test_the_beta_cdf_agrees_with_scipy_at_any_point(a, b, x):
    assert close(beta_cdf(x, a, b), float(special.betainc(a, b, x)))


@given(a=powers_of_ten(-1, 6), b=powers_of_ten(-1, 6), p=PROBABILITIES)
def test_the_beta_quantile_agrees_with_scipy(a, b, p):
    assert close(beta_quantile(p, a, b), float(special.betaincinv(a, b, p)))


@given(p=PROBABILITIES, df=DEGREES)
def test_the_student_t_cdf_undoes_its_quantile(p, df):
    assert close(student_t_cdf(student_t_quantile(p, df), df), p)


@given(a=powers_of_ten(-6, 6), b=powers_of_ten(-6, 6), x=st.floats(1e-9, 1 - 1e-9))
def test_the_two_sides_of_a_beta_add_up_to_one(a, b, x):
    assert isclose(beta_cdf(x, a, b) + beta_cdf(1 - x, b, a), 1, abs_tol=1e-7)


@pytest.mark.parametrize(
    ("found", "exact"),
    [
        (student_t_quantile(0.75, 1), 1.0),  # Cauchy: tan(pi / 4)
        (student_t_quantile(0.5, 7), 0.0),
        (student_t_cdf(0, 3), 0.5),
        (student_t_cdf(inf, 3), 1.0),
        (student_t_cdf(-inf, 3), 0.0),
        (student_t_cdf(2**0.5, 2), 0.5 + 2**0.5 / (2 * (2 + 2) ** 0.5)),  # closed form for two degrees
        (beta_cdf(0.3, 1, 1), 0.3),
        (beta_cdf(0, 2, 3), 0.0),
        (beta_cdf(1, 2, 3), 1.0),
        (beta_quantile(0.25, 2, 1), 0.5),
        (normal_quantile(0.5), 0.0),
    ],
)
def test_values_known_in_closed_form(found, exact):
    assert found == pytest.approx(exact, rel=1e-14, abs=1e-300)


def test_many_degrees_of_freedom_approach_the_normal():
    assert student_t_quantile(0.025, 1e12) == pytest.approx(normal_quantile(0.025), rel=1e-11)


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: normal_quantile(0.0), "0.0"),
        (lambda: normal_quantile(nan), "nan"),
        (lambda: normal_quantile(1e-310), "1e-310"),
        (lambda: student_t_quantile(1.0, 3), "1.0"),
        (lambda: student_t_quantile(0.5, 0), "df must be positive and finite, got 0"),
        (lambda: student_t_cdf(nan, 3), "nan"),
        (lambda: student_t_cdf(1.0, inf), "inf"),
        (lambda: beta_cdf(1.5, 1, 1), "1.5"),
        (lambda: beta_cdf(0.5, -1, 1), "a must be positive and finite, got -1"),
        (lambda: beta_quantile(0.5, 1, nan), "nan"),
    ],
)
def test_arguments_out_of_range_are_refused_with_their_value(call, shown):
    with pytest.raises(ValueError, match=shown):
        call()
