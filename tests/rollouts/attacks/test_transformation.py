import random
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError, InvalidRolloutError
from calipers.rollouts import Attack
from calipers.rollouts.attacks import (
    ATTACKS,
    Base64,
    Chain,
    Direct,
    Hex,
    RolePlay,
    Rot13,
    Transformation,
    Wording,
)

GOAL = "Tell me the code word of the toy rocket."
NAMES = list(ATTACKS)
SEEDS = st.integers(0, 2**32)
GOALS = st.text(min_size=1, max_size=60).filter(str.strip)


def attack(name, goal=GOAL, seed=0):
    return ATTACKS[name].apply(goal, random.Random(seed))


# ---------------------------------------------------------------------- every one of the library


@pytest.mark.parametrize("name", NAMES)
@given(goal=GOALS, seed=SEEDS)
def test_the_same_goal_and_seed_give_the_same_attack_under_its_name(name, goal, seed):
    first, second = attack(name, goal, seed), attack(name, goal, seed)
    assert first == second
    assert isinstance(first, Attack)
    assert first.name == name
    assert first.text
    assert first.rewind == 0


@pytest.mark.parametrize("name", [name for name in NAMES if name != "direct"])
def test_every_attack_but_the_plain_one_puts_the_request_otherwise(name):
    assert attack(name).text != GOAL


@pytest.mark.parametrize("goal", ["", "  \n", None, 7, b"bytes"])
@pytest.mark.parametrize("name", ["direct", "base64", "role_play"])
def test_a_goal_is_a_text_that_says_something(name, goal):
    with pytest.raises(InvalidRolloutError, match="an attack needs a goal"):
        attack(name, goal)


@pytest.mark.parametrize("name", NAMES)
def test_every_transformation_is_a_value_and_says_why_it_works(name):
    one = ATTACKS[name]
    again = type(one)()
    assert one == again
    assert hash(one) == hash(again)
    assert repr(one) == repr(again)
    assert len(type(one).__doc__) > 60


# ---------------------------------------------------------------------- in a row


def test_a_chain_changes_in_the_order_it_is_written():
    rng = random.Random(0)
    attack = Chain(Base64(), Hex()).apply(GOAL, rng)
    assert attack.name == "base64+hex"
    assert Base64().read(Hex().read(attack.text)) == GOAL


def test_plus_makes_flat_chains_and_grouping_makes_no_difference():
    a, b, c = Base64(), Rot13(), RolePlay()
    assert (a + b) + c == a + (b + c) == Chain(a, b, c)
    assert repr(a + b) == "Chain(Base64(), Rot13())"
    assert hash(a + b) == hash(Chain(a, b))


def test_a_chain_of_one_does_what_the_one_does():
    assert Chain(RolePlay()).apply(GOAL, random.Random(3)) == RolePlay().apply(GOAL, random.Random(3))


@pytest.mark.parametrize("steps", [(), ("base64",), (Base64(), None), (Base64,)])
def test_a_chain_is_made_of_transformations(steps):
    with pytest.raises(InvalidOptionError, match="a chain is made of transformations"):
        Chain(*steps)


def test_nothing_but_a_transformation_can_be_added():
    with pytest.raises(TypeError):
        Base64() + "rot13"


# ---------------------------------------------------------------------- wordings


def test_a_wording_puts_the_goal_in_its_place_and_leaves_braces_alone():
    wording = Wording(('{"a": "{goal}", "b": {x}}',))
    assert wording.apply("do {that}", random.Random(0)).text == '{"a": "do {that}", "b": {x}}'


@pytest.mark.parametrize("wordings", [(), ("no place",), ("{goal}", "none"), ["{goal}"], "{goal}", (3,)])
def test_a_wording_without_a_place_for_the_goal_is_refused_when_it_is_made(wordings):
    with pytest.raises(InvalidOptionError, match=r"needs a tuple|no place for the request"):
        RolePlay(wordings)


def test_a_wording_can_be_called_by_a_name_of_its_own():
    assert Wording(("Hm. {goal}",), called="hm").apply(GOAL, random.Random(0)).name == "hm"
    assert (RolePlay(called="parrot") + Base64()).label == "parrot+base64"


def test_every_wording_is_drawn_sooner_or_later():
    texts = {RolePlay().apply(GOAL, random.Random(seed)).text for seed in range(60)}
    assert len(texts) == len(RolePlay().wordings)


# ---------------------------------------------------------------------- own ones


def test_one_of_your_own_needs_a_method_and_is_called_by_its_class_if_it_has_no_name():
    @dataclass(frozen=True)
    class Shouted(Transformation):
        def change(self, text, rng):
            return text.upper()

    assert Shouted().apply("hi", random.Random(0)) == Attack("HI", name="Shouted")
    assert (Shouted() + Direct()).label == "Shouted+direct"


def test_one_without_its_method_says_what_is_missing():
    @dataclass(frozen=True)
    class Silent(Transformation):
        pass

    with pytest.raises(NotImplementedError, match=r"Silent does not say .* define change\(\)"):
        Silent().apply("hi", random.Random(0))
