r"""Parsers of what agents answer: each finds the tool calls in one provider's format, and records what it cannot read.

Those of providers read the formats of `calipers.models.openai`, `gemini` and `anthropic`.

`JsonResponseParser` finds tool calls in any JSON answer, by the names of their fields. A key may be a path with dots:
`result.tool_calls`, `choices.0.message.tool_calls` (a number picks from a list), and `function.name` inside each call. A dot
that belongs to a key is written with a backslash: `r"v1\.0.calls"`. With an empty `tool_calls_key`, each message that has a name
is a call.

An answer of several messages is a list. By default the calls of all messages count, in their order. Where each message
repeats the calls so far, `merge="last"` takes the last message that has any; `merge="first"` takes the first.

An agent that called nothing says so: by an empty list or `null` where the calls would be, or by words, in at least one
message. An answer without any of these keys, such as `{}` or `{"error": …}`, is not one, and neither is an `error` beside an
empty list.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

from calipers.data.argument_checks import check_choice, check_text
from calipers.models import anthropic, gemini, openai
from calipers.models.model_answer import Draft, excerpt, is_list, read
from calipers.voice.response import AgentResponse, response_of

__all__ = [
    "AnthropicResponseParser",
    "GeminiResponseParser",
    "JsonResponseParser",
    "Merge",
    "OpenAIResponseParser",
]

Merge: TypeAlias = Literal["all", "first", "last"]
"""Which messages of an answer count: all, or the first or last that has calls."""


class OpenAIResponseParser:
    """Reads tool calls from OpenAI's chat completions, responses and Realtime events."""

    def __repr__(self) -> str:
        return "OpenAIResponseParser()"

    def parse(self, raw: Any) -> AgentResponse:
        """The calls and words of an answer: an object, JSON text, or a list of chunks or events."""
        return response_of(openai.read_answer(raw))


class GeminiResponseParser:
    """Reads tool calls from Gemini's answers and Live messages."""

    def __repr__(self) -> str:
        return "GeminiResponseParser()"

    def parse(self, raw: Any) -> AgentResponse:
        """The calls and words of an answer: an object, JSON text, or a list of chunks or messages."""
        return response_of(gemini.read_answer(raw))


class AnthropicResponseParser:
    """Reads tool calls from Anthropic's messages."""

    def __repr__(self) -> str:
        return "AnthropicResponseParser()"

    def parse(self, raw: Any) -> AgentResponse:
        """The calls and words of an answer: an object, JSON text, or a list of events."""
        return response_of(anthropic.read_answer(raw))


@dataclass(frozen=True, kw_only=True)
class JsonResponseParser:
    """Reads tool calls from JSON, wherever they are.

    ```python
    parser = JsonResponseParser(tool_calls_key="result.calls", name_key="function.name", arguments_key="function.args")
    ```
    """

    tool_calls_key: str = "tool_calls"
    """Where the list of calls is; empty if each message is a call."""
    name_key: str = "name"
    """Where a call has the name of its tool."""
    arguments_key: str = "arguments"
    """Where a call has its arguments, as an object or as JSON text."""
    id_key: str = "id"
    """Where a call has its id, if it has one."""
    text_key: str = "text"
    """Where a message has what the agent said, if it does."""
    transcript_key: str = "transcript"
    """Where a message has what the agent heard, if it does."""
    single: bool = False
    """Whether there is one call in the place of the list."""
    merge: Merge = "all"
    """Which messages count, if there are several."""

    def __post_init__(self) -> None:
        for name in (each.name for each in fields(self) if each.name.endswith("_key")):
            check_text(name, getattr(self, name), or_empty=True)
        check_choice("merge", self.merge, get_args(Merge))

    def parse(self, raw: Any) -> AgentResponse:
        """The calls and words of an answer: an object, JSON text, or a list of messages."""
        draft = Draft(raw)
        found: list[list[Any]] = []
        for message in draft.messages(raw):
            draft.answered = draft.answered or self._is_answer(message)
            if error := read(message, "error"):
                draft.problem("error", f"the agent reported an error: {excerpt(error)}", message)
            draft.say(at(message, self.text_key))
            draft.hear(at(message, self.transcript_key))
            if calls := self._calls(draft, message):
                found.append(calls)
        if self.merge != "all":
            found = found[:1] if self.merge == "first" else found[-1:]
        for entry in (entry for calls in found for entry in calls):
            self._add(draft, entry)
        return response_of(draft.finish(f"a JSON object with {' or '.join(map(repr, self._keys()))}"))

    def _keys(self) -> list[str]:
        """Where an answer has calls or words; any of these is enough."""
        return [self.tool_calls_key or self.name_key, self.text_key, self.transcript_key]

    def _is_answer(self, message: Any) -> bool:
        return any(has(message, key) for key in self._keys())

    def _calls(self, draft: Draft, message: Any) -> list[Any]:
        if not self.tool_calls_key:
            return [message] if at(message, self.name_key) is not None else []
        value = at(message, self.tool_calls_key)
        if self.single:
            return [] if value is None else [value]
        hint = "" if value is None or is_list(value) else " (is it one call? then pass single=True)"
        return draft.calls(value, f"{self.tool_calls_key!r}{hint}")

    def _add(self, draft: Draft, entry: Any) -> None:
        draft.call(
            at(entry, self.name_key),
            at(entry, self.arguments_key),
            call_id=at(entry, self.id_key),
            where=repr(self.tool_calls_key) if self.tool_calls_key else "a message",
            raw=entry,
        )


def at(value: Any, path: str) -> Any:
    """What is at the end of a path, or `None`."""
    for step in steps(path):
        value = _below(value, step)
    return value


def _below(value: Any, step: str) -> Any:
    if type(value) is dict:  # nearly always; asking what else it may be takes several times as long
        return value.get(step)
    if not is_list(value):
        return read(value, step)
    index = int(step) if step.isascii() and step.isdigit() else len(value)
    return value[index] if index < len(value) else None


def has(value: Any, path: str) -> bool:
    """Whether anything is at the end of a path, even `None`."""
    *way, last = steps(path)
    for step in way:
        value = _below(value, step)
    if isinstance(value, Mapping):
        return last in value
    return _below(value, last) is not None


@lru_cache
def steps(path: str) -> tuple[str, ...]:
    """The keys of a path; a backslash takes the dot or backslash after it for a part of the key."""
    found = [""]
    rest = iter(path)
    for character in rest:
        if character == ".":
            found.append("")
        elif character == "\\":
            following = next(rest, "")
            found[-1] += following if following in {".", "\\"} else character + following
        else:
            found[-1] += character
    return tuple(found)
