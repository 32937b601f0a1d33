"""Hooks around a case."""

import asyncio

import pytest

from calipers import Case, CaseLifecycle, Dataset


def run(lifecycle, task=lambda inputs: inputs, n=2, evaluators=(lambda output: True,), **options):
    cases = [Case(name=f"c{i}", inputs=i) for i in range(n)]
    dataset = Dataset(cases=cases, evaluators=list(evaluators))
    return dataset.evaluate_sync(task, lifecycle=lifecycle, progress=False, **options)


async def async_task(inputs):
    await asyncio.sleep(0)
    return inputs


@pytest.mark.parametrize("task", [lambda inputs: inputs, async_task])
@pytest.mark.parametrize("hooks_are_async", [True, False])
def test_hooks_run_around_task_and_evaluators_in_order(task, hooks_are_async):
    seen = []

    class Hooks(CaseLifecycle):
        def setup(self):
            return self.note("setup")

        def prepare_context(self, ctx):
            ctx.attributes["prepared"] = True
            return self.note("prepare", ctx)

        def teardown(self, result):
            return self.note(f"teardown {result.name} {result.passed}")

        def note(self, what, value=None):
            if not hooks_are_async:
                seen.append(what)
                return value

            async def later():
                await asyncio.sleep(0)
                seen.append(what)
                return value

            return later()

    def judge(attributes):
        seen.append("evaluate")
        return attributes["prepared"]

    report = run(Hooks, task, n=1, evaluators=[judge])
    assert seen == ["setup", "prepare", "evaluate", "teardown c0 True"]
    assert report.cases[0].passed


def test_every_attempt_has_its_own_hooks_and_repeats_count_as_attempts():
    made = []

    class Hooks(CaseLifecycle):
        def __init__(self, case):
            super().__init__(case)
            made.append(self)

    run(Hooks, n=2, repeat=3)
    assert len(made) == len(set(map(id, made))) == 6
    assert {hooks.case.name for hooks in made} == {"c0", "c1"}


class Panic(BaseException):
    """What is no Exception, such as what `pytest.fail` raises."""


@pytest.mark.parametrize("kind", [RuntimeError, Panic])
@pytest.mark.parametrize("broken", ["__init__", "setup", "prepare_context"])
def test_a_hook_that_fails_before_the_judgement_fails_its_case_and_teardown_still_runs(broken, kind):
    torn_down = []

    class Hooks(CaseLifecycle):
        def teardown(self, result):
            torn_down.append((result.name, type(result).__name__))

    def fail(self, *_):
        if self.case.name == "c0" if hasattr(self, "case") else _[0].name == "c0":
            raise kind(f"{broken} broke")
        return _[0] if _ else None

    if broken == "__init__":

        class Breaks(Hooks):
            def __init__(self, case):
                fail(self, case)
                super().__init__(case)
    else:
        Breaks = type("Breaks", (Hooks,), {broken: fail})

    report = run(Breaks)
    assert [f.error_message for f in report.failures] == [f"{kind.__name__}: {broken} broke"]
    assert [case.name for case in report.cases] == ["c1"]
    expected = (
        [("c1", "ReportCase")]
        if broken == "__init__"
        else [("c0", "ReportCaseFailure"), ("c1", "ReportCase")]
    )
    assert sorted(torn_down) == expected


@pytest.mark.parametrize("kind", [OSError, Panic])
@pytest.mark.parametrize("task", [lambda inputs: inputs, lambda inputs: 1 / 0])
def test_a_failing_teardown_loses_nothing_and_is_recorded(task, kind):
    class Hooks(CaseLifecycle):
        def teardown(self, result):
            raise kind("cannot clean up")

    report = run(Hooks, task, n=3)
    records = [*report.cases, *report.failures]
    assert len(records) == 3
    assert all(
        record.teardown_failure.error_message == f"{kind.__name__}: cannot clean up" for record in records
    )
    assert all(case.passed for case in report.cases)
    assert type(report).from_dict(report.to_dict()).to_dict() == report.to_dict()


def test_a_factory_function_may_make_the_hooks():
    report = run(lambda case: CaseLifecycle(case))
    assert len(report.cases) == 2


def test_a_blocking_task_under_hooks_still_leaves_the_event_loop_free():
    import time

    both_in_flight = 0

    def task(inputs):
        nonlocal both_in_flight
        both_in_flight += 1
        while both_in_flight < 2:
            time.sleep(0.001)

    assert len(run(CaseLifecycle, task, max_concurrency=2).cases) == 2


def test_a_context_that_is_not_returned_is_named_in_the_failure():
    class Forgets(CaseLifecycle):
        def prepare_context(self, ctx):
            ctx.attributes["seen"] = True

    report = run(Forgets, n=1)
    assert (
        report.failures[0].error_message
        == "TaskContractError: prepare_context must return the context, got None"
    )
