import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.evaluators import CloseTo, EvaluationReason, InRange, Skipped
from calipers.evaluators.numeric import check_bounds, check_counts, describe_bounds, is_within

NUMBERS = st.integers(-(10**6), 10**6) | st.floats(allow_nan=False)
TOLERANCES = st.floats(min_value=0, max_value=2)


@given(NUMBERS, NUMBERS | st.just(math.nan), TOLERANCES, TOLERANCES)
def test_close_means_what_math_says(judge, value, output, rel_tol, abs_tol):
    close = math.isclose(value, output, rel_tol=rel_tol, abs_tol=abs_tol)
    assert judge(CloseTo(value, rel_tol=rel_tol, abs_tol=abs_tol), output).value is close
    assert judge(CloseTo(rel_tol=rel_tol, abs_tol=abs_tol), output, value).value is close


@given(st.integers(10**310, 10**320), st.integers(-(10**300), 10**300))
def test_integers_beyond_the_largest_float_are_compared_exactly(judge, value, difference):
    assert judge(CloseTo(value), value + difference).value is True  # 1e-9 of 1e310 is far more than 1e300
    assert judge(CloseTo(value, rel_tol=0), value + difference).value is (difference == 0)
    assert judge(CloseTo(value), math.inf).value is False


@pytest.mark.parametrize(
    ("output", "passes"),
    [
        (2, True),
        (2.0, True),
        (Decimal(2), True),
        (Fraction(4, 2), True),
        (np.float32(2), True),
        (np.int8(2), True),
        (3, False),
        (Decimal("NaN"), False),
        (Decimal("sNaN"), False),
        (Fraction(10**400), False),
        (-(10**400), False),
        ("2", False),
        (None, False),
        ([2], False),
        (2 + 0j, False),
    ],
)
def test_what_counts_as_a_number(judge, output, passes):
    result = judge(CloseTo(2), output)
    assert result.value is passes
    assert (result.reason is None) is passes


@pytest.mark.parametrize("evaluator", [CloseTo(1), InRange(0, 1)])
@pytest.mark.parametrize("output", [True, np.True_])
def test_a_bool_is_not_a_number(judge, evaluator, output):
    assert judge(evaluator, output).value is False


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("2", True),
        (" 2.0\n", True),
        ("2e0", True),
        ("two", False),
        ("2 apples", False),
        ("0_2", False),
        ("nan", False),
    ],
)
def test_text_counts_when_asked_for(judge, text, passes):
    assert judge(CloseTo(2, parse=True), text).value is passes
    assert judge(InRange(2, 2, parse=True), text).value is passes
    assert judge(CloseTo(parse=True), text, "2").value is passes
    assert judge(InRange(2, 2), text).value is False


def test_the_reason_gives_difference_and_tolerance(judge):
    assert judge(CloseTo(2, abs_tol=0.1), 2.5) == EvaluationReason(
        value=False, reason="expected 2, got 2.5: the difference is 0.5, allowed is 0.1"
    )
    assert judge(CloseTo(2), math.nan).reason == "expected 2, got nan, which is close to nothing"
    assert judge(CloseTo(2), "x").reason == "expected a number, got 'x' (str)"


@pytest.mark.parametrize("expected", [None, "2", True, math.nan, [2]])
def test_an_expectation_that_is_no_number_makes_it_not_apply(judge, expected):
    assert isinstance(judge(CloseTo(), 2, expected), Skipped)


def test_no_expectation_makes_it_not_apply(judge):
    assert "no expected output" in judge(CloseTo(), 2).reason


def test_zero_is_a_value(judge):
    assert judge(CloseTo(0, abs_tol=0.1), 0.05, 7).value is True


@pytest.mark.parametrize(
    "options",
    [
        {"value": math.nan},
        {"value": "1"},
        {"value": True},
        {"rel_tol": -1},
        {"abs_tol": math.nan},
        {"rel_tol": math.inf},
        {"abs_tol": "0"},
    ],
)
def test_options_are_checked_when_they_are_given(options):
    with pytest.raises(InvalidOptionError):
        CloseTo(**options)


@given(NUMBERS, st.integers(-10, 10), st.integers(0, 10))
def test_both_ends_belong_to_a_range(judge, output, minimum, width):
    maximum = minimum + width
    assert judge(InRange(minimum, maximum), output).value == (minimum <= output <= maximum)
    assert judge(InRange(minimum), output).value == (minimum <= output)
    assert judge(InRange(maximum=maximum), output).value == (output <= maximum)


def test_a_number_out_of_range_is_shown_with_the_range(judge):
    assert judge(InRange(0, 1), 1.5) == EvaluationReason(value=False, reason="expected 0 to 1, got 1.5")
    assert judge(InRange(0, 1), math.nan).reason == "expected 0 to 1, got nan"
    assert judge(InRange(0, 1), None).reason == "expected a number, 0 to 1, got None"


def test_a_range_needs_a_bound():
    with pytest.raises(InvalidOptionError, match="InRange needs"):
        InRange()


@pytest.mark.parametrize(
    ("minimum", "maximum", "words"),
    [
        (None, None, "without a bound"),
        (math.nan, None, "minimum of .* must be a finite number"),
        (None, math.inf, "maximum of .* must be a finite number"),
        ("1", None, "got '1'"),
        (True, None, "got True"),
        (2, 1, "minimum of 2 above its maximum of 1"),
    ],
)
@pytest.mark.parametrize("check", [check_bounds, check_counts])
def test_bounds_that_mean_nothing_are_refused(check, minimum, maximum, words):
    with pytest.raises(InvalidOptionError, match=words):
        check("It", minimum, maximum)


@pytest.mark.parametrize(("minimum", "maximum"), [(-1, None), (None, 1.5), (0, None)])
def test_a_count_has_whole_bounds_that_it_can_miss(minimum, maximum):
    with pytest.raises(InvalidOptionError, match="It"):
        check_counts("It", minimum, maximum)


@pytest.mark.parametrize(
    ("minimum", "maximum", "words"),
    [(3, None, "at least 3"), (None, 5, "at most 5"), (3, 5, "3 to 5"), (3, 3, "exactly 3")],
)
def test_a_range_is_put_in_words(minimum, maximum, words):
    check_counts("It", minimum, maximum)
    assert describe_bounds(minimum, maximum) == words


@given(st.floats(allow_nan=False), st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_both_ends_belong_to_a_range_of_counts(number, minimum, maximum):
    assert is_within(number, minimum, maximum) == (minimum <= number <= maximum)
    assert is_within(number, minimum, None) == (minimum <= number)
    assert is_within(number, None, maximum) == (number <= maximum)


def test_nan_lies_in_no_range():
    assert not is_within(math.nan, 0, None)
    assert not is_within(math.nan, None, 0)


def test_an_integer_beyond_the_largest_float_is_a_bound():
    check_bounds("It", 10**400, None)
    assert is_within(10**401, 10**400, None)
