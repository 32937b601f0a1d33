"""A score of each attempt beside the truth about it: ROC curve, precision and recall, Kolmogorov-Smirnov, calibration.

The truth is yes or no: a bool, or any other value of which `positive_label` names the one that means yes. Attempts are
left out if their truth is `None` or neither yes nor no, and if they have no score. If no attempt has a truth that can be
read, the evaluator asks for `positive_label`.

Calibration asks of a probability: of the attempts it called 80% likely to be right, were 80% right? Each bin's observed
rate has a Wilson interval, and the Brier score a t interval, cut to the range from 0 to 1. Where attempts share a case
or a cluster, both count groups and not attempts: Wilson of an effective size, and the clustered t.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import msgspec

from calipers.data.argument_checks import check_whole_number
from calipers.data.evaluator_output import read_scalar
from calipers.data.result import Scalar
from calipers.data.value_text import show
from calipers.errors import InvalidOptionError, InvalidOutputError
from calipers.report.analysis import CalibrationCurve, PrecisionRecall, RocCurve, ScalarResult
from calipers.report.report import Report
from calipers.report.report_evaluator import ReportEvaluator, ReportEvaluatorContext
from calipers.stats import CalibrationBin, Interval, calibration, mean, rank, rate

from .attempt_values import Missing, Place, Sample, Source, attempts

PointT = TypeVar("PointT")


class Scored(NamedTuple):
    """One attempt's score, and the truth about it."""

    score: float
    positive: bool
    truth: Scalar
    """The value that was read as positive or negative."""


@dataclass
class ScoredReportEvaluator(ReportEvaluator):
    """Base of the report evaluators that compare a score with the truth."""

    score_key: str | None = None
    """Which score; optional only if `score_from` is a single value, such as the output."""
    score_from: Place = field(default="scores", kw_only=True)
    """Where the score is found."""
    positive_from: Place = field(default="expected_output", kw_only=True)
    """Where the truth is found."""
    positive_key: str | None = field(default=None, kw_only=True)
    """Which part of it; `None` for all of it."""
    positive_label: Scalar | None = field(default=None, kw_only=True)
    """The value that counts as positive; `None` if the truth is True or False."""

    def __post_init__(self) -> None:
        self._sources()

    def sample(self, report: Report) -> Sample[Scored]:
        """The scored attempts of the report.

        Raises:
            InvalidOptionError: no truth is True or False, some are something else, and no `positive_label` was given.
        """
        score, truth = self._sources()
        sample: Sample[Scored] = Sample()
        unread: list[InvalidOptionError] = []
        known = 0
        for record, value, wanted in zip(
            attempts(report), score.read_all(report), truth.read_all(report), strict=True
        ):
            fact: Scalar | Missing
            try:
                fact = self._truth(wanted, truth, record.name)
                known += not isinstance(fact, Missing)
            except InvalidOptionError as error:
                unread.append(error)
                fact = Missing(f"whose {truth.words} is neither yes nor no")
            number = _number(value, score)
            if isinstance(fact, Missing):
                sample.add(record, fact)
            elif isinstance(number, Missing):
                sample.add(record, number)
            else:
                sample.add(record, Scored(number, self._is_positive(fact), fact))
        if unread and not known:
            raise unread[0]
        return sample

    def missing_class(self, sample: Sample[Scored]) -> str | None:
        """A remark on a sample without positives or without negatives; `None` if both are there."""
        if len({scored.positive for scored in sample.values}) != 1:
            return None
        only = "negative" if sample.values[0].positive else "positive"
        seen = ", ".join(sorted({repr(scored.truth) for scored in sample.values})[:5])
        return f"no attempt is {only}; the values of the {self._sources()[1].words} are: {seen}"

    def _sources(self) -> tuple[Source, Source]:
        return (
            Source("score", self.score_from, self.score_key),
            Source("positive", self.positive_from, self.positive_key),
        )

    def _truth(self, value: Any, source: Source, name: str) -> Scalar | Missing:
        if isinstance(value, Missing):
            return value
        if value is None:
            return Missing(f"whose {source.words} is None")
        try:
            fact = read_scalar(value)
        except InvalidOutputError:
            raise InvalidOptionError(
                f"the {source.words} of {name!r} is {show(value)}, which is not a single value: name the part to look "
                "at with positive_key"
            ) from None
        if self.positive_label is None and not isinstance(fact, bool):
            raise InvalidOptionError(
                f"the {source.words} of {name!r} is {show(value)}, which is neither True nor False: name the value that "
                "counts as positive with positive_label"
            )
        return fact

    def _is_positive(self, fact: Scalar) -> bool:
        wanted = True if self.positive_label is None else read_scalar(self.positive_label)
        return fact == wanted and isinstance(fact, bool) == isinstance(wanted, bool)


def _number(value: Any, source: Source) -> float | Missing:
    """The value as a finite number."""
    if isinstance(value, Missing):
        return value
    try:
        number = read_scalar(value)
    except InvalidOutputError:
        return Missing(f"whose {source.words} is not a finite number")
    if isinstance(number, bool | str):
        return Missing(f"whose {source.words} is of type {type(value).__name__}, not a number")
    return float(number)


def thinned(points: Sequence[PointT], n_points: int) -> list[PointT]:
    """At most that many of the points, evenly spaced, both ends kept."""
    if len(points) <= n_points:
        return list(points)
    last = len(points) - 1
    return [points[round(i * last / (n_points - 1))] for i in range(n_points)]


@dataclass
class ROCEvaluator(ScoredReportEvaluator):
    """How well a score ranks positive attempts above negative ones: the ROC curve and the area under it.

    `ROCEvaluator("confidence", positive_from="assertions", positive_key="EqualsExpected")` asks whether a confidence
    tells right answers from wrong ones.
    """

    title: str = field(default="ROC curve", kw_only=True)
    """What the analysis is called."""
    n_points: int = field(default=100, kw_only=True)
    """The most points to keep for display; the area is under all of them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole_number("n_points", self.n_points, at_least=2)  # its two ends

    def evaluate(self, ctx: ReportEvaluatorContext) -> RocCurve:
        """The curve."""
        sample = self.sample(ctx.report)
        ranking = rank([s.score for s in sample.values], [s.positive for s in sample.values])
        return RocCurve(
            title=self.title,
            note=sample.note(self.missing_class(sample)),
            points=thinned(ranking.roc() or [], self.n_points),
            auc=ranking.roc_auc(),
            n_positive=ranking.n_positive,
            n_negative=ranking.n_negative,
        )


ROCAUCEvaluator = ROCEvaluator
"""The name that pydantic_evals has for it."""


@dataclass
class PrecisionRecallEvaluator(ScoredReportEvaluator):
    """How precise a score is as its threshold falls, and its average precision.

    `PrecisionRecallEvaluator("toxicity", positive_label="toxic")` holds the score "toxicity" against expected outputs.
    An attempt is predicted positive when its score is at least the threshold.
    """

    title: str = field(default="Precision-recall curve", kw_only=True)
    """What the analysis is called."""
    n_points: int = field(default=100, kw_only=True)
    """The most points to keep for display; the average precision is over all of them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole_number("n_points", self.n_points, at_least=2)  # its two ends

    def evaluate(self, ctx: ReportEvaluatorContext) -> PrecisionRecall:
        """The curve."""
        sample = self.sample(ctx.report)
        ranking = rank([s.score for s in sample.values], [s.positive for s in sample.values])
        # Among positives alone every score is perfectly precise, which says nothing about the score.
        points = ranking.precision_recall() if ranking.n_negative else None
        return PrecisionRecall(
            title=self.title,
            note=sample.note(self.missing_class(sample)),
            points=thinned(points or [], self.n_points),
            average_precision=None if points is None else ranking.average_precision(),
            n_positive=ranking.n_positive,
            n_negative=ranking.n_negative,
        )


@dataclass
class KolmogorovSmirnovEvaluator(ScoredReportEvaluator):
    """The largest gap between the score distributions of positive and negative attempts, and the score it is at.

    0 says that the score tells nothing, 1 that one threshold tells the two classes apart without error.
    """

    title: str = field(default="KS", kw_only=True)
    """What the names of the two numbers begin with."""

    def evaluate(self, ctx: ReportEvaluatorContext) -> list[ScalarResult]:
        """The statistic, and the threshold it is reached at."""
        sample = self.sample(ctx.report)
        ranking = rank([s.score for s in sample.values], [s.positive for s in sample.values])
        note = sample.note(self.missing_class(sample))
        return [
            ScalarResult(title=f"{self.title} statistic", value=ranking.ks_statistic(), note=note),
            ScalarResult(title=f"{self.title} threshold", value=ranking.ks_threshold(), note=note),
        ]


@dataclass
class CalibrationEvaluator(ScoredReportEvaluator):
    """Compares predicted probabilities with what happened: reliability diagram, Brier score, calibration error.

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
