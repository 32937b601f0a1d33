"""A verdict in the terminal: the outcome first, then every rule with what was found and what to do about it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from calipers.gate.verdict import Finding, Outcome, Verdict
from calipers.views.comparison.span_plot import text_plot
from calipers.views.page import Page, print_view, view_text

from .statement import GLYPHS, MEETS, MISSES, WIDTH, facts_of, span_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

_STYLES: Final[dict[Outcome, str]] = {
    "PASS": "green",
    "FAIL": "red",
    "WORSE": "red",
    "INCONCLUSIVE": "yellow",
}
_NAME = 60
"""Cells of a name."""
_NARROWEST = 20
_DRAWABLE = 4 + len(MISSES) + 1 + WIDTH + 1 + len(MEETS)
"""Cells that a drawn interval takes; on a narrower page there is none."""


def print_verdict(verdict: Verdict, *, console: "Console | None" = None, width: int | None = None) -> None:
    """Show a verdict: in colour on a terminal, as plain text anywhere else.

    Args:
        verdict: from `judge_run`.
        console: where; default: standard output.
        width: in columns; default: that of the terminal.
    """
    print_view(VerdictView(verdict), console=console, width=width)


def verdict_text(verdict: Verdict, *, width: int = 100) -> str:
    """A verdict as plain text without colours."""
    return view_text(VerdictView(verdict), width)


@dataclass(frozen=True)
class VerdictView:
    """A verdict, to be drawn by rich."""

    verdict: Verdict

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[RenderableType]":
        page = Page(max(options.max_width, _NARROWEST), console.encoding)
        verdict = self.verdict
        against = "" if verdict.baseline is None else f" against {page.fit(verdict.baseline, _NAME)}"
        yield page.line(
            (verdict.outcome, f"bold {_STYLES[verdict.outcome]}"),
            (f"  {page.fit(verdict.run, _NAME)}{against}", "bold"),
        )
        yield from page.facts(facts_of(verdict), style="dim")
        for finding in verdict.findings:
            yield page.line("")
            yield from _finding(page, finding)
        if verdict.notes:
            yield page.line("")
            for line in verdict.notes:
                yield page.hanging(f"Note: {line}", indent=0)


def _finding(page: Page, finding: Finding) -> "Iterator[Text | RenderableType]":
    style = _STYLES[finding.outcome]
    glyph = page.glyph(*GLYPHS[finding.outcome])
    word = "" if finding.outcome == "PASS" else f"{finding.outcome}  "
    yield page.line(
        (f"{glyph} {word}", style),
        (page.fit(finding.subject, _NAME), "bold"),
        f": {page.fit(finding.rule, 2 * page.width)}",
    )
    yield page.hanging(finding.said, indent=4)
    span = span_of(finding)
    if span is not None and page.width >= _DRAWABLE:
        plot = text_plot(span, WIDTH, glyphs=page.glyph("├─●┤│", "[-o]|"))
        yield page.line((f"    {MISSES} ", "dim"), (plot, "cyan"), (f" {MEETS}", "dim"))
    if finding.advice is not None:
        yield page.hanging(f"{page.glyph('→', '->')} {finding.advice}", indent=4)
