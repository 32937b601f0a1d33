import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import jsonschema_rs
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from calipers import Case, Dataset
from calipers.evaluators import (
    Contains,
    ContainsAll,
    Equals,
    EqualsExpected,
    Evaluator,
    HasMatchingSpan,
    Length,
    MatchesJSONSchema,
    MaxDuration,
    ROCEvaluator,
)
from calipers.files import check_file, dataset_schema


@dataclass
class Question:
    text: str
    level: int = 0


@dataclass
class Polite(Evaluator):
    """The output is polite.

    Or so it seems.
    """

    word: str
    question: Question | None = None
    how: Callable[[str], str] = str

    def evaluate(self, ctx):
        return True


def close(output, expected_output, tolerance: float = 0.1):
    return True


def claim(report, title: str = "x"):
    return []


SCHEMA = dataset_schema(Question, list[int], dict[str, int], evaluator_types=[Polite, close, claim])
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)


def document(case=None, **rest):
    return {"cases": [{"inputs": {"text": "a"}, **(case or {})}], **rest}


GOOD = [
    document(),
    document({"name": "n", "cluster": "c", "tags": ["t"], "metadata": {"a": 1}, "expected_output": [1]}),
    document({"name": None, "metadata": None, "expected_output": None, "timeout": None}),
    document({"timeout": 2}),
    document({"timeout": 0.5}),
    document({"evaluators": ["EqualsExpected"]}),
    {"$schema": "./x.json", "name": "n", "cases": "big.jsonl", "report_evaluators": ["claim"]},
    *(
        document(evaluators=[spec])
        for spec in [
            "EqualsExpected",
            {"EqualsExpected": {}},
            {"EqualsExpected": {"evaluation_name": "x"}},
            {"Contains": "x"},
            {"Contains": {"value": None}},
            {"Contains": ["x"]},
            {"Contains": {"value": {"a": 1}}},
            {"MaxDuration": 2},
            {"MaxDuration": "PT2S"},
            {"Length": 3},
            "Length",
            {"Polite": "please"},
            {"Polite": {"word": "please", "question": {"text": "a"}}},
            {"FollowsTrajectory": ["search", "answer"]},
            {"FollowsTrajectory": {"never": ["refund"]}},
            {"FollowsTrajectory": {"never": ["refund"], "evaluation_name": "safe"}},
            {"FollowsTrajectory": {"trajectory": {"never": ["refund"]}}},
            "close",
            {"close": 0.5},
            {"close": {"tolerance": 0.5}},
            "my_project.evals:Tone",
            {"my_project.evals:Tone": {"any": "thing"}},
        ]
    ),
    document(report_evaluators=["ConfusionMatrixEvaluator", {"ROCEvaluator": "s"}, {"claim": "title"}]),
]
BAD = [
    {},
    {"cases": None},
    {"cases": "big.yaml"},
    {"cases": [], "extra": 1},
    {"cases": [{}]},
    {"cases": [{"inputs": {}}]},
    {"cases": [{"inputs": {"text": 1}}]},
    document({"extra": 1}),
    document({"name": ""}),
    document({"name": 5}),
    document({"tags": "t"}),
    document({"timeout": 0}),
    document({"timeout": -1}),
    document({"timeout": "2"}),
    document({"timeout": True}),
    document({"expected_output": "x"}),
    document({"metadata": {"a": "b"}}),
    document({"evaluators": "EqualsExpected"}),
    *(
        document(evaluators=[spec])
        for spec in [
            "Contain",
            "Contains",
            "MaxDuration",
            "ROCEvaluator",
            5,
            {},
            {"EqualsExpected": None},
            {"Contains": None},
            {"EqualsExpected": {"nam": "x"}},
            {"Contains": {"a": 1}},
            {"Contains": {"case_sensitive": True}},
            {"Contains": "x", "Equals": "y"},
            {"MaxDuration": True},
            {"Length": "x"},
            {"Polite": {}},
            {"Polite": {"word": "x", "question": {}}},
            {"close": "x"},
            {"close": {"output": 1}},
            {"FollowsTrajectory": {"nevr": ["refund"]}},
            {"FollowsTrajectory": {"evaluation_name": "safe"}},
            {"FollowsTrajectory": {"never": ["refund"], "trajectory": ["search"]}},
        ]
    ),
    document(report_evaluators=["EqualsExpected"]),
]


@pytest.mark.parametrize("data", GOOD, ids=json.dumps)
def test_the_schema_takes_what_a_reader_takes(data):
    assert [error.message for error in VALIDATOR.iter_errors(data)] == []


@pytest.mark.parametrize("data", BAD, ids=json.dumps)
def test_the_schema_refuses_what_a_reader_refuses(data, write):
    assert not VALIDATOR.is_valid(data)
    path = write("a.json", json.dumps(data))
    options = {"types": (Question, list[int], dict[str, int]), "evaluator_types": [Polite, close, claim]}
    assert check_file(path, **options) != []


def test_the_schema_is_one():
    assert jsonschema_rs.meta.is_valid(SCHEMA)
    assert jsonschema_rs.meta.is_valid(dataset_schema())


def test_an_evaluator_is_described_by_its_first_line_and_offers_only_what_a_file_can_hold():
    polite = SCHEMA["$defs"]["dataset.evaluator"]["anyOf"][2]["properties"]["Polite"]
    assert polite["description"] == "The output is polite."
    assert list(polite["anyOf"][-1]["properties"]) == ["word", "question"]


def test_types_that_share_a_name_with_ours_do_not_clash():
    case = dataclass(type("case", (), {"__annotations__": {"x": int}}))
    schema = dataset_schema(case)
    assert jsonschema_rs.validator_for(schema).is_valid({"cases": [{"inputs": {"x": 1}}]})
    assert not jsonschema_rs.validator_for(schema).is_valid({"cases": [{"inputs": {"y": 1}}]})


SOME = [
    EqualsExpected(),
    EqualsExpected(evaluation_name="x"),
    Contains({"a": 1}),
    Contains("x", as_strings=True),
    ContainsAll(["a", "b"]),
    Equals(None),
    Equals({"a": {"b": []}}),
    MaxDuration(timedelta(seconds=90)),
    MaxDuration(1),
    Length(1, 5),
    Length(maximum=5, unit="words"),
    HasMatchingSpan({"name_equals": "x"}),
    MatchesJSONSchema({"type": "object"}),
    Polite("please", Question("a")),
    close,
]
EVALUATORS = st.lists(st.sampled_from(SOME))


# A schema is long to make, and there are few to make: it depends on which evaluators of one's own are among them.
@settings(max_examples=min(25, settings().max_examples))
@given(EVALUATORS, EVALUATORS)
@example(SOME, SOME)
def test_whatever_is_written_satisfies_the_schema_beside_it(tmp_path_factory, of_case, of_dataset):
    folder = tmp_path_factory.mktemp("schemas")
    dataset = Dataset[Question, list[int], Any](
        name="set",
        cases=[
            Case(inputs=Question("a"), expected_output=[1], evaluators=of_case),
            Case(inputs=Question("b", 2)),
        ],
        evaluators=of_dataset,
        report_evaluators=[ROCEvaluator("s"), claim],
    )
    for form, read in (("yaml", yaml.safe_load), ("json", json.loads)):
        dataset.to_file(folder / f"set.{form}")
        data = read((folder / f"set.{form}").read_text())
        schema = json.loads((folder / "set_schema.json").read_text())
        assert [error.message for error in jsonschema_rs.validator_for(schema).iter_errors(data)] == []
