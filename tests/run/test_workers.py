"""How work gets done: on the event loop and in threads. Most tests hold for both, and run for both."""

import asyncio
import contextvars
import functools
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import (
    Case,
    CaseLifecycle,
    Dataset,
    EvaluationReason,
    ToolCall,
    Trace,
    current_attempt,
    increment_eval_metric,
    record_trace,
    set_eval_attribute,
)
from calipers.data.retry import Retry
from calipers.errors import NotKnownError
from calipers.run.task import Task, promised_coroutine

NO_PAUSE = Retry(attempts=3, backoff=0)


def both(blocking):
    """The same task twice: as an async function and as a blocking one."""

    async def waiting(inputs):
        await asyncio.sleep(0)
        return blocking(inputs)

    return [pytest.param(waiting, id="async"), pytest.param(blocking, id="blocking")]


def run(task, n=5, evaluators=(), **options):
    cases = [Case(name=f"c{i}", inputs=i) for i in range(n)]
    return Dataset(cases=cases, evaluators=list(evaluators)).evaluate_sync(
        task, **{"progress": False, **options}
    )


def double(inputs):
    return 2 * inputs


@pytest.mark.parametrize("task", both(double))
def test_results_keep_the_order_of_the_dataset(task):
    report = run(task, 200, [lambda output, inputs: output == 2 * inputs])
    assert [case.name for case in report.cases] == [f"c{i}" for i in range(200)]
    assert [case.output for case in report.cases] == [2 * i for i in range(200)]
    assert all(case.passed for case in report.cases)


@pytest.mark.parametrize("delays", [[3, 1, 2, 0], [0, 0, 0, 5]])
def test_order_holds_when_later_cases_finish_first(delays):
    async def task(inputs):
        await asyncio.sleep(delays[inputs] / 100)
        return inputs

    assert [case.output for case in run(task, 4).cases] == [0, 1, 2, 3]


def fail_on_odd(inputs):
    if inputs % 2:
        raise ValueError(f"odd: {inputs}")
    return inputs


@pytest.mark.parametrize("task", both(fail_on_odd))
def test_a_task_that_raises_is_data_and_harms_no_other_case(task):
    report = run(task, 6, [lambda output: True])
    assert [case.output for case in report.cases] == [0, 2, 4]
    assert [f.error_message for f in report.failures] == [
        "ValueError: odd: 1",
        "ValueError: odd: 3",
        "ValueError: odd: 5",
    ]
    assert all("fail_on_odd" in f.error_stacktrace for f in report.failures)
    assert report.failures[0].not_run == ("function",)


def leave(inputs):
    if inputs == 1:
        raise SystemExit(3)
    return inputs


class Panic(BaseException):
    """What is no Exception, such as what `pytest.fail` raises, or compiled code that panics."""


def panic(inputs):
    if inputs == 1:
        raise Panic("at the disco")
    return inputs


@pytest.mark.parametrize("timeout", [None, 5])
@pytest.mark.parametrize("task", both(panic))
def test_a_task_that_panics_is_a_failure_of_its_case_alone(task, timeout):
    report = run(task, 3, task_timeout=timeout)
    assert [case.output for case in report.cases] == [0, 2]
    assert report.failures[0].error_message == "Panic: at the disco"


@pytest.mark.parametrize("task", both(leave))
def test_a_task_that_exits_is_a_failure_of_its_case_alone(task):
    report = run(task, 3)
    assert [case.output for case in report.cases] == [0, 2]
    assert report.failures[0].error_type == "SystemExit"


def test_a_task_that_cancels_itself_is_a_failure_and_its_worker_goes_on():
    async def task(inputs):
        if inputs == 1:
            asyncio.current_task().cancel()
            await asyncio.sleep(0)
        if inputs == 2:
            raise asyncio.CancelledError
        return inputs

    async def waits(output):
        await asyncio.sleep(0)
        return True

    report = run(task, 6, [waits], max_concurrency=1)
    assert [case.output for case in report.cases] == [0, 3, 4, 5]
    assert [f.error_type for f in report.failures] == ["CancelledError", "CancelledError"]
    assert all(case.passed for case in report.cases)


def hang(inputs):
    if inputs == 1:
        increment_eval_metric("begun", 1)
        time.sleep(30)
    return inputs


async def hang_async(inputs):
    if inputs == 1:
        increment_eval_metric("begun", 1)
        await asyncio.sleep(30)
    return inputs


@pytest.mark.parametrize("task", [hang, hang_async])
def test_a_task_that_hangs_is_left_behind_and_the_rest_goes_on(task):
    report = run(task, 4, task_timeout=0.2, max_concurrency=1)
    assert [case.output for case in report.cases] == [0, 2, 3]
    assert report.failures[0].error_message == "AttemptTimeoutError: the task exceeded task_timeout=0.2 s"
    assert report.failures[0].metrics == {"begun": 1}
    assert report.incomplete is None


def hanging(style):
    """A task that hangs for the cases that say so, and the end of that."""
    released = threading.Event()

    def blocking(inputs):
        if inputs == "hangs":
            released.wait(60)
        return inputs

    async def waiting(inputs):
        if inputs == "hangs":
            await asyncio.sleep(60)
        return inputs

    return (waiting if style == "async" else blocking), released.set


@pytest.mark.parametrize("style", ["async", "blocking", "blocking, with a lifecycle"])
@pytest.mark.parametrize(
    ("own", "of_the_run", "says"),
    [
        (0.1, None, "the timeout of its case, 0.1 s"),
        (0.1, 50, "the timeout of its case, 0.1 s"),
        (0.1, 0.1, "the timeout of its case, 0.1 s"),
        (None, 0.1, "task_timeout=0.1 s"),
    ],
)
def test_a_case_says_how_long_its_task_may_take_before_the_run_does(style, own, of_the_run, says):
    task, release = hanging(style)
    cases = [
        Case(name="first", inputs=1, timeout=50),
        Case(name="stuck", inputs="hangs", timeout=own),
        Case(name="last", inputs=2, timeout=50),
    ]
    options = {"lifecycle": lambda case: CaseLifecycle(case)} if "lifecycle" in style else {}
    report = Dataset(cases=iter(cases)).evaluate_sync(
        task, progress=False, max_concurrency=1, task_timeout=of_the_run, **options
    )
    release()
    assert [case.name for case in report.cases] == ["first", "last"]
    assert [(f.name, f.error_message) for f in report.failures] == [
        ("stuck", f"AttemptTimeoutError: the task exceeded {says}")
    ]


@pytest.mark.parametrize("style", ["async", "blocking"])
def test_a_case_may_take_longer_than_the_run_allows(style):
    def blocking(inputs):
        time.sleep(inputs)
        return inputs

    async def waiting(inputs):
        await asyncio.sleep(inputs)
        return inputs

    report = Dataset(cases=[Case(inputs=0.4, timeout=50)]).evaluate_sync(
        waiting if style == "async" else blocking, progress=False, task_timeout=0.1
    )
    assert [case.output for case in report.cases] == [0.4]


@pytest.mark.parametrize("style", ["async", "blocking"])
def test_every_try_of_a_case_has_its_time(style):
    task, release = hanging(style)
    case = Case(inputs="hangs", timeout=0.1)
    [failure] = Dataset(cases=[case]).evaluate_sync(task, progress=False, retry=NO_PAUSE).failures
    release()
    assert (failure.tries, failure.error_type) == (3, "AttemptTimeoutError")


def test_a_shorter_timeout_that_comes_later_is_kept_as_well():
    task, release = hanging("blocking")
    cases = [Case(inputs=1, timeout=50), Case(inputs=2), Case(inputs="hangs", timeout=0.05)]
    report = Dataset(cases=cases).evaluate_sync(task, progress=False, max_concurrency=1)
    release()
    assert [case.output for case in report.cases] == [1, 2]
    assert report.failures[0].error_message.endswith("the timeout of its case, 0.05 s")


def test_an_async_task_that_ignores_its_cancellation_is_left_behind_too():
    async def task(inputs):
        while inputs == 1:
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                continue
        return inputs

    report = run(task, 3, task_timeout=0.1)
    assert [case.output for case in report.cases] == [0, 2]
    assert report.failures[0].error_type == "AttemptTimeoutError"


@pytest.mark.parametrize("limit", [1, 3])
@pytest.mark.parametrize("blocking", [True, False])
def test_no_more_attempts_are_in_flight_than_max_concurrency(limit, blocking):
    lock, now, most = threading.Lock(), 0, 0

    def enter(change):
        nonlocal now, most
        with lock:
            now += change
            most = max(most, now)

    def block(inputs):
        enter(1)
        time.sleep(0.01)
        enter(-1)

    async def wait(inputs):
        enter(1)
        await asyncio.sleep(0.01)
        enter(-1)

    run(block if blocking else wait, 12, max_concurrency=limit)
    assert most == limit


def test_workers_are_added_until_all_slow_tasks_are_in_flight():
    started = 0

    async def task(inputs):
        nonlocal started
        started += 1
        while started < 64:  # finishes only if all 64 are in flight at once
            await asyncio.sleep(0.001)

    assert len(run(task, 64, max_concurrency=64).cases) == 64


def test_threads_are_enough_for_all_slow_tasks_to_be_in_flight():
    barrier = threading.Barrier(24, timeout=20)

    def task(inputs):
        barrier.wait()

    assert len(run(task, 24, max_concurrency=24).cases) == 24


def count(inputs):
    for _ in range(inputs):
        increment_eval_metric("steps", 1)
    increment_eval_metric("nothing", 0)
    set_eval_attribute("inputs", inputs)


@pytest.mark.parametrize("task", both(count))
def test_metrics_and_attributes_belong_to_their_attempt(task):
    report = run(task, 40)
    assert [case.metrics for case in report.cases] == [{"steps": i} if i else {} for i in range(40)]
    assert [case.attributes for case in report.cases] == [{"inputs": i} for i in range(40)]


def test_metrics_reach_the_attempt_from_threads_that_carry_its_context():
    async def task(inputs):
        await asyncio.gather(*[asyncio.to_thread(increment_eval_metric, "n", 1) for _ in range(20)])

    assert [case.metrics for case in run(task, 3).cases] == [{"n": 20}] * 3


def test_metrics_outside_a_run_are_no_error():
    increment_eval_metric("n", 1)
    set_eval_attribute("a", 1)
    assert current_attempt(None) is None
    with pytest.raises(NotKnownError, match="current_attempt\\(None\\) gives None here"):
        current_attempt()


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), True, "1", None])
def test_a_metric_grows_by_finite_numbers_only(amount):
    with pytest.raises(ValueError, match=r"must be a (finite )?number"):
        increment_eval_metric("n", amount)


VARIABLE = contextvars.ContextVar("variable", default="unset")


def leak(inputs):
    before = VARIABLE.get()
    VARIABLE.set(f"set by {inputs}")
    return before


async def leak_async(inputs):
    before = VARIABLE.get()
    VARIABLE.set(f"set by {inputs}")
    await asyncio.sleep(0)
    assert VARIABLE.get() == f"set by {inputs}"
    return before


class LeakBeforeItsAwaitable:
    """Async, though a part of it runs when it is called."""

    is_async = True

    def __call__(self, inputs):
        before = leak(inputs)
        assert current_attempt().inputs == inputs
        return asyncio.sleep(0, before)


LEAKS = [leak, leak_async, LeakBeforeItsAwaitable()]


@pytest.mark.parametrize("task", LEAKS)
def test_context_variables_come_from_the_caller_and_do_not_leak_to_the_next_case(task):
    VARIABLE.set("the caller's")
    for options in ({}, {"task_timeout": 60}):
        report = run(task, 8, max_concurrency=1, **options)
        assert [case.output for case in report.cases] == ["the caller's"] * 8
        assert VARIABLE.get() == "the caller's"


def sees(output):
    return VARIABLE.get()


async def sees_async(output):
    return VARIABLE.get()


@pytest.mark.parametrize("timeout", [None, 60])
@pytest.mark.parametrize("task", LEAKS)
def test_evaluators_see_the_context_variables_of_the_caller_whatever_the_task_is(task, timeout):
    VARIABLE.set("the caller's")
    cases = [Case(name=str(number), inputs=number) for number in range(8)]
    report = Dataset(cases=cases, evaluators=[sees, sees_async]).evaluate_sync(
        task, progress=False, evaluator_timeout=timeout
    )
    told = [[result.value for result in case.results] for case in report.cases]
    assert told == [["the caller's", "the caller's"]] * 8


def flaky(failures):
    """A task whose first calls for each input fail, and which counts its calls."""
    calls: dict[int, int] = {}

    def task(inputs):
        calls[inputs] = calls.get(inputs, 0) + 1
        increment_eval_metric("calls", 1)
        set_eval_attribute(f"try {calls[inputs]}", True)
        if calls[inputs] <= failures:
            raise ConnectionError(f"try {calls[inputs]}")
        return calls[inputs]

    return task, calls


@pytest.mark.parametrize("style", ["async", "blocking"])
def test_a_failed_task_is_tried_again_with_fresh_metrics(style):
    blocking, _ = flaky(2)
    task = blocking if style == "blocking" else functools.partial(as_async, blocking)
    report = run(task, 3, retry=NO_PAUSE)
    assert [(case.output, case.tries, case.metrics) for case in report.cases] == [(3, 3, {"calls": 1})] * 3
    assert [case.attributes for case in report.cases] == [{"try 3": True}] * 3


async def as_async(function, inputs):
    return function(inputs)


@pytest.mark.parametrize("style", ["async", "blocking"])
def test_retries_end_and_the_last_error_is_reported(style):
    blocking, calls = flaky(99)
    task = blocking if style == "blocking" else functools.partial(as_async, blocking)
    report = run(task, 2, retry=NO_PAUSE)
    assert [(f.error_message, f.tries) for f in report.failures] == [("ConnectionError: try 3", 3)] * 2
    assert calls == {0: 3, 1: 3}


@pytest.mark.parametrize(
    ("on", "tries"),
    [(ConnectionError, 3), (ValueError, 1), ((OSError,), 3), (lambda e: "try 1" in str(e), 2)],
)
def test_only_the_chosen_errors_are_tried_again(on, tries):
    task, _ = flaky(99)
    assert run(task, 1, retry=Retry(attempts=3, backoff=0, on=on)).failures[0].tries == tries


@pytest.mark.parametrize("style", ["async", "blocking"])
def test_a_timeout_can_be_tried_again(style):
    calls = []

    def blocking(inputs):
        calls.append(inputs)
        if len(calls) == 1:
            time.sleep(5)
        return "second try"

    async def waiting(inputs):
        calls.append(inputs)
        if len(calls) == 1:
            await asyncio.sleep(5)
        return "second try"

    report = run(waiting if style == "async" else blocking, 1, task_timeout=0.2, retry=NO_PAUSE)
    assert [(case.output, case.tries) for case in report.cases] == [("second try", 2)]


def test_a_sync_callable_that_returns_an_awaitable_is_awaited():
    async def inner(inputs):
        await asyncio.sleep(0)
        increment_eval_metric("inner", 1)
        return 2 * inputs

    report = run(lambda inputs: inner(inputs), 5)
    assert [case.output for case in report.cases] == [0, 2, 4, 6, 8]
    assert all(case.metrics == {"inner": 1} for case in report.cases)


class AsyncObject:
    async def __call__(self, inputs):
        return threading.current_thread() is threading.main_thread()


@pytest.mark.parametrize(
    "task",
    [
        AsyncObject(),
        functools.partial(as_async, lambda i: threading.current_thread() is threading.main_thread()),
    ],
)
def test_async_objects_and_partials_run_on_the_event_loop(task):
    assert [case.output for case in run(task, 3).cases] == [True] * 3


def test_a_blocking_task_does_not_run_on_the_event_loops_thread():
    report = run(lambda inputs: threading.current_thread() is threading.main_thread(), 3)
    assert [case.output for case in report.cases] == [False] * 3


def test_a_task_that_promised_an_awaitable_and_gives_none_fails_with_a_clear_message():
    with pytest.raises(TypeError, match=r"says it is async, but returned 3, which cannot be awaited"):
        promised_coroutine(Task(lambda inputs: 3, "liar", is_async=True), None)


def test_generators_are_no_outputs():
    def lazy(inputs):
        yield inputs

    async def lazy_async(inputs):
        yield inputs

    for task in (lazy, lazy_async):
        report = run(task, 1)
        assert "has produced nothing yet" in report.failures[0].error_message


@pytest.mark.parametrize("task", [3, None, "name", lambda: 1, lambda a, b: 1])
def test_what_cannot_be_called_with_inputs_is_refused_before_anything_runs(task):
    with pytest.raises(TypeError, match="task"):
        run(task)


@pytest.mark.parametrize("repeat", [1, 3])
@pytest.mark.parametrize("task", both(double))
def test_repeats_are_named_and_adjacent(task, repeat):
    report = run(task, 2, repeat=repeat)
    if repeat == 1:
        assert [(c.name, c.source_case_name) for c in report.cases] == [("c0", None), ("c1", None)]
    else:
        assert [c.name for c in report.cases] == [f"c{i} [{r}/3]" for i in range(2) for r in (1, 2, 3)]
        assert {c.source_case_name for c in report.cases} == {"c0", "c1"}


def test_seeds_follow_from_run_seed_case_and_repeat_in_any_order():
    def seeds(**options):
        report = run(lambda inputs: current_attempt().seed, 4, repeat=2, **options)
        return [case.output for case in report.cases], report.seed

    first, kept = seeds(seed=7)
    again, _ = seeds(seed=7, max_concurrency=1)
    other, _ = seeds(seed=0)
    drawn, drawn_seed = seeds()
    assert first == again
    assert kept == 7
    assert len(set(first)) == 8
    assert not set(first) & set(other)
    assert seeds(seed=drawn_seed)[0] == drawn


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_concurrency", 0),
        ("max_concurrency", -3),
        ("max_concurrency", True),
        ("max_concurrency", 2.5),
        ("repeat", 0),
        ("repeat", "2"),
        ("task_timeout", 0),
        ("task_timeout", -1),
        ("task_timeout", float("nan")),
        ("evaluator_timeout", "1"),
        ("seed", 1.5),
        ("retry", 3),
        ("repeat", None),
        ("lifecycle", 3),
        ("keep_secrets", "no"),
        ("on_record", "x"),
        ("progress", 3),
        ("name", 3),
        ("name", ""),
    ],
)
def test_an_option_out_of_range_is_named_with_its_value(option, value):
    with pytest.raises(ValueError, match=option) as caught:
        run(double, **{option: value})
    assert repr(value) in str(caught.value)


def test_lazy_cases_are_read_as_they_run():
    read = []

    def cases():
        for i in range(1000):
            read.append(i)
            yield Case(inputs=i)

    behind = []

    async def task(inputs):
        behind.append(len(read) - inputs)
        await asyncio.sleep(0)
        return inputs

    report = Dataset(cases=cases()).evaluate_sync(task, progress=False, max_concurrency=4)
    assert [case.output for case in report.cases] == list(range(1000))
    assert max(behind) <= 4
    assert report.cases[9].name == "Case 10"


@pytest.mark.parametrize("blocking", [True, False])
def test_finished_attempts_do_not_pile_up_before_slow_evaluators(blocking):
    done, judged, most = 0, 0, 0

    def task(inputs):
        nonlocal done, most
        done += 1
        most = max(most, done - judged)

    async def task_async(inputs):
        task(inputs)

    async def slow(output):
        nonlocal judged
        await asyncio.sleep(0.002)
        judged += 1
        return True

    report = run(task if blocking else task_async, 600, [slow], max_concurrency=2)
    assert len(report.cases) == 600
    assert most <= 4 * 2 + 64 + 1


def test_async_evaluators_of_different_cases_overlap():
    waiting, most = 0, 0

    async def judge(output):
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        await asyncio.sleep(0.02)
        waiting -= 1
        return True

    for task in (double, as_async_double):
        most = 0
        run(task, 10, [judge], max_concurrency=10)
        assert most > 5


async def as_async_double(inputs):
    return 2 * inputs


@settings(max_examples=min(30, settings().max_examples))
@given(
    steps=st.lists(st.sampled_from(["ok", "raise", "wait", "exit"]), max_size=30),
    limit=st.integers(1, 8),
    repeat=st.integers(1, 3),
    blocking=st.booleans(),
)
def test_every_attempt_ends_in_exactly_one_record(steps, limit, repeat, blocking):
    def act(inputs):
        if steps[inputs] == "raise":
            raise RuntimeError(steps[inputs])
        if steps[inputs] == "exit":
            raise SystemExit
        return inputs

    async def act_async(inputs):
        if steps[inputs] == "wait":
            await asyncio.sleep(0)
        return act(inputs)

    report = run(
        act if blocking else act_async,
        len(steps),
        [lambda output: EvaluationReason(True, "fine")],
        max_concurrency=limit,
        repeat=repeat,
    )
    bad = sum(step in {"raise", "exit"} for step in steps)
    assert len(report.failures) == bad * repeat
    assert len(report.cases) == (len(steps) - bad) * repeat
    names = [record.name for record in [*report.cases, *report.failures]]
    assert len(set(names)) == len(names)
    assert report.incomplete is None
    assert report.unfinished == 0


@pytest.mark.parametrize("blocking", [True, False])
def test_judgements_at_once_are_limited_like_tasks(blocking):
    now, most = 0, 0

    async def judge(output):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.005)
        now -= 1
        return True

    run(double if blocking else as_async_double, 60, [judge], max_concurrency=4)
    assert most == 4


def test_an_async_task_that_blocks_the_event_loop_is_named_and_late():
    async def blocks(inputs):
        if inputs == 0:
            time.sleep(0.25)
        return inputs

    assert run(blocks, 2).blocked["(task)"].longest >= 0.25
    report = run(blocks, 1, task_timeout=0.1)
    assert [f.error_type for f in report.failures] == ["AttemptTimeoutError"]
    assert "(task)" in report.blocked


@pytest.mark.parametrize("task", both(lambda inputs: inputs.append(0) or len(inputs)))
def test_a_task_that_changes_its_inputs_does_not_change_the_next_repeat(task):
    case = Case(name="c", inputs=[1])
    report = Dataset(cases=[case]).evaluate_sync(task, repeat=3, progress=False)
    assert [attempt.output for attempt in report.cases] == [2, 2, 2]
    assert [attempt.inputs for attempt in report.cases] == [[1, 0]] * 3
    assert case.inputs == [1]


def test_inputs_that_cannot_be_copied_are_shared_by_the_repeats():
    lock = threading.Lock()
    report = Dataset(cases=[Case(inputs=lock)]).evaluate_sync(
        lambda inputs: inputs is lock, repeat=2, progress=False
    )
    assert [attempt.output for attempt in report.cases] == [True, True]


# ---------------------------------------------------------------------- traces


TRACE = Trace(output_text="sunny", tool_calls=[ToolCall("weather", {"city": "Oslo"})])


@pytest.mark.parametrize("task", both(lambda inputs: TRACE))
def test_a_trace_that_the_task_returned_is_kept(task):
    assert [case.trace is TRACE for case in run(task, 3).cases] == [True] * 3


def records_and(then):
    def task(inputs):
        record_trace(TRACE)
        return then(inputs)

    return task


@pytest.mark.parametrize("task", both(records_and(double)))
def test_a_trace_that_the_task_recorded_is_kept_beside_its_output(task):
    [case] = run(task, 1).cases
    assert (case.output, case.trace is TRACE) == (0, True)


@pytest.mark.parametrize("task", both(double))
def test_an_attempt_without_a_trace_has_none(task):
    assert [case.trace for case in run(task, 2).cases] == [None, None]


@pytest.mark.parametrize("task", both(records_and(lambda inputs: 1 / inputs)))
def test_a_task_that_failed_keeps_what_the_agent_did_until_then(task):
    [failure] = run(task, 1).failures
    assert failure.trace is TRACE


@pytest.mark.parametrize("style", ["async", "blocking"])
def test_a_task_that_took_too_long_keeps_what_the_agent_did_until_then(style):
    async def waiting(inputs):
        record_trace(TRACE)
        await asyncio.sleep(60)

    released = threading.Event()

    def blocking(inputs):
        record_trace(TRACE)
        released.wait(60)

    [failure] = run(waiting if style == "async" else blocking, 1, task_timeout=0.1).failures
    released.set()
    assert failure.trace is TRACE


@pytest.mark.parametrize("style", ["async", "blocking"])
def test_a_further_try_does_not_keep_the_trace_of_the_one_before(style):
    tries = []

    def blocking(inputs):
        tries.append(inputs)
        if len(tries) == 1:
            record_trace(TRACE)
            raise OSError
        return inputs

    async def waiting(inputs):
        return blocking(inputs)

    [case] = run(waiting if style == "async" else blocking, 1, retry=NO_PAUSE).cases
    assert (case.tries, case.trace) == (2, None)


@pytest.mark.parametrize("task", both(lambda inputs: TRACE))
def test_on_record_and_reports_of_failures_have_the_traces(task):
    told = []
    judge = [lambda inputs: inputs > 0]
    report = run(task, 3, judge, keep="failed", on_record=told.append)
    assert [case.trace is TRACE for case in report.cases] == [True]
    assert [record.trace is TRACE for record in told] == [True] * 3
