r"""Report files: which formats there are, and which one a name stands for.

A target says where a report goes. `FORMAT:PATH` names the format; a bare `PATH` has it in its suffix; the path `-` is
standard output. Only the known formats and suffixes count as `FORMAT`, so `C:\runs\a.json` and `run 12:30.json` are
paths. A word that is nearly a format (`jsn:x.json`) is taken for a slip, and refused with the name it resembles.

Views of your own (`calipers.views.view`) are formats too: pass them as `views=`, and write their names before the colon. A suffix
always stands for a format of Calipers.

Files are written whole or not at all, in UTF-8; folders that are missing are made. JSON and JSON Lines can be read back.
"""

import difflib
import os
import re
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol

from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidOptionError
from calipers.process.atomic_file import write_whole
from calipers.report.report import Report

from .outcome import Record
from .view import View, is_view, use_view, writes_itself


class Format(NamedTuple):
    """A kind of report file."""

    suffixes: tuple[str, ...]
    """How its files end; empty for what is only ever named."""
    drawing: str
    """The module and the function that draw a report, which load when one is written."""

    def chunks(self, report: Report) -> Iterable[bytes]:
        """A report as the content of such a file, in pieces."""
        module, _, function = self.drawing.partition(":")
        drawn: str | bytes | Iterable[bytes] = getattr(import_module(module), function)(report)
        if isinstance(drawn, str):
            # What no encoding can hold is shown as an escape: after a long run, a file that cannot be written is the worst end.
            return [drawn.encode("utf-8", "backslashreplace")]
        return [drawn] if isinstance(drawn, bytes) else drawn


class Target(NamedTuple):
    """Where a report goes."""

    format: str
    """A key of `FORMATS`, or the name of a view."""
    path: str
    """`-` for standard output."""


FORMATS: Final[dict[str, Format]] = {
    "json": Format((".json",), "calipers.views.json_file:json_bytes"),
    "jsonl": Format((".jsonl",), "calipers.views.jsonl:jsonl_lines"),
    "csv": Format((".csv",), "calipers.views.csv_file:csv_lines"),
    "markdown": Format((".md",), "calipers.views.markdown:report_markdown"),
    "junit": Format((".xml",), "calipers.views.junit:report_junit"),
    "html": Format((".html",), "calipers.views.html:report_html"),
    "text": Format((".txt",), "calipers.views.terminal:report_text"),
    "github": Format((), "calipers.views.github:report_annotations"),
}
"""The formats of report files, by name."""

_NAMES: Final[dict[str, str]] = {
    name: key
    for key, each in FORMATS.items()
    for name in (key, *(suffix.removeprefix(".") for suffix in each.suffixes))
}
"""What may stand before the colon: `md` is as good as `markdown`."""


def write_report(
    report: Report, target: str | os.PathLike[str], *, views: Mapping[str, View] | None = None
) -> None:
    """Write a report to a file, or to standard output.

    Args:
        report: what to write.
        target: `"FORMAT:PATH"`, or a path whose suffix tells the format; the path `-` is standard output. A
            `pathlib.Path` is always a path.
        views: views of your own that `FORMAT` may name, such as `PluginManager.views`.

    Raises:
        InvalidOptionError: the format is not known, or the path is a folder.
        OSError: the file cannot be written.
        ViewError: a view of your own failed.
    """
    where = parse_target(target, views=views)
    view = None if views is None else views.get(where.format)
    if view is None:
        chunks = FORMATS[where.format].chunks(report)
    elif (content := use_view(where.format, view, report, where.path)) is not None:
        chunks = [content]
    else:
        return
    write_chunks(chunks, where.path)


class GrowingFile(Protocol):
    """A report file that takes attempts while the run goes on."""

    def add(self, record: Record) -> None:
        """Write one attempt."""
        ...

    def close(self, report: Report) -> None:
        """Write what is known at the end, and close the file."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def growing_file(target: Target, report: Report) -> GrowingFile | None:
    """The file of a target, begun, if attempts can be written to it one by one: JSON Lines and CSV; else `None`.

    The report has what is known before the run, and no attempts. Standard output is written when the run is over.
    """
    if target.path == "-":
        return None
    if target.format == "jsonl":
        from .jsonl import JsonlWriter

        return JsonlWriter(target.path, report)
    if target.format == "csv":
        from .csv_file import CsvWriter

        return CsvWriter(target.path)
    return None


def write_chunks(chunks: Iterable[bytes], path: str) -> None:
    """Write pieces of a file to its path, whole or not at all; `-` is standard output."""
    if path != "-":
        write_whole(path, chunks)
    elif (buffer := getattr(sys.stdout, "buffer", None)) is not None:
        sys.stdout.flush()
        buffer.writelines(chunks)
        buffer.flush()
    else:  # standard output was replaced by something that takes text only
        sys.stdout.writelines(chunk.decode("utf-8", "backslashreplace") for chunk in chunks)


def write_document(text: str, path: str) -> None:
    """Write the text of a file to its path, whole or not at all; what no encoding can hold is shown as an escape."""
    write_chunks([text.encode("utf-8", "backslashreplace")], path)


def document_target(target: str | os.PathLike[str], formats: Iterable[str], what: str) -> Target:
    """Where something other than a report goes, such as `a comparison`, which has these formats."""
    found = parse_target(target, formats=formats)
    if found.format not in formats:
        raise InvalidOptionError(
            f"{what} is written as {', '.join(formats)}, and not as {found.format}, got {os.fspath(target)!r}"
        )
    return found


def parse_target(
    target: str | os.PathLike[str],
    *,
    views: Mapping[str, View] | None = None,
    formats: Iterable[str] = FORMATS,
) -> Target:
    """What a target means, without writing anything: wrong ones can be refused before a run begins.

    Args:
        target: as for `write_report`.
        views: views of your own that the target may name. The one it does name is looked up.
        formats: those that errors name; fewer, where the file is not a report.

    Raises:
        InvalidOptionError: the format is not known, or a view or its name cannot be one.
    """
    views = views or {}
    for name in views:
        check_view_name(name)
    if not isinstance(target, str):
        path = os.fspath(target)
        return Target(_by_suffix(path, views, formats), path)
    word, colon, path = target.partition(":")
    if colon and (word in _NAMES or word in views):
        if not path:
            raise InvalidOptionError(f"{target!r} names no file: write {word + ':-'!r} for standard output")
        if word in views:
            _check_view(word, views[word], path)
        return Target(_NAMES.get(word, word), path)
    if len(word) > 1 and path.startswith("//"):
        raise InvalidOptionError(f"report files are written to a disk, got the address {target!r}")
    if colon and (meant := _near(word, views)):
        raise InvalidOptionError(
            f"no report format is called {word!r}, did you mean {meant!r}? Known are {_known(views, formats)}; for a file of "
            f"that name, write {'./' + target!r}"
        )
    return Target(_by_suffix(target, views, formats), target)


def check_view_name(name: str) -> None:
    """Refuse a name under which a view could not be found: it means something else in a target."""
    if not isinstance(name, str) or len(name) < 2 or ":" in name:
        raise InvalidOptionError(
            f"the name of a view is two characters or more without a colon, got {name!r}"
        )
    if name.lower() in _NAMES:
        raise InvalidOptionError(f"{name!r} is a format of Calipers: give the view a name of its own")


def read_report(path: str | os.PathLike[str]) -> Report:
    """The report that a JSON or JSON Lines file holds; which of the two is told by the content.

    A JSON Lines file of a run that never ended is read as far as it goes, and its report says that it is `incomplete`.

    Raises:
        ReportFormatError: the file is no report, or damaged.
        OSError: the file cannot be read.
    """
    from .json_file import read_json
    from .jsonl import is_jsonl, read_jsonl

    what = repr(os.fspath(path))
    with Path(path).open("rb") as file:
        lines = is_jsonl(file.readline())
        file.seek(0)
        if lines:
            return read_jsonl(file, what=what, name=Path(path).stem)
        return read_json(file.read(), what=what)


def _check_view(name: str, view: Any, path: str) -> None:
    if not is_view(view):
        raise InvalidOptionError(
            f"the view {name!r} must be a function of a report, or an object with write(report, path), got "
            f"{safe_repr(view):.200}"
        )
    if path == "-" and writes_itself(view):
        raise InvalidOptionError(f"the view {name!r} does not write to standard output: name a file")


def _by_suffix(path: str, views: Iterable[str], formats: Iterable[str]) -> str:
    suffix = Path(path).suffix.lower()
    for name, each in FORMATS.items():
        if suffix in each.suffixes:
            return name
    if path in _NAMES or path in views:
        raise InvalidOptionError(
            f"{path!r} is a format and names no file: write {path + ':-'!r} for standard output"
        )
    if path == "-":
        raise InvalidOptionError(
            f"which format should go to standard output? Write 'json:-'; known are {_known(views, formats)}"
        )
    found = f"a file that ends in {suffix!r}" if suffix else f"{path!r}, which has no suffix"
    meant = _near(suffix.removeprefix("."), ())
    hint = f", did you mean {meant!r}?" if meant else "."
    raise InvalidOptionError(
        f"no report format is known for {found}{hint} Write FORMAT:PATH, where FORMAT is one of {_known(views, formats)}"
    )


def _near(word: str, views: Iterable[str]) -> str | None:
    """The format that a word resembles; a drive, which is one letter, and a folder resemble none."""
    if len(word) < 2 or "/" in word or "\\" in word:
        return None
    formats = _NAMES if re.fullmatch(r"[A-Za-z]+", word) else ()
    known = {name.lower(): name for name in (*formats, *views)}
    found = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.7)
    return known[found[0]] if found else None


def _known(views: Iterable[str], formats: Iterable[str]) -> str:
    return ", ".join((*formats, *views))
