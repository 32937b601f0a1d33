"""A judge's passport as text."""

from calipers.report.passport import TRAITS, Measurement, Passport, Trait
from calipers.stats.number_text import mean_text, number, plural, rate_text

_NUMBERS: frozenset[Trait] = frozenset({"kappa", "cost"})
"""Traits that are no shares."""
_DIFFERENCES: frozenset[Trait] = frozenset({"length_bias", "self_preference"})


def passport_lines(passport: Passport) -> list[str]:
    """The passport, a line for each trait, and what was not measured."""
    model = "" if passport.model is None else f", which asks {passport.model}"
    times = "once" if passport.repeats == 1 else f"{passport.repeats} times"
    lines = [
        f"Passport of {passport.judge}{model}",
        f"{passport.at[:10]}, {plural(passport.labels, 'label')}, asked {times} about each",
        "",
    ]
    rows = [
        (TRAITS[trait], *_shown(trait, passport.measured[trait]), f"n = {passport.measured[trait].n:,}")
        for trait in TRAITS
        if trait in passport.measured
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(3)] if rows else []
    for what, value, interval, size in rows:
        cells = (what.ljust(widths[0]), value.rjust(widths[1]), interval.ljust(widths[2]), size)
        lines.append("  ".join(cells).rstrip())
    if passport.unjudged:
        lines += ["", f"No verdict on {plural(passport.unjudged, 'more labelled attempt')}."]
    if passport.unmeasured:
        lines += ["", "Not measured:"]
        lines += [
            f"  {TRAITS[trait]}: {passport.unmeasured[trait]}"
            for trait in TRAITS
            if trait in passport.unmeasured
        ]
    return lines


def _shown(trait: Trait, found: Measurement) -> tuple[str, str]:
    if trait in _NUMBERS:
        return mean_text(found.value, found.interval)
    if trait in _DIFFERENCES:
        ends = found.interval
        between = "" if ends is None else f"[{100 * ends.low:+.1f}, {100 * ends.high:+.1f}]"
        return f"{number(round(100 * found.value, 1))} points", between
    return rate_text(found.value, found.interval)
