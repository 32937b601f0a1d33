"""One way to ask differently: a frozen value that makes an attack of a goal, alone or in a chain with others.

What counts:

- **A transformation is a function of its options, the goal and the source of chance.** The same three give the same
  attack, letter for letter; it remembers nothing.
- **It changes how something is asked, never what.** The goal comes from the user of the library.
- **An attack carries the name of what made it**, so that results can be told apart by it; in a row, the names are joined
  by `+`, the first change first.
"""

import random
from dataclasses import dataclass
from typing import ClassVar

from calipers.errors import InvalidOptionError, InvalidRolloutError
from calipers.rollouts.players import Attack

PLACE = "{goal}"
"""Where the request goes in a wording. It is replaced as it stands, so braces in a goal or a wording do no harm."""


@dataclass(frozen=True)
class Transformation:
    """Base of all transformations.

    One of your own says its `name` and what it does to a text:

    ```python
    @dataclass(frozen=True)
    class Shouted(Transformation):
        name = "shouted"

        def change(self, text, rng):
            return text.upper() + "!" * rng.randint(1, 3)
    ```
    """

    name: ClassVar[str] = ""
    """What its attacks are called in results."""
    family: ClassVar[str] = "other"
    """What it has in common with others: `encoding`, `disguise`, `framing`, `steering` or `hiding`."""

    def change(self, text: str, rng: random.Random) -> str:
        """The changed text. All chance comes from `rng`."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say what happens to a text: define change()"
        )

    def apply(self, goal: str, rng: random.Random) -> Attack:
        """The attack that asks for the goal in this way.

        Raises:
            InvalidRolloutError: the goal is not a text, or is blank.
        """
        return Attack(self.change(checked_goal(goal), rng), name=self.label)

    @property
    def label(self) -> str:
        """The name of its attacks; the class's own name where none was given."""
        return self.name or type(self).__name__

    @property
    def parts(self) -> "tuple[Transformation, ...]":
        """What a chain of this alone consists of."""
        return (self,)

    def __add__(self, other: "Transformation") -> "Chain":
        return Chain(*self.parts, *other.parts) if isinstance(other, Transformation) else NotImplemented


@dataclass(frozen=True)
class Direct(Transformation):
    """The request as it is: what every other attack has to be compared with. A target that gives way needs no attack."""

    name: ClassVar[str] = "direct"
    family: ClassVar[str] = "direct"

    def change(self, text: str, rng: random.Random) -> str:
        """The text itself."""
        del rng
        return text


@dataclass(frozen=True, init=False, repr=False)
class Chain(Transformation):
    """One after the other: `Chain(Base64(), RolePlay())`, also written `Base64() + RolePlay()`, encodes, then frames.

    Targets fall for a row where each change alone is known to them: a guard that decodes may not look into a story, and one
    that knows stories may not decode what is told in one.
    """

    family: ClassVar[str] = "chain"
    steps: tuple[Transformation, ...]

    def __init__(self, *steps: Transformation) -> None:
        wrong = [step for step in steps if not isinstance(step, Transformation)]
        if wrong or not steps:
            got = repr(wrong[0]) if wrong else "nothing"
            raise InvalidOptionError(f"a chain is made of transformations, such as Base64(), got {got}")
        object.__setattr__(self, "steps", steps)

    def change(self, text: str, rng: random.Random) -> str:
        """The text after every step."""
        for step in self.steps:
            text = step.change(text, rng)
        return text

    @property
    def label(self) -> str:
        """The names of the steps, the first change first."""
        return "+".join(step.label for step in self.steps)

    @property
    def parts(self) -> tuple[Transformation, ...]:
        """The steps, so that a longer chain stays flat."""
        return self.steps

    def __repr__(self) -> str:
        return f"Chain({', '.join(map(repr, self.steps))})"


def checked_goal(goal: object) -> str:
    """The goal, if it is one."""
    if not isinstance(goal, str) or not goal.strip():
        raise InvalidRolloutError(f"an attack needs a goal, a text that says what to ask for, got {goal!r}")
    return goal
