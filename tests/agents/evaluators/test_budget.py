import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.agents import (
    CostBudgetEvaluator,
    LatencyBudgetEvaluator,
    LLMCall,
    TokenBudgetEvaluator,
    ToolCall,
    Trace,
)
from calipers.errors import InvalidOptionError

# ---------------------------------------------------------------------- time


@pytest.mark.parametrize(
    ("taken", "verdict", "score"),
    [
        (1, "pass", 0.9995),
        (500, "pass", 0.75),
        (800, "pass", 0.6),
        (801, "partial", 0.5995),
        (1000, "partial", 0.5),
        (1000.001, "fail", 0.0),
        (3000, "fail", 0.0),
    ],
)
def test_time_within_the_budget_passes_close_to_it_in_part_and_beyond_it_fails(judge, taken, verdict, score):
    result = judge(LatencyBudgetEvaluator(budget_ms=1000), total_latency_ms=taken)
    assert (result.evaluator_name, result.verdict) == ("latency-budget", verdict)
    assert result.score == pytest.approx(score)
    assert result.metadata["actual_ms"] == taken
    assert result.metadata["budget_ms"] == 1000
    assert result.metadata["utilization"] == pytest.approx(taken / 1000, abs=1e-4)


def test_where_the_warning_begins_is_an_option_and_1_is_no_warning(judge):
    assert judge(LatencyBudgetEvaluator(1000, 0.75), total_latency_ms=760).verdict == "partial"
    assert judge(LatencyBudgetEvaluator(1000, 1), total_latency_ms=1000).verdict == "pass"


@pytest.mark.parametrize(
    ("taken", "reason"),
    [
        (900, "took 900 ms, 90% of the budget of 1000 ms, more than 80%"),
        (100.123456, "took 100.123 ms, 10% of the budget of 1000 ms"),
        (2500, "took 2500 ms, 250% of the budget of 1000 ms"),
    ],
)
def test_the_reason_gives_the_time_and_the_budget(judge, taken, reason):
    assert judge(LatencyBudgetEvaluator(1000), total_latency_ms=taken).reason == reason


def test_the_calls_of_a_trace_tell_its_time_too(judge):
    calls = [ToolCall("search", latency_ms=300), ToolCall("read", latency_ms=200)]
    assert judge(LatencyBudgetEvaluator(1000), tool_calls=calls).metadata["actual_ms"] == 500
    assert judge(LatencyBudgetEvaluator(1000), tool_calls=[ToolCall("x", latency_ms=0)]).score == 1.0


@pytest.mark.parametrize("facts", [{}, {"total_latency_ms": 0}, {"tool_calls": [ToolCall("search")]}])
def test_time_that_was_not_measured_is_skipped(judge, facts):
    result = judge(LatencyBudgetEvaluator(), **facts)
    assert (result.verdict, result.score, result.reason) == ("skip", 0.0, "no time was measured")


@given(st.floats(1e-3, 1e6), st.floats(1e-3, 1), st.floats(1e-3, 1e7), st.floats(1e-3, 1e7))
def test_a_faster_agent_never_scores_less(judge, budget, warn, one, other):
    evaluator = LatencyBudgetEvaluator(budget, warn)
    fast, slow = (judge(evaluator, total_latency_ms=ms).score for ms in sorted([one, other]))
    assert fast >= slow


@pytest.mark.parametrize("budget", [0, -1, math.nan, math.inf, "1", None, True])
def test_a_budget_of_time_is_a_positive_number(budget):
    with pytest.raises(InvalidOptionError, match=r"budget_ms of .*, got "):
        LatencyBudgetEvaluator(budget)


@pytest.mark.parametrize("share", [0, -0.5, 1.01, math.nan, math.inf, "0.8", None, True])
def test_the_warning_begins_at_a_share_of_the_budget(share):
    with pytest.raises(InvalidOptionError, match=r"warn_pct of .*, got "):
        LatencyBudgetEvaluator(1000, share)


def test_a_percentage_is_told_from_a_share():
    with pytest.raises(InvalidOptionError, match=r"got 80; 80 % is written 0\.8"):
        LatencyBudgetEvaluator(1000, 80)


# ---------------------------------------------------------------------- tokens


@pytest.mark.parametrize(
    ("limits", "used", "verdict", "score"),
    [
        ((1000, 0, 0), (200, 50), "pass", 0.875),
        ((1000, 0, 0), (600, 400), "pass", 0.5),
        ((1000, 0, 0), (600, 401), "fail", 0.4995),
        ((1000, 0, 0), (5000, 0), "fail", 0.0),
        ((1000, 100, 0), (200, 0), "fail", 0.0),
        ((1000, 100, 0), (150, 0), "fail", 0.25),
        ((1000, 0, 100), (100, 100), "pass", 0.5),
        ((0, 0, 100), (10**9, 50), "pass", 0.75),
        ((0, 100, 0), (50, 10**9), "pass", 0.75),
    ],
)
def test_every_limit_must_be_kept_and_the_one_used_most_gives_the_score(judge, limits, used, verdict, score):
    result = judge(TokenBudgetEvaluator(*limits), total_input_tokens=used[0], total_output_tokens=used[1])
    assert (result.evaluator_name, result.verdict) == ("token-budget", verdict)
    assert result.score == pytest.approx(score)
    counts = {"total_tokens": sum(used), "input_tokens": used[0], "output_tokens": used[1]}
    assert counts.items() <= result.metadata.items()
    assert bool(result.metadata["violations"]) is (verdict == "fail")


def test_the_reason_lists_the_limits_that_were_exceeded_or_the_one_used_most(judge):
    evaluator = TokenBudgetEvaluator(1000, max_output_tokens=100)
    bad = judge(evaluator, total_input_tokens=900, total_output_tokens=300)
    assert bad.reason == "1200 total tokens, allowed 1000; 300 output tokens, allowed 100"
    good = judge(evaluator, total_input_tokens=100, total_output_tokens=50)
    assert good.reason == "50 output tokens, 50% of the 100 allowed"
    assert good.metadata["utilization"] == 0.5


def test_tokens_that_were_not_measured_are_skipped(judge):
    assert judge(TokenBudgetEvaluator()).verdict == "skip"
    assert judge(TokenBudgetEvaluator(), llm_calls=[LLMCall(model="m")]).verdict == "skip"
    assert judge(TokenBudgetEvaluator(), llm_calls=[LLMCall(model="m", input_tokens=1)]).verdict == "pass"


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**7))
def test_the_budget_of_tokens_is_kept_exactly_if_the_score_is_one_half_or_more(judge, most, given, made):
    trace = Trace(total_input_tokens=given, total_output_tokens=made, llm_calls=[])
    result = judge(TokenBudgetEvaluator(most), trace)
    if result.verdict != "skip":
        assert (result.verdict == "pass") is (given + made <= most) is (result.score >= 0.5)


@pytest.mark.parametrize("option", ["max_total_tokens", "max_input_tokens", "max_output_tokens"])
@pytest.mark.parametrize("limit", [-1, 1.5, math.nan, "1", None, True])
def test_a_limit_of_tokens_is_a_whole_number(option, limit):
    with pytest.raises(InvalidOptionError, match=f"{option} of .*, got "):
        TokenBudgetEvaluator(**{option: limit})


def test_without_a_limit_everything_would_pass_so_there_must_be_one():
    with pytest.raises(InvalidOptionError, match="needs a limit above 0"):
        TokenBudgetEvaluator(max_total_tokens=0)


# ---------------------------------------------------------------------- money


def calls(*costs, **more):
    return [LLMCall(model="m", cost=cost, **more) for cost in costs]


def test_a_budget_of_money_is_kept_if_all_that_was_paid_is_known_and_little(judge):
    budget = CostBudgetEvaluator(max_cost=0.1)
    table = [
        (calls(0.02, 0.03), "pass", 0.75, "cost $0.05, 50% of the $0.10 allowed"),
        (calls(0.1), "pass", 0.5, "cost $0.10, 100% of the $0.10 allowed"),
        (calls(0.15), "fail", 0.25, "cost $0.15, 150% of the $0.10 allowed"),
        (calls(0.5, None), "fail", 0.0, "cost at least $0.50, 500% of the $0.10 allowed"),
        (calls(0.05, None, None), "skip", 0.0, "it cost at least $0.05: 2 calls without a known price"),
        (calls(None), "skip", 0.0, "no cost is known"),
        ([], "skip", 0.0, "no cost is known"),
        ([*calls(0.05), *calls(None, metadata={"error": "429"})], "pass", 0.75, None),
    ]
    for made, verdict, score, reason in table:
        result = judge(budget, llm_calls=made)
        assert (result.verdict, result.score) == (verdict, pytest.approx(score)), made
        assert reason in (None, result.reason)


def test_a_limit_of_money_is_an_amount():
    for limit in (0, -1, math.nan, math.inf, "1", None, True):
        with pytest.raises(InvalidOptionError, match="max_cost of CostBudgetEvaluator"):
            CostBudgetEvaluator(limit)
