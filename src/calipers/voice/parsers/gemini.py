"""Tool calls in what Gemini answers, by `generateContent` and by the Live API.

Three shapes are understood, as dicts in camelCase or snake_case, or as objects of the SDK:

- an answer of `generateContent`: `candidates[].content.parts[].functionCall`;
- the chunks of a streamed one, as a list;
- the messages of a Live session, as a list: `toolCall.functionCalls`, and the words of `serverContent`. A call that the
  server takes back (`toolCallCancellation`) does not count.

A call that the model wrote so badly that the server could not read it (`MALFORMED_FUNCTION_CALL`) is an unreadable call.
A prompt that was blocked has no answer. Thoughts are not part of what the agent said.
"""

from typing import Any

from calipers.voice.response import AgentResponse, unreadable_call

from .draft import Draft, excerpt, read

_ENDINGS = ("STOP", "FINISH_REASON_UNSPECIFIED", 0, 1)
"""Finish reasons that are none of a broken answer; older SDKs give numbers."""
_BAD_CALLS = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")
_EXPECTED = "candidates (generateContent), or toolCall and serverContent (Live)"


class GeminiResponseParser:
    """Reads tool calls from Gemini's answers and Live messages."""

    def __repr__(self) -> str:
        return "GeminiResponseParser()"

    def parse(self, raw: Any) -> AgentResponse:
        """The calls and words of an answer: an object, JSON text, or a list of chunks or messages."""
        draft = Draft(raw, joined_by="")
        withdrawn: list[Any] = []
        for message in draft.messages(raw):
            for candidate in draft.entries(read(message, "candidates"), "candidates"):
                _read_candidate(draft, candidate)
            _read_live(draft, message)
            cancellation = read(message, "toolCallCancellation", "tool_call_cancellation")
            withdrawn += draft.entries(read(cancellation, "ids"), "toolCallCancellation.ids")
            blocked = read(read(message, "promptFeedback", "prompt_feedback"), "blockReason", "block_reason")
            if blocked is not None:
                draft.problem("incomplete", f"the prompt was blocked: {_name(blocked)}", message)
            if (error := read(message, "error")) is not None:
                draft.problem("error", f"the provider reported an error: {excerpt(error)}", error)
        calls = draft.response.tool_calls
        calls[:] = [call for call in calls if call.call_id is None or call.call_id not in withdrawn]
        return draft.finish(_EXPECTED)


def _read_candidate(draft: Draft, candidate: Any) -> None:
    if candidate is None:
        return
    content, reason = read(candidate, "content"), read(candidate, "finishReason", "finish_reason")
    draft.answered = draft.answered or content is not None or reason is not None
    _read_parts(draft, read(content, "parts"))
    if reason is None or _name(reason) in _ENDINGS:
        return
    message = read(candidate, "finishMessage", "finish_message")
    if _name(reason) in _BAD_CALLS:
        text = f"the model made a call that the server could not read: {excerpt(message)}"
        draft.problem("malformed_call", text, candidate)
        draft.response.tool_calls.append(unreadable_call(None, message, error=text))
    else:
        draft.problem(
            "incomplete", f"the answer was broken off: finishReason is {_name(reason)!r}", candidate
        )


def _name(value: Any) -> Any:
    """Finish reasons are text, or enums of the SDK."""
    return read(value, "name") or value


def _read_parts(draft: Draft, parts: Any) -> None:
    for part in draft.entries(parts, "parts"):
        if (call := read(part, "functionCall", "function_call")) is not None:
            _add_call(draft, call, "parts[].functionCall")
        if read(part, "thought") is not True:
            draft.say(read(part, "text"))


def _add_call(draft: Draft, call: Any, where: str) -> None:
    draft.call(read(call, "name"), read(call, "args"), call_id=read(call, "id"), where=where, raw=call)


def _read_live(draft: Draft, message: Any) -> None:
    tool_call = read(message, "toolCall", "tool_call")
    if tool_call is not None:
        draft.answered = True
        where = "toolCall.functionCalls"
        for call in draft.calls(read(tool_call, "functionCalls", "function_calls"), where):
            _add_call(draft, call, where)
    content = read(message, "serverContent", "server_content")
    if content is None:
        return
    draft.answered = True
    _read_parts(draft, read(read(content, "modelTurn", "model_turn"), "parts"))
    draft.say(read(read(content, "outputTranscription", "output_transcription"), "text"))
    draft.hear(read(read(content, "inputTranscription", "input_transcription"), "text"))
