"""Failures that are alike (`calipers.report.complaints`), and the slices that they hit far more often than others."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from calipers.stats.difference import fisher_exact
from calipers.stats.p_values import holm

from .attempt_fields import Record
from .complaints import complaints_of, group_id, mask
from .cut import LEVEL

MOST: Final = 100
"""Groups that are listed: the largest."""
LOOKED_AT: Final = 20
"""Groups of which is asked where they are concentrated: the largest."""
_FEWEST: Final = 3
"""Cases of a group in a slice: fewer are no concentration."""
_FAR: Final = 2.0
"""How many times as frequent a group is in a slice that it hits far more often."""
_NAMED: Final = 2
"""Slices of one group that are named."""


class FailureGroup(NamedTuple):
    """What was said of several cases, or of one."""

    evaluator: str
    """The result that is false, or the evaluator that did not finish; "" for the task."""
    said: str
    """On one line, with what differs masked."""
    did_not_finish: bool
    rows: list[int]
    """The attempts."""
    examples: list[int]
    """The first of them at each case."""

    @property
    def id(self) -> str:
        """The same in every run."""
        return group_id(self.evaluator, self.said, did_not_finish=self.did_not_finish)


def failure_groups(records: Sequence[Record]) -> list[FailureGroup]:
    """What is said against attempts, each thing once, in the order in which it is met."""
    found: dict[tuple[str, str, bool], FailureGroup] = {}
    seen: dict[tuple[str, str, bool], set[str]] = {}
    masked: dict[str, str] = {}
    for row, record in enumerate(records):
        for each in complaints_of(record):
            said = masked.get(each.why)
            if said is None:
                said = masked[each.why] = mask(each.why)
            key = (each.evaluator, said, each.did_not_finish)
            group = found.setdefault(key, FailureGroup(*key, [], []))
            if group.rows[-1:] != [row]:
                group.rows.append(row)
            name, names = record.source_case_name or record.name, seen.setdefault(key, set())
            if name not in names:
                names.add(name)
                group.examples.append(row)
    return list(found.values())


class Concentration(NamedTuple):
    """A slice that a group hits far more often than the cases outside of it."""

    place: int
    """Of the slice among those that were given."""
    cases: int
    """Of the group in the slice."""
    adjusted_p: float


def concentrations(
    groups: Sequence[int], slices: Sequence[int], inside: Sequence[Mapping[int, int]], *, cases: int
) -> list[list[Concentration]]:
    """Where each group is concentrated: the slices with the least chance of so much by luck first.

    A group hits a slice far more often if its share there is at least twice that in the other cases and Fisher's exact test, adjusted by
    Holm over all groups and slices, says that it is no luck. Of slices that hold the same number of cases of it, the first is named: a
    field of the metadata often repeats a tag.

    Args:
        groups: how many cases each has.
        slices: how many cases each has.
        inside: of each group, how many of its cases are in a slice, by the place of the slice.
        cases: of the run.
    """
    asked: list[tuple[int, int, float]] = []
    for number, (size, counts) in enumerate(zip(groups, inside, strict=True)):
        for place, count in counts.items():
            rest, outside = cases - slices[place], size - count
            if count >= _FEWEST and rest > 0 and count * rest >= _FAR * outside * slices[place]:
                p_value = fisher_exact(count, slices[place] - count, outside, rest - outside)
                asked.append((number, place, p_value))
    others = len(groups) * len(slices) - len(asked)  # these were looked at as well
    adjusted = holm([*(p for _, _, p in asked), *[1.0] * others])
    found: list[list[Concentration]] = [[] for _ in groups]
    for at in sorted(range(len(asked)), key=adjusted.__getitem__):
        number, place, _ = asked[at]
        known = found[number]
        count = inside[number][place]
        is_new = all((slices[each.place], each.cases) != (slices[place], count) for each in known)
        if adjusted[at] < LEVEL and is_new and len(known) < _NAMED:
            known.append(Concentration(place, count, adjusted[at]))
    return found
