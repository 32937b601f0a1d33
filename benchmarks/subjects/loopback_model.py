"""A model on loopback, as a program: takes a chat completion over HTTP, waits, and answers with a verdict.

Prints its port, and ends when its input does. It does as little as possible, since it shares the machine with what is
measured: it looks for the seal that a judge wants back, and for nothing else.
"""

import asyncio
import re
import sys

SEAL = re.compile(rb"`seal` is (\w+)")
LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
BODY = (
    b'{"id":"chatcmpl-1","object":"chat.completion","created":0,"model":"m","choices":[{"index":0,"finish_reason":"stop",'
    b'"message":{"role":"assistant","content":"%b","refusal":null,"tool_calls":null}}],'
    b'"usage":{"prompt_tokens":500,"completion_tokens":20,"total_tokens":520}}'
)
HEAD = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%b\r\n"


class Connection(asyncio.Protocol):
    """Reads requests, one after the other, and answers each when its time has come."""

    def __init__(self, seconds, fields):
        self.seconds = seconds
        self.fields = fields
        self.read = b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.read += data
        head, end, body = self.read.partition(b"\r\n\r\n")
        if not end:
            return
        size = LENGTH.search(head)
        if size is not None and len(body) < int(size[1]):
            return
        self.read = b""
        if head.startswith(b"GET"):  # which models there are
            self.transport.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
        else:
            self.asked(body)

    def asked(self, body):
        """Answer a question."""
        seal = SEAL.search(body)
        content = self.fields % (seal[1] if seal else b"")
        self.say(b"200 OK", BODY % content.replace(b'"', b'\\"'))

    def say(self, status, answer, **headers):
        """Answer with this status, when its time has come."""
        told = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()
        whole = HEAD % (status, len(answer), told) + answer
        asyncio.get_running_loop().call_later(self.seconds, self.transport.write, whole)


async def main(seconds, fields):
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(seconds, fields), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), sys.argv[2].encode()))
