"""What the records of a run say together: one summary per column of results, each with its interval.

A *column* is a result name together with its kind. For every column:

- `count` attempts have a result, `skipped` ones were judged but not on this point, `failures` lost their evaluator, and
  `task_failures` never got so far.
- The rate of an assertion counts what failed as not passed, whether the task or the evaluator did: a crash never
  raises a pass rate. What was skipped is left out.
- The mean of a score is over the results there are: a crash has no score, and inventing a zero would be a guess.
- The case is the unit. Repeats of a case are averaged first, and cases of one cluster count as one source.

An attempt that never got an answer (`calipers.data.infrastructure`) counts as not passed like any other failure. `Infrastructure`
says how much hangs on that.

A *slice* is the cases that share a tag. A case with several tags is in several slices.

Attempts under a fault of the agent's tools (`calipers.agents.with_faults`) say what faults do to it, and nothing of how it does without.
They are counted apart (`UnderFaults`): in no rate, mean, time or metric, and in no slice but that of their fault. What was spent on
them was spent.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, inf, isfinite
from typing import TypeAlias, TypeVar

import msgspec

from calipers.data.record import ReportCase, ReportCaseFailure, counted_tags
from calipers.data.result import EvaluationResult, Kind, kind_of
from calipers.data.result_names import Names, unique
from calipers.data.spending import JUDGE_COST
from calipers.errors import InvalidOptionError
from calipers.report.case_units import CasePasses, Passes, Scores, Units
from calipers.report.cost import Costs, CostTally
from calipers.stats import Estimate, pass_at_k, pass_hat_k, quantile
from calipers.stats.sample import QuantileSketch, quantile_ends

RecordT = TypeVar("RecordT", bound=ReportCase | ReportCaseFailure)


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
    unsure_task_failures: int = 0
    """Of these, attempts that the evaluator might have skipped: it skipped others whose cases state the same expectations. A rate
    counts them as not passed."""
    estimate: Estimate | None
    """The rate of an assertion or the mean of a score, with its interval; `None` for labels."""
    passed: int | None = None
    """Attempts that passed; only for assertions."""
    labels: dict[str, int] | None = None
    """How often each label was given, most frequent first; only for labels."""
    score: Estimate | None = None
    """The mean of the graded scores behind the assertions, where the evaluator gives them: over what was judged."""
    all_or_nothing: bool = False
    """Whether each of these scores is 1 where the assertion held and 0 where not, so that they say no more than it."""

    @property
    def graded(self) -> Estimate | None:
        """The mean of the graded scores where they say more than the assertions; `None` where they do not."""
        return None if self.all_or_nothing else self.score


Ends: TypeAlias = tuple[float | None, float | None]
"""The ends of an interval; `None` for one that is not known."""


class Durations(msgspec.Struct, kw_only=True):
    """How long the tasks took, in seconds."""

    count: int
    mean: float
    p50: float
    p90: float
    p99: float
    longest: float
    p50_interval: Ends = (None, None)
    p90_interval: Ends = (None, None)
    p99_interval: Ends = (None, None)
    """Where the true quantile lies at a confidence of 95 %, whatever the times are: by order statistics, with as many
    independent values as there are cases. `None` for an end that so few do not tell."""


class Silence(msgspec.Struct, kw_only=True):
    """That an evaluator gave no result at all, because it was skipped."""

    attempts: int
    """In which it was skipped."""
    failed: int = 0
    """Which it was to judge as well, and did not, since it or the task failed."""
    reason: str
    """The commonest one."""


class Counts(msgspec.Struct, kw_only=True):
    """How many attempts a run made, and what became of them."""

    attempts: int
    """All that were made."""
    cases: int
    """The cases they were made at; what was attempted under faults alone is not among them."""
    passed: int
    """Attempts without faults that passed."""
    failed_tasks: dict[str, int]
    """Attempts, under faults or not, whose task did not finish, by the type of the error."""
    failed_evaluators: dict[str, int]
    """Attempts, under faults or not, on which an evaluator did not finish, by its name."""
    silent_evaluators: dict[str, Silence] = {}
    """Evaluators that were skipped and never gave a result, by name."""
    failed_teardowns: int = 0
    """Attempts after which the clean-up failed, passed or not."""


class Infrastructure(msgspec.Struct, kw_only=True):
    """Attempts that did not pass since a time-out, a connection or a server got in the way, and the pass rate in other readings.

    `Report.pass_rate` counts them as not passed, which is the least that the rate can be. They say nothing about the agent's
    answers, so which reading is right is unknown until they are made again (`rerun_failed`).
    """

    failures: dict[str, int]
    """How many, by the type of the error, the commonest first."""
    without: Estimate | None
    """The pass rate without these attempts; `None` if nothing is left. It is fair only if they hit easy and hard cases alike."""
    at_most: Estimate | None
    """The pass rate if all of them had passed: the most that it can be; `None` if nothing was asserted."""

    @property
    def count(self) -> int:
        """How many attempts."""
        return sum(self.failures.values())


class Slice(msgspec.Struct, kw_only=True):
    """What the cases with one tag say together."""

    tag: str
    attempts: int
    """Attempts at these cases, asserted or not."""
    passed: int
    """Attempts that passed."""
    pass_rate: Estimate | None
    """The share of these cases that passed, over `pass_rate.n_units` cases; `None` if nothing was asserted."""


class Repeats(msgspec.Struct, kw_only=True):
    """What repeated attempts say of the cases: how likely one of several attempts passes, and how likely all do."""

    k: int | None
    """Attempts of which something was asserted, at each case; `None` if some cases have more than others."""
    any_of: Estimate | None = None
    """The chance that at least one of `k` attempts passes (pass@k)."""
    all_of: Estimate | None = None
    """The chance that all of them pass (pass^k)."""


class UnderFaults(msgspec.Struct, kw_only=True):
    """The attempts under faults of the agent's tools, all faults together. An attempt counts whether its fault struck a call or not."""

    attempts: int
    """All that were made."""
    passed: int
    """Those that passed."""
    pass_rate: Estimate | None
    """The pass rate over these cases, one for each fault; `None` if nothing was asserted."""
    failed_tasks: dict[str, int] = {}
    """Those whose task did not finish, by the type of the error."""
    failed_evaluators: dict[str, int] = {}
    """Those on which an evaluator did not finish, by its name."""


class Totals(msgspec.Struct, kw_only=True):
    """What all attempts of a run say together, for a report that does not keep all of them."""

    counts: Counts
    summaries: dict[str, Summary]
    pass_rate: Estimate | None
    durations: Durations | None
    confidence: float
    """Of every interval here."""
    slices: dict[str, Slice] = {}
    """By tag, the tag with the most attempts first."""
    metrics: dict[str, Estimate | None] | None = None
    """The mean of each metric; `None` in files of earlier versions, which did not count it."""
    infrastructure: Infrastructure | None = None
    """What did not reach an answer; `None` if everything did."""
    costs: Costs | None = None
    """What it cost; `None` in files of earlier versions, which did not count it."""
    under_faults: UnderFaults | None = None
    """The attempts under faults; `None` if there are none."""
    repeats: Repeats | None = None
    """What repeated attempts say; `None` if nothing was repeated or asserted, and in files of earlier versions, which did not count it."""


class _Column:
    """The results of one name and kind."""

    __slots__ = (
        "all_or_nothing",
        "bounds",
        "count",
        "evaluators",
        "key",
        "kind",
        "labels",
        "name",
        "passes",
        "scores",
    )

    def __init__(
        self,
        name: str,
        kind: Kind,
        evaluator: str,
        bounds: tuple[float, float] | None = None,
        key: str | None = None,
    ) -> None:
        self.name = name
        self.key = key
        """The key in its evaluator's mapping, where it is not the name."""
        self.bounds = bounds
        """Between which its scores can lie; `None` if its evaluator does not say."""
        self.kind: Kind = kind
        # More than one only where cases have evaluators of their own that give results of the same name.
        self.evaluators = [evaluator]
        self.count = 0
        self.passes = Passes()
        self.scores = Scores()
        self.all_or_nothing = True
        self.labels: Counter[str] = Counter()

    def add(self, unit: int, result: EvaluationResult) -> None:
        self.count += 1
        value = result.value
        if isinstance(value, bool):
            self.passes.add(unit, value)
            if result.score is not None:
                self.scores.add(unit, result.score)
                self.all_or_nothing = self.all_or_nothing and result.score == value
        elif isinstance(value, str):
            self.labels[value] += 1
        else:
            self.scores.add(unit, value)
        if result.evaluator not in self.evaluators:
            self.evaluators.append(result.evaluator)


_REASONS = 20
"""Reasons of one evaluator's skips that are counted; where each attempt has its own, one tells as much as another."""
_REASON = 1_000
"""Characters of one of them."""


_Stated: TypeAlias = tuple[bool, bool]
"""Whether a case states an expected output, and expected tool calls."""


def _stated(record: ReportCase | ReportCaseFailure) -> _Stated:
    return record.has_expected_output, record.expected_tool_calls is not None


class _Ledger:
    """What one evaluator did and did not get to judge."""

    __slots__ = ("crashed", "failures", "heard", "ran", "reasons", "skipped", "task_failures")

    def __init__(self) -> None:
        self.heard = False
        """Whether it gave a result."""
        self.reasons: Counter[str] = Counter()
        """Why it was skipped, as long as it was not heard."""
        self.ran = 0
        """Attempts it judged or said it does not apply to."""
        self.failures = Passes()
        """Attempts it failed on."""
        self.task_failures = Passes()
        """Attempts whose task failed first."""
        self.crashed: Counter[_Stated] = Counter()
        """The same, by what their cases state."""
        self.skipped: defaultdict[str | None, set[_Stated]] = defaultdict(set)
        """What cases state that it skipped, by the name of the result; `None` where all of it was skipped."""

    def unsure(self, name: str) -> int:
        """Attempts whose task failed, and of which it might have skipped a result."""
        skipped = self.skipped.get(None, set()) | self.skipped.get(name, set())
        return sum(self.crashed[stated] for stated in skipped)

    def skip(self, reason: str) -> None:
        """Note why it was skipped."""
        if not self.heard and (reason[:_REASON] in self.reasons or len(self.reasons) < _REASONS):
            self.reasons[reason[:_REASON]] += 1

    @property
    def silence(self) -> Silence | None:
        """That it was skipped and never heard; `None` if neither or only one of them is so."""
        if self.heard or not self.ran:
            return None
        failed = self.failures.count + self.task_failures.count
        return Silence(attempts=self.ran, failed=failed, reason=self.reasons.most_common(1)[0][0])


_EXACTLY = 20_000
"""Attempts up to which the quantiles of their times are exact."""
_MOST_TAGS = 1_000
"""Tags that are counted; where each case has its own, the first ones are no worse than others."""


class _Tagged:
    """The attempts at cases with one tag."""

    __slots__ = ("asserted", "attempts", "lost")

    def __init__(self) -> None:
        self.attempts = 0
        self.asserted = Passes()
        self.lost = Passes()


class Tally:
    """The attempts of a run, counted one by one; of most it keeps no more than the count."""

    def __init__(self, *, of_faults: bool = False) -> None:
        self._of_faults = of_faults
        """Whether it counts attempts under faults like any others: the part of another tally that is about these."""
        self._units = Units()
        self._columns: dict[tuple[str, Kind], _Column] = {}
        self._ledgers: defaultdict[str, _Ledger] = defaultdict(_Ledger)
        self._asserted = Passes()
        self._lost = Passes()
        self._unreached = Passes()
        """Attempts that did not pass for the infrastructure alone; they are in neither of the two above."""
        self._unreached_kinds: Counter[str] = Counter()
        self._unjudged = 0
        """Those of them whose task finished, and whose evaluators did not."""
        self._seconds = QuantileSketch(exactly=_EXACTLY)
        self._finished = Passes()
        """The attempts whose task finished, for the cases that they were made at."""
        self._metrics: dict[str, Scores] = {}
        self._costs = CostTally()
        self._failed_tasks: Counter[str] = Counter()
        self._failed_teardowns = 0
        self._tagged: dict[str, _Tagged] = {}
        self._under_faults: Tally | None = None
        """The attempts under faults, which are in nothing of the above."""

    def add(self, record: ReportCase | ReportCaseFailure) -> None:
        """Count an attempt."""
        if record.fault is not None and not self._of_faults:
            if self._under_faults is None:
                self._under_faults = Tally(of_faults=True)
            self._under_faults.add(record)
            return
        unit = self._units.of(record)
        if record.tags:
            self._add_to_slices(unit, record)
        if record.teardown_failure is not None:
            self._failed_teardowns += 1
        self._costs.add(unit, record)
        if isinstance(record, ReportCaseFailure):
            if record.infrastructure:
                self._unreached.add(unit, False)
                self._unreached_kinds[record.error_type] += 1
            else:
                self._lost.add(unit, False)
            self._failed_tasks[record.error_type] += 1
            for name in record.not_run:
                ledger = self._ledgers[name]
                ledger.task_failures.add(unit, False)
                ledger.crashed[_stated(record)] += 1
            return
        self._seconds.add(record.task_duration)
        self._finished.add(unit, True)
        if record.metrics:
            for name, value in record.metrics.items():
                self._metric(name).add(unit, _float(value))
        # In order, since the rows of a report follow the ledgers: a set of names has another order in each process.
        judged: dict[str, bool] = {}
        for skip in record.skipped:
            judged[skip.evaluator] = False
            ledger = self._ledgers[skip.evaluator]
            ledger.skip(skip.reason)
            ledger.skipped[None if skip.key_of is None else skip.name].add(_stated(record))
        for result in record.results:
            kind = kind_of(result.value)
            column = self._columns.get((result.name, kind))
            if column is None:
                bounds = result.source.score_range if kind == "score" else None
                column = self._columns[result.name, kind] = _Column(
                    result.name, kind, result.evaluator, bounds, result.key
                )
            column.add(unit, result)
            judged[result.evaluator] = True
        for name, heard in judged.items():
            ledger = self._ledgers[name]
            ledger.ran += 1
            ledger.heard = ledger.heard or heard
        for failure in record.evaluator_failures:
            self._ledgers[failure.name].failures.add(unit, False)
        passed = record.passed
        if passed is None:
            return
        if record.evaluator_failures and (error := _unreached_evaluator(record)) is not None:
            self._unreached.add(unit, False)
            self._unreached_kinds[error] += 1
            self._unjudged += 1
        else:
            self._asserted.add(unit, passed)

    def rename(self, names: Names) -> None:
        """Rename the columns whose results would have other names now; to be called before any result has one of these."""
        for column in self._columns.values():
            [evaluator, *others] = column.evaluators
            if column.name != evaluator and not others:
                name = names.again(evaluator, column.name, column.key)
                if name != column.name:
                    column.name, column.key = name, column.name if column.key is None else column.key
        self._columns = {(column.name, column.kind): column for column in self._columns.values()}
        if self._under_faults is not None:
            self._under_faults.rename(names)

    def _metric(self, name: str) -> Scores:
        found = self._metrics.get(name)
        if found is None:
            found = self._metrics[name] = Scores()
        return found

    def _add_to_slices(self, unit: int, record: ReportCase | ReportCaseFailure) -> None:
        passed = record.passed
        for tag in dict.fromkeys(counted_tags(record)):
            tagged = self._tagged.get(tag)
            if tagged is None:
                if len(self._tagged) == _MOST_TAGS:
                    continue
                tagged = self._tagged[tag] = _Tagged()
            tagged.attempts += 1
            if isinstance(record, ReportCaseFailure):
                tagged.lost.add(unit, False)
            elif passed is not None:
                tagged.asserted.add(unit, passed)

    def slices(self, *, confidence: float = 0.95) -> dict[str, Slice]:
        """What the cases with each tag say together, the tag with the most attempts first."""
        found = [self._slice(tag, tagged, confidence) for tag, tagged in self._tagged.items()]
        if self._under_faults is not None:
            found += self._under_faults.slices(confidence=confidence).values()
        return {each.tag: each for each in sorted(found, key=lambda each: (-each.attempts, each.tag))}

    def _slice(self, tag: str, tagged: _Tagged, confidence: float) -> Slice:
        # Failed tasks alone say something only where the run asserts anything.
        known = tagged.asserted.count or (tagged.lost.count and not self._nothing_asserted())
        return Slice(
            tag=tag,
            attempts=tagged.attempts,
            passed=tagged.asserted.held,
            pass_rate=tagged.asserted.rate(self._units, [tagged.lost], confidence) if known else None,
        )

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
        if self._nothing_asserted():
            return None
        return self._asserted.rate(self._units, [self._lost, self._unreached], confidence)

    def infrastructure(self, *, confidence: float = 0.95) -> Infrastructure | None:
        """What did not reach an answer, and the pass rate in other readings; `None` if everything did."""
        if not self._unreached_kinds:
            return None
        unknown = self._nothing_asserted()
        some_left = not unknown and self._asserted.count + self._lost.count > 0
        passed = [self._lost, self._unreached.all_passed()]
        return Infrastructure(
            failures=dict(self._unreached_kinds.most_common()),
            without=self._asserted.rate(self._units, [self._lost], confidence) if some_left else None,
            at_most=None if unknown else self._asserted.rate(self._units, passed, confidence),
        )

    def metrics(self, *, confidence: float = 0.95) -> dict[str, Estimate | None]:
        """The mean of each metric over the finished attempts that have it; `None` for one that no float can average.

        With `judge_cost`, where anything is known of that.
        """
        means = {
            name: found.mean(self._units, confidence, bounded=False) for name, found in self._metrics.items()
        }
        judged = self._costs.per_judged_case(self._units, confidence)
        return means if judged is None else {**means, JUDGE_COST: judged, **means}

    def costs(self, *, confidence: float = 0.95) -> Costs:
        """What the attempts and their evaluators cost; means are of the attempts without faults."""
        found = self._costs.costs(self._units, confidence)
        return found if self._under_faults is None else found.and_spent(self._under_faults.costs())

    def under_faults(self, *, confidence: float = 0.95) -> UnderFaults | None:
        """What became of the attempts under faults; `None` if there are none."""
        faulty = self._under_faults
        if faulty is None:
            return None
        counts = faulty.counts()
        return UnderFaults(
            attempts=counts.attempts,
            passed=counts.passed,
            pass_rate=faulty.pass_rate(confidence=confidence),
            failed_tasks=counts.failed_tasks,
            failed_evaluators=counts.failed_evaluators,
        )

    def passes(self) -> CasePasses | None:
        """(passes, attempts) of each case and their clusters; `None` if nothing was asserted."""
        return (
            None
            if self._nothing_asserted()
            else self._asserted.by_case(self._units, [self._lost, self._unreached])
        )

    def repeats(self, *, confidence: float = 0.95) -> Repeats | None:
        """What repeated attempts say of the cases; `None` if none was repeated, or nothing was asserted."""
        parts = (self._asserted, self._lost, self._unreached)
        if not any(part.units for part in parts) or (found := self.passes()) is None:
            return None
        cases, clusters = found
        counts = {attempts for _, attempts in cases}
        if len(counts) > 1:
            return Repeats(k=None)
        k = counts.pop()
        if k == 1:
            return None
        return Repeats(
            k=k,
            any_of=pass_at_k(cases, k, clusters=clusters, confidence=confidence),
            all_of=pass_hat_k(cases, k, clusters=clusters, confidence=confidence),
        )

    def _nothing_asserted(self) -> bool:
        """If no attempt finished, the failures count where evaluators were to judge them."""
        return (
            not self._asserted.count and not self._unjudged and (self._seconds.count > 0 or not self._ledgers)
        )

    def durations(self) -> Durations | None:
        """How long the finished tasks took, the quantiles of very many within half a percent; `None` if none finished."""
        seconds = self._seconds
        if seconds.mean is None:
            return None
        return _durations(
            seconds.quantile,
            count=seconds.count,
            mean=seconds.mean,
            longest=seconds.largest,
            cases=self._finished.alone + len(set(self._finished.units)),
        )

    def counts(self) -> Counts:
        """How many attempts there were, and what became of them."""
        broken = {name: ledger.failures.count for name, ledger in self._ledgers.items()}
        found = Counts(
            attempts=self._units.attempts,
            cases=self._units.count,
            passed=self._asserted.held,
            failed_tasks=dict(self._failed_tasks.most_common()),
            failed_evaluators={name: count for name, count in broken.items() if count},
            silent_evaluators={
                name: silence for name, ledger in self._ledgers.items() if (silence := ledger.silence)
            },
            failed_teardowns=self._failed_teardowns,
        )
        return found if self._under_faults is None else _with_faulty(found, self._under_faults.counts())

    def totals(self, *, confidence: float = 0.95) -> Totals:
        """All of the above, to keep."""
        return Totals(
            counts=self.counts(),
            summaries=self.summaries(confidence=confidence),
            pass_rate=self.pass_rate(confidence=confidence),
            durations=self.durations(),
            confidence=confidence,
            slices=self.slices(confidence=confidence),
            metrics=self.metrics(confidence=confidence),
            infrastructure=self.infrastructure(confidence=confidence),
            costs=self.costs(confidence=confidence),
            under_faults=self.under_faults(confidence=confidence),
            repeats=self.repeats(confidence=confidence),
        )


def _with_faulty(clean: Counts, faulty: Counts) -> Counts:
    """The counts of a run of which some attempts were made under faults."""
    return msgspec.structs.replace(
        clean,
        attempts=clean.attempts + faulty.attempts,
        failed_tasks=dict((Counter(clean.failed_tasks) + Counter(faulty.failed_tasks)).most_common()),
        failed_evaluators=dict(Counter(clean.failed_evaluators) + Counter(faulty.failed_evaluators)),
        failed_teardowns=clean.failed_teardowns + faulty.failed_teardowns,
    )


def _unreached_evaluator(record: ReportCase) -> str | None:
    """The type of the error, where the infrastructure of evaluators is all that kept an attempt from passing; else `None`."""
    if any(result.value is False for result in record.results):
        return None
    failures = record.evaluator_failures
    return failures[0].error_type if all(failure.infrastructure for failure in failures) else None


def _float(value: float) -> float:
    """A number as a float; infinity, which has no mean, for one that no float can hold."""
    try:
        return float(value) if isfinite(value) else inf
    except OverflowError:
        return inf


def without_faults(records: Iterable[RecordT]) -> list[RecordT]:
    """The attempts that were made as the cases are, under no fault of the agent's tools."""
    return [record for record in records if record.fault is None]


def tally(cases: Iterable[ReportCase], failures: Iterable[ReportCaseFailure]) -> Tally:
    """The tally of records that are all there."""
    counted = Tally()
    for case in cases:
        counted.add(case)
    for failed in failures:
        counted.add(failed)
    return counted


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


def _summary(column: _Column, ledgers: defaultdict[str, _Ledger], units: Units, confidence: float) -> Summary:
    ledger = [ledgers[evaluator] for evaluator in column.evaluators]
    lost = [part for entry in ledger for part in (entry.failures, entry.task_failures)]
    graded = column.scores.mean(units, confidence, bounds=column.bounds)
    assertion = column.kind == "assertion"
    # An evaluator that never gave a result may give no assertions: it has losses, but no rate.
    rated = column.passes.rate(units, lost, confidence) if assertion and column.count else None
    return Summary(
        name=column.name,
        kind=column.kind,
        evaluator=column.evaluators[0],
        count=column.count,
        failures=sum(entry.failures.count for entry in ledger),
        skipped=max(0, sum(entry.ran for entry in ledger) - column.count),
        task_failures=sum(entry.task_failures.count for entry in ledger),
        unsure_task_failures=sum(entry.unsure(column.name) for entry in ledger),
        estimate=rated if assertion else graded,
        passed=column.passes.held if assertion else None,
        labels=dict(column.labels.most_common()) if column.kind == "label" else None,
        score=graded if assertion else None,
        all_or_nothing=assertion and graded is not None and column.all_or_nothing,
    )


def passes(
    cases: Sequence[ReportCase], failures: Sequence[ReportCaseFailure], assertion: str | None = None
) -> CasePasses | None:
    """(passes, attempts) of each case, and their clusters: of whole attempts, or of one assertion.

    Attempts that do not assert it are left out; one whose task or evaluator failed did not pass. `None` if nothing was
    asserted: no attempt that finished has such a result or, where none finished, no evaluator was to judge.

    Raises:
        InvalidOptionError: no assertion has that name.
    """
    if assertion is None:
        return tally(cases, failures).passes()
    cases, failures = without_faults(cases), without_faults(failures)
    units, found = Units(), Passes()
    makers = _makers(cases, failures, assertion)
    for case in cases:
        held = _held(case, assertion, makers)
        if held is not None:
            found.add(units.of(case), held)
    if cases and not found.count:
        return None
    for failed in failures:
        if not makers.isdisjoint(failed.not_run):
            found.add(units.of(failed), False)
    return found.by_case(units) if found.count else None


def _makers(cases: Iterable[ReportCase], failures: Iterable[ReportCaseFailure], assertion: str) -> set[str]:
    """The evaluators that make an assertion; where it was never made, the evaluator or the key of that name."""
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
    silent.difference_update(
        name for case in cases for result in case.results for name in (result.evaluator, result.name)
    )
    if not makers and assertion not in silent:
        names = sorted({name for name, _ in found})
        raise InvalidOptionError(f"no assertion is called {assertion!r}; there are {names}")
    return makers or {assertion}


def _held(case: ReportCase, assertion: str, makers: set[str]) -> bool | None:
    for result in case.results:
        if result.name == assertion and isinstance(result.value, bool):
            return result.value
    return False if any(failure.name in makers for failure in case.evaluator_failures) else None


def durations(cases: Iterable[ReportCase]) -> Durations | None:
    """How long the tasks of finished attempts without faults took, exactly; `None` if there are none."""
    finished = without_faults(cases)
    seconds = sorted(case.task_duration for case in finished)
    if not seconds:
        return None
    return _durations(
        lambda level: quantile(seconds, level, presorted=True),
        count=len(seconds),
        mean=fsum(seconds) / len(seconds),
        longest=seconds[-1],
        cases=len({case.source_case_name or case.name for case in finished}),
    )


def _durations(
    at: Callable[[float], float | None], *, count: int, mean: float, longest: float, cases: int
) -> Durations:
    """The quantiles that a sample has at its levels, with their intervals."""

    def ends(level: float) -> Ends:
        low, high = quantile_ends(cases, level)
        return None if low is None else at(low), None if high is None else at(high)

    p50, p90, p99 = (at(level) or 0.0 for level in (0.5, 0.9, 0.99))
    return Durations(
        count=count,
        mean=mean,
        p50=p50,
        p90=p90,
        p99=p99,
        longest=longest,
        p50_interval=ends(0.5),
        p90_interval=ends(0.9),
        p99_interval=ends(0.99),
    )
