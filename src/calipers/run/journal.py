"""The journal of a run: what is known before an attempt is made, and where a finished one is noted.

A run asks its journal for the work, which comes with what earlier runs know of it, and hands it every finished attempt.
Stores implement it (`calipers.stores`); a run without a journal never thinks of it.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

import msgspec

from calipers.data.attempt import Attempt
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.reuse import Reuse
from calipers.report.report import Report
from calipers.run.work import Work
from calipers.scoring.plan import Plan


class Setup(msgspec.Struct, kw_only=True, frozen=True):
    """What a run is about to do."""

    task: Any
    """As it was passed to `Dataset.evaluate`."""
    task_name: str
    name: str
    """Of the run."""
    plan: Plan
    """The evaluators that judge every attempt."""
    dataset_name: str | None = None
    total: int | None = None
    """Attempts to make; `None` if the dataset does not tell its length."""
    repeat: int = 1
    seed: int = 0
    lifecycle: Any = None
    """What makes the hooks around each attempt; `None` if there are none."""
    plugins: Any = None
    """Who is told when the run and its attempts begin and end; `None` if no one is."""
    options: dict[str, Any] = {}
    """Limits and the like, as plain data, to be kept with the run."""
    metadata: dict[str, Any] | None = None


class Journal(Protocol):
    """Knows what earlier runs did, and keeps what this one does."""

    name: str
    """Of the run: what it was called when it was begun."""
    seed: int
    """The seed of the run."""

    def prepared(self, items: Iterator[Work]) -> Iterator[Work]:
        """The work in its order, each with what is known of it. Called once; read by one thread at a time."""
        ...

    def append(self, work: Work, attempt: Attempt, record: ReportCase | ReportCaseFailure) -> None:
        """Note a finished attempt. Called on the event loop, in the order attempts finish.

        Raises:
            CalipersError: nothing more can be kept.
        """
        ...

    def finish(self, report: Report | None, *, broken: bool = False) -> Reuse:
        """Note that the run is over, and say how much of it was reused.

        Args:
            report: what the run says; `None`: it has no report.
            broken: whether that is due to an error, rather than to a caller who does not wait for it any more.

        Raises:
            CalipersError: not all of it could be kept.
        """
        ...


Keeping: TypeAlias = Callable[[Setup], Journal]
"""Opens the journal of a run."""
