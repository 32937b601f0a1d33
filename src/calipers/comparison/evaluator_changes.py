"""Whether two runs were judged by the same evaluators, case by case.

A case may bring evaluators of its own, so the evaluators of two runs are compared on each case that both have, and only where
both gave a result. Where a task or an evaluator did not finish, it is not known what it would have said, and that is no
difference. Two runs without a common case are compared as a whole.

A difference concerns the *whole run* if an evaluator differs that judges every case, or if no case is left that is judged alike.
Otherwise it concerns the *cases* on which it was found: their results cannot be compared, those of the others can.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import msgspec

from calipers.data.jsonable import plain
from calipers.data.record import ReportCase
from calipers.data.result import EvaluatorSpec
from calipers.identity.fingerprint import differences
from calipers.stats.number_text import first_few

from .case_pairs import Pair, Record, RunCase

_Kind: TypeAlias = tuple[tuple[str, str, int, str | None, bool], ...]
"""The results of a record by name, evaluator, source (the same object in most of a run) and version, and which are assertions."""

RUNS = ("the baseline", "the candidate")
"""What the two runs are called."""
_NAMED_CHANGES = 3
"""Changes of one evaluator that are named."""
_KINDS = 1000
"""Kinds of records that are remembered."""


class ChangedEvaluator(msgspec.Struct, frozen=True, kw_only=True):
    """A case that is judged by another evaluator in each of two runs, while others are judged alike."""

    case: str
    """Its name in the candidate."""
    name: str
    """Of the results, or of the evaluator that only one of the runs has on this case."""
    baseline: tuple[str, ...] = ()
    """The evaluators of the baseline as they would be written; none: it has no such evaluator on this case."""
    candidate: tuple[str, ...] = ()
    """The evaluators of the candidate; as above."""
    how: str | None = None
    """What differs in their identities; `None` if only what is written is known."""

    def __str__(self) -> str:
        return self.text()

    def text(self, runs: tuple[str, str] = RUNS) -> str:
        """What differs on the case, without its name; `runs` is what the two runs are called."""
        if not self.baseline and not self.candidate:
            return f"{self.name}: {self.how}"
        if not self.candidate:
            return f"{some(self.baseline)} only in {runs[0]}"
        if not self.baseline:
            return f"{some(self.candidate)} only in {runs[1]}"
        return f"{some(self.baseline)} in {runs[0]}, {some(self.candidate)} in {runs[1]}"


class KnownEvaluator(Protocol):
    """An evaluator as a store knows it."""

    @property
    def identity(self) -> str | None:
        """A hash of its code, arguments and version; `None` if it cannot be known."""
        ...

    @property
    def parts(self) -> Mapping[str, str]:
        """What the identity was made of, by label."""
        ...


@dataclass(frozen=True)
class KnownEvaluators:
    """The evaluators of a run by name: those that judge every case, and those that single cases bring."""

    shared: Mapping[str, KnownEvaluator] = field(default_factory=dict[str, KnownEvaluator])
    own: Mapping[str, Mapping[str, KnownEvaluator]] = field(
        default_factory=dict[str, Mapping[str, KnownEvaluator]]
    )
    """By the name of the case."""


class EvaluatorChanges:
    """The evaluators that are known to differ between two runs, each with what differs."""

    def __init__(self, baseline: KnownEvaluators, candidate: KnownEvaluators) -> None:
        self._baseline = baseline
        self._candidate = candidate
        self.everywhere = _changes(baseline.shared, candidate.shared)
        """Of the evaluators that judge every case."""

    @classmethod
    def of(cls, changes: "Mapping[str, str] | EvaluatorChanges | None") -> "EvaluatorChanges":
        """The changes, where they may also be given by the name of a column or an evaluator alone."""
        if isinstance(changes, EvaluatorChanges):
            return changes
        found = cls(KnownEvaluators(), KnownEvaluators())
        found.everywhere = dict(changes or {})
        return found

    def at(self, baseline: str, candidate: str) -> Mapping[str, str]:
        """Of the evaluators that a case brings in either run, where it has these names."""
        before, after = self._baseline.own.get(baseline, {}), self._candidate.own.get(candidate, {})
        if not before and not after:
            return {}
        return _changes(
            {**self._baseline.shared, **before}, {**self._candidate.shared, **after}, among={*before, *after}
        )


def _changes(
    before: Mapping[str, KnownEvaluator],
    after: Mapping[str, KnownEvaluator],
    *,
    among: set[str] | None = None,
) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, new in after.items():
        old = before.get(name)
        if old is None or (among is not None and name not in among):
            continue
        if old.identity is not None and new.identity is not None and old.identity != new.identity:
            parts = differences(old.parts, new.parts)[:_NAMED_CHANGES]
            found[name] = "; ".join(parts) or "its code or its arguments changed"
    return found


class ComparedEvaluators:
    """What is known of the evaluators behind two runs; it may grow with them."""

    def __init__(self, changes: Mapping[str, str] | EvaluatorChanges | None = None) -> None:
        """Nothing is compared yet; `changes` is what is known to differ beyond what reports show."""
        self._changes = EvaluatorChanges.of(changes)
        self._baseline = _Side()
        self._candidate = _Side()
        self._known_cases = 0
        """Cases whose evaluators are known in both runs."""
        self._counts: Counter[str] = Counter()
        """How many cases have results of a name in both runs."""
        self._asserted: set[str] = set()
        """Cases that assert something in both runs."""
        self._apart: dict[str, dict[str, _Apart]] = {}
        """By the name of the results, then by case: where they are not of the same evaluators."""
        self._brought: set[str] = set()
        """Evaluators that a store knows to belong to single cases."""
        self._shown: dict[int, tuple[EvaluatorSpec, str]] = {}

    @classmethod
    def of(
        cls,
        pairs: Sequence[Pair],
        baseline: Iterable[RunCase] = (),
        candidate: Iterable[RunCase] = (),
        *,
        changes: Mapping[str, str] | EvaluatorChanges | None = None,
    ) -> "ComparedEvaluators":
        """That of two runs: on the cases of both or, where there are none, on all."""
        found = cls(changes)
        for one, two in pairs:
            found.add(one.attempts, two.attempts)
        if not pairs:
            whole = [[record for case in side for record in case.attempts] for side in (baseline, candidate)]
            found._compare("", whole[0], whole[1], {})
        return found

    def add(self, baseline: Sequence[Record], candidate: Sequence[Record]) -> None:
        """Take in the attempts of both runs at one case."""
        before, case = (each[0].source_case_name or each[0].name for each in (baseline, candidate))
        here = self._changes.at(before, case)
        self._brought.update(here)
        shown = self._compare(case, baseline, candidate, here)
        one, two = _evaluators_of(baseline), _evaluators_of(candidate)
        if one is None or two is None:
            return
        one, two = one | _not_missed(candidate, baseline), two | _not_missed(baseline, candidate)
        self._known_cases += 1
        sides = ((self._baseline, one, two, shown[0]), (self._candidate, two, one, shown[1]))
        for side, mine, theirs, written in sides:
            side.present.update(mine)
            for evaluator in mine - theirs:
                side.alone.setdefault(evaluator, {})[case] = tuple(
                    sorted(written.get(evaluator, {evaluator}))
                )

    # ------------------------------------------------------------------ what concerns the whole run

    def is_same(self, name: str | None) -> bool:
        """Whether both runs have results of this name, or assertions, by evaluators that look the same; `is_apart` finds single cases."""
        if name is not None:
            return name in self._counts and self.differing(name) is None
        return (
            bool(self._names(None)) and self.lone_assertions() == ([], []) and not self.differing_assertions()
        )

    def has_results(self, name: str) -> bool:
        """Whether both runs gave results of this name on some case."""
        return name in self._counts

    def differing(self, name: str, runs: tuple[str, str] = RUNS) -> str | None:
        """How the evaluators behind the results of a name differ in the whole run; `None` if they look the same."""
        found = self._apart.get(name, {})
        if found and (len(found) == self._counts[name] or self._is_shared(found)):
            return _words(found.values(), runs)
        makers = self._baseline.makers.get(name, set()) | self._candidate.makers.get(name, set())
        known = self._changes.everywhere
        return next((known[each] for each in (name, *sorted(makers)) if each in known), None)

    def differing_assertions(self) -> dict[str, str]:
        """The assertions of both runs that are not of the same evaluators in the whole run, each with how they differ."""
        known = self._changes.everywhere
        found: dict[str, str] = {}
        for name in sorted(self._names(None)):
            apart = self._apart.get(name, {})
            everywhere = any(
                each in known for each in (name, *self._baseline.makers[name], *self._candidate.makers[name])
            )
            if (apart and (self._is_shared(apart) or self._none_is_alike)) or everywhere:
                found[name] = self.differing(name) or _words(apart.values())
        return found

    def lone_assertions(self) -> tuple[list[str], list[str]]:
        """What is asserted only in the baseline, and only in the candidate, though nothing was lost there.

        That is a name that only one of them has at all, or an evaluator that only one of them has on the cases of both. One
        that never gave a result counts, too: it makes attempts fail.
        """
        one, two = self._baseline, self._candidate
        return self._lone_names(one, two), self._lone_names(two, one)

    def is_brought(self, name: str | None) -> bool:
        """Whether evaluators that single cases bring are behind a difference of the whole run, in a name or in passing."""
        if name is None:
            return self._none_is_alike
        apart = self._apart.get(name, {})
        return bool(apart) and not self._is_shared(apart)

    # ------------------------------------------------------------------ what concerns single cases

    def changed(self, name: str | None) -> list[ChangedEvaluator]:
        """The cases whose results of a name, or passes if it is `None`, cannot be compared, while those of others can."""
        if self._none_is_alike if name is None else self.differing(name) is not None:
            return []
        found: list[ChangedEvaluator] = []
        for each in self._names(name):
            apart = self._apart.get(each, {})
            if not self._is_shared(apart):
                found += _listed(each, apart)
        for place, (side, other) in enumerate(self._sides):
            for evaluator, cases in self._lone(side, other, side.makers_of(name)).items():
                if self._is_own(evaluator):
                    found += _only(evaluator, cases, in_candidate=bool(place))
        return sorted(found, key=lambda each: (each.case, each.name))

    def is_apart(self, case: str, name: str | None) -> bool:
        """Whether a case of the candidate is judged by other evaluators than in the baseline, as far as a name, or passing, goes."""
        return any(case in self._apart.get(each, {}) for each in self._names(name)) or any(
            case in cases
            for side, other in self._sides
            for cases in self._lone(side, other, side.makers_of(name)).values()
        )

    def _names(self, name: str | None) -> set[str]:
        """The name or, for passing, all that is asserted in both runs."""
        if name is not None:
            return {name}
        return self._baseline.asserted.keys() & self._candidate.asserted.keys()

    @property
    def _sides(self) -> "tuple[tuple[_Side, _Side], ...]":
        return (self._baseline, self._candidate), (self._candidate, self._baseline)

    @property
    def _none_is_alike(self) -> bool:
        """Whether no case that asserts something in both runs is judged alike."""
        return bool(self._asserted) and all(self.is_apart(case, None) for case in self._asserted)

    def _is_own(self, evaluator: str) -> bool:
        """Whether an evaluator belongs to single cases in either run: not every case has it, or not the same one."""
        return evaluator in self._brought or any(
            0 < side.present[evaluator] < self._known_cases or len(side.written.get(evaluator, ())) > 1
            for side in (self._baseline, self._candidate)
        )

    def _is_shared(self, apart: "Mapping[str, _Apart]") -> bool:
        """Whether an evaluator that judges every case is behind a difference."""
        return any(not self._is_own(maker) for each in apart.values() for maker in each.makers)

    def _lone(
        self, side: "_Side", other: "_Side", makers: set[str] | None = None
    ) -> "dict[str, dict[str, tuple[str, ...]]]":
        """The evaluators that the other run lacks on cases of both: these makers, or those that assert something or never gave a result."""
        if not side.alone:
            return {}
        if makers is not None:
            return {maker: side.alone[maker] for maker in makers if maker in side.alone}
        asserting = set[str]().union(*side.asserted.values(), *other.asserted.values())
        judging = side.judging | other.judging
        return {
            evaluator: cases
            for evaluator, cases in side.alone.items()
            if evaluator in asserting or evaluator not in judging
        }

    def _lone_names(self, side: "_Side", other: "_Side") -> list[str]:
        lone = self._lone(side, other)
        if not self._none_is_alike:
            lone = {evaluator: cases for evaluator, cases in lone.items() if not self._is_own(evaluator)}
        names = {
            name: makers
            for name, makers in side.asserted.items()
            if name not in other.asserted
            and not makers & other.lost
            and (makers & lone.keys() or not makers & side.alone.keys())
        }
        covered = set[str]().union(*names.values())
        evaluators = [
            f"{evaluator!r} on case {next(iter(cases))!r}"
            for evaluator, cases in lone.items()
            if evaluator not in covered
        ]
        return [*(repr(name) for name in sorted(names)), *sorted(evaluators)]

    # ------------------------------------------------------------------ taking in

    def _compare(
        self, case: str, baseline: Sequence[Record], candidate: Sequence[Record], changes: Mapping[str, str]
    ) -> "tuple[dict[str, set[str]], dict[str, set[str]]]":
        """Compare the evaluators of two runs; returns what each of them looks like, by name."""
        before, after = self._read(self._baseline, baseline), self._read(self._candidate, candidate)
        names = before.shown.keys() & after.shown.keys()
        self._counts.update(names)
        alike = not changes and before.shown == after.shown
        for name in () if alike else names:
            one, two = before.shown[name], after.shown[name]
            makers = before.makers[name] | after.makers[name]
            how = next((changes[maker] for maker in sorted(makers) if maker in changes), None)
            if one != two or how is not None:
                self._apart.setdefault(name, {})[case] = _Apart(one - two, two - one, how, makers)
        if before.asserts and after.asserts:
            self._asserted.add(case)
        return before.written, after.written

    def _read(self, side: "_Side", attempts: Sequence[Record]) -> "_CaseEvaluators":
        """The evaluators at one case, as they would be written."""
        whole = (
            len(attempts) == 1 and isinstance(attempts[0], ReportCase) and not attempts[0].evaluator_failures
        )
        kind = _kind(attempts[0]) if whole else ()
        known = side.kinds.get(kind)
        if known is not None:
            return known
        found = _CaseEvaluators()
        if whole and len(side.kinds) < _KINDS:
            side.kinds[kind] = found
        for record in attempts:
            if not isinstance(record, ReportCase):
                side.lost.update(record.not_run)
                continue
            side.lost.update(failure.name for failure in record.evaluator_failures)
            for result in record.results:
                maker = result.evaluator
                side.judging.add(maker)
                side.makers.setdefault(result.name, set()).add(maker)
                if isinstance(result.value, bool):
                    side.asserted.setdefault(result.name, set()).add(maker)
                    found.asserts = True
                version = result.evaluator_version
                shown = self._text(result.source) + (f" version {version}" if version is not None else "")
                found.shown.setdefault(result.name, set()).add(shown)
                found.makers.setdefault(result.name, set()).add(maker)
                found.written.setdefault(maker, set()).add(shown)
                side.written.setdefault(maker, set()).add(shown)
        return found

    def _text(self, source: EvaluatorSpec) -> str:
        known = self._shown.get(id(source))  # results of one evaluator mostly share their source
        if known is None:
            known = self._shown[id(source)] = (source, written(source))
        return known[1]


def _kind(record: Record) -> "_Kind":
    """What a record shows of its evaluators; most records of a run show the same."""
    results = record.results if isinstance(record, ReportCase) else ()
    return tuple(
        (each.name, each.evaluator, id(each.source), each.evaluator_version, isinstance(each.value, bool))
        for each in results
    )


@dataclass(slots=True)
class _CaseEvaluators:
    """What one run says of one case."""

    shown: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """The evaluators as they would be written, by the name of their results."""
    makers: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Their names, by the name of their results."""
    written: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """The evaluators as they would be written, by their own names."""
    asserts: bool = False


@dataclass(slots=True)
class _Apart:
    """How the evaluators behind results of one name, at one case, differ."""

    baseline: set[str]
    candidate: set[str]
    how: str | None
    makers: set[str]


class _Side:
    """What one of the runs has said so far."""

    def __init__(self) -> None:
        self.kinds: dict[_Kind, _CaseEvaluators] = {}
        """What single attempts showed, by their kind."""
        self.asserted: dict[str, set[str]] = {}
        """The names of assertions, with the evaluators that made them."""
        self.makers: dict[str, set[str]] = {}
        """The same of results of any kind."""
        self.judging: set[str] = set()
        """Evaluators that gave a result of any kind."""
        self.lost: set[str] = set()
        """Evaluators that have not judged an attempt, since it or they did not finish."""
        self.present: Counter[str] = Counter()
        """How many cases have an evaluator, of those whose evaluators are known in both runs."""
        self.written: dict[str, set[str]] = {}
        """The evaluators as they would be written, by name."""
        self.alone: dict[str, dict[str, tuple[str, ...]]] = {}
        """Evaluators that the other run does not have at a case, by name and case, as they would be written."""

    def makers_of(self, name: str | None) -> set[str] | None:
        """The evaluators behind the results of a name; `None` for passing."""
        return None if name is None else self.makers.get(name, set())


def _evaluators_of(attempts: Sequence[Record]) -> set[str] | None:
    """The evaluators of a case, whether they judged or not; `None` if an attempt does not name them."""
    found: set[str] = set()
    for record in attempts:
        if isinstance(record, ReportCase):
            found.update(result.evaluator for result in record.results)
            found.update(failure.name for failure in record.evaluator_failures)
            found.update(skip.evaluator for skip in record.skipped)
        elif record.not_run:
            found.update(record.not_run)
        else:
            return None
    return found


def _not_missed(attempts: Sequence[Record], others: Sequence[Record]) -> set[str]:
    """Evaluators that skipped every attempt, where all of the other run crashed: what crashed names only those that would have judged it."""
    if any(isinstance(record, ReportCase) for record in others):
        return set()
    finished = [record for record in attempts if isinstance(record, ReportCase)]
    skipped = {skip.evaluator for record in finished for skip in record.skipped}
    return skipped - {result.evaluator for record in finished for result in record.results}.union(
        failure.name for record in finished for failure in record.evaluator_failures
    )


def written(source: EvaluatorSpec) -> str:
    """An evaluator as it would be written."""
    arguments: Mapping[str, Any] = plain(source.arguments)
    return f"{source.name}({', '.join(f'{name}={value!r}' for name, value in sorted(arguments.items()))})"


def _listed(name: str, apart: Mapping[str, _Apart]) -> list[ChangedEvaluator]:
    return [
        ChangedEvaluator(
            case=case,
            name=name,
            baseline=tuple(sorted(each.baseline)),
            candidate=tuple(sorted(each.candidate)),
            how=each.how,
        )
        for case, each in apart.items()
    ]


def _only(
    evaluator: str, cases: Mapping[str, tuple[str, ...]], *, in_candidate: bool
) -> list[ChangedEvaluator]:
    if in_candidate:
        return [ChangedEvaluator(case=case, name=evaluator, candidate=shown) for case, shown in cases.items()]
    return [ChangedEvaluator(case=case, name=evaluator, baseline=shown) for case, shown in cases.items()]


def _words(apart: Iterable[_Apart], runs: tuple[str, str] = RUNS) -> str:
    """How evaluators differ: as they would be written or, where they look alike, by what a store knows."""
    found = list(apart)
    before, after = (
        sorted(set[str]().union(*each))
        for each in ([each.baseline for each in found], [each.candidate for each in found])
    )
    if not before and not after:
        return next((each.how for each in found if each.how is not None), "its code or its arguments changed")
    return f"{some(before)} in {runs[0]}, {some(after)} in {runs[1]}"


def some(shown: Sequence[str]) -> str:
    """A few evaluators, as they would be written."""
    return first_few([text if len(text) <= 200 else text[:199] + "…" for text in shown]) or "nothing else"
