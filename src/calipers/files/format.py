"""The formats of dataset files, and which one a file has.

YAML and JSON files are documents: a whole dataset. JSON Lines, CSV and Parquet files hold cases only, and are read while
they run.
"""

from pathlib import Path
from typing import Literal, TypeAlias, get_args

from calipers.errors import InvalidOptionError

Format: TypeAlias = Literal["yaml", "json", "jsonl", "csv", "parquet"]
"""The formats of dataset files."""

DOCUMENTS: tuple[Format, ...] = ("yaml", "json")
"""Formats that hold a whole dataset."""

_SUFFIXES: dict[str, Format] = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
}


def format_of(path: Path, given: Format | None = None) -> Format:
    """The format that was given, else the one that the file's suffix says.

    Raises:
        InvalidOptionError: neither names a format.
    """
    if given is not None:
        if given not in get_args(Format):
            raise InvalidOptionError(f"format must be one of {', '.join(get_args(Format))}, got {given!r}")
        return given
    found = _SUFFIXES.get(path.suffix.lower())
    if found is None:
        raise InvalidOptionError(
            f"the name of {str(path)!r} does not tell its format: end it with {', '.join(_SUFFIXES)}, or pass format="
        )
    return found
