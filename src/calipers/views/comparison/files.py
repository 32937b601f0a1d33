"""Comparison files: which formats there are, and writing one whole or not at all."""

import os
from collections.abc import Callable, Sequence
from typing import Final

from calipers.comparison.comparison import Comparison
from calipers.errors import InvalidOptionError
from calipers.views.formats import Target, parse_target, write_chunks

from .json_file import comparisons_json
from .markdown import comparisons_markdown
from .terminal import comparisons_text


def _html(comparisons: Sequence[Comparison]) -> str:
    from .html import comparisons_html

    return comparisons_html(comparisons)


FORMATS: Final[dict[str, Callable[[Sequence[Comparison]], str]]] = {
    "json": comparisons_json,
    "markdown": comparisons_markdown,
    "html": _html,
    "text": comparisons_text,
}
"""The formats of comparison files, by name."""


def comparison_target(target: str | os.PathLike[str]) -> Target:
    """Where a comparison goes: `FORMAT:PATH`, or a path whose suffix tells the format; the path `-` is standard output.

    Raises:
        InvalidOptionError: comparisons have no such format.
    """
    found = parse_target(target, formats=FORMATS)
    if found.format not in FORMATS:
        raise InvalidOptionError(
            f"a comparison is written as {', '.join(FORMATS)}, and not as {found.format}, got {os.fspath(target)!r}"
        )
    return found


def write_comparisons(comparisons: Sequence[Comparison], target: str | os.PathLike[str]) -> None:
    """Write comparisons to a file, or to standard output.

    Args:
        comparisons: from `compare_many`, or `[compare_reports(...)]`.
        target: as for `comparison_target`.

    Raises:
        InvalidOptionError: the format is not known, or the path is a folder.
        OSError: the file cannot be written.
    """
    where = comparison_target(target)
    write_chunks([FORMATS[where.format](comparisons).encode("utf-8", "backslashreplace")], where.path)
