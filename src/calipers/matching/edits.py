"""The edit script: what to do to the actual calls, one by one, to get the expected ones.

| mark | edit |
|---|---|
| `✓` | keep a call that matches |
| `~` | change a call of the right tool, for the differences listed below it |
| `-` | add an expected call that is missing |
| `+` | remove a call that was not expected |
| `↕` | move a call that matches to its place |
| `·` | leave as it is what the mode allows: a call more, or a call less |

What agents wrote is shown by its `repr`, shortened, so that nothing in it can pretend to be a line of the script.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from calipers.data.trace import ToolCall

from .call import MatchOptions, show_call
from .pairing import Pair, Pairing
from .value_comparison import Difference

EditKind: TypeAlias = Literal["keep", "change", "add", "remove", "move", "allow"]
"""What to do with a call."""

_MARKS: Mapping[EditKind, str] = {
    "keep": "✓",
    "change": "~",
    "add": "-",
    "remove": "+",
    "move": "↕",
    "allow": "·",
}
_WORDS: Mapping[EditKind, str] = {"add": "missing ", "remove": "unexpected "}
_DIFFERENCES_SHOWN = 8
_FOLDED: Mapping[EditKind, str] = {"keep": "calls as expected", "allow": "calls that the mode allows"}
_FOLDED_FROM = 4
"""So many calls in a row that need no edit become one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What to do with one call."""

    kind: EditKind
    expected: ToolCall | None = None
    """The expected call; `None` for an actual one that has no partner."""
    actual: ToolCall | None = None
    """The actual call; `None` for an expected one that is missing."""
    expected_index: int | None = None
    """The expected call's position."""
    actual_index: int | None = None
    """The actual call's position."""
    differences: tuple[Difference, ...] = ()
    """What to change."""
    place: str = ""
    """For a call to move: what is wrong with its place."""

    def __str__(self) -> str:
        call = show_call(self.actual or self.expected or ToolCall("?"))
        if self.kind == "allow":
            return f"· {'not called' if self.actual is None else 'also called'}: {call}"
        place = f": {self.place}" if self.place else ""
        lines = [f"{_MARKS[self.kind]} {_WORDS.get(self.kind, '')}{call}{place}"]
        lines += [f"    {difference}" for difference in self.differences[:_DIFFERENCES_SHOWN]]
        if len(self.differences) > _DIFFERENCES_SHOWN:
            lines.append(f"    … and {len(self.differences) - _DIFFERENCES_SHOWN} more differences")
        return "\n".join(lines)


def edits_of(
    pairing: Pairing, expected: Sequence[ToolCall], actual: Sequence[ToolCall], options: MatchOptions
) -> Iterator[Edit]:
    """The edits. Where the order counts, missing and unexpected calls stand where they belong, else at the end."""
    if not options.order_counts:
        rows = [*((pair.expected_index, _paired(pair)) for pair in pairing.pairs)]
        allowed = options.missing_allowed and bool(actual)  # some may be missing, but not all
        rows += [(row, _missing(row, expected, allowed=allowed)) for row in pairing.missing]
        yield from (edit for _, edit in sorted(rows, key=lambda item: item[0]))
        yield from (_extra(column, actual, allowed=options.extra_allowed) for column in pairing.extra)
        return
    moved = {pair.actual_index: pair for pair in pairing.out_of_order}
    missing = set(pairing.missing)
    row = column = 0
    last = len(pairing.pairs)
    for number, pair in enumerate([*pairing.pairs, None]):
        until = (pair.expected_index, pair.actual_index) if pair else (len(expected), len(actual))
        yield from (
            _missing(i, expected, allowed=options.missing_allowed)
            for i in range(row, until[0])
            if i in missing
        )
        between = options.mode == "contiguous" and 0 < number < last
        for j in range(column, until[1]):
            if j in moved:
                yield _moved(moved[j], pairing.pairs)
            else:
                yield _extra(j, actual, allowed=options.extra_allowed and not between)
        if pair:
            yield _paired(pair)
        row, column = until[0] + 1, until[1] + 1


def script_text(edits: Sequence[Edit], limit: int | None) -> str:
    """The edits as text, at most so many; calls in a row that need no edit are folded into one line."""
    lines: list[str] = []
    left = 0
    for _, group in groupby(edits, key=lambda edit: edit.kind):
        run = list(group)
        kind = run[0].kind
        folded = kind in _FOLDED and len(run) >= _FOLDED_FROM
        count = 1 if folded else len(run)
        room = count if limit is None else min(count, limit - len(lines))
        left += count - room
        if room and folded:
            lines.append(f"{_MARKS[kind]} … {len(run)} {_FOLDED[kind]}")
        else:
            lines += map(str, run[:room])
    return "\n".join([*lines, f"… and {left} more"] if left else lines)


def _paired(pair: Pair) -> Edit:
    return Edit(
        kind="keep" if pair.matched else "change",
        expected=pair.comparison.expected,
        actual=pair.comparison.actual,
        expected_index=pair.expected_index,
        actual_index=pair.actual_index,
        differences=pair.comparison.differences,
    )


def _missing(row: int, expected: Sequence[ToolCall], *, allowed: bool) -> Edit:
    kind: EditKind = "allow" if allowed else "add"
    return Edit(kind=kind, expected=expected[row], expected_index=row)


def _extra(column: int, actual: Sequence[ToolCall], *, allowed: bool) -> Edit:
    return Edit(kind="allow" if allowed else "remove", actual=actual[column], actual_index=column)


def _moved(pair: Pair, in_place: Sequence[Pair]) -> Edit:
    row, column, comparison = pair
    before = [other for other in in_place if other.expected_index < row and other.actual_index > column]
    after = [other for other in in_place if other.expected_index > row and other.actual_index < column]
    place = "out of order"
    if before:
        place = f"too early, expected after {show_call(before[-1].comparison.expected, 80)}"
    elif after:
        place = f"too late, expected before {show_call(after[0].comparison.expected, 80)}"
    return Edit(
        kind="move",
        expected=comparison.expected,
        actual=comparison.actual,
        expected_index=row,
        actual_index=column,
        place=place,
    )
