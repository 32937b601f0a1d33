"""All results of one run, as data: what was tried, what came of it, and what it says together.

The headline is `pass_rate()`: the share of cases that passed, where an attempt passes if its task finished, every
evaluator finished, and every assertion held. Attempts that assert nothing are left out; a failed task never is.

Drawing is the views' job; `print()` is a door to one of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from .analysis import Analysis
from .errors import InvalidOptionError, ReportFormatError
from .plain import plain
from .record import ReportCase, ReportCaseFailure
from .result import EvaluatorFailure
from .scoring import BlockedLoop
from .stats import Estimate, pass_at_k, pass_hat_k, rate
from .summary import Durations, Summary, clusters_of, durations, summarise

if TYPE_CHECKING:
    from rich.console import Console

FORMAT_VERSION = 1
"""The version of `to_dict`; a release reads its own version and every earlier one."""


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


class CaseGroup(msgspec.Struct, kw_only=True):
    """The attempts of one repeated case."""

    name: str
    inputs: Any
    metadata: Any
    expected_output: Any
    runs: list[ReportCase]
    failures: list[ReportCaseFailure]

    @property
    def summary(self) -> Averages | None:
        """The averages over its runs; `None` if none finished."""
        return _average(self.runs)


class Report(msgspec.Struct, kw_only=True):
    """All results of one run."""

    name: str
    """What was run: the experiment's name, else the task's."""
    cases: list[ReportCase]
    """Attempts whose task finished, in the dataset's order."""
    failures: list[ReportCaseFailure] = []
    """Attempts whose task did not."""
    analyses: list[Analysis] = []
    """What report evaluators found."""
    report_evaluator_failures: list[EvaluatorFailure] = []
    dataset_name: str | None = None
    metadata: dict[str, Any] | None = None
    """What the caller noted about the run."""
    repeat: int = 1
    seed: int = 0
    """From which every attempt's seed, and every random draw of the report, follows."""
    started_at: str | None = None
    """When the run began: ISO 8601, UTC."""
    duration: float | None = None
    """Seconds the run took."""
    incomplete: str | None = None
    """Why the run ended before all cases were done; `None` if it did not."""
    unfinished: int = 0
    """Attempts that were begun and given up when the run ended early."""
    blocked: dict[str, BlockedLoop] = {}
    """Synchronous evaluators that held up the event loop, by name."""

    # ------------------------------------------------------------------ what it says

    def summaries(self, *, confidence: float = 0.95) -> dict[str, Summary]:
        """One summary per column of results, by name."""
        return summarise(self.cases, self.failures, confidence=confidence)

    def pass_rate(self, *, confidence: float = 0.95) -> Estimate | None:
        """The share of cases that passed; `None` if nothing was asserted."""
        units, clusters = self._passes()
        return rate(list(units.values()), clusters=clusters, confidence=confidence) if units else None

    def pass_at_k(self, k: int, *, evaluator: str | None = None, confidence: float = 0.95) -> Estimate | None:
        """The chance that at least one of `k` attempts at a case passes, by the unbiased estimate.

        Args:
            k: how many attempts; at most `repeat`.
            evaluator: judge by this assertion alone; default: by the whole attempt.
            confidence: of the interval.
        """
        units, clusters = self._passes(evaluator)
        return pass_at_k(list(units.values()), k, clusters=clusters, confidence=confidence) if units else None

    def pass_hat_k(
        self, k: int, *, evaluator: str | None = None, confidence: float = 0.95
    ) -> Estimate | None:
        """The chance that all of `k` attempts at a case pass (pass^k), by the unbiased estimate."""
        units, clusters = self._passes(evaluator)
        return (
            pass_hat_k(list(units.values()), k, clusters=clusters, confidence=confidence) if units else None
        )

    def durations(self) -> Durations | None:
        """How long the finished tasks took."""
        return durations(self.cases)

    def averages(self) -> Averages | None:
        """Plain averages over the finished attempts, two-level under repeats; `None` if none finished."""
        groups = self.case_groups()
        if groups is None:
            return _average(self.cases)
        return _average_of([group.summary for group in groups])

    def case_groups(self) -> list[CaseGroup] | None:
        """The attempts by case; `None` when nothing was repeated. Cases that only ever failed come last."""
        if self.repeat == 1:
            return None
        groups: dict[str, CaseGroup] = {}
        records: list[ReportCase | ReportCaseFailure] = [*self.cases, *self.failures]
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

    def _passes(self, evaluator: str | None = None) -> tuple[dict[str, tuple[int, int]], Any]:
        """(passes, attempts) of each case that something was asserted of, and the clusters of these cases."""
        passed: list[tuple[ReportCase | ReportCaseFailure, bool | None]]
        passed = [(case, case.passed if evaluator is None else _held(case, evaluator)) for case in self.cases]
        if all(held is None for _, held in passed):
            if evaluator is not None and not any(evaluator in failure.not_run for failure in self.failures):
                known = [name for name, summary in self.summaries().items() if summary.kind == "assertion"]
                raise InvalidOptionError(f"no assertion is called {evaluator!r}; there are {known}")
            return {}, None
        passed += [(f, False) for f in self.failures if evaluator is None or evaluator in f.not_run]
        units: dict[str, tuple[int, int]] = {}
        clusters: dict[str, str | None] = {}
        for record, held in passed:
            if held is not None:
                unit = record.source_case_name or record.name
                clusters[unit] = record.cluster
                passes, attempts = units.get(unit, (0, 0))
                units[unit] = (passes + held, attempts + 1)
        return units, clusters_of(list(units), clusters)

    def __repr__(self) -> str:
        # Short: a report of many cases must not become megabytes of text in a log or a notebook.
        return f"Report(name={self.name!r}, {len(self.cases)} cases, {len(self.failures)} failures)"

    # ------------------------------------------------------------------ in and out

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON data, with a version. `from_dict` reads it back."""
        data = {name: _record(getattr(self, name)) for name in self.__struct_fields__}
        return {"calipers_report": FORMAT_VERSION, **data}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Report":
        """A report from what `to_dict` gave. Inputs and outputs come back as plain data.

        Raises:
            ReportFormatError: the data is no stored report, or one of a later version.
        """
        version = data.get("calipers_report") if isinstance(data, Mapping) else None
        if not isinstance(version, int):
            raise ReportFormatError(
                f"this is no stored report: it has no 'calipers_report' version, got {data!r:.200}"
            )
        if version > FORMAT_VERSION:
            raise ReportFormatError(
                f"the report has format version {version}, and this release reads up to {FORMAT_VERSION}: "
                "install a newer calipers"
            )
        try:
            return msgspec.convert({k: v for k, v in data.items() if k != "calipers_report"}, cls)
        except msgspec.ValidationError as error:
            raise ReportFormatError(f"the stored report is damaged: {error}") from error

    def print(self, *, console: "Console | None" = None, width: int | None = None, **options: Any) -> None:
        """Show the report in the terminal; see `calipers.views.terminal.print_report` for the options."""
        from .views.terminal import print_report

        print_report(self, console=console, width=width, **options)


def _record(value: Any) -> Any:
    """A part of the report as plain data; what only lives in memory is left out."""
    if isinstance(value, list):
        return [_record(item) for item in value]
    if isinstance(value, tuple):
        return [_record(item) for item in value]
    if isinstance(value, msgspec.Struct):
        found = {
            name: _record(getattr(value, name)) for name in value.__struct_fields__ if name != "original"
        }
        tag = value.__struct_config__.tag
        return found if tag is None else {"type": tag, **found}
    return plain(value)


def _held(case: ReportCase, evaluator: str) -> bool | None:
    for result in case.results:
        if result.name == evaluator and isinstance(result.value, bool):
            return result.value
    return False if any(failure.name == evaluator for failure in case.evaluator_failures) else None


def _average(cases: list[ReportCase]) -> Averages | None:
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


def _average_of(averages: Iterable[Averages | None]) -> Averages | None:
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
    return sum(values) / len(values)
