"""The table of evaluators in the terminal: one line for each column of results, with its interval."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from calipers.report.summary import Summary
from calipers.stats import Estimate
from calipers.stats.number_text import confidence_text, interval_line, mean_text, percent, rate_text

from .grid import Cell, Column, grid
from .outcome import no_result
from .page import Page

if TYPE_CHECKING:
    from rich.text import Text

_VALUE = 7
"""Cells of a value, so that the intervals stand in line: `100.0 %`."""

_COUNTS = {
    "count": Column("n", "right", rank=1),
    "failures": Column("errors", "right", rank=2),
    "skipped": Column("skipped", "right", rank=3, extra=True),
    "task_failures": Column("task failed", "right", rank=5, extra=True),
}
"""The counts of a summary; those but the first are shown only where some evaluator has any."""


def summary_table(page: Page, summaries: Mapping[str, Summary], *, confidence: float) -> "Iterator[Text]":
    """One line per summary, and one for its grades where they say more; counts only where there are any."""
    if not summaries:
        return
    plot = 30 if page.width >= 110 else 20 if page.width >= 90 else 14
    draws = any(summary.kind == "assertion" and summary.estimate for summary in summaries.values())
    counts = [
        field
        for field in _COUNTS
        if field == "count" or any(getattr(summary, field) for summary in summaries.values())
    ]
    rows: list[list[Cell]] = []
    numeric: list[str] = []
    for name, summary in summaries.items():
        result = _result(page, summary)
        drawn = [_plot(page, summary, plot)] if draws else []
        rows.append(
            [
                page.fit(name, 200),
                summary.kind if summary.count else "",
                result,
                *drawn,
                *(_count(summary, field) for field in counts),
            ]
        )
        if isinstance(result, str) and not summary.labels:
            numeric.append(result)
        if (graded := summary.graded) is not None:
            numeric.append(_mean(graded))
            count = [f"{graded.n_observations:,}" if field == "count" else "" for field in counts]
            rows.append(
                [f"{page.fit(name, 200)}, graded", "score", numeric[-1], *("" for _ in drawn), *count]
            )
    header = f"{'Result':>{_VALUE}}  [{confidence_text(confidence)} interval]" if numeric else "Result"
    columns = [
        Column("Evaluator", least=10),
        Column("Kind", rank=6, extra=True, style="dim"),
        # An interval is never cut; a list of labels may be.
        Column(header, least=max(20, *map(len, [header, *numeric]))),
        *([Column("0 %" + "100 %".rjust(plot - 3), rank=4, extra=True, style="cyan")] if draws else []),
        *(_COUNTS[field] for field in counts),
    ]
    if not any(row[1] for row in rows):  # nothing was judged, so there is no kind to name
        columns = [columns[0], *columns[2:]]
        rows = [[row[0], *row[2:]] for row in rows]
    yield from grid(page, columns, rows)


def _result(page: Page, summary: Summary) -> Cell:
    if summary.labels:
        return _labels(page, summary.labels)
    if summary.estimate is None:
        return (no_result(summary), "red" if summary.failures or summary.task_failures else "dim")
    if summary.kind == "assertion":
        value, ends = rate_text(summary.estimate.value, summary.estimate.interval)
        return f"{value:>{_VALUE}}  {ends}"
    return _mean(summary.estimate)


def _mean(estimate: Estimate) -> str:
    value, ends = mean_text(estimate.value, estimate.interval)
    return f"{value:>{_VALUE}}  {ends}"


def _labels(page: Page, labels: Mapping[str, int]) -> str:
    """The most frequent labels with their shares, as many as a line may hold."""
    total = sum(labels.values())
    shown: list[str] = []
    for label, count in labels.items():
        if len(shown) == 4:
            shown.append(f"{len(labels) - 4:,} more")
            break
        shown.append(f"{page.fit(label, 24)} {percent(count / total)}")
    return ", ".join(shown)


def _plot(page: Page, summary: Summary, width: int) -> str:
    if summary.kind != "assertion" or summary.estimate is None:
        return ""
    glyphs = page.glyph("├─●┤", "[-o]")
    return interval_line(summary.estimate.value, summary.estimate.interval, width, glyphs=glyphs)


def _count(summary: Summary, field: str) -> Cell:
    count: int = getattr(summary, field)
    if field == "count":
        # What a rate is over: also the attempts that count as not passed because something failed.
        return f"{count if summary.estimate is None else summary.estimate.n_observations:,}"
    return (f"{count:,}", "red" if field != "skipped" else "yellow") if count else ""
