import pytest

from calipers.data.context import EvaluatorContext
from calipers.errors import InvalidOptionError, SpanTreeRecordingError
from calipers.evaluators import EvaluationReason, HasMatchingSpan, SpanCount


@pytest.mark.parametrize(
    ("query", "spans", "passes"),
    [
        ({"name_equals": "search"}, ["plan", "search"], True),
        ({"name_equals": "search"}, ["plan"], False),
        ({"name_contains": "ear"}, ["search"], True),
        ({"name_equals": "search"}, [], False),
        ({}, [], False),
    ],
)
def test_one_matching_span_is_enough(judge, query, spans, passes):
    assert judge(HasMatchingSpan(query), None, spans=spans).value is passes


def test_the_reason_lists_the_spans_that_were_seen(judge):
    query = {"name_equals": "search"}
    assert judge(HasMatchingSpan(query), None, spans=["plan", "plan", "call"]) == EvaluationReason(
        value=False, reason="no span matches {'name_equals': 'search'}; seen: 'plan', 'call'"
    )
    assert judge(HasMatchingSpan(query), None).reason.endswith("no spans were recorded")
    many = judge(HasMatchingSpan(query), None, spans=[f"span{number}" for number in range(20)])
    assert many.reason.endswith("'span7' and 12 more")


@pytest.mark.parametrize(
    ("bounds", "passes"),
    [
        ({"minimum": 2}, True),
        ({"minimum": 3}, False),
        ({"maximum": 2}, True),
        ({"maximum": 1}, False),
        ({"maximum": 0}, False),
        ({"minimum": 2, "maximum": 2}, True),
    ],
)
def test_matching_spans_are_counted(judge, bounds, passes):
    assert judge(SpanCount({"name_equals": "a"}, **bounds), None, spans=["a", "b", "a"]).value is passes


def test_a_wrong_count_is_explained(judge):
    assert judge(SpanCount({"name_equals": "a"}, maximum=0), None, spans=["a", "b"]).reason == (
        "expected at most 0 spans that match {'name_equals': 'a'}, got 1; seen: 'a', 'b'"
    )


@pytest.mark.parametrize("evaluator", [HasMatchingSpan({}), SpanCount({}, maximum=0)])
def test_without_a_recording_they_fail_rather_than_answer(evaluator):
    context = EvaluatorContext(
        name=None,
        inputs=None,
        metadata=None,
        expected_output=None,
        output=None,
        duration=0.0,
        _span_tree=SpanTreeRecordingError("turn it on"),
        attributes={},
        metrics={},
    )
    with pytest.raises(SpanTreeRecordingError, match="turn it on"):
        evaluator.evaluate(context)


def test_they_ask_for_spans_to_be_recorded():
    assert HasMatchingSpan({}).needs_spans
    assert SpanCount({}, minimum=1).needs_spans


@pytest.mark.parametrize("make", [HasMatchingSpan, lambda query: SpanCount(query, minimum=1)])
def test_a_query_is_checked_when_it_is_given(make):
    with pytest.raises(InvalidOptionError):
        make({"nmae_equals": "search"})


def test_a_count_needs_a_bound():
    with pytest.raises(InvalidOptionError, match="SpanCount needs"):
        SpanCount({})
