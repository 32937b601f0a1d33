import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.evaluators.bounds import check_bounds, check_counts, describe_bounds, is_within


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
def test_both_ends_belong_to_a_range(number, minimum, maximum):
    assert is_within(number, minimum, maximum) == (minimum <= number <= maximum)
    assert is_within(number, minimum, None) == (minimum <= number)
    assert is_within(number, None, maximum) == (number <= maximum)


def test_nan_lies_in_no_range():
    assert not is_within(math.nan, 0, None)
    assert not is_within(math.nan, None, 0)


def test_an_integer_beyond_the_largest_float_is_a_bound():
    check_bounds("It", 10**400, None)
    assert is_within(10**401, 10**400, None)
