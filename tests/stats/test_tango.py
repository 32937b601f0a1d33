"""The exact interval of paired passes: it holds at every rate of disagreement."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import beta, norm

from calipers.stats.bounded import bounded_interval
from calipers.stats.tango import exact_paired


def outcomes(n):
    """How many cases can be better, and how many worse."""
    pairs = np.array([(better, worse) for better in range(n + 1) for worse in range(n + 1 - better)])
    return pairs[:, 0], pairs[:, 1]


def chances(n, difference, rate):
    """The chance of each outcome."""
    better, worse = outcomes(n)
    shares = np.maximum([(rate + difference) / 2, (rate - difference) / 2, 1 - rate], 1e-300)
    counts = np.stack([better, worse, n - better - worse])
    ways = gammaln(n + 1) - gammaln(counts + 1).sum(axis=0)
    return np.exp(ways + (counts * np.log(shares)[:, None]).sum(axis=0))


@pytest.mark.parametrize(("n", "confidence"), [(8, 0.95), (8, 0.8), (25, 0.95)])
def test_each_end_errs_at_most_at_the_stated_rate_whatever_the_rate_of_disagreement(n, confidence):
    better, worse = outcomes(n)
    intervals = [
        exact_paired(int(b), int(c), n, confidence=confidence) for b, c in zip(better, worse, strict=True)
    ]
    low, high = (np.array([getattr(each, end) for each in intervals]) for end in ("low", "high"))
    largest = 0.0
    for difference in [*np.linspace(-0.98, 0.98, 50), *np.unique(low[low > -1])[::7] - 1e-9]:
        for rate in abs(difference) + (1 - abs(difference)) * np.sin(np.linspace(0, np.pi / 2, 60)) ** 2:
            chance = chances(n, difference, rate)
            largest = max(largest, chance[low > difference].sum(), chance[high < difference].sum())
    tail = (1 - confidence) / 2
    assert 0.9 * tail < largest <= tail


def tango_low(better, worse, n, tail):
    """The lower end of Tango's interval, by bisection of the score as his paper writes it."""

    def score(d):
        b = -better - worse + (2 * n - better + worse) * d
        q = (sqrt(max(0, b * b + 8 * n * worse * d * (1 - d))) - b) / (4 * n)
        return (better - worse - n * d) / sqrt(max(1e-300, n * (2 * q + d * (1 - d))))

    low, high = -1.0, (better - worse) / n
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if score(middle) > norm.isf(tail) else (low, middle)
    return low


@pytest.mark.parametrize("seen", [(0, 0), (0, 3), (3, 0), (1, 2), (5, 2), (9, 0)])
def test_it_is_what_counting_all_outcomes_gives(seen):
    n, tail, spent = 9, 0.025, 0.02 * 0.025
    ends = np.array([tango_low(int(b), int(c), n, tail) for b, c in zip(*outcomes(n), strict=True)])
    higher = ends >= tango_low(*seen, n, tail) - 1e-9
    k = sum(seen)
    first = beta.ppf(spent / 2, k, n - k + 1) if k else 0.0
    last = beta.ppf(1 - spent / 2, k + 1, n - k) if k < n else 1.0
    found = next(
        difference
        for difference in np.linspace(-1, 1, 401)
        if abs(difference) <= last
        and any(
            chances(n, difference, rate)[higher].sum() > tail - spent
            for rate in np.linspace(max(first, abs(difference)), last, 60)
        )
    )
    assert exact_paired(*seen, n).low == pytest.approx(found, abs=0.006)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 40), st.sampled_from([0.8, 0.95, 0.999]))
def test_it_holds_the_difference_mirrors_and_moves_with_every_case(better, worse, same, confidence):
    n = better + worse + same
    found = exact_paired(better, worse, n, confidence=confidence)
    assert -1 <= found.low <= (better - worse) / n <= found.high <= 1
    mirrored = exact_paired(worse, better, n, confidence=confidence)
    assert (mirrored.low, mirrored.high) == (-found.high, -found.low)
    more = exact_paired(better + 1, worse, n, confidence=confidence)
    assert more.low >= found.low - 1e-7
    assert more.high >= found.high - 1e-7


def test_a_loss_that_few_flips_show_is_seen_where_values_between_bounds_hide_it():
    assert exact_paired(0, 11, 100).high < -0.05
    assert bounded_interval([-1.0] * 11 + [0.0] * 89, low=-1, high=1).high > -0.05


def test_of_many_cases_it_is_close_to_the_usual_interval_and_computed_soon():
    found = exact_paired(2000, 2500, 20_000)
    half = 1.96 * sqrt((4500 / 20_000 - 0.025**2) / 20_000)
    assert (found.low, found.high) == (
        pytest.approx(-0.025 - half, abs=2e-4),
        pytest.approx(-0.025 + half, abs=2e-4),
    )


def test_where_all_cases_agree_or_none_do_it_says_how_far_that_goes():
    assert exact_paired(0, 0, 100).high == pytest.approx(1 - 0.025**0.01, abs=4e-4)
    assert exact_paired(50, 0, 50).high == 1
    assert exact_paired(0, 0, 0) is None


def test_hardly_any_doubt_leaves_nearly_everything_possible():
    narrow, wide = (exact_paired(3, 8, 50, confidence=1 - doubt) for doubt in (1e-12, 1e-15))
    assert -1 < wide.low < narrow.low < -0.5
    assert 0.5 < narrow.high < wide.high < 1


@pytest.mark.parametrize(
    ("counts", "options"),
    [((3, 3, 5), {}), ((-1, 2, 5), {}), ((1, 2, 5), {"confidence": 1.0})],
    ids=["too many", "negative", "no doubt"],
)
def test_impossible_counts_are_refused(counts, options):
    with pytest.raises(ValueError, match="got"):
        exact_paired(*counts, **options)
