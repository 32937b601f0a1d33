"""What a run, or its baseline, says of one subject: an evaluator's column, or the pass rate."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from calipers.comparison.case_pairs import Pair, RunCase
from calipers.comparison.columns import ColumnKey, Columns, passes

from .losses import Losses, losses_of_passes
from .sides import Values

Counted: TypeAlias = Callable[[float], Values]
"""The numbers of a case's attempts, given what an attempt counts as whose assertion was lost: a crash is no gain."""


class Told(NamedTuple):
    """The numbers of one side, and what it lacks."""

    values: Counted
    silent: Callable[[RunCase], int]
    """Attempts at a case without a result, though nothing failed: the evaluator was skipped, or gave nothing."""
    lost: Callable[[Sequence[RunCase]], Losses]
    """Attempts at some cases without a result, because something failed."""

    def has_all(self, case: RunCase) -> bool:
        """Whether every attempt at a case has a result, but for those that failed."""
        return bool(self.values(0.0)(case)) and not self.silent(case)


def told_by_column(columns: Columns, key: ColumnKey) -> Told:
    """What an evaluator says."""
    return Told(
        values=lambda lost: lambda case: columns.scores(case, key, lost=lost),
        silent=lambda case: columns.missing(case, key),
        lost=lambda cases: Losses.of(columns.lost(key, cases), cases),
    )


TOLD_BY_PASSES = Told(
    values=lambda lost: lambda case: passes(case, lost=lost),
    silent=lambda case: sum(record.passed is None for record in case.attempts),
    lost=losses_of_passes,
)
"""What the pass rate says."""

NOTHING_TOLD = Told(values=lambda _: lambda _: [], silent=lambda _: 0, lost=lambda _: Losses())
"""What a side says that was not asked."""


def fell_silent(pairs: Iterable[Pair], theirs: Told, ours: Told) -> list[str]:
    """The cases of which the baseline has a result of every attempt, and the run has not, though nothing failed."""
    return [case.name for old, case in pairs if ours.silent(case) and theirs.has_all(old)]
