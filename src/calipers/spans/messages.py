"""Messages between a program, a model and its tools, as recordings have them: `Message`, `read_messages`.

Every provider and framework writes the same three things: text, a call of a tool, and what a tool gave back. Each entry of
a history says by its own keys which shape it has, so a history may mix them. Known are OpenAI (chat and Responses),
Anthropic, LangChain (`dumpd` and `messages_to_dict`), pydantic-ai, the Vercel AI SDK, Bedrock, Gemini, and the `parts` of
OpenTelemetry's conventions.

- What a recording leaves out is `UNSET`: content may be turned off, and unknown arguments are not no arguments.
- A text that is a JSON object or list is read as such; where it is not JSON, as the Python value it may print. Other texts
  stay texts: a tool that gave `"300"` did not give a number.
- A result that names no call of the history belongs to the first call that still waits for one.
"""

import ast
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from calipers.data.argument_checks import is_number

_LONGEST_LITERAL = 200_000
"""Texts longer than this are not tried as Python values: its parser takes memory by the hundredfold."""


_Id: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]


# The parts are read from JSON as OpenTelemetry's conventions have them; `_as_agreed` says when.


class Text(
    msgspec.Struct,
    gc=False,
    tag_field="type",
    tag="text",
    rename={"text": "content"},
    forbid_unknown_fields=True,
):
    """Something that was said."""

    text: str | None
    """`None`: the recording leaves it out."""


class Call(
    msgspec.Struct, tag_field="type", tag="tool_call", rename={"call_id": "id"}, forbid_unknown_fields=True
):
    """A model asks for a tool."""

    name: str
    arguments: dict[str, Any] | UnsetType = UNSET
    call_id: _Id | None = None

    def __post_init__(self) -> None:
        self.name = self.name or "?"
        if self.call_id is not None and type(self.call_id) is not str:
            self.call_id = str(self.call_id)


class Result(
    msgspec.Struct,
    tag_field="type",
    tag="tool_call_response",
    rename={"call_id": "id", "output": "response", "failed": "is_error"},
    forbid_unknown_fields=True,
):
    """What a tool gave back, as the model was told."""

    call_id: _Id | None = None
    name: _Id | None = None
    output: Any = UNSET
    failed: bool = False
    """Whether the message marks it as a failure; a text that tells of one does not."""
    is_answer: bool = False
    """Whether the call was a framework's way to let its model answer, and no tool gave this."""

    def __post_init__(self) -> None:
        if self.call_id is not None and type(self.call_id) is not str:
            self.call_id = str(self.call_id)
        if self.name is not None and type(self.name) is not str:
            self.name = str(self.name)


Part: TypeAlias = Text | Call | Result


class Message(msgspec.Struct):
    """One entry of a history."""

    role: str
    """`system`, `user`, `assistant`, `tool`, or a framework's own word."""
    parts: list[Part]


class Usage(msgspec.Struct, gc=False):
    """What an answer cost, where its message says so."""

    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


# ---------------------------------------------------------------------- values


_OPENING: Final = frozenset({"{", "[", "("})
_decode: Final = msgspec.json.Decoder().decode


def structured(value: Any) -> Any:
    """A text that is a JSON object or list as such; anything else as it is."""
    if not isinstance(value, str):
        return value
    begin = value[:1]
    if begin.isspace():
        begin = value.lstrip()[:1]
    if begin not in _OPENING:
        return value
    if begin != "(":
        try:
            return _decode(value)
        except (msgspec.DecodeError, ValueError, RecursionError):
            pass
    return _printed(value)


def decoded(value: Any) -> Any:
    """What a text stands for that a writer made by dumping any value: JSON, or the text itself if it is not JSON."""
    if not isinstance(value, str):
        return value
    try:
        return _decode(value)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return structured(value)


def _printed(text: str) -> Any:
    if len(text) > _LONGEST_LITERAL:
        return text
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text


def printed(value: Any) -> Any:
    """What a text stands for that a writer made with Python's `str`: its value, or the text itself."""
    read = structured(value)
    return _printed(read) if isinstance(read, str) else read


def arguments_of(value: Any) -> dict[str, Any] | UnsetType:
    """Arguments by name, from an object or its JSON; `UNSET` where the value tells none."""
    if isinstance(value, str):
        value = structured(value) if value.strip() else {}
    return value if isinstance(value, dict) else UNSET


def told(value: Any) -> Any:
    """A result: the text of blocks instead of the blocks, then the value that a text stands for."""
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        texts = [_block_value(each) for each in value]
        if UNSET not in texts:
            value = (
                texts[0]
                if len(texts) == 1
                else "".join(map(str, texts))
                if all(isinstance(t, str) for t in texts)
                else texts
            )
    return structured(value)


def _block_value(block: Mapping[str, Any]) -> Any:
    kind = block.get("type")
    if kind in {"text", "input_text", "output_text"} and isinstance(block.get("text"), str):
        return block["text"]
    if kind is None and len(block) == 1:
        return block.get("text", block.get("json", UNSET))
    return UNSET


# ---------------------------------------------------------------------- histories


def read_messages(history: Any) -> list[Message]:
    """The messages of a history: a list of entries of any known shape, or its JSON. What has no known shape is left out."""
    if type(history) is str and history.find('"parts"', 0, _NEAR) > 0:
        agreed = _as_agreed(history)
        if agreed is not None:
            return agreed
    data = structured(history)
    if isinstance(data, dict):
        data = [data]
    if type(data) is not list and (not isinstance(data, Sequence) or isinstance(data, str | bytes)):
        return []
    found: list[Message] = []
    for entry in data:
        if isinstance(entry, dict):
            try:
                found += _entry(entry)
            except (AttributeError, KeyError, TypeError, ValueError):
                continue  # an entry that only looks like one adds nothing
        elif isinstance(entry, list):  # LangChain writes a list for each of several prompts
            found.extend(read_messages(entry))
    return found


def entries_in(value: Any) -> list[Any] | None:
    """The messages in what a program sent to a model or got from it: bare, under a name, or in an answer of a provider."""
    if isinstance(value, str):
        return [{"role": "assistant", "content": value}] if value else None
    if isinstance(value, Mapping):
        for key in ("messages", "input", "output", "generations", "choices", "message"):
            if key in value:
                return entries_in(value[key])
        return [value] if "role" in value or "kwargs" in value or "content" in value else None
    if isinstance(value, list):
        found: list[Any] = []
        for each in value:
            inner = each.get("message") if isinstance(each, Mapping) else None
            if isinstance(each, list):
                found += entries_in(each) or []
            elif isinstance(each, Mapping) and each.get("object") == "response":
                found += entries_in(each.get("output")) or []
            else:
                found.append(inner if isinstance(inner, Mapping) else each)
        return found
    return None


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    """An entry of a history as OpenTelemetry's conventions have it."""

    role: str
    parts: Annotated[list[Part], msgspec.Meta(min_length=1)]
    finish_reason: Any = None
    name: Any = None


_NEAR: Final = 100
"""Characters at the beginning of a history that show which shape it has."""
_decode_entries: Final = msgspec.json.Decoder(list[_Entry]).decode


def _as_agreed(history: str) -> list[Message] | None:
    """The messages of a history that follows OpenTelemetry's conventions to the letter, as most do; `None` for any other.

    This reads what the rest of the module would read, in a third of the time.
    """
    try:
        entries = _decode_entries(history)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    found: list[Message] = []
    for entry in entries:
        role = _ROLES.get(entry.role, entry.role)
        are_results = False
        for part in entry.parts:
            if type(part) is Result:
                part.output, part.failed = _unpacked(part.output, failed=part.failed)
                are_results = True
        if role in _TOOL_ROLES and not are_results:
            return None
        found.append(Message(role, entry.parts))
    return found


def _entry(entry: Mapping[str, Any]) -> Iterable[Message]:
    kind, inner = entry.get("type"), entry.get("data")
    if "kwargs" in entry and "lc" in entry:
        name = str((entry.get("id") or ["?"])[-1])
        return _langchain(_LANGCHAIN_CLASSES.get(name.removesuffix("Chunk"), name), entry["kwargs"])
    if isinstance(inner, dict) and isinstance(kind, str):
        return _langchain(kind, inner)
    if "kind" in entry and entry["kind"] in {"request", "response"}:
        return _pydantic_ai(entry)
    if kind is not None:
        if kind in {"function_call", "custom_tool_call"}:
            given = entry.get("arguments", entry.get("input", UNSET))
            called = Call(
                str(entry.get("name") or "?"), arguments_of(given), entry.get("call_id") or entry.get("id")
            )
            return [Message("assistant", [called])]
        if kind in {"function_call_output", "custom_tool_call_output"}:
            return [Message("tool", [Result(entry.get("call_id"), None, told(entry.get("output", UNSET)))])]
    return [_spoken(entry)] if "role" in entry else []


_ROLES: Final = {"model": "assistant", "developer": "system", "human": "user", "ai": "assistant"}
"""The roles that have a second name."""
_TOOL_ROLES: Final = frozenset({"tool", "function"})


def _spoken(entry: Mapping[str, Any]) -> Message:
    """An entry with a role: parts, blocks or text, and perhaps calls beside."""
    role = str(entry.get("role") or "")
    role = _ROLES.get(role, role)
    content = entry["parts"] if "parts" in entry else entry.get("content")
    if isinstance(content, dict) and isinstance(content.get("parts"), list):
        content = content["parts"]
    if role in _TOOL_ROLES and not _are_results(content):
        call_id = entry.get("tool_call_id") or entry.get("id") or entry.get("call_id")
        output = told(content) if content is not None else UNSET
        return Message("tool", [Result(call_id, entry.get("name"), output, entry.get("is_error") is True)])
    parts = _parts(content)
    if "tool_calls" in entry:
        parts += [_call(called) for called in entry["tool_calls"] or () if isinstance(called, dict)]
    if not parts and "content" not in entry and role == "user":
        parts.append(Text(None))
    return Message(role, parts)


def _are_results(content: Any) -> bool:
    return isinstance(content, list) and any(
        isinstance(part, dict)
        and (part.get("type") in _RESULTS or "toolResult" in part or "function_response" in part)
        for part in content
    )


def _call(called: Mapping[str, Any]) -> Call:
    """A call as OpenAI and LangChain list them beside the content."""
    function = called.get("function")
    named = function if isinstance(function, dict) else called
    given = named.get("arguments", named.get("args", named.get("input", UNSET)))
    call_id = called.get("id") or called.get("toolCallId")
    name = named.get("name") or called.get("toolName")
    return Call(str(name or "?"), arguments_of(given), call_id)


def _parts(content: Any) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)]
    if isinstance(content, dict):
        content = [content]
    elif not isinstance(content, list):
        return []
    found: list[Part] = []
    for each in content:
        if isinstance(each, dict):
            if (part := _part(each)) is not None:
                found.append(part)
        elif isinstance(each, str):
            found.append(Text(each))
    return found


_CALLS: Final = frozenset({"tool_call", "tool_use", "tool-call", "function_call", "server_tool_use"})
_RESULTS: Final = frozenset({"tool_call_response", "tool_result", "tool-result", "function_call_output"})
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})


def _part(part: Mapping[str, Any]) -> Part | None:
    kind = part.get("type")
    if kind is None:
        return _untyped(part)
    if kind in _TEXTS:
        text = part.get("content", part.get("text"))
        return Text(text if isinstance(text, str) else None)
    if kind in _CALLS:
        given = part.get("arguments", part.get("input", part.get("args", UNSET)))
        call_id = part.get("id") or part.get("toolCallId") or part.get("call_id")
        name = part.get("name") or part.get("toolName")
        return Call(str(name or "?"), arguments_of(given), call_id)
    return _result(part) if kind in _RESULTS else None


def _result(part: Mapping[str, Any]) -> Result:
    call_id = (
        part.get("tool_use_id") or part.get("toolCallId") or part.get("id") or part.get("call_id") or None
    )
    name = part.get("name") or part.get("toolName")
    failed = part.get("is_error") is True
    output: Any = UNSET
    for key in ("result", "response", "content", "output"):
        if key in part:
            output = part[key]
            break
    output, failed = _unpacked(output, failed=failed)
    return Result(call_id, name, output, failed)


def _unpacked(output: Any, *, failed: bool) -> tuple[Any, bool]:
    """A result as a value, and whether it failed, which the object around one of the Vercel AI SDK tells, too."""
    if isinstance(output, dict) and isinstance(kind := output.get("type"), str) and "value" in output:
        failed = failed or kind.startswith("error")
        output = output["value"]
    return told(output), failed


def _untyped(part: Mapping[str, Any]) -> Part | None:
    """A block of Bedrock or Gemini: its only key says what it is."""
    if isinstance(part.get("text"), str):
        return Text(part["text"])
    if isinstance(used := part.get("toolUse"), dict):
        return Call(
            str(used.get("name") or "?"), arguments_of(used.get("input", UNSET)), used.get("toolUseId")
        )
    if isinstance(given := part.get("toolResult"), dict):
        failed = given.get("status") == "error"
        return Result(given.get("toolUseId"), None, told(given.get("content", UNSET)), failed)
    if isinstance(called := part.get("function_call", part.get("functionCall")), dict):
        return Call(str(called.get("name") or "?"), arguments_of(called.get("args", UNSET)), called.get("id"))
    if isinstance(given := part.get("function_response", part.get("functionResponse")), dict):
        return Result(given.get("id"), given.get("name"), unwrapped(given.get("response", UNSET)))
    return None


def unwrapped(value: Any) -> Any:
    """A result without the object that Google puts around what is not an object itself."""
    if isinstance(value, dict) and value.keys() == {"result"} and not isinstance(value["result"], dict):
        return value["result"]
    return value


# ---------------------------------------------------------------------- LangChain, pydantic-ai

_LANGCHAIN_CLASSES: Final = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "ToolMessage": "tool",
    "SystemMessage": "system",
}
_ANSWERED: Final = "Final result processed."
"""What pydantic-ai tells its model of the call by which it gave a structured output."""
_STRUCTURED: Final = "Returning structured response: "
"""How that begins which LangChain tells its model of such a call."""
_LANGCHAIN_ROLES: Final = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


def _langchain(kind: str, data: Mapping[str, Any]) -> Iterator[Message]:
    role = _LANGCHAIN_ROLES.get(kind.removesuffix("MessageChunk").lower(), kind)
    content = data.get("content")
    if role == "tool":
        failed = data.get("status") == "error"
        is_answer = isinstance(content, str) and content.startswith(_STRUCTURED)
        given = Result(data.get("tool_call_id"), data.get("name"), told(content), failed, is_answer)
        yield Message("tool", [given])
        return
    parts: list[Part] = [part for part in _parts(content) if not isinstance(part, Call)]
    parts = [part for part in parts if not (isinstance(part, Text) and part.text == "")]
    parts += [_call(called) for called in data.get("tool_calls") or () if isinstance(called, dict)]
    yield Message(role, parts)


def _pydantic_ai(entry: Mapping[str, Any]) -> Iterator[Message]:
    role = "user" if entry["kind"] == "request" else "assistant"
    parts: list[Part] = []
    for part in entry.get("parts") or ():
        kind = part.get("part_kind") if isinstance(part, dict) else None
        content = part.get("content", UNSET) if kind else UNSET
        if kind in {"user-prompt", "text"}:
            texts = (
                [content] if isinstance(content, str) else content if isinstance(content, list) else [None]
            )
            parts.extend(Text(text) for text in texts if text is None or isinstance(text, str))
        elif kind == "tool-call":
            called = arguments_of(part.get("args", UNSET))
            parts.append(Call(str(part.get("tool_name") or "?"), called, part.get("tool_call_id")))
        elif kind == "tool-return" or (kind == "retry-prompt" and part.get("tool_name")):
            failed = kind == "retry-prompt" or part.get("outcome", "success") != "success"
            is_answer = content == _ANSWERED
            parts.append(Result(part.get("tool_call_id"), part.get("tool_name"), content, failed, is_answer))
    if parts:
        yield Message(role, parts)


def usage_of(entry: Mapping[str, Any]) -> Usage | None:
    """What the message of an answer says of its cost: those of LangChain and pydantic-ai do."""
    data = entry.get("kwargs", entry.get("data"))
    if isinstance(data, dict):
        used, model = data.get("usage_metadata"), (data.get("response_metadata") or {}).get("model_name")
    else:
        used, model = entry.get("usage"), entry.get("model_name")
    if not isinstance(used, dict):
        return None if not isinstance(model, str) else Usage(model)
    counts = [used.get(name) for name in ("input_tokens", "output_tokens")]
    given, answered = (count if type(count) is int and count >= 0 else 0 for count in counts)
    cost = used.get("cost")
    return Usage(
        model if isinstance(model, str) else None,
        given,
        answered,
        float(cost) if is_number(cost) and 0 <= cost < math.inf else None,
    )


# ---------------------------------------------------------------------- what belongs together


def parts_of(messages: Iterable[Message]) -> Iterator[tuple[str, Part]]:
    """The parts of some messages, each with the role it was said in."""
    for message in messages:
        for part in message.parts:
            yield message.role, part


def tell_content(messages: Iterable[Message]) -> bool:
    """Whether some messages tell what was said or asked, and not only that something was."""
    return any(
        part.text is not None
        if isinstance(part, Text)
        else part.arguments is not UNSET
        if isinstance(part, Call)
        else part.output is not UNSET
        for _, part in parts_of(messages)
    )


def pair_results(messages: Iterable[Message]) -> list[tuple[Call, Result | None]]:
    """The calls of a history in order, each with its result: by id, and those that no id joins in their order."""
    calls: list[Call] = []
    results: list[tuple[int, Result]] = []
    for _, part in parts_of(messages):
        if isinstance(part, Call):
            calls.append(part)
        elif isinstance(part, Result):
            results.append((len(calls), part))
    paired: dict[int, Result] = {}
    rest: list[tuple[int, Result]] = []
    for before, result in results:
        same = (
            place
            for place in range(before)
            if place not in paired and calls[place].call_id == result.call_id is not None
        )
        place = next(same, None)
        if place is None:
            rest.append((before, result))
        else:
            paired[place] = result
    for before, result in rest:
        fitting = (
            place
            for place in range(before)
            if place not in paired and result.name in {None, calls[place].name}
        )
        if (place := next(fitting, None)) is not None:
            paired[place] = result
    return [(call, paired.get(place)) for place, call in enumerate(calls)]
