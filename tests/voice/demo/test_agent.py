"""The offline agent: measured on real speech, on sentences it was tuned with and on some it was not."""

import asyncio
import pickle
from functools import cache

import pytest

from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError
from calipers.voice.audio import Audio
from calipers.voice.demo.agent import OfflineAgent
from calipers.voice.demo.commands import Command, CommandGrammar
from calipers.voice.demo.home import spoken_requests, unrelated_sentences
from calipers.voice.protocols import Agent, TextAgent
from calipers.voice.synthesizers.espeak import EspeakSynthesizer

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


def test_words_that_nobody_knows_may_be_taught():
    grammar = CommandGrammar([Command("start", "start the frobnicator")])
    sound = EspeakSynthesizer().synthesize_sync("start the frobnicator")
    with pytest.raises(InvalidOptionError, match=r"cannot pronounce 'frobnicator'.* give pronunciations="):
        asyncio.run(OfflineAgent(grammar).run(sound))
    taught = OfflineAgent(grammar, pronunciations={"frobnicator": "F R AA B N IH K EY T ER"})
    assert asyncio.run(taught.run(sound)).tool_calls == [ToolCall("start")]
