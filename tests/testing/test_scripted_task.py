import asyncio
import threading

import pytest

from calipers import Case, Dataset, Retry
from calipers.errors import CalipersError, InvalidOptionError
from calipers.testing import BlockingScriptedTask, Delay, InTurn, NoAnswerError, ScriptedTask

BOTH = pytest.mark.parametrize("kind", [ScriptedTask, BlockingScriptedTask])


def call(task, inputs):
    answer = task(inputs)
    return asyncio.run(answer) if asyncio.iscoroutine(answer) else answer


@BOTH
def test_a_mapping_answers_by_inputs(kind):
    task = kind({"2 + 2": "4", None: "nothing asked"})
    assert call(task, "2 + 2") == "4"
    assert call(task, None) == "nothing asked"
    assert task.calls == ["2 + 2", None]


@BOTH
def test_a_list_answers_in_turn_whatever_the_inputs(kind):
    task = kind(["first", ["second"], None])
    assert [call(task, {"not": "hashable"}) for _ in range(3)] == ["first", ["second"], None]


@BOTH
@pytest.mark.parametrize("step", [ValueError("no"), ValueError])
def test_an_exception_is_raised_again_and_again(kind, step):
    task = kind({"x": step})
    lengths = []
    for _ in range(3):
        with pytest.raises(ValueError) as caught:
            call(task, "x")
        lengths.append(len(caught.traceback))
    assert len(set(lengths)) == 1, "the traceback of one call must not grow with that of the next"
    assert task.calls == ["x"] * 3
    assert task.in_flight == 0


@BOTH
def test_a_delay_comes_before_its_step(kind):
    task = kind([Delay(0.0, "late"), Delay(0.0, Delay(0.0, KeyError("later")))])
    assert call(task, 1) == "late"
    with pytest.raises(KeyError):
        call(task, 2)


@BOTH
def test_steps_in_turn_belong_to_their_own_entry(kind):
    task = kind({"flaky": InTurn(ConnectionError("reset"), "fine"), "steady": "fine"})
    with pytest.raises(ConnectionError):
        call(task, "flaky")
    assert call(task, "steady") == "fine"
    assert call(task, "flaky") == "fine"


@pytest.mark.parametrize(
    ("script", "inputs", "message"),
    [
        ({"a": 1}, "b", r"no answer for 'b'; it answers: 'a'"),
        ({"a": 1}, ["b"], r"\['b'\], which is not hashable: give a list of steps"),
        ([], "a", "0 steps here, and all of them were taken"),
        ({"a": InTurn()}, "a", "0 steps here, and all of them were taken"),
    ],
)
@BOTH
def test_what_the_script_does_not_say_is_an_error_that_tells_what_was_asked(kind, script, inputs, message):
    task = kind(script)
    with pytest.raises(NoAnswerError, match=message) as caught:
        call(task, inputs)
    assert isinstance(caught.value, CalipersError)
    assert isinstance(caught.value, LookupError)
    assert task.calls == [inputs]
    assert task.in_flight == 0


@pytest.mark.parametrize("script", ["yes", b"yes", 3, None, {"a", "b"}])
def test_a_script_that_is_neither_mapping_nor_list_is_refused(script):
    with pytest.raises(InvalidOptionError, match="a mapping from inputs to steps, or a list of steps"):
        ScriptedTask(script)


def test_a_scripted_task_shows_its_script():
    assert repr(ScriptedTask({"a": InTurn(1, "b")})) == "ScriptedTask({'a': InTurn(1, 'b')})"
    assert repr(BlockingScriptedTask([1])) == "BlockingScriptedTask([1])"


@BOTH
def test_a_run_takes_a_scripted_task_and_keeps_its_failures(kind):
    task = kind({1: "one", 2: ValueError("two is wrong")})
    dataset = Dataset(
        cases=[Case(name=str(n), inputs=n) for n in (1, 2, 3)], evaluators=[lambda output: True]
    )
    report = dataset.evaluate_sync(task, progress=False)
    assert report.name == kind.__name__
    assert [case.output for case in report.cases] == ["one"]
    messages = {failure.name: failure.error_message for failure in report.failures}
    assert messages["2"] == "ValueError: two is wrong"
    assert messages["3"].startswith("NoAnswerError: the script has no answer for 3")


@BOTH
def test_a_retried_task_takes_the_next_step(kind):
    task = kind({"x": InTurn(ConnectionError("reset"), "fine")})
    dataset = Dataset(cases=[Case(inputs="x")], evaluators=[lambda output: output == "fine"])
    report = dataset.evaluate_sync(task, retry=Retry(attempts=2, backoff=0), progress=False)
    assert report.cases[0].tries == 2
    assert task.calls == ["x", "x"]


def test_calls_in_flight_are_counted():
    task = ScriptedTask([Delay(0.01, "answer")] * 3)

    async def all_at_once():
        return await asyncio.gather(*(task(number) for number in range(3)))

    assert asyncio.run(all_at_once()) == ["answer"] * 3
    assert (task.max_in_flight, task.in_flight) == (3, 0)


def test_a_run_never_has_more_in_flight_than_it_was_allowed():
    task = ScriptedTask([Delay(0.001)] * 20)
    dataset = Dataset(cases=[Case(inputs=n) for n in range(20)], evaluators=[lambda output: True])
    dataset.evaluate_sync(task, max_concurrency=4, progress=False)
    assert len(task.calls) == 20
    assert 1 <= task.max_in_flight <= 4


def test_threads_share_a_script_without_losing_a_step_or_taking_one_twice():
    task = BlockingScriptedTask(list(range(400)))
    taken: list[int] = []
    together = threading.Barrier(8)

    def work():
        together.wait()
        taken.extend(task(None) for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(400))
    assert len(task.calls) == 400
    assert task.in_flight == 0
