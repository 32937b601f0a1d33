"""Attempts that were made somewhere, read one at a time and as often as needed: those of a kept run, of a report file, of traces.

`Asked` asks them a filter. What a filter asks beside a single attempt, such as whether its case is flaky, takes a reading of its own, which is done only
where a term needs it.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from calipers.errors import StoreError
from calipers.report.attempt_fields import Beside, Record
from calipers.report.attempt_filter import AttemptFilter, without_comparison
from calipers.report.report import Report
from calipers.stores.default_store import default_address, is_file_name
from calipers.stores.evaluator_slots import scored_places
from calipers.stores.packing import unpack
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.stores.store_url import open_store

from .found_run import FoundRun
from .recorded_traces import read_traces_run
from .run_import import known_run


class AttemptSource(Protocol):
    """Where attempts are from."""

    run: str
    """The id of the run; empty for a file that is not from a store."""
    name: str
    """Of the run, or of what the file holds."""
    started_at: str
    """When the run began, ISO 8601; empty if that is not known."""

    @property
    def notes(self) -> Sequence[str]:
        """What could not be read, in words."""
        ...

    def attempts(self, at: Collection[int] | None = None) -> Iterator[tuple[int, Record]]:
        """The attempts with their positions, in order, with what people said of them; all, or those at some positions."""
        ...


class KeptRun:
    """The attempts of a run in a store."""

    def __init__(self, store: Store, info: RunInfo) -> None:
        self._store, self._info = store, info
        self.run, self.name, self.started_at = info.id, info.name, info.started_at
        self.notes: Sequence[str] = ()

    def attempts(self, at: Collection[int] | None = None) -> Iterator[tuple[int, Record]]:
        """The attempts, as in `AttemptSource`."""
        store, info = self._store, self._info
        people = store.labels_by_position(info.id)
        scored, names = scored_places(info.evaluators), store.names(info)
        judged = store.judged(info.id) if at is None else store.judged_at(info.id, sorted(at))
        for attempt, cells in judged:
            record = unpack(attempt, cells, info.evaluators, scored=scored, names=names)
            record.human_labels = people.get(attempt.position, ())
            yield attempt.position, record


class FileRun:
    """The attempts of a report, an exported run, or a recording."""

    def __init__(self, found: FoundRun) -> None:
        self._found = found
        info = found.info
        self.run, self.name, self.started_at = info.id, info.name, info.started_at

    @property
    def notes(self) -> Sequence[str]:
        """What could not be read, in words."""
        return tuple(self._found.notes)

    def attempts(self, at: Collection[int] | None = None) -> Iterator[tuple[int, Record]]:
        """The attempts, as in `AttemptSource`."""
        for position, found in enumerate(self._found.attempts()):
            if at is None or position in at:
                yield position, found.record


class ReportRun:
    """The attempts that a report keeps."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.run, self.name = "", report.name
        self.started_at = report.started_at or ""
        self.notes: Sequence[str] = ()

    def attempts(self, at: Collection[int] | None = None) -> Iterator[tuple[int, Record]]:
        """The attempts, as in `AttemptSource`; those whose task failed come last."""
        records: list[Record] = [*self._report.cases, *self._report.failures]
        for position, record in enumerate(records):
            if at is None or position in at:
                yield position, record


class Asked:
    """A filter, asked about the attempts of one source."""

    def __init__(self, source: AttemptSource, wanted: AttemptFilter) -> None:
        """Read beforehand what the filter asks beside single attempts.

        Raises:
            FilterError: a term means something only where two runs, or a judge and people, are compared.
        """
        self.source, self.wanted = source, wanted
        without_comparison(wanted, also=["new"])
        asks = any(
            each.text == "flaky" for term in wanted.terms if term.field == "is" for each in term.values
        )
        self._flaky = _flaky_cases(source) if asks else None

    def beside(self, record: Record) -> Beside:
        """What is known of an attempt beside its record."""
        flaky = None if self._flaky is None else _case_of(record) in self._flaky
        return Beside(at=began_at(record, self.source), is_flaky=flaky, is_new=None)

    def attempts(self) -> Iterator[tuple[int, Record]]:
        """The attempts that are known to meet the filter, with their positions."""
        for position, record in self.source.attempts():
            if self.wanted.matches(record, self.beside(record)):
                yield position, record


def _flaky_cases(source: AttemptSource) -> set[str]:
    """The cases at which some attempts passed and others did not."""
    said: dict[str, set[bool]] = {}
    for _, record in source.attempts():
        if record.passed is not None:
            said.setdefault(_case_of(record), set()).add(record.passed)
    return {case for case, outcomes in said.items() if len(outcomes) > 1}


def _case_of(record: Record) -> str:
    return record.source_case_name or record.name


def open_sources(
    named: Sequence[str | os.PathLike[str]], store: Store | str | os.PathLike[str] | None
) -> tuple[list[AttemptSource], Store | None]:
    """What some names stand for, in order, and a store that was opened for it and is to be closed.

    All recordings among them are one, so that log records find their spans; it stands where the first one does.

    Args:
        named: files and folders; ids, beginnings of ids or names of runs, and `latest`.
        store: of the runs; default: the one that commands use. It is opened only if a run is named.

    Raises:
        ReportFormatError: a file cannot be read.
        StoreError: there is no such store, or no such run.
        OSError: a file cannot be read.
    """
    found: list[AttemptSource | None] = []
    recordings: list[Path] = []
    opened: Store | None = None
    for name in named:
        if is_file_name(os.fspath(name)):
            run = known_run(Path(name))
            if run is None:
                recordings.append(Path(name))
            if run is not None or len(recordings) == 1:
                found.append(None if run is None else FileRun(run))
            continue
        if not isinstance(store, Store):
            opened = opened or open_store(default_address() if store is None else store, existing=True)
        of = store if isinstance(store, Store) else opened
        assert of is not None
        try:
            found.append(KeptRun(of, of.run(os.fspath(name))))
        except StoreError:
            if opened is not None:
                opened.close()
            raise
    recorded = FileRun(read_traces_run(recordings)) if recordings else None
    return [source for source in (recorded if each is None else each for each in found) if source], opened


def began_at(record: Record, source: AttemptSource) -> datetime | None:
    """When an attempt began: as its trace says, and where it has none, when its run did; `None` if that is not known."""
    trace = record.trace
    if trace is not None:
        at = trace.created_at if trace.created_at.timestamp() > 0 else None
    else:
        try:
            at = datetime.fromisoformat(source.started_at)
        except ValueError:
            at = None
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at
