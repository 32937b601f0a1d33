"""The tools of an MCP server are called by cases, and the calls are recorded at the client."""

import asyncio
import logging
import sys

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from calipers import Case, Dataset
from calipers.agents import Adapter, MCPAdapter, ToolCall, tool
from calipers.errors import TaskContractError
from calipers.evaluators import EqualsExpected
from calipers.testing import check_adapter

_HANDLERS = list(logging.getLogger().handlers)
SERVER = MCPServer("shop", log_level="WARNING")
logging.getLogger().handlers = _HANDLERS  # a server adds its own to the whole process


@SERVER.tool()
async def price(item: str, ctx: Context, api_key: str = "") -> int:
    if item == "lamp":
        raise ToolError("no such item")
    if item == "broken":
        raise MCPError(-32000, "the server is tired")
    return len(item)


@SERVER.tool()
def describe(item: str) -> dict:
    return {"item": item, "colours": ["red"]}


@SERVER.tool()
@tool
def shout(word: str) -> str:
    return word.upper()


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def evaluate(server, *inputs, **options):
    dataset = Dataset(cases=[Case(inputs=each) for each in inputs])
    return dataset.evaluate_sync(MCPAdapter(server, **options), progress=False)


def test_the_output_is_what_the_tool_gave_and_the_call_is_in_the_trace():
    report = evaluate(
        SERVER,
        call("price", item="desk"),
        ToolCall("describe", {"item": "desk"}),
        [call("shout", word="a"), call("price", item="desk")],
    )
    one, two, both = report.cases
    assert one.output == 4
    assert two.output == {"item": "desk", "colours": ["red"]}
    assert both.output == ["A", 4]
    made = one.trace.tool_calls[0]
    assert (made.name, made.arguments, made.output, made.success) == ("price", {"item": "desk"}, 4, True)
    assert made.latency_ms is not None
    assert one.trace.agent_name == "shop"
    # The server runs in this process, and one of its tools is marked: still one call.
    assert [made.name for made in both.trace.tool_calls] == ["shout", "price"]


def test_an_error_that_the_server_answers_with_is_a_failed_call_that_can_be_judged():
    case = evaluate(SERVER, call("price", item="lamp")).cases[0]
    assert case.output.endswith("no such item")
    made = case.trace.tool_calls[0]
    assert (made.success, made.error, made.output) == (False, case.output, None)
    strange = evaluate(SERVER, call("guess")).cases[0].trace.tool_calls[0]
    assert (strange.name, strange.success) == ("guess", False)


def test_without_an_answer_the_attempt_fails_and_keeps_its_calls():
    failure = evaluate(SERVER, [call("price", item="desk"), call("price", item="broken")]).failures[0]
    assert failure.error_message == "MCPError: the server is tired"
    assert [made.error for made in failure.trace.tool_calls] == [None, "MCPError: the server is tired"]
    gone = evaluate(StdioServerParameters(command="no-such-program-here"), call("price", item="desk"))
    assert gone.failures[0].trace.tool_calls == ()


def test_secrets_among_the_arguments_are_not_recorded():
    case = evaluate(SERVER, call("price", item="desk", api_key="hunter2")).cases[0]
    assert case.output == 4
    assert case.trace.tool_calls[0].arguments["api_key"] == "[redacted]"


def test_a_program_and_a_connected_client_are_servers():
    program = (
        "from mcp.server import MCPServer\n"
        "server = MCPServer('double')\n"
        "@server.tool()\n"
        "def double(number: int) -> int:\n"
        "    return 2 * number\n"
        "server.run()\n"
    )
    parameters = StdioServerParameters(command=sys.executable, args=["-c", program])
    assert evaluate(parameters, call("double", number=4)).cases[0].output == 8

    async def connected():
        async with Client(SERVER) as client:
            dataset = Dataset(
                cases=[
                    Case(inputs=call("price", item=item), expected_output=len(item)) for item in ("a", "bb")
                ],
                evaluators=[EqualsExpected()],
            )
            return await dataset.evaluate(MCPAdapter(client), progress=False)

    assert [case.passed for case in asyncio.run(connected()).cases] == [True, True]


@pytest.mark.parametrize(
    "inputs", ["desk", [], {"tool": "price"}, {"name": ""}, [call("price", item="a"), 3]]
)
def test_inputs_that_are_no_call_are_refused(inputs):
    assert evaluate(SERVER, inputs).failures[0].error_type == "InvalidCaseError"


def test_calls_go_through_interceptors_and_what_the_client_saw_is_recorded(intercepted):
    asked = [call("price", item="desk"), call("describe", item="desk"), call("shout", word="a")]
    report, one = intercepted(lambda: evaluate(SERVER, *asked), value={"a": [1]})
    assert [case.output for case in report.cases] == [{"a": [1]}] * 3
    assert [case.trace.tool_calls[0].output for case in report.cases] == [{"a": [1]}] * 3
    assert sorted(name for name, _ in one.asked) == ["describe", "price", "shout"]
    assert 4 in one.seen
    failing, _ = intercepted(lambda: evaluate(SERVER, call("price", item="lamp")))
    assert failing.cases[0].output.endswith("no such item")
    broken, _ = intercepted(lambda: evaluate(SERVER, asked[0]), error=TimeoutError("too slow"))
    assert broken.failures[0].trace.tool_calls[0].error == "TimeoutError: too slow"


def test_it_is_an_adapter_and_other_objects_are_refused():
    adapter = MCPAdapter(SERVER, output=len)
    assert isinstance(adapter, Adapter)
    check_adapter(adapter, requests=[call("shout", word="a"), call("shout", word="b")])
    assert MCPAdapter("https://user:secret@example.org/mcp").name == "example.org"
    with pytest.raises(TaskContractError, match="expected an MCP server"):
        MCPAdapter("shop")
