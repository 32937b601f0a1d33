"""`ChatTarget`: any server that speaks OpenAI's chat completions, as a target or as the model behind a tester.

The key and other secrets are in no message and no `repr`. A server that is busy or broken (status 429 or 5xx, or no
connection) is asked again, by default twice; any other refusal is an error at once.

A model that declines is no error: where the answer says so in a field of its own (`refusal`, or the end
`content_filter`), what it says there is the reply, empty if it says nothing, with `metadata["refused"]`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import msgspec

from calipers.data.argument_checks import check_seconds
from calipers.data.redaction import without
from calipers.data.retry import Retry
from calipers.data.trace import LLMCall, Trace
from calipers.errors import AgentConnectionError, AgentReplyError, InvalidOptionError
from calipers.models import openai
from calipers.models.http_request import Request, as_json, is_address, is_passing_trouble
from calipers.models.model_answer import Completion, Usage, excerpt
from calipers.models.request_redaction import shown_address

from .players import Message, Reply, turn_seed
from .targets import as_dicts, check_cost

_UNUSABLE = frozenset(
    {"no_answer", "error", "malformed_message", "malformed_call", "missing_name", "malformed_usage"}
)
"""Problems of an answer that is not a reply. One that was cut off is a reply, and so is a call with odd arguments."""


@dataclass(repr=False, eq=False)
class ChatTarget:
    """A chat model behind an address: `POST …/chat/completions`.

    ```python
    target = ChatTarget("http://localhost:8080/v1", "my-model", options={"temperature": 0})
    ```
    """

    url: str
    """Where the server is, up to `/v1`; or the whole address, ending in `/chat/completions`."""
    model: str | None = None
    """Which model; `None` leaves it to the server."""
    _: KW_ONLY
    api_key: str | None = None
    """Sent as a bearer token; `None` sends none."""
    headers: Mapping[str, str] | None = None
    """Further headers."""
    options: Mapping[str, Any] | None = None
    """Further fields of each request, such as `temperature` and `max_tokens`."""
    send_seed: bool = False
    """Send the seed of the turn as `seed`, to servers that draw by it."""
    input_price: float | None = None
    """What a million tokens of the conversation cost. With both prices, each reply has its cost."""
    output_price: float | None = None
    """What a million tokens of the reply cost."""
    timeout: float | None = 60.0
    """Seconds for one exchange; `None` for no limit."""
    retry: Retry | None = field(default_factory=lambda: Retry(on=is_passing_trouble))
    """When to ask again; `None`: never."""
    client: Any = None
    """Your own `httpx.AsyncClient` or `aiohttp.ClientSession`."""

    def __post_init__(self) -> None:
        _check_url(self.url)
        _check_options(self.options)
        check_seconds("timeout", self.timeout)
        check_cost(self.input_price, "a million tokens")
        check_cost(self.output_price, "a million tokens")
        if (self.input_price is None) is not (self.output_price is None):
            raise InvalidOptionError(
                f"a cost needs both prices, got input_price={self.input_price!r} and output_price={self.output_price!r}"
            )

    @property
    def name(self) -> str:
        """What to call it in reports."""
        return self.model or urlsplit(shown_address(self.url)).netloc

    @property
    def priced(self) -> bool:
        """Whether its replies have a cost."""
        return self.input_price is not None

    async def reply(self, messages: Sequence[Message]) -> Reply:
        """The model's answer.

        Raises:
            AgentError: it gave none.
        """
        request, tries, began = self._request(messages), 0, perf_counter()
        while True:
            tries += 1
            try:
                return await self._ask(request)
            except (AgentReplyError, AgentConnectionError) as error:
                spent = perf_counter() - began
                if self.retry is None or not self.retry.again(error, tries, spent):
                    error.args = (without(str(error), request.secrets),)
                    raise
                await asyncio.sleep(self.retry.pause(tries, turn_seed() or 0, error, spent))

    def _request(self, messages: Sequence[Message]) -> Request:
        seed = turn_seed() if self.send_seed else None
        options = {**({} if seed is None else {"seed": seed % 2**31}), **(self.options or {})}
        content = as_json(
            openai.body(as_dicts(messages), model=self.model, options=options),
            what=f"the request to {self.name}",
        )
        headers = openai.OPENAI.headers(self.api_key, self.headers)
        url = openai.chat_address(self.url)
        return Request(url, "POST", headers, content, timeout=self.timeout, api_key=self.api_key)

    async def _ask(self, request: Request) -> Reply:
        start = perf_counter()
        answer = await request.send(self.client)
        latency = (perf_counter() - start) * 1000
        if (refusal := request.refusal(answer)) is not None:
            raise refusal
        try:
            said = msgspec.json.decode(answer.body)
        except (msgspec.DecodeError, RecursionError):
            raise AgentReplyError(
                f"the answer of {request.address} is not JSON: {answer.text:.200}"
            ) from None
        found = openai.read_answer(said)
        check_answer(found, of=request.address)
        refused = found.refusal is not None or found.finish == "filtered"
        if found.text is None and not found.tool_calls and not refused:
            raise AgentReplyError(f"the answer of {request.address} has no text: {excerpt(said)}")
        trace = answer_trace(found, self.name, latency_ms=latency)
        metadata = {"refused": True} if refused else {}
        return Reply(trace.output_text, cost=self._cost(found.usage), trace=trace, metadata=metadata)

    def _cost(self, used: Usage | None) -> float | None:
        if used is None or used.input is None or used.output is None:
            return None
        if self.input_price is None or self.output_price is None:
            return None
        return (used.input * self.input_price + used.output * self.output_price) / 1e6

    def __repr__(self) -> str:
        return f"ChatTarget({shown_address(self.url)!r}, {self.model!r})"


def check_answer(found: Completion, *, of: str) -> None:
    """Check that an answer can be read."""
    if wrong := [problem.message for problem in found.problems if problem.kind in _UNUSABLE]:
        raise AgentReplyError(f"{of}: {'; '.join(wrong)}")


def answer_trace(found: Completion, name: str, *, latency_ms: float = 0.0) -> Trace:
    """The answer of a model of this name as a trace, what it said to decline included."""
    used = found.usage or Usage()
    call = LLMCall(
        model=name, input_tokens=used.input or 0, output_tokens=used.output or 0, latency_ms=latency_ms
    )
    return Trace(
        agent_name=name,
        output_text=found.text or found.refusal or "",
        llm_calls=[call],
        tool_calls=found.tool_calls,
        records_calls=True if found.reports_calls else None,
    )


def _check_url(url: Any) -> None:
    if isinstance(url, str) and is_address(url, ("http", "https")):
        return
    told, hint = url, ""
    if isinstance(url, str):
        # Without "://" the parts of an address cannot be known, and one of them may be a password.
        told = shown_address(url) if "://" in url else url.rpartition("@")[2].partition("?")[0]
        hint = (
            f": did you mean {f'http://{told}'!r}?"
            if told and is_address(f"http://{told}", ("http",))
            else ""
        )
    raise InvalidOptionError(
        f"the url must be the address of a chat server, such as 'http://localhost:8080/v1', got {told!r}{hint}"
    )


def _check_options(options: Any) -> None:
    if options is None:
        return
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise InvalidOptionError(
            f"options are further fields of a request, such as {{'temperature': 0}}, got {options!r:.200}"
        )
    if "messages" in options:
        raise InvalidOptionError("options must leave `messages` alone: they are the conversation")
