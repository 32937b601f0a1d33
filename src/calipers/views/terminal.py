"""A report in the terminal.

From top to bottom: what was run, what went wrong with the run, the share of cases that passed, evaluators that said
nothing, one line per evaluator, one line per tag, failures that are alike, the attempts that did not pass with their
reasons, analyses, times and notes, and what the intervals mean. Nothing here computes a number: it shows what the report
says. Text of the report is data: it cannot change how it is shown.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from calipers.data.argument_checks import check_whole_number
from calipers.errors import InvalidOptionError
from calipers.report.complaints import MASK
from calipers.report.failure_groups import FailureGroup, failure_groups
from calipers.report.report import PrintOptions, Report
from calipers.stats.number_text import interval_line, mean_text, percent, plural, rate_text
from calipers.stats.sample import check_confidence

from .analyses import analyses
from .attempts import AttemptOptions, attempts, failed_tasks
from .grid import Cell, Column, grid
from .outcome import Record, count_missed, missed
from .page import STYLES, Page, print_view, sections, view_text
from .report_table import Cell as StatedCell
from .report_table import Count, Labels, Measured, Missing, Named, ReportColumn, Table
from .statement import Headline, Statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

_NARROWEST = 20
"""Below this many cells nothing is laid out; lines are cut instead."""
_NOTED = 8
"""Entries of the run's metadata that are shown."""
_VALUE = 7
"""Cells of a value, so that the intervals stand in line: `100.0 %`."""
_LABELS = 4
"""Labels of one evaluator that are shown."""
_FEWEST_ALIKE = 3
"""Cases that make a group of failures: two stand below each other in the list of failures anyway."""
_GROUPS = 5
"""Groups of failures that are shown: the largest."""
_NAMED = 2
"""Lines of case names below a group."""
_TONES = {"good": "bold green", "mixed": "bold yellow", "bad": "bold red"}


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
    print_view(render_report(report, **options), console=console, width=width)


def report_text(report: Report, *, width: int = 80, **options: Any) -> str:
    """A report as plain text without colours; takes the options of `print_report`."""
    return view_text(render_report(report, **options), width)


def render_report(report: Report, *, confidence: float = 0.95, **options: Any) -> "ReportView":
    """A report as something that `rich` can show; takes the options of `print_report`."""
    check_confidence(confidence)
    choices = AttemptOptions(**options)
    if choices.include_cases not in {True, False, "failed", None}:
        raise InvalidOptionError(
            f"include_cases must be True, False or 'failed', got {choices.include_cases!r}"
        )
    check_whole_number("max_cases", choices.max_cases, at_least=0, or_none=True)
    return ReportView(Statement(report.with_totals(confidence=confidence), confidence), choices)


@dataclass(frozen=True)
class ReportView:
    """A report, ready for a `rich` console to print at any width."""

    statement: Statement
    options: AttemptOptions

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[RenderableType]":
        """The lines for a console."""
        yield from self.lines(Page(max(options.max_width, _NARROWEST), options.encoding))

    def lines(self, page: Page) -> "Iterator[RenderableType]":
        """The sections, with an empty line between them."""
        says, chosen, report = self.statement, self.options, self.statement.report
        none: Iterator[RenderableType] = iter(())
        parts: list[Iterator[RenderableType]] = [
            title(page, says),
            map(page.sentence, says.alerts),
            headline(page, says),
            map(page.sentence, says.silent),
            table_lines(page, says.evaluators) if chosen.include_averages else none,
            table_lines(page, says.tags) if chosen.include_averages else none,
            cause_list(page, report)
            if chosen.listed == "failed" and chosen.include_reasons is not False
            else none,
            failed_tasks(page, report, chosen),
            attempts(page, report, chosen),
            analyses(page, report) if chosen.include_analyses else none,
            measures(page, says, durations=chosen.include_durations),
            map(page.sentence, says.warnings),
            map(page.sentence, says.footnotes),
        ]
        yield from sections(page, parts)


# ---------------------------------------------------------------------- sections


def title(page: Page, says: Statement) -> "Iterator[Text]":
    """What was run, on what, how much and for how long."""
    report = says.report
    of = () if report.dataset_name is None else (" on ", (page.fit(report.dataset_name, 200), "bold"))
    yield page.line((page.fit(report.name, 200), "bold"), *of)
    yield from page.facts([page.own(fact) for fact in says.facts], style="dim")
    if report.metadata:
        noted = list(report.metadata.items())
        pairs = [f"{page.fit(str(key), 30)}: {page.fit_value(value, 60)}" for key, value in noted[:_NOTED]]
        if len(noted) > _NOTED:
            pairs.append(f"{page.ellipsis} and {len(noted) - _NOTED:,} more")
        yield from page.facts(pairs, style="dim")


def headline(page: Page, says: Statement) -> "Iterator[Text]":
    """The share of cases that passed, with its interval; under repeats also pass@k and pass^k."""
    found = says.headline
    if found is None:
        if says.no_headline is not None:
            yield page.sentence(says.no_headline)
        yield from map(page.sentence, says.corrected)
        return
    yield from _claim(page, found)
    yield from map(page.sentence, says.corrected)
    if found.left_out is not None:
        yield page.line((found.left_out, "dim"))
    if found.no_repeats is not None:
        yield page.line((found.no_repeats, "dim"))
    for name, estimate, meaning in found.readings:
        assert estimate is not None
        value, ends = rate_text(estimate.value, estimate.interval)
        line = page.line("  ", (name, "bold"), f"  {value:>{_VALUE}}  {ends:<14}")
        if line.cell_len + 2 + len(meaning) <= page.width:
            line.append(f"  {meaning}", "dim")
            yield line
        else:
            yield line
            yield page.line((f"    {meaning}", "dim"))
    if found.unanswered is not None:
        yield from map(page.sentence, found.unanswered.lines)


def _claim(page: Page, found: Headline) -> "Iterator[Text]":
    what, shown, how = found.what, found.number, found.how
    style = _TONES[found.tone]
    if len(what) + len(shown) + len(how) + 6 <= page.width:
        yield page.line((what, "bold"), "   ", (shown, style), "   ", (how, "dim"))
        return
    if len(what) + len(shown) + 3 <= page.width:
        yield page.line((what, "bold"), "   ", (shown, style))
    else:
        yield page.line((what, "bold"))
        yield page.line((shown, style))
    yield page.line((how, "dim"))


def measures(page: Page, says: Statement, *, durations: bool = True) -> "Iterator[Text]":
    """How long the tasks took, what they and their judges cost, and the metrics they recorded."""
    for measure in (says.times if durations else None, *says.costs, says.metrics):
        if measure is not None:
            yield from page.facts(list(map(page.plain, measure.facts)), head=f"{measure.head:<9}  ")


def table_lines(page: Page, table: Table) -> "Iterator[Text]":
    """A table of the statement: values and intervals share a column, and rates are drawn beside it."""
    if not table.rows:
        return
    plot = 30 if page.width >= 110 else 20 if page.width >= 90 else 14
    draws = any(measured.is_rate for measured in table.measured)
    columns: list[Column] = []
    cells: list[list[Cell]] = []
    for place, column in enumerate(table.columns):
        found = [row[place] for row in table.rows]
        shown = [_cell(page, cell) for cell in found]
        cells.append(shown)
        if column.kind != "result":
            columns.append(_column(column))
            continue
        measured = [
            len(str(text)) for text, cell in zip(shown, found, strict=True) if isinstance(cell, Measured)
        ]
        header = f"{column.title:>{_VALUE}}  [{table.interval_title}]" if measured else column.title
        # An interval is never cut; a list of labels may be.
        columns.append(Column(header, least=max(20, len(header), *measured), rank=column.rank))
        if draws:
            columns.append(Column("0 %" + "100 %".rjust(plot - 3), rank=4, extra=True, style="cyan"))
            cells.append([_plot(page, cell, plot) for cell in found])
    yield from grid(page, columns, list(zip(*cells, strict=True)))
    if table.note is not None:
        yield page.line((page.own(table.note), "dim"))


def _column(column: ReportColumn[Any]) -> Column:
    match column.kind:
        case "name":
            return Column(column.title, least=10, rank=column.rank, extra=column.extra)
        case "count":
            return Column(column.title, "right", rank=column.rank, extra=column.extra)
        case _:
            return Column(column.title, rank=column.rank, extra=column.extra, style="dim")


def _cell(page: Page, cell: StatedCell) -> Cell:
    match cell:
        case Named():
            return page.fit(cell.name, 200) + cell.suffix
        case Measured():
            text = rate_text if cell.is_rate else mean_text
            value, ends = text(cell.estimate.value, cell.estimate.interval)
            return f"{value:>{_VALUE}}  {ends}"
        case Labels():
            total = sum(cell.counts.values())
            first = list(cell.counts.items())[:_LABELS]
            shown = [f"{page.fit(label, 24)} {percent(count / total)}" for label, count in first]
            left = len(cell.counts) - len(first)
            return ", ".join([*shown, *([f"{left:,} more"] if left else [])])
        case Missing():
            return (cell.text, "red" if cell.lost else "dim")
        case Count():
            return (cell.shown, STYLES[cell.tone]) if cell.shown else ""
        case str():
            return page.own(cell)


def _plot(page: Page, cell: StatedCell, width: int) -> str:
    if not isinstance(cell, Measured) or not cell.is_rate:
        return ""
    glyphs = page.glyph("├─●┤", "[-o]")
    return interval_line(cell.estimate.value, cell.estimate.interval, width, glyphs=glyphs)


class Cause(NamedTuple):
    """What was said of several cases."""

    who: str
    """The evaluator; empty where the task itself failed."""
    said: str
    """In one line, with what differs masked."""
    records: list[Record]
    """An attempt at each of the cases: the first of which this was said."""

    @property
    def text(self) -> str:
        """`who: said`."""
        return f"{self.who}: {self.said}" if self.who else self.said

    @property
    def cases(self) -> list[str]:
        """The names of the cases."""
        return [record.source_case_name or record.name for record in self.records]


def causes(records: Iterable[Record]) -> list[Cause]:
    """What was said of at least three of the cases, the most frequent first; of few things only."""
    listed = list(records)
    groups = [
        Cause(_who(group), group.said, [listed[row] for row in group.examples])
        for group in failure_groups(listed)
        if len(group.examples) >= _FEWEST_ALIKE
    ]
    return sorted(groups, key=lambda group: -len(group.records))[:_GROUPS]


def _who(group: FailureGroup) -> str:
    return (
        f"{group.evaluator} (evaluator failed)"
        if group.did_not_finish and group.evaluator
        else group.evaluator
    )


def cause_title(report: Report) -> str:
    """What stands above the groups; where the report keeps only some failures, that only these are grouped."""
    kept = len(missed(report))
    of = "" if kept >= count_missed(report) else f", of the {kept:,} that the report keeps"
    return f"Failures that are alike{of}"


def cause_list(page: Page, report: Report) -> "Iterator[RenderableType]":
    """Each group with its cases, in the terminal."""
    found = causes(missed(report))
    if not found:
        return
    yield page.line((cause_title(report), "bold"))
    for cause in found:
        count = plural(len(cause.records), "case")
        text = cause.text.replace(MASK, page.glyph(MASK, "<...>"))
        yield page.line((f"{count}: ", "bold"), (page.fit(text, 2 * page.width - len(count) - 4), "red"))
        yield page.indented(page.line((_names(page, cause.cases), "dim")))


def _names(page: Page, names: list[str]) -> str:
    """As many names as there is room for, and how many more there are."""
    room = _NAMED * page.width - 4 - len(f" and {len(names):,} more")
    shown: list[str] = []
    for name in names:
        fitted = page.fit(name, 60)
        room -= len(fitted) + 2
        if room < 0 and shown:
            break
        shown.append(fitted)
    left = len(names) - len(shown)
    return ", ".join(shown) + (f" and {left:,} more" if left else "")
