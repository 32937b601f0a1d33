"""The reports that a command line names: files, and runs that are kept.

What there is a file of is a file, and so is what is written like one: with a slash, or an ending of report files.
Anything else names a run.
"""

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from calipers.cli.exits import USAGE
from calipers.cli.message import CommandError, no_file
from calipers.cli.stored_runs import find_run, open_kept, report_of
from calipers.comparison.evaluator_changes import EvaluatorChanges, KnownEvaluators
from calipers.errors import InvalidOptionError, ReportFormatError
from calipers.report.report import Report
from calipers.stores.default_store import is_file_name
from calipers.views.formats import read_report
from calipers.views.run_table import distinct_names

if TYPE_CHECKING:
    from calipers.stores.run_info import RunInfo
    from calipers.stores.store import Store


class NamedReport(NamedTuple):
    """A report that was asked for."""

    report: Report
    label: str
    """What to call it."""
    evaluators: KnownEvaluators | None = None
    """What the store knows of its evaluators; `None` for a file."""
    info: "RunInfo | None" = None
    """What the store knows of the run; `None` for a file."""


def known_changes(
    baseline: KnownEvaluators | None, candidate: KnownEvaluators | None
) -> EvaluatorChanges | None:
    """The evaluators of two runs that a store knows to differ; `None` if one of the two is a file or was not kept."""
    return None if baseline is None or candidate is None else EvaluatorChanges(baseline, candidate)


def named_reports(
    names: Sequence[str],
    store: str | None,
    *,
    dataset: str | None = None,
    concludes: bool = False,
    can_lack_values: bool = False,
) -> list[NamedReport]:
    """The reports of these names, each with all its attempts.

    Args:
        names: paths of files; ids, beginnings of ids or names of runs; `latest`.
        store: the store of the runs; it is opened only if a run is named.
        dataset: of which dataset the runs are; of files it is not asked.
        concludes: as for `find_run`.
        can_lack_values: see `Store.can_lack_values`: for those who look at results, and only show the rest.
    """
    found: list[NamedReport] = []
    meant: dict[tuple[str, str], str] = {}
    with ExitStack() as opened:
        kept: Store | None = None
        for name in names:
            if is_file_name(name):
                key = ("file", os.path.realpath(name))
                each = NamedReport(read_file(name, "compared"), name)
            else:
                if kept is None:
                    kept = opened.enter_context(open_kept(store, can_lack_values=can_lack_values))
                info = find_run(kept, name, dataset=dataset, concludes=concludes)
                key = ("run", info.id)
                report = report_of(kept, info, whole=True)
                known = kept.known_evaluators(info.id)
                each = NamedReport(report, f"{info.name} ({info.id})", known, info)
            if key in meant:
                raise CommandError(
                    f"{meant[key]!r} and {name!r} are the same {key[0]}: name two that differ", USAGE
                )
            meant[key] = name
            found.append(each)
    return found


def distinct_reports(
    names: Sequence[str], store: str | None, *, dataset: str | None = None, can_lack_values: bool = False
) -> list[NamedReport]:
    """The reports of these names, to draw conclusions from, each run by its name alone where no other has it."""
    reports = named_reports(names, store, dataset=dataset, concludes=True, can_lack_values=can_lack_values)
    labels = distinct_names(
        [each.label if each.info is None else each.info.name for each in reports],
        [each.label for each in reports],
    )
    return [each._replace(label=label) for each, label in zip(reports, labels, strict=True)]


def read_file(path: str, done: str) -> Report:
    """The report in a file."""
    if not Path(path).exists() or Path(path).is_dir():
        raise no_file(path)
    try:
        return read_report(path)
    except ReportFormatError as error:
        raise CommandError(f"{path!r} cannot be {done}: {error}{_summary_hint(path)}") from error


def check_targets(option: str, paths: Sequence[str], sources: Sequence[str] = ()) -> None:
    """Refuse to write two files to one place, or one over a file that is read."""
    places: set[str] = set()
    for path in paths:
        place = path if path == "-" else os.path.realpath(path)
        if place in places:
            raise InvalidOptionError(
                f"two {option} write to {'standard output' if path == '-' else repr(path)}"
            )
        places.add(place)
    for name in sources:
        if is_file_name(name) and os.path.realpath(name) in places:
            raise InvalidOptionError(f"{option} would overwrite {name!r}, which is read: name another file")


def _summary_hint(path: str) -> str:
    """The way out for what `calipers run --json` printed, which is easily taken for a report."""
    try:
        found = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    if isinstance(found, dict) and "calipers_run" in found:
        return (
            "; it is the summary of `calipers run --json`: `calipers run --out json:PATH` writes the report"
        )
    return ""
