"""`LLMJudge` and `GEval`: the fields and results of pydantic_evals."""

import asyncio
from pathlib import Path

import pytest

from calipers import Dataset, EvaluationReason
from calipers.errors import InvalidOptionError
from calipers.judges import LLMJudge
from calipers.testing import ScriptedJudge, make_context

SAMPLE = Path(__file__).parents[1] / "samples" / "pydantic_evals_judges.yaml"
"""Written by `Dataset.to_file` of pydantic_evals 2.62."""
SAID = {"reason": "why", "pass": True, "score": 0.75}


def judged(**options):
    model = ScriptedJudge(lambda ask: {key: SAID.get(key) for key in ask.schema["required"] if key != "seal"})
    return asyncio.run(LLMJudge("is polite", model=model, **options).evaluate(make_context("Please.")))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, EvaluationReason(True, "why")),
        ({"assertion": {}}, True),
        ({"assertion": {"evaluation_name": "polite"}}, {"polite": True}),
        ({"score": {}, "assertion": False}, 0.75),
        ({"score": {"include_reason": True}, "assertion": False}, EvaluationReason(0.75, "why")),
        ({"score": {}}, {"LLMJudge_score": 0.75, "LLMJudge_pass": EvaluationReason(True, "why")}),
        (
            {
                "score": {"evaluation_name": "how"},
                "assertion": {"evaluation_name": "that", "include_reason": True},
            },
            {"how": 0.75, "that": EvaluationReason(True, "why")},
        ),
        (
            {"evaluation_name": "polite", "score": {}, "assertion": {}},
            {"polite_score": 0.75, "polite_pass": True},
        ),
    ],
)
def test_results_are_named_and_explained_as_in_pydantic_evals(options, expected):
    assert judged(**options) == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"score": False, "assertion": False},
        {"score": True},
        {"assertion": {"name": "a"}},
        {"assertion": {"include_reason": "yes"}},
        {"assertion": {"evaluation_name": 1}},
        {"score": {"evaluation_name": "same"}, "assertion": {"evaluation_name": "same"}},
    ],
)
def test_a_judge_that_would_say_nothing_or_is_misspelt_is_refused(wrong):
    with pytest.raises(InvalidOptionError):
        LLMJudge("a", **wrong)
    with pytest.raises(InvalidOptionError, match="rubric"):
        LLMJudge("")


def test_a_file_that_pydantic_evals_wrote_runs_here():
    def answer(ask):
        if "level" in ask.schema["properties"]:
            return {"reason": "why", "level": 4}
        return {key: SAID[key] for key in ask.schema["required"] if key != "seal"}

    model = ScriptedJudge(answer)
    dataset = Dataset.from_file(SAMPLE)
    assert dataset.evaluators[1].model == "openai:gpt-4o"
    for judge in (*dataset.evaluators, *dataset.cases[0].evaluators):
        judge.model = model
    report = dataset.evaluate_sync(lambda text: f"Answer to {text}", progress=False)
    refund, hours = report.cases
    assert {name: result.value for name, result in refund.scores.items()} == {
        "brevity": 0.75,
        "LLMJudge_score": 0.75,
        "GEval": 4,
    }
    assert hours.assertions["clear"].reason == "why"
    assert len(refund.assertions) == 3
    assert not refund.evaluator_failures
    assert not hours.evaluator_failures
    settings = {(ask.temperature, ask.max_tokens) for ask in model.asks}
    assert settings == {(None, None), (0.0, 200)}


def test_a_file_that_is_written_here_is_read_again(tmp_path):
    dataset = Dataset.from_file(SAMPLE)
    dataset.to_file(tmp_path / "again.yaml", schema_path=None)
    again = Dataset.from_file(tmp_path / "again.yaml")
    assert [each.as_spec() for each in again.evaluators] == [each.as_spec() for each in dataset.evaluators]
