"""What a search found: the report of its run, the outcomes in order, and the failures by kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calipers.data.case import Case
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.report.report import Report
from calipers.run.dataset import Dataset
from calipers.stats.number_text import plural

from .failure_front import RankedFailure, ranked_failures
from .failure_rate import FailureRate
from .objective import Objective
from .proposal import Proposal
from .trial_outcome import Outcome

_TRIAL = "trial "


@dataclass(frozen=True)
class Findings:
    """What a search found."""

    report: Report[Any, Any, Any]
    """Of the run, with every trial as an attempt. Its rates describe what was tried, not how often the system fails in use."""
    outcomes: tuple[Outcome, ...]
    """Of the trials that were judged, in the order of the proposals."""
    estimate: FailureRate | None = None
    """How likely a draw of the space fails, where the strategy estimates it."""

    @classmethod
    def of(cls, report: Report[Any, Any, Any], objective: Objective | None = None) -> "Findings":
        """What the report of a search tells, stored or not; the objective has to be that of the search."""
        objective = objective or Objective()
        records: list[ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any]]
        records = [*report.cases, *report.failures]
        by_number = {number: record for record in records if (number := trial_number(record))}
        outcomes = [
            objective.read(number, proposal_of(by_number[number]), by_number[number])
            for number in sorted(by_number)
        ]
        return cls(report, tuple(outcomes))

    @property
    def failures(self) -> list[Outcome]:
        """The trials that failed."""
        return [outcome for outcome in self.outcomes if outcome.failed]

    @property
    def unknown(self) -> int:
        """Trials of which it is not known whether they failed."""
        return sum(outcome.failed is None for outcome in self.outcomes)

    @property
    def kinds(self) -> dict[str, list[Outcome]]:
        """The failures by their signature, in the order in which each kind was first found."""
        found: dict[str, list[Outcome]] = {}
        for outcome in self.failures:
            found.setdefault(outcome.signature, []).append(outcome)
        return found

    @property
    def ranked(self) -> list[RankedFailure]:
        """The failures, the most ordinary first; needs an objective with `realism`, without which none is known to be ordinary."""
        return ranked_failures(self.outcomes)

    @property
    def front(self) -> list[RankedFailure]:
        """The failures than which none is both worse and more ordinary, the most ordinary first."""
        return [each for each in self.ranked if each.on_front]

    @property
    def calls(self) -> int:
        """How often the system was asked."""
        return sum(outcome.calls for outcome in self.outcomes)

    @property
    def calls_to_first(self) -> int | None:
        """How often the system was asked until it failed first, that call included; `None`: it did not fail."""
        calls = 0
        for outcome in self.outcomes:
            calls += outcome.calls
            if outcome.failed:
                return calls
        return None

    def dataset(self, name: str | None = None) -> Dataset[Any, Any, Any]:
        """A regression dataset: the smallest failing inputs of each kind, each with the trial that it comes from, and what is expected of it."""
        cases = []
        for kind, outcomes in self.kinds.items():
            smallest = min(outcomes, key=lambda outcome: (size_of(outcome.proposal.inputs), outcome.number))
            proposal = smallest.proposal
            metadata = {
                **proposal.choices,
                "found": kind,
                "trial": smallest.number,
                "run": self.report.name,
            }
            cases.append(
                case_like(
                    proposal.case,
                    proposal.inputs,
                    metadata,
                    name=f"{kind or 'failure'} (trial {smallest.number})",
                )
            )
        return Dataset(name=name, cases=cases)

    def __str__(self) -> str:
        first = self.calls_to_first
        found = plural(len(self.failures), "failure")
        kinds = (
            f" of {plural(len(self.kinds), 'kind')}, the first after {plural(first, 'call')}" if first else ""
        )
        unknown = f"; {plural(self.unknown, 'trial')} not known" if self.unknown else ""
        return (
            f"{found}{kinds} in {plural(len(self.outcomes), 'trial')} ({plural(self.calls, 'call')}){unknown}"
        )


def trial_number(record: ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any]) -> int:
    """The number of a trial, by the name of its case; 0 for an attempt that is no trial."""
    digits = record.name.removeprefix(_TRIAL)
    return int(digits) if record.name.startswith(_TRIAL) and digits.isdecimal() else 0


def proposal_of(record: ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any]) -> Proposal:
    """The proposal of a recorded trial."""
    choices = record.metadata if isinstance(record.metadata, Mapping) else {}
    like = (
        Case(inputs=record.inputs, expected_output=record.expected_output, tags=record.tags)
        if record.has_expected_output
        else None
    )
    return Proposal(record.inputs, choices=choices, case=like)


def case_like(
    like: Case[Any, Any, Any] | None, inputs: Any, metadata: Any, *, name: str
) -> Case[Any, Any, Any]:
    """A case of other inputs that expects what another case does, and is judged by the same evaluators."""
    if like is None:
        return Case(name=name, inputs=inputs, metadata=metadata)
    more: dict[str, Any] = {"expected_output": like.expected_output} if like.has_expected_output else {}
    return Case(
        name=name,
        inputs=inputs,
        metadata=metadata,
        expected_tool_calls=like.expected_tool_calls,
        evaluators=like.evaluators,
        tags=like.tags,
        cluster=like.cluster,
        timeout=like.timeout,
        **more,
    )


def size_of(inputs: Any) -> int:
    """The size of inputs: the words of their texts, and each number or flag as one."""
    data = inputs if isinstance(inputs, str) else plain(inputs)
    if isinstance(data, str):
        return len(data.split())
    if isinstance(data, Mapping):
        return sum(1 + size_of(value) for value in data.values())
    if isinstance(data, list):
        return sum(map(size_of, data))
    return 1
