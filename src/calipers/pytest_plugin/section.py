"""The section at the end of pytest's output: for each test the pass rate and every evaluator, with their intervals."""

import sys
from contextlib import AbstractContextManager
from io import StringIO
from typing import TYPE_CHECKING, TextIO, cast

from calipers.pytest_plugin.merged_reports import chosen_text, read_runs, report_of_test, runs_by_test
from calipers.pytest_plugin.session import Session
from calipers.report.report import Report
from calipers.stats.number_text import number as number_text
from calipers.stats.number_text import plural
from calipers.views.github import commands_off
from calipers.views.page import Page
from calipers.views.statement import Statement
from calipers.views.terminal import headline, table_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest
    from rich.text import Text

_NARROWEST = 40
"""Columns below which nothing is laid out."""
_MOST_TESTS = 20
"""Tests that are shown; a report file has them all."""
_ONE_BY_ONE = "Its cases ran one after the other, since {} is made anew for each test; concurrent=True runs them together"


def show_section(session: Session, terminal: "pytest.TerminalReporter") -> None:
    """Write the section."""
    from rich.console import Console

    # Nothing is captured any more at this point, so that standard output is where pytest writes.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    page = Page(max(session.config.get_terminal_writer().fullwidth, _NARROWEST), encoding)
    text = StringIO()
    console = Console(
        file=text,
        width=page.width,
        force_terminal=terminal.hasmarkup,
        color_system="standard" if terminal.hasmarkup else None,
        force_jupyter=False,
        legacy_windows=False,
    )
    # -q -q asks for silence, but a file that is missing must be known.
    for line in [*([] if terminal.verbosity < -1 else _measured(session, page)), *_problems(session, page)]:
        console.print(line)
    terminal.write_sep("=", "calipers")
    for shown in text.getvalue().splitlines():
        terminal.write_line(shown.rstrip())


def _problems(session: Session, page: Page) -> "Iterator[Text]":
    for problem in [*session.problems, *session.plugin_failures]:
        yield page.line((page.fit(problem, 5 * page.width), "bold red"))


def _measured(session: Session, page: Page) -> "Iterator[Text]":
    runs = read_runs(session.runs)
    tests = runs_by_test(runs)
    for number, (test, members) in enumerate(tests.items()):
        if number == _MOST_TESTS:
            left = plural(len(tests) - _MOST_TESTS, "more test")
            yield page.line((f"{page.ellipsis} and {left}: --calipers-out=report.html shows all", "dim"))
            break
        yield page.line((page.fit(test, 2 * page.width), "bold"))
        yield from _test(page, report_of_test(members, seed=session.seed), members[0].chosen)
        alone = [run.apart for run in members if run.apart is not None]
        if len(alone) > 1:
            yield page.line((page.fit(_ONE_BY_ONE.format(alone[0]), 5 * page.width), "dim"))
        yield page.line()
    for _, reason in session.ended_early:
        yield page.line(("INCOMPLETE: ", "bold red"), (page.fit(reason, 3 * page.width), "red"))
    if tests:
        yield page.line((f"seed {session.seed}: --calipers-seed={session.seed} draws the same again", "dim"))
    elif session.written:
        yield page.line(("Nothing was measured.", "dim"))
    for path in session.written:
        yield page.line(("Wrote ", "dim"), (page.fit(path, 5 * page.width), "dim"))
    if session.kept is not None:
        yield page.line(("Kept: ", "dim"), (page.fit(session.kept, 5 * page.width), "dim"))


def _test(page: Page, report: Report, chosen: tuple[int, int] | None) -> "Iterator[Text]":
    says = Statement(report.with_totals())
    yield from map(page.sentence, says.alerts)
    if chosen is not None:
        yield from _chosen(page, says, chosen)
        return
    yield from headline(page, says)
    yield from map(page.sentence, says.silent)
    yield from table_lines(page, says.evaluators)


def _chosen(page: Page, says: Statement, chosen: tuple[int, int]) -> "Iterator[Text]":
    """What came of chosen cases: counts and means of these alone. They do not estimate the whole, so they have no interval."""
    counts = says.report.counts()
    yield page.line(
        (chosen_text(chosen), "bold yellow"),
        f": passed {counts.passed:,} of {plural(counts.attempts, 'attempt')}. That is no pass rate: run all cases to measure it.",
    )
    yield from map(page.sentence, says.silent)
    for name, summary in says.summaries.items():
        if summary.kind == "score" and summary.estimate is not None:
            yield page.line(f"{page.fit(name, 60)}: mean of these {number_text(summary.estimate.value)}")


def without_commands(terminal: "pytest.TerminalReporter") -> AbstractContextManager[None]:
    """A block during which GitHub Actions obeys nothing that pytest shows; elsewhere it does nothing."""
    return commands_off(cast("TextIO", terminal))  # it has what print asks for: write and flush
