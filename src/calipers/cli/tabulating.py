"""What `calipers table` does: read the reports, and write their table."""

import os
from collections.abc import Sequence

from calipers.errors import InvalidOptionError
from calipers.views.github import commands_off
from calipers.views.run_table import distinct_names, run_table, table_target, write_table

from .exits import PASSED
from .message import note
from .reports import is_file, named_reports


def tabulate(
    *,
    runs: Sequence[str],
    store: str | None = None,
    dataset: str | None = None,
    k: int | None = None,
    metric: Sequence[str] = (),
    confidence: float = 0.95,
    to: Sequence[str] = (),
) -> int:
    """Write the table of some runs or report files; returns the exit code."""
    targets = [table_target(each) for each in to or ("markdown",)]
    places = [target.path if target.path == "-" else os.path.realpath(target.path) for target in targets]
    if twice := next((place for place in places if places.count(place) > 1), None):
        raise InvalidOptionError(f"two --to write to {'standard output' if twice == '-' else repr(twice)}")
    if lost := next((name for name in runs if is_file(name) and os.path.realpath(name) in places), None):
        raise InvalidOptionError(f"--to would overwrite the report {lost!r}: name another file")
    found = named_reports(runs, store, dataset=dataset)
    table = run_table(
        [each.report for each in found],
        labels=distinct_names([each.report.name for each in found], [each.label for each in found]),
        k=k,
        metrics=metric or None,
        confidence=confidence,
    )
    for target in targets:
        with commands_off():  # in a GitHub log, the name of a run must not become a command
            write_table(table, f"{target.format}:{target.path}")
        if target.path != "-":
            note(f"Wrote {target.path}")
    return PASSED
