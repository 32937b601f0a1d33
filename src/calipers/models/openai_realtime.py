"""OpenAI's Realtime API: the events that a session is set up and asked with, and those that come back.

`response.done` has the last word on the calls of its response; without it, the events before it count. The calls of a
cancelled response do not count.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from calipers.errors import AgentReplyError
from calipers.models.model_answer import Draft, Finish, ProblemKind, Usage, excerpt, is_list, read
from calipers.models.model_request import (
    Provider,
    Tools,
    as_base64,
    endpoint,
    for_realtime,
    laid_over,
    socket_address,
)
from calipers.models.request_redaction import shown_text

OPENAI_REALTIME = Provider("wss://api.openai.com/v1", ("OPENAI_API_KEY",), "Authorization", "Bearer ")
SAMPLE_RATE = 24000
"""What the server takes: 16-bit frames of one channel at this rate."""
HEARD = "conversation.item.input_audio_transcription.completed"
"""The event with what the server heard, where transcription is on."""
NOT_HEARD = "conversation.item.input_audio_transcription.failed"
"""The event in its place where transcription failed."""
_SOUND = ("response.output_audio.delta", "response.audio.delta")
"""Events that are only sound."""
_OTHER_EVENTS = (
    "session.",
    "conversation.",
    "input_audio_buffer.",
    "output_audio_buffer.",
    "rate_limits.",
    "mcp_",
)
_STATUSES: Mapping[Any, Finish] = {
    "completed": "stop",
    "max_output_tokens": "length",
    "content_filter": "filtered",
    "failed": "error",
    "cancelled": "unfinished",
}
"""By the status of a response, or the reason for which it is incomplete."""


def session_address(base_url: str, model: str) -> str:
    """The address of a session with a model; one that names a model or deployment already stays as it is."""
    url = endpoint(socket_address(base_url), "/realtime")
    if any(f"{name}=" in url for name in ("model", "deployment")):
        return url
    return f"{url}{'&' if '?' in url else '?'}model={quote(model, safe='')}"


def session_update(
    *,
    instructions: str | None = None,
    tools: Tools = (),
    turn_detection: Mapping[str, Any] | None = None,
    transcription: Mapping[str, Any] | None = None,
    session: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The first event of a session.

    Args:
        instructions: the system message.
        tools: what the model may call, in any provider's shape.
        turn_detection: how the server finds the end of a request; `None`: the caller sends `end_sound`.
        transcription: how the server writes down what it hears; `None`: it does not.
        session: further fields; they win.
    """
    heard: dict[str, Any] = {
        "format": {"type": "audio/pcm", "rate": SAMPLE_RATE},
        "turn_detection": turn_detection,
    }
    if transcription is not None:
        heard["transcription"] = transcription
    made: dict[str, Any] = {"type": "realtime", "output_modalities": ["text"], "audio": {"input": heard}}
    if instructions is not None:
        made["instructions"] = instructions
    if tools:
        made["tools"] = for_realtime(tools)
    return {"type": "session.update", "session": laid_over(made, session)}


def append_sound(frames: bytes) -> dict[str, Any]:
    """A piece of the request."""
    return {"type": "input_audio_buffer.append", "audio": as_base64(frames)}


def end_sound() -> Iterator[dict[str, Any]]:
    """The end of a spoken request, where the server does not find it."""
    yield {"type": "input_audio_buffer.commit"}
    yield {"type": "response.create"}


def ask_text(text: str) -> Iterator[dict[str, Any]]:
    """A written request."""
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    yield {"type": "conversation.item.create", "item": item}
    yield {"type": "response.create"}


def without_sound(event: Any) -> Any:
    """The event; `None` if it is only sound."""
    return None if read(event, "type") in _SOUND else event


class RealtimeAnswer:
    """Follows the events of a session until the answer is whole.

    It is whole at `response.done`: a response may hold several calls, and words besides. A response that was cut short because
    the server heard more speech is not the answer; the next one is. An `error` event ends the session.
    """

    def __init__(self, address: str, secrets: Sequence[str], *, transcribed: bool, detects: bool) -> None:
        """Store what to wait for.

        Args:
            address: of the server, as errors show it.
            secrets: what no error may show.
            transcribed: whether to wait for what the server heard as well.
            detects: whether the server finds the end of the request, and may find it too early.
        """
        self._address = address
        self._secrets = secrets
        self._detects = detects
        self._answered = False
        self._transcribed = not transcribed

    def is_complete(self, event: Any) -> bool:
        """Take in an event: whether it is the last of the answer.

        Raises:
            AgentReplyError: there will be no answer.
        """
        kind = read(event, "type")
        if kind == "error":
            said = shown_text(excerpt(read(event, "error")), self._secrets)
            raise AgentReplyError(f"{self._address} reported an error: {said}")
        if kind in (HEARD, NOT_HEARD):
            self._transcribed = True
        if kind == "response.done":
            response = read(event, "response")
            status, details = read(response, "status"), read(response, "status_details")
            interrupted = (
                self._detects and status == "cancelled" and read(details, "reason") == "turn_detected"
            )
            if status in ("failed", "cancelled") and not interrupted:
                said = shown_text(excerpt(details), self._secrets)
                raise AgentReplyError(f"the response of {self._address} ended as {status!r}: {said}")
            self._answered = not interrupted
        return self._answered and self._transcribed


class _Item:
    """One item of a response, put together from its events."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self.is_call = False
        self.name: Any = None
        self.arguments: Any = None
        self.call_id: Any = None
        self.words = ""
        self.raw: Any = None


class RealtimeEvents:
    """Collects events in the order in which they came."""

    def __init__(self) -> None:
        self._items: dict[Any, _Item] = {}
        self._cancelled: list[Any] = []
        self._heard: list[Any] = []
        self._problems: list[tuple[ProblemKind, str, Any]] = []
        self._usages: list[Any] = []
        self._end: Any = None
        self._answered = False
        self._is_whole = False
        """Whether the last response is complete."""

    def add(self, kind: str, event: Any) -> None:
        """Take in an event of this type."""
        match kind:
            case "response.output_item.added" | "response.output_item.done":
                self._take_item(read(event, "response_id"), read(event, "output_index"), read(event, "item"))
            case "response.function_call_arguments.delta":
                item, delta = self._item_of(event), read(event, "delta")
                item.is_call = True
                if isinstance(delta, str):
                    item.arguments = (item.arguments if isinstance(item.arguments, str) else "") + delta
            case "response.function_call_arguments.done":
                item = self._item_of(event)
                item.is_call = True
                item.arguments = read(event, "arguments")
                item.name = read(event, "name") or item.name
                item.call_id = read(event, "call_id") or item.call_id
            case "response.done" | "response.completed" | "response.incomplete" | "response.failed":
                self._take_end(read(event, "response"))
            case "error":
                error = read(event, "error")
                self._problems.append(("error", f"the server reported an error: {excerpt(error)}", event))
            case _ if kind == HEARD:
                self._heard.append(read(event, "transcript"))
            case _ if not kind.startswith(("response.", *_OTHER_EVENTS)):
                self._problems.append(("malformed_message", f"there is no event of type {kind!r}", event))

    def _item_of(self, event: Any) -> _Item:
        key = self._key(read(event, "item_id"), read(event, "response_id"), read(event, "output_index"))
        return self._items.setdefault(key, _Item(read(event, "response_id")))

    @staticmethod
    def _key(item_id: Any, response: Any, index: Any) -> Any:
        """The id of an item, or else its place in the response."""
        return item_id if isinstance(item_id, str) and item_id else f"{response!r} {index!r}"

    def _take_item(self, response: Any, index: Any, item: Any) -> None:
        kind = read(item, "type")
        if kind not in ("function_call", "message"):
            return
        found = self._items.setdefault(self._key(read(item, "id"), response, index), _Item(response))
        found.raw = item
        if kind == "function_call":
            found.is_call = True
            found.name = read(item, "name") or found.name
            found.call_id = read(item, "call_id") or found.call_id
            found.arguments = read(item, "arguments") or found.arguments
            return
        content = read(item, "content")
        parts = [read(part, "text", "transcript") for part in content] if is_list(content) else []
        found.words = "".join(part for part in parts if isinstance(part, str)) or found.words

    def _take_end(self, response: Any) -> None:
        if response is None:
            self._problems.append(("malformed_message", "the end of a response does not say of which", None))
            return
        self._answered = True
        identity, status = read(response, "id"), read(response, "status")
        for index, item in enumerate(output if is_list(output := read(response, "output")) else ()):
            self._take_item(identity, index, item)
        if status == "cancelled" and identity is not None:
            self._cancelled.append(identity)
        self._is_whole = status not in ("cancelled", "incomplete", "failed")
        self._end = read(read(response, "status_details"), "reason") if status == "incomplete" else status
        self._usages.append(read(response, "usage"))
        if not self._is_whole:
            details = read(response, "status_details")
            why = read(details, "error") or read(details, "reason")
            kind: ProblemKind = "error" if status == "failed" else "incomplete"
            self._problems.append((kind, f"the response ended as {status!r}: {excerpt(why)}", response))

    def finish(self, draft: Draft) -> None:
        """Add what was collected to a draft."""
        draft.answered = draft.answered or self._answered
        for kind, message, raw in self._problems:
            draft.problem(kind, message, raw)
        if self._is_whole:
            draft.completion.cut_short = False
        draft.end(self._end, _STATUSES)
        if self._usages and all(usage is not None for usage in self._usages):
            draft.completion.usage = Usage(
                input=self._total(draft, "input_tokens"), output=self._total(draft, "output_tokens")
            )
        for heard in self._heard:
            draft.hear(heard)
        for item in self._items.values():
            if item.response in self._cancelled:
                continue
            if item.is_call:
                where = "the events of a response"
                draft.call(item.name, item.arguments, call_id=item.call_id, where=where, raw=item.raw)
            else:
                draft.say(item.words)

    def _total(self, draft: Draft, name: str) -> int | None:
        """The tokens of all responses, if each reports them."""
        counts = [draft.tokens(usage, name) for usage in self._usages]
        return sum(count for count in counts if count is not None) if None not in counts else None
