"""How long a provider wants to be left alone: `Retry-After` in each of its forms.

A header is a number of seconds, a date, or a duration (`6m0s`); `retry-after-ms` is one of milliseconds; Gemini says it in the
body. The headers that say when a limit is full again are something else (`rate_headers.py`): the next request is allowed much earlier.
"""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PIECE = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d)")


def wait_of(headers: Mapping[str, str], body: Any = None) -> float | None:
    """Seconds to wait, by the headers and the body of an answer; `None` if they do not say."""
    given = headers.get("retry-after-ms")
    if given is not None and (found := seconds_in(f"{given.strip()}ms")) is not None:
        return found
    for text in (headers.get("retry-after"), *_delays(body)):
        if text is not None and (found := seconds_in(text)) is not None:
            return found
    return None


def seconds_in(text: str, *, now: datetime | None = None) -> float | None:
    """Seconds in a number, a duration or until a date; 0 for a date that is past, `None` if it is none of these.

    `1.5`, `12ms` and `1h2m3.5s` are 1.5, 0.012 and 3723.5.
    """
    text = text.strip()
    try:
        number = float(text)
    except ValueError:
        return _duration(text) if _PIECE.match(text) and text[-1:].isalpha() else _until(text, now)
    return number if 0 <= number < math.inf else None


def _duration(text: str) -> float | None:
    """Seconds in `1h2m3.5s`; the pieces must be all there is. A date that begins like one does not count."""
    pieces = _PIECE.findall(text)
    if "".join(number + unit for number, unit in pieces) != text:
        return _until(text, None)
    return math.fsum(float(number) * _UNITS[unit] for number, unit in pieces)


def _until(text: str, now: datetime | None) -> float | None:
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        try:
            date = parsedate_to_datetime(text)
        except ValueError:
            return None
    date = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


def _delays(body: Any) -> Iterator[str]:
    """What Gemini says in the details of an error."""
    error = body.get("error") if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    for detail in details if isinstance(details, list | tuple) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str):
            yield delay
