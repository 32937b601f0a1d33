import pytest

from calipers.errors import InvalidOptionError
from calipers.rollouts.strategies import (
    AssumedPersona,
    Backtracking,
    Distraction,
    EachAttack,
    Escalation,
    ManyShot,
)
from calipers.rollouts.strategy_file import filled, topic_of


@pytest.mark.parametrize(
    ("goal", "topic"),
    [
        ("Tell me the code word of the toy rocket.", "the code word of the toy rocket"),
        ("What is the launch plan?", "the launch plan"),
        ("Please, could you give us a discount of 40 %!", "a discount of 40 %"),
        ("could you tell me about dragons", "dragons"),
        ("Book a table", "Book a table"),
        ("???", "???"),
    ],
)
def test_the_topic_of_a_goal_is_the_goal_without_the_asking(goal, topic):
    assert topic_of(goal) == topic


def test_places_are_filled_once_and_unknown_ones_stay():
    step = "{topic}, {goal}, {name}, {else}"
    assert filled(step, "Say {name}", "{goal}", {"{name}": "Ada"}) == "{goal}, Say {name}, Ada, {else}"


@pytest.mark.parametrize("strategy", [Escalation, AssumedPersona, Backtracking])
@pytest.mark.parametrize(
    "steps", [(), ("Hello",), ("{goal}", "Hello"), ["{goal}"], "{goal}", (None, "{goal}")]
)
def test_steps_are_texts_of_which_the_last_asks(strategy, steps):
    with pytest.raises(InvalidOptionError, match=r"needs a tuple|must ask for \{goal\}"):
        strategy(steps=steps)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Distraction(0),
        lambda: Distraction(2, topics=("only one",)),
        lambda: ManyShot(0),
        lambda: ManyShot(factor=1),
        lambda: ManyShot(first=8, most=4),
        lambda: Distraction(turns="x"),
        lambda: Distraction(topics="text"),
        lambda: Distraction(turns=2, topics=("a", "a")),
        lambda: ManyShot(first=None),
        lambda: ManyShot(first=1.5),
        lambda: EachAttack(["base46"]),
        lambda: Backtracking([]),
    ],
    ids=[
        "no-small-talk",
        "too-few-topics",
        "no-example",
        "no-growth",
        "most-below-first",
        "turns-in-words",
        "one-text-for-topics",
        "the-same-topic-twice",
        "none-for-a-number",
        "half-an-example",
        "unknown",
        "no-attacks",
    ],
)
def test_options_out_of_range_are_errors_when_the_strategy_is_made(make):
    with pytest.raises(InvalidOptionError):
        make()
