"""Where the next page of a list begins: after a row, wherever that stands by then."""

import base64
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from .refusal import Refusal


class Cursor(NamedTuple):
    """The place after a row. Those who send it back need not know what is in it."""

    place: int
    """The place of the next row when the page was made."""
    last: str
    """The id of the last row of the page."""

    def text(self) -> str:
        """As it is sent."""
        return base64.urlsafe_b64encode(msgspec.json.encode((self.place, self.last))).decode().rstrip("=")

    @classmethod
    def read(cls, text: str) -> "Cursor":
        """The cursor that was sent.

        Raises:
            Refusal: it is none.
        """
        try:
            data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            place, last = msgspec.json.decode(data, type=tuple[int, str])
        except ValueError as error:
            raise Refusal(
                "bad_request", f"{text!r:.100} is not a place in this list: start at its first page"
            ) from error
        return cls(place, last)

    def place_in(self, ids: Sequence[str]) -> int:
        """Where to go on: after the last row or, if it is gone, where the next one was."""
        if self.last in ids:
            return ids.index(self.last) + 1
        return max(0, min(self.place - 1, len(ids)))
