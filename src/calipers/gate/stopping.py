"""The decision during a run: after every case, whether the gate's outcome is known, so that the rest need not be run.

Ordinary intervals would be right once, at the end. Here every rule has two e-processes (`calipers.stats.EProcess`), one that gathers
evidence for PASS and one for FAIL, which may be looked at after every case. The run ends when one rule has failed, or when all
have passed at once. The levels are those of `judge_run`, which says the same afterwards by the same statistics over the same
attempts.

What cannot be decided so is refused: times and metrics, which have no bounds, and cases in clusters, which are no independent
looks.
"""

from collections import defaultdict
from typing import Literal

from calipers.comparison.cases import RunCase, cases_of, pair_cases
from calipers.comparison.columns import Columns, lost_by, passes
from calipers.errors import InvalidOptionError
from calipers.record import ReportCase, ReportCaseFailure
from calipers.report import Report
from calipers.result import Kind, kind_of

from .bet import Bet
from .limits import PASS_RATE
from .policy import Policy, Rules
from .sides import column_of
from .wording import limit_words, loss

Record = ReportCase | ReportCaseFailure


class StopWhenDecided:
    """A rule for `Dataset.evaluate(stop_when=...)`: end the run as soon as the policy is met, or cannot be.

    Args:
        policy: what the run has to meet; times and metrics cannot be decided early.
        baseline: the run to compare with, where a rule does.

    One object serves one run.

    Raises:
        InvalidOptionError: nothing in the policy can be decided during a run, or something cannot.
    """

    def __init__(self, policy: Policy, baseline: Report | None = None) -> None:
        self.policy = policy
        self.baseline = baseline
        self.cases = 0
        """Cases that were looked at."""
        self._open: list[Record] = []
        self._lost = 0
        self._attempts = 0
        self._broken = 0
        _check(policy, baseline)
        self._old = None if baseline is None else Columns(cases_of(baseline))
        self._by_name: dict[str, RunCase] = {}
        self._by_content: defaultdict[tuple[bytes, ...], list[RunCase]] = defaultdict(list)
        for case in [] if self._old is None else self._old.cases:
            self._by_name[case.name] = case
            self._by_content[case.content].append(case)
        named = [*policy.evaluators.items(), *([(PASS_RATE, policy.pass_rate)] if policy.pass_rate else [])]
        self._subjects = [
            _Subject(name, rules, self._old, is_pass_rate=rules is policy.pass_rate) for name, rules in named
        ]
        self._sides = sum(len(subject.bets) for subject in self._subjects) + _agreements(policy)

    def __call__(self, record: Record) -> str | None:
        """Take in a finished attempt; why no more are needed, or `None`."""
        if record.cluster is not None:
            raise InvalidOptionError(
                f"case {record.name!r} is in the cluster {record.cluster!r}: cases of one cluster are no independent looks, "
                "so the run cannot be decided early"
            )
        self._attempts += 1
        self._lost += isinstance(record, ReportCaseFailure)
        self._broken += isinstance(record, ReportCase) and bool(record.evaluator_failures)
        if record.source_case_name is None:
            return self._look([record])
        # Attempts at a case come one after the other: `name [2/2]` is the last of two.
        self._open.append(record)
        number, _, repeat = record.name.rpartition("[")[2].rstrip("]").partition("/")
        if number != repeat:
            return None
        done, self._open = self._open, []
        return self._look(done)

    def _look(self, attempts: list[Record]) -> str | None:
        self.cases += 1
        finished = [record for record in attempts if isinstance(record, ReportCase)]
        failed = [record for record in attempts if isinstance(record, ReportCaseFailure)]
        case = cases_of(Report(name="", cases=finished, failures=failed))[0]
        old = self._partner(case)
        for subject in self._subjects:
            subject.add(case, old)
        return self._decision()

    def _partner(self, case: RunCase) -> RunCase | None:
        """The same case in the baseline."""
        same_name = self._by_name.get(case.name)
        candidates = ([same_name] if same_name else []) + self._by_content.get(case.content, [])[:1]
        pairs, _ = pair_cases({each.name: each for each in candidates}.values(), [case])
        return pairs[0][0] if pairs else None

    def _decision(self) -> str | None:
        doubt = (1 - self.policy.confidence) / 2
        parts = self._sides if self.policy.correction == "holm" else 1
        for subject in self._subjects:
            for bet in subject.bets:
                if bet.fails(doubt / parts):
                    return f"decided: FAIL ({subject.name}: {bet.rule})"
        whole = self.cases >= self.policy.min_cases and all(each.is_large for each in self._subjects)
        if (
            whole
            and self._is_sound()
            and all(bet.passes(doubt) for each in self._subjects for bet in each.bets)
        ):
            return "decided: PASS"
        return None

    def _is_sound(self) -> bool:
        policy, n = self.policy, self._attempts
        lost, broken = policy.max_task_failures, policy.max_evaluator_errors
        return (lost is None or self._lost <= lost * n) and (broken is None or self._broken <= broken * n)


class _Subject:
    """An evaluator, or the pass rate, with its limits."""

    def __init__(self, name: str, rules: Rules, old: Columns | None, *, is_pass_rate: bool) -> None:
        self.name = name
        self.rules = rules
        self.judged = 0
        self._old = old
        self._is_pass_rate = is_pass_rate
        self._key = None if is_pass_rate or old is None else column_of(old, name)
        self._waiting: list[tuple[RunCase, RunCase | None]] = []
        self._kind: Kind | None = "assertion" if is_pass_rate else self._key and self._key[1]
        evaluators = {name} if old is None or self._key is None else old.by_key[self._key].evaluators
        self._evaluators = evaluators
        if rules.margin is not None and not is_pass_rate and self._key is None:
            raise InvalidOptionError(f"the baseline has no result of {name!r}, which the policy compares")
        self.bets: list[Bet] = []
        self._levels: list[Bet] = []
        self._change: Bet | None = None
        self._sign = 1 if rules.better == "higher" else -1
        low, high = rules.bounds
        unit: Literal["rate", "number"] = "rate" if rules.bounds == (0.0, 1.0) else "number"
        if rules.margin is not None:
            rule = f"not worse than the baseline by {loss(rules.margin, unit)} or more"
            self._change = Bet(rule, -rules.margin, (low - high, high - low), above=True)
            self.bets.append(self._change)
        for limit, above in ((rules.at_least, True), (rules.at_most, False)):
            if limit is not None:
                rule = f"{'at least' if above else 'at most'} {limit_words(limit, unit)}"
                self._levels.append(Bet(rule, limit, rules.bounds, above=above))
        self.bets += self._levels

    @property
    def is_large(self) -> bool:
        """Whether enough cases were judged."""
        return self.judged >= (self.rules.min_cases or 1)

    def add(self, case: RunCase, old: RunCase | None) -> None:
        """Take in a case, and the same one of the baseline."""
        if self._kind is None:
            self._kind = self._find_kind(case)
        if self._kind == "label" and self.bets:
            raise InvalidOptionError(
                f"{self.name!r} gives labels, which have no mean to be held against a number"
            )
        self._waiting.append((case, old))
        if self._kind is None:
            return  # a case that was lost counts only where something is asserted, and nobody knows that yet
        for each, before in self._waiting:
            self._take(each, before)
        self._waiting = []

    def _find_kind(self, case: RunCase) -> Kind | None:
        column = column_of(Columns([case]), self.name)
        return None if column is None else column[1]

    def _take(self, case: RunCase, old: RunCase | None) -> None:
        values = passes(case) if self._is_pass_rate else self._values(case)
        if not values:
            return
        self.judged += 1
        value = sum(values) / len(values)
        low, high = self.rules.bounds
        if not low <= value <= high:
            raise InvalidOptionError(
                f"{self.name!r} is {value!r} on case {case.name!r}, outside the bounds {low:g} to {high:g}: set bounds: in the "
                "policy to what its results can be"
            )
        for bet in self._levels:
            bet.add(value)
        if self._change is None or old is None or self._old is None:
            return
        before = passes(old) if self._key is None else self._old.scores(old, self._key)
        if before:
            self._change.add(self._sign * (value - sum(before) / len(before)))

    def _values(self, case: RunCase) -> list[float]:
        found: list[float] = []
        for record in case.attempts:
            results = record.results if isinstance(record, ReportCase) else ()
            value = next((r.value for r in results if self._is_it(r.name, kind_of(r.value))), None)
            if value is not None and not isinstance(value, str):
                found.append(float(value))
            elif self._kind == "assertion" and lost_by(record, self._evaluators) is not None:
                found.append(0.0)
        return found

    def _is_it(self, name: str, kind: Kind) -> bool:
        return kind == self._kind and self.name in {name, f"{name} ({kind})"}


def _agreements(policy: Policy) -> int:
    """Claims about judges, which a run does not change and which have their part of the doubt."""
    wanted = [rules.agreement for rules in policy.evaluators.values() if rules.agreement is not None]
    return sum((each.kappa is not None) + (each.share is not None) for each in wanted)


def _check(policy: Policy, baseline: Report | None) -> None:
    if policy.duration is not None or policy.metrics:
        raise InvalidOptionError(
            "duration and metrics have no bounds, so they cannot be decided during a run: gate a whole run by them, and "
            "leave them out of the policy that stops one"
        )
    rules = [*policy.evaluators.values(), *([policy.pass_rate] if policy.pass_rate else [])]
    if all(rule.margin is rule.at_least is rule.at_most is None for rule in rules):
        raise InvalidOptionError("the policy has no margin, at_least or at_most that a run could decide")
    if policy.needs_baseline and baseline is None:
        raise InvalidOptionError("the policy compares with a baseline: name one")
