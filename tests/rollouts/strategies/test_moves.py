"""What each strategy does, move by move."""

import random

from calipers.rollouts import Node, SoFar
from calipers.rollouts.attacks import Base64, Hex, Rot13
from calipers.rollouts.demo import GOAL
from calipers.rollouts.strategies import (
    ESCALATING,
    SMALL_TALK,
    Adaptive,
    AssumedPersona,
    Backtracking,
    Distraction,
    EachAttack,
    Escalation,
    ManyShot,
    SampledAttack,
)

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
