"""When to call a failed task again, and how long to wait before.

Written here rather than taken from a library because a retried attempt starts with fresh metrics, waits without
blocking the event loop, and draws its jitter from the run's seed; what remains is this value object.
"""

import random
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from .errors import InvalidOptionError

RetryOn: TypeAlias = type[BaseException] | tuple[type[BaseException], ...] | Callable[[BaseException], bool]


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How often to try a task, and with which pauses.

    `Retry(attempts=4)` tries up to four times on any exception. `Retry(on=ConnectionError, backoff=2)` tries again
    only on that one, waiting about 2, 4, 8, … seconds. `on` may be a function of the exception.
    """

    attempts: int = 3
    """How often to call the task at most, the first time included."""
    backoff: float = 0.5
    """Seconds before the second try; each further pause is `factor` times as long."""
    factor: float = 2.0
    max_backoff: float = 60.0
    """No pause is longer, in seconds."""
    jitter: float = 0.5
    """Each pause is shortened by a random share of up to this much, so that retries spread out."""
    on: RetryOn = Exception
    """Which failures to try again: exception types, or a function that decides."""

    def __post_init__(self) -> None:
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int) or self.attempts < 1:
            raise InvalidOptionError(
                f"Retry(attempts=...) must be a whole number from 1, got {self.attempts!r}"
            )
        for name in ("backoff", "factor", "max_backoff"):
            if not getattr(self, name) >= 0:
                raise InvalidOptionError(
                    f"Retry({name}=...) must not be negative, got {getattr(self, name)!r}"
                )
        if not 0 <= self.jitter <= 1:
            raise InvalidOptionError(f"Retry(jitter=...) must be from 0 to 1, got {self.jitter!r}")

    def again(self, error: BaseException, tries: int) -> bool:
        """Whether to call the task once more after this error on the given try."""
        if tries >= self.attempts:
            return False
        if isinstance(self.on, type | tuple):
            return isinstance(error, self.on)
        return bool(self.on(error))

    def pause(self, tries: int, seed: int) -> float:
        """Seconds to wait after the given try."""
        whole = min(self.max_backoff, self.backoff * self.factor ** (tries - 1))
        return whole * (1 - self.jitter * random.Random(seed + tries).random())  # noqa: S311 - spreading, not secrets
