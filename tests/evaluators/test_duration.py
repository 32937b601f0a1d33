import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.evaluators import EvaluationReason, MaxDuration, Skipped


@given(st.floats(min_value=1e-6, max_value=1e6), st.floats(min_value=1e-9, max_value=1e6))
def test_the_limit_itself_is_allowed(judge, limit, duration):
    assert judge(MaxDuration(limit), None, duration=duration).value == (duration <= limit)


def test_a_time_that_was_not_measured_is_not_in_time(judge):
    assert judge(MaxDuration(1), None, duration=0.0) == Skipped("no time was measured")


def test_a_timedelta_is_a_limit(judge):
    assert judge(MaxDuration(timedelta(minutes=1)), None, duration=60.0).value is True
    assert judge(MaxDuration(timedelta(minutes=1)), None, duration=61.0) == EvaluationReason(
        value=False, reason="took 61 s, expected at most 60 s"
    )


def test_a_duration_that_is_no_number_of_seconds_is_never_in_time(judge):
    assert judge(MaxDuration(1), None, duration=math.nan).value is False


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, "1", True, None, timedelta(0)])
def test_a_limit_is_positive_and_finite(seconds):
    with pytest.raises(InvalidOptionError, match="seconds of MaxDuration must be"):
        MaxDuration(seconds)
