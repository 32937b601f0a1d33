"""A report as one HTML file: it opens anywhere, asks for nothing, and runs nothing but its own script.

The summaries are plain HTML, readable without a script. The attempts travel as JSON, and the page's script draws as many
of them as are on the screen, so that ten thousand open as quickly as ten.

What a model wrote is data. It reaches the page as escaped text, or as JSON in which no character can end the script
element; the script puts it on the page as text, never as markup. A content security policy backs this up: it allows
one style sheet and two scripts, by their hashes, and no request at all.
"""

import base64
import hashlib
import os
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from string import Template

from calipers.data.argument_checks import check_whole_number
from calipers.process.atomic_file import write_whole
from calipers.report.report import Report
from calipers.stats.number_text import plural
from calipers.stats.sample import check_confidence
from calipers.views.outcome import (
    Record,
    alike,
    complaints,
    count_dropped,
    count_missed,
    missed,
    name_of,
    reason_lines,
)
from calipers.views.statement import Statement
from calipers.views.text import fit

from .analyses import analyses_section
from .failures import Failures
from .markup import Content, Markup, element, join, lines, text
from .page_files import page_file, shapes, style_sheet, words
from .records import embedded_json, embedded_records, in_page_order
from .slices import embedded_slices
from .statement import alerts, heading, headline, measures, sentences, slice_section, summary_section

_SCRIPTS = ("text.js", "diff.js", "turns.js", "talk.js", "details.js", "slices.js", "table.js")
"""The parts of the page's script, in order; they share one scope."""
_LOOKS = f"const LOOKS = {embedded_json({**shapes(), 'slices': words()['slices']})};\n"
"""What the script draws marks and slices from."""


def report_html(
    report: Report,
    *,
    title: str | None = None,
    confidence: float = 0.95,
    max_value_length: int | None = 20_000,
) -> str:
    """A report as the text of one self-contained HTML file.

    Args:
        report: what to show.
        title: of the page; default: what was run, and on which dataset.
        confidence: of the intervals.
        max_value_length: characters of one input, output, reason or traceback; what is longer is cut, and says so, and
            very long traces are shortened. `None` for no limit.

    Raises:
        InvalidOptionError: a limit below 1.
    """
    check_confidence(confidence)
    check_whole_number("max_value_length", max_value_length, at_least=1, or_none=True)
    return statement_html(
        Statement(report.with_totals(confidence=confidence), confidence),
        title=title,
        max_value_length=max_value_length,
    )


def statement_html(
    says: Statement, *, title: str | None = None, max_value_length: int | None = 20_000
) -> str:
    """What a report says, and its attempts, as the text of one HTML file; takes the options of `report_html`."""
    report = says.report
    name = report.name if report.dataset_name is None else f"{report.name} on {report.dataset_name}"
    style, theme, script = style_sheet(), _script("theme.js"), _script(*_SCRIPTS, before=_LOOKS)
    records = in_page_order(report)
    cut = embedded_slices(records, says.summaries) if report.keeps_all else None
    failures = Failures(report, records, () if cut is None else cut.fields)
    data = embedded_records(report, says.summaries, limit=max_value_length)
    data["groups"] = failures.data()
    below = [failures.section()]
    if cut is None:
        below.append(slice_section(says))
    else:
        data["slices"] = cut.data
        below += [
            element("section", id="slices", aria_labelledby="slices-title"),
            element("noscript", slice_section(says)),
        ]
    return Template(page_file("template.html")).substitute(
        policy=_policy(style=style, scripts=(theme, script)),
        title=text(title or name),
        style=style,
        theme=theme,
        top=top(says, title, below_evaluators=join(below)),
        kept=kept(report),
        without_script=without_script(report, "To browse the attempts, allow JavaScript."),
        data=embedded_json(data),
        script=script,
    )


def top(says: Statement, title: str | None = None, *, below_evaluators: Content | None = None) -> Markup:
    """What the report says as a whole, above its attempts.

    Args:
        says: the statement of the report.
        title: of the page; default: what was run.
        below_evaluators: what stands below the table of evaluators; default: the pass rate of each tag.
    """
    return join(
        [
            heading(says, title),
            alerts(says),
            headline(says),
            sentences(says.silent, "warning"),
            summary_section(says),
            sentences(says.footnotes, "note"),
            slice_section(says) if below_evaluators is None else below_evaluators,
            measures(says),
            sentences(says.warnings, "warning"),
            analyses_section(says.report),
        ]
    )


def write_html(
    report: Report,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    confidence: float = 0.95,
    max_value_length: int | None = 20_000,
) -> Path:
    """Write a report as one self-contained HTML file, all of it or nothing; takes the options of `report_html`.

    Folders that are missing are made.

    Returns:
        the path of the file.

    Raises:
        InvalidOptionError: the path is a folder, or a limit below 1.
    """
    whole = report_html(report, title=title, confidence=confidence, max_value_length=max_value_length)
    write_whole(path, [whole.encode()])
    return Path(path)


def _policy(*, style: str, scripts: tuple[str, ...]) -> Markup:
    """What the browser may do for this page: apply one style sheet, run these scripts, and nothing else."""
    rules = [
        "default-src 'none'",
        f"style-src {_hash(style)}",
        f"script-src {' '.join(map(_hash, scripts))}",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
    return Markup("; ".join(rules))


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


@cache
def _script(*names: str, before: str = "") -> str:
    """The parts of a script in one scope of their own, without the comments: every report carries a copy."""
    lines = [line.strip() for name in names for line in page_file(name).splitlines()]
    body = "\n".join(line for line in lines if line and not line.startswith("//"))
    return f'"use strict";(() => {{\n{before}{body}\n}})();\n'


# ---------------------------------------------------------------------- attempts that did not pass


_LISTED = 200
"""Attempts that are listed for readers without a script."""
_WHY = 400
"""Cells of a line of the reasons why one of them did not pass."""


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
