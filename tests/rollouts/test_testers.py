import asyncio
import inspect
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError, InvalidRolloutError, RolloutError
from calipers.rollouts import (
    Attack,
    Environment,
    ModelTester,
    Node,
    Reply,
    ScriptedTester,
    SoFar,
    TemplateTester,
    as_tester,
)
from calipers.rollouts.testers import read_attack


def so_far(*pairs, goal="the goal", opening=""):
    turns = tuple(Node("", attack, response) for attack, response in pairs)
    return SoFar(goal, turns, random.Random(0), opening=opening)


def said(tester, state):
    given = as_tester(tester).next_attack(state)

    async def wait():
        return await given

    given = asyncio.run(wait()) if inspect.isawaitable(given) else given
    return given.text if isinstance(given, Attack) else given


class Model:
    """A language model that remembers what it was asked, and says what it is told to."""

    def __init__(self, *texts):
        self.texts = list(texts)
        self.asked = []

    async def reply(self, messages):
        self.asked.append(messages)
        return Reply(self.texts.pop(0), cost=2.0)


def test_a_script_is_said_in_order_and_then_nothing():
    assert said(["a", "b"], so_far()) == "a"
    assert said(["a", "b"], so_far(("a", "no"))) == "b"
    assert said(["a", "b"], so_far(("a", "no"), ("b", "no"))) is None


def test_a_script_is_said_as_it_is():
    assert said(["{goal} {weather}"], so_far()) == "{goal} {weather}"


def test_templates_are_filled_in_with_what_happened():
    tester = TemplateTester(["{goal}, please", "{turn}: why {last_response} to {last_attack}? {{sic}}"])
    assert said(tester, so_far()) == "the goal, please"
    assert said(tester, so_far(("hello", "{no}"))) == "2: why {no} to hello? {sic}"
    assert said(tester, so_far(("a", "b"), ("c", "d"))) is None


def test_the_last_template_may_be_repeated():
    tester = TemplateTester(["{opening}", "again"], then="repeat")
    assert said(tester, so_far(opening="Hi")) == "Hi"
    assert said(tester, so_far(("a", "b"), ("c", "d"), ("e", "f"))) == "again"


@pytest.mark.parametrize(
    "template",
    ["{gaol}", "{}", "{0}", "{goal.upper}", "{goal!r}", "{goal:>10}", "{goal", "goal}", 3],
    ids=repr,
)
def test_a_template_that_cannot_be_filled_in_is_refused_when_it_is_made(template):
    with pytest.raises(InvalidOptionError, match="template"):
        TemplateTester([template])


@given(st.text(), st.text())
def test_whatever_was_said_stands_in_a_template_unchanged(goal, response):
    assert said(TemplateTester(["{goal}|{last_response}"]), so_far(goal=goal)) == f"{goal}|"
    tester = TemplateTester(["x", "{goal}|{last_response}"])
    assert said(tester, so_far(("x", response), goal=goal)) == f"{goal}|{response}"


@pytest.mark.parametrize("texts", [[], (), "text", [1], None], ids=repr)
@pytest.mark.parametrize("kind", [ScriptedTester, TemplateTester])
def test_a_tester_with_nothing_to_say_is_refused(kind, texts):
    with pytest.raises(InvalidOptionError):
        kind(texts)


def test_a_function_of_what_happened_is_a_tester_sync_or_async():
    async def later(so_far):
        return Attack(f"turn {so_far.turn}")

    assert said(lambda so_far: f"turn {so_far.turn}", so_far()) == "turn 1"
    assert said(later, so_far(("a", "b"))) == "turn 2"


def speaks_to(messages):
    return f"{messages[0]['role']}: {messages[0]['content'][-20:]}"


async def speaks_later(conversation):
    return conversation[-1].content


def test_any_target_of_conversations_plays_the_tester_in_the_place_of_one():
    assert isinstance(as_tester(speaks_to), ModelTester)
    assert said(speaks_to, so_far()).startswith("system: ")
    assert said(speaks_later, so_far(("a", "b"))) == "b"


def test_an_agent_in_the_place_of_a_tester_is_refused_with_the_way_to_make_it_one():
    class Agent:
        def invoke(self, text):
            return text

    with pytest.raises(InvalidOptionError, match=r"ModelTester\(TextTarget\(agent, transcript=True\)\)"):
        as_tester(Agent())


@pytest.mark.parametrize("wrong", [None, 3, "a text", ScriptedTester, {"a": 1}], ids=repr)
def test_what_is_no_tester_is_refused_with_the_shapes_that_are(wrong):
    with pytest.raises(InvalidOptionError, match="next_attack"):
        as_tester(wrong)


@pytest.mark.parametrize(
    "given",
    [
        3,
        ["a"],
        Attack(None),
        Attack("a", rewind=-1),
        Attack("a", rewind=True),
        Attack("a", cost=float("inf")),
        Attack("a", metadata=None),
        Attack("a", name=5),
        Attack("a", stop=1),
    ],
    ids=repr,
)
def test_what_is_no_move_is_refused(given):
    with pytest.raises(InvalidRolloutError):
        read_attack(given)


@pytest.mark.parametrize("given", [Attack("a", metadata=None), Attack("a", name=5)], ids=repr)
def test_a_tester_is_blamed_for_its_own_move(given):
    with pytest.raises(RolloutError, match="the tester failed"):
        Environment(lambda text: "no", lambda so_far: given, goals=["g"]).rollout(0)


def test_a_language_model_plays_the_tester_from_the_other_side():
    model = Model("Tell me!")
    assert said(model, so_far(("hello", "hi"), goal="the word")) == "Tell me!"
    ((system, *talk),) = model.asked
    assert system.role == "system"
    assert "the word" in system.content
    assert [(message.role, message.content) for message in talk] == [
        ("user", "Begin the conversation."),
        ("assistant", "hello"),
        ("user", "hi"),
    ]


def test_a_model_that_says_the_stop_token_ends_the_conversation():
    given = asyncio.run(ModelTester(Model("I give up. STOP"), stop_token="STOP").next_attack(so_far()))
    assert given.stop


def test_a_model_that_says_nothing_fails():
    with pytest.raises(InvalidRolloutError, match="said nothing"):
        said(ModelTester(Model("  ")), so_far())


def test_an_instruction_that_cannot_be_filled_in_is_refused():
    with pytest.raises(InvalidOptionError, match="weather"):
        ModelTester(Model(), instruction="{weather}")


def test_what_the_tester_costs_counts_too():
    graph = Environment(
        lambda messages: Reply("no", cost=1.0), Model("a", "b"), goals=["g"], depth=2
    ).rollout(0)
    assert [node.cost for node in graph.walk()] == [3.0, 3.0]
