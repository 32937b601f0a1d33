"""Where an index has its columns from: from what was just read, or from what the store keeps of an earlier reading."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from calipers.data.result import Kind
from calipers.stores.run_info import RunInfo

from .text_column import TextColumn
from .value_column import Array, ValueColumns


class ResultColumn(msgspec.Struct):
    """A column of results of a run: those of one name and kind."""

    name: str
    kind: Kind
    evaluators: list[str]
    range: tuple[float, float] | None = None
    """The smallest and the largest score that there can be; `None` if that is not known."""
    first: tuple[int, int] = (0, 0)
    """Where it first stands in the run: the position of the attempt, and which result of it. Columns are in this order."""


class Group(msgspec.Struct, array_like=True):
    """Complaints that are alike."""

    id: str
    evaluator: str
    """Empty for the task."""
    said: str
    did_not_finish: bool


class Peek(msgspec.Struct, array_like=True):
    """What a table shows of an attempt, each on one line."""

    name: str
    """Of the case."""
    input: str
    output: str
    expected: str | None
    why: str
    """The first complaint."""


class Numbered(msgspec.Struct):
    """The cases of a run, in the order of the dataset."""

    keys: Array
    """The first 64 bits of the hash of each case's name."""
    case_of: Array
    """The case of each attempt."""
    name_ranks: Callable[[], Array] | None = None
    """Gives the place of each case by its name, if that is known."""


class IndexSource(Protocol):
    """The columns of a run. Readers of the first n attempts see what they saw before, if there are more meanwhile."""

    info: RunInfo
    size: int
    """Attempts."""

    @property
    def results(self) -> Sequence[ResultColumn]:
        """The columns of results."""
        ...

    @property
    def groups(self) -> Sequence[Group]:
        """Complaints that are alike, by the numbers in the column `group`."""
        ...

    @property
    def numbered(self) -> Numbered | None:
        """The cases, if they were numbered."""
        ...

    def array(self, name: str) -> Array:
        """A value of every attempt: its `position`, its `outcome`, or the hash of its `case`."""
        ...

    def values(self, name: str) -> ValueColumns:
        """The columns of a field; empty ones if no attempt has it."""
        ...

    def sizes(self) -> Mapping[str, int]:
        """By field, how many attempts have a value."""
        ...

    def text(self, name: str) -> TextColumn:
        """The texts of attempts: `case`, `input`, `output` or `remarks`."""
        ...

    def peeks(self, blocks: Sequence[int]) -> Mapping[int, Sequence[Peek]]:
        """What a table shows of blocks of 128 attempts, or of the last ones, by the numbers of the blocks."""
        ...
