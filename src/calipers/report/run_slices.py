"""A report cut by a field: a tag, a field of the metadata, a cluster, a label, or what the trace tells; `calipers.report.cut` says what of.

A slice is the attempts that have a value. An attempt may be in several slices of one field, as it may have several tags. An attempt under a fault
of the agent's tools counts in the slice of that fault alone, as everywhere, and every slice is held against attempts without faults.
"""

from collections.abc import Hashable, Iterable, Sequence
from itertools import compress
from typing import Any, Final, NamedTuple

import msgspec

from calipers.data.case import FAULT_TAG, NO_FAULT
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, ReportCaseFailure, counted_tags
from calipers.data.result import kind_of
from calipers.stats.case_moments import CaseMoments

from .attempt_fields import FIELDS, Beside, Record, status_of
from .attempt_filter import field_named, field_text, term_of, term_without, value_text
from .cut import MOST, Adjusted, Cases, ClusteredCases, Scale, adjusted, cut
from .summary import Summary

_FIELDS: Final = ("tag", "cluster", "tool", "agent", "model")
"""Fields without a key by which attempts can be cut."""


WITHOUT_FAULTS: Final = term_of("tag", "", f"{FAULT_TAG}{NO_FAULT}")
"""The term that finds the attempts that no fault was planned for, in a run under faults."""


class FieldSlice(NamedTuple):
    """The attempts with one value of a field."""

    value: str
    """As it is shown; "" where they have none."""
    is_missing: bool
    rows: Sequence[int]
    """Which attempts."""
    cases: int
    """How many cases."""
    filter: str
    """The term that finds them."""


class FieldSlices(NamedTuple):
    """The attempts cut by a field, those with the most cases first; those without a value last."""

    by: str
    slices: list[FieldSlice]
    left_out: int
    """Values beyond those with the most cases."""


class Measured(NamedTuple):
    """What is averaged: a number of each attempt that has one."""

    name: str | None
    """The column of results; `None`: whether the attempt passed."""
    numbers: Sequence[float | None]
    scale: Scale


class RunSlices:
    """Attempts that can be cut by their fields."""

    def __init__(self, records: Sequence[Record]) -> None:
        """Attempts of a run, all of them."""
        # A field of the metadata is what a store would keep of it, also where the metadata is an object.
        self.records = [
            record
            if record.metadata is None
            else msgspec.structs.replace(record, metadata=plain(record.metadata))
            for record in records
        ]
        places: dict[str, int] = {}
        self.case_of = [
            places.setdefault(record.source_case_name or record.name, len(places)) for record in records
        ]
        """The case of each attempt, by number."""
        self.cases = len(places)
        self._is_clean = [record.fault is None for record in self.records]
        self._has_faults = not all(self._is_clean)
        clustered = any(record.cluster is not None for record in records)
        self._clusters: list[Hashable] | None = None
        if clustered:
            found = {case: record.cluster for case, record in zip(self.case_of, records, strict=True)}
            self._clusters = [
                ("", case) if cluster is None else cluster for case, cluster in sorted(found.items())
            ]

    def fields(self) -> list[str]:
        """The fields by which the attempts can be cut, as a filter writes them: those of which some attempt has a value."""
        plain = [
            name
            for name in _FIELDS
            if any(FIELDS[name].read(record, "", Beside()) for record in self.records)
        ]
        keys: dict[tuple[str, str], int] = {}
        for record in self.records:
            for key in _keys_of(record):
                keys[key] = keys.get(key, 0) + 1
        keyed = sorted(keys, key=lambda key: (key[0] == "label", -keys[key], key[1]))
        return [*plain, *(field_text(field, key) for field, key in keyed)]

    def by(self, name: str) -> FieldSlices:
        """The attempts cut by a field, such as `tag` or `meta.lang`."""
        named = field_named(name, why="the field")
        field, key = named.field, named.key
        rows: dict[str, list[int]] = {}
        lacking: list[int] = []
        for row, values in enumerate(self._values(field, key)):
            for value in dict.fromkeys(map(value_text, values)):
                rows.setdefault(value, []).append(row)
            if not values and self._is_clean[row]:
                lacking.append(row)
        counts = {value: self._count(rows[value]) for value in sorted(rows)}
        largest = sorted(counts, key=lambda value: -counts[value])[:MOST]
        made = [
            FieldSlice(
                value, False, rows[value], counts[value], self._term(term_of(field, key, value), rows[value])
            )
            for value in largest
        ]
        if lacking:
            made.append(
                FieldSlice(
                    "", True, lacking, self._count(lacking), self._term(term_without(field, key), lacking)
                )
            )
        return FieldSlices(name, made, len(rows) - len(largest))

    def _values(self, field: str, key: str) -> Iterable[Sequence[Any]]:
        read, nothing = FIELDS[field].read, Beside()
        if field == "tag":
            return (counted_tags(record) for record in self.records)
        return ((record.fault is None and read(record, key, nothing)) or () for record in self.records)

    def _term(self, term: str, rows: Sequence[int]) -> str:
        """The term that finds a slice: where some attempts were made under faults, without these."""
        is_clean = self._has_faults and self._is_clean[rows[0]]
        return f"{term} {WITHOUT_FAULTS}" if is_clean and term != WITHOUT_FAULTS else term

    def _count(self, rows: Iterable[int]) -> int:
        return len({self.case_of[row] for row in rows})

    # ------------------------------------------------------------------ numbers

    def measured(self, column: Summary | None = None) -> Measured:
        """The numbers of the attempts: whether they passed, or what a column of assertions or scores says."""
        if column is None:
            passed = {"passed": 1.0, "failed": 0.0, "errored": 0.0, "unjudged": None}
            return Measured(None, [passed[status_of(record)] for record in self.records], Scale(is_rate=True))
        results = [_result_in(record, column) for record in self.records]
        if column.kind == "assertion":
            evaluators = {result.evaluator for result in results if result is not None}
            numbers = [
                float(result.value) if result is not None else 0.0 if _is_lost(record, evaluators) else None
                for result, record in zip(results, self.records, strict=True)
            ]
            return Measured(column.name, numbers, Scale(is_rate=True))
        scores = [None if result is None else float(result.value) for result in results]
        known = [score for score in scores if score is not None]
        declared = next((result.source.score_range for result in results if result is not None), None)
        return Measured(column.name, scores, Scale(is_rate=False, bounds=_bounds(known, declared)))

    def cuts(self, found: FieldSlices, measured: Measured) -> list[Adjusted]:
        """Each slice beside the rest; those that certainly differ most come first."""
        listed = [[] if number is None else [number] for number in measured.numbers]
        known = [number is not None for number in measured.numbers]
        made = []
        for each in found.slices:
            inside = bytearray(len(listed))
            for row in each.rows:
                inside[row] = known[row]
            outside = [
                has and clean and not taken
                for has, clean, taken in zip(known, self._is_clean, inside, strict=True)
            ]
            made.append(cut(self._cases(listed, inside), self._cases(listed, outside), measured.scale))
        return adjusted(made)

    def _cases(self, listed: Sequence[list[float]], chosen: Sequence[int]) -> Cases | None:
        """What is known of the cases of some attempts; `None` if there are none."""
        numbers = list(compress(listed, chosen))
        if not numbers:
            return None
        if self._clusters is None and self.cases == len(listed):
            return CaseMoments.of(numbers)
        by_case: dict[int, list[float]] = {}
        for case, values in zip(compress(self.case_of, chosen), numbers, strict=True):
            by_case.setdefault(case, []).extend(values)
        if self._clusters is None:
            return CaseMoments.of([*by_case.values()])
        return ClusteredCases([*by_case.values()], [self._clusters[case] for case in by_case])


def _keys_of(record: Record) -> set[tuple[str, str]]:
    """The fields with a key of which an attempt has a value."""
    metadata = record.metadata
    found = (
        {("meta", key) for key in metadata if isinstance(key, str)} if isinstance(metadata, dict) else set()
    )
    found = {each for each in found if FIELDS["meta"].read(record, each[1], Beside())}
    if isinstance(record, ReportCase):
        found |= {("label", result.name) for result in record.results if isinstance(result.value, str)}
    return found | {("label", label.question) for label in record.human_labels}


def _result_in(record: Record, column: Summary) -> Any:
    """The result of an attempt in a column; `None` if it has none."""
    if isinstance(record, ReportCaseFailure):
        return None
    found = (
        each for each in record.results if each.name == column.name and kind_of(each.value) == column.kind
    )
    return next(found, None)


def _is_lost(record: Record, evaluators: set[str]) -> bool:
    """Whether an attempt has no result since the task or the evaluator did not finish."""
    if isinstance(record, ReportCaseFailure):
        return not evaluators.isdisjoint(record.not_run)
    return any(failure.name in evaluators for failure in record.evaluator_failures)


def _bounds(values: Sequence[float], declared: tuple[float, float] | None) -> tuple[float, float] | None:
    """The bounds that all numbers keep to: those that were declared, else 0 and 1, else `None`."""
    low, high = (0.0, 1.0) if declared is None else declared
    return (low, high) if values and low <= min(values) and max(values) <= high else None
