"""An evaluator over many traces of one case: the mean score that another evaluator gives them, with its interval.

An agent that is asked the same thing twice may answer differently, so one trace says little. The summary keeps apart what
a mean would mix: the scores, the traces on which the evaluator did not finish, and those it did not apply to.

The interval of the mean is Wilson's where all scores are 0 or 1, else Student's t, within 0 to 1; `None` where the scores
cannot tell. Scores that are all equal, other than 0 and 1, give an interval of no width.

In a `Dataset`, `repeats=` does this for every case at once, and the report knows that repeats of one case are not
independent.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal

from calipers.agents.test_case import TestCase, as_test_case
from calipers.agents.verdict_evaluator import BaseEvaluator, Scale, skip, weighted_mean
from calipers.data.argument_checks import check_choice, check_share
from calipers.data.case import Case
from calipers.data.evaluator import Evaluator, EvaluatorLike, changed_fields, make_ready
from calipers.data.evaluator_styles import as_evaluator
from calipers.data.result import EvalResult, EvaluatorSpec, EvalVerdict
from calipers.data.trace import Trace
from calipers.errors import CalipersError, InvalidOptionError
from calipers.stats import Estimate, Interval, Moments, quantiles, rate_from_counts, t_interval, wilson

from .composite import context_of, evaluate_part


@dataclass(frozen=True, kw_only=True)
class StatisticalSummary:
    """The results of one evaluator on many traces."""

    evaluator_name: str
    results: Sequence[EvalResult] = field(repr=False)
    """One for each trace, in order."""
    scores: Sequence[float] = field(repr=False)
    """The scores of the traces that it judged."""
    mean: float | None
    """`None`, like the other numbers, where no trace was judged."""
    std_dev: float | None
    """Of the sample, with divisor n - 1; `None` for fewer than two scores."""
    median: float | None
    p5: float | None
    """The quantile below which 5 % of the scores lie."""
    p95: float | None
    interval: Interval | None
    """Where the true mean may lie; `None` where the scores cannot tell."""
    confidence: float = 0.95
    """Of the intervals."""

    @property
    def sample_count(self) -> int:
        """Traces that were judged."""
        return len(self.scores)

    @property
    def passed(self) -> int:
        """Traces with the verdict PASS."""
        return self._count(EvalVerdict.PASS)

    @property
    def errors(self) -> int:
        """Traces on which the evaluator did not finish; they have no score."""
        return self._count(EvalVerdict.ERROR)

    @property
    def skipped(self) -> int:
        """Traces that the evaluator did not apply to; they have no score."""
        return self._count(EvalVerdict.SKIP)

    @property
    def pass_rate(self) -> Estimate | None:
        """The share of traces that passed, with Wilson's interval; an error counts as not passed, a skip not at all."""
        return rate_from_counts(self.passed, len(self.results) - self.skipped, confidence=self.confidence)

    @property
    def ci_lower(self) -> float | None:
        """The lower end of the interval."""
        return None if self.interval is None else self.interval.low

    @property
    def ci_upper(self) -> float | None:
        """The upper end of the interval."""
        return None if self.interval is None else self.interval.high

    def _count(self, verdict: EvalVerdict) -> int:
        return sum(result.verdict == verdict for result in self.results)


@dataclass
class StatisticalEvaluator(BaseEvaluator):
    """Judges many traces of one case by another evaluator. On a single trace it gives the result of the other one."""

    inner: EvaluatorLike[Any, Any, Any]
    """The evaluator of each trace, in any style."""
    pass_threshold: float = field(default=0.7, kw_only=True)
    """The lowest mean score that is a PASS."""
    partial_threshold: float = field(default=0.5, kw_only=True)
    """The lowest mean score that is a PARTIAL."""
    confidence: float = field(default=0.95, kw_only=True)
    """Of the interval."""
    on_error: Literal["error", "skip"] = field(default="error", kw_only=True)
    """What traces on which `inner` did not finish make of a summary's verdict: an ERROR, or nothing."""
    name: str = field(default="", kw_only=True)
    """Default: `statistical-` and the name of `inner`."""

    def __post_init__(self) -> None:
        for option in ("pass_threshold", "partial_threshold"):
            check_share(f"{option} of StatisticalEvaluator", getattr(self, option), or_zero=False)
        if not isinstance(self.confidence, float) or not 0 < self.confidence < 1:
            raise InvalidOptionError(
                f"confidence must lie between 0 and 1, such as 0.95, got {self.confidence!r}"
            )
        check_choice("on_error of StatisticalEvaluator", self.on_error, ("error", "skip"))
        self.name = self.name or f"statistical-{self._part.get_default_evaluation_name()}"

    def __getstate__(self) -> dict[str, Any]:
        # The cached inner evaluator cannot be pickled, and is made again when needed.
        return {each.name: getattr(self, each.name) for each in fields(self)}

    async def before_run(self) -> None:
        """See to what the inner evaluator needs."""
        await make_ready(self._part)

    def as_spec(self) -> EvaluatorSpec:
        """The type's name, the inner evaluator by its own spec, and the arguments that differ from their defaults."""
        return EvaluatorSpec(type(self).__name__, {**changed_fields(self), "inner": self._part.as_spec()})

    async def evaluate_multiple(
        self, test_case: TestCase | Case[Any, Any, Any], traces: Iterable[Trace]
    ) -> StatisticalSummary:
        """The results of the inner evaluator on the traces of a case, one after the other.

        Raises:
            InvalidOptionError: there are no traces.
        """
        case, given = as_test_case(test_case), list(traces)
        if not given:
            raise InvalidOptionError(f"{self.name!r} needs at least one trace of {case.name!r}, got none")
        for trace in given:
            if not isinstance(trace, Trace):
                raise InvalidOptionError(f"{self.name!r} judges Trace objects, got {trace!r:.200}")
        results = [await evaluate_part(self._part, context_of(case, trace), self._scale) for trace in given]
        return summarize(self.name, results, confidence=self.confidence)

    def summary_to_eval_result(self, summary: StatisticalSummary) -> EvalResult:
        """The verdict on a summary: by its mean score."""
        told = f"{summary.errors} of {len(summary.results)} traces could not be judged"
        if summary.errors and (self.on_error == "error" or not summary.scores):
            first = next(result for result in summary.results if result.verdict == EvalVerdict.ERROR)
            error = CalipersError(f"{told}: {first.reason}")
            error.__cause__ = first.error
            return EvalResult(self.name, EvalVerdict.ERROR, 0.0, str(error), _metadata(summary), error=error)
        if summary.mean is None:
            return skip(self.name, f"all {len(summary.results)} traces were skipped", **_metadata(summary))
        reason = f"mean score {summary.mean:.3f} of {summary.sample_count} traces"
        if summary.interval is not None:
            low, high = summary.interval.low, summary.interval.high
            reason += f" ({summary.confidence * 100:g} % interval {low:.3f} to {high:.3f})"
        reason += f"; {told}" if summary.errors else ""
        reason += f"; {summary.skipped} skipped" if summary.skipped else ""
        return self._scale.result(self.name, summary.mean, reason, **_metadata(summary))

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:
        result = await evaluate_part(self._part, context_of(test_case, trace), self._scale)
        return replace(result, evaluator_name=self.name)

    @cached_property
    def _part(self) -> Evaluator[Any, Any, Any]:
        return as_evaluator(self.inner)

    @property
    def _scale(self) -> Scale:
        return Scale(self.pass_threshold, self.partial_threshold)


def summarize(name: str, results: Sequence[EvalResult], *, confidence: float = 0.95) -> StatisticalSummary:
    """The summary of results of one evaluator."""
    judged = {EvalVerdict.PASS, EvalVerdict.PARTIAL, EvalVerdict.FAIL}
    scores = [result.score for result in results if result.verdict in judged]
    variance = Moments.of(scores).variance
    p5, median, p95 = quantiles(scores, [0.05, 0.5, 0.95]) or (None, None, None)
    return StatisticalSummary(
        evaluator_name=name,
        results=tuple(results),
        scores=tuple(scores),
        mean=weighted_mean(scores, [1.0] * len(scores)) if scores else None,
        std_dev=None if variance is None else math.sqrt(variance),
        median=median,
        p5=p5,
        p95=p95,
        interval=_interval(scores, confidence),
        confidence=confidence,
    )


def _interval(scores: Sequence[float], confidence: float) -> Interval | None:
    if all(score in {0.0, 1.0} for score in scores):
        return wilson(sum(scores), len(scores), confidence=confidence)
    found = t_interval(scores, confidence=confidence)
    if found is None:
        return None
    return Interval(max(0.0, found.low), min(1.0, found.high), found.confidence, found.method)


def _metadata(summary: StatisticalSummary) -> dict[str, Any]:
    return {
        "sample_count": summary.sample_count,
        "errors": summary.errors,
        "skipped": summary.skipped,
        "mean": summary.mean,
        "std_dev": summary.std_dev,
        "ci_lower": summary.ci_lower,
        "ci_upper": summary.ci_upper,
    }
