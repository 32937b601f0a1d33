import asyncio
import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset
from calipers.agents import BaseEvaluator, EvalResult, EvalVerdict, LatencyBudgetEvaluator, TestCase, Trace
from calipers.agents.verdict_evaluator import (
    ALL_OR_NOTHING,
    ALL_OR_SOME,
    Scale,
    skip,
    some_of,
    weighted_mean,
    weighted_share,
)
from calipers.testing import check_evaluator, make_context

CASE = TestCase(name="case", input_text="question", expected_output="answer")
TRACE = Trace(agent_name="bot", output_text="answer")


class Judge(BaseEvaluator):
    """Calls a function with what it was given."""

    def __init__(self, function):
        super().__init__(name="judge")
        self.function = function

    async def _evaluate(self, test_case, trace):
        return self.function(test_case, trace)


def says(verdict="pass", score=1.0, **more):
    return EvalResult("judge", EvalVerdict(verdict), score, "because", **more)


def evaluate(evaluator, case=CASE, trace=TRACE):
    return asyncio.run(evaluator.evaluate(case, trace))


# ---------------------------------------------------------------------- what it returns


def test_a_result_is_passed_on_with_the_time_it_took():
    given = says(metadata={"seen": 1})
    result = evaluate(Judge(lambda case, trace: given))
    assert (result.verdict, result.score, result.reason, result.eval_id) == (
        "pass",
        1.0,
        "because",
        given.eval_id,
    )
    assert result.metadata == {"seen": 1, "duration_ms": result.duration_ms}
    assert result.duration_ms >= 0
    assert given.metadata == {"seen": 1}


def test_a_time_that_the_evaluator_states_itself_is_kept():
    assert evaluate(Judge(lambda case, trace: says(metadata={"duration_ms": 7.5}))).duration_ms == 7.5


def test_a_crash_is_an_error_with_type_message_and_cause():
    def crash(case, trace):
        raise LookupError("no such city")

    result = evaluate(Judge(crash))
    assert (result.evaluator_name, result.verdict, result.score) == ("judge", "error", 0.0)
    assert result.reason == "LookupError: no such city"
    assert result.metadata["error_type"] == "LookupError"
    assert isinstance(result.error, LookupError)
    assert result.duration_ms >= 0


@pytest.mark.parametrize(
    "error", [SystemExit(3), RecursionError("deep"), AssertionError("x"), ExceptionGroup("g", [ValueError()])]
)
def test_whatever_an_evaluator_raises_is_caught(error):
    def crash(case, trace):
        raise error

    assert evaluate(Judge(crash)).verdict == "error"


@pytest.mark.parametrize("error", [KeyboardInterrupt, asyncio.CancelledError])
def test_what_ends_a_run_is_not_caught(error):
    def end(case, trace):
        raise error

    async def main():
        with pytest.raises(error):
            await Judge(end).evaluate(CASE, TRACE)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("returned", "complaint"),
    [
        (None, "must return an EvalResult, got None"),
        (True, "must return an EvalResult, got True"),
        (EvalVerdict.PASS, "must return an EvalResult"),
        (EvalResult("judge", "maybe", 1.0), "returned the verdict 'maybe'"),
        (says(metadata=None), "metadata of a result must be a dict"),
    ],
    ids=range(5),
)
def test_what_is_no_proper_result_is_an_error(returned, complaint):
    result = evaluate(Judge(lambda case, trace: returned))
    assert (result.verdict, result.score) == ("error", 0.0)
    assert complaint in result.reason


def test_a_score_that_is_none_is_an_error():
    result = evaluate(Judge(lambda case, trace: says(score=1.5)))
    assert (result.verdict, result.score) == ("error", 0.0)
    assert "a number from 0 to 1, got 1.5" in result.reason


@pytest.mark.parametrize("verdict", ["pass", "partial", "fail", "skip", "error"])
def test_a_verdict_may_be_given_as_text(verdict):
    result = evaluate(Judge(lambda case, trace: EvalResult("judge", verdict, 0.5)))
    assert result.verdict is EvalVerdict(verdict)


# ---------------------------------------------------------------------- how it is written


def test_an_evaluator_without_a_judgement_cannot_be_made():
    class Idle(BaseEvaluator):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Idle(name="idle")


def test_an_ordinary_function_will_do():
    class Plain(BaseEvaluator):
        def _evaluate(self, test_case, trace):
            return says("partial", 0.5)

    assert evaluate(Plain("plain")).verdict == "partial"


def test_a_dataclass_will_do_and_its_fields_are_its_spec():
    @dataclass
    class Minimum(BaseEvaluator):
        least: int = 3
        name: str = "minimum"

        async def _evaluate(self, test_case, trace):
            return says("pass" if len(trace.output_text) >= self.least else "fail", 0.5)

    assert evaluate(Minimum(7)).verdict == "fail"
    assert Minimum(7) == Minimum(least=7)
    report = Dataset(cases=[Case(inputs="x")], evaluators=[Minimum(7)]).evaluate_sync(
        lambda x: TRACE, progress=False
    )
    assert report.cases[0].assertions["minimum"].source.arguments == {"least": 7}


def test_one_that_forgot_its_name_fails_by_the_name_of_its_class():
    class Nameless(BaseEvaluator):
        def __init__(self):
            pass

        async def _evaluate(self, test_case, trace):
            return EvalResult(self.name, EvalVerdict.PASS, 1.0)

    result = evaluate(Nameless())
    assert (result.evaluator_name, result.verdict) == ("Nameless", "error")


# ---------------------------------------------------------------------- what it is given


@pytest.mark.parametrize(
    "case",
    [
        CASE,
        Case(name="case", inputs="question", expected_output="answer"),
        make_context(TRACE, name="case", inputs="question", expected_output="answer"),
    ],
    ids=["test case", "case", "context"],
)
def test_a_case_of_any_kind_is_given_as_a_test_case(case):
    def look(test_case, trace):
        assert isinstance(test_case, TestCase)
        seen = (test_case.name, test_case.input_text, test_case.expected_output)
        return says(metadata={"seen": seen})

    assert evaluate(Judge(look), case).metadata["seen"] == ("case", "question", "answer")


# ---------------------------------------------------------------------- in a dataset


def outcome_of(returned):
    def give(case, trace):
        if isinstance(returned, Exception):
            raise returned
        return returned

    report = Dataset(cases=[Case(inputs="x")], evaluators=[Judge(give)]).evaluate_sync(
        lambda x: TRACE, progress=False
    )
    return report.cases[0]


@pytest.mark.parametrize(("verdict", "passed"), [("pass", True), ("partial", False), ("fail", False)])
def test_in_a_report_only_pass_is_a_pass_and_the_score_stands_beside_it(verdict, passed):
    result = outcome_of(says(verdict, 0.5)).assertions["judge"]
    assert (result.value, result.verdict, result.score, result.reason) == (passed, verdict, 0.5, "because")


def test_in_a_report_a_skip_is_a_skip_and_a_crash_a_failure():
    assert outcome_of(says("skip", 0.0)).skipped[0].reason == "because"
    (failure,) = outcome_of(LookupError("no such city")).evaluator_failures
    assert (failure.error_type, failure.error_message) == ("LookupError", "LookupError: no such city")
    assert "in give" in failure.error_stacktrace


def test_without_a_trace_it_does_not_apply():
    report = Dataset(cases=[Case(inputs="x")], evaluators=[LatencyBudgetEvaluator()]).evaluate_sync(
        str, progress=False
    )
    assert report.cases[0].skipped[0].reason.startswith("the attempt has no trace")


@pytest.mark.parametrize("error", [LookupError("nothing to look at"), SystemExit(3)], ids=["error", "exit"])
def test_one_that_crashes_on_odd_things_keeps_the_contract(error):
    def pick(case, trace):
        if not trace.output_text:
            raise error
        return says()

    check_evaluator(Judge(pick), contexts=[make_context(TRACE)])


SCORES = st.floats(0, 1)
WEIGHTS = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
ORDER = [EvalVerdict.FAIL, EvalVerdict.PARTIAL, EvalVerdict.PASS]


@pytest.mark.parametrize(
    ("scale", "score", "verdict"),
    [
        (ALL_OR_NOTHING, 1.0, "pass"),
        (ALL_OR_NOTHING, math.nextafter(1.0, 0.0), "fail"),
        (ALL_OR_SOME, 1.0, "pass"),
        (ALL_OR_SOME, math.ulp(0.0), "partial"),
        (ALL_OR_SOME, 0.0, "fail"),
        (Scale(0.8, 0.5), 0.8, "pass"),
        (Scale(0.8, 0.5), 0.5, "partial"),
        (Scale(0.8, 0.5), 0.49, "fail"),
        (Scale(0.4, 0.5), 0.45, "pass"),
    ],
)
def test_a_verdict_is_read_off_the_score(scale, score, verdict):
    assert scale.verdict(score) == verdict
    assert scale.result("name", score, "why", seen=1).verdict == verdict


@given(SCORES, SCORES, SCORES, SCORES)
def test_a_better_verdict_has_a_higher_score(passes, partial, one, other):
    scale = Scale(passes, partial)
    if ORDER.index(scale.verdict(one)) > ORDER.index(scale.verdict(other)):
        assert one > other


def test_a_skip_has_no_score_and_a_reason():
    result = skip("name", "nothing there", seen=0)
    assert (result.verdict, result.score, result.reason) == ("skip", 0.0, "nothing there")
    assert result.metadata == {"seen": 0}


@given(st.lists(st.tuples(st.booleans(), WEIGHTS), min_size=1))
def test_a_share_is_whole_only_if_all_passed_and_nothing_only_if_none_did(parts):
    passed, weights = [each for each, _ in parts], [weight for _, weight in parts]
    share = weighted_share(passed, weights)
    assert (share == 1.0) is all(passed)
    assert (share == 0.0) is not any(passed)
    assert 0 <= share <= 1


@given(st.lists(st.tuples(SCORES, WEIGHTS), min_size=1))
def test_a_mean_lies_between_its_scores_however_large_the_weights(parts):
    scores, weights = [each for each, _ in parts], [weight for _, weight in parts]
    mean = weighted_mean(scores, weights)
    assert min(scores) - 1e-12 <= mean <= max(scores) + 1e-12
    assert 0 <= mean <= 1
    assert (mean == 1) is all(score == 1 for score in scores)
    assert (mean == 0) is not any(scores)


def test_what_floats_make_of_a_sum_decides_no_verdict():
    assert sum([1, 1, 0.4]) / 3 < 0.8
    assert weighted_mean([1, 1, 0.4], [1, 1, 1]) == 0.8


@pytest.mark.parametrize(
    ("count", "shown"), [(1, "t0"), (5, "t0; t1; t2; t3; t4"), (7, "t0; t1; t2; t3; t4; and 2 more")]
)
def test_a_reason_lists_the_first_few_things(count, shown):
    assert some_of([f"t{number}" for number in range(count)]) == shown


def test_a_reason_stays_short_however_long_the_things_are():
    assert len(some_of(["x" * 10_000] * 10_000)) < 1_200
