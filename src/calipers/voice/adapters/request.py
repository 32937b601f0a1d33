"""What may be asked of an agent: checked before anything is sent."""

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


def as_json(body: Any) -> bytes:
    """The body of a request; bytes in it become base64.

    Raises:
        InvalidOptionError: JSON cannot hold it.
    """
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidOptionError(f"the request cannot be sent as JSON: {error}") from None


def endpoint(base_url: str, path: str) -> str:
    """The address of a path below a base; a base that has the path already, and its query, stay as they are."""
    try:
        parts = urlsplit(base_url)
    except ValueError:
        return base_url  # whoever connects will say what is wrong with it
    whole = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=whole if whole.endswith(path) else whole + path))
