"""When a failed task is called again, and after which pause."""

import math
import traceback
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, Retry
from calipers.data.retry import as_retry
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


@pytest.mark.parametrize(
    ("spent", "tries", "again"), [(0, 1, True), (8, 1, True), (8.1, 1, False), (6, 2, True), (6.1, 2, False)]
)
def test_no_try_starts_later_than_the_timeout_allows_with_the_longest_pause_before_it(spent, tries, again):
    retry = Retry(attempts=9, backoff=2, factor=2, timeout=10)
    assert retry.again(ValueError(), tries, spent) is again


def _fails(inputs):
    raise ConnectionError(inputs)


async def _fails_later(inputs):
    raise ConnectionError(inputs)


@pytest.mark.parametrize(("timeout", "tries"), [(0, 1), (1000, 3), (None, 3)])
@pytest.mark.parametrize("task", [_fails, _fails_later])
def test_the_time_that_a_failed_try_took_counts_towards_the_timeout_of_a_task(task, timeout, tries):
    retry = {"max_attempts": 3, "initial_delay": 0, "timeout": timeout}
    report = Dataset(cases=[Case(inputs="x")]).evaluate_sync(task, retry_task=retry, progress=False)
    assert report.failures[0].tries == tries


@pytest.mark.parametrize(("timeout", "calls"), [(0, 1), (1000, 3)])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("evaluator_timeout", [None, 1000])
def test_the_time_that_a_failed_evaluator_took_counts_towards_its_timeout(
    is_async, timeout, calls, evaluator_timeout
):
    called = []

    def judge(output):
        called.append(output)
        raise ConnectionError(output)

    async def judge_later(output):
        return judge(output)

    Dataset(cases=[Case(inputs="x")], evaluators=[judge_later if is_async else judge]).evaluate_sync(
        str,
        retry_evaluators=Retry(attempts=3, backoff=0, timeout=timeout),
        evaluator_timeout=evaluator_timeout,
        progress=False,
    )
    assert len(called) == calls


def test_a_task_that_is_given_up_counts_the_time_it_was_waited_for():
    over = Event()
    report = Dataset(cases=[Case(inputs="x")]).evaluate_sync(
        lambda inputs: over.wait(),
        task_timeout=0.01,
        retry=Retry(attempts=3, backoff=0, timeout=0.001),
        progress=False,
    )
    over.set()
    assert report.failures[0].tries == 1


def _third(failed):
    return failed.attempt_number >= 3


def _late(failed):
    return failed.seconds_since_start > 10


def _busy(failed):
    return failed.outcome.failed and isinstance(failed.outcome.exception(), ConnectionError)


@pytest.mark.parametrize(
    ("words", "error", "tries", "spent", "again"),
    [
        ({"stop": _third}, ValueError(), 2, 0, True),
        ({"stop": _third, "reraise": True}, ValueError(), 3, 0, False),
        ({"stop": _late}, ValueError(), 99, 10, True),
        ({"stop": _late}, ValueError(), 1, 11, False),
        ({"stop": _third}, SystemExit(), 1, 0, False),
        ({"stop": _third, "retry": _busy}, Busy(), 1, 0, True),
        ({"stop": _third, "retry": _busy}, ValueError(), 1, 0, False),
    ],
)
def test_functions_in_the_words_of_tenacity_decide_what_is_tried_again(words, error, tries, spent, again):
    assert as_retry(words).again(error, tries, spent) is again


def test_a_function_given_as_wait_says_how_long_to_pause():
    retry = as_retry({"stop": _third, "wait": lambda failed: failed.attempt_number * 2})
    assert [retry.pause(tries, 0, ValueError()) for tries in (1, 2)] == [2, 4]
    assert as_retry({"stop": _third}).pause(1, 0) == 0


@pytest.mark.parametrize("given", [math.nan, math.inf, -1, "soon", None])
def test_a_wait_that_fails_is_told_and_replaced_by_the_usual_pause(given):
    retry = as_retry({"stop": _third, "wait": lambda failed: given})
    with pytest.warns(UserWarning, match="the function given as wait failed"):
        assert retry.pause(2, seed=7) == Retry().pause(2, seed=7)


def test_a_stop_that_fails_ends_the_retries_and_says_so_on_the_error():
    error = ValueError("the task's own")
    assert as_retry({"stop": lambda failed: failed.missing}).again(error, 1) is False
    assert "the function given as stop or retry failed: AttributeError" in error.__notes__[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"wait": _third}, "needs stop= too"),
        ({"reraise": True}, "needs stop= too"),
        ({"stop": _third, "before_sleep": print}, "no 'before_sleep' beside stop, wait, retry and reraise"),
        ({"stop": _third, "attempts": 3}, "no 'attempts' beside stop"),
        ({"stop": 3}, "stop must be a function of the failed try, got 3"),
        ({"stop": _third, "wait": 2.0}, "wait must be a function"),
        ({"stop": _third, "retry": decides_later}, "retry must be a function"),
    ],
)
def test_words_of_tenacity_that_cannot_be_followed_are_refused(words, said):
    with pytest.raises(InvalidOptionError, match=said):
        as_retry(words, "retry_task")


@pytest.mark.parametrize("task", [_fails, _fails_later])
def test_a_run_takes_its_retries_from_functions(task):
    asked = []

    def stop(failed):
        asked.append((failed.attempt_number, failed.exception()))
        return len(asked) == 3

    report = Dataset(cases=[Case(inputs="x")]).evaluate_sync(task, retry_task={"stop": stop}, progress=False)
    assert report.failures[0].tries == 3
    assert [(number, type(error)) for number, error in asked] == [
        (each, ConnectionError) for each in (1, 2, 3)
    ]


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
        {"timeout": -1},
        {"timeout": math.nan},
        {"timeout": "60"},
        {"timeout": True},
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
