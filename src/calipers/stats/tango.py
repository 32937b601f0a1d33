"""The difference between two rates on the same cases, with an interval that never errs more often than it says.

Of n cases, `better` pass the first way alone and `worse` the second way alone. How many pass both ways or neither says nothing of
the difference; how often the two disagree does, and that is not known. So the interval is *exact and unconditional*: each end holds
for the worst rate of disagreement that there could be.

A lower end has to say of every outcome whether it speaks for a higher difference than the one seen. Here Tango's score says it
("Equivalence Test and Confidence Interval for the Difference in Proportions for the Paired-Sample Design", 1998): outcomes are ordered
by the lower end of his interval, which is approximate. The exact end is then the smallest difference under which outcomes at least as
high come with a chance of more than the tail, at some rate of disagreement (Buehler, "Confidence Intervals for the Product of Two
Binomial Parameters", 1957; Lloyd & Moldovan, "Exact One-Sided Confidence Limits for the Difference Between Two Correlated Proportions",
2007).

A rate of disagreement that is out of the question would often be the worst. So 2 % of the tail are spent on the exact interval of that
rate, and the worst within it counts (Berger & Boos, "P Values Maximized Over a Confidence Set for the Nuisance Parameter", 1994). Both
together still err at most as often as the tail says.

Where few cases disagree it is narrower than the interval of values between bounds (`bounded_interval`), which adds a value at each
bound. Its time grows with the cases: some 10 milliseconds for 100, 100 for 1,000.
"""

from functools import lru_cache
from math import asin, ceil, floor, sin, sqrt

from calipers.stats.distributions import beta_cdf, binomial, normal_quantile
from calipers.stats.interval import Interval, check_counts, clopper_pearson
from calipers.stats.sample import check_confidence

_SLACK = 1e-9
"""Of a score: outcomes that are as high on paper differ in their last digits."""
_CLOSE = 1e-9
"""How well an end is known."""
_SURE = 1e-6
"""Of the tail: by so little more, a chance is no larger."""
_FAR = 9.0
"""Standard deviations beyond which a count hardly ever lies: 1 time in 10^18."""
_TINY = 1e-200
_STEPS = 60
_SPENT = 0.02
"""Of the tail: spent on the interval of the rate of disagreement."""
_RATES = 4
"""Rates of disagreement at which chances are computed, times the root of the cases, were all rates possible."""
_NEAR = 0.98
"""Of the largest of these chances: maxima that are looked at more closely."""
_SECTIONS = 6
_GOLDEN = (sqrt(5) - 1) / 2


def exact_paired(better: int, worse: int, n: int, *, confidence: float = 0.95) -> Interval | None:
    """The exact interval of the first rate minus the second; `None` without cases.

    Args:
        better: cases that passed the first way alone.
        worse: cases that passed the second way alone.
        n: all cases.
        confidence: of the interval; each end errs by at most half of the rest.
    """
    check_confidence(confidence)
    check_counts(better + worse, n)
    check_counts(better, n)
    if not n:
        return None
    tail = (1 - confidence) / 2
    return Interval(
        _lower_end(better, worse, n, tail), -_lower_end(worse, better, n, tail), confidence, "tango-exact"
    )


@lru_cache(maxsize=4096)
def _lower_end(better: int, worse: int, n: int, tail: float) -> float:
    """The smallest difference for which what was seen, or what speaks for a higher one, is no rarer than `tail`."""
    if worse == n:
        return -1.0
    spent = _SPENT * tail
    higher = _Higher(better, worse, n, tail, spent)
    # At each rate of disagreement the chance grows with the difference, so each has its own end, and the lowest counts.
    end, (_, place) = higher.seen, higher.worst(higher.seen)
    for _ in range(_STEPS):
        end = higher.end_at(place, tail - spent, near=end)
        chance, place = higher.worst(end)
        if chance <= (tail - spent) * (1 + _SURE):
            break
    return end


def _score(better: int, worse: int, n: int, difference: float) -> float:
    """Tango's score: how many standard errors the difference seen lies above this one, were this one true."""
    b = (2 * n - better + worse) * difference - better - worse
    c = -worse * difference * (1 - difference)
    rate = (sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)
    variance = n * (2 * rate + difference * (1 - difference))
    distance = better - worse - n * difference
    return distance / sqrt(variance) if variance > 0 else 0.0


def _score_end(better: int, worse: int, n: int, wanted: float) -> float:
    """The lower end of Tango's interval: where the score is the one wanted."""
    low, high = -1.0, (better - worse) / n
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _score(better, worse, n, middle) > wanted else (low, middle)
    return low


class _Higher:
    """The outcomes whose interval, by Tango, ends no lower than one that was seen, and how likely they are."""

    def __init__(self, better: int, worse: int, n: int, tail: float, spent: float) -> None:
        rates: Interval | None = Interval(0.0, 1.0)
        if 1 - spent < 1:  # else no interval is that sure
            rates = clopper_pearson(better + worse, n, confidence=1 - spent)
        assert rates is not None
        self.rates = rates
        """The rates of disagreement that are possible."""
        wanted = -normal_quantile(tail)
        end = _score_end(better, worse, n, wanted)
        self.n = n
        self.seen = min(max(end, -rates.high), rates.high)
        """Where Tango's interval of what was seen ends, which is close to the exact end."""
        self.least: list[int] = []
        """For each number of cases that are worse, how many have to be better; no longer than there can be so many."""
        few = 0
        for count in range(n + 1):
            while few <= n - count and _score(few, count, n, end) < wanted - _SLACK:
                few += 1
            if few > n - count:
                break
            self.least.append(few)

    def worst(self, difference: float) -> tuple[float, float]:
        """The largest chance of these outcomes at a difference, and the place of the rate of disagreement that has it."""
        lowest = self._rate(difference, 0.0)
        # Even steps of the arc sine are even in standard errors.
        first, last = asin(sqrt(lowest)), asin(sqrt(self.rates.high))
        steps = 2 + ceil(_RATES * sqrt(self.n) * (last - first))
        across = max(self.rates.high - lowest, _CLOSE)
        places = [
            (sin(first + (last - first) * step / steps) ** 2 - lowest) / across for step in range(steps + 1)
        ]
        chances = [self.chance(difference, place) for place in places]
        tops = [
            step for step in range(steps + 1) if chances[step] >= max(chances[max(0, step - 1) : step + 2])
        ]
        return max(
            self._top(difference, places[max(0, step - 1)], places[min(steps, step + 1)])
            for step in tops
            if chances[step] >= _NEAR * max(chances)
        )

    def _top(self, difference: float, left: float, right: float) -> tuple[float, float]:
        """The largest chance between two places, by golden sections."""
        found = {place: self.chance(difference, place) for place in (left, right)}
        for _ in range(_SECTIONS):
            one, two = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
            for place in (one, two):
                if place not in found:
                    found[place] = self.chance(difference, place)
            left, right = (left, two) if found[one] >= found[two] else (one, right)
        return max((chance, place) for place, chance in found.items())

    def end_at(self, place: float, tail: float, *, near: float) -> float:
        """The difference at which these outcomes have the chance `tail`, at one place; it is looked for around `near`."""
        step, most = 1 / (4 * self.n), self.rates.high
        low = high = near
        under = over = self.chance(near, place) - tail
        while under > 0 and low > -most:
            low, high, over, step = max(-most, low - step), low, under, 4 * step
            under = self.chance(low, place) - tail
        while over <= 0 and high < most:
            low, high, under, step = high, min(most, high + step), over, 4 * step
            over = self.chance(high, place) - tail
        if under > 0 or over <= 0:
            return -most if under > 0 else most
        side = 0
        for _ in range(_STEPS):
            if high - low <= _CLOSE:
                break
            # False position; an end that stays twice is halved (the Illinois rule), or the other would creep.
            likely = low + (high - low) * (under / (under - over))
            likely = likely if low < likely < high else (low + high) / 2
            off = self.chance(likely, place) - tail
            if off <= 0:
                over = over / 2 if side < 0 else over
                low, under, side = likely, off, -1
            else:
                under = under / 2 if side > 0 else under
                high, over, side = likely, off, 1
        return low

    def _rate(self, difference: float, place: float) -> float:
        """A possible rate of disagreement, by its place between the least, 0, and the largest, 1.

        Two that differ by so much disagree at least as often. At one place, the cases that are better become no fewer, and those that are
        worse no more, as the difference grows.
        """
        least = max(self.rates.low, abs(difference))
        return least + place * (self.rates.high - least)

    def chance(self, difference: float, place: float) -> float:
        """How likely these outcomes are at a difference and a rate of disagreement.

        The cases that are worse have a binomial distribution, and so have those that are better among the rest: their upper tail
        follows from that of the count before.
        """
        n, least, rate = self.n, self.least, self._rate(difference, place)
        p, q = max(0.0, (rate + difference) / 2), max(0.0, (rate - difference) / 2)
        if q >= 1:
            return float(len(least) > n)
        spread = _FAR * sqrt(n * q * (1 - q)) + _FAR
        worse = max(0, floor(n * q - spread))
        last = min(len(least) - 1, ceil(n * q + spread))
        if worse > last:
            return 0.0
        share = min(1.0, p / (1 - q))
        odds, per = q / (1 - q), share / (1 - share) if share < 1 else 0.0
        weight = binomial(worse, n, q)
        rest, better = n - worse, least[worse]
        tail = _at_least(better, rest, share)
        density = binomial(better, rest, share)
        total = weight * tail
        while worse < last:
            weight *= odds * rest / (worse + 1)
            worse += 1
            if density < _TINY:  # it would stay 0 where it no longer is
                tail = tail if tail in (0.0, 1.0) else _at_least(better, rest - 1, share)
                density = binomial(better, rest - 1, share)
            else:
                tail -= density * better / rest
                density *= (rest - better) / (rest * (1 - share)) if share < 1 else 0.0
            rest -= 1
            while better < least[worse]:
                tail -= density
                density *= per * (rest - better) / (better + 1)
                better += 1
            total += weight * tail
        return total


def _at_least(k: int, n: int, p: float) -> float:
    """The chance of at least k of n."""
    if k <= 0:
        return 1.0
    if p <= 0 or k > n:
        return 0.0
    return 1.0 if p >= 1 else beta_cdf(p, k, n - k + 1)
