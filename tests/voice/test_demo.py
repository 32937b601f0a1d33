"""The demonstration: its commands, its home and its agent."""

import asyncio
import pickle
import re
from functools import cache

import pytest

from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError
from calipers.voice.audio import Audio
from calipers.voice.demo import (
    HOME,
    Command,
    CommandGrammar,
    OfflineAgent,
    spoken_requests,
    unrelated_sentences,
)
from calipers.voice.protocols import Agent, TextAgent
from calipers.voice.spelling import spoken_words
from calipers.voice.synthesizers import EspeakSynthesizer

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
        ([Command("a", "turn {it} on")], {}, "has an unknown slot 'it': give the grammar slots="),
        ([Command("a", "turn {it} on")], {"what": {"tv": "tv"}}, "has an unknown slot 'it': slots are what"),
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


def test_there_are_forty_requests_and_at_least_ten_sentences_that_are_none():
    assert len({request.text for request in spoken_requests()}) == 40
    assert len({request.text for request in unrelated_sentences()}) >= 10


@pytest.mark.parametrize("request_", spoken_requests(), ids=lambda request: request.text)
def test_a_request_means_its_calls(request_):
    assert HOME.parse(request_.text) == list(request_.calls) != []
    assert " ".join(spoken_words(request_.text)) == request_.text, "it is written as it is said"


@pytest.mark.parametrize("sentence", unrelated_sentences(), ids=lambda request: request.text)
def test_an_unrelated_sentence_means_nothing(sentence):
    assert HOME.parse(sentence.text) == list(sentence.calls) == []


def test_every_tool_is_asked_for_and_some_requests_ask_for_two():
    assert {call.name for request in spoken_requests() for call in request.calls} == {
        c.tool for c in HOME.commands
    }
    assert {len(request.calls) for request in spoken_requests()} == {1, 2}


def test_numbers_are_numbers():
    calls = [call for request in spoken_requests() for call in request.calls]
    counted = {"minutes", "percent", "degrees", "level", "hour", "minute"}
    found = {
        (name, type(value)) for call in calls for name, value in call.arguments.items() if name in counted
    }
    assert found == {(name, int) for name in counted}


HELD_OUT = [
    "the museum will be closed on monday because of the holiday",
    "could you tell me where the nearest station is",
    "my neighbor has two dogs and a very loud parrot",
    "it rained all week so the garden is full of mud",
    "the teacher asked everybody to open the window",
    "they are building a new library next to the park",
    "i have never been to australia but i would like to go",
    "the soup was too salty and the bread was cold",
    "every winter the lake behind our house freezes over",
    "last night i dreamed about flying over the sea",
]
LIGHTS = "turn on the kitchen lights"


@cache
def say(text):
    return EspeakSynthesizer().synthesize_sync(text)


@pytest.fixture(scope="module")
def agent():
    return OfflineAgent()


def hear_all(agent, texts):
    async def at_once():
        return await asyncio.gather(*(agent.run(say(text)) for text in texts))

    return asyncio.run(at_once())


def hear(agent, text):
    return hear_all(agent, [text])[0]


def test_it_hears_and_it_reads(agent):
    assert isinstance(agent, Agent)
    assert isinstance(agent, TextAgent)


def test_at_least_36_of_40_spoken_requests_lead_to_the_right_calls(agent):
    requests = spoken_requests()
    answers = hear_all(agent, [request.text for request in requests])
    right = [
        answer.tool_calls == list(request.calls) for answer, request in zip(answers, requests, strict=True)
    ]
    assert len(right) == 40
    assert sum(right) >= 36


def test_at_least_9_of_10_unrelated_sentences_lead_to_no_call(agent):
    sentences = [*(sentence.text for sentence in unrelated_sentences()), *HELD_OUT]
    rejected = [not answer.tool_calls for answer in hear_all(agent, sentences)]
    assert len(rejected) >= 20
    assert sum(rejected) >= 0.9 * len(rejected)


def test_its_answer_says_what_it_heard_and_why_it_believed_it(agent):
    answer = hear(agent, LIGHTS)
    assert answer.tool_calls == [ToolCall("set_light", {"on": True, "room": "kitchen"})]
    assert answer.transcript == answer.raw.text == LIGHTS
    assert answer.raw.accepted
    assert "away from it" in answer.raw.reason
    assert not answer.problems


def test_what_it_doubts_it_does_not_act_upon_but_tells():
    answer = hear(OfflineAgent(max_distance=0), LIGHTS)
    assert answer.tool_calls == []
    assert answer.transcript == LIGHTS
    assert not answer.raw.accepted


def test_silence_asks_for_nothing(agent):
    answer = asyncio.run(agent.run(Audio.silence(1.0)))
    assert (answer.tool_calls, answer.transcript) == ([], "")


@pytest.mark.parametrize("text", ["Turn on the kitchen lights.", "TURN ON THE KITCHEN LIGHTS", LIGHTS])
def test_it_decides_the_same_about_what_it_reads(agent, text):
    answer = asyncio.run(agent.run_text(text))
    assert answer.tool_calls == hear(agent, LIGHTS).tool_calls
    assert answer.transcript == text


def test_a_sentence_it_reads_but_does_not_understand_leads_to_no_call(agent):
    assert asyncio.run(agent.run_text("Tell me a story.")).tool_calls == []


def test_it_takes_another_grammar():
    doors = CommandGrammar([Command("open", "open the {door} door")], {"door": {"front": 1, "back": 2}})
    assert hear(OfflineAgent(doors), "open the back door").tool_calls == [ToolCall("open", {"door": 2})]


def test_it_is_a_value():
    assert pickle.loads(pickle.dumps(OfflineAgent())) == OfflineAgent()
    assert OfflineAgent(max_distance=0.5) != OfflineAgent()


def test_unknown_words_may_be_taught():
    grammar = CommandGrammar([Command("start", "start the frobnicator")])
    sound = EspeakSynthesizer().synthesize_sync("start the frobnicator")
    with pytest.raises(InvalidOptionError, match=r"cannot pronounce 'frobnicator'.* give pronunciations="):
        asyncio.run(OfflineAgent(grammar).run(sound))
    taught = OfflineAgent(grammar, pronunciations={"frobnicator": "F R AA B N IH K EY T ER"})
    assert asyncio.run(taught.run(sound)).tool_calls == [ToolCall("start")]
