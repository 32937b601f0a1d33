"""What a comparison comes to: better, worse or neither, by which change, and what to do next.

It is drawn from the pass rate or, where none was compared, from the evaluators: the first that is certainly worse, else better,
else the first. It says nothing that these do not say. Runs that were not judged by the same evaluators are *incomparable*,
whatever the numbers look like; so are runs with attempts that ended in an `OtherLoopError`, which say nothing of the agent.
Attempts that got no answer count as not passed, and are to be made again before anything is taken or kept for it.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from .change import Change

ConclusionOutcome: TypeAlias = Literal["better", "worse", "same", "unclear", "incomparable", "nothing"]
"""What it comes to; `nothing` if the runs have nothing in common that could be compared."""
Advice: TypeAlias = Literal[
    "take the candidate",
    "weigh",
    "keep the baseline",
    "choose freely",
    "add cases",
    "add attempts",
    "confirm",
    "judge alike",
    "share evaluators",
    "leave the other loop",
    "answer first",
]
"""What to do next: `weigh` where the whole is better and an evaluator is worse, `confirm` what counts alone and may be luck among many,
`add attempts` where these cases are asked about, `judge alike` both runs where evaluators differ, `share evaluators` where they have none in common,
`leave the other loop` where clients or locks belonged to another event loop, and `answer first` where attempts got no answer: both make attempts again."""


class Conclusion(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison comes to."""

    outcome: ConclusionOutcome
    advice: Advice
    change: str | None = None
    """The name of the change that it is drawn from: that of the pass rate, or of an evaluator; `None` if there is none."""
    worse: tuple[str, ...] = ()
    """Evaluators that are certainly worse."""
    broken: int = 0
    """Cases that passed in the baseline and do not in the candidate, without those that luck explains."""
    unanswered: int = 0
    """Attempts of both runs that got no answer because of a time-out, a connection or a server, and count as not passed."""
    more_cases: int | None = None
    """About how many more cases would show the smallest difference worth seeing; `None` if it is not known, or enough are there."""
    attempts: int | None = None
    """About how many attempts at each of these cases would show it; `None` likewise, or where cases like these are asked about."""


def conclude(
    pass_rate: Change | None,
    evaluators: Sequence[Change],
    *,
    broken: int,
    unanswered: int = 0,
    on_other_loop: int = 0,
) -> Conclusion:
    """What the changes, with their outcomes settled, come to; the numbers count cases that broke and attempts of both runs."""
    worse = tuple(
        change.name for change in evaluators if change.outcome == "worse" and change.warning is None
    )
    change = pass_rate or _telling(evaluators)
    if on_other_loop:
        return Conclusion(
            outcome="incomparable",
            advice="leave the other loop",
            change=None if change is None else change.name,
            broken=broken,
            unanswered=unanswered,
        )
    if change is None:
        return Conclusion(outcome="nothing", advice="share evaluators", broken=broken, unanswered=unanswered)
    outcome, advice = _settled(change)
    if unanswered and outcome in {"better", "worse"}:
        advice = "answer first"
    elif advice == "take the candidate" and worse:
        advice = "weigh"
    have = min(change.baseline_cases, change.candidate_cases)
    # Where the interval excludes 0, so few cases are there that the spread they show says nothing of how many it takes.
    needed = change.needed_cases if advice == "add cases" and not _excludes_0(change) else None
    return Conclusion(
        outcome=outcome,
        advice=advice,
        change=change.name,
        worse=worse,
        broken=broken,
        unanswered=unanswered,
        attempts=change.needed_attempts if advice == "add attempts" and not _excludes_0(change) else None,
        more_cases=needed - have if needed is not None and needed > have else None,
    )


def _telling(evaluators: Sequence[Change]) -> Change | None:
    """The evaluator that tells most, where there is no pass rate."""
    for outcome in ("worse", "better"):
        for change in evaluators:
            if change.outcome == outcome and change.warning is None:
                return change
    return next(iter(evaluators), None)


def _settled(change: Change) -> tuple[ConclusionOutcome, Advice]:
    if change.warning is not None:
        return "incomparable", "judge alike"
    match change.outcome:
        case "better":
            return "better", "take the candidate"
        case "worse":
            return "worse", "keep the baseline"
        case "same" | "identical":
            return "same", "choose freely"
        case "higher" | "lower" | "unclear":
            if _counts_alone(change):
                return "unclear", "confirm"
            return "unclear", "add attempts" if change.population == "these-cases" else "add cases"


def _counts_alone(change: Change) -> bool:
    """Whether a change would count if it had been the only question."""
    return (
        change.interval is not None
        and _excludes_0(change)
        and change.p_value is not None
        and change.p_value <= 1 - change.interval.confidence
    )


def _excludes_0(change: Change) -> bool:
    return change.interval is not None and (change.interval.low > 0 or change.interval.high < 0)
