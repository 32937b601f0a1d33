"""What the records of a run say together: one summary per column of results, each with its interval.

A *column* is a result name together with its kind. For every column:

- `count` attempts have a result, `skipped` ones were judged but not on this point, `failures` lost their evaluator, and
  `task_failures` never got so far.
- The rate of an assertion counts what failed as not passed, whether the task or the evaluator did: a crash never
  raises a pass rate. What was skipped is left out.
- The mean of a score is over the results there are: a crash has no score, and inventing a zero would be a guess.
- The case is the unit. Repeats of a case are averaged first, and cases of one cluster count as one source.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from .errors import InvalidOptionError
from .record import ReportCase, ReportCaseFailure
from .result import EvaluationResult, Kind, kind_of
from .scoring import unique
from .stats import Estimate, mean, quantiles, rate

CasePasses: TypeAlias = tuple[list[tuple[int, int]], list[Hashable] | None]
"""(passes, attempts) of each case, and the clusters of these cases if they name any."""

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


class Counts(msgspec.Struct, kw_only=True):
    """How many attempts a run made, and what became of them."""

    attempts: int
    """All that were made."""
    cases: int
    """The cases they were made at."""
    passed: int
    """Attempts that passed."""
    failed_tasks: dict[str, int]
    """Attempts whose task did not finish, by the type of the error."""
    failed_evaluators: dict[str, int]
    """Attempts on which an evaluator did not finish, by its name."""


class Totals(msgspec.Struct, kw_only=True):
    """What all attempts of a run say together, for a report that does not keep all of them."""

    counts: Counts
    summaries: dict[str, Summary]
    pass_rate: Estimate | None
    durations: Durations | None
    confidence: float
    """Of every interval above."""


class _Units:
    """The cases of a report: the units of inference, numbered as they are first met."""

    def __init__(self) -> None:
        self.count = 0
        self.attempts = 0
        self._numbers: dict[str, int] = {}
        self._clusters: list[str | None] | None = None

    def of(self, record: ReportCase | ReportCaseFailure) -> int:
        """The number of the case that a record is an attempt at."""
        self.attempts += 1
        name = record.source_case_name
        if name is not None:  # only then can another record be an attempt at the same case
            unit = self._numbers.get(name)
            if unit is not None:
                return unit
            self._numbers[name] = self.count
        if record.cluster is not None and self._clusters is None:
            self._clusters = [None] * self.count
        if self._clusters is not None:
            self._clusters.append(record.cluster)
        self.count += 1
        return self.count - 1

    @property
    def repeated(self) -> bool:
        """Whether any case was attempted more than once."""
        return self.attempts > self.count

    def clusters_of(self, units: Iterable[int]) -> list[Hashable] | None:
        """The cluster of each unit; one that names none stands alone. `None` if no case names one."""
        known = self._clusters
        if known is None:
            return None
        return [unit if (cluster := known[unit]) is None else cluster for unit in units]


class _Column:
    """The results of one name and kind: values, and the case of each, as compactly as arrays hold them."""

    __slots__ = ("count", "evaluators", "kind", "labels", "name", "score_units", "scores", "units", "values")

    def __init__(self, name: str, kind: Kind, evaluator: str) -> None:
        self.name = name
        self.kind: Kind = kind
        # More than one only where cases have evaluators of their own that give results of the same name.
        self.evaluators = [evaluator]
        self.count = 0
        self.units = array("I")
        self.values: array[Any] = array("b" if kind == "assertion" else "d")
        self.labels: Counter[str] = Counter()
        self.score_units = array("I")
        self.scores = array("d")

    def add(self, unit: int, result: EvaluationResult) -> None:
        self.count += 1
        if self.kind == "label":
            self.labels[str(result.value)] += 1
        else:
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
        self.failures = array("I")
        """The case of every attempt it failed on."""
        self.task_failures = array("I")
        """The case of every attempt whose task failed first."""


class Tally:
    """The attempts of a run, counted one by one; it keeps a few bytes of each."""

    def __init__(self) -> None:
        self._units = _Units()
        self._columns: dict[tuple[str, Kind], _Column] = {}
        self._ledgers: defaultdict[str, _Ledger] = defaultdict(_Ledger)
        self._asserted_units = array("I")
        self._asserted = array("b")
        self._lost_units = array("I")
        self._judged_nobody = True
        self._finished = 0
        self._seconds = array("d")
        self._failed_tasks: Counter[str] = Counter()

    def add(self, record: ReportCase | ReportCaseFailure) -> None:
        """Count an attempt."""
        unit = self._units.of(record)
        if isinstance(record, ReportCaseFailure):
            self._lost_units.append(unit)
            self._failed_tasks[record.error_type] += 1
            for name in record.not_run:
                self._judged_nobody = False
                self._ledgers[name].task_failures.append(unit)
            return
        self._finished += 1
        self._seconds.append(record.task_duration)
        judged: set[str] = set()
        for result in record.results:
            kind = kind_of(result.value)
            column = self._columns.get((result.name, kind))
            if column is None:
                column = self._columns[result.name, kind] = _Column(result.name, kind, result.evaluator)
            column.add(unit, result)
            judged.add(result.evaluator)
        for skip in record.skipped:
            judged.add(skip.name)
        for name in judged:
            self._ledgers[name].ran += 1
        for failure in record.evaluator_failures:
            self._ledgers[failure.name].failures.append(unit)
        passed = record.passed
        if passed is not None:
            self._asserted_units.append(unit)
            self._asserted.append(passed)

    def summaries(self, *, confidence: float = 0.95) -> dict[str, Summary]:
        """The summary of each column, by name, in the order the columns first appeared."""
        columns = dict(self._columns)
        _add_silent(columns, self._ledgers)
        names = Counter(name for name, _ in columns)
        found: dict[str, Summary] = {}
        for column in columns.values():
            title = column.name if names[column.name] == 1 else f"{column.name} ({column.kind})"
            found[unique(title, set(found))] = _summary(column, self._ledgers, self._units, confidence)
        return found

    def pass_rate(self, *, confidence: float = 0.95) -> Estimate | None:
        """The share of cases that passed; `None` if nothing was asserted."""
        counts = self.passes()
        return counts and rate(counts[0], clusters=counts[1], confidence=confidence)

    def passes(self) -> "CasePasses | None":
        """(passes, attempts) of each case and their clusters; `None` if nothing was asserted.

        Where no attempt finished, the failures count if anybody was to judge them.
        """
        if not self._asserted and (self._finished or self._judged_nobody):
            return None
        tries = [
            *zip(self._asserted_units, self._asserted, strict=True),
            *((unit, 0) for unit in self._lost_units),
        ]
        return _by_unit(tries, self._units)

    def durations(self) -> Durations | None:
        """How long the finished tasks took; `None` if none finished."""
        seconds = sorted(self._seconds)
        found = quantiles(seconds, [0.5, 0.9, 0.99], presorted=True)
        if found is None:
            return None
        p50, p90, p99 = found
        average = sum(seconds) / len(seconds)
        return Durations(count=len(seconds), mean=average, p50=p50, p90=p90, p99=p99, longest=seconds[-1])

    def counts(self) -> Counts:
        """How many attempts there were, and what became of them."""
        return Counts(
            attempts=self._units.attempts,
            cases=self._units.count,
            passed=sum(self._asserted),
            failed_tasks=dict(self._failed_tasks.most_common()),
            failed_evaluators={
                n: len(ledger.failures) for n, ledger in self._ledgers.items() if ledger.failures
            },
        )

    def totals(self, *, confidence: float = 0.95) -> Totals:
        """All of the above, to keep."""
        return Totals(
            counts=self.counts(),
            summaries=self.summaries(confidence=confidence),
            pass_rate=self.pass_rate(confidence=confidence),
            durations=self.durations(),
            confidence=confidence,
        )


def tally(cases: Iterable[ReportCase], failures: Iterable[ReportCaseFailure]) -> Tally:
    """The tally of records that are all there."""
    counted = Tally()
    for case in cases:
        counted.add(case)
    for failed in failures:
        counted.add(failed)
    return counted


def summarise(
    cases: Iterable[ReportCase], failures: Iterable[ReportCaseFailure], *, confidence: float = 0.95
) -> dict[str, Summary]:
    """The summary of each column, by name, in the order the columns first appear."""
    return tally(cases, failures).summaries(confidence=confidence)


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
    if column.kind == "assertion" and column.count:
        gone = [unit for ledger in lost for unit in (*ledger.failures, *ledger.task_failures)]
        estimate = _rate(column, gone, units, confidence)
    elif column.kind == "score":
        estimate = _mean(column.units, column.values, units, confidence)
    return Summary(
        name=column.name,
        kind=column.kind,
        evaluator=column.evaluators[0],
        count=column.count,
        failures=sum(len(ledger.failures) for ledger in lost),
        skipped=max(0, sum(ledger.ran for ledger in lost) - column.count),
        task_failures=sum(len(ledger.task_failures) for ledger in lost),
        estimate=estimate,
        passed=sum(column.values) if column.kind == "assertion" else None,
        labels=dict(column.labels.most_common()) if column.kind == "label" else None,
        score=_mean(column.score_units, column.scores, units, confidence),
    )


def _rate(column: _Column, gone: Sequence[int], units: _Units, confidence: float) -> Estimate | None:
    """The pass rate over cases, with what was lost counted as not passed."""
    tries = [*zip(column.units, column.values, strict=True), *((unit, False) for unit in gone)]
    counts, clusters = _by_unit(tries, units)
    return rate(counts, clusters=clusters, confidence=confidence)


def _by_unit(tries: Iterable[tuple[int, int]], units: _Units) -> CasePasses:
    """(passes, attempts) of each case, and the clusters of these cases."""
    counts: dict[int, tuple[int, int]] = {}
    for unit, passed in tries:
        passes, attempts = counts.get(unit, (0, 0))
        counts[unit] = (passes + passed, attempts + 1)
    return list(counts.values()), units.clusters_of(counts)


def _mean(of: Sequence[int], values: Sequence[float], units: _Units, confidence: float) -> Estimate | None:
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
) -> CasePasses | None:
    """(passes, attempts) of each case, and their clusters: of whole attempts, or of one assertion.

    Attempts that do not assert it are left out; one whose task or evaluator failed did not pass. `None` if nothing was
    asserted: no attempt that finished has such a result or, where none finished, nobody was to judge.

    Raises:
        InvalidOptionError: no assertion has that name.
    """
    if assertion is None:
        return tally(cases, failures).passes()
    units = _Units()
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
