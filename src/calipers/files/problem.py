"""Problems of dataset files: each with its place, the value found there and what was expected.

Lines, columns and rows count from 1, as editors do. A path inside the document counts from 0, as Python does:
`cases[3].inputs` is the inputs of the fourth case.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from calipers.data.jsonable import safe_repr

Steps: TypeAlias = tuple[Any, ...]
"""The way from the top of a document to a value: keys and indices."""

Locate: TypeAlias = Callable[[Steps, bool], tuple[int, int]]
"""Line and column of the value, or of its key, at the end of the steps."""

ABSENT: Final[Any] = object()
"""Stands for a value that is not there, since `None` can be one."""

_LONGEST_VALUE = 80


class _Null:
    """`None`, as files write it."""

    def __repr__(self) -> str:
        return "null"


_NULL: Final = _Null()


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a dataset file. Its text is one line: place, path, what is wrong, what was found."""

    file: str
    message: str
    """What was expected, or what is wrong."""
    line: int | None = None
    """`None` if the format has no lines, or the problem is about the whole file."""
    column: int | None = None
    """The character in the line."""
    row: int | None = None
    """The row, in a Parquet file."""
    path: str = ""
    """Where in the document, the line or the row: `cases[3].inputs`, or the name of a column."""
    value: str | None = None
    """What was found, shortened; `None` if nothing was."""

    def __str__(self) -> str:
        place = self.file
        for number in (self.line, self.column):
            place += "" if number is None else f":{number}"
        parts = [place, "" if self.row is None else f"row {self.row}", self.path]
        found = "" if self.value is None else f", got {self.value}"
        return ": ".join(part for part in [*parts, self.message] if part) + found


class Problems:
    """The problems found so far in one file, or in one line or row of it."""

    def __init__(self, file: str, *, line: int | None = None, row: int | None = None) -> None:
        self.file = file
        self.line = line
        self.row = row
        self.locate: Locate | None = None
        """Finds places, if the format has them."""
        self.found: list[Problem] = []

    def add(self, steps: Steps, message: str, value: Any = ABSENT, *, of_key: bool = False) -> None:
        """Note a problem with the value, or with its key, at the end of the steps."""
        line, column = self.line, None
        if self.locate is not None:
            line, column = self.locate(steps, of_key)
        if value is None and (line or self.row) is not None:
            value = _NULL
        self._note(line, column, show_path(steps), message, value)

    def add_at(self, line: int, column: int, message: str, steps: Steps = ()) -> None:
        """Note a problem with the text at a place, such as a syntax error."""
        self._note(line, column, show_path(steps), message, ABSENT)

    def _note(self, line: int | None, column: int | None, path: str, message: str, value: Any) -> None:
        self.found.append(
            Problem(
                file=self.file,
                message=_one_line(message),
                line=line,
                column=column,
                row=self.row,
                path=path,
                value=None if value is ABSENT else shorten(value),
            )
        )


class ArgumentNames(NamedTuple):
    """The names of arguments in messages about files; a command line has options instead."""

    own_evaluators: str = "; your own, and those of plugins, go into evaluator_types=[...]"
    """How an evaluator becomes known that a file may name."""
    evaluator_types: str = "evaluator_types"
    allow_module: str = "allow_modules=[{!r}]"
    """Holds a place for the name of the module."""
    columns: str = "columns"
    inputs_column: str = "columns={'inputs': ...}"
    some_column: str = "columns={...}"
    format: str = ", or pass format="
    """How to say the format of a file whose name does not; empty if there is no way."""


_IN_A_CALL: Final = ArgumentNames()
_NAMES: Final = ContextVar("argument_names", default=_IN_A_CALL)


def argument_names() -> ArgumentNames:
    """What messages call the arguments here."""
    return _NAMES.get()


@contextmanager
def naming_arguments(names: ArgumentNames) -> Iterator[None]:
    """A block in which messages call the arguments by these names."""
    token = _NAMES.set(names)
    try:
        yield
    finally:
        _NAMES.reset(token)


def show_path(steps: Steps) -> str:
    """The steps as Python would write them: `cases[3].inputs['the question']`."""
    text = ""
    for step in steps:
        if isinstance(step, str) and re.fullmatch(r"[\w-][\w.-]{0,60}", step):
            text += f".{step}" if text else step
        else:
            text += f"[{shorten(step)}]"
    return text


def shorten(value: Any) -> str:
    """The repr of a value, shortened, on one line, without control characters."""
    text = safe_repr(value[: _LONGEST_VALUE + 1] if isinstance(value, str | bytes) else value)
    return _one_line(text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…")


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " if c == "\n" else f"\\x{ord(c):02x}" for c in text)


def first_line_of(error: Exception) -> str:
    """The first line of an error from code that is not ours; without one, the type of the error."""
    return str(error).partition("\n")[0] or type(error).__name__


def not_utf8(what: str, raw: bytes, at: int, where: str = "here") -> str:
    """A message about the byte that is not UTF-8."""
    return f"{what} is not UTF-8: it has the byte 0x{raw[at]:02x} {where}; save the file as UTF-8"


def problems_text(problems: list[Problem]) -> str:
    """All problems as one message."""
    if len(problems) == 1:
        return str(problems[0])
    return "\n  ".join([f"{len(problems)} problems in {problems[0].file}:", *map(str, problems)])
