"""What the fixture `gate` is: the verdict of a policy on what a test measured.

A rate that is measured once is above or below a limit by luck. A gate decides by the interval: the test fails only where the agent is
shown to be worse than the limit (FAIL), or than its baseline (WORSE). Where the interval holds the limit, the verdict is INCONCLUSIVE,
an outcome of its own: the test passes with a warning, or fails if `--calipers-inconclusive=fail` says so.

Limits that are given without a policy are about these cases and no others: tests hold a suite of regressions, and a further attempt at
its cases tells more. So repeating is a way to decide. Every round is a further look at the same agent and a further chance to be wrong. The
looks before the last round share a fifth of the doubt, and the last one has the rest, so that all of them together are wrong as rarely as
the policy says (Bonferroni's inequality).

A baseline is named as in a store. The newest finished run of that name counts, but for the one that is judged, since no run is compared
with itself, and for those in which the gate of the same test did not pass: a loss that was shown, or left open, must not be the measure
of the next run. Of a pytest session that was kept (`--calipers-store`), what the same test measured counts, and one that did not run
the test, or only some of its cases, is passed over too.
"""

import os
import random
import warnings
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, Unpack

import msgspec

from calipers.comparison.case_pairs import RunCase, cases_of, pair_cases, without_faults
from calipers.data.argument_checks import check_whole_number
from calipers.data.record import name_results
from calipers.errors import InconclusiveWarning, InvalidOptionError, StoreError
from calipers.files.project import find_project
from calipers.gate.gate import judge_run
from calipers.gate.policy import Policy, Rules
from calipers.gate.verdict import Finding, Verdict
from calipers.pytest_plugin.evaluate_fixtures import Evaluate
from calipers.pytest_plugin.session import Session
from calipers.pytest_plugin.session_report import SESSION_NAME, not_passed, note_outcome
from calipers.report.incomplete import Incomplete
from calipers.report.report import Report
from calipers.run.dataset import Dataset, EvaluateOptions
from calipers.run.task import TaskLike
from calipers.stats.number_text import plural
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.stores.store_url import open_store
from calipers.testing.failure_text import attempts_lines
from calipers.views.gate.terminal import verdict_text

if TYPE_CHECKING:
    from calipers.views.outcome import Record

_NOT_IN_ROUNDS = frozenset({"repeat", "keep", "stop_when", "store", "resume", "reuse", "rerun_failed"})
"""Options of `Dataset.evaluate` that say how often, or that keep attempts for another run."""

ON_THE_WAY: Final = 0.2
"""The part of the doubt that all looks before the last round have together."""

Baseline: TypeAlias = "Report | str | None"


class RoundOptions(EvaluateOptions, total=False):
    """The options of `gate.until_decided`."""

    at_least: float | None
    margin: float | None
    baseline: Baseline
    baseline_store: str | None
    rounds: int


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
        return self._settle(judge_run(report, rules, baseline=old.report), report, old)

    def until_decided(
        self,
        dataset: Dataset[Any, Any, Any],
        task: TaskLike,
        policy: Policy | None = None,
        **options: Unpack[RoundOptions],
    ) -> Verdict:
        """The verdict on an agent whose cases are attempted again as long as it is INCONCLUSIVE.

        Args:
            dataset: cases and evaluators.
            task: the thing under test.
            policy: as for `gate(report)`.
            **options: `at_least`, `margin`, `baseline` and `baseline_store`, as for `gate(report)`; `rounds`, how many attempts at each
                case at most (default: 5); those of `Dataset.evaluate`, without those that say how often, or that keep the run in a store.

        Raises:
            AssertionError: FAIL or WORSE.
            InvalidOptionError: there is no limit, no such baseline, or an option that makes no sense here.
        """
        __tracebackhide__ = True
        looks = self._looks(dataset, policy, **options)
        evaluate = Evaluate(self._session)
        while looks.is_open:
            looks.add(evaluate(dataset, task, **looks.options))
        return self._settle(looks.verdict, looks.report, looks.baseline)

    async def until_decided_on_loop(
        self,
        dataset: Dataset[Any, Any, Any],
        task: TaskLike,
        policy: Policy | None = None,
        **options: Unpack[RoundOptions],
    ) -> Verdict:
        """The same on the event loop of an async test."""
        __tracebackhide__ = True
        looks = self._looks(dataset, policy, **options)
        evaluate = Evaluate(self._session)
        while looks.is_open:
            looks.add(await evaluate.on_loop(dataset, task, **looks.options))
        return self._settle(looks.verdict, looks.report, looks.baseline)

    def __repr__(self) -> str:
        return "<gate(report)>"

    def _looks(
        self,
        dataset: Dataset[Any, Any, Any],
        policy: Policy | None,
        *,
        at_least: float | None = None,
        margin: float | None = None,
        baseline: Baseline = None,
        baseline_store: str | None = None,
        rounds: int = 5,
        **options: Unpack[EvaluateOptions],
    ) -> "_Looks":
        __tracebackhide__ = True
        if refused := options.keys() & _NOT_IN_ROUNDS:
            raise InvalidOptionError(
                f"gate.until_decided attempts each case once in every round and takes no {', '.join(sorted(refused))}: judge a run of "
                "your own with gate(report)"
            )
        check_whole_number("rounds", rounds, at_least=1)
        rules = _policy(policy, at_least, margin)
        old = self._baseline(baseline, baseline_store, dataset.name)
        seed = options.get("seed")
        return _Looks(rules, old, rounds, options, self._session.seed if seed is None else seed)

    def _settle(self, verdict: Verdict, report: Report, baseline: "_Baseline") -> Verdict:
        """Fail the test, or note that its verdict is open."""
        __tracebackhide__ = True
        self._session.evaluated = False
        self._session.verdicts.append(verdict.outcome)
        if baseline.own is not None:
            with self._store(baseline.place) as store:
                note_outcome(store, baseline.own, self._test, verdict.outcome)
        verdict = msgspec.structs.replace(verdict, notes=(*verdict.notes, *baseline.notes))
        if verdict.outcome in ("FAIL", "WORSE"):
            lines = [verdict_text(verdict).rstrip(), *_missed(report, baseline.report)]
            raise AssertionError("\n".join(lines))
        if verdict.outcome == "INCONCLUSIVE":
            undecided = [_sentence(each) for each in verdict.findings if each.outcome == "INCONCLUSIVE"]
            against = "" if verdict.baseline is None else f" (against {verdict.baseline})"
            text = "; ".join(["; ".join(undecided) + against, *verdict.notes])
            if self._session.config.option.calipers_inconclusive == "fail":
                raise AssertionError(f"INCONCLUSIVE: {text}")
            self._session.inconclusive.append(text)
            warnings.warn(InconclusiveWarning(text), stacklevel=3)
        return verdict

    def _baseline(
        self, baseline: Baseline, address: str | None, dataset: str | None, own: str | None = None
    ) -> "_Baseline":
        __tracebackhide__ = True
        if baseline is None or isinstance(baseline, Report):
            return _Baseline(baseline)
        try:
            with self._store(address) as store:
                found = _earlier(store, baseline, dataset=dataset, own=own, test=self._test)
        except StoreError as error:
            self._session.lacks_baseline = True
            raise InvalidOptionError(f"baseline={baseline!r}: {error}") from None
        return found._replace(place=address)

    @property
    def _test(self) -> str:
        """The name of the test that runs."""
        assert self._session.item is not None, "fixtures are only ever used by tests"
        return self._session.item.nodeid

    @contextmanager
    def _store(self, address: str | None) -> Iterator[Store]:
        """The store that has baselines."""
        config = self._session.config
        folder = config.invocation_params.dir
        named = address or config.option.calipers_store or os.environ.get("CALIPERS_STORE")
        place = named or find_project(folder).store or ".calipers/runs.db"
        with chdir(folder), open_store(place, existing=True) as store:
            yield store


class _Baseline(NamedTuple):
    """What a run is compared with."""

    report: Report | None
    """`None`: with nothing."""
    notes: tuple[str, ...] = ()
    """What the verdict is to say of it."""
    own: RunInfo | None = None
    """The run that is judged, if it can be a baseline of later ones: it is in the same store under the same name."""
    place: str | None = None
    """The address of that store, as the test gives it."""


class _Looks:
    """Rounds over the same cases, each followed by a look at all attempts so far."""

    def __init__(
        self, policy: Policy, baseline: "_Baseline", rounds: int, options: EvaluateOptions, seed: int
    ) -> None:
        self._policy = policy
        self.baseline = baseline
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
        """Those of the next round, which has a seed of its own."""
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
            incomplete=Incomplete.together(
                report.incomplete for report in self._reports if report.incomplete
            ),
            unfinished=sum(report.unfinished for report in self._reports),
        )

    def add(self, report: Report) -> None:
        """Take in a round, and look."""
        self._reports.append(report)
        share = share_of(len(self._reports), self._rounds)
        confidence = 1 - (1 - self._policy.confidence) * share
        policy = msgspec.structs.replace(self._policy, confidence=confidence)
        self._verdict = judge_run(self.report, policy, baseline=self.baseline.report)


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


def _earlier(store: Store, which: str, *, dataset: str | None, own: str | None, test: str) -> _Baseline:
    """The run that something means: the newest finished one of that name, of the same dataset if there is one; else by its id.

    Args:
        store: that has it.
        which: what it is called.
        dataset: of which dataset the run is that it is compared with.
        own: the id of that run, which is not meant.
        test: whose gate asks. Of the runs of a name, those in which it did not pass are not meant either.
    """
    named = store.runs(name=which)
    refused = not_passed(store, test) if named else set()
    finished = [info for info in named or [store.run(which)] if info.status == "finished" or not named]
    others = [info for info in finished if info.id not in {own, *refused}]
    others.sort(key=lambda info: info.dataset_name != dataset)
    found: tuple[RunInfo, Report] | None = None
    for info in others:
        report = store.report(info.id)
        part = _of_test(report, test)
        if found is None or part is not None:
            found = info, part or report
        if part is not None or info.name != SESSION_NAME:
            break
    if found is None:
        left = len([info for info in finished if info.id in refused])
        over = f" but {plural(left, 'run')} in which this gate did not pass" if left else ""
        raise StoreError(f"there is no other finished run of that name in {store.url}{over}")
    chosen, report = found
    newer = [info for info in finished[: finished.index(chosen)] if info.id in refused]
    passed_over = f"passed over: {plural(len(newer), 'newer run')} in which this gate did not pass"
    return _Baseline(
        msgspec.structs.replace(report, name=f"{report.name} {chosen.id}"),
        notes=(passed_over,) if newer else (),
        own=next((info for info in named if info.id == own), None),
    )


def _of_test(report: Report, test: str) -> Report | None:
    """What a test measured, of the report of a whole session; `None` if there is nothing of it."""
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
    return msgspec.structs.replace(report, cases=cases, failures=failures) if cases or failures else None


def _missed(report: Report, baseline: Report | None) -> list[str]:
    """The attempts that did not pass; against a baseline, those at cases that passed more often there, the largest loss first."""
    records: list[Record] = [*report.cases, *report.failures]
    missed = [record for record in records if record.passed is False]
    lost = {} if baseline is None else _losses(baseline, report)
    if not lost:
        return attempts_lines(missed)
    first = sorted(
        (record for record in missed if _case(record) in lost), key=lambda each: -lost[_case(each)]
    )
    rest = {_case(record) for record in missed} - lost.keys()
    return [
        f"{plural(len(lost), 'case')} passed more often in the baseline:",
        *attempts_lines(first),
        *(
            [f"{plural(len(rest), 'more case')} did not pass; the baseline did no better there"]
            if rest
            else []
        ),
    ]


def _losses(baseline: Report, report: Report) -> dict[str, float]:
    """By how much less of its attempts a case passed than in the baseline, for cases that did."""
    pairs, _ = pair_cases(without_faults(cases_of(baseline)), without_faults(cases_of(report)))
    drops = {new.name: _share(old) - _share(new) for old, new in pairs}
    return {name: drop for name, drop in drops.items() if drop > 0}


def _share(case: RunCase) -> float:
    return sum(record.passed is True for record in case.attempts) / len(case.attempts)


def _case(record: "Record") -> str:
    return record.source_case_name or record.name


def _sentence(finding: Finding) -> str:
    said = f"{finding.subject}: {finding.rule}: {finding.said}"
    return said if finding.advice is None else f"{said}; {finding.advice}"
