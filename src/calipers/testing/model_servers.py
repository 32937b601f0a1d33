"""Language models behind HTTP, played on loopback: OpenAI's two protocols, Anthropic's, Gemini's.

```python
with OpenAIServer(Reply(text="Hello")) as server:
    model = RemoteModel("openai:gpt-4o", base_url=server.url)
```

A server answers for any model and with any key, unless it is told which. It counts a token for each word. Questions about the
models it has are answered as well, and are no requests.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

from calipers.models.model_answer import Token, Usage
from calipers.testing.http_servers import HttpServer, arguments_text, at, encoded, phrase
from calipers.testing.loopback import Received, Replies, Reply
from calipers.testing.model_streams import (
    COMMENT,
    anthropic_events,
    chat_events,
    gemini_events,
    responses_events,
)
from calipers.testing.rate_limit import RateLimit, Words
from calipers.voice.audio import Audio

_TOO_SMALL = -9999.0
"""What OpenAI reports for a token that is not among the likeliest."""


_GOOGLE_STATUSES = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""Google's words for a status."""


class ModelServer(HttpServer):
    """Plays a provider of models.

    Args:
        replies: what it answers.
        key: the only key it takes; `None`: any, and none.
        models: the only models it has; `None`: it answers for any, and cannot list them.
        refuses: parameters that its models do not take, in the words of the protocol.
        limit: how many requests and tokens it takes; `None`: any number.
    """

    _words: Words = "none"
    """Whose headers tell of a limit."""

    def __init__(
        self,
        replies: Replies = Reply(),  # noqa: B008 - a Reply cannot be changed
        *,
        key: str | None = None,
        models: Sequence[str] | None = None,
        refuses: Sequence[str] = (),
        limit: RateLimit | None = None,
    ) -> None:
        super().__init__(replies)
        self.limit = limit
        self.key = key
        self.models = models
        self.refuses = refuses

    def _before(self, received: Received) -> tuple[int, bytes] | None:
        if self.key is not None and self.key not in self._keys(received):
            return 401, encoded(self._error(401))
        if received.method == "GET":
            return self._lookup(received)
        if self.limit is not None:
            decision = self.limit.ask(_asked_for(received), self._words)
            received.told.update(decision.headers)
            if not decision.taken:
                return 429, encoded(self._too_many(decision.wait))
        return None

    def _too_many(self, wait: float) -> Any:  # noqa: ARG002 - others tell it
        """The error for a request beyond the limit."""
        return self._error(429)

    def _answer(self, reply: Reply, received: Received) -> tuple[int, bytes]:
        if self.models is not None and self._asked(received) not in self.models:
            return 404, encoded(self._error(404))
        for parameter in self.refuses:
            if self._sends(received, parameter):
                return 400, encoded(self._refused(parameter, received))
        return super()._answer(reply, received)

    def _lookup(self, received: Received) -> tuple[int, bytes]:
        """Whether there is a model, or which there are."""
        if self.models is None:  # as a gateway without that page
            return 404, encoded({"detail": "Not Found"})
        if (name := received.path.partition("?")[0].rpartition("/models")[2].strip("/")) == "":
            return 200, encoded({"object": "list", "data": [self._described(each) for each in self.models]})
        return (
            (200, encoded(self._described(name))) if name in self.models else (404, encoded(self._error(404)))
        )

    def _described(self, name: str) -> Any:
        return {"id": name, "object": "model", "created": 0, "owned_by": "loopback"}

    def _keys(self, received: Received) -> list[str]:
        """The keys that a request carries."""
        return [received.headers.get("authorization", "").removeprefix("Bearer ")]

    def _asked(self, received: Received) -> str | None:
        """The model that a request is for."""
        found = at(received, "model")
        return found if isinstance(found, str) else None

    def _answering(self, reply: Reply, received: Received) -> str:
        return reply.model or self._asked(received) or "loopback"

    def _sends(self, received: Received, parameter: str) -> bool:
        return at(received, parameter) is not None

    def _refused(self, parameter: str, received: Received) -> Any:
        """The error for a parameter that the model does not take."""
        raise NotImplementedError


class OpenAIServer(ModelServer):
    """Plays OpenAI's chat completions and Responses API, and completions that echo their prompt.

    In an echo each word is a token, whose log-probability is minus the number of its letters.
    """

    @property
    def url(self) -> str:
        """The address to give as `base_url`, or as `OPENAI_BASE_URL`."""
        return f"http://127.0.0.1:{self.port}/v1"

    _words = "openai"

    def _keys(self, received: Received) -> list[str]:
        return [*super()._keys(received), received.headers.get("api-key", "")]

    def _body(self, reply: Reply, received: Received) -> Any:
        model = self._answering(reply, received)
        if _is_completion(received):
            return _completion(reply, received, model)
        made = _response if _is_response(received) else _chat
        return made(reply, received, model)

    def _stream(self, reply: Reply, received: Received) -> list[bytes] | None:
        if at(received, "stream") is not True or reply.raw is not None or reply.status >= 400:
            return None
        body = self._body(reply, received)
        if _is_response(received):
            return _commented(responses_events(body, reply.fault), reply)
        with_usage = at(received, "stream_options", "include_usage") is True
        return _commented(chat_events(body, reply.fault, with_usage=with_usage), reply)

    def _error(self, status: int) -> Any:
        code = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}.get(status)
        kind = "invalid_request_error" if status < 429 else "server_error" if status >= 500 else "requests"
        return {"error": {"message": phrase(status), "type": kind, "param": None, "code": code}}

    def _refused(self, parameter: str, received: Received) -> Any:  # noqa: ARG002 - others look at it
        said = f"Unsupported parameter: '{parameter}' is not supported with this model."
        kind = "invalid_request_error"
        return {"error": {"message": said, "type": kind, "param": parameter, "code": "unsupported_parameter"}}

    def _read_sound(self, received: Received) -> None:
        content = at(received, "messages", -1, "content", 0, "input_audio")
        if isinstance(content, dict):
            received.audio = Audio(base64.b64decode(content["data"]), content["format"])


class AnthropicServer(ModelServer):
    """Plays Anthropic's Messages API."""

    @property
    def url(self) -> str:
        """The address to give as `base_url`, or as `ANTHROPIC_BASE_URL`."""
        return f"http://127.0.0.1:{self.port}"

    _words = "anthropic"

    def _keys(self, received: Received) -> list[str]:
        return [*super()._keys(received), received.headers.get("x-api-key", "")]

    def _answer(self, reply: Reply, received: Received) -> tuple[int, bytes]:
        missing = [name for name in ("model", "max_tokens", "messages") if at(received, name) is None]
        if "anthropic-version" not in received.headers:
            missing.append("anthropic-version")
        if missing:
            return 400, encoded(_anthropic_error("invalid_request_error", f"{missing[0]}: Field required"))
        return super()._answer(reply, received)

    def _body(self, reply: Reply, received: Received) -> Any:
        return _message(reply, received, self._answering(reply, received))

    def _stream(self, reply: Reply, received: Received) -> list[bytes] | None:
        if at(received, "stream") is not True or reply.raw is not None or reply.status >= 400:
            return None
        return _commented(anthropic_events(self._body(reply, received), reply.fault), reply)

    def _described(self, name: str) -> Any:
        return {"id": name, "type": "model", "display_name": name, "created_at": "2026-01-01T00:00:00Z"}

    def _error(self, status: int) -> Any:
        kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error"}
        kinds |= {429: "rate_limit_error", 529: "overloaded_error"}
        kind = kinds.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return _anthropic_error(kind, phrase(status))

    def _refused(self, parameter: str, received: Received) -> Any:  # noqa: ARG002 - others look at it
        return _anthropic_error("invalid_request_error", f"{parameter}: Extra inputs are not permitted")


class GeminiServer(ModelServer):
    """Plays Gemini's `generateContent`."""

    @property
    def url(self) -> str:
        """The address to give as `base_url`, or as `GEMINI_BASE_URL`."""
        return f"http://127.0.0.1:{self.port}"

    def _keys(self, received: Received) -> list[str]:
        return [received.headers.get("x-goog-api-key", "")]

    def _asked(self, received: Received) -> str | None:
        return received.path.partition("?")[0].rpartition("/models/")[2].partition(":")[0] or None

    def _described(self, name: str) -> Any:
        return {"name": f"models/{name}", "version": "1", "displayName": name}

    def _body(self, reply: Reply, received: Received) -> Any:
        return _candidates(reply, received, self._answering(reply, received))

    def _stream(self, reply: Reply, received: Received) -> list[bytes] | None:
        if ":streamGenerateContent" not in received.path or reply.raw is not None or reply.status >= 400:
            return None
        return gemini_events(self._body(reply, received), reply.fault)

    def _sends(self, received: Received, parameter: str) -> bool:
        return at(received, "generationConfig", parameter) is not None

    def _error(self, status: int) -> Any:
        word = _GOOGLE_STATUSES.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
        return {"error": {"code": status, "message": phrase(status), "status": word}}

    def _too_many(self, wait: float) -> Any:
        error = self._error(429)
        if self.limit is not None and self.limit.tells:
            kind = "type.googleapis.com/google.rpc.RetryInfo"
            error["error"]["details"] = [{"@type": kind, "retryDelay": f"{wait:.3f}s"}]
        return error

    def _refused(self, parameter: str, received: Received) -> Any:
        said = f"{parameter.capitalize()} is not enabled for models/{self._asked(received)}"
        return {"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}}

    def _read_sound(self, received: Received) -> None:
        part = at(received, "contents", -1, "parts", 0, "inlineData")
        if isinstance(part, dict):
            form = part["mimeType"].removeprefix("audio/")
            received.audio = Audio(base64.b64decode(part["data"]), form)


# ---------------------------------------------------------------------- answers


def _commented(events: list[bytes], reply: Reply) -> list[bytes]:
    return [COMMENT + event for event in events] if reply.split else events


def _is_response(received: Received) -> bool:
    return received.path.partition("?")[0].endswith("/responses")


def _is_completion(received: Received) -> bool:
    return received.path.partition("?")[0].endswith("/v1/completions")


def _ending(reply: Reply, words: Mapping[str, str | None]) -> str | None:
    """How an answer ends, in the protocol's word; a word of another protocol is sent as it is."""
    finish = reply.finish or ("tool_call" if reply.calls else "refused" if reply.refusal else "stop")
    return words.get(finish, finish)


def _usage(reply: Reply, received: Received) -> Usage | None:
    """The tokens that an answer reports; `None` if it reports none."""
    if isinstance(reply.usage, Usage):
        return reply.usage
    said = " ".join([reply.text or "", reply.refusal or "", *(call.name for call in reply.calls)])
    asked = [at(received, name) for name in ("messages", "input", "instructions", "system", "contents")]
    return None if reply.usage else Usage(input=sum(map(_words, asked)), output=len(said.split()))


def _asked_for(received: Received) -> int:
    """The tokens by which a request counts against a limit: those that it sends, and as many as the answer may have, where it says so."""
    asked = [at(received, name) for name in ("messages", "input", "instructions", "system", "contents")]
    most = at(received, "max_tokens")
    return sum(map(_words, asked)) + (most if isinstance(most, int) else 0)


def _words(value: Any) -> int:
    """How many words there are in some part of a request."""
    if isinstance(value, str):
        return len(value.split())
    if isinstance(value, list):
        return sum(map(_words, value))
    if isinstance(value, dict):
        return sum(_words(value.get(name)) for name in ("content", "text", "parts", "output"))
    return 0


def _with_usage(made: dict[str, Any], reply: Reply, name: str, told: Any) -> dict[str, Any]:
    if reply.usage == "missing":
        return made
    return {**made, name: None if reply.usage == "null" else told}


def _openai_tokens(tokens: Sequence[Token] | None) -> list[dict[str, Any]] | None:
    def told(text: str, logprob: float | None) -> dict[str, Any]:
        return {
            "token": text,
            "logprob": _TOO_SMALL if logprob is None else logprob,
            "bytes": list(text.encode()) if logprob is not None else None,
        }

    if tokens is None:
        return None
    return [
        {**told(token.text, token.logprob), "top_logprobs": [told(*other) for other in token.top]}
        for token in tokens
    ]


def _chat(reply: Reply, received: Received, model: str) -> dict[str, Any]:
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": call.name, "arguments": arguments_text(call, reply)},
        }
        for number, call in enumerate(reply.calls, 1)
    ]
    words = {"tool_call": "tool_calls", "refused": "stop", "filtered": "content_filter", "unknown": None}
    message = {
        "role": "assistant",
        "content": reply.text,
        "refusal": reply.refusal,
        "tool_calls": calls or None,
    }
    if reply.reasoning is not None:
        message["reasoning"] = reply.reasoning
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": _ending(reply, words)}
    if (tokens := _openai_tokens(reply.logprobs)) is not None:
        choice["logprobs"] = {"content": tokens, "refusal": None}
    made = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [choice],
    }
    used = _usage(reply, received) or Usage()
    told = {
        "prompt_tokens": used.input or 0,
        "completion_tokens": used.output or 0,
        "total_tokens": (used.input or 0) + (used.output or 0),
        "prompt_tokens_details": {"cached_tokens": used.cache_read or 0},
        "completion_tokens_details": {"reasoning_tokens": used.reasoning or 0},
    }
    return _with_usage(made, reply, "usage", told)


def _completion(reply: Reply, received: Received, model: str) -> dict[str, Any]:
    """The prompt, where it is to be echoed, and the answer."""
    prompt, said = at(received, "prompt") if at(received, "echo") else "", f" {reply.text or ''}"
    words = list(re.finditer(r"User:|\s*\S+", prompt + said))
    told = {
        "tokens": [word[0] for word in words],
        "token_logprobs": [
            None if not at_ else -float(len(word[0].strip())) for at_, word in enumerate(words)
        ],
        "text_offset": [word.start() for word in words],
    }
    choice = {"index": 0, "text": prompt + said, "finish_reason": "length"}
    logprobs = at(received, "logprobs")
    made = {
        "id": "cmpl-1",
        "object": "text_completion",
        "model": model,
        "choices": [{**choice, "logprobs": None if logprobs is None else told}],
    }
    used = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(said.split())}
    return _with_usage(made, reply, "usage", used)


def _response(reply: Reply, received: Received, model: str) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if reply.reasoning is not None:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        output.append({"type": "reasoning", "id": "rs_1", "summary": summary})
    output += [
        {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": call.name,
            "arguments": arguments_text(call, reply),
            "status": "completed",
        }
        for number, call in enumerate(reply.calls, 1)
    ]
    content: list[dict[str, Any]] = []
    if reply.text is not None:
        tokens = _openai_tokens(reply.logprobs) or []
        content.append({"type": "output_text", "text": reply.text, "annotations": [], "logprobs": tokens})
    if reply.refusal is not None:
        content.append({"type": "refusal", "refusal": reply.refusal})
    if content:
        message = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant"}
        output.append({**message, "content": content})
    status = _ending(reply, {"stop": "completed", "tool_call": "completed", "refused": "completed", **_ENDS})
    cut = {"length": "max_output_tokens", "filtered": "content_filter"}.get(reply.finish or "")
    failed = {"code": "server_error", "message": "it failed"} if status == "failed" else None
    made = {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": model,
        "status": status,
        "error": failed,
        "incomplete_details": {"reason": cut} if cut else None,
        "output": output,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "top_p": 1.0,
        "tool_choice": "auto",
        "tools": [],
    }
    used = _usage(reply, received) or Usage()
    told = {
        "input_tokens": used.input or 0,
        "input_tokens_details": {"cached_tokens": used.cache_read or 0},
        "output_tokens": used.output or 0,
        "output_tokens_details": {"reasoning_tokens": used.reasoning or 0},
        "total_tokens": (used.input or 0) + (used.output or 0),
    }
    return _with_usage(made, reply, "usage", told)


_ENDS: Mapping[str, str | None] = {
    "length": "incomplete",
    "filtered": "incomplete",
    "error": "failed",
    "unfinished": "in_progress",
    "unknown": None,
}


def _message(reply: Reply, received: Received, model: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if reply.reasoning is not None:
        content.append({"type": "thinking", "thinking": reply.reasoning, "signature": "c2ln"})
    if reply.text is not None:
        content.append({"type": "text", "text": reply.text})
    bad = reply.fault == "bad_arguments"
    content += [
        {
            "type": "tool_use",
            "id": f"toolu_{number}",
            "name": call.name,
            "input": arguments_text(call, reply) if bad else call.arguments,
        }
        for number, call in enumerate(reply.calls, 1)
    ]
    words = {"stop": "end_turn", "length": "max_tokens", "tool_call": "tool_use", "refused": "refusal"}
    ending = _ending(reply, {**words, "unfinished": "pause_turn", "unknown": None})
    made: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": ending,
        "stop_sequence": None,
    }
    if ending == "refusal":
        made["stop_details"] = {"type": "refusal", "category": None, "explanation": reply.refusal}
    used = _usage(reply, received) or Usage()
    cached, stored = used.cache_read or 0, used.cache_write or 0
    told = {
        "input_tokens": (used.input or 0) - cached - stored,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": stored,
        "output_tokens": used.output or 0,
    }
    return _with_usage(made, reply, "usage", told)


def _anthropic_error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def _candidates(reply: Reply, received: Received, model: str) -> dict[str, Any]:
    if reply.fault == "bad_arguments":
        said = f"Malformed function call: {', '.join(call.name for call in reply.calls)}("
        bad = {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": said, "index": 0}
        return {"candidates": [bad], "modelVersion": model}
    parts: list[Any] = [] if reply.reasoning is None else [{"text": reply.reasoning, "thought": True}]
    parts += [] if reply.text is None else [{"text": reply.text}]
    parts += [{"functionCall": {"name": call.name, "args": call.arguments}} for call in reply.calls]
    words: dict[str, str | None] = {"stop": "STOP", "length": "MAX_TOKENS", "tool_call": "STOP"}
    words |= {"filtered": "SAFETY", "refused": "SAFETY", "unfinished": "CONTINUATION", "unknown": None}
    ending = _ending(reply, {**words, "error": "MALFORMED_RESPONSE"})
    candidate: dict[str, Any] = {
        "content": {"role": "model", "parts": parts},
        "finishReason": ending,
        "index": 0,
    }
    if ending == "CONTINUATION":
        candidate["continuationToken"] = "dG9r"
    if reply.logprobs is not None:
        candidate["logprobsResult"] = _gemini_tokens(reply.logprobs)
    made = {"candidates": [candidate], "modelVersion": model, "responseId": "resp-1"}
    used = _usage(reply, received) or Usage()
    thought = used.reasoning or 0
    told = {
        "promptTokenCount": used.input or 0,
        "cachedContentTokenCount": used.cache_read or 0,
        "candidatesTokenCount": (used.output or 0) - thought,
        "thoughtsTokenCount": thought,
        "totalTokenCount": (used.input or 0) + (used.output or 0),
    }
    return _with_usage(made, reply, "usageMetadata", told)


def _gemini_tokens(tokens: Sequence[Token]) -> dict[str, Any]:
    def told(text: str, logprob: float | None) -> dict[str, Any]:
        return {"token": text, "tokenId": 1, "logProbability": logprob}

    return {
        "chosenCandidates": [told(token.text, token.logprob) for token in tokens],
        "topCandidates": [{"candidates": [told(*other) for other in token.top]} for token in tokens],
    }
