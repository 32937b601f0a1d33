"""Ctrl-C and SIGTERM in a real process: what is done is kept, and the report says that it is incomplete."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from calipers import Case, Dataset
from calipers.process.interrupt import held_back, is_interrupt, on_interrupt, terminating
from calipers.stores import MemoryStore

START = """
import asyncio, os, signal, sys, threading, time
from calipers import Case, Dataset

under_way = threading.Event()

def interrupt_soon(times=1, by=signal.SIGINT):
    # A process that sends itself SIGINT is what Ctrl-C in a terminal does.
    def send():
        under_way.wait(60)
        for _ in range(times):
            time.sleep(0.4)
            os.kill(os.getpid(), by)
    threading.Thread(target=send, daemon=True).start()

dataset = Dataset(cases=[Case(name=f"c{i}", inputs=i) for i in range(100)], evaluators=[lambda output: True])

async def waits(inputs):
    if inputs >= 5:
        under_way.set()
        await asyncio.sleep(60)
    return inputs

def blocks(inputs):
    if inputs >= 5:
        under_way.set()
        time.sleep(60)
    return inputs

def show(report):
    print(len(report.cases), report.incomplete, report.unfinished, flush=True)
"""


def python(script, **kwargs):
    return subprocess.run(
        [sys.executable, "-c", START + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        **kwargs,
    )


@pytest.mark.parametrize("task", ["waits", "blocks"])
@pytest.mark.parametrize(
    "call",
    [
        "dataset.evaluate_sync({task}, progress=False, max_concurrency=10)",
        "asyncio.run(dataset.evaluate({task}, progress=False, max_concurrency=10))",
    ],
)
def test_the_first_ctrl_c_returns_what_is_done(task, call):
    done = python(f"interrupt_soon(); show({call.format(task=task)})")
    assert done.stdout == "5 interrupted by Ctrl-C after 5 of 100 attempts 10\n", done.stderr
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


EARLY = """
from calipers import Evaluator
presses = 0

class Early(Evaluator):
    def get_default_evaluation_name(self):
        global presses
        while presses:
            presses -= 1
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        return "early"

    def evaluate(self, ctx):
        return True

dataset = Dataset(cases=[Case(inputs=0), Case(inputs=1)], evaluators=[Early()])
checked = Dataset(cases=[Case(inputs=0)], evaluators=[Early()], report_evaluators=[lambda report: None])

async def inside():
    return dataset.evaluate_sync(waits, progress=False, store="memory:")

presses = {presses}
try:
    show({call})
except KeyboardInterrupt:
    print("KeyboardInterrupt")
"""


@pytest.mark.parametrize(
    ("presses", "says"),
    [(1, "0 interrupted by Ctrl-C after 0 of 2 attempts 0"), (2, "KeyboardInterrupt")],
)
@pytest.mark.parametrize(
    "call",
    [
        "dataset.evaluate_sync(waits, progress=False)",
        "asyncio.run(dataset.evaluate(blocks, progress=False))",
        "asyncio.run(inside())",
    ],
)
def test_a_ctrl_c_while_a_run_is_prepared_ends_it_like_a_later_one(call, presses, says):
    done = python(EARLY.format(call=call, presses=presses))
    assert done.stdout == f"{says}\n", done.stderr


def test_a_ctrl_c_before_a_run_that_does_not_begin_is_not_lost():
    done = python(EARLY.format(call="checked.evaluate_sync(waits, keep='failed', progress=False)", presses=1))
    assert done.stdout == "KeyboardInterrupt\n", done.stderr


def test_a_sigterm_returns_what_is_done_too(tmp_path):
    done = python(
        f"""
        interrupt_soon(by=signal.SIGTERM)
        report = dataset.evaluate_sync(waits, progress=False, max_concurrency=10, store={str(tmp_path / "runs.db")!r})
        show(report)
        print(report.interrupted_by, signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
        """
    )
    assert done.stdout == "5 interrupted by SIGTERM after 5 of 100 attempts 10\nSIGTERM True\n", done.stderr
    assert done.stderr == "\nstopping, by SIGTERM: what is finished is kept\n"


def test_the_second_sigterm_ends_the_program_as_usual():
    done = python(
        """
        dataset.evaluators.append(lambda output: time.sleep(60))
        interrupt_soon(times=2, by=signal.SIGTERM)
        dataset.evaluate_sync(blocks, progress=False)
        """
    )
    assert done.returncode == -signal.SIGTERM


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 1)])
def test_a_process_that_a_task_started_ends_by_a_signal_as_usual(number, code):
    done = python(
        f"""
        import multiprocessing

        def starts(inputs):
            ready = multiprocessing.get_context("fork").Event()

            def waits():
                ready.set()
                for _ in range(600):  # Python notices a signal that comes just as a sleep begins when that is over
                    time.sleep(0.1)

            process = multiprocessing.get_context("fork").Process(target=waits)
            process.start()
            ready.wait()
            os.kill(process.pid, {number:d})
            process.join()
            return process.exitcode

        dataset.cases = dataset.cases[:3]
        report = dataset.evaluate_sync(starts, progress=False)
        print([case.output for case in report.cases], report.incomplete)
        """
    )
    assert done.stdout == f"{[code] * 3} None\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_a_task_ends_at_once_ends_at_once():
    done = python(
        """
        import multiprocessing
        from calipers.process.interrupt import terminating

        def starts(inputs):
            process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
            process.start()
            process.terminate()
            process.join()
            return process.exitcode

        async def on_the_loop(inputs):
            return starts(inputs)

        dataset.cases = dataset.cases[:20]
        with terminating():
            for task in (starts, on_the_loop):
                report = dataset.evaluate_sync(task, progress=False)
                # Another thread that starts a process may be the one that hears of the end of this one: None.
                print({case.output for case in report.cases} - {None}, report.incomplete)
        """
    )
    assert (done.stdout, done.stderr) == ("{-15} None\n" * 2, "")


def test_calls_that_had_ended_are_judged_and_kept(tmp_path):
    done = python(
        f"""
        ended = []

        def quick(inputs):
            if inputs == 70:  # fewer than may wait to be judged
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(60)
            ended.append(inputs)
            return inputs

        store = {str(tmp_path / "runs.db")!r}
        report = dataset.evaluate_sync(quick, progress=False, max_concurrency=1, store=store)
        print([case.output for case in report.cases] == ended, report.reuse.attempts_made)
        show(report)
        """
    )
    assert done.stdout == "True 70\n70 interrupted by Ctrl-C after 70 of 100 attempts 1\n", done.stderr


@pytest.mark.parametrize("timeout", [None, 30])
def test_async_calls_that_had_ended_are_kept_too(timeout):
    done = python(
        f"""
        ended = []

        async def at_once(inputs):
            await asyncio.sleep(0.2)
            if inputs == 5:
                os.kill(os.getpid(), signal.SIGINT)
            ended.append(inputs)
            return inputs

        dataset.cases = dataset.cases[:10]
        report = dataset.evaluate_sync(at_once, progress=False, task_timeout={timeout})
        print([case.output for case in report.cases] == ended)
        """
    )
    assert done.stdout == "True\n", done.stderr


def test_a_call_that_ends_after_the_ctrl_c_is_given_up():
    done = python(
        """
        import subprocess

        def calls_a_program(inputs):
            if inputs == 1:
                child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.2)
                child.kill()
                return child.wait()
            return inputs

        async def slow(output):
            await asyncio.sleep(0.3)
            return True

        dataset.evaluators.append(slow)
        show(dataset.evaluate_sync(calls_a_program, progress=False, max_concurrency=1))
        """
    )
    assert done.stdout == "1 interrupted by Ctrl-C after 1 of 100 attempts 1\n", done.stderr


def test_judgements_that_take_long_are_not_waited_for():
    done = python(
        """
        async def hangs(output):
            under_way.set()
            await asyncio.sleep(60)

        dataset.evaluators.append(hangs)
        interrupt_soon()
        show(dataset.evaluate_sync(lambda inputs: inputs, progress=False, max_concurrency=2))
        """
    )
    assert done.stdout.startswith("0 interrupted by Ctrl-C after 0 of 100 attempts"), done.stderr


def test_a_task_that_never_waits_can_be_interrupted():
    done = python(
        """
        endless = Dataset(cases=(Case(inputs=i) for i in __import__("itertools").count()))

        async def quick(inputs):
            under_way.set()

        interrupt_soon()
        report = endless.evaluate_sync(quick, progress=False)
        print(str(report.incomplete).split(" after ")[0], len(report.cases) > 100)
        """
    )
    assert done.stdout == "interrupted by Ctrl-C True\n", done.stderr


def test_the_second_ctrl_c_ends_the_program_even_if_an_evaluator_hangs():
    done = python(
        """
        dataset.evaluators.append(lambda output: time.sleep(60))
        interrupt_soon(times=2)
        dataset.evaluate_sync(blocks, progress=False)
        """
    )
    assert done.returncode != 0
    assert "KeyboardInterrupt" in done.stderr


def test_handlers_are_put_back_and_ctrl_c_means_what_it_meant():
    async def task(inputs):
        return inputs

    before = signal.getsignal(signal.SIGINT)
    Dataset(cases=[Case(inputs=1)]).evaluate_sync(task, progress=False)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_foreign_handler_is_left_alone():
    calls = []
    before = signal.signal(signal.SIGINT, lambda *_: calls.append("theirs"))

    async def main():
        with on_interrupt(lambda by: calls.append(by)):
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0.01)

    try:
        asyncio.run(main())
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls == ["theirs"]


def test_a_handler_that_came_during_a_run_stays():
    async def task(inputs):
        signal.signal(signal.SIGINT, theirs)
        return inputs

    def theirs(*_):
        pass

    before = signal.getsignal(signal.SIGINT)
    try:
        asyncio.run(Dataset(cases=[Case(inputs=1)]).evaluate(task, progress=False))
        assert signal.getsignal(signal.SIGINT) is theirs
    finally:
        signal.signal(signal.SIGINT, before)


def test_outside_the_main_thread_nothing_is_touched():
    outcome = []

    def work():
        report = Dataset(cases=[Case(inputs=1)]).evaluate_sync(lambda inputs: inputs, progress=False)
        outcome.append(len(report.cases))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert outcome == [1]


# ---------------------------------------------------------------------- where an event loop runs already


class Agent:
    """An agent that sends this process a signal in the middle of a call, and counts its calls."""

    def __init__(self, number=signal.SIGINT, *, at=3):
        self.number = number
        self.at = at
        self.calls = []
        self.version = "1"  # it stays the same agent, though it counts its calls

    def _call(self, inputs):
        self.calls.append(inputs)
        if len(self.calls) == self.at:
            os.kill(os.getpid(), self.number)
            return True
        return False

    async def waits(self, inputs):
        await asyncio.sleep(60 if self._call(inputs) else 0)
        return inputs

    def blocks(self, inputs):
        if self._call(inputs):
            threading.Event().wait(60)
        return inputs

    waits.version = blocks.version = "1"


def ten_cases():
    return Dataset(
        name="ten",
        cases=[Case(name=f"c{i}", inputs=i) for i in range(10)],
        evaluators=[lambda output: output >= 0],
    )


@pytest.fixture
def store():
    with MemoryStore() as store:
        yield store


async def blocked_for(dataset, task, **options):
    """What a notebook's cell and an async test do: block, on the thread of the event loop."""
    return dataset.evaluate_sync(task, **options)


async def awaited(dataset, task, **options):
    return await dataset.evaluate(task, **options)


@pytest.mark.parametrize("call", [blocked_for, awaited])
@pytest.mark.parametrize("way", ["waits", "blocks"])
@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")], ids=["SIGINT", "SIGTERM"]
)
def test_inside_a_running_loop_one_signal_ends_the_run_and_resume_goes_on_with_it(
    store, call, way, number, name
):
    agent, dataset = Agent(number), ten_cases()
    options = {"store": store, "progress": False, "max_concurrency": 1, "task_name": "agent"}
    before = signal.getsignal(number)
    report = asyncio.run(call(dataset, getattr(agent, way), **options))
    assert signal.getsignal(number) is before
    assert str(report.incomplete) == f"interrupted by {name} after 2 of 10 attempts"
    assert report.interrupted_by == name
    assert store.run("latest").status == "interrupted"
    assert agent.calls == [0, 1, 2]
    resumed = asyncio.run(call(dataset, getattr(agent, way), resume=True, **options))
    assert [run.id for run in store.runs()] == [report.reuse.run] == [resumed.reuse.run]
    assert resumed.incomplete is None
    assert agent.calls == [0, 1, 2, *range(2, 10)]


def test_one_ctrl_c_ends_all_runs_of_a_loop():
    async def main():
        return await asyncio.gather(
            ten_cases().evaluate(forever, progress=False),
            ten_cases().evaluate(Agent().waits, progress=False, max_concurrency=1),
            ten_cases().evaluate(forever, progress=False),
        )

    async def forever(inputs):
        await asyncio.Event().wait()

    assert [report.interrupted_by for report in asyncio.run(main())] == ["Ctrl-C"] * 3


@pytest.mark.parametrize("outer", ["on the loop", "in a thread"])
def test_one_ctrl_c_ends_a_run_inside_a_run(outer):
    inner, outside = Agent(), []

    async def on_the_loop(inputs):
        outside.append(inputs)
        return ten_cases().evaluate_sync(inner.waits, progress=False, max_concurrency=1).incomplete

    def in_a_thread(inputs):
        outside.append(inputs)
        ended.append(ten_cases().evaluate_sync(inner.waits, progress=False, max_concurrency=1).incomplete)
        over.set()

    ended, over = [], threading.Event()
    task = on_the_loop if outer == "on the loop" else in_a_thread
    report = Dataset(cases=[Case(inputs=1), Case(inputs=2)]).evaluate_sync(
        task, progress=False, max_concurrency=1
    )
    assert report.interrupted_by == "Ctrl-C"
    assert outside == [1]
    assert inner.calls == [0, 1, 2]
    if outer == "in a thread":
        assert over.wait(60)
        assert list(map(str, ended)) == ["interrupted by Ctrl-C after 2 of 10 attempts"]


def test_ctrl_c_before_the_first_attempt_leaves_no_run_that_seems_to_run(store):
    agent = Agent(at=100)
    real = store.begin_run

    def begin_run(info):
        begun = real(info)
        os.kill(os.getpid(), signal.SIGINT)
        return begun

    store.begin_run = begin_run
    report = ten_cases().evaluate_sync(agent.waits, store=store, progress=False)
    assert str(report.incomplete) == "interrupted by Ctrl-C after 0 of 10 attempts"
    assert store.run("latest").status == "interrupted"
    assert agent.calls == []


def test_ctrl_c_at_the_very_end_comes_after_the_run_is_stored(store):
    agent = Agent(at=100)
    real = store.finish_run

    def finish_run(*arguments, **options):
        os.kill(os.getpid(), signal.SIGINT)
        return real(*arguments, **options)

    store.finish_run = finish_run
    with pytest.raises(KeyboardInterrupt):
        ten_cases().evaluate_sync(agent.waits, store=store, progress=False)
    assert store.run("latest").status == "finished"


def test_a_second_ctrl_c_is_not_held_back():
    async def main():
        with held_back():
            os.kill(os.getpid(), signal.SIGINT)
            calls.append("after the first")
            os.kill(os.getpid(), signal.SIGINT)
            calls.append("after the second")

    calls = []
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert calls == ["after the first"]


def test_an_interrupt_that_a_report_evaluator_raises_is_its_failure():
    done = python(
        """
        def raises(report):
            raise KeyboardInterrupt

        dataset.cases, dataset.report_evaluators = dataset.cases[:2], [raises]
        report = dataset.evaluate_sync(lambda inputs: inputs, progress=False)
        print([failure.error_type for failure in report.report_evaluator_failures])

        def presses(report):
            signal.raise_signal(signal.SIGINT)

        dataset.report_evaluators = [presses]
        try:
            dataset.evaluate_sync(lambda inputs: inputs, progress=False)
        except KeyboardInterrupt:
            print("Ctrl-C")
        """
    )
    assert done.stdout == "['KeyboardInterrupt']\nCtrl-C\n", done.stderr


def test_a_ctrl_c_stays_one_while_what_it_leaves_is_cleaned_up():
    def press_and_leave():
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            with terminating():
                pass

    with terminating():
        with pytest.raises(KeyboardInterrupt) as caught:
            press_and_leave()
        assert is_interrupt(caught.value)
    with terminating():
        assert not is_interrupt(KeyboardInterrupt())
    assert is_interrupt(KeyboardInterrupt()), "no handler would have heard it"


ON_SIGNAL = """
async def same(inputs):
    return inputs

def on_signal(number, frame):
    inner = Dataset(cases=[Case(inputs=1)]).evaluate_sync(same, progress=False)
    handled.append(inner.cases[0].output)
    go_on.set()

handled, go_on = [], threading.Event()
signal.signal(signal.SIGUSR1, on_signal)
dataset.cases = dataset.cases[:1]
"""


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no signals for users")
def test_a_signal_handler_may_evaluate_while_another_evaluation_is_about_to_begin():
    done = python(
        ON_SIGNAL
        + """
def at_the_first_task(frame, event, argument):
    if frame.f_code is asyncio.all_tasks.__code__:  # the loop is taken, and does not run yet
        sys.setprofile(None)
        signal.raise_signal(signal.SIGUSR1)

sys.setprofile(at_the_first_task)
print(len(dataset.evaluate_sync(same, progress=False).cases), handled)
"""
    )
    assert done.stdout == "1 [1]\n", done.stderr


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no signals for users")
def test_a_signal_handler_may_evaluate_while_another_evaluation_goes_on_in_another_thread():
    done = python(
        ON_SIGNAL
        + """
def waits_for_handler(inputs):
    os.kill(os.getpid(), signal.SIGUSR1)
    assert go_on.wait(30)
    return inputs

async def notebook():
    return dataset.evaluate_sync(waits_for_handler, progress=False)

print(len(asyncio.run(notebook()).cases), handled)
"""
    )
    assert done.stdout == "1 [1]\n", done.stderr
