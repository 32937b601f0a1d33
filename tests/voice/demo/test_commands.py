"""Commands: one table gives the grammar to listen for and the rules to understand by."""

import re

import pytest

from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError
from calipers.voice.demo.commands import Command, CommandGrammar

DOORS = CommandGrammar(
    [
        Command("open_door", "(open|unlock) the {door} door", {"locked": False}),
        Command("ring", "ring [the bell] {times:number} (time|times)"),
        Command("repeat", "say {first:number} and {second:number}"),
        Command("stop", "stop"),
    ],
    {"door": {"front": "front", "cellar": "basement"}, "number": {"one": 1, "two": 2, "twenty one": 21}},
)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("open the front door", [ToolCall("open_door", {"locked": False, "door": "front"})]),
        ("Unlock the cellar door!", [ToolCall("open_door", {"locked": False, "door": "basement"})]),
        ("ring the bell two times", [ToolCall("ring", {"times": 2})]),
        ("ring 21 times", [ToolCall("ring", {"times": 21})]),
        ("say one and two", [ToolCall("repeat", {"first": 1, "second": 2})]),
        ("stop", [ToolCall("stop")]),
        ("stop and ring one time", [ToolCall("stop"), ToolCall("ring", {"times": 1})]),
        (
            "say one and two and say two and one",
            [ToolCall("repeat", {"first": 1, "second": 2}), ToolCall("repeat", {"first": 2, "second": 1})],
        ),
        ("", []),
        ("open", []),
        ("open the front door now", []),
        ("please open the front door", []),
        ("open the garage door", []),
        ("stop and", []),
        ("and stop", []),
        ("stop and stop and stop", []),
        ("openthe front door", []),
    ],
)
def test_a_text_means_its_calls_from_the_first_word_to_the_last(text, calls):
    assert DOORS.parse(text) == calls


def test_an_argument_that_was_not_said_is_not_there():
    grammar = CommandGrammar([Command("play", "play [in the {room}]")], {"room": {"kitchen": "kitchen"}})
    assert grammar.parse("play")[0].arguments == {}
    assert grammar.parse("play in the kitchen")[0].arguments == {"room": "kitchen"}


def test_values_keep_their_types():
    grammar = CommandGrammar([Command("set", "set {to}")], {"to": {"nothing": None, "half": 0.5, "on": True}})
    found = [grammar.parse(f"set {said}")[0].arguments["to"] for said in ("nothing", "half", "on")]
    assert found == [None, 0.5, True]
    assert found[2] is True


@pytest.mark.parametrize("joiner", ["", "And", "; <b> = c"])
def test_a_joiner_is_a_word(joiner):
    with pytest.raises(InvalidOptionError, match="joiner must be a word"):
        CommandGrammar([Command("stop", "stop")], joiner=joiner)


def test_where_two_commands_fit_the_first_one_counts():
    assert CommandGrammar([Command("a", "go"), Command("b", "go")]).parse("go") == [ToolCall("a")]


def test_without_a_joiner_a_request_is_one_command():
    grammar = CommandGrammar([Command("stop", "stop")], joiner=None)
    assert grammar.parse("stop")
    assert not grammar.parse("stop and stop")
    assert "[" not in grammar.jsgf


def test_the_grammar_for_recognizers_writes_what_phrases_share_once():
    assert DOORS.jsgf.splitlines() == [
        "#JSGF V1.0;",
        "grammar commands;",
        "public <request> = <command> [and <command>];",
        (
            "<command> = (( open | unlock ) the <door> door) | (ring [ the bell ] <number> ( time | times ))"
            " | (say <number> and <number>) | (stop);"
        ),
        "<door> = (front | cellar);",
        "<number> = (one | two) | (twenty) (one);",
    ]


@pytest.mark.parametrize(
    ("commands", "slots", "said"),
    [
        ([], {}, "at least one"),
        ([Command("a", "turn {it} on")], {}, "has a slot 'it', which nobody fills: give the grammar slots="),
        ([Command("a", "turn {it} on")], {"what": {"tv": "tv"}}, "which nobody fills: slots are what"),
        ([Command("a", "turn {it} on")], {"it": {}}, "'it' has no phrases"),
        ([Command("a", "Turn on")], {}, "cannot read 'Turn on'"),
        ([Command("a", "turn 5 on")], {}, "cannot read '5 on'"),
        ([Command("a", "turn <room> on")], {}, "cannot read '<room> on'"),
        ([Command("a", "turn (on")], {}, "not well formed"),
        ([Command("a", "turn on)")], {}, "not well formed"),
        ([Command("a", "{it} {it}")], {"it": {"x": 1}}, "not well formed"),
        ([Command("a", "")], {}, "may be empty"),
        ([Command("a", "[please]")], {}, "may be empty"),
        ([Command("a", "turn {command} on")], {"command": {"it": 1}}, "cannot be called 'command'"),
        ([Command("a", "turn {it} on")], {"it": {"The Light": 1}}, "'The Light'.*lower case"),
        ([Command("a", "turn {it} on")], {"it": {"": 1}}, "''.*lower case"),
        ([Command("a", "turn {it} on")], {"it": {"light; <b> = c": 1}}, "lower case"),
    ],
)
def test_what_cannot_be_said_is_refused_when_the_grammar_is_made(commands, slots, said):
    with pytest.raises(InvalidOptionError, match=said):
        CommandGrammar(commands, slots)


def test_rules_of_the_grammar_have_names_that_are_slots():
    assert set(re.findall(r"<(\w+)>", DOORS.jsgf)) == {"request", "command", *DOORS.slots}
