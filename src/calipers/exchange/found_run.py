"""A run found in a file of another program, before it is stored, and reading the JSON that such programs write."""

import json
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from calipers.errors import ReportFormatError
from calipers.report.report import Report
from calipers.stores.packing import Record
from calipers.stores.run_info import RunInfo
from calipers.stores.stored_attempt import StoredAttempt, StoredCell


class FoundAttempt(NamedTuple):
    """One attempt of a file."""

    record: Record
    stored: tuple[StoredAttempt, list[StoredCell]] | None = None
    """As it was in its store; `None` if it comes from none."""


class FoundRun:
    """A run in a file. Its attempts can be read any number of times, and come one at a time."""

    def __init__(
        self, kind: str, info: RunInfo, report: Report, attempts: Callable[[], Iterator[FoundAttempt]]
    ) -> None:
        self.kind = kind
        """Of the file, in words."""
        self.info = info
        """It has an id only if the run comes from a store."""
        self.report = report
        """Without attempts."""
        self.attempts = attempts
        self.is_recording = False
        """Whether its attempts are recorded conversations, which a store names by what was asked."""
        self.notes: dict[str, None] = {}
        """What could not be read or kept, each once, in order."""

    @classmethod
    def of_report(
        cls, kind: str, report: Report, attempts: Callable[[], Iterator[FoundAttempt]] | None = None
    ) -> "FoundRun":
        """The run of a report, which holds the attempts unless a function reads them."""
        records: list[Record] = [*report.cases, *report.failures]
        bare = msgspec.structs.replace(report, cases=[], failures=[], totals=None)
        info = RunInfo(
            name=report.name,
            dataset_name=report.dataset_name,
            repeat=report.repeat,
            seed=report.seed,
            metadata=report.metadata,
            started_at=report.started_at or "",
            status="finished" if report.came_to_end else "interrupted",
        )
        return cls(kind, info, bare, attempts or (lambda: map(FoundAttempt, records)))

    def note(self, text: str) -> None:
        """Note what could not be read or kept."""
        self.notes[text] = None


# ---------------------------------------------------------------------- JSON of other programs


def read_document(data: bytes, what: str) -> Any:
    """The data of a JSON document, called `what` in errors. `NaN` and `Infinity` are read too, since some programs write them.

    Raises:
        ReportFormatError: it is not JSON; the message has the line and column.
    """
    text = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(text.decode())
    except RecursionError as error:
        raise ReportFormatError(f"{what} is nested too deeply to be read") from error
    except ValueError as error:
        raise ReportFormatError(f"{what} is not JSON ({error}); it begins {data[:40]!r}") from error


def damaged(what: str, error: Exception) -> ReportFormatError:
    """The error of a document that cannot be what it seems to be."""
    return ReportFormatError(f"{what} is damaged: {error}")


def is_no_score(value: Any) -> bool:
    """Whether a number cannot be a result: NaN, infinite, or an integer of more than 64 bits."""
    if type(value) is int:
        return not -(1 << 63) <= value < 1 << 63
    return isinstance(value, float) and not math.isfinite(value)


def is_time(seconds: float | None) -> bool:
    """Whether a number may be how long something took."""
    return seconds is not None and math.isfinite(seconds) and seconds >= 0
