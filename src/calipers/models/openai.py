"""OpenAI's chat completions and Responses API, and every server that speaks the same protocols.

`body` is a request for `POST /chat/completions`. `read_answer` understands four shapes, as dicts or as objects of the SDK:

- a chat completion: `choices[].message.tool_calls[].function`, and the older `function_call`;
- the chunks of a streamed one, as a list: `choices[].delta`, whose pieces are put together by their index;
- a response of the Responses API: `output[]` items of type `function_call`;
- the events of a Realtime session, as a list (`openai_realtime`).

The calls of all choices count, since some servers put text and calls into different ones. An answer that the provider
broke off (`length`, `content_filter`, `incomplete`) has the problem `incomplete`.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from calipers.models.model import Ask
from calipers.models.model_answer import Completion, Draft, Finish, Usage, excerpt, is_list, read
from calipers.models.model_request import (
    Provider,
    Sound,
    Tools,
    as_base64,
    endpoint,
    for_chat,
    for_responses,
    laid_over,
)
from calipers.models.openai_realtime import RealtimeEvents
from calipers.models.provider_schema import strict_schema
from calipers.models.wire_format import WireFormat, calls_of, own_parts, plain_messages

OPENAI = Provider(
    "https://api.openai.com/v1", ("OPENAI_API_KEY",), "Authorization", "Bearer ", ("OPENAI_BASE_URL",)
)
AZURE = Provider("", ("AZURE_OPENAI_API_KEY",), "api-key", "", ("AZURE_OPENAI_ENDPOINT",))
OPENROUTER = Provider("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",), "Authorization", "Bearer ")
ANY_SERVER = Provider("", ("CALIPERS_MODEL_KEY",), "Authorization", "Bearer ")
"""A server by its address. The key for OpenAI is not sent there."""
_RESPONSES = "openai-responses"
_EXPECTED = "choices (chat completions), output (responses) or response.* events (Realtime)"
_ENDS: Mapping[Any, Finish] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
    "content_filter": "filtered",
    "error": "error",
}
_STATUSES: Mapping[Any, Finish] = {
    "completed": "stop",
    "max_output_tokens": "length",
    "content_filter": "filtered",
    "failed": "error",
    "cancelled": "error",
    "queued": "unfinished",
    "in_progress": "unfinished",
}
"""By the status of a response, or the reason for which it is incomplete."""


def chat_address(base_url: str) -> str:
    """Where chat completions are, below the base of a server."""
    return endpoint(base_url, "/chat/completions")


def body(
    messages: Sequence[Mapping[str, Any]],
    *,
    model: str | None = None,
    tools: Tools = (),
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The body of a request.

    Args:
        messages: each with `role` and `content`, which is text or a `Sound`.
        model: which model; `None` leaves it to the server.
        tools: what it may call, in any provider's shape.
        options: further fields; they win.
    """
    made: dict[str, Any] = {} if model is None else {"model": model}
    made["messages"] = [{**message, "content": _content(message.get("content"))} for message in messages]
    if tools:
        made["tools"] = for_chat(tools)
    return laid_over(made, options)


def ask_body(ask: Ask, model: str | None, *, cap: str = "max_completion_tokens") -> dict[str, Any]:
    """The body of a request for a question.

    Args:
        ask: the question.
        model: which model; `None` leaves it to the server.
        cap: what the limit of tokens is called: reasoning models refuse `max_tokens`, and some servers know nothing else.
    """
    fields: dict[str, Any] = {"temperature": ask.temperature, cap: ask.max_tokens, "seed": ask.seed}
    if ask.top_logprobs:
        fields |= {"logprobs": True, "top_logprobs": ask.top_logprobs}
    if ask.schema is not None:
        fields["response_format"] = {"type": "json_schema", "json_schema": schema_format(ask.schema)}
    given = {name: value for name, value in fields.items() if value is not None}
    made = body(plain_messages(ask), model=model, tools=ask.tools, options=given)
    return laid_over(made, ask.options)


def responses_address(base_url: str) -> str:
    """Where the Responses API is, below the base of a server."""
    return endpoint(base_url, "/responses")


def responses_body(ask: Ask, model: str | None) -> dict[str, Any]:
    """The body of a request for a question, to the Responses API.

    It differs from chat completions where a copied request would break: instructions stand apart, tools are flat, what a tool gave is an
    item of its own, and log-probabilities must be included. The service keeps answers unless it is told not to.
    """
    made: dict[str, Any] = {} if model is None else {"model": model}
    made |= {"input": [item for message in ask.messages for item in _items(message)], "store": False}
    if before := [message["content"] for message in ask.messages if message["role"] == "system"]:
        made["instructions"] = "\n\n".join(before)
    included = []
    if ask.top_logprobs:
        made["top_logprobs"] = ask.top_logprobs
        included.append("message.output_text.logprobs")
    if ask.tools:
        made["tools"] = for_responses(ask.tools)
        included.append("reasoning.encrypted_content")  # to go on after a call; nothing is kept there
    if included:
        made["include"] = included
    if ask.schema is not None:
        made["text"] = {"format": {"type": "json_schema", **schema_format(ask.schema)}}
    if ask.temperature is not None:
        made["temperature"] = ask.temperature
    if ask.max_tokens is not None:
        made["max_output_tokens"] = ask.max_tokens
    return laid_over(made, ask.options)


def _items(message: Mapping[str, Any]) -> list[Any]:
    role, content = message["role"], message.get("content")
    if role == "system":
        return []
    if role == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": content}]
    if (said := own_parts(message, _RESPONSES)) is not None:
        return said
    calls = [
        {"type": "function_call", "call_id": identity, "name": name, "arguments": arguments}
        for identity, name, arguments in calls_of(message)
    ]
    return [*([{"role": role, "content": content}] if content else []), *calls]


def schema_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema as OpenAI takes it: strict where it can be."""
    strict = strict_schema(schema)
    if strict is None:
        return {"name": "answer", "schema": schema}
    return {"name": "answer", "strict": True, "schema": strict}


def _azure_address(base_url: str, model: str | None) -> str:
    version = os.environ.get("OPENAI_API_VERSION") or "2024-10-21"
    path = f"/openai/deployments/{quote(model or '', safe='')}/chat/completions"
    return f"{endpoint(base_url, path)}?api-version={version}"


def is_sdk_client(client: Any) -> bool:
    """Whether a client is one of OpenAI's SDK."""
    return hasattr(client, "chat")


def ask_client(client: Any, made: Mapping[str, Any]) -> Any:
    """Send a `body` by a client of the SDK: what to await the answer by."""
    return client.chat.completions.create(**made)


def _content(content: Any) -> Any:
    if not isinstance(content, Sound):
        return content
    sound = {"data": as_base64(content.data), "format": content.format}
    return [{"type": "input_audio", "input_audio": sound}]


def read_answer(raw: Any) -> Completion:
    """What the model answered: an object, JSON text, or a list of chunks or events."""
    draft = Draft(raw)
    chunks = _Chunks()
    events = RealtimeEvents()
    for message in draft.messages(raw):
        kind = read(message, "type")
        draft.about(message)
        if (choices := read(message, "choices")) is not None:
            for choice in draft.entries(choices, "choices"):
                _read_choice(draft, chunks, choice)
            _read_usage(draft, message)
        elif (output := read(message, "output")) is not None:
            _read_output(draft, message, output)
            _read_usage(draft, message)
        elif isinstance(kind, str):
            events.add(kind, message)
            continue  # an event of a session tells its error itself
        _read_error(draft, message)
    chunks.finish(draft)
    events.finish(draft)
    return draft.finish(_EXPECTED)


def _read_error(draft: Draft, told: Any) -> None:
    """An error may stand beside an answer, or inside of a choice: a gateway had begun to pass it on when its source failed."""
    if (error := read(told, "error")) is not None:
        draft.problem("error", f"the provider reported an error: {excerpt(error)}", error)


def _read_choice(draft: Draft, chunks: "_Chunks", choice: Any) -> None:
    reason = read(choice, "finish_reason")
    draft.end(reason, _ENDS)
    _read_error(draft, choice)
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
    if isinstance(message, Mapping):
        draft.completion.reports_calls = "tool_calls" in message  # null says none; some leave it out
    _say(draft, read(message, "content"))
    draft.decline(read(message, "refusal"))
    draft.think(read(message, "reasoning", "reasoning_content"))
    _read_tokens(draft, read(read(choice, "logprobs"), "content"))
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
        draft.say(read(part, "text", "transcript"))
        draft.decline(read(part, "refusal"))
        _read_tokens(
            draft, read(part, "logprobs") or None
        )  # a response has an empty list where none were asked for


def _read_tokens(draft: Draft, tokens: Any) -> None:
    if tokens is None:
        return
    draft.reports_tokens()
    for each in draft.entries(tokens, "logprobs"):
        top = draft.entries(read(each, "top_logprobs"), "top_logprobs")
        likeliest = [(read(other, "token"), read(other, "logprob")) for other in top]
        draft.token(read(each, "token"), read(each, "logprob"), likeliest)


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
    status, why = read(message, "status"), read(read(message, "incomplete_details"), "reason")
    if status == "incomplete" or why is not None:
        status = why or "unknown"
        draft.problem("incomplete", f"the answer was broken off: {excerpt(why)}", message)
    draft.end(status, _STATUSES)
    for item in draft.entries(output, "output"):
        kind = read(item, "type")
        if status == "completed" and read(item, "status") in ("incomplete", "in_progress"):
            draft.completion.finish = "unfinished"
            draft.problem(
                "incomplete", "a part of the answer is not whole, and the answer says that it is", item
            )
        if kind == "function_call":
            identity = read(item, "call_id")
            draft.call(
                read(item, "name"), read(item, "arguments"), call_id=identity, where="output", raw=item
            )
        elif kind == "message":
            _say(draft, read(item, "content"))
        elif kind == "reasoning":
            for summary in draft.entries(read(item, "summary"), "summary"):
                draft.think(read(summary, "text"))
    draft.completion.parts = (_RESPONSES, output)


def _read_usage(draft: Draft, message: Any) -> None:
    """The tokens of a chat completion or a response; of a stream, the last chunk that has them counts."""
    if (usage := read(message, "usage")) is None:
        return
    inside = read(usage, "prompt_tokens_details", "input_tokens_details")
    outside = read(usage, "completion_tokens_details", "output_tokens_details")
    draft.completion.usage = Usage(
        input=draft.tokens(usage, "prompt_tokens", "input_tokens"),
        output=draft.tokens(usage, "completion_tokens", "output_tokens"),
        cache_read=draft.tokens(inside, "cached_tokens"),
        reasoning=draft.tokens(outside, "reasoning_tokens"),
        cache_write=draft.tokens(inside, "cache_write_tokens"),
    )


class _Chunks:
    """The pieces of streamed chat completions, put together by choice and by the index of the call."""

    def __init__(self) -> None:
        self._words: dict[Any, str] = {}
        self._declined: dict[Any, str] = {}
        self._calls: dict[Any, dict[str, Any]] = {}

    def add(self, draft: Draft, choice: Any, delta: Any) -> None:
        draft.answered = True
        choice = choice if isinstance(choice, int) else 0
        spoken = read(read(delta, "audio"), "transcript")
        for piece in (read(delta, "content"), spoken):
            self._words[choice] = self._words.get(choice, "") + (piece if isinstance(piece, str) else "")
        declined = read(delta, "refusal")
        self._declined[choice] = self._declined.get(choice, "") + (
            declined if isinstance(declined, str) else ""
        )
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
        for words in self._declined.values():
            draft.decline(words)
        for pieces in self._calls.values():
            draft.call(
                pieces.get("name"),
                pieces.get("arguments"),
                call_id=pieces.get("id"),
                where="delta.tool_calls",
                raw=pieces,
            )


CHAT = WireFormat(
    "openai-chat",
    OPENAI,
    lambda base_url, _: chat_address(base_url),
    lambda base_url, _: endpoint(base_url, "/models"),
    ask_body,
    read_answer,
    {
        "temperature": "temperature",
        "max_tokens": "max_tokens",
        "max_completion_tokens": "max_tokens",
        "seed": "seed",
        "logprobs": "top_logprobs",
        "top_logprobs": "top_logprobs",
        "response_format": "schema",
    },
)
"""Chat completions of OpenAI."""
AZURE_CHAT = CHAT._replace(provider=AZURE, address=_azure_address)
"""Those of Azure: the model is a deployment, and part of the address."""
COMPATIBLE_CHAT = CHAT._replace(provider=ANY_SERVER, body=partial(ask_body, cap="max_tokens"))
"""Those of any other server."""
OPENROUTER_CHAT = CHAT._replace(provider=OPENROUTER, request_id="x-generation-id")
RESPONSES = CHAT._replace(
    name=_RESPONSES,
    address=lambda base_url, _: responses_address(base_url),
    body=responses_body,
    words={
        "temperature": "temperature",
        "max_output_tokens": "max_tokens",
        "top_logprobs": "top_logprobs",
        "include": "top_logprobs",
        "text": "schema",
    },
    lacks=frozenset({"seed"}),
)
"""OpenAI's Responses API."""
