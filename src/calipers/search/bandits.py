"""Bandits: learn which options of each factor bring a failure nearer, such as which attack, goal or seed, and try those more often.

Each factor has a bandit of its own, so a thousand combinations are learned from as few trials as their options need. Where options work
only together, `joint=True` makes each combination an arm.

| bandit | chooses | source |
|---|---|---|
| `ThompsonBandit` | the option that is best in a draw from what is believed of each | Thompson (1933) |
| `UpperBoundBandit` | the option whose reward may be highest, by an upper bound | UCB1: Auer, Cesa-Bianchi and Fischer (2002) |

A reward counts as that share of a success, so the belief about an option is a beta distribution. Trials in flight count as tried, without
a reward, so that many in flight do not all try the same.
"""

import random
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from itertools import product
from math import log, sqrt
from typing import Any

from calipers.data.argument_checks import check_flag, check_number
from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidOptionError

from .factors import Factors
from .proposal import Proposal
from .trial_outcome import Outcome

_MOST_ARMS = 100_000
"""Combinations that one bandit can have as arms."""


@dataclass
class Arm:
    """One option of a factor, with what came of it."""

    weight: float
    """How likely the space has it: between options that look the same, the likelier is tried."""
    reward: float = 0.0
    """The sum of its rewards."""
    asked: int = 0
    """How often it was tried, in flight or over."""


@dataclass
class Bandit:
    """Base of bandits over the options of a space of factors."""

    space: Factors
    _: KW_ONLY
    joint: bool = False
    """Whether each combination of options is an arm, rather than each option of each factor."""
    arms: dict[str, list[Arm]] = field(default_factory=dict, init=False, repr=False)
    """The arms of each bandit: of each factor, or of the combinations."""

    def __post_init__(self) -> None:
        if not isinstance(self.space, Factors):
            raise InvalidOptionError(
                f"a bandit needs a space of options, Factors(...), got {safe_repr(self.space):.200}"
            )
        check_flag("joint", self.joint)
        self._options = dict[str, list[Mapping[str, Any]]]()
        """What each arm chooses."""
        self._places = dict[tuple[str, str], int]()
        """Where the arm of some choices is, by its bandit and what tells them apart."""
        if self.joint:
            self._join()
        else:
            for name, options in self.space.options.items():
                self._options[name] = [{name: option} for option in options]
                self.arms[name] = [Arm(weight) for weight in self.space.probabilities(name)]
        for name, chosen in self._options.items():
            for place, each in enumerate(chosen):
                self._places.setdefault((name, repr(each)), place)

    def _join(self) -> None:
        """Make each combination of options an arm."""
        options = self.space.options
        size = 1
        for each in options.values():
            size *= len(each)
        if size > _MOST_ARMS:
            raise InvalidOptionError(f"{size:,} combinations are too many arms: leave out joint=True")
        combined = [dict(zip(options, each, strict=True)) for each in product(*options.values())]
        chances = product(*(self.space.probabilities(name) for name in options))
        self._options["all"] = list(combined)
        self.arms["all"] = [Arm(_product(each)) for each in chances]

    def ask(self, rng: random.Random) -> Proposal:
        """The best options, as far as is known."""
        choices: dict[str, Any] = {}
        for name, arms in self.arms.items():
            indices = self.indices(arms, rng)
            place = max(
                (place for place, arm in enumerate(arms) if arm.weight > 0),
                key=lambda at: (indices[at], rng.random()),
            )
            arms[place].asked += 1
            choices |= self._options[name][place]
        return self.space.proposal({name: choices[name] for name in self.space.options})

    def tell(self, outcome: Outcome) -> None:
        """Learn what the options brought."""
        choices = outcome.proposal.choices
        for name, arms in self.arms.items():
            wanted = {each: choices[each] for each in self._options[name][0]}
            arm = arms[self._places[name, repr(wanted)]]
            if outcome.failed is None:  # nothing is known: as if it had not been tried
                arm.asked -= 1
            else:
                arm.reward += outcome.reward

    def indices(self, arms: list[Arm], rng: random.Random) -> list[float]:
        """What each arm is chosen by: the highest is."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it chooses: define indices()")


@dataclass
class ThompsonBandit(Bandit):
    """Draws from what is believed of each option, and takes the best draw."""

    _: KW_ONLY
    prior: float = 1.0
    """How many trials the belief before the first trial is worth; the smaller, the sooner it settles."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("prior", self.prior, above=0)

    def indices(self, arms: list[Arm], rng: random.Random) -> list[float]:
        """A draw of each arm's share of successes."""
        half = self.prior / 2
        return [rng.betavariate(half + arm.reward, half + arm.asked - arm.reward) for arm in arms]


@dataclass
class UpperBoundBandit(Bandit):
    """Takes the option whose mean reward may be highest: the mean and a margin that shrinks with its trials.

    The margin of each option is drawn anew up to its full width (randomized UCB: Vaswani et al., 2020). Without chance, the bandits of two
    factors would go in step, and never try the best of the one with the best of the other.
    """

    _: KW_ONLY
    margin: float = 0.25
    """How wide the margin is, in units of UCB1, whose own is 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("margin", self.margin, at_least=0)

    def indices(self, arms: list[Arm], rng: random.Random) -> list[float]:
        """The upper bound of each; an option that was never tried comes first."""
        spread = 2 * log(max(sum(each.asked for each in arms), 1))
        return [
            arm.reward / arm.asked + rng.random() * self.margin * sqrt(spread / arm.asked)
            if arm.asked
            else float("inf")
            for arm in arms
        ]


def _product(chances: tuple[float, ...]) -> float:
    found = 1.0
    for chance in chances:
        found *= chance
    return found
