"""Agents behind WebSockets, played on loopback: a plain one, OpenAI's Realtime API, Gemini's Live API."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec

from calipers.errors import MissingExtraError
from calipers.testing.http_servers import arguments_text, plain_answer
from calipers.testing.loopback import LoopbackServer, Received, Replies, Reply
from calipers.voice.audio import Audio

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

_PAUSE = 12_000
"""Frames of silence at 24 kHz, half a second, that end a request where the server listens for its end."""


class _SocketServer(LoopbackServer):
    """Takes the messages of a request, and sends those of the answer."""

    binary = False
    """Whether JSON travels in binary messages."""

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[int]:
        try:
            from websockets.asyncio.server import serve
        except ImportError as error:
            raise MissingExtraError.of("Playing an agent behind a WebSocket", "voice") from error
        self._chosen: dict[Any, Reply | None] = {}
        async with serve(
            self._serve, "127.0.0.1", 0, process_request=self._greet, max_size=None, close_timeout=0.2
        ) as server:
            yield next(iter(server.sockets)).getsockname()[1]

    def _greet(self, socket: "ServerConnection", request: "Request") -> "Response | None":
        reply = self._chosen[socket.id] = self._next()
        if reply is None or reply.status < HTTPStatus.BAD_REQUEST:
            return None
        self.requests.append(_received(request))
        return socket.respond(HTTPStatus(reply.status), f"{HTTPStatus(reply.status).phrase}\n")

    async def _serve(self, socket: "ServerConnection") -> None:
        from websockets.exceptions import ConnectionClosed

        assert socket.request is not None
        received = _received(socket.request)
        self.requests.append(received)
        # The client may go away at any moment: that is no news.
        with self._told(), suppress(ConnectionClosed):
            await self._hold(socket, received, self._chosen.pop(socket.id, None))
        received.closed = True

    async def _hold(self, socket: "ServerConnection", received: Received, reply: Reply | None) -> None:
        """Hold one conversation to its end."""
        await self._open(socket)
        async for data in socket:
            try:
                message = msgspec.json.decode(data)
            except msgspec.DecodeError:
                message = data
            received.messages.append(message)
            for answer in self._take(received):
                await self._send(socket, answer)
            if self._is_asked(received):
                await self._answer(socket, received, self._reply_to(received, reply))
                return

    async def _answer(self, socket: "ServerConnection", received: Received, reply: Reply) -> None:
        await asyncio.sleep(reply.delay)
        if reply.fault == "silence":
            await socket.wait_closed()
        elif reply.fault == "error":
            await self._fail(socket)
        else:
            messages = list(self._messages(reply, received) if reply.raw is None else reply.raw)
            if reply.fault == "garbage":
                messages.insert(0, "this is not what you asked for")
            broken = reply.fault in {"stall", "disconnect"}
            for message in messages[: len(messages) // 2] if broken else messages:
                await self._send(socket, message, split=reply.split)
            if reply.fault == "disconnect":
                socket.transport.abort()
        await self._close(socket, reply)

    async def _send(self, socket: "ServerConnection", message: Any, *, split: bool = False) -> None:
        data = message if isinstance(message, str | bytes) else msgspec.json.encode(message)
        if not isinstance(message, str | bytes) and not self.binary:
            data = data.decode() if isinstance(data, bytes) else data
        if not split or len(data) < 2:
            await socket.send(data)
            return
        middle = len(data) // 2
        pieces: Any = [data[:middle], data[middle:]]  # one message in two frames
        await socket.send(pieces)

    async def _open(self, socket: "ServerConnection") -> None:
        """Say what the server says first."""

    async def _close(self, socket: "ServerConnection", reply: Reply) -> None:  # noqa: ARG002 - a subclass asks it
        """End a conversation: agents leave that to the client."""
        await socket.wait_closed()

    async def _fail(self, socket: "ServerConnection") -> None:
        """Report an error in the words of the protocol."""
        await socket.close(1011, "the agent failed")

    def _take(self, received: Received) -> Iterator[Any]:
        """What the server says to the last message, be it the end of the request or not."""
        raise NotImplementedError

    def _is_asked(self, received: Received) -> bool:
        """Whether the last message ends the request."""
        raise NotImplementedError

    def _messages(self, reply: Reply, received: Received) -> Iterator[Any]:
        """The answer in the words of the protocol."""
        raise NotImplementedError


def _received(request: "Request") -> Received:
    return Received(request.path, {name.lower(): value for name, value in request.headers.raw_items()})


class WebSocketAgentServer(_SocketServer):
    """Plays an agent that `WebSocketAgent` asks: one message with `tool_calls` and `text`.

    Args:
        replies: what it answers.
        until: whether a message is the last of the request; default: the first is.
        closes: whether it hangs up properly after its answer.
    """

    def __init__(
        self,
        replies: Replies = Reply(),  # noqa: B008 - a Reply cannot be changed
        *,
        until: Callable[[Any], bool] | None = None,
        closes: bool = False,
    ) -> None:
        super().__init__(replies)
        self.until = until
        self.closes = closes

    @property
    def url(self) -> str:
        """The address to give to a `WebSocketAgent`."""
        return f"ws://127.0.0.1:{self.port}/agent"

    def _take(self, received: Received) -> Iterator[Any]:
        message = received.messages[-1]
        if isinstance(message, dict) and message.get("format") == "wav" and "audio" in message:
            received.audio = Audio(base64.b64decode(message["audio"]))
        yield from ()

    def _is_asked(self, received: Received) -> bool:
        return self.until is None or self.until(received.messages[-1])

    def _messages(self, reply: Reply, received: Received) -> Iterator[Any]:  # noqa: ARG002 - others look at it
        yield plain_answer(reply)

    async def _close(self, socket: "ServerConnection", reply: Reply) -> None:
        if self.closes and reply.fault is None:
            await socket.close()
        await socket.wait_closed()


class OpenAIRealtimeServer(_SocketServer):
    """Plays OpenAI's Realtime API, with or without detection of the end of speech."""

    @property
    def url(self) -> str:
        """The address to give to an `OpenAIRealtimeAgent` as `base_url`."""
        return f"ws://127.0.0.1:{self.port}/v1"

    async def _open(self, socket: "ServerConnection") -> None:
        await self._send(
            socket, {"type": "session.created", "event_id": "event_1", "session": {"type": "realtime"}}
        )

    async def _fail(self, socket: "ServerConnection") -> None:
        error = {"type": "server_error", "code": "internal", "message": "the agent failed", "param": None}
        await self._send(socket, {"type": "error", "event_id": "event_9", "error": error})

    def _take(self, received: Received) -> Iterator[Any]:
        message = received.messages[-1]
        kind = message.get("type") if isinstance(message, dict) else None
        if kind == "session.update":
            yield {"type": "session.updated", "event_id": "event_2", "session": message["session"]}
        elif kind == "input_audio_buffer.append":
            before = received.audio.data if received.audio is not None else b""
            received.audio = Audio(before + base64.b64decode(message["audio"]), "pcm", 24000)
        elif kind == "input_audio_buffer.commit":
            yield {"type": "input_audio_buffer.committed", "event_id": "event_3", "item_id": "item_user"}
        elif kind == "conversation.item.create":
            yield {"type": "conversation.item.added", "event_id": "event_3", "item": message["item"]}
        elif kind != "response.create":
            error = {"type": "invalid_request_error", "message": f"unknown event {kind!r}"}
            yield {"type": "error", "event_id": "event_9", "error": error}

    def _is_asked(self, received: Received) -> bool:
        message = received.messages[-1]
        kind = message.get("type") if isinstance(message, dict) else None
        if kind == "input_audio_buffer.append" and _session(received, "turn_detection"):
            assert received.audio is not None
            pcm = received.audio.data
            return bool(pcm.strip(b"\0")) and pcm.endswith(bytes(2 * _PAUSE))
        return kind == "response.create"

    def _messages(self, reply: Reply, received: Received) -> Iterator[Any]:
        if _session(received, "turn_detection"):
            yield {"type": "input_audio_buffer.speech_stopped", "item_id": "item_user"}
            yield {"type": "input_audio_buffer.committed", "item_id": "item_user"}
        yield {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}
        items: list[dict[str, Any]] = []
        if reply.text is not None:
            content = [{"type": "output_text", "text": reply.text}]
            items.append({"id": "item_0", "type": "message", "role": "assistant", "content": content})
            yield {
                "type": "response.output_item.done",
                "response_id": "resp_1",
                "output_index": 0,
                "item": items[0],
            }
        for number, call in enumerate(reply.calls, 1):
            item = {
                "id": f"item_{number}",
                "type": "function_call",
                "name": call.name,
                "call_id": f"call_{number}",
            }
            item["arguments"] = arguments_text(call, reply)
            yield from _events_of_call(item, len(items))
            items.append(item)
        response = {"id": "resp_1", "object": "realtime.response", "status": "completed", "output": items}
        yield {"type": "response.done", "event_id": "event_8", "response": response}
        if received.audio is not None and _session(received, "transcription"):
            heard = "conversation.item.input_audio_transcription.completed"
            yield {
                "type": heard,
                "item_id": "item_user",
                "content_index": 0,
                "transcript": reply.transcript or "",
            }


def _session(received: Received, setting: str) -> Any:
    """A setting of the sound that the session was asked for."""
    for message in received.messages:
        if isinstance(message, dict) and message.get("type") == "session.update":
            return message["session"].get("audio", {}).get("input", {}).get(setting)
    return None


def _events_of_call(item: dict[str, Any], index: int) -> Iterator[dict[str, Any]]:
    """A call as it is streamed: announced, its arguments in pieces, done."""
    place = {"response_id": "resp_1", "output_index": index}
    pieces = {**place, "item_id": item["id"], "call_id": item["call_id"]}
    text, kind = item["arguments"], "response.function_call_arguments"
    yield {"type": "response.output_item.added", **place, "item": {**item, "arguments": ""}}
    for start in range(0, len(text), 8):
        yield {"type": f"{kind}.delta", **pieces, "delta": text[start : start + 8]}
    yield {"type": f"{kind}.done", **pieces, "arguments": text}
    yield {"type": "response.output_item.done", **place, "item": item}


class GeminiLiveServer(_SocketServer):
    """Plays Gemini's Live API; like the real one, it puts its JSON into binary messages."""

    binary = True

    @property
    def url(self) -> str:
        """The address to give to a `GeminiLiveAgent` as `base_url`."""
        return f"ws://127.0.0.1:{self.port}"

    def _take(self, received: Received) -> Iterator[Any]:
        message = received.messages[-1]
        if not isinstance(message, dict):
            return
        if "setup" in message:
            yield {"setupComplete": {}}
        sound = message.get("realtimeInput", {}).get("audio")
        if sound is not None:
            rate = int(sound["mimeType"].rpartition("=")[2])
            before = received.audio.data if received.audio is not None else b""
            received.audio = Audio(before + base64.b64decode(sound["data"]), "pcm", rate)

    def _is_asked(self, received: Received) -> bool:
        message = received.messages[-1]
        if not isinstance(message, dict):
            return False
        spoken, written = message.get("realtimeInput", {}), message.get("clientContent", {})
        return "audioStreamEnd" in spoken or "activityEnd" in spoken or bool(written.get("turnComplete"))

    def _messages(self, reply: Reply, received: Received) -> Iterator[Any]:
        if reply.transcript is not None and received.audio is not None:
            yield {"serverContent": {"inputTranscription": {"text": reply.transcript}}}
        if reply.text is not None:
            sound = {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AAAA"}}
            yield {"serverContent": {"modelTurn": {"parts": [sound]}}}
            yield {"serverContent": {"outputTranscription": {"text": reply.text}}}
        bad = reply.fault == "bad_arguments"
        calls = [
            {
                "id": f"call-{number}",
                "name": call.name,
                "args": arguments_text(call, reply) if bad else call.arguments,
            }
            for number, call in enumerate(reply.calls, 1)
        ]
        if calls:
            yield {"toolCall": {"functionCalls": calls}}
        else:
            yield {"serverContent": {"generationComplete": True}}
            yield {"serverContent": {"turnComplete": True}}
