"""A trace as a waterfall: its turns, requests to models and calls of tools on one scale of time, as text and as SVG.

Calls that ran side by side overlap. A step whose end was not recorded is an open mark, one whose start was not recorded has no bar.
Kinds are told by words and by the look of the bar, not by colour alone. Names and errors are data: on one line, shortened, escaped.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Final

from calipers.data.argument_checks import check_whole_number
from calipers.data.trace import Trace
from calipers.stats.number_text import dollars, seconds

from .html.markup import Markup, element
from .page import Page, print_view, view_text
from .step_columns import StepKind
from .text import fit
from .trace_statement import STEPS, FoldedSteps, TraceStatement, TraceStep, trace_statement

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

_NARROW: Final = 76
"""Below this many cells a step has two lines: its bar, and its numbers."""
_NARROWEST: Final = 20
_MOST: Final = 160
"""Cells beyond which a waterfall does not get wider."""
_BARS: Final[dict[StepKind, tuple[str, str]]] = {
    "user": ("─", "-"),
    "agent": ("─", "-"),
    "model": ("█", "#"),
    "tool": ("▒", "="),
}
"""What a bar is made of, in Unicode and in ASCII."""
_LABEL: Final = 40
"""Cells of a name."""


def waterfall_text(trace: Trace, *, width: int = 80, max_steps: int | None = STEPS) -> str:
    """A trace as plain text without colours.

    Args:
        trace: what an agent did.
        width: of a line, in cells, from 20.
        max_steps: how many steps to show, the first and the last ones; the middle is folded. `None` for all.
    """
    check_whole_number("width", width, at_least=_NARROWEST)
    return view_text(Waterfall(trace_statement(trace.without_secrets(), max_steps=max_steps)), width)


def print_waterfall(
    trace: Trace,
    *,
    console: "Console | None" = None,
    width: int | None = None,
    max_steps: int | None = STEPS,
) -> None:
    """Show a trace: in colour on a terminal, as plain text anywhere else.

    Args:
        trace: what an agent did.
        console: where; default: standard output.
        width: in columns; default: that of the terminal.
        max_steps: how many steps to show, the first and the last ones; the middle is folded. `None` for all.
    """
    view = Waterfall(trace_statement(trace.without_secrets(), max_steps=max_steps))
    print_view(view, console=console, width=width)


@dataclass(frozen=True)
class Waterfall:
    """A trace, ready for a `rich` console to print at any width."""

    statement: TraceStatement

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[RenderableType]":
        """The lines for a console."""
        yield from self.lines(Page(min(max(options.max_width, _NARROWEST), _MOST), options.encoding))

    def lines(self, page: Page) -> "Iterator[RenderableType]":
        """The name, the totals, the steps, and what was not recorded."""
        says = self.statement
        if says.title:
            yield page.line((page.fit(says.title, page.width), "bold"))
        yield from page.facts([page.own(fact) for fact in says.facts], style="dim")
        if says.rows:
            yield page.line()
            yield from _wide(page, says) if page.width >= _NARROW else _narrow(page, says)
        if says.notes:
            yield page.line()
            yield from (page.line((page.own(note), "dim")) for note in says.notes)


def _wide(page: Page, says: TraceStatement) -> "Iterator[RenderableType]":
    """A table: what, the bar, and the numbers."""
    from rich.cells import cell_len

    numbers = [_numbers(page, row) for row in says.rows]
    heads = ("start", "took", "tokens", "cost")
    used = [place for place in range(len(heads)) if any(row[place].strip("?") for row in numbers)]
    widths = {
        place: max(cell_len(heads[place]), *(cell_len(row[place]) for row in numbers)) for place in used
    }
    taken = sum(widths[place] + 2 for place in used)
    labels = [_label(page, row, min(_LABEL, (page.width - taken) // 2)) for row in says.rows]
    wide = max(
        cell_len(label)
        for row, label in zip(says.rows, labels, strict=True)
        if not isinstance(row, FoldedSteps)
    )
    room = page.width - taken - wide - 2
    bars = says.extent_ms is not None and room >= 8
    if bars or used:
        lead = f"{'':{wide}}" + (f"  {_scale(page, says, room)}" if bars else "")
        yield page.line((lead + "".join(f"  {heads[place]:>{widths[place]}}" for place in used), "dim"))
    for row, label, texts in zip(says.rows, labels, numbers, strict=True):
        if isinstance(row, FoldedSteps):
            yield page.line((_label(page, row, page.width), "dim"))
            continue
        parts: list[str | tuple[str, str]] = [(f"{label}{' ' * (wide - cell_len(label))}", _tone(row))]
        if bars:
            parts += ["  ", (_bar(page, row, says.extent_ms, room), _tone(row))]
        cells = (f"  {' ' * (widths[place] - cell_len(texts[place]))}{texts[place]}" for place in used)
        yield page.line(*parts, "".join(cells))
        yield from _error(page, row)


def _narrow(page: Page, says: TraceStatement) -> "Iterator[RenderableType]":
    """Two lines for each step: what and its numbers, then its bar."""
    for row in says.rows:
        yield page.line((_label(page, row, page.width), _tone(row)))
        start, took, tokens, cost = _numbers(page, row)
        told = {"": took, "tokens ": tokens, "cost ": cost, "at ": start}
        facts = [f"{lead}{text}" for lead, text in told.items() if text.strip("?")]
        if isinstance(row, FoldedSteps):
            continue
        if says.extent_ms is not None:
            yield page.line(f"  {_bar(page, row, says.extent_ms, page.width - 2)}".rstrip())
        yield from page.facts(facts, head="  ", style="dim") if facts else ()
        yield from _error(page, row)


def _error(page: Page, row: TraceStep | FoldedSteps) -> "Iterator[RenderableType]":
    if isinstance(row, TraceStep) and row.error:
        yield page.indented(page.line((page.fit(row.error, page.width - 4), "red")), 4)


def _label(page: Page, row: TraceStep | FoldedSteps, width: int) -> str:
    if isinstance(row, FoldedSteps):
        return page.fit(f"{page.ellipsis} {row.words}", width)
    mark = page.glyph("✗ ", "x ") if row.failed else ""
    lead = f"{'  ' * row.depth}{row.kind:<5} {mark}"
    return lead + page.fit(row.label, max(width - len(lead), 4))


def _tone(row: TraceStep | FoldedSteps) -> str:
    if isinstance(row, FoldedSteps):
        return "dim"
    return "red" if row.failed else {"model": "cyan", "tool": "", "user": "bold", "agent": ""}[row.kind]


def _numbers(page: Page, row: TraceStep | FoldedSteps) -> tuple[str, str, str, str]:
    """Start, time, tokens and cost; `?` where a request has one that is not known."""
    if isinstance(row, FoldedSteps):
        return "", "", "", ""
    start = "" if row.start_ms is None else _time(page, row.start_ms)
    missing = "?" if row.is_request and not row.failed else ""
    took = "" if row.took_ms is None else _time(page, row.took_ms)
    tokens = missing if row.tokens is None else f"{row.tokens[0]:,} + {row.tokens[1]:,}"
    cost = missing if row.cost is None else dollars(row.cost)
    return start, took or ("?" if row.kind in {"model", "tool"} else ""), tokens, cost


def _time(page: Page, milliseconds: float) -> str:
    return seconds(milliseconds / 1000, micro=page.glyph("µ", "u")) if milliseconds else "0"


def _scale(page: Page, says: TraceStatement, width: int) -> str:
    """The ends of the scale, above the bars."""
    end = _time(page, says.extent_ms or 0.0)
    return f"0{end:>{width - 1}}"


def _bar(page: Page, row: TraceStep, extent: float | None, width: int) -> str:
    """The place of a step on the scale, in `width` cells; blank where its start is not known."""
    if row.start_ms is None or extent is None:
        return " " * width
    share = width / extent if extent else 0.0
    first = min(int(row.start_ms * share), width - 1)
    if row.end_ms is None:
        is_call = row.kind in {"model", "tool"}
        # A call with an unknown end is open to the right; a message is a moment.
        mark = page.glyph("▸", ">") if is_call else page.glyph("•", "o")
        return " " * first + mark + " " * (width - first - 1)
    last = min(max(ceil(row.end_ms * share), first + 1), width)
    return " " * first + page.glyph(*_BARS[row.kind]) * (last - first) + " " * (width - last)


# ---------------------------------------------------------------------- a picture


_ROW, _NAMES, _SCALE, _NUMBERS = 20, 210, 330, 210
"""Units of a row, and of the columns of names, bars and numbers."""
_STYLE: Final = Markup(
    ".waterfall{font:12px system-ui,sans-serif;fill:#333}.waterfall .small{font-size:11px;fill:#666}"
    ".waterfall .line{stroke:#ddd}.waterfall .end{text-anchor:end}.waterfall .model{fill:#2563a8}.waterfall .tool{fill:#8a5a00}"
    ".waterfall .user,.waterfall .agent,.waterfall .folded{fill:#999}.waterfall .failed{fill:#b3261e}"
    "@media(prefers-color-scheme:dark){.waterfall{fill:#ddd}.waterfall .small{fill:#999}.waterfall .line{stroke:#444}"
    ".waterfall .model{fill:#7fb2e8}.waterfall .tool{fill:#e0b25a}.waterfall .failed{fill:#ff8f85}}"
)
"""A picture that stands alone brings its own colours."""


def waterfall_svg(trace: Trace, *, max_steps: int | None = STEPS) -> str:
    """A trace as an SVG picture that stands alone.

    Args:
        trace: what an agent did.
        max_steps: how many steps to draw, the first and the last ones; the middle is folded. `None` for all.
    """
    return statement_svg(trace_statement(trace.without_secrets(), max_steps=max_steps), style=_STYLE)


def statement_svg(says: TraceStatement, *, style: Markup | None = None) -> Markup:
    """A waterfall as a picture, with colours from the page's style sheet or from one that it brings along."""
    page = Page()
    head = [fit(says.title, 100)] if says.title else []
    head += [" · ".join(says.facts)] if says.facts else []
    top = 18 * len(head) + 24
    width, height = _NAMES + _SCALE + _NUMBERS, top + _ROW * len(says.rows) + 17 * len(says.notes) + 6
    marks = [
        element("text", text, x=0, y=14 + 18 * at, class_="" if at < len(head) - 1 else "small")
        for at, text in enumerate(head)
    ]
    if says.extent_ms is not None:
        marks += _scale_marks(page, says.extent_ms, top, _ROW * len(says.rows))
    for at, row in enumerate(says.rows):
        marks += _row_marks(page, row, says.extent_ms, top + _ROW * at)
    foot = top + _ROW * len(says.rows)
    marks += [
        element("text", note, x=0, y=foot + 17 * (at + 1), class_="small")
        for at, note in enumerate(says.notes)
    ]
    return element(
        "svg",
        element("style", style) if style is not None else "",
        *marks,
        xmlns="http://www.w3.org/2000/svg",
        class_="waterfall",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=". ".join([" · ".join(head), *(_words(page, row) for row in says.rows)]),
    )


def _scale_marks(page: Page, extent: float, top: int, height: int) -> Iterator[Markup]:
    for share in (0.0, 0.5, 1.0):
        x = _NAMES + _SCALE * share
        yield element("line", class_="line", x1=x, y1=top - 4, x2=x, y2=top + height)
        kind = "small end" if share else "small"
        yield element("text", _time(page, extent * share), class_=kind, x=x, y=top - 8)


def _row_marks(page: Page, row: TraceStep | FoldedSteps, extent: float | None, top: int) -> Iterator[Markup]:
    base = top + 14
    if isinstance(row, FoldedSteps):
        yield element("text", f"… {row.words}", class_="small", x=0, y=base)
        return
    indent = 12 * row.depth
    yield element("text", row.kind, class_="small", x=indent, y=base)
    yield element("text", fit(f"{'✗ ' * row.failed}{row.label}", 23), x=indent + 38, y=base)
    if row.start_ms is not None and extent is not None:
        yield _mark(row, row.start_ms, extent, top)
    _, took, tokens, cost = _numbers(page, row)
    told = (took.strip("?"), f"{tokens} tokens" if tokens.strip("?") else "", cost.strip("?"))
    yield element("text", " · ".join(filter(None, told)), class_="small", x=_NAMES + _SCALE + 8, y=base)


def _mark(row: TraceStep, start: float, extent: float, top: int) -> Markup:
    kind = f"{row.kind}{' failed' * row.failed}"
    share = _SCALE / extent if extent else 0.0
    x = _NAMES + start * share
    if row.took_ms is None:
        corners = f"{x:.6g},{top + 5} {x + 7:.6g},{top + 10} {x:.6g},{top + 15}"
        return element("polygon", class_=kind, points=corners)
    thick = 3 if row.kind in {"user", "agent"} else 11
    width = max(row.took_ms * share, 2.0)
    return element("rect", class_=kind, x=x, y=top + 10 - thick / 2, width=width, height=thick, rx=1)


def _words(page: Page, row: TraceStep | FoldedSteps) -> str:
    """A step for readers who do not see the picture."""
    if isinstance(row, FoldedSteps):
        return row.words
    start, took, tokens, cost = _numbers(page, row)
    told = [
        f"at {start}" if start else "",
        took.strip("?"),
        f"{tokens} tokens" if tokens.strip("?") else "",
        cost.strip("?"),
    ]
    failed = ["failed"] if row.failed else []
    return ", ".join([f"{row.kind} {fit(row.label, 40)}", *failed, *filter(None, told)])
