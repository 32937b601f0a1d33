import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, EvaluationReason, EvaluatorContext, ToolCall, Trace
from calipers.errors import InvalidOutputError, SpanTreeRecordingError, TaskContractError
from calipers.spans import SpanNode, SpanTree
from calipers.testing import evaluate_one, make_context, odd_contexts, ordinary_contexts


def test_a_context_needs_nothing_but_an_output():
    ctx = make_context("Paris")
    assert (ctx.output, ctx.inputs, ctx.metadata, ctx.expected_output) == ("Paris", None, None, None)
    assert (ctx.name, ctx.duration, ctx.metrics, ctx.attributes) == ("case", 0.0, {}, {})
    assert ctx.trace is None
    assert ctx.results == {}


@pytest.mark.parametrize(
    ("stated", "expects"),
    [({}, False), ({"expected_output": None}, True), ({"expected_output": ""}, True)],
)
def test_an_expectation_of_none_is_an_expectation(stated, expects):
    ctx = make_context("x", **stated)
    assert ctx.has_expected_output is expects
    assert ctx.case.has_expected_output is expects


@given(
    st.fixed_dictionaries(
        {"inputs": st.integers(), "metadata": st.none() | st.dictionaries(st.text(), st.integers())},
        optional={"expected_output": st.none() | st.text()},
    ),
    st.text(),
)
def test_a_context_is_what_an_evaluator_sees_in_a_run(fields, output):
    seen: list[EvaluatorContext] = []

    def look(ctx):
        seen.append(ctx)
        return True

    dataset = Dataset(cases=[Case(name="case", **fields)], evaluators=[look])
    dataset.evaluate_sync(lambda inputs: output, seed=7, progress=False)
    made = make_context(output, seed=7, **fields)
    for name in ("name", "inputs", "metadata", "expected_output", "output", "metrics", "attributes", "trace"):
        assert getattr(made, name) == getattr(seen[0], name)
    assert made.has_expected_output == seen[0].has_expected_output
    assert made.case == seen[0].case
    assert made.seed == seen[0].seed


def test_a_trace_gives_the_output_and_the_tool_calls():
    trace = Trace(output_text="done", tool_calls=[ToolCall("search", {"q": "x"})])
    for ctx in (make_context(trace), make_context(trace=trace)):
        assert ctx.output == "done"
        assert ctx.trace is trace
        assert ctx.tool_calls == [ToolCall("search", {"q": "x"})]
    beside = make_context("other", trace=trace)
    assert (beside.output, beside.trace) == ("other", trace)


def test_an_output_that_no_task_may_return_is_refused():
    with pytest.raises(TaskContractError, match="generator"):
        make_context(character for character in "abc")


def test_metrics_and_attributes_are_the_contexts_own():
    metrics, attributes = {"tokens": 1}, {"model": "a"}
    ctx = make_context("x", metrics=metrics, attributes=attributes)
    ctx.metrics["tokens"] = 2
    ctx.attributes["model"] = "b"
    assert (metrics, attributes) == ({"tokens": 1}, {"model": "a"})


def test_spans_are_there_when_given_and_an_error_that_says_how_when_not():
    tree = SpanTree([SpanNode("search", trace_id=1, span_id=1, start_ns=0, end_ns=1)])
    assert make_context("x", span_tree=tree).span_tree is tree
    with pytest.raises(SpanTreeRecordingError, match=r"make_context\(\.\.\., span_tree="):
        _ = make_context("x").span_tree


def test_earlier_results_may_be_values_by_name_or_results_of_a_record():
    ctx = make_context("x", results={"cheap": True, "score": EvaluationReason(0.5, "half")})
    assert ctx.results["cheap"].value is True
    assert (ctx.results["score"].value, ctx.results["score"].reason) == (0.5, "half")
    record = evaluate_one(lambda output: output == "x", ctx)
    assert make_context("x", results=record.results).results == {"function": record.results[0]}
    assert make_context("x", results={"renamed": record.results[0]}).results == {
        "function": record.results[0]
    }


def test_an_earlier_result_that_is_no_judgement_is_refused():
    with pytest.raises(InvalidOutputError, match="no finite score"):
        make_context("x", results={"score": float("nan")})


def test_ordinary_contexts_cover_what_each_style_asks_for():
    contexts = ordinary_contexts()
    assert any(ctx.has_expected_output for ctx in contexts)
    assert any(ctx.tool_calls for ctx in contexts)
    assert any(hasattr(ctx.output, "children") for ctx in contexts)
    assert all(ctx.span_tree is not None for ctx in contexts)
    assert len({ctx.name for ctx in contexts}) == len(contexts)


def test_odd_contexts_vary_one_thing_at_a_time():
    ctx = make_context("x", inputs="q", expected_output="y", metadata={"a": 1}, metrics={"m": 1})
    odd = {variation.name: variation for variation in odd_contexts(ctx)}
    assert odd["output None"].output is None
    assert odd["output None"].expected_output == "y"
    assert odd["output None"].metadata == {"a": 1}
    assert odd["no expected_output"].has_expected_output is False
    assert odd["expected_output None"].has_expected_output is True
    assert odd["metadata None"].metadata is None
    assert odd["metadata None"].output == "x"
    assert odd["inputs None"].inputs is None
    assert len(odd["output of a million characters"].output) == 1_000_000


def test_odd_contexts_of_a_case_without_an_expectation_state_none_of_their_own():
    odd = {variation.name: variation for variation in odd_contexts(make_context("x"))}
    assert odd["output None"].has_expected_output is False


def test_the_hostile_object_raises_whatever_is_asked_of_it():
    hostile = next(
        ctx.output for ctx in odd_contexts(make_context("x")) if ctx.name.endswith("methods raise")
    )
    for use in (repr, bool, len, lambda it: it == 1):
        with pytest.raises(RuntimeError):
            use(hostile)
