"""One evaluator over one context, judged as a run would judge it."""

from typing import Any

from calipers.data.attempt import Attempt
from calipers.data.case import Case
from calipers.data.context import EvaluatorContext
from calipers.data.record import ReportCase
from calipers.process.loop import run_sync
from calipers.scoring.plan import make_plan
from calipers.scoring.scoring import Scoring


def evaluate_one(
    evaluator: Any, ctx: EvaluatorContext[Any, Any, Any], *, timeout: float | None = None
) -> ReportCase:
    """What a report would keep of one evaluator's opinion of one attempt.

    The record has its `results` (also by kind: `assertions`, `scores`, `labels`), and tells the rest apart as a run
    does: `skipped` where it did not apply, `evaluator_failures` where it did not finish.

    Args:
        evaluator: of any style that `as_evaluator` knows, sync or async.
        ctx: made by `make_context`, or by hand.
        timeout: seconds it may take.

    Raises:
        NotAnEvaluatorError: `evaluator` has none of the shapes.
    """
    plan = make_plan([evaluator])
    for judge in plan.evaluators:
        # The scorer starts each attempt with no earlier results; the judge is shown the context as it was given.
        judge.evaluate = _shown(ctx, judge.evaluate)
    attempt = _attempt(ctx)
    scoring = Scoring(timeout=timeout)
    return run_sync(lambda: scoring.score(attempt, plan, scoring.context(attempt)))


def _shown(given: EvaluatorContext[Any, Any, Any], evaluate: Any) -> Any:
    def evaluate_given(ctx: EvaluatorContext[Any, Any, Any]) -> Any:  # noqa: ARG001 - the scorer's own
        return evaluate(given)

    return evaluate_given


def _attempt(ctx: EvaluatorContext[Any, Any, Any]) -> Attempt:
    """The attempt a context tells of, as far as it does: one made by hand has none behind it."""
    stated: dict[str, Any] = {"expected_output": ctx.expected_output} if ctx.has_expected_output else {}
    name = ctx.name or "case"
    case: Case[Any, Any, Any] = Case(
        name=name,
        inputs=ctx.inputs,
        metadata=ctx.metadata,
        expected_tool_calls=ctx.expected_tool_calls,
        **stated,
    )
    return Attempt(
        case,
        ctx.inputs,
        name,
        name,
        1,
        0,
        ctx.metrics,
        ctx.attributes,
        output=ctx.output,
        duration=ctx.duration,
        trace=ctx.trace,
    )
