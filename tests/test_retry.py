"""When a failed task is called again, and after which pause."""

import math
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Retry
from calipers.errors import InvalidOptionError


class Busy(ConnectionError):
    pass


def decides(error):
    return "again" in str(error)


async def decides_later(error):
    return True


@pytest.mark.parametrize(
    ("on", "error", "again"),
    [
        (Exception, ValueError(), True),
        (Exception, SystemExit(), False),
        (BaseException, SystemExit(), True),
        (ConnectionError, Busy(), True),
        (ConnectionError, ValueError(), False),
        ((ConnectionError, TimeoutError), TimeoutError(), True),
        ((ConnectionError, TimeoutError), KeyError(), False),
        (decides, ValueError("again"), True),
        (decides, ValueError("never"), False),
    ],
)
def test_which_failures_are_tried_again(on, error, again):
    assert Retry(attempts=2, on=on).again(error, 1) is again


def test_a_task_is_called_as_often_as_attempts_says_the_first_call_included():
    retry = Retry(attempts=3)
    assert [retry.again(ValueError(), tries) for tries in (1, 2, 3, 4)] == [True, True, False, False]
    assert Retry(attempts=1).again(ValueError(), 1) is False


def test_a_function_that_fails_to_decide_stops_the_retries_and_says_so_on_the_error():
    error = ValueError("the task's own")
    assert Retry(on=lambda error: error.missing).again(error, 1) is False
    assert "Retry(on=...) failed: AttributeError" in "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    "options",
    [
        {"attempts": 0},
        {"attempts": -1},
        {"attempts": 2.0},
        {"attempts": True},
        {"attempts": None},
        {"backoff": -0.1},
        {"backoff": math.nan},
        {"backoff": math.inf},
        {"backoff": "1"},
        {"backoff": None},
        {"factor": -2},
        {"factor": True},
        {"max_backoff": math.inf},
        {"max_backoff": -1},
        {"jitter": 1.1},
        {"jitter": -0.1},
        {"jitter": math.nan},
        {"on": int},
        {"on": "ConnectionError"},
        {"on": [ConnectionError]},
        {"on": (ConnectionError, "x")},
        {"on": (decides,)},
        {"on": None},
        {"on": ValueError()},
        {"on": decides_later},
    ],
)
def test_an_option_out_of_its_range_is_refused_by_name(options):
    [name] = options
    with pytest.raises(InvalidOptionError, match=rf"Retry\({name}=\.\.\.\)"):
        Retry(**options)


def test_pauses_grow_by_the_factor_up_to_the_longest():
    retry = Retry(attempts=9, backoff=1, factor=3, max_backoff=20, jitter=0)
    assert [retry.pause(tries, seed=0) for tries in (1, 2, 3, 4, 5)] == [1, 3, 9, 20, 20]


def test_no_backoff_is_no_pause():
    assert Retry(backoff=0).pause(3, seed=1) == 0


@given(
    st.integers(1, 10**6),
    st.integers(0, 2**56),
    st.floats(0, 1e6),
    st.floats(0, 1e6) | st.integers(0, 10**6),
    st.floats(0, 1e6),
    st.floats(0, 1),
)
def test_a_pause_is_shortened_by_at_most_the_jitter_and_is_the_same_for_the_same_seed(
    tries, seed, backoff, factor, longest, jitter
):
    retry = Retry(backoff=backoff, factor=factor, max_backoff=longest, jitter=jitter)
    whole = Retry(backoff=backoff, factor=factor, max_backoff=longest, jitter=0).pause(tries, seed)
    pause = retry.pause(tries, seed)
    assert whole * (1 - jitter) <= pause * (1 + 1e-12) + 1e-300
    assert pause <= whole <= longest
    assert retry.pause(tries, seed) == pause


def test_pauses_of_different_attempts_are_spread():
    assert len({Retry().pause(1, seed) for seed in range(50)}) == 50
