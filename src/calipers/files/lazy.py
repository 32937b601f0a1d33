"""Cases that stay in their file until they are run, so that a file larger than memory can be.

Iterating opens the file anew, so the same dataset can be evaluated twice. A line or row that is no case costs itself
alone: in its place comes the error that names it, and a run records that as a failure.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

from calipers.case import Case
from calipers.errors import DatasetFileError

from .problem import Problem, Problems, in_words, shorten

Found: TypeAlias = Case[Any, Any, Any] | list[Problem]
"""A case, or what is wrong with it."""


class LazyCases(ABC):
    """The cases of one file, in order."""

    unit: ClassVar[Literal["line", "row"]]
    """What is counted in the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def read(self, *, strict: bool = False) -> Iterator[tuple[int, Found]]:
        """Each case, or what is wrong with it, after its number.

        A strict reading also finds what would cost each case of a run time to look for.
        """

    def __iter__(self) -> Iterator[Any]:
        for _, found in self.read():
            yield found if isinstance(found, Case) else self._error(found)

    def _error(self, problems: list[Problem]) -> DatasetFileError:
        # A report shows only the beginning, which must not be all folders.
        near = [msgspec.structs.replace(problem, file=self.path.name) for problem in problems]
        return DatasetFileError(in_words(near), problems)

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong with the file, from a strict reading of all of it."""
        names: dict[str, int] = {}
        for number, found in self.read(strict=True):
            if not isinstance(found, Case):
                yield from found
            elif found.name is not None:
                first = names.setdefault(found.name, number)
                if first != number:
                    place: dict[str, Any] = {self.unit: number}
                    message = f"{self.unit} {first} has this name, too"
                    yield Problem(
                        file=str(self.path), message=message, path="name", value=shorten(found.name), **place
                    )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"


def file_error(problems: list[Problem]) -> DatasetFileError:
    """The error that lists the problems."""
    return DatasetFileError(in_words(problems), problems)


def raise_if_any(problems: Problems) -> None:
    """Raise the problems found, all of them.

    Raises:
        DatasetFileError: there are some.
    """
    if problems.found:
        raise file_error(problems.found)
