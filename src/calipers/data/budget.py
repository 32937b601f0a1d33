"""What a run may spend: money, tokens, calls of models, time; and what became of that.

A `Budget` is for the agent and its judges together, and beside that, or instead, for each of them apart:

```python
Budget(cost=5.0, seconds=3600)                  # US dollars for both together, and an hour
Budget(cost=5.0, judges=Budget(cost=1.0))       # of which judges may have one
```

What counts is what a report counts (`calipers.data.spending`): a call is one that a provider answered, or that was cut off, tokens are those read and
written, and an answer from a cache costs nothing now.
"""

from typing import Any, Final, Literal, TypeAlias, get_args

import msgspec

from calipers.errors import InvalidOptionError

from .argument_checks import check_number, check_whole_number
from .spending import INPUT_TOKENS, OUTPUT_TOKENS, REQUESTS, paid_now

Side: TypeAlias = Literal["agent", "judges"]
"""Who spends: the task, or the evaluators."""
SIDES: Final[tuple[Side, ...]] = get_args(Side)
Unit: TypeAlias = Literal["cost", "tokens", "calls"]
"""What is spent, beside time."""
UNITS: Final[tuple[Unit, ...]] = get_args(Unit)


class Spent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was spent."""

    cost: float = 0.0
    """US dollars, of the calls whose price is known."""
    tokens: int = 0
    """Read and written."""
    calls: int = 0
    """Calls of models that were answered, or cut off before."""

    def of(self, unit: Unit) -> float:
        """How much of this."""
        found: float = getattr(self, unit)
        return found

    @classmethod
    def by(cls, metrics: dict[str, float]) -> "Spent":
        """What metrics tell that was spent now, and not before."""
        tokens = metrics.get(INPUT_TOKENS, 0) + metrics.get(OUTPUT_TOKENS, 0)
        return cls(paid_now(metrics), int(tokens), int(metrics.get(REQUESTS, 0)))

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.cost + other.cost, self.tokens + other.tokens, self.calls + other.calls)

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(self.cost - other.cost, self.tokens - other.tokens, self.calls - other.calls)

    def at_least(self, other: "Spent") -> "Spent":
        """Of each unit the larger amount."""
        return Spent(max(self.cost, other.cost), max(self.tokens, other.tokens), max(self.calls, other.calls))


class Limit(msgspec.Struct, frozen=True):
    """One limit of a budget."""

    unit: Unit
    most: float
    side: Side | None = None
    """Whose spending it limits; `None`: that of both together."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """Whose spending counts."""
        return SIDES if self.side is None else (self.side,)


class Budget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run may spend at most. `None` is no limit."""

    cost: float | None = None
    """US dollars."""
    tokens: int | None = None
    """Tokens, read and written."""
    calls: int | None = None
    """Calls of models."""
    seconds: float | None = None
    """Time, from when the run begins or is resumed."""
    agent: "Budget | None" = None
    """What the agent alone may spend."""
    judges: "Budget | None" = None
    """What the evaluators alone may spend."""

    def __post_init__(self) -> None:
        check_number("Budget(cost=...)", self.cost, above=0, of="US dollars", or_none=True)
        check_whole_number("Budget(tokens=...)", self.tokens, at_least=1, or_none=True)
        check_whole_number("Budget(calls=...)", self.calls, at_least=1, or_none=True)
        check_number("Budget(seconds=...)", self.seconds, above=0, of="seconds", or_none=True)
        for side in SIDES:
            part: Any = getattr(self, side)
            if part is None:
                continue
            if not isinstance(part, Budget):
                raise InvalidOptionError(
                    f"Budget({side}=...) must be a Budget, such as Budget(cost=1.0), got {part!r:.200}"
                )
            if part.seconds is not None or part.agent is not None or part.judges is not None:
                raise InvalidOptionError(
                    f"Budget({side}=...) limits cost, tokens and calls; time is of the whole run, got {part!r}"
                )
        if not self.limits and self.seconds is None:
            raise InvalidOptionError("a Budget needs a limit: cost, tokens, calls or seconds")

    @property
    def limits(self) -> tuple[Limit, ...]:
        """All limits but that of time."""
        found: list[Limit] = []
        whose: tuple[tuple[Side | None, Budget | None], ...] = (
            (None, self),
            ("agent", self.agent),
            ("judges", self.judges),
        )
        for side, part in whose:
            for unit in UNITS if part is not None else ():
                most = getattr(part, unit)
                if most is not None:
                    found.append(Limit(unit, most, side))
        return tuple(found)


class BudgetUse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of the budget of a run."""

    budget: Budget
    agent: Spent
    """What the agent spent; of a resumed run, in all its parts. It holds what attempts spent that were given up."""
    judges: Spent
    """What the evaluators spent."""
    seconds: float = 0.0
    """How long the run went on, or its last part."""
    reached: Literal["cost", "tokens", "calls", "seconds"] | None = None
    """Which limit ended the run; `None`: none did."""
    side: Side | None = None
    """Whose limit it was; `None`: that of both together."""
    unseen: str | None = None
    """Why a limit could not be kept, and so the run ended; `None`: all could."""
    in_random_order: bool = False
    """Whether cases were begun in a random order, so that those that were attempted stand for all of them."""

    def spent(self, limit: Limit) -> float:
        """How much was spent of what a limit is about."""
        of: dict[Side, Spent] = {"agent": self.agent, "judges": self.judges}
        return sum(of[side].of(limit.unit) for side in limit.sides)

    def left(self, budget: Budget) -> Budget | None:
        """What is left of a budget after this; `None` if some of it is used up."""
        parts: dict[Side | None, dict[str, Any]] = {None: {}}
        if budget.seconds is not None:
            parts[None]["seconds"] = budget.seconds - self.seconds
        for limit in budget.limits:
            parts.setdefault(limit.side, {})[limit.unit] = limit.most - self.spent(limit)
        if any(amount <= 0 for part in parts.values() for amount in part.values()):
            return None
        nested: dict[str, Any] = {side: Budget(**part) for side, part in parts.items() if side is not None}
        return Budget(**parts[None], **nested)
