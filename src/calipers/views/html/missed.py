"""The attempts that did not pass, for readers without a script: failures that are alike, and a plain table."""

from collections.abc import Iterator, Mapping
from itertools import islice

from calipers.report.report import Report
from calipers.stats.number_text import plural
from calipers.views.causes import cause_title, causes
from calipers.views.outcome import Record, complaints, count_dropped, count_missed, missed, reason_lines
from calipers.views.repeats import alike, name_of
from calipers.views.text import fit

from .markup import Markup, element, join, lines

_LISTED = 200
"""Attempts that are listed for readers without a script."""
_WHY = 400
"""Cells of a line of the reasons why one of them did not pass."""


def cause_section(report: Report, positions: Mapping[int, int]) -> Markup:
    """Failures that are alike, each with links to its cases.

    Args:
        report: what to show.
        positions: of the attempts on the page, by the id of their record; `#case-1` is the first.
    """
    found = causes(missed(report))
    if not found:
        return Markup("")
    rows: list[Markup] = []
    for cause in found:
        listed = list(zip(cause.records, cause.cases, strict=True))
        names = [
            element("a", element("bdi", fit(name, 60)), href=f"#case-{positions[id(record)] + 1}")
            for record, name in listed[:_LISTED]
        ]
        more = f" and {len(listed) - _LISTED:,} more" if len(listed) > _LISTED else ""
        summary = element(
            "summary", element("strong", f"{plural(len(listed), 'case')}: "), fit(cause.text, _WHY)
        )
        rows.append(element("details", summary, element("p", join(names, ", "), more, class_="cases")))
    return element(
        "section",
        element("h2", cause_title(report), id="causes"),
        *rows,
        class_="causes",
        aria_labelledby="causes",
    )


def kept(report: Report) -> Markup:
    """How many attempts are to be seen below, where they are not all of them."""
    dropped = count_dropped(report)
    if not dropped:
        return Markup("")
    total = plural(report.counts().attempts, "attempt")
    note = f"The report keeps {len(report.cases) + len(report.failures):,} of {total}; the numbers above count all."
    return element("p", note, class_="note")


def without_script(report: Report, way: str) -> Markup:
    """The attempts that did not pass, as a plain table; `way` says how to see all of them."""
    found, total = missed(report), count_missed(report)
    if not total:
        return element("p", way)
    rows: list[Markup] = []
    left = total
    for group in islice(alike(found), _LISTED):
        name = element("th", element("bdi", fit(name_of(group), 200)), scope="row")
        rows.append(element("tr", name, element("td", *_why(group[0]))))
        left -= len(group)
    more = f" … and {left:,} more." if left > 0 else ""
    said = f"Did not pass: {total:,} of {report.counts().attempts:,}.{more} {way}"
    return join([element("p", said), element("table", element("tbody", *rows), class_="grid")])


def _why(record: Record) -> Iterator[Markup]:
    """Why an attempt did not pass, each complaint on lines of its own."""
    for name, why in complaints(record):
        listed, left = reason_lines(why)
        if len(listed) == 1:
            said = [": ".join(filter(None, (name, why)))]
        else:
            said = [*([f"{name}:"] if name else []), *listed]
        if left:
            said.append(f"… ({plural(left, 'more line')})")
        yield element("div", lines("\n".join(fit(line, _WHY) for line in said)), class_="reason")
