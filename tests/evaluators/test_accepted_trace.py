"""Whether an attempt follows what was accepted of its case."""

import pytest

from calipers import Case, Dataset
from calipers.comparison import accept_traces
from calipers.data.trace import ToolCall, Trace
from calipers.errors import InvalidOptionError
from calipers.evaluators import FollowsBaseline
from calipers.identity import evaluator_identity


def agent(inputs):
    return Trace(output_text="done", tool_calls=[ToolCall("find", {"n": inputs})])


def other(inputs):
    return Trace(output_text="done", tool_calls=[ToolCall("find", {"n": inputs}), ToolCall("escalate")])


def run(task, *evaluators, cases=(1, 2)):
    data = Dataset(name="d", cases=[Case(name=f"c{n}", inputs=n) for n in cases], evaluators=evaluators)
    return data.evaluate_sync(task, progress=False)


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "baseline.yaml"
    accept_traces(run(agent), only_passed=False).accepted.to_file(found)
    return str(found)


def test_drift_is_a_column_of_any_run(path):
    for task, value, reason in ((agent, True, None), (other, False, "new tool escalate")):
        results = [case.assertions["FollowsBaseline"] for case in run(task, FollowsBaseline(path)).cases]
        assert [(each.value, each.reason) for each in results] == [(value, reason)] * 2


@pytest.mark.parametrize(
    ("task", "cases", "said"),
    [
        (agent, (3,), "nothing is accepted of this case"),
        (lambda inputs: "done", (1,), "not known, since of this attempt it has no trace"),
    ],
)
def test_what_cannot_be_judged_is_skipped_with_its_reason(path, task, cases, said):
    (case,) = run(task, FollowsBaseline(path), cases=cases).cases
    assert not case.results
    assert case.skipped[0].reason.startswith(said)


def test_a_case_with_other_inputs_is_skipped(path):
    data = Dataset(name="d", cases=[Case(name="c1", inputs=7)], evaluators=[FollowsBaseline(path)])
    (case,) = data.evaluate_sync(agent, progress=False).cases
    assert case.skipped[0].reason.startswith("the case was accepted with other inputs")


def test_a_changed_file_makes_another_evaluator_and_running_does_not(path):
    evaluator = FollowsBaseline(path)
    before = evaluator_identity(evaluator)
    run(agent, evaluator)
    assert evaluator_identity(evaluator).key == evaluator_identity(FollowsBaseline(path)).key == before.key
    accept_traces(run(other), only_passed=False).accepted.to_file(path)
    assert evaluator_identity(evaluator).key != before.key
    assert all(case.assertions["FollowsBaseline"].value for case in run(other, evaluator).cases)


def test_a_missing_file_is_named_before_the_run_with_the_command_that_writes_it():
    calls = []
    with pytest.raises(InvalidOptionError, match=r"calipers baseline accept RUN --out nowhere\.yaml"):
        run(calls.append, FollowsBaseline("nowhere.yaml"))
    assert calls == []
