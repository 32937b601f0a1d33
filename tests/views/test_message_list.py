"""Which values are lists of messages, and what their transcripts say."""

import pytest

from calipers import Case, Dataset
from calipers.data.trace import TurnType
from calipers.rollouts import Environment, RolloutTask
from calipers.views.message_list import conversation, message_transcript


def user(content, **more):
    return {"role": "user", "content": content, **more}


def agent(content, **more):
    return {"role": "assistant", "content": content, **more}


def called(call_id, name, arguments):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def said(talk):
    return [(turn.asked, [told(each) for each in turn.done], turn.answered) for turn in talk.turns]


def told(turn):
    if turn.turn_type is TurnType.AGENT_MESSAGE:
        return turn.content
    call = turn.tool_call
    return (call.name, call.arguments, call.error or call.output)


@pytest.mark.parametrize(
    ("value", "turns"),
    [
        ([user("hi"), agent("hello")], [("hi", [], "hello")]),
        ({"messages": [user("hi")], "user_id": 3}, [("hi", [], None)]),
        ([agent("one"), agent("two")], [(None, [], "one\n\ntwo")]),
        (
            [user("a"), user("b"), agent("c"), user("d")],
            [("a\n\nb", [], "c"), ("d", [], None)],
        ),
        (
            [
                user("17?"),
                agent("I look.", tool_calls=[called("1", "find", '{"id": 17}'), called("2", "now", "")]),
                {"role": "tool", "tool_call_id": "2", "content": "noon"},
                {"role": "tool", "tool_call_id": "1", "content": '{"state": "sent"}'},
                agent("Sent."),
            ],
            [("17?", ["I look.", ("find", {"id": 17}, {"state": "sent"}), ("now", {}, "noon")], "Sent.")],
        ),
        (  # Anthropic
            [
                user([{"type": "text", "text": "17?"}]),
                agent([{"type": "tool_use", "id": "1", "name": "find", "input": {"id": 17}}]),
                user([{"type": "tool_result", "tool_use_id": "1", "content": "lost", "is_error": True}]),
            ],
            [("17?", [("find", {"id": 17}, "lost")], None)],
        ),
        (  # LangChain
            [
                {"type": "human", "data": {"content": "hi"}},
                {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "f", "args": {}, "id": "1"}]}},
            ],
            [("hi", [("f", {}, None)], None)],
        ),
        (
            [user([{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "x"}}])],
            [("see\n\n(1 part without text)", [], None)],
        ),
        ([{"role": "tool", "content": "alone"}], [(None, [("?", {}, "alone")], None)]),
    ],
)
def test_messages_become_turns_with_what_was_done_in_between(value, turns):
    talk = message_transcript(value)
    assert said(talk) == turns
    assert (talk.asker, talk.answerer, talk.is_rollout) == ("user", "agent", False)


def test_instructions_and_a_greeting_stand_before_the_first_turn():
    talk = message_transcript(
        [
            {"role": "system", "content": "Be kind."},
            {"role": "developer", "content": "Be short."},
            agent("Welcome!"),
            user("hi"),
        ]
    )
    assert (talk.instructions, talk.opening, said(talk)) == (
        "Be kind.\n\nBe short.",
        "Welcome!",
        [("hi", [], None)],
    )


@pytest.mark.parametrize(
    "value",
    [
        None,
        "hi",
        [],
        [1, 2],
        ["hi"],
        {"messages": []},
        {"messages": "hi"},
        {"role": "user", "content": "hi"},
        [{"role": "user", "name": "Bob"}],
        [{"role": "baker", "content": "bread"}],
        [user("hi"), {"text": "not a message"}],
        [user("hi"), "hello"],
        [{"type": "human"}],
        [user("hi")] * 10_001,
    ],
)
def test_other_data_is_no_conversation(value):
    assert conversation(value) is None


def test_a_rollout_is_a_conversation_too():
    rollout = Environment(lambda text: "no", ["the word!"], goals=["g"])
    dataset = Dataset(cases=[Case(inputs="g")])
    (case,) = dataset.evaluate_sync(RolloutTask(rollout), progress=False).cases
    assert conversation(case.output).is_rollout
