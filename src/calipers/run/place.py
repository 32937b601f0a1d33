"""Where attempts run: the seam between a run and an engine.

A run without an engine calls the task in its own process. An engine opens a `Place` for a run: there the task is called, and
what came of it is put into the attempt as if it had been called here. All else stays with the run: which attempt is next,
retries, judging, the journal, limits, and when to stop. `calipers.engines` has the engines.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

import msgspec

from calipers.data.attempt import Attempt
from calipers.run.call_limit import Limits
from calipers.run.task import Task


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What a place needs to know of a run."""

    task: Task
    records_spans: bool
    """Whether the spans of attempts are recorded."""
    task_timeout: float | None = None
    """Seconds that the task may take, unless the case of an attempt says otherwise."""
    max_concurrency: int | None = None
    """Attempts in flight; `None`: as many as suit the place."""
    limits: Limits
    """Which calls of the task share with all others of the run."""
    has_budget: bool
    """Whether attempts have an account in which what they spend is settled."""
    give_up: Callable[[str], None]
    """Ends the run early, and says why: the place can make no more attempts."""
    hold: Callable[[float], None]
    """Notes for how many seconds the task held an event loop."""
    use_prices: Callable[[Sequence[str]], None]
    """Notes by which prices of models the task's calls were counted."""


class Place(Protocol):
    """Where the attempts of one run are made."""

    limit: int
    """Attempts to begin or judge at once, so that the place is always busy."""

    async def room(self) -> None:
        """Wait until one attempt more would not have to wait for others. Called before an attempt is taken from the queue."""
        ...

    async def call(self, attempt: Attempt, seconds: float | None) -> bool:
        """Call the task once, and put what came of it into the attempt: its output, or what it raised as its error.

        Args:
            attempt: with the case, its inputs, and what earlier tries used.
            seconds: that the task may take; `None`: as long as it likes.

        Returns:
            Whether an answer came in time. If not, nothing is in the attempt, and nothing will be.
        """
        ...


@runtime_checkable
class Engine(Protocol):
    """Opens a place for each run. Its `repr` is kept with a stored run."""

    def check(self, task: Task) -> None:
        """Refuse a task that cannot be called there. Asked before the run begins.

        Raises:
            EngineError: it cannot.
        """
        ...

    def opened(self, job: Job) -> AbstractAsyncContextManager[Place]:
        """A block in which attempts can be made; nothing runs there any more when it is left.

        Raises:
            EngineError: there is no place where attempts can run.
        """
        ...
