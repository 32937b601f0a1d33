"""Logs of Inspect AI as `.eval` files: ZIP archives with a file for each sample, which are read one at a time.

A log whose run was killed has no `header.json`; what its `_journal/start.json` tells is taken instead. Logs of today are
compressed with Zstandard, which needs the extra `parquet`, since pyarrow can read it and the `zipfile` of Python up to 3.13
cannot.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final
from zipfile import BadZipFile, ZipFile, ZipInfo

from calipers.errors import ReportFormatError

from .documents import read_document
from .found import FoundRun
from .inspect_log import no_samples, read_samples
from .parquet_file import load_arrow

_ZSTANDARD: Final = 93
_LOCAL_HEADER: Final = 30
"""Bytes before the name of a file in an archive."""


def read_archive(path: Path) -> FoundRun:
    """The run of a log.

    Raises:
        ReportFormatError: the archive is damaged, or is no log; the message says which file in it.
        MissingExtraError: it is compressed with Zstandard, and pyarrow is not installed.
    """
    what = repr(str(path))
    with _opened(path) as archive:
        files = {info.filename: info for info in archive.infolist()}
        place = next((name for name in ("header.json", "_journal/start.json") if name in files), None)
        if place is None:
            raise ReportFormatError(
                f"{what} is an archive and no log of Inspect AI: it has no header.json, but {list(files)!r:.100}"
            )
        header = read_document(_content(archive, files[place], what), f"{place} in {what}")
        if isinstance(header, dict) and "reductions.json" in files:
            reductions = _content(archive, files["reductions.json"], what)
            header["reductions"] = read_document(reductions, f"reductions.json in {what}")
    names = [name for name in files if name.startswith("samples/") and name.endswith(".json")]
    if not names:
        raise no_samples(what)
    return read_samples(header, lambda order: _samples(path, sorted(names, key=order)), what)


def _samples(path: Path, names: list[str]) -> Iterator[tuple[str, Any]]:
    """The samples of an archive, each with its place."""
    what = repr(str(path))
    with _opened(path) as archive:
        for name in names:
            place = f"{name} in {what}"
            yield place, read_document(_content(archive, archive.getinfo(name), what), place)


def _opened(path: Path) -> ZipFile:
    try:
        return ZipFile(path)
    except BadZipFile as error:
        raise ReportFormatError(
            f"{str(path)!r} is a damaged archive: {error}; a log that is still being written cannot be read"
        ) from error


def _content(archive: ZipFile, info: ZipInfo, what: str) -> bytes:
    try:
        if info.compress_type != _ZSTANDARD:
            return archive.read(info)
        found = _unpacked(archive, info)
    except (BadZipFile, EOFError, OSError, RuntimeError, ValueError, zlib.error) as error:
        raise ReportFormatError(f"{info.filename} in {what} is damaged: {error}") from error
    if len(found) != info.file_size or zlib.crc32(found) != info.CRC:
        raise ReportFormatError(f"{info.filename} in {what} is damaged: its content is not what was written")
    return found


def _unpacked(archive: ZipFile, info: ZipInfo) -> bytes:
    """The content of a file that `zipfile` cannot decompress, read from its place in the archive."""
    arrow: Any = load_arrow("Reading logs that are compressed with Zstandard")
    raw: IO[bytes] | None = archive.fp
    if raw is None:
        raise EOFError("the archive is closed")
    raw.seek(info.header_offset)
    head = raw.read(_LOCAL_HEADER)
    if len(head) < _LOCAL_HEADER or head[:4] != b"PK\x03\x04":
        raise BadZipFile("there is no file at its place")
    raw.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
    packed = arrow.BufferReader(raw.read(info.compress_size))
    with arrow.CompressedInputStream(packed, "zstd") as stream:
        # One byte more than it should have: a file that is larger than it says is not read to its end.
        content: bytes = stream.read(info.file_size + 1)
    return content
