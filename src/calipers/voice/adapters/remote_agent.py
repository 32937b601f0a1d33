"""What every adapter has: a repr without secrets, and a way to tell which of its options can never work.

A constructor only stores its options, and `run` refuses the first one that is wrong. Whoever reads them from a file asks
`wrong_options` instead, so that everything is told at once and before anything runs.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from calipers.errors import InvalidOptionError
from calipers.http.request import check_seconds

from .request import as_json, check_count
from .showing import shown_agent
from .tool_declarations import for_chat


def _check_count_if_any(name: str, value: Any) -> None:
    if value is not None:
        check_count(name, value)


def _check_json(name: str, value: Any) -> None:
    as_json(value, what=name)


def _check_tools(_: str, value: Any) -> None:
    for_chat(value)


_CHECKS: Mapping[str, Callable[[str, Any], None]] = {
    "timeout": check_seconds,
    "open_timeout": check_seconds,
    "chunk_ms": _check_count_if_any,
    "sample_rate": _check_count_if_any,
    "max_messages": check_count,
    "tools": _check_tools,
    "end_message": _check_json,
    "extra_fields": _check_json,
    "options": _check_json,
    "session": _check_json,
    "setup": _check_json,
    "transcription": _check_json,
    "turn_detection": _check_json,
}
"""By the name of an option: what raises `InvalidOptionError` if its value cannot work."""


class RemoteAgent:
    """An agent that lives elsewhere."""

    def wrong_options(self) -> Iterator[tuple[str, str]]:
        """Each option that can never work, and what is wrong with it."""
        for name, check in {**_CHECKS, **self._own_checks()}.items():
            if not hasattr(self, name):
                continue
            try:
                check(name, getattr(self, name))
            except InvalidOptionError as error:
                yield name, str(error)

    def _own_checks(self) -> Mapping[str, Callable[[str, Any], None]]:
        """Checks of options that mean something else in each adapter."""
        return {}

    def __repr__(self) -> str:
        return shown_agent(self)
