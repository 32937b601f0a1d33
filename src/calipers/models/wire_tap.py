"""Requests to language models on their way out of this process, and taps that see or answer them there.

`tapping` sets the taps of a block. A tap is asked before a request is sent: it lets it go on, changed or not, or answers in
the model's place; and it hears what came back. The hooks of `wire_hooks.py` send requests this way.

- Only requests to models pass: a POST to an address that ends as those of the known providers do. Other requests go on unseen.
- Taps stand one inside the other, the first one outermost: it is asked first, and hears of the outcome last.
- A `TapeError` of a tap becomes an answer with the status 400, which no SDK asks for again.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from calipers.data.attempt import counts_here
from calipers.errors import TapeError

_MODEL_PATH = re.compile(
    r"(?:/(?:chat/completions|completions|embeddings|responses|moderations|v1/messages(?:/count_tokens)?)"
    r"|/(?:images/(?:generations|edits|variations)|audio/(?:speech|transcriptions|translations)|v\d/(?:chat|rerank))"
    r"|:(?:generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents|predict|rawPredict|streamRawPredict)"
    r"|/model/[^/]+/(?:converse|invoke)(?:-stream|-with-response-stream)?"
    r"|/api/(?:chat|generate|embed))/?$"
)
"""How the path of an address ends where a model is asked: OpenAI's and its kin, Anthropic's, Cohere's, Gemini's, Bedrock's, Ollama's."""


@dataclass(frozen=True, eq=False)
class WireRequest:
    """A request to a model."""

    method: str
    url: str
    body: bytes
    secrets: tuple[str, ...] = ()
    """What is known to be secret in it: keys in its headers and its address."""


@dataclass(frozen=True, eq=False)
class WireAnswer:
    """What came back for a request, whatever its status."""

    status: int
    content_type: str
    """As the header says; empty if it does not."""
    body: bytes
    """Without compression. Of a stream, all of it that was read."""
    delay: float = 0.0
    """Seconds to wait before it is given."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Those of its headers that say whether and when to ask again."""
    is_whole: bool = True
    """Whether all of it was read."""
    beyond: Callable[[], TapeError] | None = None
    """Of an answer that is not whole, what is raised where more of it is read than there is."""

    @property
    def sent_headers(self) -> dict[str, str]:
        """The headers of a response that gives it."""
        typed = {"content-type": self.content_type} if self.content_type else {}
        return {**typed, **self.headers}


class WireTap(Protocol):
    """Sees requests to models, and may answer them."""

    def ask(self, request: WireRequest, /) -> WireRequest | WireAnswer:
        """What to do with a request: send it (it or another one), or answer it. What it raises reaches the caller."""
        ...

    def coming(self, request: WireRequest, so_far: Callable[[], WireAnswer | None], /) -> None:
        """An answer has begun to come. `so_far` tells what was read of it; `None`: the reader was stopped."""
        ...

    def told(self, request: WireRequest, outcome: WireAnswer | Exception, /) -> None:
        """What came of a request that went on; `request` is the one that `ask` was given."""
        ...


def retry_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an answer that say whether and when to ask again."""
    return {
        name: headers[name] for name in ("x-should-retry", "retry-after-ms", "retry-after") if name in headers
    }


_TAPS: ContextVar[tuple[WireTap, ...]] = ContextVar("calipers_wire_taps", default=())


@contextmanager
def tapping(tap: WireTap) -> Iterator[None]:
    """A block in which requests to models pass a tap, inside of those that are set already."""
    token = _TAPS.set((*_TAPS.get(), tap))
    try:
        yield
    finally:
        _TAPS.reset(token)


@contextmanager
def past_taps() -> Iterator[None]:
    """A block in which a request is sent that has passed the taps."""
    token = _IS_PAST.set(True)
    try:
        yield
    finally:
        _IS_PAST.reset(token)


_IS_PAST: ContextVar[bool] = ContextVar("calipers_past_wire_taps", default=False)


@contextmanager
def sealing() -> Iterator[None]:
    """A block during which no code outside of all attempts may ask models or call marked tools, in the whole process.

    That is what code of an attempt looks like in a thread that has not got the attempt's context.
    """
    global _seals  # noqa: PLW0603 - it is a fact about the process
    with _COUNTING:
        _seals += 1
    try:
        yield
    finally:
        with _COUNTING:
            _seals -= 1


_COUNTING = threading.Lock()
_seals = 0
"""How many such blocks there are now."""


def check_seal(what: str) -> None:
    """Refuse what code outside of all attempts does while a block is sealed.

    Raises:
        TapeError: it is, so it is not known which attempt does it.
    """
    if _seals and not _TAPS.get() and not counts_here():
        raise TapeError(
            f"{what} outside of any attempt while a tape is replayed, so it is not known which one does that: "
            "start the thread with calipers.agents.carry, or in a copy of the context"
        )


def is_tapped(method: str, url: str) -> bool:
    """Whether a request passes taps: there are some, or there should be, and it goes to a model."""
    if not (_TAPS.get() or (_seals and not counts_here())) or _IS_PAST.get():
        return False
    return is_to_model(method, url)


def is_to_model(method: str, url: str) -> bool:
    """Whether a request asks a model."""
    return method.upper() == "POST" and _MODEL_PATH.search(urlsplit(url).path) is not None


class Passage:
    """One request on its way through the taps. It decides, and the code around it sends and waits."""

    def __init__(self, request: WireRequest) -> None:
        self._passed: list[tuple[WireTap, WireRequest]] = []
        self.request = request
        """What is to be sent."""
        self.is_changed = False
        self.answer: WireAnswer | None = None
        """What was given in the model's place; `None`: the request is to be sent."""
        try:
            check_seal("a model was asked")
        except TapeError as error:
            self.answer = _refusal(error)
        for tap in _TAPS.get():
            try:
                decision = tap.ask(self.request)
            except TapeError as error:
                decision = _refusal(error)
            except Exception as error:
                self.end(error)
                raise
            if isinstance(decision, WireAnswer):
                self.answer = decision
                self.end(decision)
                return
            self._passed.append((tap, self.request))
            self.is_changed = self.is_changed or decision is not self.request
            self.request = decision

    def begin(self, so_far: Callable[[], WireAnswer | None]) -> None:
        """Tell the taps that an answer has begun to come."""
        for tap, asked in reversed(self._passed):
            tap.coming(asked, so_far)

    def end(self, outcome: WireAnswer | Exception) -> None:
        """Tell the taps what came of it, once."""
        passed, self._passed = self._passed, []
        for tap, asked in reversed(passed):
            tap.told(asked, outcome)


def _refusal(error: TapeError) -> WireAnswer:
    body = {
        "type": "error",
        "error": {"type": "invalid_request_error", "code": "tape", "message": str(error)},
    }
    # The SDKs of OpenAI and Anthropic ask again after some others of 400 to 499, too.
    return WireAnswer(400, "application/json", msgspec.json.encode(body), headers={"x-should-retry": "false"})
