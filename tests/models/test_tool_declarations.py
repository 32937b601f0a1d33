"""One list of tools for every provider."""

import pytest

from calipers.errors import InvalidOptionError
from calipers.models.tool_declarations import for_chat, for_gemini, for_realtime

PARAMETERS = {"type": "object", "properties": {"to": {"type": "string"}}}
PLAIN = {"name": "book", "description": "Books.", "parameters": PARAMETERS}

SHAPES = [
    PLAIN,
    {"type": "function", "function": PLAIN},
    {"type": "function", **PLAIN},
    {"functionDeclarations": [PLAIN]},
    {"function_declarations": [PLAIN]},
    {"name": "book", "description": "Books.", "input_schema": PARAMETERS},
]


@pytest.mark.parametrize("shape", SHAPES, ids=range(len(SHAPES)))
def test_every_shape_becomes_every_other(shape):
    assert for_chat([shape]) == [{"type": "function", "function": PLAIN}]
    assert for_realtime([shape]) == [{"type": "function", **PLAIN}]
    assert for_gemini([shape]) == [{"functionDeclarations": [PLAIN]}]


def test_gemini_gets_all_declarations_in_one_tool_and_its_own_tools_beside():
    search = {"googleSearch": {}}
    pay = {"name": "pay"}
    assert for_gemini([search, PLAIN, pay]) == [{"functionDeclarations": [PLAIN, pay]}, search]
    assert for_gemini([search]) == [search]


def test_a_providers_own_tool_is_passed_on():
    hosted = {"type": "mcp", "server_label": "crm"}
    assert for_realtime([hosted]) == [hosted]


def test_strict_goes_only_where_it_is_known():
    strict = {**PLAIN, "strict": True}
    assert for_chat([strict]) == [{"type": "function", "function": strict}]
    assert for_realtime([strict]) == [{"type": "function", **PLAIN}]
    assert for_gemini([strict]) == [{"functionDeclarations": [PLAIN]}]


@pytest.mark.parametrize("tool", ["book", None, 5, ["book"]])
def test_what_declares_no_tool_is_refused(tool):
    with pytest.raises(InvalidOptionError, match="a tool is declared by a mapping"):
        for_chat([tool])
