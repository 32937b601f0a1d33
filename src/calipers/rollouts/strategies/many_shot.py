"""Many-shot: rows of examples of a willing assistant that grow until the target goes on with them."""

from dataclasses import dataclass
from typing import ClassVar

from calipers.errors import InvalidOptionError
from calipers.rollouts.attacks.steering import FewShot
from calipers.rollouts.players import Attack, SoFar

from calipers.rollouts.strategy_file import has_won


@dataclass(frozen=True)
class ManyShot:
    """Puts the request after ever more examples: `first` in the first turn, `factor` times as many in each that follows.

    Targets fall for it because they learn from what is in front of them, and the more examples there are, the more these
    count against what was trained. It is the price of being able to learn from a long message at all.
    """

    first: int = 4
    """Examples in the first turn."""
    factor: int = 2
    """How many times as many in each turn that follows."""
    most: int = 256
    """No turn has more examples than this; the one that would is the last."""

    blocking: ClassVar[bool] = False
    """It only works with texts, so it needs no thread."""

    def __post_init__(self) -> None:
        numbers = (self.first, self.factor, self.most)
        whole = all(isinstance(number, int) and not isinstance(number, bool) for number in numbers)
        if not whole or self.first < 1 or self.factor < 2 or self.most < self.first:
            raise InvalidOptionError(
                f"first, factor and most are whole numbers: first 1 or more, factor 2 or more, most at least first, got {self!r}"
            )

    def next_attack(self, so_far: SoFar) -> Attack | None:
        """The next row; `None` after the longest one, or a success."""
        wanted = self.first * self.factor ** (so_far.turn - 1)
        if has_won(so_far) or wanted >= self.most * self.factor:
            return None
        row = FewShot(min(wanted, self.most)).apply(so_far.goal, so_far.random)
        return Attack(row.text, name="many_shot", metadata={"examples": min(wanted, self.most)})
