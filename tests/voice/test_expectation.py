"""The calls that a request should lead to, as users write them."""

import re

import pytest

from calipers.data.jsonable import plain
from calipers.data.trace import Trace
from calipers.errors import InvalidOptionError
from calipers.matching import CallOf, Regex
from calipers.voice import AgentResponse, tool_call
from calipers.voice.expectation import expected_calls, made_calls

GO = tool_call("go", to="LA")


@pytest.mark.parametrize(
    ("given", "calls"),
    [
        ([GO], [GO]),
        ((GO, GO), [GO, GO]),
        (GO, [GO]),
        ([], []),
        ([{"name": "go", "arguments": {"to": "LA"}}], [GO]),
        ([{"tool_name": "go", "tool_input": {"to": "LA"}}, GO], [GO, GO]),
        ((call for call in [GO]), [GO]),
        ({"name": "go", "arguments": {"to": "LA"}}, [GO]),
        ([{"go": {"to": "LA"}}], [GO]),
        ({"go": None}, [tool_call("go")]),
        ("go", [CallOf("go")]),
        (["go", GO], [CallOf("go"), GO]),
        ([{"name": "go", "matchers": {"to": {"regex": "^L"}}}], [tool_call("go", to=Regex("^L"))]),
        (plain([GO, CallOf("go")]), [GO, CallOf("go")]),
    ],
    ids=[
        *(
            "list",
            "tuple",
            "one",
            "none",
            "mapping",
            "other names",
            "iterator",
            "one mapping",
            "tool and arguments",
        ),
        *("no arguments", "name", "names and calls", "matchers", "as a stored report has them"),
    ],
)
def test_calls_are_written_in_many_ways(given, calls):
    assert expected_calls(given) == calls


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "list of tool calls, and [] says that no tool should be called, got None"),
        (b"go", "got b'go'"),
        ("", "as '': a tool call needs the tool's name"),
        ([["go"]], "as ['go']: an expected call is the name of a tool, {tool: arguments}, or a mapping"),
        ([{"nam": "go"}], "as {'nam': 'go'}: the arguments of tool call 'nam' must be a mapping"),
        ([{"name": "go", "arguments": 3}], "as {'name': 'go', 'arguments': 3}"),
        ([{"name": "go", "args": {}}], "has no 'args': it has name, arguments and matchers"),
        ([{"name": "go", "matchers": {"to": {"rege": "x"}}}], "no matcher is called 'rege'"),
        ([{"go": {1: 2}}], "as {'go': {1: 2}}: arguments go by their names"),
        ([{}], "as {}: a tool call needs the tool's name"),
        ([None], "as None: an expected call is"),
        (3.5, "got 3.5"),
    ],
    ids=str,
)
def test_what_is_no_call_is_refused_with_what_it_is(given, says):
    with pytest.raises(InvalidOptionError, match=re.escape(says)):
        expected_calls(given)


@pytest.mark.parametrize(
    "actual",
    [[GO], (GO,), AgentResponse([GO]), Trace(tool_calls=[GO])],
    ids=["list", "tuple", "answer", "trace"],
)
def test_the_calls_that_were_made_come_from_an_answer_or_a_trace_too(actual):
    assert made_calls(actual) == [GO]


@pytest.mark.parametrize("actual", [None, "go", {"name": "go"}, [{"name": "go"}], 3], ids=repr)
def test_what_tells_of_no_calls_is_not_an_agent_that_made_none(actual):
    with pytest.raises(InvalidOptionError, match="the calls that were made are a list of ToolCall"):
        made_calls(actual)
