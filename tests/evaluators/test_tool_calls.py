import json
import re
from dataclasses import dataclass
from textwrap import dedent
from types import SimpleNamespace

import pytest

from calipers import Case, Dataset, EvalVerdict, ToolCall, Trace, record_trace
from calipers.data.context import NO_TOOL_CALLS
from calipers.errors import DatasetFileError, InvalidOptionError, InvalidTraceError
from calipers.evaluators import EvaluationReason, FollowsTrajectory, Skipped, ToolCallCount, ToolCallsMatch
from calipers.files.schema import dataset_schema
from calipers.matching import (
    AnyOrder,
    Approx,
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
    Regex,
    Repeated,
    Text,
    Trajectory,
)
from calipers.matching.trajectory_data import read_trajectory
from calipers.testing import check_evaluator, evaluate_one, make_context

SEARCH = ToolCall("search", {"q": "x"})
BOOK = ToolCall("book", {"to": "LA"})


def test_calls_that_fit_pass(judge):
    result = judge(ToolCallsMatch([SEARCH, BOOK]), [SEARCH, BOOK])
    assert (result.verdict, result.score) == (EvalVerdict.PASS, 1.0)
    assert result.reason == "2 of 2 expected calls matched (mode 'exact')"
    assert result.metadata["f1"] == 1.0


def test_calls_that_fit_in_part_are_partial_with_the_edit_script_as_reason(judge):
    result = judge(ToolCallsMatch([SEARCH, ToolCall("book", {"to": "SF"})]), [SEARCH, BOOK])
    assert (result.verdict, result.score) == (EvalVerdict.PARTIAL, 0.75)
    assert result.reason.splitlines() == [
        "1 of 2 expected calls matched, 1 different (mode 'exact')",
        "✓ search(q='x')",
        "~ book(to='LA')",
        "    to: expected 'SF', got 'LA'",
    ]
    assert result.metadata == {
        "matched": 1,
        "expected": 2,
        "actual": 2,
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
    }


def test_calls_of_other_tools_fail(judge):
    result = judge(ToolCallsMatch([SEARCH]), [BOOK])
    assert (result.verdict, result.score) == (EvalVerdict.FAIL, 0.0)


@pytest.mark.parametrize(
    "expected",
    [
        [SEARCH],
        (SEARCH,),
        [{"name": "search", "arguments": {"q": "x"}}],
        [{"search": {"q": "x"}}],
        [{"name": "search", "matchers": {"q": {"regex": "x"}}}],
        {"tool_calls": [SEARCH]},
        SimpleNamespace(tool_calls=[SEARCH]),
        Trace(tool_calls=[SEARCH]),
    ],
)
def test_the_expected_calls_may_be_the_expected_output(judge, expected):
    assert judge(ToolCallsMatch(), [SEARCH], expected).verdict is EvalVerdict.PASS
    assert judge(ToolCallsMatch(), [BOOK], expected).verdict is EvalVerdict.FAIL


@dataclass
class Answer:
    tool_calls: list


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        ([SEARCH], EvalVerdict.PASS),
        ({"tool_calls": [SEARCH]}, EvalVerdict.PASS),
        ({"tool_calls": [{"name": "search", "arguments": {"q": "x"}}]}, EvalVerdict.PASS),
        ([{"name": "search", "arguments": {"q": "x"}}], EvalVerdict.PASS),
        (Answer([SEARCH]), EvalVerdict.PASS),
        (Answer([]), EvalVerdict.FAIL),
        # No calls were made, and some were expected: that is a failure, not a gap.
        ([], EvalVerdict.FAIL),
        ((), EvalVerdict.FAIL),
        ({"tool_calls": []}, EvalVerdict.FAIL),
    ],
)
def test_the_actual_calls_are_found_wherever_the_attempt_tells_them(judge, output, verdict):
    for evaluator, expected in (
        (ToolCallsMatch([SEARCH]), None),
        (ToolCallsMatch(), [{"search": {"q": "x"}}]),
    ):
        assert judge(evaluator, output, expected).verdict is verdict


@pytest.mark.parametrize(
    "output",
    ["text", None, 5, {}, {"tool_calls": None}, [1], ["search"], [{"title": "x"}], {"tool_calls": [5]}],
)
def test_an_attempt_that_does_not_tell_its_calls_is_skipped(judge, output):
    assert judge(ToolCallsMatch([SEARCH]), output) == Skipped(NO_TOOL_CALLS)


def test_a_case_that_says_nothing_about_calls_is_skipped(judge):
    assert judge(ToolCallsMatch(), [SEARCH]) == Skipped(
        "neither the case nor the evaluator says which tool calls to expect"
    )
    assert judge(ToolCallsMatch(), [SEARCH], "a text") == Skipped(
        "the expected output is not a list of tool calls: 'a text' (str)"
    )


def test_an_empty_list_expects_that_no_tool_is_called(judge):
    for evaluator, expected in ((ToolCallsMatch([]), None), (ToolCallsMatch(), [])):
        assert judge(evaluator, {"tool_calls": []}, expected).verdict is EvalVerdict.PASS
        assert judge(evaluator, [], expected).verdict is EvalVerdict.PASS
        assert judge(evaluator, [SEARCH], expected).verdict is EvalVerdict.FAIL


def test_an_expectation_that_every_agent_meets_is_skipped(judge):
    result = judge(ToolCallsMatch(mode="superset"), [SEARCH], [])
    assert result == Skipped(
        "no calls are expected, and mode 'superset' allows any others: there is nothing to check"
    )


def test_options_reach_the_match(judge):
    evaluator = ToolCallsMatch(
        [ToolCall("Book", {"to": "la", "price": 10}), ToolCall("search", {"q": Regex("^x")})],
        mode="unordered",
        arguments={"book": "subset"},
        ignore={"search": ["page"]},
        defaults={"book": {"price": 9.8}},
        compare={"book": {"to": Text, "price": {"approx": {"abs_tol": 0.5}}}},
        names="ignore_case",
        failed="skip",
    )
    failed = ToolCall("pay", success=False)
    assert (
        judge(evaluator, [ToolCall("search", {"q": "xy", "page": 2}), failed, BOOK]).verdict
        is EvalVerdict.PASS
    )


def test_calls_of_the_trace_are_judged_in_a_run():
    def agent(inputs):
        record_trace(Trace(tool_calls=[SEARCH, BOOK]))
        return "booked"

    dataset = Dataset(
        cases=[
            Case(name="fits", inputs="go", expected_output=[SEARCH, BOOK]),
            Case(name="not", inputs="go", expected_output=[BOOK]),
        ],
        evaluators=[ToolCallsMatch(mode="unordered"), ToolCallCount(maximum=1)],
    )
    report = dataset.evaluate_sync(agent, progress=False)
    fits, misses = ({case.name: case for case in report.cases}[name] for name in ("fits", "not"))
    assert fits.assertions["ToolCallsMatch"].value is True
    assert misses.assertions["ToolCallsMatch"].value is False
    assert misses.assertions["ToolCallsMatch"].score == pytest.approx(2 / 3)
    assert misses.assertions["ToolCallsMatch"].metadata["precision"] == 0.5
    assert misses.assertions["ToolCallCount"].value is False


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ToolCallsMatch("search"), InvalidTraceError, "the expected calls must be a list of calls"),
        (lambda: ToolCallsMatch([5]), InvalidTraceError, "expected call 0"),
        (
            lambda: ToolCallsMatch([{"name": "a", "matchers": {"x": {"rx": 1}}}]),
            InvalidOptionError,
            "no matcher is called",
        ),
        (lambda: ToolCallsMatch(mode="strict"), InvalidOptionError, "mode must be one of"),
        (lambda: ToolCallsMatch(arguments="some"), InvalidOptionError, "arguments must be one of"),
        (lambda: ToolCallsMatch(compare={"a": {"b": "any"}}), InvalidOptionError, "a comparison is"),
        (lambda: ToolCallsMatch(compare={"a": 5}), InvalidOptionError, "compare is a mapping from tools"),
        (lambda: ToolCallsMatch(compare=[5]), InvalidOptionError, "compare is a mapping from tools"),
        (lambda: ToolCallCount(), InvalidOptionError, "needs minimum=, maximum= or both"),
        (lambda: ToolCallCount("a", minimum=0), InvalidOptionError, "would accept everything"),
        (
            lambda: ToolCallCount(maximum=1, failed="no"),
            InvalidOptionError,
            "failed must be one of count, skip",
        ),
        (
            lambda: ToolCallCount("", maximum=1),
            InvalidOptionError,
            "tool of ToolCallCount must be a text that is not empty, or None, got ''",
        ),
    ],
)
def test_what_means_nothing_is_refused_when_it_is_written(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("evaluator", "passes"),
    [
        (ToolCallCount(maximum=3), True),
        (ToolCallCount(maximum=2), False),
        (ToolCallCount(minimum=3), True),
        (ToolCallCount(minimum=4), False),
        (ToolCallCount("search", maximum=2, minimum=2), True),
        (ToolCallCount("search", maximum=1), False),
        (ToolCallCount("search", maximum=1, failed="skip"), True),
        (ToolCallCount("pay", maximum=0), True),
        (ToolCallCount("pay", minimum=1), False),
    ],
)
def test_calls_are_counted(judge, evaluator, passes):
    calls = [SEARCH, ToolCall("search", success=False), BOOK]
    assert judge(evaluator, calls).value is passes


def test_the_reason_of_a_wrong_count_tells_the_tools(judge):
    assert judge(ToolCallCount("pay", minimum=1), [SEARCH, BOOK, SEARCH]) == EvaluationReason(
        value=False, reason="expected at least 1 calls of 'pay', got 0; called: 'search', 'book'"
    )
    many = [ToolCall(f"t{n}") for n in range(10)]
    assert judge(ToolCallCount(maximum=3), many).reason.endswith("'t7' and 2 more")
    assert judge(ToolCallCount(minimum=1), {"tool_calls": []}).reason.endswith("no tool was called")


@pytest.mark.parametrize("output", ["text", None, [], [{"name": "Ada"}]])
def test_a_count_of_what_was_not_told_is_skipped(judge, output):
    # A list of mappings with names may be anything, unless the case expects calls.
    assert judge(ToolCallCount(maximum=1), output) == Skipped(NO_TOOL_CALLS)


def test_matchers_may_stand_in_the_expected_output_of_a_case(judge):
    expected = [ToolCall("pay", {"amount": Approx(5, abs_tol=1)})]
    assert judge(ToolCallsMatch(), [ToolCall("pay", {"amount": 5.5})], expected).verdict is EvalVerdict.PASS


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
        ({"steps": "a"}, "steps must be a list"),
        ({"steps": [{"a": 1}]}, "'a' is followed by 1: a tool is followed by its arguments"),
        ({"steps": [{"eiter": ["a", "b"]}]}, "did you mean 'either'"),
        ({"steps": [{"a": {}, "b": {}}]}, "a step is"),
        ({"steps": [{"repeated": {"at_most": 3}}]}, "repeated has a step"),
        ({"before": ["a"]}, "pairs"),
        ({"flows": [{"from": "a"}]}, "from, into and argument"),
        ({"never": [{"either": ["a", "b"]}]}, "a single call"),
        ({"at_most": ["a"]}, "at_most must be a mapping"),
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
