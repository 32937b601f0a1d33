"""An `AgentResponse` in the making: what every parser does the same way.

Providers answer with dicts or with objects of their SDK, and leave out or set to `None` whatever they please. So fields
are read by key or by attribute, what is missing reads as `None`, and what cannot be read is recorded as a problem. No
input makes a parser raise.

An answer that was broken off, or that reports an error, is what it is as far as it has calls. Without any it is none: an
agent that was not let finish must not pass for one that called nothing.

Arguments that are absent, null or a blank string are those of a call without arguments. Anything else that is neither an
object nor the JSON text of one is malformed: the call is kept as an `unreadable_call`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from calipers.data.jsonable import safe_repr
from calipers.data.trace import ToolCall
from calipers.voice.response import AgentResponse, ProblemKind, ResponseProblem, unreadable_call

_PLAIN = (str, bytes, bytearray, int, float, list, tuple, type(None))
_EXCERPT = 200
_CUT_SHORT = ("incomplete", "error")
"""Problems of an answer that ended before its end."""


def read(value: Any, *names: str) -> Any:
    """The first of these fields that is there and not `None`: a key of a mapping, an attribute of an object."""
    for name in names:
        found = _read_one(value, name)
        if found is not None:
            return found
    return None


def _read_one(value: Any, name: str) -> Any:
    if isinstance(value, _PLAIN):  # lists and strings have attributes, but no fields
        return None
    try:
        return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    except Exception:
        return None


def is_list(value: Any) -> bool:
    """Whether a value is a sequence of values, whichever class the provider uses for it."""
    return type(value) is list or (
        isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)
    )


def excerpt(value: Any) -> str:
    """The repr of a value, cut to what fits a message."""
    text = safe_repr(value)
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"


class Draft:
    """Collects calls, words and problems of one answer."""

    def __init__(self, raw: Any, *, joined_by: str = "\n") -> None:
        self.response = AgentResponse(raw=raw)
        self.answered = False
        """Whether anything was found that is an answer of this protocol, be it an empty one."""
        self.cut_short = False
        """Whether it ended before its end."""
        self._joined_by = joined_by
        self._said: list[str] = []
        self._heard: list[str] = []

    def problem(self, kind: ProblemKind, message: str, raw: Any = None) -> None:
        """Record what could not be read."""
        self.cut_short = self.cut_short or kind in _CUT_SHORT
        self.response.problems.append(ResponseProblem(kind, message, raw))

    def say(self, text: Any) -> None:
        """Add what the agent said, if it is text."""
        if isinstance(text, str) and text:
            self._said.append(text)

    def hear(self, text: Any) -> None:
        """Add what the agent heard, if it is text."""
        if isinstance(text, str) and text:
            self._heard.append(text)

    def messages(self, raw: Any) -> list[Any]:
        """The messages of an answer, JSON text decoded: one, or those of a list. Only objects come back.

        Binary messages that are no JSON are sound, and passed over; other messages that are no objects are problems.
        """
        found = []
        for message in raw if is_list(raw) else [raw]:
            decoded = message
            if isinstance(message, str | bytes | bytearray):
                try:
                    decoded = msgspec.json.decode(message)
                except Exception as error:
                    if isinstance(message, str):
                        self.problem("malformed_message", f"a message is not JSON: {error}", message)
                    continue
            if isinstance(decoded, _PLAIN):
                self.problem("malformed_message", f"a message is no object: {excerpt(decoded)}", message)
            else:
                found.append(decoded)
        return found

    def entries(self, value: Any, where: str) -> list[Any]:
        """The entries of a list; none if it is absent, and a problem if it is something else."""
        if value is None or is_list(value):
            return list(value or ())
        self.problem("malformed_message", f"{where} is no list: {excerpt(value)}", value)
        return []

    def calls(self, value: Any, where: str) -> list[Any]:
        """The entries of a list of calls; what stands in its place is a call that cannot be read."""
        if value is None or is_list(value):
            return list(value or ())
        message = f"{where} is no list of calls: {excerpt(value)}"
        self.problem("malformed_call", message, value)
        self._add(unreadable_call(None, value, error=message))
        return []

    def call(self, name: Any, arguments: Any, *, call_id: Any = None, where: str, raw: Any = None) -> None:
        """Add a call, as an unreadable one if its name or its arguments are."""
        identity = call_id if isinstance(call_id, str) and call_id else None
        if not isinstance(name, str) or not name:
            message = f"a call in {where} has no name"
            self.problem("missing_name", message, raw)
            self._add(unreadable_call(None, raw, error=message, call_id=identity))
            return
        found, why = read_arguments(arguments)
        if found is None:
            message = f"the arguments of {name!r} in {where} are no JSON object ({why}): {excerpt(arguments)}"
            self.problem("malformed_arguments", message, arguments)
            self._add(unreadable_call(name, arguments, error=message, call_id=identity))
            return
        self._add(ToolCall(name, found, call_id=identity))

    def _add(self, call: ToolCall) -> None:
        self.answered = True
        self.response.tool_calls.append(call)

    def finish(self, expected: str) -> AgentResponse:
        """The answer; `expected` says what one of this protocol has, for the problem if there was none."""
        response = self.response
        response.text = self._joined_by.join(self._said) or None
        response.transcript = "".join(self._heard) or None
        if not self.answered:
            message = f"there is no answer here: expected {expected}, got {excerpt(response.raw)}"
            self.problem("no_answer", message, response.raw)
        elif self.cut_short and not response.tool_calls:
            self.problem("no_answer", "no call had come by then, which does not say that none would have")
        return response


def read_arguments(value: Any) -> tuple[dict[str, Any] | None, str]:
    """The arguments of a call, or `None` and why they cannot be read."""
    if isinstance(value, str | bytes | bytearray):
        if not value.strip():
            return {}, ""
        try:
            value = msgspec.json.decode(value)
        except Exception as error:
            return None, str(error)
    if value is None:
        return {}, ""
    if not isinstance(value, Mapping):
        return None, f"it is of type {type(value).__name__}"
    try:
        found = dict(value)
    except Exception as error:
        return None, str(error)
    if not all(isinstance(key, str) for key in found):
        return None, "its keys are not all strings"
    return found, ""
