r"""A report as Markdown for a pull-request comment or a job summary, within the 65,536 characters GitHub allows.

All text of the report stands in code spans and code blocks, on lines of its own making: Markdown and HTML mean nothing
there, and GitHub looks for no mentions, issue numbers, emoji or links in them. A vertical bar inside a table is shown as
`\x7c`, since no way of writing one is safe beside a backslash.

Intervals of rates are drawn with characters, since GitHub takes SVG out of what it shows; the HTML report has SVG.

The top and the table come first. What does not fit is left out from the end of each list, and the last line says what.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from calipers.errors import InvalidOptionError
from calipers.report.report import Report
from calipers.stats import Estimate
from calipers.stats.number_text import interval_line, mean_text, percent, plural, rate_text, seconds
from calipers.stats.sample import check_confidence

from .analyses import analyses
from .line import Line
from .outcome import Record, alike, calls_line, complaints, count_missed, missed, name_of, reason_lines
from .page import Page, view_text
from .report_table import Cell, ColumnKind, Count, Labels, Measured, Missing, Named, Table
from .statement import Reading, Statement
from .terminal import measures, title
from .text import fit, fit_value, visible
from .trace_statement import trace_statement
from .transcript import seen
from .waterfall import Waterfall

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
_STEPS = 16
"""Steps of a trace, the first and the last ones."""
_NOTES = 10
"""Lines at the bottom, of which metrics may need many."""
_PAGE = Page(100)
"""What stands in code blocks is drawn on."""
_PLOT, _PLOTTED, _PLOTS = 40, 40, 30
"""Cells of a plot, of the name beside it, and how many there are."""
_LABELS = 4
"""Labels of one evaluator that are shown."""
_MARKS: dict[ColumnKind, list[str]] = {
    "name": ["---"],
    "text": ["---"],
    "result": ["---:", "---"],
    "count": ["---:"],
}
"""What stands below the titles of a column; a result and its interval have a column each."""


def report_markdown(report: Report, *, limit: int = LIMIT, confidence: float = 0.95) -> str:
    """The report as Markdown.

    Args:
        report: what to show.
        limit: characters it may have, from 20,000.
        confidence: of the intervals.

    Raises:
        ValueError: the limit is too small for anything, or the confidence is out of its range.
    """
    check_confidence(confidence)
    if limit < _LEAST:
        raise InvalidOptionError(f"limit must be at least {_LEAST} characters, got {limit!r}")
    return statement_markdown(Statement(report.with_totals(confidence=confidence), confidence), limit=limit)


def statement_markdown(says: Statement, *, limit: int = LIMIT) -> str:
    """What a report says, and the attempts that did not pass, as Markdown of at most `limit` characters."""
    report = says.report
    top = _block(_top(says))
    bottom = _block(_bottom(says))
    rows = _rows(says.evaluators)
    failed = missed(report)
    groups = list(alike(failed))
    found = _block(_analyses(report))
    left_out = _block([_left_out(len(rows), len(failed), bool(found), limit)])

    slices = _block(_tags(says.tags))
    room = limit - len(top) - len(bottom) - len(left_out) - len(slices)
    header = _header(says.evaluators)
    shown_rows, room = _fitting(rows, room, header, share=0.5) if rows else ([], room)
    found_fits = len(found) <= room / 4
    room -= len(found) if found_fits else 0
    plots = _block(_plots(says.evaluators))
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


def claims(says: Statement) -> list[str]:
    """The share of cases that passed, and what else the headline says, one line each."""
    found, corrected = says.headline, [*map(_PAGE.plain, says.corrected)]
    if found is None:
        return [*([] if says.no_headline is None else [_PAGE.plain(says.no_headline)]), *corrected]
    lines = [f"{found.what} · {_number(found.rate)} · {found.how}", *corrected]
    lines += [line for line in (found.left_out, found.no_repeats) if line is not None]
    lines += map(_reading, found.readings)
    if (unanswered := found.unanswered) is not None:
        lines += [_PAGE.plain(unanswered.lead), *map(_reading, unanswered.readings), unanswered.advice]
    return lines


def _reading(reading: Reading) -> str:
    """`pass@2 100.0 % [43.9, 100.0] · at least one of 2 attempts passes`."""
    shown = "" if reading.estimate is None else f" {_number(reading.estimate)}"
    return " · ".join(part for part in (f"{reading.name}{shown}", reading.meaning) if part)


def _number(rate: Estimate) -> str:
    return " ".join(rate_text(rate.value, rate.interval)).rstrip()


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


def _top(says: Statement) -> Iterator[str]:
    """What was run, what went wrong with the run, and the share of cases that passed."""
    report = says.report
    of = "" if report.dataset_name is None else f" on {code(fit(report.dataset_name, _NAME))}"
    yield f"## {code(fit(report.name, _NAME))}{of}"
    yield ""
    first, *others = claims(says) or [""]
    if first:
        yield f"**{first}**"
        yield ""
    for claim in others:
        # Our own words, but "pass@3" looks like a mention, and need not be tried as one.
        yield f"- {code(claim)}"
    if others:
        yield ""
    wrong = [_PAGE.plain(line) for line in [*says.alerts, *says.silent]]
    broken = report.report_evaluator_failures
    if broken:
        wrong.append(f"Report evaluators that failed: {', '.join(failure.name for failure in broken)}")
    for line in wrong:
        yield f"> **Warning:** {code(fit(line, _NOTE))}"
        yield ">"
    if wrong:
        yield ""


def _bottom(says: Statement) -> Iterator[str]:
    """Times, notes, and what the intervals mean."""
    facts = [
        *(line.plain for line in list(title(_PAGE, says))[1:]),
        *map(_PAGE.plain, says.warnings),
        *(line.plain for line in measures(_PAGE, says)),
    ]
    if len(facts) > _NOTES:
        facts = [*facts[: _NOTES - 1], f"… and {plural(len(facts) - _NOTES + 1, 'more line')}"]
    yield from code_block(fit(line, _NOTE) for line in facts)
    yield ""
    for line in says.footnotes:
        yield f"<sub>{_inline(line)}</sub>"
        yield ""


def _inline(line: Line) -> str:
    """A line of the statement, in which text of others is code."""
    return "".join(_PAGE.part(part) if part.is_ours else code(_PAGE.part(part)) for part in line)


def _plots(table: Table) -> Iterator[str]:
    """The rates with their intervals, in a block that keeps its columns."""
    from rich.cells import cell_len

    drawn = [
        (fit(name.name, _PLOTTED), interval_line(cell.estimate.value, cell.estimate.interval, _PLOT))
        for row in table.rows
        for name in row
        if isinstance(name, Named)
        for cell in row
        if isinstance(cell, Measured) and cell.is_rate
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


def _tags(table: Table) -> Iterator[str]:
    """A table of the pass rate of each tag."""
    if not table.rows:
        return
    yield (_header(table) + "".join(_rows(table))).rstrip("\n")
    yield ""
    if table.note:
        yield table.note
        yield ""


def _analyses(report: Report) -> Iterator[str]:
    """What report evaluators found, as the terminal shows it."""
    lines = [line.plain.rstrip() for line in analyses(_PAGE, report)]
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
    lines += _waterfall(record)
    return _block(lines)


def _waterfall(record: Record) -> list[str]:
    """What the agent did, where its time was recorded: without, the calls have said it already."""
    if record.trace is None or len(record.trace.turns) < 2:
        return []
    says = trace_statement(record.trace, max_steps=_STEPS)
    if says.extent_ms is None:
        return []
    drawn = view_text(Waterfall(says), _PAGE.width).splitlines()
    return ["  - what the agent did:", *(f"    {line}" for line in code_block(drawn))]


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


def _header(table: Table) -> str:
    titles: list[str] = []
    for column in table.columns:
        titles += [column.title, *([table.interval_title] if column.kind == "result" else [])]
    return _block([_row(titles), _row(mark for column in table.columns for mark in _MARKS[column.kind])])


def _rows(table: Table) -> list[str]:
    """The rows, each with its line break."""
    return [_row(text for cell in row for text in _cells(cell)) + "\n" for row in table.rows]


def _cells(cell: Cell) -> tuple[str, ...]:
    match cell:
        case Named():
            return (code(fit(cell.name, _NAME), table=True) + cell.suffix,)
        case Measured():
            return (rate_text if cell.is_rate else mean_text)(cell.estimate.value, cell.estimate.interval)
        case Labels():
            return _labels(cell.counts), ""
        case Missing():
            return cell.text, ""
        case Count():
            return ("" if cell.number is None else f"{cell.number:,}",)
        case str():
            return (cell,)


def _labels(labels: Mapping[str, int]) -> str:
    total = sum(labels.values())
    shown = [
        f"{code(fit(label, 40), table=True)} {percent(count / total)}"
        for label, count in list(labels.items())[:_LABELS]
    ]
    if len(labels) > _LABELS:
        shown.append(f"{len(labels) - _LABELS:,} more")
    return ", ".join(shown)


def _row(cells: Iterable[str]) -> str:
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
