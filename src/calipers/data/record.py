"""What a report keeps of one attempt: `ReportCase` if its task finished, `ReportCaseFailure` if it did not.

Both are plain data. A record keeps its results in one tuple; `assertions`, `scores` and `labels` are views of it,
made when asked for.
"""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar, cast

import msgspec

from calipers.data.case import FAULT_TAG
from calipers.data.context import InputsT, MetadataT, OutputT
from calipers.data.human_label import HumanLabel
from calipers.data.jsonable import safe_repr
from calipers.data.pydantic_field import ModelField
from calipers.data.redaction import SHORTEST_KEY, masked, masked_fields
from calipers.data.result import (
    EvaluationResult,
    EvaluatorFailure,
    Hopeless,
    Scalar,
    SkippedEvaluation,
    kind_of,
)
from calipers.data.result_names import Names
from calipers.data.spending import judge_metrics
from calipers.data.trace import ToolCall, Trace, holds_no_secret, secrets_of
from calipers.errors import InvalidOptionError, OtherLoopError

_StructT = TypeVar("_StructT", bound=msgspec.Struct)


def told_calls(calls: list[ToolCall]) -> list[Any]:
    """Expected calls as a record keeps them; one with a matcher that has no plain form is shown by its repr."""
    from calipers.matching.matcher_data import calls_data

    found: list[Any] = []
    for call in calls:
        try:
            found += calls_data([call])
        except InvalidOptionError:
            found.append({"name": call.name, "shown": safe_repr(call)})
    return found


def is_other_loop(error_type: str) -> bool:
    """Whether an error of this recorded type is an `OtherLoopError`."""
    return error_type == OtherLoopError.__name__


class Failure(ModelField, msgspec.Struct, frozen=True, kw_only=True):
    """Something that was to run and did not finish."""

    error_type: str
    error_message: str
    """`Type: text`."""
    error_stacktrace: str = ""


class ReportCase(ModelField, msgspec.Struct, Generic[InputsT, OutputT, MetadataT], kw_only=True, gc=False):
    """One attempt whose task finished, with what its evaluators said."""

    name: str
    """Unique in the report: the case's name, with `[i/n]` when the case is repeated."""
    inputs: InputsT
    metadata: MetadataT | None
    expected_output: OutputT | None
    output: OutputT
    metrics: dict[str, int | float]
    attributes: dict[str, Any]
    results: tuple[EvaluationResult[Scalar], ...]
    """Every judgement, in the order the evaluators ran."""
    evaluator_failures: tuple[EvaluatorFailure, ...] = ()
    """Evaluators that did not finish."""
    skipped: tuple[SkippedEvaluation, ...] = ()
    """Evaluators that did not apply."""
    task_duration: float
    """Seconds the task took."""
    total_duration: float
    """Seconds for task, evaluators and hooks together."""
    source_case_name: str | None = None
    """The case's name without the repeat; `None` when nothing is repeated."""
    cluster: str | None = None
    tags: tuple[str, ...] = ()
    """The tags of the case: each makes a slice of the report."""
    fault: str | None = None
    """The fault of the agent's tools under which it was made: it says nothing of how the agent does without. `None`: none."""
    tries: int = 1
    """How often the task was called."""
    has_expected_output: bool = False
    """Whether the case stated an expectation; it may be `None`."""
    expected_tool_calls: list[Any] | None = None
    """The tool calls that the case expects, as plain data; `None` when it says nothing about calls."""
    trace_id: str | None = None
    span_id: str | None = None
    teardown_failure: Failure | None = None
    """A clean-up hook that failed; the judgements stand."""
    trace: Trace | None = None
    """What the agent did, where the task returned or recorded a trace."""
    human_labels: tuple[HumanLabel, ...] = ()
    """What people said of the attempt, where it is read from a store that has their labels. They are no results, and change nothing
    that is counted."""
    position: int | None = None
    """Its place in the whole run, where the report is of a shard; `None`: it stands in its place."""

    @property
    def assertions(self) -> dict[str, EvaluationResult[bool]]:
        """The pass/fail results by name."""
        found = {r.name: r for r in self.results if r.value is True or r.value is False}
        return cast("dict[str, EvaluationResult[bool]]", found)

    @property
    def scores(self) -> dict[str, EvaluationResult[int | float]]:
        """The numeric results by name."""
        found = {r.name: r for r in self.results if kind_of(r.value) == "score"}
        return cast("dict[str, EvaluationResult[int | float]]", found)

    @property
    def labels(self) -> dict[str, EvaluationResult[str]]:
        """The string results by name."""
        found = {r.name: r for r in self.results if isinstance(r.value, str)}
        return cast("dict[str, EvaluationResult[str]]", found)

    @property
    def passed(self) -> bool | None:
        """True if every assertion held and every evaluator finished; `None` if nothing was asserted."""
        if self.evaluator_failures:
            return False
        held: bool | None = None
        for result in self.results:
            if result.value is False:
                return False
            if result.value is True:
                held = True
        return held

    @property
    def all_metrics(self) -> dict[str, int | float]:
        """The metrics of the attempt, and what judging it cost as far as that is known: `judge_cost`, `judge_unpriced_calls`."""
        spent = judge_metrics(self)
        return {**self.metrics, **spent, **self.metrics} if spent else self.metrics

    @property
    def on_other_loop(self) -> bool:
        """Whether an evaluator failed with an `OtherLoopError`, so that the attempt says nothing of the agent."""
        return any(is_other_loop(failure.error_type) for failure in self.evaluator_failures)


def name_results(cases: Sequence[ReportCase], names: Names | None = None) -> None:
    """Give the results of a whole run their names, also those that were named before all were known.

    Args:
        cases: of the run.
        names: what is known of it; default: what the cases tell.
    """
    if names is None:
        names = Names()
        for case in cases:
            names.meet(failure.name for failure in case.evaluator_failures)
            names.hear(case.results, case.skipped)
    for case in cases:
        case.results, case.skipped = names.named(case.results, case.skipped)


class ReportCaseFailure(
    ModelField, msgspec.Struct, Generic[InputsT, OutputT, MetadataT], kw_only=True, gc=False
):
    """One attempt whose task, or the hooks around it, did not finish. It counts as not passed."""

    name: str
    inputs: InputsT
    metadata: MetadataT | None
    expected_output: OutputT | None
    error_type: str
    error_message: str
    """`Type: text`."""
    error_stacktrace: str = ""
    infrastructure: bool = False
    """Whether a time-out, a connection or a server got in the way, so that it says nothing about the agent's answer."""
    hopeless: Hopeless | None = None
    """What was wrong that no further attempt could escape: the key, the credit, the model or the host; `None`: nothing of this kind."""
    not_run: tuple[str, ...] = ()
    """The evaluators that would have judged it."""
    task_duration: float = 0.0
    total_duration: float = 0.0
    source_case_name: str | None = None
    cluster: str | None = None
    tags: tuple[str, ...] = ()
    fault: str | None = None
    """The fault of the agent's tools under which it was made, as in a `ReportCase`."""
    tries: int = 1
    has_expected_output: bool = False
    expected_tool_calls: list[Any] | None = None
    trace_id: str | None = None
    span_id: str | None = None
    teardown_failure: Failure | None = None
    trace: Trace | None = None
    """What the agent did before it failed, where the task recorded a trace."""
    human_labels: tuple[HumanLabel, ...] = ()
    """What people said of the attempt, as in a `ReportCase`."""
    metrics: dict[str, int | float] = {}
    """What it had counted before it failed, and what the models it asked cost."""
    attributes: dict[str, Any] = {}
    """What it had noted before it failed."""
    position: int | None = None
    """Its place in the whole run, as in a `ReportCase`."""

    @property
    def passed(self) -> bool:
        """Never."""
        return False

    @property
    def on_other_loop(self) -> bool:
        """Whether it failed with an `OtherLoopError`, so that it says nothing of the agent."""
        return is_other_loop(self.error_type)


def counted_tags(record: ReportCase | ReportCaseFailure) -> tuple[str, ...]:
    """The tags in whose slices an attempt counts: of one under a fault, that of the fault alone."""
    return record.tags if record.fault is None else (f"{FAULT_TAG}{record.fault}",)


# ---------------------------------------------------------------------- secrets

_TEXTLESS = frozenset({bool, int, float, str, type(None)})
"""Outputs that hold no evidence: most are of these types."""
_DEEPEST = 20
"""Evidence that is nested deeper in an output is not looked for."""


def may_hold_secrets(record: ReportCase[Any, Any, Any]) -> bool:
    """Whether there is evidence in what a task did in which secrets may be; of most attempts there is none."""
    return record.trace is not None or bool(record.attributes) or type(record.output) not in _TEXTLESS


def hide_secrets(record: ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any]) -> bool:
    """Take what looks like a secret (`calipers.data.redaction`) out of the evidence in a record.

    Evidence is what was seen of the agent and said about it: the trace, attributes, errors, reasons, metadata of results,
    and in the output what has a method `without_secrets`, as tool calls, responses and rollouts do. Inputs, expectations and
    an answer itself stay as they are: they are what is measured. So do names of evaluators, results and metrics.

    Returns: whether there was any in what the agent did, so that an evaluator that judges the record misses it.
    """
    known: list[str] = []
    hidden = False
    if (trace := record.trace) is not None and not trace.keep_secrets and not holds_no_secret(trace):
        known = secrets_of(trace.tool_calls)
        record.trace = trace.without_secrets(known)
        hidden = record.trace is not trace
    if isinstance(record, ReportCaseFailure):
        record.error_message = masked(record.error_message, known)
        record.error_stacktrace = masked(record.error_stacktrace, known)
        return _hide_in_attributes(record, known) or hidden
    if type(record.output) not in _TEXTLESS:
        output, record.output = record.output, _without_secrets(record.output, 0)
        hidden = hidden or record.output is not output
    hidden = _hide_in_attributes(record, known) or hidden
    for result in record.results:
        if (
            result.reason
            or result.metadata
            or (type(result.value) is str and len(result.value) >= SHORTEST_KEY)
        ):
            fields = ("value", "reason", "metadata")
            record.results = tuple(_hidden(each, fields, known) for each in record.results)
            break
    if record.skipped:
        record.skipped = tuple(_hidden(each, ("reason", "metadata"), known) for each in record.skipped)
    if record.evaluator_failures:
        names = ("error_message", "error_stacktrace", "metadata")
        record.evaluator_failures = tuple(_hidden(each, names, known) for each in record.evaluator_failures)
    return hidden


def _hide_in_attributes(
    record: ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any], known: list[str]
) -> bool:
    """Take secrets out of what an attempt noted; whether there were any."""
    attributes = record.attributes
    if attributes:
        record.attributes = masked_fields(attributes, known)
    return record.attributes is not attributes


def _hidden(told: _StructT, names: tuple[str, ...], known: list[str]) -> _StructT:
    """What an evaluator said, without secrets in some of its fields."""
    new: dict[str, Any] = {}
    for name in names:
        value = getattr(told, name)
        if (without := masked(value, known)) is not value:
            new[name] = without
    return msgspec.structs.replace(told, **new) if new else told


def _without_secrets(value: Any, deep: int) -> Any:
    """A value without the secrets in the evidence that it holds; the value itself where there are none."""
    kind = type(value)
    if kind in _TEXTLESS or deep > _DEEPEST:
        return value
    if callable(getattr(kind, "without_secrets", None)):
        return value.without_secrets()
    if kind is dict:
        made: Any = {key: _without_secrets(item, deep + 1) for key, item in value.items()}
        return value if all(made[key] is item for key, item in value.items()) else made
    if kind is list or kind is tuple:
        made = kind([_without_secrets(item, deep + 1) for item in value])
        return value if all(one is other for one, other in zip(made, value, strict=True)) else made
    return value
