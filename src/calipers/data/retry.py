"""When to call a failed task again, and how long to wait before.

Written here rather than taken from a library because a retried attempt starts with fresh metrics, waits without
blocking the event loop, and draws its jitter from the run's seed; what remains is this value object.
"""

import inspect
import random
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias

import msgspec

from calipers.data.jsonable import safe_repr
from calipers.errors import BudgetError, InvalidOptionError, OtherLoopError, RolloutError, TapeError
from calipers.process.interrupt import is_interrupt

from .argument_checks import check_number, check_share, check_whole_number

_LONGEST = 1_000_000
"""Seconds. A longer pause is a mistake."""

RetryOn: TypeAlias = type[BaseException] | tuple[type[BaseException], ...] | Callable[[BaseException], bool]


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How often to try a task, and with which pauses.

    `Retry(attempts=4)` tries up to four times on any exception. `Retry(on=ConnectionError, backoff=2)` tries again
    only on that one, waiting about 2, 4, 8, … seconds. `on` may be a function of the exception. `Retry(timeout=60)` starts no
    try later than a minute after the first one; it does not end a try that is running.
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
    timeout: float | None = None
    """Seconds from the start of the first try to the start of the last one, at most; `None` for no limit."""

    def __post_init__(self) -> None:
        check_whole_number("Retry(attempts=...)", self.attempts, at_least=1)
        for name in ("backoff", "factor", "max_backoff", "timeout"):
            value = getattr(self, name)
            check_number(f"Retry({name}=...)", value, at_least=0, at_most=_LONGEST, or_none=name == "timeout")
        check_share("Retry(jitter=...)", self.jitter)
        if not _selects(self.on):
            raise InvalidOptionError(
                f"Retry(on=...) must be an exception type, a tuple of them or a function of the error, got {self.on!r}"
            )

    def again(self, error: BaseException, tries: int, spent: float = 0.0) -> bool:
        """Whether to call the task once more after this error on the given try, `spent` seconds after the first try began.

        Not after an `OtherLoopError`, which a further try may hide, nor after a `TapeError`, since a tape says the same again, nor after a `BudgetError`. `on` is also asked about the error of a player that broke off a
        conversation. If the function given as `on` fails itself, the task is not called again, and a note on the error says why.
        """
        if (
            tries >= self.attempts
            or issubclass(type(error), TapeError | BudgetError)
            or OtherLoopError.found_in(error) is not None
        ):
            return False
        if self.timeout is not None and spent + self._longest_pause(tries) > self.timeout:
            return False
        player = error.__cause__ if issubclass(type(error), RolloutError) else None
        try:
            return self._covers(error) or (player is not None and self._covers(player))
        except BaseException as failure:
            _note_refusal(error, "Retry(on=...)", failure)
            return False

    def _covers(self, error: BaseException) -> bool:
        return issubclass(type(error), self.on) if isinstance(self.on, type | tuple) else bool(self.on(error))

    def pause(
        self,
        tries: int,
        seed: int,
        error: BaseException | None = None,  # noqa: ARG002 - read by a RetryFunctions
        spent: float = 0.0,  # noqa: ARG002 - as above
    ) -> float:
        """Seconds to wait after the given try, which failed with this error `spent` seconds after the first one began."""
        share = 1 - self.jitter * random.Random(seed + tries).random()  # noqa: S311 - spreading, not secrets
        return self._longest_pause(tries) * share

    def _longest_pause(self, tries: int) -> float:
        """Seconds to wait after the given try, without jitter."""
        try:
            return min(self.max_backoff, self.backoff * float(self.factor) ** (tries - 1))
        except OverflowError:
            return self.max_backoff


class FailedTry:
    """What the functions of a `RetryFunctions` are asked about: the part of tenacity's `RetryCallState` that there is here."""

    __slots__ = ("attempt_number", "error", "seconds_since_start")

    def __init__(self, error: BaseException | None, tries: int, spent: float) -> None:
        self.error = error
        self.attempt_number = tries
        """Which try it was, from 1."""
        self.seconds_since_start = spent
        """Seconds since the first try began."""

    @property
    def outcome(self) -> "FailedTry":
        """How the try ended."""
        return self

    @property
    def failed(self) -> bool:
        """Always: nothing else is asked about."""
        return True

    def exception(self) -> BaseException | None:
        """What the try raised."""
        return self.error


class RetryFunctions(msgspec.Struct, frozen=True, kw_only=True):
    """A retry in the words of tenacity: functions of a failed try that say when to stop, how long to wait and what to try again."""

    stop: Callable[[Any], Any]
    wait: Callable[[Any], Any] | None = None
    """`None`: no pause."""
    retry: Callable[[Any], Any] | None = None
    """`None`: any exception is tried again."""

    def __post_init__(self) -> None:
        for name in ("stop", "wait", "retry"):
            function = getattr(self, name)
            if name != "stop" and function is None:
                continue
            if not callable(function) or any(
                map(inspect.iscoroutinefunction, (function, type(function).__call__))
            ):
                raise InvalidOptionError(
                    f"{name} must be a function of the failed try, got {function!r:.200}"
                )

    def again(self, error: BaseException, tries: int, spent: float = 0.0) -> bool:
        """Whether the functions want another try, asked as a `Retry` is."""
        if issubclass(type(error), BudgetError) or OtherLoopError.found_in(error) is not None:
            return False
        asked = FailedTry(error, tries, spent)
        try:
            covered = isinstance(error, Exception) if self.retry is None else bool(self.retry(asked))
            return covered and not self.stop(asked)
        except BaseException as failure:
            _note_refusal(error, "the function given as stop or retry", failure)
            return False

    def pause(self, tries: int, seed: int, error: BaseException | None = None, spent: float = 0.0) -> float:
        """Seconds to wait, as `wait` says. Where it fails, the pause is that of a plain `Retry`, with a warning."""
        if self.wait is None:
            return 0.0
        try:
            seconds = float(self.wait(FailedTry(error, tries, spent)))
            if not 0 <= seconds <= _LONGEST:
                raise InvalidOptionError(f"it gave {seconds!r} seconds")  # noqa: TRY301 - handled like its own error
        except BaseException as failure:
            if is_interrupt(failure):
                raise
            warnings.warn(f"the function given as wait failed: {safe_repr(failure)}", stacklevel=2)
            return Retry().pause(tries, seed)
        return seconds


def _note_refusal(error: BaseException, what: str, failure: BaseException) -> None:
    """Say on the error of a task why it is not tried again; raise the failure if it is Ctrl-C."""
    if is_interrupt(failure):
        raise failure
    with suppress(Exception):  # an error that takes no notes
        error.add_note(f"not tried again, since {what} failed: {safe_repr(failure)}")


_WORDS: Final = {"max_attempts": "attempts", "initial_delay": "backoff", "max_delay": "max_backoff"}
"""What others call the fields of a `Retry`."""


_FUNCTIONS: Final = frozenset({"reraise", "retry", "stop", "wait"})
"""What tenacity calls its options, of those that mean something here."""


def as_retry(
    given: "Retry | RetryFunctions | Mapping[str, Any] | None", name: str = "retry"
) -> Retry | RetryFunctions | None:
    """A `Retry`, or one made of a mapping of its fields, also as `max_attempts`, `initial_delay` and `max_delay`.

    A mapping with `stop`, `wait` and `retry`, as tenacity has them, makes a `RetryFunctions`; `reraise` is accepted, since the
    original error is reported in any case.
    """
    if given is None or isinstance(given, Retry | RetryFunctions):
        return given
    if not isinstance(given, Mapping):
        raise InvalidOptionError(f"{name} must be a Retry, such as Retry(attempts=3), got {given!r:.200}")
    if _FUNCTIONS & given.keys():
        return _of_functions(given, name)
    fields = {_WORDS.get(word, word): value for word, value in given.items()}
    if unknown := sorted(set(map(str, fields)) - set(Retry.__struct_fields__)):
        raise InvalidOptionError(
            f"{name} has no {unknown[0]!r}: give a Retry, with {', '.join(Retry.__struct_fields__)}"
        )
    return Retry(**fields)


def _of_functions(given: Mapping[str, Any], name: str) -> RetryFunctions:
    if unknown := sorted(set(map(str, given)) - _FUNCTIONS):
        raise InvalidOptionError(f"{name} has no {unknown[0]!r} beside stop, wait, retry and reraise")
    if "stop" not in given:
        raise InvalidOptionError(
            f"{name} needs stop= too: without it, a task that always fails is tried forever"
        )
    return RetryFunctions(**{word: value for word, value in given.items() if word != "reraise"})


def _selects(on: Any) -> bool:
    """Whether this can tell which failures to try again."""
    if isinstance(on, tuple):
        return all(isinstance(kind, type) and _selects(kind) for kind in on)
    if isinstance(on, type):
        return issubclass(on, BaseException)
    return callable(on) and not inspect.iscoroutinefunction(on)
