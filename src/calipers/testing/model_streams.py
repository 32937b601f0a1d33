"""Whole answers of models as the events of a stream, in each protocol; an event may be an error, and the last one may be missing."""

from collections.abc import Iterator
from typing import Any

import msgspec

from calipers.testing.loopback import Fault

COMMENT = b": a comment\n\n"
"""What a stream may have between its events. The client of Gemini cannot read it."""
_SAID = "it failed while it answered"


def chat_events(body: dict[str, Any], fault: Fault | None, *, with_usage: bool) -> list[bytes]:
    """A chat completion in chunks; the tokens come in one of their own, if they were asked for."""
    choice = body["choices"][0]
    message = choice["message"]
    top = {"id": body["id"], "object": "chat.completion.chunk", "created": 0, "model": body["model"]}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**top, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    chunks = [chunk({"role": "assistant", "content": ""})]
    for name in ("reasoning", "content", "refusal"):
        chunks += [chunk({name: piece}) for piece in _pieces(message.get(name))]
    for index, call in enumerate(message["tool_calls"] or ()):
        function = call["function"]
        first = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        chunks.append(chunk({"tool_calls": [first]}))
        chunks += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            for piece in _pieces(function["arguments"])
        ]
    ending = [_data(chunk({}, choice["finish_reason"]))]
    if with_usage and "usage" in body:
        ending.append(_data({**top, "choices": [], "usage": body["usage"]}))
    ending.append(b"data: [DONE]\n\n")
    error = _data({"error": {"message": _SAID, "type": "server_error", "param": None, "code": None}})
    return _faulty([*map(_data, chunks)], ending, error, fault)


def responses_events(body: dict[str, Any], fault: Fault | None) -> list[bytes]:
    """A response in events; the last one holds it all."""
    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(body["output"]):
        where = {"output_index": index, "item_id": item["id"]}
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        for place, part in enumerate(item.get("content", ())):
            kind = "output_text" if part["type"] == "output_text" else "refusal"
            here = {**where, "content_index": place}
            text = part.get("text") or part.get("refusal") or ""
            more: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
            events += [
                {"type": f"response.{kind}.delta", **here, "delta": piece, **more} for piece in _pieces(text)
            ]
        if item["type"] == "function_call":
            name = "response.function_call_arguments.delta"
            events += [{"type": name, **where, "delta": piece} for piece in _pieces(item["arguments"])]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    status = body["status"]
    last = f"response.{status if status in ('completed', 'incomplete', 'failed') else 'completed'}"
    numbered = [*events, {"type": last, "response": body}]
    for number, event in enumerate(numbered):
        event["sequence_number"] = number
    error = _named(
        {"type": "error", "code": "server_error", "message": _SAID, "param": None, "sequence_number": 2}
    )
    return _faulty([*map(_named, numbered[:-1])], [_named(numbered[-1])], error, fault)


def anthropic_events(body: dict[str, Any], fault: Fault | None) -> list[bytes]:
    """A message in events, with a ping among them; what was read is told first, what was written last."""
    usage = body.get("usage") or {"input_tokens": 0, "output_tokens": 0}
    start = {**body, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(body["content"]):
        here = {"index": index}
        begun: dict[str, dict[str, Any]] = {
            "text": {"text": ""},
            "thinking": {"thinking": "", "signature": ""},
            "tool_use": {"input": {}},
        }
        first = {**block, **begun[block["type"]]}
        events.append({"type": "content_block_start", **here, "content_block": first})
        events += [{"type": "content_block_delta", **here, "delta": delta} for delta in _deltas(block)]
        events.append({"type": "content_block_stop", **here})
    delta = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    done = {"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage["output_tokens"]}}
    error = _named({"type": "error", "error": {"type": "overloaded_error", "message": _SAID}})
    return _faulty([*map(_named, events)], [_named(done), _named({"type": "message_stop"})], error, fault)


def _deltas(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        yield from ({"type": "text_delta", "text": piece} for piece in _pieces(block["text"]))
    elif block["type"] == "thinking":
        yield from ({"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"]))
        yield {"type": "signature_delta", "signature": block["signature"]}
    else:
        given = block["input"]
        text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
        yield from ({"type": "input_json_delta", "partial_json": piece} for piece in ["", *_pieces(text)])


def gemini_events(body: dict[str, Any], fault: Fault | None) -> list[bytes]:
    """An answer in whole answers, a part in each; the last one says how it ended."""
    candidate = body["candidates"][0]
    top = {name: value for name, value in body.items() if name != "candidates"}
    chunks = []
    for part in candidate.get("content", {}).get("parts", ()):
        pieces = [{**part, "text": piece} for piece in _pieces(part["text"])] if "text" in part else [part]
        chunks += [
            {**top, "candidates": [{"index": 0, "content": {"role": "model", "parts": [piece]}}]}
            for piece in pieces
        ]
    last = {**candidate, "content": {"role": "model", "parts": []}}
    error = _data({"error": {"code": 503, "message": _SAID, "status": "UNAVAILABLE"}})
    return _faulty([*map(_data, chunks)], [_data({**top, "candidates": [last]})], error, fault)


def _faulty(events: list[bytes], ending: list[bytes], error: bytes, fault: Fault | None) -> list[bytes]:
    """The events, up to where the stream goes wrong."""
    if fault == "error_in_stream":
        return [*events, error]
    return events if fault == "disconnect" else [*events, *ending]


def _pieces(text: str | None) -> list[str]:
    """A text in two pieces, if it is long enough."""
    half = len(text or "") // 2
    return [piece for piece in ((text or "")[:half], (text or "")[half:]) if piece]


def _data(event: Any) -> bytes:
    return b"data: " + msgspec.json.encode(event) + b"\n\n"


def _named(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\n".encode() + _data(event)
