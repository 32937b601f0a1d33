import asyncio

import pytest

from calipers.agents import FunctionAdapter
from calipers.data.trace import ToolCall, Trace
from calipers.errors import InvalidOptionError, InvalidRolloutError
from calipers.rollouts import Environment, Message, MessagesTarget, Reply, TextTarget, as_target
from calipers.rollouts.targets import read_reply

TALK = [
    Message("system", "Be kind."),
    Message("user", "Hello"),
    Message("assistant", "Hi"),
    Message("user", "Bye"),
]


class Replying:
    def reply(self, messages):
        return f"{len(messages)} messages"


class Called:
    def __call__(self, conversation):
        return conversation[-1].content


class Invoked:
    def invoke(self, text):
        return text.upper()


def of_text(text):
    return text.upper()


async def of_text_later(text):
    return text.upper()


def of_messages(messages):
    return messages[0]["role"] + messages[-1]["content"]


def of_conversation(conversation, temperature=0):
    return conversation[0].role + conversation[-1].content


SHAPES = {
    "an object with reply": (Replying(), "4 messages"),
    "a function of a text": (of_text, "BYE"),
    "an async function of a text": (of_text_later, "BYE"),
    "a function of messages": (of_messages, "systemBye"),
    "a function of a conversation": (of_conversation, "systemBye"),
    "an object that is called with a conversation": (Called(), "Bye"),
    "an object with invoke": (Invoked(), "BYE"),
    "a built-in": (str.upper, "BYE"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_target_replies(shape):
    target, said = SHAPES[shape]

    async def ask():
        answer = as_target(target).reply(TALK)
        return await answer if asyncio.iscoroutine(answer) else answer

    assert asyncio.run(ask()) == said


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_target_plays_in_an_environment(shape):
    graph = Environment(SHAPES[shape][0], ["Bye"], goals=["g"]).rollout(0)
    assert [type(node.response) for node in graph.walk()] == [str]


@pytest.mark.parametrize(
    "wrong", [None, 3, "a text", ["a", "list"], Replying, object()], ids=lambda wrong: type(wrong).__name__
)
def test_what_is_no_target_is_refused_with_the_shapes_that_are(wrong):
    with pytest.raises(InvalidOptionError, match=r"reply\(messages\)"):
        as_target(wrong)


@pytest.mark.parametrize(
    "function",
    [lambda: "x", lambda text, more: "x", lambda messages, more: "x", lambda messages, /: "x"],
    ids=["nothing", "two texts", "messages and more", "messages by position"],
)
def test_a_function_that_cannot_be_called_with_what_is_said_is_no_target(function):
    with pytest.raises(InvalidOptionError, match="cannot be called with what is said alone"):
        as_target(function)


def test_a_target_of_text_may_be_given_the_whole_conversation():
    seen = TextTarget(of_text, transcript=True).reply(TALK)
    assert seen == "SYSTEM: BE KIND.\nUSER: HELLO\nASSISTANT: HI\nUSER: BYE"


@pytest.mark.parametrize("option", [{"system_prompt": "Be kind."}, {"opening": "Hello!"}], ids=str)
def test_what_a_target_of_text_would_never_see_is_refused(option):
    with pytest.raises(InvalidOptionError, match="would not see"):
        Environment(of_text, ["a"], **option)
    Environment(TextTarget(of_text, transcript=True), ["a"], **option)


def test_the_trace_of_an_agent_is_kept_in_the_node():
    def agent(text):
        return Trace(output_text="done", tool_calls=[ToolCall("book", {"to": "LA"})])

    for target in (agent, FunctionAdapter(agent)):
        (node,) = Environment(target, ["Book LA"], goals=["g"]).rollout(0).children
        assert node.response == "done"
        assert node.trace.tool_calls == (ToolCall("book", {"to": "LA"}),)


@pytest.mark.parametrize(
    "given",
    [
        None,
        3,
        b"bytes",
        ["text"],
        {"content": "x"},
        Reply(None),
        Reply("x", cost=-1),
        Reply("x", metadata=None),
        Reply("x", cost=float("nan")),
    ],
    ids=repr,
)
def test_what_is_no_reply_is_refused(given):
    with pytest.raises(InvalidRolloutError, match=r"got|must be"):
        read_reply(given)


@pytest.mark.parametrize("kind", [TextTarget, MessagesTarget])
def test_a_blocking_target_runs_in_a_thread_unless_it_says_otherwise(kind):
    async def later(text):
        return text

    def quick(text):
        return text

    quick.blocking = False
    assert kind(of_text).blocking
    assert not kind(later).blocking
    assert not kind(quick).blocking
    assert kind(of_text).name == "of_text"
