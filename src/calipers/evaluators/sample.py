"""The attempts of a report that a report evaluator could measure, and why it left out the others.

Every attempt counts once. Attempts at one case, or at cases of one cluster, form a group: an interval must not take
them for independent.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from calipers.evaluators.attempt_values import Missing, Record

ValueT = TypeVar("ValueT")


@dataclass
class Sample(Generic[ValueT]):
    """Measured values, one per attempt."""

    values: list[ValueT] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    """The attempt of each value."""
    left_out: Counter[str] = field(default_factory=Counter)
    """How many attempts have no value, by reason."""

    def add(self, record: Record, value: ValueT | Missing) -> None:
        """Take in one attempt, with its value or the reason for having none."""
        if isinstance(value, Missing):
            self.left_out[value.reason] += 1
        else:
            self.values.append(value)
            self.records.append(record)

    @property
    def groups(self) -> list[Hashable] | None:
        """The group of each attempt; `None` if every attempt stands alone."""
        found: list[Hashable] = [
            ("cluster", record.cluster) if record.cluster is not None else ("case", _case_name(record))
            for record in self.records
        ]
        return found if len(set(found)) < len(found) else None

    def note(self, *remarks: str | None) -> str | None:
        """What a reader must know of the sample, together with further remarks; `None` if there is nothing to say."""
        said = [remark for remark in (self._missing(), self._repeats(), *remarks) if remark]
        return "; ".join(said) or None

    def _missing(self) -> str | None:
        why = in_words(self.left_out)
        if not self.values:
            return f"nothing could be measured: {why}" if why else "the report has no attempts"
        if not why:
            return None
        total = len(self.values) + self.left_out.total()
        return f"{self.left_out.total()} of {total} attempts are left out: {why}"

    def _repeats(self) -> str | None:
        cases = len({_case_name(record) for record in self.records})
        if cases == len(self.records):
            return None
        return (
            f"every attempt counts: {len(self.records)} attempts at {cases} case{'' if cases == 1 else 's'}"
        )


def in_words(reasons: Counter[str]) -> str:
    """How many attempts have which reason."""
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items())


def _case_name(record: Record) -> str:
    return record.source_case_name or record.name
