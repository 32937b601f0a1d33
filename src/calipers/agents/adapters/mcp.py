"""`MCPAdapter`: the tools of an MCP server as the thing under test. No model is asked: the inputs of a case are the calls.

A case has one call, `{"name": …, "arguments": {…}}` or a `ToolCall`, or a list of calls that are made one after the other in one
session. Each attempt has a session of its own, unless you give a client that is connected.

- The calls are recorded at the client, as the server answered them.
- The output is what the tool gave: its structured content, else its text, else its blocks as data. The SDK puts `{"result": …}`
  around what is not an object; that is taken off. Of a list of calls, it is a list.
- A tool that answers with an error has failed, and the output is the text of the error: the answer of the server is what is
  judged. A server that gives no answer makes the attempt fail.
"""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from calipers.agents.event_log import error_text
from calipers.agents.recording import Recording
from calipers.agents.tool_interception import are_tools_intercepted, await_tool
from calipers.data.trace import ToolCall
from calipers.errors import InvalidCaseError, InvalidTraceError
from calipers.spans.messages import told, unwrapped

from .framework import FrameworkAdapter, load_framework, no_agent, tell
from .function import text_of
from .observed_calls import ObservedCalls


class MCPAdapter(FrameworkAdapter):
    """The tools of an MCP server.

    ```python
    dataset = Dataset(cases=[Case(inputs={"name": "price", "arguments": {"item": "desk"}}, expected_output=120)])
    report = dataset.evaluate_sync(MCPAdapter("https://localhost:8000/mcp"))
    ```

    Args:
        agent: the server: an `MCPServer` of this process, the URL of one, `StdioServerParameters` of a program, a transport, or a
            client that is connected, which you close.
        name: the server's name in traces and reports; default: its own.
        options: what to pass to each `Client`, such as `read_timeout_seconds`.
        output: makes the output of an attempt of the list of results as the client gives them.
        tags: of each trace.
        keep_secrets: record what looks like a secret as it is, rather than as `[redacted]`.

    Raises:
        TaskContractError: it is no server.
        MissingExtraError: mcp is not installed.
    """

    def _check(self) -> None:
        framework = load_framework("mcp", "MCP", "mcp")
        server = load_framework("mcp.server", "MCP", "mcp")
        known = (server.MCPServer, server.Server, framework.StdioServerParameters)
        is_address = isinstance(self.agent, str) and "://" in self.agent
        is_open = any(hasattr(self.agent, name) for name in ("call_tool", "__aenter__"))
        if not (is_address or is_open or isinstance(self.agent, known)):
            raise no_agent(self.agent, "an MCP server, its URL, or a connected client")

    def _own_name(self) -> str:
        if isinstance(self.agent, str):
            return urlsplit(self.agent).hostname or "mcp"
        named = getattr(self.agent, "name", None) or getattr(self.agent, "command", None)
        return named if isinstance(named, str) else "mcp"

    async def _ask(self, inputs: Any, state: dict[str, Any], recording: Recording) -> Any:  # noqa: ARG002 - a session ends with its case
        wanted = [_call(each) for each in (inputs if isinstance(inputs, list) else [inputs])]
        if not wanted:
            raise InvalidCaseError("a case of an MCP server has at least one call, got an empty list")
        calls = ObservedCalls("")
        results: list[Any] = []
        problem: Exception | None = None
        try:
            async with self._client() as client:
                try:
                    for number, call in enumerate(wanted):
                        results.append(await _made(client, call, number, calls))
                except Exception as error:
                    problem = error  # raised in here, it would come out as a group of errors
        finally:
            tell(recording, calls.trace)
        if problem is not None:
            raise problem
        outputs = [_told(result) for result in results]
        return self._answer(results, outputs if isinstance(inputs, list) else outputs[0])

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncIterator[Any]:
        from mcp import Client
        from mcp.server import MCPServer

        if hasattr(self.agent, "call_tool") and not isinstance(self.agent, MCPServer):
            yield self.agent
            return
        async with Client(self.agent, **(self.options or {})) as client:
            yield client


async def _made(client: Any, call: ToolCall, number: int, calls: ObservedCalls) -> Any:
    """The result of one call."""
    calls.tool_begins(number, call.name, call.arguments)
    try:
        make = _intercepted if are_tools_intercepted() else _asked
        result = await make(client, call)
    except BaseException as error:
        calls.tool_ends(number, error=error_text(error))
        raise
    output = _told(result)
    calls.tool_ends(
        number, None if result.is_error else output, error=text_of(output) if result.is_error else None
    )
    return result


async def _asked(client: Any, call: ToolCall) -> Any:
    return await client.call_tool(call.name, call.arguments)


class _ToolFailedError(Exception):
    """A tool answered with an error."""

    def __init__(self, result: Any) -> None:
        super().__init__(text_of(_told(result)))
        self.result = result


async def _intercepted(client: Any, call: ToolCall) -> Any:
    """The result of a call that goes through interceptors. They see what the tool gave, not the blocks it came in."""
    results: list[Any] = []

    async def ask() -> Any:
        result = await _asked(client, call)
        results.append(result)
        if result.is_error:
            raise _ToolFailedError(result)
        return _told(result)

    try:
        output = await await_tool(call.name, call.arguments, ask)
    except _ToolFailedError as failed:
        return failed.result
    if results and not results[-1].is_error and _told(results[-1]) == output:
        return results[-1]
    from mcp.types import CallToolResult, TextContent

    text = TextContent(type="text", text=text_of(output))
    structured = output if isinstance(output, dict) else {"result": output}
    return CallToolResult(content=[text], structured_content=structured)


def _call(given: Any) -> ToolCall:
    """The call that a case asks for."""
    try:
        if isinstance(given, ToolCall):
            return given
        if isinstance(given, Mapping) and set(given) <= {"name", "arguments"}:
            return ToolCall(**given)
    except InvalidTraceError as error:
        raise InvalidCaseError(f"the inputs are no tool call: {error}") from error
    raise InvalidCaseError(
        "the inputs of a case of an MCP server are a call, {'name': ..., 'arguments': {...}}, or a list of calls, "
        f"got {given!r:.200}"
    )


def _told(result: Any) -> Any:
    """What a tool gave."""
    if result.structured_content is not None:
        return unwrapped(result.structured_content)
    return told([block.model_dump(exclude_none=True) for block in result.content])
