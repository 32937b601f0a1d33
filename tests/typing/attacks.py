# pyright: reportUnnecessaryTypeIgnoreComment=true
"""What type checkers infer about attacks, strategies and the demo target. This code is never run."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_type

from calipers.rollouts import Attack, Reply, SoFar, Target, Tester
from calipers.rollouts.attacks import ATTACKS, Base64, Chain, Encoding, RolePlay, Transformation
from calipers.rollouts.demo import VaultAssistant, Weakness
from calipers.rollouts.strategies import STRATEGIES, Backtracking, EachAttack, Escalation


@dataclass(frozen=True)
class Shouted(Transformation):
    name = "shouted"
    marks: int = 3

    def change(self, text: str, rng: random.Random) -> str:
        return text.upper() + "!" * rng.randint(1, self.marks)


@dataclass(frozen=True)
class Upside(Encoding):
    name = "upside"
    instruction = "Turn it around."

    def encode(self, text: str) -> str:
        return text[::-1]

    def decode(self, text: str) -> str:
        return text[::-1]


@dataclass(frozen=True)
class Stubborn:
    def next_attack(self, so_far: SoFar) -> Attack | None:
        return None if so_far.turn > 3 else Attack(so_far.goal, name="stubborn")


assert_type(ATTACKS, Mapping[str, Transformation])
assert_type(Base64() + RolePlay(), Chain)
assert_type(Shouted(2).apply("goal", random.Random(0)), Attack)
assert_type(Upside().read("text"), str)

testers: list[Tester] = [
    Stubborn(),
    Escalation(),
    STRATEGIES["persona"],
    EachAttack(["base64", Shouted()]),
    Backtracking((Upside(),)),
]
target: Target = VaultAssistant(weaknesses={Weakness.BASE64, "rot13"})
assert_type(VaultAssistant.hardened(seed=1), VaultAssistant)
assert_type(VaultAssistant().reply([]), Reply)

Base64() + "rot13"  # type: ignore[operator]
Chain("base64")  # type: ignore[arg-type]
