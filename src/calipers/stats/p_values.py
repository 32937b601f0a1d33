"""P-values: is the difference on the same cases more than luck, and what remains of that among several questions?"""

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from math import fsum, isfinite
from numbers import Real
from typing import Literal, get_args

import msgspec

from calipers.data.argument_checks import check_choice
from calipers.stats.difference import paired_means, without_rounding
from calipers.stats.sample import check_clusters, check_resamples, finite_values

Alternative = Literal["two-sided", "greater", "less"]
"""What would count against equality: a first mean that differs, is greater, or is less."""

_MOST_COUNTED = 28
"""Units up to which every choice of signs is counted: two times 2^14 sums."""


class PermutationTest(msgspec.Struct, frozen=True):
    """What the test found."""

    value: float
    """The first mean minus the second, each case counting once."""
    p_value: float
    """The share of sign choices at least as extreme; 1 where no case differs."""
    exact: bool
    """Whether all choices were counted; otherwise they were drawn."""
    n_units: int
    """What was flipped: cases or, where declared, clusters."""


def permutation_test(
    first: Sequence[Sequence[float]],
    second: Sequence[Sequence[float]],
    *,
    seed: int,
    clusters: Sequence[Hashable] | None = None,
    alternative: Alternative = "two-sided",
    resamples: int = 10_000,
) -> PermutationTest | None:
    """The sign-flip test on cases given as the scores of their attempts, in the same order; `None` without cases.

    If two ways are equally good, each case might as well have had its two results swapped, so its difference the other sign.
    The p-value is the share of all ways to choose the signs whose mean difference is at least as far from 0 as the one seen
    (Fisher, *The Design of Experiments*, 1935; Pitman 1937). It assumes no distribution, only that differences are symmetric
    around 0 where nothing differs.

    With few cases all choices are counted: exact, up to 28 cases that differ, because the signs of one half are matched
    against the sorted sums of the other. With more, choices are drawn with a seed, and the one seen counts as one of them, so
    that the p-value is never 0 and the test never claims more than it may (Phipson & Smyth 2010).

    The smallest p-value of n cases is 1 / 2^n one-sided: with four cases nothing is ever significant at 5 %, whatever the
    number of attempts. That is a fact about four cases, not a weakness of the test.

    Args:
        first: for every case, the scores of its attempts the first way; they are averaged.
        second: the same the second way.
        seed: of the drawn choices; unused where all are counted.
        clusters: the group of each case; a group's differences change sign together.
        alternative: `greater` asks whether the first is better, and is for questions settled before looking.
        resamples: choices drawn where there are too many to count.
    """
    try:
        one, two = paired_means(first, second)
    except OverflowError:
        raise _too_large() from None
    check_choice("alternative", alternative, get_args(Alternative), error=ValueError)
    check_resamples(resamples)
    check_clusters(clusters, len(one))
    if not one:
        return None
    together: dict[Hashable, list[float]] = {}
    differences = finite_values(without_rounding(one, two)[0], name="differences")
    if not isfinite(2 * sum(map(abs, differences))):
        raise _too_large()
    for group, value in zip(range(len(one)) if clusters is None else clusters, differences, strict=True):
        together.setdefault(group, []).append(value)
    sums = [fsum(values) for values in together.values()]
    sign = -1 if alternative == "less" else 1
    total = sign * fsum(sums)
    if alternative == "two-sided":
        total = abs(total)
    # Sums that are equal on paper differ in their last digits, and must count as equal.
    threshold = total - 1e-9 * fsum(map(abs, sums))
    moving = [abs(value) for value in sums if value]
    exact = len(moving) <= _MOST_COUNTED
    if not moving:
        p_value = 1.0
    elif exact:
        p_value = _counted(moving, threshold)
    else:
        p_value = _drawn(moving, threshold, seed, resamples, two_sided=alternative == "two-sided")
    if exact and moving and alternative == "two-sided":
        p_value = min(1.0, 2 * p_value) if threshold > 0 else 1.0
    value = fsum(differences) / len(one)
    return PermutationTest(value=value, p_value=p_value, exact=exact, n_units=len(sums))


def _too_large() -> ValueError:
    return ValueError("the sum of these scores is too large for a float: got a sum of inf; rescale them")


def _counted(moving: list[float], threshold: float) -> float:
    """The share of all sign choices whose sum reaches the threshold."""
    half = len(moving) // 2
    left, right = _signed_sums(moving[:half]), sorted(_signed_sums(moving[half:]))
    reached = sum(len(right) - bisect_left(right, threshold - one) for one in left)
    return reached / (len(left) * len(right))


def _signed_sums(values: list[float]) -> list[float]:
    sums = [0.0]
    for value in values:
        sums = [each + value for each in sums] + [each - value for each in sums]
    return sums


def _drawn(moving: list[float], threshold: float, seed: int, resamples: int, *, two_sided: bool) -> float:
    from random import Random

    random = Random(seed)  # noqa: S311 (a statistic must repeat from its seed; nothing here is secret)
    whole = fsum(moving)
    count = len(moving)
    reached = 0
    for _ in range(resamples):
        bits = random.getrandbits(count)
        total = whole - 2 * fsum(value for place, value in enumerate(moving) if bits >> place & 1)
        reached += (abs(total) if two_sided else total) >= threshold
    return (1 + reached) / (1 + resamples)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted by Holm, in the order given.

    Twenty evaluators compared at 5 % raise one false alarm on average though nothing differs; an adjusted p-value may be compared
    with the level as if it were the only one. Adjust over all the questions that were asked, not over those that came out well.

    Holm's keeps the chance of *any* false alarm at the level, whatever the dependence between the tests ("A Simple Sequentially
    Rejective Multiple Test Procedure", 1979): for a gate, where one false alarm stops a release. It is never worse than
    Bonferroni's.
    """
    order = _ascending(p_values)
    adjusted = [1.0] * len(order)
    highest = 0.0
    for place, index in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted by Benjamini and Hochberg, in the order given; see `holm` for why to adjust.

    Theirs keeps the expected *share* of false alarms among the alarms at the level ("Controlling the False Discovery Rate", 1995):
    for exploring many evaluators or slices, where some false ones are bearable. It holds for tests that are independent or
    positively dependent, as evaluators of the same outputs mostly are.
    """
    order = _ascending(p_values)
    adjusted = [1.0] * len(order)
    lowest = 1.0
    for place in range(len(order), 0, -1):
        index = order[place - 1]
        lowest = min(lowest, p_values[index] * (len(order) / place))
        adjusted[index] = lowest
    return adjusted


def _ascending(p_values: Sequence[float]) -> list[int]:
    """The places of the p-values, smallest first."""
    for index, p_value in enumerate(p_values):
        if isinstance(p_value, bool) or not isinstance(p_value, Real) or not 0 <= p_value <= 1:
            raise ValueError(
                f"a p-value must be a number between 0 and 1, got {p_value!r} at index {index}; "
                f"leave out questions whose p-value is not known"
            )
    return sorted(range(len(p_values)), key=lambda index: p_values[index])
