"""Comparisons in the terminal.

For each candidate, from top to bottom: the conclusion in three lines, what to know before believing it, the cases that flipped,
one row and one sentence per evaluator and per tag, labels, times and metrics, and what the numbers mean.
Text of reports is data: it cannot change how it is shown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calipers.comparison.change import Change
from calipers.comparison.comparison import Comparison, check_comparisons, ranks
from calipers.stats.number_text import confidence_text, percent, plural
from calipers.views.grid import Cell, Column, grid, headers_that_fit
from calipers.views.page import Page, print_view, sections, view_text

from . import statement as say
from .span_plot import spans, text_plot
from .trace_words import flip_lines

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

_NARROWEST = 20
_NAME = 80
"""Cells of the name of an evaluator, or of a pair of runs."""
_MOVES = 6
"""Moves between labels that are shown for each column."""
_NAMED = 5
"""Cases that are named where some are left out."""


def print_comparisons(
    comparisons: Sequence[Comparison],
    *,
    console: "Console | None" = None,
    width: int | None = None,
    max_flips: int | None = 20,
    no_limit: str = "max_flips=None",
) -> None:
    """Show comparisons: in colour on a terminal, as plain text anywhere else.

    Args:
        comparisons: from `compare_many`, or `[compare_reports(...)]`.
        console: where; default: standard output.
        width: in columns; default: that of the terminal.
        max_flips: cases that flipped to list for each; `None` for no limit.
        no_limit: how the reader lifts that limit, in the words of the program that shows it.
    """
    check_comparisons(comparisons)
    print_view(ComparisonView(tuple(comparisons), max_flips, no_limit), console=console, width=width)


def comparisons_text(
    comparisons: Sequence[Comparison], *, width: int = 100, max_flips: int | None = 20
) -> str:
    """Comparisons as plain text without colours."""
    check_comparisons(comparisons)
    return view_text(ComparisonView(tuple(comparisons), max_flips, "max_flips=None"), width)


@dataclass(frozen=True)
class ComparisonView:
    """Comparisons, ready for a `rich` console to print at any width."""

    comparisons: tuple[Comparison, ...]
    max_flips: int | None
    no_limit: str

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[RenderableType]":
        """The lines for a console."""
        say.check_max_flips(self.max_flips)
        page = Page(max(options.max_width, _NARROWEST), options.encoding)
        several = len(self.comparisons) > 1
        if several:
            yield from _ranks(page, self.comparisons)
            yield from _table(
                page,
                "Pass rates",
                say.headlines(self.comparisons),
                self.comparisons[0].confidence,
                titles=_pairs(page, self.comparisons),
            )
        for number, comparison in enumerate(self.comparisons):
            if number or several:
                yield page.line()
            yield from self._sections(page, comparison)

    def _sections(self, page: Page, comparison: Comparison) -> "Iterator[RenderableType]":
        parts: list[Iterator[RenderableType]] = [
            _title(page, comparison),
            _lead(page, comparison),
            _warnings(page, comparison),
            _flips(page, comparison, self.max_flips, self.no_limit),
            _table(page, "Evaluator", comparison.evaluators, comparison.confidence),
            _table(page, "Tag", comparison.slices, comparison.confidence),
            _labels(page, comparison),
            _table(page, "Measure", comparison.measures, comparison.confidence),
            _notes(page, comparison),
        ]
        return sections(page, parts)


def _ranks(page: Page, comparisons: Sequence[Comparison]) -> "Iterator[Text]":
    """The places that the runs may have."""
    if found := ranks(comparisons):
        columns = [Column("Rank", "right"), Column("Run", least=10)]
        yield from grid(page, columns, [[rank.text, page.fit(rank.label, 120)] for rank in found])
        yield page.line()


def _title(page: Page, comparison: Comparison) -> "Iterator[Text]":
    half = page.width // 2 - 6
    yield page.line(
        (page.fit(comparison.candidate.label, half), "bold"),
        " against ",
        (page.fit(comparison.baseline.label, half), "bold"),
    )
    yield from page.facts([page.fit(fact, page.width) for fact in say.summary_lines(comparison)], style="dim")


def _warnings(page: Page, comparison: Comparison) -> "Iterator[Text]":
    for note in say.notes(comparison):
        yield page.line(("Note: ", "bold yellow"), page.fit(note, 3 * page.width))
    for cases in say.differing_cases(comparison):
        for name, differs in cases[:_NAMED]:
            yield page.line((f"  {page.fit(f'{name}: {differs}', 2 * page.width)}", "dim"))
        if len(cases) > _NAMED:
            yield page.line((f"  {page.ellipsis} and {len(cases) - _NAMED:,} more", "dim"))


def _lead(page: Page, comparison: Comparison) -> "Iterator[RenderableType]":
    lines = [line.replace("→", page.glyph("→", "->")) for line in say.lead(comparison)]
    fancy, plain, style = say.LEAD_MARKS[comparison.conclusion.outcome]
    yield page.line((f"{page.glyph(fancy, plain)} {lines[0]}", f"bold {style}".rstrip()))
    for line in lines[1:-1]:
        yield page.indented(page.line(page.fit(line, 3 * page.width)), 2)
    yield page.indented(page.line(page.fit(f"{page.glyph('→', '->')} {lines[-1]}", 3 * page.width)), 2)
    if comparison.pass_rate is not None and (p_values := say.p_values_text(comparison.pass_rate)):
        yield page.indented(page.line((p_values, "dim")), 2)


def _pairs(page: Page, comparisons: Sequence[Comparison]) -> list[str]:
    """Both names of every pair in half a line: what is too long loses its middle, since ids differ at their ends."""
    room = max((page.width // 2 - len(" against ")) // 2, 5)

    def short(label: str) -> str:
        text = page.fit(label, _NAME)
        half = (room - len(page.ellipsis)) // 2
        return text if len(text) <= room else f"{text[:half]}{page.ellipsis}{text[-half:]}"

    return [
        f"{short(each.candidate.label)} against {short(each.baseline.label)}"
        for each in comparisons
        if each.pass_rate is not None
    ]


def _table(
    page: Page,
    header: str,
    changes: Sequence[Change],
    confidence: float,
    *,
    titles: Sequence[str] | None = None,
) -> "Iterator[Text]":
    """One row per change, then one sentence per change; the sentences have the p-values where the rows have no room for them.

    Args:
        page: to draw on.
        header: what the changes are of.
        changes: one for each row.
        confidence: of the intervals.
        titles: what to call the rows, in full; default: the names of the changes, as far as there is room.
    """
    if not changes:
        return
    width = 29 if page.width >= 110 else 15
    glyphs, arrow = page.glyph("├─●┤│", "[-o]|"), page.glyph("→", "->")
    adjusted = any(change.adjusted_p != change.p_value for change in changes)
    columns = [
        Column(header, least=10 if titles is None else max(map(len, titles))),
        Column(f"From {arrow} to", "right", rank=1),
        Column("Difference", "right"),
        # The sentences below have the intervals, too, so these give way first.
        Column(f"[{confidence_text(confidence)} interval]", rank=2, extra=True),
        Column("worse".ljust(width // 2) + " " + "better".rjust(width // 2), rank=1, style="cyan"),
        Column("p", "right", rank=3 if adjusted else 1),
        *([Column("adjusted", "right", rank=1)] if adjusted else []),
    ]
    rows: list[list[Cell]] = []
    names = [page.fit(change.name, _NAME) for change in changes] if titles is None else titles
    for name, change, span in zip(names, changes, spans(changes), strict=True):
        value, ends = say.difference_text(change)
        before, after = (
            page.fit(say.value_text(change, mean), 20) for mean in (change.baseline, change.candidate)
        )
        rows.append(
            [
                name,
                f"{before} {arrow} {after}",
                value,
                ends,
                "" if span is None else text_plot(span, width, glyphs=glyphs),
                say.p_text(change.p_value),
                *([say.p_text(change.adjusted_p)] if adjusted else []),
            ]
        )
    p_values = 2 if adjusted else 1
    in_rows = columns[-1].header in headers_that_fit(page, columns, rows)
    if not in_rows:
        columns, rows = columns[:-p_values], [row[:-p_values] for row in rows]
    yield from grid(page, columns, rows)
    yield page.line()
    for change in changes:
        mark, style = _mark(page, change)
        yield page.line(
            (f"{mark} ", style), (page.fit(change.name, _NAME), "bold"), f": {say.sentence(change)}"
        )
        if not in_rows and (found := say.p_values_text(change)):
            yield page.line((f"  {found}", "dim"))
        for extra in (change.warning, say.lost_text(change)):
            if extra:
                yield page.line(("  Note: ", "yellow"), page.fit(extra, 3 * page.width))


def _labels(page: Page, comparison: Comparison) -> "Iterator[Text]":
    arrow = page.glyph("→", "->")
    for change in comparison.labels:
        yield page.line((page.fit(change.name, _NAME), "bold"), f": {say.label_text(change)}")
        moved = [move for move in change.moves if move.baseline != move.candidate]
        for move in moved[:_MOVES]:
            before, after = page.fit(move.baseline, 30), page.fit(move.candidate, 30)
            yield page.line(f"  {before} {arrow} {after}  {plural(move.cases, 'case')}")
        if len(moved) > _MOVES:
            yield page.line((f"  {page.ellipsis} and {len(moved) - _MOVES:,} more moves", "dim"))
        if change.warning:
            yield page.line(("  Note: ", "yellow"), page.fit(change.warning, 3 * page.width))


def _flips(page: Page, comparison: Comparison, most: int | None, no_limit: str) -> "Iterator[RenderableType]":
    flips = comparison.flips
    if not flips:
        return
    yield page.line(("Flipped", "bold"), f": {say.flip_counts(flips)}")
    shown = flips if most is None else flips[:most]
    arrow, room = page.glyph("→", "->"), page.width
    for flip, lines in zip(shown, flip_lines(shown), strict=True):
        style = {"broken": "red", "fixed": "green", "moved": "yellow"}[flip.way]
        facts = [
            say.flip_text(flip).replace("→", arrow),
            *([say.named(flip.evaluators)] if flip.evaluators else []),
        ]
        if flip.basis == "attempts":
            facts.append(f"by luck {percent(flip.noise)}")
        yield page.line(
            (f"  {flip.way:6}  ", style),
            (page.fit(flip.case, max(room // 2, 20)), "bold"),
            f"  {page.fit(page.dot.join(facts), room)}",
        )
        for word, text in lines:
            said = page.fit(text.replace("→", arrow), 2 * room - 24)
            yield page.indented(page.line((f"{word:6} ", "dim"), said), 10)
    if len(shown) < len(flips):
        rest = f"  {page.ellipsis} and {len(flips) - len(shown):,} more: {no_limit} lists all"
        yield page.line((rest, "dim"))
    for note in say.flip_notes(comparison):
        yield page.line((note, "dim"))


def _notes(page: Page, comparison: Comparison) -> "Iterator[Text]":
    if comparison.pass_rate or comparison.evaluators or comparison.measures:
        yield page.line((say.footnote(comparison), "dim"))
    else:
        yield page.line("Nothing can be compared: the two have no evaluator in common.")
    if (times := say.times_note(comparison)) is not None:
        yield page.line((page.fit(times, 8 * page.width), "dim"))


def _mark(page: Page, change: Change) -> tuple[str, str]:
    fancy, plain, style = say.MARKS[change.outcome]
    return page.glyph(fancy, plain), style
