"""Rules about the run itself, which are counted and need no interval: is it whole, is it large enough, did too much fail?"""

from collections.abc import Iterator

from calipers.report import Report

from .policy import Policy
from .verdict import Finding
from .wording import limit_words, plural, quantity

RUN = "run"


def facts_of(run: Report, policy: Policy) -> Iterator[Finding]:
    """What the policy asks of the run as a whole."""
    counts = run.counts()
    if run.incomplete is not None:
        yield Finding(
            subject=RUN,
            rule="has to be whole",
            outcome="INCONCLUSIVE",
            said=f"it is incomplete: {run.incomplete}",
            advice="finish it with `calipers run --resume`, and gate it again",
        )
    yield enough(RUN, counts.cases, policy.min_cases)
    if policy.max_task_failures is not None:
        failed = sum(counts.failed_tasks.values())
        yield few(RUN, "failed tasks", failed, counts.attempts, policy.max_task_failures)
    if policy.max_evaluator_errors is not None:
        broken = sum(bool(case.evaluator_failures) for case in run.cases)
        yield few(RUN, "evaluator errors", broken, counts.attempts, policy.max_evaluator_errors)


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
    """Whether few enough attempts failed in some way; of no attempts, nobody can say."""
    rule = f"{what} on at most {limit_words(most, 'rate')} of the attempts"
    if not attempts:
        return Finding(
            subject=subject,
            rule=rule,
            outcome="INCONCLUSIVE",
            said="there are no attempts",
            advice="add cases",
        )
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


def absent(subject: str, why: str) -> Finding:
    """That a policy names what the run does not have: whatever it guards is unguarded."""
    return Finding(
        subject=subject,
        rule="has to be there",
        outcome="FAIL",
        said=why,
        advice="add it to the dataset, or take it out of the policy",
    )
