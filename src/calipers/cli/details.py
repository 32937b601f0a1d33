"""Everything that a report knows of one attempt, as text: nothing is cut, and nothing is left to a terminal to obey."""

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult
from calipers.data.trace import Trace, Turn, TurnType
from calipers.stats.number_text import number, seconds
from calipers.views.outcome import outcome_of
from calipers.views.text import visible
from calipers.views.transcript import Transcript, transcript_of

Record: TypeAlias = ReportCase | ReportCaseFailure

_INDENT = "    "


def case_name(record: Record) -> str:
    """The name of the case that a record is an attempt at."""
    return record.source_case_name or record.name


def attempt_lines(record: Record) -> Iterator[str]:
    """An attempt, line by line."""
    yield f"{visible(record.name)}: {outcome_of(record)}"
    tries = f", {record.tries} tries" if record.tries > 1 else ""
    yield f"{_INDENT}task {seconds(record.task_duration)}, in all {seconds(record.total_duration)}{tries}"
    facts = {"cluster": record.cluster, "trace": record.trace_id, "span": record.span_id}
    yield from (f"{_INDENT}{key} {visible(value)}" for key, value in facts.items() if value is not None)
    yield from _section("Inputs", _value(record.inputs))
    if record.has_expected_output or record.expected_output is not None:
        yield from _section("Expected", _value(record.expected_output))
    if record.expected_tool_calls is not None:
        yield from _section("Expected tool calls", _value(record.expected_tool_calls))
    if isinstance(record, ReportCaseFailure):
        yield from _section("Task failed", _error(record.error_message, record.error_stacktrace))
    else:
        yield from _judged(record)
    if record.trace is not None and transcript_of(record) is None:
        yield from _section("What the agent did", _trace(record.trace))
    if record.metadata is not None:
        yield from _section("Metadata", _value(record.metadata))
    if record.teardown_failure is not None:
        failure = record.teardown_failure
        yield from _section("Clean-up failed", _error(failure.error_message, failure.error_stacktrace))


def _judged(case: ReportCase) -> Iterator[str]:
    """What came of an attempt whose task finished."""
    talk = transcript_of(case)
    if talk is None:
        yield from _section("Output", _value(case.output))
    else:
        yield from _section("Conversation", _talk(talk))
    of_turns = {id(result) for turn in talk.turns for result in turn.results} if talk is not None else set()
    others = [result for result in case.results if id(result) not in of_turns]
    if others:
        yield from _section("Results", (line for result in others for line in _result(result)))
    for failure in case.evaluator_failures:
        lines = _error(failure.error_message, failure.error_stacktrace)
        yield from _section(f"Evaluator {visible(failure.name)} failed", lines)
    if case.skipped:
        lines = (visible(f"{skip.name}: {skip.reason}") for skip in case.skipped)
        yield from _section("Not applicable", lines)
    if case.metrics:
        lines = (f"{visible(name)}: {number(value)}" for name, value in case.metrics.items())
        yield from _section("Metrics", lines)
    if case.attributes:
        yield from _section("Attributes", _value(case.attributes))


def _talk(talk: Transcript) -> Iterator[str]:
    """A conversation, turn by turn."""
    if talk.opening:
        yield from _said(talk.answerer, talk.opening)
    for turn in talk.turns:
        branch = "" if turn.branch is None else f", conversation {turn.branch}"
        yield f"Turn {turn.number}{branch}"
        yield from (f"  {line}" for line in _said(talk.asker, turn.asked))
        yield from (f"  {line}" for done in turn.done for line in _turn(done))
        yield from (f"  {line}" for line in _said(talk.answerer, turn.answered))
        yield from (f"  = {fact}" for fact in turn.facts)
        yield from (f"  = {line}" for result in turn.results for line in _result(result))
    if talk.stopped is not None:
        yield visible(f"Ended: {talk.stopped}")


def _said(who: str, words: Any) -> Iterator[str]:
    first, *others = _value(words)
    yield f"{who}: {first}"
    yield from (f"{' ' * len(who)}  {line}" for line in others)


def _result(result: EvaluationResult) -> Iterator[str]:
    value = result.value
    word = ("passed" if value else "did not pass") if isinstance(value, bool) else None
    shown = word or (visible(value) if isinstance(value, str) else number(value))
    score = "" if result.score is None else f" (score {number(result.score)})"
    yield f"{visible(result.name)}: {shown}{score}"
    if result.reason:
        yield from (f"  {visible(line)}" for line in result.reason.splitlines())


def _trace(trace: Trace) -> Iterator[str]:
    """What an agent did, turn by turn."""
    for turn in trace.turns:
        yield from _turn(turn)
    if not trace.turns:
        yield "nothing that was recorded"


def _turn(turn: Turn) -> Iterator[str]:
    told: dict[str, Any] = {}
    if turn.tool_call is not None:
        call = turn.tool_call
        facts = ["tool", str(call.name), *_times(call.latency_ms), *([] if call.success else ["FAILED"])]
        told = {"with": call.arguments or None, "gave": call.output, "error": call.error}
    elif turn.llm_call is not None:
        asked = turn.llm_call
        tokens = f"{asked.input_tokens} tokens in, {asked.output_tokens} out"
        facts = ["model", str(asked.model), *([tokens] if asked.input_tokens or asked.output_tokens else [])]
        facts += _times(asked.latency_ms)
        told = {"asked": asked.input_text or None, "answered": asked.output_text or None}
    else:
        facts = ["user" if turn.turn_type is TurnType.USER_MESSAGE else "agent"]
    yield visible(" ".join(facts[:2])) + "".join(f", {fact}" for fact in facts[2:])
    for title, value in {"said": turn.content or None, **told}.items():
        if value is not None:
            first, *others = _value(value)
            yield f"  {title} {first}"
            yield from (f"  {line}" for line in others)


def _times(latency_ms: float | None) -> list[str]:
    return [] if latency_ms is None else [seconds(latency_ms / 1000)]


def _section(title: str, lines: Iterator[str]) -> Iterator[str]:
    yield ""
    yield title
    yield from (_INDENT + line if line else "" for line in lines)


def _value(value: Any) -> Iterator[str]:
    """Text as it is, and anything else as JSON."""
    text = value if type(value) is str else json.dumps(plain(value), indent=2, ensure_ascii=False)
    return (visible(line) for line in text.splitlines() or ['""'])


def _error(message: str, stacktrace: str) -> Iterator[str]:
    return (visible(line) for line in (stacktrace.rstrip() or message).splitlines())
