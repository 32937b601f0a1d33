"""Several questions at once: p-values adjusted so that the chance of being fooled stays what it was.

Twenty evaluators compared at 5 % raise one false alarm on average though nothing differs. An adjusted p-value may be
compared with the level as if it were the only one.

- `holm` keeps the chance of *any* false alarm at the level, whatever the dependence between the tests (Holm, "A Simple
  Sequentially Rejective Multiple Test Procedure", 1979). For a gate, where one false alarm stops a release. It is never
  worse than Bonferroni's.
- `benjamini_hochberg` keeps the expected *share* of false alarms among the alarms at the level (Benjamini & Hochberg,
  "Controlling the False Discovery Rate", 1995). For exploring many evaluators or slices, where some false ones are bearable.
  It holds for tests that are independent or positively dependent, as evaluators of the same outputs mostly are.

Adjust over all the questions that were asked, not over those that came out well.
"""

from collections.abc import Sequence
from numbers import Real

__all__ = ["benjamini_hochberg", "holm"]


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted by Holm, in the order given."""
    order = _ascending(p_values)
    adjusted = [1.0] * len(order)
    highest = 0.0
    for place, index in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted by Benjamini and Hochberg, in the order given."""
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
