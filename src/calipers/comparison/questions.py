"""The questions that a comparison asks of two runs: the pass rate, every column and every measure that both have."""

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import msgspec

from calipers.data.case import FAULT_TAG, NO_FAULT
from calipers.data.record import ReportCaseFailure
from calipers.data.spending import BESIDE_COSTS
from calipers.errors import InvalidOptionError
from calipers.stats.number_text import plural

from .case_pairs import Pair, Record, RunCase, attempt_number
from .change import (
    Cases,
    Change,
    ChangeKind,
    Clusters,
    Direction,
    LabelChange,
    Population,
    Question,
    change_of,
    clusters_of,
    label_change,
)
from .columns import PASS_RATE, ColumnKey, Columns, durations, metric, passes
from .evaluator_changes import ChangedEvaluator, ComparedEvaluators, EvaluatorChanges
from .flips import Flip, FlippedTraces, flipped_assertion, flips_of, told, untold
from .missing_results import missing_results, skipped_crashes, unrecorded

_DROPPED = frozenset({"score", "duration", "metric"})
"""What an attempt that crashed does not have; of an assertion it counts as one that does not hold."""
_SLICES = 12
"""Tags that are compared: more would cost all of them their power."""
DURATION = "task duration"
"""What the time of a task is called."""

_LESS = re.compile(
    r"(?:^|[^a-z])(?:costs?|price|usd|eur|dollars?|cents?|tokens?|durations?|latency|latencies|seconds|secs?|ms|time|ttft)(?:$|[^a-z])"
)
"""Words in the name of a metric that is good when it is small."""

Numbers = Callable[[Columns, RunCase], list[float]]
"""Gives the numbers of a case."""


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked of two runs, and found; p-values are not adjusted yet."""

    pass_rate: Change | None
    slices: tuple[Change, ...]
    evaluators: tuple[Change, ...]
    measures: tuple[Change, ...]
    labels: tuple[LabelChange, ...]
    flips: tuple[Flip, ...]
    baseline_only: tuple[str, ...]
    candidate_only: tuple[str, ...]
    changed_evaluators: tuple[ChangedEvaluator, ...]
    problems: tuple[str, ...]
    """Columns that cannot be compared, and why."""


class Runs(NamedTuple):
    """Two runs, and the cases that are the same in both."""

    baseline: Columns
    candidate: Columns
    pairs: Sequence[Pair]
    evaluators: ComparedEvaluators
    problems: list[str]
    """What could not be compared, as it is found."""

    def alike(self, *names: str | None) -> "Runs":
        """Without the cases whose results of these names, or passes where one is `None`, are of other evaluators in each run."""
        apart = {each.case for name in names for each in self.evaluators.changed(name)}
        return (
            self._replace(pairs=[pair for pair in self.pairs if pair[1].name not in apart]) if apart else self
        )


class Questions(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of every two runs."""

    confidence: float
    evaluators: frozenset[str] | None
    """The columns to compare; `None` for all."""
    smallest: float
    smallest_relative: float
    lower_is_better: frozenset[str]
    population: Population = "cases-like-these"
    at_once: int = 1
    """Pairs of runs that are asked the same; intervals of the pass rate, and of each evaluator, hold for all of them together."""
    tells_flips: bool = True
    """Whether flips tell what their attempts gave; False: the attempts were read without it."""

    def check_names(self, sides: Sequence[Columns]) -> None:
        """Refuse names that no run has: a mistyped one must not look like nothing to report."""
        columns = {name for side in sides for name, _ in side.by_key}
        metrics = {name for side in sides for name in side.metrics}
        asked = ((self.evaluators or frozenset(), columns, "evaluator"),)
        for names, known, what in (*asked, (self.lower_is_better, columns | metrics, "score or metric")):
            for name in sorted(names - known):
                raise InvalidOptionError(
                    f"no {what} of these reports is called {name!r}; there are {', '.join(map(repr, sorted(known))) or 'none'}"
                )

    def ask(
        self,
        baseline: Columns,
        candidate: Columns,
        pairs: Sequence[Pair],
        changes: Mapping[str, str] | EvaluatorChanges | None,
        *,
        under_faults: tuple[Columns, Columns, Sequence[Pair]],
    ) -> Answers:
        """All questions about two runs, of which the pairs are the same cases, and some evaluators are known to differ.

        What both have under faults of the agent's tools makes slices, and nothing else.
        """
        evaluators = ComparedEvaluators.of(pairs, baseline.cases, candidate.cases, changes=changes)
        runs = Runs(baseline, candidate, pairs, evaluators, [])
        candidate.adopt(baseline)
        baseline.adopt(candidate)
        wanted = [key for key in baseline.by_key if self._wants(key)]
        runs.problems.extend(
            _mixed([key for side in (baseline, candidate) for key in side.by_key if self._wants(key)])
        )
        shared = [key for key in wanted if key in candidate.by_key]
        headline, slices = None, tuple[Change, ...]()
        if baseline.asserts and candidate.asserts and self.evaluators is None:
            alike = runs.alike(None)
            headline = self._change(
                alike,
                PASS_RATE,
                "pass rate",
                lambda _, case: passes(case),
                together=True,
                warning=_headline_warning(runs),
            )
            runs.problems.extend(missing_results("the pass rate", None, alike.pairs, baseline, candidate))
            runs.problems.extend(skipped_crashes("the pass rate", alike.pairs, passes, passes))
            slices = self._slices(runs)
            first, second, faulty_pairs = under_faults
            if first.cases or second.cases:
                slices = tuple(
                    each for each in slices if each.name != f"{FAULT_TAG}{NO_FAULT}"
                )  # it is the headline
                known = ComparedEvaluators.of(faulty_pairs, first.cases, second.cases, changes=changes)
                slices += self._slices(Runs(first, second, faulty_pairs, known, runs.problems))
        runs.problems.extend(_missing_results(runs, shared))
        runs.problems.extend(unrecorded(pairs, baseline, candidate))
        return Answers(
            pass_rate=headline,
            slices=slices,
            flips=self._flips(runs),
            evaluators=self._columns(runs, shared),
            measures=self._measures(runs),
            labels=self._labels(runs, shared),
            baseline_only=_lone_columns(wanted, candidate),
            candidate_only=_lone_columns([key for key in candidate.by_key if self._wants(key)], baseline),
            changed_evaluators=self._changed(runs, shared),
            problems=tuple(runs.problems),
        )

    def _flips(self, runs: Runs) -> tuple[Flip, ...]:
        """The cases that flipped, of those that are judged alike."""
        alike = runs.alike(*([None] if self.evaluators is None else sorted(self.evaluators))).pairs
        found = flips_of(
            (
                (two.name, self._passes(runs.baseline, one), self._passes(runs.candidate, two))
                for one, two in alike
            ),
            confidence=self.confidence,
        )
        wanted = {flip.case for flip in found}
        pairs = {two.name: (one, two) for one, two in alike if two.name in wanted}
        traces = FlippedTraces()
        return tuple(self._shown(flip, pairs[flip.case], runs, traces) for flip in found)

    def _shown(self, flip: Flip, pair: Pair, runs: Runs, traces: FlippedTraces) -> Flip:
        """A flip with the assertions that flipped, and with what an attempt of each run gave and did."""
        shared = runs.baseline.by_key.keys() & runs.candidate.by_key.keys()
        keys = [
            key
            for key in runs.baseline.by_key
            if key in shared and key[1] == "assertion" and self._wants(key)
        ]
        held = [
            (key[0], self._held(runs.baseline, pair[0], key), self._held(runs.candidate, pair[1], key))
            for key in keys
        ]
        passes_now = 2 * flip.candidate_passed > flip.candidate_attempts
        one = self._typical(runs.baseline, pair[0], passed=not passes_now)
        two = self._typical(runs.candidate, pair[1], passed=passes_now)
        found = msgspec.structs.replace(
            flip,
            assertions=tuple(
                flipped_assertion(name, one, two)
                for name, before, after in held
                if None not in {before, after} and before != after
            ),
            baseline_attempt=attempt_number(one)[0],
            candidate_attempt=attempt_number(two)[0],
        )
        return told(found, one, two, traces) if self.tells_flips else untold(found)

    def _typical(self, side: Columns, case: RunCase, *, passed: bool) -> Record:
        """The first attempt at a case that passed, or that did not."""
        alone = (dataclasses.replace(case, attempts=[record]) for record in case.attempts)
        wanted = [float(passed)]
        return next(
            (each.attempts[0] for each in alone if self._passes(side, each) == wanted), case.attempts[0]
        )

    def _held(self, side: Columns, case: RunCase, key: ColumnKey) -> bool | None:
        """Whether an assertion is as it should be in most attempts at a case; `None` if none has it."""
        less = key[0] in self.lower_is_better
        values = side.scores(case, key, lost=float(less))
        share = sum(values) / len(values) if values else None
        return None if share is None else (share < 0.5 if less else share > 0.5)

    def _changed(self, runs: Runs, keys: Sequence[ColumnKey]) -> tuple[ChangedEvaluator, ...]:
        """The cases that are left out of the pass rate, or of a column, since their evaluators differ."""
        names: list[str | None] = [*dict.fromkeys(name for name, _ in keys)]
        if self.evaluators is None:
            names.append(None)
        found = dict.fromkeys(each for name in names for each in runs.evaluators.changed(name))
        return tuple(sorted(found, key=lambda each: (each.case, each.name)))

    def _slices(self, runs: Runs) -> tuple[Change, ...]:
        """The pass rate of each tag that both runs have: those with the most cases, whatever came of them."""
        if runs.pairs:
            runs = runs.alike(None)
            counts = Counter(tag for one, two in runs.pairs for tag in {*one.tags, *two.tags})
        else:
            before, after = (
                Counter(tag for case in side.cases for tag in set(case.tags))
                for side in (runs.baseline, runs.candidate)
            )
            counts = before & after
        largest = sorted(counts, key=lambda tag: (-counts[tag], tag))[:_SLICES]
        found = (
            self._change(_tagged(runs, tag), tag, "pass rate", lambda _, case: passes(case))
            for tag in largest
        )
        return tuple(change for change in found if change is not None)

    def _passes(self, side: Columns, case: RunCase) -> list[float]:
        if self.evaluators is None:
            return passes(case)
        return side.held(case, self.evaluators, lower_is_better=self.lower_is_better)

    def _wants(self, key: ColumnKey) -> bool:
        return self.evaluators is None or key[0] in self.evaluators

    def _columns(self, runs: Runs, keys: Sequence[ColumnKey]) -> tuple[Change, ...]:
        found: list[Change] = []
        for key in keys:
            name, kind = key
            if kind == "label":
                continue
            lost = [side.lost(key)["evaluator"] for side in (runs.baseline, runs.candidate)]
            if kind == "score" and any(lost):
                runs.problems.append(
                    f"{name!r} did not finish on {plural(lost[0], 'attempt')} of the baseline and {lost[1]:,} of the "
                    "candidate, which have no score: the others may be the easy ones"
                )
            better: Direction = "lower" if name in self.lower_is_better else "higher"
            worst = 1.0 if better == "lower" else 0.0
            alike = runs.alike(name)
            change = self._change(
                alike,
                name,
                kind,
                lambda side, case, key=key, worst=worst: side.scores(case, key, lost=worst),  # type: ignore[misc]
                better=better,
                together=True,
                warning=_warning(runs, name),
                baseline_lost=lost[0],
                candidate_lost=lost[1],
            )
            if change is not None and kind == "assertion" and any(lost):
                judged = self._change(
                    alike,
                    name,
                    kind,
                    lambda side, case, key=key, worst=worst: side.scores(case, key, judged=True, lost=worst),  # type: ignore[misc]
                )
                difference = None if judged is None else judged.difference
                change = msgspec.structs.replace(change, judged_difference=difference)
            if change is not None:
                found.append(change)
        return tuple(found)

    def _measures(self, runs: Runs) -> tuple[Change, ...]:
        names = [
            name
            for name in runs.baseline.metrics
            if name in runs.candidate.metrics and name not in BESIDE_COSTS
        ]
        found = [
            self._change(
                runs,
                DURATION,
                "duration",
                lambda _, case: durations(case),
                better="lower",
            )
        ]
        for name in names:
            lower = name in self.lower_is_better or _LESS.search(name.lower()) is not None
            found.append(
                self._change(
                    runs,
                    name,
                    "metric",
                    lambda _, case, name=name: metric(case, name),  # type: ignore[misc]
                    better="lower" if lower else None,
                )
            )
        return tuple(change for change in found if change is not None)

    def _labels(self, runs: Runs, keys: Sequence[ColumnKey]) -> tuple[LabelChange, ...]:
        found = (
            label_change(
                key[0],
                runs.alike(key[0]).pairs,
                runs.baseline,
                runs.candidate,
                confidence=self.confidence,
                warning=_warning(runs, key[0]),
            )
            for key in keys
            if key[1] == "label"
        )
        known = tuple(change for change in found if change is not None)
        return known if self.population == "cases-like-these" else tuple(map(_without_interval, known))

    def _change(
        self,
        runs: Runs,
        name: str,
        kind: ChangeKind,
        numbers: Numbers,
        *,
        better: Direction | None = "higher",
        together: bool = False,
        **notes: Any,
    ) -> Change | None:
        """What became of one column; `None`, and a problem, where its numbers are beyond what floats can hold."""
        # By Bonferroni, whatever the pairs have to do with each other: each may miss with its share of the doubt.
        alone = 1 - (1 - self.confidence) / self.at_once if together else self.confidence
        try:
            question = self._question(runs, name, kind, numbers, better=better, confidence=alone, **notes)
            return _at_confidence(change_of(question), self.confidence)
        except (ValueError, OverflowError) as error:
            runs.problems.append(f"{name!r} cannot be compared: {error}")
            return None

    def _question(self, runs: Runs, name: str, kind: ChangeKind, numbers: Numbers, **notes: Any) -> Question:
        """One question, over the cases that have an answer in both runs."""
        before: Cases
        after: Cases
        clusters: Clusters
        clusters_too: Clusters
        if runs.pairs:
            # Tuples of numbers, unlike lists, are soon forgotten by the garbage collector, which has much to walk through here.
            before = [tuple(numbers(runs.baseline, case)) for case, _ in runs.pairs]
            after = [tuple(numbers(runs.candidate, case)) for _, case in runs.pairs]
            if kind in _DROPPED:
                notes["lost_cases"] = sum(
                    _is_short(kind, case, one) or _is_short(kind, other, two)
                    for (case, other), one, two in zip(runs.pairs, before, after, strict=True)
                )
            known = [bool(one and two) for one, two in zip(before, after, strict=True)]
            before, after = list(compress(before, known)), list(compress(after, known))
            clusters = clusters_of(
                [
                    other.cluster if case.cluster is None else case.cluster
                    for case, other in compress(runs.pairs, known)
                ]
            )
            clusters_too = clusters
        else:
            before, clusters = _numbers(runs.baseline, numbers)
            after, clusters_too = _numbers(runs.candidate, numbers)
        return Question(
            name=name,
            kind=kind,
            baseline=before,
            candidate=after,
            paired=bool(runs.pairs),
            baseline_clusters=clusters,
            candidate_clusters=clusters_too,
            smallest=self.smallest,
            smallest_relative=self.smallest_relative,
            population=self.population,
            **notes,
        )


def _without_interval(change: LabelChange) -> LabelChange:
    """How many labels changed, without the interval, which is about cases like these."""
    if change.changed is None:
        return change
    return msgspec.structs.replace(change, changed=msgspec.structs.replace(change.changed, interval=None))


def _at_confidence(change: Change | None, confidence: float) -> Change | None:
    """The change with the confidence that its interval has together with those of other pairs."""
    if change is None or change.interval is None:
        return change
    interval = msgspec.structs.replace(change.interval, confidence=confidence)
    return msgspec.structs.replace(change, interval=interval)


def _tagged(runs: Runs, tag: str) -> Runs:
    """The part of two runs that has a tag; a pair has the tags of both."""
    if runs.pairs:
        return runs._replace(pairs=[(one, two) for one, two in runs.pairs if tag in (*one.tags, *two.tags)])
    baseline, candidate = (
        Columns(case for case in side.cases if tag in case.tags) for side in (runs.baseline, runs.candidate)
    )
    return runs._replace(baseline=baseline, candidate=candidate)


def _is_short(kind: ChangeKind, case: RunCase, found: Sequence[float]) -> bool:
    """Whether a case lacks numbers since something crashed; what was skipped, or never measured, is not lost."""
    return len(found) < len(case.attempts) and any(
        isinstance(record, ReportCaseFailure) or (kind == "score" and record.evaluator_failures)
        for record in case.attempts
    )


def _mixed(keys: Sequence[ColumnKey]) -> list[str]:
    """The names that stand for several kinds of results, such as False for bad and a number for good."""
    kinds: dict[str, dict[str, None]] = {}
    for name, kind in keys:
        kinds.setdefault(name, {})[kind] = None
    return [
        f"{name!r} gives results of several kinds ({', '.join(found)}), each compared only where it was given"
        for name, found in kinds.items()
        if len(found) > 1
    ]


def _missing_results(runs: Runs, keys: Sequence[ColumnKey]) -> Iterator[str]:
    """The results that only one run has of a case; a name with several kinds of results has its own warning."""
    names = Counter(name for side in (runs.baseline, runs.candidate) for name, _ in set(side.by_key))
    for key in keys:
        if names[key[0]] == 2:  # one column in each run
            pairs = runs.alike(key[0]).pairs
            yield from missing_results(repr(key[0]), key, pairs, runs.baseline, runs.candidate)
            if key[1] != "label":
                numbers = [partial(side.scores, key=key) for side in (runs.baseline, runs.candidate)]
                yield from skipped_crashes(repr(key[0]), pairs, *numbers)


def _lone_columns(keys: Sequence[ColumnKey], other: Columns) -> tuple[str, ...]:
    """The columns that the other run lacks; with their kind, if it has another kind of that name."""
    names = {name for name, _ in other.by_key}
    return tuple(
        f"{name} ({kind})" if name in names else name
        for name, kind in keys
        if (name, kind) not in other.by_key
    )


def _numbers(side: Columns, numbers: Numbers) -> tuple[Cases, Clusters]:
    known = [(found, case.cluster) for case in side.cases if (found := numbers(side, case))]
    return [found for found, _ in known], clusters_of([cluster for _, cluster in known])


def _headline_warning(runs: Runs) -> str | None:
    """Why passing may not mean the same in both runs: other assertions, or other evaluators behind them."""
    parts = [
        f"{', '.join(names)} only in the {where}"
        for names, where in zip(runs.evaluators.lone_assertions(), ("baseline", "candidate"), strict=True)
        if names
    ]
    if other := runs.evaluators.differing_assertions():
        parts.append(f"{', '.join(other)} not the same evaluator")
    return f"passing does not mean the same in both: {'; '.join(parts)}" if parts else None


def _warning(runs: Runs, name: str) -> str | None:
    """Why a column may not mean the same in both runs."""
    found = runs.evaluators.differing(name)
    return None if found is None else f"not the same evaluator: {found}"
