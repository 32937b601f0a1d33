"""Agents behind HTTP, played on loopback: a plain one, OpenAI's chat completions, Gemini's `generateContent`."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any

import msgspec

from calipers.data.trace import ToolCall
from calipers.testing.loopback import LoopbackServer, Received, Reply, cut
from calipers.voice.audio import Audio

_GARBAGE = b"<html>this is not what you asked for"


class _HttpServer(LoopbackServer):
    """Speaks enough of HTTP/1.1 to answer an adapter, and to break off in the middle."""

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[int]:
        serving: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._serve(reader, writer))
            serving[task] = writer
            task.add_done_callback(serving.pop)

        server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=2**26)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            tasks, writers = list(serving), list(serving.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for writer in writers:  # a task that had not begun has closed nothing
                await _close(writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken: list[Received] = []
        try:
            # The client may go away at any moment: that is no news.
            with self._told(), suppress(asyncio.IncompleteReadError, ConnectionError):
                while await self._answer_one(reader, writer, taken):
                    pass
        finally:
            await _close(writer)
            for received in taken:
                received.closed = True

    async def _answer_one(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, taken: list[Received]
    ) -> bool:
        """Answer one request; whether another may follow on the same connection."""
        received = await _read_request(reader)
        self._read_sound(received)
        taken.append(received)
        self.requests.append(received)
        reply = self._reply_to(received, self._next())
        await asyncio.sleep(reply.delay)
        if reply.fault == "silence":
            await reader.read()  # until the client has had enough
            return False
        status, body = self._answer(reply)
        head = f"HTTP/1.1 {status} {_phrase(status)}\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode())
        broken = reply.fault in {"stall", "disconnect"}
        await _write(writer, body[: len(body) // 2] if broken else body, split=reply.split)
        if reply.fault == "stall":
            await reader.read()
        return not broken

    def _answer(self, reply: Reply) -> tuple[int, bytes]:
        """Status and body."""
        if reply.fault == "garbage":
            return reply.status, _GARBAGE
        if reply.fault == "error" or reply.status >= HTTPStatus.BAD_REQUEST:
            status = max(reply.status, HTTPStatus.INTERNAL_SERVER_ERROR) if reply.fault else reply.status
            body = self._error(status) if reply.raw is None else reply.raw
        else:
            status = reply.status
            body = self._body(reply) if reply.raw is None else reply.raw
        if isinstance(body, bytes):
            return status, body
        return status, body.encode() if isinstance(body, str) else msgspec.json.encode(body)

    def _read_sound(self, received: Received) -> None:
        """Note the sound of a request, if it has any."""

    def _body(self, reply: Reply) -> Any:
        """An answer in the words of the protocol."""
        raise NotImplementedError

    def _error(self, status: int) -> Any:
        """An error in the words of the protocol."""
        return {"error": {"code": status, "message": _phrase(status), "status": _phrase(status).upper()}}


class HttpAgentServer(_HttpServer):
    """Plays an agent that `HttpAgent` asks: `{"tool_calls": [{"name", "arguments"}], "text": …}`."""

    @property
    def url(self) -> str:
        """The address to give to an `HttpAgent`."""
        return f"http://127.0.0.1:{self.port}/agent"

    def _body(self, reply: Reply) -> Any:
        return plain_answer(reply)

    def _read_sound(self, received: Received) -> None:
        data = _at(received, "audio")
        if isinstance(data, str):
            received.audio = Audio(base64.b64decode(data), _at(received, "format") or "wav")


class OpenAIServer(_HttpServer):
    """Plays OpenAI's chat completions."""

    @property
    def url(self) -> str:
        """The address to give to an `OpenAIAgent` as `base_url`."""
        return f"http://127.0.0.1:{self.port}/v1"

    def _body(self, reply: Reply) -> Any:
        calls = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": call.name, "arguments": arguments_text(call, reply)},
            }
            for number, call in enumerate(reply.calls, 1)
        ]
        message = {"role": "assistant", "content": reply.text, "refusal": None, "tool_calls": calls or None}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        return {"id": "chatcmpl-1", "object": "chat.completion", "model": "loopback", "choices": [choice]}

    def _read_sound(self, received: Received) -> None:
        content = _at(received, "messages", -1, "content", 0, "input_audio")
        if isinstance(content, dict):
            received.audio = Audio(base64.b64decode(content["data"]), content["format"])


class GeminiServer(_HttpServer):
    """Plays Gemini's `generateContent`."""

    @property
    def url(self) -> str:
        """The address to give to a `GeminiAgent` as `base_url`."""
        return f"http://127.0.0.1:{self.port}"

    def _body(self, reply: Reply) -> Any:
        if reply.fault == "bad_arguments":
            said = f"Malformed function call: {', '.join(call.name for call in reply.calls)}("
            return {
                "candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": said, "index": 0}]
            }
        parts: list[Any] = [] if reply.text is None else [{"text": reply.text}]
        parts += [{"functionCall": {"name": call.name, "args": call.arguments}} for call in reply.calls]
        content = {"role": "model", "parts": parts}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        return {"candidates": [candidate], "modelVersion": "loopback"}

    def _read_sound(self, received: Received) -> None:
        part = _at(received, "contents", -1, "parts", 0, "inlineData")
        if isinstance(part, dict):
            form = part["mimeType"].removeprefix("audio/")
            received.audio = Audio(base64.b64decode(part["data"]), form)


def plain_answer(reply: Reply) -> dict[str, Any]:
    """What an agent of no provider answers."""
    bad = reply.fault == "bad_arguments"
    calls = [
        {"name": call.name, "arguments": arguments_text(call, reply) if bad else call.arguments}
        for call in reply.calls
    ]
    answer: dict[str, Any] = {"tool_calls": calls}
    if reply.text is not None:
        answer["text"] = reply.text
    if reply.transcript is not None:
        answer["transcript"] = reply.transcript
    return answer


def arguments_text(call: ToolCall, reply: Reply) -> str:
    """The arguments of a call as JSON text, cut off if they are to be bad."""
    text = msgspec.json.encode(call.arguments).decode()
    return cut(text) if reply.fault == "bad_arguments" else text


def _at(received: Received, *path: str | int) -> Any:
    """What is in the JSON of a request; nothing if there is none."""
    try:
        value = received.json
        for step in path:
            value = value[step]
    except (LookupError, TypeError, ValueError):
        return None
    return value


async def _read_request(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip().split("\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(first.split(" ")[1], headers, body)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def _write(writer: asyncio.StreamWriter, body: bytes, *, split: bool) -> None:
    size = max(1, len(body) // 10) if split else max(1, len(body))
    for start in range(0, len(body), size):
        writer.write(body[start : start + size])
        await writer.drain()
        await asyncio.sleep(0)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
