"""Attempts as most of them are, packed in a fraction of the time.

Nearly every attempt of a large run has plain values, results that are no more than values, and nothing else: no metrics, no
trace, nothing that a later run would have to know of it. Whether one is like that is asked here all at once, and then there
is little to do. What `keeping` and `packing` do with any attempt, step by step, gives the same.
"""

from calipers.data.attempt import Attempt
from calipers.data.jsonable import are_plain
from calipers.data.record import ReportCase
from calipers.run.work import Work

from .blobs import LARGEST_INLINE
from .packing import Given, Output, Record, encode, pack_facts, searchable
from .panel import Panel
from .records import FORMAT, StoredAttempt


def pack_plain(work: Work, attempt: Attempt, record: Record, panel: Panel) -> StoredAttempt | None:
    """A finished attempt as what a store keeps, with its results in its row; `None` if it takes a closer look."""
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
    values = panel.bare_values(record.results)
    if not values or len(cells := encode(values)) > LARGEST_INLINE:
        return None
    return StoredAttempt(
        position=work.position,
        name=searchable(record.name),
        repeat=work.repeat_index,
        key=work.attempt_key,
        case_hash=work.case_key,
        facts=encode(pack_facts(record, panel)).decode(),
        given=encode(Given(FORMAT, record.inputs, record.metadata, record.expected_output)).decode(),
        output=encode(Output(FORMAT, record.output)).decode(),
        cells=cells.decode(),
    )


def holds_plain_data(record: ReportCase, attempt: Attempt, work: Work) -> bool:
    """Whether a record holds what its case gave and its task returned, all of it plain data, as most records do."""
    case = work.case
    return (
        record.output is attempt.output
        and record.inputs is case.inputs
        and record.metadata is case.metadata
        and record.expected_output is case.expected_output
        and are_plain(record.output, record.inputs, record.metadata, record.expected_output)
    )
