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
from calipers.interrupt import on_interrupt

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
                time.sleep(60)

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
        from calipers.interrupt import terminating

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
                print({case.output for case in report.cases}, report.incomplete)
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
        print(report.incomplete.split(" after ")[0], len(report.cases) > 100)
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


def test_somebody_elses_handler_is_left_alone():
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


def test_outside_the_main_thread_nothing_is_touched():
    outcome = []

    def work():
        report = Dataset(cases=[Case(inputs=1)]).evaluate_sync(lambda inputs: inputs, progress=False)
        outcome.append(len(report.cases))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert outcome == [1]
