"""Recordings of agents as a run: each conversation is an attempt, which any evaluator can score without calling the agent.

| of the conversation | in the run |
|---|---|
| what the user said first, and its id, else that of its trace | name of the case (`attempt_name.py`) |
| what the user said first, the last answer | inputs, output; inputs of `None` where it is not known what was asked |
| tokens, cost, requests to models | metrics |
| the whole of it, with its id and what could not be read of it | trace |
| a run that failed and gave no answer | a failed task |

Files that are given together are one recording, so that log records find their spans.
"""

import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from calipers.data.record import ReportCase, ReportCaseFailure, hide_secrets
from calipers.data.spending import trace_metrics
from calipers.data.trace import Trace
from calipers.errors import ReportFormatError
from calipers.report.report import Report
from calipers.spans.recordings import iter_traces
from calipers.stats.number_text import plural
from calipers.stores.packing import Record

from .found_run import FoundAttempt, FoundRun

KIND = "traces"


def read_traces_run(paths: Sequence[str | os.PathLike[str]]) -> FoundRun:
    """The run that some files and folders of traces are.

    Raises:
        ReportFormatError: they hold no conversation; the message says what they hold.
        OSError: a file cannot be read.
    """
    notes: dict[str, None] = {}
    # A run is read twice, and sorting spans into conversations takes longer than anything else: they wait in a file.
    kept = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the run
    first: Trace | None = None
    silent = 0
    for trace in iter_traces(paths, notes.setdefault):
        first = first or trace
        silent += is_silent(trace)
        kept.write(msgspec.json.encode(trace.to_dict()) + b"\n")
    if first is None:
        kept.close()
        listed = ", ".join(repr(str(path)) for path in paths)
        why = f": {'; '.join(notes)}" if notes else ""
        raise ReportFormatError(f"no conversation found in {listed}{why}")
    if silent:
        notes[without_answer(silent)] = None
    report: Report[Any, Any, Any] = Report(
        name=first.agent_name or KIND,
        cases=[],
        seed=None,
        started_at=first.created_at.isoformat() if first.created_at.timestamp() else None,
    )

    def attempts() -> Iterator[FoundAttempt]:
        taken: dict[str, int] = {}
        kept.seek(0)
        for line in kept:
            yield FoundAttempt(trace_record(Trace.from_dict(msgspec.json.decode(line)), taken))

    found = FoundRun.of_report(KIND, report, attempts)
    found.is_recording = True
    found.info.keeps_settings = True  # there are none
    found.notes = notes
    weakref.finalize(found, kept.close)
    return found


def is_silent(trace: Trace) -> bool:
    """Whether a conversation came to an end without an answer of the agent that its recording shows."""
    return not trace.output_text and "error" not in trace.metadata


def without_answer(count: int) -> str:
    """What is said of recordings that show no answer."""
    return (
        f"{plural(count, 'attempt')} without an answer of the agent: instrumentation may leave contents out unless it is asked for them, "
        "and then an evaluator of the output sees an empty text"
    )


def trace_record(trace: Trace, taken: dict[str, int]) -> Record:
    """The attempt that a conversation is, called by its id as long as no store names it."""
    name = str(trace.metadata.get("conversation_id") or trace.trace_id or "trace")
    number = taken.get(name, 0) + 1
    taken[name] = number
    seconds = trace.total_latency_ms / 1000
    common: dict[str, Any] = {
        "name": name if number == 1 else f"{name} ({number})",
        "inputs": trace.input_text or None,
        "metadata": None,  # it belongs to a case, and two conversations about the same are one case
        "expected_output": None,
        "task_duration": seconds,
        "total_duration": seconds,
        "trace": trace,
        "trace_id": trace.trace_id,
        "metrics": trace_metrics(trace),
    }
    failed = trace.metadata.get("error")
    record: Record
    if isinstance(failed, dict) and not trace.output_text:
        kind = failed["type"] or "Error"
        record = ReportCaseFailure(**common, error_type=kind, error_message=failed["message"])
    else:
        record = ReportCase(**common, output=trace.output_text, attributes={}, results=())
    hide_secrets(record)
    return record
