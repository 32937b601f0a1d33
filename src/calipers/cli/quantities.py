"""Ages and sizes as people write them, and sizes as they are shown."""

import re
from datetime import timedelta

from calipers.errors import InvalidOptionError

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def age_in(option: str, text: str) -> timedelta:
    """An age, such as `30d`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([mhdw])", text.strip().lower(), re.ASCII)
    try:
        if found is not None:
            return timedelta(**{_UNITS[found[2]]: float(found[1])})
    except OverflowError:
        pass
    raise InvalidOptionError(
        f"{option} must be a number and a unit, such as 30d, 2w, 12h or 90m, got {text!r}"
    )


def bytes_in(option: str, text: str) -> int:
    """A size, such as `2GB`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(k|m|g|t)?b?", text.strip().lower(), re.ASCII)
    if found is None:
        raise InvalidOptionError(
            f"{option} must be a number and a unit, such as 2GB, 500MB or 100kB, got {text!r}"
        )
    return int(float(found[1]) * 1000 ** " kmgt".index(found[2] or " "))


def size_text(number: float) -> str:
    """So many bytes, as they are shown."""
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:,.0f} {unit}" if unit == "bytes" else f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:,.3g} GB"
