"""Single attempts in the terminal: those that did not pass with the reasons, or all of them; and one in full."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from calipers.data.jsonable import plain
from calipers.data.record import Failure, ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, EvaluatorFailure
from calipers.data.trace import Trace, Turn, TurnType
from calipers.report.complaints import why
from calipers.report.report import Report
from calipers.stats.number_text import dollars, number, plural, seconds

from .outcome import (
    ExpectedCalls,
    Record,
    alike,
    calls_line,
    count_missed,
    faults_last,
    name_of,
    outcome_of,
    reason_lines,
)
from .page import Page
from .text import visible
from .transcript import Transcript, shown_output, transcript_of

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

_INDENT = 4
_DEEPER = "    "
_REASON_LINES = 3
"""Lines that a reason or an error message may take before it is cut."""
_CALL_LINES = 2
"""Lines that the tool calls of an attempt may take."""
_NAME = 60
"""Cells of an evaluator's name."""
_TRACEBACK_LINES = 30
"""The last lines of a traceback, which are the ones that tell."""


@dataclass(frozen=True, kw_only=True)
class AttemptOptions:
    """Which attempts to show, and how much of each."""

    include_cases: bool | Literal["failed"] | None = None
    """`"failed"`: the attempts that did not pass; True: all; False: none. `None`: all where a value, the metadata or the
    reasons are asked for by name, else those that did not pass."""
    include_reasons: bool | None = None
    """Show the reasons that evaluators gave: `None`: of what did not pass; True: all of them; False: none."""
    include_values: bool = True
    """Show inputs, expected output, output and tool calls of attempts that did not pass."""
    include_input: bool | None = None
    """Show the inputs, of attempts that passed too; `None`: as `include_values` says."""
    include_expected_output: bool | None = None
    include_output: bool | None = None
    include_metadata: bool = False
    """Show the case's metadata."""
    include_durations: bool = True
    """Show how long the tasks took."""
    include_total_duration: bool = False
    """Show how long each attempt took with its evaluators and hooks."""
    include_averages: bool = True
    """Show the table with a line for each evaluator."""
    include_errors: bool = True
    """List the attempts whose task failed. They are counted in any case."""
    include_evaluator_failures: bool = True
    """Say which evaluators of an attempt failed. They are counted in any case."""
    include_analyses: bool = True
    """Show what report evaluators found."""
    include_removed_cases: bool = True
    """With a baseline only: a comparison always counts the cases that one side lacks."""
    include_tracebacks: bool = False
    """Show where in the code a task or an evaluator failed."""
    include_error_stacktrace: bool = False
    """The same, in the words of pydantic_evals."""
    max_cases: int | None = 20
    """Attempts in each list, where those of a case that came to the same count once; `None` for no limit."""
    no_limit: str = "max_cases=None"
    """How the reader lifts that limit."""

    @property
    def listed(self) -> bool | Literal["failed"]:
        """Which attempts to list."""
        if self.include_cases is not None:
            return self.include_cases
        values = self.include_input, self.include_expected_output, self.include_output
        return True if any((*values, self.include_metadata, self.include_reasons)) else "failed"

    def shows(self, asked: bool | None, *, passed: bool) -> bool:
        """Whether a value of an attempt is shown."""
        return asked if asked is not None else self.include_values and not passed


def failed_tasks(page: Page, report: Report, options: AttemptOptions) -> "Iterator[RenderableType]":
    """The attempts whose task did not finish."""
    if options.listed == "failed" and options.include_errors:
        counts = report.counts()
        failed = sum(counts.failed_tasks.values())
        title = f"Tasks that failed: {failed:,} of {counts.attempts:,}"
        lost = faults_last(report.failures)
        yield from _list(page, title, lost, options, left_behind=failed - len(lost))


def attempts(page: Page, report: Report, options: AttemptOptions) -> "Iterator[RenderableType]":
    """The attempts that did not pass though their task finished; or all, if the options ask for all."""
    if options.listed is True:
        failures = report.failures if options.include_errors else []
        yield from _list(page, "Attempts", [*report.cases, *failures], options)
    elif options.listed == "failed":
        counts = report.counts()
        missed = faults_last(case for case in report.cases if case.passed is False)
        judged = count_missed(report) - sum(counts.failed_tasks.values())
        title = f"Did not pass: {judged:,} of {counts.attempts:,}"
        yield from _list(page, title, missed, options, left_behind=judged - len(missed))


@dataclass(frozen=True)
class AttemptList:
    """Some attempts below a title, ready for a `rich` console to print at any width."""

    title: str
    records: Sequence[Record]
    options: AttemptOptions
    further: int = 0
    """Attempts beyond the limit that are not among the records."""

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[RenderableType]":
        """The lines for a console."""
        page = Page(options.max_width, options.encoding)
        yield from _list(page, self.title, self.records, self.options, further=self.further)


def _list(
    page: Page,
    title: str,
    records: Sequence[Record],
    options: AttemptOptions,
    *,
    further: int = 0,
    left_behind: int = 0,
) -> "Iterator[RenderableType]":
    """The records, up to the limit; `further` counts those beyond it that are not given, `left_behind` those that the report does not keep."""
    if not records:
        return
    yield page.line((title, "bold"))
    left = len(records) + further
    for group in islice(alike(records), options.max_cases):
        yield from _attempt(page, group, options)
        left -= len(group)
    if left:
        yield page.line((f"{page.ellipsis} and {left:,} more ({options.no_limit} shows all)", "dim"))
    if left_behind > 0:
        yield page.line((f"{page.ellipsis} and {left_behind:,} more that the report does not keep", "dim"))


def _attempt(page: Page, group: Sequence[Record], options: AttemptOptions) -> "Iterator[RenderableType]":
    """One attempt: a line of its own if it passed, else what was tried, what came of it, and why it did not pass.

    Attempts at one case that came to the same are shown as one.
    """
    record = group[0]
    yield _first_line(page, group, options)
    yield from _values(page, record, options)
    if isinstance(record, ReportCaseFailure):
        tries = f"after {plural(record.tries, 'try', 'tries')}" if record.tries > 1 else ""
        yield from _reason(page, tries, record.error_message)
        yield from _traceback(page, record, options)
        return
    for result in record.results:
        name = page.fit(result.name, _NAME)
        if result.value is False:
            yield from _reason(page, name, why(result) if options.include_reasons is not False else None)
        elif result.reason and options.include_reasons and _all_say(group, result):
            yield from _reason(page, name, result.reason, style="green" if result.value is True else "dim")
    for failure in record.evaluator_failures if options.include_evaluator_failures else ():
        message = failure.error_message if options.include_reasons is not False else None
        yield from _reason(page, f"{page.fit(failure.name, _NAME)} (evaluator failed)", message)
        yield from _traceback(page, failure, options)


def _all_say(group: Sequence[Record], result: EvaluationResult) -> bool:
    """Whether every attempt of a group has this result for this reason."""
    said = (result.name, result.value, result.reason)
    return all(
        isinstance(record, ReportCase)
        and any((one.name, one.value, one.reason) == said for one in record.results)
        for record in group
    )


def _first_line(page: Page, group: Sequence[Record], options: AttemptOptions) -> "Text":
    """Mark, name, and whatever else was measured: scores, labels and the time, as far as several agree in them."""
    record, *others = group
    if record.passed is None:
        mark, style = page.glyph("·", "."), "dim"
    elif record.passed:
        mark, style = page.glyph("✓", "+"), "green"
    else:
        mark, style = page.glyph("✗", "x"), "red"
    facts = _facts(page, record, options)
    for other in others:
        theirs = _facts(page, other, options)
        facts = [fact for fact in facts if fact in theirs]
    if others:
        facts = [plural(len(group), "attempt"), *facts]
    name = page.fit(name_of(group), page.width - 2)
    line = page.line((mark, style), " ", (name, "bold" if record.passed is False else ""))
    room = page.width - line.cell_len - 2
    if room > 5:
        line.append("  " + page.fit(page.dot.join(facts), room), "dim")
    return line


def _facts(page: Page, record: Record, options: AttemptOptions) -> list[str]:
    micro = page.glyph("µ", "u")
    facts = [seconds(record.task_duration, micro=micro)] if options.include_durations else []
    if options.include_total_duration:
        facts.append(f"{seconds(record.total_duration, micro=micro)} in all")
    if isinstance(record, ReportCase):
        for result in record.results:
            if isinstance(result.value, str):
                facts.append(f"{page.fit(result.name, 30)} {page.fit(result.value, 30)}")
            elif not isinstance(result.value, bool):
                facts.append(f"{page.fit(result.name, 30)} {number(result.value)}")
    return facts


def _values(page: Page, record: Record, options: AttemptOptions) -> "Iterator[RenderableType]":
    passed = record.passed is not False
    values: list[tuple[str, Any]] = []
    if options.shows(options.include_input, passed=passed):
        values.append(("inputs", record.inputs))
    if options.include_metadata and record.metadata is not None:
        values.append(("metadata", record.metadata))
    if isinstance(record, ReportCase):
        expects = record.has_expected_output or record.expected_output is not None
        if expects and options.shows(options.include_expected_output, passed=passed):
            values.append(("expected", record.expected_output))
        if record.expected_tool_calls is not None and options.shows(
            options.include_expected_output, passed=passed
        ):
            values.append(("expected calls", ExpectedCalls(record.expected_tool_calls)))
        if options.shows(options.include_output, passed=passed):
            values.append(("got", shown_output(record)))
    wide = max([8, *(len(label) for label, _ in values)]) + 2
    for label, value in values:
        text = page.fit_value(value, page.width - _INDENT - wide)
        yield page.indented(page.line((f"{label:<{wide}}", "dim"), text), _INDENT)
    if options.shows(None, passed=passed) and (called := calls_line(record)):
        text = page.fit(called, _CALL_LINES * (page.width - _INDENT - wide))
        yield page.indented(page.line((f"{'called':<{wide}}", "dim"), text), _INDENT)


def _reason(page: Page, name: str, reason: str | None, *, style: str = "red") -> "Iterator[RenderableType]":
    """`name: reason`, either of which may be missing; a reason of several lines stands below its name."""
    line = page.line((name, style))
    lines, left = reason_lines(reason or "")
    if len(lines) > 1:
        indent = _INDENT
        if name:
            line.append(":")
            yield page.indented(line, _INDENT)
            indent += 2
        for each in lines:
            yield page.hanging(each, indent, rows=_REASON_LINES)
        if left:
            more = f"{page.ellipsis} ({plural(left, 'more line')})"
            yield page.indented(page.line((more, "dim")), indent)
        return
    if reason:
        room = _REASON_LINES * (page.width - _INDENT) - line.cell_len
        line.append((": " if name else "") + page.fit(reason, room), "" if name else "red")
    yield page.indented(line, _INDENT)


def _traceback(
    page: Page, failure: ReportCaseFailure | EvaluatorFailure | Failure, options: AttemptOptions
) -> "Iterator[RenderableType]":
    if not (options.include_tracebacks or options.include_error_stacktrace):
        return
    lines = failure.error_stacktrace.splitlines()
    for line in lines[-_TRACEBACK_LINES:]:
        yield page.indented(page.line((page.fit(line, page.width - 2 * _INDENT), "dim")), 2 * _INDENT)


# ---------------------------------------------------------------------- one attempt in full


def headline_of(record: Record) -> str:
    """The name of an attempt, and what came of it."""
    outcome = outcome_of(record)
    return f"{visible(record.name)}: {'nothing was asserted' if outcome == 'skipped' else outcome}"


def attempt_in_full(record: Record) -> Iterator[str]:
    """An attempt, line by line."""
    yield headline_of(record)
    tries = f", {record.tries} tries" if record.tries > 1 else ""
    yield f"{_DEEPER}task {seconds(record.task_duration)}, in all {seconds(record.total_duration)}{tries}"
    facts = {"cluster": record.cluster, "trace": record.trace_id, "span": record.span_id}
    yield from (f"{_DEEPER}{key} {visible(value)}" for key, value in facts.items() if value is not None)
    yield from _section("Inputs", _value(record.inputs))
    if record.has_expected_output or record.expected_output is not None:
        yield from _section("Expected", _value(record.expected_output))
    if record.expected_tool_calls is not None:
        yield from _section("Expected tool calls", _value(record.expected_tool_calls))
    if isinstance(record, ReportCaseFailure):
        yield from _section("Task failed", _error(record.error_message, record.error_stacktrace))
    else:
        yield from _judged(record)
    yield from _noted(record)
    if record.trace is not None and transcript_of(record) is None:
        yield from _section("What the agent did", _trace(record.trace))
    if record.metadata is not None:
        yield from _section("Metadata", _value(record.metadata))
    if record.teardown_failure is not None:
        failure = record.teardown_failure
        yield from _section("Clean-up failed", _error(failure.error_message, failure.error_stacktrace))


def attempt_unjudged(record: Record, *, expected: bool = True, metadata: bool = False) -> Iterator[str]:
    """What was asked and what came of it, line by line, for a person who is to judge it: nothing of what anyone else said of it.

    Results, reasons and labels are left out, and so are metrics and why a conversation ended, which may tell of them. So may metadata, which are left
    out unless they are asked for.

    Args:
        record: of the attempt.
        expected: whether to show what the case expects.
        metadata: whether to show the metadata of the case.
    """
    yield from _section("Inputs", _value(record.inputs))
    if metadata and record.metadata is not None:
        yield from _section("Metadata", _value(record.metadata))
    if expected and (record.has_expected_output or record.expected_output is not None):
        yield from _section("Expected", _value(record.expected_output))
    if expected and record.expected_tool_calls is not None:
        yield from _section("Expected tool calls", _value(record.expected_tool_calls))
    talk = transcript_of(record)
    if isinstance(record, ReportCaseFailure):
        yield from _section("Task failed", _error(record.error_message, ""))
    else:
        yield from _output(record, talk, judged=False)
    # Behind the output: on a small screen the trace would push it to a page that people may not turn to.
    if talk is None and record.trace is not None:
        yield from _section("What the agent did", _trace(record.trace))


def _output(case: ReportCase, talk: Transcript | None, *, judged: bool) -> Iterator[str]:
    if talk is None:
        return _section("Output", _value(case.output))
    return _section("Conversation", _talk(talk, judged=judged))


def _judged(case: ReportCase) -> Iterator[str]:
    """What came of an attempt whose task finished."""
    talk = transcript_of(case)
    yield from _output(case, talk, judged=True)
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


def _noted(record: Record) -> Iterator[str]:
    """What an attempt counted and noted."""
    if metrics := record.all_metrics if isinstance(record, ReportCase) else record.metrics:
        lines = (f"{visible(name)}: {number(value)}" for name, value in metrics.items())
        yield from _section("Metrics", lines)
    if record.attributes:
        yield from _section("Attributes", _value(record.attributes))


def _talk(talk: Transcript, *, judged: bool) -> Iterator[str]:
    """A conversation, turn by turn; with `judged`, also what was said of the turns, and why it ended."""
    if talk.opening:
        yield from _said(talk.answerer, talk.opening)
    for turn in talk.turns:
        branch = "" if turn.branch is None else f", conversation {turn.branch}"
        yield f"Turn {turn.number}{branch}"
        yield from (f"  {line}" for line in _said(talk.asker, turn.asked))
        yield from (f"  {line}" for done in turn.done for line in _turn(done))
        yield from (f"  {line}" for line in _said(talk.answerer, turn.answered))
        if judged:
            yield from (f"  = {fact}" for fact in turn.facts)
            yield from (f"  = {line}" for result in turn.results for line in _result(result))
    if judged and talk.stopped is not None:
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
        facts += [] if asked.cost is None else [dollars(asked.cost)]
        facts += _times(asked.latency_ms)
        told = {"asked": asked.input_text or None, "answered": asked.output_text or None}
        told |= {"wanted": asked.metadata.get("tool_calls"), "error": asked.metadata.get("error")}
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
    yield from (_DEEPER + line if line else "" for line in lines)


def _value(value: Any) -> Iterator[str]:
    """Text as it is, and anything else as JSON."""
    text = value if type(value) is str else json.dumps(plain(value), indent=2, ensure_ascii=False)
    return (visible(line) for line in text.splitlines() or ['""'])


def _error(message: str, stacktrace: str) -> Iterator[str]:
    return (visible(line) for line in (stacktrace.rstrip() or message).splitlines())
