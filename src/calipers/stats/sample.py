"""A sample: the plain list of finite floats that every statistic here starts from.

Booleans count as 0 and 1. NaN and infinity are refused with their position, because one of them silently
turns a mean, a sort or an interval into nonsense.
"""

from collections.abc import Iterable, Sequence
from math import fsum, isfinite

__all__ = ["case_means", "finite_values"]


def finite_values(values: Iterable[float], *, name: str = "values") -> list[float]:
    """`values` as a list of floats; a NaN or an infinity among them is a `ValueError`."""
    sample = [float(value) for value in values]
    if not all(map(isfinite, sample)):
        index, value = next((i, x) for i, x in enumerate(sample) if not isfinite(x))
        raise ValueError(
            f"{name} must be finite numbers, got {value!r} at index {index}; leave out what was not measured"
        )
    return sample


def case_means(cases: Sequence[Sequence[float]], *, name: str = "cases") -> list[float]:
    """The mean of each case's attempts: the case is the unit of inference, and its attempts are averaged first."""
    means = []
    for index, scores in enumerate(cases):
        if isinstance(scores, int | float):
            raise TypeError(
                f"{name}: case {index} must be the list of its attempts' scores, got {scores!r}; "
                f"write [[0.5], [1.0]] for cases attempted once"
            )
        known = finite_values(scores, name=f"{name}: scores of case {index}")
        if not known:
            raise ValueError(f"{name}: case {index} has no scores; leave out a case that was not scored")
        means.append(fsum(known) / len(known))
    return means
