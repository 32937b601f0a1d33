"""The tool calls that a case expects, beside its expected output: from the file to the report."""

import json

import pytest

from calipers import Case, Dataset, ToolCall, Trace
from calipers.agents import TestCase, ToolUsageAuditor
from calipers.errors import CalipersError, InvalidCaseError
from calipers.evaluators import EqualsExpected, ToolCallsMatch
from calipers.identity import case_identity
from calipers.identity.case_content import case_key
from calipers.matching import (
    Absent,
    AllOf,
    AnyOf,
    Approx,
    CallOf,
    Check,
    DateIs,
    Includes,
    InRange,
    Json,
    Maybe,
    Not,
    OfType,
    Present,
    Regex,
    SetOf,
    Similar,
    Text,
    read_call,
)
from calipers.matching.matcher_data import calls_data
from calipers.report.report import Report
from calipers.stores import open_store, score_again
from calipers.views.formats import write_report
from calipers.voice import ExactEvaluator

CALLS = ["search", {"book": {"to": "LA"}}, ToolCall("pay", {"amount": Approx(9.99, abs_tol=0.01)})]
CASES = [
    Case(name="calls", inputs="x", expected_output="done", expected_tool_calls=CALLS),
    Case(name="no calls", inputs="y", expected_tool_calls=[]),
    Case(name="unknown", inputs="z"),
]


def agent(request):
    calls = [ToolCall("search", {"q": 1}), ToolCall("book", {"to": "LA"}), ToolCall("pay", {"amount": 9.995})]
    return Trace(output_text="done", tool_calls=calls if request == "x" else [])


def test_a_case_holds_its_expected_calls_as_calls():
    case = CASES[0]
    assert case.expected_tool_calls == [CallOf("search"), ToolCall("book", {"to": "LA"}), CALLS[2]]
    assert "expected_tool_calls=[CallOf('search')" in repr(case)
    assert CASES[1].expected_tool_calls == []
    assert CASES[2].expected_tool_calls is None
    assert case != Case(name="calls", inputs="x", expected_output="done")
    assert TestCase(name="a", expected_tool_calls=["search"]).expected_tool_calls == [CallOf("search")]


@pytest.mark.parametrize(
    "calls", ["search", {"search": {}}, [3], [{"name": "a", "mathcers": {}}], [ToolCall]]
)
def test_what_is_no_list_of_calls_is_refused_where_it_is_written(calls):
    with pytest.raises(InvalidCaseError, match="the expected tool calls of case 'c'"):
        Case(name="c", inputs=0, expected_tool_calls=calls)


def test_evaluators_of_tool_calls_read_what_the_case_expects():
    dataset = Dataset(
        cases=CASES, evaluators=[ToolCallsMatch(), ToolUsageAuditor(), ExactEvaluator(), EqualsExpected()]
    )
    calls, none, unknown = dataset.evaluate_sync(agent, progress=False).cases
    assert [result.value for result in calls.results] == [True, True, True, True]
    assert [result.value for result in none.results] == [True, True, True]
    assert not unknown.results
    assert len(unknown.skipped) == 4
    wrong = Dataset(cases=CASES, evaluators=dataset.evaluators[:3]).evaluate_sync(
        lambda request: Trace(output_text="done", tool_calls=[ToolCall("delete")]), progress=False
    )
    assert [result.value for case in wrong.cases for result in case.results] == [False] * 6
    silent = Dataset(cases=CASES[:2], evaluators=[ToolCallsMatch(), ToolUsageAuditor()]).evaluate_sync(
        lambda request: Trace(output_text="done"), progress=False
    )
    assert not any(case.results for case in silent.cases)


def test_a_function_asks_for_them_by_name():
    def as_many(expected_tool_calls, tool_calls):
        return len(expected_tool_calls) == len(tool_calls)

    calls, none, unknown = (
        Dataset(cases=CASES, evaluators=[as_many]).evaluate_sync(agent, progress=False).cases
    )
    assert calls.passed
    assert none.passed
    assert "states no expected tool calls" in unknown.skipped[0].reason


@pytest.mark.parametrize("ending", ["yaml", "json", "jsonl", "csv", "parquet"])
def test_files_of_every_kind_hold_them(tmp_path, ending):
    Dataset(cases=CASES).to_file(tmp_path / f"cases.{ending}")
    again = list(Dataset.from_file(tmp_path / f"cases.{ending}").cases)
    assert [case.expected_tool_calls for case in again] == [case.expected_tool_calls for case in CASES]
    assert [case_key(case) for case in again] == [case_key(case) for case in CASES]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.yaml", "cases: [{inputs: 1, expected_tool_calls: search}]", "expected a list of tool calls"),
        (
            "a.yaml",
            "cases: [{inputs: 1, expected_tool_calls: [{name: a, matchers: {x: {regx: a}}}]}]",
            "did you mean 'regex'",
        ),
        ("a.jsonl", '{"inputs": 1, "expected_tool_calls": [3]}', "an expected call is the name of a tool"),
        ("a.csv", "inputs,expected_tool_calls\n1,search", "a list of tool calls as JSON"),
    ],
)
def test_what_is_wrong_with_them_in_a_file_is_told(tmp_path, name, text, message):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(CalipersError, match=message):
        for case in Dataset.from_file(tmp_path / name).cases:
            raise case  # lazy cases give what is wrong in the place of a case


def test_a_matcher_without_a_plain_form_is_refused_by_a_file_and_told_by_a_report(tmp_path):
    case = Case(
        name="a", inputs=1, expected_tool_calls=[ToolCall("f", {"x": Check(lambda value: value > 1)})]
    )
    with pytest.raises(CalipersError, match="expected_tool_calls"):
        Dataset(cases=[case]).to_file(tmp_path / "a.yaml")
    report = Dataset(cases=[case], evaluators=[ToolCallsMatch()]).evaluate_sync(
        lambda _: Trace(tool_calls=[ToolCall("f", {"x": 2})]), progress=False
    )
    assert report.cases[0].passed
    assert "Check" in report.cases[0].expected_tool_calls[0]["shown"]


@pytest.mark.parametrize(
    "value",
    [
        *(
            Regex("^a", full=True),
            Text("x"),
            Similar("abc", minimum=0.5),
            Approx(1.5, abs_tol=0.1),
            InRange(1, None),
        ),
        *(
            OfType("string"),
            Present(),
            Absent(),
            Maybe(Text("x")),
            Json({"a": 1}),
            Not(Regex("a")),
            DateIs("2024-05-01"),
        ),
        *(
            AnyOf("a", Text("b")),
            AllOf(Regex("a"), Regex("b")),
            SetOf(["a", Text("b")]),
            Includes(["a", Text("b")]),
        ),
        *(
            Includes("abc"),
            Includes({"a": Text("b")}),
            [1, Text("x")],
            {"a": Text("x"), "b": [2]},
            {"a": [1]},
            None,
        ),
    ],
    ids=repr,
)
def test_matchers_are_written_as_the_data_that_they_are_read_from(value):
    call = ToolCall("f", {"plain": [1, {"a": None}], "x": value})
    (data,) = calls_data([call])
    assert json.loads(json.dumps(data)) == data
    assert repr(read_call(data)) == repr(call)
    assert calls_data([read_call(data)]) == [data]


def test_they_are_part_of_what_a_case_is():
    keys = [
        case_key(Case(inputs=1, **more))
        for more in ({}, {"expected_tool_calls": []}, {"expected_tool_calls": ["a"]})
    ]
    assert len(set(keys)) == 3
    with_calls = case_identity(Case(inputs=1, expected_tool_calls=["a"]))
    assert with_calls.key == case_key(Case(inputs=1, expected_tool_calls=["a"])).hex()
    assert with_calls.parts.keys() == {"inputs", "metadata", "expected_output", "expected_tool_calls"}


def test_records_reports_and_stores_keep_them(tmp_path):
    dataset = Dataset(cases=CASES, evaluators=[ToolCallsMatch()])
    with open_store(f"sqlite:///{tmp_path}/runs.db") as store:
        report = dataset.evaluate_sync(agent, progress=False, store=store)
        told = [
            "search",
            {"name": "book", "arguments": {"to": "LA"}},
            {"name": "pay", "matchers": {"amount": {"approx": {"value": 9.99, "abs_tol": 0.01}}}},
        ]
        assert [case.expected_tool_calls for case in report.cases] == [told, [], None]
        again = Report.from_dict(json.loads(json.dumps(report.to_dict())))
        assert [case.expected_tool_calls for case in again.cases] == [told, [], None]
        (run,) = store.runs()
        scored = score_again(
            store,
            run.id,
            evaluators=[ToolCallsMatch(mode="unordered", evaluation_name="any order")],
            keep="all",
        )
        assert [case.assertions["any order"].value for case in scored.cases[:2]] == [True, True]
        assert [case.expected_tool_calls for case in scored.cases] == [told, [], None]
    for name in ("report.html", "report.json", "report.jsonl"):
        write_report(report, tmp_path / name)
        assert "abs_tol" in (tmp_path / name).read_text(encoding="utf-8")
