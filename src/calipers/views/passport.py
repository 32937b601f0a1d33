"""A judge's passport as text."""

from typing import Literal, NamedTuple, TypeAlias

from calipers.report.passport import TRAITS, Measurement, Passport, Trait
from calipers.stats.number_text import mean_text, number, plural, rate_text

_NUMBERS: frozenset[Trait] = frozenset({"kappa", "cost"})
"""Traits that are no shares."""
_DIFFERENCES: frozenset[Trait] = frozenset({"length_bias", "self_preference"})


TraitKind: TypeAlias = Literal["rate", "number", "difference"]
"""What kind of number it is: a share, a number, or a difference of shares."""


class PassportRow(NamedTuple):
    """One number of a passport, in words."""

    trait: Trait
    what: str
    value: str
    interval: str
    """"" if there is none."""
    n: int


def passport_rows(passport: Passport) -> list[PassportRow]:
    """What was measured, in the order in which a passport shows it."""
    return [
        PassportRow(trait, what, *_shown(trait, found), found.n)
        for trait, what in TRAITS.items()
        if (found := passport.measured.get(trait)) is not None
    ]


def unmeasured_rows(passport: Passport) -> list[tuple[Trait, str]]:
    """What was not measured, each with the reason."""
    return [(trait, passport.unmeasured[trait]) for trait in TRAITS if trait in passport.unmeasured]


def trait_kind(trait: Trait) -> TraitKind:
    """What kind of number a trait is."""
    return "number" if trait in _NUMBERS else "difference" if trait in _DIFFERENCES else "rate"


def passport_lines(passport: Passport) -> list[str]:
    """The passport, a line for each trait, and what was not measured."""
    model = "" if passport.model is None else f", which asks {passport.model}"
    times = "once" if passport.repeats == 1 else f"{passport.repeats} times"
    lines = [
        f"Passport of {passport.judge}{model}",
        f"{passport.at[:10]}, {plural(passport.labels, 'label')}, asked {times} about each",
        "",
    ]
    rows = [(row.what, row.value, row.interval, f"n = {row.n:,}") for row in passport_rows(passport)]
    widths = [max(len(row[place]) for row in rows) for place in range(3)] if rows else []
    for what, value, interval, size in rows:
        cells = (what.ljust(widths[0]), value.rjust(widths[1]), interval.ljust(widths[2]), size)
        lines.append("  ".join(cells).rstrip())
    if passport.unjudged:
        lines += ["", f"No verdict on {plural(passport.unjudged, 'more labelled attempt')}."]
    if passport.unmeasured:
        lines += ["", "Not measured:"]
        lines += [f"  {TRAITS[trait]}: {why}" for trait, why in unmeasured_rows(passport)]
    return lines


def _shown(trait: Trait, found: Measurement) -> tuple[str, str]:
    kind = trait_kind(trait)
    if kind == "number":
        return mean_text(found.value, found.interval)
    if kind == "difference":
        ends = found.interval
        between = "" if ends is None else f"[{100 * ends.low:+.1f}, {100 * ends.high:+.1f}]"
        return f"{number(round(100 * found.value, 1))} points", between
    return rate_text(found.value, found.interval)
