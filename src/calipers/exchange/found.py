"""What a file says of a run, before it is stored."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from calipers.report.report import Report
from calipers.stores.packing import Record
from calipers.stores.records import StoredAttempt, StoredCell
from calipers.stores.run_info import RunInfo


class FoundAttempt(NamedTuple):
    """One attempt of a file."""

    record: Record
    stored: tuple[StoredAttempt, list[StoredCell]] | None = None
    """As it was in the store that it comes from; `None` if it comes from none."""


class FoundRun:
    """A run in a file. Its attempts can be read any number of times, and come one at a time."""

    def __init__(
        self, kind: str, info: RunInfo, report: Report, attempts: Callable[[], Iterator[FoundAttempt]]
    ) -> None:
        """A run.

        Args:
            kind: of the file, in words.
            info: what is known of the run; its id, if it comes from a store.
            report: of the run, without attempts.
            attempts: reads them.
        """
        self.kind = kind
        self.info = info
        self.report = report
        self.attempts = attempts
        self.notes: dict[str, None] = {}
        """What could not be read or has no place, each once, in order."""

    @classmethod
    def of_report(
        cls, kind: str, report: Report, attempts: Callable[[], Iterator[FoundAttempt]] | None = None
    ) -> "FoundRun":
        """The run that a report is of.

        Args:
            kind: of the file.
            report: with its attempts, unless they are given.
            attempts: reads them.
        """
        records: list[Record] = [*report.cases, *report.failures]
        bare = msgspec.structs.replace(report, cases=[], failures=[], totals=None)
        info = RunInfo(
            name=report.name,
            dataset_name=report.dataset_name,
            repeat=report.repeat,
            seed=report.seed,
            metadata=report.metadata,
            started_at=report.started_at or "",
            status="finished" if report.incomplete is None else "interrupted",
        )
        return cls(kind, info, bare, attempts or (lambda: map(FoundAttempt, records)))

    def note(self, text: str) -> None:
        """Say what could not be read or has no place."""
        self.notes[text] = None
