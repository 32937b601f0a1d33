"""Drift in words: for the terminal, as Markdown, as JSON.

The share of cases that follow stands first, then each case that drifted with what it does otherwise, those of which it is not known,
and the cases that only the run or only the baseline has. Text of reports is data: it cannot change how it is shown.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from calipers.comparison.drift import CaseDrift, Drift
from calipers.stats.number_text import confidence_text, first_few, plural, rate_text
from calipers.views.formats import Target, document_target, write_document
from calipers.views.markdown import code
from calipers.views.page import Page, print_view, view_text
from calipers.views.text import fit

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

FORMAT_VERSION = 1

_NARROWEST = 20
_LONGEST = 500
"""Cells of what is said of a case."""
_NAME = 80
_NAMED = 10
"""Cases that are named where nothing more is to say of them."""


class DriftSection(NamedTuple):
    """Cases of which the same is to say."""

    title: str
    cases: Sequence[tuple[str, str]]
    """The name of each, and what is said of it; empty if its name is enough."""


def drift_headline(drift: Drift) -> str:
    """How many cases follow, with the interval."""
    follows, drifted = len(drift.of_state("follows")), len(drift.of_state("drifted"))
    if drift.follows is None:
        return (
            "Not known of any case"
            if drift.of_state("unknown")
            else "Nothing to check: no case has an accepted trace"
        )
    repeated = drift.follows.n_observations > drift.follows.n_units
    value, ends = rate_text(drift.follows.value, drift.follows.interval)
    level = (
        ""
        if drift.follows.interval is None
        else f", {confidence_text(drift.follows.interval.confidence)} interval"
    )
    verb = "follows" if follows + drifted == 1 else "follow"
    said = f"{follows:,} of {plural(follows + drifted, 'case')} {verb} an accepted trace"
    if repeated:
        return f"{said} in each attempt, and {value} {ends} of the attempts at a case{level}"
    return f"{said}: {value} {ends}{level}"


def drift_sections(drift: Drift) -> Iterator[DriftSection]:
    """What is to say of the cases, the most important first."""
    told = (("Drifted", "drifted"), ("Not known", "unknown"))
    for title, state in told:
        if cases := [case for case in drift.cases if case.state == state]:
            yield DriftSection(title, [(case.case, _said(case)) for case in cases])
    named = (
        ("Not accepted yet", [case.case for case in drift.of_state("not accepted")]),
        ("Accepted with other inputs", [case.case for case in drift.of_state("other inputs")]),
        ("In the baseline, and not in this run", drift.not_run),
    )
    for title, names in named:
        if names:
            yield DriftSection(title, [(name, "") for name in names])


def print_drift(drift: Drift, *, console: "Console | None" = None, width: int | None = None) -> None:
    """Show drift: in colour on a terminal, as plain text anywhere else.

    Args:
        drift: from `check_drift`.
        console: where; default: standard output.
        width: in columns; default: that of the terminal.
    """
    print_view(DriftView(drift), console=console, width=width)


def drift_text(drift: Drift, *, width: int = 100) -> str:
    """Drift as plain text without colours."""
    return view_text(DriftView(drift), width)


def drift_markdown(drift: Drift) -> str:
    """Drift as Markdown, for a pull request."""
    lines = [f"## Drift of {code(fit(drift.name, _NAME))}", "", f"**{drift_headline(drift)}**", ""]
    if drift.incomplete is not None:
        lines += [f"> **Note:** {code(fit(_incomplete(drift), _LONGEST))}", ""]
    for section in drift_sections(drift):
        lines += [f"{section.title}: {plural(len(section.cases), 'case')}", ""]
        lines += [
            f"- {code(fit(name, _NAME))}" + (f": {code(fit(said, _LONGEST))}" if said else "")
            for name, said in section.cases
        ]
        lines.append("")
    return "\n".join(lines)


def drift_json(drift: Drift) -> str:
    """Drift as JSON, with a version and with words for each attempt."""
    data: dict[str, Any] = {
        "calipers_drift": FORMAT_VERSION,
        "state": drift.state,
        **msgspec.to_builtins(drift),
    }
    for shown, case in zip(data["cases"], drift.cases, strict=True):
        for each, attempt in zip(shown["attempts"], case.attempts, strict=True):
            each["words"] = attempt.words
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


FORMATS: Final[dict[str, Callable[[Drift], str]]] = {
    "json": drift_json,
    "markdown": drift_markdown,
    "text": drift_text,
}
"""The formats of drift files, by name."""


def drift_target(target: str | os.PathLike[str]) -> Target:
    """Where drift goes: `FORMAT:PATH`, or a path whose suffix tells the format; the path `-` is standard output."""
    return document_target(target, FORMATS, "drift")


def write_drift(drift: Drift, target: str | os.PathLike[str]) -> None:
    """Write drift to a file, or to standard output.

    Args:
        drift: from `check_drift`.
        target: as for `drift_target`.

    Raises:
        InvalidOptionError: the format is not known, or the path is a folder.
        OSError: the file cannot be written.
    """
    where = drift_target(target)
    write_document(FORMATS[where.format](drift), where.path)


@dataclass(frozen=True)
class DriftView:
    """Drift, to be drawn by rich."""

    drift: Drift

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[RenderableType]":
        page = Page(max(options.max_width, _NARROWEST), console.encoding)
        drift = self.drift
        style = {"follows": "green", "drifted": "red", "unknown": "yellow", "nothing": "yellow"}[drift.state]
        yield page.line((f"{drift_headline(drift)}", f"bold {style}"))
        if drift.incomplete is not None:
            yield page.line(("Note: ", "bold yellow"), page.fit(_incomplete(drift), _LONGEST))
        for section in drift_sections(drift):
            yield page.line("")
            yield from _section(page, section)


def _section(page: Page, section: DriftSection) -> "Iterator[RenderableType]":
    yield page.line((section.title, "bold"), f": {plural(len(section.cases), 'case')}")
    if not any(said for _, said in section.cases):
        names = first_few([page.fit(name, _NAME) for name, _ in section.cases], _NAMED)
        yield page.indented(page.line(names), 2)
        return
    for name, said in section.cases:
        yield page.indented(page.line((page.fit(name, _NAME), "bold"), f": {page.fit(said, _LONGEST)}"), 2)


def _said(case: CaseDrift) -> str:
    """What is said of the attempts that do not follow; those that do the same are counted."""
    of = len(case.attempts)
    groups: dict[str, int] = {}
    for attempt in case.attempts:
        if attempt.state != "follows":
            groups[attempt.words] = groups.get(attempt.words, 0) + 1
    return " | ".join(
        words if of == 1 else f"{count} of {of} attempts: {words}" for words, count in groups.items()
    )


def _incomplete(drift: Drift) -> str:
    return f"the run is incomplete: {drift.incomplete}"
