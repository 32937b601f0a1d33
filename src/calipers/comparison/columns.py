"""What the attempts at a case say, column by column, as numbers that can be compared.

Counted as a report counts (see `calipers.report.summary`): an attempt whose task or evaluator did not finish has not passed; a
score, a label or a metric that is not there is not invented; what was skipped is left out. Where less is good, as of an assertion
that something leaked, an attempt that did not finish counts as 1, for the same reason: a crash is never a gain.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from calipers.data.record import ReportCase
from calipers.data.result import Kind, kind_of
from calipers.data.spending import JUDGE_COST, JUDGE_UNPRICED_CALLS, UNPRICED

from .case_pairs import RunCase

ColumnKey: TypeAlias = tuple[str, Kind]
"""The name of a column of results, and its kind."""
Lost: TypeAlias = Literal["task", "evaluator"]
"""What failed, so that a result was lost."""
PASS_RATE = "pass rate"  # noqa: S105 - not a password
"""What the share of cases that pass is called, beside the names of columns."""


@dataclass(slots=True)
class Column:
    """The results of one name and kind over a whole report."""

    name: str
    kind: Kind
    evaluators: set[str] = field(default_factory=set)
    """Whose results these are: more than one only where cases have evaluators of their own."""


class Columns:
    """The columns of a report, to look up what a case has in them."""

    def __init__(self, cases: Iterable[RunCase]) -> None:
        self.cases = list(cases)
        self.by_key: dict[ColumnKey, Column] = {}
        self.metrics: list[str] = []
        self.asserts = self._read()
        """Whether the run has a pass rate: something was asserted or, where no attempt finished, would have been."""

    def _read(self) -> bool:
        metrics: dict[str, None] = {}
        asserted = finished = planned = False
        for case in self.cases:
            for record in case.attempts:
                if not isinstance(record, ReportCase):
                    planned = planned or bool(record.not_run)
                    continue
                finished = True
                asserted = asserted or record.passed is not None
                metrics.update(dict.fromkeys(record.all_metrics))
                for result in record.results:
                    key = (result.name, kind_of(result.value))
                    column = self.by_key.get(key)
                    if column is None:
                        column = self.by_key[key] = Column(*key)
                    column.evaluators.add(result.evaluator)
        self.metrics = list(metrics)
        return asserted or (planned and not finished)

    def adopt(self, other: "Columns") -> None:
        """Take over the assertions that this run lost altogether from another one: crashing on every case is no way out."""
        for key, column in other.by_key.items():
            if column.kind != "assertion" or key in self.by_key:
                continue
            if any(lost_by(record, column.evaluators) for case in self.cases for record in case.attempts):
                self.by_key[key] = Column(*key, evaluators=set(column.evaluators))

    def scores(
        self, case: RunCase, key: ColumnKey, *, judged: bool = False, lost: float = 0.0
    ) -> list[float]:
        """The numbers of a case in a column of assertions (0 or 1) or scores; none if it was not judged.

        Args:
            case: of this run.
            key: of the column.
            judged: leave out attempts that the evaluator did not finish on, which otherwise have not passed.
            lost: what an assertion that was not made counts as: 1 where less is good, so that a crash never helps.
        """
        column = self.by_key[key]
        found: list[float] = []
        for record in case.attempts:
            value = _value(record, key)
            if value is not None:
                found.append(float(value))
            elif column.kind == "assertion":
                why = lost_by(record, column.evaluators)
                if why == "task" or (why == "evaluator" and not judged):
                    found.append(lost)
        return found

    def lost(self, key: ColumnKey, cases: Iterable[RunCase] | None = None) -> Counter[Lost]:
        """How many attempts, at all cases or at these, have no result in a column since the task or the evaluator failed."""
        column = self.by_key[key]
        found: Counter[Lost] = Counter()
        for case in self.cases if cases is None else cases:
            for record in case.attempts:
                if _value(record, key) is None and (why := lost_by(record, column.evaluators)) is not None:
                    found[why] += 1
        return found

    def missing(self, case: RunCase, key: ColumnKey) -> int:
        """How many attempts at a case have no result in a column though nothing failed: it was skipped, or not given."""
        makers = self.by_key[key].evaluators
        return sum(
            _value(record, key) is None and lost_by(record, makers) is None for record in case.attempts
        )

    def held(
        self, case: RunCase, names: Collection[str], *, lower_is_better: Collection[str] = ()
    ) -> list[float]:
        """For every attempt at a case that the named assertions were to judge: 1 if all of them are as they should be, else 0.

        Those of `lower_is_better` should not hold, such as that something leaked.
        """
        keys = [key for key in self.by_key if key[0] in names and key[1] == "assertion"]
        found: list[float] = []
        for record in case.attempts:
            values = [_value(record, key) for key in keys]
            wrong = any(value is (key[0] in lower_is_better) for key, value in zip(keys, values, strict=True))
            lost = [lost_by(record, self.by_key[key].evaluators) is not None for key in keys]
            if any(value is not None or gone for value, gone in zip(values, lost, strict=True)):
                found.append(float(not any(lost) and not wrong))
        return found

    def labels(self, case: RunCase, name: str) -> list[str]:
        """The labels of a case in a column."""
        values = (_value(record, (name, "label")) for record in case.attempts)
        return [value for value in values if isinstance(value, str)]


def passes(case: RunCase, *, lost: float = 0.0) -> list[float]:
    """For every attempt at a case that asserted something or failed: 1 if it passed, else 0, or `lost` where something crashed."""
    return [
        float(record.passed) if lost_pass(record) is None else lost
        for record in case.attempts
        if record.passed is not None
    ]


def lost_pass(record: Any) -> Lost | None:
    """Why it is not known whether an attempt would have passed; `None` if it did, or if an assertion did not hold."""
    if not isinstance(record, ReportCase):
        return "task"
    missed = any(result.value is False for result in record.results)
    return "evaluator" if record.evaluator_failures and not missed else None


def durations(case: RunCase) -> list[float]:
    """The seconds of every attempt whose task finished."""
    return [record.task_duration for record in case.attempts if isinstance(record, ReportCase)]


def metric(case: RunCase, name: str, *, missing: float | None = None) -> list[float]:
    """A metric of every attempt that has it; of others that finished, what is given for it, if anything is."""
    records = [record for record in case.attempts if isinstance(record, ReportCase)]
    found = [_amount(record, name, missing) for record in records]
    return [float(value) for value in found if value is not None]


def without_metric(cases: Iterable[RunCase], name: str) -> int:
    """How many attempts finished without a metric."""
    records = (record for case in cases for record in case.attempts if isinstance(record, ReportCase))
    return sum(_amount(record, name) is None for record in records)


def unpriced(cases: Iterable[RunCase], name: str) -> int:
    """How many calls of models a metric leaves out, which is a cost: those without a known price."""
    calls = UNPRICED.get(name)
    records = (record for case in cases for record in case.attempts if isinstance(record, ReportCase))
    return 0 if calls is None else int(sum(record.all_metrics.get(calls, 0) for record in records))


def _amount(record: ReportCase, name: str, missing: float | None = None) -> float | None:
    """A metric of an attempt. Evaluators that asked no model cost nothing: what they ask is counted wherever it is known at all."""
    metrics = record.all_metrics
    if name == JUDGE_COST and JUDGE_UNPRICED_CALLS not in metrics:
        missing = 0.0
    return metrics.get(name, missing)


def lost_by(record: Any, evaluators: set[str]) -> Lost | None:
    """Why an attempt lacks what these evaluators would have said; `None` if neither task nor evaluator failed."""
    if isinstance(record, ReportCase):
        failed = any(failure.name in evaluators for failure in record.evaluator_failures)
        return "evaluator" if failed else None
    return "task" if evaluators.intersection(record.not_run) else None


def _value(record: Any, key: ColumnKey) -> Any:
    if isinstance(record, ReportCase):
        for result in record.results:
            if result.name == key[0] and kind_of(result.value) == key[1]:
                return result.value
    return None
