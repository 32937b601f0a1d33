"""A stored run in which everything happens that can happen to an attempt."""

import pytest

from calipers import Case, Dataset
from calipers.data.result import EvalResult, EvaluationReason, EvalVerdict, Skipped
from calipers.data.trace import ToolCall, Trace
from calipers.stores import MemoryStore

HOSTILE = '=HYPERLINK("evil")\r\n\x1b[31m,"quoted" \x00 é 🙂 </script>'


def right(output, expected_output):
    return output == expected_output


def several(output):
    return {
        "size": len(str(output)),
        "tone/kind": "calm",
        "why": EvaluationReason(value=True, reason=HOSTILE),
    }


def broken(output):
    if output == 2:
        raise ValueError(HOSTILE)
    return 0.5


def sometimes(output):
    return Skipped("odd") if output % 2 else True


def graded(output):
    return EvalResult("graded", EvalVerdict.PARTIAL, 0.5, "half", {"at": [output]})


def task(inputs):
    if inputs == 3:
        raise RuntimeError(HOSTILE)
    return inputs


def make_dataset():
    cases = [
        Case(name="one", inputs=1, expected_output=1, metadata={"level": HOSTILE}),
        Case(name="a/b\\c", inputs=2, expected_output=None),
        Case(name="../fails", inputs=3),
        Case(name=HOSTILE.replace("\x00", ""), inputs=4, evaluators=[right]),
    ]
    return Dataset(name="all/sorts", cases=cases, evaluators=[right, several, broken, sometimes, graded])


@pytest.fixture
def store():
    with MemoryStore() as store:
        yield store


@pytest.fixture
def other_store():
    with MemoryStore() as store:
        yield store


@pytest.fixture
def run(store):
    """A kept run of four cases, two repeats each."""
    make_dataset().evaluate_sync(
        task, name="runs/are ../named", store=store, repeat=2, metadata={"model": "m-1"}, progress=False
    )
    return store.run("latest")


@pytest.fixture
def traced(store):
    """A kept run of one case that has a trace."""

    def agent(inputs):
        return Trace(
            output_text=inputs, tool_calls=[ToolCall("search", {"q": HOSTILE})], total_input_tokens=7
        )

    Dataset(name="traced", cases=[Case(name="t", inputs="hi")]).evaluate_sync(
        agent, store=store, progress=False
    )
    return store.run("latest")


def stored(store, run):
    """All that a store holds of the attempts of a run."""
    return [(attempt, sorted(cells, key=lambda cell: cell.evaluator)) for attempt, cells in store.judged(run)]


@pytest.fixture
def same_run():
    """Whether two stores hold the same run, up to who wrote it."""

    def same_run(first, second, run):
        one, two = first.run(run), second.run(run)
        assert stored(first, run) == stored(second, run)
        assert first.report(run).to_dict() == second.report(run).to_dict()
        for info in (one, two):
            info.owner = info.totals = info.heartbeat = None
        assert one == two

    return same_run
