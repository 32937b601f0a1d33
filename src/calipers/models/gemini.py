"""Gemini, by request (`generateContent`) and in a Live session (`BidiGenerateContent`).

`read_answer` understands three shapes, as dicts in camelCase or snake_case, or as objects of the SDK:

- an answer of `generateContent`: `candidates[].content.parts[].functionCall`;
- the chunks of a streamed one, as a list;
- the messages of a Live session, as a list: `toolCall.functionCalls`, and the words of `serverContent`. A call that the
  server takes back (`toolCallCancellation`) does not count.

A call that the server could not read (`MALFORMED_FUNCTION_CALL`) is an unreadable call. A blocked prompt has no answer.
Thoughts are not part of the text.
"""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any
from urllib.parse import quote

import msgspec

from calipers.models.model import Ask
from calipers.models.model_answer import (
    Completion,
    Draft,
    Finish,
    Usage,
    excerpt,
    is_list,
    read,
    unreadable_call,
)
from calipers.models.model_request import (
    Provider,
    Sound,
    Tools,
    as_base64,
    endpoint,
    for_gemini,
    laid_over,
    socket_address,
)
from calipers.models.wire_format import WireFormat, calls_of, own_parts

_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
GEMINI = Provider(
    "https://generativelanguage.googleapis.com",
    _KEYS,
    "x-goog-api-key",
    "",
    ("GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
)
GEMINI_LIVE = Provider("wss://generativelanguage.googleapis.com", _KEYS, "x-goog-api-key")
LIVE_SAMPLE_RATE = 16000
"""What a Live session hears best: 16-bit frames of one channel at this rate."""
_LIVE_PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
_ENDINGS = ("STOP", "FINISH_REASON_UNSPECIFIED", 0, 1)
"""Finish reasons of an answer that was not broken off; older SDKs give numbers."""
_BAD_CALLS = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")
_ENDS: Mapping[Any, Finish] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "unfinished",
    **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "filtered"),
    **dict.fromkeys((*_BAD_CALLS, "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "LANGUAGE"), "error"),
}
_EXPECTED = "candidates (generateContent), or toolCall and serverContent (Live)"


def generate_address(base_url: str, model: str) -> str:
    """Where to send a request to a model."""
    return endpoint(base_url, f"{_model_path(model)}:generateContent")


def model_address(base_url: str, model: str | None) -> str:
    """Where a model is described."""
    return endpoint(base_url, _model_path(model or ""))


def _model_path(model: str) -> str:
    return f"/v1beta/models/{quote(model.removeprefix('models/'), safe='')}"


def live_address(base_url: str) -> str:
    """Where to open a Live session."""
    return socket_address(base_url) + _LIVE_PATH


def body(
    messages: Sequence[Mapping[str, Any]],
    *,
    tools: Tools = (),
    options: Mapping[str, Any] | None = None,
    for_sdk: bool = False,
) -> dict[str, Any]:
    """The body of a request.

    Args:
        messages: each with `role` (`system`, `user` or `assistant`) and `content`, which is text or a `Sound`.
        tools: what it may call, in any provider's shape.
        options: further fields; they win.
        for_sdk: whether a client of the SDK sends it, which encodes bytes itself.
    """
    spoken = [message for message in messages if message["role"] != "system"]
    made: dict[str, Any] = {
        "contents": [
            {
                "role": "model" if message["role"] == "assistant" else "user",
                "parts": [_part(message["content"], for_sdk=for_sdk)],
            }
            for message in spoken
        ]
    }
    if tools:
        made["tools"] = for_gemini(tools)
    if before := [message["content"] for message in messages if message["role"] == "system"]:
        made["systemInstruction"] = {"parts": [{"text": text} for text in before]}
    return laid_over(made, options)


def ask_body(ask: Ask, _model: str | None) -> dict[str, Any]:
    """The body of a request for a question; the model is part of the address."""
    settings: dict[str, Any] = {
        "temperature": ask.temperature,
        "maxOutputTokens": ask.max_tokens,
        "seed": ask.seed,
    }
    if ask.top_logprobs:
        settings |= {"responseLogprobs": True, "logprobs": ask.top_logprobs}
    if ask.schema is not None:
        settings |= {"responseMimeType": "application/json", "responseJsonSchema": ask.schema}
    made = body([message for message in ask.messages if message["role"] == "system"], tools=ask.tools)
    made["contents"] = _contents(ask)
    if given := {name: value for name, value in settings.items() if value is not None}:
        made["generationConfig"] = given
    return laid_over(made, ask.options)


def _contents(ask: Ask) -> list[dict[str, Any]]:
    """The messages, with calls and what they gave as parts. What a tool gave is an object, under the tool's name."""
    found: list[dict[str, Any]] = []
    tools: dict[str, str] = {}
    for message in ask.messages:
        role, content = message["role"], message.get("content")
        calls = calls_of(message)
        tools |= {identity: name for identity, name, _ in calls}
        if role == "system":
            continue
        parts: list[Any]
        if role == "tool":
            name = tools.get(message["tool_call_id"], message["tool_call_id"])
            parts = [{"functionResponse": {"name": name, "response": {"result": content}}}]
        elif (said := own_parts(message, "gemini")) is not None:
            parts = said
        else:
            parts = [_part(content, for_sdk=False)] if content else []
            parts += [
                {"functionCall": {"name": name, "args": msgspec.json.decode(arguments)}}
                for _, name, arguments in calls
            ]
        speaker = "model" if role == "assistant" else "user"
        if role == "tool" and found and found[-1]["role"] == "user":
            found[-1]["parts"] += parts
        else:
            found.append({"role": speaker, "parts": parts})
    return found


def continuation(raw: Any) -> str | None:
    """The token by which to ask for the rest of an answer that is not finished."""
    candidates = read(raw, "candidates")
    first = candidates[0] if is_list(candidates) and candidates else None
    if _name(read(first, "finishReason", "finish_reason")) != "CONTINUATION":
        return None
    token = read(first, "continuationToken", "continuation_token")
    return token if isinstance(token, str) else None


def is_sdk_client(client: Any) -> bool:
    """Whether a client is one of Google's SDK."""
    return hasattr(client, "aio")


def ask_client(client: Any, model: str, made: Mapping[str, Any]) -> Any:
    """Send a `body` made `for_sdk` by a client of the SDK: what to await the answer by."""
    config = {name: value for name, value in made.items() if name != "contents"}
    return client.aio.models.generate_content(model=model, contents=made["contents"], config=config)


def _part(content: Any, *, for_sdk: bool) -> dict[str, Any]:
    if not isinstance(content, Sound):
        return {"text": content}
    if for_sdk:
        return {"inline_data": {"mime_type": content.mime_type, "data": content.data}}
    return {"inlineData": {"mimeType": content.mime_type, "data": as_base64(content.data)}}


def live_setup(
    model: str,
    *,
    instructions: str | None = None,
    tools: Tools = (),
    modality: str = "AUDIO",
    automatic_detection: bool = True,
    transcribe: bool = True,
    setup: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The first message of a Live session.

    Args:
        model: which model.
        instructions: the system message.
        tools: what it may call, in any provider's shape.
        modality: how it answers: `AUDIO` or `TEXT`.
        automatic_detection: whether the server finds the beginning and end of speech.
        transcribe: whether to ask for what the model heard and said as text.
        setup: further fields; they win.
    """
    made: dict[str, Any] = {
        "model": f"models/{model.removeprefix('models/')}",
        "generationConfig": {"responseModalities": [modality]},
    }
    if tools:
        made["tools"] = for_gemini(tools)
    if instructions is not None:
        made["systemInstruction"] = {"parts": [{"text": instructions}]}
    if not automatic_detection:
        made["realtimeInputConfig"] = {"automaticActivityDetection": {"disabled": True}}
    if transcribe:
        made["inputAudioTranscription"] = {}
        if modality == "AUDIO":
            made["outputAudioTranscription"] = {}
    return {"setup": laid_over(made, setup)}


def live_sound(frames: bytes) -> dict[str, Any]:
    """A piece of a spoken request."""
    mime_type = f"audio/pcm;rate={LIVE_SAMPLE_RATE}"
    return {"realtimeInput": {"audio": {"data": as_base64(frames), "mimeType": mime_type}}}


def live_start() -> dict[str, Any]:
    """The beginning of a spoken request, where the server does not find it."""
    return {"realtimeInput": {"activityStart": {}}}


def live_end(*, automatic_detection: bool) -> dict[str, Any]:
    """The end of a spoken request."""
    return {"realtimeInput": {"audioStreamEnd": True} if automatic_detection else {"activityEnd": {}}}


def live_text(text: str) -> dict[str, Any]:
    """A written request."""
    turn = {"role": "user", "parts": [{"text": text}]}
    return {"clientContent": {"turns": [turn], "turnComplete": True}}


class LiveAnswer:
    """Follows the messages of a Live session until the answer is whole.

    It is whole at the first `toolCall`, since the server then waits for results, or at `turnComplete`, when the model has said
    all and called nothing. A turn that was interrupted by more speech is not the answer; the next one is.
    """

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        """Set when the session is set up."""
        self.going_away = False
        """Whether the server said that it will hang up."""
        self._interrupted = False

    def is_complete(self, message: Any) -> bool:
        """Take in a message: whether it is the last of the answer."""
        if read(message, "setupComplete", "setup_complete") is not None:
            self.ready.set()
        if read(message, "goAway", "go_away") is not None:
            self.going_away = True
        if read(message, "toolCall", "tool_call") is not None:
            return True
        content = read(message, "serverContent", "server_content")
        if read(content, "interrupted") is True:
            self._interrupted = True
        if read(content, "turnComplete", "turn_complete") is not True:
            return False
        ended, self._interrupted = not self._interrupted, False
        return ended


def without_sound(message: Any) -> Any:
    """A message of a Live session without its sound, which would fill a report."""
    parts = read(read(read(message, "serverContent", "server_content"), "modelTurn", "model_turn"), "parts")
    for part in parts if is_list(parts) else ():
        data = read(part, "inlineData", "inline_data")
        if isinstance(data, dict) and isinstance(data.get("data"), str):
            data["data"] = f"<{len(data['data'])} characters of base64>"
    return message


def read_answer(raw: Any) -> Completion:
    """What the model answered: an object, JSON text, or a list of chunks or messages."""
    draft = Draft(raw, joined_by="")
    withdrawn: list[Any] = []
    for message in draft.messages(raw):
        draft.about(message, model="modelVersion", identity="responseId")
        draft.about(message, model="model_version", identity="response_id")

        for candidate in draft.entries(read(message, "candidates"), "candidates"):
            _read_candidate(draft, candidate)
        _read_live(draft, message)
        _read_usage(draft, read(message, "usageMetadata", "usage_metadata"))
        cancellation = read(message, "toolCallCancellation", "tool_call_cancellation")
        withdrawn += draft.entries(read(cancellation, "ids"), "toolCallCancellation.ids")
        blocked = read(read(message, "promptFeedback", "prompt_feedback"), "blockReason", "block_reason")
        if blocked is not None:
            draft.completion.finish = "filtered"
            draft.problem("incomplete", f"the prompt was blocked: {_name(blocked)}", message)
        if (error := read(message, "error")) is not None:
            draft.problem("error", f"the provider reported an error: {excerpt(error)}", error)
    calls = draft.completion.tool_calls
    calls[:] = [call for call in calls if call.call_id is None or call.call_id not in withdrawn]
    return draft.finish(_EXPECTED)


def _read_usage(draft: Draft, usage: Any) -> None:
    """The tokens. Gemini counts thoughts beside the answer, and what tools read beside the prompt."""
    if usage is None:
        return
    given, from_tools, said, thought = (
        draft.tokens(usage, *names)
        for names in (
            ("promptTokenCount", "prompt_token_count"),
            ("toolUsePromptTokenCount", "tool_use_prompt_token_count"),
            ("candidatesTokenCount", "responseTokenCount", "candidates_token_count", "response_token_count"),
            ("thoughtsTokenCount", "thoughts_token_count"),
        )
    )
    draft.completion.usage = Usage(
        input=None if given is None else given + (from_tools or 0),
        output=None if said is None else said + (thought or 0),
        cache_read=draft.tokens(usage, "cachedContentTokenCount", "cached_content_token_count"),
        reasoning=thought,
    )


def _read_candidate(draft: Draft, candidate: Any) -> None:
    if candidate is None:
        return
    content, reason = read(candidate, "content"), read(candidate, "finishReason", "finish_reason")
    draft.answered = draft.answered or content is not None or reason is not None
    draft.end(_name(reason), _ENDS)
    _read_parts(draft, read(content, "parts"))
    _read_tokens(draft, read(candidate, "logprobsResult", "logprobs_result"))
    draft.completion.parts = ("gemini", read(content, "parts") or [])
    if reason is None or _name(reason) in _ENDINGS:
        return
    message = read(candidate, "finishMessage", "finish_message")
    if _name(reason) in _BAD_CALLS:
        text = f"the model made a call that the server could not read: {excerpt(message)}"
        draft.problem("malformed_call", text, candidate)
        draft.completion.tool_calls.append(unreadable_call(None, message, error=text))
    else:
        draft.problem(
            "incomplete", f"the answer was broken off: finishReason is {_name(reason)!r}", candidate
        )


def _read_tokens(draft: Draft, found: Any) -> None:
    if found is None:
        return
    draft.reports_tokens()
    chosen = draft.entries(read(found, "chosenCandidates", "chosen_candidates"), "chosenCandidates")
    tops = draft.entries(read(found, "topCandidates", "top_candidates"), "topCandidates")
    for each, top in zip_longest(chosen, tops[: len(chosen)]):
        likeliest = draft.entries(read(top, "candidates"), "candidates")
        draft.token(*_token(each), [_token(other) for other in likeliest])


def _token(candidate: Any) -> tuple[Any, Any]:
    return read(candidate, "token"), read(candidate, "logProbability", "log_probability")


def _name(value: Any) -> Any:
    """Finish reasons are text, or enums of the SDK."""
    return read(value, "name") or value


def _read_parts(draft: Draft, parts: Any) -> None:
    for part in draft.entries(parts, "parts"):
        if (call := read(part, "functionCall", "function_call")) is not None:
            _add_call(draft, call, "parts[].functionCall")
        if read(part, "thought") is not True:
            draft.say(read(part, "text"))
        else:
            draft.think(read(part, "text"))


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


GENERATE = WireFormat(
    "gemini",
    GEMINI,
    lambda base_url, model: generate_address(base_url, model or ""),
    model_address,
    ask_body,
    read_answer,
    {
        "temperature": "temperature",
        "seed": "seed",
        "logprobs": "top_logprobs",
        "responselogprobs": "top_logprobs",
        "responsejsonschema": "schema",
        "response_json_schema": "schema",
        "response_schema": "schema",
        "response mime type": "schema",  # which some models do not take together with tools
    },
)
"""`generateContent`."""
