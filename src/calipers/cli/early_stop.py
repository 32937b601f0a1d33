"""`calipers run --stop-when-decided`: end each evaluation when its gate is decided, and go by the gate's outcome."""

from typing import Any

from calipers.cli.actions.gate import CODES, read_policy
from calipers.cli.evaluation_outcome import Complaint
from calipers.cli.exits import PASSED
from calipers.cli.output import printing
from calipers.cli.reports import known_changes, named_reports
from calipers.cli.store import open_kept
from calipers.comparison.evaluator_changes import KnownEvaluators
from calipers.errors import InvalidOptionError
from calipers.gate.early_decision import StopWhenDecided
from calipers.gate.gate import judge_run
from calipers.gate.policy import Policy
from calipers.report.report import Report
from calipers.run.dataset import Dataset
from calipers.views.gate.terminal import print_verdict


class Decider:
    """A policy and its baseline, for the evaluations of one command."""

    def __init__(
        self,
        policy: Policy,
        baseline: Report | None,
        store: str | None,
        *,
        evaluators: KnownEvaluators | None = None,
    ) -> None:
        self.policy = policy
        self.baseline = baseline
        self.store = store
        self.evaluators = evaluators
        """What the store knows of the baseline's evaluators; `None` for a file."""

    def rule(self) -> StopWhenDecided:
        """The rule that may end one evaluation."""
        return StopWhenDecided(self.policy, self.baseline, read_run=self._labelled)

    @staticmethod
    def read(dataset: Dataset[Any, Any, Any]) -> Dataset[Any, Any, Any]:
        """The dataset with all its cases at hand, for a random order.

        Raises:
            InvalidCaseError: one of them is none.
        """
        if isinstance(dataset.cases, list):
            return dataset
        return Dataset(
            name=dataset.name,
            cases=list(dataset.cases),
            evaluators=dataset.evaluators,
            report_evaluators=dataset.report_evaluators,
        )

    def judge(self, report: Report, *, shows: bool) -> list[Complaint]:
        """What the gate has against a report; its verdict is shown below the report."""
        verdict = judge_run(
            report,
            self.policy,
            baseline=self.baseline,
            read_run=self._labelled,
            changed_evaluators=known_changes(self.evaluators, self._kept(report)),
        )
        if shows:
            with printing():
                print()  # noqa: T201 - the report stands above
                print_verdict(verdict)
        code = CODES[verdict.outcome]
        if code == PASSED:
            return []
        bad = [finding for finding in verdict.findings if finding.outcome == verdict.outcome]
        said = "; ".join(f"{finding.subject}: {finding.rule} ({finding.said})" for finding in bad[:3])
        more = f"; and {len(bad) - 3} more" if len(bad) > 3 else ""
        return [Complaint(code, f"the gate says {verdict.outcome}: {said}{more}")]

    def _labelled(self, name: str) -> Report:
        """A run that a policy names, for the agreement of a judge with people."""
        return named_reports([name], self.store)[0].report

    def _kept(self, report: Report) -> KnownEvaluators | None:
        """What the store knows of the run's evaluators; `None` if it was not kept."""
        if self.evaluators is None or report.reuse is None:
            return None
        with open_kept(self.store) as store:
            return store.known_evaluators(report.reuse.run)


def make_decider(policy: str | None, baseline: str | None, store: str | None) -> Decider:
    """The decider that the options ask for.

    Raises:
        InvalidOptionError: there is a baseline and nothing to compare by, or the policy cannot be decided during a run.
        CommandError: the policy or the baseline cannot be read.
    """
    if policy is None:
        raise InvalidOptionError(
            "--baseline is for --stop-when-decided; `calipers gate` and `calipers compare` compare finished runs"
        )
    rules = read_policy(policy)
    old = None if baseline is None else named_reports([baseline], store)[0]
    decider = Decider(
        rules, None if old is None else old.report, store, evaluators=None if old is None else old.evaluators
    )
    decider.rule()  # what cannot be decided is refused before anything runs
    return decider
