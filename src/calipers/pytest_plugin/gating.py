"""What the fixture `gate` is: the verdict of a policy on what a test measured.

A rate that is measured once is above or below a limit by luck. A gate decides by the interval: the test fails only where the agent is
shown to be worse than the limit (FAIL), or than its baseline (WORSE). Where the interval holds the limit, the verdict is INCONCLUSIVE,
an outcome of its own: the test passes with a warning, or fails if `--calipers-inconclusive=fail` says so.

Limits that are given without a policy are about these cases and no others: tests hold a suite of regressions, and a further attempt at
its cases tells more. So repeating is a way to decide. Every round is a further look at the same agent and a further chance to be wrong. The
looks before the last round share a fifth of the doubt, and the last one has the rest, so that all of them together are wrong as rarely as
the policy says (Bonferroni's inequality).

A baseline is named as in a store. The newest finished run of that name counts, but for the one that is judged: no run is compared
with itself. Of a pytest session that was kept (`--calipers-store`), what the same test measured counts.
"""

import os
import random
import warnings
from contextlib import chdir
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Unpack

import msgspec

from calipers.dataset import Dataset, EvaluateOptions
from calipers.errors import InconclusiveWarning, InvalidOptionError, StoreError
from calipers.gate.judging import judge_run
from calipers.gate.policy import Policy, Rules
from calipers.gate.verdict import Finding, Verdict
from calipers.project import find_project
from calipers.pytest_plugin.evaluating import Evaluate
from calipers.pytest_plugin.session import Session
from calipers.record import name_results
from calipers.report import Report
from calipers.stores.opening import open_store
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.task import TaskLike
from calipers.testing.reasons import attempts_lines
from calipers.views.gate.terminal import verdict_text

if TYPE_CHECKING:
    from calipers.views.outcome import Record

_NOT_IN_ROUNDS = frozenset({"repeat", "keep", "stop_when", "store", "resume", "reuse", "rerun_failed"})
"""Options of `Dataset.evaluate` that say how often, or that keep attempts for another run."""

ON_THE_WAY: Final = 0.2
"""The part of the doubt that all looks before the last round have together."""

Baseline: TypeAlias = "Report | str | None"


class Gate:
    """The fixture `gate`: fails the test where what it measured is shown to be worse than a limit, or than a baseline.

    def test_capitals(evaluate, gate):
        gate(evaluate(dataset, agent), at_least=0.9)
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def __call__(
        self,
        report: Report,
        policy: Policy | None = None,
        *,
        at_least: float | None = None,
        margin: float | None = None,
        baseline: Baseline = None,
        baseline_store: str | None = None,
    ) -> Verdict:
        """The verdict on a report: PASS or INCONCLUSIVE.

        Args:
            report: of a run.
            policy: what it has to meet; or, in its place, one or both of the next two.
            at_least: the pass rate on these cases, which the test fails if it is shown to be lower.
            margin: the loss of pass rate against the baseline that would not matter: 0.05 is 5 points.
            baseline: a report; or the name or id of a run in a store.
            baseline_store: where that is kept; default: `--calipers-store`, else the one that the command line would use.

        Raises:
            AssertionError: FAIL or WORSE.
            InvalidOptionError: there is no limit, or no such baseline.
        """
        __tracebackhide__ = True
        rules = _policy(policy, at_least, margin)
        own = None if report.reuse is None else report.reuse.run
        old = self._baseline(baseline, baseline_store, report.dataset_name, own)
        return self._settle(judge_run(report, rules, baseline=old), report)

    def until_decided(
        self,
        dataset: Dataset[Any, Any, Any],
        task: TaskLike,
        policy: Policy | None = None,
        *,
        at_least: float | None = None,
        margin: float | None = None,
        baseline: Baseline = None,
        baseline_store: str | None = None,
        rounds: int = 5,
        **options: Unpack[EvaluateOptions],
    ) -> Verdict:
        """The verdict on an agent whose cases are attempted again as long as it is INCONCLUSIVE.

        Args:
            dataset: cases and evaluators.
            task: the thing under test.
            policy: as for `gate(report)`, like the next four.
            at_least: see there.
            margin: see there.
            baseline: see there.
            baseline_store: see there.
            rounds: attempts at each case at most.
            **options: those of `Dataset.evaluate`, without those that say how often, or that keep the run in a store.

        Raises:
            AssertionError: FAIL or WORSE.
            InvalidOptionError: there is no limit, no such baseline, or an option that makes no sense here.
        """
        __tracebackhide__ = True
        old = self._baseline(baseline, baseline_store, dataset.name)
        looks = self._looks(_policy(policy, at_least, margin), old, rounds, options)
        evaluate = Evaluate(self._session)
        while looks.is_open:
            looks.add(evaluate(dataset, task, **looks.options))
        return self._settle(looks.verdict, looks.report)

    async def until_decided_on_loop(
        self,
        dataset: Dataset[Any, Any, Any],
        task: TaskLike,
        policy: Policy | None = None,
        *,
        at_least: float | None = None,
        margin: float | None = None,
        baseline: Baseline = None,
        baseline_store: str | None = None,
        rounds: int = 5,
        **options: Unpack[EvaluateOptions],
    ) -> Verdict:
        """The same on the event loop of an async test."""
        __tracebackhide__ = True
        old = self._baseline(baseline, baseline_store, dataset.name)
        looks = self._looks(_policy(policy, at_least, margin), old, rounds, options)
        evaluate = Evaluate(self._session)
        while looks.is_open:
            looks.add(await evaluate.on_loop(dataset, task, **looks.options))
        return self._settle(looks.verdict, looks.report)

    def __repr__(self) -> str:
        return "<gate(report)>"

    def _looks(
        self, policy: Policy, baseline: Report | None, rounds: int, options: EvaluateOptions
    ) -> "_Looks":
        __tracebackhide__ = True
        if refused := options.keys() & _NOT_IN_ROUNDS:
            raise InvalidOptionError(
                f"gate.until_decided attempts each case once in every round and takes no {', '.join(sorted(refused))}: judge a run of "
                "your own with gate(report)"
            )
        if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1:
            raise InvalidOptionError(f"rounds must be a whole number from 1, got {rounds!r}")
        seed = options.get("seed")
        return _Looks(policy, baseline, rounds, options, self._session.seed if seed is None else seed)

    def _settle(self, verdict: Verdict, report: Report) -> Verdict:
        """Fail the test, or note that its verdict is open."""
        __tracebackhide__ = True
        self._session.evaluated = False
        if verdict.outcome in ("FAIL", "WORSE"):
            records: list[Record] = [*report.cases, *report.failures]
            missed = [record for record in records if record.passed is False]
            raise AssertionError("\n".join([verdict_text(verdict).rstrip(), *attempts_lines(missed)]))
        if verdict.outcome == "INCONCLUSIVE":
            text = "; ".join(_sentence(each) for each in verdict.findings if each.outcome == "INCONCLUSIVE")
            if self._session.config.option.calipers_inconclusive == "fail":
                raise AssertionError(f"INCONCLUSIVE: {text}")
            self._session.inconclusive.append(text)
            warnings.warn(InconclusiveWarning(text), stacklevel=3)
        return verdict

    def _baseline(
        self, baseline: Baseline, address: str | None, dataset: str | None, own: str | None = None
    ) -> Report | None:
        __tracebackhide__ = True
        if baseline is None or isinstance(baseline, Report):
            return baseline
        config = self._session.config
        folder = config.invocation_params.dir
        named = address or config.option.calipers_store or os.environ.get("CALIPERS_STORE")
        place = named or find_project(folder).store
        try:
            with chdir(folder), open_store(place or ".calipers/runs.db", existing=True) as store:
                info = _earlier(store, baseline, dataset, own)
                found = store.report(info.id)
        except StoreError as error:
            raise InvalidOptionError(f"baseline={baseline!r}: {error}") from None
        item = self._session.item
        return found if item is None else _of_test(found, item.nodeid)


class _Looks:
    """Rounds over the same cases, each followed by a look at all attempts so far."""

    def __init__(
        self, policy: Policy, baseline: Report | None, rounds: int, options: EvaluateOptions, seed: int
    ) -> None:
        self._policy = policy
        self._baseline = baseline
        self._rounds = rounds
        self._options = options
        self._seed = seed
        self._reports: list[Report] = []
        self._verdict: Verdict | None = None

    @property
    def is_open(self) -> bool:
        """Whether a further round could decide it, and is allowed."""
        if self._verdict is None:
            return True
        open_rules = [each for each in self._verdict.findings if each.outcome == "INCONCLUSIVE"]
        return (
            self._verdict.outcome == "INCONCLUSIVE"
            and len(self._reports) < self._rounds
            and all(each.interval is not None for each in open_rules)  # else no attempt is what is missing
        )

    @property
    def options(self) -> EvaluateOptions:
        """Those of the next round, which draws anew."""
        number = len(self._reports) + 1
        drawn = random.Random(f"round {number} {self._seed}").getrandbits(48)  # noqa: S311 - no secret
        return {**self._options, "seed": self._seed if number == 1 else drawn}

    @property
    def verdict(self) -> Verdict:
        """That of the last look."""
        assert self._verdict is not None
        return self._verdict

    @property
    def report(self) -> Report:
        """All rounds as one run, in which every case is repeated."""
        if len(self._reports) == 1:
            return self._reports[0]
        rounds = list(enumerate(self._reports, 1))
        cases = [_numbered(case, number) for number, report in rounds for case in report.cases]
        name_results(cases)
        return msgspec.structs.replace(
            self._reports[0],
            cases=cases,
            failures=[_numbered(failure, number) for number, report in rounds for failure in report.failures],
            repeat=len(rounds),
            incomplete="; ".join(report.incomplete for report in self._reports if report.incomplete) or None,
            unfinished=sum(report.unfinished for report in self._reports),
        )

    def add(self, report: Report) -> None:
        """Take in a round, and look."""
        self._reports.append(report)
        share = share_of(len(self._reports), self._rounds)
        confidence = 1 - (1 - self._policy.confidence) * share
        policy = msgspec.structs.replace(self._policy, confidence=confidence)
        self._verdict = judge_run(self.report, policy, baseline=self._baseline)


def share_of(number: int, rounds: int) -> float:
    """The part of the doubt that the look after a round has."""
    if rounds == 1:
        return 1.0
    return 1 - ON_THE_WAY if number == rounds else ON_THE_WAY / (rounds - 1)


def _numbered(record: Any, number: int) -> Any:
    return msgspec.structs.replace(record, name=f"{record.name} [{number}]", source_case_name=record.name)


def _policy(policy: Policy | None, at_least: float | None, margin: float | None) -> Policy:
    """What is asked for, as a policy."""
    __tracebackhide__ = True
    if (policy is None) == (at_least is None and margin is None):
        raise InvalidOptionError("gate needs a policy, or at_least= or margin=, and not both")
    if policy is not None:
        return policy
    return Policy(pass_rate=Rules(at_least=at_least, margin=margin), population="these-cases")


def _earlier(store: Store, which: str, dataset: str | None, own: str | None) -> RunInfo:
    """The run that something means: by its id, or the newest finished one of that name, of the same dataset if there is one.

    Args:
        store: that has it.
        which: what it is called.
        dataset: of which dataset the run is that it is compared with.
        own: the id of that run, which is not meant.

    Raises:
        StoreError: there is none.
    """
    named = store.runs(name=which, status="finished") or [store.run(which)]
    others = [info for info in named if info.id != own]
    if not others:
        raise StoreError(f"there is no other finished run of that name in {store.url}")
    return next((info for info in others if info.dataset_name == dataset), others[0])


def _of_test(report: Report, test: str) -> Report:
    """What a test measured, of the report of a whole session; any other report is left as it is."""
    start = f"{test} "

    def own(records: list[Any]) -> list[Any]:
        return [
            msgspec.structs.replace(
                record,
                name=record.name.removeprefix(start),
                source_case_name=record.source_case_name and record.source_case_name.removeprefix(start),
            )
            for record in records
            if record.name.startswith(start)
        ]

    cases, failures = own(report.cases), own(report.failures)
    return msgspec.structs.replace(report, cases=cases, failures=failures) if cases or failures else report


def _sentence(finding: Finding) -> str:
    said = f"{finding.subject}: {finding.rule}: {finding.said}"
    return said if finding.advice is None else f"{said}; {finding.advice}"
