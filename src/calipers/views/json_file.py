"""A report as one JSON document: `Report.to_dict`, strict and in UTF-8.

After it come `pass_rate`, `costs`, `durations`, `summaries`, `slices` and `under_faults`. They are for readers of the file: reading a report
computes its own.
"""

from typing import Any

import msgspec

from calipers.data.jsonable import plain
from calipers.errors import ReportFormatError
from calipers.report.report import Report
from calipers.report.summary import Tally

_BOM = b"\xef\xbb\xbf"


def report_json(report: Report, *, pretty: bool = False) -> str:
    """The report as JSON, on one line or indented; it ends with a line break."""
    return json_bytes(report, pretty=pretty).decode()


def json_bytes(report: Report, *, pretty: bool = False) -> bytes:
    """The same, as it stands in a file."""
    data = msgspec.json.encode({**report.to_dict(), **counted_data(report)})
    return (msgspec.json.format(data, indent=2) if pretty else data) + b"\n"


def counted_data(counted: Report | Tally) -> dict[str, Any]:
    """What the attempts say together, as plain data."""
    if isinstance(counted, Report):
        counted = counted.with_totals()
        rate, times = counted.pass_rate(None), counted.durations(None)
    else:
        rate, times = counted.pass_rate(), counted.durations()
    return {
        "pass_rate": plain(rate),
        "infrastructure": plain(counted.infrastructure()),
        "metrics": plain(counted.metrics()),
        "costs": plain(counted.costs()),
        "durations": plain(times),
        "summaries": plain(counted.summaries()),
        "slices": plain(counted.slices()),
        "under_faults": plain(counted.under_faults()),
    }


def parse_json(data: bytes, *, what: str) -> Any:
    """Strict JSON as plain data."""
    try:
        return msgspec.json.decode(data.removeprefix(_BOM))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReportFormatError(
            f"{what} is not JSON ({error}), and reports are read from JSON or JSON Lines; it begins {data[:40]!r}"
        ) from error


def read_json(data: bytes, *, what: str) -> Report:
    """The report that `json_bytes` wrote."""
    return Report.from_dict(parse_json(data, what=what))
