"""Results that a run lacks, as warnings: attempts that got no answer, and cases without a result though nothing failed.

An evaluator that is skipped on the hard cases, or a cost that is recorded where it is small, changes what is compared and leaves
no error behind. That matters where the other run has the result, or the metric: what neither has of a case was never due. Where
no case is in both runs, a metric belongs to every attempt that finished.

An attempt that got no answer (`calipers.data.infrastructure`) counts as not passed, and says nothing of the answers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from calipers.data.record import ReportCase
from calipers.data.spending import BESIDE_COSTS
from calipers.stats.estimate import Estimate
from calipers.stats.number_text import first_few, plural

from .case_pairs import Pair, Record, RunCase
from .columns import ColumnKey, Columns, metric, unpriced, without_metric

Numbers: TypeAlias = Sequence[float]
"""What counts of the attempts at a case; none where nothing was judged."""


def unanswered(
    count: int, answered: Estimate | None, attempts: int, *, whose: str = "", recorded: bool = False
) -> str:
    """That `count` of `attempts` got no answer, the pass rate of those that did, and what to do.

    Args:
        count: attempts without an answer.
        answered: the pass rate of the others.
        attempts: all of them.
        whose: names the run.
        recorded: no run of Calipers made them, so it was evaluators that got no answer.
    """
    them = "it" if count == 1 else "them"
    again = (
        f"score the run again to have {them} judged"
        if recorded
        else f"make {them} again with `calipers run --resume RUN --rerun-failed`"
    )
    rate = "" if answered is None else f"of those answered {100 * answered.value:.1f} % passed; "
    return (
        f"{count:,} of {attempts:,} attempts{whose} got no answer because of a time-out, a connection or a server, "
        f"and {'counts' if count == 1 else 'count'} as not passed; {rate}{again}"
    )


def missing_results(
    subject: str, key: ColumnKey | None, pairs: Sequence[Pair], *sides: Columns
) -> Iterator[str]:
    """The cases that have the results of a column, or pass or fail if it is `None`, in one of two runs only."""
    baseline, candidate = (_missing(side, key) for side in sides)
    missing = {
        "candidate": [two.name for one, two in pairs if candidate(two) and _has_results(sides[0], one, key)],
        "baseline": [two.name for one, two in pairs if baseline(one) and _has_results(sides[1], two, key)],
    }
    for side, names in missing.items():
        if names:
            other = "baseline" if side == "candidate" else "candidate"
            yield (
                f"{subject} lacks results on {plural(len(names), 'case')} of the {side} that the {other} has, though nothing failed "
                f"({first_few([*map(repr, names)])}): the others may be the easy ones"
            )


def skipped_crashes(
    subject: str,
    pairs: Sequence[Pair],
    before: Callable[[RunCase], Numbers],
    after: Callable[[RunCase], Numbers],
) -> Iterator[str]:
    """The cases that are left out since one run crashed on them, and an evaluator skipped them in the other.

    Args:
        subject: what is compared.
        pairs: the same cases in both runs.
        before: the numbers of a case in the baseline.
        after: the same in the candidate.
    """
    names = [
        two.name
        for one, two in pairs
        if bool(found := before(one)) != bool(after(two))
        and _is_crash(one if found else two)
        and not _is_crash(two if found else one)
    ]
    if names:
        yield (
            f"{subject} leaves out {plural(len(names), 'case')} that failed in one run and had nothing to judge in the other "
            f"({first_few([*map(repr, names)])}); `calipers show` of the run that failed cannot know it, and counts such a case as "
            "not passed"
        )


def unrecorded(pairs: Sequence[Pair], baseline: Columns, candidate: Columns) -> Iterator[str]:
    """The metrics that a run has not recorded in every attempt that finished, or that the candidate has no more."""
    cases = {
        "baseline": [one for one, _ in pairs] or baseline.cases,
        "candidate": [two for _, two in pairs] or candidate.cases,
    }
    for name in baseline.metrics:
        if name in BESIDE_COSTS:
            continue
        if name not in candidate.metrics:
            lacking = unpriced(cases["candidate"], name)
            why = f": {plural(lacking, 'model call')} without a known price" if lacking else ""
            yield f"the metric {name!r} is in no attempt of the candidate, so it is not compared{why}"
            continue
        for side, found in cases.items():
            if lacking := unpriced(found, name):
                yield (
                    f"the metric {name!r} of the {side} lacks {plural(lacking, 'model call')} without a known price: it is at least "
                    "what is shown"
                )
            due = (
                found
                if not pairs
                else [case for case, pair in zip(found, pairs, strict=True) if _is_due(pair, name)]
            )
            missing = without_metric(due, name)
            if missing:
                total = missing + sum(len(metric(case, name)) for case in due)
                yield (
                    f"the metric {name!r} was not recorded in {missing:,} of {total:,} attempts of the {side} that finished: the "
                    "others may be the cheap ones"
                )


def _is_due(pair: Pair, name: str) -> bool:
    """Whether one of the runs has a metric of the case."""
    return any(without_metric([case], name) < len(_finished(case).attempts) for case in pair)


def _missing(side: Columns, key: ColumnKey | None) -> Callable[[RunCase], int]:
    """Counts the attempts at a case that have no result, though nothing failed."""
    if key is None:
        return lambda case: sum(record.passed is None for record in case.attempts)
    return lambda case: side.missing(case, key) and side.missing(_finished(case), key)


def _is_crash(case: RunCase) -> bool:
    """Whether no attempt at a case finished."""
    return not any(isinstance(record, ReportCase) for record in case.attempts)


def _finished(case: RunCase) -> RunCase:
    """A case without the attempts whose task failed: a warning of its own says why these have no result."""
    kept: list[Record] = [record for record in case.attempts if isinstance(record, ReportCase)]
    return replace(case, attempts=kept)


def _has_results(side: Columns, case: RunCase, key: ColumnKey | None) -> bool:
    """Whether every attempt at a case has a result, but for those that failed."""
    without = 0 if key is None else side.lost(key, [case]).total() + side.missing(case, key)
    return without < len(case.attempts) and not _missing(side, key)(case)
