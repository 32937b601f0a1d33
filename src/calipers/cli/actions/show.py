"""What `calipers show` does: read a report, then show it, one case of it, or write it anew.

A report is a file or a run that is kept. What there is a file of is a file, and so is what is written like one: with a
slash, or an ending of report files. Anything else, or anything at all beside `--store`, names a run.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import click

from calipers.cli.actions.plugins import chosen_plugins
from calipers.cli.exits import PASSED, USAGE
from calipers.cli.message import CommandError, no_file, note
from calipers.cli.output import IncludeCases, clean_stdout, show_report
from calipers.cli.reports import is_file, read_file
from calipers.cli.store import (
    DEFAULT,
    VARIABLE,
    check_case,
    find_run,
    open_kept,
    report_of,
    shown_store,
    state,
    store_file,
)
from calipers.data.case import similar_names
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult
from calipers.data.trace import Trace, Turn, TurnType
from calipers.errors import InvalidOptionError
from calipers.evaluators import JudgeCorrectionEvaluator
from calipers.report.report import Report
from calipers.report.report_evaluator import ReportEvaluatorContext
from calipers.stats.number_text import number, seconds
from calipers.stores.evaluator_slots import scored_places
from calipers.stores.packing import unpack
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.stores.stored_attempt import StoredAttempt, StoredCell
from calipers.views.formats import Target, parse_target, write_report
from calipers.views.outcome import outcome_of
from calipers.views.text import visible
from calipers.views.transcript import Transcript, transcript_of

Record: TypeAlias = ReportCase | ReportCaseFailure

_INDENT = "    "


class _Kept(NamedTuple):
    """A run in an open store."""

    store: Store
    info: RunInfo


def show(
    *,
    report: str,
    store: str | None = None,
    case: Sequence[str] = (),
    to: Sequence[str] = (),
    plugin: Sequence[str] = (),
    no_plugins: bool = False,
    include_cases: IncludeCases = "failed",
    max_cases: int = 20,
    slice_by: Sequence[str] = (),
    labels: Sequence[str] = (),
    tracebacks: bool = False,
) -> int:
    """Show or convert a saved report, or a run that is kept; returns the exit code."""
    if case and to:
        raise InvalidOptionError("--case shows one case, and --to writes the whole report: give one of them")
    if case and labels:
        raise InvalidOptionError(
            "--case shows one case, and --labels correct the result of all: give one of them"
        )
    corrections = [_correction(each) for each in labels]
    if plugin and not to:
        raise InvalidOptionError("--plugin is for --to, which may name the view of a plugin: give both")
    with (
        chosen_plugins(plugin, installed=bool(to) and not no_plugins) as plugins,
        _opened(report, store) as kept,
    ):
        views = None if plugins is None else plugins.views
        with clean_stdout(wanted=plugins is not None):  # for what a plugin prints while it makes its view
            targets = [parse_target(each, views=views) for each in to]
        _check_targets(report if kept is None else store_file(kept.store), targets)
        if kept is not None and case:
            _show_kept_cases(kept, case)
            return PASSED
        whole = bool(to or slice_by or labels) or include_cases == "all"
        found = read_file(report, "shown") if kept is None else report_of(*kept, whole=whole)
        if slice_by:
            found = found.sliced_by(*slice_by)
        for each in corrections:
            found.analyses.append(each.evaluate(ReportEvaluatorContext(name=found.name, report=found)))
        for target in targets:
            write_report(found, f"{target.format}:{target.path}", views=views)
            if target.path != "-":
                note(f"Wrote {target.path}")
        if case:
            _show_cases(found, case)
        elif not targets:
            show_report(found, include_cases=include_cases, max_cases=max_cases, tracebacks=tracebacks)
            if kept is not None:
                _tell(kept)
    return PASSED


def _correction(given: str) -> JudgeCorrectionEvaluator:
    """What `JUDGE=FILE`, or `JUDGE=COLUMN`, asks for."""
    judge, _, source = given.partition("=")
    if not judge or not source:
        raise InvalidOptionError(f"--labels is written JUDGE=FILE, such as helpful=labels.csv, got {given!r}")
    if Path(source).suffix.lower() not in {".csv", ".jsonl", ".json"}:
        return JudgeCorrectionEvaluator(judge, human=source)
    if not Path(source).is_file():
        raise no_file(source)
    return JudgeCorrectionEvaluator(judge, labels=source)


@contextmanager
def _opened(name: str, store: str | None) -> Iterator[_Kept | None]:
    """The run of that name, in its store; `None` if it is the name of a file."""
    if store is None and is_file(name):
        if not Path(name).suffix and not Path(name).exists():
            raise CommandError(
                f"file not found: {name}. To show a run of that name, give --store URL, such as --store {DEFAULT}, or its id",
                USAGE,
            )
        yield None
        return
    if store is None and not os.environ.get(VARIABLE) and not Path(DEFAULT).exists():
        raise CommandError(
            f"file not found: {name}, and there is no store {DEFAULT!r} here to look for a run of that name: give --store URL",
            USAGE,
        )
    with open_kept(store) as opened:
        yield _Kept(opened, find_run(opened, name))


def _tell(kept: _Kept) -> None:
    """Say which run this is, and how to go on with one that did not finish."""
    info, word = kept.info, state(kept.info)
    note(f"Run {info.id} in {shown_store(kept.store)}, {word}")
    if word not in {"finished", "running"}:
        note(f"To go on with it, add --resume {info.id} to the command that began it")


def _check_targets(source: str | Path | None, targets: Sequence[Target]) -> None:
    """Let nothing be written over what is shown."""
    for target in targets:
        written = target.path != "-" and Path(target.path).exists()
        if written and source is not None and Path(source).exists() and Path(target.path).samefile(source):
            raise InvalidOptionError(f"--to {target.path!r} would overwrite the report: name another file")


def _show_cases(report: Report, names: Sequence[str]) -> None:
    found = [record for name in dict.fromkeys(names) for record in _attempts_at(report, name)]
    for index, record in enumerate(found):
        click.echo("\n" * (index > 0) + "\n".join(attempt_lines(record)))


def _show_kept_cases(kept: _Kept, names: Sequence[str]) -> None:
    for index, name in enumerate(dict.fromkeys(names)):
        if index:
            click.echo()
        for line in _case_lines(kept.store, kept.info, name):
            click.echo(line)


def _attempts_at(report: Report, name: str) -> list[Record]:
    records: list[Record] = [*report.cases, *report.failures]
    found = [record for record in records if name in {record.name, record.source_case_name}]
    if not found:
        names = list(dict.fromkeys(case_name(record) for record in records))
        near = similar_names(name, names)
        some = f"there are {', '.join(map(repr, names[:10]))}{' ...' if len(names) > 10 else ''}"
        hint = f"did you mean {', '.join(map(repr, near))}?" if near else some if names else "it has none"
        kept = "" if report.totals is None else "; the report keeps only attempts that did not pass"
        raise CommandError(f"no case of the report is called {name!r}; {hint}{kept}", USAGE)
    return found


def _case_lines(store: Store, info: RunInfo, name: str) -> Iterator[str]:
    """All that is kept of the attempts at a case, each with where it comes from.

    Raises:
        CommandError: the run has no such case.
    """
    scored = scored_places(info.evaluators)
    attempts = _kept_attempts(store, info, name)
    names = store.names(info)
    for index, (attempt, cells) in enumerate(attempts):
        if index:
            yield ""
        yield from attempt_lines(unpack(attempt, cells, info.evaluators, scored=scored, names=names))
        yield ""
        yield "Where it comes from"
        yield from (f"    {visible(line)}" for line in _origins(info, attempt, cells))


def _kept_attempts(
    store: Store, info: RunInfo, name: str
) -> Iterator[tuple[StoredAttempt, list[StoredCell]]]:
    check_case(store, info, name)
    positions = [attempt.position for attempt in store.attempts(info.id, name=name, parts=False)]
    return store.judged_at(info.id, positions)


def _origins(info: RunInfo, attempt: StoredAttempt, cells: Sequence[StoredCell]) -> Iterator[str]:
    """Which run called the task, and which ones asked the evaluators."""
    yield f"attempt: made in run {attempt.origin or info.id}{'' if attempt.origin is None else ', and taken over'}"
    runs: dict[str, list[str]] = {}
    for cell in cells:
        runs.setdefault(cell.origin or info.id, []).append(info.evaluators[cell.evaluator].name)
    for run, names in runs.items():
        yield f"{', '.join(names)}: judged in run {run}{'' if run == info.id else ', and taken over'}"


# ---------------------------------------------------------------------- one attempt


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
