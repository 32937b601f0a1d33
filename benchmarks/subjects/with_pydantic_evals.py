"""pydantic_evals, the way its documentation uses it: `Dataset.evaluate`, no progress bar, no logfire configured."""

import asyncio

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator

import workload
from clock import bytes_kept_by, held_growth_of, peak_growth_of, seconds_of


def dataset(count):
    return Dataset(
        name="benchmark",
        cases=[
            Case(name=name, inputs=inputs, expected_output=expected)
            for name, inputs, expected in workload.facts(count)
        ],
        evaluators=workload.evaluators(Evaluator),
    )


def evaluate(given, task, **options):
    return asyncio.run(given.evaluate(task, progress=False, **options))


def check(report):
    assert not report.failures
    assert not any(case.evaluator_failures for case in report.cases)
    held = sum(case.assertions["Correct"].value for case in report.cases)
    assert held == workload.right(len(report.cases))


def measured(by, count, task, **options):
    """A run measured by one of the functions of `clock`, after a small one that pays for first use."""
    evaluate(dataset(200), workload.double)
    given = dataset(count)
    return by(lambda: evaluate(given, task, **options), check)


# ---------------------------------------------------------------------- what the benchmarks call


def overhead(count, **options):
    """Seconds per trivial case."""
    return measured(seconds_of, count, workload.double, **options) / count


def waiting(count):
    """Seconds for slow async cases."""
    return measured(seconds_of, count, workload.double_slowly, max_concurrency=workload.IN_FLIGHT)


def blocking(count):
    """Seconds for slow blocking cases."""
    return measured(seconds_of, count, workload.double_blocking, max_concurrency=workload.IN_FLIGHT)


def blocking_enlarged(count):
    """Seconds for slow blocking cases, the pool of threads enlarged by hand to hold all that are in flight."""
    from anyio import to_thread

    given = dataset(count)

    async def run():
        to_thread.current_default_thread_limiter().total_tokens = workload.IN_FLIGHT
        return await given.evaluate(
            workload.double_blocking, progress=False, max_concurrency=workload.IN_FLIGHT
        )

    evaluate(dataset(200), workload.double)
    return seconds_of(lambda: asyncio.run(run()), check)


def judging(count):
    """Seconds for cases that several judges wait for."""
    given = Dataset(name="judged", cases=dataset(count).cases, evaluators=workload.judges(Evaluator))
    return seconds_of(
        lambda: evaluate(given, workload.double, max_concurrency=workload.JUDGED_AT_ONCE), check_judges
    )


def check_judges(report):
    assert sum(len(case.assertions) for case in report.cases) == workload.JUDGES * len(report.cases)


def kept(count):
    """Bytes per case that a finished report keeps."""
    return measured(bytes_kept_by, count, workload.double) / count


def peak(count):
    """Bytes per case by which the process grows during a run."""
    return measured(peak_growth_of, count, workload.double) / count


def held(count):
    """Bytes per case by which the process has grown after a run."""
    return measured(held_growth_of, count, workload.double) / count


def limited(url, count, at_once):
    """Cases that fail, of those that ask a model with a limit."""
    given = Dataset(name="limited", cases=[Case(inputs=each) for each in workload.questions(count)])
    return len(evaluate(given, workload.asking(url), max_concurrency=at_once).failures)
