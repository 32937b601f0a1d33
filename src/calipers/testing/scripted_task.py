"""Tasks that answer from a script: the thing under test, without the thing.

    ScriptedTask({"2 + 2": "4", "1 / 0": ZeroDivisionError("division by zero")})   # by inputs
    ScriptedTask(["first answer", Delay(0.1, "second, later"), ConnectionError])   # in turn, whatever the inputs
    ScriptedTask({"flaky": InTurn(ConnectionError("reset"), "fine")})              # fails once, then answers

A step is a value to return, an exception (or its class) to raise, or a `Delay` before one of these. A script that has
no answer for a call raises `NoAnswerError`, which says what was asked: a test never passes on an invented answer.

Both tasks count what happens to them (`calls`, `max_in_flight`) and may be called from any number of threads.
"""

import asyncio
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from calipers.data.jsonable import safe_repr
from calipers.errors import CalipersError, InvalidOptionError


class NoAnswerError(CalipersError, LookupError):
    """A scripted task was asked what its script does not say."""


class Delay(msgspec.Struct, frozen=True):
    """A step that waits before another: `Delay(0.1, "late")`, `Delay(1, TimeoutError())`."""

    seconds: float
    step: Any = None
    """What follows: a value to return, an exception to raise, or a further delay."""


class InTurn:
    """Steps taken one after the other, one per call; for one entry of a script of several."""

    def __init__(self, *steps: Any) -> None:
        self.steps = steps
        self._left = iter(steps)

    def next(self) -> Any:
        """The next step.

        Raises:
            NoAnswerError: all of them were taken.
        """
        try:
            return next(self._left)
        except StopIteration:
            raise NoAnswerError(
                f"the script has {len(self.steps)} steps here, and all of them were taken: add a step per call"
            ) from None

    def __repr__(self) -> str:
        return f"InTurn({', '.join(map(safe_repr, self.steps))})"


class _Script:
    """What both kinds of scripted task share: the script, and what happened so far."""

    def __init__(self, script: Mapping[Any, Any] | Sequence[Any]) -> None:
        if isinstance(script, str | bytes) or not isinstance(script, Mapping | Sequence):
            raise InvalidOptionError(
                f"a script is a mapping from inputs to steps, or a list of steps, got {script!r}"
            )
        self.script = script
        self.calls: list[Any] = []
        """The inputs of every call, in order."""
        self.in_flight = 0
        """Calls begun and not finished."""
        self.max_in_flight = 0
        """The most calls there ever were at once."""
        self._lock = threading.Lock()
        self._entries: Mapping[Any, Any] | InTurn
        self._entries = script if isinstance(script, Mapping) else InTurn(*script)

    @contextmanager
    def _call(self, inputs: Any) -> Iterator[Any]:
        """Count a call while it lasts, and find its step."""
        with self._lock:
            self.calls.append(inputs)
            self.in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            with self._lock:  # steps are taken in turn, also by calls from several threads
                step = self._find(inputs)
            yield step
        finally:
            with self._lock:
                self.in_flight -= 1

    def _find(self, inputs: Any) -> Any:
        if isinstance(self._entries, InTurn):
            return self._entries.next()
        try:
            step = self._entries[inputs]
        except KeyError:
            known = ", ".join(safe_repr(key) for key in self._entries)
            raise NoAnswerError(
                f"the script has no answer for {safe_repr(inputs)}; it answers: {known}"
            ) from None
        except TypeError:
            raise NoAnswerError(
                f"the script cannot look up {safe_repr(inputs)}, which is not hashable: "
                "give a list of steps instead, and run with max_concurrency=1 to keep their order"
            ) from None
        return step.next() if isinstance(step, InTurn) else step

    def __repr__(self) -> str:
        return f"{type(self).__name__}({safe_repr(self.script)})"


class ScriptedTask(_Script):
    """An async task that answers from a script."""

    async def __call__(self, inputs: Any) -> Any:
        """The script's answer to the inputs."""
        with self._call(inputs) as found:
            step = found
            while isinstance(step, Delay):
                await asyncio.sleep(step.seconds)
                step = step.step
            return _answer(step)


class BlockingScriptedTask(_Script):
    """A task that answers from a script and blocks its thread while it waits."""

    def __call__(self, inputs: Any) -> Any:
        """The script's answer to the inputs."""
        with self._call(inputs) as found:
            step = found
            while isinstance(step, Delay):
                time.sleep(step.seconds)
                step = step.step
            return _answer(step)


def _answer(step: Any) -> Any:
    if isinstance(step, BaseException):
        raise step.with_traceback(
            None
        )  # one object may be raised by many calls: each starts its own traceback
    if isinstance(step, type) and issubclass(step, BaseException):
        raise step
    return step
