"""`HttpAdapter`: an agent behind an HTTP address, one request and one answer each time.

An agent that cannot be reached, answers late, with an error or with something unreadable raises an `AgentError`; there is
never an empty trace. Nothing is retried here: a run has `retry=` for that.

Paths say what to read of an answer: keys and positions between dots, such as `"choices.0.message.content"`, or a function
of the whole answer. A path must lead somewhere, except that the last step of a path to tool calls or tokens may be
missing or null: many services leave out what is empty. The error about a wrong step shows what is there instead.

All adapters share the connections of their event loop: see `calipers.models.http_sessions`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlsplit

from calipers.agents.event_log import Event, turn_of
from calipers.agents.recording import Recording, TraceRecorder
from calipers.agents.tool_interception import refuse_interceptors
from calipers.data.argument_checks import check_seconds, is_whole_number
from calipers.data.redaction import without
from calipers.data.result import describe_error
from calipers.data.trace import ToolCall, Trace
from calipers.errors import AgentError, AgentReplyError, InvalidOptionError, InvalidTraceError
from calipers.models.http_request import Reply, Request, check_address
from calipers.models.http_sessions import load_aiohttp
from calipers.models.model_answer import excerpt, read_arguments, unreadable_call
from calipers.models.request_redaction import shown_address

if TYPE_CHECKING:
    import aiohttp
    import httpx

Path: TypeAlias = str | Callable[[Any], Any]
"""Where something is in an answer: keys and positions between dots, or a function of the answer."""

INPUT = "{input_text}"
"""Stands for what the agent is asked."""
DEFAULT_BODY: Mapping[str, Any] = {"text": INPUT}


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
        output: where the text of the answer is: a path such as `"choices.0.message.content"`, or a function of the
            answer. `None`: the whole answer is text, and nothing else is read from it.
        tool_calls: where the tool calls are. An answer without that field does not report its calls, unless
            `records_calls` says that it would.
        input_tokens: where the number of tokens is; `None`: not measured.
        output_tokens: where the number of tokens is; `None`: not measured.
        timeout: seconds for the whole exchange; `None` waits for ever.
        model: the model the agent asks.
        tags: of each trace.
        client: your own client, such as one with certificates of its own; you close it.
        keep_secrets: record what looks like a secret as it is, rather than as `[redacted]`.
        records_calls: whether an answer without the field of tool calls means that none was made; default: it does not.

    Raises:
        InvalidOptionError: the address is invalid, the body has no place for the request, or the time is not above 0.
        MissingExtraError: aiohttp is not installed, and no client is given.
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
        client: "httpx.AsyncClient | aiohttp.ClientSession | None" = None,
        keep_secrets: bool = False,
        records_calls: bool | None = None,
    ) -> None:
        if client is None:
            load_aiohttp()  # here, rather than in the first of many requests
        check_address(url)
        check_seconds("timeout", timeout)
        self.address = shown_address(url)
        """The URL as it is shown: without user, password and query."""
        if not callable(body) and not _has_input(body):
            raise InvalidOptionError(
                f"the body must have {INPUT!r} where the request belongs, or be a function: otherwise "
                "the agent does not receive it"
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
        self.keep_secrets = keep_secrets
        self.records_calls = records_calls
        TraceRecorder(self.name, model, tags)  # refuses what a trace would refuse

    async def invoke(self, input_text: Any, /) -> Trace:
        """Ask the agent.

        Raises:
            AgentError: it gave no answer; the class says why.
        """
        refuse_interceptors("an agent behind an HTTP address")
        asked = input_text if isinstance(input_text, str) else str(input_text)
        with Recording(
            self.name,
            model=self.model,
            tags=self.tags,
            input_text=asked,
            keep_secrets=self.keep_secrets,
            records_calls=self.records_calls is True,
        ) as recording:
            request = Request(
                self.url, self.method, self.headers, self._content(input_text), timeout=self.timeout
            )
            try:
                reply = await request.send(self.client)
                if (refusal := request.refusal(reply)) is not None:
                    raise refusal
                totals = self._read(reply, recording)
            except AgentError as error:
                error.args = (without(f"{self.name}: {error}", request.secrets),)
                raise
        trace = recording.trace
        return trace.replace(**totals, trace_id=trace.trace_id, created_at=trace.created_at)

    async def __call__(self, input_text: Any, /) -> Any:
        """Ask the agent, as the task of a run."""
        return await self.invoke(input_text)

    def __repr__(self) -> str:
        return f"HttpAdapter({self.address!r}, name={self.name!r})"

    def _content(self, asked: Any) -> bytes:
        made = self.body(asked) if callable(self.body) else _filled(self.body, asked)
        try:
            return json.dumps(made, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidOptionError(
                f"{self.name}: the request cannot be sent as JSON ({error}): {excerpt(made)}"
            ) from None

    def _read(self, reply: Reply, recording: Recording) -> dict[str, int]:
        """Put the answer into the recording, and return the totals."""
        if self.output is None:
            recording.output_text = reply.text
            return {}
        try:
            answer = _json(reply)
            reported = None if self.tool_calls is None else read_tool_calls(answer, self.tool_calls)
            if reported is not None and self.records_calls is None:
                recording.records_calls = True
            calls = reported or []
            for call in calls:
                recording.log.add(Event(turn_of(_recorded(call, recording))))
            recording.output_text = read_text(answer, self.output, may_be_null=bool(calls))
            paths = {"total_input_tokens": self.input_tokens, "total_output_tokens": self.output_tokens}
            counts = {name: read_count(answer, path) for name, path in paths.items() if path is not None}
        except AgentReplyError as error:
            error.status = reply.status
            raise
        return {name: count for name, count in counts.items() if count is not None}


def _recorded(call: ToolCall, recording: Recording) -> ToolCall:
    """A call that an agent reported, as it is recorded."""
    return ToolCall(
        call.name,
        recording.recorded(call.arguments),
        output=recording.recorded(call.output),
        success=call.success,
        error=recording.recorded(call.error),
        latency_ms=call.latency_ms,
        call_id=call.call_id,
        timestamp=call.timestamp,
    )


def _has_input(template: Any) -> bool:
    if isinstance(template, str):
        return INPUT in template
    values = template.values() if isinstance(template, Mapping) else template
    return isinstance(template, Mapping | list | tuple) and any(_has_input(value) for value in values)


def _filled(template: Any, asked: Any) -> Any:
    """The template with the request in its place; as the whole of a text, it replaces the text and keeps its type."""
    if isinstance(template, str):
        return asked if template == INPUT else template.replace(INPUT, str(asked))
    if isinstance(template, Mapping):
        return {name: _filled(value, asked) for name, value in template.items()}
    return [_filled(value, asked) for value in template] if isinstance(template, list | tuple) else template


def _json(reply: Reply) -> Any:
    try:
        return json.loads(reply.body)
    except (ValueError, RecursionError):
        raise AgentReplyError(f"the answer is not JSON: {excerpt(reply.text)}") from None


# ---------------------------------------------------------------------- what is where in an answer


def read_text(answer: Any, path: Path, *, may_be_null: bool = False) -> str:
    """The text at a path; `may_be_null` for an agent that called tools and said nothing."""
    found = _at(answer, path, optional=may_be_null)
    if found is None and may_be_null:
        return ""
    if not isinstance(found, str):
        raise AgentReplyError(f"the answer at {_named(path)} is not text: {excerpt(found)}")
    return found


def read_count(answer: Any, path: Path) -> int | None:
    """The whole number at a path, or `None` if there is nothing."""
    found = _at(answer, path, optional=True)
    if found is None:
        return None
    if not is_whole_number(found, at_least=0):
        raise AgentReplyError(f"the tokens at {_named(path)} are not a whole number from 0: {excerpt(found)}")
    return found


_ABSENT: Final[Any] = object()
"""Stands for a field that an answer does not have, since it may have one that is null."""


def read_tool_calls(answer: Any, path: Path) -> list[ToolCall] | None:
    """The tool calls at a path: an empty list for null, and `None` if there is no such field."""
    found = _at(answer, path, optional=True, absent=_ABSENT)
    if found is _ABSENT or (found is None and callable(path)):
        return None
    if found is None:
        return []
    if not isinstance(found, list | tuple):
        raise AgentReplyError(f"the tool calls at {_named(path)} are not a list: {excerpt(found)}")
    return [_tool_call(item, f"{_named(path)}[{position}]") for position, item in enumerate(found)]


def _tool_call(item: Any, where: str) -> ToolCall:
    """One call: `name` and `arguments`, in any of the words below, or those under a key `function`."""
    if isinstance(item, ToolCall):
        return item
    if not isinstance(item, Mapping):
        raise AgentReplyError(f"the tool call at {where} is not an object: {excerpt(item)}")
    function = item.get("function")
    called: Mapping[str, Any] = function if isinstance(function, Mapping) else item
    name = _first(called, "name", "tool_name", "tool")
    if not isinstance(name, str) or not name:
        raise AgentReplyError(f"the tool call at {where} has no name: {excerpt(item)}")
    error = _first(item, "error")
    failed = error is not None or item.get("success") is False or item.get("is_error") is True
    call_id = _first(item, "id", "call_id")
    given = _first(called, "arguments", "tool_input", "input", "args")
    arguments, why = read_arguments(given)
    if arguments is None:
        error, failed = error or f"the arguments are not a JSON object: {why}", True
        unreadable = unreadable_call(name, given, error=str(error))
        name, arguments = unreadable.name, unreadable.arguments
    try:
        return ToolCall(
            name,
            arguments,
            output=_first(item, "output", "tool_output", "result"),
            success=not failed,
            error=None if error is None else str(error),
            latency_ms=_first(item, "latency_ms"),
            call_id=None if call_id is None else str(call_id),
        )
    except InvalidTraceError as problem:
        raise AgentReplyError(f"the tool call at {where} is invalid: {problem}") from None


def _first(item: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that is there and not null."""
    return next((item[name] for name in names if item.get(name) is not None), None)


def _at(answer: Any, path: Path, *, optional: bool, absent: Any = None) -> Any:
    if callable(path):
        try:
            return path(answer)
        except Exception as error:
            raise AgentReplyError(
                f"the function for {_named(path)} failed on the answer: {describe_error(error)[1]}"
            ) from error
    steps = path.split(".")
    found = answer
    for number, step in enumerate(steps):
        there, inside = _step(found, step)
        if not there:
            if optional and number == len(steps) - 1 and isinstance(found, Mapping):
                return absent
            place = "the answer" if number == 0 else repr(".".join(steps[:number]))
            raise AgentReplyError(f"there is no {step!r} (of the path {path!r}) in {place}, {_holds(found)}")
        found = inside
    return found


def _step(value: Any, step: str) -> tuple[bool, Any]:
    """Whether there is such a step in a value, and where it leads."""
    if isinstance(value, Mapping):
        return step in value, value.get(step)
    if isinstance(value, list) and step.lstrip("-").isdecimal() and -len(value) <= int(step) < len(value):
        return True, value[int(step)]
    return False, None


def _holds(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"which has {', '.join(repr(key) for key in list(value)[:20]) or 'nothing in it'}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return f"which is {excerpt(value)}"


def _named(path: Path) -> str:
    return repr(path) if isinstance(path, str) else getattr(path, "__name__", type(path).__name__)
