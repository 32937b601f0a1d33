"""A report where GitHub Actions shows it: annotations beside the job, and the job's summary.

An annotation is a line of the log that begins with `::error` or `::notice`. GitHub takes any line that begins with `::`
for a command, so text of the report must never begin one: here all of it stands inside our own commands, on one line,
with the escapes that GitHub undoes. What other views print into a log has no such protection; `commands_off` keeps
GitHub from obeying it.
"""

import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from calipers.report.report import Report
from calipers.stats.number_text import plural

from .outcome import Record, complaints, count_missed, missed, reason_lines, run_problems, silences
from .statement import Statement
from .text import fit, fit_value, visible
from .transcript import seen

ANNOTATIONS = 10
"""Errors that GitHub shows for one step of a job; it drops the others without a word."""

_SUMMARY_BYTES = 1 << 20
"""Bytes that the summary of one step may have; GitHub drops all of a larger one."""
_NAME, _VALUE, _REASON = 120, 300, 600
"""Cells of a name, of a value and of a reason."""
_TALK = 10
"""Lines of a conversation, the last of which tell most."""
_SILENT = 10
"""Evaluators without a result that are named."""


def report_annotations(report: Report, *, file: str | None = None, line: int | None = None) -> str:
    """The report as commands for the log of a GitHub Actions job: an error for each attempt that did not pass.

    At most ten errors are given, since GitHub shows no more: what is wrong with the run as a whole first, then failed
    tasks, then attempts that were judged. An attempt under a fault of tools is no error. A notice with the pass rate comes last, and
    says how many were left out.

    Args:
        report: what to show.
        file: a file of the repository to show the errors at, such as that of the dataset.
        line: of that file.
    """
    from .markdown import claims

    report = report.with_totals()
    where = {"file": file, "line": None if line is None else str(line)}
    errors = [("the run as a whole", problem) for problem in map(_one_line, run_problems(report))]
    clean = [record for record in missed(report) if record.fault is None]
    shown = clean[: max(0, ANNOTATIONS - len(errors))]
    errors += [(record.name, _message(record)) for record in shown]
    lines = [command("error", text, **where, title=fit(name, _NAME)) for name, text in errors[:ANNOTATIONS]]
    told = [
        *claims(Statement(report)),
        *(f"{fit(name, _NAME)}: {fit(why, _REASON)}" for name, why in silences(report)[:_SILENT]),
    ]
    if more := count_missed(report) - len(shown):
        told.append(f"{plural(more, 'attempt')} more did not pass.")
    of = "" if report.dataset_name is None else f" on {report.dataset_name}"
    lines.append(command("notice", "\n".join(told), title=fit(f"{report.name}{of}", _NAME)))
    return "".join(f"{each}\n" for each in lines)


def command(name: str, message: str, **properties: str | None) -> str:
    """A command of GitHub Actions on one line, `::name key=value::message`; properties that are `None` are left out."""
    given = ",".join(f"{key}={_property(value)}" for key, value in properties.items() if value is not None)
    return f"::{name}{' ' if given else ''}{given}::{_data(message)}"


def add_step_summary(report: Report, *, environ: Mapping[str, str] = os.environ) -> bool:
    """Add the report, as Markdown, to the summary of the GitHub Actions job that this process is part of.

    Nothing is done elsewhere, or where the step's summary is full.

    Args:
        report: what to show.
        environ: where GitHub names the file.

    Returns:
        Whether it was added.
    """
    from .markdown import LIMIT, report_markdown

    return add_to_summary(lambda: report_markdown(report, limit=LIMIT), environ=environ)


def add_to_summary(draw: Callable[[], str], *, environ: Mapping[str, str] = os.environ) -> bool:
    """Add Markdown, drawn only where it is wanted, to the summary of the job; whether it was added."""
    path = environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return False
    file = Path(path)
    text = draw().encode()
    used = file.stat().st_size if file.exists() else 0
    if used + len(text) + 1 > _SUMMARY_BYTES:
        return False
    with file.open("ab") as summary:
        summary.write(b"\n" + text)
    return True


@contextmanager
def commands_off(stream: TextIO | None = None, *, environ: Mapping[str, str] = os.environ) -> Iterator[None]:
    """A block during which GitHub Actions takes nothing that is printed for a command.

    Put it around whatever prints text that a model wrote. Outside GitHub Actions it does nothing.

    Args:
        stream: where the block prints; default: standard output.
        environ: where GitHub says that it is there.
    """
    if environ.get("GITHUB_ACTIONS") != "true":
        yield
        return
    out = sys.stdout if stream is None else stream
    token = secrets.token_hex(16)  # what is printed must not be able to guess it
    print(f"::stop-commands::{token}", file=out, flush=True)
    try:
        yield
    finally:
        print(f"\n::{token}::", file=out, flush=True)


def _message(record: Record) -> str:
    lines: list[str] = []
    for name, why in complaints(record):
        said, left = reason_lines(why)
        named = fit(name, _NAME) if name else ""
        if len(said) == 1:
            lines.append(": ".join(part for part in (named, fit(why, _REASON)) if part))
        else:
            lines += [f"{named}:"] if named else []
            lines += [f"  {fit(line, _VALUE)}" for line in said]
            lines += [f"  … ({plural(left, 'more line')})"] if left else []
    shown, talk = seen(record)
    lines += [f"{label}: {fit_value(value, _VALUE)}" for label, value in shown]
    lines += [fit(line, _VALUE) for line in talk[-_TALK:]]
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return fit(text, _REASON)


def _data(text: str) -> str:
    return visible(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
