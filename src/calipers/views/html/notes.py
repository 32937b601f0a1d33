"""The rest of the page: times and metrics, what to look after, what the intervals mean, and what to read without a script."""

from collections.abc import Mapping

from calipers.report import Report
from calipers.summary import Summary
from calipers.views import notes as terminal_notes
from calipers.views.numbers import plural
from calipers.views.outcome import complaints, count_dropped, count_missed, missed
from calipers.views.text import fit

from .markup import Markup, element, join
from .sentences import WIDE, parts, sentence

_LISTED = 200
"""Attempts that are listed for readers without a script."""
_WHY = 400
"""Characters of the reason why one of them did not pass."""


def measures(report: Report) -> Markup:
    """How long the tasks took, and the metrics they recorded."""
    rows: list[Markup] = []
    for line in terminal_notes.measures(WIDE, report):
        (head, _), *facts = parts(line)
        rows.append(element("div", element("dt", head.strip()), element("dd", *(text for text, _ in facts))))
    return element("dl", *rows, class_="measures") if rows else Markup("")


def warnings(report: Report) -> Markup:
    """Things that did not change a judgement and still want attention."""
    return join(
        element("p", sentence(line), class_="warning") for line in terminal_notes.warnings(WIDE, report)
    )


def footnote(report: Report, summaries: Mapping[str, Summary], *, confidence: float) -> Markup:
    """What the intervals mean, and how they were made; nothing where there is none."""
    lines = terminal_notes.footnote(WIDE, report, summaries, confidence=confidence)
    return join(element("p", sentence(line), class_="note") for line in lines)


def kept(report: Report) -> Markup:
    """How many attempts are to be seen below, where they are not all of them."""
    dropped = count_dropped(report)
    if not dropped:
        return Markup("")
    total = plural(report.counts().attempts, "attempt")
    note = f"The report keeps {len(report.cases) + len(report.failures):,} of {total}; the numbers above count all."
    return element("p", note, class_="note")


def without_script(report: Report) -> Markup:
    """The attempts that did not pass, as a plain table."""
    found, total = missed(report), count_missed(report)
    if not total:
        return element("p", "To browse the attempts, allow JavaScript.")
    rows = [
        element("tr", element("th", element("bdi", fit(record.name, 200)), scope="row"), element("td", why))
        for record in found[:_LISTED]
        for why in [fit("; ".join(": ".join(filter(None, each)) for each in complaints(record)), _WHY)]
    ]
    left = total - len(rows)
    more = f" … and {left:,} more." if left > 0 else ""
    said = f"Did not pass: {total:,} of {report.counts().attempts:,}.{more} To browse the attempts, allow JavaScript."
    return join([element("p", said), element("table", element("tbody", *rows), class_="grid")])
