"""Failures ranked by how ordinary they are and how bad, as a Pareto front.

Trials of the same inputs count as one failure. How **bad** it is: the mean severity of its tries, where a try that did not fail counts 0, so that what fails now and then is less bad than
what fails always. How **ordinary**: its realism. One failure *dominates* another if it is at least as bad and at least as ordinary, and more so in one of the two. The front has those that
none dominates: whoever repairs one of them cannot find a failure that is worse and more ordinary.

A failure whose realism is not known is not on the front, and dominates none.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from calipers.data.jsonable import plain, safe_repr
from calipers.stats.interval import Interval
from calipers.stats.number_text import percent

from .trial_outcome import Outcome


@dataclass(frozen=True)
class RankedFailure:
    """A failure, with how bad and how ordinary it is."""

    outcomes: tuple[Outcome, ...]
    """The trials of its inputs that failed, the first one first."""
    tries: int
    """Trials of its inputs of which it is known whether they failed."""
    badness: float
    """The mean severity of all tries, from 0 to 1."""
    realism: float | None
    """How ordinary it is, in the middle of its trials; `None`: not known."""
    interval: Interval | None = None
    """Where its realism lies, given so many real turns."""
    on_front: bool = False
    """Whether no failure dominates it."""

    @property
    def outcome(self) -> Outcome:
        """The first trial that failed."""
        return self.outcomes[0]

    def __str__(self) -> str:
        ordinary = "it is not known how ordinary it is"
        if self.realism is not None:
            ends = (
                ""
                if self.interval is None
                else f" [{percent(self.interval.low)}, {percent(self.interval.high)}]"
            )
            ordinary = f"{percent(self.realism)} of real turns are at least as odd{ends}"
        return f"trial {self.outcome.number} ({self.outcome.signature or 'failure'}): {ordinary}"


def ranked_failures(outcomes: Iterable[Outcome]) -> list[RankedFailure]:
    """The failures, the most ordinary first; those of which that is not known come last."""
    tried: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.failed is not None:
            tried.setdefault(_key(outcome.proposal.inputs), []).append(outcome)
    found: list[RankedFailure] = []
    for mine in tried.values():
        failed = tuple(outcome for outcome in mine if outcome.failed)
        if failed:
            severities = [_severity(outcome) if outcome.failed else 0.0 for outcome in mine]
            told = [outcome for outcome in mine if outcome.realism is not None]
            # What is said in a conversation may vary from try to try: the middle one stands for all.
            middle = (
                sorted(told, key=lambda outcome: outcome.realism or 0.0)[len(told) // 2] if told else None
            )
            realism, interval = (None, None) if middle is None else (middle.realism, middle.realism_interval)
            found.append(RankedFailure(failed, len(mine), fmean(severities), realism, interval))
    known = [each for each in found if each.realism is not None]
    front = pareto_front([(each.badness, each.realism or 0.0) for each in known])
    marked = [replace(each, on_front=flag) for each, flag in zip(known, front, strict=True)]
    marked.sort(key=lambda each: (-(each.realism or 0.0), -each.badness, each.outcome.number))
    return [*marked, *(each for each in found if each.realism is None)]


def pareto_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Of each point, whether none dominates it: is at least as high in both numbers, and higher in one."""
    order = sorted(range(len(points)), key=lambda at: points[at], reverse=True)
    found = [False] * len(points)
    highest, last = float("-inf"), None
    for at in order:
        if points[at][1] > highest or points[at] == last:
            found[at] = True
            highest, last = points[at][1], points[at]
    return found


def _severity(outcome: Outcome) -> float:
    return 1.0 if outcome.severity is None else outcome.severity


def _key(inputs: object) -> str:
    """What tells inputs apart."""
    try:
        return json.dumps(plain(inputs), sort_keys=True)
    except (TypeError, ValueError):
        return safe_repr(inputs)
