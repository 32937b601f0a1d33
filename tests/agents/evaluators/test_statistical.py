import asyncio
import math
import pickle
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.agents import (
    BaseEvaluator,
    EvalResult,
    EvalVerdict,
    LatencyBudgetEvaluator,
    MinWordCountEvaluator,
    NonEmptyOutputEvaluator,
    StatisticalEvaluator,
    TestCase,
    Trace,
)
from calipers.errors import InvalidOptionError
from calipers.stats import mean_interval, wilson

CASE = TestCase(name="case", input_text="question")


class ByTag(BaseEvaluator):
    """Says of a trace what the trace's first tag tells it to."""

    def __init__(self):
        super().__init__(name="by-tag")

    async def _evaluate(self, test_case, trace):
        (tag,) = trace.tags
        if tag == "crash":
            raise RuntimeError("boom")
        if tag == "skip":
            return EvalResult(self.name, EvalVerdict.SKIP, 0.0)
        score = float(tag)
        return EvalResult(self.name, EvalVerdict.PASS if score >= 0.5 else EvalVerdict.FAIL, score)


def summary_of(*tags, evaluator=None):
    evaluator = evaluator or StatisticalEvaluator(ByTag())
    return asyncio.run(evaluator.evaluate_multiple(CASE, [Trace(tags=[str(tag)]) for tag in tags]))


def test_a_summary_describes_the_scores():
    summary = summary_of(0.2, 0.4, 0.6, 0.8)
    assert summary.evaluator_name == "statistical-by-tag"
    assert summary.scores == (0.2, 0.4, 0.6, 0.8)
    assert (summary.sample_count, summary.passed, summary.errors, summary.skipped) == (4, 2, 0, 0)
    assert (summary.mean, summary.median) == (0.5, 0.5)
    assert summary.std_dev == pytest.approx(statistics.stdev(summary.scores))
    assert (summary.p5, summary.p95) == (pytest.approx(0.23), pytest.approx(0.77))
    assert [result.score for result in summary.results] == [0.2, 0.4, 0.6, 0.8]


def test_the_interval_of_scores_is_students_not_the_normal_one():
    scores = [0.5, 0.55, 0.6]
    summary = summary_of(*scores)
    expected = mean_interval(3, statistics.mean(scores), statistics.variance(scores))
    assert (summary.ci_lower, summary.ci_upper) == (pytest.approx(expected.low), pytest.approx(expected.high))
    normal = 1.96 * summary.std_dev / math.sqrt(3)
    assert summary.ci_upper - summary.mean > 2 * normal


def test_an_interval_stays_among_possible_scores():
    assert summary_of(0.1, 0.9).interval.low == 0.0
    assert summary_of(0.1, 0.9).interval.high == 1.0


@pytest.mark.parametrize("scores", [[1, 1, 1, 1, 1], [0, 0, 1], [1], [0]], ids=str)
def test_the_interval_of_zeros_and_ones_is_wilsons(scores):
    assert summary_of(*scores).interval == wilson(sum(scores), len(scores))


def test_one_score_in_between_has_no_spread_and_no_interval():
    summary = summary_of(0.4)
    assert (summary.mean, summary.std_dev, summary.interval, summary.ci_lower) == (0.4, None, None, None)


def test_errors_and_skips_are_counted_and_have_no_score():
    summary = summary_of(1, "crash", 0.5, "skip", "crash")
    assert (summary.sample_count, summary.errors, summary.skipped, summary.mean) == (2, 2, 1, 0.75)
    assert [result.verdict for result in summary.results] == ["pass", "error", "pass", "skip", "error"]
    assert summary.results[1].reason == "RuntimeError: boom"


def test_a_pass_rate_counts_errors_as_not_passed_and_leaves_skips_out():
    rate = summary_of(1, 0, "crash", "skip").pass_rate
    assert (rate.value, rate.n_units) == (pytest.approx(1 / 3), 3)
    assert rate.interval == wilson(1, 3)
    assert summary_of("skip").pass_rate is None
    sure = summary_of(0.4, evaluator=StatisticalEvaluator(ByTag(), confidence=0.99))
    assert (sure.interval, sure.pass_rate.interval) == (None, wilson(0, 1, confidence=0.99))


def test_no_traces_are_no_sample():
    with pytest.raises(InvalidOptionError, match="needs at least one trace of 'case', got none"):
        summary_of()


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_the_numbers_of_a_summary_are_in_order(scores):
    summary = summary_of(*scores)
    assert min(scores) <= summary.p5 <= summary.median <= summary.p95 <= max(scores)
    assert 0 <= summary.ci_lower <= summary.mean + 1e-9
    assert summary.mean - 1e-9 <= summary.ci_upper <= 1


# ---------------------------------------------------------------------- the verdict on a summary


@pytest.mark.parametrize(
    ("tags", "verdict", "score"),
    [
        ((1, 0.8), "pass", 0.9),
        ((0.7, 0.7), "pass", 0.7),
        ((0.6, 0.6), "partial", 0.6),
        ((0.1, 0.2), "fail", 0.15),
        ((1, 1, "skip"), "pass", 1.0),
        ((1, 1, "crash"), "error", 0.0),
        (("skip", "skip"), "skip", 0.0),
        (("skip", "crash"), "error", 0.0),
    ],
    ids=str,
)
def test_the_mean_gives_the_verdict_and_an_error_is_one(tags, verdict, score):
    evaluator = StatisticalEvaluator(ByTag())
    result = evaluator.summary_to_eval_result(summary_of(*tags))
    assert (result.evaluator_name, result.verdict) == ("statistical-by-tag", verdict)
    assert result.score == pytest.approx(score)


def test_errors_may_be_left_out_but_never_alone():
    evaluator = StatisticalEvaluator(ByTag(), on_error="skip")
    result = evaluator.summary_to_eval_result(summary_of(1, 1, "crash"))
    assert (result.verdict, result.score) == ("pass", 1.0)
    assert "1 of 3 traces could not be judged" in result.reason
    assert evaluator.summary_to_eval_result(summary_of("crash")).verdict == "error"


def test_the_reason_gives_the_mean_its_interval_and_what_is_missing():
    evaluator = StatisticalEvaluator(ByTag(), on_error="skip", confidence=0.9)
    result = evaluator.summary_to_eval_result(summary_of(0.4, 0.6, "skip", "crash", evaluator=evaluator))
    assert result.reason == (
        "mean score 0.500 of 2 traces (90 % interval 0.000 to 1.000); 1 of 4 traces could not be judged; 1 skipped"
    )
    assert {"sample_count": 2, "errors": 1, "skipped": 1, "mean": 0.5}.items() <= result.metadata.items()


def test_the_error_of_a_summary_tells_its_cause():
    result = StatisticalEvaluator(ByTag()).summary_to_eval_result(summary_of(1, "crash"))
    assert result.reason == "1 of 2 traces could not be judged: RuntimeError: boom"
    assert isinstance(result.error.__cause__, RuntimeError)


def test_thresholds_are_options():
    summary = summary_of(0.6)
    for passes, partial, verdict in [(0.6, 0.5, "pass"), (0.7, 0.6, "partial"), (0.7, 0.65, "fail")]:
        evaluator = StatisticalEvaluator(ByTag(), pass_threshold=passes, partial_threshold=partial)
        assert evaluator.summary_to_eval_result(summary).verdict == verdict


# ---------------------------------------------------------------------- the evaluator itself


def test_one_trace_is_judged_as_the_inner_evaluator_judges_it(judge):
    inner = LatencyBudgetEvaluator(1000)
    result, same = (
        judge(StatisticalEvaluator(inner), total_latency_ms=900),
        judge(inner, total_latency_ms=900),
    )
    assert (result.verdict, result.score, result.reason) == (same.verdict, same.score, same.reason)
    assert result.evaluator_name == "statistical-latency-budget"


def test_the_inner_evaluator_may_have_any_style():
    traces = [Trace(output_text=text) for text in ("yes", "no")]
    evaluator = StatisticalEvaluator(lambda output: output == "yes")
    assert asyncio.run(evaluator.evaluate_multiple(CASE, iter(traces))).scores == (1.0, 0.0)
    assert StatisticalEvaluator(NonEmptyOutputEvaluator(), name="mine").name == "mine"


@pytest.mark.parametrize(
    "options",
    [
        {"pass_threshold": 0},
        {"pass_threshold": 1.5},
        {"partial_threshold": math.nan},
        {"confidence": 1.0},
        {"confidence": 95},
        {"on_error": "fail"},
    ],
    ids=str,
)
def test_an_option_out_of_range_is_refused(options):
    with pytest.raises(InvalidOptionError, match=next(iter(options))):
        StatisticalEvaluator(ByTag(), **options)


def test_it_is_pickled_and_tells_the_inner_evaluator_by_its_spec(judge):
    evaluator = StatisticalEvaluator(MinWordCountEvaluator(3))
    judge(evaluator, output_text="x")
    assert pickle.loads(pickle.dumps(evaluator)) == evaluator
    arguments = evaluator.as_spec().arguments
    assert (arguments["inner"].name, arguments["inner"].arguments) == (
        "MinWordCountEvaluator",
        {"min_words": 3},
    )


@pytest.mark.parametrize("traces", [[None], [Trace(tags=["1"]), "trace"]], ids=["none", "text"])
def test_what_is_no_trace_is_refused(traces):
    with pytest.raises(InvalidOptionError, match="judges Trace objects, got "):
        asyncio.run(StatisticalEvaluator(ByTag()).evaluate_multiple(CASE, traces))
