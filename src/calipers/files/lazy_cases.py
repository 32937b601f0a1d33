"""Cases that stay in their file until they are run, so that the file may be larger than memory.

Iterating opens the file anew, so the same dataset can be evaluated twice. A line or row that is not a case, or has the name of
an earlier one, is replaced by a `DatasetFileError`, which a run records as a failure.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import msgspec

from calipers.data.case import Case
from calipers.errors import DatasetFileError
from calipers.run.work import REMEMBERED_NAMES

from .problem import Problem, Problems, problems_text, shorten


class Rejected(NamedTuple):
    """What is wrong with a line or row that is not a case."""

    problems: list[Problem]
    name: str | None = None
    """Its name, if that could be read."""


Found: TypeAlias = Case[Any, Any, Any] | Rejected
"""A case, or what is wrong with it."""


class LazyCases(ABC):
    """The cases of one file, in order."""

    unit: ClassVar[Literal["line", "row"]]
    """What is counted in the file."""
    has_columns: ClassVar[bool] = False
    """Whether it is a table, so that a field may come from a column of another name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header = Problems(str(path))
        """What is wrong before the first case; a dataset is made only if nothing is."""
        self.is_readable = True
        """Whether cases can be read nevertheless."""

    @abstractmethod
    def read(self, *, strict: bool = False) -> Iterator[tuple[int, Found]]:
        """Each case, or what is wrong with it, after its number; a strict reading also looks for repeated keys, which takes time."""

    def __iter__(self) -> Iterator[Any]:
        for found in self._read_once_each(remember=REMEMBERED_NAMES):
            yield found if isinstance(found, Case) else self._error(found.problems)

    def _error(self, problems: list[Problem]) -> DatasetFileError:
        # A report shows only the beginning of a message, so the path is short.
        near = [msgspec.structs.replace(problem, file=self.path.name) for problem in problems]
        return DatasetFileError(problems_text(near), problems)

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong with the file, from a strict reading of all of it."""
        yield from self.header.found
        if not self.is_readable:
            return
        is_empty = True
        for found in self._read_once_each(strict=True):
            is_empty = False
            if isinstance(found, Rejected):
                yield from found.problems
        if is_empty:
            yield Problem(file=str(self.path), message="there are no cases")

    def _read_once_each(self, *, strict: bool = False, remember: int | None = None) -> Iterator[Found]:
        """What `read` finds, with a problem for each repeated name among those remembered."""
        names: dict[str, int] = {}
        for number, found in self.read(strict=strict):
            name = found.name
            first = number if name is None else names.get(name, number)
            if name is not None and first == number and (remember is None or len(names) < remember):
                names[name] = number
            if first == number:
                yield found
                continue
            place: dict[str, Any] = {self.unit: number}
            message = f"{self.unit} {first} has this name, too"
            repeated = Problem(
                file=str(self.path), message=message, path="name", value=shorten(name), **place
            )
            yield Rejected([*(found.problems if isinstance(found, Rejected) else ()), repeated], name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"
