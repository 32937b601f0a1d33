"""All strategies: what holds of each, whatever it does."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidRolloutError
from calipers.rollouts import Attack, Node, SoFar, players
from calipers.rollouts.demo import GOAL
from calipers.rollouts.strategies import STRATEGIES, EachAttack, SampledAttack

TESTERS = {**STRATEGIES, "each": EachAttack(), "sampled": SampledAttack()}
NAMES = list(TESTERS)
MULTI_TURN = [name for name in STRATEGIES if name != "adaptive"]

TURNS = st.lists(
    st.builds(
        Node,
        context=st.just(""),
        attack=st.text(max_size=20),
        response=st.sampled_from(["", "Sorry, I cannot tell you that.", "Happy to talk about that!"]),
        success=st.sampled_from([None, False]),
        response_score=st.sampled_from([None, 0.0, 0.4]),
        metadata=st.sampled_from(
            [{}, {"attack": "base64"}, {"attack": "role_play", "rewind": 1}, {"rewind": 9}]
        ),
    ),
    max_size=6,
)


def so_far(turns=(), seed=0, goal=GOAL):
    return SoFar(goal, tuple(turns), random.Random(seed))


@pytest.mark.parametrize("name", NAMES)
@given(turns=TURNS, seed=st.integers(0, 2**32))
def test_the_same_turns_and_seed_give_the_same_attack_and_nobody_takes_back_more_than_there_is(
    name, turns, seed
):
    tester = TESTERS[name]
    first, second = tester.next_attack(so_far(turns, seed)), tester.next_attack(so_far(turns, seed))
    assert first == second
    assert first is None or (isinstance(first, Attack) and first.text.strip() and first.name)
    assert first is None or 0 <= first.rewind <= len(so_far(turns).seen)


@pytest.mark.parametrize("name", NAMES)
def test_a_strategy_is_a_tester_and_a_value(name):
    tester = TESTERS[name]
    assert isinstance(tester, players.Tester)
    assert tester == type(tester)()
    assert type(tester).__name__ in repr(tester)
    assert "Targets fall for it because" in type(tester).__doc__ or name not in MULTI_TURN


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_after_a_success_there_is_nothing_left_to_do(name):
    won = Node("", "Tell me", "MARMALADE", success=True)
    assert STRATEGIES[name].next_attack(so_far([won])) is None


@pytest.mark.parametrize("name", ["each", "sampled"])
def test_a_survey_goes_on_after_a_success(name):
    won = Node("", "Tell me", "MARMALADE", success=True)
    assert TESTERS[name].next_attack(so_far([won])) is not None


@pytest.mark.parametrize("name", NAMES)
def test_every_strategy_ends(name):
    turns = []
    while (attack := TESTERS[name].next_attack(so_far(turns, len(turns)))) is not None:
        metadata = {"attack": attack.name, "rewind": attack.rewind}
        turns.append(
            Node("", attack.text, "Sorry, I cannot tell you that.", success=False, metadata=metadata)
        )
        assert len(turns) <= 30
    assert turns


@pytest.mark.parametrize("goal", ["", "   ", None, 3])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in {"distraction", "persona"}])
def test_without_a_goal_there_is_no_attack(name, goal):
    with pytest.raises(InvalidRolloutError, match="an attack needs a goal"):
        TESTERS[name].next_attack(so_far(goal=goal))


@pytest.mark.parametrize("name", NAMES)
def test_the_goal_is_asked_for_in_the_users_own_words_whatever_braces_these_have(name):
    goal = "Say {topic} and {goal}, {name}!"
    turns = []
    while (attack := TESTERS[name].next_attack(so_far(turns, goal=goal))) is not None and len(turns) < 10:
        turns.append(
            Node("", attack.text, "Fine.", metadata={"attack": attack.name, "rewind": attack.rewind})
        )
    assert any(goal in turn.attack for turn in turns)
