"""What the terminal view draws on: lines of a known width, in an encoding that may know few characters.

Everything that goes on a page is a `rich.text.Text` made here, from text that passed through `calipers.views.text`.
Rich never gets to see a plain string: it would read markup, emoji codes and links in it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from .text import ellipsis, fit, fit_value, is_unicode

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

    from .line import Line, Part, Tone

_PLAIN = str.maketrans({"µ": "u", "…": "...", "·": "-"})
"""Our own glyphs in ASCII."""
STYLES: "dict[Tone, str]" = {
    "plain": "",
    "strong": "bold",
    "alert": "bold red",
    "bad": "red",
    "caution": "bold yellow",
    "warn": "yellow",
    "quiet": "dim",
}
"""How a terminal shows a tone."""
_HANG = 2
"""Cells by which the later rows of a hanging line stand deeper."""


@dataclass(frozen=True)
class Page:
    """A width in cells, and an encoding."""

    width: int = 80
    encoding: str = "utf-8"

    @property
    def unicode(self) -> bool:
        """Whether glyphs beyond ASCII may be used."""
        return is_unicode(self.encoding)

    def glyph(self, fancy: str, plain: str) -> str:
        """The first where it can be shown, else the second."""
        return fancy if self.unicode else plain

    @property
    def dot(self) -> str:
        """What separates facts on one line."""
        return self.glyph(" · ", " - ")

    @property
    def ellipsis(self) -> str:
        """What stands for things left out."""
        return ellipsis(self.encoding)

    def fit(self, text: str, width: int) -> str:
        """Text of others, on one line of at most `width` cells."""
        return fit(text, max(width, 1), encoding=self.encoding)

    def fit_value(self, value: Any, width: int) -> str:
        """Any value, on one line of at most `width` cells."""
        return fit_value(value, max(width, 1), encoding=self.encoding)

    def own(self, words: str) -> str:
        """Our own words, in the glyphs of the page."""
        return words if self.unicode else words.translate(_PLAIN)

    def part(self, part: "Part") -> str:
        """Part of a line: text of others cut to its limit and made safe, our own words as they are."""
        return self.own(part.text) if part.is_ours else part.cut(self.width, encoding=self.encoding)

    def plain(self, line: "Line") -> str:
        """A line of the statement as text."""
        return "".join(map(self.part, line))

    def sentence(self, line: "Line") -> "Text":
        """A line of the statement."""
        styled = groupby(line, key=lambda part: STYLES[part.tone])
        return self.line(*(("".join(map(self.part, parts)), style) for style, parts in styled))

    def line(self, *parts: str | tuple[str, str]) -> "Text":
        """A line of safe parts, each plain or with its style; it wraps where it is too long."""
        from rich.text import Text

        return Text.assemble(*parts, overflow="fold")

    def facts(self, items: Sequence[str], *, head: str = "", style: str = "") -> "Iterator[Text]":
        """Short facts side by side, in as many lines as they need; no fact is broken."""
        from rich.cells import cell_len

        rows: list[list[str]] = [[]]
        used = cell_len(head)
        for item in items:
            need = cell_len(item) + (cell_len(self.dot) if rows[-1] else 0)
            if rows[-1] and used + need > self.width:
                rows.append([])
                used, need = cell_len(head), cell_len(item)
            rows[-1].append(item)
            used += need
        for number, row in enumerate(rows):
            lead = head if number == 0 else " " * cell_len(head)
            yield self.line((lead, "bold"), (self.dot.join(row), style))

    def indented(self, text: "Text", indent: int = 4) -> "RenderableType":
        """A line that stays indented where it wraps."""
        from rich.padding import Padding

        return Padding(text, (0, 0, 0, min(indent, self.width // 4)))

    def hanging(self, text: str, indent: int = 4, *, rows: int = 3) -> "RenderableType":
        """One of several lines that belong together: where it wraps, what follows stands deeper than its beginning.

        Args:
            text: of others; the blanks it begins with indent it further.
            indent: cells.
            rows: that it may take; the rest is cut.
        """
        bare = text.lstrip(" ")
        indent = min(indent + len(text) - len(bare), self.width // 4)
        room = self.width - indent - _HANG
        return _Hanging(self.line(self.fit(bare, rows * room)), indent)


@dataclass(frozen=True)
class _Hanging:
    """A line whose second and further rows are indented more than the first."""

    text: "Text"
    indent: int

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Text]":
        from rich.text import Text

        rows = self.text.wrap(console, max(options.max_width - self.indent - _HANG, 1), overflow="fold")
        for number, row in enumerate(rows):
            yield Text.assemble(" " * (self.indent + _HANG * (number > 0)), row, overflow="fold")


def sections(page: Page, parts: "Iterable[Iterable[RenderableType]]") -> "Iterator[RenderableType]":
    """The lines of all parts that have some, with an empty line between two parts."""
    first = True
    for part in parts:
        empty = True
        for line in part:
            if empty and not first:
                yield page.line()
            empty = first = False
            yield line


def print_view(view: "RenderableType", *, console: "Console | None" = None, width: int | None = None) -> None:
    """Show something: in colour on a terminal, as plain text without trailing blanks anywhere else.

    Args:
        view: what to show.
        console: where; default: standard output.
        width: in columns; default: that of the terminal.
    """
    from rich.console import Console

    shown = console or Console(width=width)
    if console is not None or shown.is_terminal or shown.is_jupyter:
        shown.print(view, width=width)
        return
    with shown.capture() as captured:
        shown.print(view, width=width)
    shown.file.write(_trimmed(captured.get()))


def view_text(view: "RenderableType", width: int) -> str:
    """The same as plain text without colours."""
    from io import StringIO

    from rich.console import Console

    file = StringIO()
    Console(file=file, width=width, color_system=None, force_jupyter=False, legacy_windows=False).print(view)
    return _trimmed(file.getvalue())


def _trimmed(text: str) -> str:
    return "".join(line.rstrip() + "\n" for line in text.splitlines())
