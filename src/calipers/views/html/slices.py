"""The attempts of a report cut by a field, as the data that the page's script draws; the reader chooses the field.

Numbers are made here, and so are their texts: the page shows what the viewer shows of the same run. A page has room for a thousand rows.
Fields come first, each with its pass rate, then the evaluators; what has no room is named.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from calipers.data.jsonable import plain
from calipers.report.cut import CORRECTION, Adjusted
from calipers.report.run_slices import FieldSlices, Measured, RunSlices
from calipers.report.summary import Summary
from calipers.stats.estimate import Estimate
from calipers.stats.number_text import first_few, mean_text, plural, rate_text
from calipers.views.outcome import Record
from calipers.views.text import fit

_ROWS: Final = 1_000
"""Slices that a page has room for, each counted once for each column that it is cut into."""
_VALUE: Final = 200
"""Characters of a value."""


class EmbeddedSlices(NamedTuple):
    """The slices of a page."""

    data: dict[str, Any]
    fields: Sequence[FieldSlices]
    """Those that the reader can choose, in the order of the data."""


def embedded_slices(records: Sequence[Record], summaries: Mapping[str, Summary]) -> EmbeddedSlices | None:
    """The slices of attempts, all of their run; `None` if no field has a value that two cases share.

    Args:
        records: in the order of the page.
        summaries: of the columns of results.
    """
    run = RunSlices(records)
    fields, alone = _fields(run)
    kept = _with_room(fields, _ROWS)
    if not kept:
        return None
    columns = [None, *(each for each in summaries.values() if each.kind != "label" and each.count)]
    room = max(1, _ROWS // sum(len(each.slices) for each in kept))
    measures = [run.measured(column) for column in columns[:room]]
    left_out = [
        *_left_out(fields[len(kept) :], "no room on this page"),
        *_left_out(alone, "no value in two cases"),
        *(f"{fit(each.name, 60)}: no room on this page" for each in columns[room:] if each is not None),
    ]
    data = {
        "measures": [
            {"name": None if each.name is None else plain(each.name), "rate": each.scale.is_rate}
            for each in measures
        ],
        "fields": [_field(run, found, measures) for found in kept],
        "correction": CORRECTION,
    }
    if left_out:
        data["left_out"] = f"Left out: {first_few(left_out, 8, between='; ')}. The viewer has all of them."
    return EmbeddedSlices(data, kept)


def _fields(run: RunSlices) -> tuple[list[FieldSlices], list[FieldSlices]]:
    """The fields that make slices, and those that do not since each of their values stands in one case."""
    found = [run.by(name) for name in run.fields()]
    shared = [any(each.cases > 1 and not each.is_missing for each in one.slices) for one in found]
    return (
        [each for each, is_shared in zip(found, shared, strict=True) if is_shared],
        [each for each, is_shared in zip(found, shared, strict=True) if not is_shared],
    )


def _with_room(fields: Iterable[FieldSlices], room: int) -> list[FieldSlices]:
    """The first fields, as far as there is room."""
    found: list[FieldSlices] = []
    for each in fields:
        room -= len(each.slices)
        if room < 0:
            break
        found.append(each)
    return found


def _left_out(fields: Iterable[FieldSlices], why: str) -> list[str]:
    return [f"{fit(each.by, 60)}: {why}" for each in fields]


def _field(run: RunSlices, found: FieldSlices, measures: Sequence[Measured]) -> dict[str, Any]:
    """One field: its values, which attempts have them, and a table for each measure."""
    places: list[list[int]] = [[] for _ in run.records]
    for place, each in enumerate(found.slices):
        for row in each.rows:
            places[row].append(place)
    sets: dict[tuple[int, ...], int] = {}
    of = [sets.setdefault(tuple(each), len(sets)) for each in places]
    tables: list[Any] = []
    for measured in measures:
        same = next((at for at, one in enumerate(measures[: len(tables)]) if _equal(one, measured)), None)
        tables.append(same if same is not None else _table(run.cuts(found, measured), measured))
    return {
        "by": plain(found.by),
        "values": [
            [None if each.is_missing else plain(each.value[:_VALUE]), each.cases, plain(each.filter[:_VALUE])]
            for each in found.slices
        ],
        "sets": [*sets],
        "of": of,
        "left_out": plural(found.left_out, "value") if found.left_out else None,
        "tables": tables,
    }


def _equal(one: Measured, other: Measured) -> bool:
    return one.scale == other.scale and one.numbers == other.numbers


def _table(found: Sequence[Adjusted], measured: Measured) -> dict[str, Any]:
    """The rows in their order, and the scales on which they are drawn."""
    estimates = [each.cut.estimate for each in found if each.cut.estimate is not None]
    return {
        "rows": [_row(each, is_rate=measured.scale.is_rate) for each in found],
        "range": [0, 1] if measured.scale.is_rate else _range(estimates),
        "extent": max((abs(end) for each in found for end in _difference(each)), default=0) or 1,
        "looked_at": plural(sum(each.p_value is not None for each in found), "slice"),
    }


def _row(each: Adjusted, *, is_rate: bool) -> list[Any]:
    """`[place, value, ends, [value, low, high, cases], difference, ends, [difference, low, high], chance, differs]`."""
    made: list[Any] = [each.place, "", "", None, "", "", None, "", False]
    estimate, difference = each.cut.estimate, each.cut.difference
    if estimate is not None:
        made[1:3] = (rate_text if is_rate else mean_text)(estimate.value, estimate.interval)
        made[3] = [*_rounded(_ends(estimate)), estimate.n_units]
    if difference is not None:
        made[4:6] = _difference_text(each, is_rate=is_rate)
        made[6] = _rounded(_difference(each))
    if each.p_value is not None:
        made[7] = (
            "p < 0.001" if each.p_value < 0.001 else f"p = {each.p_value:.{3 if each.p_value < 0.1 else 2}f}"
        )
    made[8] = each.differs
    return made


def _ends(estimate: Estimate) -> list[float]:
    """The value, and the ends of its interval if it has one."""
    interval = estimate.interval
    return [estimate.value, *([] if interval is None else [interval.low, interval.high])]


def _difference(each: Adjusted) -> list[float]:
    """The difference, and the ends of its interval if it has one."""
    difference, interval = each.cut.difference, each.cut.interval
    if difference is None:
        return []
    return [difference, *([] if interval is None else [interval.low, interval.high])]


def _rounded(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def _range(estimates: Sequence[Estimate]) -> list[float] | None:
    """The scale of a column of means: from 0 to 1 where they fit, else as wide as they are, with 0 on it."""
    ends = [end for each in estimates for end in _ends(each)]
    if not ends:
        return None
    low, high = min(ends), max(ends)
    return [0, 1] if low >= 0 and high <= 1 else [min(low, 0), max(high, 0)]


def _difference_text(each: Adjusted, *, is_rate: bool) -> tuple[str, str]:
    """A difference and its interval, of rates in points."""
    interval = each.cut.interval
    if is_rate:
        texts = [_signed(f"{100 * value:.1f}") for value in _difference(each)]
    else:
        assert each.cut.difference is not None
        value, ends = mean_text(each.cut.difference, interval)
        texts = [_signed(text) for text in (value, *ends.strip("[]").split(", ")) if text]
    return texts[0], f"[{', '.join(texts[1:])}]" if len(texts) > 1 else ""


def _signed(text: str) -> str:
    """A number with its sign, and the sign of a minus as it is printed."""
    is_zero = not any(sign in "123456789" for sign in text)
    return (
        text.lstrip("-")
        if is_zero
        else text.replace("-", "\N{MINUS SIGN}", 1)
        if text[0] == "-"
        else f"+{text}"
    )
