"""What holds for every verdict evaluator that Calipers brings: verdict and score agree, wherever it stands."""

import asyncio
import inspect
import json
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers.agents
from calipers import Case, Dataset
from calipers.agents import (
    BaseEvaluator,
    CompositeEvaluator,
    CostBudgetEvaluator,
    EmbeddingSimilarityEvaluator,
    EvalVerdict,
    JsonSchemaEvaluator,
    LatencyBudgetEvaluator,
    LLMCall,
    MinWordCountEvaluator,
    NonEmptyOutputEvaluator,
    RegexPatternMatcher,
    RuleBasedEvaluator,
    RuleSpec,
    StatisticalEvaluator,
    TestCase,
    TokenBudgetEvaluator,
    ToolCall,
    ToolUsageAuditor,
    Trace,
    TraceComparisonEvaluator,
)
from calipers.testing import check_evaluator, make_context

SHARES = st.floats(0.01, 1)
WEIGHTS = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
LETTERS = st.sampled_from("abc")
TOKENS = st.integers(0, 2000)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("abc", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LETTERS, inner, max_size=3),
    max_leaves=6,
)
SCHEMAS = st.fixed_dictionaries(
    {"properties": st.dictionaries(LETTERS, st.sampled_from([{"type": "integer"}, {"type": "string"}, {}]))},
    optional={
        "type": st.sampled_from(["object", "array"]),
        "required": st.lists(LETTERS, unique=True),
        "additionalProperties": st.just(False),
        "minProperties": st.integers(0, 3),
        "items": st.just({"type": "integer"}),
        "anyOf": st.just([{"required": ["a"]}, {"type": "array"}]),
    },
)
RULES = st.builds(
    lambda letter, weight: RuleSpec("contains_any", {"values": [letter]}, weight), LETTERS, WEIGHTS
) | st.builds(lambda most, weight: RuleSpec("max_length", {"max": most}, weight), st.integers(0, 5), WEIGHTS)
DIMENSIONS = st.sampled_from(["tool_sequence", "tool_parameters", "output_similarity", "cost_deviation"])
PATTERNS = st.fixed_dictionaries({"pattern": LETTERS, "weight": WEIGHTS, "must_match": st.booleans()})


def counts(texts):
    return [[text.count(letter) for letter in "abc"] for text in texts]


TRACES = st.builds(
    Trace,
    output_text=st.text("abc ", max_size=12) | JSON.map(json.dumps),
    total_latency_ms=st.floats(0, 2000),
    total_input_tokens=TOKENS,
    total_output_tokens=TOKENS,
    llm_calls=st.lists(st.builds(LLMCall, model=LETTERS, cost=st.none() | st.floats(0, 2)), max_size=2),
    tool_calls=st.lists(
        st.builds(ToolCall, LETTERS, st.dictionaries(LETTERS, st.integers(0, 2), max_size=2)), max_size=4
    ),
)

SIMPLE = {
    NonEmptyOutputEvaluator: st.builds(NonEmptyOutputEvaluator),
    MinWordCountEvaluator: st.builds(MinWordCountEvaluator, st.integers(1, 6)),
    JsonSchemaEvaluator: st.builds(JsonSchemaEvaluator, SCHEMAS),
    LatencyBudgetEvaluator: st.builds(LatencyBudgetEvaluator, st.floats(1, 2000), SHARES),
    TokenBudgetEvaluator: st.builds(TokenBudgetEvaluator, st.integers(1, 4000), TOKENS, TOKENS),
    CostBudgetEvaluator: st.builds(CostBudgetEvaluator, st.floats(0.01, 2)),
    RegexPatternMatcher: st.builds(RegexPatternMatcher, st.lists(PATTERNS, max_size=4)),
    RuleBasedEvaluator: st.builds(RuleBasedEvaluator, st.lists(RULES, max_size=4), partial_threshold=SHARES),
    EmbeddingSimilarityEvaluator: st.builds(EmbeddingSimilarityEvaluator, SHARES, st.just(counts)),
    ToolUsageAuditor: st.builds(ToolUsageAuditor, st.lists(LETTERS, max_size=4), st.booleans()),
    TraceComparisonEvaluator: st.builds(
        TraceComparisonEvaluator,
        TRACES,
        weights=st.none() | st.dictionaries(DIMENSIONS, WEIGHTS, min_size=1),
        pass_threshold=SHARES,
        partial_threshold=SHARES,
    ),
}
ANY = st.one_of(list(SIMPLE.values()))
PARTS = st.lists(st.tuples(ANY, WEIGHTS), min_size=1, max_size=4)
EVALUATORS = SIMPLE | {
    CompositeEvaluator: st.builds(CompositeEvaluator, PARTS, SHARES, SHARES),
    StatisticalEvaluator: st.builds(
        StatisticalEvaluator, ANY, pass_threshold=SHARES, partial_threshold=SHARES
    ),
}
NAMES = sorted(kind.__name__ for kind in EVALUATORS)
BY_NAME = {kind.__name__: strategy for kind, strategy in EVALUATORS.items()}

CASE = TestCase(name="case", input_text="question", expected_output="abc")
RANK = {EvalVerdict.FAIL: 0, EvalVerdict.PARTIAL: 1, EvalVerdict.PASS: 2}


def assert_agree(results):
    """The law: a better verdict has a higher score, and what is no judgement has none."""
    for result in results:
        assert 0 <= result.score <= 1
        assert (result.verdict, result.score) not in {(EvalVerdict.PASS, 0.0), (EvalVerdict.FAIL, 1.0)}
        if result.verdict not in RANK:
            assert result.score == 0.0
    judged = [result for result in results if result.verdict in RANK]
    for one, other in combinations(judged, 2):
        if RANK[one.verdict] > RANK[other.verdict]:
            assert one.score > other.score
        elif RANK[one.verdict] < RANK[other.verdict]:
            assert one.score < other.score


async def judge_all(evaluator, traces):
    return [await evaluator.evaluate(CASE, trace) for trace in traces]


def test_the_law_is_checked_for_every_evaluator():
    public = (getattr(calipers.agents, name) for name in calipers.agents.__all__)
    kinds = {kind for kind in public if inspect.isclass(kind) and issubclass(kind, BaseEvaluator)}
    assert kinds - {BaseEvaluator} == set(EVALUATORS)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_verdict_and_score_agree(name, data):
    evaluator = data.draw(BY_NAME[name])
    traces = data.draw(st.lists(TRACES, min_size=2, max_size=4))
    results = asyncio.run(judge_all(evaluator, traces))
    assert_agree(results)
    assert all(result.verdict != EvalVerdict.ERROR for result in results)
    assert all(result.evaluator_name == evaluator.name and result.reason for result in results)


@given(data=st.data())
def test_the_verdicts_on_summaries_agree_with_their_scores(data):
    evaluator = data.draw(BY_NAME["StatisticalEvaluator"])
    samples = data.draw(st.lists(st.lists(TRACES, min_size=1, max_size=3), min_size=2, max_size=4))
    summaries = [asyncio.run(evaluator.evaluate_multiple(CASE, traces)) for traces in samples]
    assert_agree([evaluator.summary_to_eval_result(summary) for summary in summaries])


@pytest.mark.parametrize("verdict", list(EvalVerdict))
def test_the_check_of_the_law_would_notice_a_breach(verdict):
    score = {EvalVerdict.PASS: 0.0, EvalVerdict.FAIL: 1.0}.get(verdict, 0.5)
    results = [calipers.agents.EvalResult("x", verdict, score)]
    if verdict is EvalVerdict.PARTIAL:
        results.append(calipers.agents.EvalResult("x", EvalVerdict.PASS, 0.5))
    with pytest.raises(AssertionError):
        assert_agree(results)


# ---------------------------------------------------------------------- one of each kind, wherever evaluators stand


TRACE = Trace(
    agent_name="bot",
    output_text='{"city": "Rome", "temperature": 12}',
    total_latency_ms=100,
    total_input_tokens=30,
    total_output_tokens=20,
    llm_calls=[LLMCall(model="m", cost=0.001)],
    tool_calls=[ToolCall("search", {"query": "weather"}), ToolCall("summarize")],
)


def ready():
    """One evaluator of each kind that passes on the trace below."""
    return [
        NonEmptyOutputEvaluator(),
        MinWordCountEvaluator(min_words=2),
        JsonSchemaEvaluator({"type": "object", "required": ["city"]}),
        LatencyBudgetEvaluator(budget_ms=1000),
        TokenBudgetEvaluator(max_total_tokens=500),
        CostBudgetEvaluator(max_cost=0.01),
        RegexPatternMatcher([{"pattern": "Rome"}]),
        RuleBasedEvaluator([RuleSpec("not_contains", {"values": ["error"]}, 2.0, "no errors")]),
        EmbeddingSimilarityEvaluator(0.1),
        ToolUsageAuditor(["search", "summarize"]),
        TraceComparisonEvaluator(TRACE),
        CompositeEvaluator([(NonEmptyOutputEvaluator(), 1.0), (LatencyBudgetEvaluator(1000), 2.0)]),
        StatisticalEvaluator(MinWordCountEvaluator(2)),
    ]


READY = {type(evaluator).__name__: evaluator for evaluator in ready()}


def test_there_is_one_of_each_kind():
    assert sorted(READY) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_keeps_the_contract_of_an_evaluator(name):
    contexts = [
        make_context(trace, expected_output="The city of Rome.", inputs="question")
        for trace in (TRACE, TRACE.replace(output_text="nothing", total_latency_ms=5000))
    ]
    done = check_evaluator(READY[name], contexts=contexts)
    assert done.judged == 2


@pytest.mark.parametrize("name", NAMES)
def test_each_passes_in_a_dataset_whose_task_returns_a_trace(name):
    case = Case(name="case", inputs="question", expected_output="The city of Rome.")
    report = Dataset(cases=[case], evaluators=[READY[name]]).evaluate_sync(
        lambda inputs: TRACE, progress=False
    )
    result = report.cases[0].assertions[READY[name].name]
    assert (result.value, result.verdict) == (True, EvalVerdict.PASS)
    assert result.score > 0
    assert result.metadata["duration_ms"] >= 0
    assert result.source.name == name


@pytest.mark.parametrize("name", NAMES)
def test_each_is_skipped_where_there_is_no_trace(name):
    report = Dataset(cases=[Case(inputs="x")], evaluators=[READY[name]]).evaluate_sync(str, progress=False)
    assert not report.cases[0].results
    assert len(report.cases[0].skipped) == 1


@pytest.mark.parametrize("name", NAMES)
def test_two_of_one_kind_are_equal_if_they_were_made_alike(name):
    assert READY[name] == {type(each).__name__: each for each in ready()}[name]
    assert name in repr(READY[name])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_each_comes_back_from_a_file(name, suffix, tmp_path):
    path = tmp_path / f"dataset.{suffix}"
    Dataset(name="d", cases=[Case(name="c", inputs="x")], evaluators=[READY[name]]).to_file(path)
    assert Dataset.from_file(path).evaluators == [READY[name]]
