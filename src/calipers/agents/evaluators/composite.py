"""An evaluator made of others, each with a weight: one verdict for many.

The parts may have any style that `as_evaluator` knows, and may be composites themselves. In a `Dataset` they see all that
any evaluator of the attempt sees; judged alone, they see the case and the trace.

- The score is the weighted mean of the parts that judged. A skipped part does not count; if all are skipped, the whole is.
- A part that did not finish makes the whole an ERROR, unless `on_error` says otherwise.
- Run side by side, the parts give the same result as one after the other.
- Stopping early leaves out the parts that cannot change the verdict any more. The score is then the mean of those that
  ran, and the result names those that did not. An error that one of these would have raised is not seen.

The answer of each part becomes one `EvalResult`. A verdict stays what it is, True and False become PASS and FAIL, and a
number from 0 to 1 is read by the thresholds of the whole. Several results of one part become their mean, which passes if
each does. A label, or a number beyond 0 to 1, is an error of the part. So is a verdict that its own score contradicts: a
FAIL with the score 1 would count as passed in a mean.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from calipers.agents.test_case import TestCase
from calipers.agents.verdict_evaluator import (
    BaseEvaluator,
    Scale,
    check_items,
    failed,
    skip,
    some_of,
    weighted_mean,
)
from calipers.data.argument_checks import check_choice, check_number, check_share
from calipers.data.case import Case
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator, EvaluatorLike, changed_fields, make_ready
from calipers.data.evaluator_output import Judgement, read_output
from calipers.data.evaluator_styles import as_evaluator
from calipers.data.result import EvalResult, EvaluatorSpec, EvalVerdict, Skipped
from calipers.data.trace import Trace
from calipers.errors import CalipersError, InvalidOptionError, InvalidOutputError, SpanTreeRecordingError


class _Facts(NamedTuple):
    """What a context asks of an attempt."""

    case: TestCase
    seed: int = 0
    repeat_index: int | None = None


def context_of(case: TestCase, trace: Trace) -> EvaluatorContext[Any, Any, Any]:
    """A case and a trace as evaluators of every style see them."""
    return EvaluatorContext(
        name=case.name,
        inputs=case.inputs,
        metadata=case.metadata,
        expected_output=case.expected_output,
        output=trace.output_text,
        # A time that was not measured passes no comparison.
        duration=trace.total_latency_ms / 1000 if trace.latency_measured else math.nan,
        _span_tree=SpanTreeRecordingError(
            "a trace has no spans: put the evaluator into a Dataset, whose runs record them"
        ),
        attributes={},
        metrics={},
        trace=trace,
        _attempt=_Facts(case),
    )


async def evaluate_part(
    part: Evaluator[Any, Any, Any], ctx: EvaluatorContext[Any, Any, Any], scale: Scale
) -> EvalResult:
    """The result of a part: a verdict with its score, SKIP where it does not apply, ERROR where it does not finish."""
    name = part.get_default_evaluation_name()
    try:
        output: Any = await part.evaluate_async(ctx)
        if isinstance(output, EvalResult) and output.verdict in {EvalVerdict.ERROR, EvalVerdict.SKIP}:
            return replace(output, verdict=EvalVerdict(output.verdict), score=0.0)
        found = read_output(output)
        return _result(name, found, scale)
    except (Exception, SystemExit) as error:
        return failed(name, error)


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


OnError: TypeAlias = Literal["error", "skip", "fail"]
"""What a part that did not finish makes of the whole: an ERROR, nothing, or a 0 in the mean."""


@dataclass
class CompositeEvaluator(BaseEvaluator):
    """PASS, PARTIAL or FAIL by the weighted mean of what several evaluators say."""

    evaluators: Sequence[tuple[EvaluatorLike[Any, Any, Any], float] | EvaluatorLike[Any, Any, Any]]
    """The parts as `(evaluator, weight)`, or just the evaluator for the weight 1. Only proportions count."""
    pass_threshold: float = 0.8
    """The lowest score that is a PASS."""
    partial_threshold: float = 0.5
    """The lowest score that is a PARTIAL."""
    name: str = "composite"
    concurrent: bool = field(default=False, kw_only=True)
    """Whether the parts run side by side: worth it if they wait, as for a model."""
    stop_early: bool = field(default=False, kw_only=True)
    """Whether to stop once the verdict cannot change any more. Put the cheap and the heavy parts first."""
    on_error: OnError = field(default="error", kw_only=True)
    """What a part that did not finish makes of the whole: an ERROR, nothing (`skip`), or a 0 in the mean (`fail`)."""

    def __post_init__(self) -> None:
        check_items("CompositeEvaluator", "evaluators", self.evaluators, "(evaluator, weight)")
        check_share("pass_threshold of CompositeEvaluator", self.pass_threshold, or_zero=False)
        check_share("partial_threshold of CompositeEvaluator", self.partial_threshold, or_zero=False)
        check_choice("on_error of CompositeEvaluator", self.on_error, get_args(OnError))
        if not self._parts:
            raise InvalidOptionError("CompositeEvaluator needs at least one evaluator, got none")
        for part, weight in self._parts:
            name = part.get_default_evaluation_name()
            check_number(f"weight of the part {name!r} of CompositeEvaluator", weight, above=0)

    def __getstate__(self) -> dict[str, Any]:
        # The cached parts cannot be pickled, and are made again when needed.
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def needs_spans(self) -> bool:
        """Whether a part reads spans, so that a run must record them."""
        return any(part.needs_spans for part, _ in self._parts)

    async def before_run(self) -> None:
        """See to what the parts need."""
        for part, _ in self._parts:
            await make_ready(part)

    def as_spec(self) -> EvaluatorSpec:
        """The type's name, the parts by their own specs, and the arguments that differ from their defaults."""
        parts = [(part.as_spec(), weight) for part, weight in self._parts]
        return EvaluatorSpec(type(self).__name__, {**changed_fields(self), "evaluators": parts})

    async def evaluate(
        self,
        test_case: TestCase | Case[Any, Any, Any],
        trace: Trace | None = None,
        ctx: EvaluatorContext[Any, Any, Any] | None = None,
    ) -> EvalResult:
        """The verdict of the parts together.

        Args:
            test_case: the case.
            trace: what the agent did; optional where there is a context.
            ctx: the attempt, as a `Dataset` passes it; default: made of the case and the trace.
        """
        if ctx is not None:
            return await self._captured(lambda: self._evaluate_context(ctx))
        if trace is None:
            raise InvalidOptionError(f"{self.name!r} needs a trace to judge: pass evaluate(test_case, trace)")
        return await super().evaluate(test_case, trace)

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        return await self._evaluate_context(context_of(test_case, trace))

    @cached_property
    def _parts(self) -> list[tuple[Evaluator[Any, Any, Any], Any]]:
        pairs = [each if isinstance(each, list | tuple) else (each, 1.0) for each in self.evaluators]
        for pair in pairs:
            if len(pair) != 2:
                raise InvalidOptionError(f"a part is an evaluator or (evaluator, weight), got {pair!r:.200}")
        return [(as_evaluator(part), weight) for part, weight in pairs]

    @property
    def _scale(self) -> Scale:
        return Scale(self.pass_threshold, self.partial_threshold)

    async def _evaluate_context(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvalResult:
        results = await self._run(ctx)
        rows = [
            {
                "evaluator": result.evaluator_name,
                "verdict": result.verdict.value,
                "score": result.score,
                "reason": result.reason,
                "weight": weight,
            }
            for result, (_, weight) in zip(results, self._parts, strict=False)
        ]
        not_run = [part.get_default_evaluation_name() for part, _ in self._parts[len(results) :]]
        metadata = {"sub_results": rows, "not_run": not_run}
        errors = [result for result in results if result.verdict == EvalVerdict.ERROR]
        scores, weights = self._counted(results)
        if errors and (self.on_error == "error" or not scores):
            return self._error(errors, metadata)
        if not scores:
            return skip(self.name, f"all {len(results)} parts were skipped", **metadata)
        score = weighted_mean(scores, weights)
        return self._scale.result(self.name, score, _reason(results, score, not_run), **metadata)

    async def _run(self, ctx: EvaluatorContext[Any, Any, Any]) -> list[EvalResult]:
        """The results of the parts, in order, up to the one that decides."""
        scale, results = self._scale, list[EvalResult]()
        together = self._parts if self.concurrent else []
        running = [asyncio.ensure_future(evaluate_part(part, ctx, scale)) for part, _ in together]
        try:
            for number, (part, _) in enumerate(self._parts, 1):
                results.append(await (running[number - 1] if running else evaluate_part(part, ctx, scale)))
                if self.stop_early and number < len(self._parts) and self._decided(results):
                    break
        finally:
            left = running[len(results) :]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
        return results

    def _counted(self, results: Sequence[EvalResult]) -> tuple[list[float], list[float]]:
        """Scores and weights of the parts that take part in the mean."""
        counts = {EvalVerdict.PASS, EvalVerdict.PARTIAL, EvalVerdict.FAIL}
        if self.on_error == "fail":
            counts.add(EvalVerdict.ERROR)
        found = [
            (result.score, weight)
            for result, (_, weight) in zip(results, self._parts, strict=False)
            if result.verdict in counts
        ]
        return [score for score, _ in found], [weight for _, weight in found]

    def _decided(self, results: Sequence[EvalResult]) -> bool:
        """Whether the verdict is the same whatever the parts that have not run would say."""
        if self.on_error == "error" and results[-1].verdict == EvalVerdict.ERROR:
            return True
        scores, weights = self._counted(results)
        rest = [weight for _, weight in self._parts[len(results) :]]
        lowest, highest = (
            weighted_mean([*scores, *[score] * len(rest)], [*weights, *rest]) for score in (0.0, 1.0)
        )
        return self._scale.verdict(lowest) == self._scale.verdict(highest)

    def _error(self, errors: Sequence[EvalResult], metadata: dict[str, Any]) -> EvalResult:
        told = some_of([f"{result.evaluator_name}: {result.reason}" for result in errors])
        reason = f"{len(errors)} of {len(self._parts)} parts did not finish: {told}"
        error = CalipersError(reason)
        error.__cause__ = errors[0].error
        return EvalResult(self.name, EvalVerdict.ERROR, 0.0, reason, metadata, error=error)


def _reason(results: Sequence[EvalResult], score: float, not_run: Sequence[str]) -> str:
    """How many parts passed, and the names of the others."""
    named = {verdict: [r.evaluator_name for r in results if r.verdict == verdict] for verdict in EvalVerdict}
    judged = len(results) - len(named[EvalVerdict.SKIP])
    told = [f"{len(named[EvalVerdict.PASS])} of {judged} parts passed, score {score:.2f}"]
    others = (EvalVerdict.PARTIAL, EvalVerdict.FAIL, EvalVerdict.ERROR, EvalVerdict.SKIP)
    told += [f"{verdict.value}: {', '.join(named[verdict])}" for verdict in others if named[verdict]]
    told += [f"not run: {', '.join(not_run)}"] if not_run else []
    return "; ".join(told)
