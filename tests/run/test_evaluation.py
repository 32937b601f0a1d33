"""From a dataset and a task to a report."""

import asyncio
import subprocess
import sys
from dataclasses import dataclass, field
from functools import partial

import pytest
import trio

from calipers import Case, Dataset, Report, Trace
from calipers.errors import InvalidOptionError
from calipers.evaluators import Evaluator, HasMatchingSpan
from calipers.process.loop import run_sync
from calipers.stores.rescoring import score_again_async


async def echo(inputs):
    return inputs


def dataset(n=3, **kwargs):
    return Dataset(cases=[Case(name=f"c{i}", inputs=i) for i in range(n)], **kwargs)


def test_a_run_is_named_for_its_task_unless_told_otherwise():
    assert dataset().evaluate_sync(echo, progress=False).name == "echo"
    assert dataset().evaluate_sync(echo, name="nightly", progress=False).name == "nightly"


def test_the_report_keeps_what_identifies_the_run():
    report = dataset(name="numbers").evaluate_sync(
        echo, progress=False, metadata={"model": "m1"}, seed=5, repeat=2
    )
    assert (report.dataset_name, report.metadata, report.seed, report.repeat) == (
        "numbers",
        {"model": "m1"},
        5,
        2,
    )
    assert report.started_at.endswith("+00:00")
    assert report.duration > 0


def test_an_empty_dataset_measures_nothing_and_passes_nothing():
    report = dataset(0).evaluate_sync(echo, progress=False)
    assert report.cases == report.failures == []
    assert report.pass_rate(None) is None
    assert report.averages(None) is None
    assert report.durations(None) is None


def test_evaluate_sync_works_where_an_event_loop_is_running():
    async def main():
        return dataset().evaluate_sync(echo, progress=False)

    assert len(asyncio.run(main()).cases) == 3


def test_errors_come_through_where_an_event_loop_is_running():
    async def main():
        run_sync(echo_error)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(main())


async def echo_error():
    return 1 / 0


def test_cancelling_an_evaluation_cancels_its_tasks():
    stopped = []

    async def task(inputs):
        try:
            await asyncio.sleep(60)
        finally:
            stopped.append(inputs)

    async def main():
        async with asyncio.timeout(0.1):
            await dataset().evaluate(task, progress=False)

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert sorted(stopped) == [0, 1, 2]


def test_two_evaluations_can_run_at_once():
    async def main():
        return await asyncio.gather(*[dataset().evaluate(echo, progress=False) for _ in range(5)])

    assert [len(report.cases) for report in asyncio.run(main())] == [3] * 5


def test_a_progress_object_follows_the_counts():
    seen = []

    class Shows:
        def __call__(self, counts):
            self.counts = counts
            return self

        def __enter__(self):
            seen.append((self.counts.finished, self.counts.total))

        def __exit__(self, *_):
            seen.append((self.counts.finished, self.counts.total, self.counts.failed, self.counts.in_flight))

    dataset(4, evaluators=[lambda output: output != 2]).evaluate_sync(echo, progress=Shows())
    assert seen == [(0, 4), (4, 4, 1, 0)]


def test_a_dataset_that_cannot_be_read_to_its_end_gives_a_partial_report_that_says_so():
    def cases():
        yield Case(inputs=1)
        yield Case(inputs=2)
        raise OSError("line 3 is damaged")

    for task in (echo, lambda inputs: inputs):
        report = Dataset(cases=cases()).evaluate_sync(task, progress=False)
        assert len(report.cases) == 2
        assert str(report.incomplete).endswith("after 2 attempts: OSError: line 3 is damaged")


def test_a_task_that_returns_a_trace_gives_its_text_as_output_and_the_trace_on_request():
    def agent(inputs):
        return Trace(agent_name="bot", output_text="sunny")

    def reads_trace(trace):
        return trace.agent_name

    report = dataset(1, evaluators=[reads_trace, lambda output: output == "sunny"]).evaluate_sync(
        agent, progress=False
    )
    assert report.cases[0].output == "sunny"
    assert report.cases[0].labels["reads_trace"].value == "bot"
    assert report.cases[0].passed


def traced(inputs):
    from opentelemetry import trace

    with trace.get_tracer("app").start_as_current_span(f"step {inputs}") as span:
        span.set_attribute("n", inputs)
        if inputs == 2:
            raise ValueError("two")
    return inputs


async def traced_async(inputs):
    await asyncio.sleep(0)
    return traced(inputs)


@pytest.mark.parametrize("task", [traced, traced_async])
def test_spans_are_there_on_request_and_each_attempt_has_its_own(task):
    seen = {}

    def look(span_tree, inputs):
        seen[inputs] = [node.name for node in span_tree]
        return True

    report = dataset(20, evaluators=[look, HasMatchingSpan({"name_contains": "step"})]).evaluate_sync(
        task, progress=False
    )
    assert seen == {i: [f"step {i}"] for i in range(20) if i != 2}
    assert report.pass_rate().value == 19 / 20
    assert len({case.trace_id for case in report.cases}) == 19
    assert report.failures[0].trace_id is not None


def test_without_spans_reading_them_says_how_to_turn_them_on():
    script = """
from calipers import Case, Dataset
def look(ctx):
    return len(ctx.span_tree) > 0
report = Dataset(cases=[Case(inputs=1)], evaluators=[look]).evaluate_sync(lambda inputs: inputs, progress=False)
print(report.cases[0].evaluator_failures[0].error_message)
import sys
assert not any(name.startswith("opentelemetry") for name in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert "pip install 'calipers[otel]'" in done.stdout, done.stderr


def test_a_report_survives_a_round_trip_after_a_real_run():
    report = dataset(
        5, evaluators=[lambda output: output > 1, lambda output: {"a": {"b": output / 2}}]
    ).evaluate_sync(echo, progress=False, repeat=2)
    again = Report.from_dict(report.to_dict())
    assert again.to_dict() == report.to_dict()
    assert again.summaries() == report.summaries()


def uneven(inputs):
    if inputs % 10 == 3:
        raise ValueError("three")
    return inputs


def judges():
    return [
        lambda output: output % 4 != 0,
        lambda output: output / 10,
        lambda output: "odd" if output % 2 else "even",
    ]


@pytest.mark.parametrize("repeat", [1, 2])
@pytest.mark.parametrize("cluster", [None, "by tens"])
def test_a_report_that_keeps_only_what_failed_says_the_same_of_the_whole(repeat, cluster):
    cases = [Case(inputs=i, cluster=cluster and f"{i // 10}") for i in range(60)]
    options = {"progress": False, "seed": 1, "repeat": repeat}
    whole = Dataset(cases=cases, evaluators=judges()).evaluate_sync(uneven, **options)
    lean = Dataset(cases=iter(cases), evaluators=judges()).evaluate_sync(uneven, keep="failed", **options)
    assert lean.summaries() == whole.summaries()
    assert lean.pass_rate() == whole.pass_rate()
    assert lean.counts() == whole.counts()
    assert lean.durations().count == whole.durations().count
    assert sorted(case.name for case in lean.cases) == sorted(
        case.name for case in whole.cases if case.passed is False
    )
    assert len(lean.failures) == len(whole.failures)
    assert Report.from_dict(lean.to_dict()).to_dict() == lean.to_dict()


def test_a_report_that_keeps_only_what_failed_refuses_what_it_cannot_know():
    report = dataset(evaluators=[lambda output: True]).evaluate_sync(echo, progress=False, keep="failed")
    with pytest.raises(ValueError, match="keep='all'"):
        report.summaries(confidence=0.9)
    with pytest.raises(ValueError, match="keep='all'"):
        report.pass_at_k(1)
    with pytest.raises(ValueError, match="keep must be one of all, failed, got 'none'"):
        dataset().evaluate_sync(echo, progress=False, keep="none")
    with pytest.raises(ValueError, match="report evaluators look at every attempt"):
        dataset(report_evaluators=[lambda report: []]).evaluate_sync(echo, progress=False, keep="failed")


def test_only_so_many_failed_attempts_are_kept():
    cases = (Case(inputs=i) for i in range(1500))
    report = Dataset(cases=cases, evaluators=[lambda output: False]).evaluate_sync(
        echo, progress=False, keep="failed"
    )
    assert len(report.cases) == 1000
    assert report.counts().attempts == 1500
    assert report.pass_rate().n_units == 1500


def test_every_finished_attempt_is_told():
    told = []
    report = dataset(30).evaluate_sync(uneven, progress=False, on_record=told.append)
    assert {record.name for record in told} == {record.name for record in [*report.cases, *report.failures]}
    assert len(told) == 30


@pytest.mark.parametrize("task", [echo, uneven])
def test_a_listener_that_fails_ends_the_run_and_loses_nothing(task):
    def full(record):
        if record.name == "c5":
            raise OSError("no space left on device")

    report = dataset(500).evaluate_sync(task, progress=False, on_record=full, max_concurrency=2)
    assert str(report.incomplete).startswith("on_record failed (OSError: no space left on device) after ")
    assert 6 <= len(report.cases) + len(report.failures) < 500
    assert report.unfinished == 0


def test_awaiting_on_another_event_loop_than_asyncios_is_refused_in_words(tmp_path):
    dataset().evaluate_sync(echo, progress=False, store=tmp_path / "runs.db")
    with pytest.raises(
        InvalidOptionError, match="this code runs on another one, such as trio's: call evaluate_sync"
    ):
        trio.run(partial(dataset().evaluate, echo, progress=False))
    with pytest.raises(InvalidOptionError, match="such as trio's: call score_again, which blocks"):
        trio.run(partial(score_again_async, tmp_path / "runs.db", evaluators=[bool]))

    async def blocking():
        return dataset().evaluate_sync(echo, progress=False)

    assert len(trio.run(blocking).cases) == 3


# ---------------------------------------------------------------------- before the first attempt


@dataclass
class Prepared(Evaluator):
    seen: list = field(default_factory=list)
    wrong: bool = False

    async def before_run(self):
        self.seen.append("before")
        if self.wrong:
            raise InvalidOptionError("no model")

    def evaluate(self, ctx):
        self.seen.append(ctx.output)
        return True


def test_each_evaluator_sees_to_what_it_needs_once_before_the_first_attempt():
    shared, own = Prepared(), Prepared()
    cases = [Case(inputs=1, evaluators=[own]), Case(inputs=2, evaluators=[own])]
    Dataset(cases=cases, evaluators=[shared]).evaluate_sync(abs, progress=False)
    assert shared.seen[0] == own.seen[0] == "before"
    assert sorted(shared.seen[1:]) == sorted(own.seen[1:]) == [1, 2]


def test_what_an_evaluator_raises_before_a_run_ends_it_before_the_task_is_called():
    called = []
    dataset = Dataset(cases=[Case(inputs=1)], evaluators=[Prepared(wrong=True)])
    with pytest.raises(InvalidOptionError, match="no model"):
        dataset.evaluate_sync(called.append, progress=False)
    assert called == []
