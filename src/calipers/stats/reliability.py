"""Reliability over repeated attempts: pass@k (any of k attempts passes) and pass^k (all k pass).

A case with c passes in n attempts gives the unbiased estimates

    pass@k = 1 - C(n-c, k) / C(n, k)     Chen et al., "Evaluating Large Language Models Trained on Code", 2021
    pass^k = C(c, k) / C(n, k)           Yao et al., "τ-bench", 2024

the shares, among all choices of k of the n attempts, with at least one pass and with nothing but passes. The
tempting 1 - (1 - c/n)^k and (c/n)^k are biased: they draw the same attempt twice. Both are 0/0 for k > n: an
error, not a guess. The counts are exact integers and the one division rounds correctly, so no n is too large
for precision.

Over cases, both average what each case gives, each case counting once, with the interval of `bounded_mean`:
for k = 1 they are the rate.

A case that sometimes passes is *flaky*. Its `flakiness` is the chance that two attempts at it disagree, and the mean over
cases is the *noise floor*: the share of cases that flip between two runs of the very same agent, once per case each. A
change that flips no more cases than that shows nothing.

    flakiness = 2 c (n-c) / (n (n-1))    the share of pairs of attempts that disagree: unbiased for 2 p (1-p)
"""

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from math import comb

from calipers.stats.estimate import Estimate, bounded_mean
from calipers.stats.sample import check_case_counts


def pass_at_k(
    cases: Sequence[tuple[int, int]],
    k: int,
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Estimate | None:
    """The chance that at least one of `k` attempts passes, over cases given as (passes, attempts)."""
    return _over_cases(case_pass_at_k, cases, k, clusters, confidence)


def pass_hat_k(
    cases: Sequence[tuple[int, int]],
    k: int,
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Estimate | None:
    """The chance that all of `k` attempts pass (pass^k), over cases given as (passes, attempts)."""
    return _over_cases(case_pass_hat_k, cases, k, clusters, confidence)


# Cases of one run share few combinations of counts, and large binomials are worth computing once.
@lru_cache(maxsize=4096)
def case_pass_at_k(passes: int, attempts: int, k: int) -> float:
    """pass@k of one case."""
    _check(passes, attempts, k)
    every = comb(attempts, k)
    return (every - comb(attempts - passes, k)) / every


@lru_cache(maxsize=4096)
def case_pass_hat_k(passes: int, attempts: int, k: int) -> float:
    """pass^k of one case."""
    _check(passes, attempts, k)
    return comb(passes, k) / comb(attempts, k)


def flakiness(passes: int, attempts: int) -> float | None:
    """The chance that two attempts at one case disagree; `None` for fewer than two attempts. Over cases: `noise_floor`.

    0 says that none of these attempts disagreed, not that none ever will: see `upper_bound` for what n attempts leave open.
    """
    if not 0 <= passes <= attempts:
        raise ValueError(f"passes must lie between 0 and attempts, got {passes!r} of {attempts!r}")
    return None if attempts < 2 else 2 * passes * (attempts - passes) / (attempts * (attempts - 1))


def noise_floor(
    cases: Sequence[tuple[int, int]],
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Estimate | None:
    """The share of cases expected to flip between two identical runs, over cases given as (passes, attempts).

    Every case must have two attempts or more, under unchanged conditions; `None` without cases. For runs that attempt
    each case once; averaging repeats before comparing has less noise (see `VarianceComponents.noise`).
    """
    check_case_counts(cases)
    shares: list[float] = []
    for index, (passes, attempts) in enumerate(cases):
        share = flakiness(passes, attempts)
        if share is None:
            raise ValueError(
                f"case {index} was attempted {attempts!r} times; noise shows from two attempts on: "
                f"repeat the cases, or leave this one out"
            )
        shares.append(share)
    # Attempts make independent pairs in halves; the share of all pairs knows at least as much.
    pairs = sum(attempts // 2 for _, attempts in cases)
    return bounded_mean(shares, n_observations=pairs, clusters=clusters, confidence=confidence)


def _check(passes: int, attempts: int, k: int) -> None:
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k!r}")
    if not 0 <= passes <= attempts:
        raise ValueError(f"passes must lie between 0 and attempts, got {passes!r} of {attempts!r}")
    if k > attempts:
        raise ValueError(
            f"k={k!r} needs at least {k} attempts at every case, got {attempts!r}; "
            f"lower k or repeat the cases more often"
        )


def _over_cases(
    measure: Callable[[int, int, int], float],
    cases: Sequence[tuple[int, int]],
    k: int,
    clusters: Sequence[Hashable] | None,
    confidence: float,
) -> Estimate | None:
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k!r}")
    check_case_counts(cases)
    return bounded_mean(
        [measure(passes, attempts, k) for passes, attempts in cases],
        n_observations=sum(attempts for _, attempts in cases),
        clusters=clusters,
        confidence=confidence,
    )
