"""Limits by name that the calls of a run share."""

import asyncio
import logging
import threading
import time
from typing import Any

import pytest

from calipers import Case, Dataset, Evaluator, EvaluatorContext, Report, Retry, limit
from calipers.errors import InvalidOptionError, ModelRateError
from calipers.run.call_limit import Limits, enter_async, leave, limits_in_use


def cases(count: int) -> Dataset[int, int, Any]:
    return Dataset(cases=[Case(name=str(number), inputs=number) for number in range(count)])


class Meter:
    """Counts who is inside at the same time."""

    def __init__(self) -> None:
        self.inside = self.most = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.inside -= 1


def only(report: Report, name: str) -> Any:
    (use,) = [use for use in report.limits if use.name == name]
    return use


def test_no_more_calls_are_in_flight_than_the_number_says() -> None:
    meter = Meter()

    async def task(inputs: int) -> int:
        async with limit("search", at_most=3):
            with meter:
                await asyncio.sleep(0.001)
        return inputs

    report = cases(60).evaluate_sync(task, progress=False)
    assert (meter.most, len(report.cases)) == (3, 60)
    use = only(report, "search")
    assert (use.answered, use.at_most, use.most_in_flight) == (60, 3, 3)


def test_threads_share_it_too() -> None:
    meter = Meter()

    def task(inputs: int) -> int:
        with limit("search", at_most=2), meter:
            time.sleep(0.002)
        return inputs

    report = cases(40).evaluate_sync(task, progress=False)
    assert (meter.most, len(report.cases)) == (2, 40)


def test_task_and_judges_share_it() -> None:
    meter = Meter()
    shared = limit("model", at_most=2)

    class Judge(Evaluator[int, int, Any]):
        async def evaluate(self, ctx: EvaluatorContext[int, int, Any]) -> bool:
            async with shared:
                with meter:
                    await asyncio.sleep(0.001)
            return True

    async def task(inputs: int) -> int:
        async with shared:
            with meter:
                await asyncio.sleep(0.001)
        return inputs

    dataset = cases(30)
    dataset.add_evaluator(Judge())
    report = dataset.evaluate_sync(task, progress=False)
    assert (meter.most, only(report, "model").answered) == (2, 60)


def test_time_spent_waiting_is_not_the_time_of_the_attempt() -> None:
    async def task(inputs: int) -> int:
        async with limit("slow", at_most=1):
            await asyncio.sleep(0.04)
        return inputs

    def blocking(inputs: int) -> int:
        with limit("slow", at_most=1):
            time.sleep(0.04)
        return inputs

    for each in (task, blocking):
        # Together they take longer than each of them may.
        report = cases(40).evaluate_sync(each, task_timeout=1.2, max_concurrency=40, progress=False)
        assert not report.failures
        assert only(report, "slow").waited > 1
        assert max(case.task_duration for case in report.cases) < 1.2


def test_an_evaluator_that_waits_does_not_use_up_its_time_out() -> None:
    class Judge(Evaluator[int, int, Any]):
        async def evaluate(self, ctx: EvaluatorContext[int, int, Any]) -> bool:
            async with limit("judge", at_most=1):
                await asyncio.sleep(0.02)
            return True

    dataset = cases(30)
    dataset.add_evaluator(Judge())
    report = dataset.evaluate_sync(lambda inputs: inputs, evaluator_timeout=0.3, progress=False)
    assert [case.evaluator_failures for case in report.cases] == [()] * 30


@pytest.mark.parametrize("blocks", [False, True])
def test_an_attempt_that_holds_a_limit_and_times_out_lets_go_of_it(blocks: bool) -> None:
    async def hangs(inputs: int) -> int:
        async with limit("held", at_most=1):
            await asyncio.sleep(30 if inputs == 0 else 0)
        return inputs

    release = threading.Event()

    def hangs_in_thread(inputs: int) -> int:
        with limit("held", at_most=1):
            release.wait(30 if inputs == 0 else 0)
        return inputs

    task: Any = hangs_in_thread if blocks else hangs
    report = cases(10).evaluate_sync(task, task_timeout=1.5, progress=False)
    release.set()
    assert ([failure.name for failure in report.failures], len(report.cases)) == (["0"], 9)


def test_blocks_of_one_name_inside_of_each_other_do_not_wait_for_each_other() -> None:
    async def inner() -> None:
        async with limit("agent"):
            await asyncio.sleep(0)

    async def task(inputs: int) -> int:
        async with limit("agent", at_most=1), limit("agent"):
            await asyncio.gather(*(inner() for _ in range(5)))
        return inputs

    report = cases(20).evaluate_sync(task, task_timeout=10, progress=False)
    assert len(report.cases) == 20


def test_blocks_of_two_names_in_either_order_do_not_wait_for_each_other() -> None:
    async def task(inputs: int) -> int:
        first, second = ("a", "b") if inputs % 2 else ("b", "a")
        async with limit(first):
            await asyncio.sleep(0)
            async with limit(second):
                await asyncio.sleep(0.001)
        return inputs

    report = cases(200).evaluate_sync(task, max_concurrency=100, progress=False)
    assert len(report.cases) == 200


def test_a_thousand_attempts_can_wait_at_once() -> None:
    async def task(inputs: int) -> int:
        async with limit("all", at_most=200):
            await asyncio.sleep(0.001)
        return inputs

    report = cases(1000).evaluate_sync(task, max_concurrency=1000, progress=False)
    assert (len(report.cases), only(report, "all").answered) == (1000, 1000)


def test_refusals_slow_it_down_and_stand_in_the_report() -> None:
    taken: list[float] = []

    async def task(inputs: int) -> int:
        async with limit("picky"):
            now = time.perf_counter()
            if sum(now - at < 0.1 for at in taken) >= 5:
                raise ModelRateError("too many", status=429)
            taken.append(now)
            await asyncio.sleep(0.002)
        return inputs

    report = cases(60).evaluate_sync(
        task, max_concurrency=60, retry=Retry(attempts=30, backoff=0.01), progress=False
    )
    use = only(report, "picky")
    assert len(report.cases) == 60
    assert use.refused > 0
    assert use.points[-1].rate is not None
    again = Report.from_dict(report.to_dict())
    assert again.limits == report.limits
    assert "picky" in report.render()


def test_a_long_pause_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> tuple[list[tuple[str, float]], int]:
        limits = Limits(draw=lambda: 0.0)
        with limits_in_use(limits):
            async with limit("openai") as call:
                call.told(429, {"retry-after": "3600"})
            waiting = asyncio.ensure_future(_enter("openai"))
            await asyncio.sleep(0.01)
            found = limits.pauses, limits.waiting
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert limits.waiting == 0
        return found

    with caplog.at_level(logging.WARNING, "calipers.limits"):
        ((name, left),), waiting = asyncio.run(main())
    assert (name, waiting) == ("openai", 1)
    assert 3590 < left <= 3600
    assert "openai asks for a pause of 1 h: the run waits" in caplog.text


async def _enter(name: str) -> None:
    async with limit(name):
        pass


def test_calls_of_each_case_get_on_in_turn() -> None:
    async def main() -> list[str]:
        limits, order = Limits(), []

        async def call(owner: str) -> None:
            from calipers.data.attempt import Notes, take_notes

            take_notes(owners.setdefault(owner, Notes()))
            await enter_async(limits, "one", at_most=1)
            order.append(owner)
            await asyncio.sleep(0)
            leave("one")

        owners: dict[str, Any] = {}
        greedy = [asyncio.create_task(call("greedy")) for _ in range(6)]
        await asyncio.sleep(0)
        modest = [asyncio.create_task(call(name)) for name in ("a", "b")]
        await asyncio.gather(*greedy, *modest)
        return order

    order = asyncio.run(main())
    assert max(order.index("a"), order.index("b")) <= 4, order


def test_outside_of_runs_one_limit_is_for_the_whole_process() -> None:
    meter = Meter()

    async def call() -> None:
        async with limit("outside of runs", at_most=2):
            with meter:
                await asyncio.sleep(0.001)

    async def main() -> None:
        await asyncio.gather(*(call() for _ in range(10)))

    asyncio.run(main())
    assert meter.most == 2


@pytest.mark.parametrize("bad", [0, -1, float("nan"), True, "3", 1.5])
def test_a_number_that_is_none_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidOptionError, match="at_most must be a whole number from 1"):
        limit("x", at_most=bad)
    with pytest.raises(InvalidOptionError, match="max_concurrency must be a whole number from 1"):
        cases(1).evaluate_sync(lambda inputs: inputs, max_concurrency=bad)


def test_a_name_is_a_text() -> None:
    with pytest.raises(InvalidOptionError, match="the name of a limit must be a text"):
        limit("")


def test_one_name_has_one_number() -> None:
    async def task(inputs: int) -> int:
        async with limit("x", at_most=1 + inputs):
            return inputs

    report = cases(2).evaluate_sync(task, max_concurrency=1, progress=False)
    assert "has at_most=1 already" in report.failures[0].error_message


@pytest.mark.parametrize("blocks", [False, True])
def test_auto_begins_with_few_attempts_and_finds_out_how_many_go(blocks: bool) -> None:
    meter = Meter()

    async def task(inputs: int) -> int:
        with meter:
            await asyncio.sleep(0.005)
        return inputs

    def blocking(inputs: int) -> int:
        with meter:
            time.sleep(0.005)
        return inputs

    report = cases(400).evaluate_sync(blocking if blocks else task, max_concurrency="auto", progress=False)
    assert len(report.cases) == 400
    assert meter.most > 16
    assert [use.name for use in report.limits] == ["attempts"]


def test_attempts_that_time_out_lower_how_many_are_in_flight() -> None:
    async def task(inputs: int) -> int:
        meter.__enter__()
        try:
            if meter.inside > 20:
                raise TimeoutError
            await asyncio.sleep(0.002)
        finally:
            meter.__exit__()
        return inputs

    meter = Meter()
    report = cases(500).evaluate_sync(task, max_concurrency="auto", progress=False)
    assert len(report.failures) < 60
    assert meter.most < 45


def test_a_run_without_limits_has_none_in_its_report() -> None:
    report = cases(3).evaluate_sync(lambda inputs: inputs, progress=False)
    assert report.limits == ()
