"""A space of independent factors: the attack, the goal, the tone, a number of words; inputs are made of one option of each."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from math import log
from typing import Any

from calipers.data.argument_checks import check_function, check_mapping, is_number
from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidOptionError

from .proposal import Proposal

_NEAR = 0.8
"""The share of changes of a number that go to one near by."""


@dataclass(frozen=True)
class Factors:
    """Each factor is drawn on its own, and a function makes inputs of them.

    ```python
    Factors({"tone": ["polite", "angry"], "words": range(1, 50)}, build=lambda tone, words: ...)
    ```
    """

    options: Mapping[str, Sequence[Any]]
    """The options of each factor, plain data each."""
    _: KW_ONLY
    build: Callable[..., Any] | None = None
    """Makes inputs of the choices, given by name, or a `Proposal` without choices; `None`: the inputs are the choices themselves, as a dict."""
    weights: Mapping[str, Sequence[float]] | None = None
    """How likely each option of a factor is, in any unit; a factor that is left out has all its options equally likely."""

    def __post_init__(self) -> None:
        check_mapping("options", self.options)
        check_function("build", self.build, or_none=True)
        if not self.options:
            raise InvalidOptionError("Factors needs at least one factor, got none")
        for name, options in self.options.items():
            if isinstance(options, str) or not isinstance(options, Sequence) or not options:
                raise InvalidOptionError(
                    f"the options of the factor {name!r} are a list of at least one, got {safe_repr(options):.200}"
                )
        for name, weights in (self.weights or {}).items():
            sizes = len(self.options.get(name, ())), len(weights)
            if sizes[0] != sizes[1] or not all(is_number(each) and each >= 0 for each in weights):
                raise InvalidOptionError(
                    f"the weights of the factor {name!r} are one number from 0 for each of its {sizes[0]} options, "
                    f"got {safe_repr(weights):.200}"
                )
            if not sum(weights) > 0:
                raise InvalidOptionError(f"no option of the factor {name!r} has a weight above 0")

    @property
    def keeps_distribution(self) -> bool:
        """Yes: each factor is drawn on its own."""
        return True

    def sample(self, rng: random.Random) -> Proposal:
        """One option of each factor."""
        return self.proposal({name: self.draw(name, rng) for name in self.options})

    def redraw(self, proposal: Proposal, rng: random.Random) -> Proposal:
        """The same with one factor drawn anew."""
        name = rng.choice(list(self.options))
        return self.proposal({**proposal.choices, name: self.draw(name, rng)})

    def vary(self, proposal: Proposal, rng: random.Random) -> Proposal:
        """The proposal with another option of one factor, however unlikely; of a factor with numbers, mostly one that is near.

        Unlike a redraw, it does not keep the distribution.
        """
        names = [name for name, options in self.options.items() if len(options) > 1]
        if not names:
            return proposal
        name = rng.choice(names)
        options, before = self.options[name], proposal.choices[name]
        if len(options) > 2 and rng.random() < _NEAR and all(map(is_number, options)):
            reach = max(1.0, len(options) / 10)
            at = options.index(before) + round(rng.choice([-1, 1]) * (0.5 + rng.expovariate(1 / reach)))
            after = options[min(max(at, 0), len(options) - 1)]
        else:
            after = rng.choice([option for option in options if option != before])
        return self.proposal({**proposal.choices, name: after})

    def proposal(self, choices: Mapping[str, Any]) -> Proposal:
        """The inputs that these choices make."""
        inputs = dict(choices) if self.build is None else self.build(**choices)
        if isinstance(inputs, Proposal):
            return replace(inputs, choices=dict(choices))
        return Proposal(inputs, choices=dict(choices))

    def probabilities(self, name: str) -> list[float]:
        """How likely each option of a factor is."""
        weights = (self.weights or {}).get(name) or [1.0] * len(self.options[name])
        total = sum(weights)
        return [weight / total for weight in weights]

    def log_probability(self, choices: Mapping[str, Any]) -> float:
        """The logarithm of how likely these choices are; minus infinity where one never comes.

        Raises:
            InvalidOptionError: a factor has no such option.
        """
        found = 0.0
        for name, options in self.options.items():
            chosen = choices.get(name)
            if chosen not in options:
                raise InvalidOptionError(f"the factor {name!r} has no option {safe_repr(chosen):.200}")
            chances = self.probabilities(name)
            chance = sum(p for option, p in zip(options, chances, strict=True) if option == chosen)
            found += log(chance) if chance > 0 else float("-inf")
        return found

    def draw(self, name: str, rng: random.Random) -> Any:
        """An option of one factor."""
        options, weights = self.options[name], (self.weights or {}).get(name)
        return rng.choice(options) if weights is None else rng.choices(options, weights)[0]
