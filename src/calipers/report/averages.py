"""Plain averages of a report, without intervals. Repeats of a case are averaged first, so each case weighs the same."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic

import msgspec

from calipers.data.context import InputsT, MetadataT, OutputT
from calipers.data.record import ReportCase, ReportCaseFailure


class Averages(msgspec.Struct, kw_only=True):
    """Plain averages. Repeats of a case are averaged first, then the cases, so each case weighs the same."""

    name: str = "Averages"
    scores: dict[str, float]
    labels: dict[str, dict[str, float]]
    """The share of each label, by name."""
    metrics: dict[str, float]
    assertions: float | None
    """The share of assertions that held; `None` if there were none."""
    task_duration: float
    total_duration: float


class CaseGroup(msgspec.Struct, Generic[InputsT, OutputT, MetadataT], kw_only=True):
    """The attempts of one repeated case."""

    name: str
    inputs: InputsT
    metadata: MetadataT | None
    expected_output: OutputT | None
    runs: list[ReportCase[InputsT, OutputT, MetadataT]]
    failures: list[ReportCaseFailure[InputsT, OutputT, MetadataT]]

    @property
    def summary(self) -> Averages | None:
        """The averages over its runs; `None` if none finished."""
        return average(self.runs)


def group_by_case(
    records: Iterable[
        ReportCase[InputsT, OutputT, MetadataT] | ReportCaseFailure[InputsT, OutputT, MetadataT]
    ],
) -> list[CaseGroup[InputsT, OutputT, MetadataT]]:
    """The attempts by case, in the order in which the cases come."""
    groups: dict[str, CaseGroup[InputsT, OutputT, MetadataT]] = {}
    for record in records:
        name = record.source_case_name or record.name
        group = groups.get(name)
        if group is None:
            group = groups[name] = CaseGroup(
                name=name,
                inputs=record.inputs,
                metadata=record.metadata,
                expected_output=record.expected_output,
                runs=[],
                failures=[],
            )
        if isinstance(record, ReportCase):
            group.runs.append(record)
        else:
            group.failures.append(record)
    return list(groups.values())


def average(cases: list[ReportCase]) -> Averages | None:
    """Averages over attempts, each weighing the same."""
    if not cases:
        return None
    scores: dict[str, list[float]] = {}
    labels: dict[str, dict[str, float]] = {}
    metrics: dict[str, list[float]] = {}
    assertions: list[bool] = []
    for case in cases:
        for result in case.results:
            if isinstance(result.value, bool):
                assertions.append(result.value)
            elif isinstance(result.value, str):
                counts = labels.setdefault(result.name, {})
                counts[result.value] = counts.get(result.value, 0) + 1
            else:
                scores.setdefault(result.name, []).append(result.value)
        for name, value in case.metrics.items():
            metrics.setdefault(name, []).append(value)
    return Averages(
        scores=_means(scores),
        labels={name: _shares(counts) for name, counts in labels.items()},
        metrics=_means(metrics),
        assertions=_mean(assertions) if assertions else None,
        task_duration=_mean([case.task_duration for case in cases]),
        total_duration=_mean([case.total_duration for case in cases]),
    )


def average_of(averages: Iterable[Averages | None]) -> Averages | None:
    """Averages of averages, over those that have each key."""
    found = [one for one in averages if one is not None]
    if not found:
        return None
    held = [one.assertions for one in found if one.assertions is not None]
    labels: dict[str, dict[str, float]] = {}
    for name in _keys(one.labels for one in found):
        shares = [one.labels[name] for one in found if name in one.labels]
        labels[name] = {label: _mean([s.get(label, 0.0) for s in shares]) for label in _keys(shares)}
    return Averages(
        scores=_means(_gather(one.scores for one in found)),
        labels=labels,
        metrics=_means(_gather(one.metrics for one in found)),
        assertions=_mean(held) if held else None,
        task_duration=_mean([one.task_duration for one in found]),
        total_duration=_mean([one.total_duration for one in found]),
    )


def _gather(mappings: Iterable[dict[str, float]]) -> dict[str, list[float]]:
    gathered: dict[str, list[float]] = {}
    for mapping in mappings:
        for name, value in mapping.items():
            gathered.setdefault(name, []).append(value)
    return gathered


def _keys(mappings: Iterable[Mapping[str, Any]]) -> list[str]:
    return list({name: None for mapping in mappings for name in mapping})


def _shares(counts: dict[str, float]) -> dict[str, float]:
    total = sum(counts.values())
    return {label: count / total for label, count in counts.items()}


def _means(values: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: _mean(numbers) for name, numbers in values.items()}


def _mean(values: Sequence[float]) -> float:
    try:
        return math.fsum(values) / len(values)
    except OverflowError:  # the sum is too large for a float, the mean is not
        return math.fsum(value / len(values) for value in values)
