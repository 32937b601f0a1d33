"""Runs that were made elsewhere, put into a store.

| file | what it is |
|---|---|
| `.jsonl` of `export_run` | a run with all that its store knew of it; it keeps its id |
| `.json`, `.jsonl` of `calipers run --out` | a report |
| `.json` of pydantic_evals | an `EvaluationReport`, as `EvaluationReportAdapter.dump_json` writes it |
| `.eval`, `.json` of Inspect AI | a log |
| spans, log records, message histories | recordings of agents, see `calipers.spans.read_traces`; a folder of them is one run |

The content of a file tells which of them it is. A run is stored whole or not at all. Its id is made of its start and its
content, so a file that is imported twice is stored once, whatever its name. A run without a start is listed after all others.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from calipers.data.argument_checks import check_text
from calipers.data.human_label import HumanLabel
from calipers.errors import CalipersError, ReportFormatError, StoreError
from calipers.report.incomplete import Incomplete
from calipers.report.report import Report
from calipers.spans.recordings import read_files
from calipers.stores.evaluator_slots import EvaluatorSlots, scored_places
from calipers.stores.packing import Record, pack, unpack
from calipers.stores.run_info import RunInfo
from calipers.stores.run_report import EvaluatorsInRecords, check_whole, labels_at
from calipers.stores.store import Redact, Store
from calipers.stores.store_url import open_store
from calipers.stores.stored_attempt import StoredAttempt, StoredCell
from calipers.views.jsonl import is_jsonl, record_line

from .attempt_name import AttemptNames
from .found_run import FoundRun, read_document
from .inspect_log import is_inspect_log, read_archive, read_log
from .pydantic_evals import is_pydantic_evals, read_pydantic_evals
from .recorded_traces import read_traces_run
from .run_jsonl import read_lines

_MOST_ATTEMPTS = 1000
_MOST_TEXT = 1 << 24
"""Attempts, and characters of them, that are written at once."""


class ImportedRun(NamedTuple):
    """A run that was found in a file."""

    run: RunInfo
    """As it is stored now."""
    kind: str
    """What the file was."""
    is_new: bool
    """False: it was there already, and nothing was written."""
    notes: tuple[str, ...]
    """What could not be read, or has no place in a run."""
    is_recording: bool = False
    """Whether it is a run of recorded conversations."""


def import_run(path: str | os.PathLike[str], store: Store | str | os.PathLike[str]) -> ImportedRun:
    """Store the run that is in a file.

    Args:
        path: of the file; see above for what it may be.
        store: a store, or the URL or path of one, which is made if needed.

    Raises:
        ReportFormatError: the file is of no known kind, or damaged; the message says where.
        StoreError: the run cannot be stored: the store has another of its id, or the file does not hold all attempts.
        OSError: the file cannot be read.
    """
    return _import_into(store, open_found(path))


def import_traces(
    paths: Sequence[str | os.PathLike[str]],
    store: Store | str | os.PathLike[str],
    *,
    name: str | None = None,
) -> ImportedRun:
    """Store the conversations that some files and folders hold as one run.

    Args:
        paths: of files and folders with spans, log records or message histories; together they are one recording.
        store: a store, or the URL or path of one, which is made if needed.
        name: what to call the run; default: the name of the agent.

    Raises:
        ReportFormatError: they hold no conversation.
        StoreError: the run cannot be stored.
        OSError: a file cannot be read.
    """
    check_text("name", name, or_none=True)
    return _import_into(store, read_traces_run(paths), name=name)


def _import_into(
    store: Store | str | os.PathLike[str], found: FoundRun, *, name: str | None = None
) -> ImportedRun:
    if isinstance(store, Store):
        return _import(found, store, name=name)
    with open_store(store) as opened:
        return _import(found, opened, name=name)


def import_files(
    paths: Sequence[str | os.PathLike[str]], store: Store, *, name: str | None = None
) -> Iterator[tuple[str, ImportedRun | CalipersError | OSError]]:
    """Store the runs that are in some files, and say of each what came of it. All recordings among them are one run, of this name."""
    recordings: list[str | os.PathLike[str]] = []
    for path in paths:
        try:
            found = known_run(Path(path))
            if found is not None:
                yield str(path), _import(found, store)
            elif _holds_recording(path):
                recordings.append(path)
            else:
                yield str(path), _unknown(Path(path))
        except (CalipersError, OSError) as error:
            yield str(path), error
    if recordings:
        named = ", ".join(map(str, recordings))
        try:
            yield named, import_traces(recordings, store, name=name)
        except (CalipersError, OSError) as error:
            yield named, error


def _holds_recording(path: str | os.PathLike[str]) -> bool:
    return any(read_files([path], lambda _: None))


def open_found(path: str | os.PathLike[str]) -> FoundRun:
    """The run in a file of any kind.

    Raises:
        ReportFormatError: the file is of no known kind.
    """
    place = Path(path)
    found = known_run(place)
    if found is not None:
        return found
    if not _holds_recording(place):
        raise _unknown(place)
    return read_traces_run([place])


def known_run(place: Path) -> FoundRun | None:
    """The run of a program for evaluations in a file; `None` if the file is something else, such as a recording.

    Raises:
        ReportFormatError: the file is damaged.
    """
    if place.is_dir():
        return None
    with place.open("rb") as file:
        begin = file.readline(1 << 24)
        more = file.read(1)
    if begin.startswith(b"PK\x03\x04"):
        return read_archive(place)
    if is_jsonl(begin):
        return read_lines(place)
    is_json = begin.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"["))
    if not is_json or b'"resourceSpans"' in begin[:200] or b'"resourceLogs"' in begin[:200]:
        return None
    try:
        data = read_document(place.read_bytes(), repr(str(place)))
    except ReportFormatError:
        if more and _holds_recording(place):  # one document a line
            return None
        raise
    if is_inspect_log(data):
        return read_log(data, repr(str(place)))
    if is_pydantic_evals(data):
        return read_pydantic_evals(data, repr(str(place)))
    if isinstance(data, dict) and "calipers_report" in data:
        report = Report.from_dict(data)
        check_whole(report)
        return FoundRun.of_report("report", report)
    return None


def _unknown(path: Path) -> ReportFormatError:
    if path.is_dir():
        return ReportFormatError(f"no recording of spans or messages was found in the folder {str(path)!r}")
    with path.open("rb") as file:
        begin = file.read(60)
    if not begin:
        return ReportFormatError(f"{str(path)!r} is empty and holds no run")
    return ReportFormatError(
        f"{str(path)!r} holds no run: it is not a report or exported run of Calipers, a report of pydantic_evals, a log "
        f"of Inspect AI, or a recording of spans or messages; it begins {begin!r}"
    )


def _import(found: FoundRun, store: Store, *, name: str | None = None) -> ImportedRun:
    in_records = EvaluatorsInRecords()
    digest = hashlib.sha256(
        msgspec.json.encode([found.info.name, found.info.dataset_name, found.info.metadata])
    )
    count = 0
    for record, stored in found.attempts():
        count += 1
        digest.update(record_line(_without_labels(record)))
        if stored is None:
            in_records.of(record)
    info = msgspec.structs.replace(
        found.info,
        id=found.info.id or f"{_moment(found.info.started_at)}-{digest.hexdigest()[:12]}",
        name=name or found.info.name,
        evaluators=found.info.evaluators or in_records.evaluators(),
        total=found.info.total if found.info.id else found.info.total or count,
    )
    if found.report.incomplete is None and not found.info.id and count != info.total:
        reason = f"the file holds {count} of {info.total} attempts"
        found.report.incomplete = Incomplete("cut", reason)
    there = _there(store, info.id)
    if there is not None and there.status == "running" and not there.is_abandoned():
        raise StoreError(f"run {info.id!r} is being written by another process: wait for its end")
    if there is not None and there.status == "running" and not found.info.id:
        store.delete_run(there.id)  # an import that was killed: only imports make such an id
        there = None
    if there is not None:
        # Redaction changes what is stored, so that it cannot be compared.
        if found.info.id and not getattr(store, "redact", ()) and _digest(store, there) != digest.hexdigest():
            raise StoreError(
                f"the store has another run with the id {info.id!r}: import into another store, or delete it "
                f"first with `calipers prune --run {info.id} --yes`"
            )
        return ImportedRun(there, found.kind, False, tuple(found.notes), found.is_recording)
    found.report.name = info.name
    run = _store(found, info, store, in_records)
    return ImportedRun(run, found.kind, True, tuple(found.notes), found.is_recording)


def _store(found: FoundRun, info: RunInfo, store: Store, in_records: EvaluatorsInRecords) -> RunInfo:
    """Store all of a run, or nothing of it."""
    begun = store.begin_run(info)
    labels: list[HumanLabel] = []
    try:
        for batch in _batches(_packed(found, begun, in_records, labels, getattr(store, "redact", ()))):
            store.append(
                begun.id, [attempt for attempt, _ in batch], [cell for _, cells in batch for cell in cells]
            )
        # A run that was going on elsewhere does not go on here.
        status = "interrupted" if info.status == "running" else info.status
        finished = store.finish_run(begun.id, status=status, report=found.report, ended_at=info.ended_at)
        store.add_labels(labels)
    except BaseException:
        with suppress(StoreError):  # the next import replaces what is left
            store.delete_run(begun.id)
        raise
    return finished


def _packed(
    found: FoundRun,
    run: RunInfo,
    in_records: EvaluatorsInRecords,
    labels: list[HumanLabel],
    hooks: Sequence[Redact],
) -> Iterator[tuple[StoredAttempt, list[StoredCell]]]:
    """The attempts as they are stored; what people said of them is added to `labels`."""
    names = AttemptNames(hooks) if found.is_recording else None
    for position, (record, stored) in enumerate(found.attempts()):
        if names is not None:
            record.name = names.name_of(record)
        if stored is None:
            slots = EvaluatorSlots(run.evaluators, in_records.of(record))
            packed = pack(record, position, slots, repeat=_repeat(record))
        else:
            packed = stored
        labels += labels_at(record, run.id, packed[0].position)
        yield packed


def _without_labels(record: Record) -> Record:
    """A record as its run left it: what people say later makes it no other run."""
    return msgspec.structs.replace(record, human_labels=()) if record.human_labels else record


def _batches(
    packed: Iterator[tuple[StoredAttempt, list[StoredCell]]],
) -> Iterator[list[tuple[StoredAttempt, list[StoredCell]]]]:
    batch: list[tuple[StoredAttempt, list[StoredCell]]] = []
    size = 0
    for attempt, cells in packed:
        batch.append((attempt, cells))
        size += len(attempt.given) + len(attempt.output) + len(attempt.trace or "")
        if len(batch) >= _MOST_ATTEMPTS or size >= _MOST_TEXT:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _repeat(record: Record) -> int:
    """Which repeat of its case it is, by the `[i/n]` at the end of its name."""
    if record.source_case_name is None:
        return 1
    number = record.name.removeprefix(record.source_case_name).strip(" []").partition("/")[0]
    return int(number) if number.isascii() and number.isdecimal() and len(number) < 9 else 1


def _there(store: Store, run: str) -> RunInfo | None:
    """The run of that id, if the store has it."""
    try:
        info = store.run(run)
    except StoreError:
        return None
    return info if info.id == run else None


def _digest(store: Store, run: RunInfo) -> str:
    """The digest of a stored run, as `_import` computes it of a file."""
    digest = hashlib.sha256(msgspec.json.encode([run.name, run.dataset_name, run.metadata]))
    scored = scored_places(run.evaluators)
    names = store.names(run)
    for attempt, cells in store.judged(run.id):
        digest.update(record_line(unpack(attempt, cells, run.evaluators, scored=scored, names=names)))
    return digest.hexdigest()


def _moment(started_at: Any) -> str:
    """The beginning of an id: when the run began, as in the ids that a store makes."""
    try:
        told = datetime.fromisoformat(started_at)
        at = told.replace(tzinfo=UTC) if told.tzinfo is None else told.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return "00000000-000000000"
    return f"{at:%Y%m%d-%H%M%S}{at.microsecond // 1000:03d}"
