"""The events of an OpenAI Realtime session, put together: calls, words, and how each response ended."""

from typing import TYPE_CHECKING, Any

from .draft import Draft, excerpt, is_list, read

if TYPE_CHECKING:
    from calipers.voice.response import ProblemKind

_OTHER_EVENTS = (
    "session.",
    "conversation.",
    "input_audio_buffer.",
    "output_audio_buffer.",
    "rate_limits.",
    "mcp_",
)
HEARD = "conversation.item.input_audio_transcription.completed"
"""The event that says what the server heard, where transcription is on."""


class _Item:
    """One item of a response, as far as its events have told."""

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
        self._answered = False
        self._is_whole = False
        """Whether the last response came to its end, whatever became of those before it."""

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
        """What tells items apart: their id, or else their place in the response."""
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
            draft.cut_short = False
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
