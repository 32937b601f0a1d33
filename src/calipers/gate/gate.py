"""The verdict on a run: every rule of a policy, applied to the run and its baseline.

Nothing vacuous passes:

- An evaluator or a metric that the policy names and the run has no result of, a tag that no case has: FAIL, for what it guards is
  unguarded.
- Too few cases, no baseline to compare with, no case that both runs have, a run that ended by Ctrl-C or an error: INCONCLUSIVE,
  since more of the same could settle it.
- An attempt that ended in an `OtherLoopError` says nothing of the agent: INCONCLUSIVE, and so is every rule that the run fails. A
  baseline with one: INCONCLUSIVE where a rule compares with it.
- An evaluator that is not the same in both runs (its arguments or version differ): INCONCLUSIVE, since a difference between
  two evaluators is no difference between two agents. If single cases bring it, they are left out of the comparison and named in a
  note, as are cases whose content changed.
- An attempt that was lost to its task or evaluator has no score, no time and no metric. Where the policy does not say how many
  may be lost, such a limit is INCONCLUSIVE: an agent that crashes on what is hard must not be judged by what is easy.
- A baseline that lost more than the policy allows the run to lose: INCONCLUSIVE against a margin, since beside it anything looks
  good.
- A case of which the baseline has a result, and the run has none though nothing failed; attempts that finished without a metric:
  INCONCLUSIVE, for the same reason, unless the policy says how many there may be.
- A score outside the bounds that the policy states, or one name with several kinds of results, such as False for bad and a number
  for good: INCONCLUSIVE, since the policy is wrong about what it limits.
- A judge that the policy asks a passport of (`calipers.report.Passport`), and that has none, one that is too old, or one of another
  judge: INCONCLUSIVE. Passports are those that the report has (`Report.passports`), as a store gives it.
- A run or a baseline that a rule could end (`Report.stopping`) was looked at many times. Its intervals allow that
  (`anytime_interval`), over the attempts that the rule had seen, with the rule's part of the doubt (`Stopping.share`). A run that
  came to its end undecided has the rest of the doubt for one ordinary look. Times and metrics have no bounds, and so no such
  interval: INCONCLUSIVE.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from calipers.comparison.case_pairs import check_report
from calipers.comparison.evaluator_changes import EvaluatorChanges
from calipers.comparison.missing_results import unanswered
from calipers.data.argument_checks import check_whole_number
from calipers.errors import InvalidOptionError
from calipers.report.report import Report
from calipers.stats.number_text import plural

from .claims import Claim, judge_claims
from .human_labels import ReadRun
from .looks import confidence_at, share_of
from .measured_rules import MeasuredRules
from .paired_runs import PairedRuns
from .policy import THESE_AT_THE_END, Policy, check_policy
from .run_rules import facts_of, facts_of_baseline, left_open
from .verdict import Finding, Verdict, limit_words, outcome_of, quantity


def judge_run(
    run: Report,
    policy: Policy,
    *,
    baseline: Report | None = None,
    read_run: ReadRun | None = None,
    changed_evaluators: Mapping[str, str] | EvaluatorChanges | None = None,
    anytime: bool | None = None,
    task_timeout: float | None = None,
    look: int | None = None,
) -> Verdict:
    """What the gate says of a run.

    Args:
        run: the candidate.
        policy: what it has to meet.
        baseline: the run to compare with, where a rule does; it needs the same cases.
        read_run: finds a run by what the policy calls it, for rules about the agreement of judges with people.
        changed_evaluators: evaluators that are known to differ in the baseline, by name with what differs, or as a store
            knows them. `None`: it is not known, and a note of the verdict says so.
        anytime: use intervals that hold however often one looks at a growing run; default: where a rule could end
            the run early (`stop_when`).
        task_timeout: seconds after which every task of both runs was ended: it bounds times without a `max_possible`.
        look: the number of this look at the same agent by the same policy, which has a part of the doubt only
            (`calipers.gate.looks`), as `calipers gate` counts them for kept runs. Default: the only look.

    Raises:
        InvalidOptionError: a rule makes no sense for what the run holds, or a report does not keep every attempt.
        DatasetFileError: a line of a file of labels cannot be read, or lacks a rating.
        OSError: a file of labels cannot be read.
    """
    check_report(run, "the run")
    check_policy(policy)
    if baseline is not None:
        check_report(baseline, "the baseline")
    check_whole_number("look", look, at_least=1, or_none=True)
    looked_often, share = _looks_of(run, baseline) if anytime is None else (anytime, 1.0)
    if looked_often and policy.population == "these-cases":
        raise InvalidOptionError(THESE_AT_THE_END)
    runs = PairedRuns(_heard(run), None if baseline is None else _heard(baseline), changed_evaluators)
    clean = _heard(run).without_faults()
    clean_baseline = None if baseline is None else baseline.without_faults()
    planned = None if run.stopping is None else run.stopping.planned  # cases that the bets were made for
    rules = MeasuredRules(
        policy, runs, anytime=looked_often, planned=planned, read_run=read_run, task_timeout=task_timeout
    )
    rules.passports = run.passports
    parts = [*facts_of(clean, policy), *facts_of_baseline(clean_baseline, policy), *rules.parts()]
    counted = None if looked_often or run.stopping is not None else look
    confidence, later = _confidences(policy, share, counted)
    findings = _findings(parts, policy, confidence, later, clean)
    return Verdict(
        outcome=outcome_of(findings),
        findings=findings,
        run=run.name,
        baseline=None if baseline is None else baseline.name,
        cases=len(runs.run.cases),
        paired=None if runs.pairing is None else runs.pairing.pairs,
        confidence=confidence,
        look=counted,
        correction=policy.correction,
        population=policy.population,
        anytime=looked_often,
        notes=(
            *_about(clean, clean_baseline, policy, runs, looked_often=looked_often),
            *_spent(policy, counted),
            *_unknown_code(policy, baseline, changed_evaluators),
            *rules.notes,
        ),
    )


def _findings(
    parts: Sequence[Finding | Claim], policy: Policy, confidence: float, later: float, run: Report
) -> tuple[Finding, ...]:
    """The parts in their order, with their claims judged together."""
    claims = [part for part in parts if isinstance(part, Claim)]
    corrects = policy.correction == "holm"
    judged = iter(judge_claims(claims, confidence=confidence, correct=corrects, next_confidence=later))
    return tuple(left_open((next(judged) if isinstance(part, Claim) else part for part in parts), run))


def _about(
    run: Report, baseline: Report | None, policy: Policy, runs: PairedRuns, *, looked_often: bool
) -> Iterator[str]:
    for report, whose in (
        (run, ""),
        (baseline if policy.needs_baseline else None, " of the baseline"),
    ):
        if report is not None and (outage := report.infrastructure()) is not None:
            yield unanswered(
                outage.count,
                outage.without,
                report.counts().attempts,
                whose=whose,
                recorded=report.seed is None,
            )
    if baseline is not None and baseline.incomplete is not None:
        yield f"the baseline is incomplete: {baseline.incomplete}"
    if baseline is not None and baseline.failures and policy.needs_baseline:
        attempts = len(baseline.cases) + len(baseline.failures)
        share = quantity(len(baseline.failures) / attempts, "rate")
        yield f"tasks failed in {len(baseline.failures):,} of {plural(attempts, 'attempt')} of the baseline, {share}"
    if baseline is not None and baseline.stopping is not None:
        yield "the baseline could be stopped early by a rule, which makes its numbers luckier or unluckier than they are"
    yield from runs.notes(stopped=run.stopping is not None)
    yield from _stopped(run, looked_often=looked_often)


def _unknown_code(policy: Policy, baseline: Report | None, changed: object) -> Iterator[str]:
    if baseline is not None and changed is None and any(rule.margin is not None for rule in policy.rules):
        yield (
            "whether the code of the evaluators is the same in both runs is not known: reports have their names, arguments and "
            "versions; gate two runs of a store to be sure"
        )


def _looks_of(run: Report, baseline: Report | None) -> tuple[bool, float]:
    """Whether the intervals have to allow many looks, since a rule could end a run early, and the part of the doubt they have."""
    if run.stopping is None:
        return baseline is not None and baseline.stopping is not None, 1.0
    share = run.stopping.share
    came_to_its_end = run.stopping.why is None and run.incomplete is None and share < 1
    if came_to_its_end and (baseline is None or baseline.stopping is None):
        return False, 1 - share
    return True, share


def _confidences(policy: Policy, share: float, look: int | None) -> tuple[float, float]:
    """Of this look, which has a share of the doubt, and of a further one."""
    if share < 1:
        shared = 1 - share * (1 - policy.confidence)
        return shared, shared
    if look is None:
        return policy.confidence, policy.confidence
    return confidence_at(policy.confidence, look), confidence_at(policy.confidence, look + 1)


def _spent(policy: Policy, look: int | None) -> Iterator[str]:
    if look is not None and look > 1:
        left = limit_words(1 - sum(map(share_of, range(1, look + 1))), "rate")
        yield (
            f"this is look {look} at the same agent by the same policy; with {limit_words(share_of(look), 'rate')} of the doubt, its "
            f"interval has a confidence of {limit_words(confidence_at(policy.confidence, look), 'rate')}, so that all looks "
            f"together err as rarely as the policy says; {left} of the doubt is left"
        )


def _stopped(run: Report, *, looked_often: bool) -> Iterator[str]:
    left = 0 if run.stopping is None else len(run.stopping.unheard)
    if left:
        yield f"left out, since they finished after the run was decided: {plural(left, 'attempt')}"
    if run.stopping is not None and not looked_often:
        yield (
            f"looks during the run had {limit_words(run.stopping.share, 'rate')} of the doubt and did not decide it; this look "
            "at the whole of it has the rest"
        )


def _heard(run: Report) -> Report:
    """The run without attempts that finished after it was decided: with them, a decision would be undone half the time."""
    if run.stopping is None or not run.stopping.unheard:
        return run
    unheard = set(run.stopping.unheard)
    return msgspec.structs.replace(
        run,
        cases=[case for case in run.cases if case.name not in unheard],
        failures=[failure for failure in run.failures if failure.name not in unheard],
    )
