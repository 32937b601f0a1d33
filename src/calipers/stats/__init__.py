"""Numbers in, numbers out: estimates with intervals, reliability, survival, quantiles, ranking and calibration.

`rate` and `mean` are the front door: they choose the interval for the kind and size of the data, with the
case as the unit of inference. Everything is plain Python over the standard library. What was not measured is
`None`; a number that cannot be (NaN, a negative count) is a `ValueError`.
"""

from calipers.stats.bootstrap import bootstrap_interval
from calipers.stats.calibration import Calibration, CalibrationBin, brier_score, calibration
from calipers.stats.clusters import clustered_interval, clustered_variance
from calipers.stats.confusion import Confusion, confusion
from calipers.stats.estimate import Estimate, mean, mean_from_moments, rate, rate_from_counts
from calipers.stats.interval import Interval, clopper_pearson, mean_interval, t_interval, wilson
from calipers.stats.moments import Moments
from calipers.stats.paired import PairedDifference, paired_difference
from calipers.stats.quantiles import quantile, quantiles
from calipers.stats.ranking import PrecisionRecallPoint, Ranking, RocPoint, rank
from calipers.stats.ratio import Ratio, ratio_of_totals
from calipers.stats.reliability import case_pass_at_k, case_pass_hat_k, pass_at_k, pass_hat_k
from calipers.stats.survival import Survival, SurvivalStep, kaplan_meier
from calipers.stats.upper_bound import upper_bound

__all__ = [
    "Calibration",
    "CalibrationBin",
    "Confusion",
    "Estimate",
    "Interval",
    "Moments",
    "PairedDifference",
    "PrecisionRecallPoint",
    "Ranking",
    "Ratio",
    "RocPoint",
    "Survival",
    "SurvivalStep",
    "bootstrap_interval",
    "brier_score",
    "calibration",
    "case_pass_at_k",
    "case_pass_hat_k",
    "clopper_pearson",
    "clustered_interval",
    "clustered_variance",
    "confusion",
    "kaplan_meier",
    "mean",
    "mean_from_moments",
    "mean_interval",
    "paired_difference",
    "pass_at_k",
    "pass_hat_k",
    "quantile",
    "quantiles",
    "rank",
    "rate",
    "rate_from_counts",
    "ratio_of_totals",
    "t_interval",
    "upper_bound",
    "wilson",
]
