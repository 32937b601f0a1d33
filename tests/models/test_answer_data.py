import asyncio

import pytest

from calipers.errors import InvalidOptionError, ModelFilteredError, UnreadableAnswerError
from calipers.models import Ask, Completion, ask_for_data, read_data
from calipers.testing import ScriptedModel

SCHEMA = {
    "type": "object",
    "properties": {"passed": {"type": "boolean"}, "score": {"type": "integer"}},
    "required": ["passed"],
    "additionalProperties": False,
}
QUESTION = [{"role": "user", "content": "Is it right?"}]


def read(text, finish="stop"):
    return read_data(Completion(text=text, finish=finish), SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        '{"passed": true}',
        '\n {"passed": true} \n',
        '```json\n{"passed": true}\n```',
        '```\n{"passed": true}```',
        "{'passed': true}",
        '{"passed": true,}',
        "{passed: true}",
    ],
)
def test_an_answer_that_is_one_object_is_data_also_with_a_fence_or_small_mistakes(text):
    assert read(text) == {"passed": True}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes",
        "true",
        '{"passed": "yes"}',
        '{"passed": true, "more": 1}',
        '{"passed": tr',
        '{"passed": true, "score": 4',
        '{"passed": true, "score": 4\n```',
        'The answer says {"passed": true} but it is wrong.',
        'They wrote:\n```json\n{"passed": true}\n```\nI do not agree.',
        '{"passed": false, "passed": true}',
        '{"passed": true} {"passed": false}',
        "{'passed': false, 'passed': true}",
        "{'passed': true} {'passed': false}",
        "{'passed': false, '\\u0070assed': true}",
        '{"passed": false, "reason": "it says "yes", "passed": true}',
        '{"passed": NaN}',
        "[" * 100_000,
    ],
)
def test_what_is_not_clearly_one_verdict_is_none(text):
    with pytest.raises(UnreadableAnswerError) as caught:
        read(text or None)
    assert caught.value.text == (text or None)


def test_how_an_answer_ended_decides_whether_it_counts():
    whole, cut = '{"passed": true}', '{"passed": true'
    assert read(whole, "length") == {"passed": True}
    for text in (cut, "{'passed': true}", None):
        with pytest.raises(UnreadableAnswerError):
            read(text, "length")
    for finish in ("tool_call", "unfinished", "error", "unknown"):
        with pytest.raises(UnreadableAnswerError):
            read(whole, finish)
    for finish in ("refused", "filtered"):
        with pytest.raises(ModelFilteredError):
            read(whole, finish)


def test_an_unreadable_answer_is_sent_back_once_with_what_is_wrong():
    model = ScriptedModel(["Well, yes.", {"passed": True}])
    answer = asyncio.run(ask_for_data(model, Ask(messages=QUESTION, schema=SCHEMA)))
    assert answer.data == {"passed": True}
    _, second = model.asks
    assert second.messages[: len(QUESTION)] == QUESTION
    assert second.messages[1] == {"role": "assistant", "content": "Well, yes."}
    assert "not JSON" in second.messages[2]["content"]


def test_an_answer_that_is_unreadable_twice_is_an_error_with_its_text():
    model = ScriptedModel(["Well, yes.", "Yes!"])
    with pytest.raises(UnreadableAnswerError, match="not JSON") as caught:
        asyncio.run(ask_for_data(model, Ask(messages=QUESTION, schema=SCHEMA)))
    assert caught.value.text == "Yes!"
    assert len(model.asks) == 2


def test_an_answer_that_was_cut_off_or_declined_is_not_asked_for_again():
    for finish in ("length", "refused", "unknown"):
        model = ScriptedModel([Completion(text="I", finish=finish)])
        with pytest.raises((UnreadableAnswerError, ModelFilteredError)):
            asyncio.run(ask_for_data(model, Ask(messages=QUESTION, schema=SCHEMA)))
        assert len(model.asks) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": []},
        {"messages": "Hello"},
        {"messages": [{"role": "robot", "content": ""}]},
        {"messages": QUESTION, "schema": {}},
        {"messages": QUESTION, "schema": {"type": "nothing"}},
        {"messages": QUESTION, "temperature": -1},
        {"messages": QUESTION, "max_tokens": 0},
        {"messages": QUESTION, "repeat": -1},
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(wrong):
    with pytest.raises(InvalidOptionError):
        Ask(**wrong)
