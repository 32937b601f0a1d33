"""A file of labels: line by line, what people said of one case. JSON Lines, or CSV with a header.

The columns of a CSV file are separated by commas or semicolons, and their names may be written in capitals.

A line has either what the judge said of the same case (`judge`), which makes it a pair from anywhere, or the name of a `case` of the
run that is looked at, whose judge is then taken. Of a repeated case it says which `attempt`, from 1; without, it is the first. An
`output`, where there is one, has to be that of the attempt, so that labels of another run are not taken for labels of this one.

A rating is text, a number, true or false. A line whose label is blank leaves its case unlabelled; such lines are counted. What
cannot be read is refused with the file and the line, since a line that is left out in silence would change how well the judge
seems to agree.
"""

import csv
from collections.abc import Iterator
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from calipers.errors import DatasetFileError

JUDGE = "judge"
"""The column of the judge."""
CASE = "case"
"""The column with the name of a case."""

Rating: TypeAlias = str | int | float | bool


class Label(NamedTuple):
    """What people said of one case, and where it stands."""

    place: str
    """The file and the line, to be named in an error."""
    human: Rating
    judge: Rating | None
    """What the judge said; `None` if the line names a case instead."""
    case: str
    """The name of the case; empty beside a `judge`."""
    attempt: int
    """Of a repeated case, from 1."""
    output: Any
    """What the attempt gave, as the file has it; `None` if it does not say."""


class LabelFile(NamedTuple):
    """What a file says."""

    labels: list[Label]
    blank: int
    """Lines without a label."""


def read_label_file(path: Path, human: str) -> LabelFile:
    """What people said, line by line.

    Args:
        path: of the file; the suffix `.csv` tells CSV from JSON Lines.
        human: the column of what people said.

    Raises:
        DatasetFileError: a line cannot be read, or does not say what it is about.
        OSError: the file cannot be read.
    """
    lines = list((_of_csv if path.suffix.lower() == ".csv" else _of_json)(path, human))
    labels = [
        _label(path, number, line, human)
        for number, line in lines
        if human not in line or not _is_blank(line[human])
    ]
    return LabelFile(labels, len(lines) - len(labels))


def _label(path: Path, number: int, line: dict[str, Any], human: str) -> Label:
    place, said = f"{str(path)!r}, line {number}", _rating(path, number, line, human)
    if JUDGE in line or CASE not in line:
        return Label(place, said, _rating(path, number, line, JUDGE), "", 1, None)
    attempt = str(line.get("attempt") or 1).strip()
    if not attempt.isdecimal() or int(attempt) < 1:
        raise _wrong(path, number, f"expected the number of an attempt, from 1, got {_short(attempt)}")
    case = str(_rating(path, number, line, CASE))
    return Label(place, said, None, case, int(attempt), line.get("output"))


def _rating(path: Path, number: int, line: dict[str, Any], column: str) -> Rating:
    value = line.get(column)
    if _is_blank(value):
        raise _wrong(path, number, f"expected what {column!r} said, got {_short(line)}")
    if not isinstance(value, Rating):
        raise _wrong(
            path, number, f"expected text, a number, true or false as {column!r}, got {_short(value)}"
        )
    return value


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _of_json(path: Path, human: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, text in enumerate(_text(path).split("\n"), 1):
        if not text.strip():
            continue
        try:
            yield number, msgspec.json.decode(text, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as error:
            way = f'one object in each line, such as {{"{JUDGE}": true, "{human}": false}}; a CSV file ends in .csv'
            raise _wrong(path, number, f"expected {way}, got {_short(text)}: {error}") from error


def _of_csv(path: Path, human: str) -> Iterator[tuple[int, dict[str, Any]]]:
    text = _text(path)
    rows = csv.reader(StringIO(text, newline=""), strict=True, delimiter=_separator(text))
    header: list[str] | None = None
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise _wrong(path, rows.line_num, f"this is no CSV: {error}") from error
        if row is None:
            return
        if header is None:
            header = _named(row, human)
            if header.count(human) != 1 or max(header.count(JUDGE), header.count(CASE)) != 1:
                wanted = f"one column {human!r} and one of {JUDGE!r} or {CASE!r}"
                raise _wrong(path, rows.line_num, f"expected {wanted}, got {_short(', '.join(header))}")
        elif len(row) > len(header):
            raise _wrong(
                path, rows.line_num, f"expected {len(header)} cells, as in the header, got {_short(row)}"
            )
        elif any(row):
            yield rows.line_num, dict(zip_longest(header, row, fillvalue=""))


def _separator(text: str) -> str:
    """What separates the columns: a spreadsheet writes semicolons where the comma is the decimal point."""
    header = text.lstrip().partition("\n")[0]
    return ";" if header.count(";") > header.count(",") else ","


def _named(header: list[str], human: str) -> list[str]:
    """The header, with the columns that are read spelled as they are asked for."""
    spelled = {name.casefold(): name for name in (JUDGE, CASE, "attempt", "output", human)}
    names = [name.strip() for name in header]
    known = {name: wanted for name in names if (wanted := spelled.get(name.casefold())) not in names}
    return [known.get(name) or name for name in names]


def _text(path: Path) -> str:
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start : error.start + 1]
        raise _wrong(
            path, number, f"expected UTF-8, got the byte {byte!r}: save the file as UTF-8"
        ) from error


def _wrong(path: Path, number: int, what: str) -> DatasetFileError:
    return DatasetFileError(f"{str(path)!r}, line {number}: {what}")


def _short(value: object) -> str:
    try:
        text = repr(value)
    except RecursionError:
        text = f"a {type(value).__name__} that is nested too deep"
    return text if len(text) <= 200 else f"{text[:200]}…"
