"""An answer that is no JSON: a file to be saved, or sound to be heard."""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

SHOWN_TYPES: Final = frozenset(
    {"audio/wav", "audio/x-wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/mp4", "audio/webm"}
)
"""Types that a browser may do something with. Anything else is saved and never shown: what a model made may be a page or a script."""


class Download:
    """A file that an answer consists of."""

    def __init__(
        self, body: bytes | Iterable[bytes], *, media_type: str = "application/octet-stream", name: str = ""
    ) -> None:
        """A file.

        Args:
            body: the whole of it, of which a part can be asked for (`Range`), or its pieces, which are sent as they come.
            media_type: what it is. Other types than sound and CSV become `application/octet-stream`.
            name: what to call it when it is saved.
        """
        self.body = body
        self.is_shown = media_type in SHOWN_TYPES
        is_known = self.is_shown or media_type in {"text/csv; charset=utf-8", "text/plain; charset=utf-8"}
        self.media_type = media_type if is_known else "application/octet-stream"
        self.name = name

    @property
    def disposition(self) -> str:
        """The header that names the file. No name leaves its header."""
        kind = "inline" if self.is_shown else "attachment"
        if not self.name:
            return kind
        plain = re.sub(r"[^A-Za-z0-9._-]+", "_", self.name).strip("._") or "file"
        exact = re.sub(r"[\x00-\x1f\x7f/\\]+", "_", self.name).encode("utf-8", "replace")
        return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(exact)}"
