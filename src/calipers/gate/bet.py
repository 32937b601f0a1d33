"""A limit that may be looked at after every case: evidence that the mean lies above it, and evidence that it lies below."""

from math import isclose

from calipers.errors import InvalidOptionError
from calipers.stats import EProcess


class Bet:
    """One limit of a policy, and the evidence on both of its sides.

    Args:
        rule: the limit in words.
        limit: what the mean is held against.
        bounds: between which every value lies.
        above: whether the good side is above the limit.

    Raises:
        InvalidOptionError: the limit is not inside the bounds.
    """

    def __init__(self, rule: str, limit: float, bounds: tuple[float, float], *, above: bool) -> None:
        low, high = bounds
        if not low < limit < high or isclose(limit, low) or isclose(limit, high):
            raise InvalidOptionError(
                f"{rule}: the limit has to lie inside the bounds {low:g} to {high:g} to be decided during a run; "
                "set bounds: in the policy, or gate the run when it is over"
            )
        self.rule = rule
        self.worst = 0.0 if above else 1.0
        """What an assertion that was lost counts as, so that a crash never helps."""
        self._above = EProcess(limit, low=low, high=high)
        self._below = EProcess(limit, low=low, high=high, alternative="less")
        self._good = self._above if above else self._below
        self._bad = self._below if above else self._above

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
