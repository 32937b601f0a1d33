"""The index of a run: what its attempts have, in columns, so that a million results can be filtered, sorted, counted and cut at once.

An index is what was read of a run at one moment, and never changes. While a run goes on, or is still being read, there is a new index every few
seconds. Rows are attempts in the order in which they were read; cases are numbered in the order of the dataset.

`calipers.viewer.case_selection` filters and sorts, `facets`, `slices` and `failure_groups` count; all of them are functions of an index.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from calipers.data.human_label import HumanLabel
from calipers.report.attempt_fields import FIELDS
from calipers.report.attempt_filter import field_text

from .index_builder import PARTS, PEEKS, case_key, microseconds
from .index_source import Group, IndexSource, Numbered, Peek, ResultColumn
from .text_column import Search, TextColumn
from .value_column import Array, Column, Mask, ValueColumns
from .wire import CaseColumn, IndexState

if TYPE_CHECKING:
    from calipers.stores.run_info import RunInfo

_STATUS_BITS: Final = 3
SEARCHES: Final = 16
"""Searches of which an index remembers what they found."""
ORDERS: Final = 6
"""Orders of its cases that an index remembers: a table in an order is asked for window by window."""


class RunIndex:
    """What is known of the attempts of a run."""

    def __init__(
        self,
        source: IndexSource,
        *,
        state: IndexState | None = None,
        people: Mapping[int, Sequence[HumanLabel]] | None = None,
        revision: str = "",
        new_cases: Mask | None = None,
    ) -> None:
        """An index of what was read so far.

        Args:
            source: the columns, which may grow afterwards.
            state: how far the run was read; default: it was read to its end.
            people: what people said, by the position of the attempt.
            revision: of the run when it was read.
            new_cases: of each case, whether the run that this one is compared with lacks it; `None`: it is compared with none.
        """
        self.new_cases = new_cases
        self.source = source
        self.info: RunInfo = source.info
        self.attempts = source.size
        """How many were read."""
        self.state = state or IndexState(state="ready", read=self.attempts, of=self.attempts)
        self.people = dict(people or {})
        self.revision = revision
        self.results: list[ResultColumn] = list(source.results)
        """The columns of results."""
        self._searches: dict[tuple[str, tuple[bytes, ...]], Search] = {}
        self._orders: dict[str, Array] = {}

    # ------------------------------------------------------------------ attempts

    @cached_property
    def positions(self) -> Array:
        """Of each attempt, its place in the run."""
        return self.source.array("position")[: self.attempts]

    @cached_property
    def status(self) -> Array:
        """Of each attempt: 0 passed, 1 failed, 2 did not finish, 3 was not judged."""
        return self.source.array("outcome")[: self.attempts] & _STATUS_BITS

    @cached_property
    def outcome(self) -> Array:
        """The same, where an attempt of which an evaluator did not finish counts as one that did not."""
        found = self.source.array("outcome")[: self.attempts]
        return np.where(found > _STATUS_BITS, 2, found).astype(np.uint8)

    def values(self, name: str) -> ValueColumns:
        """The columns of a field, such as `cost` or `meta.lang`; empty ones if no attempt has it."""
        return self.source.values(name)

    def numbers(self, name: str) -> tuple[Array, Mask]:
        """A field as numbers, and which attempts have one."""
        found = np.zeros(self.attempts, np.float64)
        known = np.zeros(self.attempts, np.bool_)
        for kind, column in self.values(name).parts.items():
            if kind != "code":
                values, has = self.dense(column)
                found = np.where(has, values, found)
                known |= has
        return found, known

    def dense(self, column: Column) -> tuple[Array, Mask]:
        """A value for each attempt, and which attempts have one."""
        values, known = column.dense(self.attempts)
        return values, np.ones(self.attempts, np.bool_) if known is None else known

    @cached_property
    def bits(self) -> Array:
        """What each attempt has: a sum of `PARTS`."""
        part = self.values("has").parts.get("int")
        return np.zeros(self.attempts, np.int64) if part is None else part.dense(self.attempts)[0]

    @cached_property
    def times(self) -> tuple[Array, Mask]:
        """When each attempt began, in microseconds: as its trace says, and where it has none, when its run did."""
        part = self.values("time").parts.get("int")
        found = np.zeros(self.attempts, np.int64), np.zeros(self.attempts, np.bool_)
        times, known = found if part is None else self.dense(part)
        try:
            began = microseconds(datetime.fromisoformat(self.info.started_at))
        except ValueError:
            return times, known
        bare = self.bits & PARTS["trace"] == 0
        return np.where(bare, began, times), known | bare

    @cached_property
    def labelled(self) -> Array:
        """How many labels people gave each attempt."""
        counts = np.zeros(self.attempts, np.int32)
        for position, labels in self.people.items():
            row = self.row_at(position)
            if row is not None:
                counts[row] = len(labels)
        return counts

    @cached_property
    def _by_position(self) -> Array | None:
        positions = self.positions
        in_order = bool((positions[1:] > positions[:-1]).all())
        return None if in_order else np.argsort(positions, kind="stable")

    def row_at(self, position: int) -> int | None:
        """The row of the attempt at a position; `None` if it was not read."""
        order = self._by_position
        place = int(np.searchsorted(self.positions, position, sorter=order))
        if place == self.attempts:
            return None
        row = place if order is None else int(order[place])
        return row if self.positions[row] == position else None

    def texts(self, name: str) -> TextColumn:
        """The texts of attempts: `case`, `input`, `output` or `remarks`."""
        return self.source.text(name)

    def search(self, name: str, wanted: tuple[bytes, ...]) -> Search:
        """The search for some needles in the texts of attempts, as far as it went when it was last asked for."""
        found = self._searches.pop((name, wanted), None) or self.texts(name).search(wanted, self.attempts)
        self._searches[name, wanted] = found
        while len(self._searches) > SEARCHES:
            self._searches.pop(next(iter(self._searches)), None)
        return found

    def in_order(self, name: str, make: Callable[[], Array]) -> Array:
        """The cases in an order, made now if it is none of those that were asked for last."""
        found = self._orders.pop(name, None)
        if found is None:
            found = make().astype(np.int32)
        self._orders[name] = found
        while len(self._orders) > ORDERS:
            self._orders.pop(next(iter(self._orders)), None)
        return found

    def peeks(self, rows: Sequence[int]) -> dict[int, Peek]:
        """What a table shows of some attempts, by their rows."""
        read = self.source.peeks(sorted({row // PEEKS for row in rows}))
        return {row: read[row // PEEKS][row % PEEKS] for row in rows}

    # ------------------------------------------------------------------ cases

    @cached_property
    def numbered(self) -> Numbered:
        """The cases, in the order of the dataset."""
        known = self.source.numbered
        if known is not None:
            return known
        unique, inside = np.unique(self.source.array("case")[: self.attempts], return_inverse=True)
        first = np.full(len(unique), np.iinfo(np.int64).max)
        np.minimum.at(first, inside, self.positions)
        order = np.argsort(first, kind="stable")
        rank = np.empty(len(unique), np.int64)
        rank[order] = np.arange(len(unique))
        return Numbered(unique[order], rank[inside])

    @property
    def case_of(self) -> Array:
        """The case of each attempt, by its number."""
        return self.numbered.case_of

    @property
    def cases(self) -> int:
        """How many cases were read."""
        return len(self.numbered.keys)

    @cached_property
    def by_case(self) -> tuple[Array, Array]:
        """The rows of all attempts case by case, in the order of their positions; and where those of each case begin, with the end."""
        rows = np.lexsort((self.positions, self.case_of))
        starts = np.zeros(self.cases + 1, np.int64)
        np.cumsum(np.bincount(self.case_of, minlength=self.cases), out=starts[1:])
        return rows, starts

    def rows_of(self, case: int) -> list[int]:
        """The rows of the attempts at a case, in order."""
        rows, starts = self.by_case
        return [int(row) for row in rows[starts[case] : starts[case + 1]]]

    def positions_of(self, case_id: str) -> list[int]:
        """Where the attempts at a case stand in the run; empty if there is none of that id."""
        number = self.number_of(case_id)
        return [] if number is None else [int(self.positions[row]) for row in self.rows_of(number)]

    def id_of(self, case: int) -> str:
        """The id of a case."""
        return f"{int(self.numbered.keys[case]):016x}"[:12]

    def number_of(self, case_id: str) -> int | None:
        """The case of an id; `None` if there is none."""
        order, ids = self._ids
        try:
            wanted = int(case_id, 16)
        except ValueError:
            return None
        place = int(np.searchsorted(ids, wanted))
        return int(order[place]) if len(case_id) == 12 and place < len(ids) and ids[place] == wanted else None

    @cached_property
    def _ids(self) -> tuple[Array, Array]:
        ids = self.numbered.keys >> np.uint64(16)
        order = np.argsort(ids, kind="stable")
        return order, ids[order].astype(np.int64)

    def case_named(self, name: str) -> int | None:
        """The case of a name; `None` if there is none."""
        return self.number_of(f"{case_key(name):016x}"[:12])

    @property
    def groups(self) -> Sequence[Group]:
        """Complaints that are alike, by the numbers in the column `group`."""
        return self.source.groups

    @cached_property
    def flaky(self) -> Mask:
        """Whether some attempts at a case passed and others did not, of each case."""
        passed = np.bincount(self.case_of, self.status == 0, self.cases)
        judged = np.bincount(self.case_of, self.status <= 2, self.cases)
        return (passed > 0) & (passed < judged)

    @cached_property
    def clusters(self) -> Array | None:
        """The cluster of each case, by number; -1: none. `None` if no case is in one."""
        part = self.values("cluster").parts.get("code")
        if part is None:
            return None
        codes, _ = self.dense(part)
        rows, starts = self.by_case
        return codes[rows[starts[:-1]]].astype(np.int64) - 1

    @cached_property
    def name_ranks(self) -> Array:
        """The place of each case by its name."""
        if self.numbered.name_ranks is not None:
            return self.numbered.name_ranks()
        rows, starts = self.by_case
        names = self.texts("case").all(self.attempts)
        mine = [names[row] for row in rows[starts[:-1]].tolist()]
        ranks = np.empty(self.cases, np.int64)
        ranks[np.asarray(sorted(range(len(mine)), key=mine.__getitem__), np.int64)] = np.arange(self.cases)
        return ranks

    def tags_of(self, row: int) -> list[str]:
        """The tags of an attempt."""
        part = self.values("tag").parts.get("code")
        if part is None:
            return []
        codes, known = self.dense(part)
        return list(part.table[codes[row] - 1]) if known[row] else []

    # ------------------------------------------------------------------ what there is

    def columns(self) -> list[CaseColumn]:
        """The columns of results, as a table shows them."""
        return [CaseColumn(name=each.name, kind=each.kind, range=each.range) for each in self.results]

    def keys(self, field: str) -> list[str]:
        """The keys of a field that attempts have, such as those of the metadata, the most frequent first."""
        found = {
            name.removeprefix(f"{field}."): size
            for name, size in self.source.sizes().items()
            if name.startswith(f"{field}.")
        }
        for labels in self.people.values() if field == "label" else ():
            for label in labels:
                found[label.question] = found.get(label.question, 0) + 1
        return sorted(found, key=lambda key: (-found[key], key))

    def slice_fields(self) -> list[str]:
        """The fields by which the run can be cut, as a filter writes them: those of which some attempt has a value."""
        sizes = self.source.sizes()
        plain = [name for name in ("tag", "cluster", "tool", "agent", "model") if sizes.get(name)]
        keyed = [field_text(field, key) for field in ("meta", "label") for key in self.keys(field)]
        return [*plain, *(name for name in keyed if FIELDS[name.partition(".")[0]].is_keyed)]
