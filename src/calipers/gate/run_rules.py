"""Rules about the run itself, which are counted and need no interval: is it whole, is it large enough, did too much fail?"""

from collections.abc import Iterable, Iterator

import msgspec

from calipers.report.report import Report
from calipers.stats.number_text import plural

from .policy import Policy
from .verdict import Finding, limit_words, quantity

RUN = "run"


def facts_of(run: Report, policy: Policy) -> Iterator[Finding]:
    """What the policy asks of the run as a whole."""
    counts = run.counts()
    if lost := on_other_loop(run):
        yield _other_loop(RUN, lost, counts.attempts)
    if run.sought:
        said = "a search chose its cases to find failures"
        yield undecided(RUN, "has to be of cases that were not sought", said, "gate a run of a dataset")
    if run.incomplete is not None:
        said = f"it is incomplete: {run.incomplete}"
        yield undecided(
            RUN, "has to be whole", said, "finish it with `calipers run --resume`, and gate it again"
        )
    yield enough(RUN, counts.cases, policy.min_cases)
    if policy.max_task_failures is not None:
        failed = sum(counts.failed_tasks.values())
        yield few(RUN, "failed tasks", failed, counts.attempts, policy.max_task_failures)
    if policy.max_evaluator_errors is not None:
        broken = sum(bool(case.evaluator_failures) for case in run.cases)
        yield few(RUN, "evaluator errors", broken, counts.attempts, policy.max_evaluator_errors)


def facts_of_baseline(baseline: Report | None, policy: Policy) -> Iterator[Finding]:
    """What the policy asks of the baseline as a whole, where a rule compares with it."""
    if baseline is not None and policy.needs_baseline and (lost := on_other_loop(baseline)):
        yield _other_loop("baseline", lost, baseline.counts().attempts)


def on_other_loop(run: Report) -> int:
    """Attempts that failed with an `OtherLoopError`, and so say nothing of the agent."""
    return sum(case.on_other_loop for case in run.cases) + sum(
        failure.on_other_loop for failure in run.failures
    )


def left_open(findings: Iterable[Finding], run: Report) -> Iterator[Finding]:
    """The findings; no rule fails for a run with attempts that say nothing of the agent, since these may be the cause."""
    says_nothing = on_other_loop(run) > 0
    for finding in findings:
        if says_nothing and finding.outcome in {"FAIL", "WORSE"}:
            advice = "make the attempts again that failed on another event loop"
            yield msgspec.structs.replace(finding, outcome="INCONCLUSIVE", advice=advice, more_cases=None)
        else:
            yield finding


def _other_loop(subject: str, lost: int, attempts: int) -> Finding:
    return undecided(
        subject,
        "no attempt on another event loop",
        f"{lost:,} of {plural(attempts, 'attempt')} failed for a client or lock of another event loop, which says nothing about "
        "the agent",
        "make a new client inside the task, or for one loop only, and run again; `calipers run --resume RUN` makes only these attempts",
    )


def enough(subject: str, found: int, least: int, *, kind: str = "") -> Finding:
    """Whether there are enough cases."""
    missing = max(0, least - found)
    return Finding(
        subject=subject,
        rule=f"at least {plural(least, 'case')}{kind}",
        outcome="INCONCLUSIVE" if missing else "PASS",
        said=f"{plural(found, 'case')}{kind}",
        advice=f"add {plural(missing, 'case')}" if missing else None,
        value=float(found),
        limit=float(least),
        n=found,
        more_cases=missing or None,
    )


def few(subject: str, what: str, failed: int, attempts: int, most: float) -> Finding:
    """Whether few enough attempts failed in some way; without attempts that is open."""
    rule = f"{what} on at most {limit_words(most, 'rate')} of the attempts"
    if not attempts:
        return undecided(subject, rule, "there are no attempts", "add cases")
    share = failed / attempts
    return Finding(
        subject=subject,
        rule=rule,
        outcome="FAIL" if share > most else "PASS",
        said=f"{failed:,} of {plural(attempts, 'attempt')}, {quantity(share, 'rate')}",
        advice="see what failed: `calipers show RUN`" if share > most else None,
        value=share,
        limit=most,
        above=False,
        unit="rate",
    )


def absent(
    subject: str, why: str, *, advice: str = "add it to the dataset, or take it out of the policy"
) -> Finding:
    """That a policy names what the run does not have, so that nothing guards it."""
    return Finding(subject=subject, rule="has to be there", outcome="FAIL", said=why, advice=advice)


def undecided(subject: str, rule: str, said: str, advice: str) -> Finding:
    """That a rule cannot be decided, why, and what to do."""
    return Finding(subject=subject, rule=rule, outcome="INCONCLUSIVE", said=said, advice=advice)
