"""The Kolmogorov-Smirnov distance of a score: how far apart it keeps positive and negative attempts, and where."""

from dataclasses import dataclass, field

from calipers.report.analysis import ScalarResult
from calipers.report.report_evaluator import ReportEvaluatorContext
from calipers.stats import rank

from calipers.evaluators.score_curves import ScoredReportEvaluator


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
