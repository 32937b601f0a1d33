"""A line of a view, as data: its parts, what is text of others among them, and the tone in which a view says each."""

from typing import Literal, NamedTuple, TypeAlias

from .text import fit

Tone: TypeAlias = Literal["plain", "strong", "alert", "bad", "caution", "warn", "quiet"]
"""`alert` and `caution` are strong and coloured, `bad` and `warn` only coloured."""


class Part(NamedTuple):
    """Part of a line. Text of others has a limit in cells or in rows of the page; our own words have neither."""

    text: str
    tone: Tone = "plain"
    cells: int | None = None
    rows: int | None = None

    @property
    def is_ours(self) -> bool:
        """Whether it is our own words."""
        return self.cells is None and self.rows is None

    def cut(self, width: int, *, encoding: str = "utf-8") -> str:
        """The text, cut to its limit in rows of that width and made safe; our own words as they are."""
        if self.is_ours:
            return self.text
        return fit(self.text, max(self.cells or (self.rows or 1) * width, 1), encoding=encoding)


Line: TypeAlias = tuple[Part, ...]


class Measure(NamedTuple):
    """Short facts that stand side by side under one head."""

    head: str
    facts: list[Line]
