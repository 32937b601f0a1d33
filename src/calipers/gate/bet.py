"""A limit that may be looked at after every case: evidence that the mean lies above it, and evidence that it lies below."""

from math import isclose

from calipers.errors import InvalidOptionError
from calipers.stats import EProcess, stakes_for
from calipers.stats.sequential import Stakes


class Bet:
    """One limit of a policy, and the evidence on both of its sides.

    Args:
        rule: the limit in words.
        limit: what the mean is held against.
        bounds: between which every value lies.
        above: whether the good side is above the limit.
        distance: from the limit to what is planned for: a margin. `None` if nothing was.

    Raises:
        InvalidOptionError: the limit is not inside the bounds.
    """

    def __init__(
        self,
        rule: str,
        limit: float,
        bounds: tuple[float, float],
        *,
        above: bool,
        distance: float | None = None,
    ) -> None:
        low, high = bounds
        if not low < limit < high or isclose(limit, low) or isclose(limit, high):
            raise InvalidOptionError(
                f"{rule}: the limit has to lie inside the bounds {low:g} to {high:g} to be decided during a run; "
                "set bounds: in the policy, or gate the run when it is over"
            )
        self.rule = rule
        self.worst = 0.0 if above else 1.0
        """What an assertion that was lost counts as, so that a crash never helps."""
        self._limit = limit
        self._bounds = bounds
        self._is_above = above
        self._distance = distance
        self._begin(None)

    def _begin(self, stakes: Stakes | None) -> None:
        low, high = self._bounds
        self._above = EProcess(self._limit, low=low, high=high, stakes=stakes)
        self._below = EProcess(self._limit, low=low, high=high, alternative="less", stakes=stakes)
        self._good = self._above if self._is_above else self._below
        self._bad = self._below if self._is_above else self._above

    def plan(self, cases: int) -> None:
        """Bet what is best for at most so many cases; before the first one."""
        low, high = self._bounds
        self._begin(stakes_for(cases, self._limit, low=low, high=high, distance=self._distance))

    def add(self, value: float) -> None:
        """Take in the value of one more case."""
        self._above.add(value)
        self._below.add(value)

    def passes(self, doubt: float) -> bool:
        """Whether the mean is on the good side, but for this chance of being wrong at any look."""
        return self._good.e_value >= 1 / doubt

    def fails(self, doubt: float) -> bool:
        """Whether it is on the bad side."""
        return self._bad.e_value >= 1 / doubt
