"""Matchers and expected calls written as plain data."""

from datetime import date, timedelta

import pytest

from calipers import ToolCall
from calipers.errors import InvalidOptionError, InvalidTraceError
from calipers.matching import (
    Absent,
    AllOf,
    AnyOf,
    Anything,
    Approx,
    CallOf,
    DateIs,
    Includes,
    InRange,
    Json,
    Maybe,
    Not,
    OfType,
    Present,
    Regex,
    SetOf,
    Similar,
    Text,
    read_call,
    read_matcher,
)
from calipers.matching import matcher_data as module
from calipers.matching.matcher_data import read_comparison


@pytest.mark.parametrize(
    ("data", "matcher"),
    [
        ({"regex": "^a"}, Regex("^a")),
        ({"regex": {"pattern": "^a", "full": True}}, Regex("^a", full=True)),
        ({"text": "Rome"}, Text("Rome")),
        ({"text": {"value": "Rome", "ignore_case": False}}, Text("Rome", ignore_case=False)),
        ({"similar": {"value": "x", "minimum": 0.5}}, Similar("x", minimum=0.5)),
        ({"approx": 5}, Approx(5)),
        ({"approx": {"value": 5, "abs_tol": 0.1}}, Approx(5, abs_tol=0.1)),
        ({"in_range": {"minimum": 1}}, InRange(1)),
        ({"in_range": {"minimum": 1, "maximum": 2}}, InRange(1, 2)),
        ({"date": "2025-03-05"}, DateIs("2025-03-05")),
        ({"date": date(2025, 3, 5)}, DateIs(date(2025, 3, 5))),
        (
            {"date": {"value": "2025-03-05", "tolerance": 90}},
            DateIs("2025-03-05", tolerance=timedelta(seconds=90)),
        ),
        ({"of_type": "integer"}, OfType("integer")),
        ({"present": True}, Present()),
        ({"anything": True}, Anything()),
        ({"absent": True}, Absent()),
        ({"not": 5}, Not(5)),
        ({"not": {"regex": "a"}}, Not(Regex("a"))),
        ({"maybe": {"text": "a"}}, Maybe(Text("a"))),
        ({"json": {"mapping_of": {"a": {"approx": 1}}}}, Json({"a": Approx(1)})),
        ({"any_of": ["a", 1, None, True, {"regex": "b"}]}, AnyOf("a", 1, None, True, Regex("b"))),
        ({"all_of": [{"regex": "a"}, {"regex": "b"}]}, AllOf(Regex("a"), Regex("b"))),
        ({"set_of": [1, {"approx": 2}]}, SetOf([1, Approx(2)])),
        ({"set_of": []}, SetOf([])),
        ({"list_of": [1, {"regex": "a"}]}, [1, Regex("a")]),
        ({"mapping_of": {"a": 1, "b": {"list_of": [{"absent": True}]}}}, {"a": 1, "b": [Absent()]}),
        ({"includes": "text"}, Includes("text")),
        ({"includes": [1, {"regex": "a"}]}, Includes([1, Regex("a")])),
        ({"includes": {"a": {"regex": "b"}}}, Includes({"a": Regex("b")})),
        ({"equals": {"regex": "a"}}, {"regex": "a"}),
        ({"equals": [1, {"approx": 2}]}, [1, {"approx": 2}]),
        ("text", "text"),
        (5, 5),
        (None, None),
        (False, False),
    ],
)
def test_each_matcher_can_be_written(data, matcher):
    assert read_matcher(data) == matcher


def test_every_matcher_of_one_value_has_a_written_form():
    assert set(module._NAMES) == {
        *(
            "absent",
            "all_of",
            "any_of",
            "anything",
            "approx",
            "date",
            "equals",
            "in_range",
            "includes",
            "json",
        ),
        *(
            "list_of",
            "mapping_of",
            "maybe",
            "not",
            "of_type",
            "present",
            "regex",
            "set_of",
            "similar",
            "text",
        ),
    }
    for name in module._NAMES:
        assert f"`{name}`" in module.__doc__


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1], r"a mapping with one key, as in \{regex: '\^a'\}"),
        ({}, "a mapping with one key"),
        ({"regex": "a", "text": "b"}, "a mapping with one key"),
        ({"regexp": "a"}, "no matcher is called 'regexp' .did you mean 'regex'"),
        ({"zzz": "a"}, "no matcher is called 'zzz'; there are absent, all_of"),
        ({5: "a"}, "no matcher is called 5"),
        ({"regex": 5}, "Regex needs a pattern as non-empty text, got 5"),
        ({"regex": {"patern": "a"}}, "regex does not fit its parameters"),
        ({"regex": {}}, "regex does not fit its parameters"),
        ({"approx": "5"}, "Approx needs a number, got '5'"),
        ({"approx": {"value": 5, "abs_tol": -1}}, "abs_tol must be a number from 0"),
        ({"in_range": 5}, "in_range takes parameters by name, got 5"),
        ({"in_range": {}}, "InRange needs a minimum"),
        ({"date": "soon"}, "DateIs needs a date"),
        ({"date": {"value": "2025-03-05", "tolerance": "1d"}}, "tolerance must be a timedelta"),
        ({"date": {"value": "2025-03-05", "tolerance": True}}, "tolerance must be a timedelta"),
        ({"of_type": "int"}, "OfType needs a class or one of array"),
        ({"present": False}, r"present is written as \{present: true\}, got False"),
        ({"absent": None}, r"absent is written as \{absent: true\}"),
        ({"any_of": "a"}, "any_of holds a list of matchers, got 'a'"),
        ({"any_of": []}, "AnyOf needs at least one value"),
        ({"any_of": [1, [2]]}, r"a matcher, any_of\[1\], is a mapping with one key"),
        ({"not": {"regx": "a"}}, "a matcher, under not,: no matcher is called 'regx'"),
        ({"mapping_of": [1]}, "mapping_of holds a mapping of matchers"),
        ({"mapping_of": {"a": [1]}}, r"a matcher, mapping_of\['a'\], is a mapping"),
        ({"includes": 5}, "Includes needs a mapping, a list or text"),
    ],
)
def test_what_is_no_matcher_is_refused(data, message):
    with pytest.raises(InvalidOptionError, match=message):
        read_matcher(data)


@pytest.mark.parametrize(
    ("data", "call"),
    [
        ("search", CallOf("search")),
        ({"search": {"q": "x"}}, ToolCall("search", {"q": "x"})),
        ({"search": None}, ToolCall("search")),
        ({"name": "search"}, ToolCall("search")),
        ({"name": "search", "arguments": {"q": "x"}}, ToolCall("search", {"q": "x"})),
        ({"tool_name": "search", "tool_input": {"q": "x"}}, ToolCall("search", {"q": "x"})),
        ({"name": "search", "matchers": {"q": {"regex": "x"}}}, ToolCall("search", {"q": Regex("x")})),
        (
            {"name": "search", "arguments": {"n": 1}, "matchers": {"q": "x"}},
            ToolCall("search", {"n": 1, "q": "x"}),
        ),
        # Arguments are what they look like, even if they look like a matcher.
        ({"name": "search", "arguments": {"q": {"regex": "x"}}}, ToolCall("search", {"q": {"regex": "x"}})),
        ({"search": {"regex": "x"}}, ToolCall("search", {"regex": "x"})),
    ],
)
def test_an_expected_call_can_be_written(data, call):
    assert read_call(data) == call


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (5, InvalidTraceError, "an expected call is the name of a tool"),
        ({}, InvalidTraceError, "needs the tool's name"),
        ({"arguments": {}}, InvalidTraceError, "needs the tool's name"),
        ({"name": "a", "args": {}}, InvalidTraceError, "an expected call has no 'args'"),
        ({"a": {}, "b": {}}, InvalidTraceError, "an expected call has no 'a'"),
        ({"search": 5}, InvalidTraceError, "the arguments of tool call 'search' must be a mapping, got 5"),
        (
            {"name": "a", "matchers": []},
            InvalidOptionError,
            "matchers is a mapping from arguments to matchers",
        ),
        (
            {"name": "a", "arguments": {"q": 1}, "matchers": {"q": 1}},
            InvalidOptionError,
            "'q' stands under arguments and under matchers",
        ),
        (
            {"name": "a", "matchers": {"q": {"x": 1}}},
            InvalidOptionError,
            "the matcher of 'q': no matcher is called 'x'",
        ),
    ],
)
def test_what_is_no_expected_call_is_refused(data, error, message):
    with pytest.raises(error, match=message):
        read_call(data)


def test_reading_a_call_leaves_its_data_alone():
    data = {"name": "a", "arguments": {"n": 1}, "matchers": {"q": {"regex": "x"}}}
    read_call(data)
    assert data == {"name": "a", "arguments": {"n": 1}, "matchers": {"q": {"regex": "x"}}}


@pytest.mark.parametrize(
    ("data", "value", "matcher"),
    [
        ("text", "a", Text("a")),
        ({"text": {"ignore_case": False}}, "a", Text("a", ignore_case=False)),
        ({"approx": {"abs_tol": 0.5}}, 3, Approx(3, abs_tol=0.5)),
        ({"date": {"tolerance": 60}}, "2025-03-05", DateIs("2025-03-05", tolerance=timedelta(minutes=1))),
        ("regex", "^a", Regex("^a")),
        ("set_of", [1, 2], SetOf([1, 2])),
        ("includes", [1], Includes([1])),
        ("json", {"a": 1}, Json({"a": 1})),
        ("maybe", 1, Maybe(1)),
        (Text, "a", Text("a")),
    ],
)
def test_a_comparison_is_a_matcher_that_lacks_its_value(data, value, matcher):
    assert read_comparison(data)(value) == matcher


@pytest.mark.parametrize(
    "data",
    ["any_of", "nothing", {"text": "a"}, {"text": {}, "approx": {}}, 5, None, {"json": {"a": 1}}, [], {}],
)
def test_what_is_no_comparison_is_refused(data):
    with pytest.raises(InvalidOptionError, match="a comparison is the name of a matcher of one value"):
        read_comparison(data)


def test_a_comparison_that_has_its_value_is_refused():
    with pytest.raises(InvalidOptionError, match="approx compares with the expected value, not with 5"):
        read_comparison({"approx": {"value": 5}})
