r"""A report as Markdown for a pull-request comment or a job summary, within the 65,536 characters GitHub allows.

All text of the report stands in code spans and code blocks, on lines of its own making: Markdown and HTML mean nothing
there, and GitHub looks for no mentions, issue numbers, emoji or links in them. A vertical bar inside a table is shown as
`\x7c`, since no way of writing one is safe beside a backslash.

Intervals of rates are drawn with characters, since GitHub takes SVG out of what it shows; the HTML report has SVG.

The top and the table come first. What does not fit is left out from the end of each list, and the last line says what.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from calipers.errors import InvalidOptionError
from calipers.report.report import Report
from calipers.report.summary import Summary
from calipers.stats import Estimate
from calipers.stats.interval import check_confidence
from calipers.stats.number_text import (
    confidence_text,
    interval_line,
    mean_text,
    percent,
    plural,
    rate_text,
    seconds,
)

from .analyses import analyses
from .calls import calls_line
from .headline import alerts, headline, silent, title
from .notes import footnote, measures, warnings
from .outcome import Record, complaints, count_missed, missed, no_result, reason_lines
from .page import Page
from .repeats import alike, name_of
from .slices import shown_slices
from .text import fit, fit_value, visible
from .transcript import seen

LIMIT = 65_536
"""Characters that a comment on GitHub may have."""

_LEAST = 20_000
"""Characters that suffice for the top and the bottom, whatever the text in them."""
_BACKTICKS = 9
"""The longest run of backticks that is kept: some readers of Markdown give up on long fences."""
_NAME, _VALUE, _REASON, _NOTE = 120, 400, 800, 250
"""Cells of a name, of a value, of a reason and of a line at the top or the bottom."""
_LINE = 160
"""Cells of a line of a reason that has several."""
_TALK = 30
"""Lines of a conversation, the last of which tell most."""
_NOTES = 10
"""Lines at the bottom, of which metrics may need many."""
_WIDE = 100
"""Columns of what stands in code blocks."""
_PLOT, _PLOTTED, _PLOTS = 40, 40, 30
"""Cells of a plot, of the name beside it, and how many there are."""
_LABELS = 4
"""Labels of one evaluator that are shown."""
_COUNTS = {"count": "n", "failures": "errors", "skipped": "skipped", "task_failures": "task failed"}


def report_markdown(report: Report, *, limit: int = LIMIT, confidence: float = 0.95) -> str:
    """The report as Markdown.

    Args:
        report: what to show.
        limit: characters it may have, from 20,000.
        confidence: of the intervals.

    Raises:
        ValueError: the limit is too small for anything, or the confidence is none.
    """
    check_confidence(confidence)
    if limit < _LEAST:
        raise InvalidOptionError(f"limit must be at least {_LEAST} characters, got {limit!r}")
    summaries = report.summaries(confidence=confidence)
    top = _block(_top(report, confidence))
    bottom = _block(_bottom(report, summaries, confidence))
    rows = _rows(summaries)
    failed = missed(report)
    groups = list(alike(failed))
    found = _block(_analyses(report))
    left_out = _block([_left_out(len(rows), len(failed), bool(found), limit)])

    slices = _block(_slices(report, confidence))
    room = limit - len(top) - len(bottom) - len(left_out) - len(slices)
    header = _header(summaries, confidence)
    shown_rows, room = _fitting(rows, room, header, share=0.5) if rows else ([], room)
    found_fits = len(found) <= room / 4
    room -= len(found) if found_fits else 0
    plots = _block(_plots(summaries))
    plots = plots if len(plots) <= room / 4 else ""  # the table has the same intervals in numbers
    room -= len(plots)
    opening, closing = _details(report, count_missed(report) - len(failed))
    listed, room = _fitting(map(_attempt, groups), room, opening, closing) if failed else ([], room)

    not_listed = sum(map(len, groups[len(listed) :]))
    missing = (len(rows) - len(shown_rows), not_listed, not found_fits)
    return (
        "".join(
            [
                top,
                *([header, *shown_rows, "\n"] if shown_rows else []),
                slices,
                *([opening, *listed, closing] if listed else []),
                found if found_fits else "",
                plots,
                bottom,
                _block([_left_out(*missing, limit)]) if any(missing) else "",
            ]
        ).rstrip("\n")
        + "\n"
    )


def claims(report: Report, *, confidence: float = 0.95) -> list[str]:
    """The share of cases that passed, and what else the top of a report says in our own words, one line each."""
    lines = [line.plain.strip() for line in headline(Page(1_000), report, confidence=confidence)]
    return [" ".join(re.sub(r" {3,}", " · ", line).split()) for line in lines]


def code(text: str, *, table: bool = False) -> str:
    """Any text as a code span on one line.

    Args:
        text: anything.
        table: it will stand in a table, where a vertical bar would end the cell.
    """
    text = _few_backticks(visible(text))
    if table:
        text = text.replace("|", r"\x7c")
    if not text.strip():
        return "(empty)" if not text else f"({plural(len(text), 'space')})"
    fence = "`" * (_longest_run(text) + 1)
    edge = " " if "`" in {text[0], text[-1]} or " " in {text[0], text[-1]} else ""
    return f"{fence}{edge}{text}{edge}{fence}"


def code_block(lines: Iterable[str]) -> list[str]:
    """Lines as a block of code."""
    shown = [_few_backticks(visible(line)) for line in lines]
    fence = "`" * max(3, 1 + max(map(_longest_run, shown), default=0))
    return [f"{fence}text", *shown, fence]


def _few_backticks(text: str) -> str:
    return text.replace("`", r"\x60") if "`" * (_BACKTICKS + 1) in text else text


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


# ---------------------------------------------------------------------- sections


def _top(report: Report, confidence: float) -> Iterator[str]:
    """What was run, what went wrong with the run, and the share of cases that passed."""
    of = "" if report.dataset_name is None else f" on {code(fit(report.dataset_name, _NAME))}"
    yield f"## {code(fit(report.name, _NAME))}{of}"
    yield ""
    first, *others = claims(report, confidence=confidence) or [""]
    if first:
        yield f"**{first}**"
        yield ""
    for claim in others:
        # Our own words, but "pass@3" looks like a mention, and need not be tried as one.
        yield f"- {code(claim)}"
    if others:
        yield ""
    page = Page(_WIDE)
    wrong = [line.plain for line in [*alerts(page, report), *silent(page, report)]]
    broken = report.report_evaluator_failures
    if broken:
        wrong.append(f"Report evaluators that failed: {', '.join(failure.name for failure in broken)}")
    for line in wrong:
        yield f"> **Warning:** {code(fit(line, _NOTE))}"
        yield ">"
    if wrong:
        yield ""


def _bottom(report: Report, summaries: Mapping[str, Summary], confidence: float) -> Iterator[str]:
    """Times, notes, and what the intervals mean."""
    page = Page(_WIDE)
    lines = [*list(title(page, report))[1:], *warnings(page, report), *measures(page, report)]
    facts = [line.plain for line in lines]
    if len(facts) > _NOTES:
        facts = [*facts[: _NOTES - 1], f"{page.ellipsis} and {plural(len(facts) - _NOTES + 1, 'more line')}"]
    yield from code_block(fit(line, _NOTE) for line in facts)
    yield ""
    for line in footnote(page, report, summaries, confidence=confidence):
        yield f"<sub>{line.plain}</sub>"
        yield ""


def _plots(summaries: Mapping[str, Summary]) -> Iterator[str]:
    """The rates with their intervals, in a block that keeps its columns."""
    from rich.cells import cell_len

    drawn = [
        (fit(name, _PLOTTED), interval_line(summary.estimate.value, summary.estimate.interval, _PLOT))
        for name, summary in summaries.items()
        if summary.kind == "assertion" and summary.estimate is not None
    ]
    if drawn:
        width = max(cell_len(name) for name, _ in drawn[:_PLOTS])
        yield from code_block(
            [
                f"{'':{width}}  0 %{'100 %':>{_PLOT - 3}}",
                *(
                    f"{name}{' ' * (width - cell_len(name))}  {line}".rstrip()
                    for name, line in drawn[:_PLOTS]
                ),
            ]
        )
        yield ""


def _slices(report: Report, confidence: float) -> Iterator[str]:
    """A table of the pass rate of each tag."""
    found = shown_slices(report, confidence=confidence)
    if not found.slices:
        return
    yield _row(["Tag", "Passed", f"{confidence_text(confidence)} interval", "cases"])
    yield _row(["---", "---:", "---", "---:"])
    for one in found.slices:
        assert one.pass_rate is not None
        tag = code(fit(one.tag, _NAME), table=True)
        yield _row(
            [tag, *rate_text(one.pass_rate.value, one.pass_rate.interval), f"{one.pass_rate.n_units:,}"]
        )
    yield ""
    if found.note:
        yield f"… {found.note}"
        yield ""


def _analyses(report: Report) -> Iterator[str]:
    """What report evaluators found, as the terminal shows it."""
    lines = [line.plain.rstrip() for line in analyses(Page(_WIDE), report)]
    if lines:
        yield "<details>"
        yield f"<summary>Analyses: {len(report.analyses) + len(report.report_evaluator_failures):,}</summary>"
        yield ""
        yield from code_block(lines)
        yield ""
        yield "</details>"
        yield ""


def _details(report: Report, dropped: int) -> tuple[str, str]:
    """What stands before and after the attempts that did not pass, of which some may not have been kept."""
    summary = f"Did not pass: {count_missed(report):,} of {plural(report.counts().attempts, 'attempt')}"
    more = f"- and {dropped:,} more that the report does not keep\n" if dropped else ""
    return f"<details>\n<summary>{summary}</summary>\n\n", f"{more}\n</details>\n\n"


def _attempt(group: Sequence[Record]) -> str:
    """An attempt, or several at one case that came to the same."""
    record = group[0]
    measured = seconds(record.task_duration) if len(group) == 1 else plural(len(group), "attempt")
    lines = [f"- **{code(fit(name_of(group), _NAME))}** ({measured})"]
    for name, why in complaints(record):
        lines += _complaint(code(fit(name, _NAME)) if name else "", why)
    shown, talk = seen(record)
    lines += [f"  - {label} {code(fit_value(value, _VALUE))}" for label, value in shown]
    if talk:
        left = len(talk) - _TALK
        cut = [*([f"… ({plural(left, 'earlier line')})"] if left > 0 else []), *talk[-_TALK:]]
        lines += [
            "  - conversation:",
            *(f"    {line}" for line in code_block([fit(line, _LINE) for line in cut])),
        ]
    elif called := calls_line(record):
        lines.append(f"  - called {code(fit(called, _VALUE))}")
    return _block(lines)


def _complaint(name: str, why: str) -> list[str]:
    """`name: reason` as an item of a list; a reason of several lines is a block that belongs to the item."""
    listed, left = reason_lines(why)
    if len(listed) == 1:
        return ["  - " + ": ".join(part for part in (name, code(fit(why, _REASON)) if why else "") if part)]
    shown = [fit(line, _LINE) for line in listed] + ([f"… ({plural(left, 'more line')})"] if left else [])
    return [f"  - {name or 'error'}:", *(f"    {line}" for line in code_block(shown))]


def _left_out(rows: int, attempts: int, found: bool, limit: int) -> str:
    parts = [plural(rows, "evaluator")] if rows else []
    parts += [f"{plural(attempts, 'attempt')} that did not pass"] if attempts else []
    parts += ["the analyses"] if found else []
    return f"Left out to stay within {limit:,} characters: {', '.join(parts)}."


# ---------------------------------------------------------------------- the table


def _header(summaries: Mapping[str, Summary], confidence: float) -> str:
    titles = ["Evaluator", "Kind", "Result", f"{confidence_text(confidence)} interval"]
    titles += [_COUNTS[field] for field in _fields(summaries)]
    marks = ["---", "---", "---:", "---", *("---:" for _ in _fields(summaries))]
    return _block([_row(titles), _row(marks)])


def _rows(summaries: Mapping[str, Summary]) -> list[str]:
    """One row per evaluator, and one more where it graded what it asserted."""
    fields = _fields(summaries)
    found: list[str] = []
    for name, summary in summaries.items():
        shown = code(fit(name, _NAME), table=True)
        counts = [f"{_count(summary, field):,}" for field in fields]
        rows = _row([shown, summary.kind if summary.count else "", *_result(summary), *counts])
        if (graded := summary.graded) is not None:
            counts = [f"{graded.n_observations:,}" if field == "count" else "" for field in fields]
            rows += "\n" + _row([f"{shown}, graded", "score", *_mean(graded), *counts])
        found.append(rows + "\n")
    return found


def _count(summary: Summary, field: str) -> int:
    if field == "count" and summary.estimate is not None:
        # What a rate is over: also the attempts that count as not passed because something failed.
        return summary.estimate.n_observations
    count: int = getattr(summary, field)
    return count


def _fields(summaries: Mapping[str, Summary]) -> list[str]:
    """The counts worth a column: of errors, skips and failed tasks only where there are any."""
    return [
        field
        for field in _COUNTS
        if field == "count" or any(getattr(summary, field) for summary in summaries.values())
    ]


def _result(summary: Summary) -> tuple[str, str]:
    if summary.labels:
        return _labels(summary.labels), ""
    if summary.estimate is None:
        return no_result(summary), ""
    if summary.kind == "assertion":
        return rate_text(summary.estimate.value, summary.estimate.interval)
    return _mean(summary.estimate)


def _mean(estimate: Estimate) -> tuple[str, str]:
    return mean_text(estimate.value, estimate.interval)


def _labels(labels: Mapping[str, int]) -> str:
    total = sum(labels.values())
    shown = [
        f"{code(fit(label, 40), table=True)} {percent(count / total)}"
        for label, count in list(labels.items())[:_LABELS]
    ]
    if len(labels) > _LABELS:
        shown.append(f"{len(labels) - _LABELS:,} more")
    return ", ".join(shown)


def _row(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(cells) + " |"


# ---------------------------------------------------------------------- room


def _block(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _fitting(
    items: Iterable[str], room: int, opening: str, closing: str = "\n", *, share: float = 1.0
) -> tuple[list[str], int]:
    """The first items that fit between opening and closing, and the room that is left; none if none fits."""
    left = int(room * share) - len(opening) - len(closing)
    shown: list[str] = []
    for item in items:
        if len(item) > left:
            break
        shown.append(item)
        left -= len(item)
    used = len(opening) + len(closing) + sum(map(len, shown)) if shown else 0
    return shown, room - used
