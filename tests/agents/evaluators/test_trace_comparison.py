import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.agents import LLMCall, ToolCall, Trace, TraceComparisonEvaluator
from calipers.agents.evaluators.trace_comparison import DEFAULT_WEIGHTS, word_similarity
from calipers.errors import InvalidOptionError

SEARCH, BOOK = ToolCall("search", {"to": "LA", "limit": 3}), ToolCall("book", {"flight": "X1"})
REFERENCE = Trace(
    output_text="Your flight to LA is booked.",
    tool_calls=[SEARCH, BOOK],
    total_input_tokens=800,
    total_output_tokens=200,
)


def compare(judge, reference, trace, **options):
    return judge(TraceComparisonEvaluator(reference, **options), trace)


def scores(judge, reference, trace, **options):
    return compare(judge, reference, trace, **options).metadata["dimension_scores"]


def test_a_trace_is_like_itself(judge):
    result = compare(judge, REFERENCE, REFERENCE.replace())
    assert (result.evaluator_name, result.verdict, result.score) == ("trace-compare", "pass", 1.0)
    assert result.metadata["dimension_scores"] == dict.fromkeys(DEFAULT_WEIGHTS, 1.0)
    assert result.metadata["weights"] == DEFAULT_WEIGHTS
    assert result.metadata["left_out"] == []
    assert "\n" not in result.reason


# ---------------------------------------------------------------------- the dimensions


@pytest.mark.parametrize(
    ("reference", "actual", "score"),
    [
        ("a b c", "a b c", 1.0),
        ("a b c", "x a b c", 6 / 7),
        ("a b c", "b c", 4 / 5),
        ("a b", "b a", 0.5),
        ("a b", "a c", 0.5),
        ("a", "b", 0.0),
        ("a", "", 0.0),
        ("", "a", 0.0),
        ("", "", None),
    ],
)
def test_one_call_more_or_less_does_not_shift_the_rest_of_the_sequence(judge, reference, actual, score):
    traces = [Trace(tool_calls=[ToolCall(name) for name in names.split()]) for names in (reference, actual)]
    found = scores(judge, *traces).get("tool_sequence")
    assert found == (None if score is None else pytest.approx(score))


@pytest.mark.parametrize(
    ("reference", "actual", "score"),
    [
        ({"to": "LA"}, {"to": "LA"}, 1.0),
        ({"to": "LA"}, {"to": "NY"}, 0.0),
        ({"to": "LA", "n": 1}, {"to": "LA", "n": 2}, 0.5),
        ({"to": "LA"}, {}, 0.0),
        ({"to": "LA"}, {"to": "LA", "extra": 1}, 0.5),
        ({}, {}, None),
    ],
)
def test_the_values_of_arguments_count(judge, reference, actual, score):
    traces = [Trace(tool_calls=[ToolCall("search", arguments)]) for arguments in (reference, actual)]
    found = scores(judge, *traces).get("tool_parameters")
    assert found == (None if score is None else pytest.approx(score))


@pytest.mark.parametrize(
    ("reference", "actual", "score"),
    [
        ([1, 2], [2, 1], 0.5),
        ([1, 2], [2, 3], 0.5),
        ([1, 2, 3], [0, 1, 2, 3], 1.0),
        ([1, 2, 3], [2, 3], 1.0),
    ],
    ids=["swapped", "shifted", "one more", "one less"],
)
def test_arguments_count_by_their_places_too(judge, reference, actual, score):
    traces = [Trace(tool_calls=[ToolCall("f", {"x": x}) for x in values]) for values in (reference, actual)]
    assert scores(judge, *traces)["tool_parameters"] == score


CALLS = st.lists(
    st.builds(ToolCall, st.sampled_from("fg"), st.sampled_from([{}, {"x": 1}, {"x": 2}])), max_size=4
)


@given(CALLS, CALLS)
def test_calls_score_1_exactly_if_they_are_the_same(judge, reference, actual):
    found = scores(judge, Trace(tool_calls=reference), Trace(tool_calls=actual))
    assert (set(found.values()) <= {1.0}) is (reference == actual)


def test_calls_of_different_tools_tell_nothing_of_parameters(judge):
    found = scores(judge, Trace(tool_calls=[SEARCH]), Trace(tool_calls=[BOOK]))
    assert found == {"tool_sequence": 0.0}


def test_calls_are_paired_so_that_their_arguments_fit_best(judge):
    rome, oslo = ToolCall("search", {"city": "Rome"}), ToolCall("search", {"city": "Oslo"})
    found = scores(judge, Trace(tool_calls=[rome, oslo]), Trace(tool_calls=[oslo]))
    assert found == {"tool_sequence": pytest.approx(2 / 3), "tool_parameters": 1.0}


def test_arguments_that_differ_from_run_to_run_may_be_ignored(judge):
    traces = [Trace(tool_calls=[ToolCall("book", {"flight": "X1", "id": number})]) for number in (1, 2)]
    assert scores(judge, *traces)["tool_parameters"] < 1.0
    assert scores(judge, *traces, ignore_arguments=["id"])["tool_parameters"] == 1.0
    assert "tool_parameters" not in scores(judge, *traces, ignore_arguments=("id", "flight"))


@pytest.mark.parametrize(
    ("one", "other", "score"),
    [
        ("It is booked", "it IS booked!", 1.0),
        ("booked it is", "it is booked", 1.0),
        ("yes", "yes yes yes", 0.5),
        ("a b c d", "a b x y", 0.5),
        ("yes", "", 0.0),
        ("yes", "no", 0.0),
        ("!!!", "!!!", 1.0),
        ("!!!", "???", 0.0),
    ],
)
def test_outputs_are_alike_by_their_words(judge, one, other, score):
    found = scores(judge, Trace(output_text=one), Trace(output_text=other))
    assert found == {"output_similarity": pytest.approx(score)}


@given(st.text("ab !", max_size=8), st.text("ab !", max_size=8))
def test_the_likeness_of_words_is_symmetric_and_a_share(one, other):
    assert word_similarity(one, other) == word_similarity(other, one)
    assert 0 <= word_similarity(one, other) <= 1
    assert word_similarity(one, one) == 1


def test_outputs_may_be_compared_by_meaning(judge):
    def embed(texts):
        return [[1.0, 0.0], [1.0, 1.0]]

    found = scores(judge, Trace(output_text="one"), Trace(output_text="other"), embed=embed)
    assert found == {"output_similarity": pytest.approx(math.sqrt(0.5))}


@pytest.mark.parametrize(
    ("one", "other", "score"), [(100, 100, 1.0), (100, 50, 0.5), (50, 100, 0.5), (100, 0, None)]
)
def test_cost_is_compared_where_both_counted_it(judge, one, other, score):
    traces = [Trace(total_output_tokens=tokens) for tokens in (one, other)]
    assert scores(judge, *traces).get("cost_deviation") == score


def test_requests_without_token_counts_are_no_likeness(judge):
    uncounted = Trace(llm_calls=[LLMCall(model="m")])
    assert scores(judge, uncounted, uncounted) == {}


# ---------------------------------------------------------------------- the whole


def test_what_was_not_recorded_is_left_out_and_the_rest_counts(judge):
    result = compare(judge, Trace(output_text="a b"), Trace(output_text="a c"))
    assert (result.score, result.verdict) == (0.5, "partial")
    assert result.metadata["left_out"] == ["tool_sequence", "tool_parameters", "cost_deviation"]
    assert "left out: tool_sequence, tool_parameters, cost_deviation" in result.reason


def test_traces_that_tell_nothing_are_skipped(judge):
    result = compare(judge, Trace(), Trace())
    assert (result.verdict, result.score) == ("skip", 0.0)
    assert compare(judge, Trace(), REFERENCE, weights={"cost_deviation": 1}).verdict == "skip"


def test_the_weights_say_what_counts(judge):
    other = REFERENCE.replace(output_text="No.", tool_calls=[SEARCH, BOOK])
    assert compare(judge, REFERENCE, other, weights={"tool_sequence": 1}).score == 1.0
    assert compare(judge, REFERENCE, other, weights={"output_similarity": 5}).score == 0.0
    both = compare(judge, REFERENCE, other, weights={"tool_sequence": 3, "output_similarity": 1})
    assert both.score == 0.75
    assert both.metadata["dimension_scores"] == {"tool_sequence": 1.0, "output_similarity": 0.0}


@pytest.mark.parametrize(
    ("passes", "partial", "verdict"), [(0.5, 0.4, "pass"), (0.7, 0.5, "partial"), (0.8, 0.6, "fail")]
)
def test_thresholds_are_options(judge, passes, partial, verdict):
    result = compare(
        judge,
        Trace(output_text="a b"),
        Trace(output_text="a c"),
        pass_threshold=passes,
        partial_threshold=partial,
    )
    assert result.verdict == verdict


def test_the_reason_gives_each_dimension_and_what_became_of_the_calls(judge):
    other = REFERENCE.replace(tool_calls=[ToolCall("search", {"to": "NY", "limit": 3})])
    result = compare(judge, REFERENCE, other)
    first, *script = result.reason.splitlines()
    assert first.startswith("tool_sequence 0.67, tool_parameters ")
    assert "output_similarity 1.00, cost_deviation 1.00" in first
    assert any("LA" in line and "NY" in line for line in script)
    assert any("book" in line for line in script)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"weights": {}}, "a dict of dimensions and weights"),
        ({"weights": [1, 2]}, "a dict of dimensions and weights"),
        ({"weights": {"tool_sequences": 1}}, "no dimension 'tool_sequences' \\(did you mean 'tool_sequence'"),
        ({"weights": {"x": 1}}, "no dimension 'x'; there are tool_sequence, tool_parameters"),
        (
            {"weights": {"tool_sequence": 0}},
            "weight of the dimension 'tool_sequence' must be a number above 0",
        ),
        ({"weights": {"tool_sequence": math.nan}}, "weight of .*, got nan"),
        ({"pass_threshold": 0}, "pass_threshold of .*, got 0"),
        ({"partial_threshold": 2}, "partial_threshold of .*, got 2"),
        ({"ignore_arguments": "id"}, "ignore_arguments of TraceComparisonEvaluator must be a list of texts"),
        ({"embed": "openai"}, "embed of TraceComparisonEvaluator must be a function"),
    ],
    ids=range(10),
)
def test_what_is_wrong_with_an_option_is_told_when_it_is_given(options, complaint):
    with pytest.raises(InvalidOptionError, match=complaint):
        TraceComparisonEvaluator(REFERENCE, **options)


@pytest.mark.parametrize("reference", [None, "trace", {"output_text": "x"}])
def test_a_reference_is_a_trace(reference):
    with pytest.raises(InvalidOptionError, match="needs a Trace as reference_trace"):
        TraceComparisonEvaluator(reference)
