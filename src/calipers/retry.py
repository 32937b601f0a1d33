"""When to call a failed task again, and how long to wait before.

Written here rather than taken from a library because a retried attempt starts with fresh metrics, waits without
blocking the event loop, and draws its jitter from the run's seed; what remains is this value object.
"""

import inspect
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias

import msgspec

from .errors import InvalidOptionError, OtherLoopError, RolloutError
from .interrupt import is_interrupt
from .plain import safe_repr

_LONGEST = 1_000_000
"""Seconds. A longer pause is a slip of the pen, and NaN and infinity are none."""

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
        for name, highest in (
            ("backoff", _LONGEST),
            ("factor", _LONGEST),
            ("max_backoff", _LONGEST),
            ("jitter", 1),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= highest:
                raise InvalidOptionError(f"Retry({name}=...) must be from 0 to {highest:,}, got {value!r}")
        if not _selects(self.on):
            raise InvalidOptionError(
                f"Retry(on=...) must be an exception type, a tuple of them or a function of the error, got {self.on!r}"
            )

    def again(self, error: BaseException, tries: int) -> bool:
        """Whether to call the task once more after this error on the given try.

        Not after an `OtherLoopError`, which a further try may hide. `on` is also asked about the error of a player that broke off a
        conversation. If the function given as `on` fails itself, the task is not called again, and a note on the error says why.
        """
        if tries >= self.attempts or OtherLoopError.found_in(error) is not None:
            return False
        player = error.__cause__ if issubclass(type(error), RolloutError) else None
        try:
            return self._covers(error) or (player is not None and self._covers(player))
        except BaseException as failure:
            if is_interrupt(failure):
                raise
            with suppress(Exception):  # an error that takes no notes
                error.add_note(f"not tried again, since Retry(on=...) failed: {safe_repr(failure)}")
            return False

    def _covers(self, error: BaseException) -> bool:
        return issubclass(type(error), self.on) if isinstance(self.on, type | tuple) else bool(self.on(error))

    def pause(self, tries: int, seed: int) -> float:
        """Seconds to wait after the given try."""
        try:
            whole = min(self.max_backoff, self.backoff * float(self.factor) ** (tries - 1))
        except OverflowError:
            whole = self.max_backoff
        return whole * (1 - self.jitter * random.Random(seed + tries).random())  # noqa: S311 - spreading, not secrets


_WORDS: Final = {"max_attempts": "attempts", "initial_delay": "backoff", "max_delay": "max_backoff"}
"""What others call the fields of a `Retry`."""


def as_retry(given: "Retry | Mapping[str, Any] | None", name: str = "retry") -> Retry | None:
    """A `Retry`, made of a mapping of its fields where need be; `max_attempts`, `initial_delay` and `max_delay` will do too.

    Args:
        given: what the caller passed.
        name: of the argument, for an error to say.
    """
    if given is None or isinstance(given, Retry):
        return given
    if not isinstance(given, Mapping):
        raise InvalidOptionError(f"{name} must be a Retry, such as Retry(attempts=3), got {given!r:.200}")
    fields = {_WORDS.get(word, word): value for word, value in given.items()}
    if unknown := sorted(set(map(str, fields)) - set(Retry.__struct_fields__)):
        raise InvalidOptionError(
            f"{name} has no {unknown[0]!r}: give a Retry, with {', '.join(Retry.__struct_fields__)}; "
            "task_timeout= limits each try"
        )
    return Retry(**fields)


def _selects(on: Any) -> bool:
    """Whether this can tell which failures to try again."""
    if isinstance(on, tuple):
        return all(isinstance(kind, type) and _selects(kind) for kind in on)
    if isinstance(on, type):
        return issubclass(on, BaseException)
    return callable(on) and not inspect.iscoroutinefunction(on)
