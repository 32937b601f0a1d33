"""A stored run as lines of JSON, and back, with nothing lost.

The file is a report in lines (`calipers.views.jsonl`), so any reader of those can read it. Two additions make it whole: the
first line has `run`, what the store knows of the run, and each attempt has `stored`, what the store knows of the attempt
besides its record: its position, its keys, and which results are whose.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from calipers.data.jsonable import plain
from calipers.data.record import ReportCase
from calipers.errors import ReportFormatError, StoreError
from calipers.report.incomplete import Incomplete
from calipers.report.report import Report
from calipers.stores.attempt_notes import (
    AttemptNotes,
    CellNotes,
    attempt_notes,
    cell_notes,
    with_attempt_notes,
    with_notes,
)
from calipers.stores.evaluator_slots import EvaluatorSlots, scored_places
from calipers.stores.packing import (
    NOT_JUDGED,
    Record,
    cells_in_order,
    facts_of,
    pack,
    pack_cells,
    setting_of,
    unpack,
    unpack_cells,
)
from calipers.stores.run_info import RunInfo, StoredEvaluator
from calipers.stores.run_report import bare_report
from calipers.stores.store import Store
from calipers.stores.stored_attempt import FORMAT, StoredAttempt, StoredCell
from calipers.views.jsonl import first_line, last_line, numbered_lines, record_line

from .found_run import FoundAttempt, FoundRun

_OF_A_PROCESS: Final = {"owner", "heartbeat", "attempts", "failures", "ending", "totals"}
"""Fields of a run that the file leaves out: its process, and what the other lines say."""
_ID: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
_LAST_POSITION: Final = (1 << 63) - 1


class KeptCell(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How many of the attempt's results, failures and skips are of one evaluator, after those of the last cell."""

    evaluator: int
    results: int = 0
    failures: int = 0
    skipped: int = 0
    origin: str | None = None
    notes: CellNotes | None = None


class Kept(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a store knows of an attempt besides its record; see `StoredAttempt`."""

    position: int
    repeat: int = 1
    key: bytes | None = None
    case_hash: bytes | None = None
    origin: str | None = None
    evaluators: tuple[int, ...] | None = None
    timeout: float | None = None
    notes: AttemptNotes | None = None
    cells: list[KeptCell] = []


# ---------------------------------------------------------------------- out


def run_lines(store: Store, run: RunInfo) -> Iterator[bytes]:
    """The lines of a run, read from its store as they are asked for."""
    bare = msgspec.structs.replace(run, ending=None, totals=None)
    told = {name: value for name, value in plain(bare).items() if name not in _OF_A_PROCESS}
    yield first_line(bare_report(run), run=told)
    count = 0
    scored = scored_places(run.evaluators)
    names = store.names(run)
    people = store.labels_by_position(run.id)
    for attempt, cells in store.judged(run.id):
        record = unpack(attempt, cells, run.evaluators, scored=scored, names=names)
        record.human_labels = people.get(attempt.position, ())
        yield record_line(record, stored=_kept(attempt, cells, run.evaluators))
        count += 1
    counted = store.report(run.id, keep="none")
    yield last_line(msgspec.structs.replace(counted, totals=None), counted, count)


def _kept(attempt: StoredAttempt, cells: Sequence[StoredCell], evaluators: Sequence[StoredEvaluator]) -> Kept:
    facts = facts_of(attempt)
    _, timeout = setting_of(attempt)
    kept = Kept(
        position=attempt.position,
        repeat=attempt.repeat,
        key=attempt.key,
        case_hash=attempt.case_hash,
        origin=attempt.origin,
        evaluators=facts.evaluators,
        timeout=timeout,
    )
    if (notes := attempt_notes(attempt.output)) != AttemptNotes():
        kept.notes = notes
    for cell in () if attempt.failed else cells_in_order(cells, facts, evaluators):
        results, failures, skipped = unpack_cells([cell], facts, evaluators)
        said = cell_notes(cell.body)
        kept.cells.append(
            KeptCell(
                evaluator=cell.evaluator,
                results=len(results),
                failures=len(failures),
                skipped=len(skipped),
                origin=cell.origin,
                notes=None if said == CellNotes() else said,
            )
        )
    return kept


# ---------------------------------------------------------------------- back


def read_lines(path: Path) -> FoundRun:
    """The run in a file of lines: an exported one, or a report that was written during a run.

    Raises:
        ReportFormatError: the file is damaged, or lacks lines that its run had; the message says where. Only a report
            may lack its end: its run may have been killed while it was written.
    """
    what = repr(str(path))
    head: dict[str, Any] = {}
    end: dict[str, Any] | None = None
    count = number = 0
    with path.open("rb") as file:
        for number, line in numbered_lines(file, what):
            if number == 1:
                head = line
            elif end is not None:
                raise ReportFormatError(f"line {number} of {what} stands after the end of the report")
            elif isinstance(line.get("end"), dict):
                end = line
            elif _record_of(line) is None:
                raise ReportFormatError(f"line {number} of {what} is not of a report: {line!r:.100}")
            else:
                count += 1
    run = head.pop("run", None)
    report = Report.from_dict(
        {"name": path.stem} | head | ({} if end is None else end["end"]) | {"cases": [], "failures": []}
    )
    if report.totals is not None and report.totals.counts.attempts != count:
        raise StoreError(
            f"{what} holds {count} of the {report.totals.counts.attempts} attempts of its run, and only these would be "
            "stored: run with keep='all'"
        )
    report.totals = None
    if end is not None and end.get("attempts") != count:
        raise ReportFormatError(
            f"{what} lacks lines: its last one, line {number}, says that it holds {end.get('attempts')!r} attempts, and there "
            f"are {count}{_first_gap(path, what) if run is not None else ''}. Export or copy it again"
        )
    if end is None and run is not None:
        raise ReportFormatError(
            f"{what} was cut: it ends after line {number} and {count} attempts, without the line that ends an exported run. "
            "Export or copy it again"
        )
    if end is None and report.incomplete is None:
        report.incomplete = Incomplete("cut", f"the file ends early, after {count} attempts")
    if run is None:
        return FoundRun.of_report("lines of a report", report, lambda: _attempts(path, None))
    info = _read_run(run, what)
    return FoundRun("exported run", info, report, lambda: _attempts(path, info.evaluators))


def _first_gap(path: Path, what: str) -> str:
    """Between which lines the first attempt is missing, as far as their positions tell."""
    last = -1
    with path.open("rb") as file:
        for number, line in numbered_lines(file, what):
            stored = line.get("stored")
            position = stored.get("position") if isinstance(stored, dict) else None
            if isinstance(position, int):
                if position != last + 1:
                    return f"; after line {number - 1}, the attempt at position {last + 1} is missing"
                last = position
    return ""


def _record_of(line: dict[str, Any]) -> str | None:
    return next((kind for kind in ("case", "failure") if isinstance(line.get(kind), dict)), None)


def _read_run(data: Any, what: str) -> RunInfo:
    try:
        info = msgspec.convert(data, RunInfo)
    except msgspec.ValidationError as error:
        raise ReportFormatError(f"line 1 of {what} does not describe a run: {error}") from error
    if not _ID.fullmatch(info.id):
        raise ReportFormatError(f"line 1 of {what} does not describe a run: its id is {info.id!r:.100}")
    return info


def _attempts(path: Path, evaluators: Sequence[StoredEvaluator] | None) -> Iterator[FoundAttempt]:
    """The attempts of a file, one by one; with the evaluators of a run, as they were stored."""
    what = repr(str(path))
    last = -1
    with path.open("rb") as file:
        for number, line in numbered_lines(file, what):
            kind = _record_of(line)
            if number == 1 or kind is None:
                continue
            place = f"line {number} of {what}"
            record = _read_record(kind, line[kind], place)
            if evaluators is None:
                yield FoundAttempt(record)
                continue
            try:
                kept = msgspec.convert(line.get("stored"), Kept)
            except msgspec.ValidationError as error:
                raise ReportFormatError(f"{place} does not say how it was stored: {error}") from error
            if not last < kept.position <= _LAST_POSITION:
                raise ReportFormatError(f"{place} has position {kept.position}, which does not follow {last}")
            last = kept.position
            yield FoundAttempt(record, _pack_kept(record, kept, evaluators, place))


def _read_record(kind: str, data: dict[str, Any], place: str) -> Record:
    parts: dict[str, Any] = {"calipers_report": 1, "name": "", "cases": [], "failures": []}
    parts["cases" if kind == "case" else "failures"] = [data]
    try:
        report = Report.from_dict(parts)
    except ReportFormatError as error:
        raise ReportFormatError(f"{place}: {error}") from error
    return report.cases[0] if kind == "case" else report.failures[0]


def _pack_kept(
    record: Record, kept: Kept, evaluators: Sequence[StoredEvaluator], place: str
) -> tuple[StoredAttempt, list[StoredCell]]:
    """An attempt as it was in its store."""
    named = [*(kept.evaluators or ()), *(cell.evaluator for cell in kept.cells)]
    if not all(0 <= index < len(evaluators) for index in named):
        raise ReportFormatError(
            f"{place} names evaluators {named!r:.100}, and the run has {len(evaluators)} of them"
        )
    bare: Record
    if isinstance(record, ReportCase):
        bare = msgspec.structs.replace(record, results=(), evaluator_failures=(), skipped=())
    else:
        # Evaluators added by scoring are not noted with attempts.
        scored = {one.name for one in evaluators if one.added and not one.superseded}
        not_run = tuple(name for name in record.not_run if name not in scored)
        bare = msgspec.structs.replace(record, not_run=not_run)
    attempt, _ = pack(
        bare,
        kept.position,
        EvaluatorSlots(evaluators, kept.evaluators),
        repeat=kept.repeat,
        key=kept.key,
        case_hash=kept.case_hash,
        origin=kept.origin,
        timeout=kept.timeout,
    )
    if kept.notes is not None:
        attempt.output = with_attempt_notes(attempt.output, kept.notes)
    return attempt, list(_cells(record, kept, evaluators, place)) if isinstance(record, ReportCase) else []


def _cells(
    record: ReportCase, kept: Kept, evaluators: Sequence[StoredEvaluator], place: str
) -> Iterator[StoredCell]:
    """The results of an attempt as cells of their evaluators."""
    results, failures, skipped = iter(record.results), iter(record.evaluator_failures), iter(record.skipped)
    try:
        for each in kept.cells:
            part = msgspec.structs.replace(
                record,
                results=tuple(next(results) for _ in range(each.results)),
                evaluator_failures=tuple(next(failures) for _ in range(each.failures)),
                skipped=tuple(next(skipped) for _ in range(each.skipped)),
            )
            found = pack_cells(part, kept.position, EvaluatorSlots(evaluators, (each.evaluator,)))
            body = found[0].body if found else f'{{"format":{FORMAT}}}'
            yield StoredCell(
                position=kept.position,
                evaluator=each.evaluator,
                body=body if each.notes is None else with_notes(body, each.notes),
                origin=each.origin,
            )
        # Missing judgements follow from missing cells.
        left = [*results, *(one for one in failures if one.error_type != NOT_JUDGED), *skipped]
    except (
        RuntimeError,
        StopIteration,
    ) as error:  # a generator makes a RuntimeError of the end of an iterator
        raise ReportFormatError(f"{place} holds fewer results than it says") from error
    if left:
        raise ReportFormatError(f"{place} holds results of no evaluator: {left[0]!r:.100}")
