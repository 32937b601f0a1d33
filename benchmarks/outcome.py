"""What a benchmark found: a row per subject, and a promise per target, as data and as tables.

A promise that could not be measured is not kept.
"""

import dataclasses
from dataclasses import dataclass

SCALES = {
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "B": ((1e6, "MB"), (1e3, "kB"), (1, "B")),
    "": ((1, ""),),
}
"""For each unit, what larger and smaller amounts are told in; a count has none."""


@dataclass(frozen=True)
class Row:
    """One subject's numbers in one benchmark."""

    what: str
    """What was measured, the same for all subjects compared."""
    subject: str
    best: float | None
    """Seconds, bytes or a count; `None` if it was not measured."""
    median: float | None
    runs: int
    unit: str
    """`s`, `B`, or "" for a count."""
    note: str = ""


@dataclass(frozen=True)
class Promise:
    """A ratio, and the bound it has to keep."""

    what: str
    ratio: str
    """Of what to what, in words."""
    value: float | None
    """`None` if one side was not measured."""
    target: float
    at_least: bool
    """Whether the target is a lower bound; otherwise it is an upper one."""
    aim: float | None = None
    """What we would like; not gated."""

    @property
    def met(self) -> bool:
        """Whether the target is kept."""
        if self.value is None:
            return False
        return self.value >= self.target if self.at_least else self.value <= self.target

    @property
    def verdict(self) -> str:
        """The outcome in a word or two."""
        if self.value is None:
            return "NOT MEASURED"
        if not self.met:
            return "MISSED"
        if self.aim is None:
            return "met"
        reached = self.value >= self.aim if self.at_least else self.value <= self.aim
        return "met, aim reached" if reached else "met"


@dataclass(frozen=True)
class Outcome:
    """All that one benchmark found."""

    rows: tuple[Row, ...]
    promises: tuple[Promise, ...] = ()

    def __add__(self, other: "Outcome") -> "Outcome":
        return Outcome((*self.rows, *other.rows), (*self.promises, *other.promises))

    @property
    def met(self) -> bool:
        """Whether every promise is kept."""
        return all(promise.met for promise in self.promises)


def rows(what, samples, unit):
    """A row per measured subject."""
    return tuple(
        Row(
            what,
            label,
            sample.best,
            sample.median,
            len(sample.values),
            unit,
            "; ".join(text for text in (sample.subject.note, sample.missing) if text),
        )
        for label, sample in samples.items()
    )


def against_ideal(row, ideal):
    """The row, with how it compares to the ideal number of seconds in its note."""
    over = ratio(row.best, ideal)
    told = [] if over is None else [f"{over:.3g} times the ideal {ideal:.3g} s"]
    return dataclasses.replace(row, note="; ".join([*told, *filter(None, [row.note])]))


def ratio(over, under):
    """The ratio of two bests; `None` if either was not measured."""
    return None if over is None or under is None or under <= 0 else over / under


def as_data(outcome, facts):
    """The outcome as JSON data."""
    return {
        "facts": facts,
        "rows": [dataclasses.asdict(row) for row in outcome.rows],
        "promises": [{**dataclasses.asdict(promise), "met": promise.met} for promise in outcome.promises],
        "met": outcome.met,
    }


# ---------------------------------------------------------------------- tables


def tables(outcome, facts):
    """The outcome as Markdown, which reads well in a terminal too."""
    parts = [", ".join(f"{name} {value}" for name, value in facts.items()) + "."]
    if outcome.promises:
        parts.append(_table(["promise", "ratio", "measured", "target", "aim", "outcome"], _promises(outcome)))
    parts.append(_table(["what", "subject", "best", "median", "runs", "note"], _rows(outcome)))
    return "\n\n".join(parts)


def _promises(outcome):
    for promise in outcome.promises:
        sign = "≥" if promise.at_least else "≤"
        yield [
            promise.what,
            promise.ratio,
            "-" if promise.value is None else plainly(promise.value),
            f"{sign} {promise.target:g}",
            "" if promise.aim is None else f"{sign} {promise.aim:g}",
            promise.verdict,
        ]


def _rows(outcome):
    previous = None
    for row in outcome.rows:
        yield [
            row.what if row.what != previous else "",
            row.subject,
            quantity(row.best, row.unit),
            quantity(row.median, row.unit),
            str(row.runs),
            row.note,
        ]
        previous = row.what


def quantity(value, unit):
    """A number with a unit that suits its size."""
    if value is None:
        return "-"
    scale, name = next(
        ((scale, name) for scale, name in SCALES[unit] if abs(value) >= scale), SCALES[unit][-1]
    )
    scaled = value / scale
    return f"{plainly(scaled)} {name}".rstrip()


def plainly(value):
    """A number with three digits, never with an exponent for a large one."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _table(head, lines):
    lines = [head, *lines]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    drawn = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    ]
    drawn.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(drawn)
