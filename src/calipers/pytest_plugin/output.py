"""What attempts print and log while they run together, kept apart by case, so that pytest shows it with the right test.

It is known whose output something is wherever the attempt is known (`calipers.running_attempt`): in the task, in what it awaits and in
threads that have its context. Anything else (an evaluator, a process that the task began) belongs to the test that is called.
Where pytest does not capture output (`-s`), nothing is held back.
"""

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from calipers.data.attempt import running_attempt

_CAPTURING = "LogCaptureHandler"
"""The class of pytest's handlers that keep log messages for the report of a test."""


@dataclass
class Said:
    """What the attempts at one case said."""

    written: list[tuple[str, str]] = field(default_factory=list)
    """`stdout` or `stderr`, and the text."""
    logged: list[tuple[logging.Handler, logging.LogRecord]] = field(default_factory=list)
    """What a handler of pytest would have taken."""

    def repeat(self) -> None:
        """Say it again, now that the test is called which it belongs to."""
        for stream, text in self.written:
            getattr(sys, stream).write(text)
        for handler, record in self.logged:
            handler.handle(record)
        self.written.clear()
        self.logged.clear()


@contextmanager
def divided(said: Mapping[str, Said], config: pytest.Config) -> Iterator[None]:
    """Let what attempts say inside the block go to the case that it belongs to."""
    if not said:
        yield
        return
    captured = config.getoption("capture", "no") != "no"
    streams = {name: getattr(sys, name) for name in ("stdout", "stderr") if captured}
    handlers = [each for each in logging.getLogger().handlers if type(each).__name__.endswith(_CAPTURING)]
    filters = [(handler, _Sorted(said, handler)) for handler in handlers]
    for name, stream in streams.items():
        setattr(sys, name, _Divided(said, name, stream))
    for handler, sort in filters:
        handler.addFilter(sort)
    try:
        yield
    finally:
        for handler, sort in filters:
            handler.removeFilter(sort)
        for name, stream in streams.items():
            setattr(sys, name, stream)


def _whose(said: Mapping[str, Said]) -> Said | None:
    attempt = running_attempt()
    return None if attempt is None else said.get(attempt.case_name)


class _Divided:
    """A stream that is written to by several attempts."""

    def __init__(self, said: Mapping[str, Said], name: str, stream: Any) -> None:
        self._said = said
        self._name = name
        self._stream = stream

    def write(self, text: str) -> int:
        """Keep the text for the case that it belongs to."""
        whose = _whose(self._said)
        if whose is None:
            return int(self._stream.write(text))
        whose.written.append((self._name, text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Sorted(logging.Filter):
    """Keeps messages from a handler that belong to another test than the one that is called."""

    def __init__(self, said: Mapping[str, Said], handler: logging.Handler) -> None:
        super().__init__()
        self._said = said
        self._handler = handler

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the message may go on."""
        whose = _whose(self._said)
        if whose is not None:
            whose.logged.append((self._handler, record))
        return whose is None
