"""Verdict files: which formats there are, and writing one whole or not at all."""

import json
import os
from collections.abc import Callable
from typing import Final

import msgspec

from calipers.gate.verdict import Verdict
from calipers.views.formats import Target, document_target, write_document

from .markdown import verdict_markdown
from .terminal import verdict_text

FORMAT_VERSION = 1


def verdict_json(verdict: Verdict) -> str:
    """The verdict as JSON, with a version; what was not measured is null."""
    data = {"calipers_gate": FORMAT_VERSION, **msgspec.to_builtins(verdict)}
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _html(verdict: Verdict) -> str:
    from .html import verdict_html

    return verdict_html(verdict)


FORMATS: Final[dict[str, Callable[[Verdict], str]]] = {
    "json": verdict_json,
    "markdown": verdict_markdown,
    "html": _html,
    "text": verdict_text,
}
"""The formats of verdict files, by name."""


def verdict_target(target: str | os.PathLike[str]) -> Target:
    """Where a verdict goes: `FORMAT:PATH`, or a path whose suffix tells the format; the path `-` is standard output."""
    return document_target(target, FORMATS, "a verdict")


def write_verdict(verdict: Verdict, target: str | os.PathLike[str]) -> None:
    """Write a verdict to a file, or to standard output.

    Args:
        verdict: from `judge_run`.
        target: as for `verdict_target`.

    Raises:
        InvalidOptionError: the format is not known, or the path is a folder.
        OSError: the file cannot be written.
    """
    where = verdict_target(target)
    write_document(FORMATS[where.format](verdict), where.path)
