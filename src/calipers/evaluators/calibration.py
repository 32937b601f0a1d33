"""The calibration of a confidence: of the attempts it called 80% likely to be right, were 80% right?

Each bin's observed rate has a Wilson interval, and the Brier score a t interval. Where attempts share a case or a
cluster, both count groups and not attempts: Wilson of an effective size, and the clustered t. The t interval is cut to
the range that a Brier score can have, 0 to 1.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import msgspec

from calipers.data.argument_checks import check_whole_number
from calipers.errors import InvalidOptionError
from calipers.report.analysis import CalibrationCurve
from calipers.report.report_evaluator import ReportEvaluatorContext
from calipers.stats import CalibrationBin, Interval, calibration, mean, rate

from .attempt_values import Sample
from .score_curves import Scored, ScoredReportEvaluator


@dataclass
class CalibrationEvaluator(ScoredReportEvaluator):
    """Holds predicted probabilities against what happened: reliability diagram, Brier score, calibration error.

    `CalibrationEvaluator("confidence", positive_from="assertions", positive_key="EqualsExpected")` asks whether a stated
    confidence is the chance of being right. The score must be a probability, from 0 to 1.
    """

    title: str = field(default="Calibration", kw_only=True)
    """What the analysis is called."""
    n_bins: int = field(default=10, kw_only=True)
    """Bins of equal width."""
    confidence: float = field(default=0.95, kw_only=True)
    """Of the intervals."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole_number("n_bins", self.n_bins, at_least=1)
        if not 0 < self.confidence < 1:
            raise InvalidOptionError(
                f"confidence must lie strictly between 0 and 1 (0.95 for 95%), got {self.confidence!r}"
            )

    def evaluate(self, ctx: ReportEvaluatorContext) -> CalibrationCurve:
        """The curve, with its Brier score and its expected calibration error.

        Raises:
            InvalidOptionError: a score is no probability.
        """
        sample = self.sample(ctx.report)
        self._check(sample)
        scores, outcomes = [s.score for s in sample.values], [s.positive for s in sample.values]
        found = calibration(scores, outcomes, n_bins=self.n_bins, confidence=self.confidence)
        errors = [[(s.score - s.positive) ** 2] for s in sample.values]
        brier = mean(errors, clusters=sample.groups, confidence=self.confidence)
        bins = [] if found is None else self._honest(found.bins, sample)
        return CalibrationCurve(
            title=self.title,
            note=sample.note(self.missing_class(sample)),
            bins=bins,
            brier=None if brier is None else brier.value,
            brier_interval=None if brier is None else _within_range(brier.interval),
            ece=None if found is None else found.expected_error,
            n_positive=sum(outcomes),
            n_negative=len(outcomes) - sum(outcomes),
        )

    def _check(self, sample: Sample[Scored]) -> None:
        for record, scored in zip(sample.records, sample.values, strict=True):
            if not 0 <= scored.score <= 1:
                raise InvalidOptionError(
                    f"the {self._sources()[0].words} of {record.name!r} is {scored.score!r}, and calibration needs "
                    "probabilities from 0 to 1: scale the score, or use ROCEvaluator, which only needs its order"
                )

    def _honest(self, bins: Sequence[CalibrationBin], sample: Sample[Scored]) -> list[CalibrationBin]:
        """The bins, with intervals that know which attempts belong together."""
        groups = sample.groups
        if groups is None:
            return list(bins)
        members: list[tuple[list[tuple[float, int]], list[Hashable]]] = [([], []) for _ in bins]
        for scored, group in zip(sample.values, groups, strict=True):
            index = next(i for i, one in enumerate(bins) if scored.score < one.high or i == len(bins) - 1)
            members[index][0].append((scored.positive, 1))
            members[index][1].append(group)
        return [
            one
            if (estimate := rate(passes, clusters=clusters, confidence=self.confidence)) is None
            else msgspec.structs.replace(one, interval=estimate.interval)
            for one, (passes, clusters) in zip(bins, members, strict=True)
        ]


def _within_range(interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    return msgspec.structs.replace(interval, low=max(interval.low, 0.0), high=min(interval.high, 1.0))
