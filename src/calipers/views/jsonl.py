r"""A report as lines of JSON, one per attempt, which can be written while the run goes on.

| line | what it holds |
|---|---|
| first | `{"calipers_report": 1, "layout": "jsonl", …}`: what is known when the run begins, such as name and seed |
| each of the next | `{"case": {…}, "passed": true}` or `{"failure": {…}, "passed": false}`, as in `Report.to_dict` |
| last | `{"end": {…}, "attempts": 2, "pass_rate": {…}, "durations": {…}, "summaries": {…}, "slices": {…}, "under_faults": {…}}` |

`end` is the report without its attempts; what it says replaces what the first line said. The numbers are for readers
of the file: reading a report computes its own.

Every line is handed to the operating system when it is written, so a process that is killed loses no attempt it has
added. A file without its last line, or with half a line at its end, is read as an incomplete report; a line that cannot
be read anywhere else is damage, and an error. A file written during a run holds the attempts in the order they finished.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import msgspec

from calipers.data.record import ReportCase, ReportCaseFailure, name_results
from calipers.data.result_names import Names
from calipers.errors import CalipersError, ReportFormatError
from calipers.report.incomplete import Incomplete
from calipers.report.report import FORMAT_VERSION, Report
from calipers.report.summary import Tally
from calipers.stats.number_text import plural

from .json_file import counted_data, parse_json
from .outcome import Record


class JsonlWriter:
    """Writes a report to a file attempt by attempt, and keeps none of them in memory.

    The file appears, and replaces one that was there, with the first attempt or when a `with` block is entered. Leaving
    the block without `close(report)` leaves a file that reads as incomplete. One thread may write at a time.
    """

    def __init__(self, path: str | os.PathLike[str], report: Report | None = None) -> None:
        """A writer to a path.

        Args:
            path: of the file; folders that are missing are made.
            report: what is known when the run begins; its attempts are ignored. A reader has nothing
                else if the run never ends.
        """
        self.path = path
        self.report = report
        self._file: IO[bytes] | None = None
        self._attempts = 0
        self._closed = False

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._closed:
            self.close()

    def add(self, record: Record) -> None:
        """Write one attempt."""
        self._write(record_line(record))
        self._attempts += 1

    def close(self, report: Report | None = None) -> None:
        """End the file.

        Args:
            report: what the run came to. If it does not count the attempts that were added, they are counted from the
                file, one at a time. Without a report the file stays without an end.
        """
        if report is not None:
            counts_all = report.counts().attempts == self._attempts
            # What the file holds in full needs no totals beside it.
            facts = msgspec.structs.replace(report, totals=None) if counts_all else report
            self._write(last_line(facts, report if counts_all else _count(self.path), self._attempts))
        if self._file is not None:
            self._file.close()
        self._closed = True

    def _write(self, line: bytes) -> None:
        file = self._open()
        file.write(line)
        file.flush()

    def _open(self) -> IO[bytes]:
        if self._closed:
            raise CalipersError(f"the report {os.fspath(self.path)!r} is closed: nothing can be added to it")
        if self._file is None:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            self._file = Path(self.path).open("wb")  # noqa: SIM115 - `close` closes it
            self._file.write(first_line(self.report))
            self._file.flush()
        return self._file


def report_jsonl(report: Report) -> str:
    """The whole report as lines of JSON."""
    return b"".join(jsonl_lines(report)).decode()


def jsonl_lines(report: Report) -> Iterator[bytes]:
    """The lines of a whole report, as they stand in a file."""
    yield first_line(report)
    records: list[Record] = [*report.cases, *report.failures]
    yield from map(record_line, records)
    yield last_line(report, report, len(records))


def read_jsonl(file: IO[bytes], *, what: str, name: str = "unknown") -> Report:
    """The report that `JsonlWriter` or `report_jsonl` wrote, or as much of it as there is.

    Args:
        file: from its beginning.
        what: what the file is called, for errors.
        name: of the report, if the file does not tell.
    """
    head: dict[str, Any] = {}
    end: dict[str, Any] | None = None
    records: dict[str, list[Any]] = {"case": [], "failure": []}
    for number, line in numbered_lines(file, what):
        kind = next((key for key in ("case", "failure", "end") if key in line), None)
        if number == 1:
            head = line
        elif kind is None or end is not None or not isinstance(line[kind], dict):
            raise ReportFormatError(f"line {number} of {what} is not of a report: {line!r:.100}")
        elif kind == "end":
            end = line
        else:
            records[kind].append(line[kind])
    facts = {"name": name} | {key: value for key, value in head.items() if key != "layout"}
    report = Report.from_dict(
        {
            **facts,
            **({} if end is None else end["end"]),
            "cases": records["case"],
            "failures": records["failure"],
        }
    )
    name_results(report.cases)  # a file that was written during a run has them as they were known then
    if report.incomplete is None:
        report.incomplete = _cut(report, end)
    return report


def is_jsonl(first_line: bytes) -> bool:
    """Whether a file that begins with this line has one attempt per line."""
    try:
        head = msgspec.json.decode(first_line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(head, dict) and head.get("layout") == "jsonl"


def numbered_lines(file: IO[bytes], what: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines with their numbers from 1; one that cannot be read is left out if it is the last."""
    damage: ReportFormatError | None = None
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        if damage is not None:
            raise damage
        try:
            found = parse_json(line, what=f"line {number} of {what}")
        except ReportFormatError as error:
            damage = error
            continue
        if not isinstance(found, dict):
            raise ReportFormatError(f"line {number} of {what} is not of a report: {found!r:.100}")
        yield number, found


def _cut(report: Report, end: dict[str, Any] | None) -> Incomplete | None:
    """What the file lacks; `None` if it is whole."""
    found = len(report.cases) + len(report.failures)
    if end is None:
        return Incomplete("cut", f"the file ends early, after {plural(found, 'attempt')}")
    told = end.get("attempts")
    if told == found:
        return None
    return Incomplete("cut", f"the file should hold {told} attempts and holds {found}")


# ---------------------------------------------------------------------- lines


def first_line(report: Report | None, **more: Any) -> bytes:
    """The line that a file begins with; `more` is for readers who know of it."""
    facts = {} if report is None else _facts(report)
    return _line({"calipers_report": FORMAT_VERSION, "layout": "jsonl", **facts, **more})


def record_line(record: Record, **more: Any) -> bytes:
    """The line of an attempt; `more` is for readers who know of it."""
    # By the report's own door, so that an attempt looks the same in every file.
    if isinstance(record, ReportCase):
        data = Report(name="", cases=[record]).to_dict()["cases"][0]
        return _line({"case": data, "passed": record.passed, **more})
    data = Report(name="", cases=[], failures=[record]).to_dict()["failures"][0]
    return _line({"failure": data, "passed": record.passed, **more})


def last_line(report: Report, counted: Report | Tally, attempts: int) -> bytes:
    """The end of a report, with the numbers of what was counted, and of the attempts in the file."""
    return _line(
        {
            "end": _facts(report),
            "attempts": attempts,
            **counted_data(counted),
        }
    )


def _facts(report: Report) -> dict[str, Any]:
    """The report without its attempts."""
    bare = msgspec.structs.replace(report, cases=[], failures=[]).to_dict()
    return {key: value for key, value in bare.items() if key not in {"calipers_report", "cases", "failures"}}


def _count(path: str | os.PathLike[str]) -> Tally:
    """The attempts of a file, counted one by one."""
    tally, names = Tally(), Names()
    with Path(path).open("rb") as file:
        for _, line in numbered_lines(file, os.fspath(path)):
            if "case" in line:
                case = msgspec.convert(_without_trace(line["case"]), ReportCase)
                before = names.changes
                names.meet(failure.name for failure in case.evaluator_failures)
                case.results, case.skipped = names.named(case.results, case.skipped)
                if names.changes != before:
                    tally.rename(names)
                tally.add(case)
            elif "failure" in line:
                tally.add(msgspec.convert(_without_trace(line["failure"]), ReportCaseFailure))
    return tally


def _without_trace(record: dict[str, Any]) -> dict[str, Any]:
    """What counts of a stored attempt."""
    return {name: value for name, value in record.items() if name != "trace"}


def _line(data: dict[str, Any]) -> bytes:
    return msgspec.json.encode(data) + b"\n"
