"""Attempts at one case that came to the same: a view shows them once, not as often as the case was repeated.

Two attempts came to the same if neither passed, they gave the same output after the same tool calls, and the same was
said about them. How long they took does not count, nor do the scores and labels beside what was asserted.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence

from calipers.data.jsonable import safe_repr
from calipers.data.record import ReportCase
from calipers.stats.number_text import plural

from .calls import calls_line
from .outcome import Record, complaints
from .text import held_text

_REPEAT = re.compile(r" \[([0-9]{1,9})/([0-9]{1,9})\]")
"""What is added to the name of a case for each of its attempts."""
_RANGES = 4
"""Ranges of attempts that a name holds; more would not be read."""


def alike(records: Iterable[Record]) -> Iterator[list[Record]]:
    """The attempts case by case, those together that came to the same; whatever passed stands alone."""
    by_case: dict[str | int, list[Record]] = {}
    for position, record in enumerate(records):
        name = record.source_case_name
        by_case.setdefault(position if name is None else name, []).append(record)
    for attempts in by_case.values():
        groups: dict[Hashable, list[Record]] = {}
        for record in attempts:
            alone = len(attempts) == 1 or record.passed
            groups.setdefault(id(record) if alone else _came_to(record), []).append(record)
        yield from groups.values()


def name_of(group: Sequence[Record]) -> str:
    """The name of attempts that came to the same: `chat [1-3, 6/6]`."""
    first = group[0].name
    if len(group) == 1:
        return first
    case = group[0].source_case_name or first
    found = [_REPEAT.fullmatch(record.name.removeprefix(case)) for record in group]
    numbers = sorted(int(match[1]) for match in found if match)
    ranges = list(_ranges(numbers))
    if found[0] is None or len(numbers) < len(group) or len(ranges) > _RANGES:
        return f"{first} (and {plural(len(group) - 1, 'more attempt')} like this)"
    return f"{case} [{', '.join(ranges)}/{found[0][2]}]"


def _came_to(record: Record) -> Hashable:
    said: list[Hashable] = [record.passed, *complaints(record), calls_line(record)]
    if isinstance(record, ReportCase):
        text = held_text(record.output)
        said.append((safe_repr(record.output),) if text is None else text)
        if record.passed is None:
            said += [(skip.name, skip.reason) for skip in record.skipped]
            said += [(result.name, result.value) for result in record.results]
    return tuple(said)


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    """`1-3`, `6` for 1, 2, 3, 6."""
    start = 0
    for at, number in enumerate(numbers):
        if at + 1 == len(numbers) or numbers[at + 1] != number + 1:
            low = numbers[start]
            yield f"{low}" if low == number else f"{low}-{number}"
            start = at + 1
