"""What a rate may still be when little or nothing of it was seen.

`upper_bound` is one-sided: Clopper and Pearson's limit with all of the doubt on one side, which is the question when the
worry is "how bad can it be". For nothing seen in n it is 1 - (1 - confidence)^(1/n), and about 3/n at 95 %: the rule of
three (Hanley & Lippman-Hand, "If Nothing Goes Wrong, Is Everything All Right?", 1983). It is exact for independent trials
of one rate; for equally many trials at each of several rates it bounds their mean (nothing seen: by the inequality of the
arithmetic and geometric means).
"""

from calipers.stats.distributions import beta_quantile
from calipers.stats.interval import check_confidence, check_counts

__all__ = ["upper_bound"]


def upper_bound(successes: float, n: int, *, confidence: float = 0.95) -> float | None:
    """The rate that `successes` of `n` trials leave just possible at this confidence; `None` when n is 0.

    `successes` may be fractional where a trial succeeds in part.
    """
    check_counts(successes, n)
    check_confidence(confidence)
    if n == 0:
        return None
    return 1.0 if successes == n else beta_quantile(confidence, successes + 1, n - successes)
