"""A report on standard output, for commands: in colour on a terminal, as plain text anywhere else."""

import sys
from typing import Final, Literal, TypeAlias

from calipers.report.report import Report
from calipers.views.github import commands_off
from calipers.views.terminal import print_report

from .message import silence

IncludeCases: TypeAlias = Literal["all", "failed", "none"]

_INCLUDE: Final[dict[IncludeCases, bool | Literal["failed"]]] = {
    "all": True,
    "failed": "failed",
    "none": False,
}


def show_report(
    report: Report,
    *,
    include_cases: IncludeCases = "failed",
    max_cases: int = 20,
    tracebacks: bool = False,
) -> None:
    """Show a report. If nobody reads it to its end, that is no failure of the command.

    Args:
        report: what to show.
        include_cases: which attempts to list.
        max_cases: attempts in each list; 0 for no limit.
        tracebacks: show where in the code a task or an evaluator failed.
    """
    try:
        with commands_off():  # in a GitHub log, text that a model wrote must not become a command
            print_report(
                report,
                include_cases=_INCLUDE[include_cases],
                max_cases=max_cases or None,
                no_limit="--max-cases 0",
                include_tracebacks=tracebacks,
            )
    except (BrokenPipeError, SystemExit):  # recent versions of rich exit where earlier ones raise
        silence(sys.stdout)
