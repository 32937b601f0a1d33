"""What a policy asks of evaluators, the pass rate, times and metrics: claims to be decided, and findings that need no interval."""

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from calipers.comparison.case_pairs import RunCase
from calipers.comparison.columns import (
    PASS_RATE,
    ColumnKey,
    Columns,
    durations,
    metric,
    unpriced,
    without_metric,
)
from calipers.comparison.evaluator_changes import ChangedEvaluator
from calipers.comparison.missing_results import skipped_crashes
from calipers.errors import InvalidOptionError
from calipers.report.passport import Standing
from calipers.stats import stakes_for
from calipers.stats.number_text import first_few, plural
from calipers.stats.sequential import Stakes

from .agreement_rules import agreement_parts
from .claims import Claim
from .corrected_mean import corrected_parts
from .human_labels import ReadRun
from .measure import Level, MeanDifference, TotalGrowth, attempts_apart, is_inside
from .paired_runs import (
    NO_RESULTS,
    PASSES,
    Alone,
    Both,
    Losses,
    PairedRuns,
    SubjectResults,
    Values,
    column_of,
    column_results,
    columns_of,
    losses_of_tasks,
    newly_missing,
    unlimited,
)
from .passport_rules import passport_findings
from .policy import RATE, Growth, Policy, Rules
from .run_rules import absent, enough, few, undecided
from .verdict import Finding, Unit, limit_words, loss

TASK_TIME = "task time"

_NAMED_TAGS = 10
"""Tags that are named where a policy names another."""

Part: TypeAlias = Finding | Claim
Bounds: TypeAlias = tuple[float, float] | None


@dataclass(frozen=True, kw_only=True)
class _Subject:
    """What rules are about: the results of a name or, where it has none, passing."""

    title: str
    name: str | None = None
    ours: SubjectResults = PASSES
    theirs: SubjectResults = PASSES
    unit: Unit = "rate"
    differs: str | None
    """Why the baseline is not comparable; `None` if it is."""
    bounds: Bounds = RATE


class MeasuredRules:
    """The rules of a policy, applied to a run and its baseline."""

    def __init__(
        self,
        policy: Policy,
        runs: PairedRuns,
        *,
        anytime: bool,
        planned: int | None = None,
        read_run: ReadRun | None,
        task_timeout: float | None = None,
    ) -> None:
        self.policy = policy
        self.runs = runs
        self.anytime = anytime
        self.planned = planned
        self.read_run = read_run
        self.task_timeout = task_timeout
        self.passports = dict[str, Standing]()
        """By evaluator, whether it has a passport."""
        self.notes: list[str] = []
        """What a reader should know besides; complete when all parts have been taken."""
        self._left_out = dict[ChangedEvaluator, None]()
        """Cases that are left out of a comparison, since they bring another evaluator than in the baseline."""

    def parts(self) -> Iterator[Part]:
        """Everything that is asked of single evaluators, the pass rate, times and metrics."""
        policy, run, old = self.policy, self.runs.run, self.runs.baseline
        if policy.pass_rate is not None:
            yield from self.pass_rate_parts(PASS_RATE, policy.pass_rate)
        for tag, rules in policy.tags.items():
            yield from self._tag(tag, rules)
        for name, rules in policy.evaluators.items():
            yield from self._evaluator(name, rules)
        if policy.duration is not None:
            yield from self._growth(TASK_TIME, policy.duration, durations, "seconds")
        for name, growth in policy.metrics.items():
            zero = growth.missing_is_zero and old is not None and name in old.metrics
            if name not in run.metrics and unpriced(run.cases, name):
                yield from self._unpriced(name, growth)
            elif name not in run.metrics and not zero:
                there = ", ".join(map(repr, run.metrics)) or "none"
                yield absent(name, f"the run has no metric of this name; there are {there}")
            else:
                missing = 0.0 if growth.missing_is_zero else None
                yield from self._growth(name, growth, partial(metric, name=name, missing=missing), "number")
                if missing is None:
                    yield from self._unrecorded(name, growth)
                yield from self._unpriced(name, growth)
        self._note_left_out()

    # ------------------------------------------------------------------ pass rates

    def pass_rate_parts(self, subject: str, rules: Rules) -> Iterator[Part]:
        """What is asked of the pass rate over all cases of these runs."""
        run, old = self.runs.run, self.runs.baseline
        if run.asserts:
            differs = None if old is None else self._other_assertions(old)
            yield from self._rules(_Subject(title=subject, differs=differs), rules)
        else:
            yield self._no_rate(subject)

    def _no_rate(self, subject: str) -> Finding:
        if self.runs.run.cases or not self.runs.attempts_under_faults:
            return absent(subject, "nothing was asserted in this run")
        said = "every attempt was made under a fault of tools"
        return absent(subject, said, advice="attempt the cases without faults, too")

    def _tag(self, tag: str, rules: Rules) -> Iterator[Part]:
        """The same rules, for the part of both runs that has a tag."""
        subject = f"{PASS_RATE} of {tag!r}"
        part = copy.copy(self)
        part.runs = self.runs.tagged(tag)
        if not part.runs.run.cases:
            there = first_few([*map(repr, self.runs.tags)], _NAMED_TAGS) or "none"
            yield absent(subject, f"no case of this run has the tag; there are {there}")
            return
        if not rules.has_limit:
            said = plural(len(part.runs.run.cases), "case")
            yield Finding(subject=subject, rule="has to be there", outcome="PASS", said=said)
        yield from part.pass_rate_parts(subject, rules)

    # ------------------------------------------------------------------ evaluators

    def _other_assertions(self, old: Columns) -> str | None:
        """Why the pass rate of the baseline is not comparable; `None` if the same evaluators assert in both."""
        if not old.asserts:
            return "asserts nothing"
        theirs, ours = self.runs.evaluators.lone_assertions()
        if alone := [*theirs, *ours]:
            return f"was judged by other evaluators (only one of the runs has {first_few(alone)})"
        for name, how in self.runs.evaluators.differing_assertions().items():
            return f"was judged by another {name!r} ({how})"
        return None

    def _evaluator(self, name: str, rules: Rules) -> Iterator[Part]:
        run = self.runs.run
        key = column_of(run, name)
        several = columns_of(run, name)
        if len(several) > 1:
            names = " and ".join(repr(f"{each} ({kind})") for each, kind in several)
            yield undecided(
                name,
                "one kind of result",
                f"{name!r} gives results of several kinds, {names}: each alone leaves cases out",
                "let it give one kind of result, such as 0.0 instead of False, or name in the policy the column that you mean",
            )
            return
        if key is None and (named := _names_of_key(run, name)):
            said = f"this run has it as {', '.join(map(repr, named))}"
            yield absent(name, said, advice="name one of these in the policy")
            return
        if key is None:
            there = ", ".join(dict.fromkeys(repr(each) for each, _ in run.by_key)) or "none"
            yield absent(name, f"it gave no result in this run; there are {there}")
            return
        if key[1] == "label" and rules.has_limit:
            raise InvalidOptionError(
                f"the policy limits {name!r}, which gives labels: a label has no mean to compare with a number"
            )
        if rules.max_errors is not None:
            yield few(name, "errors", run.lost(key)["evaluator"], self.runs.attempts, rules.max_errors)
        if rules.agreement is not None:
            yield from self._noting(agreement_parts(name, rules, run, self.read_run))
        if rules.passport is not None:
            yield from passport_findings(name, run.by_key[key].evaluators, rules.passport, self.passports)
        if not rules.has_limit and rules.agreement is None and rules.passport is None:
            yield Finding(subject=name, rule="has to be there", outcome="PASS", said="it gave results")
        if key[1] == "label":
            labelled = sum(bool(run.labels(case, key[0])) for case in run.cases)
            yield from self._enough(name, labelled, rules)
            yield from self._skipped(name, rules, column_results(run, key))
            return
        ours, (theirs, differs) = column_results(run, key), self._in_baseline(name, key)
        unit: Unit = "rate" if key[1] == "assertion" else "number"
        bounds: Bounds = RATE
        if key[1] == "assertion":
            rules.check_inside(RATE, of=f"evaluators, {name!r}: ")
        elif rules.has_limit:
            wild = self._outside(rules, ours.values(0.0), theirs.values(0.0))
            if wild is not None and rules.bounds is not None:
                rule = f"every score from {rules.bounds[0]:g} to {rules.bounds[1]:g}"
                yield undecided(name, rule, wild, "correct the bounds in the policy, or the evaluator")
                return
            if wild is None:
                rules.check_inside(rules.range, only_vacuous=True, of=f"evaluators, {name!r}: ")
                bounds = rules.range
            else:
                bounds = None
                self.notes.append(
                    f"{name}: {wild}, and the policy states no bounds; its interval is Student's t, which is too sure where "
                    "few cases are much worse than the rest: set bounds"
                )
            lost = run.lost(key)
            yield from self._lost(name, "score", task=lost["task"], evaluator=lost["evaluator"], rules=rules)
        subject = _Subject(
            title=name, name=key[0], ours=ours, theirs=theirs, unit=unit, differs=differs, bounds=bounds
        )
        yield from self._rules(subject, rules)

    def _in_baseline(self, name: str, key: ColumnKey) -> tuple[SubjectResults, str | None]:
        """What the baseline has of an evaluator, and why that is not comparable; `None` if it is."""
        old = self.runs.baseline
        if old is None:
            return NO_RESULTS, None
        found = columns_of(old, name)
        if not found:
            return NO_RESULTS, "has no result of it"
        if found != [key]:
            kinds = ", ".join(f"{each} ({kind})" for each, kind in found)
            return NO_RESULTS, f"has other kinds of results: {kinds}"
        how = self.runs.evaluators.differing(key[0])
        return column_results(old, key), None if how is None else f"was judged by another evaluator ({how})"

    def _noting(self, parts: Iterator[Part | str]) -> Iterator[Part]:
        """The parts, without the notes among them, each of which is noted once."""
        for part in parts:
            if not isinstance(part, str):
                yield part
            elif part not in self.notes:
                self.notes.append(part)

    def _note_left_out(self) -> None:
        if self._left_out:
            cases = dict.fromkeys(each.case for each in self._left_out)
            named = [f"{each.case!r} ({each})" for each in self._left_out]
            self.notes.append(
                f"not compared on {plural(len(cases), 'case')}, judged by another evaluator in the baseline: "
                f"{first_few(named, between='; ')}"
            )

    @property
    def _paired(self) -> list[RunCase]:
        """The cases of the baseline that the run has, too."""
        return [case for case, _ in self.runs.pairs]

    def _outside(self, rules: Rules, values: Values, before: Values) -> str | None:
        """The first case with a score that does not lie between the bounds, in words; `None` if all do."""
        old = self._paired if rules.margin is not None else []
        wild = [
            (case.name, number, where)
            for cases, numbers, where in (
                (self.runs.run.cases, values, ""),
                (old, before, " in the baseline"),
            )
            for case in cases
            for number in numbers(case)
            if not is_inside(number, rules.range)
        ]
        if not wild:
            return None
        name, number, where = wild[0]
        low, high = rules.range
        more = f", and {plural(len(wild) - 1, 'more score')}" if len(wild) > 1 else ""
        lie = "lies" if len(wild) == 1 else "lie"
        return f"the score {number:g} of case {name!r}{where}{more} {lie} outside {low:g} to {high:g}"

    def _rules(self, subject: _Subject, rules: Rules) -> Iterator[Part]:
        """The limits of one subject."""
        title, ours, unit = subject.title, subject.ours, subject.unit
        alone = self.runs.alone(ours.values(0.0))
        yield from self._enough(title, len(alone.cases), rules)
        less = rules.at_most is not None or (rules.margin is not None and rules.better == "lower")
        if less and unit == "rate":
            crashed = sum(map(sum, self.runs.alone(ours.values(1.0)).cases)) - sum(map(sum, alone.cases))
            if crashed:
                self.notes.append(
                    f"{title}: less is better, and {plural(round(crashed), 'attempt')} that did not finish count as 1, not as 0: "
                    "a crash is no gain"
                )
        if rules.margin is not None:
            yield from self._margin(subject, rules, rules.margin)
        yield from self._skipped(title, rules, ours)
        if rules.max_skipped is None and rules.has_limit:
            yield from self._newly_missing(subject)
        agreement = rules.agreement
        if subject.name is not None and agreement is not None and agreement.corrects:
            key: ColumnKey = (subject.name, "assertion" if unit == "rate" else "score")
            yield from self._noting(
                corrected_parts(title, agreement, rules, self.runs.run, key, self.read_run)
            )
            return
        for limit, above in ((rules.at_least, True), (rules.at_most, False)):
            if limit is not None:
                counted = self._units(self.runs.alone(ours.values(_worst(above=above))))
                level = Level(
                    cases=counted.cases,
                    clusters=counted.clusters,
                    bounds=subject.bounds,
                    is_rate=unit == "rate",
                    anytime=self.anytime,
                    stakes=self._stakes(limit, subject.bounds),
                )
                rule = f"{'at least' if above else 'at most'} {limit_words(limit, unit)}"
                yield self._claim(level, subject=title, rule=rule, limit=limit, above=above, unit=unit)

    def _margin(self, subject: _Subject, rules: Rules, margin: float) -> Iterator[Part]:
        title, name, ours, theirs = subject.title, subject.name, subject.ours, subject.theirs
        rule = (
            f"not worse than the baseline by {loss(margin, subject.unit)} or more"
            if margin
            else "better than the baseline"
        )
        if self.runs.baseline is None:
            yield undecided(title, rule, "there is no baseline to compare with", "name one with --baseline")
            return
        if subject.differs is not None:
            way = (
                "run the baseline's task again on the cases of this run, since they bring the evaluators"
                if self.runs.evaluators.is_brought(name)
                else "judge the baseline again with the evaluators of this run: `calipers score BASELINE --evaluators ... --replace`"
            )
            yield undecided(title, rule, f"the baseline {subject.differs}", way)
            return
        self._left_out.update(dict.fromkeys(self.runs.evaluators.changed(name)))
        above = rules.better == "higher"
        worst = _worst(above=above)
        pairs = self.runs.alike(name)
        both = self.runs.both(ours.values(worst), theirs.values(worst), pairs)
        self.notes.extend(skipped_crashes(title, pairs, theirs.values(worst), ours.values(worst)))
        if not both.run:
            yield undecided(title, rule, "no case was judged in both runs", "run both on the same cases")
            return
        if len(both.run) < self._least(rules):
            yield enough(title, len(both.run), self._least(rules), kind=" judged in both runs")
        yield from self._broken_baseline(title, theirs.lost([case for case, _ in pairs]), rules)
        both = self._pairs(both)
        limit = -margin if margin and above else margin
        bounds = subject.bounds
        reach = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
        change = MeanDifference(
            run=both.run,
            baseline=both.baseline,
            clusters=both.clusters,
            bounds=reach,
            is_rate=subject.unit == "rate",
            anytime=self.anytime,
            stakes=self._stakes(limit, reach, margin),
        )
        yield self._claim(
            change,
            subject=title,
            rule=rule,
            limit=limit,
            above=above,
            par=0.0,
            unit=subject.unit,
            signed=True,
        )

    def _claim(self, measure: Level | MeanDifference | TotalGrowth, **fields: Any) -> Claim:
        """A claim about what more cases, or attempts at them, would settle."""
        return Claim(
            measure=measure,
            noun="attempt" if self.policy.population == "these-cases" else "case",
            in_clusters=measure.clusters is not None,
            anytime=self.anytime,
            **fields,
        )

    def _stakes(self, limit: float, bounds: Bounds, distance: float | None = None) -> Stakes | None:
        """Those of the rule that could end the run, if it knew how many cases there are."""
        if not self.anytime or self.planned is None or bounds is None or not bounds[0] < limit < bounds[1]:
            return None
        return stakes_for(self.planned, limit, low=bounds[0], high=bounds[1], distance=distance)

    def _units(self, alone: Alone) -> Alone:
        """What the interval counts: cases, or attempts where the policy asks about these cases alone."""
        if self.policy.population == "cases-like-these":
            return alone
        return Alone(attempts_apart(alone.cases)[0], None)

    def _pairs(self, both: Both) -> Both:
        """The same of both runs."""
        if self.policy.population == "cases-like-these":
            return both
        run, baseline = attempts_apart(both.run, both.baseline)
        return Both(run, baseline, None)

    def _enough(self, subject: str, judged: int, rules: Rules) -> Iterator[Finding]:
        """Whether enough cases were judged; without a `min_cases` of its own, only where they are too few."""
        if rules.min_cases is not None or judged < self._default_least:
            yield enough(subject, judged, self._least(rules), kind=" judged")

    def _least(self, rules: Rules) -> int:
        """Cases that have to be judged."""
        return self._default_least if rules.min_cases is None else rules.min_cases

    @property
    def _default_least(self) -> int:
        """Cases behind every rule that does not say; that a run is too small as a whole is a finding of its own."""
        least = self.policy.min_cases
        return least if len(self.runs.run.cases) >= least else 1

    def _lost(
        self, subject: str, what: str, *, task: int, evaluator: int = 0, rules: Rules | None = None
    ) -> Iterator[Finding]:
        """That attempts have no number, where the policy does not say how many may: those left may be the easy ones."""
        open_tasks, open_errors = unlimited(self.policy, rules)
        if not (task and open_tasks) and not (evaluator and open_errors):
            return
        ways = [
            *(["max_task_failures"] if task and open_tasks else []),
            *(["max_errors"] if evaluator and open_errors else []),
        ]
        yield undecided(
            subject,
            f"a {what} of every attempt",
            f"{task + evaluator:,} of {plural(self.runs.attempts, 'attempt')} have no {what}, and the others may be the easy ones",
            f"see what failed: `calipers show RUN`; say in the policy how many may: {' and '.join(ways)}",
        )

    def _skipped(self, subject: str, rules: Rules, ours: SubjectResults) -> Iterator[Finding]:
        """How many attempts have no result though nothing failed, where the policy says how many may."""
        if rules.max_skipped is not None:
            missing = sum(map(ours.missing, self.runs.run.cases))
            yield few(subject, "skipped", missing, self.runs.attempts, rules.max_skipped)

    def _newly_missing(self, subject: _Subject) -> Iterator[Finding]:
        """That cases lost the result that they have in the baseline: skipping what is hard must not leave what is easy."""
        names = newly_missing(self.runs.alike(subject.name), subject.theirs, subject.ours)
        if names:
            yield undecided(
                subject.title,
                "a result wherever the baseline has one",
                f"{plural(len(names), 'case')} with a result in the baseline lack one in this run, though nothing failed: "
                f"{first_few([*map(repr, names)])}",
                "see why it was skipped: `calipers show RUN`; say in the policy on what share of attempts it may be: max_skipped",
            )

    def _broken_baseline(self, subject: str, gone: Losses, rules: Rules | None) -> Iterator[Finding]:
        """That the baseline lost more than the policy allows a run to lose: beside it, anything looks good."""
        beyond = gone.beyond(self.policy, rules)
        if beyond:
            yield undecided(
                subject,
                "a baseline that is sound",
                f"the baseline lost {gone.total:,} of its {plural(gone.attempts, 'attempt')} at these cases to failed tasks or "
                "evaluators, and beside that anything looks good",
                f"run the baseline again, or say in the policy how many may be lost: {' and '.join(beyond)}",
            )

    # ------------------------------------------------------------------ times and metrics

    def _most(self, subject: str, growth: Growth, values: Values) -> tuple[float | None, str | None]:
        """The largest value that there can be, and the first case, in words, that has one beyond what the policy states."""
        limit = growth.max_possible
        if limit is None and subject == TASK_TIME and self.task_timeout is not None:
            limit = self.task_timeout
        cases = [*self.runs.run.cases, *(self._paired if growth.max_growth is not None else [])]
        wild = [
            (case.name, number)
            for case in cases
            for number in values(case)
            if limit is not None and not is_inside(number, (0.0, limit))
        ]
        if not wild:
            return limit, None
        if growth.max_possible is None:
            return None, None  # some case has a time-out of its own, and how long the longest is is not known
        name, number = wild[0]
        return None, f"{number:g} of case {name!r} does not lie between 0 and {limit:g}"

    def _growth(self, subject: str, growth: Growth, values: Values, unit: Unit) -> Iterator[Part]:
        if self.anytime:
            said = "the run was looked at many times, and what has no bounds has no interval that allows it"
            yield undecided(subject, "limits", said, "gate a run by it that was not stopped early")
            return
        most, wild = self._most(subject, growth, values)
        if wild is not None:
            rule = f"no value above {limit_words(growth.max_possible or 0.0, unit)}"
            yield undecided(subject, rule, wild, "correct max_possible in the policy")
            return
        if most is None:
            self.notes.append(
                f"{subject}: its intervals are approximate; a rare value that is much larger than those seen makes the rule err "
                "more often than the policy says: state the largest that there can be, a time-out or a budget, as max_possible"
            )
        yield from self._lost(subject, "number", task=losses_of_tasks(self.runs.run.cases).total)
        measured = len(self.runs.alone(values).cases)
        if measured < self._default_least:
            yield enough(subject, measured, self._default_least, kind=" measured")
        if growth.max_growth is not None:
            rule = f"grows by less than {limit_words(growth.max_growth, 'growth')} against the baseline"
            both = self.runs.both(values, values)
            if both.run and len(both.run) < self._default_least:
                yield enough(subject, len(both.run), self._default_least, kind=" measured in both runs")
            if not both.run:
                none = self.runs.baseline is None
                said = "there is no baseline to compare with" if none else "no case has it in both runs"
                yield undecided(subject, rule, said, "run both on the same cases")
            else:
                yield from self._broken_baseline(subject, losses_of_tasks(self._paired), None)
                both = self._pairs(both)
                grown = TotalGrowth(run=both.run, baseline=both.baseline, clusters=both.clusters, most=most)
                yield self._claim(
                    grown,
                    subject=subject,
                    rule=rule,
                    limit=growth.max_growth,
                    above=False,
                    par=0.0,
                    unit="growth",
                )
        if growth.at_most is not None:
            alone = self._units(self.runs.alone(values))
            bounds = None if most is None else (0.0, most)
            level = Level(cases=alone.cases, clusters=alone.clusters, bounds=bounds)
            rule = f"at most {limit_words(growth.at_most, unit)}"
            yield self._claim(level, subject=subject, rule=rule, limit=growth.at_most, above=False, unit=unit)

    def _unpriced(self, name: str, growth: Growth) -> Iterator[Finding]:
        """How many model calls a cost leaves out: a lower bound shows neither that it is low nor that it has not grown."""
        sides = [(self.runs.run.cases, "of this run")]
        if growth.max_growth is not None:
            sides.append((self._paired, "of the baseline"))
        for cases, where in sides:
            if lacking := unpriced(cases, name):
                yield undecided(
                    name,
                    "a price for every call",
                    f"{plural(lacking, 'model call')} {where} {'has' if lacking == 1 else 'have'} no known price, so the cost is at least what was counted",
                    "give the prices of these models in the project file, under prices, or to set_prices",
                )

    def _unrecorded(self, name: str, growth: Growth) -> Iterator[Finding]:
        """How many attempts finished without a metric: a cost that is recorded where it is small is no cost."""
        sides = [(self.runs.run.cases, "of this run")]
        if growth.max_growth is not None:
            sides.append((self._paired, "of the baseline"))
        for cases, where in sides:
            finished = sum(len(case.attempts) for case in cases) - losses_of_tasks(cases).total
            missing = without_metric(cases, name)
            if missing > (growth.max_missing or 0.0) * finished:
                yield undecided(
                    name,
                    "a number of every attempt",
                    f"{missing:,} of {plural(finished, 'attempt')} {where} that finished did not record it, and the others may be "
                    "the cheap ones",
                    "record it in every attempt; or say in the policy that those had none of it, missing_is_zero, or what share may "
                    "be left out, max_missing",
                )


def _worst(*, above: bool) -> float:
    """What an assertion counts as that was lost: what a limit from below, or from above, likes least."""
    return 0.0 if above else 1.0


def _names_of_key(columns: Columns, key: str) -> list[str]:
    """What the columns are called whose evaluators give a key, where the key alone does not say which."""
    ends = (f".{key}", f"[{json.dumps(key, ensure_ascii=False)}]")
    return list(
        dict.fromkeys(
            name
            for (name, _), one in columns.by_key.items()
            for maker in one.evaluators
            if name.removeprefix(maker) in ends
        )
    )
