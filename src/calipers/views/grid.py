"""Rows and columns on a page: what does not fit loses columns, then width, and never wraps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .page import Page

if TYPE_CHECKING:
    from rich.text import Text

_GAP = 2
"""Cells between two columns."""
_COMFORT = 28
"""Cells in which most names, and two or three labels, can be read."""


@dataclass(frozen=True)
class Column:
    """One column of a grid."""

    header: str
    align: Literal["left", "right"] = "left"
    least: int | None = None
    """The fewest cells it may shrink to; `None` if it is shown in full or not at all."""
    rank: int = 0
    """Columns of the highest rank are the first to go where room is short."""
    extra: bool = False
    """Shown only where no other column has to shrink for it below `_COMFORT` cells."""
    style: str = ""


Cell = str | tuple[str, str]
"""Safe text, or safe text with a style."""


def grid(
    page: Page, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, say_dropped: bool = False
) -> "Iterator[Text]":
    """The header and the rows, one line each.

    Args:
        page: to draw on.
        columns: from left to right.
        rows: each with a cell for every column.
        say_dropped: name the columns that did not fit, in a line below.
    """
    widths = _widths(columns, rows)
    kept = _kept(columns, widths, page.width)
    widths = _shrunk(columns, widths, kept, page.width)
    yield _row(page, columns, widths, kept, [(column.header, "dim bold") for column in columns])
    for row in rows:
        yield _row(page, columns, widths, kept, row)
    dropped = [column.header for i, column in enumerate(columns) if i not in kept]
    if dropped and say_dropped:
        yield page.line((page.fit(f"no room for: {', '.join(dropped)}", page.width), "dim"))


def headers_that_fit(page: Page, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> set[str]:
    """The headers of the columns that `grid` would show, for a caller that says elsewhere what the others hold."""
    return {columns[i].header for i in _kept(columns, _widths(columns, rows), page.width)}


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> list[int]:
    from rich.cells import cell_len

    return [
        max([cell_len(column.header), *(cell_len(_plain(row[i])) for row in rows)])
        for i, column in enumerate(columns)
    ]


def _plain(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell[0]


def _kept(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[int]:
    """The columns that fit, in order: those of low rank before those of high rank, and always the first."""
    kept: list[int] = []
    for i in sorted(range(len(columns)), key=lambda i: columns[i].rank):
        tried = [*kept, i]
        comfort = _COMFORT if columns[i].extra else 0
        need = sum(_GAP + _needed(columns[j], widths[j], comfort) for j in tried) - _GAP
        if not kept or need <= room:
            kept = tried
    return sorted(kept)


def _needed(column: Column, width: int, comfort: int) -> int:
    return width if column.least is None else min(width, max(column.least, comfort))


def _shrunk(columns: Sequence[Column], widths: Sequence[int], kept: list[int], room: int) -> list[int]:
    """The widths with which the kept columns fit: the widest flexible one gives way first."""
    found = list(widths)
    flexible = [i for i in kept if columns[i].least is not None]
    excess = sum(found[i] + _GAP for i in kept) - _GAP - room
    while excess > 0:
        able = [i for i in flexible if found[i] > (columns[i].least or 1)]
        if not able:
            found[kept[0]] = max(1, found[kept[0]] - excess)
            break
        found[max(able, key=lambda i: found[i])] -= 1
        excess -= 1
    return found


def _row(
    page: Page, columns: Sequence[Column], widths: Sequence[int], kept: list[int], cells: Sequence[Cell]
) -> "Text":
    from rich.cells import cell_len
    from rich.text import Text

    line = Text(no_wrap=True, overflow="crop")
    for i in kept:
        cell = cells[i]
        plain, style = (cell, columns[i].style) if isinstance(cell, str) else cell
        text = page.fit(plain, widths[i])
        pad = " " * (widths[i] - cell_len(text))
        line.append(pad + text if columns[i].align == "right" else text, style)
        if i != kept[-1]:
            line.append((pad if columns[i].align == "left" else "") + " " * _GAP)
    return line
