"""Checks of arguments: one function, and one wording, for each rule.

A check returns the value as it is, or raises an error that names the argument, states the rule and shows the value. A
bool is not a number here, although Python counts it as an int, and a number is finite unless `at_most=math.inf` allows
infinity. Where `or_none` is set, `None` passes too.
"""

import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, TypeGuard, TypeVar

from calipers.errors import CalipersError, InvalidOptionError

from .jsonable import safe_repr

_T = TypeVar("_T")
_Error = type[CalipersError | ValueError | TypeError]


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether it is an int or a float; a bool is neither."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole_number(value: Any, *, at_least: float = -math.inf) -> TypeGuard[int]:
    """Whether it is an int from `at_least`; a bool is not."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= at_least


def is_real_number(value: Any) -> TypeGuard[Real | Decimal]:
    """Whether it is a number of any library that has an order, such as a Decimal or a numpy float; a bool is not."""
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def check_whole_number(
    name: str,
    value: _T,
    *,
    at_least: int | None = None,
    at_most: int | None = None,
    or_none: bool = False,
    error: _Error = InvalidOptionError,
) -> _T:
    """The value, if it is a whole number within these limits, both included."""
    if value is None and or_none:
        return value
    number: Any = value
    if (
        isinstance(number, bool)
        or not isinstance(number, int)
        or (at_least is not None and number < at_least)
        or (at_most is not None and number > at_most)
    ):
        lowest = "" if at_least is None else f" from {at_least:,}"
        highest = "" if at_most is None else f" to {at_most:,}"
        raise _refusal(error, name, f"a whole number{lowest}{highest}", value, or_none=or_none)
    return value


def check_number(
    name: str,
    value: _T,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    of: str = "",
    or_none: bool = False,
    error: _Error = InvalidOptionError,
) -> _T:
    """The value, if it is a number within these limits; `of` is what the number counts, such as "seconds"."""
    if value is None and or_none:
        return value
    number: Any = value
    # An integer beyond the largest float passes no calculation, so it counts as infinite.
    if (
        isinstance(number, bool)
        or not isinstance(number, int | float)
        or not (-sys.float_info.max if at_least is None else at_least) <= number
        or (above is not None and not number > above)
        or not number <= (sys.float_info.max if at_most is None else at_most)
    ):
        limits = [] if at_least is None else [f"from {at_least:,}"]
        limits += [] if above is None else [f"above {above:,}"]
        if at_most is not None and at_most < math.inf:
            limits += [f"to {at_most:,}" if above is None else f"and at most {at_most:,}"]
        infinite = at_most is None and is_number(number) and not abs(number) <= sys.float_info.max
        kind = f"{'finite ' * infinite}number" + (f" of {of}" if of else "")
        raise _refusal(error, name, " ".join(["a", kind, *limits]), value, or_none=or_none)
    return value


def check_seconds(name: str, value: _T) -> _T:
    """The value, if it is a limit of time: a number of seconds above 0, or `None` for no limit."""
    return check_number(name, value, above=0, of="seconds", or_none=True)


def check_share(
    name: str,
    value: _T,
    *,
    or_zero: bool = True,
    or_one: bool = True,
    or_none: bool = False,
    error: _Error = InvalidOptionError,
) -> _T:
    """The value, if it is a number from 0 to 1; without `or_zero`, above 0, and without `or_one`, below 1 as well."""
    number: Any = value
    above, below = or_zero and or_one, or_one
    holds = is_number(number) and 0 <= number <= 1 and (number > 0 or above) and (number < 1 or below)
    rule = "a number from 0 to 1" if above else f"a number above 0 and {'at most' if below else 'below'} 1"
    percent = is_number(number) and 1 < number <= 100
    hint = f"; {number:g} % is written {number / 100:g}" if percent else ""
    return _checked(name, value, rule, holds, or_none, error, hint)


def check_flag(name: str, value: _T, *, or_none: bool = False, error: _Error = InvalidOptionError) -> _T:
    """The value, if it is `True` or `False`."""
    return _checked(name, value, "True or False", isinstance(value, bool), or_none, error)


def check_text(
    name: str,
    value: _T,
    *,
    or_empty: bool = False,
    or_none: bool = False,
    error: _Error = InvalidOptionError,
) -> _T:
    """The value, if it is a text with something in it besides spaces; with `or_empty`, any text."""
    holds = isinstance(value, str) and (or_empty or bool(value.strip()))
    return _checked(name, value, "a text" + " that is not empty" * (not or_empty), holds, or_none, error)


def check_texts(
    name: str,
    value: _T,
    *,
    or_empty: bool = False,
    or_none: bool = False,
    error: _Error = InvalidOptionError,
) -> _T:
    """The value, if it is a list of texts, each as in `check_text`; a text alone is not a list."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)
    texts: Any = value if is_list else [None]
    holds = all(isinstance(text, str) and (or_empty or text.strip()) for text in texts)
    rule = "a list of texts" + " that are not empty" * (not or_empty)
    return _checked(name, value, rule, holds, or_none, error)


def check_choice(
    name: str,
    value: _T,
    choices: Collection[str],
    *,
    or_none: bool = False,
    error: _Error = InvalidOptionError,
) -> _T:
    """The value, if it is one of these words."""
    holds = isinstance(value, str) and value in choices
    return _checked(name, value, f"one of {', '.join(choices)}", holds, or_none, error)


def check_mapping(name: str, value: _T, *, or_none: bool = False, error: _Error = InvalidOptionError) -> _T:
    """The value, if it is a mapping, such as a dict."""
    return _checked(name, value, "a mapping", isinstance(value, Mapping), or_none, error)


def check_list(name: str, value: _T, *, or_none: bool = False, error: _Error = InvalidOptionError) -> _T:
    """The value, if it is a list or a tuple."""
    return _checked(name, value, "a list", isinstance(value, list | tuple), or_none, error)


def check_function(name: str, value: _T, *, or_none: bool = False, error: _Error = InvalidOptionError) -> _T:
    """The value, if it can be called."""
    return _checked(name, value, "a function", callable(value), or_none, error)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` if a known name is close to this unknown one, else an empty text."""
    from difflib import get_close_matches

    close = get_close_matches(str(name), list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _checked(
    name: str, value: _T, rule: str, holds: bool, or_none: bool, error: _Error, hint: str = ""
) -> _T:
    if holds or (value is None and or_none):
        return value
    raise _refusal(error, name, rule, value, or_none=or_none, hint=hint)


def _refusal(error: _Error, name: str, rule: str, value: Any, *, or_none: bool, hint: str = "") -> Exception:
    choice = ", or None" if or_none else ""
    return error(f"{name} must be {rule}{choice}, got {safe_repr(value):.200}{hint}")
