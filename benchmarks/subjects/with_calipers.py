"""Calipers, the way its documentation uses it: `Dataset.evaluate`, no progress bar."""

import asyncio

import workload
from calipers import Case, CaseLifecycle, Dataset, Evaluator, Report
from clock import bytes_kept_by, held_growth_of, peak_growth_of, seconds_of


def dataset(count, *more):
    return Dataset(
        cases=[
            Case(name=name, inputs=inputs, expected_output=expected)
            for name, inputs, expected in workload.facts(count)
        ],
        evaluators=[*workload.evaluators(Evaluator), *more],
    )


def evaluate(given, task, **options):
    return asyncio.run(given.evaluate(task, progress=False, **options))


def check(report):
    assert not report.failures
    assert not any(case.evaluator_failures for case in report.cases)
    held = sum(case.assertions["Correct"].value for case in report.cases)
    assert held == workload.right(len(report.cases))


def measured(by, count, task, *more, **options):
    """A run measured by one of the functions of `clock`, after a small one that pays for first use."""
    evaluate(dataset(200, *more), workload.double)
    given = dataset(count, *more)
    return by(lambda: evaluate(given, task, **options), check)


# ---------------------------------------------------------------------- what the benchmarks call


def overhead(count, **options):
    """Seconds per trivial case."""
    return measured(seconds_of, count, workload.double, **options) / count


def overhead_blocking(count):
    """Seconds per trivial case of a task that is an ordinary function."""
    return measured(seconds_of, count, workload.double_at_once) / count


def overhead_lifecycle(count):
    """Seconds per trivial case with hooks around each."""
    return overhead(count, lifecycle=CaseLifecycle)


def overhead_fourth(count, spans):
    """Seconds per trivial case with a fourth evaluator, which asks for spans or does not."""

    class Traced(Evaluator):
        needs_spans = spans

        def evaluate(self, ctx):
            return ctx.span_tree is not None if spans else True

    return measured(seconds_of, count, workload.double, Traced()) / count


def waiting(count):
    """Seconds for slow async cases."""
    return measured(seconds_of, count, workload.double_slowly, max_concurrency=workload.IN_FLIGHT)


def blocking(count):
    """Seconds for slow blocking cases."""
    return measured(seconds_of, count, workload.double_blocking, max_concurrency=workload.IN_FLIGHT)


def judging(count):
    """Seconds for cases that several judges wait for."""
    given = Dataset(cases=dataset(count).cases, evaluators=workload.judges(Evaluator))
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


def report_part(count, part):
    """Seconds for one method of a finished report."""
    report = evaluate(dataset(count), workload.double)
    return seconds_of(getattr(report, part))


def report_read(count):
    """Seconds for reading a report back from plain data."""
    data = evaluate(dataset(count), workload.double).to_dict()
    return seconds_of(lambda: Report.from_dict(data), check)


def limited(url, count, at_once):
    """Cases that fail, of those that ask a model with a limit."""
    given = Dataset(name="limited", cases=[Case(inputs=each) for each in workload.questions(count)])
    report = given.evaluate_sync(workload.asking(url), max_concurrency=at_once, progress=False)
    return len(report.failures)
