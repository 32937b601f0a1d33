"""The ROC curve of a score: how many false alarms each share of the real ones found costs."""

from dataclasses import dataclass, field

from calipers.data.argument_checks import check_whole_number
from calipers.report.analysis import RocCurve
from calipers.report.report_evaluator import ReportEvaluatorContext
from calipers.stats import rank

from calipers.evaluators.score_curves import ScoredReportEvaluator, thinned


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
