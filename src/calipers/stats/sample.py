"""A sample: the plain list of finite floats that every statistic here starts from.

Booleans count as 0 and 1. NaN and infinity are refused with their position, because one of them silently
turns a mean, a sort or an interval into nonsense.

Cases come in two shapes: scores as the list of each case's attempts (`[[0.5, 1.0], [0.0]]`), passes as counts
(`[(2, 3), (0, 1)]`: two of three, none of one). One must never be read as the other: `[1, 1]`, two attempts that passed,
would become one pass of one. So counts are tuples, and a list in their place is refused.
"""

from collections.abc import Iterable, Sequence
from math import fsum, isfinite
from numbers import Integral, Real

__all__ = ["case_means", "check_attempts", "check_case_counts", "finite_values"]

_PLAIN = (list, tuple)


def finite_values(values: Iterable[float], *, name: str = "values") -> list[float]:
    """`values` as a list of floats; a NaN or an infinity among them is a `ValueError`."""
    sample: list[float] = []
    for value in values:
        try:
            sample.append(float(value))
        except (TypeError, ValueError):
            raise TypeError(
                f"{name} must be numbers, got {value!r} at index {len(sample)}; leave out what was not measured"
            ) from None
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
        if type(scores) in _PLAIN and len(scores) == 1 and type(scores[0]) is float and isfinite(scores[0]):
            means.append(scores[0])  # most cases are attempted once, and there may be many
            continue
        check_attempts(scores, index, name=name)
        known = finite_values(scores, name=f"{name}: scores of case {index}")
        if not known:
            raise ValueError(f"{name}: case {index} has no scores; leave out a case that was not scored")
        means.append(fsum(known) / len(known))
    return means


def check_attempts(scores: object, index: int, *, name: str = "cases") -> None:
    """Refuse a case that is not the list of its attempts' scores."""
    if isinstance(scores, str | bytes) or not hasattr(scores, "__len__"):
        raise TypeError(
            f"{name}: case {index} must be the list of its attempts' scores, got {scores!r}; "
            f"write [[0.5], [1.0]] for cases attempted once"
        )


def check_case_counts(cases: Iterable[object]) -> None:
    """Refuse cases that are not given as (passes, attempts)."""
    for index, case in enumerate(cases):
        if not isinstance(case, tuple) or len(case) != 2:
            raise TypeError(
                f"case {index} must be the tuple (passes, attempts), got {case!r}; write (1, 1) or (0, 1) for a case "
                f"attempted once, and (sum(attempts), len(attempts)) for a list of attempts that are 1 or 0"
            )
        passes, attempts = case
        if isinstance(attempts, bool) or not (isinstance(attempts, Integral) and isinstance(passes, Real)):
            raise TypeError(
                f"case {index} must be (passes, attempts), a number and a whole number, got {case!r}; "
                f"two attempts of which one passed are (1, 2)"
            )
