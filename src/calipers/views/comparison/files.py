"""Comparison files: which formats there are, the JSON among them, and writing one whole or not at all.

In JSON, `calipers_comparisons` is the version of the file. Each of its `comparisons` is what `Comparison.to_dict` gives, with
the field `words` added to the conclusion, to every change and to every flip, of which they say where the traces part; `Comparison.from_dict` reads it back.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from calipers.comparison.change import Change
from calipers.comparison.comparison import Comparison, check_comparisons, ranks
from calipers.views.formats import Target, document_target, write_document

from .markdown import comparisons_markdown
from .statement import lead, sentence
from .terminal import comparisons_text
from .trace_words import difference_lines

FORMAT_VERSION = 1


def comparisons_json(comparisons: Sequence[Comparison]) -> str:
    """The comparisons as strict JSON, indented."""
    check_comparisons(comparisons)
    data = {
        "calipers_comparisons": FORMAT_VERSION,
        "ranks": [msgspec.to_builtins(rank) for rank in ranks(comparisons)],
        "comparisons": [_data(each) for each in comparisons],
    }
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"


def _data(comparison: Comparison) -> dict[str, Any]:
    data = comparison.to_dict()
    data["conclusion"]["words"] = list(lead(comparison))
    if comparison.pass_rate is not None:
        data["pass_rate"]["words"] = sentence(comparison.pass_rate)
    for name in ("slices", "evaluators", "measures"):
        data[name] = list(_worded(data[name], getattr(comparison, name)))
    data["flips"] = [
        {**each, "words": [] if flip.trace is None else difference_lines(flip.trace)}
        for each, flip in zip(data["flips"], comparison.flips, strict=True)
    ]
    return data


def _worded(data: Iterable[dict[str, Any]], changes: Iterable[Change]) -> Iterable[dict[str, Any]]:
    return ({**each, "words": sentence(change)} for each, change in zip(data, changes, strict=True))


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
    """Where a comparison goes: `FORMAT:PATH`, or a path whose suffix tells the format; the path `-` is standard output."""
    return document_target(target, FORMATS, "a comparison")


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
    write_document(FORMATS[where.format](comparisons), where.path)
