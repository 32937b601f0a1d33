"""An attempt as a person sees it who is to judge it: what was asked and what came of it, and nothing of what anyone else said of it.

The same is shown as on a terminal (`calipers.views.attempts.attempt_unjudged`): results, reasons and labels are left out, and so are metrics and why a
conversation ended, which may tell of them. So may metadata, which come only if they are asked for.
"""

from hashlib import blake2b

from calipers.data.human_label import HumanLabel
from calipers.data.record import ReportCaseFailure
from calipers.gate.human_labels import output_of
from calipers.stores.packing import Record
from calipers.views.outcome import ExpectedCalls, call_text
from calipers.views.people_agreement import shown_answer
from calipers.views.trace_statement import trace_statement
from calipers.views.transcript import transcript_of

from .shown_talk import shown_with_talk
from .shown_value import MISSING, shown_value
from .wire import LabelItem, LabelPlan, PersonLabel, Talk, TalkStep, TalkTurn, TraceSummary


def label_item(record: Record, plan: LabelPlan, *, position: int, repeat: int, repeats: int) -> LabelItem:
    """An attempt to label, without its place in a queue, and without what the person said of it before.

    Args:
        record: of the attempt.
        plan: says what of the case is shown.
        position: of the attempt in its run.
        repeat: which attempt at its case it is, from 1.
        repeats: how often each case was attempted.
    """
    talk = _talk(record)
    error = record.error_message if isinstance(record, ReportCaseFailure) else None
    expects = record.has_expected_output or record.expected_output is not None
    calls = record.expected_tool_calls
    return LabelItem(
        position=position,
        case=record.source_case_name or record.name,
        repeat=repeat,
        repeats=repeats,
        number=0,
        input=shown_with_talk(record.inputs),
        output=MISSING
        if isinstance(record, ReportCaseFailure) or talk is not None
        else shown_with_talk(record.output),
        error=error,
        expected=None if plan.hide_expected else shown_value(record.expected_output, is_there=expects),
        expected_calls=None
        if plan.hide_expected or calls is None
        else shown_value(str(ExpectedCalls(calls))),
        metadata=shown_value(record.metadata, is_there=record.metadata is not None)
        if plan.show_metadata
        else None,
        talk=talk,
        trace=_trace(record) if talk is None else None,
        etag=output_of(record),
    )


def etag_of(about: str, said: HumanLabel | None) -> str:
    """What a decision is made on: the output that the person sees, and what they said of it so far."""
    text = "" if said is None else f"{said.value!r}\n{said.note}"
    return blake2b(f"{about}\n{text}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def person_label(label: HumanLabel) -> PersonLabel:
    """What a person said, for a page."""
    return PersonLabel(
        question=label.question,
        person=label.person,
        value=shown_answer(label.value),
        note=label.note,
        at=label.at,
    )


def _talk(record: Record) -> Talk | None:
    """The conversation, without how it was judged and why it ended."""
    found = transcript_of(record)
    if found is None:
        return None
    return Talk(
        asker=found.asker,
        answerer=found.answerer,
        opening=found.opening,
        turns=[
            TalkTurn(
                number=turn.number,
                branch=turn.branch,
                asked=shown_value(turn.asked),
                answered=shown_value(turn.answered),
                steps=[
                    TalkStep(kind="tool", text=call_text(done.tool_call))
                    for done in turn.done
                    if done.tool_call is not None
                ],
            )
            for turn in found.turns
        ],
        stopped=None,
    )


def _trace(record: Record) -> TraceSummary | None:
    """What the agent did, without its steps."""
    if record.trace is None:
        return None
    found = trace_statement(record.trace, max_steps=2)
    return TraceSummary(
        title=found.title,
        steps=len(record.trace.turns),
        facts=list(found.facts),
        notes=list(found.notes),
        extent=None if found.extent_ms is None else found.extent_ms / 1000,
    )
