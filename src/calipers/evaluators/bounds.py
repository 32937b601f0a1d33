"""A range with both ends included, as evaluators take it: `minimum`, `maximum`, or both.

A range without any bound would accept everything, so it is an error and not a pass.
"""

from typing import Any

from calipers.data.argument_checks import check_number, check_whole_number, is_whole_number
from calipers.errors import InvalidOptionError


def check_bounds(owner: str, minimum: Any, maximum: Any) -> None:
    """Refuse bounds that mean nothing.

    Raises:
        InvalidOptionError: no bound, one that is no finite number, or a minimum above the maximum.
    """
    if minimum is None and maximum is None:
        raise InvalidOptionError(
            f"{owner} needs minimum=, maximum= or both: without a bound everything would pass"
        )
    for name, bound in (("minimum", minimum), ("maximum", maximum)):
        if not is_whole_number(bound):  # which may be larger than any float
            check_number(f"{name} of {owner}", bound, or_none=True)
    if minimum is not None and maximum is not None and minimum > maximum:
        raise InvalidOptionError(f"{owner} has a minimum of {minimum!r} above its maximum of {maximum!r}")


def check_counts(owner: str, minimum: Any, maximum: Any) -> None:
    """Refuse bounds of a count that mean nothing.

    Raises:
        InvalidOptionError: as in `check_bounds`, or a bound that no count can miss or meet.
    """
    check_bounds(owner, minimum, maximum)
    for name, bound in (("minimum", minimum), ("maximum", maximum)):
        check_whole_number(f"{name} of {owner}", bound, at_least=0, or_none=True)
    if minimum == 0 and maximum is None:
        raise InvalidOptionError(f"{owner} with minimum=0 alone would accept everything: give a maximum too")


def is_within(number: float, minimum: float | None, maximum: float | None) -> bool:
    """Whether the number lies in the range; NaN lies in none."""
    return not (
        number != number  # noqa: PLR0124 - the test for NaN
        or (minimum is not None and number < minimum)
        or (maximum is not None and number > maximum)
    )


def describe_bounds(minimum: float | None, maximum: float | None) -> str:
    """The range in words: "at least 3", "at most 5", "3 to 5", "exactly 3"."""
    if maximum is None:
        return f"at least {minimum!r}"
    if minimum is None:
        return f"at most {maximum!r}"
    return f"exactly {minimum!r}" if minimum == maximum else f"{minimum!r} to {maximum!r}"
