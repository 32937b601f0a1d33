"""Evaluators that wait do so side by side: what they say is what they would say one after the other."""

import asyncio
import signal
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Case, Dataset, EvaluationReason, Evaluator, Retry, Skipped, as_evaluator
from calipers.data.attempt import increment_eval_metric, set_eval_attribute
from calipers.data.context import EvaluatorContext


def run(*evaluators, cases=None, task=lambda inputs: inputs, **options):
    cases = cases or [Case(name="c", inputs=1)]
    return Dataset(cases=cases, evaluators=list(evaluators)).evaluate_sync(task, progress=False, **options)


def meeting(count, *, blocking=False):
    """Evaluators that finish only if all of them are under way at once."""
    barrier = threading.Barrier(count, timeout=20)
    here = 0

    def blocks(output):
        barrier.wait()
        return True

    async def waits(output):
        nonlocal here
        here += 1
        while here % count:
            await asyncio.sleep(0.001)
        return True

    return [as_evaluator(blocks if blocking else waits, name=str(number)) for number in range(count)]


@pytest.mark.parametrize("blocking", [True, False])
def test_evaluators_that_wait_do_so_at_the_same_time_in_the_order_of_the_plan(blocking):
    report = run(*meeting(5, blocking=blocking), evaluator_timeout=30)
    assert [result.name for result in report.cases[0].results] == ["0", "1", "2", "3", "4"]
    assert report.cases[0].passed


def test_evaluators_that_have_the_whole_context_wait_at_the_same_time_too():
    barrier = []

    class Waits(Evaluator):
        async def evaluate(self, ctx):
            barrier.append(ctx)
            while len(barrier) < 3:
                await asyncio.sleep(0.001)
            return True

    assert run(Waits(), Waits(), Waits(), evaluator_timeout=20).cases[0].passed


def test_an_evaluator_that_looks_at_results_sees_all_before_it_and_none_after_it():
    def helper(ctx):
        return sorted(ctx.results)

    def say(name, value):
        async def waits(output):
            await asyncio.sleep(0)
            return value

        return as_evaluator(waits, name=name)

    class Open(Evaluator):
        async def evaluate(self, ctx):
            await asyncio.sleep(0)
            return ",".join(sorted(ctx.results))

    class Hidden(Evaluator):
        """What its own code does not tell: it hands the context on, and what is raised there is swallowed."""

        calls = 0

        async def evaluate(self, ctx):
            Hidden.calls += 1
            await asyncio.sleep(0)
            try:
                return ",".join(helper(ctx))
            except BaseException:
                return "nothing"

    class HiddenSync(Evaluator):
        def evaluate(self, ctx):
            try:
                return ",".join(helper(ctx))
            except BaseException:
                return "nothing"

    cases = [Case(name=str(number), inputs=number) for number in range(3)]
    report = run(
        say("a", 1.0),
        Open(),
        say("b", 2.0),
        Hidden(),
        lambda output: True,
        HiddenSync(),
        say("c", 3.0),
        cases=cases,
        max_concurrency=1,
    )
    for case in report.cases:
        values = {result.name: result.value for result in case.results}
        assert values == {
            "a": 1.0,
            "Open": "a",
            "b": 2.0,
            "Hidden": "Open,a,b",
            "function": True,
            "HiddenSync": "Hidden,Open,a,b,function",
            "c": 3.0,
        }
        assert list(values) == ["a", "Open", "b", "Hidden", "function", "HiddenSync", "c"]
    assert Hidden.calls == 4, "asked twice for the first case, and from then on in its turn"


def test_ctrl_c_ends_judges_that_wait_side_by_side():
    ended = []

    def waits(number):
        async def wait(output):
            if number == 2:
                signal.raise_signal(signal.SIGINT)
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(number)

        return as_evaluator(wait, name=str(number))

    report = run(*map(waits, range(3)), lambda output: True)
    assert str(report.incomplete).startswith("interrupted by Ctrl-C after 0 of 1")
    assert sorted(ended) == [0, 1, 2]


KINDS = ("true", "score", "label", "mapping", "skip", "raise", "exit", "none", "look", "slow")


def judge(number, kind, style):
    """An evaluator of the kind, in the style."""

    def say(ctx):
        match kind:
            case "true":
                return True
            case "score":
                return number / 2
            case "label":
                return f"label {number}"
            case "mapping":
                return {"a": True, "b": EvaluationReason(0.5, "half")}
            case "skip":
                return Skipped("no")
            case "raise":
                raise ValueError(number)
            case "exit":
                raise SystemExit(0)
            case "none":
                return None
        return ",".join(sorted(ctx.results))

    async def say_later(ctx):
        for _ in range(3 if kind == "slow" else number % 2):
            await asyncio.sleep(0)
        return say(ctx)

    return as_evaluator(say if style == "sync" else say_later, name=f"judge {number}")


async def one_after_the_other(judges, inputs):
    """What the evaluators say, by the simplest code that asks them."""
    told, results = [], {}
    for each in judges:
        ctx = EvaluatorContext(
            name="c",
            inputs=inputs,
            metadata=None,
            expected_output=None,
            output=inputs,
            duration=0.0,
            _span_tree=None,
            attributes={},
            metrics={},
            _earlier=list(results.values()),
        )
        try:
            value = await each.evaluate_async(ctx)
        except BaseException as error:
            told.append((each.get_default_evaluation_name(), type(error).__name__))
            continue
        alone = run(as_evaluator(lambda output, value=value: value, name=each.get_default_evaluation_name()))
        [case] = alone.cases
        for result in case.results:
            name = result.name
            while name in results:  # the keys of a mapping
                name += "'"
            results[name] = result
        told.append((each.get_default_evaluation_name(), [(r.value, r.reason) for r in case.results]))
    return told


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(["sync", "async"])), max_size=6).filter(
        lambda kinds: sum(kind == "mapping" for kind, _ in kinds) < 2
    ),
    st.sampled_from([None, 20]),
)
def test_results_side_by_side_are_those_of_one_after_the_other(kinds, timeout):
    judges = [judge(number, kind, style) for number, (kind, style) in enumerate(kinds)]
    expected = asyncio.run(one_after_the_other(judges, 1))
    [case] = run(*judges, evaluator_timeout=timeout).cases
    found = []
    failures = {failure.name: failure.error_type for failure in case.evaluator_failures}
    for name in (each.get_default_evaluation_name() for each in judges):
        said = [(result.value, result.reason) for result in case.results if result.evaluator == name]
        found.append((name, failures.get(name, said)))
    assert found == [
        (name, "InvalidOutputError" if told == [] and kind == "none" else told)
        for (name, told), (kind, _) in zip(expected, kinds, strict=True)
    ]
    order = [result.evaluator for result in case.results]
    assert order == sorted(order)


# ---------------------------------------------------------------------- asking again


@pytest.mark.parametrize("style", ["sync", "async", "thread"])
def test_an_evaluator_that_raises_is_asked_again_and_its_tries_are_told(style):
    calls = []

    def flaky(output):
        calls.append(output)
        if len(calls) < 3:
            raise ConnectionError("busy")
        return EvaluationReason(True, "at last")

    async def flaky_async(output):
        await asyncio.sleep(0)
        return flaky(output)

    options = {"evaluator_timeout": 20} if style == "thread" else {}
    report = run(
        lambda output: True,
        as_evaluator(flaky_async if style == "async" else flaky, name="flaky"),
        as_evaluator(lambda output: "ok", name="after"),
        retry_evaluators=Retry(attempts=3, backoff=0),
        **options,
    )
    [case] = report.cases
    assert [result.name for result in case.results] == ["function", "flaky", "after"]
    assert case.results[1].metadata == {"tries": 3}
    assert case.results[0].metadata is None
    assert len(calls) == 3


def test_tries_end_and_the_last_error_is_told_with_their_number():
    def broken(output):
        raise ConnectionError("busy")

    [case] = run(broken, retry_evaluators={"attempts": 2, "backoff": 0}).cases
    [failure] = case.evaluator_failures
    assert (failure.error_type, failure.metadata) == ("ConnectionError", {"tries": 2})


@pytest.mark.parametrize("output", [False, None, Skipped("no"), float("nan")])
def test_a_judgement_is_never_asked_for_again(output):
    calls = []

    def says(inputs):
        calls.append(inputs)
        return output

    run(says, retry_evaluators=Retry(attempts=3, backoff=0))
    assert len(calls) == 1


def test_an_evaluator_that_is_asked_again_still_sees_all_results_before_it():
    def helper(ctx):
        return sorted(ctx.results)

    calls = []

    class Late(Evaluator):
        async def evaluate(self, ctx):
            calls.append(1)
            if len(calls) == 1:
                raise ConnectionError
            await asyncio.sleep(0)
            return ",".join(helper(ctx))

    async def first(output):
        await asyncio.sleep(0.02)
        return True

    [case] = run(first, Late(), retry_evaluators=Retry(attempts=2, backoff=0)).cases
    assert case.labels["Late"].value == "first"


def test_only_chosen_errors_of_evaluators_are_tried_again():
    calls = []

    def broken(output):
        calls.append(output)
        raise ValueError

    run(broken, retry_evaluators=Retry(attempts=3, backoff=0, on=ConnectionError))
    assert len(calls) == 1


# ---------------------------------------------------------------------- what evaluators count and note


@pytest.mark.parametrize("style", ["sync", "async", "thread"])
def test_what_an_evaluator_counts_and_notes_stands_with_its_result(style, tmp_path):
    def count():
        increment_eval_metric("tokens", 5)
        set_eval_attribute("model", "judge-1")

    def judge(output):
        count()
        return True

    async def judge_async(output):
        await asyncio.sleep(0)
        return judge(output)

    def fails(output):
        count()
        raise ValueError

    def task(inputs):
        increment_eval_metric("tokens", 1)
        return inputs

    told = {"metrics": {"tokens": 5}, "attributes": {"model": "judge-1"}}
    options = {"evaluator_timeout": 20} if style == "thread" else {}
    first = as_evaluator(judge_async if style == "async" else judge, name="judge")
    report = run(
        lambda metrics: metrics == {"tokens": 1},
        first,
        fails,
        lambda metrics: metrics == {"tokens": 1},
        task=task,
        store=tmp_path / "runs.db",
        **options,
    )
    [case] = report.cases
    assert case.metrics == {"tokens": 1}
    assert [result.metadata for result in case.results] == [None, told, None]
    assert case.evaluator_failures[0].metadata == told
    again = run(
        lambda metrics: metrics == {"tokens": 1},
        first,
        task=task,
        store=tmp_path / "runs.db",
        reuse=True,
        **options,
    )
    assert again.cases[0].results[1].metadata == told


# ---------------------------------------------------------------------- holding the event loop


def test_what_holds_the_event_loop_is_told_as_what_it_is():
    async def sleeps(output):
        await asyncio.sleep(0)
        time.sleep(0.15)
        return True

    async def waits_and_fails(output):
        await asyncio.sleep(0.15)
        raise ValueError

    def blocks(output):
        time.sleep(0.15)
        return True

    for timeout in (None, 20):
        report = run(sleeps, waits_and_fails, blocks, evaluator_timeout=timeout)
        found = {name: held.is_async for name, held in report.blocked.items()}
        assert found == ({"sleeps": True} | ({"blocks": False} if timeout is None else {})), timeout


def test_time_in_which_others_hold_the_event_loop_is_not_the_tasks_own():
    async def blocks(inputs):
        await asyncio.sleep(0)
        time.sleep(0.3)
        return inputs

    cases = [Case(inputs=number) for number in range(4)]
    report = run(cases=cases, task=blocks, task_timeout=0.7)
    assert [case.output for case in report.cases] == [0, 1, 2, 3]
    assert report.failures == []


def test_time_in_which_others_hold_the_event_loop_is_not_the_evaluators_own():
    async def blocks(output):
        await asyncio.sleep(0)
        time.sleep(0.3)
        return True

    cases = [Case(inputs=number) for number in range(4)]
    report = run(blocks, cases=cases, evaluator_timeout=0.7)
    assert [case.passed for case in report.cases] == [True] * 4
