"""Tool calls in what OpenAI answers, and in what those answer who speak its protocols.

Four shapes are understood, as dicts or as objects of the SDK:

- a chat completion: `choices[].message.tool_calls[].function`, and the older `function_call`;
- the chunks of a streamed one, as a list: `choices[].delta`, whose pieces are put together by their index;
- a response of the Responses API: `output[]` items of type `function_call`;
- the events of a Realtime session, as a list. `response.done` has the last word on the calls of its response; the events
  before it count where it never came. The calls of a cancelled response do not count: nobody would have run them.

The calls of all choices count, since some servers put words and calls into different ones. An answer that the provider
broke off (`length`, `content_filter`, `incomplete`) is recorded as `incomplete`.
"""

from typing import Any

from calipers.voice.response import AgentResponse

from .draft import Draft, excerpt, is_list, read
from .realtime import RealtimeEvents

_EXPECTED = "choices (chat completions), output (responses) or response.* events (Realtime)"


class OpenAIResponseParser:
    """Reads tool calls from OpenAI's chat completions, responses and Realtime events."""

    def __repr__(self) -> str:
        return "OpenAIResponseParser()"

    def parse(self, raw: Any) -> AgentResponse:
        """The calls and words of an answer: an object, JSON text, or a list of chunks or events."""
        draft = Draft(raw)
        chunks = _Chunks()
        events = RealtimeEvents()
        for message in draft.messages(raw):
            kind = read(message, "type")
            if (choices := read(message, "choices")) is not None:
                for choice in draft.entries(choices, "choices"):
                    _read_choice(draft, chunks, choice)
            elif (output := read(message, "output")) is not None:
                _read_output(draft, message, output)
            elif isinstance(kind, str):
                events.add(kind, message)
            elif (error := read(message, "error")) is not None:
                draft.problem("error", f"the provider reported an error: {excerpt(error)}", error)
        chunks.finish(draft)
        events.finish(draft)
        return draft.finish(_EXPECTED)


def _read_choice(draft: Draft, chunks: "_Chunks", choice: Any) -> None:
    reason = read(choice, "finish_reason")
    if reason in ("length", "content_filter"):
        draft.problem("incomplete", f"the answer was broken off: finish_reason is {reason!r}", choice)
    delta = read(choice, "delta")
    if delta is not None:
        chunks.add(draft, read(choice, "index"), delta)
        return
    message = read(choice, "message")
    if message is None:
        draft.problem("malformed_message", f"a choice has no message: {excerpt(choice)}", choice)
        return
    said = read(message, "content", "tool_calls", "function_call", "refusal", "audio")
    draft.answered = draft.answered or reason is not None or said is not None
    _say(draft, read(message, "content"))
    draft.say(read(message, "refusal"))
    draft.say(read(read(message, "audio"), "transcript"))
    for call in draft.calls(read(message, "tool_calls"), "choices[].message.tool_calls"):
        _add_call(draft, call)
    if (old := read(message, "function_call")) is not None:
        where = "choices[].message.function_call"
        draft.call(read(old, "name"), read(old, "arguments"), where=where, raw=old)


def _say(draft: Draft, content: Any) -> None:
    """Content is text, or a list of parts that may have some."""
    draft.say(content)
    for part in content if is_list(content) else ():
        draft.say(read(part, "text", "refusal", "transcript"))


def _add_call(draft: Draft, call: Any) -> None:
    where, identity = "choices[].message.tool_calls", read(call, "id")
    custom = read(call, "custom")
    if custom is not None:  # a custom tool takes text, not an object
        arguments = {"input": read(custom, "input")}
        draft.call(read(custom, "name"), arguments, call_id=identity, where=where, raw=call)
        return
    function = read(call, "function")
    draft.call(read(function, "name"), read(function, "arguments"), call_id=identity, where=where, raw=call)


def _read_output(draft: Draft, message: Any, output: Any) -> None:
    """A response of the Responses API."""
    draft.answered = True
    if read(message, "status") == "incomplete":
        why = read(read(message, "incomplete_details"), "reason")
        draft.problem("incomplete", f"the answer was broken off: {excerpt(why)}", message)
    for item in draft.entries(output, "output"):
        kind = read(item, "type")
        if kind == "function_call":
            identity = read(item, "call_id")
            draft.call(
                read(item, "name"), read(item, "arguments"), call_id=identity, where="output", raw=item
            )
        elif kind == "message":
            _say(draft, read(item, "content"))


class _Chunks:
    """The pieces of streamed chat completions, put together by choice and by the index of the call."""

    def __init__(self) -> None:
        self._words: dict[Any, str] = {}
        self._calls: dict[Any, dict[str, Any]] = {}

    def add(self, draft: Draft, choice: Any, delta: Any) -> None:
        draft.answered = True
        choice = choice if isinstance(choice, int) else 0
        spoken = read(read(delta, "audio"), "transcript")
        for piece in (read(delta, "content"), read(delta, "refusal"), spoken):
            self._words[choice] = self._words.get(choice, "") + (piece if isinstance(piece, str) else "")
        for position, call in enumerate(draft.calls(read(delta, "tool_calls"), "delta.tool_calls")):
            index = read(call, "index")
            pieces = self._calls.setdefault((choice, index if isinstance(index, int) else position), {})
            function = read(call, "function")
            # An id or a name comes whole, and some servers repeat it in every chunk; arguments come in pieces.
            pieces["id"] = read(call, "id") or pieces.get("id")
            pieces["name"] = read(function, "name") or pieces.get("name")
            more, so_far = read(function, "arguments"), pieces.get("arguments")
            if isinstance(more, str) and isinstance(so_far, str):
                pieces["arguments"] = so_far + more
            elif more is not None:
                pieces["arguments"] = more

    def finish(self, draft: Draft) -> None:
        for words in self._words.values():
            draft.say(words)
        for pieces in self._calls.values():
            draft.call(
                pieces.get("name"),
                pieces.get("arguments"),
                call_id=pieces.get("id"),
                where="delta.tool_calls",
                raw=pieces,
            )
