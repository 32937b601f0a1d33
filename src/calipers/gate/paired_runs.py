"""A run and its baseline, paired case by case: what each says of a subject, and what each lacks.

A subject is an evaluator's column, or the pass rate. An attempt is *lost* where the task or the evaluator failed, and a result is
*missing* where nothing failed: the evaluator was skipped, or gave nothing.

What was attempted under faults of the agent's tools is in nothing but the part that has the tag of its fault.
"""

import copy
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from calipers.comparison.case_pairs import (
    Pair,
    Pairing,
    RunCase,
    cases_of,
    named_alike,
    pair_cases,
    without_faults,
)
from calipers.comparison.change import clusters_of
from calipers.comparison.columns import ColumnKey, Columns, Lost, lost_pass, passes
from calipers.comparison.evaluator_changes import ComparedEvaluators, EvaluatorChanges
from calipers.data.record import ReportCaseFailure
from calipers.report.report import Report
from calipers.stats.number_text import first_few, plural

from .measure import Cases
from .policy import Policy, Rules

Values: TypeAlias = Callable[[RunCase], list[float]]
"""The numbers of a case's attempts; none if it was not measured."""


class Alone(NamedTuple):
    """What the run has, case by case."""

    cases: Cases
    clusters: Sequence[Hashable] | None


class Both(NamedTuple):
    """What both have on the same cases."""

    run: Cases
    baseline: Cases
    clusters: Sequence[Hashable] | None


class PairedRuns:
    """The run and the baseline, to be measured."""

    def __init__(
        self,
        run: Report,
        baseline: Report | None,
        changes: Mapping[str, str] | EvaluatorChanges | None = None,
    ) -> None:
        if baseline is not None:
            run, baseline = named_alike([run, baseline])
        self._cases = cases_of(run)
        """All of them, under faults or not."""
        self._baseline_cases = None if baseline is None else cases_of(baseline)
        self._all_pairs: list[Pair] = []
        self.run = Columns(without_faults(self._cases))
        self.baseline: Columns | None = None
        self.pairs: list[Pair] = []
        self.pairing: Pairing | None = None
        if self._baseline_cases is not None:
            self._all_pairs, _ = pair_cases(self._baseline_cases, self._cases)
            self.baseline = Columns(without_faults(self._baseline_cases))
            self.pairs, self.pairing = pair_cases(self.baseline.cases, self.run.cases)
        self._old_clusters = {case.name: old.cluster for old, case in self._all_pairs}
        self._changes = changes
        self.evaluators = ComparedEvaluators.of(self.pairs, changes=changes)

    def tagged(self, tag: str) -> "PairedRuns":
        """The part of both that has a tag; a case that both have has the tags of both."""
        part = copy.copy(self)
        part.pairs = [(old, new) for old, new in self._all_pairs if tag in (*old.tags, *new.tags)]
        old_names, names = {old.name for old, _ in part.pairs}, {new.name for _, new in part.pairs}
        part.run = Columns(each for each in self._cases if tag in each.tags or each.name in names)
        if self._baseline_cases is not None:
            cases = self._baseline_cases
            part.baseline = Columns(each for each in cases if tag in each.tags or each.name in old_names)
        part.evaluators = ComparedEvaluators.of(part.pairs, changes=self._changes)
        return part

    @property
    def attempts(self) -> int:
        """Of the run, at all cases."""
        return sum(len(case.attempts) for case in self.run.cases)

    @property
    def attempts_under_faults(self) -> int:
        """Of the run, which only the tags of their faults have."""
        return sum(len(case.attempts) for case in self._cases if case.fault is not None)

    @property
    def tags(self) -> list[str]:
        """The tags that cases of the run have, each once."""
        return list(dict.fromkeys(tag for case in self._cases for tag in case.tags))

    def alone(self, values: Values) -> Alone:
        """The cases of the run that were measured."""
        found = [(case, numbers) for case in self.run.cases if (numbers := values(case))]
        return Alone([numbers for _, numbers in found], self._clusters([case for case, _ in found]))

    def alike(self, name: str | None) -> list[Pair]:
        """The cases of both that are judged by the same evaluators, as far as a name, or passing, goes."""
        apart = {each.case for each in self.evaluators.changed(name)}
        return [pair for pair in self.pairs if pair[1].name not in apart] if apart else self.pairs

    def both(self, values: Values, before: Values, pairs: Sequence[Pair] | None = None) -> Both:
        """The cases, or those of some pairs, that were measured on both sides."""
        found = [
            (case, numbers, earlier)
            for old, case in (self.pairs if pairs is None else pairs)
            if (numbers := values(case)) and (earlier := before(old))
        ]
        return Both(
            [numbers for _, numbers, _ in found],
            [earlier for _, _, earlier in found],
            self._clusters([case for case, _, _ in found]),
        )

    def _clusters(self, cases: Sequence[RunCase]) -> list[Hashable] | None:
        """The cluster of each case, by either run: a case is no more independent for one of them not saying so."""
        return clusters_of(
            [self._old_clusters.get(case.name) if case.cluster is None else case.cluster for case in cases]
        )

    def notes(self, *, stopped: bool) -> Iterator[str]:
        """What a reader should know of the pairing; that cases of a run that was stopped are missing needs no note."""
        if faulty := self.attempts_under_faults:
            what = "attempt was" if faulty == 1 else f"{faulty:,} attempts were"
            yield f"{'1 ' if faulty == 1 else ''}{what} made under faults of tools, which only rules for the tags of faults look at, such as fault=error"
        pairing = self.pairing
        if pairing is None:
            return
        if pairing.changed:
            names = first_few([repr(case.name) for case in pairing.changed])
            yield f"not compared, since the case is another one in the baseline: {names}"
        if pairing.baseline_only and not stopped:
            yield f"not in this run: {plural(len(pairing.baseline_only), 'case')} of the baseline"
        if pairing.candidate_only:
            yield f"not in the baseline: {plural(len(pairing.candidate_only), 'case')} of this run"


def columns_of(columns: Columns, name: str) -> list[ColumnKey]:
    """The columns that a policy may mean by a name; where several kinds share it, `name (score)` says which.

    `Clarity.score` is the column of a key also where no other evaluator gives that key, so that it is just called `score`.
    """
    keys = columns.by_key
    found = [key for key in keys if name == key[0] or name == f"{key[0]} ({key[1]})"]
    if not found:
        found = [
            key for key, one in keys.items() if name in {f"{maker}.{key[0]}" for maker in one.evaluators}
        ]
    return [key for key in found if name != key[0]] or found


def column_of(columns: Columns, name: str) -> ColumnKey | None:
    """The one column that a policy means by a name; `None` if there is none, or more than one."""
    found = columns_of(columns, name)
    return found[0] if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class Losses:
    """Attempts that were lost, of all that were made at some cases."""

    lost: Counter[Lost] = field(default_factory=Counter)
    attempts: int = 0

    @classmethod
    def of(cls, lost: Counter[Lost], cases: Sequence[RunCase]) -> "Losses":
        """These losses, of all attempts at the cases."""
        return cls(lost, sum(len(case.attempts) for case in cases))

    def __add__(self, other: "Losses") -> "Losses":
        return Losses(self.lost + other.lost, self.attempts + other.attempts)

    @property
    def total(self) -> int:
        """Attempts that were lost in either way."""
        return self.lost.total()

    def beyond(self, policy: Policy, rules: Rules | None) -> list[str]:
        """The limits of a policy that these losses exceed; one that the policy does not set allows none."""
        errors = None if rules is None else rules.max_errors
        limits: tuple[tuple[str, Lost, float | None], ...] = (
            ("max_task_failures", "task", policy.max_task_failures),
            ("max_errors", "evaluator", policy.max_evaluator_errors if errors is None else errors),
        )
        return [
            name
            for name, why, most in limits
            if self.lost[why] > (0.0 if most is None else most) * self.attempts
        ]


def losses_of_passes(cases: Sequence[RunCase]) -> Losses:
    """What was lost of the pass rate."""
    found: Counter[Lost] = Counter(
        why for case in cases for record in case.attempts if (why := lost_pass(record)) is not None
    )
    return Losses.of(found, cases)


def losses_of_tasks(cases: Sequence[RunCase]) -> Losses:
    """What was lost of times and metrics, which every attempt has that finished."""
    found: Counter[Lost] = Counter()
    found["task"] = sum(isinstance(record, ReportCaseFailure) for case in cases for record in case.attempts)
    return Losses.of(found, cases)


def unlimited(policy: Policy, rules: Rules | None) -> tuple[bool, bool]:
    """Whether a policy leaves open how many attempts may lose their score to the task, and to the evaluator."""
    errors = rules is None or rules.max_errors is None
    return policy.max_task_failures is None, errors and policy.max_evaluator_errors is None


Counted: TypeAlias = Callable[[float], Values]
"""The numbers of a case's attempts; takes what a lost assertion counts as, since a crash is no gain."""


class SubjectResults(NamedTuple):
    """What a run has of one subject, and what it lacks."""

    values: Counted
    missing: Callable[[RunCase], int]
    """Attempts at a case without a result, though nothing failed."""
    lost: Callable[[Sequence[RunCase]], Losses]
    """Attempts at some cases without a result, because something failed."""

    def has_all(self, case: RunCase) -> bool:
        """Whether every attempt at a case has a result, but for those that failed."""
        return bool(self.values(0.0)(case)) and not self.missing(case)


def column_results(columns: Columns, key: ColumnKey) -> SubjectResults:
    """What a run has of an evaluator."""
    return SubjectResults(
        values=lambda lost: lambda case: columns.scores(case, key, lost=lost),
        missing=lambda case: columns.missing(case, key),
        lost=lambda cases: Losses.of(columns.lost(key, cases), cases),
    )


PASSES = SubjectResults(
    values=lambda lost: lambda case: passes(case, lost=lost),
    missing=lambda case: sum(record.passed is None for record in case.attempts),
    lost=losses_of_passes,
)
"""What a run has of the pass rate."""

NO_RESULTS = SubjectResults(values=lambda _: lambda _: [], missing=lambda _: 0, lost=lambda _: Losses())


def newly_missing(pairs: Iterable[Pair], theirs: SubjectResults, ours: SubjectResults) -> list[str]:
    """The cases of which the baseline has a result of every attempt, and the run has not, though nothing failed."""
    return [case.name for old, case in pairs if ours.missing(case) and theirs.has_all(old)]
