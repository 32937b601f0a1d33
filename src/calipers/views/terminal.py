"""A report in the terminal.

From top to bottom: what was run, what went wrong with the run, the share of cases that passed, evaluators that said
nothing, one line per evaluator, one line per tag, failures that are alike, the attempts that did not pass with their
reasons, analyses, times and notes, and what the intervals mean. Nothing here computes a number: it shows what the report
says. All text of the report is data and cannot change how it is shown.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from calipers.errors import InvalidOptionError
from calipers.report.report import PrintOptions, Report
from calipers.stats.interval import check_confidence

from .analyses import analyses
from .attempts import AttemptOptions, attempts, failed_tasks
from .causes import cause_list
from .headline import alerts, headline, silent, title
from .notes import footnote, measures, warnings
from .page import Page
from .slices import slice_table
from .summaries import summary_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions, RenderableType

_NARROWEST = 20
"""Below this many cells nothing is laid out; lines are cut instead."""


def print_report(
    report: Report,
    *,
    console: "Console | None" = None,
    width: int | None = None,
    **options: Unpack[PrintOptions],
) -> None:
    """Show a report: in colour on a terminal, as plain text anywhere else.

    Args:
        report: what to show.
        console: where; default: standard output.
        width: in columns; default: that of the terminal.
        **options: `confidence` of the intervals, 0.95 unless given, and those of `calipers.views.attempts.AttemptOptions`:
            `include_cases`: `"failed"` lists the attempts that did not pass, True all, False none.
            `include_reasons`: the reasons that evaluators gave: True shows all of them and lists all attempts, False none; unless
            given, those of what did not pass.
            `include_values`: show inputs, expected output, output and tool calls of attempts that did not pass.
            `include_input`, `include_expected_output`, `include_output`, `include_metadata`: show or hide that one, of
            attempts that passed too; asking for one lists all attempts.
            `include_durations`, `include_averages`, `include_errors`, `include_evaluator_failures`, `include_analyses`: shown
            unless False; what failed is counted in any case.
            `include_total_duration`: show how long an attempt took with its evaluators and hooks.
            `include_tracebacks`, also called `include_error_stacktrace`: show where in the code a task or evaluator failed.
            `max_cases`: attempts in each list, where those of a case that came to the same count once; `None`: no limit.
            `no_limit`: how the reader lifts that limit, in the words of the program that shows the report.
    """
    from rich.console import Console

    view = render_report(report, **options)
    shown = console or Console(width=width)
    if console is None and not shown.is_terminal and not shown.is_jupyter:
        # Into a file or a pipe: the same text, without the blanks that fill a line on a screen.
        with shown.capture() as captured:
            shown.print(view, width=width)
        shown.file.write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))
        return
    shown.print(view, width=width)


def report_text(report: Report, *, width: int = 80, **options: Any) -> str:
    """A report as plain text without colours; takes the options of `print_report`."""
    from io import StringIO

    from rich.console import Console

    file = StringIO()
    console = Console(file=file, width=width, color_system=None, force_jupyter=False, legacy_windows=False)
    console.print(render_report(report, **options))
    return "".join(line.rstrip() + "\n" for line in file.getvalue().splitlines())


def render_report(report: Report, *, confidence: float = 0.95, **options: Any) -> "ReportView":
    """A report as something that `rich` can show; takes the options of `print_report`."""
    check_confidence(confidence)
    choices = AttemptOptions(**options)
    if choices.include_cases not in {True, False, "failed", None}:
        raise InvalidOptionError(
            f"include_cases must be True, False or 'failed', got {choices.include_cases!r}"
        )
    most = choices.max_cases
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 0):
        raise InvalidOptionError(
            f"max_cases must be a whole number from 0, or None for no limit, got {most!r}"
        )
    return ReportView(report, choices, confidence)


@dataclass(frozen=True)
class ReportView:
    """A report, ready for a `rich` console to print at any width."""

    report: Report
    options: AttemptOptions
    confidence: float

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[RenderableType]":
        """The lines for a console."""
        yield from self.lines(Page(max(options.max_width, _NARROWEST), options.encoding))

    def lines(self, page: Page) -> "Iterator[RenderableType]":
        """The sections, with an empty line between them."""
        report, confidence = self.report.with_totals(confidence=self.confidence), self.confidence
        summaries, chosen = report.summaries(confidence=confidence), self.options
        sections: list[Iterator[RenderableType]] = [
            title(page, report),
            alerts(page, report),
            headline(page, report, confidence=confidence),
            silent(page, report),
            summary_table(page, summaries if chosen.include_averages else {}, confidence=confidence),
            slice_table(page, report, confidence=confidence) if chosen.include_averages else iter(()),
            cause_list(page, report)
            if chosen.listed == "failed" and chosen.include_reasons is not False
            else iter(()),
            failed_tasks(page, report, chosen),
            attempts(page, report, chosen),
            analyses(page, report) if chosen.include_analyses else iter(()),
            measures(page, report, durations=chosen.include_durations),
            warnings(page, report),
            footnote(page, report, summaries, confidence=confidence),
        ]
        first = True
        for section in sections:
            empty = True
            for line in section:
                if empty and not first:
                    yield page.line()
                empty = first = False
                yield line
