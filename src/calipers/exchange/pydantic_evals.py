"""Reports of pydantic_evals, as `EvaluationReportAdapter.dump_json(report)` writes them.

| there | here |
|---|---|
| `experiment_metadata` | `metadata` of the run |
| `assertions`, `scores`, `labels` of a case | its results, in this order: the order of the evaluators is not told |
| `source` of a result | the evaluator; the same one with other arguments is `Name_2` |
| a score of `null`, which is what NaN becomes in that file | an evaluator that failed, as one that gives NaN does here |
| an `expected_output` of `null` | no expectation: the file does not tell the two apart |
| `analyses` | the same, where there is one of that kind |

What has no place (ids of spans, keys that are not known) is kept in the run's metadata under `pydantic_evals`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, ReportCaseFailure, hide_secrets
from calipers.data.result import EvaluationResult, EvaluatorFailure, EvaluatorSpec
from calipers.report.analysis import Analysis
from calipers.report.report import Report

from .found_run import FoundRun, damaged, is_no_score, is_time

_KEPT: Final = "pydantic_evals"


class _Result(msgspec.Struct):
    name: str
    value: bool | int | float | str | None
    source: Any
    reason: str | None = None
    evaluator_version: str | None = None


class _Failure(msgspec.Struct):
    name: str
    error_message: str
    error_stacktrace: str = ""
    source: Any = None
    error_type: str | None = None


class _Attempt(msgspec.Struct, kw_only=True):
    name: str
    inputs: Any
    metadata: Any = None
    expected_output: Any = None
    source_case_name: str | None = None
    trace_id: str | None = None
    span_id: str | None = None

    def common(self) -> dict[str, Any]:
        """The fields that a record has whether its task finished or not."""
        found = {name: getattr(self, name) for name in _Attempt.__struct_fields__}
        return {**found, "has_expected_output": self.expected_output is not None}


class _FailedCase(_Attempt, kw_only=True):
    error_message: str
    error_stacktrace: str = ""


class _Case(_Attempt, kw_only=True):
    output: Any = None
    metrics: dict[str, float | int | None] = {}
    attributes: dict[str, Any] = {}
    scores: dict[str, _Result] = {}
    labels: dict[str, _Result] = {}
    assertions: dict[str, _Result] = {}
    task_duration: float | None = None
    total_duration: float | None = None
    evaluator_failures: list[_Failure] = []


class _Report(msgspec.Struct):
    name: str
    cases: list[_Case]
    failures: list[_FailedCase] = []
    analyses: list[Any] = []
    report_evaluator_failures: list[_Failure] = []
    experiment_metadata: dict[str, Any] | None = None
    trace_id: str | None = None
    span_id: str | None = None
    dataset_name: str | None = None


def is_pydantic_evals(data: Any) -> bool:
    """Whether a document looks like such a report."""
    if not isinstance(data, dict) or "calipers_report" in data or not isinstance(data.get("cases"), list):
        return False
    judged = any(isinstance(case, dict) and "assertions" in case for case in data["cases"][:1])
    return judged or "failures" in data or "analyses" in data or "experiment_metadata" in data


def read_pydantic_evals(data: Any, what: str) -> FoundRun:
    """The run of a report.

    Raises:
        ReportFormatError: it is damaged; the message says where.
    """
    try:
        report = msgspec.convert(data, _Report)
    except msgspec.ValidationError as error:
        raise damaged(what, error) from error
    names = _EvaluatorNames()
    notes: dict[str, None] = {}
    analyses, others = _read_analyses(report.analyses)
    for each in others:
        notes[f"an analysis of the kind {each!r:.60} has no place: it is kept in the metadata"] = None
    kept = {
        "trace_id": report.trace_id,
        "span_id": report.span_id,
        "analyses": others,
        **_left(data, _Report),
        "cases": _left_of_cases(data),
    }
    kept = {name: value for name, value in kept.items() if value}
    metadata = plain({**(report.experiment_metadata or {}), **({_KEPT: kept} if kept else {})})
    made = Report(
        name=report.name,
        cases=[_case(case, names, notes) for case in report.cases],
        failures=[_failed(case) for case in report.failures],
        analyses=analyses,
        report_evaluator_failures=[_failure(each, names) for each in report.report_evaluator_failures],
        dataset_name=report.dataset_name,
        metadata=metadata or None,
        repeat=_repeat(report),
        seed=None,
    )
    _tell_apart(made, notes)
    found = FoundRun.of_report("report of pydantic_evals", made)
    found.info.environment = {"made_by": "pydantic_evals"}
    found.notes.update(notes)
    return found


def _case(case: _Case, names: "_EvaluatorNames", notes: dict[str, None]) -> ReportCase:
    results: list[EvaluationResult] = []
    failures = [_failure(each, names) for each in case.evaluator_failures]
    for name, result in (*case.assertions.items(), *case.scores.items(), *case.labels.items()):
        evaluator, spec = names.of(result.source, name)
        value = result.value
        if value is None or is_no_score(value):
            said = f"InvalidOutputError: {name!r} has no value, or one that is no number"
            failures.append(
                EvaluatorFailure(
                    name=evaluator, error_type="InvalidOutputError", error_message=said, source=spec
                )
            )
            notes[f"case {case.name!r} has no value for {name!r}: its evaluator counts as failed"] = None
            continue
        results.append(
            EvaluationResult(
                name=name,
                value=value,
                reason=result.reason,
                evaluator=evaluator,
                source=spec,
                evaluator_version=result.evaluator_version,
            )
        )
    metrics = {n: value for n, value in case.metrics.items() if value is not None and not is_no_score(value)}
    for name in [name for name in case.metrics if name not in metrics]:
        notes[f"case {case.name!r} has no value for the metric {name!r}: it counts as not measured"] = None
    if not is_time(case.task_duration):
        notes[f"case {case.name!r} does not say how long its task took: it counts as 0 s"] = None
    record = ReportCase(
        **case.common(),
        output=case.output,
        metrics=metrics,
        attributes=case.attributes,
        results=tuple(results),
        evaluator_failures=tuple(failures),
        task_duration=_seconds(case.task_duration),
        total_duration=_seconds(case.total_duration),
    )
    hide_secrets(record)
    return record


def _seconds(value: float | None) -> float:
    return value if value is not None and is_time(value) else 0.0


def _failed(case: _FailedCase) -> ReportCaseFailure:
    record = ReportCaseFailure(
        **case.common(),
        error_type=_error_type(case.error_message),
        error_message=case.error_message,
        error_stacktrace=case.error_stacktrace,
    )
    hide_secrets(record)
    return record


def _failure(failure: _Failure, names: "_EvaluatorNames") -> EvaluatorFailure:
    _, spec = names.of(failure.source, failure.name)
    return EvaluatorFailure(
        name=failure.name,
        error_type=failure.error_type or _error_type(failure.error_message),
        error_message=failure.error_message,
        error_stacktrace=failure.error_stacktrace,
        source=spec,
    )


def _error_type(message: str) -> str:
    """The type in front of an error's message; older reports have it nowhere else."""
    found = re.match(r"[A-Za-z_][\w.]*(?=:|$)", message)
    return found[0] if found else "Exception"


class _EvaluatorNames:
    """Names for the evaluators of a report, which has only their types."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, bytes], str] = {}
        self._taken: dict[str, int] = {}

    def of(self, source: Any, result: str) -> tuple[str, EvaluatorSpec]:
        """The name and type of the evaluator of a source; an empty source is named after the result."""
        spec = _spec(source, result)
        key = (spec.name, msgspec.json.encode(spec.arguments, order="deterministic"))
        name = self._names.get(key)
        if name is None:
            number = self._taken[spec.name] = self._taken.get(spec.name, 0) + 1
            name = self._names[key] = spec.name if number == 1 else f"{spec.name}_{number}"
        return name, spec


def _spec(source: Any, otherwise: str) -> EvaluatorSpec:
    """An evaluator as it is written there: `Name`, `{Name: arguments}` or an object with both."""
    arguments: Any = None
    if isinstance(source, Mapping) and isinstance(source.get("name"), str):
        name, arguments = source["name"], source.get("arguments")
    elif isinstance(source, Mapping) and len(source) == 1:
        ((name, arguments),) = source.items()
    else:
        name = source if isinstance(source, str) else otherwise
    if arguments is None:
        return EvaluatorSpec(name)
    if isinstance(arguments, Mapping):
        return EvaluatorSpec(name, plain(dict(arguments)))
    values = arguments if isinstance(arguments, list) else [arguments]
    return EvaluatorSpec(name, {str(number): plain(value) for number, value in enumerate(values)})


def _read_analyses(analyses: Iterable[Any]) -> tuple[list[Analysis], list[Any]]:
    """Analyses of known kinds, and the others as they are."""
    found: list[Analysis] = []
    others: list[Any] = []
    for each in analyses:
        try:
            found.append(msgspec.convert(each, Analysis))
        except (msgspec.ValidationError, ValueError):
            others.append(each)
    return found, others


def _left(data: Any, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """What an object holds besides the known fields."""
    return {name: value for name, value in data.items() if name not in kind.__struct_fields__}


def _left_of_cases(data: Any) -> dict[str, Any]:
    found = {case["name"]: _left(case, _Case) for case in data["cases"]}
    found |= {case["name"]: _left(case, _FailedCase) for case in data.get("failures", ())}
    return {name: left for name, left in found.items() if left}


def _repeat(report: _Report) -> int:
    """How often each case was tried, by the names of the attempts."""
    repeated = (case.name for case in _all(report) if case.source_case_name is not None)
    found = (re.search(r"\[\d+/(\d{1,6})\]$", name) for name in repeated)
    return max((int(each[1]) for each in found if each is not None), default=1)


def _all(report: _Report) -> Iterator[_Case | _FailedCase]:
    yield from report.cases
    yield from report.failures


def _tell_apart(report: Report, notes: dict[str, None]) -> None:
    """Give every attempt a name of its own."""
    seen: set[str] = set()
    records: list[ReportCase | ReportCaseFailure] = [*report.cases, *report.failures]
    for record in records:
        name, number = record.name, 1
        while record.name in seen:
            number += 1
            record.name = f"{name}_{number}"
        if number > 1:
            notes[f"two attempts are called {name!r}: the second is {record.name!r} now"] = None
        seen.add(record.name)
