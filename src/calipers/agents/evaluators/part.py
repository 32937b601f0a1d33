"""One evaluator as a part of another: whatever its style, what it says becomes one `EvalResult`.

A verdict stays what it is. True and False become PASS and FAIL, a number from 0 to 1 is read off the scale of the whole,
and several results of one part become their mean, which passes if each does. A label, or a number beyond 0 to 1, has no
score: that is an error of the part. So is a verdict that its own score contradicts: in a mean, what failed with a score of
1 would count as passed.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from calipers.agents.test_case import TestCase
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.evaluator_output import Judgement, read_output
from calipers.data.result import EvalResult, EvalVerdict, Skipped, describe_error
from calipers.data.trace import Trace
from calipers.errors import InvalidOutputError, SpanTreeRecordingError

from .scale import Scale


class _Facts(NamedTuple):
    """What a context asks of an attempt."""

    case: TestCase
    seed: int = 0


def context_of(case: TestCase, trace: Trace) -> EvaluatorContext[Any, Any, Any]:
    """A case and a trace as evaluators of every style see them."""
    return EvaluatorContext(
        name=case.name,
        inputs=case.inputs,
        metadata=case.metadata,
        expected_output=case.expected_output,
        output=trace.output_text,
        # A time that nobody measured is no time: whoever compares it does not pass.
        duration=trace.total_latency_ms / 1000 if trace.latency_measured else math.nan,
        _span_tree=SpanTreeRecordingError(
            "a trace tells no spans: put the evaluator into a Dataset, whose runs record them"
        ),
        attributes={},
        metrics={},
        trace=trace,
        _attempt=_Facts(case),
    )


async def judge(
    part: Evaluator[Any, Any, Any], ctx: EvaluatorContext[Any, Any, Any], scale: Scale
) -> EvalResult:
    """What a part says: a verdict with its score, SKIP where it does not apply, ERROR where it does not finish."""
    name = part.get_default_evaluation_name()
    try:
        output: Any = await part.evaluate_async(ctx)
        if isinstance(output, EvalResult) and output.verdict in {EvalVerdict.ERROR, EvalVerdict.SKIP}:
            return replace(output, verdict=EvalVerdict(output.verdict), score=0.0)
        found = read_output(output)
        return _result(name, found, scale)
    except (Exception, SystemExit) as error:
        kind, message, _ = describe_error(error)
        return EvalResult(name, EvalVerdict.ERROR, 0.0, message, {"error_type": kind}, error=error)


def _result(name: str, found: Sequence[Judgement] | Skipped, scale: Scale) -> EvalResult:
    if isinstance(found, Skipped):
        return EvalResult(name, EvalVerdict.SKIP, 0.0, found.reason)
    if len(found) == 1 and isinstance(found[0].original, EvalResult) and found[0].verdict is not None:
        return replace(found[0].original, verdict=found[0].verdict, score=_read(name, found[0], scale).score)
    results = [_read(name, judgement, scale) for judgement in found]
    if len(results) == 1:
        return results[0]
    verdicts = {result.verdict for result in results}
    score = math.fsum(result.score for result in results) / len(results)
    verdict = verdicts.pop() if len(verdicts) == 1 else EvalVerdict.PARTIAL
    reasons = [
        f"{judgement.key}: {result.verdict.value}" for judgement, result in zip(found, results, strict=True)
    ]
    return EvalResult(name, verdict, score, "; ".join(reasons))


def _read(name: str, judgement: Judgement, scale: Scale) -> EvalResult:
    """One judgement as a verdict with its score."""
    value, reason = judgement.value, judgement.reason or ""
    score = value if judgement.score is None else judgement.score
    if isinstance(score, str) or not 0 <= score <= 1:
        raise InvalidOutputError(
            f"a part needs a verdict, True or False, or a number from 0 to 1, got {score!r:.200}"
        )
    if isinstance(value, bool):
        verdict = judgement.verdict or (EvalVerdict.PASS if value else EvalVerdict.FAIL)
        if score == (0 if value else 1):
            raise InvalidOutputError(
                f"a part gave the verdict {verdict.value!r} with the score {score:g}, and they contradict each other: "
                "a pass scores more than 0, and anything else less than 1"
            )
        return EvalResult(name, verdict, float(score), reason)
    return EvalResult(name, scale.verdict(score), float(score), reason)
