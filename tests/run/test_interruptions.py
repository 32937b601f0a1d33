"""Whatever code under test raises is data: the run has a report, what raised is a failure, and nothing passes by it."""

import asyncio
import itertools

import pytest

from calipers import Case, Dataset
from calipers.data.evaluator import Evaluator
from calipers.data.lifecycle import CaseLifecycle
from calipers.data.retry import Retry
from calipers.plugins import PluginBase, PluginManager


class Panic(BaseException):
    """What is no Exception, such as the panics of compiled code."""


class Unreadable(Exception):
    """An error whose own texts end the process."""

    def __str__(self):
        raise SystemExit(0)

    __repr__ = __str__


def cancel_all():
    for task in asyncio.all_tasks():
        task.cancel()


def stop_loop():
    asyncio.get_running_loop().stop()


def leave(kind, *details):
    def leave():
        raise kind(*details)

    return leave


RAISED = {
    "SystemExit(0)": leave(SystemExit, 0),
    "SystemExit(1)": leave(SystemExit, 1),
    "GeneratorExit": leave(GeneratorExit),
    "CancelledError": leave(asyncio.CancelledError),
    "KeyboardInterrupt": leave(KeyboardInterrupt),
    "Panic": leave(Panic, "at the disco"),
    "Unreadable": leave(Unreadable),
    "StopIteration": leave(StopIteration, 3),
    "cancel all tasks": cancel_all,
    "stop the loop": stop_loop,
}
"""What the code does to be rid of the run; the last two need an event loop that runs in their thread."""

ON_LOOP = {"cancel all tasks", "stop the loop"}
HARMLESS = {"stop the loop"}
"""What raises nothing in the code that does it: the run goes on as if nothing had been."""


def sync(harm):
    def code(*_):
        harm()
        return True

    return code


def waiting(harm):
    async def code(*_):
        await asyncio.sleep(0)
        harm()
        await asyncio.sleep(0)
        return True

    return code


def in_a_task(harm):
    """The harm is done in a task that the code starts and waits for."""

    async def code(*_):
        await asyncio.gather(waiting(harm)())
        return True

    return code


STYLES = {"sync": sync, "async": waiting, "task": in_a_task}


def only_for(second, harm):
    """The code for one case of three."""

    def code(inputs):
        return harm(inputs) if inputs == second else inputs

    async def code_async(inputs):
        return await harm(inputs) if inputs == second else inputs

    return code_async if asyncio.iscoroutinefunction(harm) else code


class Repr:
    """An output whose every method does harm."""

    def __init__(self, harm):
        self._harm = harm

    def _act(self, *_):
        self._harm()
        return True

    __repr__ = __str__ = __eq__ = __len__ = __iter__ = __bool__ = __contains__ = __getitem__ = _act
    __hash__ = None

    @property
    def tool_calls(self):
        return self._act()


def evaluate(task, evaluators=(), *, cases=None, **options):
    cases = [Case(name=str(each), inputs=each) for each in range(3)] if cases is None else cases
    return Dataset(cases=cases, evaluators=evaluators).evaluate_sync(
        task, progress=False, max_concurrency=1, **options
    )


def same(inputs):
    return inputs


async def same_async(inputs):
    await asyncio.sleep(0)
    return inputs


def fine(output):
    return True


def combinations():
    for what, style, timeout in itertools.product(RAISED, STYLES, [None, 10]):
        yield what, style, timeout, STYLES[style](RAISED[what])


def test_a_task_fails_alone_whatever_it_raises():
    for what, style, timeout, code in combinations():
        if style == "sync" and what in ON_LOOP:
            continue  # it runs in a thread, where there is no loop
        about = (what, style, timeout)
        report = evaluate(only_for(1, code), [fine], task_timeout=timeout)
        assert report.incomplete is None, about
        assert report.unfinished == 0, about
        failed = [failure.name for failure in report.failures]
        assert failed == ([] if what in HARMLESS else ["1"]), about
        assert len(report.cases) + len(failed) == 3, about


def test_an_evaluator_fails_alone_whatever_it_raises():
    for what, style, timeout, code in combinations():
        about = (what, style, timeout)
        if style == "sync" and timeout is not None and what in ON_LOOP:
            continue
        bad = only_for(1, code)

        class Bad(Evaluator):
            def evaluate(self, ctx, bad=bad):
                return bad(ctx.output)

        for task in (same, same_async):
            report = evaluate(task, [fine, Bad(), fine], evaluator_timeout=timeout)
            assert report.incomplete is None, about
            passed = {record.name: record.passed for record in [*report.cases, *report.failures]}
            expected = what in HARMLESS
            assert passed == {"0": True, "1": expected, "2": True}, (*about, task)


def test_a_report_evaluator_fails_alone_whatever_it_raises():
    for what, style, _, code in combinations():
        if what == "KeyboardInterrupt":
            continue  # no attempt is under way, so that Ctrl-C ends the program at once

        def bad(report, code=code):
            return code()

        dataset = Dataset(cases=[Case(inputs=1)], evaluators=[fine], report_evaluators=[bad])
        report = dataset.evaluate_sync(same_async, progress=False)
        assert [failure.name for failure in report.report_evaluator_failures] == ["bad"], (what, style)
        assert len(report.cases) == 1


@pytest.mark.parametrize("hook", ["__init__", "setup", "prepare_context", "teardown"])
def test_a_hook_around_a_case_fails_its_attempt_alone_whatever_it_raises(hook):
    for what, style, _, code in combinations():
        if hook == "__init__" and style != "sync":
            continue

        class Hooks(CaseLifecycle):
            pass

        def act(self, *given, code=code, hook=hook):
            done = None
            if (given[0] if hook == "__init__" else self.case).inputs == 1:
                done = code()
            if hook == "__init__":
                self.case = given[0]
                return None
            return done if done is not None else (given[0] if given else None)

        setattr(Hooks, hook, act)
        report = evaluate(same, [fine], lifecycle=Hooks)
        about = (what, style)
        assert report.incomplete is None, about
        assert len(report.cases) + len(report.failures) == 3, about
        bad = [r for r in [*report.cases, *report.failures] if not r.passed or r.teardown_failure]
        if what not in HARMLESS:
            assert [record.name for record in bad] == ["1"], about


def test_a_hook_of_a_plugin_that_raises_is_noted_and_the_run_goes_on():
    for hook, (what, style, _, code) in itertools.product(
        ["on_suite_start", "on_test_start", "on_test_end", "on_suite_end"], combinations()
    ):
        if style == "task" or (what == "KeyboardInterrupt" and "suite" in hook):
            continue

        class Clumsy(PluginBase):
            name = "clumsy"

        setattr(Clumsy, hook, staticmethod(code))
        plugins = PluginManager()
        plugins.load_plugins(classes=[Clumsy], entry_points=False)
        assert plugins.plugins
        report = evaluate(same, [fine], plugins=plugins)
        about = (hook, what, style)
        assert len(report.cases) + len(report.failures) == 3, about
        if what not in HARMLESS:
            assert plugins.failures or report.incomplete or report.failures, about


@pytest.mark.parametrize("place", ["on_record", "stop_when"])
def test_what_listens_to_a_run_ends_it_early_whatever_it_raises(place):
    for what, harm in RAISED.items():
        if what in ON_LOOP:
            continue
        for task in (same, same_async):
            report = evaluate(task, [fine], **{place: lambda record, harm=harm: harm()})
            assert place in str(report.incomplete), what
            assert report.cases, what


def test_cases_that_cannot_be_read_any_further_end_the_run_whatever_they_raise():
    for what, harm in RAISED.items():
        if what in ON_LOOP or what == "KeyboardInterrupt":
            continue

        def cases(harm=harm):
            yield Case(inputs=0)
            harm()

        for task in (same, same_async):
            report = evaluate(task, [fine], cases=cases())
            assert "could not be read" in str(report.incomplete), what
            assert len(report.cases) == 1, what


def test_a_rule_for_retries_that_raises_ends_the_tries_of_its_attempt():
    def fails(inputs):
        raise ValueError(inputs)

    async def fails_async(inputs):
        raise ValueError(inputs)

    for what, harm in RAISED.items():
        if what in ON_LOOP:
            continue
        for task in (fails, fails_async):
            report = evaluate(task, [fine], retry=Retry(backoff=0, on=lambda error, harm=harm: harm()))
            assert [failure.tries for failure in report.failures] == [1, 1, 1], what


def test_an_output_may_do_harm_in_each_of_its_methods(tmp_path):
    for what, harm in RAISED.items():
        if what in ON_LOOP:
            continue
        for task in (lambda inputs, harm=harm: Repr(harm), waiting_for(Repr(harm))):
            for store in (None, tmp_path / "runs.db"):
                report = evaluate(
                    task, [lambda output: bool(output), lambda ctx: bool(ctx.tool_calls)], store=store
                )
                assert [case.passed for case in report.cases] == [False] * 3, what
                if what != "KeyboardInterrupt":  # outside a run, it is the user's
                    assert report.to_dict()
                    report.print()


def waiting_for(output):
    async def task(inputs):
        return output

    return task


def test_an_evaluator_that_cannot_be_asked_for_its_name_is_refused():
    class Bad(Evaluator):
        def evaluate(self, ctx):
            return True

        def as_spec(self):
            raise SystemExit(0)

    with pytest.raises(TypeError, match="SystemExit: 0"):
        evaluate(same, [Bad()])


def test_the_callers_own_cancellation_ends_the_evaluation():
    async def main():
        begun = asyncio.Event()

        async def hangs(inputs):
            begun.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(Dataset(cases=[Case(inputs=1)]).evaluate(hangs, progress=False))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
