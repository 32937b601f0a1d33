"""Packing: a record of a report as what a store keeps, and back.

What comes back equals what went in, up to what any stored report keeps: inputs, outputs and traces are plain data, and the
objects behind results are gone. A record is packed when its attempt ends, on the thread that made it, since its task may
still change what it has returned.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar

import msgspec

from calipers.data.jsonable import are_plain, plain
from calipers.data.record import Failure, ReportCase, ReportCaseFailure
from calipers.data.result import (
    EvaluationResult,
    EvaluatorFailure,
    EvaluatorSpec,
    EvalVerdict,
    Hopeless,
    Scalar,
    SkippedEvaluation,
)
from calipers.data.result_names import Names
from calipers.data.trace_json import read_trace, trace_data
from calipers.errors import InvalidTraceError, StoreDamagedError, StoreError

from .blobs import LARGEST_INLINE
from .evaluator_slots import EvaluatorSlots, quick_plain, shared_places
from .run_info import StoredEvaluator, plain_spec
from .stored_attempt import FORMAT, Parts, StoredAttempt, StoredCell

if TYPE_CHECKING:
    from calipers.data.attempt import Attempt
    from calipers.run.work import Work

Record: TypeAlias = ReportCase | ReportCaseFailure
_RecordT = TypeVar("_RecordT", ReportCase, ReportCaseFailure)


class Facts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The small part of an attempt, which summaries need; it is never moved to a blob."""

    format: int
    task_duration: Annotated[float, msgspec.Meta(ge=0)]
    total_duration: Annotated[float, msgspec.Meta(ge=0)]
    metrics: dict[str, Any] = {}
    tries: int = 1
    cluster: str | None = None
    tags: tuple[str, ...] = ()
    fault: str | None = None
    has_expected_output: bool = False
    error_type: str | None = None
    """Of a task that did not finish."""
    infrastructure: bool = False
    """Whether the infrastructure was the reason."""
    hopeless: Hopeless | None = None
    """What was wrong that no attempt could escape."""
    trace_id: str | None = None
    span_id: str | None = None
    teardown_failure: Failure | None = None
    evaluators: tuple[int, ...] | None = None
    """The evaluators that judged it, in order; `None`: the shared ones of its run."""
    not_run: tuple[str, ...] | None = None
    """The evaluators that would have judged it, if they are not `evaluators`."""


class Given(msgspec.Struct, omit_defaults=True):
    """What an attempt was given."""

    format: int
    inputs: Any = None
    metadata: Any = None
    expected_output: Any = None
    expected_tool_calls: list[Any] | None = None
    timeout: float | None = None


_NOTHING_GIVEN: Final = Given(FORMAT)


class Output(msgspec.Struct, omit_defaults=True):
    """What came of it."""

    format: int
    output: Any = None
    attributes: dict[str, Any] = {}
    error_message: str = ""
    error_stacktrace: str = ""


class _Result(msgspec.Struct, kw_only=True, omit_defaults=True):
    value: Any
    name: str | None = None
    reason: str | None = None
    verdict: EvalVerdict | None = None
    score: float | None = None
    metadata: dict[str, Any] | None = None
    # Only where they are not those of the run's evaluator.
    source: EvaluatorSpec | None = None
    version: str | msgspec.UnsetType | None = msgspec.UNSET


class _Cell(msgspec.Struct, kw_only=True, omit_defaults=True):
    format: int
    results: list[_Result] = []
    failures: list[EvaluatorFailure] = []
    skipped: list[SkippedEvaluation] = []


encode: Final = msgspec.json.Encoder().encode
_read_facts: Final = msgspec.json.Decoder(Facts).decode
_read_given: Final = msgspec.json.Decoder(Given).decode
_read_output: Final = msgspec.json.Decoder(Output).decode
_read_cell: Final = msgspec.json.Decoder(_Cell).decode
_read_value: Final = msgspec.json.Decoder(Scalar).decode
_read_any: Final = msgspec.json.Decoder().decode


# ---------------------------------------------------------------------- in


def pack(
    record: Record,
    position: int,
    slots: EvaluatorSlots,
    *,
    repeat: int = 1,
    key: bytes | None = None,
    case_hash: bytes | None = None,
    origin: str | None = None,
    in_row: bool = False,
    as_is: bool = False,
    timeout: float | None = None,
) -> tuple[StoredAttempt, list[StoredCell]]:
    """A finished attempt and its results as what a store keeps.

    Args:
        record: of the attempt.
        position: its place in the run.
        slots: the evaluators that judged it, or would have.
        repeat: which repeat of its case it is, from 1.
        key: what later runs find it by; see `StoredAttempt`.
        case_hash: see `StoredAttempt`.
        origin: the run it was taken over from.
        in_row: put results that are only values into the row of the attempt: there are no cells then, and storing it takes
            half the time.
        as_is: inputs, metadata, expectation and output are known to be plain data.
        timeout: of its case, which records do not have.
    """
    facts = pack_facts(record, slots)
    inside: str | None = None
    cells: list[StoredCell] = []
    if isinstance(record, ReportCase):
        output = Output(FORMAT, record.output if as_is else quick_plain(record.output))
        inside = _bare_cells(record, slots) if in_row else None
        cells = [] if inside else pack_cells(record, position, slots)
    else:
        output = Output(
            FORMAT, None, {}, quick_plain(record.error_message), quick_plain(record.error_stacktrace)
        )
    if record.attributes:
        output.attributes = plain(record.attributes)
    given = Given(FORMAT, record.inputs, record.metadata, record.expected_output)
    if not as_is:
        given.inputs = quick_plain(given.inputs)
        given.metadata = quick_plain(given.metadata)
        given.expected_output = quick_plain(given.expected_output)
    given.expected_tool_calls = record.expected_tool_calls
    if timeout is not None:
        given.timeout = float(timeout)
    attempt = StoredAttempt(
        position=position,
        name=searchable(record.name),
        source_case_name=None if record.source_case_name is None else searchable(record.source_case_name),
        repeat=repeat,
        failed=facts.error_type is not None,
        key=key,
        case_hash=case_hash,
        origin=origin,
        facts=encode(facts).decode(),
        given=encode(given).decode(),
        output=encode(output).decode(),
        trace=None if record.trace is None else encode(trace_data(record.trace)).decode(),
        cells=inside,
    )
    return attempt, cells


def pack_facts(record: Record, slots: EvaluatorSlots) -> Facts:
    """The small part of an attempt."""
    facts = Facts(
        format=FORMAT,
        task_duration=record.task_duration,
        total_duration=record.total_duration,
        tries=record.tries,
        has_expected_output=record.has_expected_output,
        evaluators=slots.stored,
    )
    if not (0 <= record.task_duration < math.inf and 0 <= record.total_duration < math.inf):
        raise StoreError(
            f"attempt {record.name!r} cannot be stored: its durations {record.task_duration!r} and "
            f"{record.total_duration!r} are not numbers of seconds"
        )
    if record.cluster is not None:
        facts.cluster = quick_plain(record.cluster)
    if record.tags:
        facts.tags = tuple(map(quick_plain, record.tags))
    if record.fault is not None:
        facts.fault = quick_plain(record.fault)
    if record.trace_id is not None or record.span_id is not None:
        facts.trace_id, facts.span_id = record.trace_id, record.span_id
    if record.teardown_failure is not None:
        facts.teardown_failure = msgspec.convert(plain(record.teardown_failure), Failure)
    if record.metrics:
        facts.metrics = plain(record.metrics)
    if isinstance(record, ReportCase):
        return facts
    facts.error_type = quick_plain(record.error_type)
    facts.infrastructure = record.infrastructure
    facts.hopeless = record.hopeless
    if record.not_run != slots.names:
        facts.not_run = tuple(plain(record.not_run))
    return facts


def _bare_cells(record: ReportCase, slots: EvaluatorSlots) -> str | None:
    """The results of an attempt for its row; `None` if there are none, or one says more than its value."""
    if not record.results or record.evaluator_failures or record.skipped:
        return None
    values = slots.bare_values(record.results)
    if values is None:
        return None
    text = encode(values).decode()
    if len(text) > LARGEST_INLINE and any(len(encode(one)) > LARGEST_INLINE for one in values.values()):
        return None
    return text


def pack_cells(record: ReportCase, position: int, slots: EvaluatorSlots) -> list[StoredCell]:
    """The results of a finished attempt: a cell for each evaluator that said anything."""
    bare: dict[int, StoredCell] = {}
    rich: dict[int, _Cell] = {}
    for result in record.results:
        known = slots.bare(result)
        index = slots.find(result.evaluator)[0]
        if known is None or index in bare or index in rich:
            _open(rich, bare, index).results.append(_pack_result(result, slots))
        else:
            bare[index] = StoredCell(position=position, evaluator=index, body=encode(known[2]).decode())
    for failure in record.evaluator_failures:
        stored = msgspec.structs.replace(failure, source=plain_spec(failure.source))
        _open(rich, bare, slots.find(failure.name)[0]).failures.append(stored)
    for skip in record.skipped:
        if skip.key is not None:
            skip = msgspec.structs.replace(skip, name=skip.key, key=None)  # noqa: PLW2901
        _open(rich, bare, slots.find(skip.evaluator)[0]).skipped.append(skip)
    for index, cell in rich.items():
        body = encode(plain(msgspec.to_builtins(cell))).decode()
        bare[index] = StoredCell(position=position, evaluator=index, body=body)
    return list(bare.values())


def _open(rich: dict[int, _Cell], bare: dict[int, StoredCell], index: int) -> _Cell:
    """The cell of an evaluator that says more than a value; a bare value that it said before moves in."""
    cell = rich.get(index)
    if cell is None:
        cell = rich[index] = _Cell(format=FORMAT)
        if index in bare:
            cell.results.append(_Result(value=_read_any(bare.pop(index).body)))
    return cell


def _pack_result(result: EvaluationResult, slots: EvaluatorSlots) -> _Result:
    _, evaluator = slots.find(result.evaluator)
    name = result.name if result.key is None else result.key
    same_version = result.evaluator_version == evaluator.version
    return _Result(
        value=plain(result.value),
        name=None if name == evaluator.name else name,
        reason=result.reason,
        verdict=result.verdict,
        score=None if result.score is None else _number(result.score),
        metadata=plain(result.metadata),
        source=None if slots.is_of(result.source, evaluator) else plain_spec(result.source),
        version=msgspec.UNSET if same_version else result.evaluator_version,
    )


def _number(value: float) -> float:
    if not math.isfinite(value):
        raise StoreError(f"an attempt cannot be stored with the number {value!r} in it")
    return value


def searchable(text: Any) -> Any:
    """A name that a database can search for: texts in PostgreSQL have no NUL."""
    return quick_plain(text).replace("\0", "\\x00")


def pack_plain(
    work: "Work", attempt: "Attempt", record: Record, slots: EvaluatorSlots
) -> StoredAttempt | None:
    """The same as `pack` in a fraction of the time; `None` if the attempt has more than plain values and needs `pack`."""
    case, plan = work.case, work.plan
    if (
        type(record) is not ReportCase
        or record.evaluator_failures
        or record.skipped
        or record.metrics
        or record.attributes
        or record.trace is not None
        or record.trace_id is not None
        or record.span_id is not None
        or record.cluster is not None
        or record.teardown_failure is not None
        or record.source_case_name is not None
        or attempt.recalled is not None
        or attempt.changed_from is not None
        or attempt.seed_was_read
        or attempt.case_was_read
        or attempt.asked is not plan.nothing_noted
        or plan.needs_spans
        or case.timeout is not None
        or record.expected_tool_calls is not None
        or not holds_plain_data(record, attempt, work)
    ):
        return None
    values = slots.bare_values(record.results)
    if not values or len(cells := encode(values)) > LARGEST_INLINE:
        return None
    return StoredAttempt(
        position=work.position,
        name=searchable(record.name),
        repeat=work.repeat_index,
        key=work.attempt_key,
        case_hash=work.case_key,
        facts=encode(pack_facts(record, slots)).decode(),
        given=encode(Given(FORMAT, record.inputs, record.metadata, record.expected_output)).decode(),
        output=encode(Output(FORMAT, record.output)).decode(),
        cells=cells.decode(),
    )


def holds_plain_data(record: ReportCase, attempt: "Attempt", work: "Work") -> bool:
    """Whether a record holds exactly what its case gave and its task returned, all of it plain data."""
    case = work.case
    return (
        record.output is attempt.output
        and record.inputs is case.inputs
        and record.metadata is case.metadata
        and record.expected_output is case.expected_output
        and are_plain(record.output, record.inputs, record.metadata, record.expected_output)
    )


# ---------------------------------------------------------------------- out


def facts_of(attempt: StoredAttempt) -> Facts:
    """The small part of an attempt: durations, metrics, the type of its error."""
    try:
        facts = _read_facts(attempt.facts)
    except msgspec.DecodeError as error:
        raise _damaged(attempt, error) from error
    if facts.format > FORMAT:
        raise StoreError(
            f"attempt {attempt.name!r} of run {attempt.run!r} has format {facts.format}, and this release reads up to "
            f"{FORMAT}: install a newer calipers"
        )
    return facts


def setting_of(attempt: StoredAttempt) -> tuple[tuple[str, ...], float | None]:
    """The tags and the timeout of an attempt's case."""
    return facts_of(attempt).tags, timeout_of(attempt)


def timeout_of(attempt: StoredAttempt) -> float | None:
    """The timeout of an attempt's case."""
    if '"timeout":' not in attempt.given:
        return None
    try:
        return _read_given(attempt.given).timeout
    except msgspec.DecodeError as error:
        raise _damaged(attempt, error) from error


def unpack(
    attempt: StoredAttempt,
    cells: Iterable[StoredCell],
    evaluators: Sequence[StoredEvaluator],
    *,
    parts: Parts = True,
    shared: Sequence[int] | None = None,
    scored: Sequence[int] = (),
    names: Names | None = None,
) -> Record:
    """The record of a stored attempt.

    Args:
        attempt: as a store gave it.
        cells: its results; `()` gives a record without results.
        evaluators: of its run.
        parts: False leaves out inputs, output and trace, which summaries do not need; "given" the last two.
        shared: `shared_places` of the evaluators, for a caller that reads many attempts.
        scored: the places of evaluators that must have judged it; see `scored_places`. One that has not counts as failed.
        names: of the results in its run; default: the keys of the mappings they come from.

    Raises:
        StoreError: it is damaged, or was written by a later release.
    """
    facts = facts_of(attempt)
    try:
        given = _read_given(attempt.given) if parts else _NOTHING_GIVEN
        output = _read_output(attempt.output) if parts is True else Output(FORMAT)
        trace = None
        if attempt.trace is not None and parts is True:
            trace = read_trace(_read_any(attempt.trace))
        if not attempt.failed:
            results, failures, skipped = unpack_cells(cells, facts, evaluators, shared)
            if scored:
                failures += not_judged(cells, evaluators, scored)
            if names is not None:
                results, skipped = names.named(results, skipped)
            return _finished(attempt, facts, given, output, (results, failures, skipped), trace)
    except (msgspec.DecodeError, InvalidTraceError) as error:
        raise _damaged(attempt, error) from error
    failure: ReportCaseFailure = ReportCaseFailure(
        name=attempt.name,
        inputs=given.inputs,
        metadata=given.metadata,
        expected_output=given.expected_output,
        error_type=facts.error_type or "",
        error_message=output.error_message,
        error_stacktrace=output.error_stacktrace,
        infrastructure=facts.infrastructure,
        hopeless=facts.hopeless,
        not_run=_not_run(facts, evaluators),
        task_duration=facts.task_duration,
        total_duration=facts.total_duration,
        tags=facts.tags,
        has_expected_output=facts.has_expected_output,
        trace=trace,
        metrics=_metrics(facts.metrics),
    )
    failure.attributes = output.attributes
    return _completed(failure, attempt, facts, given)


def _finished(
    attempt: StoredAttempt,
    facts: Facts,
    given: Given,
    output: Output,
    said: tuple[tuple[EvaluationResult, ...], tuple[EvaluatorFailure, ...], tuple[SkippedEvaluation, ...]],
    trace: Any,
) -> ReportCase:
    """The record of an attempt whose task finished."""
    # Python makes a dictionary of more than fifteen named arguments, which takes six times as long.
    return _completed(
        ReportCase(
            name=attempt.name,
            inputs=given.inputs,
            metadata=given.metadata,
            expected_output=given.expected_output,
            output=output.output,
            metrics=_metrics(facts.metrics),
            attributes=output.attributes,
            results=said[0],
            evaluator_failures=said[1],
            skipped=said[2],
            task_duration=facts.task_duration,
            total_duration=facts.total_duration,
            tags=facts.tags,
            has_expected_output=facts.has_expected_output,
            trace=trace,
        ),
        attempt,
        facts,
        given,
    )


def _completed(record: _RecordT, attempt: StoredAttempt, facts: Facts, given: Given) -> _RecordT:
    """A record with those of its fields that most records do not need."""
    if attempt.source_case_name is not None:
        record.source_case_name = attempt.source_case_name
    if given.expected_tool_calls is not None:
        record.expected_tool_calls = given.expected_tool_calls
    if facts.cluster is not None:
        record.cluster = facts.cluster
    if facts.fault is not None:
        record.fault = facts.fault
    if facts.tries != 1:
        record.tries = facts.tries
    if facts.trace_id is not None or facts.span_id is not None:
        record.trace_id, record.span_id = facts.trace_id, facts.span_id
    if facts.teardown_failure is not None:
        record.teardown_failure = facts.teardown_failure
    return record


def unpack_cells(
    cells: Iterable[StoredCell],
    facts: Facts,
    evaluators: Sequence[StoredEvaluator],
    shared: Sequence[int] | None = None,
) -> tuple[tuple[EvaluationResult, ...], tuple[EvaluatorFailure, ...], tuple[SkippedEvaluation, ...]]:
    """Results, failures and skips of an attempt, in the order of its cells."""
    results: list[EvaluationResult] = []
    failures: list[EvaluatorFailure] = []
    skipped: list[SkippedEvaluation] = []
    for cell in cells_in_order(cells, facts, evaluators, shared):
        evaluator = evaluator_of(cell, evaluators)
        try:
            if not cell.body.startswith("{"):
                results.append(_result(evaluator, _read_value(cell.body)))
                continue
            body = _read_cell(cell.body)
        except msgspec.DecodeError as error:
            raise _damaged_cell(cell, error) from error
        results += [_unpack_result(result, evaluator) for result in body.results]
        failures += body.failures
        skipped += body.skipped
    return tuple(results), tuple(failures), tuple(skipped)


def evaluator_of(cell: StoredCell, evaluators: Sequence[StoredEvaluator]) -> StoredEvaluator:
    """The evaluator of a cell."""
    if not 0 <= cell.evaluator < len(evaluators):
        raise _damaged_cell(cell, f"there is no evaluator in place {cell.evaluator}")
    return evaluators[cell.evaluator]


def cells_in_order(
    cells: Iterable[StoredCell],
    facts: Facts,
    evaluators: Sequence[StoredEvaluator],
    shared: Sequence[int] | None = None,
) -> list[StoredCell]:
    """The cells of an attempt in the order in which its evaluators ran; those added later come last."""
    by_index = {cell.evaluator: cell for cell in cells}
    if not by_index:
        return []
    listed = shared if shared is not None and facts.evaluators is None else _order(facts, evaluators)
    found = [by_index[index] for index in listed if index in by_index]
    if len(found) < len(by_index):
        found += [by_index[index] for index in sorted(by_index.keys() - set(listed))]
    return found


def _order(facts: Facts, evaluators: Sequence[StoredEvaluator]) -> Sequence[int]:
    if facts.evaluators is not None:
        return facts.evaluators
    return shared_places(evaluators)


def _not_run(facts: Facts, evaluators: Sequence[StoredEvaluator]) -> tuple[str, ...]:
    """The evaluators that would have judged an attempt if its task had finished."""
    if facts.not_run is not None:
        count = {one.name for one in evaluators if not one.superseded}
        gone = {one.name for one in evaluators} - count
        names = tuple(name for name in facts.not_run if name not in gone)
    else:
        listed = (evaluators[index] for index in _order(facts, evaluators))
        names = tuple(one.name for one in listed if not one.superseded)
    scored = (one.name for one in evaluators if one.added and not one.superseded)
    return tuple(dict.fromkeys((*names, *scored)))


def _result(evaluator: StoredEvaluator, value: Scalar) -> EvaluationResult:
    return EvaluationResult(
        name=evaluator.name,
        value=value,
        evaluator=evaluator.name,
        source=evaluator.spec,
        evaluator_version=evaluator.version,
    )


def _unpack_result(result: _Result, evaluator: StoredEvaluator) -> EvaluationResult:
    version = result.version
    return EvaluationResult(
        name=evaluator.name if result.name is None else result.name,
        value=result.value,
        reason=result.reason,
        evaluator=evaluator.name,
        source=evaluator.spec if result.source is None else result.source,
        evaluator_version=evaluator.version if isinstance(version, msgspec.UnsetType) else version,
        verdict=result.verdict,
        score=result.score,
        metadata=result.metadata,
    )


def _metrics(stored: Mapping[str, Any]) -> dict[str, int | float]:
    """Metrics as numbers; those that JSON cannot hold are stored as text."""
    if not stored:
        return {}
    return {
        name: value
        if not isinstance(value, str)
        else int(value, 16)
        if value.lstrip("-").startswith("0x")
        else float(value)
        for name, value in stored.items()
    }


NOT_JUDGED: Final = "NotJudged"
"""The error type of an evaluator that was added by scoring, on attempts that it has not judged yet."""


def not_judged(
    cells: Iterable[StoredCell], evaluators: Sequence[StoredEvaluator], scored: Iterable[int]
) -> tuple[EvaluatorFailure, ...]:
    """A failure for each judgement that an attempt lacks, since it is unknown whether the attempt passes.

    Scoring leaves a cell with every attempt, even if an evaluator has nothing to say. An attempt without one was made later,
    or the scoring ended before its turn.
    """
    there = {cell.evaluator for cell in cells}
    if there.issuperset(scored):
        return ()
    return tuple(
        EvaluatorFailure(
            name=evaluators[place].name,
            error_type=NOT_JUDGED,
            error_message=f"{NOT_JUDGED}: not judged yet: score the run with this evaluator again",
            source=evaluators[place].spec,
        )
        for place in scored
        if place not in there
    )


def _damaged_cell(cell: StoredCell, error: Exception | str) -> StoreDamagedError:
    whose = f"a result of attempt {cell.position} of run {cell.run!r}"
    return StoreDamagedError(f"{whose} is damaged in the store: {error}")


def _damaged(attempt: StoredAttempt, error: Exception | str) -> StoreDamagedError:
    whose = f"attempt {attempt.name!r} of run {attempt.run!r}"
    return StoreDamagedError(f"{whose} is damaged in the store: {error}")
