"""Anthropic's Messages API.

`body` is a request for `POST /v1/messages`. `read_answer` understands two shapes, as dicts or as objects of the SDK: a
message, whose `content[]` has blocks of type `tool_use`, and the events of a streamed one, as a list, whose pieces are
put together by the index of their block. Tools that the server runs itself (`server_tool_use`, `mcp_tool_use`) are calls,
too: the model chose them.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from calipers.errors import InvalidOptionError
from calipers.models.model import Ask
from calipers.models.model_answer import Completion, Draft, Finish, Usage, excerpt, read
from calipers.models.model_request import Provider, Sound, Tools, endpoint, for_anthropic, laid_over
from calipers.models.provider_schema import closed_schema
from calipers.models.wire_format import WireFormat, calls_of, own_parts

ANTHROPIC = Provider(
    "https://api.anthropic.com", ("ANTHROPIC_API_KEY",), "x-api-key", "", ("ANTHROPIC_BASE_URL",)
)
VERSION = {"anthropic-version": "2023-06-01"}
"""The header that every request must have. In later versions no model takes a temperature."""
_MAX_TOKENS = 4096
"""The longest answer where the question sets no limit: the API has no default."""
_ENDS: Mapping[Any, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_call",
    "refusal": "refused",
    "pause_turn": "unfinished",
}
_BROKEN_OFF = ("max_tokens", "refusal", "model_context_window_exceeded")


def messages_address(base_url: str) -> str:
    """Where to send a request, below the base of a server."""
    return endpoint(base_url, "/v1/messages")


def body(
    messages: Sequence[Mapping[str, Any]],
    *,
    model: str,
    max_tokens: int = _MAX_TOKENS,
    tools: Tools = (),
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The body of a request.

    Args:
        messages: each with `role` (`system`, `user` or `assistant`) and `content`, which is text.
        model: which model.
        max_tokens: the longest answer; the API has no default.
        tools: what it may call, in any provider's shape.
        options: further fields; they win.

    Raises:
        InvalidOptionError: a message is a sound, which the API does not take.
    """
    if any(isinstance(message["content"], Sound) for message in messages):
        raise InvalidOptionError("Anthropic's Messages API takes no sound: send a transcript")
    spoken = [dict(message) for message in messages if message["role"] != "system"]
    made: dict[str, Any] = {"model": model, "max_tokens": max_tokens, "messages": spoken}
    if before := [message["content"] for message in messages if message["role"] == "system"]:
        made["system"] = "\n\n".join(before)
    if tools:
        made["tools"] = for_anthropic(tools)
    return laid_over(made, options)


def ask_body(ask: Ask, model: str | None) -> dict[str, Any]:
    """The body of a request for a question."""
    made = body(_blocks(ask), model=model or "", max_tokens=ask.max_tokens or _MAX_TOKENS, tools=ask.tools)
    if ask.temperature is not None:
        made["temperature"] = ask.temperature
    if ask.schema is not None:
        made["output_config"] = {"format": {"type": "json_schema", "schema": closed_schema(ask.schema)}}
    return laid_over(made, ask.options)


def _blocks(ask: Ask) -> list[dict[str, Any]]:
    """The messages, with calls and what they gave as blocks; all results of one turn stand in one message."""
    found: list[dict[str, Any]] = []
    for message in ask.messages:
        role, content = message["role"], message.get("content")
        if role == "tool":
            block = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": content}
            if found and found[-1].get("results"):
                found[-1]["content"].append(block)
            else:
                found.append({"role": "user", "content": [block], "results": True})
        elif role == "assistant" and (said := own_parts(message, "anthropic")) is not None:
            found.append({"role": role, "content": said})
        elif calls := calls_of(message):
            made: list[Any] = [{"type": "text", "text": content}] if content else []
            made += [
                {"type": "tool_use", "id": identity, "name": name, "input": msgspec.json.decode(arguments)}
                for identity, name, arguments in calls
            ]
            found.append({"role": role, "content": made})
        else:
            found.append({"role": role, "content": content})
    return [{"role": message["role"], "content": message["content"]} for message in found]


def read_answer(raw: Any) -> Completion:
    """What the model answered: an object, JSON text, or a list of events."""
    draft = Draft(raw)
    stream = _Stream()
    for message in draft.messages(raw):
        kind = read(message, "type")
        if kind == "error" or (kind in (None, "message") and read(message, "error") is not None):
            error = read(message, "error")
            draft.problem("error", f"the provider reported an error: {excerpt(error)}", message)
        elif isinstance(kind, str) and kind.startswith(("content_block_", "message_")):
            stream.add(draft, kind, message)
        elif (content := read(message, "content")) is not None:
            draft.answered = True
            draft.about(message)
            draft.completion.parts = ("anthropic", content)
            _check_ending(draft, message)
            _read_usage(draft, read(message, "usage"))
            draft.say(content)
            for block in [] if isinstance(content, str) else draft.entries(content, "content"):
                _read_block(draft, block)
    stream.finish(draft)
    return draft.finish("content (a message) or content_block_* events (a stream)")


def _read_usage(draft: Draft, usage: Any) -> None:
    """The tokens. Anthropic counts what comes from or goes to a cache beside `input_tokens`; here it is part of them.

    A stream reports what was read in its first event and what was written in its last.
    """
    if usage is None:
        return
    before = draft.completion.usage or Usage()
    fresh, cached, stored = (
        draft.tokens(usage, name)
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    written = draft.tokens(usage, "output_tokens")
    thought = draft.tokens(read(usage, "output_tokens_details"), "thinking_tokens")
    draft.completion.usage = Usage(
        input=before.input if fresh is None else fresh + (cached or 0) + (stored or 0),
        output=before.output if written is None else written,
        cache_read=before.cache_read if cached is None else cached,
        cache_write=before.cache_write if stored is None else stored,
        reasoning=before.reasoning if thought is None else thought,
    )


def _check_ending(draft: Draft, message: Any) -> None:
    reason = read(message, "stop_reason")
    draft.end(reason, _ENDS)
    if reason in _BROKEN_OFF:
        draft.problem("incomplete", f"the answer was broken off: stop_reason is {reason!r}", message)
    details = read(message, "stop_details")
    draft.decline(read(details, "explanation", "category"))


def _is_call(block: Any) -> bool:
    kind = read(block, "type")
    return isinstance(kind, str) and kind.endswith("tool_use")


def _read_block(draft: Draft, block: Any) -> None:
    if _is_call(block):
        identity, where = read(block, "id"), "content[]"
        draft.call(read(block, "name"), read(block, "input"), call_id=identity, where=where, raw=block)
    elif read(block, "type") == "text":
        draft.say(read(block, "text"))
    elif read(block, "type") == "thinking":
        draft.think(read(block, "thinking"))


class _Stream:
    """The blocks of a streamed message, put together."""

    def __init__(self) -> None:
        self._blocks: dict[Any, Any] = {}
        self._pieces: dict[Any, str] = {}

    def add(self, draft: Draft, kind: str, event: Any) -> None:
        draft.answered = True
        index = read(event, "index")
        place = index if isinstance(index, int) else len(self._blocks)
        if kind == "content_block_start":
            self._blocks[place] = read(event, "content_block")
        elif kind == "content_block_delta":
            piece = read(read(event, "delta"), "partial_json", "text")
            self._pieces[place] = self._pieces.get(place, "") + (piece if isinstance(piece, str) else "")
        elif kind == "message_start":
            _read_usage(draft, read(read(event, "message"), "usage"))
        elif kind == "message_delta":
            _check_ending(draft, read(event, "delta"))
            _read_usage(draft, read(event, "usage"))

    def finish(self, draft: Draft) -> None:
        for place, block in self._blocks.items():
            pieces = self._pieces.get(place, "")
            if _is_call(block):
                arguments = pieces or read(block, "input")
                identity = read(block, "id")
                draft.call(read(block, "name"), arguments, call_id=identity, where="a stream", raw=block)
            else:
                draft.say(pieces or read(block, "text"))


MESSAGES = WireFormat(
    "anthropic",
    ANTHROPIC,
    lambda base_url, _: messages_address(base_url),
    lambda base_url, model: endpoint(base_url, f"/v1/models/{quote(model or '', safe='')}"),
    ask_body,
    read_answer,
    {"temperature": "temperature", "output_config": "schema"},
    lacks=frozenset({"seed", "top_logprobs"}),
    headers=VERSION,
    request_id="request-id",
)
"""The Messages API."""
