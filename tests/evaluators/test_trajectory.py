"""Attempts judged by the path they took."""

import json
import re
from textwrap import dedent

import pytest

from calipers import Case, Dataset, ToolCall, Trace
from calipers.data.context import NO_TOOL_CALLS
from calipers.data.result import EvalVerdict
from calipers.errors import DatasetFileError, InvalidOptionError
from calipers.evaluators import FollowsTrajectory
from calipers.files.schema import dataset_schema
from calipers.matching import (
    AnyOrder,
    AtLeast,
    AtMost,
    Before,
    CallRules,
    Either,
    Exactly,
    Flow,
    InOrder,
    Never,
    Optionally,
    Repeated,
    Trajectory,
)
from calipers.matching.trajectory_data import read_trajectory
from calipers.testing import check_evaluator, evaluate_one, make_context

PATH = [ToolCall("search", output="X9"), ToolCall("book", {"to": "LA", "id": "X9"})]


def judged(trajectory, calls):
    return evaluate_one(FollowsTrajectory(trajectory), make_context(Trace(tool_calls=calls))).assertions


@pytest.mark.parametrize(
    ("calls", "verdict", "score"),
    [
        (PATH, EvalVerdict.PASS, 1.0),
        (PATH[:1], EvalVerdict.PARTIAL, 0.5),
        ([], EvalVerdict.FAIL, 0.0),
    ],
)
def test_the_verdict_and_the_score_agree(calls, verdict, score):
    result = judged(["search", "book"], calls)["FollowsTrajectory"]
    assert (result.value, result.verdict, result.score) == (verdict is EvalVerdict.PASS, verdict, score)
    assert result.reason == Trajectory(["search", "book"]).match(calls).edit_script


def test_what_the_attempt_cannot_show_is_skipped():
    dataset = Dataset(
        cases=[Case(inputs=0)], evaluators=[FollowsTrajectory({"before": [["search", "book"]]})]
    )
    for task, reason in (
        (lambda _: "no trace", NO_TOOL_CALLS),
        (lambda _: Trace(), NO_TOOL_CALLS),
        (lambda _: Trace(tool_calls=[]), "no call that the trajectory speaks of was made"),
    ):
        (record,) = dataset.evaluate_sync(task, progress=False).cases
        assert [skip.reason for skip in record.skipped] == [reason]


def test_a_dataset_file_may_hold_a_trajectory(tmp_path):
    path = tmp_path / "cases.yaml"
    path.write_text(
        """
        cases: [{inputs: fly}]
        evaluators:
          - FollowsTrajectory:
              trajectory:
                steps: [search, {book: {to: LA}}]
                flows: [{from: search, into: book, argument: id}]
        """
    )
    report = Dataset.from_file(path).evaluate_sync(lambda _: Trace(tool_calls=PATH), progress=False)
    assert report.cases[0].passed


def test_a_file_says_what_is_wrong_with_its_trajectory(tmp_path):
    path = tmp_path / "cases.yaml"
    path.write_text("cases: [{inputs: fly}]\nevaluators:\n  - FollowsTrajectory: {trajectory: {step: [a]}}\n")
    with pytest.raises(DatasetFileError, match=r"a trajectory has no 'step' .did you mean 'steps'"):
        Dataset.from_file(path)


def test_the_schema_of_files_refers_to_nothing_that_is_not_there():
    schema = dataset_schema()
    named = re.findall(r'"#/\$defs/([^"]+)"', json.dumps(schema))
    assert set(named) <= set(schema["$defs"])


def test_it_keeps_the_contract_of_evaluators():
    check_evaluator(FollowsTrajectory(["search"]))


@pytest.mark.parametrize(
    ("data", "trajectory"),
    [
        (["a", "b"], Trajectory(["a", "b"])),
        ({"steps": [{"book": {"to": "LA"}}]}, Trajectory([ToolCall("book", {"to": "LA"})])),
        ({"steps": [{"either": ["a", ["b", "c"]]}]}, Trajectory([Either("a", InOrder("b", "c"))])),
        ({"steps": [{"any_order": ["a", {"b": {}}]}]}, Trajectory([AnyOrder("a", ToolCall("b"))])),
        ({"steps": [{"optional": "a"}]}, Trajectory([Optionally("a")])),
        ({"steps": [{"repeated": {"step": "a", "at_most": 3}}]}, Trajectory([Repeated("a", 1, 3)])),
        (
            {"steps": [{"name": "either", "arguments": {"x": 1}}]},
            Trajectory([ToolCall("either", {"x": 1})]),
        ),
        (
            {"never": ["a", {"b": {"x": 1}}]},
            Trajectory(constraints=[Never("a"), Never(ToolCall("b", {"x": 1}))]),
        ),
        ({"before": [["a", "b"]]}, Trajectory(constraints=[Before("a", "b")])),
        (
            {"at_most": {"a": 1}, "at_least": {"b": 2}, "exactly": {"c": 3}},
            Trajectory(constraints=[AtMost("a", 1), AtLeast("b", 2), Exactly("c", 3)]),
        ),
        (
            {"flows": [{"from": "a", "into": "b", "argument": "x"}]},
            Trajectory(constraints=[Flow("a", "b", "x")]),
        ),
        (
            {
                "steps": ["a"],
                "extra": "forbidden",
                "arguments": "exact",
                "names": "ignore_case",
                "failed": "skip",
            },
            Trajectory(
                ["a"],
                extra="forbidden",
                rules=CallRules(arguments="exact", names="ignore_case"),
                failed="skip",
            ),
        ),
    ],
)
def test_plain_data_says_the_same_as_python(data, trajectory):
    assert read_trajectory(data) == trajectory


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("search", "a mapping with steps"),
        ({"step": ["a"]}, "did you mean 'steps'"),
        ({"steps": "a"}, "steps is a list"),
        ({"steps": [{"a": 1}]}, "'a' is followed by 1: a tool is followed by its arguments"),
        ({"steps": [{"eiter": ["a", "b"]}]}, "did you mean 'either'"),
        ({"steps": [{"a": {}, "b": {}}]}, "a step is"),
        ({"steps": [{"repeated": {"at_most": 3}}]}, "repeated has a step"),
        ({"before": ["a"]}, "pairs"),
        ({"flows": [{"from": "a"}]}, "from, into and argument"),
        ({"never": [{"either": ["a", "b"]}]}, "a single call"),
        ({"at_most": ["a"]}, "at_most is a mapping"),
        ({"steps": ["a"], "arguments": "most"}, "arguments must be one of"),
        ({}, "asks for nothing"),
    ],
)
def test_data_that_describes_no_trajectory_is_refused_with_what_is_wrong(data, says):
    with pytest.raises(InvalidOptionError, match=says):
        FollowsTrajectory(data)


def test_in_a_file_the_parts_of_a_trajectory_need_not_its_name():
    text = """
    cases:
    - inputs: 1
      evaluators:
      - FollowsTrajectory: {never: [refund]}
      - FollowsTrajectory: {steps: [search], at_most: {search: 2}, evaluation_name: short}
    """
    [case] = Dataset.from_text(dedent(text)).cases
    assert case.evaluators == [
        FollowsTrajectory({"never": ["refund"]}),
        FollowsTrajectory({"steps": ["search"], "at_most": {"search": 2}}, evaluation_name="short"),
    ]
    with pytest.raises(DatasetFileError, match=r"no parameter is called 'nevr' \(did you mean 'never'\?\)"):
        Dataset.from_text(dedent(text.replace("never", "nevr")))
