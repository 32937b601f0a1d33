"""Ending a run as soon as a rule says that enough is known, without letting the order of the cases decide.

The rule is asked after every attempt, so whatever it computes has to allow many looks (`calipers.stats.sequential`). That in turn
needs cases in an order that has nothing to do with their results. So they are begun in a random order that follows from the seed,
the attempts at one case together; and the rule hears of them in that order, not in the order in which they finish: those that
finish first may be the easy ones. Attempts in flight when the rule has decided are finished and kept.
"""

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, Protocol, TypeAlias, runtime_checkable

from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.run.work import Work

StopRule: TypeAlias = Callable[[ReportCase | ReportCaseFailure], str | None]
"""Given each finished attempt in turn, says why no more are needed, or `None`."""


@runtime_checkable
class ForeseeingRule(Protocol):
    """A rule that looks at what is about to be run, and refuses what it could never decide before it costs anything."""

    def check_run(self, cases: Sequence[Any], evaluators: Sequence[str]) -> None:
        """Refuse, or note, what is about to be run.

        Args:
            cases: of the dataset.
            evaluators: the names of those that judge every case.

        Raises:
            InvalidOptionError: the rule is not made for these cases.
        """
        ...


class EarlyStop:
    """Asks a rule about the attempts of one run."""

    def __init__(self, rule: StopRule) -> None:
        self._rule = rule
        self._begun: deque[int] = deque()
        self._finished: dict[int, ReportCase | ReportCaseFailure] = {}
        self.heard = 0
        """Attempts that the rule has heard of."""
        self.why: str | None = None
        """Why no more are needed."""

    def follow(self, items: Iterator[Work]) -> Iterator[Work]:
        """The same items; each one that is taken has begun."""
        for work in items:
            self._begun.append(work.position)
            yield work

    @property
    def unheard(self) -> list[str]:
        """The names of finished attempts that the rule has not heard of."""
        return [record.name for record in self._finished.values()]

    def finished(self, position: int, record: ReportCase | ReportCaseFailure) -> bool:
        """Take in a finished attempt; whether no more are needed."""
        self._finished[position] = record
        while self.why is None and self._begun and self._begun[0] in self._finished:
            self.heard += 1
            self.why = self._rule(self._finished.pop(self._begun.popleft()))
        return self.why is not None


def in_random_order(items: Iterator[Work], seed: int) -> Iterator[Work]:
    """The work in a random order of its cases; each piece keeps its place in the report."""
    cases = [list(attempts) for _, attempts in groupby(items, key=lambda work: work.case_name)]
    random.Random(f"order of cases {seed}").shuffle(cases)  # noqa: S311 - no secret
    for attempts in cases:
        yield from attempts
