"""What a verdict says, as data: its facts, what the outcome means, and its rules in the order of their gravity.

A rule is drawn as its interval, with the limit in the middle and the good side to the right. Each rule has its own scale, for
what counts is on which side of its limit the interval lies.
"""

from math import isfinite
from typing import Final

from calipers.gate.verdict import Finding, Outcome, Verdict
from calipers.stats.number_text import confidence_text, plural
from calipers.views.comparison.span_plot import Span

GLYPHS: Final[dict[Outcome, tuple[str, str]]] = {
    "PASS": ("✓", "+"),
    "FAIL": ("✗", "x"),
    "WORSE": ("↓", "v"),
    "INCONCLUSIVE": ("?", "?"),
}
"""For each outcome a mark, and the same in ASCII."""
NEXT: Final[dict[Outcome, str]] = {
    "PASS": "Every rule passed.",
    "FAIL": "At least one rule failed.",
    "WORSE": "The run is worse than its baseline; whether by more than the policy allows is open.",
    "INCONCLUSIVE": "Nothing failed, and not everything could be decided: this is not a pass.",
}
"""What each outcome means."""
WIDTH = 31
"""Cells of a drawn rule."""
MISSES, MEETS = "misses", "meets"
"""The words for the two sides."""
_APART = 2 / (WIDTH - 1)
"""The least distance from the limit of an end that is not on it, so that rounding to cells never moves it there."""


def facts_of(verdict: Verdict) -> list[str]:
    """What the verdict rests on, in short."""
    facts = [plural(verdict.cases, "case")]
    if verdict.paired is not None:
        facts.append(f"{verdict.paired:,} compared")
    facts.append(f"{confidence_text(verdict.confidence)} intervals")
    facts.append("about these cases" if verdict.population == "these-cases" else "about cases like these")
    if verdict.look is not None:
        facts.append(f"look {verdict.look}")
    if verdict.anytime:
        facts.append("valid at every look")
    facts += [f"{verdict.count(outcome):,} {outcome}" for outcome in GLYPHS if verdict.count(outcome)]
    return facts


def by_gravity(verdict: Verdict) -> list[Finding]:
    """The rules, those that failed first and those that passed last."""
    return sorted(
        verdict.findings, key=lambda finding: ("FAIL", "WORSE", "INCONCLUSIVE", "PASS").index(finding.outcome)
    )


def span_of(finding: Finding) -> Span | None:
    """Where the interval of a rule lies; `None` where no interval decides."""
    value, limit, interval = finding.value, finding.limit, finding.interval
    if value is None or limit is None or interval is None:
        return None
    sign = 1 if finding.above else -1
    distances = [sign * (each - limit) for each in (value, interval.low, interval.high)]
    reach = max(map(abs, distances))
    if not isfinite(reach):
        return None
    middle, *ends = (_apart(distance / reach) if reach > 0 else 0.0 for distance in distances)
    return Span(middle, *sorted(ends))


def _apart(share: float) -> float:
    if share == 0:
        return 0.0
    return max(share, _APART) if share > 0 else min(share, -_APART)
