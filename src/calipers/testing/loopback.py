"""Servers on 127.0.0.1 that play an agent, so that tests of adapters and pipelines need neither a network nor a key.

```python
with HttpAgentServer(Reply(calls=[ToolCall("book", {"to": "LA"})])) as server:
    response = asyncio.run(HttpAgent(server.url).run_text("book LA"))
```

A server runs in a thread of its own, on a port that the system picks, from `with` until the end of the block. What it
answers is a `Reply`, a list of them (one for each request, the last for all further ones), or a function of what it
received. A reply may also go wrong, in one of the ways in which real ones do:

| `fault` | what the server does |
|---|---|
| `silence` | takes the request and never answers |
| `stall` | sends a part of the answer, then nothing more |
| `disconnect` | sends a part of the answer, then hangs up |
| `garbage` | sends something that is not of the protocol: in place of an HTTP answer, or before the messages of a socket |
| `bad_arguments` | answers with calls whose arguments cannot be read |
| `error` | answers with the protocol's error |
| `error_in_stream` | begins to stream an answer, then sends an error in it |
| `hang_up` | hangs up before the first byte of an HTTP answer |
| `close` | answers, and then closes the connection without having said so |

Servers of models stream their answer where they are asked to. A stream that is to `disconnect` ends like a whole one, without
its last event, which is how a proxy cuts it; one that is to be `split` also has Windows line ends, and comments where clients can read them.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias, get_args

import msgspec

from calipers.data.argument_checks import check_choice
from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError
from calipers.models.model_answer import Token, Usage
from calipers.voice.audio import Audio

Fault: TypeAlias = Literal[
    "silence",
    "stall",
    "disconnect",
    "garbage",
    "bad_arguments",
    "error",
    "error_in_stream",
    "hang_up",
    "close",
]
"""How a reply goes wrong."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a server answers to one request."""

    calls: Sequence[ToolCall] = ()
    """The tools that the agent calls."""
    text: str | None = None
    """What it says."""
    transcript: str | None = None
    """What it heard, where the protocol can tell."""
    delay: float = 0.0
    """Seconds before it answers."""
    split: bool = False
    """Send the answer in small pieces."""
    status: int = 200
    """The status of the HTTP answer; from 400 on, a socket is refused with it."""
    fault: Fault | None = None
    """How it goes wrong."""
    raw: Any = None
    """Send this instead: the body of an HTTP answer, or the list of messages of a socket."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers of the HTTP answer; they win."""
    finish: str | None = None
    """How a model's answer ends: one of `calipers.models.Finish`, or the protocol's own word; `None`: by what it holds."""
    refusal: str | None = None
    """What a model says to decline."""
    reasoning: str | None = None
    """What a model thinks before."""
    usage: Usage | Literal["missing", "null"] | None = None
    """The tokens of a model's answer; `None`: a token for each word."""
    logprobs: Sequence[Token] | None = None
    """The tokens of a model's answer with their probabilities."""
    model: str | None = None
    """Which model answers; `None`: the one that was asked."""

    def __post_init__(self) -> None:
        check_choice("fault", self.fault, get_args(Fault), or_none=True)


@dataclass
class Received:
    """One request that a server received."""

    path: str
    """The path of the address, with its query."""
    headers: dict[str, str]
    """By name in lower case."""
    body: bytes = b""
    """The body of an HTTP request."""
    messages: list[Any] = field(default_factory=list)
    """The messages of a socket, JSON decoded."""
    audio: Audio | None = None
    """The sound, where the protocol says what it is."""
    method: str = "POST"
    """The method of an HTTP request."""

    told: dict[str, str] = field(default_factory=dict)
    """Headers of its answer, beside those of the reply."""
    closed: bool = False
    """Whether the connection has ended since."""

    @property
    def json(self) -> Any:
        """The body of an HTTP request, decoded."""
        return msgspec.json.decode(self.body)


Replies: TypeAlias = Reply | Sequence[Reply] | Callable[[Received], Reply]
"""What a server answers: always the same, in turn, or by what it received."""


class LoopbackServer:
    """A server that plays an agent. Its subclasses speak a protocol each."""

    def __init__(self, replies: Replies = Reply()) -> None:
        self.replies = replies
        self.requests: list[Received] = []
        """What was received, in order."""
        self.port = 0
        """The port; 0 until the server has run."""
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._failure: BaseException | None = None

    @property
    def replies(self) -> Replies:
        """What it answers; new ones may be set at any time, and begin with the first."""
        return self._replies

    @replies.setter
    def replies(self, replies: Replies) -> None:
        if isinstance(replies, Sequence) and not replies:
            raise InvalidOptionError("give at least one Reply, got none")
        self._replies, self._taken = replies, 0

    @property
    def url(self) -> str:
        """The address to give to an adapter, as its `url` or `base_url`."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        if self._thread is not None:
            raise InvalidOptionError(f"this {type(self).__name__} is running already")
        started = threading.Event()
        self._failure = None
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        started.wait()
        if self._failure is not None:
            self._thread = None
            raise self._failure
        return self

    def __exit__(self, *_: object) -> None:
        assert self._thread is not None
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._thread = None
        if self._failure is not None:
            raise self._failure

    def _run(self, started: threading.Event) -> None:
        async def main() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            async with self._listening() as self.port:
                started.set()
                await self._stop.wait()
                for _ in range(10):  # a connection that is just being accepted must be there to be closed
                    await asyncio.sleep(0)

        try:
            asyncio.run(main())
        except BaseException as error:
            self._failure = error
        finally:
            started.set()

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[int]:
        """Listen on a port, and give it."""
        raise NotImplementedError
        yield 0

    def _next(self) -> Reply | None:
        """The reply whose turn it is; `None` if it depends on what is received."""
        if isinstance(self.replies, Reply):
            return self.replies
        if callable(self.replies):
            return None
        reply = self.replies[min(self._taken, len(self.replies) - 1)]
        self._taken += 1
        return reply

    def _reply_to(self, received: Received, reply: Reply | None) -> Reply:
        if reply is not None:
            return reply
        assert callable(self.replies)
        return self.replies(received)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Keep an error for the end of the block, where the test sees it."""
        try:
            yield
        except Exception as error:
            self._failure = error


def cut(text: str) -> str:
    """The first half of a text."""
    return text[: len(text) // 2]
