"""The decision during a run: after every case, whether the gate's outcome is known, so that the rest need not be run.

Ordinary intervals are right once, at the end. Here every rule has two e-processes (`calipers.stats.EProcess`), one that gathers
evidence for PASS and one for FAIL, which may be looked at after every case. The run ends when one rule has failed, or when all
have passed at once. `judge_run` says the same afterwards, by the same statistics over the same attempts.

All looks on the way have 22 % of the doubt (`StopWhenDecided.share`). The rest is for one ordinary look at a run that comes to its end
undecided, which `judge_run` takes: with as many cases it decides nearly as often as if nothing had looked before, and both
together are wrong as rarely as the policy says (Bonferroni's inequality).

What cannot be decided this way is refused: times and metrics, which have no bounds, and cases in clusters, which are no independent
looks. An evaluator that the policy names and the dataset does not have fails the gate as soon as the others have shown that they
give no result of that name. Where a rule turns out to be undecidable during the run (a value outside its bounds, results of several
kinds, another evaluator than the baseline's), the run goes on, and `judge_run` says why.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import isclose
from typing import Any, Literal, get_args

from calipers.comparison.case_pairs import (
    RunCase,
    attempt_number,
    cases_of,
    check_report,
    pair_cases,
    without_faults,
)
from calipers.comparison.columns import PASS_RATE, Columns, Lost, lost_by, passes
from calipers.comparison.evaluator_changes import ComparedEvaluators
from calipers.data.case import Case
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, Kind, kind_of
from calipers.errors import InvalidOptionError
from calipers.report.report import Report
from calipers.stats import EProcess, stakes_for
from calipers.stats.sequential import Stakes

from .agreement_rules import Agreements
from .human_labels import ReadRun
from .paired_runs import (
    NO_RESULTS,
    PASSES,
    Losses,
    column_of,
    column_results,
    columns_of,
    unlimited,
)
from .policy import RATE, THESE_AT_THE_END, Policy, Rules, check_policy
from .verdict import limit_words, loss

Record = ReportCase | ReportCaseFailure


class StopWhenDecided:
    """A rule for `Dataset.evaluate(stop_when=...)`: end the run as soon as the policy is met, or cannot be.

    Args:
        policy: what the run has to meet; times and metrics cannot be decided early.
        baseline: the run to compare with, where a rule does.
        read_run: finds a run by what the policy calls it, for rules about the agreement of judges with people.

    One object serves one run. `share` is the part of the doubt that its looks have, all of them together.

    Raises:
        InvalidOptionError: nothing in the policy can be decided during a run, or something cannot.
        DatasetFileError: a line of a file of labels cannot be read, or lacks a rating.
        OSError: a file of labels cannot be read.
    """

    share = 0.22

    def __init__(
        self, policy: Policy, baseline: Report | None = None, *, read_run: ReadRun | None = None
    ) -> None:
        self.policy = policy
        self.baseline = baseline
        self.cases = 0
        """Cases that were looked at."""
        self.planned: int | None = None
        """Cases that there are to run, for which the bets are made; `None`: that was not said."""
        self._open: list[Record] = []
        self._lost = 0
        self._attempts = 0
        self._broken = 0
        self._names = set[str]()
        self.outcome: Literal["PASS", "FAIL"] | None = None
        """What was decided; `None` so far, or in the end, if nothing was."""
        self._expected = set[str]()
        """The evaluators that judge every case."""
        self._strange: list[str] = []
        """What the policy names and none of them is called."""
        check_policy(policy)
        if baseline is not None:
            check_report(baseline, "the baseline")
        _check(policy, baseline)
        self._old = None if baseline is None else Columns(without_faults(cases_of(baseline)))
        self._evaluators = ComparedEvaluators()
        self._by_name: dict[str, RunCase] = {}
        self._by_content: defaultdict[tuple[bytes, ...], list[RunCase]] = defaultdict(list)
        """The cases of each content, the first one last."""
        self._paired = set[str]()
        """The names of those that have their partner."""
        for case in [] if self._old is None else self._old.cases:
            _check_cluster(f"{case.name!r} of the baseline", case.cluster)
            self._by_name[case.name] = case
            self._by_content[case.content].append(case)
        for same in self._by_content.values():
            same.reverse()
        named = [*policy.evaluators.items(), *([(PASS_RATE, policy.pass_rate)] if policy.pass_rate else [])]
        self._subjects = [
            _Subject(name, rules, policy, self._old, self._evaluators, is_pass_rate=rules is policy.pass_rate)
            for name, rules in named
        ]
        self._agreements = Agreements(policy, read_run)
        sides = sum(len(subject.bets) for subject in self._subjects) + self._agreements.count
        self._parts = sides if policy.correction == "holm" else 1
        self._unfit = self._agreements.failing(1 - (1 - policy.confidence) / self._parts)
        """What a judge is held to, and does not meet."""

    def check_run(self, cases: Sequence[Case[Any, Any, Any]], evaluators: Sequence[str]) -> None:
        """Look at what is about to be run; `Dataset.evaluate` asks for it before the first case.

        Args:
            cases: of the dataset; none may be in a cluster. Those under faults of tools decide nothing.
            evaluators: the names of those that judge every case.
        """
        cases = [case for case in cases if case.fault is None]
        for number, case in enumerate(cases, 1):
            _check_cluster(repr(case.name or f"Case {number}"), case.cluster)
        self._expected = set(evaluators)
        if cases:
            self.planned = len(cases)
            for subject in self._subjects:
                for bet in subject.bets:
                    bet.plan(self.planned)
        if not any(case.evaluators or case.turns for case in cases):
            known = {
                name
                for each in evaluators
                for name in (each, *(f"{each} ({kind})" for kind in get_args(Kind)))
            }
            self._strange = [name for name in self.policy.evaluators if name not in known]

    def __call__(self, record: Record) -> str | None:
        """Take in a finished attempt; why no more are needed, or `None`."""
        if record.fault is not None:
            return None
        _check_cluster(repr(record.name), record.cluster)
        if self.outcome is not None or record.name in self._names:
            raise InvalidOptionError(
                "this StopWhenDecided has decided, or seen, another run: make one for each run"
            )
        self._names.add(record.name)
        self._attempts += 1
        self._lost += isinstance(record, ReportCaseFailure)
        self._broken += isinstance(record, ReportCase) and bool(record.evaluator_failures)
        if record.source_case_name is None:
            return self._look([record])
        self._open.append(record)  # attempts at a case come one after the other
        number, of = attempt_number(record)
        if number != of:
            return None
        done, self._open = self._open, []
        return self._look(done)

    def _look(self, attempts: list[Record]) -> str | None:
        self.cases += 1
        finished = [record for record in attempts if isinstance(record, ReportCase)]
        failed = [record for record in attempts if isinstance(record, ReportCaseFailure)]
        case = cases_of(Report(name="", cases=finished, failures=failed))[0]
        old = self._partner(case)
        if old is not None:
            self._evaluators.add(old.attempts, case.attempts)
        columns = Columns([case])
        self._agreements.add(case)
        for subject in self._subjects:
            apart = old is not None and self._evaluators.is_apart(case.name, subject.column)
            subject.add(case, columns, None if apart else old)
        failing = self._missing(finished) or self._failing()
        if failing is not None:
            self.outcome = "FAIL"
            return f"decided: FAIL ({failing})"
        if self._all_pass():
            self.outcome = "PASS"
            return "decided: PASS"
        return None

    def _missing(self, attempts: Sequence[ReportCase]) -> str | None:
        """What the policy names and nothing gives: every evaluator gave one result, under its own name."""
        for record in attempts if self._strange else ():
            given = {result.name for result in record.results}
            if given == self._expected == {result.evaluator for result in record.results}:
                return f"{self._strange[0]}: has to be there"
        return None

    def _partner(self, case: RunCase) -> RunCase | None:
        """The same case in the baseline, if no other one is paired with it already: what stands there once tells once."""
        same_name = self._by_name.get(case.name)
        waiting = self._by_content.get(case.content, [])
        while waiting and waiting[-1].name in self._paired:
            waiting.pop()
        free = [each for each in (same_name, *waiting[-1:]) if each and each.name not in self._paired]
        pairs, _ = pair_cases({each.name: each for each in free}.values(), [case])
        if not pairs:
            return None
        self._paired.add(pairs[0][0].name)
        return pairs[0][0]

    @property
    def _doubt(self) -> float:
        return self.share * (1 - self.policy.confidence) / 2

    def _failing(self) -> str | None:
        """The rule that has failed; `None` if none has so far."""
        for subject in self._subjects:
            for bet in subject.bets:
                if bet.fails(self._doubt / self._parts) and bet in subject.decidable:
                    return f"{subject.name}: {bet.rule}"
        heard = all(each.judged for each in self._subjects)
        if self._unfit is not None and heard and self._agreements.are_of_these_judges():
            return f"{self._unfit.subject}: {self._unfit.rule}"
        return None

    def _all_pass(self) -> bool:
        """Whether all rules have passed at once."""
        whole = self.cases >= self.policy.min_cases and all(each.is_large for each in self._subjects)
        return (
            whole
            and self._is_sound()
            and all(bet.passes(self._doubt) for each in self._subjects for bet in each.bets)
            and all(each.is_sound(self._attempts) for each in self._subjects)
            and self._agreements.hold
            and self._agreements.are_of_these_judges()
            and not any(rules.passport for rules in self.policy.rules)  # it is looked at when the run is over
        )

    def _is_sound(self) -> bool:
        policy, n = self.policy, self._attempts
        lost, broken = policy.max_task_failures, policy.max_evaluator_errors
        return (lost is None or self._lost <= lost * n) and (broken is None or self._broken <= broken * n)


class Bet:
    """One limit of a policy, and the evidence on both of its sides.

    Args:
        rule: the limit in words.
        limit: what the mean is compared with.
        bounds: between which every value lies.
        above: whether the good side is above the limit.
        distance: from the limit to what is planned for: a margin. `None` if nothing was.

    Raises:
        InvalidOptionError: the limit is not inside the bounds.
    """

    def __init__(
        self,
        rule: str,
        limit: float,
        bounds: tuple[float, float],
        *,
        above: bool,
        distance: float | None = None,
    ) -> None:
        low, high = bounds
        if not low < limit < high or isclose(limit, low) or isclose(limit, high):
            raise InvalidOptionError(
                f"{rule}: the limit has to lie inside the bounds {low:g} to {high:g} to be decided during a run; "
                "set bounds: in the policy, or gate the run when it is over"
            )
        self.rule = rule
        self.worst = 0.0 if above else 1.0
        """What an assertion that was lost counts as, so that a crash never helps."""
        self._limit = limit
        self._bounds = bounds
        self._is_above = above
        self._distance = distance
        self._begin(None)

    def _begin(self, stakes: Stakes | None) -> None:
        low, high = self._bounds
        self._above = EProcess(self._limit, low=low, high=high, stakes=stakes)
        self._below = EProcess(self._limit, low=low, high=high, alternative="less", stakes=stakes)
        self._good = self._above if self._is_above else self._below
        self._bad = self._below if self._is_above else self._above

    def plan(self, cases: int) -> None:
        """Bet what is best for at most so many cases; before the first one."""
        low, high = self._bounds
        self._begin(stakes_for(cases, self._limit, low=low, high=high, distance=self._distance))

    def add(self, value: float) -> None:
        """Take in the value of one more case."""
        self._above.add(value)
        self._below.add(value)

    def passes(self, doubt: float) -> bool:
        """Whether the mean is on the good side, but for this chance of being wrong at any look."""
        return self._good.e_value >= 1 / doubt

    def fails(self, doubt: float) -> bool:
        """Whether it is on the bad side."""
        return self._bad.e_value >= 1 / doubt


class _Subject:
    """An evaluator, or the pass rate, with its limits."""

    def __init__(
        self,
        name: str,
        rules: Rules,
        policy: Policy,
        old: Columns | None,
        evaluators: ComparedEvaluators,
        *,
        is_pass_rate: bool,
    ) -> None:
        self.name = name
        self.rules = rules
        self.policy = policy
        self.judged = 0
        self.paired = 0
        self._lost: Counter[Lost] = Counter()
        self._gone = Losses()
        """What the baseline lost at the same cases."""
        self._missing_results = 0
        self._newly_missing = False
        self._undecidable = False
        self._evaluators = evaluators
        self._old = old
        self._is_pass_rate = is_pass_rate
        self._key = None if is_pass_rate or old is None else column_of(old, name)
        self._theirs = NO_RESULTS
        if old is not None and is_pass_rate:
            self._theirs = PASSES
        elif old is not None and self._key is not None:
            self._theirs = column_results(old, self._key)
        self._waiting: list[tuple[RunCase, RunCase | None]] = []
        self._kind: Kind | None = "assertion" if is_pass_rate else self._key and self._key[1]
        self._makers = {name} if old is None or self._key is None else set(old.by_key[self._key].evaluators)
        if rules.margin is not None and not is_pass_rate and self._key is None:
            raise InvalidOptionError(f"the baseline has no result of {name!r}, which the policy compares")
        self.bets: list[Bet] = []
        self._levels: list[Bet] = []
        self._change: Bet | None = None
        self._sign = 1 if rules.better == "higher" else -1
        low, high = rules.range
        unit: Literal["rate", "number"] = "rate" if rules.range == RATE else "number"
        if rules.margin is not None:
            rule = f"not worse than the baseline by {loss(rules.margin, unit)} or more"
            self._change = Bet(
                rule, -rules.margin, (low - high, high - low), above=True, distance=rules.margin
            )
            self.bets.append(self._change)
        for limit, above in ((rules.at_least, True), (rules.at_most, False)):
            if limit is not None:
                rule = f"{'at least' if above else 'at most'} {limit_words(limit, unit)}"
                self._levels.append(Bet(rule, limit, rules.range, above=above))
        self.bets += self._levels

    @property
    def column(self) -> str | None:
        """The name of the results; `None` for passing, and for what the baseline lacks."""
        return self._key and self._key[0]

    @property
    def is_large(self) -> bool:
        """Whether enough cases were judged; with a margin, in both runs."""
        least = self.policy.min_cases if self.rules.min_cases is None else self.rules.min_cases
        return self.judged >= least and (self._change is None or self.paired >= least)

    @property
    def decidable(self) -> list[Bet]:
        """The limits that `judge_run` will be able to decide, too."""
        if self._undecidable:
            return []
        is_same = self._change is None or self._evaluators.is_same(self.column)
        return self.bets if is_same else self._levels

    def is_sound(self, attempts: int) -> bool:
        """Whether nothing but the limits stands between it and passing."""
        most, lost = self.rules.max_errors, self._lost
        if most is not None and lost["evaluator"] > most * attempts:
            return False
        if self._gone.beyond(self.policy, self.rules):
            return False
        skipped = self.rules.max_skipped
        if self._newly_missing if skipped is None else self._missing_results > skipped * attempts:
            return False
        open_tasks, open_errors = unlimited(self.policy, self.rules)
        missing = (open_tasks and lost["task"]) or (open_errors and lost["evaluator"])
        return len(self.decidable) == len(self.bets) and not (missing and self._kind == "score")

    def add(self, case: RunCase, columns: Columns, old: RunCase | None) -> None:
        """Take in a case, its columns, and the same case of the baseline."""
        mine = [] if self._is_pass_rate else columns_of(columns, self.name)
        self._makers.update(maker for key in mine for maker in columns.by_key[key].evaluators)
        if self._kind is None and mine:
            self._kind = mine[0][1]
        self._undecidable = self._undecidable or any(kind != self._kind for _, kind in mine)
        if self._kind == "label" and self.bets:
            raise InvalidOptionError(
                f"{self.name!r} gives labels, which have no mean to compare with a number"
            )
        self._waiting.append((case, old))
        if self._kind is None:
            return  # a lost case counts only where something is asserted, which is not known yet
        for each, before in self._waiting:
            self._take(each, before)
        self._waiting = []

    def _take(self, case: RunCase, old: RunCase | None) -> None:
        if not self._is_pass_rate:
            self._lost.update(self._losses(case))
        self._missing_results += self._missing_at(case)
        if self._kind == "label":
            self.judged += any(self._result(record) is not None for record in case.attempts)
            return
        if old is not None and self.bets and self._missing_at(case) and self._theirs.has_all(old):
            self._newly_missing = True
        if self._change is not None and old is not None:
            self._gone += self._theirs.lost([old])
        worst = 0.0 if self._sign > 0 else 1.0
        values, before = self._values(case, worst), self._before(old, worst)
        if not values:
            return
        self.judged += 1
        low, high = self.rules.range
        if self._undecidable or not all(low <= each <= high for each in (*values, *before)):
            self._undecidable = True
            return
        for bet in self._levels:
            bet.add(_mean(self._values(case, bet.worst)))
        if self._change is not None and before:
            self.paired += 1
            self._change.add(self._sign * (_mean(values) - _mean(before)))

    def _before(self, old: RunCase | None, lost: float) -> list[float]:
        """What the baseline has of the case, where a margin asks for it."""
        return [] if self._change is None or old is None else self._theirs.values(lost)(old)

    def _missing_at(self, case: RunCase) -> int:
        """Attempts without a result, though nothing failed."""
        if self._is_pass_rate:
            return PASSES.missing(case)
        return (
            len(case.attempts)
            - sum(self._result(each) is not None for each in case.attempts)
            - sum(self._losses(case).values())
        )

    def _losses(self, case: RunCase) -> Counter[Lost]:
        """Attempts without a result, because the task or the evaluator did not finish."""
        missing = (record for record in case.attempts if self._result(record) is None)
        return Counter(why for record in missing if (why := lost_by(record, self._makers)) is not None)

    def _values(self, case: RunCase, lost: float) -> list[float]:
        """The numbers of a case; an assertion that was lost counts as what is given."""
        if self._is_pass_rate:
            return passes(case, lost=lost)
        found: list[float] = []
        for record in case.attempts:
            value = self._result(record)
            if value is not None:
                found.append(float(value))
            elif self._kind == "assertion" and lost_by(record, self._makers) is not None:
                found.append(lost)
        return found

    def _result(self, record: Record) -> bool | float | str | None:
        results = record.results if isinstance(record, ReportCase) else ()
        return next((r.value for r in results if self._is_it(r, kind_of(r.value))), None)

    def _is_it(self, result: EvaluationResult, kind: Kind) -> bool:
        name = result.name
        return kind == self._kind and self.name in {name, f"{name} ({kind})", f"{result.evaluator}.{name}"}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _check_cluster(case: str, cluster: object) -> None:
    if cluster is not None:
        raise InvalidOptionError(
            f"case {case} is in the cluster {cluster!r}: cases of one cluster are no independent looks, so no run of them "
            "can be decided early; run all of it, and judge it when it is over, with `calipers gate` or judge_run"
        )


def _check(policy: Policy, baseline: Report | None) -> None:
    if policy.duration is not None or policy.metrics:
        raise InvalidOptionError(
            "duration and metrics have no bounds, so they cannot be decided during a run: gate a whole run by them, and "
            "leave them out of the policy that stops one"
        )
    if policy.population == "these-cases":
        raise InvalidOptionError(THESE_AT_THE_END)
    if policy.tags:
        raise InvalidOptionError(
            "which cases have a tag is not known before they ran, so rules for tags cannot be decided during a run: gate a whole "
            "run by them, and leave them out of the policy that stops one"
        )
    if any(rule.agreement is not None and rule.agreement.corrects for rule in policy.rules):
        raise InvalidOptionError(
            "corrects: true corrects the judge's mean over a whole run, so it cannot be decided during one: gate a whole run by it, "
            "and leave it out of the policy that stops one"
        )
    if not any(rule.has_limit for rule in policy.rules):
        raise InvalidOptionError("the policy has no margin, at_least or at_most that a run could decide")
    if policy.needs_baseline and baseline is None:
        raise InvalidOptionError("the policy compares with a baseline: name one")
