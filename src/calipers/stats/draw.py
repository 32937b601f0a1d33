"""Some of many, drawn at random within strata, each with the probability that it had.

How many a stratum gives is settled before the draw, and within a stratum each has the same chance: `drawn / size`. So a mean over the
strata, weighted by one over that probability, is without bias (Horvitz and Thompson, "A Generalization of Sampling Without
Replacement from a Finite Universe", 1952); `calipers.stats.weighted_rate` takes such weights.

- `proportional`: each stratum gives its share, rounded so that the sum is the count: the rest goes to those that lack most.
- `equal`: each gives the same, and one that has fewer gives all it has; the others share the rest.

Every stratum gives one at least, since of a stratum that gives none nothing could be said. A count that is too small for this is refused.
"""

from collections.abc import Hashable, Sequence
from heapq import heapify, heappop, heappush
from random import Random
from typing import Literal, TypeAlias

import msgspec

from calipers.data.argument_checks import check_choice, check_whole_number
from calipers.errors import InvalidOptionError

Shares: TypeAlias = Literal["proportional", "equal"]
"""How a draw is divided among strata."""
SHARES: tuple[Shares, ...] = ("proportional", "equal")


class DrawnStratum(msgspec.Struct, frozen=True):
    """How many a stratum had, and gave."""

    stratum: Hashable
    """As the caller names it."""
    size: int
    drawn: int

    @property
    def probability(self) -> float:
        """With which each of them was drawn."""
        return self.drawn / self.size


class StratifiedDraw(msgspec.Struct, frozen=True):
    """What was drawn."""

    places: tuple[int, ...]
    """Which ones, by their places, in order."""
    strata: tuple[DrawnStratum, ...]
    """In the order in which they first come."""


def draw_by_strata(
    strata: Sequence[Hashable], count: int, *, seed: int, shares: Shares = "proportional"
) -> StratifiedDraw:
    """Draw `count` of them, or all where there are fewer.

    Args:
        strata: the stratum of each, in order; one for all is a simple random draw.
        count: how many to draw.
        seed: of the draw; the same strata, count and seed give the same draw.
        shares: how the count is divided among strata.

    Raises:
        InvalidOptionError: there are more strata than are to be drawn, or an argument is not valid.
    """
    check_whole_number("count", count, at_least=1)
    check_whole_number("seed", seed, at_least=0)
    check_choice("shares", shares, SHARES)
    members: dict[Hashable, list[int]] = {}
    for place, stratum in enumerate(strata):
        members.setdefault(stratum, []).append(place)
    sizes = [len(some) for some in members.values()]
    if count < len(sizes) and count < len(strata):
        raise InvalidOptionError(
            f"{count:,} cannot be drawn from {len(sizes):,} strata: each has to give one at least. Draw more, or make fewer strata"
        )
    gives = sizes if count >= len(strata) else _shared(sizes, count, shares)
    draw = Random(seed)  # noqa: S311 - the seed has to repeat the draw
    places: list[int] = []
    for some, number in zip(members.values(), gives, strict=True):
        places += draw.sample(some, number)
    drawn = (
        DrawnStratum(stratum, len(some), number)
        for (stratum, some), number in zip(members.items(), gives, strict=True)
    )
    return StratifiedDraw(tuple(sorted(places)), tuple(drawn))


def _shared(sizes: Sequence[int], count: int, shares: Shares) -> list[int]:
    """How many each stratum gives, of fewer than there are in all."""
    whole = sum(sizes)
    step = whole if shares == "proportional" else len(sizes)
    # One by one to the stratum that lacks most of its share. What each lacks is kept times `step`: whole numbers do not round.
    gives = [1] * len(sizes)
    lacking = [
        (step - count * (size if shares == "proportional" else 1), place)
        for place, size in enumerate(sizes)
        if size > 1
    ]
    heapify(lacking)
    for _ in range(count - len(sizes)):
        least, place = heappop(lacking)
        gives[place] += 1
        if gives[place] < sizes[place]:
            heappush(lacking, (least + step, place))
    return gives
