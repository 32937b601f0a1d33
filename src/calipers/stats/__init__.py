"""Numbers in, numbers out: estimates, comparisons, reliability, power, sequential looks, agreement, and more.

`rate` and `mean` are the front door for one run, `compare_paired`, `compare_these` and `compare_unpaired` for two: they choose the
interval for the kind and size of the data, with the case as the unit of inference. Everything is plain Python over the
standard library. What was not measured is `None`; a number that cannot be (NaN, a negative count) is a `ValueError`.
"""

from calipers.stats.agreement import Agreement, cohen_kappa, krippendorff_alpha
from calipers.stats.bootstrap import bootstrap_interval
from calipers.stats.calibration import Calibration, CalibrationBin, brier_score, calibration
from calipers.stats.clusters import clustered_interval, clustered_variance
from calipers.stats.confusion import Confusion, confusion
from calipers.stats.decision import Decision, decide
from calipers.stats.difference import Difference, bootstrap_difference, compare_paired, compare_unpaired
from calipers.stats.estimate import Estimate, mean, mean_from_moments, rate, rate_from_counts
from calipers.stats.interval import Interval, clopper_pearson, jeffreys, mean_interval, t_interval, wilson
from calipers.stats.judge import PredictionPowered, RoganGladen, prediction_powered, rogan_gladen
from calipers.stats.moments import Moments
from calipers.stats.multiplicity import benjamini_hochberg, holm
from calipers.stats.paired import PairedDifference, paired_difference
from calipers.stats.permutation import PermutationTest, permutation_test
from calipers.stats.power import (
    cases_needed,
    power_of,
    power_of_paired_rates,
    repeats_needed,
    smallest_effect,
    spread_of_difference,
    spread_of_paired_rates,
    spread_of_pilot,
    spread_of_rates,
)
from calipers.stats.quantiles import quantile, quantiles
from calipers.stats.ranking import PrecisionRecallPoint, Ranking, RocPoint, rank
from calipers.stats.ratio import Ratio, ratio_of_totals
from calipers.stats.reliability import (
    case_pass_at_k,
    case_pass_hat_k,
    flakiness,
    noise_floor,
    pass_at_k,
    pass_hat_k,
)
from calipers.stats.sequential import EProcess, SequentialComparison, anytime_interval, stakes_for
from calipers.stats.survival import Survival, SurvivalStep, kaplan_meier
from calipers.stats.upper_bound import upper_bound
from calipers.stats.variance import VarianceComponents, paired_components, variance_components
from calipers.stats.within import compare_these

__all__ = [
    "Agreement",
    "Calibration",
    "CalibrationBin",
    "Confusion",
    "Decision",
    "Difference",
    "EProcess",
    "Estimate",
    "Interval",
    "Moments",
    "PairedDifference",
    "PermutationTest",
    "PrecisionRecallPoint",
    "PredictionPowered",
    "Ranking",
    "Ratio",
    "RocPoint",
    "RoganGladen",
    "SequentialComparison",
    "Survival",
    "SurvivalStep",
    "VarianceComponents",
    "anytime_interval",
    "benjamini_hochberg",
    "bootstrap_difference",
    "bootstrap_interval",
    "brier_score",
    "calibration",
    "case_pass_at_k",
    "case_pass_hat_k",
    "cases_needed",
    "clopper_pearson",
    "clustered_interval",
    "clustered_variance",
    "cohen_kappa",
    "compare_paired",
    "compare_these",
    "compare_unpaired",
    "confusion",
    "decide",
    "flakiness",
    "holm",
    "jeffreys",
    "kaplan_meier",
    "krippendorff_alpha",
    "mean",
    "mean_from_moments",
    "mean_interval",
    "noise_floor",
    "paired_components",
    "paired_difference",
    "pass_at_k",
    "pass_hat_k",
    "permutation_test",
    "power_of",
    "power_of_paired_rates",
    "prediction_powered",
    "quantile",
    "quantiles",
    "rank",
    "rate",
    "rate_from_counts",
    "ratio_of_totals",
    "repeats_needed",
    "rogan_gladen",
    "smallest_effect",
    "spread_of_difference",
    "spread_of_paired_rates",
    "spread_of_pilot",
    "spread_of_rates",
    "stakes_for",
    "t_interval",
    "upper_bound",
    "variance_components",
    "wilson",
]
