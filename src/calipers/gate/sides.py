"""The two sides of a gate: the run, the baseline if there is one, and which of their cases are the same."""

import copy
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from calipers.comparison.case_pairs import Pair, Pairing, RunCase, cases_of, named_alike, pair_cases
from calipers.comparison.columns import ColumnKey, Columns
from calipers.comparison.evaluator_changes import ComparedEvaluators, EvaluatorChanges
from calipers.report.report import Report

from .measure import Cases
from .wording import plural

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


class Sides:
    """The run and the baseline, to be measured."""

    def __init__(
        self,
        run: Report,
        baseline: Report | None,
        changes: Mapping[str, str] | EvaluatorChanges | None = None,
    ) -> None:
        if baseline is not None:
            run, baseline = named_alike([run, baseline])
        self.run = Columns(cases_of(run))
        self.baseline = None if baseline is None else Columns(cases_of(baseline))
        self.pairs: list[Pair] = []
        self.pairing: Pairing | None = None
        if self.baseline is not None:
            self.pairs, self.pairing = pair_cases(self.baseline.cases, self.run.cases)
        self._old_clusters = {case.name: old.cluster for old, case in self.pairs}
        self._changes = changes
        self.evaluators = ComparedEvaluators.of(self.pairs, changes=changes)

    def tagged(self, tag: str) -> "Sides":
        """The part of both that has a tag; a case that both have has the tags of both."""
        part = copy.copy(self)
        part.pairs = [(old, new) for old, new in self.pairs if tag in (*old.tags, *new.tags)]
        old_names, names = {old.name for old, _ in part.pairs}, {new.name for _, new in part.pairs}
        part.run = Columns(each for each in self.run.cases if tag in each.tags or each.name in names)
        if self.baseline is not None:
            cases = self.baseline.cases
            part.baseline = Columns(each for each in cases if tag in each.tags or each.name in old_names)
        part.evaluators = ComparedEvaluators.of(part.pairs, changes=self._changes)
        return part

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
        """The cluster of each case, by either run: a case is no more independent for one of them not saying so.

        A case that names none stands alone; `None` if no case names one.
        """
        names = [
            self._old_clusters.get(case.name) if case.cluster is None else case.cluster for case in cases
        ]
        if all(name is None for name in names):
            return None
        return [(number,) if name is None else name for number, name in enumerate(names)]

    def notes(self, *, stopped: bool) -> Iterator[str]:
        """What a reader should know of the pairing; of a run that was stopped, everybody knows that cases are missing."""
        pairing = self.pairing
        if pairing is None:
            return
        if pairing.changed:
            names = ", ".join(repr(case.name) for case in pairing.changed[:3])
            more = f" and {len(pairing.changed) - 3} more" if len(pairing.changed) > 3 else ""
            yield f"not compared, since the case is another one in the baseline: {names}{more}"
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
