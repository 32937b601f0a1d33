"""What a gate says: one finding per rule, and the outcome of all of them.

- PASS: every rule passed.
- FAIL: at least one rule failed.
- WORSE: no rule failed, and by at least one the run is worse than its baseline; whether by more than the limit is open.
- INCONCLUSIVE: none of these, and at least one rule could not be decided. It is no pass.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from calipers.comparison.change import Population
from calipers.stats import Interval

Outcome: TypeAlias = Literal["PASS", "FAIL", "WORSE", "INCONCLUSIVE"]
"""What became of a rule, or of a whole gate."""

Unit: TypeAlias = Literal["rate", "number", "seconds", "growth"]
"""How the numbers of a finding are to be read: shares, plain numbers, seconds, or a growth of 0.1 for 10 %."""


_SCALES: dict[Unit, int] = {"rate": 100, "growth": 100, "seconds": 1, "number": 1}
_SYMBOLS: dict[Unit, str] = {"rate": " %", "growth": " %", "seconds": " s", "number": ""}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One rule, and what the run says to it."""

    subject: str
    """What the rule is about: the name of an evaluator or metric, `pass rate`, `task time` or `run`."""
    rule: str
    """The rule in words: `at least 80 %`."""
    outcome: Outcome
    alone: Outcome | None = None
    """What it would be if it did not share the doubt with other rules; `None` if that is the outcome."""
    said: str
    """Why, in one sentence."""
    advice: str | None = None
    """What to do next; `None` where there is nothing to do."""
    value: float | None = None
    """The estimate: a rate, a mean, a difference or a growth; `None` if it was not measured."""
    limit: float | None = None
    """What it is compared with, on the same scale."""
    above: bool = True
    """Whether the good side is above the limit."""
    interval: Interval | None = None
    """Where the true value may lie. It decides the outcome: at the confidence of the verdict or, where the rule has another outcome
    alone, at the higher one that the rules share."""
    approximate: bool = False
    """Whether the interval goes by how such numbers usually spread, since no bounds are known: rare values that are much larger
    than those seen make the rule err more often than the policy says."""
    unit: Unit = "number"
    n: int | None = None
    """Cases behind the estimate."""
    more_cases: int | None = None
    """About how many more would decide it; `None` if it is not known, or none are needed."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a gate says of a run."""

    outcome: Outcome
    findings: tuple[Finding, ...]
    """In the order of the policy."""
    run: str
    """The name of the run."""
    baseline: str | None = None
    """The name of the run that it was compared with; `None` without one."""
    cases: int
    """Cases of the run."""
    paired: int | None = None
    """Cases that both runs have; `None` without a baseline."""
    confidence: float
    """Of the intervals: that of the policy or, at a counted look, one that leaves some doubt for other looks."""
    look: int | None = None
    """The number of this look at the same agent by the same policy; `None` if looks are not counted."""
    correction: str
    population: Population = "cases-like-these"
    """Of which cases the rules speak: of all that these are a sample of, or of these alone."""
    anytime: bool = False
    """Whether the intervals hold however often one looks, as they must for a run that was stopped when decided."""
    notes: tuple[str, ...] = ()
    """What a reader should know besides: cases that could not be paired, say."""

    def count(self, outcome: Outcome) -> int:
        """How many rules came out so."""
        return sum(finding.outcome == outcome for finding in self.findings)

    def __repr__(self) -> str:
        # Short, as that of a report: the whole would be thousands of characters in a log or a notebook.
        against = "" if self.baseline is None else f" against {self.baseline!r}"
        held = f"{self.count('PASS'):,} of {len(self.findings):,} rules passed"
        return f"Verdict({self.outcome}, {self.run!r}{against}, {held})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from calipers.views.notebook import verdict_cell

        return verdict_cell(self)


def outcome_of(findings: Iterable[Finding]) -> Outcome:
    """The outcome of all rules together; without any, nothing is known."""
    outcomes = {finding.outcome for finding in findings}
    if "FAIL" in outcomes:
        return "FAIL"
    if "WORSE" in outcomes:
        return "WORSE"
    return "PASS" if outcomes == {"PASS"} else "INCONCLUSIVE"


def quantity(value: float, unit: Unit) -> str:
    """A level: `92.5 %`, `0.81`, `1.24 s`."""
    return _short(_SCALES[unit] * value, sign=unit == "growth") + _SYMBOLS[unit]


def change(value: float, unit: Unit) -> str:
    """A difference: `+1.2 points`, `-0.04`."""
    return f"{_short(100 * value, sign=True)} points" if unit == "rate" else _short(value, sign=True)


def loss(margin: float, unit: Unit) -> str:
    """How much may be lost: `2 points`, `0.1`."""
    return f"{_plain(100 * margin)} points" if unit == "rate" else _plain(margin)


def interval_words(interval: Interval, unit: Unit, *, signed: bool = False) -> str:
    """`95 % interval 81.2 to 90.4 %`."""
    ends = (interval.low, interval.high)
    low, high = (_short(_SCALES[unit] * end, sign=signed or unit == "growth") for end in ends)
    symbol = " points" if signed and _SCALES[unit] == 100 else _SYMBOLS[unit]
    doubt = 100 * (1 - interval.confidence)
    confidence = 100 - round(doubt, 2 if doubt >= 0.1 else 10)
    return f"{_plain(confidence)} % interval {low} to {high}{symbol}"


def limit_words(value: float, unit: Unit) -> str:
    """A limit, as short as the policy writes it."""
    return _plain(_SCALES[unit] * value) + _SYMBOLS[unit]


def about(count: int) -> str:
    """A number that is only roughly known: two digits of it."""
    if count < 100:
        return f"{count:,}"
    size = 10 ** (len(str(count)) - 2)
    return f"{round(count / size) * size:,}"


def _short(value: float, *, sign: bool = False) -> str:
    digits = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    if value and not float(text):
        text = f"{value:+.2g}" if sign else f"{value:.2g}"
    whole, dot, part = text.partition(".")
    part = part.rstrip("0") if "e" not in part else part
    shown = f"{whole}{dot}{part}" if part else whole
    return "0" if shown in {"+0", "-0"} else shown


def _plain(value: float) -> str:
    return f"{round(value, 10):.10g}"
