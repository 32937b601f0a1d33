"""Whether a growing run is judged by the evaluators of its baseline: a margin against another yardstick decides nothing."""

from calipers.comparison.columns import ColumnKey, Columns

from .sides import columns_of


class Yardstick:
    """The evaluators behind a column of the baseline, or behind its pass rate, held against those of a run.

    Args:
        old: the baseline; `None` without one.
        name: of the column as the policy has it; `None` for the pass rate.
    """

    def __init__(self, old: Columns | None, name: str | None) -> None:
        self.old = old
        self.name = name
        self._differs = False
        self._awaited = set() if old is None else self._mine(old)

    @property
    def is_same(self) -> bool:
        """Whether all evaluators of the baseline were seen in the run, and no other."""
        return not self._differs and not self._awaited

    def hold_against(self, case: Columns) -> None:
        """Take in one more case of the run."""
        if self.old is None:
            return
        for key in self._mine(case):
            before = self.old.by_key.get(key)
            other = before is None or (before.sources and not case.by_key[key].sources <= before.sources)
            self._differs = self._differs or bool(other)
            self._awaited.discard(key)

    def _mine(self, columns: Columns) -> set[ColumnKey]:
        if self.name is not None:
            return set(columns_of(columns, self.name))
        return {key for key in columns.by_key if key[1] == "assertion"}
