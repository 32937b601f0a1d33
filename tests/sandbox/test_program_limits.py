import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError
from calipers.sandbox import Limits

WHOLE = [
    "cpu_seconds",
    "memory_bytes",
    "processes",
    "file_bytes",
    "folder_bytes",
    "output_bytes",
    "open_files",
]


@pytest.mark.parametrize("seconds", [0, -1, -0.0, math.nan, math.inf, -math.inf, 1e9])
def test_a_time_that_is_not_above_zero_and_finite_is_refused_by_name(seconds):
    with pytest.raises(InvalidOptionError, match=r"Limits\(seconds="):
        Limits(seconds=seconds)


@pytest.mark.parametrize("seconds", ["5", None, True, 1j])
def test_a_time_that_is_not_a_number_is_refused(seconds):
    with pytest.raises(InvalidOptionError, match="must be a number of seconds above 0"):
        Limits(seconds=seconds)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("value", [0, -1, 1 << 62])
def test_a_limit_out_of_range_is_refused_by_name(name, value):
    with pytest.raises(InvalidOptionError, match=rf"Limits\({name}=.* got {value}"):
        Limits(**{name: value})


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("value", ["1", 1.5, True, math.nan])
def test_a_limit_that_is_not_a_whole_number_is_refused_by_name(name, value):
    with pytest.raises(InvalidOptionError, match=rf"Limits\({name}="):
        Limits(**{name: value})


@given(st.floats(min_value=0, max_value=99_999_999, exclude_min=True))
def test_without_a_limit_of_its_own_processor_time_runs_out_after_the_clock(seconds):
    assert Limits(seconds=seconds).cpu_limit > seconds


def test_a_limit_on_processor_time_is_taken_as_given():
    assert Limits(seconds=60, cpu_seconds=3).for_process()["RLIMIT_CPU"] == 3


def test_limits_are_values():
    assert Limits(seconds=2) == Limits(seconds=2)
    with pytest.raises(AttributeError):
        Limits().seconds = 1
