"""What may be a task, what it is called, and whether it is awaited."""

import functools

import pytest

from calipers import Case, Dataset, ToolCall, Trace, record_trace
from calipers.errors import TaskContractError
from calipers.run.task import as_task, is_task


def plain(inputs):
    return inputs


async def later(inputs):
    return inputs


class Calls:
    def __call__(self, inputs):
        return inputs


class CallsLater:
    async def __call__(self, inputs):
        return inputs


class Invokes:
    name = "invoker"

    def invoke(self, inputs):
        return Trace(output_text=f"invoked with {inputs}")


class InvokesLater(Invokes):
    async def invoke(self, inputs):
        return Trace(output_text=f"invoked with {inputs}")


class SaysSo(Invokes):
    """Async by its own word: whether `invoke` is, cannot be seen from outside."""

    is_async = True

    def invoke(self, inputs):
        return later(Trace(output_text=f"invoked with {inputs}"))


class Nameless:
    name = None

    def invoke(self, inputs):
        return inputs


class Both(Invokes):
    def __call__(self, inputs):
        return f"called with {inputs}"


@pytest.mark.parametrize(
    ("task", "name", "is_async"),
    [
        (plain, "plain", False),
        (later, "later", True),
        (lambda inputs: inputs, "task", False),
        (functools.partial(later), "later", True),
        (Calls(), "Calls", False),
        (CallsLater(), "CallsLater", True),
        (Invokes(), "invoker", False),
        (InvokesLater(), "invoker", True),
        (SaysSo(), "invoker", True),
        (Nameless(), "Nameless", False),
        (Both(), "invoker", False),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_task_tells_its_name_and_whether_it_is_async(task, name, is_async):
    made = as_task(task)
    assert is_task(task)
    assert (made.name, made.is_async) == (name, is_async)
    assert as_task(task, name="other").name == "other"


@pytest.mark.parametrize("task", [Invokes(), InvokesLater(), SaysSo()], ids=["sync", "async", "says so"])
def test_an_object_with_invoke_is_a_task_and_its_trace_is_there_for_evaluators(task):
    report = Dataset(
        cases=[Case(inputs="a"), Case(inputs="b")],
        evaluators=[lambda trace, output: trace.output_text == output],
    ).evaluate_sync(task, progress=False)
    assert [case.output for case in report.cases] == ["invoked with a", "invoked with b"]
    assert all(case.passed for case in report.cases)
    assert report.name == "invoker"


def test_what_can_be_called_is_called_even_if_it_could_be_invoked():
    report = Dataset(cases=[Case(inputs=1)]).evaluate_sync(Both(), progress=False)
    assert report.cases[0].output == "called with 1"


@pytest.mark.parametrize("task", [None, 3, "text", object()], ids=["none", "number", "text", "object"])
def test_what_can_be_neither_called_nor_invoked_is_refused(task):
    assert not is_task(task)
    with pytest.raises(TaskContractError, match="callable with a case's inputs, or have a method `invoke`"):
        as_task(task)


def test_an_invoke_that_takes_no_request_is_refused():
    class Wrong:
        def invoke(self):
            return "nothing asked"

    with pytest.raises(TaskContractError, match="must accept one argument"):
        as_task(Wrong())


@pytest.mark.parametrize("wrong", [None, "done", {"turns": []}, [ToolCall("t")]], ids=repr)
def test_only_a_trace_can_be_recorded_as_one(wrong):
    def task(inputs):
        record_trace(wrong)

    [failure] = Dataset(cases=[Case(inputs=1)]).evaluate_sync(task, progress=False).failures
    assert failure.error_message.startswith("InvalidTraceError: record_trace takes a Trace, got ")
    assert failure.trace is None
