"""The event loop that is kept: a client that was opened once works in every call, however it is made."""

import asyncio
import contextlib
import contextvars
import os
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import openai
import pytest

from calipers import Case, Dataset, Evaluator, Retry
from calipers.process.loop import elsewhere, run_sync
from calipers.testing import HttpAgentServer, OpenAIServer, Reply, check_evaluator, make_context

DATASET = Dataset(
    cases=[Case(name=str(number), inputs=number, expected_output="ok") for number in range(5)],
    evaluators=[lambda output, expected_output: output == expected_output],
)


CLIENTS = []


def kept(client):
    """A client that is never closed and lives to the end of the process, as that of a user's module does."""
    CLIENTS.append(client)
    return client


@pytest.fixture(scope="module")
def openai_task():
    """A task with a client that lives as long as the module."""
    with OpenAIServer(Reply(text="ok")) as server:
        client = kept(openai.AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0))

        async def ask(inputs):
            messages = [{"role": "user", "content": str(inputs)}]
            answer = await client.chat.completions.create(model="m", messages=messages)
            return answer.choices[0].message.content

        yield ask


@pytest.fixture(scope="module")
def httpx_task():
    with HttpAgentServer(Reply(text="ok")) as server:
        client = kept(httpx.AsyncClient())

        async def ask(inputs):
            return (await client.post(server.url, json=inputs)).json()["text"]

        yield ask


@pytest.fixture(params=["openai", "httpx"])
def task(request):
    return request.getfixturevalue(f"{request.param}_task")


def rate(task):
    report = DATASET.evaluate_sync(task, progress=False)
    assert not report.failures, report.failures[0].error_message
    return report.pass_rate().value


async def this_loop():
    return asyncio.get_running_loop()


def test_a_client_works_in_one_call_after_the_other(task):
    assert [rate(task) for _ in range(3)] == [1.0, 1.0, 1.0]


def test_a_client_works_in_calls_inside_a_running_loop():
    with HttpAgentServer(Reply(text="ok")) as server:
        client = kept(httpx.AsyncClient())

        async def ask(inputs):
            return (await client.post(server.url, json=inputs)).json()["text"]

        async def notebook():
            return [rate(ask) for _ in range(3)]

        assert asyncio.run(notebook()) == [1.0, 1.0, 1.0]
        assert asyncio.run(notebook()) == [1.0, 1.0, 1.0]


def test_a_client_works_inside_and_outside_of_a_running_loop_in_turn(task):
    async def notebook():
        return [rate(task) for _ in range(2)]

    assert [rate(task), *asyncio.run(notebook()), rate(task), *asyncio.run(notebook())] == [1.0] * 6


@pytest.mark.parametrize("order", ["await, then block", "block, then await"])
def test_a_client_that_is_awaited_and_blocked_for_is_called_a_client_of_another_loop(order):
    with HttpAgentServer(Reply(text="ok")) as server:
        client = kept(httpx.AsyncClient())

        async def ask(inputs):
            return (await client.post(server.url, json=inputs)).json()["text"]

        async def notebook():
            if order == "await, then block":
                await ask("hello")
                return DATASET.evaluate_sync(ask, progress=False, retry=Retry(backoff=0))
            DATASET.evaluate_sync(ask, progress=False)
            return await DATASET.evaluate(ask, progress=False, retry=Retry(backoff=0))

        report = asyncio.run(notebook())
        assert report.failures
        for failure in report.failures:
            assert (failure.error_type, failure.tries) == ("OtherLoopError", 1), "and no try hides it"
            assert "make a new one inside the task" in failure.error_message
            assert "is bound to a different event loop" in failure.error_stacktrace
        note = " ".join(report.render().split("Note: ")[1].split())
        assert f"{len(report.failures)} attempt" in note
        assert "keeps connections of both loops, and later calls on the right loop may fail as well" in note


def test_a_judge_of_another_loop_is_a_failed_evaluator_that_is_not_asked_again():
    lock = asyncio.Lock()
    asked = []

    async def judge(output) -> bool:
        asked.append(output)
        async with lock:
            await asyncio.sleep(0.001)
        return True

    dataset = Dataset(cases=[Case(inputs=number) for number in range(3)], evaluators=[judge])

    async def notebook():
        await asyncio.gather(judge(1), judge(2))
        asked.clear()
        return dataset.evaluate_sync(lambda inputs: inputs, progress=False, retry_evaluators=Retry(backoff=0))

    report = asyncio.run(notebook())
    failures = [failure for case in report.cases for failure in case.evaluator_failures]
    assert {failure.error_type for failure in failures} == {"OtherLoopError"}
    assert len(asked) == 3
    assert f"{len(failures)} attempts failed for a client or lock" in " ".join(report.render().split())


def test_a_judge_with_a_client_of_its_own_can_be_called_again_and_again():
    with HttpAgentServer(Reply(text="ok")) as server:
        client = kept(httpx.AsyncClient())

        class Judge(Evaluator):
            async def evaluate(self, ctx):
                return (await client.post(server.url, json=ctx.inputs)).json()["text"] == "ok"

        for _ in range(3):
            assert Judge().evaluate_sync(make_context(inputs=1)) is True

        async def notebook():
            return Judge().evaluate_sync(make_context(inputs=1))

        assert [asyncio.run(notebook()) for _ in range(3)] == [True] * 3

        client = kept(httpx.AsyncClient())
        check_evaluator(Judge(), contexts=[make_context(inputs=number) for number in range(3)])


def test_calls_of_one_thread_have_one_loop():
    here = run_sync(this_loop)
    assert run_sync(this_loop) is here

    async def notebook():
        return [run_sync(this_loop) for _ in range(2)]

    for _ in range(2):
        assert asyncio.run(notebook()) == [here, here], "also inside a loop of the thread's own"


def test_a_call_inside_a_call_inside_a_call_does_not_wait_for_itself():
    async def deeper(depth):
        return 0 if depth == 0 else 1 + run_sync(lambda: deeper(depth - 1))

    assert [run_sync(lambda: deeper(4)) for _ in range(2)] == [4, 4]


def test_threads_do_not_share_a_loop_and_keep_their_own():
    both = threading.Barrier(2)

    def work():
        both.wait()
        return [run_sync(this_loop) for _ in range(3)]

    with ThreadPoolExecutor(2) as pool:
        one, other = [each.result() for each in [pool.submit(work), pool.submit(work)]]
    assert len(set(one)) == len(set(other)) == 1
    assert one[0] is not other[0]
    assert run_sync(this_loop) not in {one[0], other[0]}


def test_clients_work_in_two_threads_at_once():
    both = threading.Barrier(2)

    def work():
        with HttpAgentServer(Reply(text="ok")) as server:
            client = kept(httpx.AsyncClient())

            async def ask(inputs):
                return (await client.post(server.url, json=inputs)).json()["text"]

            rates = []
            for _ in range(3):
                both.wait()
                rates.append(rate(ask))
            return rates

    with ThreadPoolExecutor(2) as pool:
        assert [each.result() for each in [pool.submit(work), pool.submit(work)]] == [[1.0] * 3] * 2


def test_the_loop_of_a_thread_that_has_ended_goes_to_the_next():
    found = []
    for _ in range(3):
        thread = threading.Thread(target=lambda: found.append(id(run_sync(this_loop))))
        thread.start()
        thread.join()
    assert len(set(found)) == 1, "a client works in threads that come one after the other"


def test_the_current_loop_of_a_thread_is_left_alone():
    mine = asyncio.new_event_loop()
    asyncio.set_event_loop(mine)
    try:
        run_sync(this_loop)
        assert asyncio.get_event_loop_policy().get_event_loop() is mine
    finally:
        asyncio.set_event_loop(None)
        mine.close()


def test_a_call_sees_the_context_of_its_caller_wherever_it_is_made():
    here = contextvars.ContextVar("here")
    here.set("caller")

    async def look():
        return here.get()

    async def notebook():
        return run_sync(look)

    assert (run_sync(look), asyncio.run(notebook())) == ("caller", "caller")


# ---------------------------------------------------------------------- what a call leaves behind


def test_a_background_task_of_the_users_lives_on():
    beats = []

    async def keep_alive():
        while True:
            beats.append(1)
            await asyncio.sleep(0)

    tasks = []

    async def ask(inputs):
        if not tasks:
            tasks.append(asyncio.create_task(keep_alive()))
        await asyncio.sleep(0.01)

    run_sync(lambda: ask(1))
    seen = len(beats)
    run_sync(lambda: ask(2))
    assert len(beats) > seen
    assert not tasks[0].done()

    async def end():
        tasks[0].cancel()
        await asyncio.wait(tasks)

    run_sync(end)


def test_a_call_that_was_given_up_cleans_up_before_the_run_returns():
    ended = []

    async def slow(inputs):
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            ended.append(inputs)

    report = Dataset(cases=[Case(inputs=1)]).evaluate_sync(slow, progress=False, task_timeout=0.01)
    assert (len(report.failures), ended) == (1, [1])


def test_what_ignores_its_cancellation_is_left_behind():
    told, tasks = [], []

    async def stubborn(inputs):
        tasks.append(asyncio.current_task())
        while not told:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)

    Dataset(cases=[Case(inputs=1)]).evaluate_sync(stubborn, progress=False, task_timeout=0.01)
    assert not tasks[0].done()
    assert run_sync(this_loop) is tasks[0].get_loop()

    async def end():
        told.append("end")
        tasks[0].cancel()
        await asyncio.wait(tasks)

    run_sync(end)


def test_ctrl_c_cancels_what_was_started():
    ended = []

    async def waits():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cleaned up")

    async def main():
        started.append(asyncio.create_task(waits()))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(interrupt)
        await waits()

    def interrupt():
        raise KeyboardInterrupt

    started = []
    with pytest.raises(KeyboardInterrupt):
        run_sync(main)
    assert ended == ["cleaned up"] * 2
    assert run_sync(this_loop) is started[0].get_loop()


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals cannot be sent to a thread here")
def test_a_call_inside_a_running_loop_that_does_not_end_by_ctrl_c_costs_the_thread_its_loop():
    told, tasks = [], []
    here = run_sync(this_loop)

    async def stubborn():
        tasks.append(asyncio.current_task())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        while not told:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)

    async def notebook():
        run_sync(stubborn)

    mine = asyncio.new_event_loop()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            mine.run_until_complete(notebook())
    finally:
        signal.signal(signal.SIGINT, before)
        mine.close()
    assert tasks[0].get_loop() is here
    again = run_sync(this_loop)
    assert run_sync(this_loop) is again is not here
    told.append("end")
    here.call_soon_threadsafe(tasks[0].cancel)


def test_work_elsewhere_that_is_late_is_left_behind():
    hold = threading.Event()
    with pytest.raises(TimeoutError):
        elsewhere(hold.wait, timeout=0.01)
    assert elsewhere(lambda: "next", timeout=30) == "next"
    hold.set()


def test_an_error_elsewhere_is_the_error_of_the_call():
    def fail():
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        elsewhere(fail, timeout=30)


# ---------------------------------------------------------------------- processes

START = """
import asyncio, os, sys, threading
import httpx
from calipers import Case, Dataset
from calipers.process.loop import run_sync
from calipers.testing import HttpAgentServer, Reply

server = HttpAgentServer(Reply(text="ok")).__enter__()
client = httpx.AsyncClient()

async def ask(inputs):
    return (await client.post(server.url, json=inputs)).json()["text"]

dataset = Dataset(cases=[Case(inputs=i) for i in range(5)], evaluators=[lambda output: output == "ok"])

async def this_loop():
    return asyncio.get_running_loop()

def rate():
    return dataset.evaluate_sync(ask, progress=False).pass_rate().value
"""


def python(script, *options):
    return subprocess.run(
        [sys.executable, *options, "-c", START + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_loops_of_its_own_and_the_parent_keeps_its_own():
    done = python(
        """
        parent = [rate()]
        for _ in range(5):
            child = os.fork()
            if not child:
                client = httpx.AsyncClient()
                print([rate() for _ in range(2)], flush=True)
                sys.exit(0)  # with all that Python does at exit
            parent += [rate(), os.waitpid(child, 0)[1], rate()]
        print(parent)
        """,
        "-W",
        "ignore::DeprecationWarning",  # from Python 3.12 on, of a fork beside threads
    )
    assert done.stdout == "[1.0, 1.0]\n" * 5 + f"{[1.0] + [1.0, 0, 1.0] * 5}\n", done.stderr
    assert done.stderr == ""


def test_a_loop_of_uvloop_is_kept_too():
    done = python(
        """
        import uvloop
        uvloop.install()

        async def notebook():
            return [rate() for _ in range(2)]

        print([*asyncio.run(notebook()), rate(), *asyncio.run(notebook())], type(run_sync(this_loop)).__module__)
        """,
        "-W",
        "error",
        "-W",
        "ignore::DeprecationWarning",  # from Python 3.12 on, of uvloop.install
    )
    assert (done.stdout, done.stderr) == ("[1.0, 1.0, 1.0, 1.0, 1.0] uvloop\n", "")


def test_nothing_is_left_and_nothing_complains_at_exit():
    done = python(
        """
        import gc
        from calipers.voice.adapters import HttpAgent

        async def for_ever(name):
            try:
                await asyncio.Event().wait()
            finally:
                print("cancelled", name, flush=True)

        async def numbers():
            try:
                for number in range(9):
                    yield number
            finally:
                await asyncio.sleep(0)
                print("closed", flush=True)

        left = []

        async def leaves(name):
            left.append(asyncio.create_task(for_ever(name)))
            left.append(numbers())
            await anext(left[-1])
            await asyncio.to_thread(print, "thread", flush=True)
            left.append(httpx.AsyncClient())
            await left[-1].post(server.url, json=1)
            await HttpAgent(server.url).run_text("x")

        async def notebook():
            run_sync(lambda: leaves("elsewhere"))

        run_sync(lambda: leaves("here"))
        asyncio.run(notebook())
        gc.collect()
        print("exit", flush=True)
        """,
        "-W",
        "error",
    )
    assert done.stdout.splitlines()[:3] == ["thread", "thread", "exit"]
    assert sorted(done.stdout.splitlines()[3:]) == [
        "cancelled elsewhere",
        "cancelled here",
        "closed",
        "closed",
    ]
    assert (done.returncode, done.stderr) == (0, "")


def test_a_task_that_ignores_its_cancellation_does_not_keep_the_process():
    done = python(
        """
        async def stubborn():
            while True:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    pass

        tasks = []

        async def leaves():
            tasks.append(asyncio.create_task(stubborn()))

        run_sync(leaves)
        """,
        "-W",
        "error",
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_call_in_a_thread_that_hangs_does_not_keep_the_process():
    done = python(
        """
        hold = threading.Event()

        async def hangs(inputs):
            await asyncio.to_thread(hold.wait)

        report = dataset.evaluate_sync(hangs, progress=False, task_timeout=0.1)
        print(len(report.failures))

        async def many():
            return await asyncio.gather(*(asyncio.to_thread(pow, 2, number) for number in range(5)))

        hold.set()
        print(run_sync(many))
        hold.clear()
        print(len(dataset.evaluate_sync(hangs, progress=False, task_timeout=0.1).failures))
        """,
        "-W",
        "error",
    )
    assert (done.stdout, done.stderr) == ("5\n[1, 2, 4, 8, 16]\n5\n", "")


def test_what_a_call_in_a_thread_raises_is_raised_where_it_is_awaited():
    async def main():
        await asyncio.to_thread(lambda: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        run_sync(main)
