"""An agent on loopback, as a program: takes a request over HTTP, waits, and answers with one tool call.

Prints its port, and ends when its input does. It does as little as possible, since it shares the machine with what is
measured.
"""

import asyncio
import sys

BODY = b'{"tool_calls": [{"name": "switch", "arguments": {"thing": "lights", "to": "on"}}], "text": "Done."}'
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
    len(BODY),
    BODY,
)
LENGTH = b"content-length:"
LONGEST_HEAD = 8192


ROOM = bytearray(2**20)
"""Where bytes are received: one place for all connections, since nothing is kept but the head of a request."""


class Connection(asyncio.BufferedProtocol):
    """Reads requests, one after the other, and answers each when its time has come."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.head = b""
        self.missing = None
        """Bytes of the body that have not come yet; `None` while the head is read."""

    def connection_made(self, transport):
        self.transport = transport

    def get_buffer(self, sizehint):
        return ROOM

    def buffer_updated(self, count):
        if self.missing is None:
            before = len(self.head)
            self.head += ROOM[: min(count, LONGEST_HEAD)]
            head, end, _ = self.head.partition(b"\r\n\r\n")
            if not end:
                return
            size = head[head.lower().index(LENGTH) + len(LENGTH) :].partition(b"\r\n")[0]
            count -= len(head) + len(end) - before
            self.head, self.missing = b"", int(size)
        self.missing -= count
        if not self.missing:
            self.missing = None
            asyncio.get_running_loop().call_later(self.seconds, self.transport.write, ANSWER)


async def main(seconds):
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(seconds), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
