"""Agents behind HTTP, played on loopback: what all of them share, and a plain one."""

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any

import msgspec

from calipers.data.trace import ToolCall
from calipers.testing.loopback import LoopbackServer, Received, Reply, cut
from calipers.voice.audio import Audio

_GARBAGE = b"<html>this is not what you asked for"


class HttpServer(LoopbackServer):
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
        answer = self._before(received)
        if answer is None:
            self._read_sound(received)
            taken.append(received)
            self.requests.append(received)
            reply = self._reply_to(received, self._next())
            await asyncio.sleep(reply.delay)
            if reply.fault == "silence":
                await reader.read()  # until the client has had enough
                return False
            if reply.fault == "hang_up":
                return False
            if (events := self._stream(reply, received)) is not None:
                await _write_stream(writer, events, reply, received.told)
                return False
            answer = self._answer(reply, received)
        else:
            reply = Reply()
        status, body = answer
        length = {"content-length": str(len(body))}
        writer.write(_head(status, {**length, **received.told, **reply.headers}))
        broken = reply.fault in {"stall", "disconnect"}
        await _write(writer, body[: len(body) // 2] if broken else body, split=reply.split)
        if reply.fault == "stall":
            await reader.read()
        return not broken and reply.fault != "close"

    def _before(self, received: Received) -> tuple[int, bytes] | None:  # noqa: ARG002 - a subclass asks it
        """Status and body of what is answered without a reply; `None`: nothing is."""
        return None

    def _stream(self, reply: Reply, received: Received) -> list[bytes] | None:  # noqa: ARG002 - a subclass asks it
        """The events of an answer that is to be streamed; `None` if it is not."""
        return None

    def _answer(self, reply: Reply, received: Received) -> tuple[int, bytes]:
        """Status and body."""
        if reply.fault == "garbage":
            return reply.status, _GARBAGE
        if reply.fault == "error" or reply.status >= HTTPStatus.BAD_REQUEST:
            status = max(reply.status, HTTPStatus.INTERNAL_SERVER_ERROR) if reply.fault else reply.status
            return status, encoded(self._error(status) if reply.raw is None else reply.raw)
        return reply.status, encoded(self._body(reply, received) if reply.raw is None else reply.raw)

    def _read_sound(self, received: Received) -> None:
        """Note the sound of a request, if it has any."""

    def _body(self, reply: Reply, received: Received) -> Any:
        """An answer in the words of the protocol."""
        raise NotImplementedError

    def _error(self, status: int) -> Any:
        """An error in the words of the protocol."""
        return {"error": {"code": status, "message": phrase(status), "status": phrase(status).upper()}}


class HttpAgentServer(HttpServer):
    """Plays an agent that `HttpAgent` asks: `{"tool_calls": [{"name", "arguments"}], "text": …}`."""

    @property
    def url(self) -> str:
        """The address to give to an `HttpAgent`."""
        return f"http://127.0.0.1:{self.port}/agent"

    def _body(self, reply: Reply, received: Received) -> Any:  # noqa: ARG002 - others look at it
        return plain_answer(reply)

    def _read_sound(self, received: Received) -> None:
        data = at(received, "audio")
        if isinstance(data, str):
            received.audio = Audio(base64.b64decode(data), at(received, "format") or "wav")


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


def at(received: Received, *path: str | int) -> Any:
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
    method, path, *_ = first.split(" ")
    return Received(path, headers, body, method=method)


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    told = {"content-type": "application/json", **{name.lower(): text for name, text in headers.items()}}
    lines = [f"HTTP/1.1 {status} {phrase(status)}", *(f"{name}: {text}" for name, text in told.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _write_stream(
    writer: asyncio.StreamWriter, events: list[bytes], reply: Reply, told: Mapping[str, str]
) -> None:
    """Send events; the end of the connection is the end of the stream, so that one that is cut looks whole."""
    headers = {"content-type": "text/event-stream", "connection": "close", **told, **reply.headers}
    writer.write(_head(reply.status, headers))
    if reply.split:
        events = [event.replace(b"\n", b"\r\n") for event in events]
    await _write(writer, b"".join(events), split=reply.split)


def encoded(body: Any) -> bytes:
    """A body: bytes and texts as they are, anything else as JSON."""
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else msgspec.json.encode(body)


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


def phrase(status: int) -> str:
    """A status in words."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
