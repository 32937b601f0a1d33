"""What the options of evaluators may be: each check names the evaluator, the option and the value it was given."""

import difflib
import math
from collections.abc import Iterable
from typing import Any

from calipers.errors import InvalidOptionError


def check_positive(owner: str, option: str, value: Any) -> None:
    """Refuse what is no finite number above 0.

    Raises:
        InvalidOptionError: with the option and the value.
    """
    if not _is_number(value) or not 0 < value < math.inf:
        raise InvalidOptionError(f"{owner} needs a finite number above 0 as {option}, got {value!r}")


def check_share(owner: str, option: str, value: Any) -> None:
    """Refuse what is no number above 0 and up to 1.

    Raises:
        InvalidOptionError: with the option and the value.
    """
    if not _is_number(value) or not 0 < value <= 1:
        hint = f"; {value:g} % is written {value / 100:g}" if _is_number(value) and 1 < value <= 100 else ""
        raise InvalidOptionError(
            f"{owner} needs a number above 0 and up to 1 as {option}, got {value!r}{hint}"
        )


def check_count(owner: str, option: str, value: Any, *, least: int) -> None:
    """Refuse what is no whole number of at least so much.

    Raises:
        InvalidOptionError: with the option and the value.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidOptionError(f"{owner} needs a whole number from {least} up as {option}, got {value!r}")


def check_items(owner: str, option: str, value: Any, items: str) -> None:
    """Refuse what is no list.

    Raises:
        InvalidOptionError: with the option and the value.
    """
    if not isinstance(value, list | tuple):
        raise InvalidOptionError(f"{owner} needs a list of {items} as {option}, got {value!r:.200}")


def instead(given: Any, known: Iterable[str]) -> str:
    """What a name that nobody knows may have been meant for, to end a message with."""
    names = list(known)
    close = difflib.get_close_matches(str(given), names, n=1)
    if close:
        return f": did you mean {close[0]!r}?"
    return f"; there are {', '.join(names)}" if names else ": it takes none"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
