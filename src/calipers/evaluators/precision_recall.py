"""The precision-recall curve of a score: what share of the alarms is real, at each share of the real ones found."""

from dataclasses import dataclass, field

from calipers.data.argument_checks import check_whole_number
from calipers.report.analysis import PrecisionRecall
from calipers.report.report_evaluator import ReportEvaluatorContext
from calipers.stats import rank

from calipers.evaluators.score_curves import ScoredReportEvaluator, thinned


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
