"""Results, records, traces and reports as fields of pydantic models."""

import pytest
from pydantic import BaseModel, ValidationError

from calipers import (
    Case,
    Dataset,
    EvalResult,
    EvaluationReason,
    EvaluationResult,
    Report,
    ReportCase,
    ReportCaseFailure,
    ToolCall,
    Trace,
)
from calipers.data.result import EvalVerdict
from calipers.evaluators import EqualsExpected, EvaluatorFailure, EvaluatorSpec


class Answer(BaseModel):
    text: str


def result(value, **fields):
    return EvaluationResult(name="it", value=value, evaluator="It", source=EvaluatorSpec("It"), **fields)


def ran():
    cases = [Case(name="a", inputs="x", expected_output="X"), Case(name="b", inputs="y")]

    def upper(text):
        if text == "y":
            raise ValueError("no")
        return text.upper()

    return Dataset(cases=cases, evaluators=[EqualsExpected()]).evaluate_sync(upper, progress=False, seed=0)


class Holder(BaseModel):
    result: EvaluationResult | None = None
    assertion: EvaluationResult[bool] | None = None
    reason: EvaluationReason | None = None
    verdict: EvalResult | None = None
    failure: EvaluatorFailure | None = None
    attempt: ReportCase | None = None
    lost: ReportCaseFailure | None = None
    trace: Trace | None = None
    report: Report | None = None


def held():
    report = ran()
    trace = Trace(input_text="x", tool_calls=[ToolCall("look", {"at": 1})])
    return Holder(
        result=result(0.5, reason="so so", metadata={"k": [1]}),
        assertion=result(True),
        reason=EvaluationReason("good", "it is"),
        verdict=EvalResult("E", EvalVerdict.PASS, 1.0, "fine", {"n": 1}, error=ValueError("kept in memory")),
        failure=EvaluatorFailure(
            name="E", error_type="ValueError", error_message="ValueError: no", source=EvaluatorSpec("E")
        ),
        attempt=report.cases[0],
        lost=report.failures[0],
        trace=trace,
        report=report,
    )


def test_a_model_keeps_the_objects_it_is_given():
    given = result("x")
    assert Holder(result=given).result is given


def test_what_a_model_dumps_it_reads_back_as_the_same_objects():
    before = held()
    for after in (
        Holder.model_validate(before.model_dump()),
        Holder.model_validate_json(before.model_dump_json()),
    ):
        for name in Holder.model_fields:
            assert type(getattr(after, name)) is type(getattr(before, name)), name
            if name != "trace":
                assert getattr(after, name) == getattr(before, name), name
        assert after.trace.to_dict() == before.trace.to_dict()
        assert after.verdict.eval_id == before.verdict.eval_id
        assert after.verdict.error is None


def test_a_dump_leaves_out_what_has_its_default_and_what_lives_in_memory():
    dumped = Holder(result=result(1, original=object())).model_dump()["result"]
    assert dumped == {"name": "it", "value": 1, "evaluator": "It", "source": {"name": "It"}}


def test_a_field_that_names_the_type_of_a_value_refuses_others():
    assert Holder(assertion=result(False)).assertion == result(False)
    for wrong in (
        result("maybe"),
        {"name": "n", "value": "maybe", "evaluator": "E", "source": {"name": "E"}},
    ):
        with pytest.raises(ValidationError, match="value"):
            Holder(assertion=wrong)


def test_a_field_that_names_the_types_of_a_case_reads_its_values_as_those():
    class Kept(BaseModel):
        attempt: ReportCase[str, Answer, None]

    record = ran().cases[0]
    record.output, record.expected_output = {"text": "X"}, None
    original = record.results
    kept = Kept(attempt=record)
    assert kept.attempt.output == Answer(text="X")
    assert kept.attempt.results == original
    again = Kept.model_validate_json(kept.model_dump_json())
    assert again.attempt.output == Answer(text="X")


def test_an_object_that_is_copied_for_its_types_keeps_what_lives_in_memory():
    rich = object()
    assert Holder(assertion=result(True, original=rich)).assertion.original is rich


@pytest.mark.parametrize(
    ("field", "data", "what"),
    [
        ("result", {"name": "n"}, "value"),
        ("result", {**held().model_dump()["result"], "colour": "red"}, "colour"),
        ("result", 3, "dict"),
        ("reason", {"value": [1]}, "value"),
        ("report", {"name": "n"}, "no stored report"),
        ("trace", {"turns": 3}, "turns are stored as a list"),
    ],
)
def test_what_is_no_such_object_is_an_error_that_says_where(field, data, what):
    with pytest.raises(ValidationError, match=what):
        Holder.model_validate({field: data})


def test_models_with_such_fields_have_a_json_schema():
    schema = Holder.model_json_schema()
    assert "assertion" in schema["properties"]
    assert "error_stacktrace" in str(schema)


def test_types_are_named_at_run_time_too():
    for kind in (
        EvaluationResult[bool],
        ReportCase[str, str, dict],
        ReportCaseFailure[str, str, dict],
        Report[str, str, None],
    ):
        assert kind.__args__
    assert (
        EvaluationResult[bool](name="n", value=True, evaluator="E", source=EvaluatorSpec("E")).value is True
    )
