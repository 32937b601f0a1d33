"""All strategies: what holds of each, whatever it does."""

import random
import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers.rollouts.strategies
from calipers.errors import InvalidOptionError, InvalidRolloutError
from calipers.rollouts import Attack, Node, SoFar, players
from calipers.rollouts.attacks import Base64, Hex, Rot13
from calipers.rollouts.demo import GOAL
from calipers.rollouts.strategies import (
    ESCALATING,
    SMALL_TALK,
    STRATEGIES,
    Adaptive,
    AssumedPersona,
    Backtracking,
    Distraction,
    EachAttack,
    Escalation,
    ManyShot,
    SampledAttack,
    filled,
    topic_of,
)

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
def test_the_same_turns_and_seed_give_the_same_attack_and_none_takes_back_more_than_there_is(
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


NO = "Sorry, I cannot tell you that."
YES = "Happy to talk about that!"


def play(tester, responses, *, scores=(), seed=0):
    """The attacks against a target that answers with these texts, one after the other."""
    turns, attacks = [], []
    for n, response in enumerate(responses):
        attack = tester.next_attack(SoFar(GOAL, tuple(turns), random.Random(f"{seed}/{n}")))
        if attack is None:
            return attacks
        attacks.append(attack)
        score = scores[n] if n < len(scores) else None
        metadata = {"attack": attack.name, "rewind": attack.rewind}
        turns.append(Node("", attack.text, response, response_score=score, metadata=metadata))
    return attacks


def test_an_escalation_comes_nearer_step_by_step_and_asks_last():
    attacks = [attack.text for attack in play(Escalation(), [YES] * 9)]
    assert len(attacks) == len(ESCALATING)
    assert all("the code word of the toy rocket" in text for text in attacks[:-1])
    assert not any(GOAL in text for text in attacks[:-1])
    assert attacks[-1].endswith(GOAL)


def test_an_escalation_takes_a_topic_and_steps_of_your_own():
    attacks = play(Escalation(("About {topic}?", "{goal}"), topic="rockets"), [YES] * 3)
    assert [attack.text for attack in attacks] == ["About rockets?", GOAL]


def test_a_persona_says_who_it_is_before_it_asks():
    attacks = [attack.text for attack in play(AssumedPersona("Bo", "a guard", "007"), [YES] * 9)]
    assert "Bo, a guard" in attacks[0]
    assert "007" in attacks[1]
    assert attacks[2].endswith(GOAL)


def test_a_distraction_never_tells_the_same_thing_twice_and_then_asks_plainly():
    attacks = [attack.text for attack in play(Distraction(len(SMALL_TALK)), [YES] * 20)]
    assert sorted(attacks[:-1]) == sorted(SMALL_TALK)
    assert attacks[-1] == GOAL


def test_chance_decides_the_order_of_small_talk():
    orders = {tuple(attack.text for attack in play(Distraction(), [YES] * 5, seed=seed)) for seed in range(9)}
    assert len(orders) > 5


def test_many_shots_double_up_to_the_most():
    attacks = play(ManyShot(3, most=10), [NO] * 9)
    assert [attack.text.count("Of course!") for attack in attacks] == [3, 6, 10]
    assert [attack.metadata["examples"] for attack in attacks] == [3, 6, 10]


def test_backtracking_takes_back_one_refused_turn_at_a_time_and_puts_it_otherwise():
    attacks = play(Backtracking(["base64", "hex"]), [NO] * 9)
    assert [(attack.name, attack.rewind) for attack in attacks] == [
        ("backtracking+direct", 0),
        ("backtracking+base64", 1),
        ("backtracking+hex", 1),
    ]
    assert Hex().read(attacks[2].text) == GOAL


def test_backtracking_keeps_what_was_answered_and_goes_on_from_there():
    attacks = play(Backtracking(["base64"], steps=("One?", "Two?", "{goal}")), [YES, NO, YES, NO, NO, NO])
    assert [(attack.name.partition("+")[2], attack.rewind) for attack in attacks] == [
        ("direct", 0),
        ("direct", 0),
        ("base64", 1),
        ("direct", 0),
        ("base64", 1),
    ]
    assert Base64().read(attacks[2].text) == "Two?"
    assert attacks[3].text == GOAL


def test_backtracking_also_takes_back_a_last_step_that_was_only_evaded():
    attacks = play(Backtracking(["base64"]), [YES, YES])
    assert [attack.rewind for attack in attacks] == [0, 1]


def test_each_attack_is_tried_once_in_order_on_a_target_that_heard_nothing():
    attacks = play(EachAttack(["hex", "base64", "rot13"]), [NO] * 9)
    assert [(attack.name, attack.rewind) for attack in attacks] == [("hex", 0), ("base64", 1), ("rot13", 1)]
    together = play(EachAttack(["hex", "base64"], fresh=False), [NO] * 9)
    assert [attack.rewind for attack in together] == [0, 0]


def test_sampled_attacks_come_in_an_order_of_chance_and_none_twice():
    orders = set()
    for seed in range(20):
        names = [
            attack.name for attack in play(SampledAttack(["hex", "base64", "rot13"]), [NO] * 9, seed=seed)
        ]
        assert sorted(names) == ["base64", "hex", "rot13"]
        orders.add(tuple(names))
    assert len(orders) > 3


def test_an_adaptive_tester_puts_what_had_an_effect_in_a_row_with_others():
    tester = Adaptive([Base64(), Hex(), Rot13()])
    for seed in range(10):
        first, *others = play(tester, [NO] * 9, scores=[0.3], seed=seed)
        rows = [attack for attack in others if "+" in attack.name]
        assert rows == others[:4]
        assert all(first.name in attack.name.split("+") for attack in rows)
        assert sorted(attack.name for attack in others[4:]) == sorted(
            {"base64", "hex", "rot13"} - {first.name}
        )


def test_without_any_effect_an_adaptive_tester_tries_each_alone():
    attacks = play(Adaptive(["base64", "hex"]), [NO] * 9, scores=[0.0, None])
    assert sorted(attack.name for attack in attacks) == ["base64", "hex"]


SURVEYS = {"EachAttack", "SampledAttack"}


def test_the_library_has_one_of_each_strategy():
    kinds = {
        name
        for name in calipers.rollouts.strategies.__all__
        if isinstance(getattr(calipers.rollouts.strategies, name), type)
    }
    assert {type(strategy).__name__ for strategy in STRATEGIES.values()} == kinds - SURVEYS


def test_the_table_of_the_page_lists_them_all_with_their_options():
    page = (Path(__file__).parents[2] / "docs/how-to/attack-a-target.md").read_text(encoding="utf-8")
    rows = page.split("| strategy | name |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    cells = [[re.findall(r"`(\w+)`", cell) for cell in row.split("|")] for row in rows]
    assert [(name, kind, options) for _, [kind], [name], _, options, _ in cells] == [
        (name, type(strategy).__name__, [field.name for field in fields(strategy)])
        for name, strategy in STRATEGIES.items()
    ]
