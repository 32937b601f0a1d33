"""Where a report evaluator finds a value of an attempt: in its output, in its case, or in its results.

`None` is a value. A value that is absent is `Missing`, with the reason; it is *lost* where it should have been given: the
task or the evaluator failed, or the output lacks the part asked for. A result of a skipped evaluator, or an attribute that
the task did not set, is missing and not lost.

A `Sample` holds the attempts that a report evaluator could measure, and why it left out the others. Every attempt counts
once. Attempts at one case, or at cases of one cluster, form a group: an interval must not treat them as independent.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar, assert_never, get_args

from calipers.data.argument_checks import check_choice
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, kind_of
from calipers.errors import InvalidOptionError
from calipers.report.report import Report

from .equality import as_mapping

Place: TypeAlias = Literal[
    "output", "expected_output", "metadata", "attributes", "metrics", "assertions", "scores", "labels"
]
"""Where to look. `scores` are numeric results, and the graded scores behind assertions."""

Record: TypeAlias = ReportCase | ReportCaseFailure
"""One attempt of a report."""

# The places that hold many named values, with the word for one of them.
_NAMED = {
    "attributes": "attribute",
    "metrics": "metric",
    "assertions": "assertion",
    "scores": "score",
    "labels": "label",
}


@dataclass(frozen=True, slots=True)
class Missing:
    """No value, and why."""

    reason: str
    """Continues "an attempt …": "whose task failed", "without a score called 'x'"."""
    lost: bool = False
    """Whether it should have been given."""


def attempts(report: Report) -> list[Record]:
    """Every attempt: first those whose task finished, then those whose task did not.

    Raises:
        InvalidOptionError: the report does not keep every attempt.
    """
    report.check_whole("report evaluators")
    return [*report.cases, *report.failures]


@dataclass(frozen=True)
class Source:
    """Where one kind of value is found."""

    role: str
    """What the value is to the evaluator: `predicted` for the options `predicted_from` and `predicted_key`."""
    place: Place
    key: str | None = None
    """Which part: a name where the place holds many, a field where it holds one value; `None` for all of it."""

    def __post_init__(self) -> None:
        check_choice(f"{self.role}_from", self.place, get_args(Place))
        if self.key is None and self.place in _NAMED:
            raise InvalidOptionError(
                f"{self.role}_from={self.place!r} needs {self.role}_key: the name of one of the {self.place}"
            )

    @property
    def words(self) -> str:
        """The place, in words that fit a sentence about an attempt."""
        if self.place in _NAMED:
            return f"{_NAMED[self.place]} {self.key!r}"
        words = self.place.replace("_", " ")
        return words if self.key is None else f"{words} {self.key!r}"

    def read_all(self, report: Report) -> list[Any | Missing]:
        """The value of each attempt, or why it has none, in the order of `attempts(report)`."""
        report.check_whole("report evaluators")
        absent = Missing(self._absence(report))
        results = (result for case in report.cases for result in case.results)
        evaluators = {self.key, *(result.evaluator for result in results if result.name == self.key)}
        finished = [self._read(case, absent, evaluators) for case in report.cases]
        return [*finished, *(self._read_failed(failure) for failure in report.failures)]

    def _read(self, case: ReportCase, absent: Missing, evaluators: set[str | None]) -> Any | Missing:
        match self.place:
            case "output":
                return self._part(case.output, lost=True)
            case "expected_output" | "metadata":
                return self._read_case(case)
            case "attributes":
                return case.attributes.get(str(self.key), absent)
            case "metrics":
                return case.metrics.get(str(self.key), absent)
            case "assertions" | "scores" | "labels":
                for result in case.results:
                    if result.name == self.key and (value := self._judged(result)) is not None:
                        return value
                if any(failure.name in evaluators for failure in case.evaluator_failures):
                    return Missing("whose evaluator failed", lost=True)
                return absent
            case _:
                assert_never(self.place)

    def _read_failed(self, failure: ReportCaseFailure) -> Any | Missing:
        """Of an attempt whose task failed, only the case is known."""
        if self.place in {"expected_output", "metadata"}:
            return self._read_case(failure)
        return Missing("whose task failed", lost=True)

    def _read_case(self, record: Record) -> Any | Missing:
        if self.place == "expected_output":
            if not record.has_expected_output:
                return Missing("without an expected output")
            return self._part(record.expected_output)
        return Missing("without metadata") if record.metadata is None else self._part(record.metadata)

    def _part(self, value: Any, *, lost: bool = False) -> Any | Missing:
        if self.key is None:
            return value
        fields = as_mapping(value)
        if fields is None or self.key not in fields:
            return Missing(f"whose {self.place.replace('_', ' ')} has no {self.key!r}", lost)
        return fields[self.key]

    def _judged(self, result: EvaluationResult) -> bool | float | str | None:
        """The value of a result in this place; `None` if it belongs to another."""
        kind = kind_of(result.value)
        if self.place == "scores":
            return result.value if kind == "score" else result.score
        return result.value if f"{kind}s" == self.place else None

    def _absence(self, report: Report) -> str:
        """Why an attempt has no value of this name; for a name that no attempt has, with the names there are."""
        if self.place not in _NAMED:
            return ""
        known: dict[str, None] = {}
        for case in report.cases:
            if self.place == "attributes":
                known.update(dict.fromkeys(case.attributes))
            elif self.place == "metrics":
                known.update(dict.fromkeys(case.metrics))
            else:
                known.update((r.name, None) for r in case.results if self._judged(r) is not None)
        one = _NAMED[self.place]
        absence = f"without {'an' if one[0] == 'a' else 'a'} {one} called {self.key!r}"
        if self.key in known:
            return absence
        there = ", ".join(map(repr, known)) or "none"
        return f"{absence} (the {self.place} there are: {there})"


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
