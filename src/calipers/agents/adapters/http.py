"""`HttpAdapter`: an agent behind an HTTP address, one request and one answer each time.

An agent that cannot be reached, answers late, with an error or with what is no answer raises an `AgentError`, never an
empty trace. Nothing is tried again here: a run has `retry=` for that.

Requests of one event loop share a client and its connections. It is closed with the loop, by `asyncio.run`,
`Dataset.evaluate_sync` and the like, or earlier by `async with adapter:`.
"""

import asyncio
import json
import math
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl, urlsplit

from calipers.agents.event_log import Event, turn_of
from calipers.agents.recorder import TraceRecorder
from calipers.agents.recording import Recording
from calipers.errors import (
    AgentConnectionError,
    AgentError,
    AgentReplyError,
    AgentTimeoutError,
    InvalidOptionError,
)
from calipers.trace import Trace

from .http_clients import HttpClients, load_httpx
from .json_reply import Path, read_count, read_text, read_tool_calls, shown

if TYPE_CHECKING:
    import httpx

INPUT = "{input_text}"
"""Stands for what the agent is asked."""
DEFAULT_BODY: Mapping[str, Any] = {"text": INPUT}

_EXCERPT = 500
"""How much of an answer an error shows."""
_SECRET = 8
"""Values of headers and of the query from this length on are not repeated in errors."""
_ORDINARY = {
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "user-agent",
}
"""Headers that hold no secrets."""


class HttpAdapter:
    """An agent behind an HTTP address.

    By default the body of a request is `{"text": …}`, and the answer `{"text": …, "tool_calls": [{"name": …,
    "arguments": {…}}]}`. For others, say where things are:

    ```python
    adapter = HttpAdapter(
        "http://localhost:8000/chat",
        body={"messages": [{"role": "user", "content": "{input_text}"}]},
        output="choices.0.message.content",
        tool_calls="choices.0.message.tool_calls",
        input_tokens="usage.prompt_tokens",
        output_tokens="usage.completion_tokens",
    )
    report = dataset.evaluate_sync(adapter)
    ```

    Args:
        url: where to send requests.
        name: the agent's name in traces and reports; default: the host.
        method: the HTTP method.
        headers: sent with each request; never shown.
        body: what to send as JSON, with `"{input_text}"` for what the agent is asked, alone or inside a text. Or a
            function that makes it.
        output: where the words of the answer are: a path such as `"choices.0.message.content"`, or a function of the
            answer. `None`: the whole answer is text, and nothing else is read from it.
        tool_calls: where the tool calls are. An agent that does not tell leaves a trace without any.
        input_tokens: where the number of tokens is; `None`: not measured.
        output_tokens: where the number of tokens is; `None`: not measured.
        timeout: seconds for the whole exchange; `None` waits for ever.
        model: the model the agent asks.
        tags: of each trace.
        client: your own client, such as one with a proxy; you close it.

    Raises:
        InvalidOptionError: the address is none, the body has no place for the request, or the time is not above 0.
        MissingExtraError: httpx is not installed.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str | None = None,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        body: Any | Callable[[Any], Any] = DEFAULT_BODY,
        output: Path | None = "text",
        tool_calls: Path | None = "tool_calls",
        input_tokens: Path | None = None,
        output_tokens: Path | None = None,
        timeout: float | None = 60.0,
        model: str | None = None,
        tags: Sequence[str] = (),
        client: "httpx.AsyncClient | None" = None,
    ) -> None:
        load_httpx()  # here, rather than in the first of many requests
        self.address = _address(url)
        """The URL as it is shown: without user, password and query."""
        if timeout is not None and (
            isinstance(timeout, bool)
            or not isinstance(timeout, int | float)
            or not math.isfinite(timeout)
            or timeout <= 0
        ):
            raise InvalidOptionError(f"timeout must be a number of seconds above 0, got {timeout!r}")
        if not callable(body) and not _has_input(body):
            raise InvalidOptionError(
                f"the body must have {INPUT!r} where the request belongs, or be a function: as it is, "
                "the agent would not hear what it is asked"
            )
        self.url = url
        self.name = name or urlsplit(self.address).netloc
        self.method = method
        self.headers = headers
        self.body = body
        self.output = output
        self.tool_calls = tool_calls
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.timeout = timeout
        self.model = model
        self.tags = tags
        self.client = client
        TraceRecorder(self.name, model, tags)  # refuses what no trace could hold
        self._clients = HttpClients()

    async def invoke(self, input_text: Any, /) -> Trace:
        """Put a request to the agent.

        Raises:
            AgentError: it gave no answer, by whichever of its kinds says why.
        """
        asked = input_text if isinstance(input_text, str) else str(input_text)
        with Recording(self.name, model=self.model, tags=self.tags, input_text=asked) as recording:
            reply = await self._send(self._content(input_text))
            try:
                totals = self._read(reply, recording)
            except AgentError as error:
                why = self._concealed(str(error), reply.request.headers)
                raise AgentReplyError(f"{self.name}: {why}", status=reply.status_code) from error.__cause__
        trace = recording.trace
        return trace.replace(**totals, trace_id=trace.trace_id, created_at=trace.created_at)

    async def __call__(self, input_text: Any, /) -> Any:
        """Put a request to the agent, as a task of a run."""
        return await self.invoke(input_text)

    async def aclose(self) -> None:
        """Close the connections of this event loop. A further request opens them again."""
        await self._clients.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"HttpAdapter({self.address!r}, name={self.name!r})"

    def _content(self, asked: Any) -> bytes:
        made = self.body(asked) if callable(self.body) else _filled(self.body, asked)
        try:
            return json.dumps(made, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidOptionError(
                f"{self.name}: the request cannot be sent as JSON ({error}): {shown(made)}"
            ) from None

    def _read(self, reply: "httpx.Response", recording: Recording) -> dict[str, int]:
        """Put the answer into the recording; the totals it tells come back."""
        if self.output is None:
            recording.output_text = reply.text
            return {}
        answer = _json(reply)
        calls = [] if self.tool_calls is None else read_tool_calls(answer, self.tool_calls)
        for call in calls:
            recording.log.add(Event(turn_of(call)))
        recording.output_text = read_text(answer, self.output, may_be_null=bool(calls))
        paths = {"total_input_tokens": self.input_tokens, "total_output_tokens": self.output_tokens}
        counts = {name: read_count(answer, path) for name, path in paths.items() if path is not None}
        return {name: count for name, count in counts.items() if count is not None}

    async def _send(self, content: bytes) -> "httpx.Response":
        httpx = load_httpx()
        client = await self._clients.get() if self.client is None else self.client
        headers = {"content-type": "application/json"}
        headers |= {name.lower(): value for name, value in (self.headers or {}).items()}
        where = f"{self.name}: {self.method} {self.address}"
        try:
            async with asyncio.timeout(self.timeout):
                reply = await client.request(self.method, self.url, content=content, headers=headers)
        except (TimeoutError, httpx.TimeoutException) as error:
            waited = "in time" if self.timeout is None else f"within {self.timeout:g} s"
            raise AgentTimeoutError(f"{where} gave no answer {waited}") from error
        except httpx.ConnectError as error:
            why = self._concealed(str(error), self.headers)
            raise AgentConnectionError(f"{where} cannot connect ({why}): is the agent running?") from error
        except httpx.RequestError as error:
            why = self._concealed(str(error) or type(error).__name__, self.headers)
            raise AgentConnectionError(f"{where} was cut short: {why}") from error
        if not reply.is_success:
            status = f"{reply.status_code} {reply.reason_phrase}".strip()
            said = self._concealed(reply.text, reply.request.headers) or "(nothing more)"
            raise AgentReplyError(f"{where} answered {status}: {said}", status=reply.status_code)
        return reply

    def _concealed(self, text: str, headers: Mapping[str, str] | None) -> str:
        """The beginning of a text, without the values of headers and of the address that may be secrets."""
        own = {name: value for name, value in (headers or {}).items() if name.lower() not in _ORDINARY}
        values = [*own.values(), *(value for _, value in parse_qsl(urlsplit(self.url).query))]
        for value in values:
            for secret in (value, value.rpartition(" ")[2]):  # "Bearer …" and what follows it
                if len(secret) >= _SECRET:
                    text = text.replace(secret, "***")
        return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"


def _address(url: Any) -> str:
    """A URL without user, password, query and fragment, which is where secrets are.

    Raises:
        InvalidOptionError: it is none.
    """
    try:
        parts = urlsplit(url if isinstance(url, str) and url.isprintable() else "")
        host, port = parts.hostname, "" if parts.port is None else f":{parts.port}"
        if host and parts.scheme in {"http", "https"}:
            return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path}"
    except ValueError:  # such as a port of letters
        pass
    told = url.partition("?")[0].rpartition("@")[2] if isinstance(url, str) else url
    raise InvalidOptionError(
        f"url must be the address of an agent, such as 'http://localhost:8000/chat', got {told!r}"
    )


def _has_input(template: Any) -> bool:
    if isinstance(template, str):
        return INPUT in template
    values = template.values() if isinstance(template, Mapping) else template
    return isinstance(template, Mapping | list | tuple) and any(_has_input(value) for value in values)


def _filled(template: Any, asked: Any) -> Any:
    """The template with the request in its place. Alone in a text, it stands as it is, be it text or not."""
    if isinstance(template, str):
        return asked if template == INPUT else template.replace(INPUT, str(asked))
    if isinstance(template, Mapping):
        return {name: _filled(value, asked) for name, value in template.items()}
    return [_filled(value, asked) for value in template] if isinstance(template, list | tuple) else template


def _json(reply: "httpx.Response") -> Any:
    try:
        return json.loads(reply.content)
    except (ValueError, RecursionError):
        raise AgentReplyError(f"the answer is no JSON: {shown(reply.text)}") from None
