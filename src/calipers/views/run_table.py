r"""Several runs in one table, for a paper or a README: the pass rate with its interval, pass@k, cost and time of each.

Each number is the report's own. An interval is of one run by itself: whether two runs differ is another question, which
`calipers.comparison` answers, since runs over the same cases differ less by luck than their intervals suggest.

| format | suffix | what it is for |
|---|---|---|
| `markdown` | `.md` | a README, a pull request, the terminal |
| `latex` | `.tex` | a paper: a `tabular` with the rules of `booktabs`; text of reports is escaped |
| `csv` | `.csv` | a program: a column for each number and each end of an interval, rates from 0 to 1, times in seconds |
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from calipers.data.jsonable import plain
from calipers.errors import InvalidOptionError
from calipers.report.report import Report
from calipers.stats import Estimate
from calipers.stats.number_text import confidence_text, mean_text, rate_text, seconds
from calipers.stats.sample import check_confidence

from .comparison.statement import COST
from .csv_file import table_lines
from .formats import Target, write_document
from .markdown import code
from .text import fit, visible

_NAME = 80
"""Cells of a name."""


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """What the table says of one run."""

    label: str
    """What the run is called in the table."""
    name: str
    """The report's own name."""
    dataset_name: str | None
    run: str | None
    """Its id in a store; `None` if it is in none."""
    cases: int
    attempts: int
    repeat: int
    pass_rate: Estimate | None
    """`None` if nothing was asserted."""
    infrastructure: int
    """Attempts that got no answer because of a time-out, a connection or a server; the pass rate counts them as not passed."""
    without: Estimate | None
    """The pass rate without these attempts; `None` if there are none."""
    pass_at_k: Estimate | None
    pass_hat_k: Estimate | None
    """`None` where nothing was repeated, or some case has fewer attempts."""
    metrics: dict[str, Estimate | None]
    """The mean of each metric of the table; `None` if the run does not have it."""
    time: float | None
    """The median of the seconds in the task, waiting included; `None` if no task finished."""
    time_interval: tuple[float | None, float | None]
    incomplete: str | None
    """Why the run ended early."""


class RunTable(msgspec.Struct, frozen=True, kw_only=True):
    """Several runs, a row for each."""

    rows: tuple[RunRow, ...]
    k: int | None
    """Of pass@k and pass^k; `None` if not all runs repeat their cases."""
    metrics: tuple[str, ...]
    """The metrics that have a column."""
    confidence: float

    def notes(self) -> list[str]:
        """What a reader has to know before believing the table."""
        level = confidence_text(self.confidence)
        notes = [
            f"[low, high] is a {level} interval of each run by itself; calipers compare says which runs differ."
        ]
        if any(row.infrastructure for row in self.rows):
            notes.append(
                "The pass rate counts attempts that got no answer (time-outs, connections, 5xx) as not passed; "
                "'answered' leaves them out."
            )
        if self.k is not None and any(row.pass_rate and not row.pass_at_k for row in self.rows):
            notes.append(f"pass@{self.k} needs {self.k} attempts at every case.")
        if self.metrics:
            notes.append(
                f"{', '.join(map(visible, self.metrics))}: the mean over cases, of attempts that finished."
            )
        if any(row.time is not None for row in self.rows):
            notes.append("Time is the median time in the task, waiting included.")
        if len({(row.dataset_name, row.cases) for row in self.rows}) > 1:
            notes.append("The runs are not all over the same cases.")
        notes += [
            f"{visible(row.label)} is incomplete: {visible(row.incomplete)}"
            for row in self.rows
            if row.incomplete
        ]
        return notes


def run_table(
    reports: Sequence[Report],
    *,
    labels: Sequence[str] | None = None,
    k: int | None = None,
    metrics: Sequence[str] | None = None,
    confidence: float = 0.95,
) -> RunTable:
    """The table of several runs.

    Args:
        reports: one row for each, in this order.
        labels: what to call them; default: their names.
        k: of pass@k and pass^k; default: how often every run repeats its cases, if they do.
        metrics: which ones have a column; default: those whose name says that they are a cost.
        confidence: of the intervals.

    Raises:
        InvalidOptionError: no reports, a metric that none of them has, an option out of its range, or pass@k of a report
            that does not keep every attempt.
    """
    check_confidence(confidence)
    if not reports or not all(isinstance(report, Report) for report in reports):
        raise InvalidOptionError(f"a table is of one report or more, got {reports!r:.200}")
    if labels is not None and len(labels) != len(reports):
        raise InvalidOptionError(f"every report needs its label: got {len(reports)} and {len(labels)} labels")
    found = [report.metrics(confidence=confidence) for report in reports]
    known = list(dict.fromkeys(name for each in found for name in each))
    chosen = [name for name in known if COST.search(name.lower())] if metrics is None else list(metrics)
    if missing := [name for name in chosen if name not in known]:
        raise InvalidOptionError(
            f"no run has a metric {missing[0]!r}; there are {', '.join(map(repr, known)) or 'none'}"
        )
    least = min(report.repeat for report in reports)
    chosen_k = k if k is not None else (least if least > 1 else None)
    titles = [report.name for report in reports] if labels is None else labels
    rows = [
        _row(report, label, chosen_k, {name: means.get(name) for name in chosen}, confidence)
        for report, label, means in zip(reports, titles, found, strict=True)
    ]
    return RunTable(rows=tuple(rows), k=chosen_k, metrics=tuple(chosen), confidence=confidence)


def _row(
    report: Report, label: str, k: int | None, metrics: dict[str, Estimate | None], confidence: float
) -> RunRow:
    counts, times = report.counts(), report.durations(None)
    outage = report.infrastructure(confidence=confidence)
    return RunRow(
        label=label,
        name=report.name,
        dataset_name=report.dataset_name,
        run=None if report.reuse is None else report.reuse.run,
        cases=counts.cases,
        attempts=counts.attempts,
        repeat=report.repeat,
        pass_rate=report.pass_rate(None, confidence=confidence),
        infrastructure=0 if outage is None else outage.count,
        without=None if outage is None else outage.without,
        pass_at_k=_of_k(report.pass_at_k, k, confidence),
        pass_hat_k=_of_k(report.pass_hat_k, k, confidence),
        metrics=metrics,
        time=None if times is None else times.p50,
        time_interval=(None, None) if times is None else times.p50_interval,
        incomplete=None if report.incomplete is None else str(report.incomplete),
    )


def _of_k(estimate: Callable[..., Estimate | None], k: int | None, confidence: float) -> Estimate | None:
    if k is None:
        return None
    try:
        return estimate(k, None, confidence=confidence)
    except InvalidOptionError:
        raise
    except ValueError:  # some case has fewer attempts
        return None


# ---------------------------------------------------------------------- formats


def table_markdown(table: RunTable) -> str:
    """The table as Markdown, with what to know below it."""
    titles, rows = _texts(table)
    lines = [f"| {' | '.join(titles)} |", f"|---|{'---:|' * (len(titles) - 1)}"]
    for label, cells in rows:
        lines.append(f"| {' | '.join([_markdown_name(label), *map(_one_cell, cells)])} |")
    return "\n".join([*lines, "", *(f"{note}  " for note in table.notes())]).rstrip() + "\n"


def table_latex(table: RunTable) -> str:
    r"""The table as a LaTeX `tabular`; it needs `\usepackage{booktabs}`."""
    titles, rows = _texts(table)
    lines = [r"\begin{tabular}{l" + "r" * (len(titles) - 1) + "}", r"  \toprule"]
    lines.append(f"  {' & '.join(map(_latex, titles))} \\\\")
    lines.append(r"  \midrule")
    for label, cells in rows:
        shown = [
            _latex(value).replace(" x ", r" $\times$ ")
            + (f" {{\\footnotesize {_latex(ends)}}}" if ends else "")
            if value
            else "--"
            for value, ends in cells
        ]
        name = _latex(fit(label, _NAME))
        name = (
            f"{{{name}}}" if name.startswith(("[", "*")) else name
        )  # which would be an option of the line before
        lines.append(f"  {' & '.join([name, *shown])} \\\\")
    lines.append(r"  \bottomrule")
    # The notes are a row of the tabular, so that they go with it wherever it is put, and readers of the paper see them.
    notes = _latex(" ".join(table.notes()))
    lines.append(rf"  \multicolumn{{{len(titles)}}}{{p{{0.95\linewidth}}}}{{\footnotesize {notes}}} \\")
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"


def table_csv(table: RunTable) -> str:
    """The table as CSV: a column for each number, rates from 0 to 1, times in seconds; what is not known is empty."""
    titles = ["label", "run_name", "run", "dataset", "cases", "attempts", "repeat", "incomplete"]
    titles += [*_ends_of("pass_rate"), "infrastructure", *_ends_of("answered")]
    titles += ["k", *_ends_of("pass_at_k"), *_ends_of("pass_hat_k"), *_ends_of("time_p50")]
    titles += [title for name in table.metrics for title in _ends_of(f"metrics.{name}")]
    rows = (
        [
            *(plain(each) for each in (row.label, row.name, row.run, row.dataset_name)),
            *(row.cases, row.attempts, row.repeat, row.incomplete),
            *(*_numbers(row.pass_rate), row.infrastructure, *_numbers(row.without)),
            *(table.k, *_numbers(row.pass_at_k), *_numbers(row.pass_hat_k)),
            *(row.time, *row.time_interval),
            *(number for name in table.metrics for number in _numbers(row.metrics[name])),
        ]
        for row in table.rows
    )
    return b"".join(table_lines(titles, rows)).decode()


def _texts(table: RunTable) -> tuple[list[str], Iterator[tuple[str, list[tuple[str, str]]]]]:
    """The titles, and the cells of each row as value and interval; a column that no run has is left out."""
    outages = any(row.infrastructure for row in table.rows)
    titles = ["Run", "Cases", "Pass rate", *(["Answered"] if outages else [])]
    if table.k is not None:
        titles += [f"pass@{table.k}", f"pass^{table.k}"]
    titles += [*table.metrics, "Time"]

    def rows() -> Iterator[tuple[str, list[tuple[str, str]]]]:
        for row in table.rows:
            times = f" x {row.repeat}" if row.repeat > 1 else ""
            cells = [(f"{row.cases:,}{times}", ""), _rate(row.pass_rate)]
            if outages:
                cells.append(_rate(row.without or row.pass_rate))
            if table.k is not None:
                cells += [_rate(row.pass_at_k), _rate(row.pass_hat_k)]
            for name in table.metrics:
                mean = row.metrics[name]
                cells.append(("", "") if mean is None else mean_text(mean.value, mean.interval))
            yield row.label, [*cells, _time(row)]

    return titles, rows()


def _rate(estimate: Estimate | None) -> tuple[str, str]:
    return ("", "") if estimate is None else rate_text(estimate.value, estimate.interval)


def _time(row: RunRow) -> tuple[str, str]:
    if row.time is None:
        return "", ""
    low, high = row.time_interval
    ends = "" if low is None or high is None else f"[{seconds(low)}, {seconds(high)}]"
    return seconds(row.time), ends


def _one_cell(cell: tuple[str, str]) -> str:
    return " ".join(cell).strip() or "-"


def _markdown_name(label: str) -> str:
    """A name as it is, where it means nothing to Markdown; else as code."""
    text = fit(label, _NAME)
    return text if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 .:()/+-]*", text) else code(text, table=True)


_LATEX: Final = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "µ": r"\textmu{}",
    **{each: f"\\{each}" for each in "&%$#_{}"},
}


def _latex(text: str) -> str:
    """A text that LaTeX sets as it is."""
    return "".join(_LATEX.get(each, each) for each in visible(text))


def _ends_of(title: str) -> list[str]:
    return [title, f"{title}_low", f"{title}_high"]


def _numbers(estimate: Estimate | None) -> list[float | None]:
    if estimate is None:
        return [None, None, None]
    ends = estimate.interval
    return [estimate.value, *((None, None) if ends is None else (ends.low, ends.high))]


TABLE_FORMATS: Final[dict[str, Callable[[RunTable], str]]] = {
    "markdown": table_markdown,
    "latex": table_latex,
    "csv": table_csv,
}
"""The formats of a table of runs, by name."""
_SUFFIXES: Final = {".md": "markdown", ".markdown": "markdown", ".tex": "latex", ".csv": "csv"}


def table_target(target: str | os.PathLike[str]) -> Target:
    """Where a table goes: a format, for standard output; `FORMAT:PATH`; or a path whose suffix tells the format."""
    text = os.fspath(target)
    word, colon, path = text.partition(":")
    if word in TABLE_FORMATS and (not colon or path):
        return Target(word, path or "-")
    form = _SUFFIXES.get(Path(text).suffix.lower())
    if form is None:
        raise InvalidOptionError(
            f"a table of runs is written as {', '.join(TABLE_FORMATS)}, got {text!r}: write FORMAT, FORMAT:PATH or a path "
            f"that ends in {', '.join(_SUFFIXES)}"
        )
    return Target(form, text)


def write_table(table: RunTable, target: str | os.PathLike[str]) -> None:
    """Write a table of runs to a file, whole or not at all, or to standard output.

    Args:
        table: from `run_table`.
        target: as for `table_target`.

    Raises:
        InvalidOptionError: the format is not known, or the path is a folder.
        OSError: the file cannot be written.
    """
    where = table_target(target)
    write_document(TABLE_FORMATS[where.format](table), where.path)


def distinct_names(names: Sequence[str], others: Sequence[str]) -> list[str]:
    """The names, and where several are the same what else tells them apart."""
    counts = Counter(names)
    return [name if counts[name] == 1 else other for name, other in zip(names, others, strict=True)]
