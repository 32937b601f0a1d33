"""The demonstration's data: the requests mean what they say, and cover every tool."""

import pytest

from calipers.voice.demo.home import HOME, spoken_requests, unrelated_sentences
from calipers.voice.spelling import spoken_words


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
