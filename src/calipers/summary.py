"""What the records of a run say together: one summary per column of results, each with its interval.

A *column* is a result name together with its kind. For every column:

- `count` attempts have a result, `skipped` ones were judged but not on this point, `failures` lost their evaluator, and
  `task_failures` never got so far.
- The rate of an assertion counts what failed as not passed, whether the task or the evaluator did: a crash never
  raises a pass rate. What was skipped is left out.
- The mean of a score is over the results there are: a crash has no score, and inventing a zero would be a guess.
- The case is the unit. Repeats of a case are averaged first, and cases of one cluster count as one source.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import msgspec

from .record import ReportCase, ReportCaseFailure
from .result import EvaluationResult, Kind, kind_of
from .stats import Estimate, mean, quantiles, rate


class Summary(msgspec.Struct, kw_only=True):
    """One column of results over a whole report."""

    name: str
    kind: Kind
    evaluator: str
    """Which evaluator the column comes from."""
    count: int
    """Attempts with a result."""
    failures: int
    """Attempts whose evaluator did not finish."""
    skipped: int
    """Attempts the evaluator did not apply to."""
    task_failures: int
    """Attempts whose task did not finish, so that the evaluator never ran."""
    estimate: Estimate | None
    """The rate of an assertion or the mean of a score, with its interval; `None` for labels."""
    passed: int | None = None
    """Attempts that passed; only for assertions."""
    labels: dict[str, int] | None = None
    """How often each label was given, most frequent first; only for labels."""
    score: Estimate | None = None
    """The mean of the graded scores behind the assertions, where the evaluator gives them."""


class Durations(msgspec.Struct, kw_only=True):
    """How long the tasks took, in seconds."""

    count: int
    mean: float
    p50: float
    p90: float
    p99: float
    longest: float


class _Column:
    """What a column has collected so far, by case."""

    def __init__(self, name: str, kind: Kind, evaluator: str) -> None:
        self.name = name
        self.kind = kind
        self.evaluator = evaluator
        self.count = 0
        self.values: dict[str, list[float]] = {}
        self.scores: dict[str, list[float]] = {}
        self.labels: Counter[str] = Counter()

    def add(self, unit: str, result: EvaluationResult) -> None:
        self.count += 1
        if isinstance(result.value, str):
            self.labels[result.value] += 1
        else:
            self.values.setdefault(unit, []).append(float(result.value))
        if result.score is not None:
            self.scores.setdefault(unit, []).append(result.score)


class _Lost(msgspec.Struct):
    """What an evaluator did not get to judge, by case."""

    ran: int = 0
    failures: dict[str, int] = {}
    task_failures: dict[str, int] = {}


def summarise(
    cases: Iterable[ReportCase], failures: Iterable[ReportCaseFailure], *, confidence: float = 0.95
) -> dict[str, Summary]:
    """The summary of each column, by name, in the order the columns first appear."""
    columns: dict[tuple[str, Kind], _Column] = {}
    lost: dict[str, _Lost] = {}
    clusters: dict[str, str | None] = {}
    for case in cases:
        unit = case.source_case_name or case.name
        clusters[unit] = case.cluster
        judged: set[str] = set()
        for result in case.results:
            key = (result.name, kind_of(result.value))
            column = columns.get(key)
            if column is None:
                column = columns[key] = _Column(*key, result.evaluator)
            column.add(unit, result)
            judged.add(result.evaluator)
        for skip in case.skipped:
            judged.add(skip.name)
        for name in judged:
            _of(lost, name).ran += 1
        for failure in case.evaluator_failures:
            _count(_of(lost, failure.name).failures, unit)
    for failed in failures:
        unit = failed.source_case_name or failed.name
        clusters[unit] = failed.cluster
        for name in failed.not_run:
            _count(_of(lost, name).task_failures, unit)
    _add_silent(columns, lost)
    names = Counter(name for name, _ in columns)
    return {
        name if names[name] == 1 else f"{name} ({kind})": _summary(column, lost, clusters, confidence)
        for (name, kind), column in columns.items()
    }


def _of(lost: dict[str, _Lost], name: str) -> _Lost:
    found = lost.get(name)
    if found is None:
        found = lost[name] = _Lost(0, {}, {})
    return found


def _count(counts: dict[str, int], unit: str) -> None:
    counts[unit] = counts.get(unit, 0) + 1


def _add_silent(columns: dict[tuple[str, Kind], _Column], lost: dict[str, _Lost]) -> None:
    """An evaluator that never gave a result still has its row: nothing it lost goes unseen."""
    seen = {column.evaluator for column in columns.values()}
    for name in lost:
        if name not in seen:
            columns[name, "assertion"] = _Column(name, "assertion", name)


def _summary(
    column: _Column, lost: dict[str, _Lost], clusters: dict[str, str | None], confidence: float
) -> Summary:
    gone = lost.get(column.evaluator, _Lost(0, {}, {}))
    estimate: Estimate | None = None
    passed: int | None = None
    if column.kind == "assertion":
        passed = int(sum(sum(values) for values in column.values.values()))
        estimate = _rate(column, gone, clusters, confidence) if column.count else None
    elif column.kind == "score":
        units = list(column.values)
        estimate = mean(
            list(column.values.values()), clusters=clusters_of(units, clusters), confidence=confidence
        )
    return Summary(
        name=column.name,
        kind=column.kind,
        evaluator=column.evaluator,
        count=column.count,
        failures=sum(gone.failures.values()),
        skipped=max(0, gone.ran - column.count),
        task_failures=sum(gone.task_failures.values()),
        estimate=estimate,
        passed=passed,
        labels=dict(column.labels.most_common()) if column.kind == "label" else None,
        score=mean(
            list(column.scores.values()),
            clusters=clusters_of(list(column.scores), clusters),
            confidence=confidence,
        ),
    )


def _rate(
    column: _Column, gone: _Lost, clusters: dict[str, str | None], confidence: float
) -> Estimate | None:
    """The pass rate over cases, with what was lost counted as not passed."""
    tried = {unit: len(values) for unit, values in column.values.items()}
    for counts in (gone.failures, gone.task_failures):
        for unit, number in counts.items():
            tried[unit] = tried.get(unit, 0) + number
    units = [(sum(column.values.get(unit, ())), number) for unit, number in tried.items()]
    return rate(units, clusters=clusters_of(list(tried), clusters), confidence=confidence)


def clusters_of(units: Sequence[str], clusters: dict[str, str | None]) -> list[Hashable] | None:
    """The cluster of each case; one that names none stands alone. `None` if no case names one."""
    if not any(clusters.get(unit) is not None for unit in units):
        return None
    found: list[Hashable] = []
    for unit in units:
        cluster = clusters.get(unit)
        found.append(("case", unit) if cluster is None else ("cluster", cluster))
    return found


def durations(cases: Iterable[Any]) -> Durations | None:
    """The task durations of the attempts that finished; `None` if none did."""
    seconds = sorted(case.task_duration for case in cases)
    found = quantiles(seconds, [0.5, 0.9, 0.99], presorted=True)
    if found is None:
        return None
    p50, p90, p99 = found
    return Durations(
        count=len(seconds), mean=sum(seconds) / len(seconds), p50=p50, p90=p90, p99=p99, longest=seconds[-1]
    )
