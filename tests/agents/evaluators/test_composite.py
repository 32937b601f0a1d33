import asyncio
import copy
import itertools
import math
import pickle
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, EvaluationReason, Evaluator, Skipped
from calipers.agents import (
    BaseEvaluator,
    CompositeEvaluator,
    EvalResult,
    EvalVerdict,
    LatencyBudgetEvaluator,
    NonEmptyOutputEvaluator,
    TestCase,
    TokenBudgetEvaluator,
    ToolCall,
    Trace,
)
from calipers.errors import InvalidOptionError, NotAnEvaluatorError
from calipers.evaluators import Contains, EqualsExpected, MaxDuration
from calipers.testing import check_evaluator, evaluate_one, make_context

PASSES, PARTLY, FAILS, CRASHES, SKIPS = "pass", "partial", "fail", "error", "skip"


@dataclass
class Says(BaseEvaluator):
    """Says what it was told to, and notes that it ran."""

    score: float = 1.0
    verdict: str = PASSES
    name: str = "says"
    ran: list | None = None
    wait: float = 0.0

    async def _evaluate(self, test_case, trace):
        if self.wait:
            await asyncio.sleep(self.wait)
        if self.ran is not None:
            self.ran.append(self.name)
        if self.verdict == CRASHES:
            raise RuntimeError("boom")
        return EvalResult(self.name, EvalVerdict(self.verdict), self.score, f"because {self.name}")


def scores(*given):
    """Parts with these scores, each passing or not as the score says."""
    return [Says(score, PASSES if score == 1 else FAILS if score == 0 else PARTLY) for score in given]


def rows(result):
    return [(row["evaluator"], row["verdict"]) for row in result.metadata["sub_results"]]


# ---------------------------------------------------------------------- the mean


@pytest.mark.parametrize(
    ("parts", "verdict", "score"),
    [
        ([(1.0, 1), (1.0, 5)], PASSES, 1.0),
        ([(1.0, 4), (0.0, 1)], PASSES, 0.8),
        ([(1.0, 3), (0.0, 1)], PARTLY, 0.75),
        ([(1.0, 1), (0.0, 1)], PARTLY, 0.5),
        ([(0.4, 1), (0.5, 1)], FAILS, 0.45),
        ([(0.0, 1)], FAILS, 0.0),
        ([(1.0, 1), (1.0, 1), (0.4, 1)], PASSES, 0.8),
        ([(1.0, 1e308), (0.0, 1e308)], PARTLY, 0.5),
        ([(1.0, 5e-324), (0.0, 5e-324)], PARTLY, 0.5),
    ],
    ids=range(9),
)
def test_the_score_is_the_weighted_mean_and_the_verdict_follows(judge, parts, verdict, score):
    composite = CompositeEvaluator(
        [(each, weight) for each, (_, weight) in zip(scores(*(s for s, _ in parts)), parts, strict=True)]
    )
    result = judge(composite)
    assert (result.evaluator_name, result.verdict, result.score) == (
        "composite",
        verdict,
        pytest.approx(score),
    )


def test_the_thresholds_are_options(judge):
    for passes, partial, verdict in [
        (0.5, 0.4, PASSES),
        (0.6, 0.5, PARTLY),
        (0.9, 0.6, FAILS),
        (0.4, 0.9, PASSES),
    ]:
        composite = CompositeEvaluator(scores(1.0, 0.0), passes, partial)
        assert judge(composite).verdict == verdict


def test_the_result_tells_what_each_part_said(judge):
    composite = CompositeEvaluator(
        evaluators=[
            (NonEmptyOutputEvaluator(), 1.0),
            (LatencyBudgetEvaluator(budget_ms=1000), 2.0),
            (TokenBudgetEvaluator(max_total_tokens=100), 1.5),
        ],
        name="all of it",
    )
    result = judge(composite, output_text="x", total_latency_ms=900)
    assert result.metadata["sub_results"] == [
        {
            "evaluator": "non-empty-output",
            "verdict": "pass",
            "score": 1.0,
            "reason": "the output is not empty",
            "weight": 1.0,
        },
        {
            "evaluator": "latency-budget",
            "verdict": "partial",
            "score": 0.55,
            "reason": "took 900 ms, 90% of the budget of 1000 ms, more than 80%",
            "weight": 2.0,
        },
        {
            "evaluator": "token-budget",
            "verdict": "skip",
            "score": 0.0,
            "reason": "no tokens were counted",
            "weight": 1.5,
        },
    ]
    assert result.score == pytest.approx((1.0 + 2 * 0.55) / 3)
    assert result.reason == "1 of 2 parts passed, score 0.70; partial: latency-budget; skip: token-budget"


# ---------------------------------------------------------------------- skips and errors


def test_a_part_that_was_skipped_leaves_the_weighting(judge):
    composite = CompositeEvaluator([(Says(1.0), 1), (Says(0.0, SKIPS), 100)])
    assert judge(composite).score == 1.0


@pytest.mark.parametrize("concurrent", [False, True])
@pytest.mark.parametrize("stop_early", [False, True])
def test_if_all_parts_were_skipped_so_is_the_whole(judge, concurrent, stop_early):
    composite = CompositeEvaluator(
        [Says(0, SKIPS), Says(0, SKIPS)], concurrent=concurrent, stop_early=stop_early
    )
    result = judge(composite)
    assert (result.verdict, result.score, result.reason) == (SKIPS, 0.0, "all 2 parts were skipped")


def test_a_part_that_crashed_makes_the_whole_an_error_that_names_it(judge):
    result = judge(CompositeEvaluator([(Says(1.0), 99), (Says(1.0, CRASHES, "judge"), 1)]))
    assert (result.verdict, result.score) == (CRASHES, 0.0)
    assert result.reason == "1 of 2 parts did not finish: judge: RuntimeError: boom"
    assert isinstance(result.error.__cause__, RuntimeError)
    assert rows(result) == [("says", PASSES), ("judge", CRASHES)]


@pytest.mark.parametrize(
    ("on_error", "verdict", "score"), [("error", CRASHES, 0.0), ("skip", PASSES, 1.0), ("fail", PARTLY, 0.5)]
)
def test_what_a_crash_means_is_an_option(judge, on_error, verdict, score):
    result = judge(CompositeEvaluator([Says(1.0), Says(1.0, CRASHES, "broken")], on_error=on_error))
    assert (result.verdict, result.score) == (verdict, score)
    assert "broken" in result.reason


@pytest.mark.parametrize("on_error", ["error", "skip"])
def test_if_nothing_was_judged_a_crash_is_no_skip(judge, on_error):
    composite = CompositeEvaluator([Says(0, SKIPS), Says(0, CRASHES)], on_error=on_error)
    assert judge(composite).verdict == CRASHES


# ---------------------------------------------------------------------- parts of every style


@dataclass
class InStyle(Evaluator):
    value: object = True

    def evaluate(self, ctx):
        return self.value


class Pair:
    def evaluate(self, expected, actual):
        return expected == actual


@dataclass
class Verdict:
    verdict: str = "partial"
    score: float = 0.5

    async def evaluate(self, test_case, trace):
        return EvalResult("verdict", self.verdict, self.score)


@dataclass
class Passed:
    passed: bool
    score: float | None = None


async def later(output):
    return output == "x"


@pytest.mark.parametrize(
    ("part", "verdict", "score"),
    [
        (lambda output: output == "x", PASSES, 1.0),
        (lambda output: output == "y", FAILS, 0.0),
        (lambda trace: len(trace.tool_calls) == 1, PASSES, 1.0),
        (lambda tool_calls: 0.6, PARTLY, 0.6),
        (lambda test_case: test_case.input_text == "question", PASSES, 1.0),
        (later, PASSES, 1.0),
        (InStyle(EvaluationReason(True, "fine")), PASSES, 1.0),
        (InStyle(0.3), FAILS, 0.3),
        (InStyle({"a": True, "b": True}), PASSES, 1.0),
        (InStyle({"a": True, "b": {"c": 0.6}}), PARTLY, 0.8),
        (InStyle({}), SKIPS, 0.0),
        (InStyle(Skipped("no")), SKIPS, 0.0),
        (InStyle("a label"), CRASHES, 0.0),
        (InStyle(7), CRASHES, 0.0),
        (InStyle(math.nan), CRASHES, 0.0),
        (InStyle(None), CRASHES, 0.0),
        (Pair(), PASSES, 1.0),
        (Verdict(), PARTLY, 0.5),
        (Verdict("error", 0.9), CRASHES, 0.0),
        (Verdict("skip", 0.9), SKIPS, 0.0),
        (Verdict("maybe"), CRASHES, 0.0),
        (Verdict("pass", 1.5), CRASHES, 0.0),
        (InStyle(EvalVerdict.PASS), PASSES, 1.0),
        (InStyle(Passed(True)), PASSES, 1.0),
        (InStyle(Passed(False, 0.7)), FAILS, 0.7),
        (InStyle(Passed(True, 7.0)), CRASHES, 0.0),
        (EqualsExpected(), PASSES, 1.0),
        (Contains("z"), FAILS, 0.0),
        (CompositeEvaluator([Says(0.6, PARTLY)]), PARTLY, 0.6),
        (CompositeEvaluator([Says(0.6, CRASHES)]), CRASHES, 0.0),
        (CompositeEvaluator([Says(0.6, SKIPS)]), SKIPS, 0.0),
    ],
    ids=range(31),
)
def test_a_part_may_have_any_style(judge, part, verdict, score):
    result = judge(CompositeEvaluator([part]), expected="x", output_text="x", tool_calls=[ToolCall("search")])
    (row,) = result.metadata["sub_results"]
    assert (row["verdict"], row["score"]) == (verdict, score)
    if verdict in {CRASHES, SKIPS}:
        assert result.verdict == verdict


@pytest.mark.parametrize(
    ("part", "says"),
    [
        (Says(1.0, FAILS), "'fail' with the score 1"),
        (Says(1.0, PARTLY), "'partial' with the score 1"),
        (Says(0.0, PASSES), "'pass' with the score 0"),
        (InStyle(Passed(False, 1.0)), "'fail' with the score 1"),
    ],
    ids=range(4),
)
def test_a_part_that_contradicts_itself_is_an_error_and_never_makes_a_pass(judge, part, says):
    result = judge(CompositeEvaluator([part]))
    assert result.verdict == CRASHES
    assert says in result.reason


def test_a_failure_of_next_to_no_weight_is_still_one(judge):
    parts = [(Says(1.0), 1.0), (Says(0.0, FAILS), 1e-15)]
    assert judge(CompositeEvaluator(parts, pass_threshold=1.0)).verdict == PARTLY


def test_what_has_no_score_says_what_a_part_needs(judge):
    result = judge(CompositeEvaluator([InStyle("positive")]))
    assert "True or False, or a number from 0 to 1, got 'positive'" in result.reason


def test_a_time_that_was_not_measured_does_not_pass(judge):
    composite = CompositeEvaluator([MaxDuration(10)])
    assert judge(composite, output_text="x").verdict == FAILS
    assert judge(composite, total_latency_ms=500).verdict == PASSES


def test_spans_are_not_in_a_trace_and_the_error_says_where_they_are(judge):
    result = judge(CompositeEvaluator([lambda span_tree: True]))
    assert result.verdict == CRASHES
    assert "put the evaluator into a Dataset" in result.reason


# ---------------------------------------------------------------------- in a dataset


def run(composite, task, **case):
    dataset = Dataset(cases=[Case(name="case", inputs="question", **case)], evaluators=[composite])
    return dataset.evaluate_sync(task, progress=False).cases[0]


def test_in_a_dataset_the_parts_see_what_every_evaluator_sees():
    composite = CompositeEvaluator(
        [
            lambda output: output == {"answer": 42},
            lambda inputs, name, duration, seed: (
                (inputs, name) == ("question", "case") and duration < 60 and seed is not None
            ),
            EqualsExpected(),
            lambda span_tree: span_tree is not None,
        ]
    )
    assert composite.needs_spans
    record = run(composite, lambda inputs: {"answer": 42}, expected_output={"answer": 42})
    assert record.assertions["composite"].value is True
    assert record.assertions["composite"].score == 1.0


def test_in_a_dataset_a_part_that_needs_a_trace_is_skipped_where_there_is_none():
    composite = CompositeEvaluator([NonEmptyOutputEvaluator(), Contains("4")])
    alone = run(composite, lambda inputs: "42").assertions["composite"]
    assert alone.reason == "1 of 1 parts passed, score 1.00; skip: non-empty-output"
    both = run(composite, lambda inputs: Trace(output_text="42")).assertions["composite"]
    assert both.reason == "2 of 2 parts passed, score 1.00"


def test_in_a_dataset_a_crash_is_a_failure_of_the_evaluator():
    record = run(CompositeEvaluator([Says(1.0, CRASHES, "judge")]), lambda inputs: Trace(output_text="42"))
    (failure,) = record.evaluator_failures
    assert "judge: RuntimeError: boom" in failure.error_message
    assert "in _evaluate" in failure.error_stacktrace


def test_alone_it_needs_a_trace():
    with pytest.raises(InvalidOptionError, match="'composite' needs a trace"):
        asyncio.run(CompositeEvaluator([Contains("x")]).evaluate(TestCase(name="case")))


# ---------------------------------------------------------------------- side by side, and early


PARTS = st.lists(
    st.tuples(
        st.one_of(
            st.floats(0, 1, exclude_max=True).map(lambda score: (score, PARTLY)),
            st.sampled_from([(1.0, PASSES), (0.0, FAILS), (0.0, SKIPS), (0.0, CRASHES)]),
        ),
        st.sampled_from([0.5, 1.0, 2.0, 7.0]),
    ),
    min_size=1,
    max_size=6,
)
SOUND = PARTS.filter(lambda parts: all(verdict != CRASHES for (_, verdict), _ in parts))


def made_of(parts, **options):
    return CompositeEvaluator(
        [(Says(score, verdict, f"part{i}"), weight) for i, ((score, verdict), weight) in enumerate(parts)],
        **options,
    )


def without_time(result):
    return (
        result.verdict,
        result.score,
        result.reason,
        {k: v for k, v in result.metadata.items() if k != "duration_ms"},
    )


@given(PARTS, st.booleans(), st.sampled_from(["error", "skip", "fail"]))
def test_side_by_side_gives_what_one_after_the_other_gives(judge, parts, stop_early, on_error):
    one = judge(made_of(parts, stop_early=stop_early, on_error=on_error))
    other = judge(made_of(parts, stop_early=stop_early, on_error=on_error, concurrent=True))
    assert without_time(one) == without_time(other)


@given(SOUND)
def test_stopping_early_never_changes_the_verdict(judge, parts):
    whole, early = judge(made_of(parts)), judge(made_of(parts, stop_early=True))
    assert early.verdict == whole.verdict
    ran = [name for name, _ in rows(early)]
    assert [*ran, *early.metadata["not_run"]] == [f"part{i}" for i in range(len(parts))]
    assert whole.metadata["not_run"] == []


@given(SOUND.filter(lambda parts: len(parts) <= 4))
def test_it_stops_as_soon_as_nothing_the_rest_may_say_matters(judge, parts):
    """Beside the evaluator's own reckoning: try the extremes, and skips, for the rest after each prefix."""
    early = judge(made_of(parts, stop_early=True))
    for ran in range(1, len(parts)):
        endings = itertools.product([(0.0, FAILS), (1.0, PASSES), (0.0, SKIPS)], repeat=len(parts) - ran)
        rest = [weight for _, weight in parts[ran:]]
        verdicts = {
            judge(made_of([*parts[:ran], *zip(ending, rest, strict=True)])).verdict for ending in endings
        }
        verdicts.discard(SKIPS)  # only where nothing at all was judged
        if len(verdicts) == 1 and any(verdict != SKIPS for (_, verdict), _ in parts[:ran]):
            assert len(early.metadata["sub_results"]) == ran
            return
    assert len(early.metadata["sub_results"]) == len(parts)


def test_what_was_not_run_is_said(judge):
    ran = []
    parts = [
        (Says(1.0, name="heavy", ran=ran), 8),
        (Says(1.0, name="slow", ran=ran), 1),
        (Says(1.0, name="dear", ran=ran), 1),
    ]
    result = judge(CompositeEvaluator(parts, stop_early=True))
    assert (result.verdict, ran) == (PASSES, ["heavy"])
    assert result.reason == "1 of 1 parts passed, score 1.00; not run: slow, dear"


def test_an_error_ends_the_parts_at_once(judge):
    ran = []
    result = judge(CompositeEvaluator([Says(0, CRASHES), Says(1.0, ran=ran)], stop_early=True))
    assert (result.verdict, ran, result.metadata["not_run"]) == (CRASHES, [], ["says"])


def test_side_by_side_the_parts_wait_together(judge):
    met = asyncio.Barrier(3)

    async def meet(output):
        await asyncio.wait_for(met.wait(), 5)  # ends in an error unless all three run at once
        return True

    assert judge(CompositeEvaluator([meet, meet, meet], concurrent=True)).verdict == PASSES


def test_side_by_side_what_is_not_needed_any_more_is_cancelled():
    cancelled = []

    async def forever(output):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append("forever")
            raise

    async def main():
        composite = CompositeEvaluator([(Says(1.0), 9), (forever, 1)], concurrent=True, stop_early=True)
        result = await composite.evaluate(TestCase(name="case"), Trace())
        assert len(asyncio.all_tasks()) == 1
        return result

    result = asyncio.run(main())
    assert (result.verdict, result.metadata["not_run"]) == (PASSES, ["forever"])


@pytest.mark.parametrize("concurrent", [False, True])
def test_a_composite_that_is_cancelled_cancels_its_parts(concurrent):
    ended = []

    async def forever(output):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("forever")

    async def main():
        composite = CompositeEvaluator([forever, forever], concurrent=concurrent)
        task = asyncio.ensure_future(composite.evaluate(TestCase(name="case"), Trace()))
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
    assert len(ended) == (2 if concurrent else 1)


# ---------------------------------------------------------------------- what it is made of


@pytest.mark.parametrize("weight", [0, -1, math.nan, math.inf, "1", None, True])
def test_a_weight_is_a_positive_number(weight):
    with pytest.raises(
        InvalidOptionError,
        match=r"weight of the part 'says' of CompositeEvaluator must be a (finite )?number above 0",
    ):
        CompositeEvaluator([(Says(), weight)])


@pytest.mark.parametrize("parts", [[], ()])
def test_nothing_cannot_be_composed(parts):
    with pytest.raises(InvalidOptionError, match="at least one evaluator"):
        CompositeEvaluator(parts)


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        (Says(), InvalidOptionError),
        (None, InvalidOptionError),
        ([(Says(), 1, 2)], InvalidOptionError),
        ([()], InvalidOptionError),
        ([5], NotAnEvaluatorError),
        ([(Says, 1)], NotAnEvaluatorError),
        ([(1, Says())], NotAnEvaluatorError),
    ],
    ids=range(7),
)
def test_what_is_no_part_is_refused(parts, error):
    with pytest.raises(error):
        CompositeEvaluator(parts)


@pytest.mark.parametrize("option", ["pass_threshold", "partial_threshold"])
@pytest.mark.parametrize("value", [0, -1, 1.1, math.nan, "1", None])
def test_a_threshold_is_a_share(option, value):
    with pytest.raises(InvalidOptionError, match=f"{option} of .*, got "):
        CompositeEvaluator([Says()], **{option: value})


def test_a_policy_that_does_not_exist_is_refused():
    with pytest.raises(InvalidOptionError, match="error, skip, fail, got 'ignore'"):
        CompositeEvaluator([Says()], on_error="ignore")


def test_its_spec_tells_the_parts_by_theirs():
    spec = CompositeEvaluator([(LatencyBudgetEvaluator(1000), 2), Contains("x")], pass_threshold=0.9)
    again = CompositeEvaluator([(LatencyBudgetEvaluator(1000), 2), Contains("x")], pass_threshold=0.9)
    assert spec.as_spec() == again.as_spec()
    arguments = spec.as_spec().arguments
    assert arguments["pass_threshold"] == 0.9
    assert [(part.name, part.arguments, weight) for part, weight in arguments["evaluators"]] == [
        ("LatencyBudgetEvaluator", {"budget_ms": 1000}, 2),
        ("Contains", {"value": "x"}, 1.0),
    ]


def test_it_is_copied_and_pickled_after_it_has_judged(judge):
    composite = CompositeEvaluator([(NonEmptyOutputEvaluator(), 1), (Contains("x"), 2)])
    judge(composite, output_text="x")
    for again in (copy.deepcopy(composite), pickle.loads(pickle.dumps(composite))):
        assert again == composite
        assert judge(again, output_text="x").verdict == PASSES


@pytest.mark.parametrize(
    "options", [{}, {"concurrent": True, "stop_early": True}], ids=["plain", "concurrent"]
)
def test_it_keeps_the_contract_of_an_evaluator(options):
    composite = CompositeEvaluator(
        [(NonEmptyOutputEvaluator(), 1), (Contains("x"), 2)], on_error="skip", **options
    )
    check_evaluator(composite, contexts=[make_context(Trace(output_text=text)) for text in ("x", "y", "")])


def test_a_composite_of_composites_is_judged_from_within(judge):
    inner = CompositeEvaluator([(Says(1.0), 1), (Says(0.0, FAILS), 1)], name="inner")
    outer = CompositeEvaluator([(inner, 1), (Says(1.0), 3)])
    result = judge(outer)
    assert (result.score, rows(result)) == (0.875, [("inner", PARTLY), ("says", PASSES)])
    assert evaluate_one(outer, make_context(Trace())).passed
