"""A model on loopback with a hard limit of requests and tokens, which changes while it is used, as a program.

Prints its port; when its input ends, it prints what became of each request, and ends. The time begins with the first request. Its
buckets are those of `calipers.testing.RateLimit`. When the last phase is over, all that is asked is answered at once, so that what is measured
can come to its end.
"""

import asyncio
import json
import random
import sys
from time import perf_counter

from loopback_model import BODY, Connection

from calipers.testing import RateLimit

REFUSED = b'{"error":{"message":"too many","type":"requests","param":null,"code":"rate_limit_exceeded"}}'
ANSWER = BODY % b"yes"
BYTES_OF_A_TOKEN = 4
WITHOUT_END = 10_000_000
SECONDS = (0.2, 0.5)
"""An answer takes so long."""


class Limits:
    """What the server takes now."""

    def __init__(self, phases, window, *, tells):
        self.phases = phases
        self.window = window
        self.draw = random.Random(0)
        self.began = None
        self.log = None
        """Of each request, seconds since the first one, whether it was taken, and its tokens; `None` before the last phase is over."""
        self.limit = RateLimit(**self.allowed(phases[0]), tells=tells)

    def allowed(self, phase):
        """A phase as a limit."""
        return {
            "requests": round(phase["requests"] * self.window),
            "tokens": round(phase["tokens"] * self.window),
            "seconds": self.window,
        }

    def begin(self):
        """The first request has come."""
        self.began, loop = perf_counter(), asyncio.get_running_loop()
        after = 0.0
        for phase in self.phases:
            loop.call_later(after, lambda phase=phase: self.limit.change(**self.allowed(phase)))
            after += phase["seconds"]
        loop.call_later(after, self.end)

    def end(self):
        """From now on, take what is asked; the answers say so, too."""
        self.log = [(at - self.began, taken, tokens) for at, taken, tokens in self.limit.log]
        self.limit.change(WITHOUT_END, WITHOUT_END, seconds=1.0)


class Limited(Connection):
    """Takes what is allowed, and refuses the rest."""

    def __init__(self, limits):
        super().__init__(0.0, b"")
        self.limits = limits

    def asked(self, body):
        limits = self.limits
        if limits.began is None:
            limits.begin()
        self.seconds = 0.0
        decision = limits.limit.ask(len(body) // BYTES_OF_A_TOKEN, "openai")
        if decision.taken:
            if limits.log is None:
                self.seconds = limits.draw.uniform(*SECONDS)
            self.say(b"200 OK", ANSWER, **decision.headers)
        else:
            self.say(b"429 Too Many Requests", REFUSED, **decision.headers)


async def main(phases, window, tells):
    limits = Limits(phases, window, tells=tells)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Limited(limits), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    if limits.log is None:  # it was asked no more before that
        limits.end()
    print(json.dumps(limits.log))


if __name__ == "__main__":
    asyncio.run(main(**json.loads(sys.argv[1])))
