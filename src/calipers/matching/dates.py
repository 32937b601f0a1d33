"""A matcher for dates and times, however they are written.

| written | read as |
|---|---|
| `2025-03-05`, `20250305`, `2025/03/05` | a date |
| `5 March 2025`, `5th of March 2025`, `March 5, 2025`, `Wed, 5 Mar 2025` | a date; English names, whole or three letters |
| `05.03.2025` | a date, the day first |
| `05/03/2025`, `05-03-2025` | a date as `day_first` says; without it, only if one of the two cannot be a month |
| `2025-03-05T14:30`, `… 14:30:05.25`, `… 2:30 pm`, `…Z`, `…+01:00` | a date of any form above, and a time |

A `date` or `datetime` object is itself. Two-digit years and words such as "tomorrow" are not read: they depend on who
reads them. Neither are numbers: they do not say what they count, or since when.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from calipers.data.value_text import show, show_typed
from calipers.errors import InvalidOptionError

from .value_comparison import Matcher

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH = (
    {name[:3]: number for number, name in enumerate(_MONTHS, start=1)}
    | {name: number for number, name in enumerate(_MONTHS, start=1)}
    | {"sept": 9}
)
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_WEEKDAY = re.compile(rf"^(?:{'|'.join(f'{day}|{day[:3]}' for day in _DAYS)}),?\s+")

_NAME = rf"(?P<name>{'|'.join(sorted(_MONTH, key=len, reverse=True))})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?P<year>\d{4})(?P<mark>[-/.]?)(?P<month>\d{2})(?P=mark)(?P<day>\d{2})",
        rf"{_DAY}(?:\s+of)?[\s-]+{_NAME}\.?,?[\s-]+(?P<year>\d{{4}})",
        rf"{_NAME}\.?\s+{_DAY},?\s+(?P<year>\d{{4}})",
        r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})",
        r"(?P<first>\d{1,2})(?P<mark>[/-])(?P<second>\d{1,2})(?P=mark)(?P<year>\d{4})",
    )
)
_TIME = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"\s*(?P<half>[ap]\.?m\.?)?\s*(?P<zone>z|utc|gmt|[+-]\d{2}:?\d{2})?"
)
_LONGEST = 60
"""No date is written with more characters."""


@dataclass(frozen=True, repr=False)
class DateIs(Matcher):
    """A date, or a moment, in any of the usual written forms.

    A date matches whatever falls on it: a moment of that day, too, as its own zone counts days. A moment matches the same
    moment in any zone, and nothing that tells no time.
    """

    value: date | datetime | str
    """The date or the moment, as an object or written."""
    tolerance: timedelta = field(default=timedelta(0), kw_only=True)
    """How far away it may be, in either direction."""
    day_first: bool | None = field(default=None, kw_only=True)
    """How to read 05/03/2025: the day first, the month first; `None` leaves it unread."""
    zone: str | None = field(default=None, kw_only=True)
    """The time zone of moments that tell none, such as "Europe/Paris" or "UTC"; without it they match only others that
    tell none."""

    def __post_init__(self) -> None:
        if not isinstance(self.tolerance, timedelta) or self.tolerance < timedelta(0):
            raise InvalidOptionError(f"tolerance must be a timedelta from 0 up, got {self.tolerance!r}")
        if self.zone is not None:
            _zone(self.zone)
        if self._read(self.value) is None:
            raise InvalidOptionError(
                f"DateIs needs a date, a datetime or one written in a form it knows, such as '2025-03-05' or "
                f"'2025-03-05T14:30', got {self.value!r}"
            )

    def similarity(self, actual: Any) -> float:
        """1 if it is the date."""
        expected, found = self._read(self.value), self._read(actual)
        if expected is None or found is None:
            return 0.0
        away = _distance(expected, found)
        return 1.0 if away is not None and away <= self.tolerance else 0.0

    def why_not(self, actual: Any) -> str:
        """What was expected, and what was read."""
        expected, found = self._read(self.value), self._read(actual)
        wanted = f"expected {_written(expected)}"
        if self.tolerance:
            wanted += f" ± {self.tolerance}"
        if found is None:
            return f"{wanted}, got {show_typed(actual)}, which is no date of a known and unambiguous form"
        if _distance(expected, found) is None:
            return f"{wanted}, got {_written(found)}: one of them tells a time, or a zone, that the other does not"
        return f"{wanted}, got {_written(found)}" + (f" ({show(actual)})" if isinstance(actual, str) else "")

    def _read(self, value: Any) -> date | datetime | None:
        found = _parse(value, day_first=self.day_first) if isinstance(value, str) else value
        if isinstance(found, datetime) and found.tzinfo is None and self.zone is not None:
            return found.replace(tzinfo=_zone(self.zone))
        return found if isinstance(found, date) else None


def _distance(expected: date | datetime | None, found: date | datetime | None) -> timedelta | None:
    """How far apart two dates are; `None` if they cannot be compared."""
    if not isinstance(expected, datetime):
        day = found.date() if isinstance(found, datetime) else found
        return None if expected is None or day is None else abs(expected - day)
    if not isinstance(found, datetime) or (expected.tzinfo is None) != (found.tzinfo is None):
        return None
    return abs(expected - found)


def _written(value: date | datetime | None) -> str:
    return "a date" if value is None else value.isoformat(*([" "] if isinstance(value, datetime) else []))


def _zone(name: str) -> tzinfo:
    if name.upper() == "UTC":  # known even where the system has no list of zones
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InvalidOptionError(f"{name!r} is no time zone that this system knows") from error


def _parse(text: str, *, day_first: bool | None) -> date | datetime | None:
    if len(text) > _LONGEST:
        return None
    text = _WEEKDAY.sub("", " ".join(text.split()).lower())
    for pattern in _DATES:
        found = pattern.match(text)
        if found is None:
            continue
        day = _date(found.groupdict(), day_first)
        rest = text[found.end() :]
        if day is None or not rest:
            return day
        separator = re.match(r"t|,?\s(?:at\s)?|,", rest)
        moment = _time(rest[separator.end() :]) if separator else None
        return None if moment is None else datetime.combine(day, moment)
    return None


def _date(parts: dict[str, str | None], day_first: bool | None) -> date | None:
    year = int(parts["year"] or 0)
    if parts.get("first"):
        first, second = int(parts["first"] or 0), int(parts["second"] or 0)
        if day_first is None and first != second:
            if (first > 12) == (second > 12):
                return None
            day_first = first > 12
        day, month = (first, second) if day_first else (second, first)
    else:
        day = int(parts["day"] or 0)
        month = _MONTH[parts["name"] or ""] if parts.get("name") else int(parts["month"] or 0)
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _time(text: str) -> time | None:
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    parts = found.groupdict()
    hour, half = int(parts["hour"]), parts["half"]
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half[0] == "p" else 0)
    microsecond = int(f"{parts['fraction'] or '0':0<6}"[:6])
    try:
        return time(
            hour, int(parts["minute"]), int(parts["second"] or 0), microsecond, tzinfo=_offset(parts["zone"])
        )
    except ValueError:
        return None


def _offset(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    if text in {"z", "utc", "gmt"}:
        return UTC
    return datetime.strptime(text, "%z").tzinfo
