"""One case of two runs side by side: what it asks, what each run gave, what each evaluator said of it, and what the agents did.

Of traces, one attempt of each run is shown, step by step: the first that came out as the case did, which passes if most of its
attempts do. Nothing but the steps is cut. Text of reports is data: it cannot change how it is shown.
"""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from calipers.comparison.case_pairs import Record, RunCase, attempt_number
from calipers.comparison.evaluator_changes import written
from calipers.comparison.trace_difference import TraceBudget, TraceDifference, compare_traces
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase
from calipers.data.trace import Trace
from calipers.data.value_text import show
from calipers.stats.number_text import number, plural, seconds
from calipers.views.outcome import ExpectedCalls
from calipers.views.page import print_view
from calipers.views.text import is_unicode, visible
from calipers.views.transcript import seen

from .trace_words import difference_lines

if TYPE_CHECKING:
    from rich.console import Console, Group

_MOST_ALIGNED = 1_000_000
"""Pairs of steps up to which traces are aligned from where they part on; that takes some seconds."""


class Sided(NamedTuple):
    """A case as one of the runs has it."""

    label: str
    """What the run is called."""
    case: RunCase | None
    """`None` if the run does not have it."""


class _Row(NamedTuple):
    """One thing, as both runs have it."""

    title: str
    baseline: list[str]
    candidate: list[str]


def print_case(baseline: Sided, candidate: Sided, *, console: "Console | None" = None) -> None:
    """Show a case side by side: in colour on a terminal, as plain text anywhere else."""
    from rich.console import Console

    shown = console or Console()
    print_view(_view(baseline, candidate, shown.encoding), console=console)


def case_rows(baseline: Sided, candidate: Sided, *, encoding: str = "utf-8") -> list[_Row]:
    """What there is to see, row by row: inputs, expectation and metadata, outputs, results, times."""
    one, two = (_records(side.case) for side in (baseline, candidate))
    found = [
        _Row("inputs", *(_given(side, "inputs") for side in (one, two))),
        _Row("expected", *(_given(side, "expected_output") for side in (one, two))),
        _Row("expected calls", *(_expected_calls(side) for side in (one, two))),
        _Row("metadata", *(_given(side, "metadata") for side in (one, two))),
    ]
    repeats = max(len(one), len(two))
    for place in range(repeats):
        title = "output" if repeats == 1 else f"output {place + 1}"
        found.append(_Row(title, *(_output(side[place]) if place < len(side) else [] for side in (one, two))))
    names = dict.fromkeys(name for side in (one, two) for record in side for name in _names(record))
    marks = ("✓", "✗") if is_unicode(encoding) else ("pass", "FAIL")
    for name in names:
        makers = [_makers(side, name) for side in (one, two)]
        said = [_said(side, name, marks) for side in (one, two)]
        if all(makers) and makers[0] != makers[1]:
            said = [[*who, *what] for who, what in zip(makers, said, strict=True)]
        found.append(_Row(name, *said))
    found.append(
        _Row("task time", *([seconds(record.task_duration) for record in side] for side in (one, two)))
    )
    return [row for row in found if row.baseline or row.candidate]


class CaseTraces(NamedTuple):
    """The traces of one attempt of each run, aligned."""

    lines: list[str]
    """Where they part, in words."""
    rows: list[_Row]
    """The steps of both; those that are not the same have a mark as their title."""


def case_traces(baseline: Sided, candidate: Sided, *, encoding: str = "utf-8") -> CaseTraces:
    """What the agents did; nothing where no attempt left a trace."""
    sides = [(side, _typical(side.case)) for side in (baseline, candidate) if side.case is not None]
    if all(record.trace is None for _, record in sides):
        return CaseTraces([], [])
    shown = [
        f"shown is attempt {attempt_number(record)[0]} of {side.label}"
        for side, record in sides
        if attempt_number(record)[1] > 1
    ]
    said, difference = traces_said([(side.label, record.trace) for side, record in sides])
    rows = () if difference is None else _steps(difference, "≠" if is_unicode(encoding) else "!=")
    return CaseTraces([f"trace: {line}" for line in (*shown, *said)], list(rows))


def traces_said(sides: Sequence[tuple[str, Trace | None]]) -> tuple[list[str], TraceDifference | None]:
    """What is said of the traces of two attempts, and how they differ; `None` where they cannot be compared.

    Args:
        sides: what each run is called, with the trace of its attempt; only one where the other run lacks the case.
    """
    missing = [label for label, trace in sides if trace is None]
    traces = [trace for _, trace in sides if trace is not None]
    if len(traces) < 2:
        return [f"not compared: this attempt of {label} left none" for label in missing], None
    one, two = traces
    difference = compare_traces(one, two, budget=TraceBudget(within=_MOST_ALIGNED))
    said = difference_lines(difference)
    if difference.cut:
        steps = f"{len(one.turns):,} and {plural(len(two.turns), 'step')}"
        said.append(f"not aligned from there on: {steps} are too many")
    return said, difference


def _steps(difference: TraceDifference, mark: str) -> Iterator[_Row]:
    for step in difference.steps:
        cells = []
        for place, shown, side in (
            (step.baseline, step.baseline_shown, "baseline"),
            (step.candidate, step.candidate_shown, "candidate"),
        ):
            values = [
                f"   {change.path}: {show(getattr(change, side))}"
                for change in step.changes
                if change.kind != {"baseline": "unexpected", "candidate": "missing"}[side]
            ]
            cells.append([] if place is None else [f"{place + 1} {shown}", *values])
        yield _Row("" if step.same else mark, *cells)


def _typical(case: RunCase) -> Record:
    """The first attempt that came out as the case did."""
    passed = [bool(record.passed) for record in case.attempts]
    return case.attempts[passed.index(2 * sum(passed) > len(passed))]


def _view(baseline: Sided, candidate: Sided, encoding: str) -> "Group":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    def text(lines: Sequence[str], style: str = "") -> Text:
        return Text(
            "\n".join(visible(line, encoding=encoding) for line in lines), style=style, overflow="fold"
        )

    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), expand=False)
    table.add_column("", overflow="fold", max_width=24)
    for word, side in (("baseline", baseline), ("candidate", candidate)):
        name = "" if side.case is None else f", case {side.case.name!r}"
        table.add_column(text([f"{word}: {side.label}{name}"], "bold"), overflow="fold", ratio=1)
    for side in (baseline, candidate):
        if side.case is None:
            table.caption = text([f"{side.label} does not have this case"])
    for row in case_rows(baseline, candidate, encoding=encoding):
        differs = row.baseline != row.candidate and row.title != "task time"
        cells = [text(lines, "yellow" if differs else "") for lines in (row.baseline, row.candidate)]
        table.add_row(text([row.title], "bold"), *cells)
    traces = case_traces(baseline, candidate, encoding=encoding)
    for place, row in enumerate(traces.rows):
        title = row.title or ("trace" if place == 0 else "")
        style = "yellow" if row.title else ""
        table.add_row(text([title], "bold"), *(text(lines, style) for lines in (row.baseline, row.candidate)))
    arrow = "→" if is_unicode(encoding) else "->"
    return Group(table, *(text([line.replace("→", arrow)]) for line in traces.lines))


def _records(case: RunCase | None) -> list[Record]:
    return [] if case is None else case.attempts


def _given(records: Sequence[Record], what: str) -> list[str]:
    """A part of the case, which all attempts share; nothing where it has none."""
    if not records:
        return []
    first = records[0]
    value = getattr(first, what)
    is_there = first.has_expected_output if what == "expected_output" else value is not None
    return list(_lines(value)) if is_there or value is not None else []


def _expected_calls(records: Sequence[Record]) -> list[str]:
    calls = records[0].expected_tool_calls if records else None
    return [] if calls is None else [repr(ExpectedCalls(calls))]


def _output(record: Record) -> list[str]:
    if isinstance(record, ReportCase):
        return seen(record)[1] or list(_lines(record.output))
    return f"task failed: {record.error_message}".splitlines()


def _lines(value: Any) -> Iterator[str]:
    """Text as it is, and anything else as JSON."""
    text = value if isinstance(value, str) else json.dumps(plain(value), indent=2, ensure_ascii=False)
    yield from text.splitlines() or ['""']


def _names(record: Record) -> Iterator[str]:
    if not isinstance(record, ReportCase):
        yield from record.not_run
        return
    yield from (result.name for result in record.results)
    yield from (failure.name for failure in record.evaluator_failures)
    yield from (skip.name for skip in record.skipped)


def _makers(records: Sequence[Record], name: str) -> list[str]:
    """The evaluators behind the results of a name, as they would be written."""
    finished = (record for record in records if isinstance(record, ReportCase))
    return sorted(
        {written(each.source) for record in finished for each in record.results if each.name == name}
    )


def _said(records: Sequence[Record], name: str, marks: tuple[str, str]) -> list[str]:
    """What one evaluator said of every attempt, with its reasons."""
    return [line for record in records for line in _verdict(record, name, marks)]


def _verdict(record: Record, name: str, marks: tuple[str, str]) -> Iterator[str]:
    if not isinstance(record, ReportCase):
        if name in record.not_run:
            yield "not asked: the task failed"
        return
    for result in record.results:
        if result.name == name:
            value = result.value
            first, *others = (result.reason or "").splitlines() or [""]
            if isinstance(value, bool):
                yield f"{marks[not value]} {first}".rstrip()
            else:
                shown = value if isinstance(value, str) else number(value)
                yield f"{shown}: {first}" if first else shown
            yield from others
    for failure in record.evaluator_failures:
        if failure.name == name:
            yield from f"failed: {failure.error_message}".splitlines()
    for skip in record.skipped:
        if skip.name == name:
            yield from f"skipped: {skip.reason}".splitlines()
