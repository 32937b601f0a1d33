"""The calls that a request should lead to, as users write them."""

import re

import pytest

from calipers.errors import InvalidOptionError
from calipers.voice import tool_call
from calipers.voice.expectation import expected_calls

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
    ],
    ids=["list", "tuple", "one", "none", "mapping", "other names", "iterator"],
)
def test_calls_are_written_in_many_ways(given, calls):
    assert expected_calls(given) == calls


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "list of tool calls, got None"),
        ("go", "list of tool calls, got 'go'"),
        (["go"], "list of tool calls, got 'go' in it"),
        ({"name": "go"}, "list of tool calls, got {'name': 'go'}"),
        ([{"nam": "go"}], "got {'nam': 'go'}"),
        ([{"name": "go", "arguments": 3}], "got {'name': 'go', 'arguments': 3}"),
        ([{}], "got {}"),
        (3.5, "got 3.5"),
    ],
    ids=str,
)
def test_what_is_no_call_is_refused_with_what_it_is(given, says):
    with pytest.raises(InvalidOptionError, match=re.escape(says)):
        expected_calls(given)
