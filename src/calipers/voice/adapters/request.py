"""What may be asked of an agent: checked before anything is sent."""

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from calipers.errors import InvalidOptionError
from calipers.voice.audio import Audio


def check_audio(audio: Audio) -> Audio:
    """The same, if it is sound.

    Raises:
        InvalidOptionError: it is something else.
    """
    if not isinstance(audio, Audio):
        raise InvalidOptionError(f"run takes an Audio, got {audio!r:.200}; for a text there is run_text")
    return audio


def check_text(text: str) -> str:
    """The same, if it is text.

    Raises:
        InvalidOptionError: it is something else.
    """
    if not isinstance(text, str):
        raise InvalidOptionError(f"run_text takes a text, got {text!r:.200}; for sound there is run")
    return text


def check_chunk(milliseconds: int) -> None:
    """Check the length of the pieces that sound is sent in.

    Raises:
        InvalidOptionError: it is no whole number of milliseconds above 0.
    """
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int) or milliseconds < 1:
        raise InvalidOptionError(
            f"chunk_ms must be a whole number of milliseconds above 0, got {milliseconds!r}"
        )


def check_count(name: str, value: Any) -> None:
    """Check how many there are to be of something.

    Raises:
        InvalidOptionError: it is no whole number above 0.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidOptionError(f"{name} must be a whole number above 0, got {value!r:.200}")


def as_json(body: Any, *, what: str = "the request") -> bytes:
    """The body of a request; bytes in it become base64.

    Raises:
        InvalidOptionError: JSON cannot hold it.
    """
    try:
        if (number := _not_finite(body)) is not None:
            raise ValueError(f"it holds {number!r}, and JSON knows only finite numbers")  # noqa: TRY301
        return msgspec.json.encode(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidOptionError(f"{what} cannot be sent as JSON: {error}") from None


def _not_finite(value: Any) -> float | None:
    """The first number in a value that JSON cannot hold, which a serializer would take for `null`."""
    if isinstance(value, str):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else value
    inside = (
        value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    )
    return next((number for each in inside if (number := _not_finite(each)) is not None), None)


def endpoint(base_url: str, path: str) -> str:
    """The address of a path below a base; a base that has the path already, and its query, stay as they are."""
    try:
        parts = urlsplit(base_url)
    except ValueError:
        return base_url  # whoever connects will say what is wrong with it
    whole = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=whole if whole.endswith(path) else whole + path))
