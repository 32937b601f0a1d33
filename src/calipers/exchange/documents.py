"""JSON as other programs write it, and what to say of a document that is not what it should be."""

import json
import math
from typing import Any

import msgspec

from calipers.errors import ReportFormatError


def read_document(data: bytes, what: str) -> Any:
    """The data of a JSON document. `NaN` and `Infinity`, which JSON has no word for, are read too: some write them.

    Args:
        data: in UTF-8.
        what: what the document is called, for errors.

    Raises:
        ReportFormatError: it is not JSON; the message says in which line and column.
    """
    text = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(text.decode())
    except RecursionError as error:
        raise ReportFormatError(f"{what} is nested too deeply to be read") from error
    except ValueError as error:
        raise ReportFormatError(f"{what} is not JSON ({error}); it begins {data[:40]!r}") from error


def damaged(what: str, error: Exception) -> ReportFormatError:
    """The error of a document that cannot be what it seems to be."""
    return ReportFormatError(f"{what} is damaged: {error}")


def is_no_score(value: Any) -> bool:
    """Whether a number is none that a result may have: NaN, infinite, or an integer of more than 64 bits."""
    if type(value) is int:
        return not -(1 << 63) <= value < 1 << 63
    return isinstance(value, float) and not math.isfinite(value)


def is_time(seconds: float | None) -> bool:
    """Whether a number may be how long something took."""
    return seconds is not None and math.isfinite(seconds) and seconds >= 0
