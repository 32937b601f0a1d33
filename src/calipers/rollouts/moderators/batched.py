"""`BatchedModerator`: the texts of many rollouts, scored together.

Rollouts that run side by side each ask for a few scores at a time. Where a call has a price of its own, such as a model
or a request over a network, it pays to wait a moment and ask for all of them at once.

A caller that gives up waiting does not affect the others: its texts are not sent, if that is still possible. If the moderator
fails, the whole batch gets the error.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from calipers.data.argument_checks import check_number, check_whole_number
from calipers.errors import InvalidRolloutError
from calipers.process.interrupt import is_interrupt

from .moderator import Scorer, as_moderator, check_texts, scores_of


@dataclass(eq=False)
class BatchedModerator(Scorer):
    """Gathers texts for a moment, and has another moderator score them in one call."""

    moderator: Any
    """Who scores, in any shape that `as_moderator` takes."""
    _: KW_ONLY
    max_batch: int = 64
    """Texts in one call at most; as soon as there are so many, they are sent."""
    max_wait: float = 0.01
    """Seconds that the first text waits for others at most."""
    _windows: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Window]" = field(
        default_factory=WeakKeyDictionary, init=False, repr=False
    )

    def __post_init__(self) -> None:
        as_moderator(self.moderator)
        check_whole_number("max_batch", self.max_batch, at_least=1)
        check_number("max_wait", self.max_wait, at_least=0, at_most=60, of="seconds")

    async def moderate(self, texts: Sequence[str]) -> list[float]:
        """One score for each text, in the same order."""
        if not check_texts(texts):
            return []
        loop = asyncio.get_running_loop()
        window = self._windows.get(loop)
        if window is None:
            window = self._windows[loop] = _Window(
                as_moderator(self.moderator), self.max_batch, self.max_wait
            )
        return await window.scores(list(texts))


class _Window:
    """The texts that wait in one event loop."""

    def __init__(self, moderator: Any, max_batch: int, max_wait: float) -> None:
        self.moderator = moderator
        self.max_batch = max_batch
        self.max_wait = max_wait
        self.waiting: list[tuple[list[str], asyncio.Future[list[float]]]] = []
        self.timer: asyncio.TimerHandle | None = None
        self.sent: set[asyncio.Task[None]] = set()  # the event loop alone would not keep them

    def scores(self, texts: list[str]) -> "asyncio.Future[list[float]]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[float]] = loop.create_future()
        self.waiting.append((texts, future))
        if sum(len(texts) for texts, future in self.waiting if not future.done()) >= self.max_batch:
            self.send()
        elif self.timer is None:
            self.timer = loop.call_later(self.max_wait, self.send)
        return future

    def send(self) -> None:
        """Send what waits."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        batch = [(texts, future) for texts, future in self.waiting if not future.done()]
        self.waiting = []
        if batch:
            # In a task of its own: the last caller may give up while the others wait.
            task = asyncio.get_running_loop().create_task(self._score(batch))
            self.sent.add(task)
            task.add_done_callback(self.sent.discard)

    @staticmethod
    def _fail(batch: "list[tuple[list[str], asyncio.Future[list[float]]]]", error: BaseException) -> None:
        """Give the error to every caller that waits."""
        try:
            task = asyncio.current_task()
        except RuntimeError:  # there is no event loop any more
            return
        ours = isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
        if isinstance(error, asyncio.CancelledError | GeneratorExit):
            # To callers it would look like their own cancellation.
            error = InvalidRolloutError(f"the moderator was ended while it scored: {type(error).__name__}")
        for _, future in batch:
            if future.done():
                continue
            if ours:
                future.cancel()
            else:
                future.set_exception(error)

    async def _score(self, batch: list[tuple[list[str], "asyncio.Future[list[float]]"]]) -> None:
        every = [text for texts, _ in batch for text in texts]
        scores: list[float] = []
        try:
            for start in range(0, len(every), self.max_batch):
                scores += await scores_of(self.moderator, every[start : start + self.max_batch])
        except BaseException as error:
            self._fail(batch, error)
            if is_interrupt(error) or isinstance(error, asyncio.CancelledError):
                raise
            return
        start = 0
        for texts, future in batch:
            if not future.done():
                future.set_result(scores[start : start + len(texts)])
            start += len(texts)
