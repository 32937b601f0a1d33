"""What the records of a run say together: one summary per column of results, each with its interval.

A *column* is a result name together with its kind. For every column:

- `count` attempts have a result, `skipped` ones were judged but not on this point, `failures` lost their evaluator, and
  `task_failures` never got so far.
- The rate of an assertion counts what failed as not passed, whether the task or the evaluator did: a crash never
  raises a pass rate. What was skipped is left out.
- The mean of a score is over the results there are: a crash has no score, and inventing a zero would be a guess.
- The case is the unit. Repeats of a case are averaged first, and cases of one cluster count as one source.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from .errors import InvalidOptionError
from .record import ReportCase, ReportCaseFailure
from .result import EvaluationResult, Kind, kind_of
from .scoring import unique
from .stats import Estimate, mean, quantiles, rate

_LARGEST_SCORE = 1e150
"""Beyond this, squares overflow, and a mean could have no interval."""


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


class _Units:
    """The cases of a report: the units of inference, numbered as they are first met."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.clusters: list[str | None] = []
        self.attempts = 0

    def of(self, record: ReportCase | ReportCaseFailure) -> int:
        """The number of the case that a record is an attempt at."""
        name = record.source_case_name or record.name
        unit = self.numbers.get(name)
        if unit is None:
            unit = self.numbers[name] = len(self.clusters)
            self.clusters.append(record.cluster)
        self.attempts += 1
        return unit

    @property
    def repeated(self) -> bool:
        """Whether any case was attempted more than once."""
        return self.attempts > len(self.clusters)

    def clusters_of(self, units: Iterable[int]) -> list[Hashable] | None:
        """The cluster of each unit; one that names none stands alone. `None` if no case names one."""
        if not any(cluster is not None for cluster in self.clusters):
            return None
        return [unit if (cluster := self.clusters[unit]) is None else cluster for unit in units]


class _Column:
    """The results of one name and kind: values, and the case of each."""

    __slots__ = ("evaluators", "kind", "name", "score_units", "scores", "units", "values")

    def __init__(self, name: str, kind: Kind, evaluator: str) -> None:
        self.name = name
        self.kind: Kind = kind
        # More than one only where cases have evaluators of their own that give results of the same name.
        self.evaluators = [evaluator]
        self.units: list[int] = []
        self.values: list[Any] = []
        self.score_units: list[int] = []
        self.scores: list[float] = []

    def add(self, unit: int, result: EvaluationResult) -> None:
        self.units.append(unit)
        self.values.append(result.value)
        if result.score is not None:
            self.score_units.append(unit)
            self.scores.append(result.score)
        if result.evaluator not in self.evaluators:
            self.evaluators.append(result.evaluator)


class _Ledger:
    """What one evaluator did and did not get to judge."""

    __slots__ = ("failures", "ran", "task_failures")

    def __init__(self) -> None:
        self.ran = 0
        """Attempts it judged or said it does not apply to."""
        self.failures: list[int] = []
        """The case of every attempt it failed on."""
        self.task_failures: list[int] = []
        """The case of every attempt whose task failed first."""


def summarise(
    cases: Iterable[ReportCase], failures: Iterable[ReportCaseFailure], *, confidence: float = 0.95
) -> dict[str, Summary]:
    """The summary of each column, by name, in the order the columns first appear."""
    units = _Units()
    columns: dict[tuple[str, Kind], _Column] = {}
    ledgers: defaultdict[str, _Ledger] = defaultdict(_Ledger)
    for case in cases:
        unit = units.of(case)
        judged: set[str] = set()
        for result in case.results:
            kind = kind_of(result.value)
            column = columns.get((result.name, kind))
            if column is None:
                column = columns[(result.name, kind)] = _Column(result.name, kind, result.evaluator)
            column.add(unit, result)
            judged.add(result.evaluator)
        for skip in case.skipped:
            judged.add(skip.name)
        for name in judged:
            ledgers[name].ran += 1
        for failure in case.evaluator_failures:
            ledgers[failure.name].failures.append(unit)
    for failed in failures:
        unit = units.of(failed)
        for name in failed.not_run:
            ledgers[name].task_failures.append(unit)
    _add_silent(columns, ledgers)
    names = Counter(name for name, _ in columns)
    found: dict[str, Summary] = {}
    for column in columns.values():
        title = column.name if names[column.name] == 1 else f"{column.name} ({column.kind})"
        found[unique(title, set(found))] = _summary(column, ledgers, units, confidence)
    return found


def _add_silent(columns: dict[tuple[str, Kind], _Column], ledgers: Mapping[str, _Ledger]) -> None:
    """An evaluator that never gave a result still has its row: nothing it lost goes unseen."""
    heard = {evaluator for column in columns.values() for evaluator in column.evaluators}
    for name in ledgers:
        if name not in heard:
            column = columns.get((name, "assertion"))
            if column is None:
                columns[name, "assertion"] = _Column(name, "assertion", name)
            else:
                column.evaluators.append(name)


def _summary(
    column: _Column, ledgers: defaultdict[str, _Ledger], units: _Units, confidence: float
) -> Summary:
    lost = [ledgers[evaluator] for evaluator in column.evaluators]
    estimate: Estimate | None = None
    if column.kind == "assertion" and column.values:
        gone = [unit for ledger in lost for unit in (*ledger.failures, *ledger.task_failures)]
        estimate = _rate(column, gone, units, confidence)
    elif column.kind == "score":
        estimate = _mean(column.units, column.values, units, confidence)
    return Summary(
        name=column.name,
        kind=column.kind,
        evaluator=column.evaluators[0],
        count=len(column.values),
        failures=sum(len(ledger.failures) for ledger in lost),
        skipped=max(0, sum(ledger.ran for ledger in lost) - len(column.values)),
        task_failures=sum(len(ledger.task_failures) for ledger in lost),
        estimate=estimate,
        passed=sum(column.values) if column.kind == "assertion" else None,
        labels=dict(Counter(column.values).most_common()) if column.kind == "label" else None,
        score=_mean(column.score_units, column.scores, units, confidence),
    )


def _rate(column: _Column, gone: Sequence[int], units: _Units, confidence: float) -> Estimate | None:
    """The pass rate over cases, with what was lost counted as not passed."""
    tries = [*zip(column.units, column.values, strict=True), *((unit, False) for unit in gone)]
    counts, clusters = _by_unit(tries, units)
    return rate(counts, clusters=clusters, confidence=confidence)


def _by_unit(
    tries: Iterable[tuple[int, bool]], units: _Units
) -> tuple[list[tuple[int, int]], list[Hashable] | None]:
    """(passes, attempts) of each case, and the clusters of these cases."""
    counts: dict[int, tuple[int, int]] = {}
    for unit, passed in tries:
        passes, attempts = counts.get(unit, (0, 0))
        counts[unit] = (passes + passed, attempts + 1)
    return list(counts.values()), units.clusters_of(counts)


def _mean(of: list[int], values: list[float], units: _Units, confidence: float) -> Estimate | None:
    """The mean over cases; `None` if there is nothing to average, or numbers whose squares no float can hold."""
    if not values or max(map(abs, values)) > _LARGEST_SCORE:
        return None
    if not units.repeated:
        return mean([(value,) for value in values], clusters=units.clusters_of(of), confidence=confidence)
    by_unit: dict[int, list[float]] = {}
    for unit, value in zip(of, values, strict=True):
        by_unit.setdefault(unit, []).append(value)
    return mean(list(by_unit.values()), clusters=units.clusters_of(by_unit), confidence=confidence)


def passes(
    cases: Sequence[ReportCase], failures: Sequence[ReportCaseFailure], assertion: str | None = None
) -> tuple[list[tuple[int, int]], list[Hashable] | None] | None:
    """(passes, attempts) of each case, and their clusters: of whole attempts, or of one assertion.

    Attempts that do not assert it are left out; one whose task or evaluator failed did not pass. `None` if nothing was
    asserted: no attempt that finished has such a result or, where none finished, nobody was to judge.

    Raises:
        InvalidOptionError: no assertion has that name.
    """
    units = _Units()
    if assertion is None:
        held = [(units.of(case), case.passed) for case in cases]
        lost = [(units.of(failed), False) for failed in failures]
    else:
        makers = _makers(cases, failures, assertion)
        held = [(units.of(case), _held(case, assertion, makers)) for case in cases]
        lost = [(units.of(failed), False) for failed in failures if not makers.isdisjoint(failed.not_run)]
    known = [(unit, passed) for unit, passed in held if passed is not None]
    if not known and (held or not any(failed.not_run for failed in failures)):
        return None
    return _by_unit([*known, *lost], units)


def _makers(cases: Iterable[ReportCase], failures: Iterable[ReportCaseFailure], assertion: str) -> set[str]:
    """The evaluators that make an assertion; where it was never made, the evaluator of that name."""
    found = {
        (result.name, result.evaluator)
        for case in cases
        for result in case.results
        if isinstance(result.value, bool)
    }
    makers = {evaluator for name, evaluator in found if name == assertion}
    silent = {failure.name for case in cases for failure in case.evaluator_failures}
    silent.update(skip.name for case in cases for skip in case.skipped)
    silent.update(name for failed in failures for name in failed.not_run)
    silent.difference_update(result.evaluator for case in cases for result in case.results)
    if not makers and assertion not in silent:
        names = sorted({name for name, _ in found})
        raise InvalidOptionError(f"no assertion is called {assertion!r}; there are {names}")
    return makers or {assertion}


def _held(case: ReportCase, assertion: str, makers: set[str]) -> bool | None:
    for result in case.results:
        if result.name == assertion and isinstance(result.value, bool):
            return result.value
    return False if any(failure.name in makers for failure in case.evaluator_failures) else None


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
