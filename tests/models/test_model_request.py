"""Keys, addresses and settings, and one list of tools for every provider."""

import pytest

from calipers.errors import InvalidOptionError
from calipers.models.gemini import GEMINI
from calipers.models.model_request import (
    endpoint,
    for_anthropic,
    for_chat,
    for_gemini,
    for_realtime,
    laid_over,
    socket_address,
)
from calipers.models.openai import OPENAI
from calipers.models.openai_realtime import session_address


def test_a_key_that_is_given_wins_over_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "from-outside\n")
    assert OPENAI.key("mine", base_url=OPENAI.home) == "mine"
    assert OPENAI.key(None, base_url=OPENAI.home) == "from-outside"


def test_the_first_variable_that_is_set_counts(monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "  ")
    monkeypatch.setenv("GOOGLE_API_KEY", "g")
    assert GEMINI.key(None, base_url=GEMINI.home) == "g"


@pytest.mark.parametrize(
    ("settings", "changes", "found"),
    [
        ({"a": 1}, None, {"a": 1}),
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"b": 1, "c": {"d": 2}}}, {"a": {"c": {"e": 3}}}, {"a": {"b": 1, "c": {"d": 2, "e": 3}}}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
        ({"a": [1]}, {"a": [2]}, {"a": [2]}),
    ],
)
def test_settings_are_laid_over_key_by_key(settings, changes, found):
    before = repr(settings)
    assert laid_over(settings, changes) == found
    assert repr(settings) == before


@pytest.mark.parametrize(
    ("base", "found"),
    [
        ("https://host/v1", "https://host/v1/chat"),
        ("https://host/v1/", "https://host/v1/chat"),
        ("https://host", "https://host/chat"),
        ("https://host/deployment/chat?api-version=1", "https://host/deployment/chat?api-version=1"),
        ("https://host/v1?api-version=1", "https://host/v1/chat?api-version=1"),
        ("http://[::1", "http://[::1"),
    ],
)
def test_a_path_is_put_below_the_base_unless_it_is_there(base, found):
    assert endpoint(base, "/chat") == found


@pytest.mark.parametrize(
    ("base", "found"),
    [
        ("https://host/v1/", "wss://host/v1"),
        ("http://host", "ws://host"),
        ("wss://host/v1", "wss://host/v1"),
        ("host", "host"),
    ],
)
def test_the_address_of_a_server_is_that_of_its_socket(base, found):
    assert socket_address(base) == found


@pytest.mark.parametrize(
    ("base", "found"),
    [
        ("wss://host/v1", "wss://host/v1/realtime?model=a%2Fb"),
        ("https://host/v1/realtime?api-version=1", "wss://host/v1/realtime?api-version=1&model=a%2Fb"),
        ("wss://host/openai/realtime?deployment=mine", "wss://host/openai/realtime?deployment=mine"),
    ],
)
def test_the_model_is_named_in_the_address_of_a_session(base, found):
    assert session_address(base, "a/b") == found


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
    assert for_anthropic([shape]) == [{"name": "book", "description": "Books.", "input_schema": PARAMETERS}]


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
