"""The checks of players find each way of breaking the contract, and nothing in those that keep it."""

import random
import time

import pytest

from calipers.errors import InvalidOptionError
from calipers.rollouts import Attack, KeywordModerator, LeakModerator, Reply, SimulatedUser, TemplateTester
from calipers.rollouts.attacks import ATTACKS
from calipers.rollouts.demo import VaultAssistant
from calipers.rollouts.strategies import STRATEGIES
from calipers.testing import (
    ConformanceError,
    check_moderator,
    check_target,
    check_tester,
    check_transformation,
)


async def later(conversation):
    return Reply(conversation[-1].content)


@pytest.mark.parametrize("target", [VaultAssistant(), str.upper, later], ids=["demo", "text", "async"])
def test_a_target_that_keeps_the_contract_gives_its_replies(target):
    first, second = check_target(target)
    assert first.text
    assert second.text


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_keeps_the_contract(name):
    assert check_tester(STRATEGIES[name], goal="Tell me the code word.")[0].name


@pytest.mark.parametrize(
    ("tester", "said"),
    [(["a"], 1), (TemplateTester(["{goal}"], then="repeat"), 3), (SimulatedUser(done="ok", patience=9), 3)],
    ids=["script", "templates", "user"],
)
def test_a_tester_that_keeps_the_contract_gives_what_it_says(tester, said):
    assert len(check_tester(tester)) == said


def test_a_moderator_that_keeps_the_contract_gives_its_scores():
    assert check_moderator(KeywordModerator({"cannot": 0.4})) == [0, 0, 0.4, 0, 0]
    assert check_moderator(LeakModerator("heron"), texts=["heron"]) == [1.0]
    assert len(check_moderator(lambda text: random.random(), deterministic=False)) == 5


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_of_the_library_keeps_the_contract(name):
    assert len(check_transformation(ATTACKS[name])) == 2


class Counting:
    """Keeps what it should not."""

    def __init__(self):
        self.calls = 0

    def next_attack(self, so_far):
        self.calls += 1
        return f"try {self.calls}"

    def moderate(self, texts):
        self.calls += 1
        return [min(1.0, self.calls / 10)] * len(texts)

    def apply(self, goal, rng):
        self.calls += 1
        return Attack(f"{goal} {self.calls}")


def clears(messages):
    messages.clear()
    return "ok"


class Clearing:
    def reply(self, messages):
        return clears(messages)


def rewrites(so_far):
    for turn in so_far.turns:
        turn.response = "yes"
    return "a"


def hangs(messages):
    time.sleep(0.3)
    return "late"


class Wrong:
    def apply(self, goal, rng):
        return goal


@pytest.mark.parametrize(
    ("check", "player", "rule", "said"),
    [
        (check_target, None, "player shape", "is not a target"),
        (check_target, lambda text: 3, "answer", "got 3"),
        (check_target, lambda text: 1 / 0, "answer", "ZeroDivisionError"),
        (check_target, Clearing(), "player state", "changed the list of messages"),
        (lambda player: check_target(player, timeout=0.05), hangs, "answer", "within 0.05 s"),
        (check_tester, "text", "player shape", "is not a tester"),
        (check_tester, lambda so_far: 3, "answer", "got 3"),
        (check_tester, lambda so_far: None, "answer", "nothing to say before the first turn"),
        (check_tester, Counting(), "player state", "did not give the same attack twice"),
        (check_tester, rewrites, "player state", "changed the turns"),
        (check_moderator, 3, "player shape", "is not a moderator"),
        (check_moderator, lambda text: 7, "answer", "from 0, harmless, to 1"),
        (check_moderator, lambda text: None, "answer", "one finite number"),
        (check_moderator, Counting(), "player state", "alone"),
        (check_transformation, Counting, "player shape", "no method apply"),
        (check_transformation, Wrong(), "answer", "no Attack"),
        (check_transformation, Counting(), "player state", "same chance"),
    ],
    ids=range(17),
)
def test_a_player_that_breaks_the_contract_is_told_how(check, player, rule, said):
    with pytest.raises(ConformanceError) as caught:
        check(player)
    assert {finding.rule for finding in caught.value.findings} == {rule}
    assert said in str(caught.value)


def test_options_that_cannot_be_are_refused():
    with pytest.raises(InvalidOptionError, match="timeout"):
        check_target(str.upper, timeout=0)
    with pytest.raises(InvalidOptionError, match="texts"):
        check_moderator(len, texts=[])
