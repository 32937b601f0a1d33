"""What a run cost: the agent, and the evaluators that judged it, apart. All amounts are US dollars.

A cost is the sum of the calls whose price is known. Where other calls were made, it is a lower bound, and `unpriced_calls` says how
many they were. The agent's cost is that of all attempts, failed ones and repeated tries included, of which anything is known; an attempt
without a word about model calls says nothing, and is left out of the mean. An evaluator that ran and asked no model cost nothing.
"""

from collections.abc import Iterable, Mapping
from math import fsum

import msgspec

from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.spending import (
    COST,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    PAID_BEFORE,
    REQUESTS,
    UNPRICED_CALLS,
    spent_by_judges,
    spent_of,
)
from calipers.report.case_units import Passes, Scores, Units
from calipers.stats import Estimate


class Cost(msgspec.Struct, kw_only=True):
    """What a part of a run cost, in US dollars."""

    total: float | None
    """Of all calls with a known price; `None` if no call has one."""
    per_case: Estimate | None = None
    """The mean of what an attempt cost, over cases; `None` where the total is, or of a single evaluator."""
    attempts: int
    """Attempts of which something is known."""
    calls: int = 0
    """Calls of models; 0 where only their cost was counted."""
    unpriced_calls: int = 0
    """Those of them without a known price, which the total lacks."""
    input_tokens: int = 0
    output_tokens: int = 0
    paid_before: float = 0.0
    """The part of the total that answers from a cache had cost. What reused attempts and judgements cost is in `Report.reuse`."""


class Costs(msgspec.Struct, kw_only=True):
    """What a run cost."""

    agent: Cost | None = None
    """The task; `None` if nothing is known of its cost."""
    judges: Cost | None = None
    """All evaluators together; `None` if none of them asked a model, as far as is known."""
    by_judge: dict[str, Cost] = {}
    """Each evaluator that asked a model, by name."""

    def and_spent(self, other: "Costs") -> "Costs":
        """With what was spent on other attempts; means per case stay as they are."""
        names = dict.fromkeys((*self.by_judge, *other.by_judge))
        judges = {name: _added(self.by_judge.get(name), other.by_judge.get(name)) for name in names}
        return Costs(
            agent=_added(self.agent, other.agent),
            judges=_added(self.judges, other.judges),
            by_judge={name: cost for name, cost in judges.items() if cost is not None},
        )


def _added(one: Cost | None, other: Cost | None) -> Cost | None:
    """Both amounts together, with the mean of the first."""
    if one is None or other is None:
        return one if other is None else msgspec.structs.replace(other, per_case=None)
    totals = [cost.total for cost in (one, other) if cost.total is not None]
    return Cost(
        total=fsum(totals) if totals else None,
        per_case=one.per_case,
        **{name: getattr(one, name) + getattr(other, name) for name in _AMOUNTS},
    )


_AMOUNTS = ("attempts", "calls", "unpriced_calls", "input_tokens", "output_tokens", "paid_before")
"""The fields of a `Cost` that add up."""
_COUNTED = (REQUESTS, UNPRICED_CALLS, INPUT_TOKENS, OUTPUT_TOKENS)


class Account:
    """The cost of one part of a run, attempt by attempt."""

    __slots__ = ("amounts", "costs", "known")

    def __init__(self) -> None:
        self.costs = Scores()
        self.known = False
        """Whether any price is known."""
        self.amounts: dict[str, float] = {}

    def add(self, unit: int, spent: Mapping[str, float]) -> None:
        """Count an attempt of which something is known."""
        self.known = self.known or COST in spent
        self.costs.add(unit, float(spent.get(COST, 0.0)))
        for name in (*_COUNTED, PAID_BEFORE):
            if name in spent:
                self.amounts[name] = self.amounts.get(name, 0) + spent[name]

    def mean(self, units: Units, confidence: float, free: Iterable[Passes] = ()) -> Estimate | None:
        """The mean over cases; `free` attempts cost nothing."""
        if not self.known:
            return None
        found = Scores()
        found.alone.extend(self.costs.alone)
        found.units.extend(self.costs.units)
        found.values.extend(self.costs.values)
        for part in free:
            found.alone.extend([0.0] * part.alone)
            found.units.extend(part.units)
            found.values.extend([0.0] * len(part.units))
        return found.mean(units, confidence, bounded=False)

    def cost(self, per_case: Estimate | None = None) -> Cost | None:
        """What was counted; `None` if it is nothing."""
        count = len(self.costs.alone) + len(self.costs.units)
        if not count:
            return None
        amount = {name: int(self.amounts.get(name, 0)) for name in _COUNTED}
        return Cost(
            total=fsum((*self.costs.alone, *self.costs.values)) if self.known else None,
            per_case=per_case,
            attempts=count,
            calls=amount[REQUESTS],
            unpriced_calls=amount[UNPRICED_CALLS],
            input_tokens=amount[INPUT_TOKENS],
            output_tokens=amount[OUTPUT_TOKENS],
            paid_before=self.amounts.get(PAID_BEFORE, 0.0),
        )


class CostTally:
    """What the attempts of a run cost, counted one by one."""

    def __init__(self) -> None:
        self._agent = Account()
        self._judges = Account()
        self._by_judge: dict[str, Account] = {}
        self._free = Passes()
        """Attempts on which no evaluator is known to have asked a model."""

    def add(self, unit: int, record: ReportCase | ReportCaseFailure) -> None:
        """Count an attempt."""
        if record.metrics:
            own = spent_of(record.metrics)
            if COST in own or UNPRICED_CALLS in own:
                self._agent.add(unit, own)
        if isinstance(record, ReportCaseFailure):
            return
        spent = spent_by_judges(record)
        if not spent:
            self._free.add(unit, False)
            return
        together: dict[str, float] = {}
        for name, amounts in spent.items():
            self._by_judge.setdefault(name, Account()).add(unit, amounts)
            for what, amount in amounts.items():
                together[what] = together.get(what, 0) + amount
        self._judges.add(unit, together)

    def per_judged_case(self, units: Units, confidence: float) -> Estimate | None:
        """The mean of what evaluators cost; `None` if no price is known."""
        return self._judges.mean(units, confidence, [self._free])

    def costs(self, units: Units, confidence: float) -> Costs:
        """What was counted."""
        judges = {name: account.cost() for name, account in self._by_judge.items()}
        return Costs(
            agent=self._agent.cost(self._agent.mean(units, confidence)),
            judges=self._judges.cost(self.per_judged_case(units, confidence)),
            by_judge={name: cost for name, cost in judges.items() if cost is not None},
        )
