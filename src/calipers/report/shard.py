"""Shards: the parts into which the cases of a run are divided, each run on its own, as in the jobs of a CI service.

The cases are dealt out like cards, in the order of the dataset: of eight shards, the third has the cases 3, 11, 19, … So shards differ by
one case at most, neighbours, which are often alike, come to different shards, and the same dataset is always divided in the same way.
All repeats of a case are in one shard. Clusters may be divided: statistics are those of the merged report, where they are together again.

A report of a shard is a part and says so: it is `incomplete`, so that no gate takes it for a run.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from calipers.errors import InvalidOptionError

from .incomplete import Incomplete, after_attempts

_MOST = 1_000_000


class Shard(msgspec.Struct, frozen=True):
    """One of several parts of a run."""

    number: int
    """Which one, from 1."""
    of: int
    """How many there are."""

    def __post_init__(self) -> None:
        whole = all(type(each) is int for each in (self.number, self.of))
        if not whole or not 1 <= self.number <= self.of <= _MOST:
            raise InvalidOptionError(
                f"a shard is one of several, such as 3 of 8: Shard(3, 8), got Shard({self.number!r}, {self.of!r})"
            )

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, number: int) -> bool:
        """Whether it has a case, by the case's number in the dataset from 0."""
        return number % self.of == self.number - 1

    def count(self, cases: int) -> int:
        """How many of so many cases it has."""
        return len(range(self.number - 1, cases, self.of))


def as_shard(value: Any) -> Shard | None:
    """A shard from how it is written, `3/8`; `None` for none.

    Raises:
        InvalidOptionError: it is none.
    """
    if value is None or isinstance(value, Shard):
        return value
    number, slash, of = value.partition("/") if isinstance(value, str) else ("", "", "")
    if slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of) <= _MOST:
        return Shard(int(number), int(of))
    raise InvalidOptionError(
        f"shard must be written NUMBER/OF, such as 3/8 for the third of eight, got {value!r}"
    )


class ShardFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Which shard of a run a report is, and what tells whether others are of the same run."""

    shard: Shard
    total: int | None = None
    """Attempts of the whole run; `None` if the dataset was not read to its end."""
    dataset: str | None = None
    """A digest of all cases of the run in their order; `None` if it is not known: a case has no form, or the dataset was not read to its end."""
    task: str | None = None
    """The identity of the task; `None` if it is not known."""
    evaluators: Mapping[str, str | None] = {}
    """The identities of the evaluators of all cases, by their names in the report; `None` for one that is not known."""
    not_analysed: tuple[str, ...] | None = ()
    """The report evaluators of the run, which have looked at no shard: they look at whole reports. `None`: not known, of one that was killed."""


def part_of(facts: ShardFacts, made: int) -> Incomplete:
    """That a report is of a shard, and no more."""
    return Incomplete(
        "shard", f"shard {facts.shard.number} of {facts.shard.of}, {after_attempts(made, facts.total)}"
    )
