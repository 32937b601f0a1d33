"""What `calipers gate` does: read the policy and the runs, judge, show and write the verdict; and `--stop-when-decided` of a run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from calipers.cli.evaluation_outcome import Complaint
from calipers.cli.exits import FAILED, INCONCLUSIVE, PASSED, WORSE
from calipers.cli.message import CommandError, near_path, no_file, note, note_file, problem_lines
from calipers.cli.output import printing
from calipers.cli.reports import NamedReport, check_targets, known_changes, named_reports
from calipers.cli.stored_runs import open_kept
from calipers.comparison.evaluator_changes import KnownEvaluators
from calipers.errors import DatasetFileError, InvalidOptionError, StoreError
from calipers.files.policy_file import load_policy
from calipers.gate.early_decision import StopWhenDecided
from calipers.gate.gate import judge_run
from calipers.gate.looks import Look, number_of, question_of
from calipers.gate.policy import LimitError, Policy
from calipers.gate.verdict import Outcome, Verdict
from calipers.report.report import Report
from calipers.run.dataset import Dataset
from calipers.stores.packing import setting_of
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.views.gate.files import verdict_target, write_verdict
from calipers.views.gate.markdown import verdict_markdown
from calipers.views.gate.terminal import print_verdict
from calipers.views.github import add_to_summary

CODES: Final[dict[Outcome, int]] = {
    "PASS": PASSED,
    "FAIL": FAILED,
    "WORSE": WORSE,
    "INCONCLUSIVE": INCONCLUSIVE,
}


def gate(
    *,
    run: str,
    policy: str,
    baseline: str | None = None,
    store: str | None = None,
    dataset: str | None = None,
    anytime: bool = False,
    out: Sequence[str] = (),
    quiet: bool = False,
) -> int:
    """Judge a run; returns the exit code."""
    targets = [verdict_target(each) for each in out]
    sources = [run, policy, *([] if baseline is None else [baseline])]
    check_targets("--out", [target.path for target in targets], sources)
    rules = read_policy(policy)
    names = [run] if baseline is None else [run, baseline]
    found = named_reports(names, store, dataset=dataset, concludes=True, can_lack_values=True)
    old = found[1] if baseline is not None else None

    def judge(look: int | None) -> Verdict:
        return judge_run(
            found[0].report,
            rules,
            baseline=None if old is None else old.report,
            read_run=lambda name: _named(name, store),
            changed_evaluators=None if old is None else known_changes(old.evaluators, found[0].evaluators),
            anytime=True if anytime else None,
            task_timeout=None if rules.duration is None else _longest(found, store),
            look=look,
        )

    question = None if anytime else _question(rules, found)
    info = found[0].info
    try:
        if question is None or info is None:
            verdict = judge(None)
        else:
            with open_kept(store) as kept:
                verdict = counted(kept, question, info.id, _evidence(info, found[0].report, rules), judge)
    except LimitError as error:
        raise CommandError(f"{near_path(policy)}: {error}") from error
    verdict = msgspec.structs.replace(
        verdict, run=found[0].label, baseline=None if old is None else old.label
    )
    for target in targets:
        write_verdict(verdict, f"{target.format}:{target.path}")
        if target.path != "-":
            note_file(target.path)
    add_to_summary(lambda: verdict_markdown(verdict))
    if not quiet and not any(target.path == "-" for target in targets):
        with printing():
            print_verdict(verdict)
    return CODES[verdict.outcome]


def read_policy(path: str) -> Policy:
    """The policy in a file."""
    if not Path(path).is_file():
        raise no_file(path)
    try:
        found = load_policy(path)
    except DatasetFileError as error:
        raise CommandError(problem_lines(error.problems)) from error
    for rules in found.evaluators.values():
        labels = None if rules.agreement is None else rules.agreement.labels
        if labels is not None and not Path(labels).is_file():
            raise no_file(labels)
    return found


def _named(name: str, store: str | None) -> Report:
    return named_reports([name], store)[0].report


def _question(policy: Policy, runs: Sequence[NamedReport]) -> str | None:
    """What identifies further looks at the same agent; `None` if a report file is among the runs, which tells too little."""
    infos = [run.info for run in runs]
    sides = [(info.dataset_name, info.name, info.task_version) for info in infos if info is not None]
    return question_of(policy, *sides) if len(sides) == len(infos) else None


def counted(kept: Store, question: str, run: str, attempts: int, judge: Callable[[int], Verdict]) -> Verdict:
    """Judge as the look that this is at its question, and note it.

    Where another gate notes a look meanwhile, its number is taken: this is a further look, and judges again.
    """
    while True:
        earlier = kept.looks(question)
        verdict = judge(number_of(earlier, run, attempts))
        if verdict.look is None:
            return verdict
        look = Look(run=run, attempts=attempts, number=verdict.look, outcome=verdict.outcome)
        try:
            if look in earlier or kept.add_look(question, look, after=len(earlier)):
                return verdict
        except StoreError as error:
            note(f"This look is not noted in the store, so a further one will not know of it: {error}")
            return verdict


def _evidence(run: RunInfo, report: Report, policy: Policy) -> int:
    """The size of a look: the attempts of the run and its labels, in files and in the store. Judging with more is another look."""
    wanted = [rules.agreement for rules in policy.evaluators.values() if rules.agreement is not None]
    files, questions = {each.labels for each in wanted}, {each.question for each in wanted}
    lines = sum(len(Path(each).read_bytes().splitlines()) for each in files if each is not None)
    said = (
        label for part in (report.cases, report.failures) for record in part for label in record.human_labels
    )
    labels = sum(label.question in questions for label in said)
    return run.attempts + lines + labels


def _longest(runs: Sequence[NamedReport], store: str | None) -> float | None:
    """The seconds after which every task of these runs was ended; `None` if not all are kept, or one had no such limit."""
    found: list[float] = []
    for run in runs:
        limit = None if run.info is None else run.info.parameters.get("task_timeout")
        if run.info is None or limit is None or not run.info.keeps_settings:
            return None
        with open_kept(store) as kept:
            own = (setting_of(attempt)[1] for attempt in kept.attempts(run.info.id))
            found += [float(limit), *(each for each in own if each is not None)]
    return max(found, default=None)


# ---------------------------------------------------------------------- --stop-when-decided


@dataclass(frozen=True)
class Decider:
    """A policy and its baseline: ends each evaluation of `calipers run --stop-when-decided` when its gate is decided."""

    policy: Policy
    baseline: Report | None
    store: str | None
    evaluators: KnownEvaluators | None = None
    """What the store knows of the baseline's evaluators; `None` for a file."""

    def rule(self) -> StopWhenDecided:
        """The rule that may end one evaluation."""
        return StopWhenDecided(self.policy, self.baseline, read_run=self._labelled)

    @staticmethod
    def read(dataset: Dataset[Any, Any, Any]) -> Dataset[Any, Any, Any]:
        """The dataset with its cases as a list, for a random order."""
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
        return _named(name, self.store)

    def _kept(self, report: Report) -> KnownEvaluators | None:
        """What the store knows of the run's evaluators; `None` if it was not kept."""
        if self.evaluators is None or report.reuse is None:
            return None
        with open_kept(self.store) as store:
            return store.known_evaluators(report.reuse.run)


def make_decider(policy: str | None, baseline: str | None, store: str | None) -> Decider:
    """The decider that the options ask for."""
    if policy is None:
        raise InvalidOptionError(
            "--baseline is for --stop-when-decided; `calipers gate` and `calipers compare` compare finished runs"
        )
    rules = read_policy(policy)
    old = None if baseline is None else named_reports([baseline], store)[0]
    decider = (
        Decider(rules, None, store) if old is None else Decider(rules, old.report, store, old.evaluators)
    )
    decider.rule()  # what cannot be decided is refused before anything runs
    return decider
