"""Failures that are alike (`calipers.report.complaints`): the same evaluator, or the task, said the same of several cases."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from calipers.report.complaints import MASK
from calipers.report.failure_groups import FailureGroup, failure_groups
from calipers.report.report import Report
from calipers.stats.number_text import plural

from .outcome import Record, count_missed, missed
from .page import Page

if TYPE_CHECKING:
    from rich.console import RenderableType

_FEWEST = 3
"""Cases that make a group: two stand below each other in the list of failures anyway."""
_SHOWN = 5
"""Groups that are shown: the largest."""
_NAMED = 2
"""Lines of case names below a group in the terminal."""


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
        if len(group.examples) >= _FEWEST
    ]
    return sorted(groups, key=lambda group: -len(group.records))[:_SHOWN]


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
